"""Arithmetic on compile-time constants, with Python itself as the reference."""

import math
import operator
import random

import pytest
from frontend_support import front_end

BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "in": lambda a, b: a in b, "not in": lambda a, b: a not in b,
}  # fmt: skip
LIMIT = 2**127


def same(a, b):
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or (
            a == b and math.copysign(1, a) == math.copysign(1, b)
        )
    return type(a) is type(b) and a == b


def values(rng):
    kind = rng.randrange(8)
    if kind == 0:
        return rng.choice([True, False])
    if kind < 4:
        return rng.choice(
            [rng.randint(-9, 9), rng.randint(-(2**40), 2**40), rng.randint(-LIMIT, LIMIT - 1)]
        )
    if kind < 6:
        return rng.choice(
            [rng.uniform(-9, 9), float(rng.randint(-5, 5)), 0.0, -0.0, 1e300, 2.0**53]
        )
    if kind == 6:
        return rng.choice(["", "a", "ab", "b"])
    return rng.choice([(), (1,), (1, 2.5), ("a", (True,))])


def check(op, a, b):
    """Agrees with Python; None if both refuse."""
    if op in ("**", "<<") and isinstance(b, int) and abs(b) > 400:
        return None  # Python itself would take long
    if (
        op == "*"
        and any(isinstance(x, (str, tuple)) for x in (a, b))
        and any(isinstance(x, int) and abs(x) > 1000 for x in (a, b))
    ):
        return None
    if op == "%" and isinstance(a, str):
        return None  # text formatting is left to f-strings
    try:
        expected = BINARY[op](a, b)
    except Exception:
        with pytest.raises(ValueError):
            front_end.arithmetic(op, a, b)
        return False
    if isinstance(expected, complex) or (
        isinstance(expected, int) and not -LIMIT <= expected < LIMIT
    ):
        with pytest.raises(ValueError):
            front_end.arithmetic(op, a, b)
        return False
    found = front_end.arithmetic(op, a, b)
    if (
        op in ("/", "**")
        and isinstance(expected, float)
        and isinstance(a, int)
        and isinstance(b, int)
    ):
        # Python rounds the quotient of two long integers once, we twice.
        assert math.isclose(found, expected, rel_tol=1e-15), (op, a, b, found, expected)
    else:
        assert same(found, expected), (op, a, b, found, expected)
    return True


@pytest.mark.parametrize("op", BINARY)
def test_random_operands(op):
    rng = random.Random(f"constants {op}")
    agreed = [check(op, values(rng), values(rng)) for _ in range(3000)]
    assert sum(result is True for result in agreed) > 100


@pytest.mark.parametrize("op", ["//", "%"])
def test_division_rounds_down(op):
    for a in range(-7, 8):
        for b in [-3, -2, -1, 1, 2, 3]:
            check(op, a, b)
            check(op, float(a), b)
            check(op, a, float(b))


def test_unary():
    for value in [0, 1, -5, True, False, 2.5, -0.0, 2**100]:
        assert same(front_end.arithmetic("neg", value, None), -value)
        assert same(front_end.arithmetic("not", value, None), not value)
        if isinstance(value, int):
            assert same(front_end.arithmetic("invert", value, None), -1 - value)


def test_integers_of_128_bits():
    assert front_end.arithmetic("-", 2**126, 1) == 2**126 - 1
    assert front_end.arithmetic("+", -(2**127), 0) == -(2**127)
    with pytest.raises(ValueError, match="128 bits"):
        front_end.arithmetic("+", 2**127 - 1, 1)
