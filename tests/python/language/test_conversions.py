"""Conversions of narrow floats: every pattern widened, every boundary between two numbers narrowed.

References are ml_dtypes', which round once, to nearest even. NaN is NaN, whatever its sign and payload.
"""

import ml_dtypes
import numpy as np
import pytest
from support import DTYPES, FP8

import sectile as st
import sectile.language as tl

KINDS = {name: DTYPES[name] for name in ("float16", "bfloat16")} | FP8
WIDE = {name: DTYPES[name] for name in ("float32", "float64")} | KINDS


def bits_type(dtype):
    return np.dtype(f"uint{8 * np.dtype(dtype).itemsize}")


def bits_language_type(kind):
    return {8: tl.uint8, 16: tl.uint16, 32: tl.uint32, 64: tl.uint64}[kind.primitive_bitwidth]


@st.jit
def convert(
    x_ptr,
    out_ptr,
    count,
    source: tl.constexpr,
    to: tl.constexpr,
    bits: tl.constexpr,
    N: tl.constexpr,
):
    i = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + i, mask=i < count).to(source, bitcast=True)
    tl.store(out_ptr + i, x.to(to).to(bits, bitcast=True), mask=i < count)


def converted(x, source, to):
    """`x` (of WIDE's `source`) as WIDE's `to`. Arrays are passed as their bits."""
    out = np.zeros(x.size, bits_type(WIDE[to][0]))
    given = np.ascontiguousarray(x).view(bits_type(x.dtype))
    convert[(st.cdiv(x.size, 1024),)](
        given, out, x.size, WIDE[source][1], WIDE[to][1], bits_language_type(WIDE[to][1]), N=1024
    )
    return out.view(WIDE[to][0])


def every_pattern(name):
    dtype = np.dtype(KINDS[name][0])
    return np.arange(1 << 8 * dtype.itemsize, dtype=np.uint32).astype(bits_type(dtype)).view(dtype)


def boundaries(name):
    """Of each number of that kind, and of the point between it and the next: itself, and the f32 on both
    sides; beyond the largest number also, and what is no number."""
    values = every_pattern(name).astype(np.float64)
    values = np.unique(values[np.isfinite(values)])
    largest = values[-1] + (values[-1] - values[-2]) * np.arange(1, 4) / 2
    points = np.concatenate([values, (values[1:] + values[:-1]) / 2, largest, -largest])
    with np.errstate(over="ignore"):
        points = points.astype(np.float32)
    up, down = np.nextafter(points, np.float32(np.inf)), np.nextafter(points, np.float32(-np.inf))
    special = np.array([0, np.inf, np.nan, 3e38, 1e-45], np.float32)
    return np.concatenate([points, up, down, special, -special])


def assert_same(got, expected):
    """Bit for bit, but for NaN."""
    wrong_nan = np.isnan(got.astype(np.float64)) != np.isnan(expected.astype(np.float64))
    bits = bits_type(got.dtype)
    differ = got.view(bits) != expected.view(bits)
    wrong = wrong_nan | (differ & ~np.isnan(expected.astype(np.float64)))
    at = np.flatnonzero(wrong)[:5]
    assert at.size == 0, f"{wrong.sum()} differ: at {at} {got[at]} instead of {expected[at]}"


def as_kind(x, name):
    with np.errstate(over="ignore", invalid="ignore"):
        if name in FP8:  # stops at the largest number; NaN stays
            largest = float(ml_dtypes.finfo(FP8[name][0]).max)
            x = np.clip(x.astype(np.float64), -largest, largest)
        return x.astype(WIDE[name][0])


@pytest.mark.parametrize("to", ["float32", "float64"])
@pytest.mark.parametrize("name", KINDS)
def test_every_pattern_widens_exactly(name, to):
    x = every_pattern(name)
    assert_same(converted(x, name, to), as_kind(x.astype(np.float32), to))


@pytest.mark.parametrize("to", KINDS)
@pytest.mark.parametrize("name", KINDS)
def test_every_pattern_to_other_narrow_kinds(name, to):
    if to != name:
        x = every_pattern(name)
        assert_same(converted(x, name, to), as_kind(x.astype(np.float32), to))


@pytest.mark.parametrize("source", ["float32", "float64"])
@pytest.mark.parametrize("to", KINDS)
def test_narrowing_at_every_boundary(to, source):
    x = boundaries(to)
    assert_same(converted(as_kind(x, source), source, to), as_kind(x, to))


