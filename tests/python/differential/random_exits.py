"""Random loops that `break` and `continue` leave, in what both front ends can say: for fuzz_cpp.py.

    case = make_case(7)   # a Case, of which nothing is run

Numbers are scalars, and exits stand in the body of a loop itself; they make the control flow, which is compared.
"""

import random
import textwrap

from random_kernels import HEADER, Case

NAMES = ["a", "b", "c"]


class Exits:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.depth, self.count = [], 1, 0

    def emit(self, text):
        self.lines.append("    " * self.depth + text)

    def scalar(self, counters):
        return self.random.choice([*NAMES, *counters, "n", "k"])

    def condition(self, counters):
        def comparison():
            sign = self.random.choice([">", "<", "==", "!=", "<=", ">="])
            return (
                f"{self.scalar(counters)} {sign} {self.random.choice(['n', 'k', '7', '40', '0'])}"
            )

        if self.random.random() < 0.2:
            return f"{comparison()} {self.random.choice(['and', 'or'])} {comparison()}"
        return comparison()

    def assignment(self, counters):
        name, other = self.random.choice(NAMES), self.scalar(counters)
        kind = self.random.choice(["sum", "product", "bits", "load", "load"])
        if kind == "load":
            self.emit(f"{name} = {name} + tl.load(x_int32 + ({other} & 255))")
        elif kind == "bits":
            self.emit(f"{name} = {name} ^ {other}")
        else:
            self.emit(f"{name} = {name} {'+' if kind == 'sum' else '* 3 -'} {other}")

    def statement(self, counters):
        roll = self.random.random()
        if roll < 0.3:
            self.emit(f"if {self.condition(counters)}:")
            self.emit(f"    {self.random.choice(['break', 'break', 'continue'])}")
        elif roll < 0.4 and self.depth < 3:
            self.loop(counters)
        elif roll < 0.5:
            self.emit(f"if {self.condition(counters)}:")
            self.depth += 1
            self.assignment(counters)
            self.depth -= 1
        elif roll < 0.65:
            self.emit(f"tl.store(o_int32 + {self.scalar(counters)}, {self.scalar(counters)})")
        else:
            self.assignment(counters)

    def loop(self, counters):
        self.count += 1
        index = f"i{self.count}"
        bounds = self.random.choice(["n", "0, n", "k, n", "k, n, 3", "n, 0, -1", "0, n, k"])
        if self.random.random() < 0.25:
            self.emit(f"while {self.condition(counters)}:")
        else:
            self.emit(f"for {index} in range({bounds}):")
            counters = [*counters, index]
        self.depth += 1
        self.assignment(counters)
        for _ in range(self.random.randint(2, 6)):
            self.statement(counters)
        self.depth -= 1


def make_case(seed):
    exits = Exits(seed)
    case = Case(seed)
    case.scalars = {"n": exits.random.randint(5, 40), "k": exits.random.choice([2, 3, 16])}
    for name, start in zip(NAMES, ["n + k", "k * 2", "n - k"]):
        exits.emit(f"{name} = {start}")
    exits.loop([])
    for place, name in enumerate(NAMES):
        exits.emit(f"tl.store(o_int32 + {place}, {name})")
    body = textwrap.dedent("\n".join(exits.lines))
    arguments = "o_int32, x_int32, n, k"
    kernel = f"@st.jit\ndef {case.name}({arguments}):\n{textwrap.indent(body, '    ')}\n"
    case.source = "\n\n".join([HEADER, kernel])
    return case
