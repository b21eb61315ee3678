"""Special functions of libdevice against exact values (special_values.py), within CUDA's maximum errors."""

import pathlib

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile.language.extra import libdevice

LONG = np.longdouble

# ULP of fp32 and fp64: the maximum errors of CUDA's functions (CUDA C++ Programming Guide, Mathematical
# Functions). Ours are smaller; benchmarks/special_ulp.py has a table of them.
BOUNDS = {
    "tgamma": (5, 10),
    "lgamma": (6, 4),
    "erfinv": (2, 5),
    "erfcinv": (4, 6),
    "erfcx": (4, 4),
    "normcdf": (5, 5),
    "normcdfinv": (5, 8),
    "j0": (9, 7),
    "j1": (9, 7),
    "y0": (9, 7),
    "y1": (9, 7),
    "cyl_bessel_i0": (6, 6),
    "cyl_bessel_i1": (6, 6),
    "cbrt": (1, 1),
    "rcbrt": (1, 1),
}
KINDS = {"float32": 0, "float64": 1}


@st.jit
def unary(x_ptr, out_ptr, count, f: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, f(tl.load(x_ptr + i, mask=i < count)), mask=i < count)


@st.jit
def binary(x_ptr, y_ptr, out_ptr, count, f: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + i, mask=i < count), tl.load(y_ptr + i, mask=i < count)
    tl.store(out_ptr + i, f(x, y), mask=i < count)


