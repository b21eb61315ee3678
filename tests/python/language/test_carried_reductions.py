"""Sums and extrema that loops carry, of what each round reduces: threads may combine theirs behind the loop."""

import numpy as np
import pytest
from support import random

import sectile as st
import sectile.language as tl


@st.jit
def sums(
    x, factors, out, rounds, first, KIND: tl.constexpr, AXIS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Of each round's BM x BN numbers along AXIS (2: of all of them)."""
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    kept = n if AXIS == 0 else m
    if AXIS == 2:
        total = tl.zeros((), tl.float32)
    else:
        total = tl.zeros((BN if AXIS == 0 else BM,), tl.float32)
    if KIND == "begun":
        total += first
    seen = total * 0.0
    for i in range(rounds):
        numbers = tl.load(x + i * BM * BN + m[:, None] * BN + n[None, :]).to(tl.float32)
        if KIND == "square":
            numbers = numbers * numbers
        added = tl.sum(numbers) if AXIS == 2 else tl.sum(numbers, axis=AXIS)
        if KIND == "scaled":
            if AXIS == 2:
                factor = tl.load(factors + i)
            else:
                factor = tl.load(factors + i * 256 + kept)
            total = total * factor + added
        elif KIND == "turned":
            total = added + 0.5 * total
        elif KIND == "watched":
            total += added
            seen = tl.maximum(seen, total)
        else:
            total += added
    if AXIS == 2:
        tl.store(out, total + seen)
    else:
        tl.store(out + kept, total + seen)


@st.jit
def whole_sums(x, out, rounds, AXIS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    total = tl.zeros((BN if AXIS == 0 else BM,), tl.int32)
    for i in range(rounds):
        numbers = tl.load(x + i * BM * BN + m[:, None] * BN + n[None, :]).to(tl.int32)
        total = tl.sum(numbers, axis=AXIS) + total
    tl.store(out + (n if AXIS == 0 else m), total)


SHAPES = ((16, 64), (64, 32), (1, 128), (128, 1), (32, 256), (64, 48))
KINDS = ("plain", "square", "scaled", "turned", "watched", "begun")


@pytest.mark.parametrize("warps", (1, 4))
@pytest.mark.parametrize("axis", (0, 1, 2))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_sums(shape, kind, axis, warps):
    for rounds in (0, 1, 5):
        check_sums(shape, kind, axis, warps, rounds)


def check_sums(shape, kind, axis, warps, rounds):
    if any(extent & (extent - 1) for extent in shape):
        shape = (shape[0], 64)
    x = random("float16", (rounds, *shape), 1)
    np.clip(x, -8, 8, out=x)
    x[np.abs(x) < 2.0**-10] = 0
    factors = random("float32", (max(rounds, 1), 256), 2)
    np.clip(factors, -1, 1, out=factors)
    kept = 1 if axis == 2 else shape[1 - axis]
    out = np.full((kept,), 77, np.float32)
    used = factors[:, 0].copy() if axis == 2 else factors
    sums[(1,)](x, used, out, rounds, 3.5, kind, axis, *shape, num_warps=warps)
    total = np.full((kept,), 3.5 if kind == "begun" else 0.0)
    seen, size = np.zeros(kept), np.abs(total)
    for i in range(rounds):
        numbers = x[i].astype(np.float64)
        if kind == "square":
            numbers = numbers**2
        over = None if axis == 2 else axis
        added, absolute = numbers.sum(axis=over), np.abs(numbers).sum(axis=over)
        factor = 1.0
        if kind == "scaled":
            factor = used[i] if axis == 2 else used[i, :kept].astype(np.float64)
        elif kind == "turned":
            factor = 0.5
        total, size = total * factor + added, size * np.abs(factor) + absolute
        if kind == "watched":
            seen = np.maximum(seen, total)
    assert (np.abs(out - (total + seen)) <= 2.0**-17 * size + 1e-6).all()


@pytest.mark.parametrize("warps", (1, 4))
@pytest.mark.parametrize("axis", (0, 1))
@pytest.mark.parametrize("shape", ((16, 64), (64, 32), (4, 256)))
def test_whole_numbers(shape, axis, warps):
    x = random("int16", (7, *shape), 3)
    out = np.full(shape[1 - axis], 77, np.int32)
    whole_sums[(1,)](x, out, 7, axis, *shape, num_warps=warps)
    np.testing.assert_array_equal(out, x.astype(np.int32).sum(axis=0).sum(axis=axis))


@st.jit
def extrema(
    x, out, rounds, first: tl.constexpr, AXIS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):
    """The largest and the smallest number, and how far the largest had come in the round before the last."""
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    if AXIS == 2:
        top = tl.zeros((), x.dtype.element_ty) + first
    else:
        top = tl.full((BN if AXIS == 0 else BM,), first, x.dtype.element_ty)
    bottom = top
    slow = top
    before = top
    for i in range(rounds):
        numbers = tl.load(x + i * BM * BN + m[:, None] * BN + n[None, :])
        most = tl.max(numbers) if AXIS == 2 else tl.max(numbers, axis=AXIS)
        least = tl.min(numbers) if AXIS == 2 else tl.min(numbers, axis=AXIS)
        top = tl.maximum(top, most)
        bottom = tl.minimum(least, bottom)
        before = slow
        slow = tl.maximum(slow, most)
    if AXIS == 2:
        tl.store(out, top)
        tl.store(out + 256, bottom)
        tl.store(out + 512, before)
    else:
        kept = n if AXIS == 0 else m
        tl.store(out + kept, top)
        tl.store(out + 256 + kept, bottom)
        tl.store(out + 512 + kept, before)


@pytest.mark.parametrize("warps", (1, 4))
@pytest.mark.parametrize("dtype", ("float32", "int32", "uint32"))
@pytest.mark.parametrize("axis", (0, 1, 2))
@pytest.mark.parametrize("shape", ((16, 64), (64, 32), (1, 128), (128, 1)))
def test_extrema(shape, axis, dtype, warps):
    over = (0, 1, 2) if axis == 2 else (0, axis + 1)
    for rounds, first in ((0, 3), (1, 3), (6, 3), (6, 0), (6, 100)):
        x = np.random.default_rng(rounds + first).integers(0, 200, (rounds, *shape)).astype(dtype)
        if dtype != "uint32":
            x -= 100
        kept = 1 if axis == 2 else shape[1 - axis]
        out = np.full(768, 77, dtype)
        extrema[(1,)](x, out, rounds, first, axis, *shape, num_warps=warps)
        begin = np.full((1, *shape), first, dtype)
        all_of = np.concatenate([begin, x])
        np.testing.assert_array_equal(out[:kept], all_of.max(axis=over))
        np.testing.assert_array_equal(out[256 : 256 + kept], all_of.min(axis=over))
        np.testing.assert_array_equal(
            out[512 : 512 + kept], all_of[: max(rounds, 1)].max(axis=over)
        )
