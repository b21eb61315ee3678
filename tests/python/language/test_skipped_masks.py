"""Masks of what a product gives, in loops: true everywhere in some rounds, which then do without them, and in others
not."""

import numpy as np
import pytest
from support import random

import sectile as st
import sectile.language as tl

DEPTH = 32


@st.jit
def mixed(
    q, k, v, out, first, length, low, high, KIND: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Sums of v, weighted by products of rows of q and k, -1 where a mask is false."""
    m = tl.arange(0, BM)
    d = tl.arange(0, D)
    row = first + m
    left = tl.load(q + m[:, None] * D + d[None, :])
    total = tl.zeros((BM, D), tl.float32)
    for start in range(0, length, BN):
        n = tl.arange(0, BN)
        column = start + n
        at = column[:, None] * D + d[None, :]
        scores = tl.dot(left, tl.load(k + at).T)
        if KIND == "causal":
            seen = row[:, None] >= column[None, :]
        elif KIND == "strict":
            seen = column[None, :] < row[:, None]
        elif KIND == "later":
            seen = row[:, None] <= column[None, :]
        elif KIND == "window":
            seen = (row[:, None] - low < column[None, :]) & (column[None, :] <= row[:, None] + high)
        elif KIND == "wide":
            seen = row[:, None].to(tl.int64) * 1 + low > column[None, :].to(tl.int64)
        elif KIND == "tail":
            seen = column[None, :] < high
        elif KIND == "never":
            seen = row[:, None] * 0 > column[None, :] + 1
        else:
            seen = (row[:, None] >= column[None, :]) | (column[None, :] < low)
        scores = tl.where(seen, scores, -1.0)
        total = tl.dot(scores.to(tl.float16), tl.load(v + at), total)
    tl.store(out + m[:, None] * D + d[None, :], total)


def seen(kind, row, column, low, high):
    """With numbers of 32 bits that wrap."""
    row, column = row.astype(np.int32)[:, None], column.astype(np.int32)[None, :]
    low, high = np.int32(low), np.int32(high)
    with np.errstate(over="ignore"):
        return {
            "causal": lambda: row >= column,
            "strict": lambda: column < row,
            "later": lambda: row <= column,
            "window": lambda: (row - low < column) & (column <= row + high),
            "wide": lambda: row.astype(np.int64) + low > column.astype(np.int64),
            "tail": lambda: column < high + 0 * row,
            "never": lambda: row * 0 > column + np.int32(1),
            "either": lambda: (row >= column) | (column < low),
        }[kind]()


def check(kind, rows, first, length, low=0, high=0, block=32, warps=4):
    q, k, v = (random("float16", (n, DEPTH), 1 + i) for i, n in enumerate((rows, length, length)))
    for operand in (q, k, v):
        np.clip(operand, -4, 4, out=operand)
        operand[np.abs(operand) < 2.0**-10] = 0
    out = np.full((rows, DEPTH), 77, np.float32)
    mixed[(1,)](q, k, v, out, first, length, low, high, kind, rows, block, DEPTH, num_warps=warps)
    row = np.arange(first, first + rows, dtype=np.int64)
    mask = seen(kind, row, np.arange(length), low, high)
    exact = q.astype(np.float64) @ k.astype(np.float64).T
    scores = np.where(mask, exact, -1.0)
    expected = scores @ v.astype(np.float64)
    bound = 2.0**-9 * (np.abs(scores) @ np.abs(v).astype(np.float64)) + 1e-2
    assert (np.abs(out - expected) <= bound).all()


@pytest.mark.parametrize("kind", ("causal", "strict", "later", "wide", "tail", "never", "either"))
@pytest.mark.parametrize("first", (-40, 0, 31, 64, 97, 1000))
def test_kinds(kind, first):
    check(kind, 64, first, 192, low=5, high=77)


@pytest.mark.parametrize("first", (0, 63, 64, 128, 300))
@pytest.mark.parametrize("low,high", ((16, 0), (64, 0), (32, 32), (500, 500), (0, -5)))
def test_windows(first, low, high):
    check("window", 64, first, 256, low, high)


@pytest.mark.parametrize("rows,block,warps", ((16, 16, 1), (32, 64, 2), (64, 64, 4), (128, 64, 8)))
def test_shapes(rows, block, warps):
    for first in (0, 70, 200):
        check("causal", rows, first, 256, block=block, warps=warps)


@pytest.mark.parametrize("kind", ("causal", "strict", "later", "window", "wide"))
@pytest.mark.parametrize("first", (2**31 - 20, -(2**31), -(2**31) + 3, 2**31 - 64))
def test_sums_that_wrap(kind, first):
    check(kind, 64, first, 96, low=40, high=30)
    check(kind, 64, first, 96, low=2**31 - 1, high=2**31 - 1)
    check(kind, 64, first, 96, low=-(2**31), high=-7)
