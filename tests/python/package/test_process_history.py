"""What a process compiled before has no say in the code of the next kernel: LLVM keeps options in variables
of the process, and the linker that ends a compile for the CPU sets them back."""

import hashlib
import itertools
import json
import os
import subprocess
import sys
import tempfile

import pytest

import sectile as st
import sectile.language as tl

TARGETS = ["cuda:80", "cuda:90", "hip:gfx942", "hip:gfx1201", "cpu"]


def make_kernel():
    @st.jit
    def kernel(x, y, out, n, block: tl.constexpr, round: tl.constexpr):
        rows, columns = tl.arange(0, 32)[:, None], tl.arange(0, block)[None, :]
        sums = tl.zeros((block,), tl.float32)
        products = tl.zeros((32, block), tl.float32)
        for i in range(n):
            tile = tl.load(x + i * 32 * block + rows * block + columns, mask=columns < n - i)
            sums += tl.sum(tl.exp(tile), axis=0)
            products += tl.dot(
                tile.to(tl.float16), tl.load(y + i * 32 * block + rows * block + columns)
            )
        tl.store(out + tl.arange(0, block), sums)
        tl.store(out + block + rows * block + columns, products)

    return kernel


def code_of(target, round):
    """In another round nothing of an earlier compile is used."""
    with (
        tempfile.TemporaryDirectory() as folder,
        st.knobs.scope(cache_dir=folder, keep_stages=True),
    ):
        x, y = st.MockTensor(tl.float32), st.MockTensor(tl.float16)
        options = {} if target == "cpu" else {"num_warps": 4}
        asm = make_kernel().warmup(x, y, x, 100, 32, round, grid=(1,), target=target, **options).asm
    text = next(asm[stage] for stage in ("ptx", "amdgcn", "asm") if stage in asm)
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture(scope="module")
def code_of_processes():
    """target: {hash of its code: after which ones it was compiled}"""
    found = {target: {} for target in TARGETS}
    for start, step in itertools.product(range(len(TARGETS)), (1, -1)):
        order = (TARGETS[start:] + TARGETS[:start])[::step]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        process = subprocess.run([sys.executable, __file__, *order, *order], env=environment, text=True,
                                 capture_output=True)  # fmt: skip
        assert process.returncode == 0, process.stderr
        for i, (target, code) in enumerate(json.loads(process.stdout)):
            found[target].setdefault(code, []).append((order + order)[:i])
    return found


@pytest.mark.parametrize("target", TARGETS)
def test_the_same_code_whatever_was_compiled_before(code_of_processes, target):
    assert len(code_of_processes[target]) == 1, code_of_processes[target]


if __name__ == "__main__":
    print(json.dumps([(target, code_of(target, i)) for i, target in enumerate(sys.argv[1:])]))
