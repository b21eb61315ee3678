"""Lesson 8: many products of matrices in one launch, no two of one shape.

A mixture of experts multiplies each expert's rows with that expert's weights: products of many heights, some of a
few rows only. One launch for each would leave most of a GPU idle, and a launch costs microseconds. Here one launch
computes them all.

*Arrays of pointers.* A kernel's parameters are fixed in number, so the matrices come as an array of their addresses:
int64 in memory. What is loaded from it becomes a pointer by `.to(tl.pointer_type(tl.float32))`. The sizes lie in a
second array, three to a product.

*Programs that walk.* The tiles of all products are numbered one after another, and program p computes the tiles p,
p + P, p + 2P, ... where P is the number of programs, which follows from the device, not from the work:

    product 0            product 1   product 2
    +----+----+----+     +----+      +----+----+
    | 0  | 1  | 2  |     | 6  |      | 8  | 9  |       P = 4:  program 0 has the tiles 0, 4, 8
    +----+----+----+     +----+      +----+----+               program 1            1, 5, 9
    | 3  | 4  | 5  |     | 7  |                                program 2            2, 6
    +----+----+----+     +----+                                program 3            3, 7

A program goes through the products in order, and leaves each when its next tile lies behind it. So the work is shared
evenly, whatever the shapes, and no host has to plan it.

*Precision.* As in lesson 3: products of float32 are TF32's on a GPU.

Run it:  python tutorials/08_grouped_products.py   (the same kernel in C++: cpp/08_grouped_products.cpp)
"""

import sys

import numpy as np
from lesson import DEVICE, DEVICE_NAME, empty, normal, to_device, to_numpy, xp

import sectile as st
import sectile.language as tl


@st.jit
def grouped_tiles(
    a_ptrs,
    b_ptrs,
    c_ptrs,
    sizes_ptr,
    products,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    tile = tl.program_id(0)  # this program's next tile, counted from the product's first one
    for product in range(0, products):
        M = tl.load(sizes_ptr + 3 * product)
        N = tl.load(sizes_ptr + 3 * product + 1)
        K = tl.load(sizes_ptr + 3 * product + 2)
        a_ptr = tl.load(a_ptrs + product).to(tl.pointer_type(tl.float32))
        b_ptr = tl.load(b_ptrs + product).to(tl.pointer_type(tl.float32))
        c_ptr = tl.load(c_ptrs + product).to(tl.pointer_type(tl.float32))
        tiles_n = tl.cdiv(N, BLOCK_N)
        tiles = tl.cdiv(M, BLOCK_M) * tiles_n

        while tile < tiles:
            # One tile of the product, as in lesson 3, but rows and columns beyond the edge read as zeros.
            m = tile // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
            n = tile % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
            k = tl.arange(0, BLOCK_K)
            a = a_ptr + m[:, None] * K + k[None, :]
            b = b_ptr + k[:, None] * N + n[None, :]
            total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for done in range(0, K, BLOCK_K):
                left = K - done
                a_mask = (m[:, None] < M) & (k[None, :] < left)
                b_mask = (k[:, None] < left) & (n[None, :] < N)
                a_tile = tl.load(a + done, mask=a_mask, other=0.0)
                b_tile = tl.load(b + done * N, mask=b_mask, other=0.0)
                total = tl.dot(a_tile, b_tile, total)
            c = c_ptr + m[:, None] * N + n[None, :]
            tl.store(c, total, mask=(m[:, None] < M) & (n[None, :] < N))
            tile += tl.num_programs(0)

        tile -= tiles


def address(array):
    return array.ctypes.data if xp is np else array.data_ptr()


class Group:
    """Products c[i] = a[i] @ b[i] of float32 matrices, and the arrays that tell a kernel of them."""

    def __init__(self, a, b):
        self.a, self.b = a, b
        self.c = [empty(x.shape[0], y.shape[1]) for x, y in zip(a, b)]
        self.sizes = to_device(
            np.array([(*x.shape, y.shape[1]) for x, y in zip(a, b)], np.int32)[:, [0, 2, 1]].copy()
        )
        self.pointers = [
            to_device(np.array([address(matrix) for matrix in matrices], np.int64))
            for matrices in (self.a, self.b, self.c)
        ]


def program_count():
    """One program for each multiprocessor of a GPU; on a CPU some for each thread, which may have other work, too."""
    properties = st.runtime.driver.active.utils.get_device_properties(0)
    return properties["multiprocessor_count"] * (1 if DEVICE == "cuda" else 8)


def multiply(group, only=None):
    """All products of a group in one launch, or one of them."""
    block = (32, 64, 32) if DEVICE == "cuda" else (64, 128, 128)
    chosen = slice(None) if only is None else slice(only, only + 1)
    a, b, c = (array[chosen] for array in group.pointers)
    sizes = group.sizes[chosen]
    grouped_tiles[(program_count(),)](a, b, c, sizes, sizes.shape[0], *block)
    return group.c


def random_group(shapes):
    a = [normal(M, K, seed=2 * i) for i, (M, N, K) in enumerate(shapes)]
    b = [normal(K, N, seed=2 * i + 1) for i, (M, N, K) in enumerate(shapes)]
    return Group(a, b)


def main(quick=False):
    shapes = [(100, 130, 70), (1, 257, 129), (33, 64, 300), (200, 65, 17)]
    if not quick:
        shapes += [(700, 333, 500), (3, 1000, 1001), (64, 64, 64)]
    group = random_group(shapes)
    worst = 0.0
    for a, b, c in zip(group.a, group.b, multiply(group)):
        expected = to_numpy(a).astype(np.float64) @ to_numpy(b).astype(np.float64)
        error = np.abs(to_numpy(c) - expected).max() / np.abs(expected).max()
        worst = max(worst, float(error))
    tolerance = 1e-3 if DEVICE == "cuda" else 1e-5
    assert worst < tolerance, f"off by {worst} of the largest element from the float64 result"
    print(
        f"{len(shapes)} products in one launch on {DEVICE_NAME}: float32,"
        f" within {worst:.1e} of the float64 result"
    )
    if quick:
        return

    if DEVICE == "cuda":
        xp.backends.cuda.matmul.allow_tf32 = True  # as we do
    heights = np.random.default_rng(1).integers(1, 100, 64)  # rows for each of 64 experts
    for width in (64, 256, 512):
        shapes = [(int(height), width, width) for height in heights]
        group = random_group(shapes)
        contenders = {
            "one launch": lambda: multiply(group),
            "one for each": lambda: [multiply(group, only=i) for i in range(len(shapes))],
            xp.__name__: lambda: [
                xp.matmul(a, b, out=c) for a, b, c in zip(group.a, group.b, group.c)
            ],
        }
        work = sum(2 * M * N * K for M, N, K in shapes) / 1e6
        rates = {name: work / st.testing.do_bench(run) for name, run in contenders.items()}
        print(
            f"  {len(shapes)} products with {width} x {width}, GFLOP/s: "
            + ", ".join(f"{name} {rate:.1f}" for name, rate in rates.items())
        )


if __name__ == "__main__":
    main("--quick" in sys.argv)
