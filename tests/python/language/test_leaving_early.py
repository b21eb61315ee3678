"""break, continue and return from loops, and conditions that stop where they are decided.

Most kernels here compute with scalars, one program for each case, and run as ordinary Python, too: `expect_as_python`
compares what they store.
"""

import types

import numpy as np
import pytest
from support import random

import sectile as st
import sectile.language as tl

CASES = 48


class Pointer:
    """An array as ordinary Python sees it: what is not in it is not touched."""

    def __init__(self, array, offset=0):
        self.array, self.offset = array, offset

    def __add__(self, offset):
        return Pointer(self.array, self.offset + int(offset))

    def __sub__(self, offset):
        return self + -offset

    def place(self):
        assert 0 <= self.offset < len(self.array)
        return self.offset


def plain_store(pointer, number):
    pointer.array[pointer.place()] = number


def plain_add(pointer, number):
    before = int(pointer.array[pointer.place()])
    pointer.array[pointer.place()] = before + number
    return before


def plain(jitted, program):
    """The function behind @st.jit, for one program, with those that it calls."""
    language = types.SimpleNamespace(
        program_id=lambda axis: program,
        num_programs=lambda axis: CASES,
        load=lambda pointer: int(pointer.array[pointer.place()]),
        store=plain_store,
        atomic_add=plain_add,
        range=lambda *bounds, **hints: range(*bounds),
        static_range=range,
        constexpr=None,
    )
    names = dict(jitted.fn.__globals__)
    for name in jitted.fn.__code__.co_names:
        if isinstance(names.get(name), st.JITFunction):
            names[name] = plain(names[name], program)
    return types.FunctionType(jitted.fn.__code__, names | {"tl": language})


def expect_as_python(kernel, *arguments, programs=CASES, **options):
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    kernel[(programs,)](*arguments, **options)
    for program in range(programs):
        plain(kernel, program)(*[Pointer(a) if isinstance(a, np.ndarray) else a for a in given])
    for got, expected in zip(arguments, given):
        if isinstance(got, np.ndarray):
            np.testing.assert_array_equal(got, expected)


def numbers(seed, low=0, high=9, count=CASES * 16):
    return random("int32", count, seed, low, high)


def empty(count=CASES):
    return np.full(count, -7, np.int32)


# -- break and continue


@st.jit
def first_of(x, out, last, n):
    row = x + tl.program_id(0) * 16
    wanted = tl.load(row)
    place = -1
    i = 99
    for i in range(1, n):
        if tl.load(row + i) == wanted:
            place = i
            break
    tl.store(out + tl.program_id(0), place)
    tl.store(last + tl.program_id(0), i)


@pytest.mark.parametrize("n", [0, 1, 2, 16])
def test_a_search_ends_at_what_it_finds(n):
    expect_as_python(first_of, numbers(1), empty(), empty(), n)


@st.jit
def sum_of_some(x, out, n):
    pid = tl.program_id(0)
    total = 0
    for i in range(n):
        number = tl.load(x + pid * 16 + i)
        if number % 3 == 0:
            continue
        if number == 8:
            if total > 20:
                break
            total += 100
            continue
        total += number
    tl.store(out + pid, total)


@pytest.mark.parametrize("n", [0, 1, 16])
def test_turns_that_end_early(n):
    expect_as_python(sum_of_some, numbers(2), empty(), n)


@st.jit
def nested(x, out, turns, n):
    pid = tl.program_id(0)
    total = 0
    count = 0
    for i in range(n):
        for j in range(i, n):
            number = tl.load(x + pid * 16 + i * 4 + j)
            count += 1
            if number == 0:
                break
            if number < 3:
                continue
            k = 0
            while k < number:
                k += 2
                if k == 6:
                    break
                if total % 5 == 4:
                    total += 1
                    continue
                total += k
        else:
            total += 1000
        if total > 3000:
            break
    else:
        total = -total
    tl.store(out + pid, total)
    tl.store(turns + pid, count)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_loops_in_loops(n):
    expect_as_python(nested, numbers(3), empty(), empty(), n)


@st.jit
def collatz(out, longest):
    n = tl.program_id(0)
    steps = 0
    while True:
        if n <= 1:
            reached = n * 10 + 1
            break
        steps += 1
        if steps == longest:
            reached = -n
            break
        if n % 2 == 0:
            n = n // 2
            continue
        n = 3 * n + 1
    tl.store(out + tl.program_id(0), reached * 1000 + steps)