@st.jit
def quaternary(x_ptr, y_ptr, z_ptr, w_ptr, out_ptr, f: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y, z = tl.load(x_ptr + i), tl.load(y_ptr + i), tl.load(z_ptr + i)
    if f is libdevice.norm4d or f is libdevice.rnorm4d:
        tl.store(out_ptr + i, f(x, y, z, tl.load(w_ptr + i)))
    else:
        tl.store(out_ptr + i, f(x, y, z))


def computed(name, *arguments, **options):
    out = np.empty_like(arguments[-1])
    kernel = unary if len(arguments) == 1 else binary
    kernel[(st.cdiv(out.size, 128),)](
        *arguments, out, out.size, f=getattr(libdevice, name), BLOCK=128, **options
    )
    return out


def read_values():
    values = {}
    text = (pathlib.Path(__file__).parent / "special_values.txt").read_text()
    for line in text.splitlines()[1:]:
        name, *numbers = line.split()
        values.setdefault(name, []).append([float.fromhex(number) for number in numbers])
    return {name: np.array(rows) for name, rows in values.items()}


VALUES = read_values()


def test_every_function_has_exact_values():
    assert VALUES.keys() == BOUNDS.keys()
    assert all(len(rows) > 80 for rows in VALUES.values())


def errors_in_ulps(got, high, low):
    """Errors in units in the last place of high + low, subnormal ones included."""
    info = np.finfo(got.dtype)
    exact = high.astype(LONG) + low
    _, exponent = np.frexp(exact)
    unit = np.ldexp(LONG(1), np.maximum(exponent - 1, info.minexp) - info.nmant)
    return np.abs(got.astype(LONG) - exact) / unit


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("function", BOUNDS)
def test_errors_are_within_those_of_cuda(function, name):
    x, high, low = VALUES[function].T
    with np.errstate(over="ignore", under="ignore"):
        x = x.astype(name)
        keep = (x == VALUES[function].T[0]) & (np.abs(high) <= np.finfo(name).max)
    x, high, low = x[keep], high[keep], low[keep]
    assert x.size > 60
    got = computed(function, x)
    with np.errstate(invalid="ignore"):
        ulps = errors_in_ulps(got, high, low)
    bound = BOUNDS[function][KINDS[name]]
    # Next to zeros that CUDA states absolute errors for.
    absolute = np.zeros(x.size)
    if function in ("j0", "j1", "y0", "y1"):
        absolute[np.abs(x) >= 8] = 2e-7 if name == "float32" else 2e-16
    if function == "lgamma":
        absolute[(x < -2.2637) & (x > -23.0001)] = 1e-6 if name == "float32" else 3e-14
    is_right = (ulps <= bound) | (np.abs(got.astype(LONG) - high - low) <= absolute)
    if not is_right.all():
        at = int(np.flatnonzero(~is_right)[0])
        raise AssertionError(f"{x[at]!r} gives {got[at]!r}, not {high[at]!r}: {ulps[at]} ulp")


INF, NAN = np.inf, np.nan
LIMITS = {
    "tgamma": [
        (0.0, INF),
        (-0.0, -INF),
        (-1, NAN),
        (-170, NAN),
        (INF, INF),
        (-INF, NAN),
        (5, 24),
        (1, 1),
        (1e300, INF),
        (-200.5, -0.0),
    ],
    "lgamma": [
        (0.0, INF),
        (-0.0, INF),
        (-3, INF),
        (INF, INF),
        (-INF, INF),
        (1, 0.0),
        (2, 0.0),
        (-1e30, INF),
    ],
    "erfinv": [(0.0, 0.0), (-0.0, -0.0), (1, INF), (-1, -INF), (1.5, NAN), (-INF, NAN)],
    "erfcinv": [(0.0, INF), (2, -INF), (1, 0.0), (-0.5, NAN), (2.5, NAN), (INF, NAN)],
    "erfcx": [(0.0, 1), (INF, 0.0), (-INF, INF), (-30, INF)],
    "normcdf": [(0.0, 0.5), (-0.0, 0.5), (INF, 1), (-INF, 0.0), (60, 1), (-60, 0.0)],
    "normcdfinv": [(0.5, 0.0), (0.0, -INF), (1, INF), (-0.1, NAN), (1.1, NAN)],
    "j0": [(INF, 0.0), (-INF, 0.0), (0.0, 1)],
    "j1": [(INF, 0.0), (0.0, 0.0), (-0.0, -0.0)],
    "y0": [(INF, 0.0), (0.0, -INF), (-0.0, -INF), (-1, NAN), (-INF, NAN)],
    "y1": [(INF, 0.0), (0.0, -INF), (-1, NAN), (1e-40, -INF)],
    "cyl_bessel_i0": [(0.0, 1), (INF, INF), (-INF, INF), (800, INF)],
    "cyl_bessel_i1": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (-800, -INF)],
    "rcbrt": [(0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, -0.0), (8, 0.5)],
    "logb": [(0.0, -INF), (INF, INF), (-INF, INF), (1, 0.0)],
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("function", LIMITS)
def test_limits(function, name):
    rows = np.array([*LIMITS[function], (NAN, NAN)])
    if name == "float64":
        rows = rows[np.abs(rows[:, 0] - 1e-40) > 1e-45]
    with np.errstate(over="ignore"):
        x, expected = rows.astype(name).T
    got = computed(function, np.ascontiguousarray(x))
    np.testing.assert_array_equal(got, expected)
    signed = expected == 0
    if function not in ("j0", "j1", "y0", "y1", "lgamma", "erfcinv", "normcdfinv"):
        np.testing.assert_array_equal(np.signbit(got[signed]), np.signbit(expected[signed]))


def recurrence(order, first, second, x):
    """Upward from orders 0 and 1, in long double: right for Y, and for J of orders below x."""
    values = [first.astype(LONG), second.astype(LONG)]
    for k in range(1, order):
        values.append(2 * k / x.astype(LONG) * values[-1] - values[-2])
    return values[order]


@pytest.mark.parametrize("name", KINDS)
def test_bessel_functions_of_any_order(name):
    """Against the recurrence, the sum of the squares, and the series of small arguments."""
    rng = np.random.default_rng(21)
    x = rng.uniform(20, 90, 300).astype(name)
    tolerance = 5e-7 if name == "float32" else 2e-14
    for function in ("j", "y"):
        first, second = (computed(f"{function}{order}", x.astype("float64")) for order in (0, 1))
        for order in (0, 1, 2, 7, 19):
            got = computed(f"{function}n", np.full(x.size, order, "int32"), x)
            expected = recurrence(order, first, second, x)
            np.testing.assert_allclose(got, expected.astype("float64"), rtol=0, atol=tolerance)
    # 1 = J0^2 + 2 (J1^2 + J2^2 + ...), orders beyond the argument included.
    points = np.repeat(np.array([0.001, 0.5, 3, 11, 29.5], name), 80)
    orders = np.tile(np.arange(80, dtype="int32"), 5)
    squares = computed("jn", orders, points).astype("float64").reshape(5, 80) ** 2
    np.testing.assert_allclose(2 * squares.sum(1) - squares[:, 0], 1, rtol=tolerance)
    # (x / 2)^n / n! and its sign.
    small = np.array([1e-9, -1e-9, 1e-3, -1e-3], name)
    third = computed("jn", np.full(4, 3, "int32"), small)
    np.testing.assert_allclose(third, (small.astype("float64") / 2) ** 3 / 6, rtol=1e-6)


@pytest.mark.parametrize("name", KINDS)
def test_bessel_functions_of_any_order_at_their_limits(name):
    def case(function, n, x):
        return computed(function, np.array(n, "int32"), np.array(x, name))

    got = case("jn", [-1, 2, 2, 2, 3, 0, 2**31 - 1, 1000], [1, 0, INF, NAN, -INF, 0, 5, 1])
    np.testing.assert_array_equal(got, [NAN, 0, 0, NAN, 0, 1, 0, 0])
    got = case("yn", [-1, 2, 2, 2, 2, 3, 2**31 - 1, 1000], [1, 0, INF, NAN, -1, -0.0, 5, 1])
    np.testing.assert_array_equal(got, [NAN, -INF, 0, NAN, NAN, -INF, -INF, -INF])


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("function", ["norm3d", "rnorm3d", "norm4d", "rnorm4d", "rhypot"])
def test_lengths(function, name):
    info = np.finfo(name)
    rng = np.random.default_rng(22)
    count = {"norm3d": 3, "rnorm3d": 3, "rhypot": 2}.get(function, 4)
    scale = 2.0 ** rng.integers(info.minexp - info.nmant, info.maxexp - 2, 2000)
    with np.errstate(all="ignore"):
        sides = [(rng.uniform(-2, 2, 2000) * scale).astype(name) for _ in range(4)]
        for side in sides:
            side[::9] = rng.choice(
                [0, 1, info.tiny, info.smallest_subnormal, info.max], side[::9].size
            )
        # Scaled by the largest, so that squares of long double do not overflow in fp64 either.
        wide = np.array(sides[:count], LONG)
        squares = (wide * wide).sum(0)
        exact = np.sqrt(squares)
        exact = 1 / exact if function.startswith("r") else exact
    if function == "rhypot":
        got = computed(function, *sides[:2])
    else:
        got = np.empty_like(sides[0])
        quaternary[(1,)](*sides, got, f=getattr(libdevice, function), N=got.size)
    with np.errstate(all="ignore"):
        expected = exact.astype(name)
        ulps = errors_in_ulps(got, exact, LONG(0))
    is_infinite = np.isinf(expected)
    np.testing.assert_array_equal(got[is_infinite], expected[is_infinite])
    assert (ulps[~is_infinite] <= 1).all()
    assert is_infinite.any()


@pytest.mark.parametrize("name", KINDS)
def test_lengths_of_infinite_sides(name):
    x = np.array([INF, -INF, NAN, NAN, 0, 0], name)
    y = np.array([NAN, 1, INF, 2, 0, -0.0], name)
    np.testing.assert_array_equal(computed("rhypot", x, y), [0, 0, 0, NAN, INF, INF])
    np.testing.assert_array_equal(computed("hypot", x, y), [INF, INF, INF, NAN, 0, 0])


# -- fp32 in fp32 arithmetic, against the same function of fp64

DENSE = {**{name: bound for name, (bound, _) in BOUNDS.items()}, "exp10": 2, "sinh": 3, "cosh": 2}
INTERVALS = {"tgamma": (-40, 40), "lgamma": (-2.2637, 40), "erfinv": (-1, 1), "erfcinv": (0, 2)}
INTERVALS |= {"normcdfinv": (0, 1), "normcdf": (-15, 6), "erfcx": (-9.5, 30), "exp10": (-46, 39)}
INTERVALS |= {"cyl_bessel_i0": (-92, 92), "cyl_bessel_i1": (-92, 92)}
INTERVALS |= {"sinh": (-90, 90), "cosh": (-90, 90)}


def dense(function):
    """Random patterns of all numbers, all magnitudes, and numbers of the interval where most use the function."""
    rng = np.random.default_rng(23)
    low, high = INTERVALS.get(function, (-8, 8))
    patterns = rng.integers(0, 1 << 32, 20_000, dtype="uint32").view("float32")
    magnitudes = rng.choice([-1, 1], 20_000) * 2.0 ** rng.uniform(-149, 127, 20_000)
    near_ends = [end * (1 - 2.0 ** rng.uniform(-24, -1, 10_000)) for end in (low, high)]
    x = np.concatenate([magnitudes, *near_ends, rng.uniform(low, high, 60_000)])
    return np.concatenate([patterns, x.astype("float32")])


@pytest.mark.parametrize("numerics", ["default", "strict"])  # products may be fused, or are not
@pytest.mark.parametrize("function", DENSE)
def test_single_is_as_near_to_double_as_cuda_states(function, numerics):
    x = dense(function)
    with np.errstate(over="ignore", invalid="ignore"):
        got = computed(function, x, numerics=numerics)
        exact = computed(function, x.astype("float64"))
        expected = exact.astype("float32")
        ulps = errors_in_ulps(got, exact, LONG(0))
        apart = np.abs(got - exact)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    is_right = np.isnan(got) | (got == expected) | (ulps <= DENSE[function])
    # What is next to infinity may be it, or the other way round.
    most = np.finfo("float32").max
    is_right |= np.isinf(got) & (np.abs(exact) > most * (1 - DENSE[function] * 2.0**-24))
    is_right |= (got == np.copysign(most, exact)) & np.isinf(expected)
    if function in ("j0", "j1", "y0", "y1"):
        is_right |= (np.abs(x) >= 8) & (apart <= 2e-7)
    if function == "lgamma":
        is_right |= (x < -2.2637) & (x > -23.0001) & (apart <= 1e-5)
    if not is_right.all():
        at = int(np.flatnonzero(~is_right)[0])
        raise AssertionError(f"{x[at]!r} gives {got[at]!r}, not {exact[at]!r}: {ulps[at]} ulp")


def test_hypot_of_single():
    """Within three units, from subnormal sides to sides whose squares overflow."""
    rng = np.random.default_rng(24)
    scale = 2.0 ** rng.uniform(-149, 127.5, 50_000)
    ratio = 2.0 ** rng.uniform(-30, 0, 50_000)
    with np.errstate(over="ignore"):
        x, y = (
            (scale * rng.uniform(-1, 1, 50_000)).astype("float32"),
            (scale * ratio).astype("float32"),
        )
        x[:100] = y[:100] = np.finfo("float32").max
    got = computed("hypot", x, y)
    exact = np.hypot(x.astype("float64"), y.astype("float64"))
    with np.errstate(over="ignore", invalid="ignore"):
        expected = exact.astype("float32")
        is_right = (got == expected) | (errors_in_ulps(got, exact, LONG(0)) <= 3)
    assert is_right.all(), (x[~is_right][0], y[~is_right][0], got[~is_right][0])
    assert np.isinf(expected).any()
