"""Lesson 3: matrix multiplication, tile by tile.

One program computes one BLOCK_M x BLOCK_N tile of C = A @ B. It walks along the inner dimension in
steps of BLOCK_K, and `tl.dot` adds each step's product to an accumulator that never leaves fast memory.

                 K                    BLOCK_N
            +---------+            +----+---+----+
    BLOCK_M |-> -> -> |   A      K |    | v |    |   B        each program: one strip of A,
            +---------+            |    | v |    |            one strip of B, one tile of C
                                   +----+---+----+

*Grouped ordering.* Programs that run at about the same time should share strips, so that these are
still in the cache. Walking C row by row needs one strip of A and all of B; walking it in groups of
GROUP rows needs few strips of both.

*Fused activation.* The tile is in fast memory when it is finished: applying a function there costs
nothing. `activation` is itself a @st.jit function, passed as a constant; None leaves it out.

*Blocks.* A large tile reads less for each product, but there must be enough tiles for every multiprocessor
of a GPU (an H200 has 132) to have one, and for the cores of a CPU to end at about the same time.

*Precision.* The tensor cores of a GPU multiply float32 as TF32, rounded (on Hopper some are cut off) to 11
significant bits; sums stay float32. `tl.dot(..., input_precision="ieee")` does without them. On a CPU nothing is
rounded.

Run it:  python tutorials/03_matmul.py             (the same kernel in C++: cpp/03_matmul.cpp)
"""

import os
import sys

import numpy as np
from lesson import DEVICE, DEVICE_NAME, empty, normal, to_numpy, xp

import sectile as st
import sectile.language as tl


def choose_block(M, N, itemsize):
    """BLOCK_M, BLOCK_N, BLOCK_K: large tiles read their operands less often, but every thread of a CPU and every
    multiprocessor of a GPU wants some. On a GPU, the strips of four steps are in shared memory at once: 64 KiB.
    `itemsize`: bytes of an element."""
    if DEVICE == "cuda":
        blocks, enough = [(128, 128, 64 // itemsize), (64, 64, 128 // itemsize)], 128
    else:
        blocks = [(256, 256, 128), (256, 128, 128), (128, 128, 64), (64, 64, 64)]
        enough = 2 * len(os.sched_getaffinity(0))
    for block in blocks:
        if st.cdiv(M, block[0]) * st.cdiv(N, block[1]) >= enough:
            return block
    return blocks[-1]


@st.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@st.jit
def matmul_tile(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    a_row,
    a_column,
    b_row,
    b_column,
    c_row,
    c_column,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
    activation: tl.constexpr,
):
    # Which tile of C: GROUP rows of tiles are walked column by column before the next group starts.
    program = tl.program_id(0)
    tiles_n = tl.cdiv(N, BLOCK_N)
    group = program // (GROUP * tiles_n)
    first_m = group * GROUP
    rows_in_group = min(tl.cdiv(M, BLOCK_M) - first_m, GROUP)
    tile_m = first_m + (program % (GROUP * tiles_n)) % rows_in_group
    tile_n = (program % (GROUP * tiles_n)) // rows_in_group

    # Rows and columns beyond the edge wrap around to some element that exists: what they compute is
    # thrown away by the mask of the final store.
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    a = a_ptr + (m % M)[:, None] * a_row + k[None, :] * a_column
    b = b_ptr + k[:, None] * b_row + (n % N)[None, :] * b_column

    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_K)):
        left = K - step * BLOCK_K
        a_tile = tl.load(a, mask=k[None, :] < left, other=0.0)
        b_tile = tl.load(b, mask=k[:, None] < left, other=0.0)
        total = tl.dot(a_tile, b_tile, total)
        a += BLOCK_K * a_column
        b += BLOCK_K * b_row

    if activation is not None:
        total = activation(total)

    c = c_ptr + m[:, None] * c_row + n[None, :] * c_column
    tl.store(c, total.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


def matmul(a, b, activation=None, out=None, block=None, group=8):
    """activation(a @ b) of two C-contiguous matrices of one dtype."""
    (M, K), N = a.shape, b.shape[1]
    assert b.shape[0] == K, f"inner dimensions differ: {a.shape} @ {b.shape}"
    out = empty(M, N) if out is None else out
    block = block or choose_block(M, N, a.dtype.itemsize)
    grid = (st.cdiv(M, block[0]) * st.cdiv(N, block[1]),)
    strides = (K, 1, N, 1, N, 1)
    constants = {"GROUP": group, "activation": activation, "num_stages": 4}
    matmul_tile[grid](a, b, out, M, N, K, *strides, *block, **constants)
    return out


def main(quick=False):
    M, N, K = (100, 130, 70) if quick else (500, 700, 300)
    a, b = normal(M, K, seed=1), normal(K, N, seed=2)

    out = to_numpy(matmul(a, b, activation=leaky_relu))
    product = to_numpy(a).astype(np.float64) @ to_numpy(b).astype(np.float64)
    expected = np.where(product >= 0, product, 0.01 * product)
    error = np.abs(out - expected).max() / np.abs(expected).max()
    tolerance = 1e-3 if DEVICE == "cuda" else 1e-5
    assert error < tolerance, (
        f"matmul: off by {error} of the largest element from the float64 result"
    )
    print(
        f"matmul with leaky ReLU on {DEVICE_NAME}: {M} x {N} x {K} float32,"
        f" within {error:.1e} of the float64 result"
    )
    if quick:
        return

    if DEVICE == "cuda":
        xp.backends.cuda.matmul.allow_tf32 = True  # as we do
    for size in (512, 1024, 2048):
        a, b = normal(size, size, seed=3), normal(size, size, seed=4)
        out = xp.empty_like(a)
        rate = 2 * size**3 / 1e6
        ours = rate / st.testing.do_bench(lambda: matmul(a, b, out=out))
        peer = rate / st.testing.do_bench(lambda: xp.matmul(a, b, out=out))
        print(
            f"  {size}^3: Sectile {ours:8.1f} GFLOP/s,"
            f" {xp.__name__}'s BLAS {peer:8.1f} GFLOP/s  ({ours / peer:.2f}x)"
        )


if __name__ == "__main__":
    main("--quick" in sys.argv)
