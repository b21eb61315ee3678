"""The statements of random kernels but for matrix products; `random_kernels.Builder` is made of them.

Each method adds statements and gives the name of what they define, or None where nothing was added.
"""

from error_bounds import is_float

EXTENTS = [1, 2, 3, 4, 5, 7, 8, 16, 16, 17, 32, 33, 48, 64, 96, 100, 128]
LONG = [128, 256, 257, 500, 512, 768, 1000, 1024, 2048, 4096]
LARGEST = 4096  # elements of a tile; 1024 for each warp, or compiling takes seconds
INTEGERS = ["int32", "int32", "int64", "int16", "int8", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float32", "float32", "float16", "bfloat16", "float64"]
NARROW = ["float8e4nv", "float8e5"]
BETWEEN = [*NARROW, "float8e4b15"]  # in casts only: there is no array of it in NumPy
SAFE = {  # arguments into the domain
    "log": "tl.abs({}) + 0.5",
    "log2": "tl.abs({}) + 0.5",
    "sqrt": "tl.abs({})",
    "sqrt_rn": "tl.abs({})",
    "rsqrt": "tl.abs({}) + 0.25",
    "exp": "{} * 0.125",
    "exp2": "{} * 0.25",
}
FUNCTIONS = [
    "exp",
    "exp2",
    "log",
    "log2",
    "sin",
    "cos",
    "sqrt",
    "rsqrt",
    "tanh",
    "erf",
    "sigmoid",
    "floor",
    "ceil",
]
COMBINERS = [
    "a ^ b",
    "a + b",
    "a * b",
    "a & b",
    "tl.maximum(a, b)",
    "tl.where(a > b, a, b)",
    "a + b + a * b",
]


def size(shape):
    product = 1
    for extent in shape:
        product *= extent
    return product


def is_power_of_two(number):
    return number & (number - 1) == 0


class Statements:
    PROFILES = {
        "elementwise": dict(load=2, unary=4, binary=5, compare=2, convert=4, store=1, repeat=1),
        "reduce": dict(load=2, binary=3, unary=2, reduce=5, scan=2, convert=1, store=1, repeat=1),
        "memory": dict(load=4, repeat=4, binary=2, across=2, reduce=1, convert=2, rearrange=2, store=2),
        "scan": dict(load=2, binary=3, scan=5, reduce=1, order=2, store=1),
        "shape": dict(load=2, binary=3, across=2, rearrange=6, reduce=1, store=1, convert=1),
        "dot": dict(load=1, dot=4, binary=2, unary=1, rearrange=1, reduce=1, store=1),
        "scaled": dict(dot_scaled=4, load=1, binary=2, unary=1, rearrange=1, reduce=1, store=1),
        "libdevice": dict(load=2, libdevice=7, binary=2, convert=1, reduce=1, store=1),
        "matmul": dict(matmul=3, dot=1, binary=2, reduce=1, convert=1, unary=1, store=1),
        "attention": dict(attention=3, binary=1, reduce=1),
        "control": dict(load=3, binary=4, unary=1, loop=4, branch=2, reduce=1, scalar=2, store=1),
        "flow": dict(load=2, binary=3, loop=8, branch=3, reduce=1, scalar=3, store=2, atomic=1),
        "blocks": dict(
            block_load=5, block_store=1, block_gather=1, load=1, binary=3, across=1, reduce=1, dot=1, loop=1,
            order=1, store=1,
        ),
        "atomic": dict(load=2, binary=2, atomic=5, convert=1, reduce=1),
        "mixed": dict(
            load=3, binary=5, unary=3, compare=2, convert=2, rearrange=3, reduce=2, scan=1, dot=1,
            loop=1, branch=1, atomic=1, order=1, store=1, scalar=1, repeat=1, across=1, block_load=1,
        ),
    }  # fmt: skip

    def statements(self, profile, count):
        kinds = dict(self.PROFILES[profile])
        if self.depth > 2:
            for kind in ("loop", "branch", "matmul", "attention"):
                kinds.pop(kind, None)
        for _ in range(count):
            kind = self.random.choices(list(kinds), list(kinds.values()))[0]
            getattr(self, kind)()

    def literal(self, dtype):
        if not is_float(dtype):
            return str(self.random.randint(0, 7))
        return self.random.choice(["0.5", "2.0", "1.0", "-1.5", "0.25", "3.0"])

    # -- shapes, addresses, masks

    def new_shape(self):
        while True:
            if self.random.random() < 0.15:
                shape = (self.random.choice(LONG),)
            else:
                rank = self.random.choice([1, 1, 2, 2, 2, 3])
                shape = tuple(self.random.choice(EXTENTS) for _ in range(rank))
            if size(shape) <= min(LARGEST, 1024 * self.case.options["num_warps"]):
                return shape

    def tile(self, test=lambda tile: True):
        return self.pick(lambda tile: tile.shape and test(tile)) or self.load()

    @staticmethod
    def along(shape, d):
        where = ", ".join(":" if e == d else "None" for e in range(len(shape)))
        return f"tl.arange(0, {shape[d]})" + (f"[{where}]" if len(shape) > 1 else "")

    def index(self, shape, injective):
        """(an int32 expression of that shape, all different where `injective`; the greatest value + 1)"""
        choose = self.random.choice
        kind = choose(
            ["rows", "rows", "rows", "rows", "columns", "reverse", "strided", "leading", "permuted"]
        )
        order = list(range(len(shape)))
        if kind == "columns":
            self.random.shuffle(order)
        strides, stride = {}, choose([2, 3]) if kind == "strided" else 1
        for d in reversed(order):
            strides[d] = stride
            stride *= shape[d]
        leading = self.case.scalars["ld"]
        if kind == "leading" and len(shape) == 2 and shape[1] <= leading:
            text = f"{self.along(shape, 0)} * ld + {self.along(shape, 1)}"
            return text, shape[0] * leading
        terms = []
        for d in range(len(shape)):
            factor = f" * {strides[d]}" if strides[d] != 1 else ""
            terms.append(self.along(shape, d) + factor)
        text = " + ".join(terms)
        if kind == "reverse":
            text = f"{stride - 1} - ({text})"
        if kind == "permuted" and not injective:
            return f"(({text}) * {choose([3, 5, 77])}) % 8192", 8192
        if not injective and self.random.random() < 0.25:  # an index that wraps
            return self.wrapped_index(text)
        return text, stride

    def wrapped_index(self, text):
        """(an index that starts again somewhere, as bits of a number or the rest of a division do; its limit)"""
        choose = self.random.choice
        kind = choose(["bytes", "negative", "negative", "bits", "around"])
        if kind == "bytes":
            return self.wrapped(f"{text} + {choose([0, 1, 128, 250])}"), 256
        if kind == "negative":  # truncating, the rest of a negative number is negative
            period = choose([3, 16, 48, 64, 100, 256])
            start = choose(["- 1024", "- 16 * n", "- k * 64", "- n", "+ k", "- 5"])
            rest = choose(["%", "%", "//"])
            shift = period if rest == "%" else 2048 // period + 1
            return f"({text} {start}) {rest} {period} + {shift}", 1 << 13
        if kind == "bits":  # some bits, as a number with a sign or without
            width = choose([4, 6, 8])
            up = f"({text} + {choose([0, 7, 64])})"
            if choose([True, False]):
                return f"(({up} << {32 - width}) >> {32 - width}) + {1 << width - 1}", 1 << width
            return (
                f"tl.cast((tl.cast({up}, tl.uint32) << {32 - width}) >> {32 - width}, tl.int32)",
                1 << width,
            )
        # Beyond the greatest number and back, in one type or two.
        top = choose([2147483647, 2147483632, 2147480000])
        if choose([True, False]):
            return f"({text} + {top}) - {top}", 1 << 13
        return f"(({text} + {top}) & {choose([63, 255, 1023])})", 1024

    def wrapping_mask(self, shape):
        """A comparison of sums that wrap, or come close to it."""
        choose = self.random.choice
        d = self.random.randrange(len(shape))
        i, operator = self.along(shape, d), choose(["<", "<=", ">", ">=", "==", "!="])
        bound = choose(["n", "k", str(self.random.randint(0, shape[d]))])
        top = choose([2147483647, 2147483640, 2147483647 - shape[d] // 2, 255, -2147483648])
        j = self.along(shape, self.random.randrange(len(shape)))
        return choose(
            [
                f"({i} + {top} {operator} {j} + {choose([255, 0, 2147483647])})",
                f"({i} + {top} {operator} {bound})",
                f"(tl.cast({i} + {top}, tl.int64) {operator} tl.cast({bound}, tl.int64))",
                f"(({i} + {top}) // {choose([4, 16, 3])} {operator} {choose([0, -134217728, 134217727])})",
                f"(({i} - {choose([5, 16, 64])}) % {choose([3, 8, 48])} {operator} {choose([0, -1, 2])})",
                f"(tl.minimum({i} + {top}, {i}) {operator} {bound})",
            ]
        )

    def wrapped(self, text):
        """Of an int32 expression what bytes keep, and bytes compute: 0 to 255."""
        choose = self.random.choice
        kind = choose(["tl.uint8", "tl.uint8", "tl.int8"])
        text = f"tl.cast({text}, {kind})"
        if choose([True, False]):
            text = f"({text} {choose(['+', '*', '-'])} tl.cast({choose([1, 3, 100])}, {kind}))"
        return f"tl.cast({text}, tl.int32)" + (" + 128" if kind == "tl.int8" else "")

    def unsigned_mask(self, shape, bound):
        """0 <= i < bound as it is written with one comparison, and its likes at the ends of the type."""
        choose = self.random.choice
        i = self.along(shape, self.random.randrange(len(shape)))
        kind = choose(["tl.uint32", "tl.uint64"])
        number = f"tl.cast({i} - {choose([0, 1, 3, 16])}, {kind})"
        if choose([True, False]):
            number = f"({number} + tl.cast({choose([0, 5, 2**31 - 7])}, {kind}))"
        return f"({number} {choose(['<', '<=', '>', '>='])} tl.cast({bound}, {kind}))"

    def mask(self, shape):
        kind = self.random.choice(
            ["none", "none", "none", "prefix", "row", "odd", "value", "both", "scalar", "unsigned",
             "wrapping"]
        )  # fmt: skip
        if kind == "none" or not shape:
            return None
        d = self.random.randrange(len(shape))
        bound = self.random.choice(["n", "k", str(self.random.randint(0, shape[d]))])
        prefix = f"({self.along(shape, d)} < {bound})"
        if kind == "row":
            return f"({self.along(shape, 0)} < {bound})"
        if kind == "unsigned":
            return self.unsigned_mask(shape, bound)
        if kind == "wrapping":
            return self.wrapping_mask(shape)
        if kind == "odd":
            return f"(({self.along(shape, d)} * 7) % 3 != 1)"
        if kind == "scalar":
            return f"({prefix} & (n > {self.random.randint(0, 40)}))"
        if kind == "both":
            return f"({prefix} & ({self.along(shape, len(shape) - 1)} >= 1))"
        if kind == "value":
            value = self.pick(lambda tile: tile.shape == shape and tile.dtype in ("int32", "int1"))
            if value:
                return value if self.dtype(value) == "int1" else f"({value} > 3)"
        return prefix

    # -- memory

    def load(self, shape=None, dtype=None):
        choose, roll = self.random.choice, self.random.random
        shape = shape or (self.base_shape if roll() < 0.6 else self.new_shape())
        dtype = dtype or choose(FLOATS + INTEGERS + (NARROW if roll() < 0.5 else []))
        array = self.array("x", dtype)
        index, _ = self.index(shape, injective=False)
        other = self.pick(lambda tile: tile.shape == shape and tile.dtype == "int32")
        if other and roll() < 0.1:
            index = f"({other} & 2047)"
        base = choose(
            [
                "",
                "",
                "pid * 1024 + ",
                "pid * 1000 + ",
                "k + ",
                "n + ",
                "tl.multiple_of(k * 16, 16) + ",
            ]
        )
        arguments = f"{array} + {base}({index})"
        if mask := self.mask(shape):
            if roll() < 0.2:
                mask = f"{mask} | {self.mask(shape) or mask}"
            arguments += f", mask={mask}{choose(['', ', other=0', ', other=1', ', other=3'])}"
        if roll() < 0.1:
            arguments += ', cache_modifier="%s"' % choose([".ca", ".cg", ".cs"])
        if roll() < 0.1:
            arguments += ', eviction_policy="%s"' % choose(["evict_first", "evict_last"])
        name = self.define(f"tl.load({arguments})")
        if name and self.dtype(name) in NARROW:
            self.pool.pop()
            return self.define(f"tl.cast({name}, tl.{choose(['float32', 'float16'])})")
        return name or self.define(f"tl.load({array} + {self.index_of_rows(shape)})")

    def index_of_rows(self, shape):
        stride, terms = 1, []
        for d in reversed(range(len(shape))):
            terms.append(f"{self.along(shape, d)} * {stride}")
            stride *= shape[d]
        return "(" + " + ".join(terms) + ")"

    def store(self, name=None):
        name = name or self.tile()
        if not name:
            return None
        shape, dtype = self.shape(name), self.dtype(name)
        if dtype == "int1":
            name, dtype = f"tl.cast({name}, tl.int8)", "int8"
        elif self.random.random() < 0.15:
            dtype = self.random.choice(FLOATS + INTEGERS + NARROW)
            name = f"tl.cast({name}, tl.{dtype})"
        index, extent = self.index(shape, injective=True) if shape else ("0", 1)
        start = self.stored.get(dtype, 0) + self.random.choice([0, 0, 0, 1, 16, 5])
        if start + extent > 1 << 14:
            return None
        array = self.array("o", dtype)
        mask = self.mask(shape)
        hint = self.random.choice(
            ["", "", "", "", ', cache_modifier=".cs"', ', eviction_policy="evict_first"']
        )
        text = f"tl.store({array} + pid * {1 << 14} + {start} + ({index}), {name}"
        text += (f", mask={mask}" if mask else "") + hint + ")"
        if not self.attempt(text):
            return None
        self.stored[dtype] = (start + extent + 15) // 16 * 16
        return name

    def repeat(self):
        """Reads addresses that come several times, and then writes there: what was read stays."""
        choose, roll = self.random.choice, self.random.random
        shape = choose([self.base_shape, self.new_shape()])
        dtype = choose(["int32", "int32", "int64", "int16", "uint8", "float32", "float16"])
        index, _ = self.index(shape, injective=False)
        extent = choose([1, 2, 3, 10, 32, 100])
        start = self.stored.get(dtype, 0)
        if start + extent > 1 << 14:
            return None
        array = self.array("o", dtype)
        pointer = f"{array} + pid * {1 << 14} + {start} + (({index}) % {extent})"
        # On a GPU threads wait for each other only if told to, also before a loop comes round again.
        barrier = ["tl.debug_barrier()"] * (roll() < 0.6)
        if barrier:
            self.attempt(*barrier)
        name = self.define(f"tl.load({pointer})")
        if not name:
            return None
        mask = self.mask(shape)
        store = (
            f"tl.store({pointer}, {name} + {choose([1, 3, 7])}{f', mask={mask}' if mask else ''})"
        )
        if self.attempt(*barrier, store):
            self.case.needs_order |= not barrier
        self.stored[dtype] = (start + extent + 15) // 16 * 16
        return name

    def scalar(self):
        choose = self.random.choice
        text = choose(["k + 1", "n - k", "pid * 3 + n", "load", "load"])
        if text != "load":
            return self.define(text)
        return self.define(
            f"tl.load({self.array('x', choose(['int32', 'float32', 'int64']))} + pid + {choose([0, 3, 9])})"
        )

    def atomic(self):
        choose, roll = self.random.choice, self.random.random
        name = self.tile(lambda tile: tile.dtype != "int1" and len(tile.shape) < 3)
        if not name:
            return None
        shape, dtype = self.shape(name), self.dtype(name)
        if dtype not in (
            "int32",
            "int64",
            "uint32",
            "uint64",
            "float32",
            "float64",
            "float16",
            "bfloat16",
        ):
            dtype = choose(["int32", "float32"])
            name = self.define(f"tl.cast({name}, tl.{dtype})")
            if not name:
                return None
        if size(shape) > 1024:
            return None
        hints = choose(["", "", ', sem="relaxed"', ', sem="release"']) + choose(
            ["", "", ', scope="gpu"', ', scope="sys"']
        )
        kinds = ["add", "add", "max", "min"]
        if not is_float(dtype):
            kinds += ["and", "or", "xor"]
        elif dtype in ("float16", "bfloat16"):
            kinds = ["add"]
        array = self.array("c", dtype)
        kind = self.atomic_kinds.setdefault(array, choose(kinds))
        mask = self.mask(shape)
        masked = f", mask={mask}" if mask else ""
        if roll() < 0.6:  # many elements at one address, from every program
            index, _ = self.index(shape, injective=False)
            text = f"tl.atomic_{kind}({array} + (({index}) % {choose([1, 3, 16, 100, 256])}), {name}{masked}{hints})"
            return name if self.attempt(text) else None
        # Addresses of one's own: what was there before is known, too.
        index, extent = self.index(shape, injective=True)
        start = self.stored.get(dtype, 0)
        if start + extent > 1 << 14:
            return None
        array = self.array("o", dtype)
        pointer = f"{array} + pid * {1 << 14} + {start} + ({index})"
        if not is_float(dtype) and roll() < 0.2:
            text = f"tl.atomic_cas({pointer}, {name}, {name} + 1{hints})"
        else:
            kind = choose(kinds + (["xchg"] if dtype[-2:] in ("32", "64") else []))
            text = f"tl.atomic_{kind}({pointer}, {name}{masked}{hints})"
        self.stored[dtype] = start + extent
        if masked:
            return name if self.attempt(text) else None
        return self.define(text)

    # -- element by element

    def unary(self):
        name = self.tile(lambda tile: tile.dtype != "int1")
        if not name:
            return None
        dtype = self.dtype(name)
        if not is_float(dtype):
            kinds = [
                f"{name} << {self.random.randint(0, 7)}",
                f"{name} >> {self.random.randint(0, 7)}",
                f"~{name}",
            ]
            kinds += [
                f"{name} // {self.random.randint(1, 9)}",
                f"{name} % {self.random.randint(1, 9)}",
            ]
            if not dtype.startswith("u"):
                kinds += [f"-{name}", f"tl.abs({name})"]
            return self.define(self.random.choice(kinds))
        if dtype not in ("float32", "float64") or self.random.random() < 0.25:
            return self.define(
                self.random.choice(
                    [f"-{name}", f"tl.abs({name})", f"{name} * 0.5", f"{name} + {name}"]
                )
            )
        function = self.random.choice(FUNCTIONS + (["sqrt_rn"] if dtype == "float32" else []))
        argument = name
        if function in SAFE and self.random.random() < 0.8:
            argument = SAFE[function].format(name)
        return self.define(f"tl.{function}({argument})")

    def as_dtype(self, name, dtype):
        return name if self.dtype(name) == dtype else f"tl.cast({name}, tl.{dtype})"

    def partner(self, name):
        """Text of a value that may be combined with `name`."""
        tile = self.of(name)
        roll = self.random.random()
        if roll < 0.15:
            return self.literal(tile.dtype)
        other = None
        if roll < 0.25:
            other = self.pick(lambda o: o.shape == () and o.dtype != "int1")
        if roll > 0.8 and len(tile.shape) > 1:  # broadcast along one dimension
            axis = self.random.randrange(len(tile.shape))
            less = tile.shape[:axis] + tile.shape[axis + 1 :]
            if found := self.pick(lambda o: o.shape == less and o.dtype != "int1"):
                return f"tl.expand_dims({self.as_dtype(found, tile.dtype)}, {axis})"
        other = other or self.pick(lambda o: o.shape == tile.shape and o.dtype == tile.dtype)
        other = other or self.pick(lambda o: o.shape == tile.shape and o.dtype != "int1")
        other = (
            other or self.load(tile.shape, tile.dtype if tile.dtype not in NARROW else None) or name
        )
        return self.as_dtype(other, tile.dtype)

    def binary(self):
        name = self.tile(lambda tile: tile.dtype != "int1")
        if not name:
            return None
        dtype = self.dtype(name)
        other = self.partner(name)
        kinds = [
            "{} + {}",
            "{} - {}",
            "{} * {}",
            "tl.maximum({}, {})",
            "tl.minimum({}, {})",
            "where",
        ]
        if is_float(dtype):
            kinds += (
                ["{} + {}"] if dtype.startswith("float8") else ["tl.fma({0}, {0}, {1})", "{} + {}"]
            )
            if dtype in ("float32", "float64"):
                kinds += ["{} / (tl.abs({}) + 0.5)"] * 2 if "." not in other else ["{} / {}"]
            if dtype == "float32" and "tl" not in other and "." not in other:
                kinds += ["tl.div_rn({}, tl.abs({}) + 0.5)", "tl.fdiv({}, tl.abs({}) + 0.5)"]
        else:
            kinds += [
                "{} & {}",
                "{} | {}",
                "{} ^ {}",
                "{} // (({} & 15) + 1)",
                "{} % (({} & 15) + 1)",
            ]
            kinds += ["{} << ({} & 7)", "{} >> ({} & 7)"]
            if dtype in ("int32", "uint32", "uint64", "int64") and not other.isdigit():
                kinds += ["tl.umulhi({}, {})"] if dtype.startswith("u") else []
        kind = self.random.choice(kinds)
        if other.lstrip("-").replace(".", "").isdigit() and (
            "tl." in kind or "& " in kind or kind == "where"
        ):
            kind = "{} + {}"  # a literal as an argument of a function has a type of its own
        if kind == "where":
            condition = self.condition(self.shape(name))
            return self.define(f"tl.where({condition}, {name}, {other})") if condition else None
        text = kind.format(name, other)
        # Those of bfloat16 are float32.
        return self.define(
            f"tl.cast({text}, tl.{dtype})" if "imum(" in text and dtype == "bfloat16" else text
        )

    def across(self):
        """A tile and itself at another place of one nest: rows against columns, or the transpose."""

        def fits(tile):
            square = len(tile.shape) == 2 and tile.shape[0] == tile.shape[1]
            return tile.dtype != "int1" and (square or len(tile.shape) == 1) and tile.shape[0] <= 64

        extent = self.random.choice([e for e in EXTENTS if 1 < e <= 64])
        name = self.pick(fits) if self.random.random() < 0.5 else None
        name = name or self.load((extent,) * self.random.choice([1, 2]))
        if not name or not fits(self.of(name)):
            return None
        kinds = ["{} + {}"] if self.dtype(name) in NARROW else ["{} + {}", "{} - {}", "{} * {}"]
        if len(self.shape(name)) == 1:
            sides = f"tl.expand_dims({name}, 1)", f"tl.expand_dims({name}, 0)"
        else:
            sides = name, f"tl.trans({name}, 1, 0)"
        return self.define(self.random.choice(kinds).format(*sides))

    def condition(self, shape):
        """Text of an int1 tile."""
        found = self.pick(lambda tile: tile.shape == shape and tile.dtype == "int1")
        if found and self.random.random() < 0.5:
            return found
        return self.mask(shape) or f"({self.along(shape, 0)} % 3 == 1)"

    def compare(self):
        name = self.tile(lambda tile: tile.dtype != "int1")
        if not name:
            return None
        operator = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
        made = self.define(f"{name} {operator} {self.partner(name)}")
        if made and self.random.random() < 0.4:
            shape = self.shape(made)
            if other := self.pick(lambda tile: tile.shape == shape and tile.dtype == "int1"):
                return self.define(f"{made} {self.random.choice('&|^')} {other}")
        return made

    def convert(self):
        name = self.tile()
        if not name:
            return None
        dtype = self.dtype(name)
        roll = self.random.random()
        pairs = {"int32": ["float32", "uint32"], "int16": ["uint16"], "int8": ["uint8"], "uint32": ["int32"],
                 "float32": ["int32", "uint32"], "float16": ["int16", "uint16"], "bfloat16": ["int16"],
                 "float64": ["int64"], "int64": ["uint64"]}  # fmt: skip
        if roll < 0.15 and dtype in pairs:
            return self.define(
                f"tl.cast({name}, tl.{self.random.choice(pairs[dtype])}, bitcast=True)"
            )
        if roll < 0.45 and is_float(dtype):  # there and back, beyond the greatest number too
            narrow = self.random.choice(BETWEEN)
            if self.random.random() < 0.5:
                name = (
                    f"({name} * {self.random.choice(['100.0', '1000.0', '40000.0', '-60000.0'])})"
                )
            elif self.random.random() < 0.3 and (condition := self.condition(self.shape(name))):
                name = f"tl.where({condition}, {self.random.choice(['', '-'])}float('inf'), {name})"
            wide = self.random.choice([dtype, "float32"])
            if narrow == "float8e4b15" and roll < 0.22:
                kind = self.random.choice(["uint8", "int8"])
                return self.define(
                    f"tl.cast(tl.cast({name}, tl.{narrow}), tl.{kind}, bitcast=True)"
                )
            return self.define(f"tl.cast(tl.cast({name}, tl.{narrow}), tl.{wide})")
        if roll < 0.4 and dtype in ("uint8", "int8"):
            wide = self.random.choice(["float32", "float16", "float8e5"])
            text = f"tl.cast(tl.cast({name}, tl.float8e4b15, bitcast=True), tl.{wide})"
            return self.define(f"tl.cast({text}, tl.float32)" if wide == "float8e5" else text)
        if roll < 0.25 and not is_float(dtype) and dtype != "int1":
            narrow = self.random.choice(BETWEEN)
            return self.define(f"tl.cast(tl.cast({name}, tl.{narrow}), tl.float32)")
        return self.define(f"tl.cast({name}, tl.{self.random.choice(FLOATS + INTEGERS)})")

    # -- shapes

    def rearrange(self):
        choose = self.random.choice
        name = self.tile()
        if not name:
            return None
        shape = self.shape(name)
        rank = len(shape)
        axis = self.random.randrange(rank)
        kind = choose(["trans", "trans", "reshape", "reshape", "expand", "broadcast", "flip", "join", "split",
                       "interleave", "cat", "gather", "gather", "slice"])  # fmt: skip
        if kind == "trans" and rank > 1:
            dims = list(range(rank))
            self.random.shuffle(dims)
            return self.define(f"tl.trans({name}, {', '.join(map(str, dims))})")
        if kind == "reshape":
            count = size(shape)
            shapes = [(count,)] + [
                (count // f, f) for f in (1, 2, 3, 4, 7, 8, 16, 17, 32) if count % f == 0
            ]
            shapes += [
                (a, count // a // b, b)
                for a in (1, 2, 3, 4)
                for b in (1, 2, 5, 8)
                if count % (a * b) == 0
            ]
            if size(self.base_shape) == count:
                shapes += [self.base_shape] * 3
            return self.define(f"tl.reshape({name}, {list(choose(shapes))})")
        if kind == "expand" and rank < 3:
            return self.define(f"tl.expand_dims({name}, {self.random.randrange(rank + 1)})")
        if kind == "broadcast" and 1 in shape:
            new = tuple(choose([3, 5, 16, 17, 64]) if e == 1 else e for e in shape)
            if size(new) <= LARGEST:
                return self.define(f"tl.broadcast_to({name}, {list(new)})")
        if kind == "flip" and is_power_of_two(shape[axis]):
            return self.define(f"tl.flip({name}, {axis})")
        if kind in ("join", "interleave", "cat") and 2 * size(shape) <= LARGEST:
            dtype = self.dtype(name)
            other = self.pick(lambda tile: tile.shape == shape and tile.dtype == dtype) or name
            if kind == "join" and rank < 3:
                return self.define(f"tl.join({name}, {other})")
            if kind == "interleave":
                return self.define(f"tl.interleave({name}, {other})")
            if kind == "cat":
                return self.cat(name, axis) or self.define(f"tl.cat({name}, {other}, dim={axis})")
        if kind == "split":
            if found := self.pick(lambda tile: len(tile.shape) > 1 and tile.shape[-1] == 2):
                first, second = self.fresh(), self.fresh()
                if self.attempt(f"{first}, {second} = tl.split({found})"):
                    self.pool += [first, second]
                    return second
        if kind == "slice":
            return self.define(f"{name}[{', '.join(map(self.part, shape))}]")
        if kind == "gather":
            other = self.pick(
                lambda tile: tile.shape == shape and tile.dtype in ("int32", "uint32")
            )
            if other or rank < 3:
                text = (
                    f"tl.cast({other} & 1023, tl.int32)" if other else self.index(shape, False)[0]
                )
                index = f"({text}) % {shape[axis]}"
                kinds = ["tl.int64", "tl.uint32", "tl.int16", "tl.uint16"]
                kinds += ["tl.uint8"] * (shape[axis] <= 256)
                if self.random.random() < 0.4:
                    index = f"tl.cast({index}, {choose(kinds)})"
                return self.define(f"tl.gather({name}, {index}, {axis})")
        return None

    def cat(self, name, axis):
        """Of tiles whose extents along the axis differ, in either order."""
        shape, dtype = self.shape(name), self.dtype(name)
        around = shape[:axis] + shape[axis + 1 :]

        def fits(tile):
            return (
                len(tile.shape) == len(shape)
                and tile.dtype == dtype
                and tile.shape[:axis] + tile.shape[axis + 1 :] == around
                and size(around) * (tile.shape[axis] + shape[axis]) <= LARGEST
            )

        other = self.pick(lambda tile: fits(tile) and tile.shape[axis] != shape[axis])
        if not other:
            extent = self.random.choice([1, 2, 3, 5, 8, 16, 33])
            if size(around) * (extent + shape[axis]) > LARGEST or dtype not in FLOATS + INTEGERS:
                return None
            other = self.load((*shape[:axis], extent, *shape[axis + 1 :]), dtype)
            if not other or self.dtype(other) != dtype:
                return None
        parts = [name, other]
        self.random.shuffle(parts)
        return self.define(f"tl.cat({', '.join(parts)}, dim={axis})")

    def part(self, extent):
        """The text of an index of a dimension: mostly a slice, which is not empty."""
        choose, roll = self.random.choice, self.random.random()
        first, last = sorted(self.random.randrange(extent) for _ in range(2))
        if roll < 0.15:
            return str(choose([first, last - extent]))
        if roll < 0.4:
            return ":"
        step = choose(["", "", f":{choose([1, 2, 3])}"])
        return choose(
            [f"{first}:{last + 1}{step}", f"{first - extent}:{step}", "::-1", f":{last + 1}"]
        )

    # -- along a dimension

    def reduce(self):
        choose = self.random.choice
        name = self.tile(lambda tile: tile.dtype != "int1")
        if not name:
            return None
        dtype, shape = self.dtype(name), self.shape(name)
        axis = choose([*range(len(shape)), None])
        kind = choose(["sum", "sum", "max", "min", "xor_sum", "argmax", "argmin", "own"])
        if is_float(dtype):
            kind = {"xor_sum": "sum", "own": "max"}.get(kind, kind)
        if kind in ("argmax", "argmin"):
            return self.define(f"tl.{kind}({name}, {axis or 0})")
        if kind == "own":
            wide = name if dtype[-2:] in ("32", "64") else f"tl.cast({name}, tl.int32)"
            return self.define(
                f"tl.reduce({wide}, {axis or 0}, {self.helper(choose(COMBINERS[:6]))})"
            )
        keep = (
            ", keep_dims=True"
            if kind != "xor_sum" and axis is not None and self.random.random() < 0.3
            else ""
        )
        result = dtype if dtype[-2:] in ("32", "64") or is_float(dtype) else "int32"
        text = name if result == dtype else f"tl.cast({name}, tl.{result})"
        return self.define(f"tl.cast(tl.{kind}({text}, axis={axis}{keep}), tl.{result})")

    def scan(self):
        choose = self.random.choice
        name = self.tile(lambda tile: tile.dtype != "int1")
        if not name:
            return None
        dtype, shape = self.dtype(name), self.shape(name)
        axis = self.random.randrange(len(shape))
        reverse = choose(["", ", reverse=True"])
        if dtype[-2:] not in ("32", "64") and not is_float(dtype):
            name, dtype = f"tl.cast({name}, tl.int32)", "int32"
        if dtype in ("float16", "bfloat16"):
            name, dtype = f"tl.cast({name}, tl.float32)", "float32"
        kind = choose(["cumsum", "cumsum", "cumprod", "own"])
        if kind == "own" and not is_float(dtype):
            return self.define(
                f"tl.associative_scan({name}, {axis}, {self.helper(choose(COMBINERS))}{reverse})"
            )
        if kind == "cumprod" and is_float(dtype):
            name = (
                f"tl.where(tl.abs({name}) < 2, {name}, {name} * 0 + 1.0)"
                if "tl" not in name
                else name
            )
        return self.define(f"tl.{'cumsum' if kind == 'own' else kind}({name}, {axis}{reverse})")

    def order(self):
        name = self.tile(lambda tile: tile.dtype not in ("int1", "bfloat16"))
        if not name:
            return None
        choose, shape, dtype = self.random.choice, self.shape(name), self.dtype(name)
        if not is_float(dtype) and self.random.random() < 0.4:
            bins = choose([1, 3, 8, 16, 64, 200])
            mask = self.pick(lambda tile: tile.shape == shape and tile.dtype == "int1")
            if not mask and len(shape) < 4:  # positions, which threads compute for themselves
                mask = f"({self.index(shape, False)[0]}) < {choose([1, 17, 100])}"
            mask = f", mask={mask}" if mask and self.random.random() < 0.6 else ""
            text = choose([name, f"{name} & {choose([7, 31, 127])}"])
            return self.define(f"tl.histogram({text}, {bins}{mask})")
        if size(shape) > 1024:
            return None
        axis = self.random.randrange(len(shape))
        descending = choose(["", f", descending={choose([True, False])}"])
        if self.random.random() < 0.4:
            return self.define(
                f"tl.topk({name}, {self.random.randint(1, shape[axis])}, dim={axis}{descending})"
            )
        return self.define(f"tl.sort({name}, dim={axis}{descending})")

    # -- control flow

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
            if "continue" in words:
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
