"""Conversions of narrow floats: every pattern widened, every boundary between two numbers narrowed.

References are ml_dtypes', which round once, to nearest even. NaN is NaN, whatever its sign and payload.
"""

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
