"""Indices and masks that wrap: casts to fewer bits, arithmetic of bytes, unsigned numbers below zero."""

import numpy as np
import pytest

import sectile as st
import sectile.language as tl

WRAPS = {"uint8": tl.uint8, "int8": tl.int8, "uint16": tl.uint16}


@st.jit
def look_up(out, table, start, middle, N: tl.constexpr, to: tl.constexpr):
    i = (tl.arange(0, N) + start).to(to)
    tl.store(out + tl.arange(0, N), tl.load(table + middle + i))


@pytest.mark.parametrize("name", WRAPS)
@pytest.mark.parametrize("count, start", [(100, 250), (128, 0), (128, 128), (300, 65500), (64, 3)])
def test_an_index_that_a_cast_narrows(name, count, start):
    table = np.arange(1 << 17, dtype=np.int32)
    out = np.empty(count, np.int32)
    look_up[(1,)](out, table, start, 1 << 16, N=count, to=WRAPS[name])
    index = (np.arange(count) + start).astype(name).astype(np.int64)
    np.testing.assert_array_equal(out, table[(1 << 16) + index])


@st.jit
def bytes_added(
    out, table, N: tl.constexpr, to: tl.constexpr, first: tl.constexpr, factor: tl.constexpr
):
    i = tl.arange(0, N).to(to) * factor + first
    tl.store(out + tl.arange(0, N), tl.load(table + 300 + i.to(tl.int32)))


@pytest.mark.parametrize("name", ["uint8", "int8"])
@pytest.mark.parametrize("first, factor", [(100, 1), (0, 2), (1, 3), (0, 1), (96, 4)])
def test_arithmetic_of_bytes(name, first, factor):
    table = np.arange(1000, dtype=np.int32)
    out = np.empty(200, np.int32)
    bytes_added[(1,)](out, table, N=200, to=WRAPS[name], first=first, factor=factor)
    index = (np.arange(200) * factor + first).astype(name).astype(np.int64)
    np.testing.assert_array_equal(out, table[300 + index])


@st.jit
def ring(out, head, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + (head + i).to(tl.uint8), i)


@pytest.mark.parametrize("check", [None, "bounds"])
def test_a_ring_buffer_is_written_within(check):
    out = np.full(400, -1, np.int32)
    ring[(1,)](out[:256], 200, N=100, **({"check": check} if check else {}))
    expected = np.full(400, -1, np.int32)
    expected[(np.arange(100) + 200) % 256] = np.arange(100)
    np.testing.assert_array_equal(out, expected)


@st.jit
def window(out, x, pad, n, N: tl.constexpr, to: tl.constexpr):
    i = tl.arange(0, N) - pad
    tl.store(out + tl.arange(0, N), tl.load(x + 300 + i, mask=i.to(to) < n, other=-5))


@pytest.mark.parametrize("to", [tl.uint32, tl.uint64], ids=str)
@pytest.mark.parametrize("pad, n", [(3, 50), (16, 48), (150, 7), (0, 100), (1, 0)])
def test_below_zero_is_large_as_an_unsigned_number(to, pad, n):
    x = np.arange(1000, dtype=np.int32)
    out = np.empty(100, np.int32)
    window[(1,)](out, x, pad, n, N=100, to=to)
    i = np.arange(100) - pad
    np.testing.assert_array_equal(out, np.where((i >= 0) & (i < n), 300 + i, -5))


@st.jit
def far(out, x, start, n, N: tl.constexpr, to: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i, mask=i.to(to) + start < n, other=-5))
    tl.store(out + N + i, tl.load(x + i, mask=i.to(to) + start <= n, other=-5))


@pytest.mark.parametrize(
    "to, start, n",
    [
        ("int64", 5, -(2**63)), ("int64", -(2**63), 2**63 - 1), ("int64", 2**63 - 50, 2**63 - 1), ("int64", 0, 7),
        ("uint64", 2**63, 5), ("uint64", 5, 2**64 - 1), ("uint64", 2**64 - 30, 40), ("uint64", 2**64 - 30, 2**64 - 9),
    ],
)  # fmt: skip
def test_masks_at_the_ends_of_64_bits(to, start, n):
    x = np.arange(100, dtype=np.int32)
    out = np.empty(200, np.int32)
    far[(1,)](out, x, start, n, N=100, to=getattr(tl, to))
    with np.errstate(over="ignore"):
        i = np.arange(100).astype(to) + np.array(start, to)
    inside = np.concatenate([i < np.array(n, to), i <= np.array(n, to)])
    np.testing.assert_array_equal(out, np.where(inside, np.tile(x, 2), -5))


@st.jit
def convolve(out, x, n, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.zeros((N,), tl.float32)
    for offset in tl.static_range(-2, 3):
        k = (i + offset).to(tl.uint32)
        total += tl.load(x + k, mask=k < n, other=0.0)
    tl.store(out + i, total, mask=i < n)


@pytest.mark.parametrize("n", [5, 100, 128])
def test_an_unsigned_index_that_begins_below_zero(n):
    x = np.random.default_rng(0).standard_normal(n).astype(np.float32)
    out = np.empty(n, np.float32)
    convolve[(1,)](out, x, n, N=128)
    np.testing.assert_allclose(
        out,
        np.convolve(x.astype(np.float64), np.ones(5), "same" if n > 5 else "full")[
            (0 if n > 5 else 2) :
        ][:n],
        rtol=1e-5,
        atol=1e-5,
    )


@st.jit
def load_where(out, x, m, n, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R), tl.arange(0, C)
    v = tl.load(x + r, mask=r < m)
    tl.store(out + r[:, None] * C + c[None, :], v[:, None] + tl.zeros((R, C), tl.float32))
    one = tl.load(x)
    tl.store(out + R * C, one, mask=n > 0)
    tl.store(out + R * C, tl.load(x, mask=n > 0), mask=n == 0)


@pytest.mark.parametrize("shape", [(4, 8), (1, 64), (16, 16), (8, 1)], ids=str)
@pytest.mark.parametrize("m", [0, 1, 3])
def test_what_a_mask_leaves_out_is_zero(shape, m):
    rows, columns = shape
    x = np.full(rows, np.nan, np.float32)
    x[:m] = 7
    out = np.full(rows * columns + 1, -1, np.float32)
    load_where[(1,)](out, x, m, 0, R=rows, C=columns)
    expected = np.where(np.arange(rows) < m, np.float32(7), np.float32(0))
    np.testing.assert_array_equal(out[:-1].reshape(shape), np.repeat(expected[:, None], columns, 1))
    assert out[-1] == 0