def test_a_loop_without_a_condition():
    expect_as_python(collatz, empty(), 17)


@st.jit
def down(x, out, n):
    pid = tl.program_id(0)
    i = n
    while i > 0 and tl.load(x + pid * 16 + i - 1) != 5:
        i -= 1
        if tl.load(x + pid * 16 + i) == 3:
            i = i * 100
            break
    else:
        i += 1000
    tl.store(out + pid, i)


@pytest.mark.parametrize("n", [0, 1, 16])
def test_a_condition_is_not_asked_again_behind_a_break(n):
    # After the break, i - 1 is no place of the array.
    expect_as_python(down, numbers(4), empty(), n)


@st.jit
def unrolled(x, out):
    pid = tl.program_id(0)
    total = 0
    for i in tl.static_range(5):
        number = tl.load(x + pid * 16 + i)
        if number == 0:
            continue
        if number == 1:
            break
        total = total * 10 + number
        for bonus in (1, 2):
            if number == bonus + 5:
                break
            total += bonus
        else:
            total += 7
    else:
        total += 500000
    tl.store(out + pid, total * 10 + i)


def test_unrolled_loops():
    expect_as_python(unrolled, numbers(5), empty())


@st.jit
def long_unrolled(x, out):
    total = 0
    for i in tl.static_range(400):
        if tl.load(x + i) == tl.program_id(0):
            break
        total += 1
    tl.store(out + tl.program_id(0), total)


def test_an_unrolled_loop_of_many_turns():
    expect_as_python(long_unrolled, numbers(6, 0, 400, 400), empty(6), programs=6)


@st.jit
def constants(x, out, EARLY: tl.constexpr, LATE: tl.constexpr):
    pid = tl.program_id(0)
    total = 0
    for i in range(6):
        total += tl.load(x + pid * 16 + i)
        if EARLY:
            break
        total += 1
        if LATE:
            continue
        total += 50
    while True:
        total += 1
        if total < 40:
            total += 100
            break
        break
    for j in range(total):
        total += j
        break
    tl.store(out + pid, total)


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("late", [False, True])
def test_constant_conditions(early, late):
    expect_as_python(constants, numbers(7), empty(), early, late)


# -- return


@st.jit
def find(row, wanted, n):
    if n == 0:
        return -1, 0
    for i in range(n):
        for j in tl.static_range(2):
            number = tl.load(row + 2 * i + j)
            if number == wanted:
                return 2 * i + j, i
        if number == 0:
            break
    else:
        return -2, 1
    return -3, number


@st.jit
def places(x, out, second, n):
    pid = tl.program_id(0)
    place, other = find(x + pid * 16, 4, n)
    tl.store(out + pid, place)
    tl.store(second + pid, other)


@pytest.mark.parametrize("n", [0, 1, 8])
def test_functions_return_tuples_from_loops(n):
    expect_as_python(places, numbers(8), empty(), empty(), n)


@st.jit
def kernel_that_returns(x, out, n):
    pid = tl.program_id(0)
    tl.store(out + pid * 2, 1)
    for i in range(n):
        j = 0
        number = 5
        while j < 4:
            number = tl.load(x + pid * 16 + i * 4 + j)
            if number == 2:
                return
            j += 1
            tl.store(out + pid * 2, number + i)
        if j + number > 10:
            break
    else:
        if tl.load(x + pid * 16) > 4:
            return
        tl.store(out + pid * 2, 50)
    tl.store(out + pid * 2 + 1, 2)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_kernels_end_in_loops(n):
    expect_as_python(kernel_that_returns, numbers(9), empty(2 * CASES), n)


@st.jit
def sign(number):
    if number > 5:
        if number > 7:
            return 2
    elif number == 0:
        return 0
    else:
        if number < 3:
            return -1
        number += 10
    return number


@st.jit
def signs(x, out):
    pid = tl.program_id(0)
    tl.store(out + pid, sign(tl.load(x + pid)))


def test_returns_in_branches():
    expect_as_python(signs, numbers(10), empty())


# -- conditions


@st.jit
def noted(notes, number):
    tl.atomic_add(notes, 1)
    return number > 3


