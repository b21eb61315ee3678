"""Sectile beside other compilers in one process: torch, numba and Triton, each with an LLVM of its own.

python neighbours.py sectile torch numba triton      in this order of first use
"""

import sys

import numpy as np


def sectile():
    import sectile as st
    import sectile.language as tl

    @st.jit
    def scale(out, x, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.exp(tl.load(x + i, mask=i < n)), mask=i < n)

    x = np.linspace(-1, 1, 1001, dtype=np.float32)
    out = np.empty_like(x)
    scale[(st.cdiv(1001, 256),)](out, x, 1001, BLOCK=256)
    np.testing.assert_allclose(out, np.exp(x.astype(np.float64)), rtol=1e-6)
    if "torch" in sys.modules:
        import torch

        there = torch.from_numpy(x).clone()
        result = torch.empty_like(there)
        scale[(st.cdiv(1001, 256),)](result, there, 1001, BLOCK=256)
        assert torch.equal(result, torch.from_numpy(out))
    compiled = st.compile(
        scale, {"out": "*fp32", "x": "*fp32", "n": "i32"}, {"BLOCK": 128}, target="cuda:90"
    )
    assert ".target sm_90" in compiled.asm["ptx"]


def torch():
    import torch

    product = torch.ones(64, 32) @ torch.ones(32, 64)
    assert float(product.sum()) == 64 * 64 * 32


def numba():
    import numba

    @numba.njit
    def total(x):
        sum = 0.0
        for each in x:
            sum += each
        return sum

    assert total(np.ones(1000)) == 1000


def triton():
    import triton
    from neighbours_triton import copy
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    source = ASTSource(copy, {"out": "*fp32", "x": "*fp32", "BLOCK": "constexpr"}, {(2,): 128})
    assert ".target sm_90" in triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]


if __name__ == "__main__":
    sys.path.insert(0, __file__.rpartition("/")[0])
    for _ in range(2):  # the second time, all others are there
        for name in sys.argv[1:]:
            globals()[name]()
    print("all right:", " ".join(sys.argv[1:]))
