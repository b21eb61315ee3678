"""Reductions and scans of random kernels with functions of the kernel's own. A part of `random_kernels.py`.

Such a function is made of pieces, each of which combines some components of the elements:

    def combine_3(a0, a1, a2, b0, b1, b2):
        take = (a0 > b0) | ((a0 == b0) & (a1 < b1))     # a value and its place
        r0 = tl.where(take, a0, b0)
        r1 = tl.where(take, a1, b1)
        tl.atomic_add(a2 + (r1 & 63), 1)                # a pointer, which stays
        return r0, r1, a2

Where the order of elements is not known (`bounded_reductions.py`), pieces are associative and commutative, or, in
scans, associative alone; where it is known, anything.
"""

from dataclasses import dataclass, field

from error_bounds import Unsuitable, is_float
from random_addresses import size

WHOLE = ["int32", "int32", "int32", "int64", "uint32", "uint64", "int16", "int8", "uint8"]
REAL = ["float32", "float32", "float64", "float16"]
COMMUTATIVE = ["{a} + {b}", "{a} ^ {b}", "{a} & {b}", "{a} | {b}", "{a} * {b}", "tl.minimum({a}, {b})",
               "tl.maximum({a}, {b})", "{a} + {b} + {a} * {b}"]  # fmt: skip
COMMUTATIVE_REAL = ["{a} + {b}", "tl.minimum({a}, {b})", "tl.maximum({a}, {b})"]
ANY = ["{a} * 3 + {b}", "({a} ^ {b}) >> 1", "{a} // (({b} & 7) + 1)", "{a} - {b}", "({a} << 1) | ({b} & 1)",
       "tl.where({a} > {b}, {a} - {b}, {a} + {b})"]  # fmt: skip
ANY_REAL = ["{a} * 0.5 + {b}", "{a} - {b} * 0.25", "{a} / (tl.abs({b}) + 0.5)", "tl.where({a} > {b}, {a} - {b}, {b})",
            "tl.sqrt(tl.abs({a})) + {b}", "{a} * {b} * 0.125 + 1.0"]  # fmt: skip
LARGEST = 1024  # elements; of functions that branch, BRANCHING: the reference calls them for each
BRANCHING = 300


@dataclass
class Piece:
    """Components: what they are made of, and what each becomes; in texts they are a0, b0, a1 ..."""

    sources: list
    results: list
    lines: list = field(default_factory=list)


