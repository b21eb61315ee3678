"""Lesson 10: products of numbers of eight bits and of four, with a scale for each few of them.

A number of four bits, e2m1, is one of 0, 0.5, 1, 1.5, 2, 3, 4, 6 or their negatives: too few for a matrix whose numbers
are large here and small there. So each 32 (or 16) neighbours along the inner dimension share a scale:

                     K
    +-----------------------------------+       +-----+
    | 32 numbers | 32 numbers | 32 ...  |   x   | s s |    a row of A, and a row of its scales
    +-----------------------------------+       +-----+

             numbers          scales                                     bits a number, all in all
    mxfp8    e4m3, 8 bits     e8m0: a power of two, for each 32          8.25
    mxfp4    e2m1, 4 bits     e8m0: a power of two, for each 32          4.25
    nvfp4    e2m1, 4 bits     e4m3: four significant bits, for each 16   4.5

(mxfp8 and mxfp4: OCP Microscaling Formats, version 1.0.) `tl.dot_scaled` multiplies two such tiles, their scales
included. It takes them as they lie in memory: two numbers of e2m1 are a byte, the first in the lower half; an
e8m0 is a byte, too, and means 2^(byte - 127).

*Nothing more is lost.* Tiles are converted to bfloat16, which holds numbers times scales of these formats
exactly, and summed in float32. So the product is as good as the numbers are: compared with the product of the
dequantised matrices in float64, it is off by what float32 sums are, at most. Quantising is what costs digits.

*Quantising* is NumPy's work here: `quantise` chooses the scale for the largest of each few numbers and rounds
all of them to the nearest number there is.

Run it:  python tutorials/10_block_scaled_products.py   (the same kernel in C++: cpp/10_block_scaled_products.cpp)
"""

import sys
from typing import Any, NamedTuple

import numpy as np
from lesson import DEVICE, DEVICE_NAME, empty, normal, to_device, to_numpy

import sectile as st
import sectile.language as tl


