"""Random control flow, run on the CPU and as plain Python: every path must agree.

The generated function is both a @jit function and, with `range` for `tl.static_range`, ordinary Python.
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

PLAIN = types.SimpleNamespace(static_range=range, range=lambda *a, **_: range(*a))


class Program:
    """Source of a function of n and m over the variables a, b, c, which stay in [0, 1024)."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines = ["@jit", "def function(n, m):", "    a = n & 7", "    b = m & 15", "    c = 1"]
        self.constants = []
        self.counter = 0
        self.block(1, in_loop=False, unrolled=False, size=7)
        if self.rng.random() < 0.8:
            self.emit(1, f"return {self.expression()}")
        else:
            self.emit(1, f"if {self.condition()}:")
            self.emit(2, f"return {self.expression()}")
            self.emit(1, "else:")
            self.emit(2, f"return {self.expression()}")
        self.source = (
            "\n".join(self.lines)
            + """

@jit
def kernel(ns, ms, out):
    i = tl.program_id(0)
    tl.store(out + i, function(tl.load(ns + i), tl.load(ms + i)))
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
        rng, kind = self.rng, self.rng.randrange(6)
        if kind == 0:
            return self.atom()
        if kind == 1:
            return f"({self.atom()} if {self.condition()} else ({self.atom()} + c))"
        return f"({self.atom()} {rng.choice('+-*|^&')} {self.atom()})"

    def condition(self):
        link = (
            f"{self.atom()} {self.rng.choice(['<', '<=', '>', '>=', '==', '!='])} {self.variable()}"
        )
        if self.rng.random() < 0.2:
            return f"not ({link})"
        if self.rng.random() < 0.3:
            return f"{link} {self.rng.choice(['and', 'or'])} {self.variable()} > {self.atom()}"
        if self.rng.random() < 0.2:
            return f"{self.variable()} < {self.atom()} <= {self.variable()}"
        return link

    def variable(self):
        return self.rng.choice("abc")

    def block(self, indent, in_loop, unrolled, size):
        """`in_loop`: inside a loop of the device, where nothing may leave the function."""
        for _ in range(self.rng.randint(1, size)):
            self.statement(indent, in_loop, unrolled)

    def statement(self, indent, in_loop, unrolled):
        rng = self.rng
        kind = rng.randrange(10 if indent < 5 else 4)
        smaller = 4 if indent < 3 else 2
        if kind < 3:
            self.emit(indent, f"{self.variable()} = {self.expression()} & 1023")
        elif kind == 3:
            self.emit(indent, f"a, b = b, {self.expression()} & 1023")
        elif kind < 7:
            self.emit(indent, f"if {self.condition()}:")
            self.block(indent + 1, in_loop, False, smaller)
            if not in_loop and rng.random() < 0.35:
                self.emit(indent + 1, f"return {self.expression()}")
            if rng.random() < 0.3:
                self.emit(indent, f"elif {self.condition()}:")
                self.block(indent + 1, in_loop, False, smaller)
            if rng.random() < 0.5:
                self.emit(indent, "else:")
                self.block(indent + 1, in_loop, False, smaller)
                if not in_loop and rng.random() < 0.2:
                    self.emit(indent + 1, f"return {self.expression()}")
        elif kind == 7:
            name = self.name()
            bounds = rng.choice(["3", "a & 3", "b & 3, 5", "7, -1, -2", "0, b & 7, 3", "n & 3"])
            self.emit(indent, f"for {name} in range({bounds}):")
            self.constants.append(name)
            self.block(indent + 1, True, False, smaller)
            self.constants.remove(name)
        elif kind == 8:
            name = self.name()
            self.emit(indent, f"for {name} in tl.static_range({rng.randint(1, 4)}):")
            self.constants.append(name)
            if rng.random() < 0.4:
                self.emit(indent + 1, f"if {name} == {rng.randint(0, 3)}:")
                self.emit(indent + 2, rng.choice(["break", "continue"]))
            self.block(indent + 1, in_loop, True, smaller)
            self.constants.remove(name)
        else:
            name = self.name()
            self.emit(indent, f"{name} = {self.expression()} & 3")
            self.emit(indent, f"while ({name} > 0) and ({self.variable()} < 900):")
            self.emit(indent + 1, f"{name} -= 1")
            self.block(indent + 1, True, False, smaller)


def define(source, file, **names):
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec", dont_inherit=True), names)
    return names


@pytest.mark.parametrize("seed", range(60))
def test_random_control_flow(seed):
    source = Program(seed).source
    plain = define(source, f"random_{seed}.py", tl=PLAIN, jit=lambda fn: fn)["function"]
    kernel = define(source, f"random_{seed}.py", tl=tl, jit=st.jit)["kernel"]
    rng = np.random.default_rng(seed)
    ns = rng.integers(-20, 20, 64).astype(np.int32)
    ms = rng.integers(-20, 20, 64).astype(np.int32)
    out = np.full(64, -1, np.int32)
    kernel[(64,)](ns, ms, out)
    expected = [plain(int(n), int(m)) for n, m in zip(ns, ms)]
    assert out.tolist() == expected, source
