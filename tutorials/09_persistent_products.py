"""Lesson 9: a program for each processor instead of one for each tile; and three ways to name a block of memory.

Lesson 3 launches a program for each tile of C. Here a launch has as many programs as the device runs at once, and each
walks over tiles: p, p + P, p + 2P, ... What a program does once, before its first tile, is done P times then, and
not once for each tile.

    tiles of C, in order      0  1  2  3  4  5  6  7  8  9 10        P = 4
    program 0                 0           4           8
    program 1                    1           5           9
    program 2                       2           6          10
    program 3                          3           7

The stride of the walk is `tl.num_programs(0)`. So the same kernel, launched with a program for each tile, makes one turn
in each: lesson 3's way, to compare with.

*A block by pointers* is a tile of addresses, and a mask for what lies outside: kernel `by_pointers`.

*A block by a descriptor.* A tensor descriptor knows where an array begins, its extents, its strides, and how large
the blocks are. `descriptor.load([row, column])` is a block; what lies outside the array reads as zeros and is not
written, without a mask. It is made in the kernel, by `tl.make_tensor_descriptor`, or outside, by
`st.TensorDescriptor`, and given to the kernel as an argument. The helper `walk` takes either. Rows begin at multiples
of 16 bytes, so that copy engines can read them: arrays here have room for a few more columns where the number of
columns is odd.

*Functions of kernels.* What several kernels share is a @st.jit function; it becomes a part of each.

*Precision.* As in lesson 3: products of float32 are TF32's on a GPU.

Run it:  python tutorials/09_persistent_products.py
"""

import sys

import numpy as np
from lesson import DEVICE, DEVICE_NAME, empty, normal, to_numpy, xp

import sectile as st
import sectile.language as tl


@st.jit
def corner_of(tile, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr):
    """The row and the column at which a tile begins; groups of GROUP rows of tiles, as in lesson 3."""
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    first_m = tile // (GROUP * tiles_n) * GROUP
    rows_in_group = min(tiles_m - first_m, GROUP)
    within = tile % (GROUP * tiles_n)
    return (first_m + within % rows_in_group) * BLOCK_M, within // rows_in_group * BLOCK_N


@st.jit
def by_pointers(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    a_row,
    b_row,
    c_row,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
):
    tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        row, column = corner_of(tile, M, N, BLOCK_M, BLOCK_N, GROUP)
        m = row + tl.arange(0, BLOCK_M)
        n = column + tl.arange(0, BLOCK_N)
        a = a_ptr + (m % M)[:, None] * a_row + k[None, :]
        b = b_ptr + k[:, None] * b_row + (n % N)[None, :]
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for done in range(0, K, BLOCK_K):
            a_tile = tl.load(a + done, mask=k[None, :] < K - done, other=0.0)
            b_tile = tl.load(b + done * b_row, mask=k[:, None] < K - done, other=0.0)
            total = tl.dot(a_tile, b_tile, total)
        c = c_ptr + m[:, None] * c_row + n[None, :]
        tl.store(c, total, mask=(m[:, None] < M) & (n[None, :] < N))


@st.jit
def walk(a, b, c, GROUP: tl.constexpr):
    """The tiles of one program, of descriptors. Whatever the kernel needs to know, these know."""
    M, K = a.shape
    K, N = b.shape
    BLOCK_M: tl.constexpr = a.block_shape[0]
    BLOCK_K: tl.constexpr = a.block_shape[1]
    BLOCK_N: tl.constexpr = b.block_shape[1]
    tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        row, column = corner_of(tile, M, N, BLOCK_M, BLOCK_N, GROUP)
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for done in range(0, K, BLOCK_K):
            total = tl.dot(a.load([row, done]), b.load([done, column]), total)
        c.store([row, column], total)


@st.jit
def by_descriptors_of_its_own(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    a_row,
    b_row,
    c_row,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
):
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [a_row, 1], [BLOCK_M, BLOCK_K])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [b_row, 1], [BLOCK_K, BLOCK_N])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [c_row, 1], [BLOCK_M, BLOCK_N])
    walk(a, b, c, GROUP)


@st.jit
def by_descriptors_given(a, b, c, GROUP: tl.constexpr):
    walk(a, b, c, GROUP)


KERNELS = ("pointers", "descriptors made in the kernel", "descriptors made outside")
GROUP = 8