class Combiners:
    """What a function may be: `ordered`, where any is right; `is_scan`; `branching`; `has_effects`."""

    def combine(self):
        choose, roll = self.random.choice, self.random.random
        self.is_scan, self.has_effects = roll() < 0.5, roll() < 0.3
        self.branching = roll() < 0.5
        self.ordered = self.has_effects or self.case.numerics == "reproducible"
        shape = self.combined_shape()
        pieces = [self.piece, *[self.piece] * choose([0, 0, 1, 1, 2])]
        if self.has_effects:
            pieces[-1] = choose([self.counting, self.counting, self.marking, self.looking_up])
        function, made = self.combiner(pieces, shape)
        if not made:
            return None
        sources = [source for piece in made for source in piece.sources]
        results = [self.fresh() for _ in sources]
        given = f"({', '.join(sources)})" if len(sources) > 1 else sources[0]
        axis = self.random.randrange(len(shape))
        if self.is_scan:
            call = (
                f"tl.associative_scan({given}, {axis}, {function}{choose(['', ', reverse=True'])})"
            )
        else:
            call = f"tl.reduce({given}, {axis if roll() < 0.85 else None}, {function})"
        if not self.attempt(f"{', '.join(results)} = {call}"):
            return None
        kept = [name for name in results if "pointer" not in self.dtype(name)]
        return self.kept(kept)

    def kept(self, names):
        """Results, one of which is mostly stored: much of what comes later uses none of them."""
        self.pool += names
        if self.random.random() < 0.7:
            self.store(self.random.choice(names))
        return names[0]

    def map(self):
        """A function of elements, with branches mostly."""
        self.is_scan, self.has_effects, self.ordered = False, False, True
        self.branching = self.random.random() < 0.7
        shape = self.combined_shape()
        function, pieces = self.combiner([self.piece] * self.random.choice([1, 1, 2]), shape)
        sources = [source for piece in pieces for source in piece.sources]
        try:
            others = [self.another(source, shape) for source in sources]
        except Unsuitable:  # a source that no program may compute
            return None
        results = [self.fresh() for _ in sources]
        given = ", ".join([function, *sources, *others])
        if not self.attempt(f"{', '.join(results)} = tl.map_elementwise({given})"):
            return None
        return self.kept(results)

    def another(self, source, shape):
        """A source of the same type, by what the text says of it."""
        dtype = str(eval(source, dict(self.programs[0])).dtype)
        return (self.real if is_float(dtype) else self.whole)(shape, dtype)

    def combined_shape(self):
        most = (BRANCHING if self.branching else LARGEST) // (8 if self.depth > 1 else 1)
        name = self.pick(lambda tile: tile.shape and size(tile.shape) <= most)
        if name and self.random.random() < 0.7:
            return self.shape(name)
        while size(shape := self.new_shape()) > most:
            pass
        return shape

    def combiner(self, kinds, shape):
        """(the name of a function of these pieces, the pieces)"""
        pieces, lines, results = [], [], []
        for kind in kinds:
            first = len(results)
            piece = kind(shape)
            names = {
                f"{side}{i}": f"{side}{first + i}"
                for side in "abr"
                for i in range(len(piece.sources))
            }
            lines += [line.format(**names) for line in piece.lines]
            results += [result.format(**names) for result in piece.results]
            pieces.append(piece)
        if len(pieces) == 1 and self.branching and self.random.random() < 0.3:
            return self.function("a0, b0", self.early_return()), [self.returned(shape)]
        lines.append(f"return {', '.join(results)}")
        parameters = ", ".join(f"{side}{i}" for side in "ab" for i in range(len(results)))
        return self.function(parameters, "\n".join(f"    {line}" for line in lines)), pieces

    # -- sources: tiles of that shape

    def whole(self, shape, dtype):
        if self.random.random() < 0.3:
            self.load(shape, self.random.choice(["int32", dtype]))
        name = self.pick(lambda t: t.shape == shape and not is_float(t.dtype) and t.dtype != "int1")
        text = name or f"({self.index(shape, injective=False)[0]})"
        return text if name and self.dtype(name) == dtype else f"tl.cast({text}, tl.{dtype})"

    def real(self, shape, dtype):
        """Where the order is not known, small whole numbers."""
        name = self.pick(lambda t: t.shape == shape and is_float(t.dtype) and "8" not in t.dtype)
        if name and (self.ordered or self.case.style == "whole") and self.random.random() < 0.7:
            return self.as_dtype(name, dtype)
        most = 1 if dtype == "float16" else 15
        return f"tl.cast({self.whole(shape, 'int32')} & {most}, tl.{dtype})"

    def source(self, shape):
        """(a source, its type)"""
        dtype = self.random.choice(WHOLE if self.random.random() < 0.55 else REAL)
        return (self.real if is_float(dtype) else self.whole)(shape, dtype), dtype

    # -- pieces

    def piece(self, shape):
        kinds = [self.operation] * 3 + [self.extreme, self.placed]
        if self.is_scan or self.ordered:
            kinds += [self.linear, self.last, self.segments]
        if self.branching:
            kinds += [self.choice, self.choice]
        if self.branching and not self.has_effects:
            kinds += [self.turns] + [self.leaving] * self.ordered
        return self.random.choice(kinds)(shape)

    def operation(self, shape):
        """One expression, in the function or in one that it calls."""
        choose = self.random.choice
        source, dtype = self.source(shape)
        texts = COMMUTATIVE_REAL if is_float(dtype) else COMMUTATIVE
        if self.ordered and self.random.random() < 0.6:
            texts = ANY_REAL if is_float(dtype) else ANY
        text = choose(texts)
        if dtype == "float16" and "sqrt" in text or "/ " in text and dtype == "float16":
            text = "{a} + {b}"
        if self.random.random() < 0.3:
            return Piece([source], [f"{self.helper(text.format(a='a', b='b'))}({{a0}}, {{b0}})"])
        return Piece([source], ["{r0}"], ["{r0} = " + text.format(a="{a0}", b="{b0}")])

    def placed(self, shape):
        """A number and its place, each of which is computed with; places lie in order."""
        choose = self.random.choice
        source, dtype = self.source(shape)
        place = f"tl.broadcast_to({self.along(shape, self.random.randrange(len(shape)))}, {tuple(shape)})"
        number = choose(COMMUTATIVE_REAL if is_float(dtype) else COMMUTATIVE)
        lines = ["{r0} = " + number.format(a="{a0}", b="{b0}")]
        computed = choose(["{a} ^ {b}", "{a} + {b}", choose(COMMUTATIVE)])
        lines.append("{r1} = " + computed.format(a="{a1}", b="{b1}"))
        return Piece([source, place], ["{r0}", "{r1}"], lines)

    def extreme(self, shape):
        """A value and its place."""
        source, _ = self.source(shape)
        sign, place = self.random.choice("<>"), self.random.choice(["int32", "int64", "int16"])
        sources = [source, self.whole(shape, place)]
        if self.branching:
            lines = [
                f"if {{a0}} {sign} {{b0}} or {{a0}} == {{b0}} and {{a1}} < {{b1}}:",
                "    {r0}, {r1} = {a0}, {a1}",
                "else:",
                "    {r0}, {r1} = {b0}, {b1}",
            ]
            return Piece(sources, ["{r0}", "{r1}"], lines)
        taken = f"({{a0}} {sign} {{b0}}) | (({{a0}} == {{b0}}) & ({{a1}} < {{b1}}))"
        lines = [f"{{r0}} = {taken}"]
        results = [f"tl.where({{r0}}, {{a{i}}}, {{b{i}}})" for i in range(2)]
        return Piece(sources, results, lines)

    def linear(self, shape):
        """Functions x * m + c, one after the other."""
        dtype = self.random.choice(WHOLE)
        sources = [self.whole(shape, dtype) for _ in range(2)]
        return Piece(sources, ["{a0} * {b0}", "{b0} * {a1} + {b1}"])

    def last(self, shape):
        """The last, or the first."""
        source, _ = self.source(shape)
        return Piece([source], [self.random.choice(["{a0}", "{b0}"])])

    def segments(self, shape):
        """Sums that begin again where the flag is set."""
        source, _ = self.source(shape)
        flag = f"tl.cast({self.whole(shape, 'int32')} % 3 == 1, tl.int8)"
        if self.branching:
            lines = ["{r1} = {b1}", "if {b0} == 0:", "    {r1} = {a1} + {b1}"]
        else:
            lines = ["{r1} = tl.where({b0} != 0, {b1}, {a1} + {b1})"]
        return Piece([flag, source], ["{a0} | {b0}", "{r1}"], lines)

    def choice(self, shape):
        """The greater or the lesser, by branches; where the order is known, something else."""
        source, dtype = self.source(shape)
        sign, lines = self.random.choice("<>"), []
        results = "{a0}", "{b0}"
        if self.ordered and self.random.random() < 0.7:
            results = self.random.choice(
                [("{a0} - {b0}", "{b0}"), ("{a0}", "{a0} + {b0}"), ("{b0} + {b0}", "{a0} - {b0}")]
            )
        if self.random.random() < 0.4:
            return Piece([source], [f"{results[0]} if {{a0}} {sign} {{b0}} else {results[1]}"])
        lines = [f"if {{a0}} {sign} {{b0}}:", f"    {{r0}} = {results[0]}"]
        if self.ordered and self.random.random() < 0.4:
            lines += ["elif {b0} > 3:", "    {r0} = {b0} + 1"]
        return Piece([source], ["{r0}"], [*lines, "else:", f"    {{r0}} = {results[1]}"])

    def turns(self, shape):
        """The sum, or the bits that differ, by a loop."""
        dtype, loop = self.random.choice(WHOLE), self.random.choice(["range", "tl.static_range"])
        lines = self.random.choice(
            [
                [f"for _ in {loop}(4):", "    {r0} = {r0} + {b0}", "{r0} = {r0} - {b0} * 3"],
                [f"for _ in {loop}(3):", "    {r0} = {r0} ^ {b0}"],
                [f"for i in {loop}(5):", "    if i == 3:", "        break", "    {r0} = {r0} ^ {b0}"],
                [f"for i in {loop}(3):", "    if i != 1:", "        continue", "    {r0} = {r0} + {b0}"],
            ]
        )  # fmt: skip
        return Piece([self.whole(shape, dtype)], ["{r0}"], ["{r0} = {a0}", *lines])

    def leaving(self, shape):
        """Loops whose turns the elements decide."""
        lines = self.random.choice(
            [
                ["turn = 0", "while turn < ({b0} & 3):", "    {r0} = {r0} * 3 + 1", "    turn += 1"],
                ["for i in range(4):", "    if ({b0} & 3) <= i:", "        break", "    {r0} = {r0} * 3 + i"],
                ["for i in range({b0} & 3):", "    if i == ({a0} & 1):", "        continue", "    {r0} = {r0} - i"],
                ["for i in range(3):", "    {r0} = {r0} + i", "    if {r0} > 9:", "        break", "else:",
                 "    {r0} = {r0} + {b0}"],
            ]
        )  # fmt: skip
        return Piece([self.whole(shape, "int32")], ["{r0}"], ["{r0} = {a0}", *lines])

    def early_return(self):
        return "    if a0 > b0:\n        return a0\n    return b0"

    def returned(self, shape):
        return Piece([self.source(shape)[0]], [])

    # -- pieces with effects: of two components, a number and a pointer

    def pointers(self, array, shape):
        spread = self.random.choice(["0", f"({self.index(shape, injective=False)[0]}) % 4"])
        return f"{array} + tl.full({list(shape)}, 0, tl.int32) + {spread}"

    def mask_of_pair(self):
        return self.random.choice(["", "", ", mask={a0} > {b0}", ", mask=({a0} & 1) == 1"])

    def branched(self, *lines):
        """The lines, or branches that have them."""
        choose = self.random.choice
        if not self.branching or self.random.random() < 0.2:
            return list(lines)
        test = choose(["{a0} > {b0}", "{b0} < 9", "{a0} > 2 or {b0} == 1", "not {a0} == {b0}"])
        inner = ["    " + line for line in lines]
        kind = choose(["if", "else", "both", "nested"])
        if kind == "nested":
            return [f"if {test}:", "    if {b0} > 1:", *("    " + line for line in inner)]
        if kind == "if":
            return [f"if {test}:", *inner]
        return [f"if {test}:", *(inner if kind == "both" else ["    pass"]), "else:", *inner]

    def counting(self, shape):
        """Atomic operations, whose order makes no difference."""
        choose = self.random.choice
        array = self.array("c", choose(["int32", "int64", "uint32"]))
        kind = self.atomic_kinds.setdefault(array, choose(["add", "add", "max", "min", "xor"]))
        value = choose(["1", "tl.cast({b0}, tl.int64)", "tl.cast({a0} & 7, tl.int64)"])
        value = value.replace("int64", array.removeprefix("c_"))
        line = f"tl.atomic_{kind}({{a1}} + ({{a0}} & {choose([0, 7, 63])}), {value}{self.mask_of_pair()})"
        return Piece(
            [self.whole(shape, "int32"), self.pointers(array, shape)],
            [choose(["{a0} + {b0}", "{a0} * 3 + {b0}", "{a0} - {b0}"]), choose(["{a1}", "{b1}"])],
            self.branched(line),
        )

    def marking(self, shape):
        """Stores of one value."""
        start = self.stored.get("int32", 0)
        if start + 64 > 1 << 14:
            return self.counting(shape)
        self.stored["int32"] = start + 64
        array = f"{self.array('o', 'int32')} + pid * {1 << 14} + {start}"
        line = f"tl.store({{b1}} + ({{b0}} & 31), 1{self.mask_of_pair()})"
        sources = [self.whole(shape, "int32"), self.pointers(array, shape)]
        return Piece(sources, ["{a0} ^ {b0}", "{b1}"], self.branched(line))

    def looking_up(self, shape):
        """Loads: the result depends on the order of elements."""
        array = self.array("x", "int32")
        line = "{r0} = {r0} + tl.load({a1} + ({b0} & 255))"
        lines = ["{r0} = {a0}", *self.branched(line)]
        if self.branching and self.random.random() < 0.4:  # a condition that reads
            table = "tl.load({b1} + ({a0} & 63))"
            word = self.random.choice(["and", "or"])
            lines += [f"if {{b0}} > 2 {word} {table} > 3:", "    {r0} = {r0} - 1"]
        sources = [self.whole(shape, "int32"), self.pointers(array, shape)]
        return Piece(sources, ["{r0}", "{a1}"], lines)
