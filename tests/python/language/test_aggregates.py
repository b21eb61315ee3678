"""Classes of the user as values of kernels."""

import numpy as np
import pytest

import sectile as st
import sectile.language as tl

aggregate = tl.aggregate


@aggregate
class Pair:
    first: tl.tensor
    second: tl.tensor

    def __init__(self, first, second):
        self.first = first
        self.second = second

    @st.jit
    def swapped(self):
        return Pair(self.second, self.first)

    @st.jit
    def dot(self, scale=1.0):
        return tl.sum(self.first * self.second, 0) * scale


@aggregate
class Running:
    """Mean and deviations of columns, as Welford computes them."""

    BLOCK: tl.constexpr  # first, so that fields are reordered
    mean: tl.tensor
    square: tl.tensor
    count: tl.tensor

    def __init__(self, mean, square, count, BLOCK: tl.constexpr):
        self.BLOCK = BLOCK
        self.mean = mean
        self.square = square
        self.count = count

    @st.jit
    def empty(BLOCK: tl.constexpr):
        return Running(tl.zeros((BLOCK,), tl.float32), tl.zeros((BLOCK,), tl.float32), 0, BLOCK)

    @st.jit
    def add(self, x):
        count = self.count + 1
        delta = x - self.mean
        mean = self.mean + delta / count
        return Running(mean, self.square + delta * (x - mean), count, self.BLOCK)

    @st.jit
    def columns(self):
        return tl.arange(0, self.BLOCK)


@st.jit
def swap_twice(pair):
    return pair.swapped().swapped()


