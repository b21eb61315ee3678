"""sort, topk, bitonic_merge and histogram are NumPy's, of every type, any extent and axis."""

import numpy as np
import pytest
from support import DTYPES, FLOATS, FP8, random

import sectile as st
import sectile.language as tl

TYPES = {**{name: entry[0] for name, entry in DTYPES.items()}, **{n: e[0] for n, e in FP8.items()}}
SHAPES = [(1, 1), (3, 5), (2, 33), (7, 100), (130, 3), (4, 16), (64, 64), (1, 1024), (5, 257)]


def any_bits(name, shape, seed=0):
    """Every pattern of the type may occur: both zeros, subnormals, infinities and NaN of both signs."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(TYPES[name])
    size = int(np.prod(shape)) * dtype.itemsize
    return rng.integers(0, 256, size, dtype=np.uint8).view(dtype).reshape(shape).copy()


def comparable(x):
    """Numbers that NumPy sorts as it should: float64 for every float."""
    return x if x.dtype.kind in "iub" else x.astype(np.float64)


@st.jit
def sort_kernel(x, out, R: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr, DOWN: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(out + at, tl.sort(tl.load(x + at), AXIS, DOWN))


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["int32", "float32"])
def test_sort(device, name, shape, axis, descending):
    x = any_bits(name, shape, seed=shape[1])
    out = np.zeros_like(x)
    sort_kernel[(1,)](x, out, *shape, axis, descending)
    expected = np.sort(comparable(x), axis=axis)
    if descending:
        expected = np.flip(expected, axis)
    np.testing.assert_array_equal(comparable(out), expected)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("warps", [1, 8])
@pytest.mark.parametrize("name", TYPES)
def test_every_type(device, name, warps):
    x = any_bits(name, (2, 300))
    out, reverse = np.zeros_like(x), np.zeros_like(x)
    sort_kernel[(1,)](x, out, 2, 300, 1, False, num_warps=warps)
    sort_kernel[(1,)](x, reverse, 2, 300, 1, True, num_warps=warps)
    np.testing.assert_array_equal(comparable(out), np.sort(comparable(x), axis=1))
    np.testing.assert_array_equal(comparable(reverse), comparable(out)[:, ::-1])
    # A permutation to the last bit, but for the sign of NaN.
    if name in FLOATS:
        numbers = x.view(f"u{x.dtype.itemsize}")[~np.isnan(x)]
        made = out.view(f"u{x.dtype.itemsize}")[~np.isnan(out)]
        np.testing.assert_array_equal(np.sort(made), np.sort(numbers))


@st.jit
def sort_flags(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.sort(tl.load(x + at) != 0))


def test_truth_values(device):
    x = np.random.default_rng(1).integers(0, 2, 77, dtype=np.int8)
    out = np.zeros(77, np.int8)
    sort_flags[(1,)](x, out, 77)
    np.testing.assert_array_equal(out, np.sort(x))


@st.jit
def topk_kernel(
    x,
    out,
    R: tl.constexpr,
    C: tl.constexpr,
    K: tl.constexpr,
    AXIS: tl.constexpr,
    LARGEST: tl.constexpr,
):
    v = tl.load(x + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    kept = tl.topk(v, K, dim=AXIS, descending=LARGEST)
    if AXIS == 0:
        at = tl.arange(0, K)[:, None] * C + tl.arange(0, C)[None, :]
    else:
        at = tl.arange(0, R)[:, None] * K + tl.arange(0, K)[None, :]
    tl.store(out + at, kept)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("k", [1, 5, 64])
@pytest.mark.parametrize("shape", [(3, 64), (1, 1024), (2, 300), (64, 4), (96, 3)], ids=str)
@pytest.mark.parametrize("name", ["float32", "int64"])
def test_topk(device, name, shape, k, largest):
    axis = 0 if shape[0] > shape[1] else 1
    x = any_bits(name, shape, seed=k)
    out = np.zeros((k, shape[1]) if axis == 0 else (shape[0], k), x.dtype)
    topk_kernel[(1,)](x, out, *shape, k, axis, largest)
    expected = np.sort(comparable(x), axis=axis)
    if largest:
        expected = np.flip(expected, axis)
    np.testing.assert_array_equal(comparable(out), np.take(expected, range(k), axis))


@st.jit
def merge_kernel(x, y, out, N: tl.constexpr, DOWN: tl.constexpr):
    at = tl.arange(0, N)
    both = tl.cat(tl.load(x + at), tl.load(y + at))
    tl.store(out + tl.arange(0, 2 * N), tl.bitonic_merge(both, descending=DOWN))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("extent", [1, 8, 50, 64, 512])
def test_bitonic_merge(device, extent, descending):
    x, y = (np.sort(random("float32", (extent,), seed=seed)) for seed in (1, 2))
    out = np.zeros(2 * extent, np.float32)
    merge_kernel[(1,)](x, y[::-1].copy(), out, extent, descending)
    expected = np.sort(np.concatenate([x, y]))
    np.testing.assert_array_equal(out, expected[::-1] if descending else expected)


@st.jit
def merge_in_loop(x, out, rounds, N: tl.constexpr):
    """The N least of many rows, row by row."""
    at = tl.arange(0, N)
    least = tl.sort(tl.load(x + at))
    for i in range(1, rounds):
        other = tl.sort(tl.load(x + i * N + at), descending=True)
        least = tl.bitonic_merge(tl.minimum(least, other))
    tl.store(out + at, least)


def test_sorting_in_a_loop(device):
    x = random("int32", (9, 128))
    out = np.zeros(128, np.int32)
    merge_in_loop[(1,)](x, out, 9, 128)
    np.testing.assert_array_equal(out, np.sort(x.ravel())[:128])


@st.jit
def count(x, out, n, N: tl.constexpr, BINS: tl.constexpr, MASKED: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + at, mask=at < n, other=0)
    h = tl.histogram(v, BINS, mask=at < n) if MASKED else tl.histogram(v, BINS)
    tl.atomic_add(out + tl.arange(0, BINS), h)


@pytest.mark.parametrize("extent", [1, 100, 2048])
@pytest.mark.parametrize("bins", [1, 7, 256, 1000])
@pytest.mark.parametrize("name", ["int32", "int8", "uint8", "int64", "uint32"])
def test_histogram(device, name, bins, extent):
    low = 0 if name.startswith("u") else -3  # outside: not counted
    x = random(name, (5 * extent,), low=low, high=min(bins + 5, 127), seed=bins)
    n = 5 * extent - extent // 3
    out = np.zeros(bins, np.int32)
    count[(5,)](x, out, n, extent, bins, True)
    expected = np.array([np.count_nonzero(x[:n] == b) for b in range(bins)])
    np.testing.assert_array_equal(out, expected)


@st.jit
def count_rows(x, out, R: tl.constexpr, C: tl.constexpr, BINS: tl.constexpr):
    v = tl.load(x + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    tl.store(out + tl.arange(0, BINS), tl.histogram(v > 0, 2) if BINS == 2 else v.histogram(BINS))


def test_histogram_of_matrices_and_truth_values(device):
    x = random("int32", (6, 40), low=0, high=9)
    out = np.zeros(10, np.int32)
    count_rows[(1,)](x, out, 6, 40, 10)
    np.testing.assert_array_equal(out, np.bincount(x.ravel(), minlength=10))
    out = np.zeros(2, np.int32)
    count_rows[(1,)](x, out, 6, 40, 2)
    np.testing.assert_array_equal(out, np.bincount((x > 0).ravel(), minlength=2))
