"""Operations that move elements without computing on them."""

import math

import numpy as np
import pytest
from support import random

import sectile as st
import sectile.language as tl


@st.jit
def index_2d(M: tl.constexpr, N: tl.constexpr):
    return tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]


@pytest.mark.parametrize("shape", [(1, 5), (16, 16), (7, 33), (64, 3)])
def test_transpose(shape):
    @st.jit
    def kernel(x_ptr, out_ptr, again_ptr, M: tl.constexpr, N: tl.constexpr):
        x = tl.load(x_ptr + index_2d(M, N))
        tl.store(out_ptr + index_2d(N, M), tl.trans(x))
        tl.store(again_ptr + index_2d(N, M), x.T)

    x = random("float32", shape)
    out, again = np.empty(shape[::-1], np.float32), np.empty(shape[::-1], np.float32)
    kernel[(1,)](x, out, again, M=shape[0], N=shape[1])
    np.testing.assert_array_equal(out, x.T)
    np.testing.assert_array_equal(again, x.T)


@pytest.mark.parametrize(
    "order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
)
def test_permute(order):
    @st.jit
    def kernel(x_ptr, out_ptr, a: tl.constexpr, b: tl.constexpr, c: tl.constexpr):
        x = tl.reshape(tl.load(x_ptr + tl.arange(0, 210)), (5, 6, 7))
        tl.store(out_ptr + tl.arange(0, 210), tl.reshape(tl.permute(x, (a, b, c)), (210,)))

    x = random("float32", 210)
    out = np.empty_like(x)
    kernel[(1,)](x, out, *order)
    np.testing.assert_array_equal(out, x.reshape(5, 6, 7).transpose(order).ravel())


def test_reshape_broadcast_and_expand():
    @st.jit
    def kernel(x_ptr, out_ptr, wide_ptr):
        x = tl.load(x_ptr + tl.arange(0, 24))
        tl.store(out_ptr + index_2d(4, 6), tl.reshape(x, (4, 6)) + tl.arange(0, 6))
        row = tl.expand_dims(tl.load(x_ptr + tl.arange(0, 5)), 0)
        tl.store(wide_ptr + index_2d(3, 5), tl.broadcast_to(row, (3, 5)))

    x = random("float32", 24)
    out, wide = np.empty((4, 6), np.float32), np.empty((3, 5), np.float32)
    kernel[(1,)](x, out, wide)
    np.testing.assert_array_equal(out, x.reshape(4, 6) + np.arange(6, dtype=np.float32))
    np.testing.assert_array_equal(wide, np.broadcast_to(x[:5], (3, 5)))


