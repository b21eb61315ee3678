"""Tiles longer than what is loaded: what stands behind a mask is `other`, in sums and maxima, in kept tiles and in
what another mask stores; from no element loaded to all of them."""

import numpy as np
import pytest

import sectile as st
import sectile.language as tl

BLOCK = 256
COUNTS = (0, 1, 15, 16, 17, 100, 128, 200, 255, 256)


@st.jit
def summaries(x, sums, most, least, count, other, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < count, other=other)
    tl.store(sums, tl.sum(v, axis=0))
    tl.store(most, tl.max(v, axis=0))
    tl.store(least, tl.min(v, axis=0))


@pytest.mark.parametrize("other", [0.0, 1.5, -2.0, -np.inf, np.inf, np.nan])
@pytest.mark.parametrize("count", COUNTS)
def test_reductions_see_other(count, other):
    x = np.random.default_rng(count).standard_normal(BLOCK).astype(np.float32)
    got = [np.zeros(1, np.float32) for _ in range(3)]
    summaries[(1,)](x, *got, count, float(other), BLOCK=BLOCK)
    padded = np.where(np.arange(BLOCK) < count, x, other).astype(np.float64)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(got[0][0], padded.sum(), rtol=1e-5, atol=1e-5)
    # Sectile's max and min pass over NaN.
    numbers = padded[~np.isnan(padded)]
    if numbers.size:
        assert got[1][0] == np.float32(numbers.max()) and got[2][0] == np.float32(numbers.min())


