"""Combining functions with effects: each pair of elements is combined once."""

import numpy as np
import pytest
from support import random

import sectile as st
import sectile.language as tl


@st.jit
def counted_sum(x, counts, y, others):
    """Counts in memory how often it is called."""
    tl.atomic_add(counts, 1)
    return x + y, others


@st.jit
def reduce_counting(x, out, counts, R: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    kept = tl.arange(0, C if AXIS == 0 else R)
    counters = counts + (at % C if AXIS == 0 else at // C)
    total, _ = tl.reduce((tl.load(x + at), counters), AXIS, counted_sum)
    tl.store(out + kept, total)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(1, 8), (8, 1), (4, 8), (16, 32), (5, 7), (3, 12)], ids=str)
def test_a_reduction_combines_each_pair_once(device, shape, axis):
    x = random("int32", shape, low=-99, high=99)
    kept = shape[1 - axis]
    out, counts = np.zeros(kept, np.int32), np.zeros(kept, np.int32)
    reduce_counting[(1,)](x, out, counts, *shape, axis)
    np.testing.assert_array_equal(out, x.sum(axis))
    np.testing.assert_array_equal(counts, shape[axis] - 1)


@st.jit
def bracket(low, high, places, next_low, next_high, others):
    """Associative, not commutative: intervals side by side."""
    tl.device_assert(high == next_low, "not neighbours")
    tl.atomic_add(places + low % 4, 1)
    return low, next_high, places


@st.jit
def reduce_in_order(out, counts, N: tl.constexpr):
    i = tl.arange(0, N)
    low, high, _ = tl.reduce((i, i + 1, counts + i * 0), 0, bracket)
    tl.store(out, low)
    tl.store(out + 1, high)


@pytest.mark.parametrize("extent", [2, 9, 64, 100])
def test_the_order_of_elements_is_kept(device, extent):
    out, counts = np.zeros(2, np.int32), np.zeros(4, np.int32)
    reduce_in_order[(1,)](out, counts, extent, debug=True)
    np.testing.assert_array_equal(out, [0, extent])
    assert counts.sum() == extent - 1


@st.jit
def scan_in_order(out, counts, N: tl.constexpr, REVERSE: tl.constexpr):
    i = tl.arange(0, N)
    if REVERSE:
        i = N - 1 - i
    low, high, _ = tl.associative_scan((i, i + 1, counts + i * 0), 0, bracket, reverse=REVERSE)
    tl.store(out + tl.arange(0, N), low * 1000 + high)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("extent", [1, 2, 6, 9, 64, 100])
def test_a_scan_combines_neighbours_only(device, extent, reverse):
    out, counts = np.zeros(extent, np.int32), np.zeros(4, np.int32)
    scan_in_order[(1,)](out, counts, extent, reverse, debug=True)
    expected = np.arange(extent) + 1
    np.testing.assert_array_equal(out, expected[::-1] if reverse else expected)
    # Of two runs of 1, 2, 4 ... each element of the second is combined once; from the end, each of the
    # first that a second run follows.
    runs = [(i >> bit, bit) for i in range(extent) for bit in range(10)]
    if reverse:
        pairs = sum(1 for run, bit in runs if run % 2 == 0 and run + 1 << bit < extent)
    else:
        pairs = sum(1 for run, bit in runs if run % 2)
    assert counts.sum() == pairs


@st.jit
def checked_add(x, y):
    wide = x.to(tl.int64) + y.to(tl.int64)
    tl.device_assert((wide >= -(2**31)) & (wide < 2**31), "too large")
    return x + y


@st.jit
def checked_sum(x, out, sums, N: tl.constexpr):
    i = tl.arange(0, N)
    values = tl.load(x + i)
    tl.store(sums + i, tl.associative_scan(values, 0, checked_add))
    tl.store(out, tl.reduce(values, 0, checked_add))


@pytest.mark.parametrize("extent", [1, 100, 512])
def test_assertions(device, extent):
    x = random("int32", (extent,), low=-(2**20), high=2**20)
    out, sums = np.zeros(1, np.int32), np.zeros(extent, np.int32)
    checked_sum[(1,)](x, out, sums, extent, debug=True)
    assert out[0] == x.sum()
    np.testing.assert_array_equal(sums, np.cumsum(x))


def test_an_assertion_that_fails():
    x = np.full(4, 2**30, np.int32)
    with pytest.raises(st.DeviceAssertionError, match="too large"):
        checked_sum[(1,)](x, np.zeros(1, np.int32), np.zeros(4, np.int32), 4, debug=True)
    # Without debug nothing is asserted, and the sum wraps.
    out = np.ones(1, np.int32)
    checked_sum[(1,)](x, out, np.zeros(4, np.int32), 4)
    assert out[0] == 0


@st.jit
def loud_maximum(x, y):
    tl.device_print("pair", x, y)
    return tl.maximum(x, y)


@st.jit
def print_pairs(x, out, N: tl.constexpr):
    tl.store(out, tl.reduce(tl.load(x + tl.arange(0, N)), 0, loud_maximum))


@pytest.mark.host
def test_prints(capsys):
    out = np.zeros(1, np.int32)
    print_pairs[(1,)](np.array([1, 4, 2, 3], np.int32), out, 4)
    assert out[0] == 4
    assert capsys.readouterr().out.count("pair") == 4  # two lines for each of two tiles of pairs


@st.jit
def table_sum(x, table, y, other):
    return tl.load(table + x + y), table


@st.jit
def look_up(x, table, out, N: tl.constexpr):
    i = tl.arange(0, N)
    total, _ = tl.reduce((tl.load(x + i), table + i * 0), 0, table_sum)
    tl.store(out, total)