@st.jit
def scaled_tile(
    a_ptr,
    a_scale_ptr,
    b_ptr,
    b_scale_ptr,
    c_ptr,
    M,
    N,
    K,
    FORMAT: tl.constexpr,
    PER_BYTE: tl.constexpr,
    PER_SCALE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    # A is M x K and B is N x K, so that both have their few neighbours in a row: C = A @ B^T.
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K // PER_BYTE)
    s = tl.arange(0, BLOCK_K // PER_SCALE)
    # A row of a matrix in bytes, and a row of scales.
    row = K // PER_BYTE
    scales = K // PER_SCALE

    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for done in range(0, K, BLOCK_K):
        byte = done // PER_BYTE + k
        scale = done // PER_SCALE + s
        a_mask = (m[:, None] < M) & (byte[None, :] < row)
        b_mask = (byte[:, None] < row) & (n[None, :] < N)
        a_scale_mask = (m[:, None] < M) & (scale[None, :] < scales)
        b_scale_mask = (n[:, None] < N) & (scale[None, :] < scales)
        a = tl.load(a_ptr + m[:, None] * row + byte[None, :], mask=a_mask, other=0)
        b = tl.load(b_ptr + byte[:, None] + n[None, :] * row, mask=b_mask, other=0)
        # A row of scales for each row of A, and for each column of what is multiplied by it: a row of B.
        a_scale_place = a_scale_ptr + m[:, None] * scales + scale[None, :]
        b_scale_place = b_scale_ptr + n[:, None] * scales + scale[None, :]
        a_scale = tl.load(a_scale_place, mask=a_scale_mask, other=0)
        b_scale = tl.load(b_scale_place, mask=b_scale_mask, other=0)
        total = tl.dot_scaled(a, a_scale, FORMAT, b, b_scale, FORMAT, total)
    c = c_ptr + m[:, None] * N + n[None, :]
    tl.store(c, total, mask=(m[:, None] < M) & (n[None, :] < N))


class Format(NamedTuple):
    numbers: str  # "e4m3" or "e2m1"
    per_byte: int
    scale: str  # "e8m0" or "e4m3"
    per_scale: int

    def bits(self):
        """Bits that a number takes, its part of a scale included."""
        return 8 / self.per_byte + 8 / self.per_scale


FORMATS = {
    "mxfp8": Format("e4m3", 1, "e8m0", 32),
    "mxfp4": Format("e2m1", 2, "e8m0", 32),
    "nvfp4": Format("e2m1", 2, "e4m3", 16),
}


def magnitudes(exponent_bits, mantissa_bits, bias):
    """The numbers of a small float format that are not negative, in the order of their codes."""
    code = np.arange(2 ** (exponent_bits + mantissa_bits))
    exponent, mantissa = code >> mantissa_bits, (code & (2**mantissa_bits - 1)) / 2**mantissa_bits
    # The lowest exponent has the subnormal numbers, which lack the leading 1.
    return np.where(exponent == 0, mantissa * 2.0, 1 + mantissa) * 2.0 ** (exponent - bias)


MAGNITUDES = {
    "e2m1": magnitudes(2, 1, bias=1),
    "e4m3": magnitudes(4, 3, bias=7)[:-1],  # the last code is NaN
}
SIGN = {"e2m1": 8, "e4m3": 128}  # the bit that makes a number negative


def nearest(x, form):
    """Codes of the numbers nearest to x, ties to even codes; beyond the largest it is the largest."""
    numbers = MAGNITUDES[form]
    middles = (numbers[1:] + numbers[:-1]) / 2
    code = np.searchsorted(middles, np.abs(x))
    on_middle = np.append(middles, np.inf)[code] == np.abs(x)
    code += on_middle & (code % 2 == 1)
    return (code + np.where(np.signbit(x), SIGN[form], 0)).astype(np.uint8)


def value(codes, form):
    """The numbers that codes stand for, in float64."""
    if form == "e8m0":
        return 2.0 ** (codes.astype(np.float64) - 127)
    magnitude = MAGNITUDES[form][codes % SIGN[form]]
    return np.where(codes & SIGN[form], -magnitude, magnitude)


class Quantised(NamedTuple):
    elements: Any  # bytes: rows x (K / per_byte)
    scales: Any  # rows x (K / per_scale)
    exact: np.ndarray  # what they stand for: rows x K of float64


def quantise(x, form):
    """A float32 matrix in one of FORMATS, its rows' neighbours sharing scales."""
    rows, K = x.shape
    few = x.astype(np.float64).reshape(rows, K // form.per_scale, form.per_scale)
    largest = np.abs(few).max(axis=2)
    most = MAGNITUDES[form.numbers][-1]
    if form.scale == "e8m0":
        # The exponent of the largest becomes the greatest exponent that the format has.
        exponent = np.floor(np.log2(np.maximum(largest, 2.0**-100))) - np.floor(np.log2(most))
        scales = (exponent + 127).astype(np.uint8)
    else:
        scales = nearest(np.maximum(largest / most, MAGNITUDES["e4m3"][1]), "e4m3")
    factor = value(scales, form.scale)[:, :, None]
    codes = nearest(few / factor, form.numbers)
    exact = (value(codes, form.numbers) * factor).reshape(rows, K)
    codes = codes.reshape(rows, K)
    if form.per_byte == 2:
        codes = codes[:, 0::2] | codes[:, 1::2] << 4
    there = to_device(scales)
    if form.scale == "e4m3":
        there = st.reinterpret(there, tl.float8e4nv)  # bytes of a type that NumPy has no name for
    return Quantised(to_device(codes), there, exact)


def multiply(a, b, form, c):
    """c = a @ b^T of two quantised matrices."""
    (M, N), K = c.shape, a.exact.shape[1]
    block = (64, 64, 64) if DEVICE == "cuda" else (64, 128, 128)
    grid = (st.cdiv(M, block[0]), st.cdiv(N, block[1]))
    layout = (form.numbers, form.per_byte, form.per_scale)
    scaled_tile[grid](a.elements, a.scales, b.elements, b.scales, c, M, N, K, *layout, *block)
    return c


def main(quick=False):
    # K is a multiple of 32, of what shares a scale; nothing else is round.
    M, N, K = (101, 67, 160) if quick else (501, 703, 1056)
    x, y = to_numpy(normal(M, K, seed=1)), to_numpy(normal(N, K, seed=2))
    # Rows of different sizes; each is compared with its own.
    x *= np.exp2(np.random.default_rng(3).integers(-3, 4, (M, 1)).astype(np.float32))
    unquantised = x.astype(np.float64) @ y.astype(np.float64).T
    row_sizes = np.abs(unquantised).max(axis=1, keepdims=True)
    print(f"block-scaled products on {DEVICE_NAME}: {M} x {N} x {K}")
    print("         bits  the product is off by  quantising costs" + "  GFLOP/s" * (not quick))
    for name, form in FORMATS.items():
        a, b = quantise(x, form), quantise(y, form)
        c = multiply(a, b, form, empty(M, N))
        expected = a.exact @ b.exact.T
        error = (np.abs(to_numpy(c) - expected) / row_sizes).max()
        lost = np.linalg.norm((expected - unquantised) / row_sizes)
        lost /= np.linalg.norm(unquantised / row_sizes)
        assert error < 1e-5, f"{name}: off by {error} of a row's largest from the float64 result"
        line = f"  {name}  {form.bits():>5}{error:>23.1e}{lost:>17.1%}"
        if not quick:
            rate = 2 * M * N * K / 1e6 / st.testing.do_bench(lambda: multiply(a, b, form, c))
            line += f"{rate:9.1f}"
        print(line)


if __name__ == "__main__":
    main("--quick" in sys.argv)