@st.jit
def softmax_and_where(x, out, kept, count, stored, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    inside = i < count
    v = tl.load(x + i, mask=inside, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    total = tl.sum(e, axis=0)
    centred = tl.where(inside, v - 0.5, 3.0)
    total += tl.sum(centred * centred, axis=0)
    tl.store(out + i, e / total, mask=inside)
    # Another mask stores what stands in the padding, after the input has gone.
    tl.store(x + i, v * 0 + 7, mask=inside)
    tl.store(kept + i, centred + e, mask=i < stored)


@pytest.mark.parametrize("count", COUNTS[1:])
@pytest.mark.parametrize("stored", [0, 64, 130, 256])
def test_what_follows_sees_the_padding(count, stored):
    x = np.random.default_rng(count).standard_normal(BLOCK).astype(np.float32)
    out, kept, given = np.full(BLOCK, -1.0, np.float32), np.full(BLOCK, -1.0, np.float32), x.copy()
    softmax_and_where[(1,)](given, out, kept, count, stored, BLOCK=BLOCK)
    position = np.arange(BLOCK)
    v = np.where(position < count, x, -np.inf).astype(np.float64)
    e = np.exp(v - v.max())
    centred = np.where(position < count, v - 0.5, 3.0)
    total = e.sum() + (centred**2).sum()
    np.testing.assert_allclose(out, np.where(position < count, e / total, -1), rtol=2e-6)
    np.testing.assert_allclose(
        kept, np.where(position < stored, centred + e, -1), rtol=2e-6, atol=1e-6
    )
    np.testing.assert_array_equal(given, np.where(position < count, 7, x))


@st.jit
def rows_and_columns(x, sums, out, rows, columns, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    v = tl.load(x + i * N + j, mask=(i < rows) & (j < columns), other=2.0)
    tl.store(sums + tl.arange(0, M), tl.sum(v * v, axis=1))
    tl.store(out + i * N + j, tl.sqrt(v * v) + 1, mask=i < rows)


@pytest.mark.parametrize("rows,columns", [(0, 0), (3, 40), (8, 1), (5, 128), (8, 127)])
def test_padding_of_rows_and_columns(rows, columns):
    x = np.random.default_rng(columns).standard_normal((8, 128)).astype(np.float32)
    sums, out = np.zeros(8, np.float32), np.full((8, 128), -1.0, np.float32)
    rows_and_columns[(1,)](x, sums, out, rows, columns, M=8, N=128)
    i, j = np.ogrid[:8, :128]
    v = np.where((i < rows) & (j < columns), x, 2.0).astype(np.float64)
    np.testing.assert_allclose(sums, (v * v).sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(out, np.where(i < rows, np.abs(v) + 1, -1), rtol=1e-6)


@st.jit
def overwrites_its_input(x, y, out, total, count, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    first = tl.load(x + tl.arange(0, 1))  # one element, which the kernel overwrites
    v = tl.exp(tl.load(x + i, mask=i < count, other=0.0)) + first
    tl.store(x, tl.sum(v, axis=0))
    # The same mask again: the padding of `v` could be computed anew, but not from memory.
    w = v * tl.load(y + i, mask=i < count, other=2.0)
    tl.store(total, tl.sum(w, axis=0))
    tl.store(out + i, v)


@pytest.mark.parametrize("count", COUNTS)
def test_padding_is_not_read_again_from_memory(count):
    rng = np.random.default_rng(count)
    x, y = rng.standard_normal((2, BLOCK)).astype(np.float32)
    out, total, given = np.zeros(BLOCK, np.float32), np.zeros(1, np.float32), x.copy()
    overwrites_its_input[(1,)](given, y, out, total, count, BLOCK=BLOCK)
    inside = np.arange(BLOCK) < count
    v = np.exp(np.where(inside, x, 0).astype(np.float64)) + np.float64(x[0])
    np.testing.assert_allclose(out, v, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(total[0], (v * np.where(inside, y, 2)).sum(), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(given[0], v.sum(), rtol=1e-4, atol=1e-4)


@st.jit
def wrapping_masks(x, sums, start, limit, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    unsigned = (i + start).to(tl.uint32) < limit.to(tl.uint32)
    tl.store(sums, tl.sum(tl.load(x + i, mask=unsigned, other=0.0), axis=0))
    signed = i + start < limit
    tl.store(sums + 1, tl.sum(tl.load(x + i, mask=signed, other=0.0), axis=0))
    extended = (i + start).to(tl.int64) < limit.to(tl.int64)
    tl.store(sums + 2, tl.sum(tl.load(x + i, mask=extended, other=0.0), axis=0))


@pytest.mark.parametrize("start,limit", [(-100, 60), (2**31 - 100, 0), (2**31 - 200, 2**31 - 150)])
def test_a_mask_that_fails_may_hold_again(start, limit):
    """Where the numbers of a row wrap; Sectile's integers do, as NumPy's."""
    x = np.random.default_rng(1).standard_normal(BLOCK).astype(np.float32)
    sums = np.zeros(3, np.float32)
    wrapping_masks[(1,)](x, sums, start, limit, BLOCK=BLOCK)
    index = (np.arange(BLOCK) + start).astype(np.int32)
    masks = [index.astype(np.uint32) < np.uint32(limit), index < limit, index < limit]
    np.testing.assert_allclose(sums, [x[mask].sum(dtype=np.float64) for mask in masks], atol=1e-4)


@st.jit
def pairs_of_one_load(x, out, more, n, N: tl.constexpr):
    r = tl.arange(0, N)
    a = tl.load(x + r, mask=r < n, other=1.0)
    tl.store(out + r[:, None] * N + r[None, :], a[:, None] * a[None, :])
    w = tl.where(r < n, tl.load(x + r, mask=r < n) * 2, 1.0)
    tl.store(more + r[:, None] * N + r[None, :], w[None, :] - w[:, None])


@pytest.mark.parametrize("n", [0, 5, 16, 20, 63, 64])
def test_one_load_along_rows_and_columns(n):
    """Its mask holds for neither dimension at all when it holds for the other."""
    x = np.random.default_rng(n).standard_normal(128).astype(np.float32)
    out, more = np.zeros((2, 64, 64), np.float32)
    pairs_of_one_load[(1,)](x, out, more, n, N=64)
    inside = np.arange(64) < n
    a, w = np.where(inside, x[:64], 1), np.where(inside, x[:64] * 2, 1)
    np.testing.assert_allclose(out, a[:, None] * a[None, :], rtol=1e-6)
    np.testing.assert_allclose(more, w[None, :] - w[:, None], rtol=1e-6, atol=1e-6)


@st.jit
def transposed_beside_its_mask(x, y, sums, total, n, N: tl.constexpr):
    r = tl.arange(0, N)
    at = r[:, None] * N + r[None, :]
    inside = (r[None, :] < n) & (r[:, None] >= 0)
    a = tl.load(x + at, mask=inside, other=0.0)
    tl.store(total, tl.sum(a))
    tl.store(x + at, a * 0)  # `a` is kept
    b = tl.load(y + at, mask=inside, other=0.5)
    tl.store(sums + r, tl.sum(tl.trans(a) + b, axis=1))


@pytest.mark.parametrize("n", [0, 5, 20, 40, 64])
def test_padding_of_a_tile_is_not_that_of_its_transpose(n):
    x, y = np.random.default_rng(n).standard_normal((2, 64, 64)).astype(np.float32)
    sums, total, given = np.zeros(64, np.float32), np.zeros(1, np.float32), x.copy()
    transposed_beside_its_mask[(1,)](given, y, sums, total, n, N=64)
    inside = np.arange(64)[None, :] < n
    a, b = np.where(inside, x, 0).astype(np.float64), np.where(inside, y, 0.5).astype(np.float64)
    np.testing.assert_allclose(sums, (a.T + b).sum(axis=1), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(total[0], a.sum(), rtol=1e-4, atol=1e-3)
