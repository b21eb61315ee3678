"""What operators make of Python's objects in a kernel is what they make of them in Python."""

import collections
import dataclasses
import enum
import fractions
import re
import types

import pytest
from frontend_support import diagnostics, evaluate
from test_evaluation import kernel_from


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Flags(enum.IntFlag):
    A = 1
    B = 2


@dataclasses.dataclass
class Config:
    block: int = 16


@dataclasses.dataclass(frozen=True)
class Fixed:
    block: int = 16


class Plain:
    pass


class Odd:
    """Answers what no other object would."""

    def __eq__(self, other):
        return "equal"

    def __lt__(self, other):
        return 0

    def __bool__(self):
        return False

    def __len__(self):
        return 7

    def __radd__(self, other):
        return other * 10

    def __str__(self):
        return "odd"

    def __format__(self, spec):
        return "formatted"


class Wrong:
    def __bool__(self):
        raise ValueError("neither true nor false")

    def __eq__(self, other):
        raise ValueError("not to be compared")


NAMES = {
    "Color": Color,
    "Level": Level,
    "Flags": Flags,
    "Config": Config,
    "Plain": Plain,
    "config": Config(16),
    "alike": Config(16),
    "other": Config(32),
    "fixed": Fixed(16),
    "fixed_alike": Fixed(16),
    "plain": Plain(),
    "odd": Odd(),
    "half": fractions.Fraction(1, 2),
    "letters": frozenset("abc"),
    "table": {"a": 1, 2: 3},
    "empty": collections.deque(),
    "queue": collections.deque([1, 2, 3]),
    "nothing": types.SimpleNamespace(),
    "something": types.SimpleNamespace(x=1),
}

EXPRESSIONS = """
Color.RED == 1
Color.RED == Color.RED
Color.RED != Color.BLUE
Color.RED in (Color.BLUE, 1)
Color.RED in (Color.BLUE, Color.RED)
Color.RED is Color.RED
bool(Color.RED)
str(Color.RED)
f"{Color.RED}-{Level.LOW}-{odd}-{(odd, 1)}"
repr(Color.RED)
isinstance(Color.RED, int)
Level.LOW == 1
Level.LOW != 1
1 == Level.LOW
Level.LOW < Level.HIGH
Level.LOW + 1
3 - Level.LOW
Level.HIGH << 3
-Level.HIGH
+Level.HIGH
Level.LOW in (1, 2)
2 not in (Level.LOW, Level.HIGH)
(Level.LOW, 1) == (1, Level.LOW)
(Level.LOW, 1) < (1, Level.HIGH)
isinstance(Level.LOW, int)
isinstance(Level.LOW, Level)
isinstance(Level.LOW, (str, tuple))
isinstance(3, Config)
isinstance(config, Config)
isinstance(config, (Plain, Config))
int(Level.HIGH)
abs(Level.HIGH)
max(Level.LOW, Level.HIGH) == 2
min(3, Level.HIGH) == 2
sum((Level.LOW, Level.HIGH))
any((odd, 0))
all((odd, 1))
Flags.A | Flags.B
(Flags.A | Flags.B) == 3
bool(Flags.A & Flags.B)
Flags.A in (Flags.A | Flags.B)
~Flags.A
config == alike
config != alike
config == other
config is alike
config in (1, alike)
config not in (other, alike)
fixed == fixed_alike
fixed != fixed_alike
fixed == 16
str(config)
f"<{fixed}>"
repr((fixed, 1))
plain == plain
plain != plain
plain == 1
repr(plain)
bool(plain)
not plain
not odd
bool(odd)
len(odd)
5 + odd
str(odd)
str((odd,)) == str((plain,))
1 if odd else 2
1 if not odd else 2
1 if plain else 2
odd == 3
3 in (odd,)
odd and 3
odd or 3
odd < 3 < 4
[x for x in (1, 2) if odd]
half == 0.5
half < 1
half + half == 1
half * 4 == 2
float(half)
int(half * 5)
0.4 < half < 1
2 ** half == half
"a" in letters
"x" not in letters
len(letters)
letters == letters
"a" in table
3 in table
len(table)
bool(empty)
not empty
len(queue)
2 in queue
queue != empty
nothing == something
nothing != nothing
3 if empty or queue else 4
f"{half!r:>20}|{half!s}|{3:>4}|{3:04d}|{1.5:.3f}|{'a'!r:^7}|{(1, 2)}|{3!s:>{2 + 3}}|{True:d}"
f"{Level.HIGH=} {1 + 1=} {2.0=:.2f} {{}}"
not (queue and empty)
""".strip().splitlines()


def without_addresses(text):
    return re.sub(" at 0x[0-9a-fA-F]+", "", text)


def test_operators(capfd):
    lines = [f"    tl.static_print(repr({expression}))" for expression in EXPRESSIONS]
    evaluate(kernel_from("\n".join(["def kernel(x):", *lines, ""]), **NAMES), x="*fp32")
    found = capfd.readouterr().out.splitlines()
    expected = [
        without_addresses(repr(eval(expression, dict(NAMES)))) for expression in EXPRESSIONS
    ]
    # A list is a tuple in a kernel.
    expected = [text.replace("[]", "()") for text in expected]
    assert dict(zip(EXPRESSIONS, found)) == dict(zip(EXPRESSIONS, expected))


@pytest.mark.parametrize(
    "expression, message",
    {
        "bool(wrong)": "ValueError: neither true nor false",
        "1 if wrong else 2": "ValueError: neither true nor false",
        "wrong == 1": "ValueError: not to be compared",
        "wrong in (1, 2)": "ValueError: not to be compared",
        "plain < 1": "TypeError: '<' not supported between instances of 'Plain' and 'int'",
        "plain + 1": "TypeError: unsupported operand type(s) for +: 'Plain' and 'int'",
        "-plain": "TypeError: bad operand type for unary -: 'Plain'",
        "1 in plain": "TypeError: argument of type 'Plain' is not iterable",
        "int(plain)": "TypeError: int() argument must be a string, a bytes-like object or a real number, not 'Plain'",
        "len(plain)": "TypeError: object of type 'Plain' has no len()",
        "f'{3:q}'": "ValueError: Unknown format code 'q' for object of type 'int'",
        "abs(plain)": "TypeError: bad operand type for abs(): 'Plain'",
    }.items(),
)
def test_what_a_class_refuses(expression, message):
    source = f"def kernel(x):\n    tl.static_print({expression})\n"
    kernel = kernel_from(source, **NAMES, wrong=Wrong())
    (found,) = diagnostics(kernel, x="*fp32")
    assert found["message"] == message
    assert found["line"] == 2
