"""Loops and branches that carry scalars and tiles."""

import numpy as np
import pytest
from support import random

import sectile as st
import sectile.language as tl


@pytest.mark.parametrize("count", [0, 1, 7])
def test_for_loop_carries_tiles_and_scalars(count):
    @st.jit
    def kernel(x_ptr, out_ptr, n_ptr, count, N: tl.constexpr):
        i = tl.arange(0, N)
        total = tl.zeros((N,), tl.float32)
        previous = tl.full((N,), 1.0, tl.float32)
        rounds = 0
        for k in range(count):
            x = tl.load(x_ptr + k * N + i)
            total, previous = total + previous, x  # both are needed before either is overwritten
            rounds += k
        tl.store(out_ptr + i, total * 2 + previous)
        tl.store(n_ptr, rounds)

    x, out, n = random("float32", (8, 45)), np.empty(45, np.float32), np.zeros(1, np.int32)
    kernel[(1,)](x, out, n, count, N=45)
    total, previous = np.zeros(45), np.ones(45)
    for k in range(count):
        total, previous = total + previous, x[k].astype(np.float64)
    np.testing.assert_allclose(out, total * 2 + previous, rtol=1e-5, atol=1e-5)
    assert n[0] == sum(range(count))


def test_swapping_tiles_in_a_loop():
    @st.jit
    def kernel(x_ptr, y_ptr, count, N: tl.constexpr):
        i = tl.arange(0, N)
        x = tl.load(x_ptr + i)
        y = tl.load(y_ptr + i)
        for _ in range(count):
            x, y = y, x + y
        tl.store(x_ptr + i, x)
        tl.store(y_ptr + i, y)

    x, y = random("int64", 33, 1, low=-5, high=5), random("int64", 33, 2, low=-5, high=5)
    a, b = x.copy(), y.copy()
    for _ in range(11):
        a, b = b, a + b
    kernel[(1,)](x, y, 11, N=33)
    np.testing.assert_array_equal(x, a)
    np.testing.assert_array_equal(y, b)


def test_a_tile_reversed_in_every_iteration():
    @st.jit
    def kernel(x_ptr, out_ptr, count, N: tl.constexpr):
        i = tl.arange(0, N)
        x = tl.load(x_ptr + i)
        for k in range(count):
            x = tl.flip(x, 0) + k
        tl.store(out_ptr + i, x)

    x = random("int32", 50, low=0, high=9)
    out = np.empty_like(x)
    kernel[(1,)](x, out, 5, N=50)
    expected = x
    for k in range(5):
        expected = expected[::-1] + k
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    "shape", [(16, 3, 1), (5, 3, 1, 1), (2, 5, 3, 1), (3, 1, 5, 1), (4, 19, 1), (7, 33), (21, 1)]
)
def test_each_element_of_a_carried_tile_is_updated_once(shape):
    @st.jit
    def kernel(x_ptr, sum_ptr, power_ptr, count, N: tl.constexpr, SHAPE: tl.constexpr):
        i = tl.reshape(tl.arange(0, N), SHAPE)
        x = tl.load(x_ptr + i)
        total = x
        power = x
        for k in range(count):
            total += x
            power = power * 3 + k
        tl.store(sum_ptr + i, total)
        tl.store(power_ptr + i, power)

    x = random("int32", shape, low=-99, high=99)
    total, power = np.empty_like(x), np.empty_like(x)
    kernel[(1,)](x, total, power, 5, N=x.size, SHAPE=shape)
    np.testing.assert_array_equal(total, 6 * x)
    np.testing.assert_array_equal(power, 243 * x + 58)  # 58: 0, 1, 5, 18, 58


@pytest.mark.parametrize("rows", [1, 7])
def test_a_carried_column_of_every_matrix(rows):
    @st.jit
    def kernel(x_ptr, out_ptr, count, R: tl.constexpr):
        i = tl.arange(0, R)[:, None, None] * 3 + tl.arange(0, 3)[None, :, None]
        x = tl.load(x_ptr + i, mask=tl.arange(0, 1)[None, None, :] < count, other=1)
        total = x
        for _ in range(count):
            total = total + x
        tl.store(out_ptr + i, total)

    x = random("float64", (rows, 3))
    out = np.empty_like(x)
    kernel[(1,)](x, out, 16, R=rows)
    np.testing.assert_allclose(out, 17 * x, rtol=1e-12)


