"""float8e4b15, Triton's format for GPUs without fp8: four bits of exponent, bias 15, only numbers.

The references follow Triton 3.6's `convert_custom_float8`, instruction by instruction: what is too
large, infinity and NaN become 1.75 with their sign, halves are rounded away from zero.
"""

import numpy as np
import pytest

import sectile as st
import sectile.language as tl

PATTERNS = np.arange(256, dtype=np.uint8)


def widened(patterns):
    wide = patterns.astype(np.uint16)
    return ((wide & 0x7F) << 7 | (wide & 0x80) << 8).view(np.float16)


def narrowed(x):
    """Of float16: Triton's instructions. Of others: towards zero to float16 first, as Triton does."""
    x = np.asarray(x)
    if x.dtype != np.float16:
        wide = x.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            near = wide.astype(np.float16)
        beyond = np.abs(near.astype(np.float64)) > np.abs(wide)
        # One pattern down is one number towards zero.
        x = (near.view(np.uint16) - beyond).view(np.float16)
    bits = x.view(np.uint16).astype(np.uint32)
    magnitude = np.minimum(bits & 0x7FFF, 0x3F00) * 2 + 0x80
    return (((bits & 0x8000) | magnitude) >> 8).astype(np.uint8)


def boundaries(dtype):
    """Each number, each point between two, and what lies on both sides of them."""
    numbers = np.unique(widened(PATTERNS).astype(np.float64))
    points = np.concatenate([numbers, (numbers[1:] + numbers[:-1]) / 2]).astype(dtype)
    up, down = np.nextafter(points, dtype(np.inf)), np.nextafter(points, dtype(-np.inf))
    special = np.array([0, np.inf, np.nan, 1.8125, 1.9, 448, 60000], dtype)
    return np.concatenate([points, up, down, special, -special])


@st.jit
def convert(x_ptr, out_ptr, n, to: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n).to(to), mask=i < n)


def run(x, to, out):
    convert[(st.cdiv(x.size, 512),)](x, st.reinterpret(out, to), x.size, to, N=512)
    return out


WIDE = {"fp16": (tl.float16, np.float16), "fp32": (tl.float32, np.float32), "fp64": (tl.float64, np.float64)}  # fmt: skip


@pytest.mark.parametrize("name", WIDE)
def test_every_pattern_widens_exactly(name):
    to, dtype = WIDE[name]
    x = st.reinterpret(PATTERNS.copy(), tl.float8e4b15)
    out = np.zeros(256, dtype)
    convert[(1,)](x, out, 256, to, N=256)
    np.testing.assert_array_equal(
        out.view(f"u{out.itemsize}"), widened(PATTERNS).astype(dtype).view(f"u{out.itemsize}")
    )


@pytest.mark.parametrize("name", WIDE)
def test_narrowing_at_every_boundary(name):
    x = boundaries(WIDE[name][1])
    got = run(x, tl.float8e4b15, np.zeros(x.size, np.uint8))
    is_nan = np.isnan(x.astype(np.float64))  # its sign is nobody's
    np.testing.assert_array_equal(got[~is_nan], narrowed(x)[~is_nan])
    assert set(got[is_nan] & 0x7F) == {0x7E}


def test_every_float16_narrows_as_in_triton():
    x = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(np.float16)
    np.testing.assert_array_equal(run(x, tl.float8e4b15, np.zeros(x.size, np.uint8)), narrowed(x))


def test_random_float32():
    bits = np.random.default_rng(0).integers(0, 1 << 32, 1 << 18, dtype=np.uint32)
    exponents = np.random.default_rng(1).integers(105, 130, bits.size, dtype=np.uint32)
    x = ((bits & 0x807FFFFF) | exponents << 23).view(np.float32)
    np.testing.assert_array_equal(run(x, tl.float8e4b15, np.zeros(x.size, np.uint8)), narrowed(x))