@pytest.mark.parametrize("extent", [2, 31, 128])
def test_a_table(device, extent):
    """What reads memory is a function with effects, too."""
    modulus = 7
    table = (np.arange(2 * modulus) % modulus).astype(np.int32)
    x, out = random("int32", (extent,), low=0, high=modulus), np.zeros(1, np.int32)
    look_up[(1,)](x, table, out, extent)
    assert out[0] == x.sum() % modulus


@st.jit
def branching(x, counts, marks, y, more_counts, more_marks):
    """Counts falls and rises, marks large numbers, asserts what holds in its branch alone."""
    if x > y:
        tl.atomic_add(counts + 1, 1)
        tl.device_assert(x > y, "no fall")
        if x - y > 3:
            tl.store(marks + y, x)
    else:
        tl.device_assert(x <= y, "no rise")
        tl.atomic_add(counts, y - x, mask=y != 2)
    return tl.maximum(x, y), counts, more_marks


@st.jit
def reduce_by_branches(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    sources = tl.load(x + i), out + i * 0, out + 2 + i * 0
    greatest, _, _ = tl.reduce(sources, 0, branching)
    tl.store(out + 1 + N, greatest)


@pytest.mark.parametrize("extent", [2, 7, 64])
def test_effects_in_branches_are_those_of_the_elements_that_take_them(device, extent):
    x = np.random.default_rng(2).permutation(extent).astype(np.int32)
    out, expected = np.zeros(extent + 2, np.int32), np.zeros(extent + 2, np.int32)
    reduce_by_branches[(1,)](x, out, extent, debug=True)

    def combine(left, right):
        if left > right:
            expected[1] += 1
            if left - right > 3:
                expected[2 + right] = left
        elif right != 2:
            expected[0] += right - left
        return max(left, right)

    level, last = list(x), None
    while len(level) > 1:
        if len(level) % 2:
            last = level[-1] if last is None else combine(level[-1], last)
        level = [combine(*level[i : i + 2]) for i in range(0, len(level) - 1, 2)]
    expected[1 + extent] = level[0] if last is None else combine(level[0], last)
    np.testing.assert_array_equal(out, expected)


@st.jit
def even_sum(x, table, y, other):
    """Reads memory where a condition of its own decides, and returns early."""
    if y > 2 and tl.load(table + y) > 0:
        return x + y, table
    return x, other


@st.jit
def scan_by_branches(x, table, out, N: tl.constexpr):
    i = tl.arange(0, N)
    sums, _ = tl.associative_scan((tl.load(x + i), table + i * 0), 0, even_sum)
    tl.store(out + i, sums)


def test_conditions_that_read_memory(device):
    """Negative numbers, which are not looked up, have no entry in the table."""
    x = np.array([1, 3, -3, 4, 1, 5, 3], np.int32)
    table, out = np.resize(np.array([0, 1], np.int32), 40), np.zeros(7, np.int32)
    scan_by_branches[(1,)](x, table, out, 7, check="bounds")

    def combine(left, right):
        return left + right if right > 2 and table[right] > 0 else left

    expected, run = x.copy(), 1
    while run < 7:
        for i in range(7):
            if i % (2 * run) >= run:
                expected[i] = combine(expected[i - i % run - 1], expected[i])
        run *= 2
    np.testing.assert_array_equal(out, expected)


@st.jit
def printing(x, y):
    if x > y:
        tl.device_print("larger", x)
    return x + y


@st.jit
def counting_turns(x, counts, y, others):
    for _ in range(x & 3):
        tl.atomic_add(counts, 1)
    return x + y, others


@pytest.mark.host
@pytest.mark.parametrize(
    "function, message",
    [
        (printing, "side effects in a branch that no mask leaves out"),
        (counting_turns, "side effects, and a loop"),
    ],
)
def test_effects_that_are_refused(function, message):
    @st.jit
    def kernel(x, out, N: tl.constexpr, F: tl.constexpr):
        i = tl.arange(0, N)
        if F is printing:
            tl.store(out, tl.reduce(tl.load(x + i), 0, F))
        else:
            total, _ = tl.reduce((tl.load(x + i), out + i), 0, F)
            tl.store(out, total)

    with pytest.raises(st.CompilationError, match=message):
        kernel[(1,)](np.zeros(4, np.int32), np.zeros(4, np.int32), N=4, F=function)


@st.jit
def greater_by_branch(a, b):
    if a < b:
        result = b
    else:
        result = a + 0.0
    return result


@st.jit
def sum_by_loop(a, b):
    for _ in range(4):
        a = a + b * 0.25
    return a


@st.jit
def sum_by_while(a, b):
    while b > 1.0:
        b = b - 1.0
        a = a + 1.0
    return a + b


@pytest.mark.parametrize("function", [greater_by_branch, sum_by_loop, sum_by_while])
@pytest.mark.parametrize("numerics", ["default", "reproducible"])
def test_functions_that_branch_and_loop(device, function, numerics):
    @st.jit
    def kernel(x, out, N: tl.constexpr, F: tl.constexpr):
        tl.store(out, tl.reduce(tl.load(x + tl.arange(0, N)), 0, F))
        tl.store(out + 1 + tl.arange(0, N), tl.associative_scan(tl.load(x + tl.arange(0, N)), 0, F))

    x = np.random.default_rng(3).integers(0, 5, 13).astype(np.float32)
    out = np.zeros(14, np.float32)
    kernel[(1,)](x, out, N=13, F=function, numerics=numerics)
    expected = np.maximum.accumulate(x) if function is greater_by_branch else np.cumsum(x)
    assert np.allclose(out, [expected[-1], *expected])