@st.jit
def conditions(x, out, notes, n):
    pid = tl.program_id(0)
    note = notes + pid
    i = tl.load(x + pid)
    j = tl.load(x + pid + tl.num_programs(0))
    result = 0
    if i < n and tl.load(x + i) > 3:
        result += 1
    if i >= n or tl.load(x + i) < 2:
        result += 2
    if i > j and noted(note, j) or noted(note, i) and i != 5 and noted(note, i + j):
        result += 4
    if not (i == 3 or noted(note, i)):
        result += 8
    if 0 < j < tl.atomic_add(note, 3) <= tl.atomic_add(note, 1) + 2:
        result += 16
    if j != 0 and 7 // j == 2:
        result += 32
    result += 64 if i > 4 and noted(note, j) else 128
    if i > 6 and (j := j + 1) > 4:
        result += 256
    tl.store(out + pid, result * 10 + j)


@pytest.mark.parametrize("n", [0, 5])
def test_conditions_stop_where_they_are_decided(n):
    x = numbers(11)
    x[: CASES // 4] = 10**6 + x[: CASES // 4]  # no place of the array
    x[CASES // 4 : CASES] %= 9
    expect_as_python(conditions, x, empty(), np.zeros(CASES, np.int32), n)


@st.jit
def asserts(x, out):
    i = tl.load(x)
    if i > 0 and checked(i):
        tl.store(out, 1)


@st.jit
def checked(i):
    tl.device_assert(i > 0)
    return i > 2


@pytest.mark.parametrize("number, stored", [(-1, -7), (1, -7), (3, 1)])
def test_an_assertion_on_the_right_holds_where_it_is_reached(number, stored):
    out = empty(1)
    asserts[(1,)](np.array([number], np.int32), out, debug=True)
    assert out[0] == stored


# -- ranges


TYPES = ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"]


@pytest.mark.parametrize("name", TYPES)
def test_ranges_end_early_at_the_ends_of_their_types(name):
    info = np.iinfo(name)
    low, high = info.min, info.max
    ranges = [
        (high - 5, high, 1), (high - 5, high, 4), (low, low + 3, 2), (high - 1, high, high),
        (low, high, high // 3 + 1), (3, 3, 1), (5, 3, 1), (low, high, high),
    ]  # fmt: skip
    if low < 0:
        ranges += [
            (low + 5, low, -1),
            (low + 5, low, -4),
            (high, low, low),
            (high, low, -(high // 3) - 1),
        ]
        ranges += [(3, 5, -1), (high, high - 3, -2)]
    for bounds in ranges:
        expected = list(range(*bounds))[:9]
        for wanted in {expected[len(expected) // 2] if expected else 1, low + 1}:
            numbers = expected[: expected.index(wanted) + 1] if wanted in expected else expected
            out, count = np.zeros(16, name), np.zeros(1, np.int32)
            given = np.array([wanted], name)
            walk_to[(1,)](out, count, np.array(bounds, name), 9, given)
            assert count[0] == len(numbers), (bounds, wanted)
            assert out[: count[0]].tolist() == numbers, (bounds, wanted)


@st.jit
def walk_to(out, count, bounds, limit, wanted_ptr):
    wanted = tl.load(wanted_ptr)
    turns = 0
    for i in range(tl.load(bounds), tl.load(bounds + 1), tl.load(bounds + 2)):
        tl.store(out + turns, i)
        turns += 1
        if i == wanted:
            break
        if turns == limit:
            break
    tl.store(count, turns)


@st.jit
def constant_steps(out, start, STEP: tl.constexpr, wanted):
    turns = 0
    total = 0
    i = -5
    for i in range(start, start + 10 * STEP, STEP):
        turns += 1
        if i == wanted:
            break
        total += i
    tl.store(out + tl.program_id(0), turns * 10000 + total)
    tl.store(out + tl.program_id(0) + 1, i)


@pytest.mark.parametrize("step", [1, 3, -1, -2])
@pytest.mark.parametrize("wanted", [7, 8, 10, 99])
def test_constant_steps(step, wanted):
    expect_as_python(constant_steps, empty(2), 10, step, wanted, programs=1)


# -- tiles


@st.jit
def rows_until(x, n, limit, N: tl.constexpr):
    """The sum of rows before it exceeds the limit somewhere, and the number of rows."""
    i = tl.arange(0, N)
    total = tl.zeros((N,), tl.float32)
    for k in range(n):
        row = tl.load(x + k * N + i)
        if tl.min(row, 0) < 0:
            continue
        grown = total + row
        if tl.max(grown, 0) > limit:
            return total, k
        total = grown
    return total, n


@st.jit
def sum_rows(x, out, count, n, limit, N: tl.constexpr):
    total, rows = rows_until(x, n, limit, N)
    tl.store(out + tl.arange(0, N), total)
    tl.store(count, rows)


@pytest.mark.parametrize("limit", [0.5, 3.0, 100.0])
@pytest.mark.parametrize("columns", [1, 33, 128])
def test_tiles_of_loops_that_end_early(limit, columns):
    x = random("float32", (9, columns), 12, 0.0, 1.0)
    x[3, columns // 2] = -1
    out, count = np.empty(columns, np.float32), np.zeros(1, np.int32)
    sum_rows[(1,)](x, out, count, 9, limit, N=columns)
    total, rows = np.zeros(columns, np.float32), 9
    for k in range(9):
        if x[k].min() < 0:
            continue
        if (total + x[k]).max() > limit:
            rows = k
            break
        total = total + x[k]
    assert count[0] == rows
    np.testing.assert_array_equal(out, total)


@st.jit
def products_until(a, b, c, turns, n, limit, N: tl.constexpr):
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    acc = tl.zeros((N, N), tl.float32)
    k = 0
    for k in tl.range(0, n, num_stages=3):
        if k == 2:
            continue
        acc = tl.dot(tl.load(a + k * N * N + i), tl.load(b + k * N * N + i), acc)
        if tl.max(tl.max(acc, 0), 0) > limit:
            break
    tl.store(c + i, acc)
    tl.store(turns, k)


@pytest.mark.parametrize("limit", [5, 60, 10000])
def test_products_until_they_are_large(limit):
    a, b = random("int32", (6, 16, 16), 13, -3, 3), random("int32", (6, 16, 16), 14, -3, 3)
    a, b = a.astype(np.float16), b.astype(np.float16)
    c, turns = np.empty((16, 16), np.float32), np.zeros(1, np.int32)
    products_until[(1,)](a, b, c, turns, 6, limit, N=16)
    total = np.zeros((16, 16))
    for k in range(6):
        if k == 2:
            continue
        total += a[k].astype(np.float64) @ b[k]
        if total.max() > limit:
            break
    assert turns[0] == k
    np.testing.assert_array_equal(c, total)


@st.jit
def until_stable(x, out, turns, N: tl.constexpr):
    """Each element becomes the least of its neighbours, until nothing changes."""
    i = tl.arange(0, N)
    now = tl.load(x + i)
    count = 0
    while True:
        following = tl.minimum(now, tl.gather(now, (i + 1) % N, 0))
        count += 1
        if tl.sum(tl.cast(following != now, tl.int32), 0) == 0:
            stable = following + count
            break
        now = following
    tl.store(out + i, stable)
    tl.store(turns, count)


@pytest.mark.parametrize("length", [1, 16, 45])
def test_iterating_until_nothing_changes(length):
    x = random("int32", length, 15, -50, 50)
    out, turns = np.empty_like(x), np.zeros(1, np.int32)
    until_stable[(1,)](x, out, turns, N=length)
    now, count = x, 0
    while True:
        following, count = np.minimum(now, np.roll(now, -1)), count + 1
        if (following == now).all():
            break
        now = following
    assert turns[0] == count
    np.testing.assert_array_equal(out, now + count)


# -- hints


@st.jit
def wishes(x, out, n):
    i = tl.arange(0, 64)
    total = tl.zeros((64,), tl.float32)
    for k in tl.range(0, n, num_stages=3, loop_unroll_factor=2):
        row = tl.load(x + k * 64 + i)
        if tl.max(row, 0) > 2:
            break
        total += row
    tl.store(out + i, total)


@pytest.mark.host
def test_hints_of_a_loop_that_ends_early_are_answered():
    compiled = wishes.warmup(tl.float32, tl.float32, 100, grid=(1,), target="cuda:90")
    said = [remark.text for remark in st.inspect(compiled).remarks if remark.kind == "hint"]
    why = "the turns of a while loop, and of one that may end early, are not known ahead"
    assert f"num_stages=3: {why}" in said
    assert f"loop_unroll_factor=2: {why}" in said