def test_other_fp8_kinds_and_integers():
    e5 = np.array([0x3C, 0xBC, 0x7B, 0x01, 0x3E], np.uint8)  # 1, -1, 57344, 2^-16, 1.5
    got = np.zeros(5, np.uint8)
    convert[(1,)](
        st.reinterpret(e5, tl.float8e5), st.reinterpret(got, tl.float8e4b15), 5, tl.float8e4b15, N=8
    )
    assert got.tolist() == [0x78, 0xF8, 0x7E, 0x02, 0x7C]
    back = np.zeros(5, np.uint8)
    convert[(1,)](
        st.reinterpret(got, tl.float8e4b15), st.reinterpret(back, tl.float8e5), 5, tl.float8e5, N=8
    )
    assert back.tolist() == [0x3C, 0xBC, 0x3F, 0x01, 0x3E]
    numbers = np.array([0, 1, -1, 2, -100, 7], np.int32)
    assert run(numbers, tl.float8e4b15, np.zeros(6, np.uint8)).tolist() == [0, 0x78, 0xF8, 0x7E, 0xFE, 0x7E]  # fmt: skip
    whole = np.zeros(6, np.int16)
    convert[(1,)](
        st.reinterpret(run(numbers, tl.float8e4b15, np.zeros(6, np.uint8)), tl.float8e4b15),
        whole, 6, tl.int16, N=8,
    )  # fmt: skip
    assert whole.tolist() == [0, 1, -1, 1, -1, 1]


@st.jit
def arithmetic(x_ptr, y_ptr, out_ptr, flags, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i, mask=i != 5, other=0.75)
    tl.store(out_ptr + i, x + y)
    tl.store(out_ptr + N + i, x * y)
    tl.store(out_ptr + 2 * N + i, tl.maximum(x, y))
    tl.store(out_ptr + 3 * N + i, -x)
    tl.store(out_ptr + 4 * N + i, tl.abs(x))
    tl.store(out_ptr + 5 * N + i, tl.where(x < y, x, 0.5))
    tl.store(out_ptr + 6 * N + i, tl.full((N,), -1.3, tl.float8e4b15))
    tl.store(out_ptr + 7 * N + i, x / y)
    total = tl.max(x.to(tl.float32), 0)
    tl.store(out_ptr + 8 * N + i, total.to(tl.float8e4b15))
    tl.store(flags + i, (x != 0).to(tl.int32) + 2 * (x == y).to(tl.int32) + 4 * x.to(tl.int1))


def test_arithmetic_is_that_of_fp32():
    n = 256
    x = PATTERNS.copy()
    y = np.random.default_rng(2).integers(0, 256, n).astype(np.uint8)
    out, flags = np.zeros(9 * n, np.uint8), np.zeros(n, np.int32)
    kinds = [st.reinterpret(each, tl.float8e4b15) for each in (x, y, out)]
    arithmetic[(1,)](*kinds, flags, N=n)
    a, b = widened(x).astype(np.float32), widened(y).astype(np.float32)
    b[5] = 0.75
    assert (out[2 * n : 3 * n] & 0x7F).max() > 0x70
    got = out.reshape(9, n)
    with np.errstate(all="ignore"):
        expected = [a + b, a * b, np.maximum(a, b), -a, None, None, np.full(n, -1.3), a / b, np.full(n, a.max())]  # fmt: skip
    np.testing.assert_array_equal(got[4], x & 0x7F)  # as Triton does it, without a conversion
    np.testing.assert_array_equal(got[5], np.where(a < b, x, 0x70))  # moved as it is
    for number, (row, wanted) in enumerate(zip(got, expected)):
        if wanted is None:
            continue
        wanted = np.asarray(wanted, np.float32)
        sure = ~np.isnan(wanted) & (np.abs(wanted) > 0)  # of a sum of zeros, the sign is not asked
        np.testing.assert_array_equal(row[sure], narrowed(wanted)[sure], str(number))
        np.testing.assert_array_equal(row[wanted == 0] & 0x7F, 0)
    np.testing.assert_array_equal(flags, (a != 0) + 2 * (a == b) + 4 * (a != 0))


