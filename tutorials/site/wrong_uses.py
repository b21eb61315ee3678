"""Wrong uses of each operation and the message that each gets: tests/python/language/wrong_uses.txt.

A use is a line of a kernel in which `x` and `h` are arrays of fp32 and fp16, `p` is one of int32, `c` is read-only memory, `n` is an int32, and `i` and `v` are
tiles of four int32 and four fp32. `one` and `two` are @jit functions that return their first argument, and the sum of two; `plain` is not @jit, `stores`
writes to memory, and `triple` takes three elements and returns them.
"""

import re
from pathlib import Path

TABLE = Path(__file__).resolve().parents[2] / "tests/python/language/wrong_uses.txt"

HELPERS = """import sectile as st
import sectile.language as tl


def plain(a, b):
    return a


@st.jit
def one(a):
    return a


@st.jit
def two(a, b):
    return a + b


@st.jit
def stores(p):
    tl.store(p, 1.0)
    return 0


@st.jit
def triple(a, b, c):
    return a, b, c

"""

KERNEL = """
@st.jit
def kernel_{number}(x, h, p, c: tl.const, n):
    i = tl.arange(0, 4)
    v = tl.load(x + i)
    {use}

"""

SIGNATURE = {"x": "*fp32", "h": "*fp16", "p": "*i32", "c": "*kfp32", "n": "i32"}


def uses():
    """Pairs of a wrong use and its message, in the order of the table."""
    lines = TABLE.read_text().splitlines()
    return [(use, message.strip()) for use, message in zip(lines[::2], lines[1::2])]


def operation_of(use):
    """Which operation a use is about: the first that it names."""
    return re.search(r"tl\.(\w+)\(", use)[1]


def by_operation():
    """The uses of each operation."""
    found = {}
    for use, message in uses():
        found.setdefault(operation_of(use), []).append((use, message))
    return found


def program():
    """A module with a kernel for each use."""
    return HELPERS + "".join(
        KERNEL.format(number=number, use=use) for number, (use, _) in enumerate(uses())
    )
