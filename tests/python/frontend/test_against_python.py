"""Random control flow, run on the CPU and as plain Python: every path must agree.

The generated function is both a @jit function and, with `range` for `tl.static_range`, ordinary Python.
What it loads and stores is compared, too, so that no condition is evaluated that Python does not reach.
"""

import linecache
import random
import types

import numpy as np
import pytest
from frontend_support import tl  # noqa: F401  (puts the package on the path)

try:
    import sectile as st

    st.jit  # noqa: B018  (loads the extension)
except ImportError as reason:
    pytest.skip(f"the package's extension is not built: {reason}", allow_module_level=True)


class Pointer:
    """Numbers in memory, as ordinary Python sees them: what is not among them is not read."""

    def __init__(self, numbers, offset=0):
        self.numbers, self.offset = numbers, offset

    def __add__(self, offset):
        return Pointer(self.numbers, self.offset + offset)

    def load(self):
        assert 0 <= self.offset < len(self.numbers)
        return self.numbers[self.offset]

    def store(self, number):
        assert 0 <= self.offset < len(self.numbers)
        self.numbers[self.offset] = number


PLAIN = types.SimpleNamespace(
    static_range=range, range=lambda *a, **_: range(*a), load=Pointer.load, store=Pointer.store
)
SCRATCH = 16  # numbers that belong to each program


class Program:
    """Source of a function of n and m over the variables a, b, c, which stay in [0, 1024)."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines = [
            "@jit",
            "def function(n, m, p):",
            "    a = n & 7",
            "    b = m & 15",
            "    c = 1",
        ]
        self.constants = []
        self.counter = 0
        self.block(1, loop="", size=7)
        if self.rng.random() < 0.8:
            self.emit(1, f"return {self.expression()}")
        else:
            self.emit(1, f"if {self.condition()}:")
            self.emit(2, f"return {self.expression()}")
            self.emit(1, "else:")
            self.emit(2, f"return {self.expression()}")
        self.source = (
            """
@jit
def look(p, k):
    number = tl.load(p + k)
    tl.store(p + k, (number + 3) & 1023)
    return number

@jit
def find(p, start, wanted):
    for k in range(start, 16):
        if tl.load(p + k) == wanted:
            return k
    return -1

"""
            + "\n".join(self.lines)
            + f"""

@jit
def kernel(ns, ms, out, scratch):
    i = tl.program_id(0)
    tl.store(out + i, function(tl.load(ns + i), tl.load(ms + i), scratch + i * {SCRATCH}))
