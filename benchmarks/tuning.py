"""What comparing the candidates' results costs a tuning.

    python benchmarks/tuning.py [matmul | add:ELEMENTS | torch:ELEMENTS | cuda:ELEMENTS | cudamatmul] ...

Tunes with an empty record and compiled kernels forgotten, and prints the time of the whole tuning, and how
much of it went into what `verify=False` saves: copies, patterns, comparing. The trial runs themselves are not
counted, for without verification each candidate has an untimed first run, too.
"""

import os
import sys
import tempfile
import time

os.environ["SECTILE_TUNING_DIR"] = ""
os.environ["SECTILE_CACHE_DIR"] = tempfile.mkdtemp()

import numpy as np

import sectile as st
import sectile.language as tl
from sectile.runtime.autotuner import verification


@st.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@st.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + start + k[None, :])
        y = tl.load(b + (start + k)[:, None] * N + n[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + m[:, None] * N + n[None, :], total.to(c.dtype.element_ty))


def tuned(name):
    """The tuner, its grid and its arguments."""
    kind, _, size = name.partition(":")
    random = np.random.default_rng(0)
    if kind == "cudamatmul":
        import torch

        size = int(size or 4096)
        a, b = (torch.randn(size, size, device="cuda", dtype=torch.float16) for _ in range(2))
        space = st.Space(BM=[64, 128], BN=[64, 128], BK=[32, 64], num_warps=[4, 8])
        tuner = st.autotune(space, key=["M"])(matmul)
        grid = lambda meta: (size // meta["BM"], size // meta["BN"])  # noqa: E731
        return tuner, grid, (a, b, torch.empty_like(a), size, size, size)
    if kind == "matmul":
        size = int(size or 512)
        a, b = (random.random((size, size), dtype=np.float32) for _ in range(2))
        space = st.Space(BM=[32, 64, 128, 256], BN=[32, 64], BK=[32, 64])
        tuner = st.autotune(space, key=["M"])(matmul)
        grid = lambda meta: (size // meta["BM"], size // meta["BN"])  # noqa: E731
        return tuner, grid, (a, b, np.empty_like(a), size, size, size)
    n = int(size)
    x, y = (random.random(n, dtype=np.float32) for _ in range(2))
    arrays = [x, y, np.ones_like(x)]
    if kind == "torch":
        import torch

        arrays = [torch.from_numpy(array) for array in arrays]
    if kind == "cuda":
        import torch

        arrays = [torch.from_numpy(array).cuda() for array in arrays]
    tuner = st.autotune(st.Space(BLOCK=[2**k for k in range(8, 16)]), key=["n"])(add)
    return tuner, lambda meta: (st.cdiv(n, meta["BLOCK"]),), (*arrays, n)


LARGEST = 64_000_000  # elements


class Spent:
    """Seconds in functions of `verification` that call none of each other."""

    def __init__(self):
        self.seconds = 0.0
        for owner, name in (
            (verification.Output, "reset"), (verification.Verification, "_join"),
            (verification.Verification, "watch"), (verification.Verification, "restore"),
            (verification.Verification, "decide"), (verification.identity, "has_asserts"),
        ):  # fmt: skip
            setattr(owner, name, self.counted(getattr(owner, name)))

    def counted(self, function):
        def call(*args, **kwargs):
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds += time.perf_counter() - start

        return call


if __name__ == "__main__":
    spent = Spent()
    for name in sys.argv[1:] or ["matmul", "add:1000000", "add:16000000"]:
        tuner, grid, arguments = tuned(name)
        # A virtual machine gets memory from its host when it is first touched, which takes longer than all else.
        touched = [np.ones(LARGEST, np.float32) for _ in range(2)]
        del touched
        if name.startswith("cuda"):
            import torch

            torch.cuda.synchronize()
        spent.seconds = 0.0
        start = time.perf_counter()
        tuner[grid](*arguments)
        seconds = time.perf_counter() - start
        share = spent.seconds / seconds
        print(f"{name:16} {seconds:6.2f} s, comparing {spent.seconds:.3f} s, {share:.1%}")
