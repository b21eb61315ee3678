"""Statements of random kernels that compute element by element. A part of `random_kernels.py`."""

from error_bounds import is_float
from random_addresses import EXTENTS
from random_memory import FLOATS, INTEGERS, NARROW

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


class Elements:
    def literal(self, dtype):
        if not is_float(dtype):
            return str(self.random.randint(0, 7))
        return self.random.choice(["0.5", "2.0", "1.0", "-1.5", "0.25", "3.0"])

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
                self.random.choice(["{} // ({} & 3)", "{} % ({} & 3)"]),  # by zero, too
            ]
            if not dtype.startswith("u"):
                kinds.append(self.random.choice(["{} // ({} | -4)", "{} % ({} | -4)"]))
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
