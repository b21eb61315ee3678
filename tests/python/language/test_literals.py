"""Literals beside tiles: in comparisons they have a dtype of their own, as Triton's `tensor.__lt__` gives them one."""

import ml_dtypes
import numpy as np
import pytest
from support import DTYPES, INTEGERS, numpy_dtype, random

import sectile as st
import sectile.language as tl


@st.jit
def compare(x_ptr, out_ptr, N: tl.constexpr, literal: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, x == literal)
    tl.store(out_ptr + N + i, x != literal)
    tl.store(out_ptr + 2 * N + i, x < literal)
    tl.store(out_ptr + 3 * N + i, x <= literal)
    tl.store(out_ptr + 4 * N + i, x > literal)
    tl.store(out_ptr + 5 * N + i, literal <= x)


def compared(x, literal):
    out = np.full((6, x.size), 7, np.int32)
    compare[(1,)](x, out.reshape(-1), N=x.size, literal=literal)
    return out


def expected(x, literal):
    """`x` and `literal` in the dtype in which they meet."""
    return np.stack(
        [x == literal, x != literal, x < literal, x <= literal, x > literal, x >= literal]
    ).astype(np.int32)


def neighbours(dtype, number):
    """The numbers of `dtype` around `number`, with zero, infinity and NaN."""
    with np.errstate(over="ignore"):
        near = np.asarray(number, dtype)
    around = [near, np.nextafter(near, dtype(9)), np.nextafter(near, dtype(-9))]
    return np.array([*around, dtype(0), dtype(np.inf), dtype(-np.inf), dtype(np.nan)], dtype)


@pytest.mark.parametrize("literal", [0.1, -0.3, 0.5, 65520.0, 65504.0, 1e-3, float("inf")])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_floats_meet_a_literal_in_fp32(name, literal):
    x = neighbours(numpy_dtype(name).type, literal)
    np.testing.assert_array_equal(
        compared(x, literal), expected(x.astype(np.float32), np.float32(literal))
    )


def test_a_literal_is_fp32_beside_fp64():
    x = np.array([0.1, np.float64(np.float32(0.1)), 0.0, 1e-320, 1e300])
    np.testing.assert_array_equal(compared(x, 0.1), expected(x, np.float64(np.float32(0.1))))
    # Outside of fp32's normal range it is fp64.
    np.testing.assert_array_equal(compared(x, 1e-320), expected(x, 1e-320))
    np.testing.assert_array_equal(compared(x, 1e300), expected(x, 1e300))
    small = np.array([0.0, 1e-40, 3.0], np.float32)
    np.testing.assert_array_equal(
        compared(small, 1e-320), expected(small.astype(np.float64), 1e-320)
    )


@pytest.mark.parametrize(
    "literal", [-1, 0, 1, 127, 200, 255, 300, -129, 65535, 2**31, 2**32 - 1, 2**63 - 1]
)
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_meet_a_literal_as_in_c(name, literal):
    dtype = numpy_dtype(name)
    info = np.iinfo(dtype)
    x = np.concatenate([random(name, 40, 3), np.array([info.min, info.max, 0, 1], dtype)])
    if info.min <= literal <= info.max:
        x[:4] = literal
    own = np.dtype(np.int32 if literal < 2**31 else np.uint32 if literal < 2**32 else np.int64)
    # The wider dtype wins, at equal width the unsigned one.
    wide = max((dtype, own), key=lambda d: (d.itemsize, d.kind == "u"))
    with np.errstate(over="ignore"):
        meeting = np.array(literal, object) % 2 ** (8 * wide.itemsize)
    value = np.array(int(meeting), np.uint64).astype(wide)
    np.testing.assert_array_equal(compared(x, literal), expected(x.astype(wide), value))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_integer_literals_beside_halves(name):
    x = np.array([0, 1, 255, 256, 257, 2048, 2049, np.inf], numpy_dtype(name))
    for literal in (1, 257, 2049):
        # A bf16 meets an integer in fp32, an fp16 in fp16.
        wide = np.float32 if name == "bfloat16" else np.float16
        np.testing.assert_array_equal(compared(x, literal), expected(x.astype(wide), wide(literal)))


def test_fp8_meets_a_literal_in_fp32():
    x = np.array([0.09375, 0.1, 0.125, 0.5], ml_dtypes.float8_e5m2)
    np.testing.assert_array_equal(compared(x, 0.1), expected(x.astype(np.float32), np.float32(0.1)))


@st.jit
def methods(x_ptr, out_ptr, whole_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.static_assert(x.exp().dtype == x.dtype)
    tl.static_assert(tl.fdiv(x, x).dtype == x.dtype)
    tl.static_assert(tl.fdiv(x, x, ieee_rounding=True).dtype == x.dtype)
    tl.static_assert(tl.fdiv(x, x.to(tl.float32)).dtype == tl.float32)
    tl.static_assert(tl.softmax(x).dtype == tl.float32)
    tl.static_assert(x.type.numel == N)
    ...
    tl.store(out_ptr + i, x.exp())
    tl.store(out_ptr + N + i, x.sqrt())
    tl.store(out_ptr + 2 * N + i, x.log2())
    tl.store(out_ptr + 3 * N + i, tl.fdiv(x, x + 1.0))
    tl.store(whole_ptr + i, tl.softmax(x))
    tl.store(whole_ptr + N + i, tl.div_rn(x.to(tl.float32), 3))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_methods_of_halves(name):
    """Triton's functions refuse halves, its methods do not; results are rounded once from fp32."""
    x = np.abs(random(name, 48, 5)) + DTYPES[name][0](0.25)
    out, whole = np.zeros((4, 48), x.dtype), np.zeros((2, 48), np.float32)
    methods[(1,)](x, out.reshape(-1), whole.reshape(-1), N=48)
    wide = x.astype(np.float64)
    after = (x + x.dtype.type(1)).astype(np.float64)
    for got, right in zip(out, (np.exp(wide), np.sqrt(wide), np.log2(wide), wide / after)):
        error = np.abs(got.astype(np.float64) - right)
        assert (
            error
            <= np.finfo(np.float32).eps * 4 * np.abs(right)
            + 0.51 * np.spacing(np.abs(got)).astype(np.float64)
        ).all()
    powers = np.exp(wide - wide.max())
    np.testing.assert_allclose(whole[0], powers / powers.sum(), rtol=1e-5)
    np.testing.assert_array_equal(whole[1], x.astype(np.float32) / np.float32(3))
