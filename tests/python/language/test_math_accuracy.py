"""Functions where digits are easily lost: near zeros, near underflow, at special values. References are long double."""

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile.language.extra import libdevice

LONG = np.longdouble
PI = LONG("3.14159265358979323846264338327950288")


@st.jit
def unary(x_ptr, out_ptr, count, f: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, f(tl.load(x_ptr + i, mask=i < count)), mask=i < count)


@st.jit
def binary(x_ptr, y_ptr, out_ptr, count, f: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + i, mask=i < count), tl.load(y_ptr + i, mask=i < count)
    tl.store(out_ptr + i, f(x, y), mask=i < count)


def computed(f, *arguments):
    out = np.empty_like(arguments[0])
    kernel = unary if len(arguments) == 1 else binary
    kernel[(st.cdiv(out.size, 256),)](*arguments, out, out.size, f=f, BLOCK=256)
    return out


def ulps(got, exact):
    """Errors in units in the last place of the exact result, subnormal ones included."""
    info = np.finfo(got.dtype)
    _, exponent = np.frexp(exact)
    unit = np.ldexp(LONG(1), np.maximum(exponent - 1, info.minexp) - info.nmant)
    return np.abs(got.astype(LONG) - exact) / unit


def of_pi_times(x, quarters):
    """sin(pi (x + quarters / 2)), exact where it is 0 or 1."""
    rest = np.fmod(x.astype(LONG), 2)
    turned = np.rint(2 * rest)
    angle = (rest - turned / 2) * PI
    quarter = np.mod(turned + quarters, 4).astype(int)
    return np.choose(quarter, [np.sin(angle), np.cos(angle), -np.sin(angle), -np.cos(angle)])


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("function, quarters", [("sinpi", 0), ("cospi", 1)])
def test_of_pi_times_x_near_its_zeros(name, function, quarters):
    rng = np.random.default_rng(5)
    halves = np.arange(-40, 41) / 2
    near = np.concatenate(
        [halves + scale * rng.uniform(-1, 1, halves.size) for scale in (0, 1e-6, 1e-3, 0.3)]
    )
    x = np.concatenate([near, rng.uniform(-9, 9, 20_000), 2.0 ** rng.uniform(-100, 22, 20_000)])
    x = np.concatenate([x, [1e-39, 2.0**22 + 0.5, 2.0**23 + 1, 1e30, -1e30]]).astype(name)
    got = computed(getattr(libdevice, function), x)
    exact = of_pi_times(x, quarters)
    worst = np.argmax(ulps(got, exact))
    assert ulps(got, exact)[worst] < 2.6, (x[worst], got[worst], exact[worst])
    assert (got[exact == 0] == 0).all() and (exact == 0).any()


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_of_pi_times_special_values(name):
    x = np.array([0.0, -0.0, 1, -1, 3, -2, np.inf, -np.inf, np.nan], name)
    got = computed(libdevice.sinpi, x)
    np.testing.assert_array_equal(got, [0, 0, 0, 0, 0, 0, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(np.signbit(got[:6]), np.signbit(x[:6]))
    got = computed(libdevice.cospi, x)
    np.testing.assert_array_equal(got, [1, 1, -1, -1, -1, 1, np.nan, np.nan, np.nan])


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_sigmoid_down_to_the_smallest_numbers(name, device):
    least = np.log(LONG(np.finfo(name).smallest_subnormal))
    x = np.linspace(float(least) + 0.5, 40, 30_000).astype(name)
    got = computed(tl.sigmoid, x)
    exact = 1 / (1 + np.exp(-x.astype(LONG)))
    bound = np.full(x.size, 4.0)
    if device == "cuda" and name == "float32":
        # ex2.approx(x log2(e)), as in Triton: the product is rounded, by up to 2**-24 of itself.
        bound = bound + 2 * np.abs(x)
    assert (ulps(got, exact) <= bound).all()
    assert (got > 0).all() and (got[0] < np.finfo(name).tiny)
    special = np.array([0.0, -np.inf, np.inf, np.nan, -2000, 2000], name)
    np.testing.assert_array_equal(computed(tl.sigmoid, special), [0.5, 0, 1, np.nan, 0, 1])


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_atan2_of_subnormal_numbers(name):
    least = np.finfo(name).smallest_subnormal
    rng = np.random.default_rng(6)
    y, x = (
        (
            np.concatenate([rng.integers(-9, 10, 3000), rng.integers(-(2**22), 2**22, 3000)])
            * least
        ).astype(name)
        for _ in range(2)
    )
    exact = np.arctan2(y.astype(LONG), x.astype(LONG))
    assert (ulps(computed(libdevice.atan2, y, x), exact) <= 2.5).all()


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_hypot_of_special_values(name):
    info = np.finfo(name)
    sides = np.array([0, -0.0, 3, -4, np.inf, -np.inf, np.nan, info.tiny, -info.max], name)
    x, y = (np.ascontiguousarray(side).ravel() for side in np.meshgrid(sides, sides))
    got = computed(libdevice.hypot, x, y)
    with np.errstate(all="ignore"):
        exact = np.hypot(x.astype(LONG), y.astype(LONG)).astype(name)
    assert np.isinf(exact[np.isinf(x) | np.isinf(y)]).all()
    np.testing.assert_allclose(got, exact, rtol=4 * info.eps)