@pytest.mark.parametrize("extent", [1, 8, 19, 64])
def test_join_split_interleave(extent):
    @st.jit
    def kernel(x_ptr, y_ptr, joined_ptr, woven_ptr, back_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        x = tl.load(x_ptr + i)
        y = tl.load(y_ptr + i)
        joined = tl.join(x, y)
        tl.store(joined_ptr + index_2d(N, 2), joined)
        tl.store(woven_ptr + tl.arange(0, 2 * N), tl.interleave(x, y))
        left, right = tl.split(joined * 2)
        tl.store(back_ptr + i, left - right)

    x, y = random("float32", extent, 1), random("float32", extent, 2)
    joined, woven, back = (
        np.empty((extent, 2), np.float32),
        np.empty(2 * extent, np.float32),
        np.empty_like(x),
    )
    kernel[(1,)](x, y, joined, woven, back, N=extent)
    np.testing.assert_array_equal(joined, np.stack([x, y], axis=-1))
    np.testing.assert_array_equal(woven, np.stack([x, y], axis=-1).ravel())
    np.testing.assert_array_equal(back, 2 * x - 2 * y)


@pytest.mark.parametrize("extent", [2, 16, 100])
def test_flip(extent):
    @st.jit
    def kernel(x_ptr, out_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(out_ptr + i, tl.flip(tl.load(x_ptr + i), 0))

    x = random("int32", extent)
    out = np.empty_like(x)
    kernel[(1,)](x, out, N=extent)
    np.testing.assert_array_equal(out, x[::-1])


def test_cat_and_gather():
    @st.jit
    def kernel(x_ptr, y_ptr, i_ptr, out_ptr, picked_ptr):
        x = tl.load(x_ptr + tl.arange(0, 16))
        y = tl.load(y_ptr + tl.arange(0, 16))
        both = tl.cat(x, y, can_reorder=True)
        tl.store(out_ptr + tl.arange(0, 32), both)
        tl.store(picked_ptr + tl.arange(0, 9), tl.gather(both, tl.load(i_ptr + tl.arange(0, 9)), 0))

    x, y, i = (
        random("float32", 16, 1),
        random("float32", 16, 2),
        random("int32", 9, 3, low=0, high=31),
    )
    out, picked = np.empty(32, np.float32), np.empty(9, np.float32)
    kernel[(1,)](x, y, i, out, picked)
    np.testing.assert_array_equal(np.sort(out), np.sort(np.concatenate([x, y])))
    np.testing.assert_array_equal(picked, out[i])


@st.jit
def concatenate(x_ptr, y_ptr, out_ptr, x_shape: tl.constexpr, y_shape: tl.constexpr, axis: tl.constexpr, total: tl.constexpr):  # fmt: skip
    m: tl.constexpr = math.prod(x_shape)
    n: tl.constexpr = math.prod(y_shape)
    x = tl.load(x_ptr + tl.arange(0, m)).reshape(x_shape)
    y = tl.load(y_ptr + tl.arange(0, n)).reshape(y_shape)
    both = tl.cat(x, y, dim=axis)
    tl.store(out_ptr + tl.arange(0, total), tl.reshape(both, (total,)))
    back = tl.cat(y, x, can_reorder=True, dim=axis)
    tl.store(out_ptr + total + tl.arange(0, total), tl.reshape(back, (total,)))


@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
@pytest.mark.parametrize(
    "shape, axis, other",
    [((5,), 0, 5), ((1,), 0, 33), ((100,), 0, 3), ((16, 16), 0, 16), ((7, 33), 0, 2), ((7, 33), 1, 2),
     ((3, 64), -1, 1), ((1, 1), 1, 1), ((2, 5, 9), 0, 3), ((2, 5, 9), 1, 1), ((2, 5, 9), 2, 7),
     ((4, 8, 16), -2, 8), ((2, 3, 4, 5), 1, 2), ((2, 3, 4, 5), 3, 3)],
)  # fmt: skip
def test_cat_keeps_the_order_along_any_axis(shape, axis, other, dtype):
    y_shape = list(shape)
    y_shape[axis] = other
    x, y = random(dtype, shape, 1), random(dtype, tuple(y_shape), 2)
    expected = np.stack([np.concatenate(parts, axis).ravel() for parts in ([x, y], [y, x])])
    out = np.zeros_like(expected)
    concatenate[(1,)](x, y, out, shape, tuple(y_shape), axis, expected.shape[1])
    np.testing.assert_array_equal(out, expected)


def test_scalars_indexed_by_none():
    @st.jit
    def kernel(x_ptr, out_ptr):
        x = tl.load(x_ptr)
        tl.static_assert(x[None, :].shape == (1,) and x[None, None, :].shape == (1, 1))
        tl.static_assert(x[None].shape == (1,) and x[None, None, None].shape == (1, 1, 1))
        tl.store(out_ptr + index_2d(3, 4), x[None, None] + index_2d(3, 4))
        tl.store((out_ptr + 12)[None, None], x[None, None])

    x, out = random("float32", 1), np.empty(13, np.float32)
    kernel[(1,)](x, out)
    np.testing.assert_array_equal(out[:12], x[0] + np.arange(12, dtype=np.float32))
    assert out[12] == x[0]


def test_slices_bounded_by_none_are_whole():
    @st.jit
    def kernel(x_ptr, out_ptr, WHOLE: tl.constexpr):
        x = tl.load(x_ptr + tl.arange(0, 6))
        tl.static_assert(x[None, None:].shape == (1, 6) and x[:WHOLE, None].shape == (6, 1))
        tl.static_assert(x[None, ::None, None].shape == (1, 6, 1))
        tl.store(out_ptr + index_2d(6, 6), x[:None, None] * x[None, None:None:None])

    x, out = random("float32", 6), np.empty((6, 6), np.float32)
    kernel[(1,)](x, out, WHOLE=None)
    np.testing.assert_array_equal(out, np.outer(x, x))


@pytest.mark.parametrize("form", ["transposed", "reshaped", "flipped"])
def test_values_that_meet_their_own_rearrangement_again_and_again(form):
    """Code grows with the links of such a chain, not with their power of two."""

    @st.jit
    def kernel(x_ptr, out_ptr, form: tl.constexpr):
        i = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
        x = tl.load(x_ptr + i)
        for _ in tl.static_range(40):
            if form == "transposed":
                y = tl.trans(x + 1, 1, 0)
            elif form == "reshaped":
                y = tl.reshape(tl.trans(tl.reshape(x, [8, 32]), 1, 0), [16, 16])
            else:
                y = tl.maximum(tl.flip(x, 1), x) - tl.flip(x, 0)
            x = (x + y) & 1023
        tl.store(out_ptr + i, x)

    x = np.random.default_rng(0).integers(0, 100, (16, 16)).astype(np.int32)
    out = np.empty_like(x)
    kernel[(1,)](x, out, form=form)
    for _ in range(40):
        if form == "transposed":
            y = (x + 1).T
        elif form == "reshaped":
            y = x.reshape(8, 32).T.reshape(16, 16)
        else:
            y = np.maximum(x[:, ::-1], x) - x[::-1]
        x = (x + y) & 1023
    np.testing.assert_array_equal(out, x)
