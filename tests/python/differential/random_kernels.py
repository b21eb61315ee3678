"""Random kernels for GPUs, made by running them: each statement is tried on the case's data by NumPy
(`error_bounds`), and kept where it has one right answer for every program.

    case = make_case(7)
    case.source, case.options, case.arguments

Inputs (x_*) are only read, each store has elements of outputs (o_*) to itself, and accumulators (c_*) are
reached by one kind of atomic operation: so no threads race, and programs may run in any order.
"""

import random
import re
import textwrap
from dataclasses import dataclass, field

import bounded_tiles
import error_bounds as bounds
import numpy as np
from bounded_libdevice import libdevice
from error_bounds import Memory, Pointer, Tile, Unsuitable, is_float
from random_blocks import Blocks
from random_libdevice import LibdeviceCalls
from random_products import Products
from random_scaled import ScaledProducts
from random_statements import Statements

INPUT = 1 << 14  # elements of each array that is read
OUTPUT = 1 << 14  # elements of each output that belong to one program
ACCUMULATOR = 256

HEADER = (
    "import sectile as st\nimport sectile.language as tl\n"
    "from sectile.language.extra import libdevice\n"
)


@dataclass
class Case:
    """A kernel and how it is launched; arrays follow from the seed and their names."""

    seed: int
    source: str = ""
    programs: int = 1
    rows: int = 1  # of the grid, along y, which have equally many of the programs
    scalars: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)
    style: str = "whole"  # of numbers: "whole" ones make float results exact
    shifted: frozenset = frozenset()  # arrays that do not begin at a multiple of 16 bytes
    needs_order: bool = False  # of loads and stores of different threads, which GPUs do not keep

    @property
    def name(self):
        return f"kernel_{self.seed}"

    @property
    def grid(self):
        return (self.programs // self.rows, self.rows) if self.rows > 1 else (self.programs,)

    @property
    def numerics(self):
        return self.options.get("numerics", "default")

    @property
    def arguments(self):
        start = self.source.index(f"def {self.name}(") + len(f"def {self.name}(")
        names = self.source[start : self.source.index(")", start)].split(",")
        return [name.strip() for name in names if name.strip()]

    def array(self, name):
        """What an array holds before the launch."""
        role, _, dtype = name.partition("_")
        rng = np.random.default_rng([self.seed, *name.encode()])
        length = {"x": INPUT, "o": OUTPUT * self.programs, "c": ACCUMULATOR}[role]
        made = numbers(rng, dtype, length, self.style)
        if name not in self.shifted:
            return made
        room = np.empty(length + 1, made.dtype)
        room[1:] = made
        return room[1:]

    def arrays(self):
        return {name: self.array(name) for name in self.arguments if "_" in name}


def numbers(rng, dtype, length, style):
    kind = np.dtype(bounds.TYPES[dtype])
    if is_float(dtype):
        if style == "whole":
            return rng.integers(-8, 9, length).astype(np.float32).astype(kind)
        return rng.standard_normal(length).astype(np.float32).astype(kind)
    info = np.iinfo(kind)
    if style == "whole":
        return rng.integers(max(info.min, -50), 100, length).astype(kind)
    return rng.integers(info.min, info.max, length, dtype=kind, endpoint=True)


def reference(case):
    """The arrays after all programs, as `Memory`; raises `Unsuitable`."""
    import types

    memories = {name: Memory(array, name[2:]) for name, array in case.arrays().items()}
    names = {
        "tl": bounds,
        "range": bounds.range,
        "libdevice": libdevice,
        "st": types.SimpleNamespace(jit=lambda function: function),
    }
    exec(compile(case.source.replace(HEADER, ""), case.name, "exec"), names)
    arguments = [
        Pointer(memories[name]) if name in memories else Tile(case.scalars[name], "int32")
        for name in case.arguments
    ]
    bounded_tiles.numerics, bounds.columns = case.numerics, case.grid[0]
    with np.errstate(all="ignore"):
        for program in range(case.programs):
            bounds.program = program
            names[case.name](*arguments)
    return memories


class Builder(Statements, Products, ScaledProducts, LibdeviceCalls, Blocks):
    """The kernel so far: its text, and what every name is in every program.

    Attributes:
        only_profile: which kernels are made; None for all kinds.
    """

    only_profile = None

    def __init__(self, seed):
        self.random = random.Random(seed)
        choose = self.random.choice
        self.case = Case(seed)
        self.case.programs = choose([1, 1, 2, 3])
        self.case.style = choose(["whole", "real"])
        self.case.scalars = {
            "n": self.random.randint(0, 40),
            "k": choose([1, 2, 3, 16, 32]),
            "ld": choose([64, 100, 128, 131, 256]),
            "depth": choose([1, 16, 30, 48, 64, 77, 96]),
            "down": choose([-1, -2]),
        }
        self.case.options = {
            "num_warps": choose([1, 2, 4, 4, 8, 16]),
            "num_stages": choose([1, 2, 3, 4]),
        }
        if (
            numerics := choose([*["default"] * 5, "strict", "reproducible", "reproducible"])
        ) != "default":
            self.case.options["numerics"] = numerics
        if self.random.random() < 0.2:
            self.case.options["num_ctas"] = choose([2, 4, 8, 16])
        # A name costs nothing where it is not used: parameters are what the text names in the end.
        self.shifting, self.for_engines, self.of_list = self.random.random() < 0.2, False, False
        self.in_rounds = False
        self.memories, self.lines, self.helpers, self.pool = {}, [], [], []
        self.depth, self.count, self.stored = 1, 0, {}
        self.atomic_kinds, self.counters = {}, set()
        scope = {name: Tile(value, "int32") for name, value in self.case.scalars.items()}
        scope |= {"tl": bounds, "range": bounds.range, "libdevice": libdevice}
        self.programs = [dict(scope) for _ in range(self.case.programs)]
        self.base_shape = self.new_shape()

    def array(self, role, dtype):
        """The name of an array, which is among the arguments from now on."""
        name = f"{role}_{dtype}"
        if name not in self.memories:
            if self.shifting and self.random.random() < 0.5:
                self.case.shifted |= {name}
            self.memories[name] = Memory(self.case.array(name), dtype)
        for scope in self.programs:
            scope[name] = Pointer(self.memories[name])
        return name

    def helper(self, text):
        """The name of a function of two scalars."""
        return self.function("a, b", f"    return {text}")

    def function(self, parameters, body):
        """The name of a function with that body."""
        name = f"combine_{len(self.helpers) + 1}"
        text = f"def {name}({parameters}):\n{body}\n"
        self.helpers.append(f"@st.jit\n{text}")
        for scope in self.programs:
            exec(text, scope)
        return name

    def state(self):
        memories = {
            name: memory.copy_of() for name, memory in self.memories.items() if name[0] != "x"
        }
        return [dict(scope) for scope in self.programs], memories, list(self.pool)

    def restore(self, state):
        scopes, memories, pool = state
        functions = {n: v for n, v in self.programs[0].items() if n.startswith("combine_")}
        pointers = {name: Pointer(memory) for name, memory in self.memories.items()}
        self.programs = [{**scope, **functions, **pointers} for scope in scopes]
        self.pool = list(pool)
        for name, saved in memories.items():
            self.memories[name].restore([None if a is None else a.copy() for a in saved])

    def attempt(self, *lines):
        """Adds statements where they have one right answer; says whether."""
        text = textwrap.dedent("\n".join(lines))
        code = compile(text, "statement", "exec")
        writes = "store(" in text or "atomic" in text or "combine_" in text
        saved = {n: m.copy_of() for n, m in self.memories.items() if n[0] != "x"} if writes else {}
        scopes = []
        bounded_tiles.numerics, bounds.columns = self.case.numerics, self.case.grid[0]
        try:
            with np.errstate(all="ignore"):
                for program, names in enumerate(self.programs):
                    bounds.program = program
                    scopes.append(dict(names))
                    exec(code, scopes[-1])
        except Unsuitable:
            for name, arrays in saved.items():
                self.memories[name].restore(arrays)
            return False
        self.programs = scopes
        self.lines += textwrap.indent(text, "    " * self.depth).splitlines()
        return True

    def fresh(self):
        self.count += 1
        return f"v{self.count}"

    def define(self, text):
        """The name of a new value, or None."""
        name = self.fresh()
        if not self.attempt(f"{name} = {text}"):
            return None
        self.pool.append(name)
        return name

    def of(self, name):
        return self.programs[0][name]

    def dtype(self, name):
        return self.of(name).dtype

    def shape(self, name):
        return self.of(name).shape

    def pick(self, test=lambda tile: True):
        found = [name for name in self.pool if test(self.of(name))]
        if not found:
            return None
        # Recent values, so that chains become deep; old ones, so that values are used late.
        if self.random.random() < 0.5:
            found = found[-4:]
        return self.random.choice(found)

    def build(self):
        if self.random.random() < 0.8:
            self.attempt("pid = tl.program_id(0)")
        else:  # less text where one program is enough
            self.case.programs = 1
            self.programs = self.programs[:1]
            self.attempt("pid = tl.program_id(0)")
        profile = self.random.choice([*self.PROFILES, "flow", "scaled", "libdevice", "libdevice"])
        profile = self.only_profile or profile
        if profile in ("lone_product", "lone_attention", "rounds"):
            self.suit_copy_engines()
            self.in_rounds = profile == "rounds"
            make = self.attention if profile == "lone_attention" else self.matmul_of_blocks
            while not make():
                pass
        else:
            for _ in range(self.random.choice([1, 1, 2, 3])):
                self.load()
        if self.in_rounds:  # all that it stores it stores in the loop
            self.case.source = self.text()
            return self.case
        self.statements(profile, self.random.choice([3, 6, 10, 16]))
        stored = 0
        for name in reversed(self.pool):  # what comes last uses what was before
            stored += bool(self.store(name))
            if stored == 4:
                break
        if self.random.random() < 0.3:
            self.end_early()
        self.case.source = self.text()
        return self.case

    def suit_copy_engines(self):
        """Arrays and options as engines want them, and so many programs that a block of threads may have to run
        several."""
        self.for_engines, self.shifting = True, False
        self.case.options["num_stages"] = self.random.choice([2, 3, 3, 4])
        self.case.options.pop("num_ctas", None)
        if self.random.random() < 0.7:
            self.case.options.pop("numerics", None)
            self.case.options["num_warps"] = self.random.choice([4, 8])
        self.case.programs = self.random.choice([1, 2, 3, 4, 5, 6, 7])
        self.case.rows = self.random.choice(
            [rows for rows in (1, 2, 3) if self.case.programs % rows == 0]
        )
        names = self.programs[0]
        self.lines, self.programs = [], [dict(names) for _ in range(self.case.programs)]
        row = f" + tl.program_id(1) * {self.case.grid[0]}" if self.case.rows > 1 else ""
        self.attempt(f"pid = tl.program_id(0){row}")

    def end_early(self):
        """Returns from the kernel somewhere: what it does before has been found right already."""
        loops = r"\s*(?:for|while) (v\d+) "
        places = [
            i for i, line in enumerate(self.lines) if i and not re.match(r"\s*el(se|if)\b", line)
        ]
        for place in sorted(self.random.sample(places, min(len(places), 2)), reverse=True):
            line = self.lines[place]
            indent = line[: len(line) - len(line.lstrip())]
            counters, around = [], len(indent)
            for before in reversed(self.lines[:place]):
                depth = len(before) - len(before.lstrip())
                if depth < around:
                    around = depth
                    counters += re.findall(loops, before)
            counter = self.random.choice(counters or ["n", "k", "pid"])
            test = self.random.choice(["==", ">", "=="])
            returned = f"if {counter} {test} {self.random.randint(0, 3)} and pid != {self.random.randint(0, 2)}:"
            self.lines[place:place] = [indent + returned, indent + "    return"]

    def text(self):
        body = "\n".join(self.lines)
        words = set(re.findall(r"\w+", body))
        for i, helper in reversed([*enumerate(self.helpers)]):  # helpers call those before them
            if f"combine_{i + 1}" in words:
                words |= set(re.findall(r"combine_\w+", helper))
        names = [n for n in (*sorted(self.memories), *self.case.scalars) if n in words]
        kernel = f"@st.jit\ndef {self.case.name}({', '.join(names)}):\n{body}\n"
        return "\n\n".join(
            [
                HEADER,
                *(h for i, h in enumerate(self.helpers) if f"combine_{i + 1}" in words),
                kernel,
            ]
        )


def make_case(seed):
    return Builder(seed).build()