def choose_block(M, N):
    """BLOCK_M, BLOCK_N, BLOCK_K, and on a GPU the number of warps that share a tile: so many that its registers suffice."""
    if DEVICE != "cuda":
        return (128, 128, 128), 4
    return ((128, 128, 16), 8) if st.cdiv(M, 128) * st.cdiv(N, 128) >= 128 else ((64, 64, 16), 4)


def row_stride(matrix):
    """The elements from one row to the next."""
    return matrix.strides[0] // matrix.itemsize if xp is np else matrix.stride(0)


def with_room(make, rows, columns):
    """make(rows, columns), in memory that has a multiple of four columns: 16 bytes of float32."""
    return make(rows, st.cdiv(columns, 4) * 4)[:, :columns]


def program_count():
    """One program for each multiprocessor of a GPU; on a CPU some for each thread, which may have other work, too."""
    properties = st.runtime.driver.active.utils.get_device_properties(0)
    return properties["multiprocessor_count"] * (1 if DEVICE == "cuda" else 8)


def multiply(a, b, c, how, programs=None):
    """c = a @ b by one of KERNELS, in the given number of programs."""
    (M, K), N = a.shape, b.shape[1]
    block, warps = choose_block(M, N)
    block_m, block_n, block_k = block
    tiles = st.cdiv(M, block_m) * st.cdiv(N, block_n)
    grid = (min(programs or program_count(), tiles),)
    # On a GPU, the strips of four steps are in shared memory at once, as in lesson 3.
    constants = {"GROUP": GROUP, "num_stages": 4, "num_warps": warps}
    if how == "descriptors made outside":
        by_descriptors_given[grid](
            st.TensorDescriptor(a, a.shape, [row_stride(a), 1], [block_m, block_k]),
            st.TensorDescriptor(b, b.shape, [row_stride(b), 1], [block_k, block_n]),
            st.TensorDescriptor(c, c.shape, [row_stride(c), 1], [block_m, block_n]),
            **constants,
        )
    else:
        kernel = by_pointers if how == "pointers" else by_descriptors_of_its_own
        strides = [row_stride(matrix) for matrix in (a, b, c)]
        kernel[grid](a, b, c, M, N, K, *strides, *block, **constants)
    return c


def main(quick=False):
    M, N, K = (301, 255, 70) if quick else (1001, 701, 303)
    a = with_room(lambda *shape: normal(*shape, seed=1), M, K)
    b = with_room(lambda *shape: normal(*shape, seed=2), K, N)
    expected = to_numpy(a).astype(np.float64) @ to_numpy(b).astype(np.float64)
    print(f"{M} x {N} x {K} float32 on {DEVICE_NAME}, {program_count()} programs at most")
    for how in KERNELS:
        # Three programs have several tiles each.
        for programs in (program_count(), 3):
            c = with_room(empty, M, N)
            c[:] = np.nan
            result = to_numpy(multiply(a, b, c, how, programs))
            error = np.abs(result - expected).max() / np.abs(expected).max()
            tolerance = 1e-3 if DEVICE == "cuda" else 1e-5
            assert error < tolerance, (
                f"{how}: off by {error} of the largest element from the float64 result"
            )
        print(f"  by {how}: within {error:.1e} of the float64 result")
    if quick:
        return

    if DEVICE == "cuda":
        xp.backends.cuda.matmul.allow_tf32 = True  # as we do
    print(f"  GFLOP/s   {'':32}{'persistent':>14}{'one per tile':>14}")
    for size in (512, 1024, 2048) if DEVICE != "cuda" else (1024, 2048, 4096):
        a, b, c = normal(size, size, seed=3), normal(size, size, seed=4), empty(size, size)
        work = 2 * size**3 / 1e6
        for how in KERNELS:
            rates = [
                work / st.testing.do_bench(lambda: multiply(a, b, c, how, programs))
                for programs in (program_count(), size * size)
            ]
            print(f"  {size:>4}^3    {how:<32}" + "".join(f"{rate:14.1f}" for rate in rates))
        name, peer = (
            f"{xp.__name__}'s BLAS",
            work / st.testing.do_bench(lambda: xp.matmul(a, b, out=c)),
        )
        print(f"  {size:>4}^3    {name:<32}{'':14}{peer:14.1f}")


if __name__ == "__main__":
    main("--quick" in sys.argv)
