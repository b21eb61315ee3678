"""Bits, conversions and directed rounding of libdevice, against exact arithmetic in Fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile.backends.compiler import GPUTarget
from sectile.language.extra import libdevice

ROUNDINGS = ["rn", "rz", "rd", "ru"]
BITS = {"float32": "int32", "float64": "int64"}


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
def ternary(x_ptr, y_ptr, z_ptr, out_ptr, count, f: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + i, mask=i < count), tl.load(y_ptr + i, mask=i < count)
    tl.store(out_ptr + i, f(x, y, tl.load(z_ptr + i, mask=i < count)), mask=i < count)


def computed(name, *arguments, out=None):
    out = np.empty(arguments[0].size, out or arguments[0].dtype)
    kernel = {1: unary, 2: binary, 3: ternary}[len(arguments)]
    kernel[(st.cdiv(out.size, 256),)](
        *arguments, out, out.size, f=getattr(libdevice, name), BLOCK=256
    )
    return out


def as_bits(array):
    """Bits, with one pattern for every NaN."""
    array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.view(BITS[array.dtype.name])


def assert_same(got, expected, *arguments):
    """Equal in every bit, signs of zeros included; NaN equals NaN."""
    expected = np.asarray(expected, got.dtype)
    differs = as_bits(got) != as_bits(expected) if got.dtype.kind == "f" else got != expected
    if differs.any():
        at = int(np.flatnonzero(differs)[0])
        given = [argument[at] for argument in arguments]
        raise AssertionError(
            f"{given!r}: {got[at]!r}, not {expected[at]!r}; {differs.sum()} differ"
        )


def rounded(value, dtype, rounding, zero=0.0):
    """The Fraction as a float of the dtype; an exact zero is `zero`."""
    info = np.finfo(dtype)
    if value == 0:
        return zero
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, info.minexp) - info.nmant)
    count = magnitude / unit
    low = math.floor(count)
    up = {
        "rn": count - low > Fraction(1, 2) or (count - low == Fraction(1, 2) and low % 2 == 1),
        "rz": False,
        "rd": value < 0 and count != low,
        "ru": value > 0 and count != low,
    }[rounding]
    result = (low + up) * unit
    largest = float(info.max)
    if result <= Fraction(largest):
        return math.copysign(float(result), -1 if value < 0 else 1)
    stays = {"rn": False, "rz": True, "rd": value > 0, "ru": value < 0}[rounding]
    return math.copysign(largest if stays else math.inf, -1 if value < 0 else 1)


def edges(name):
    info = np.finfo(name)
    least = info.smallest_subnormal
    positive = [0, least, 3 * least, info.tiny - least, info.tiny, info.tiny * 1.5, 1e-20, 0.5]
    positive += [1 - info.epsneg, 1, 1 + info.eps, 1.5, 2, 3, 1 / 3, 1e15, info.max / 2]
    positive += [info.max * 0.75, np.nextafter(info.max, 0, dtype=name), info.max, np.inf, np.nan]
    positive = np.array(positive, name)
    return np.concatenate([positive, -positive])


def operands(name, count, size=1500):
    """Edges with one another, random patterns, and numbers of one size."""
    rng = np.random.default_rng(count)
    special = edges(name)
    columns = []
    width = 8 * np.dtype(name).itemsize
    for _ in range(count):
        patterns = rng.integers(0, 1 << width, size, dtype=f"uint{width}").view(name)
        near = rng.choice([-1, 1], size) * rng.uniform(0.5, 4, size)
        columns.append([rng.choice(special, size), patterns, near.astype(name)])
        # Few bits, so that results are exact or ties; results that underflow; that cancel.
        columns[-1].append(
            (rng.integers(-9, 10, size) * 2.0 ** rng.integers(-3, 4, size)).astype(name)
        )
        low, high = np.finfo(name).minexp // 2 - 30, np.finfo(name).minexp // 2 + 30
        columns[-1].append((near * 2.0 ** rng.integers(low, high, size)).astype(name))
    if count == 2:
        x, y = (a.ravel() for a in np.meshgrid(special, special))
        columns[0].append(x), columns[1].append(y)
    columns = [np.concatenate(column) for column in columns]
    if count == 3:
        with np.errstate(all="ignore"):
            # z next to -x * y, where all but the last bits cancel, and far below it.
            z = -(columns[0] * columns[1])
            half = z.size // 2
            columns[2][:half] = z[:half]
            columns[2][half::3] = np.ldexp(z, -np.finfo(name).nmant - 3)[half::3]
    return [np.ascontiguousarray(column) for column in columns]


def exactly(op, *numbers):
    x, y, z = (*numbers, None, None)[:3]
    return {
        "add": lambda: x + y,
        "sub": lambda: x - y,
        "mul": lambda: x * y,
        "fma": lambda: x * y + z,
        "div": lambda: x / y,
        "rcp": lambda: 1 / x,
    }[op]()


def like_ieee(op, *numbers):
    """What infinities, NaN and divisions by zero give; long double, so that products are finite."""
    return exactly(op, *map(np.longdouble, numbers))


def expected_of(op, rounding, name, arguments):
    result = []
    for numbers in zip(*(argument.tolist() for argument in arguments)):
        divisor = {"div": numbers[-1], "rcp": numbers[0]}.get(op, 1)
        if not all(map(math.isfinite, numbers)) or divisor == 0:
            result.append(like_ieee(op, *numbers))
            continue
        value = exactly(op, *map(Fraction, numbers))
        zero = 0.0
        if value == 0:
            signs = [math.copysign(1, number) for number in numbers]
            if op == "sub":
                signs[1] = -signs[1]
            if op in ("mul", "fma", "div"):
                signs[:2] = [signs[0] * signs[1]]
            mixed = -1 if rounding == "rd" else 1
            zero = math.copysign(0, signs[0] if len(set(signs)) == 1 else mixed)
        result.append(rounded(value, name, rounding, zero))
    return result


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "rcp", "fma"])
def test_arithmetic_rounded_as_asked(op, rounding, name):
    arguments = operands(name, {"rcp": 1, "fma": 3}.get(op, 2))
    got = computed(f"{op}_{rounding}", *arguments)
    with np.errstate(all="ignore"):
        assert_same(got, expected_of(op, rounding, name, arguments), *arguments)


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_square_roots_rounded_as_asked(rounding, name):
    (x,) = operands(name, 1)
    x = np.concatenate([np.abs(x), [-0.0, -1.0]]).astype(name)
    got = computed(f"sqrt_{rounding}", x)
    expected = []
    for number in x.tolist():
        if not 0 < number < math.inf:
            expected.append(math.nan if number < 0 else number)
            continue
        # 2^400 times the root, its last bit set where something is cut off: far below any tie.
        value = Fraction(number) * 4**1600
        root = math.isqrt(value.numerator) * 2
        root += root * root != 4 * value
        expected.append(rounded(Fraction(root, 2**1601), name, rounding))
    assert_same(got, expected, x)


def test_nothing_is_fused_with_a_rounded_sum_or_product():
    """Products of the kernel feed the sums, and the other way round: each has its own rounding."""

    @st.jit
    def kernel(x_ptr, y_ptr, z_ptr, out_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        x, y, z = tl.load(x_ptr + i), tl.load(y_ptr + i), tl.load(z_ptr + i)
        tl.store(out_ptr + i, libdevice.add_rn(x * y, z))
        tl.store(out_ptr + N + i, libdevice.mul_rn(x, y) + z)
        tl.store(out_ptr + 2 * N + i, libdevice.add_rd(x * y, z))
        tl.store(out_ptr + 3 * N + i, libdevice.mul_rz(-x, -y))

    for name in BITS:
        rng = np.random.default_rng(3)
        x, y = (rng.uniform(1, 2, 512).astype(name) for _ in range(2))
        z = -(x * y) * (1 + rng.integers(-2, 3, 512) * np.finfo(name).eps).astype(name)
        out = np.empty((4, 512), name)
        kernel[(1,)](x, y, z, out, N=512)
        product = x * y
        assert_same(out[0], product + z, x, y, z)
        assert_same(out[1], product + z, x, y, z)
        assert_same(out[2], expected_of("add", "rd", name, [product, z]), product, z)
        assert_same(out[3], expected_of("mul", "rz", name, [x, y]), x, y)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_double_to_float(rounding):
    (x,) = operands("float64", 1)
    rng = np.random.default_rng(8)
    middle = rng.uniform(1, 2, 3000) * 2.0 ** rng.integers(-160, 130, 3000)
    ties = (middle.astype("float32").astype("float64") * (1 + 2.0**-24)).astype("float64")
    x = np.concatenate([x, middle, -middle, ties, -ties])
    got = computed(f"double2float_{rounding}", x, out="float32")
    expected = [
        rounded(Fraction(v), "float32", rounding, v) if math.isfinite(v) else v for v in x.tolist()
    ]
    assert_same(got, expected, x)


INTEGERS = {"int": "int32", "uint": "uint32", "ll": "int64", "ull": "uint64"}


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("integer", INTEGERS)
@pytest.mark.parametrize("floating", ["float", "double"])
def test_integers_of_floats(floating, integer, rounding):
    name = {"float": "float32", "double": "float64"}[floating]
    target = np.iinfo(INTEGERS[integer])
    (x,) = operands(name, 1)
    rng = np.random.default_rng(9)
    ends = np.array([target.min, target.max, target.max + 1, target.max // 2], float).astype(name)
    ends = np.concatenate(
        [ends, *(np.nextafter(ends, np.array(d, name)) for d in (-np.inf, np.inf))]
    )
    x = np.concatenate(
        [x, ends, rng.uniform(-9, 9, 500).astype(name), np.arange(-4, 5, 0.5).astype(name)]
    )
    got = computed(f"{floating}2{integer}_{rounding}", x, out=INTEGERS[integer])
    whole = {"rn": round, "rz": math.trunc, "rd": math.floor, "ru": math.ceil}[rounding]
    nan = 0 if (floating, target.bits) == ("float", 32) else 1 << (target.bits - 1)
    nan = nan - (1 << target.bits) if nan > target.max else nan

    def saturated(value):
        if math.isnan(value):
            return nan
        if math.isinf(value):
            return target.max if value > 0 else target.min
        return min(max(whole(value), target.min), target.max)

    assert_same(got, np.array([saturated(v) for v in x.tolist()], INTEGERS[integer]), x)


CONVERSIONS = [(i, f, r) for i in INTEGERS for f in ("float", "double") for r in ROUNDINGS]
CONVERSIONS = [c for c in CONVERSIONS if hasattr(libdevice, f"{c[0]}2{c[1]}_{c[2]}")]


@pytest.mark.parametrize("integer, floating, rounding", CONVERSIONS)
def test_floats_of_integers(integer, floating, rounding):
    name = {"float": "float32", "double": "float64"}[floating]
    info = np.iinfo(INTEGERS[integer])
    rng = np.random.default_rng(10)
    x = rng.integers(info.min, info.max, 2000, dtype=INTEGERS[integer], endpoint=True)
    small = x >> rng.integers(0, info.bits, x.size).astype(x.dtype)
    special = [0, 1, info.min, info.max, info.max - 1, info.max // 2, 2**24 + 1, 2**25 + 3]
    x = np.concatenate([x, small, np.array(special, x.dtype)])
    got = computed(f"{integer}2{floating}_{rounding}", x, out=name)
    assert_same(got, [rounded(Fraction(v), name, rounding) for v in x.tolist()], x)


def test_there_are_the_conversions_of_cuda():
    assert len(CONVERSIONS) == 4 * 4 + 2 * 4 + 2


def test_reciprocal_square_roots_of_every_significand():
    """rsqrt_rn of all fp32 in [1, 4), the others being these times powers of four."""
    x = np.arange(0x3F800000, 0x40800000, dtype=np.int32).view("float32")
    out = np.empty_like(x)
    unary[(st.cdiv(x.size, 4096),)](x, out, x.size, f=libdevice.rsqrt_rn, BLOCK=4096)
    # x r^2 = 1 for the root: the numbers half a unit away lie on either side, exactly in integers.
    significand = np.where(x < 2, 1, 2) * (x.view("int32") & 0x7FFFFF | 0x800000).astype("int64")
    # out = m 2^-24 (or 2^-23 for 1): work with odd multiples of half units, 2 m +- 1.
    m = (out.astype("float64") * 2**24).astype("int64")
    assert (m[1:] < 2**24).all() and out[0] == 1

    def is_beyond(n):
        """n^2 x > 2^(2*25): whether n 2^-25 is more than the root; n^2 x has 74 bits."""
        high, low = n * n >> 26, n * n & (1 << 26) - 1
        top = high * significand + (low * significand >> 26)
        return top >= 1 << (50 + 23 - 26)

    assert not is_beyond(2 * m - 1)[1:].any() and is_beyond(2 * m + 1)[1:].all()
    special = np.array([0, -0.0, np.inf, -1, np.nan, 1e-45, 1e-39], "float32")
    with np.errstate(all="ignore"):
        expected = (1 / np.sqrt(special.astype("float64"))).astype("float32")
    assert_same(computed("rsqrt_rn", special), expected, special)


# -- bits and integers


def reversed_bits(value, width):
    return int(f"{value % 2**width:0{width}b}"[::-1], 2)


@pytest.mark.parametrize("name", ["int32", "uint32", "int64", "uint64"])
def test_brev(name):
    rng = np.random.default_rng(11)
    info = np.iinfo(name)
    x = rng.integers(info.min, info.max, 1000, dtype=name, endpoint=True)
    expected = [reversed_bits(v, info.bits) for v in x.tolist()]
    got = computed("brev", x).view(f"uint{info.bits}")
    assert_same(got, np.array(expected, got.dtype), x)


def integers(name, count, size=1000):
    rng = np.random.default_rng(12)
    info = np.iinfo(name)
    special = np.array([0, 1, info.max, info.min, info.max - 1, 0x7FFFFF, 0x800000], name)
    return [
        np.concatenate(
            [
                rng.integers(info.min, info.max, size, dtype=name, endpoint=True),
                rng.choice(special, size),
            ]
        )
        for _ in range(count)
    ]


def test_byte_perm():
    x, y, s = integers("int32", 3)
    got = computed("byte_perm", x, y, s)
    expected = []
    for a, b, selector in zip(*(v.view("uint32").tolist() for v in (x, y, s))):
        both = (b << 32 | a).to_bytes(8, "little")
        expected.append(
            int.from_bytes(bytes(both[selector >> 4 * i & 7] for i in range(4)), "little")
        )
    assert_same(got.view("uint32"), np.array(expected, "uint32"), x, y, s)


@pytest.mark.parametrize("name", ["int32", "uint32"])
def test_averages_products_and_differences(name):
    x, y = integers(name, 2)
    wide_x, wide_y = x.astype(object), y.astype(object)
    assert_same(computed("hadd", x, y), ((wide_x + wide_y) >> 1).astype(name), x, y)
    assert_same(computed("rhadd", x, y), ((wide_x + wide_y + 1) >> 1).astype(name), x, y)

    def low24(v):
        v = v % 2**24
        return v - 2**24 if name == "int32" and v >= 2**23 else v

    products = [low24(a) * low24(b) % 2**32 for a, b in zip(x.tolist(), y.tolist())]
    got = computed("mul24", x, y).view("uint32")
    assert_same(got, np.array(products, "uint32"), x, y)
    (z,) = integers("uint32", 1)
    sums = [(abs(a - b) + c) % 2**32 for a, b, c in zip(x.tolist(), y.tolist(), z.tolist())]
    assert_same(computed("sad", x, y, z, out="uint32"), np.array(sums, "uint32"), x, y, z)


def test_bit_casts():
    rng = np.random.default_rng(13)
    words = rng.integers(-(2**31), 2**31, 1000, dtype="int32")
    longs = rng.integers(-(2**63), 2**63 - 1, 1000, dtype="int64")
    low = rng.integers(-(2**31), 2**31, 1000, dtype="int32")
    floats, doubles = words.view("float32"), longs.view("float64")
    for got, expected in (
        (computed("float_as_int", floats, out="int32"), words),
        (computed("float_as_uint", floats, out="uint32"), words.view("uint32")),
        (computed("int_as_float", words, out="float32").view("int32"), words),
        (computed("uint_as_float", words.view("uint32"), out="float32").view("int32"), words),
        (computed("double_as_longlong", doubles, out="int64"), longs),
        (computed("longlong_as_double", longs, out="float64").view("int64"), longs),
        (computed("double2hiint", doubles, out="int32"), (longs >> 32).astype("int32")),
        (computed("double2loint", doubles, out="int32"), longs.astype("int32")),
        (
            computed("hiloint2double", words, low, out="float64").view("int64"),
            (words.astype("int64") << 32) | (low.astype("int64") & 0xFFFFFFFF),
        ),
    ):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_neighbours_and_exponents(name):
    x, y = operands(name, 2, 600)
    with np.errstate(all="ignore"):
        assert_same(computed("nextafter", x, y), np.nextafter(x, y), x, y)
        logb = [
            x
            if math.isnan(x)
            else -math.inf
            if x == 0
            else math.inf
            if math.isinf(x)
            else math.frexp(x)[1] - 1
            for x in x.tolist()
        ]
    assert_same(computed("logb", x), logb, x)
    ilogb = [
        -(2**31) if v != v or v == -math.inf else 2**31 - 1 if v == math.inf else int(v)
        for v in logb
    ]
    assert_same(computed("ilogb", x, out="int32"), np.array(ilogb, "int32"), x)


@pytest.mark.parametrize("function", ["ldexp", "scalbn"])
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_ldexp_rounds_once(name, function):
    x, _ = operands(name, 2, 600)
    rng = np.random.default_rng(14)
    n = rng.integers(-2300, 2300, x.size, dtype="int32")
    n[::3] //= 10
    n[::50] = rng.choice([-(2**31), 2**31 - 1, 0, 10**6], n[::50].size)
    expected = [
        rounded(Fraction(v) * Fraction(2) ** max(-5000, min(5000, k)), name, "rn", v)
        if math.isfinite(v)
        else v
        for v, k in zip(x.tolist(), n.tolist())
    ]
    assert_same(computed(function, x, n), expected, x, n)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_remainder_is_exact(name):
    x, y = operands(name, 2, 600)
    y[1::7] = x[1::7] / 3
    y[2::7] = x[2::7] * 2
    expected = []
    for a, b in zip(x.tolist(), y.tolist()):
        if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0:
            expected.append(math.nan)
        else:
            expected.append(math.remainder(a, b))
    assert_same(computed("remainder", x, y), expected, x, y)


def test_saturatef_and_rcp64h():
    x = edges("float32")
    with np.errstate(invalid="ignore"):
        expected = np.where(x > 0, np.minimum(x, 1), 0)
    assert_same(computed("saturatef", x), expected, x)
    (x,) = operands("float64", 1)
    got = computed("rcp64h", x)
    assert (got.view("int64")[~np.isnan(x)] & 0xFFFFFFFF == 0).all()
    normal = (np.abs(x) > 1e-300) & (np.abs(x) < 1e300)
    np.testing.assert_allclose(got[normal], 1 / x[normal], rtol=2.0**-18)
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 1.7e308])
    assert_same(computed("rcp64h", special), [np.inf, -np.inf, 0, -0.0, np.nan, np.inf, 0])


@st.jit
def exponentials(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, libdevice.exp(tl.load(x + i)))


def test_exp_has_all_digits_on_every_device(device):
    x = np.linspace(-87, 88, 1000, dtype=np.float32)
    out = np.empty_like(x)
    exponentials[(1,)](x, out, 1000)
    np.testing.assert_allclose(out, np.exp(x.astype(np.float64)), rtol=2.0**-22)


@pytest.mark.host
def test_only_the_languages_own_exp_is_approximated():
    def code(f):
        signature = {"x_ptr": "*fp32", "out_ptr": "*fp32", "count": "i32"}
        source = st.compiler.ASTSource(
            fn=unary, signature={**signature, "f": "constexpr", "BLOCK": "constexpr"},
            constexprs={"f": f, "BLOCK": 128},
        )  # fmt: skip
        return st.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]

    assert code(tl.exp).count("ex2.approx") == 1
    assert "ex2.approx" not in code(libdevice.exp)