@pytest.mark.parametrize("to", KINDS)
def test_narrowing_random_patterns(to):
    bits = np.random.default_rng(0).integers(0, 1 << 32, 1 << 20, dtype=np.uint32)
    x = bits.view(np.float32)
    assert_same(converted(x, "float32", to), as_kind(x, to))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("to", FP8)
def test_every_pattern_of_16_bits_to_fp8(name, to):
    x = every_pattern(name)
    assert_same(converted(x, name, to), as_kind(x, to))


@st.jit
def as_constants(out_ptr, number: tl.constexpr, source: tl.constexpr, to: tl.constexpr):
    i = tl.arange(0, 4)
    tl.store(out_ptr + i, tl.full((4,), number, to).to(tl.uint8, bitcast=True))
    tl.store(out_ptr + 4 + i, tl.full((4,), number, source).to(to).to(tl.uint8, bitcast=True))
    tl.store(out_ptr + 8, tl.cast(number, source).to(to).to(tl.uint8, bitcast=True))


@pytest.mark.parametrize("source", [tl.float16, tl.bfloat16, tl.float32, tl.float64])
@pytest.mark.parametrize("number", [1e9, -449.0, 470.0, 61440.0, np.inf, -np.inf, np.nan, -1e-9])
@pytest.mark.parametrize("kind", FP8)
def test_constants_narrow_as_numbers_do(kind, number, source):
    out = np.zeros(9, np.uint8)
    as_constants[(1,)](out, float(number), source, FP8[kind][1])
    got = out.view(FP8[kind][0])
    exact = as_kind(np.array([number], np.float64), kind)
    wide = {tl.float16: "float16", tl.bfloat16: "bfloat16", tl.float32: "float32"}
    once = as_kind(np.array([number]), wide[source]) if source in wide else np.array([number])
    assert_same(got[:4], np.repeat(exact, 4))
    assert_same(got[4:], np.repeat(as_kind(once, kind), 5))


@st.jit
def scalar_argument(out_ptr, number: tl.float8e5):
    tl.store(out_ptr, number.to(tl.float32))


def test_arguments_of_fp8_saturate():
    for number in (1e9, -61440.0, np.inf, -np.inf, 3.0):
        out = np.zeros(1, np.float32)
        scalar_argument[(1,)](out, number)
        assert out[0] == np.clip(number, -57344, 57344)


@st.jit
def move(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.flip(tl.flip(x, 0), 0))
    tl.store(out_ptr + N + i, tl.where(i % 2 == 0, x, x))
    tl.store(
        out_ptr + 2 * N + i, x.to(tl.uint8, bitcast=True).to(out_ptr.dtype.element_ty, bitcast=True)
    )


@pytest.mark.parametrize("kind", FP8)
def test_what_moves_keeps_infinities(kind):
    x = every_pattern(kind)
    out = np.zeros(3 * 256, x.dtype)
    move[(1,)](x, out, N=256)
    assert_same(out, np.tile(x, 3))


