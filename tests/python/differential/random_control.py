"""Loops and branches of random kernels, and how control leaves them. A part of `random_kernels.py`."""

from error_bounds import is_float


class Control:
    def targets(self):
        found = [n for n in self.pool if self.dtype(n) != "int1" and n not in self.counters]
        self.random.shuffle(found)
        return found[: self.random.choice([1, 1, 2, 3])]

    def update(self, targets):
        """Gives outer variables new values: from each other (swaps, delays) or from the pool."""
        alike = [
            t
            for t in targets[1:]
            if self.shape(t) == self.shape(targets[0]) and self.dtype(t) == self.dtype(targets[0])
        ]
        if alike and self.random.random() < 0.4:
            self.attempt(f"{targets[0]}, {alike[0]} = {alike[0]}, {targets[0]}")
        for target in targets:
            shape, dtype = self.shape(target), self.dtype(target)
            source = self.pick(lambda tile: tile.shape == shape and tile.dtype != "int1") or target
            text = self.as_dtype(source, dtype)
            if self.random.random() < 0.5:
                text = f"{target} * 0.5 + {text}" if is_float(dtype) else f"{target} + {text}"
            self.attempt(f"{target} = {text}")

    def test(self):
        """A condition of scalars, part of which is not evaluated where another part decides."""
        choose = self.random.choice
        scalar = self.pick(lambda tile: tile.shape == () and tile.dtype == "int32") or "n"
        bound, other = self.random.randint(0, 20), choose(["n", "k", "pid"])
        plain = f"{scalar} {choose(['>', '<=', '==', '!='])} {bound}"
        kind = choose(
            ["plain", "plain", "plain", "load", "load", "chain", "not", "find", "rest", "none"]
        )
        if kind == "load":
            word = choose(["and", "or"])
            return f"{plain} {word} tl.load({self.array('x', 'int32')} + {other}) > {bound}"
        if kind == "chain":
            return f"0 <= {scalar} < {bound} <= tl.load({self.array('x', 'int32')} + {other}) + 40"
        if kind == "not":
            return f"not ({plain} or {other} > {bound} and {scalar} != {choose([1, 2, 3])})"
        if kind == "find":
            return f"{other} < 20 and {self.search()}({self.array('x', 'int32')}, {other}) > 3"
        if kind == "rest":
            return f"{scalar} > 0 and {other} % {scalar} == {choose([0, 0, 1])}"
        if kind == "none":  # a function with effects that come again
            return f"{plain} and {other} < {bound} or {other} == {choose([0, 1, 2])}"
        return plain

    def search(self):
        """The name of a function that returns from a loop: the place of a number, or -1."""
        choose = self.random.choice
        found = f"tl.load(p + i) {choose(['>', '==', '<'])} {self.random.randint(-5, 30)}"
        body = choose(
            [
                f"    for i in range(start, {choose([3, 12, 40])}):\n        if {found}:\n            return i\n",
                f"    i = start\n    while True:\n        if {found} or i > {choose([3, 12, 40])}:\n"
                "            return i\n        i += 1\n",
                f"    for i in range({choose([3, 12])}):\n        if i < start:\n            continue\n"
                f"        if {found}:\n            return i\n        if i > 7:\n            break\n",
                f"    if start > {choose([2, 8])}:\n        return 9\n    for i in tl.static_range(4):\n"
                f"        if {found}:\n            return i + start\n",
            ]
        )
        return self.function("p, start", body + "    return -1")

    def leave(self, words):
        """Maybe leaves a loop, or one of its turns. The lines are not run before the loop is."""
        if not words or self.random.random() < 0.4:
            return
        line, roll = "    " * self.depth, self.random.random
        target = self.pick(lambda tile: tile.dtype == "int32")
        assigned = []  # what is assigned before stays
        if target and target not in self.counters:
            assigned = [f"{target} = {target} + {self.random.randint(1, 5)}"]
        inner = line + "    "
        self.lines.append(f"{line}if {self.test()}:")
        if roll() < 0.3:
            if assigned and roll() < 0.5:
                self.lines.append(inner + assigned[0])
            self.lines.append(f"{inner}if {self.test()}:")
            inner += "    "
        if assigned and roll() < 0.4:
            self.lines.append(inner + assigned[0])
        self.lines.append(inner + self.random.choice(words))
        if assigned and roll() < 0.2:
            self.lines += [f"{line}else:", f"{line}    {assigned[0]}"]

    def block(self, heads, profile, targets, before=(), words=(), variable=None):
        """A compound statement for each of `heads`: (its line, lines at its end, and at its begin). `words`
        are how control may leave the body; the `variable` of a loop that may not run is unknown in its `else`."""
        state, start, stored = self.state(), len(self.lines), dict(self.stored)
        kinds = dict(self.atomic_kinds)
        self.lines += ["    " * self.depth + line for line in before]
        for line in before:
            for scope in self.programs:
                exec(line, scope)
        middle = self.state()
        for head, end, *first in heads:
            self.lines.append("    " * self.depth + head)
            self.depth += 1
            self.lines += ["    " * self.depth + line for line in ["pass", *first]]
            left = words if head != "else:" else ()
            if head == "else:" and variable:
                self.pool.remove(variable)
            self.statements(profile, self.random.choice([1, 2, 4]))
            self.leave(left)
            self.update(targets)
            if self.random.random() < 0.3:
                self.leave(left)
            self.lines += ["    " * self.depth + line for line in end]
            self.depth -= 1
            self.restore(middle)
        text = self.lines[start:]
        del self.lines[start:]
        self.restore(state)
        if not self.attempt(*text):
            self.stored, self.atomic_kinds = stored, kinds
            return None
        return targets[0]

    def numbers(self, trips):
        """(a range of so many turns, the type of its numbers)"""
        choose = self.random.choice
        kind = choose(["usual", "usual", "usual", "wide", "edge", "down", "step", "hint"])
        if kind == "usual":
            return choose([f"range({trips})", f"tl.range(0, {trips})"]), "int32"
        if kind == "down":
            text = choose([f"range({trips}, 0, -1)", f"range({trips}, -1, -k)"])
            return text, "int32"
        if kind == "step":  # known at run time, up or down
            return choose(
                [f"range(n, n + k * ({trips}), k)", f"range(0, -k * ({trips}), -k)"]
            ), "int32"
        if kind == "hint":
            hint = choose(["loop_unroll_factor=2", "loop_unroll_factor=3", "num_stages=1",
                           "num_stages=4", "disable_licm=True"])  # fmt: skip
            return f"tl.range(0, {trips}, {hint})", "int32"
        dtype = choose(["int64", "uint32", "uint64"])
        if kind == "wide":
            return f"range(tl.cast({trips}, tl.{dtype}))", dtype
        # Round the middle of all numbers, and up to the last one.
        edge = {"int64": 2**63 - 7, "uint32": choose([2**31 - 1, 2**32 - 7]),
                "uint64": choose([2**63 - 1, 2**64 - 7])}[dtype]  # fmt: skip
        start, step = f"tl.full((), {edge}, tl.{dtype})", choose([1, 1, 2])
        return f"range({start}, {start} + tl.cast({trips}, tl.{dtype}) * {step}, {step})", dtype

    def loop(self):
        targets = self.targets()
        if not targets:
            return None
        trips = self.random.choice(["3", "2", "k", "n % 5", "n % 3 + 1", "0"])
        name = self.fresh()
        profile = self.random.choice(["control", "flow", "elementwise", "reduce", "shape", "scan"])
        words = self.random.choice([(), ("break",), ("continue",), ("break", "continue")])
        if self.random.random() < 0.3:
            self.counters.add(name)
            before, down = [f"{name} = tl.cast({trips}, tl.int32)"], f"{name} = {name} - 1"
            if "continue" not in words and self.random.random() < 0.4:
                before = [f"{name} = tl.cast(k * 0, tl.int32)"]
                also = self.random.choice(["", f" and {name} >= 0", f" and ({self.test()})"])
                heads = [(f"while {name} < {trips}{also}:", [f"{name} = {name} + 1"])]
            elif "continue" in words:
                heads = [("while True:", [], f"if {name} <= 0:", "    break", down)]
            elif self.random.random() < 0.5:
                heads = [(f"while {name} > 0 and ({self.test()}):", [down])]
            else:
                heads = [(f"while {name} > 0:", [down])]
            if self.random.random() < 0.2:
                heads.append(("else:", []))
            return self.block(heads, profile, targets, before, words)
        numbers, dtype = self.numbers(trips)
        head = f"for {name} in {numbers}:"
        # In the body the counter is some number of that type.
        self.pool.append(name)
        self.counters.add(name)
        for scope in self.programs:
            exec(f"{name} = tl.cast(k * 0, tl.{dtype})", scope)
        heads = [(head, []), ("else:", [])] if self.random.random() < 0.2 else [(head, [])]
        made = self.block(heads, profile, targets, words=words, variable=name)
        self.pool.remove(name)
        return made

    def branch(self):
        targets = self.targets()
        if not targets:
            return None
        heads = [(f"if {self.test()}:", [])]
        if self.random.random() < 0.6:
            heads.append(("else:", []))
        return self.block(
            heads, self.random.choice(["control", "elementwise", "reduce", "shape"]), targets
        )