@st.jit
def product(x_ptr, y_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    x = tl.load(x_ptr + m * K + k[None, :])
    y = tl.load(y_ptr + k[:, None] * N + n)
    tl.store(out_ptr + m * N + n, tl.dot(x, y))


@pytest.mark.parametrize("other", [tl.float8e4b15, tl.float8e5])
def test_products(other, device):
    if device == "hip:gfx90a":
        pytest.skip(
            "its matrix instructions take subnormal halves, which the smallest e4b15 are, as zero"
        )
    rng = np.random.default_rng(3)
    x = rng.integers(0, 256, (32, 64)).astype(np.uint8)
    y = rng.integers(0, 128, (64, 16)).astype(np.uint8)
    if other == tl.float8e5:
        y %= 0x44  # up to 4
        wide = (y.astype(np.uint16) << 8).view(np.float16)
    else:
        wide = widened(y)
    out = np.zeros((32, 16), np.float32)
    product[(1,)](st.reinterpret(x, tl.float8e4b15), st.reinterpret(y, other), out, 32, 16, 64)
    np.testing.assert_allclose(out, widened(x).astype(np.float64) @ wide.astype(np.float64), rtol=1e-5, atol=1e-5)  # fmt: skip


@st.jit
def scalar_argument(out_ptr, number: tl.float8e4b15):
    tl.store(out_ptr, number.to(tl.float32))


def test_scalar_arguments_round_as_casts_do():
    for number in (0.3, -1.8, 1e9, -np.inf, 0.0, 2.0**-17, 3 * 2.0**-18, np.nan):
        out = np.zeros(1, np.float32)
        scalar_argument[(1,)](out, number)
        assert out[0] == widened(narrowed(np.array([number], np.float64)))[0], number


@st.jit
def constants(out_ptr, number: tl.constexpr):
    tl.store(out_ptr, tl.full((1,), number, tl.float8e4b15).to(tl.uint8, bitcast=True).item())
    tl.store(out_ptr + 1, tl.cast(number, tl.float32).to(tl.float8e4b15).to(tl.uint8, bitcast=True))
    tl.static_assert(tl.float8e4b15.is_fp8e4b15() and tl.float8e4b15.is_fp8())
    tl.static_assert(tl.float8e4b15.fp_mantissa_width == 3)
    tl.static_assert(tl.float8e4b15.exponent_bias == 15)


def test_constants_round_as_casts_do():
    for number in (0.3, -1.8, 1e9, -np.inf, 1.0, 2.0**-17, 3 * 2.0**-18):
        out = np.zeros(2, np.uint8)
        constants[(1,)](out, float(number))
        assert (out == narrowed(np.array([number], np.float64))).all(), number


@st.jit
def known_scalar(out_ptr):
    half = tl.full((), 0.5, tl.float8e4b15)
    if half > 0.25:
        tl.store(out_ptr, half.to(tl.float32) * 2)
    for _ in range(3):
        half = half + half
    tl.store(out_ptr + 1, half.to(tl.float32))
    tl.device_print("half", half)


def test_scalars_in_branches_loops_and_prints(capfd):
    out = np.zeros(2, np.float32)
    known_scalar[(1,)](out)
    assert out.tolist() == [1.0, 1.75]
    assert "half: 1.75" in capfd.readouterr().out


@st.jit
def triton_names(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    narrow = tl.extra.cuda.convert_custom_float8_sm80(x, tl.float8e4b15, "rtne")
    tl.store(out_ptr + i, tl.extra.cuda.convert_custom_float8_sm70(narrow, tl.float16))
    toward_zero = x.to(tl.float8e4b15, fp_downcast_rounding="rtz")
    tl.store(out_ptr + N + i, toward_zero.to(tl.float16))


def test_names_of_triton_and_rounding_towards_zero():
    x = np.array([0.3, -0.72, 5.0, 1e-3], np.float32)
    out = np.zeros(8, np.float16)
    triton_names[(1,)](x, out, N=4)
    np.testing.assert_array_equal(out[:4], widened(narrowed(x)))
    np.testing.assert_array_equal(out[4:], [0.28125, -0.6875, 1.75, np.float16(0.0009765625)])


def test_refusals():
    @st.jit
    def to_bf16(x):
        tl.extra.cuda.convert_custom_float8_sm80(tl.load(x), tl.bfloat16)

    with pytest.raises(st.CompilationError, match="fp8e4b15 to fp16 or fp32 or the reverse"):
        to_bf16[(1,)](np.zeros(1, np.float32))

    @st.jit
    def padded(x):
        block = tl.make_block_ptr(x, (4,), (1,), (0,), (8,), (0,))
        tl.load(block, boundary_check=(0,), padding_option="nan")

    with pytest.raises(st.CompilationError, match="not for fp8e4b15(.|\n)*no pattern of it is NaN"):
        padded[(1,)](st.reinterpret(np.zeros(4, np.uint8), tl.float8e4b15))


@st.jit
def absolute_bits(bits, out, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(bits + i).to(tl.float8e4b15, bitcast=True)
    tl.store(out + i, tl.abs(x).to(tl.uint8, bitcast=True))


def test_abs_clears_the_sign_of_every_pattern(device):
    bits = np.arange(256).astype(np.uint8)
    out = np.zeros_like(bits)
    absolute_bits[(1,)](bits, out, 256)
    np.testing.assert_array_equal(out, bits & 0x7F)