@pytest.mark.parametrize("kind", KINDS)
def test_what_moves_keeps_every_pattern(kind):
    """Also of what is no number: libraries move packed data as bf16."""
    x = every_pattern(kind)
    bits = bits_language_type(KINDS[kind][1])

    @st.jit
    def kernel(x_ptr, out_ptr, bits_ptr, BITS: tl.constexpr, N: tl.constexpr, M: tl.constexpr):
        i = tl.program_id(0) * N + tl.arange(0, N)
        x = tl.load(x_ptr + i)
        tl.store(out_ptr + i, tl.where(i % 2 == 0, tl.flip(tl.flip(x, 0), 0), x))
        tl.store(bits_ptr + i, x.to(BITS, bitcast=True))
        masked = tl.load(x_ptr + i, mask=i % 3 != 0)
        tl.store(out_ptr + M + i, masked, mask=i % 3 != 0)

    out, raw = np.zeros(2 * x.size, x.dtype), np.zeros(x.size, bits_type(x.dtype))
    kernel[(x.size // 256,)](x, out, raw, BITS=bits, N=256, M=x.size)
    given = x.view(bits_type(x.dtype))
    got = out.view(given.dtype)
    assert np.array_equal(got[: x.size], given)
    assert np.array_equal(raw, given)
    assert np.array_equal(got[x.size :], np.where(np.arange(x.size) % 3 != 0, given, 0))


@pytest.mark.parametrize("kind", ["e4m3fn", "e5m2"])
def test_one_element(kind):
    # No pair for the instruction.
    x = np.array([300.0], np.float32)
    assert_same(converted(x, "float32", kind), as_kind(x, kind))
    narrow = as_kind(x, kind)
    assert_same(converted(narrow, kind, "float32"), narrow.astype(np.float32))


@st.jit
def copy(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(out_ptr.dtype.element_ty))


@st.jit
def copy_each(x_ptr, out_ptr, N: tl.constexpr):
    for i in range(N):
        tl.store(out_ptr + i, tl.load(x_ptr + i).to(out_ptr.dtype.element_ty))


def nearest_to_integer(whole, digits):
    """Of a Python integer, by integer arithmetic: the nearest of so many binary digits, halves to even."""
    lost = max(abs(whole).bit_length() - digits, 0)
    kept, rest = divmod(abs(whole), 1 << lost)
    up = 2 * rest > 1 << lost or (2 * rest == 1 << lost and kept % 2 == 1)
    return float((kept + up) << lost) * (-1 if whole < 0 else 1)


@pytest.mark.parametrize("kernel", [copy, copy_each])
@pytest.mark.parametrize("source", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("to, digits", [("bfloat16", 8), ("float16", 11)])
def test_integers_beside_the_middle_of_two_numbers(to, digits, source, kernel):
    # By way of fp32, which has 24 digits, the middle and what lies beside it would be one number.
    random = np.random.default_rng(7)
    largest = 15 if to == "float16" else np.iinfo(source).max.bit_length() - 1
    lost = random.integers(1, largest - digits + 1, 512)
    middle = (2 * random.integers(1 << (digits - 1), 1 << digits, 512) + 1) << (lost - 1)
    x = (middle + random.integers(-1, 2, 512)).astype(source)
    if source.startswith("int"):
        x *= random.choice([-1, 1], 512)
    out = np.zeros(x.size, WIDE[to][0])
    kernel[(1,)](x, out, N=x.size)
    expected = [nearest_to_integer(int(whole), digits) for whole in x]
    assert np.array_equal(out.astype(np.float64), expected)


@st.jit
def unpack(x_ptr, out_ptr, N: tl.constexpr, BITS: tl.constexpr, IS_SIGNED: tl.constexpr):
    """The upper BITS of each word, as numbers with a sign or without."""
    x = tl.load(x_ptr + tl.arange(0, N))
    if IS_SIGNED:
        some = x >> (32 - BITS)
    else:
        some = (x >> (32 - BITS)) & ((1 << BITS) - 1)
    tl.store(out_ptr + tl.arange(0, N), some.to(out_ptr.dtype.element_ty))


@pytest.mark.parametrize("bits", [4, 11, 12, 23, 24, 25, 26])
@pytest.mark.parametrize("is_signed", [False, True])
@pytest.mark.parametrize("to, digits", [("bfloat16", 8), ("float16", 11)])
def test_integers_of_few_bits_are_rounded_once(bits, is_signed, to, digits):
    random = np.random.default_rng(bits)
    x = random.integers(-(2**31), 2**31, 2048).astype(np.int32)
    # The middle of two numbers of the narrow type, as far as bits reach, and what lies beside it.
    lost = random.integers(0, max(bits - digits, 0) + 1, 1024)
    middle = (x[:1024].astype(np.int64) >> (32 - bits) >> lost << lost) + (1 << lost >> 1)
    beside = np.clip(
        middle + random.integers(-1, 2, 1024), -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    )
    x[:1024] = beside << (32 - bits)
    out = np.zeros(x.size, WIDE[to][0])
    unpack[(1,)](x, out, x.size, bits, is_signed)
    some = x.astype(np.int64) >> (32 - bits)
    some = some if is_signed else some & ((1 << bits) - 1)
    expected = np.array([nearest_to_integer(int(whole), digits) for whole in some])
    if to == "float16":
        expected = np.where(np.abs(expected) > 65504, np.copysign(np.inf, expected), expected)
    assert np.array_equal(out.astype(np.float64), expected)


@st.jit
def grown(out_ptr, n, STEP: tl.constexpr):
    """Of numbers that loops carry and count nothing is known while they are compiled."""
    x = 0
    for i in range(n):
        tl.store(out_ptr + i, x.to(tl.bfloat16))
        x += STEP
    for i in range(0, n * STEP, STEP):
        tl.store(out_ptr + n + i // STEP, i.to(tl.bfloat16))


def test_integers_that_loops_carry_are_rounded_once():
    step = 1028 * 2**18 + 1  # beside the middle of two numbers of bf16
    out = np.zeros(8, ml_dtypes.bfloat16)
    grown[(1,)](out, 4, step)
    expected = [nearest_to_integer(step * i, 8) for i in range(4)]
    assert out.astype(np.float64).tolist() == 2 * expected


def test_positions_are_rounded_once():
    @st.jit
    def kernel(out_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(out_ptr + i, (i * 262144 + 1).to(tl.bfloat16))

    out = np.zeros(4096, ml_dtypes.bfloat16)
    kernel[(1,)](out, out.size)
    expected = [nearest_to_integer(262144 * i + 1, 8) for i in range(out.size)]
    assert out.astype(np.float64).tolist() == expected


@pytest.mark.host
@pytest.mark.parametrize("bits, conversions", [(4, 0), (24, 0), (25, 4)])
def test_integers_of_few_bits_need_no_check(bits, conversions):
    signature = {"x_ptr": "*i32:16", "out_ptr": "*fp16:16"}
    constants = {"N": 512, "BITS": bits, "IS_SIGNED": False}
    kernel = st.compile(unpack, signature, constants, target="cuda:90", num_warps=4)
    back = [line for line in kernel.asm["ptx"].splitlines() if "cvt.rzi" in line]
    assert len(back) == conversions


INSTRUCTIONS = [
    ("fp32", "bf16", 80, "cvt.rn.bf16x2.f32"),
    ("fp32", "fp16", 80, "cvt.rn.f16x2.f32"),
    ("fp32", "fp8e4nv", 89, "cvt.rn.satfinite.e4m3x2.f32"),
    ("fp32", "fp8e5", 89, "cvt.rn.satfinite.e5m2x2.f32"),
    ("fp16", "fp8e4nv", 90, "cvt.rn.satfinite.e4m3x2.f32"),
    ("fp8e4nv", "fp32", 89, "cvt.rn.f16x2.e4m3x2"),
    ("fp8e4nv", "fp16", 90, "cvt.rn.f16x2.e4m3x2"),
    ("fp8e4nv", "bf16", 120, "cvt.rn.f16x2.e4m3x2"),
]


@pytest.mark.host
@pytest.mark.parametrize("source, to, capability, instruction", INSTRUCTIONS)
def test_instruction_for_each_pair(source, to, capability, instruction):
    signature = {"x_ptr": f"*{source}:16", "out_ptr": f"*{to}:16"}
    kernel = st.compile(copy, signature, {"N": 1024}, target=f"cuda:{capability}", num_warps=4)
    # 1024 elements, 128 threads, two each.
    assert kernel.asm["ptx"].count(instruction) == 4, kernel.asm["ptx"]


@pytest.mark.host
@pytest.mark.parametrize("to", ["fp8e4nv", "fp8e5"])
def test_older_chips_do_without(to):
    signature = {"x_ptr": "*fp32", "out_ptr": f"*{to}"}
    kernel = st.compile(copy, signature, {"N": 1024}, target="cuda:80", num_warps=4)
    assert "satfinite" not in kernel.asm["ptx"]


@st.jit
def widen(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    tl.store(out_ptr + i, x.to(tl.float32) * 2)


@pytest.mark.host
def test_upper_halves_of_e4m3_are_shifted_where_a_mask_may_leave_them_zero():
    # ptxas 13.0 unpacks the upper half of a word that it finds to be zero as the bits 8.
    signature = {"x_ptr": "*fp8e4nv:16", "out_ptr": "*fp32:16", "n": "i32:16"}
    ptx = st.compile(widen, signature, {"N": 1024}, target="cuda:90", num_warps=4).asm["ptx"]
    assert "{_, %rs" not in ptx and ptx.count("shr.u32") >= 2, ptx


@st.jit
def widen_all(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(tl.float32) * 2)


@pytest.mark.host
def test_upper_halves_of_e4m3_are_selected_where_nothing_masks():
    signature = {"x_ptr": "*fp8e4nv:16", "out_ptr": "*fp32:16"}
    ptx = st.compile(widen_all, signature, {"N": 1024}, target="cuda:90", num_warps=4).asm["ptx"]
    assert "shr." not in ptx, ptx


@st.jit
def widen_nothing(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i, mask=i < 0, other=0)
    tl.store(out_ptr + i, x.to(tl.float32) + 1)


def test_e4m3_that_is_masked_off_altogether_is_zero():
    for count in (16, 100, 256, 1000):
        x = as_kind(np.full(count, 3.0), "e4m3fn")
        out = np.zeros(count, np.float32)
        widen_nothing[(1,)](x, out, N=count)
        np.testing.assert_array_equal(out, 1)