@st.jit
def pairs(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    pair = Pair(tl.load(x + i), tl.load(y + i))
    tl.store(out, pair.dot())
    tl.store(out + 1, pair.dot(scale=2.0))
    tl.store(out + 2, tl.sum(swap_twice(pair).first, 0))
    tl.store(out + 3, tl.sum(pair.swapped().first, 0))
    tl.static_assert(isinstance(pair, Pair) and not isinstance(pair, tuple))
    tl.static_assert(not isinstance(i, Pair) and not isinstance(pair, Running))


def test_methods_calls_and_returns():
    x, y = np.random.default_rng(0).standard_normal((2, 33)).astype(np.float32)
    out = np.zeros(4, np.float32)
    pairs[(1,)](x, y, out, N=33)
    np.testing.assert_allclose(out, [x @ y, 2 * (x @ y), x.sum(), y.sum()], rtol=1e-4, atol=1e-5)


@st.jit
def deviations(x, out, rows, N: tl.constexpr):
    state = Running.empty(N)
    for row in range(rows):
        state = state.add(tl.load(x + row * N + state.columns()))
    i = state.columns()
    tl.static_assert(state.BLOCK == N)
    tl.store(out + i, state.mean)
    tl.store(out + N + i, tl.sqrt(state.square / state.count))


def test_loops_carry_instances():
    x = np.random.default_rng(1).standard_normal((50, 24)).astype(np.float32)
    out = np.zeros((2, 24), np.float32)
    deviations[(1,)](x, out, 50, N=24)
    np.testing.assert_allclose(out, [x.mean(0), x.std(0)], rtol=1e-4, atol=1e-5)


@st.jit
def branching(x, out, n):
    pair = Pair(tl.load(x), 2.0)
    if n > 3:
        pair = Pair(pair.second, n.to(tl.float32))
    while pair.first < 100.0:
        pair = Pair(pair.first * 2, pair.second + 1)
    tl.store(out, pair.first)
    tl.store(out + 1, pair.second)


def test_branches_and_while():
    for n, first, count in ((1, 3.0, 2.0), (5, 2.0, 5.0)):
        while first < 100:
            first, count = first * 2, count + 1
        out = np.zeros(2, np.float32)
        branching[(1,)](np.array([3.0], np.float32), out, n)
        assert out.tolist() == [first, count]


@aggregate
class Clamped:
    value: tl.tensor
    steps: tl.tensor

    def __init__(self, value, limit, times: tl.constexpr):
        self.value = value
        self.steps = 0
        if value > limit:
            self.value = limit
            self.steps += 1
        for _ in range(3):
            self.steps += times
        self.steps = self.steps + 1


@st.jit
def clamping(x, out, limit):
    clamped = Clamped(tl.load(x), limit, 2)
    tl.store(out, clamped.value)
    tl.store(out + 1, clamped.steps.to(tl.float32))


def test_init_may_branch_and_loop():
    for x, expected in ((1.0, [1, 7]), (9.0, [5, 8])):
        out = np.zeros(2, np.float32)
        clamping[(1,)](np.array([x], np.float32), out, 5.0)
        assert out.tolist() == expected


@aggregate
class Nested:
    pair: Pair
    both: tl.tuple
    size: tl.constexpr


@st.jit
def nesting(x, out, count, N: tl.constexpr):
    i = tl.arange(0, N)
    nested = Nested(Pair(tl.load(x + i), 1.0), (0, tl.zeros((N,), tl.float32)), N)
    for k in range(count):
        pair = Pair(nested.pair.first + 1, nested.pair.second * 2)
        nested = Nested(pair, (nested.both[0] + k, nested.both[1] + pair.second), nested.size)
    tl.store(out + i, nested.pair.first + nested.both[1] + nested.both[0])


def test_aggregates_in_aggregates():
    x = np.arange(8, dtype=np.float32)
    out = np.zeros(8, np.float32)
    nesting[(1,)](x, out, 4, N=8)
    np.testing.assert_array_equal(out, x + 4 + (2 + 4 + 8 + 16) + (0 + 1 + 2 + 3))


@aggregate
class Plain:
    x: tl.tensor
    N: tl.constexpr

    @st.jit
    def indices(self):
        return tl.arange(0, self.N)


@st.jit
def from_host(plain, out):
    tl.store(out + plain.indices(), tl.load(plain.x + plain.indices()) * 2)


def test_instances_without_init_are_arguments():
    x, out = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    from_host[(1,)](Plain(x, N=5), out)
    np.testing.assert_array_equal(out, 2 * x)
    assert repr(Plain(1, 2)) == "Plain(x=1, N=2)" and Plain(1, 2).N == 2


def refused(kernel, *arguments):
    with pytest.raises(st.CompilationError) as raised:
        kernel[(1,)](*arguments)
    return str(raised.value)


@aggregate
class Incomplete:
    x: tl.tensor
    y: tl.tensor

    def __init__(self, x):
        self.x = x


@aggregate
class Misspelt:
    total: tl.tensor

    def __init__(self, x):
        self.totl = x


@aggregate
class Constant:
    n: tl.constexpr

    def __init__(self, n):
        self.n = n


@aggregate
class Reading:
    x: tl.tensor

    def __init__(self, x):
        self.x = self.x + x


@st.jit
def incomplete(out):
    Incomplete(1)


@st.jit
def misspelt(out):
    Misspelt(1)


@st.jit
def not_constant(out):
    Constant(tl.load(out))


@st.jit
def reading(out):
    Reading(1)


@st.jit
def assigning(out):
    pair = Pair(1, 2)
    pair.first = 3


@st.jit
def unknown_method(out):
    Pair(1, 2).reversed()


@st.jit
def two_classes(out, n):
    state = Constant(4)
    for _ in range(n):
        state = Constant(8)
    tl.store(out, state.n)


@pytest.mark.host
def test_refusals():
    out = np.zeros(1, np.float32)
    for kernel, texts in (
        (incomplete, ["the __init__ of 'Incomplete' gives no field 'y'", "assign self.y on every path"]),
        (misspelt, ["'Misspelt' has no field 'totl'", "did you mean 'total'?"]),
        (not_constant, ["'Constant.n' is annotated tl.constexpr: its value"]),
        (reading, ["'self.x' is used before it is assigned"]),
        (assigning, ["assignment to an attribute is not supported in a kernel", "make a new one"]),
        (unknown_method, ["Pair has no method 'reversed'"]),
    ):  # fmt: skip
        text = refused(kernel, out)
        assert all(part in text for part in texts), text
    assert "state" in refused(two_classes, out, 3)


@pytest.mark.host
def test_wrong_classes():
    with pytest.raises(TypeError, match="has no fields"):
        aggregate(type("Empty", (), {}))
    with pytest.raises(TypeError, match="constexpr fields before others"):

        @aggregate
        class Unordered:
            N: tl.constexpr
            x: tl.tensor

    with pytest.raises(TypeError, match="inherits from Pair"):

        @aggregate
        class Triple(Pair):
            third: tl.tensor

    with pytest.raises(RuntimeError, match="runs in kernels only"):
        Pair(1, 2)
    assert tl.core._aggregate is aggregate


@aggregate
class Changing:
    x: tl.tensor

    def __init__(self, x):
        self.x = x

    @st.jit
    def result(self):
        return self.x + 1


@st.jit
def other_result(self):
    return self.x + 10


def other_init(self, x):
    self.x = x * 100


@st.jit
def changing(out):
    tl.store(out, Changing(tl.load(out)).result())


def test_a_class_that_changes_is_compiled_again():
    out = np.zeros(1, np.float32)

    def run():
        out[0] = 2
        changing[(1,)](out)
        return out[0]

    before = Changing.result, Changing.__sectile_aggregate__
    try:
        assert run() == 3
        Changing.result = other_result
        assert run() == 12
        Changing.__init__ = other_init
        assert run() == 210
    finally:
        Changing.result, Changing.__init__ = before
    assert run() == 3


@tl.aggregate
class Interval:
    low: tl.tensor
    high: tl.tensor

    def __init__(self, low, high):
        self.low = low
        self.high = high

    @st.jit
    def __add__(self, other):
        return Interval(self.low + other.low, self.high + other.high)

    @st.jit
    def __rmul__(self, factor):
        return Interval(self.low * factor, self.high * factor)

    @st.jit
    def __neg__(self):
        return Interval(-self.high, -self.low)

    @st.jit
    def __lt__(self, other):
        return self.high < other.low

    @st.jit
    def __getitem__(self, i):
        return self.low + i * 100


def test_operators_are_the_class_own():
    @st.jit
    def kernel(x, out):
        a = Interval(tl.load(x), tl.load(x + 1))
        b = Interval(tl.load(x + 2), tl.load(x + 3))
        both = a + b
        both += a
        tl.store(out, both.low)
        tl.store(out + 1, both.high)
        scaled = -(3 * a)
        tl.store(out + 2, scaled.low)
        tl.store(out + 3, scaled.high)
        tl.store(out + 4, a < b)
        tl.store(out + 5, a > b)
        tl.store(out + 6, b[2])

    x = np.array([1, 2, 10, 20], np.int32)
    out = np.zeros(7, np.int32)
    kernel[(1,)](x, out)
    assert out.tolist() == [12, 24, -6, -3, 1, 0, 210]


@pytest.mark.host
def test_operators_that_a_class_lacks_are_refused():
    """Its fields are no tuple: + does not join them, and [0] is not the first."""

    def message(kernel):
        with pytest.raises(st.CompilationError) as raised:
            kernel[(1,)](np.ones(4, np.int32))
        return str(raised.value)

    @st.jit
    def minus(x):
        a = Interval(tl.load(x), tl.load(x + 1))
        tl.store(x, (a - a).low)

    @st.jit
    def item(x):
        a = Pair(tl.load(x), tl.load(x + 1))
        tl.store(x, a[0])

    text = message(minus)
    assert "'Interval' has no operator '-'" in text and "@jit method __sub__" in text
    text = message(item)
    assert "'Pair' has no items" in text and "name the field" in text
