"""Reductions and scans, along any axis, with built-in and own combiners."""

import re

import numpy as np
import pytest
from support import DTYPES, EXTENTS, FLOATS, INTEGERS, assert_close, numpy_dtype, random

import sectile as st
import sectile.language as tl


@st.jit
def reduce_1d(x_ptr, out_ptr, N: tl.constexpr, f: tl.constexpr):
    tl.store(out_ptr, f(tl.load(x_ptr + tl.arange(0, N)), axis=0))


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("name", ["float32", "float64", "int32", "int64"])
def test_sum_max_min(name, extent):
    x = random(name, extent, extent)
    out = np.zeros(1, x.dtype)
    reduce_1d[(1,)](x, out, N=extent, f=tl.sum)
    if name in FLOATS:
        scale = np.abs(x.astype(np.float64)).sum()
        assert_close(out, [x.astype(np.longdouble).sum()], name, ulps=8, scale=scale)
    else:
        assert out[0] == x.sum(dtype=x.dtype)
    reduce_1d[(1,)](x, out, N=extent, f=tl.max)
    assert out[0] == x.max()
    reduce_1d[(1,)](x, out, N=extent, f=tl.min)
    assert out[0] == x.min()


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "float16", "bfloat16"])
def test_small_types_are_widened(name):
    x = random(name, 100)
    wide = np.float64 if name in FLOATS else np.int64
    out = np.zeros(1, np.float32 if name in FLOATS else (np.uint32 if name[0] == "u" else np.int32))
    reduce_1d[(1,)](x, out, N=100, f=tl.max)
    assert out[0] == x.astype(wide).max()
    if name not in FLOATS:
        reduce_1d[(1,)](x, out, N=100, f=tl.sum)
        assert out[0] == x.astype(wide).sum()


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("f, reference", [(tl.argmax, np.argmax), (tl.argmin, np.argmin)])
def test_argmax_takes_the_first_of_equals(f, reference, extent):
    x = np.random.default_rng(extent).integers(-3, 3, extent).astype(np.float32)
    out = np.zeros(1, np.int32)
    reduce_1d[(1,)](x, out, N=extent, f=f)
    assert out[0] == reference(x)


@pytest.mark.parametrize("shape", [(1, 1), (3, 17), (16, 32), (5, 100), (33, 7)])
@pytest.mark.parametrize("axis", [0, 1])
def test_two_dimensions(shape, axis):
    @st.jit
    def kernel(
        x_ptr, sum_ptr, max_ptr, where_ptr, M: tl.constexpr, N: tl.constexpr, axis: tl.constexpr
    ):
        i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
        x = tl.load(x_ptr + i)
        left = tl.arange(0, N if axis == 0 else M)
        tl.store(sum_ptr + left, tl.sum(x, axis=axis))
        largest, where = tl.max(x, axis=axis, return_indices=True)
        tl.store(max_ptr + left, largest)
        tl.store(where_ptr + left, where)

    x = random("float32", shape)
    kept = shape[1 - axis]
    total, largest, where = (
        np.zeros(kept, np.float32),
        np.zeros(kept, np.float32),
        np.zeros(kept, np.int32),
    )
    kernel[(1,)](x, total, largest, where, M=shape[0], N=shape[1], axis=axis)
    exact = x.astype(np.float64)
    assert_close(total, exact.sum(axis=axis), "float32", ulps=8, scale=np.abs(exact).sum(axis=axis))
    np.testing.assert_array_equal(largest, x.max(axis=axis))
    np.testing.assert_array_equal(where, x.argmax(axis=axis))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_three_dimensions_and_keep_dims(axis):
    @st.jit
    def kernel(
        x_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, axis: tl.constexpr
    ):
        i = (
            tl.arange(0, A)[:, None, None] * B * C
            + tl.arange(0, B)[None, :, None] * C
            + tl.arange(0, C)[None, None, :]
        )
        x = tl.load(x_ptr + i)
        tl.store(out_ptr + i, x - tl.max(x, axis=axis, keep_dims=True))

    x = random("float32", (3, 5, 18))
    out = np.empty_like(x)
    kernel[(1,)](x, out, A=3, B=5, C=18, axis=axis)
    np.testing.assert_array_equal(out, x - x.max(axis=axis, keepdims=True))


