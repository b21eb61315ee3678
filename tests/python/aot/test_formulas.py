"""Expressions as formulas of archives: each gives what Python gives."""

import random

import pytest

import sectile as st
import sectile.language as tl
from sectile import _native
from sectile.aot.formulas import FormulaError, formula, formulas

NAMES = ["a", "b", "c"]
SCOPE = {"cdiv": st.cdiv, "next_power_of_2": st.next_power_of_2, "st": st, "LIMIT": 12}


def evaluate(expression, values, names=SCOPE):
    return _native.evaluate_formula(formula(expression, NAMES, "here", names), values)


def random_number(depth):
    if depth == 0:
        return random.choice([*NAMES, str(random.randrange(-20, 20)), "LIMIT"])
    kind = random.randrange(8)
    a, b = random_number(depth - 1), random_number(depth - 1)
    if kind < 4:
        return f"({a} {random.choice(['+', '-', '*', '//', '%'])} {b})"
    if kind == 4:
        return f"{random.choice(['min', 'max'])}({a}, {b}, {random_number(depth - 1)})"
    if kind == 5:
        return f"({a} if {random_truth(depth - 1)} else {b})"
    if kind == 6:
        return f"st.cdiv({a}, {b})"
    return f"(-{a})"


def random_truth(depth):
    a, b = random_number(depth), random_number(depth)
    comparison = f"{a} {random.choice(['<', '<=', '>', '>=', '==', '!='])} {b}"
    if depth == 0:
        return comparison
    kind = random.randrange(4)
    if kind == 0:
        return f"(not {random_truth(depth - 1)})"
    if kind == 1:
        return f"({random_truth(depth - 1)} {random.choice(['and', 'or'])} {comparison})"
    if kind == 2:
        return f"({comparison} < {random_number(depth)})"
    return f"({comparison})"


def test_random_expressions_give_what_python_gives():
    random.seed(3)
    undefined = 0
    for _ in range(3000):
        text = random_number(random.randrange(1, 5))
        values = [random.randrange(-40, 40) for _ in NAMES]
        try:
            expected = eval(text, {**SCOPE}, dict(zip(NAMES, values)))
        except ZeroDivisionError:
            expected = None
        except ValueError:
            continue
        if expected is not None and not -(2**63) <= expected < 2**63:
            continue
        found = evaluate(text, values)
        # `a and b` may divide by zero in b, which Python does not look at when a decides.
        assert found == (None if expected is None else int(expected)), text
        undefined += expected is None
    assert undefined > 50


@pytest.mark.parametrize("number", [*range(-3, 70), 1023, 1024, 1025, 2**40 + 1])
def test_next_power_of_2(number):
    expected = None if number < 0 else st.next_power_of_2(number)
    assert evaluate("next_power_of_2(a)", [number, 0, 0]) == expected


def test_what_does_not_fit_has_no_value():
    assert evaluate("min(a * a, 4)", [2**32, 0, 0]) is None
    assert evaluate("1 << a", [63, 0, 0]) is None
    assert evaluate("1 if a < 5 else a * a", [2, 0, 0]) == 1


def cdiv(a, b):
    return a // b  # of this module, and no rounding up


def test_names_mean_what_they_mean_to_python():
    n = 5
    names = ["n", "x"]
    assert formula(lambda x: n + x, names, "here", {}) != formula("n + x", names, "here", {})
    assert _native.evaluate_formula(formula(lambda x: n + x, names, "here", {}), [100, 2]) == 7
    with pytest.raises(FormulaError, match="no formula can be made of this call"):
        formula(lambda x: cdiv(x, 2), names, "here", {})
    # A text has no imports of its own.
    for text, value in (("cdiv(x, 2)", 4), ("next_power_of_2(x)", 8)):
        assert _native.evaluate_formula(formula(text, names, "here", {}), [0, 7]) == value
    with pytest.raises(FormulaError, match="no formula can be made of this call"):
        formula("cdiv(x, 2)", names, "here", {"cdiv": cdiv})

    def outer(x):
        return (lambda x: x + 1)(x) * 2

    with pytest.raises(FormulaError, match="outer is a function, of which no formula can be made"):
        formula(outer, names, "here", {})
    limit = tl.constexpr(7)
    assert _native.evaluate_formula(formula(lambda x: x + limit, names, "here", {}), [0, 1]) == 8
    with pytest.raises(FormulaError, match="has no attribute 'nope'"):
        formula("st.nope(x)", names, "here", {"st": st})
    with pytest.raises(FormulaError, match="too deep"):
        formula("-" * 5000 + "x", names, "here", {})


def test_lambdas_are_read_from_their_source():
    limit = 5
    assert evaluate(lambda a: a + limit, [1, 0, 0]) == 6
    assert evaluate(lambda b, a: 2 if b <= limit else a, [9, 6, 0]) == 9
    pair = {"x": lambda a: a + 1, "y": lambda a: a + 2}
    assert evaluate(pair["x"], [1, 0, 0]) == 2
    assert evaluate(pair["y"], [1, 0, 0]) == 3
    assert len(formulas(lambda a, b: (a, b * 2), NAMES, "here", {})) == 2
    long = {
        "several lines": lambda a, b: (
            a * b  # of which this is the middle
        )
    }
    assert evaluate(long["several lines"], [3, 4, 0]) == 12


@pytest.mark.parametrize(
    "expression, problem",
    [
        ("a +", "invalid syntax"),
        ("a / b", "no formula can be made of this: a / b"),
        ("a ** 2", "no formula can be made of this"),
        ("f(a)", "unknown name: f"),
        ("len(a)", "no formula can be made of this call"),
        ("min()", "min of nothing"),
        ("a in b", "no formula can be made of this comparison"),
        ("'text'", "'text' is no integer"),
        (str(2**63), "an integer beyond 64 bits"),
        ("(a, b)", "expected one number, got a tuple of 2"),
        (1.5, "expected a lambda, a text or an int"),
        ("a or b", "`and` and `or` connect comparisons, not numbers"),
    ],
)
def test_what_no_formula_can_be_made_of(expression, problem):
    with pytest.raises(FormulaError) as caught:
        formula(expression, NAMES, "here", SCOPE)
    assert str(caught.value).startswith("here: ") and problem in str(caught.value)