"""
        )

    def emit(self, indent, text):
        self.lines.append("    " * indent + text)

    def name(self):
        self.counter += 1
        return f"t{self.counter}"

    def atom(self):
        return self.rng.choice(
            ["a", "b", "c", "n", "m", str(self.rng.randint(0, 9)), *self.constants]
        )

    def expression(self):
        rng, kind = self.rng, self.rng.randrange(7)
        if kind == 0:
            return self.atom()
        if kind == 1:
            return f"({self.atom()} if {self.condition()} else ({self.atom()} + c))"
        if kind == 2:
            return f"find(p, {self.variable()} & 15, {self.atom()})"
        return f"({self.atom()} {rng.choice('+-*|^&')} {self.atom()})"

    def condition(self):
        rng, variable = self.rng, self.variable()
        link = f"{self.atom()} {rng.choice(['<', '<=', '>', '>=', '==', '!='])} {self.variable()}"
        kind = rng.randrange(12)
        if kind == 0:  # the right side is no number of the array, or not to be changed, otherwise
            return f"{variable} < {SCRATCH} and look(p, {variable}) > {self.atom()}"
        if kind == 1:
            return f"{variable} >= {SCRATCH} or {self.atom()} == look(p, {variable})"
        if kind == 2:
            return f"0 <= {variable} < look(p, {self.atom()} & 15) <= {self.atom()} + 5"
        if kind == 3:
            return (
                f"not ({link} and {self.atom()} > look(p, {variable} & 7) or {self.variable()} < 4)"
            )
        if kind == 4:
            return f"{variable} != 0 and ({self.atom()} & 63) % {variable} > 1"
        if kind == 5:
            return f"not ({link})"
        if kind < 8:
            return f"{link} {rng.choice(['and', 'or'])} {variable} > {self.atom()}"
        if kind == 8:
            return f"{variable} < {self.atom()} <= {self.variable()}"
        return link

    def variable(self):
        return self.rng.choice("abc")

    def block(self, indent, loop, size):
        """`loop`: what may leave the innermost loop around; empty outside of loops."""
        for _ in range(self.rng.randint(1, size)):
            self.statement(indent, loop)

    def leave(self, indent, loop):
        """Maybe leaves the loop or the function."""
        chance = self.rng.random()
        if chance < 0.25:
            self.emit(indent, f"return {self.expression()}")
        elif chance < 0.75 and loop:
            self.emit(indent, self.rng.choice(loop.split()))

    def conditional(self, indent, loop, size):
        rng = self.rng
        self.emit(indent, f"if {self.condition()}:")
        self.block(indent + 1, loop, size)
        if rng.random() < 0.5:
            self.leave(indent + 1, loop)
        if rng.random() < 0.3:
            self.emit(indent, f"elif {self.condition()}:")
            self.block(indent + 1, loop, size)
            if rng.random() < 0.3:
                self.leave(indent + 1, loop)
        if rng.random() < 0.5:
            self.emit(indent, "else:")
            self.block(indent + 1, loop, size)
            if rng.random() < 0.3:
                self.leave(indent + 1, loop)

    def end_of_loop(self, indent, outer):
        """The `else` of a loop, which belongs to the loop around it."""
        if self.rng.random() < 0.25:
            self.emit(indent, "else:")
            self.block(indent + 1, outer, 2)
            if self.rng.random() < 0.2:
                self.leave(indent + 1, outer)

    def statement(self, indent, loop):
        rng = self.rng
        kind = rng.randrange(11 if indent < 5 else 4)
        smaller = 4 if indent < 3 else 2
        if kind < 3:
            self.emit(indent, f"{self.variable()} = {self.expression()} & 1023")
        elif kind == 3:
            self.emit(indent, f"a, b = b, {self.expression()} & 1023")
        elif kind < 7:
            self.conditional(indent, loop, smaller)
        elif kind == 7:
            name = self.name()
            bounds = rng.choice(["3", "a & 3", "b & 3, 5", "7, -1, -2", "0, b & 7, 3", "n & 3"])
            keeps = rng.random() < 0.4
            if keeps:
                self.emit(indent, f"{name} = 7")
            self.emit(indent, f"for {name} in range({bounds}):")
            self.constants.append(name)
            self.block(indent + 1, "break continue", smaller)
            if rng.random() < 0.1:
                self.leave(indent + 1, "break continue")
            self.constants.remove(name)
            self.end_of_loop(indent, loop)
            if keeps:  # the last number, or what it was before
                self.emit(indent, f"{self.variable()} = ({self.atom()} + {name}) & 1023")
        elif kind == 8:
            name = self.name()
            turns = rng.randint(1, 4)
            self.emit(indent, f"for {name} in tl.static_range({turns}):")
            self.constants.append(name)
            if rng.random() < 0.4:
                self.emit(indent + 1, f"if {name} == {rng.randint(0, 3)}:")
                self.emit(indent + 2, rng.choice(["break", "continue"]))
            self.block(indent + 1, "break continue", smaller)
            self.constants.remove(name)
            self.end_of_loop(indent, loop)
            if rng.random() < 0.3:
                self.emit(indent, f"{self.variable()} = ({self.atom()} + {name}) & 1023")
        elif kind == 9:
            name, found = self.name(), self.name()
            self.emit(indent, f"{name} = 0")
            self.emit(indent, "while True:")
            self.emit(indent + 1, f"{name} += 1")
            self.emit(indent + 1, f"if {name} > {rng.randint(0, 4)} or {self.condition()}:")
            self.emit(indent + 2, f"{found} = {self.expression()} & 1023")
            self.emit(indent + 2, "break")
            self.block(indent + 1, "continue", smaller)
            self.emit(indent, f"{self.variable()} = ({found} + {name}) & 1023")
        else:
            name = self.name()
            self.emit(indent, f"{name} = {self.expression()} & 3")
            self.emit(indent, f"while ({name} > 0) and ({self.condition()}):")
            self.emit(indent + 1, f"{name} -= 1")
            self.block(indent + 1, "break continue", smaller)
            if rng.random() < 0.1:
                self.leave(indent + 1, "break continue")
            self.end_of_loop(indent, loop)


def define(source, file, **names):
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec", dont_inherit=True), names)
    return names


def compare(seed):
    source = Program(seed).source
    names = {"tl": PLAIN, "jit": lambda fn: fn}
    plain = define(source, f"random_{seed}.py", **names)["function"]
    kernel = define(source, f"random_{seed}.py", tl=tl, jit=st.jit)["kernel"]
    rng = np.random.default_rng(seed)
    ns = rng.integers(-20, 20, 64).astype(np.int32)
    ms = rng.integers(-20, 20, 64).astype(np.int32)
    out = np.full(64, -1, np.int32)
    scratch = rng.integers(0, 10, (64, SCRATCH)).astype(np.int32)
    memories = [row.tolist() for row in scratch]
    kernel[(64,)](ns, ms, out, scratch)
    expected = [plain(int(n), int(m), Pointer(row)) for n, m, row in zip(ns, ms, memories)]
    assert out.tolist() == expected, source
    assert scratch.tolist() == memories, source


@pytest.mark.parametrize("seed", range(60))
def test_random_control_flow(seed):
    compare(seed)