def test_whole_tile_sum_and_xor_sum():
    @st.jit
    def kernel(x_ptr, out_ptr, n_ptr, bits_ptr, M: tl.constexpr, N: tl.constexpr):
        i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
        tl.store(out_ptr, tl.sum(tl.load(x_ptr + i)))
        tl.store(bits_ptr, tl.xor_sum(tl.load(n_ptr + tl.arange(0, N)), axis=0))

    x, n = random("float32", (9, 21)), random("int32", 21)
    out, bits = np.zeros(1, np.float32), np.zeros(1, np.int32)
    kernel[(1,)](x, out, n, bits, M=9, N=21)
    assert_close(out, [x.astype(np.float64).sum()], "float32", ulps=8, scale=np.abs(x).sum())
    assert bits[0] == np.bitwise_xor.reduce(n)


@st.jit
def product(a, b):
    return a * b


@st.jit
def welford(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n = n_a + n_b
    delta = mean_b - mean_a
    return mean_a + delta * n_b / n, m2_a + m2_b + delta * delta * n_a * n_b / n, n


def test_own_combiners():
    @st.jit
    def kernel(x_ptr, product_ptr, mean_ptr, m2_ptr, N: tl.constexpr):
        x = tl.load(x_ptr + tl.arange(0, N))
        tl.store(product_ptr, tl.reduce(x, 0, product))
        mean, m2, n = tl.reduce(
            (x, tl.zeros((N,), tl.float32), tl.full((N,), 1.0, tl.float32)), 0, welford
        )
        tl.store(mean_ptr, mean)
        tl.store(m2_ptr, m2)

    x = random("float32", 45, low=0.5, high=1.5)
    results = [np.zeros(1, np.float32) for _ in range(3)]
    kernel[(1,)](x, *results, N=45)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(results[0], exact.prod(), rtol=1e-5)
    np.testing.assert_allclose(results[1], exact.mean(), rtol=1e-5)
    np.testing.assert_allclose(results[2], ((exact - exact.mean()) ** 2).sum(), rtol=1e-4)


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("reverse", [False, True])
def test_cumsum_and_cumprod(extent, reverse):
    @st.jit
    def kernel(x_ptr, sum_ptr, product_ptr, N: tl.constexpr, reverse: tl.constexpr):
        i = tl.arange(0, N)
        x = tl.load(x_ptr + i)
        tl.store(sum_ptr + i, tl.cumsum(x, axis=0, reverse=reverse))
        tl.store(product_ptr + i, tl.cumprod(x, axis=0, reverse=reverse))

    x = random("int64", extent, low=-9, high=9)
    sums, products = np.empty_like(x), np.empty_like(x)
    kernel[(1,)](x, sums, products, N=extent, reverse=reverse)
    way = slice(None, None, -1) if reverse else slice(None)
    np.testing.assert_array_equal(sums, x[way].cumsum()[way])
    np.testing.assert_array_equal(products, x[way].cumprod()[way])


@st.jit
def recurrence(a_left, b_left, a_right, b_right):
    # y[i] = a[i] * y[i - 1] + b[i]: associative, not commutative
    return a_right * a_left, a_right * b_left + b_right


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(4, 33), (20, 3)])
def test_associative_scan_keeps_the_order(shape, axis):
    @st.jit
    def kernel(a_ptr, b_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, axis: tl.constexpr):
        i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
        a, y = tl.associative_scan((tl.load(a_ptr + i), tl.load(b_ptr + i)), axis, recurrence)
        tl.store(out_ptr + i, y)

    a, b = random("float32", shape, 1, low=-1, high=1), random("float32", shape, 2)
    out = np.empty_like(a)
    kernel[(1,)](a, b, out, M=shape[0], N=shape[1], axis=axis)
    a, b = np.moveaxis(a.astype(np.float64), axis, 0), np.moveaxis(b.astype(np.float64), axis, 0)
    y, expected = np.zeros(a.shape[1:]), []
    for left, right in zip(a, b):
        y = left * y + right
        expected.append(y)
    np.testing.assert_allclose(np.moveaxis(out, axis, 0), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", INTEGERS)
def test_reduce_with_max_of_every_integer_type(name):
    x = random(name, 77)
    out = np.zeros(1, np.int64 if name != "uint64" else np.uint64)
    reduce_1d[(1,)](x, out, N=77, f=tl.max)
    assert int(out[0]) == int(x.max())


@pytest.mark.parametrize("name", ["int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("extent", [2, 3, 5, 7, 8, 9, 16, 17, 33])
def test_first_of_many_equal_extrema_of_a_sum(extent, name):
    @st.jit
    def kernel(x_ptr, least_ptr, greatest_ptr, N: tl.constexpr):
        x = tl.load(x_ptr + tl.arange(0, N))
        tl.store(least_ptr, tl.argmin(x + x, 0))
        tl.store(greatest_ptr, tl.argmax(x + x, 0))

    for seed in range(20):
        x = np.random.default_rng(seed).integers(0, 8, extent).astype(numpy_dtype(name))
        least, greatest = np.zeros(1, np.int32), np.zeros(1, np.int32)
        kernel[(1,)](x, least, greatest, N=extent)
        assert (least[0], greatest[0]) == (np.argmin(x), np.argmax(x))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_sums_of_narrow_floats_are_taken_in_fp32(name):
    """2048 + 1 is 2048 in fp16, and the sum of thousands of ones depends on it."""
    dtype, kind = DTYPES[name]

    @st.jit
    def kernel(x, total, running, product, N: tl.constexpr):
        i = tl.arange(0, N)
        v = tl.load(x + i)
        tl.static_assert(tl.sum(v).dtype == x.dtype.element_ty)
        tl.store(total, tl.sum(v))
        tl.store(total + 1, tl.sum(v, dtype=x.dtype.element_ty))
        tl.store(running + i, tl.cumsum(v))
        tl.store(product + i, tl.cumprod(v))

    count = 4096
    x = np.ones(count, dtype)
    x[0] = 2048 if name == "float16" else 256
    total = np.zeros(2, np.float32)
    running, product = np.zeros(count, np.float32), np.zeros(count, np.float32)
    kernel[(1,)](x, total, running, product, N=count)
    exact = np.cumsum(x.astype(np.float64))
    assert np.array_equal(total, np.full(2, exact[-1].astype(dtype), np.float32))
    # Triton's cumsum of bf16 is fp32, and of fp16 what it was.
    rounded = exact.astype(dtype).astype(np.float64) if name == "float16" else exact
    assert np.array_equal(running, rounded)
    assert np.array_equal(product, np.full(count, x[0].astype(np.float32)))


@pytest.mark.parametrize("numerics", ["default", "reproducible"])
@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
@pytest.mark.parametrize("extent", [3, 8, 33, 100])
def test_numbers_win_over_nan_with_their_indices(device, extent, name, numerics):
    dtype, _ = DTYPES[name]

    @st.jit
    def kernel(x, values, indices, N: tl.constexpr):
        row = tl.program_id(0)
        v = tl.load(x + row * N + tl.arange(0, N))
        greatest, where = tl.max(v, 0, return_indices=True)
        least, place = tl.min(v, 0, return_indices=True)
        tl.store(values + row * 2, greatest)
        tl.store(values + row * 2 + 1, least)
        tl.store(indices + row * 4, where)
        tl.store(indices + row * 4 + 1, place)
        tl.store(indices + row * 4 + 2, tl.argmax(v, 0))
        tl.store(indices + row * 4 + 3, tl.argmin(v, 0))

    generator = np.random.default_rng(extent)
    x = generator.integers(-9, 9, (60, extent)).astype(dtype)
    x[generator.random(x.shape) < 0.3] = np.nan
    x[0] = np.nan
    values = np.zeros((60, 2), dtype)
    indices = np.zeros((60, 4), np.int32)
    kernel[(60,)](x, values, indices, N=extent, numerics=numerics)
    assert np.isnan(values[0]).all() and (indices[0] == 0).all()
    rows = ~np.isnan(x).all(1)
    x, values, indices = x[rows], values[rows], indices[rows]
    most, least = np.nanargmax(x, 1), np.nanargmin(x, 1)
    assert np.array_equal(indices, np.stack([most, least, most, least], 1))
    assert np.array_equal(values, np.stack([np.nanmax(x, 1), np.nanmin(x, 1)], 1))


@st.jit
def _first_of_equals(value, index, other_value, other_index):
    comes_first = (value > other_value) | ((value == other_value) & (index < other_index))
    return tl.where(comes_first, value, other_value), tl.where(comes_first, index, other_index)


@st.jit
def first_place(out, start, N: tl.constexpr):
    places = start + tl.arange(0, N)
    _, place = tl.reduce((tl.zeros((N,), tl.float32), places), 0, _first_of_equals)
    tl.store(out, place)


def test_places_that_wrap_have_no_order(device):
    """Counted from the start they ascend; as numbers the ones behind the greatest come first."""
    out = np.zeros(1, np.int32)
    first_place[(1,)](out, 2**31 - 700, 1024)
    assert out[0] == -(2**31)


@st.jit
def squares_everywhere(x, rows, out, all_out, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    v = tl.load(x + m[:, None] * BN + n[None, :])
    s = tl.sum(v * v, axis=1)
    tl.store(out + m[:, None] * BN + n[None, :], s[:, None] + tl.zeros((BM, BN), tl.float32))
    top = tl.max(v, axis=1)
    whole = tl.sum(top * top)
    tl.store(all_out + m[:, None] * BN + n[None, :], whole + tl.zeros((BM, BN), tl.float32))


@pytest.mark.parametrize("shape,warps", (((4, 256), 1), ((16, 64), 4), ((64, 64), 8)))
def test_all_threads_have_the_same_sum(shape, warps):
    """To the last bit, although a product and a sum may be one instruction."""
    x = np.random.default_rng(7).standard_normal(shape).astype(np.float32)
    out, all_out = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    squares_everywhere[(1,)](x, shape[0], out, all_out, *shape, num_warps=warps)
    np.testing.assert_allclose(out[:, 0], (x.astype(np.float64) ** 2).sum(axis=1), rtol=1e-5)
    assert (out == out[:, :1]).all() and (all_out == all_out[0, 0]).all()


@st.jit
def counted(x_ptr, out_ptr, ROWS: tl.constexpr, N: tl.constexpr, f: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, ROWS)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out_ptr + tl.arange(0, ROWS), tl.reduce(x, 1, f))


@st.jit
def of_two_sum(a, b):
    return a + b


@st.jit
def of_two_max(a, b):
    return tl.maximum(a, b)


@st.jit
def of_two_min(a, b):
    return tl.minimum(a, b)


@st.jit
def of_two_xor(a, b):
    return a ^ b


@st.jit
def of_two_and(a, b):
    return a & b


@st.jit
def of_two_or(a, b):
    return a | b


COMBINATIONS = {
    of_two_sum: (np.add, "add"),
    of_two_max: (np.maximum, "max"),
    of_two_min: (np.minimum, "min"),
    of_two_xor: (np.bitwise_xor, "xor"),
    of_two_and: (np.bitwise_and, "and"),
    of_two_or: (np.bitwise_or, "or"),
}


@pytest.mark.parametrize("f", COMBINATIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
@pytest.mark.parametrize("shape", [(4, 128), (8, 32), (16, 8), (1, 1024), (4, 100)])
def test_integers_of_all_lanes(f, dtype, shape):
    limits = np.iinfo(dtype)
    x = np.random.default_rng(3).integers(limits.min, limits.max, shape, dtype, endpoint=True)
    out = np.zeros(shape[0], dtype)
    counted[(1,)](x, out, *shape, f)
    assert np.array_equal(out, COMBINATIONS[f][0].reduce(x, axis=1, dtype=dtype))


@pytest.mark.host
@pytest.mark.parametrize("f", COMBINATIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype, columns, count", [("i32", 128, 1), ("u8", 128, 1), ("i32", 8, 0), ("i64", 128, 0)])  # fmt: skip
def test_one_instruction_combines_integers_of_all_lanes(f, dtype, columns, count):
    signature = {"x_ptr": f"*{dtype}:16", "out_ptr": f"*{dtype}:16"}
    compiled = st.compile(
        counted, signature, {"ROWS": 4, "N": columns, "f": f}, target="cuda:80", num_warps=4
    )
    assert compiled.asm["ptx"].count("redux.sync." + COMBINATIONS[f][1]) == count


@st.jit
def rows_summed(x_ptr, w_ptr, out_ptr, ROWS: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, N)
    tile = tl.load(x_ptr + rows[:, None] * N + columns[None, :])
    tl.store(out_ptr + rows, tl.sum(tile * tl.load(w_ptr + columns)[None, :], axis=1))


@pytest.mark.parametrize("rows, columns", [(4, 256), (8, 1), (2, 5), (1, 4096), (16, 96)])
def test_sums_of_products(rows, columns):
    x, w = random("float32", (rows, columns), 1), random("float32", columns, 2)
    out = np.zeros(rows, np.float32)
    rows_summed[(1,)](x, w, out, rows, columns)
    exact = x.astype(np.float64) * w
    assert_close(out, exact.sum(axis=1), "float32", ulps=8, scale=np.abs(exact).sum(axis=1))


def _compiled_sums(dtype, rows, columns, **options):
    signature = dict.fromkeys(("x_ptr", "w_ptr", "out_ptr"), f"*{dtype}:16")
    constants = {"ROWS": rows, "N": columns}
    return st.compile(rows_summed, signature, constants, target="cuda:90", num_warps=4, **options)


def _of_threads(ptx, operation):
    """The instructions whose result is a number of a thread, in order: result and operands."""
    return re.findall(rf"{operation}(?:\.rn)?\.f32\s+(%r\d+), ([^;]*);", ptx)


@pytest.mark.host
def test_products_are_added_by_one_instruction_each():
    """A thread of 128 has 64 of the 64 x 128 products: of each eight, one is multiplied first."""
    ptx = _compiled_sums("fp32", 64, 128).asm["ptx"]
    assert len(_of_threads(ptx, "fma")) == 56 and len(_of_threads(ptx, "mul")) == 8
    exact = _compiled_sums("fp32", 64, 128, enable_fp_fusion=False).asm["ptx"]
    assert not _of_threads(exact, "fma")


@pytest.mark.host
def test_a_thread_combines_neighbours_before_it_goes_on():
    """It never has more sums at a time than the tree is high: the third one is of the first two."""
    signature = dict.fromkeys(("x_ptr", "out_ptr"), "*fp32:16")
    compiled = st.compile(
        counted, signature, {"ROWS": 4, "N": 4096, "f": of_two_sum}, target="cuda:90", num_warps=4
    )
    sums = _of_threads(compiled.asm["ptx"], "add")
    assert len(sums) > 100 and sums[2][1] == f"{sums[0][0]}, {sums[1][0]}"


@pytest.mark.host
def test_no_more_warps_for_what_is_combined_as_it_comes():
    """A tile of 512 numbers for each thread, of which nothing is left but sums."""
    assert _compiled_sums("fp16", 256, 256).metadata.threads == 128


@st.jit
def first_of_greatest(value, place, other, its_place):
    is_first = (value > other) | ((value == other) & (place < its_place))
    return tl.where(is_first, value, other), tl.where(is_first, place, its_place)


@st.jit
def any_of_greatest(value, place, other, its_place):
    return tl.where(value > other, value, other), tl.where(value > other, place, its_place)


@st.jit
def places(x_ptr, out_ptr, N: tl.constexpr, f: tl.constexpr):
    offsets = tl.arange(0, N)
    _, place = tl.reduce((tl.load(x_ptr + offsets), offsets), 0, f)
    tl.store(out_ptr, place)


@pytest.mark.parametrize("f", [first_of_greatest, any_of_greatest])
@pytest.mark.parametrize("name", ["int32", "float32"])
@pytest.mark.parametrize("extent", [32, 64, 500, 4096])
def test_places_of_the_greatest(f, name, extent):
    x = np.random.default_rng(extent).integers(0, 7, extent).astype(name)
    out = np.zeros(1, np.int32)
    places[(1,)](x, out, extent, f)
    assert x[out[0]] == x.max()
    if f is first_of_greatest:
        assert out[0] == x.argmax()


@pytest.mark.host
@pytest.mark.parametrize(
    "f, dtype, agree",
    [
        (first_of_greatest, "i32", True),
        (any_of_greatest, "i32", False),
        (first_of_greatest, "fp32", False),
    ],
)
def test_lanes_that_agree_anyway_need_no_order(f, dtype, agree):
    """In each of five steps a lane keeps its number and place or the other's; where equal numbers, or a NaN, make
    it matter on which side a number stands, both lanes first bring the two in the order of the lanes."""
    signature = {"x_ptr": f"*{dtype}:16", "out_ptr": "*i32:16"}
    compiled = st.compile(places, signature, {"N": 32, "f": f}, target="cuda:90", num_warps=1)
    ptx = compiled.asm["ptx"]
    assert (ptx.count("selp.") <= 12) == agree


@st.jit
def merged_moments(mean, square, count, other_mean, other_square, other_count):
    difference = other_mean - mean
    whole = count + other_count
    part = tl.where(whole == 0.0, 0.0, other_count / whole)
    return (
        mean + difference * part,
        square + other_square + difference * difference * count * part,
        whole,
    )


@st.jit
def moments(x_ptr, out_ptr, ROWS: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, ROWS)
    x = tl.load(x_ptr + rows[:, None] * N + tl.arange(0, N)[None, :])
    ones = tl.full((ROWS, N), 1.0, tl.float32)
    mean, square, count = tl.reduce((x, tl.zeros_like(x), ones), 1, merged_moments)
    tl.store(out_ptr + rows * 2, mean)
    tl.store(out_ptr + rows * 2 + 1, square / count)


@pytest.mark.parametrize("num_warps", [1, 4, 8, 16])
@pytest.mark.parametrize("rows, columns", [(1, 2048), (2, 1024), (1, 640), (4, 512)])
def test_moments_of_rows(rows, columns, num_warps):
    """The order of the two sides matters to the last bit, and each combination divides."""
    x = random("float32", (rows, columns), 5) + np.float32(3)
    out = np.zeros((rows, 2), np.float32)
    moments[(1,)](x, out, rows, columns, num_warps=num_warps)
    exact = x.astype(np.float64)
    assert_close(out[:, 0], exact.mean(axis=1), "float32", ulps=16)
    assert_close(out[:, 1], exact.var(axis=1), "float32", ulps=64)


@pytest.mark.host
@pytest.mark.parametrize("f, exchanges", [(moments, 3 * (5 + 3)), (counted, 5)])
def test_lanes_combine_what_warps_found_where_that_is_much_work(f, exchanges):
    """Each of 256 threads has 4 numbers. Eight warps' are three more exchanges of three numbers, and for a sum
    seven additions of each thread."""
    constants = {"ROWS": 1, "N": 1024} | ({} if f is moments else {"f": of_two_sum})
    signature = dict.fromkeys(("x_ptr", "out_ptr"), "*fp32:16")
    ptx = st.compile(f, signature, constants, target="cuda:90", num_warps=8).asm["ptx"]
    assert ptx.count("shfl.sync") == exchanges
    if f is moments:  # of 4 numbers, five exchanges of lanes, three of warps, and the last quotient
        assert len(re.findall(r"\bdiv\.\w*\.?f32", ptx)) <= 3 + 5 + 3 + 1


@st.jit
def xor_of_places(value, place, other, its_place):
    return value + other, place ^ its_place


@st.jit
def sum_of_places(value, place, other, its_place):
    return value + other, place + its_place


@pytest.mark.parametrize("f", [xor_of_places, sum_of_places])
@pytest.mark.parametrize("extent", [32, 256, 640, 4096])
def test_places_that_are_computed_with(f, extent):
    """Of what becomes of places nothing is known, though places lie in order."""
    x, out = np.ones(extent, np.int32), np.zeros(1, np.int32)
    places[(1,)](x, out, extent, f)
    numbers = np.arange(extent)
    assert out[0] == (numbers.sum() if f is sum_of_places else np.bitwise_xor.reduce(numbers))


@pytest.mark.host
@pytest.mark.parametrize("f", [xor_of_places, sum_of_places, first_of_greatest])
def test_code_is_made_of_whatever_becomes_of_places(f):
    signature = {"x_ptr": "*i32:16", "out_ptr": "*i32:16"}
    compiled = st.compile(places, signature, {"N": 256, "f": f}, target="cuda:90", num_warps=1)
    assert "st.global" in compiled.asm["ptx"]


@st.jit
def sums_of_sums(a_ptr, b_ptr, out_ptr, N: tl.constexpr, DEPENDS: tl.constexpr):
    n = tl.arange(0, N)
    a, b = tl.load(a_ptr + n), tl.load(b_ptr + n)
    total = tl.sum(a, 0)
    tl.store(out_ptr, tl.sum(b * total, 0) if DEPENDS else total)


@pytest.mark.host
@pytest.mark.parametrize("depends, threads", [(True, 256), (False, 128)])
def test_more_warps_for_what_waits_for_another_sum(depends, threads):
    """Threads meet between the load and the sum, and each has 256 numbers of the second array until then."""
    signature = dict.fromkeys(("a_ptr", "b_ptr", "out_ptr"), "*fp32:16")
    constants = {"N": 32768, "DEPENDS": depends}
    compiled = st.compile(sums_of_sums, signature, constants, target="cuda:90", num_warps=4)
    assert compiled.metadata.threads == threads
