"""Arithmetic, comparison, bit and logic operators on every dtype, against NumPy."""

import numpy as np
import pytest
from support import DTYPES, EXTENTS, FLOATS, INTEGERS, SIGNED, assert_close, numpy_dtype, random

import sectile as st
import sectile.language as tl


@st.jit
def binary(x_ptr, y_ptr, out_ptr, N: tl.constexpr, op: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    if op == "+":
        r = x + y
    elif op == "-":
        r = x - y
    elif op == "*":
        r = x * y
    elif op == "/":
        r = x / y
    elif op == "//":
        r = x // y
    elif op == "%":
        r = x % y
    elif op == "&":
        r = x & y
    elif op == "|":
        r = x | y
    elif op == "^":
        r = x ^ y
    elif op == "<<":
        r = x << y
    elif op == ">>":
        r = x >> y
    elif op == "==":
        r = x == y
    elif op == "!=":
        r = x != y
    elif op == "<":
        r = x < y
    elif op == "<=":
        r = x <= y
    elif op == ">":
        r = x > y
    elif op == ">=":
        r = x >= y
    elif op == "minimum":
        r = tl.minimum(x, y)
    elif op == "maximum":
        r = tl.maximum(x, y)
    tl.store(out_ptr + i, r)


def run_binary(op, x, y, out_dtype):
    out = np.zeros(x.shape, out_dtype)
    binary[(1,)](x, y, out, N=x.size, op=op)
    return out


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("op", ["+", "-", "*"])
def test_float32_arithmetic_at_any_extent(op, extent):
    x, y = random("float32", extent, 1), random("float32", extent, 2)
    expected = {"+": x + y, "-": x - y, "*": x * y}[op]
    np.testing.assert_array_equal(run_binary(op, x, y, np.float32), expected)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("op", ["+", "-", "*"])
def test_float_arithmetic_rounds_once(op, name):
    x, y = random(name, 100, 1), random(name, 100, 2)
    a, b = x.astype(np.float64), y.astype(np.float64)
    exact = {"+": a + b, "-": a - b, "*": a * b}[op]
    np.testing.assert_array_equal(run_binary(op, x, y, x.dtype), exact.astype(x.dtype))


@pytest.mark.parametrize("name", FLOATS)
def test_float_division(name):
    x, y = random(name, 100, 1), random(name, 100, 2)
    assert_close(
        run_binary("/", x, y, x.dtype), x.astype(np.float64) / y.astype(np.float64), name, ulps=1
    )


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("op", ["+", "-", "*", "&", "|", "^"])
def test_integer_arithmetic_wraps(op, name):
    x, y = random(name, 100, 1), random(name, 100, 2)
    expected = {
        "+": lambda: x + y,
        "-": lambda: x - y,
        "*": lambda: x * y,
        "&": lambda: x & y,
        "|": lambda: x | y,
        "^": lambda: x ^ y,
    }[op]()
    np.testing.assert_array_equal(run_binary(op, x, y, x.dtype), expected)


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("op", ["//", "%"])
def test_integer_division_truncates(op, name):
    x, y = random(name, 1000, 1), random(name, 1000, 2)
    y[y == 0] = 3
    if name in SIGNED:
        y[y == -1] = -7  # the smallest integer over -1 overflows
    quotient = [
        abs(int(a)) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(x, y)
    ]
    expected = (
        np.array(quotient, object)
        if op == "//"
        else x.astype(object) - np.array(quotient, object) * y
    )
    np.testing.assert_array_equal(run_binary(op, x, y, x.dtype), expected.astype(x.dtype))


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("op", ["//", "%"])
def test_integer_division_by_zero(op, name):
    x = random(name, 64, 1)
    y = np.zeros_like(x)
    expected = np.full_like(x, -1 if name in SIGNED else np.iinfo(x.dtype).max)
    expected = expected if op == "//" else x.copy()
    y[5], expected[5] = 1, x[5] if op == "//" else 0
    if name in SIGNED:
        x[0], y[0] = np.iinfo(x.dtype).min, -1
        expected[0] = x[0] if op == "//" else 0
    np.testing.assert_array_equal(run_binary(op, x, y, x.dtype), expected)


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("op", ["<<", ">>"])
def test_shifts(op, name):
    x = random(name, 100, 1)
    y = random(name, 100, 2, low=0, high=x.itemsize * 8 - 1)
    expected = np.left_shift(x, y) if op == "<<" else np.right_shift(x, y)
    np.testing.assert_array_equal(run_binary(op, x, y, x.dtype), expected)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("op", ["==", "!=", "<", "<=", ">", ">="])
def test_comparisons(op, name):
    x, y = random(name, 200, 1), random(name, 200, 2)
    y[::3] = x[::3]
    if name in FLOATS:
        x[5] = np.nan
    with np.errstate(invalid="ignore"):
        expected = {
            "==": x == y,
            "!=": x != y,
            "<": x < y,
            "<=": x <= y,
            ">": x > y,
            ">=": x >= y,
        }[op]
    np.testing.assert_array_equal(run_binary(op, x, y, np.bool_), expected)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("op", ["minimum", "maximum"])
def test_minimum_maximum(op, name):
    x, y = random(name, 100, 1), random(name, 100, 2)
    expected = np.minimum(x, y) if op == "minimum" else np.maximum(x, y)
    np.testing.assert_array_equal(run_binary(op, x, y, x.dtype), expected)


def test_minimum_maximum_ignore_nan_unless_asked():
    @st.jit
    def kernel(x_ptr, y_ptr, out_ptr, propagate: tl.constexpr):
        i = tl.arange(0, 4)
        mode: tl.constexpr = tl.PropagateNan.ALL if propagate else tl.PropagateNan.NONE
        tl.store(
            out_ptr + i, tl.maximum(tl.load(x_ptr + i), tl.load(y_ptr + i), propagate_nan=mode)
        )

    x = np.array([np.nan, 1, 2, np.nan], np.float32)
    y = np.array([1, np.nan, 3, np.nan], np.float32)
    out = np.empty_like(x)
    kernel[(1,)](x, y, out, propagate=False)
    np.testing.assert_array_equal(out, np.fmax(x, y))
    kernel[(1,)](x, y, out, propagate=True)
    np.testing.assert_array_equal(out, np.maximum(x, y))


# ---- promotion: the dtype of x + y ---------------------------------------------------------------------

RANK = {"8": 1, "16": 2, "32": 3, "64": 4}


def promoted(a, b):
    """Triton's rules: f64, f32, fp16 win in this order; bf16 stays only with itself; mixed signedness
    goes to the unsigned of equal rank."""
    for winner in ("float64", "float32", "float16"):
        if winner in (a, b):
            return winner
    if "bfloat16" in (a, b):
        return "bfloat16" if a == b else "float32"
    bits = {name: int("".join(c for c in name if c.isdigit())) for name in (a, b)}
    if a.startswith("u") == b.startswith("u"):
        return a if bits[a] >= bits[b] else b
    unsigned, signed = (a, b) if a.startswith("u") else (b, a)
    return unsigned if bits[unsigned] >= bits[signed] else signed


@st.jit
def promotion(x_ptr, y_ptr, out_ptr, expected: tl.constexpr):
    i = tl.arange(0, 8)
    r = tl.load(x_ptr + i) + tl.load(y_ptr + i)
    tl.static_assert(r.dtype == expected)
    tl.store(out_ptr + i, r.to(tl.float64))


@pytest.mark.parametrize("b", DTYPES)
@pytest.mark.parametrize("a", DTYPES)
def test_promotion_of_two_tiles(a, b):
    x, y = random(a, 8, 1, low=0, high=50), random(b, 8, 2, low=0, high=50)
    out = np.empty(8)
    promotion[(1,)](x, y, out, expected=DTYPES[promoted(a, b)][1])
    result = numpy_dtype(promoted(a, b))
    expected = (x.astype(result).astype(np.float64) + y.astype(result).astype(np.float64)).astype(
        result
    )
    np.testing.assert_array_equal(out, expected.astype(np.float64))


@pytest.mark.parametrize("name", DTYPES)
def test_a_literal_of_the_same_kind_takes_no_part(name):
    @st.jit
    def kernel(x_ptr, out_ptr, expected: tl.constexpr):
        i = tl.arange(0, 8)
        r = tl.load(x_ptr + i) * 2
        tl.static_assert(r.dtype == expected)
        tl.store(out_ptr + i, r)

    x = random(name, 8, 1, low=1, high=50)
    out = np.empty_like(x)
    kernel[(1,)](x, out, expected=DTYPES[name][1])
    np.testing.assert_array_equal(out, x + x)


# ---- casts ---------------------------------------------------------------------------------------------


@st.jit
def cast(x_ptr, out_ptr, N: tl.constexpr, to: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(to))


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("name", DTYPES)
def test_casts(name, to):
    # Values every type can hold after truncation; fractions test the rounding towards zero.
    x = random(name, 100, 1, low=0, high=100)
    out = np.zeros(100, numpy_dtype(to))
    cast[(1,)](x, out, N=100, to=DTYPES[to][1])
    expected = x.astype(np.float64)
    expected = np.trunc(expected) if to in INTEGERS else expected
    np.testing.assert_array_equal(out, expected.astype(numpy_dtype(to)))


@pytest.mark.parametrize("to", ["float16", "bfloat16", "float32"])
def test_narrowing_rounds_to_nearest_even(to):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(4096).astype(np.float64) * 10.0 ** rng.integers(-6, 4, 4096)
    source = x if to == "float32" else x.astype(np.float32)
    out = np.zeros(4096, numpy_dtype(to))
    cast[(1,)](source, out, N=4096, to=DTYPES[to][1])
    np.testing.assert_array_equal(out, source.astype(numpy_dtype(to)))


def test_bitcast():
    @st.jit
    def kernel(x_ptr, out_ptr):
        i = tl.arange(0, 32)
        tl.store(out_ptr + i, tl.load(x_ptr + i).to(tl.int32, bitcast=True))

    x = random("float32", 32)
    out = np.zeros(32, np.int32)
    kernel[(1,)](x, out)
    np.testing.assert_array_equal(out, x.view(np.int32))


def test_where_clamp_and_logic():
    @st.jit
    def kernel(x_ptr, y_ptr, out_ptr, clamped_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        x = tl.load(x_ptr + i)
        y = tl.load(y_ptr + i)
        both = (x > 0) & (y > 0)
        neither = not (x > 0).to(tl.int1) if False else (x <= 0) & ~(y > 0)
        tl.store(out_ptr + i, tl.where(both, x, tl.where(neither, -y, 0.0)))
        tl.store(clamped_ptr + i, tl.clamp(x, -0.5, 0.5))

    x, y = random("float32", 100, 1), random("float32", 100, 2)
    out, clamped = np.empty_like(x), np.empty_like(x)
    kernel[(1,)](x, y, out, clamped, N=100)
    both, neither = (x > 0) & (y > 0), (x <= 0) & ~(y > 0)
    np.testing.assert_array_equal(out, np.where(both, x, np.where(neither, -y, np.float32(0))))
    np.testing.assert_array_equal(clamped, np.clip(x, -0.5, 0.5).astype(np.float32))


@pytest.mark.parametrize("name", INTEGERS + FLOATS)
def test_negation_and_bit_not(name):
    @st.jit
    def kernel(x_ptr, out_ptr, inverted_ptr, is_integer: tl.constexpr):
        i = tl.arange(0, 100)
        x = tl.load(x_ptr + i)
        tl.store(out_ptr + i, -x)
        if is_integer:
            tl.store(inverted_ptr + i, ~x)

    x = random(name, 100)
    out, inverted = np.empty_like(x), np.empty_like(x)
    kernel[(1,)](x, out, inverted, is_integer=name in INTEGERS)
    np.testing.assert_array_equal(out, -x)
    if name in INTEGERS:
        np.testing.assert_array_equal(inverted, ~x)