def test_pointers_advance_in_a_loop():
    @st.jit
    def kernel(x_ptr, out_ptr, count, stride, N: tl.constexpr):
        p = x_ptr + tl.arange(0, N)
        total = tl.zeros((N,), tl.float32)
        for _ in range(count):
            total += tl.load(p)
            p += stride
        tl.store(out_ptr + tl.arange(0, N), total)

    x, out = random("float32", (9, 40)), np.empty(40, np.float32)
    kernel[(1,)](x, out, 9, 40, N=40)
    np.testing.assert_allclose(out, x.astype(np.float64).sum(axis=0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 27, 97])
def test_while_loop(n):
    @st.jit
    def kernel(out_ptr, n):
        steps = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        tl.store(out_ptr, steps)

    out = np.zeros(1, np.int32)
    kernel[(1,)](out, n)
    steps = 0
    while n != 1:
        n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
    assert out[0] == steps


@pytest.mark.parametrize("flag", [2, 3])
def test_branches_with_tiles(flag):
    @st.jit
    def kernel(x_ptr, out_ptr, flag, N: tl.constexpr):
        i = tl.arange(0, N)
        x = tl.load(x_ptr + i)
        scale = 1.0
        if flag == 2:
            x = x * 2
            scale = 4.0
        elif flag == 5:
            x = x - 1
        else:
            x = tl.exp(x)
        tl.store(out_ptr + i, x * scale)

    x = random("float32", 33)
    out = np.empty_like(x)
    kernel[(1,)](x, out, flag, N=33)
    np.testing.assert_allclose(
        out, x * 8.0 if flag == 2 else np.exp(x.astype(np.float64)), rtol=1e-5
    )


def test_early_return():
    @st.jit
    def kernel(x_ptr, n, N: tl.constexpr):
        program = tl.program_id(0)
        if program >= n:
            return
        i = tl.arange(0, N)
        tl.store(x_ptr + program * N + i, program + i)

    x = np.full((4, 10), -1, np.int32)
    kernel[(4,)](x, 2, N=10)
    np.testing.assert_array_equal(x, [np.arange(10), 1 + np.arange(10), [-1] * 10, [-1] * 10])


@st.jit
def poly(x, *coefficients):
    r = coefficients[0]
    for k in tl.static_range(1, len(coefficients)):
        r = r * x + coefficients[k]
    return r


@st.jit
def apply(f: tl.constexpr, x):
    return f(x, 1.0, 2.0, 3.0)


def test_functions_varargs_and_functions_as_arguments():
    @st.jit
    def kernel(x_ptr, out_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(out_ptr + i, apply(poly, tl.load(x_ptr + i)))

    x = random("float32", 20)
    out = np.empty_like(x)
    kernel[(1,)](x, out, N=20)
    np.testing.assert_allclose(
        out, np.polyval([1.0, 2.0, 3.0], x.astype(np.float64)), rtol=1e-5, atol=1e-6
    )


def test_nested_loops_and_grid_of_three_dimensions():
    @st.jit
    def kernel(out_ptr, inner):
        x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
        total = 0
        for a in range(x + 1):
            for b in range(0, inner, 2):
                total += a * b + z
        index = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
        tl.store(out_ptr + index, total * 100 + y)

    out = np.zeros((2, 3, 4), np.int32)
    kernel[(4, 3, 2)](out, 5)
    for z, y, x in np.ndindex(2, 3, 4):
        total = sum(a * b + z for a in range(x + 1) for b in range(0, 5, 2))
        assert out[z, y, x] == total * 100 + y


def test_negative_step():
    @st.jit
    def kernel(out_ptr, n):
        digits = 0
        for k in range(n, 0, -1):
            digits = digits * 10 + k
        tl.store(out_ptr, digits)

    out = np.zeros(1, np.int32)
    kernel[(1,)](out, 5)
    assert out[0] == 54321
