"""Random kernels as Python source.

One text serves both sides: `st.jit` compiles it, and Python itself runs it with NumPy's `tl`
(`numpy_language.py`). All numbers are whole and small enough to be exact in their type, floating
point included, so results are compared for equality: `Value.bound` is the greatest magnitude.

Programs load what they stored. On the CPU that is the order of one thread; where a program has many,
`has_threads` sets a barrier on either side of every store.
"""

import random
from dataclasses import dataclass

EXACT = {"float16": 2048, "bfloat16": 256, "float32": 2**24, "float64": 2**50}
INTEGERS = ["int32", "int32", "int64", "int16", "int8", "uint8"]
FLOATS = ["float32", "float32", "float64", "float16", "bfloat16"]
EXTENTS = [1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 64, 100]
REGION = 4096  # elements of each array that belong to one program
ARRAYS = {
    "a32": "float32",
    "b32": "float32",
    "a64": "float64",
    "a16": "float16",
    "abf": "bfloat16",
    "i32": "int32",
    "j32": "int32",
    "i64": "int64",
    "i16": "int16",
    "i8": "int8",
    "u8": "uint8",
}
LOADED_BOUND = 8  # arrays begin with numbers below


@dataclass
class Value:
    name: str
    shape: tuple
    dtype: str
    bound: float  # floats only


def size(shape):
    product = 1
    for extent in shape:
        product *= extent
    return product


class Generator:
    def __init__(self, seed, budget=None, has_threads=False):
        self.random = random.Random(seed)
        self.lines = []
        self.pool = []
        self.depth = 1
        self.next = 0
        self.has_threads = has_threads
        self.budget = budget or self.random.choice([4, 8, 15, 30])
        self.base_shape = self.new_shape()

    # -- text

    def emit(self, text):
        self.lines.append("    " * self.depth + text)

    def fresh(self):
        self.next += 1
        return f"v{self.next}"

    def define(self, text, shape, dtype, bound=0):
        name = self.fresh()
        if dtype in EXACT and bound > EXACT[dtype] // 4:
            limit = EXACT[dtype] // 16
            self.emit(f"{name} = tl.cast({text}, tl.{dtype})")
            self.emit(
                f"{name} = tl.cast(tl.where(tl.abs({name}) < {limit}, {name}, {name} * 0), tl.{dtype})"
            )
            assert bound <= EXACT[dtype]
            bound = limit
        else:
            self.emit(f"{name} = tl.cast({text}, tl.{dtype})")
        value = Value(name, tuple(shape), dtype, bound)
        self.pool.append(value)
        return value

    # -- choices

    def new_shape(self):
        while True:
            shape = tuple(
                self.random.choice(EXTENTS) for _ in range(self.random.choice([1, 1, 2, 2, 2, 3]))
            )
            if size(shape) <= 2000:
                return shape

    def pick(self, test=lambda v: True):
        found = [v for v in self.pool if test(v)]
        if not found:
            return None
        # Recent values, so that chains become deep; old ones, so that values are used late.
        if self.random.random() < 0.5:
            found = found[-4:]
        return self.random.choice(found)

    def tile(self):
        return self.pick(lambda v: v.shape) or self.load()

    def literal(self):
        return self.random.randint(-4, 4)

    # -- addresses

    def index(self, shape, injective):
        """An int32 expression of `shape` with values in [0, REGION)."""
        kind = self.random.choice(
            ["rows", "rows", "rows", "columns", "reverse", "strided", "permuted", "any"]
        )
        order = list(range(len(shape)))
        if kind == "columns":
            self.random.shuffle(order)
        strides, stride = {}, self.random.choice([1, 1, 2, 3]) if kind == "strided" else 1
        for d in reversed(order):
            strides[d] = stride
            stride *= shape[d]
        if stride > REGION:
            return self.index(shape, injective)
        terms = []
        for d, extent in enumerate(shape):
            where = ", ".join(":" if e == d else "None" for e in range(len(shape)))
            sub = f"[{where}]" if len(shape) > 1 else ""
            factor = str(strides[d])
            terms.append(f"tl.arange(0, {extent}){sub} * {factor}")
        text = " + ".join(terms)
        if kind == "reverse":
            text = f"{stride - 1} - ({text})"
        elif kind == "permuted":
            text = f"(({text}) * {self.random.choice([3, 5, 77])}) % {REGION}"
        elif kind == "any" and not injective:
            other = self.pick(lambda v: v.shape == shape and v.dtype == "int32")
            return f"(({other.name if other else text}) & {REGION - 1})"
        else:
            slack = REGION - stride
            if slack > 4 and self.random.random() < 0.6:
                text += self.random.choice([" + 1", " + 2", " + k2"])
        return text

    def mask(self, shape):
        kind = self.random.choice(["none", "none", "prefix", "row", "odd", "value", "both"])
        if kind == "none":
            return None
        d = self.random.randrange(len(shape))

        def along(d):
            where = ", ".join(":" if e == d else "None" for e in range(len(shape)))
            return f"tl.arange(0, {shape[d]})" + (f"[{where}]" if len(shape) > 1 else "")

        bound = self.random.choice(["n", "k2", str(self.random.randint(0, shape[d]))])
        prefix = f"({along(d)} < {bound})"
        if kind == "row":
            prefix = f"({along(0)} < {bound})"
        if kind == "odd":
            return f"(({along(d)} * 7) % 3 != 1)"
        if kind == "both":
            return f"({prefix} & ({along(len(shape) - 1)} >= 1))"
        if kind == "value":
            value = self.pick(lambda v: v.shape == shape)
            if value:
                return f"({value.name} > 0)"
        return prefix

    # -- operations; each returns a value or None

    def load(self):
        array = self.random.choice(list(ARRAYS))
        shape = self.base_shape if self.random.random() < 0.6 else self.new_shape()
        dtype = ARRAYS[array]
        arguments = f"{array} + base + ({self.index(shape, False)})"
        if mask := self.mask(shape):
            mask = (
                mask if self.random.random() < 0.8 else f"({mask}) | ({self.mask(shape) or mask})"
            )
            arguments += f", mask={mask}, other={self.random.randint(0, 5)}"
            # A mask may be of a smaller shape.
        bound = EXACT[dtype] // 4 if dtype in EXACT else 0
        return self.define(f"tl.load({arguments})", shape, dtype, bound)

    def store(self):
        value = self.tile()
        array = self.random.choice([a for a in ARRAYS])
        dtype = ARRAYS[array]
        text = self.as_dtype(value, dtype)
        arguments = f"{array} + base + ({self.index(value.shape, True)}), {text}"
        if mask := self.mask(value.shape):
            arguments += f", mask={mask}"
        self.emit_store(arguments)

    def emit_store(self, arguments):
        if self.has_threads:
            self.emit("tl.debug_barrier()")
        self.emit(f"tl.store({arguments})")
        if self.has_threads:
            self.emit("tl.debug_barrier()")

    def as_dtype(self, value, dtype):
        if value.dtype == dtype:
            return value.name
        if dtype in EXACT and (value.dtype not in EXACT or value.bound > EXACT[dtype] // 4):
            # wraps at a power of two that the type holds
            wide = f"tl.cast({value.name}, tl.int64)"
            return f"tl.cast({wide} & {EXACT[dtype] // 4 - 1}, tl.{dtype})"
        if dtype not in EXACT and value.dtype in EXACT:
            wide = f"tl.cast({value.name}, tl.int64)"
            if dtype != "int64":
                wide = f"tl.cast({wide} & 127, tl.{dtype})"
            return wide
        if dtype == "int1":
            return f"({value.name} > 0)"
        return f"tl.cast({value.name}, tl.{dtype})"

    def bound_as(self, value, dtype):
        if dtype not in EXACT:
            return 0
        if value.dtype == dtype or (value.dtype in EXACT and value.bound <= EXACT[dtype] // 4):
            return value.bound
        return EXACT[dtype] // 4

    def convert(self):
        value = self.tile()
        dtype = self.random.choice(INTEGERS + FLOATS)
        return self.define(
            self.as_dtype(value, dtype), value.shape, dtype, self.bound_as(value, dtype)
        )

    def partner(self, value):
        """A value that may be combined with `value`: (text, shape of both, bound)."""
        other = self.pick(lambda v: v.shape == value.shape and v.dtype == value.dtype)
        if not other:
            other = self.pick(lambda v: v.shape == value.shape)
        roll = self.random.random()
        if not other or roll < 0.15:
            other = self.pick(lambda v: v.shape == ())
        if roll > 0.85 and len(value.shape) > 1:
            axis = self.random.randrange(len(value.shape))
            less = value.shape[:axis] + value.shape[axis + 1 :]
            found = self.pick(lambda v: v.shape == less)
            if found:
                return (
                    f"tl.expand_dims({self.as_dtype(found, value.dtype)}, {axis})",
                    self.bound_as(found, value.dtype),
                )
        if not other:
            other = value
        return self.as_dtype(other, value.dtype), self.bound_as(other, value.dtype)

    def binary(self):
        value = self.tile()
        text, bound = self.partner(value)
        kind = self.random.choice(["+", "-", "+", "-", "*", "maximum", "minimum", "where", "bits"])
        result = max(value.bound, bound)
        if kind in "+-":
            result = value.bound + bound
        elif kind == "*":
            if value.dtype in EXACT and value.bound * bound > EXACT[value.dtype]:
                return self.compare()
            result = value.bound * bound
        if kind in "+-*":
            text = f"{value.name} {kind} {text}"
        elif kind == "where":
            condition = self.pick(lambda v: v.shape == value.shape)
            test = self.random.choice(
                [
                    f"{condition.name} > 1",
                    f"{condition.name} == 0",
                    f"{condition.name} < {value.name}"
                    if condition.dtype == value.dtype
                    else f"{condition.name} != 2",
                ]
            )
            text = f"tl.where({test}, {value.name}, {text})"
        elif kind == "bits":
            if value.dtype in EXACT:
                return self.compare()
            text = f"{value.name} {self.random.choice(['&', '|', '^'])} {text}"
        else:
            text = f"tl.{kind}({value.name}, {text})"
        return self.define(text, value.shape, value.dtype, result)

    def compare(self):
        value = self.tile()
        text, _ = self.partner(value)
        op = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
        if self.random.random() < 0.5:
            text = str(self.random.randint(0, 4))
        return self.define(f"{value.name} {op} {text}", value.shape, "int32", 0)

    def unary(self):
        value = self.tile()
        kind = self.random.choice(["neg", "abs", "double", "dear", "dear", "divide"])
        if kind == "dear":
            # 2^x of a whole number up to 7: dear, and exact once rounded
            inner = f"tl.cast({self.as_dtype(value, 'int32')} & 7, tl.float32)"
            return self.define(f"tl.floor(tl.exp2({inner}) + 0.5)", value.shape, "float32", 128)
        if kind == "divide":
            divisor = self.random.choice(["3", "7", "n"])
            op = self.random.choice(["//", "%"])
            text = f"(({self.as_dtype(value, 'int32')} & 1023) {op} {divisor})"
            return self.define(text, value.shape, "int32", 0)
        if value.dtype == "uint8" and kind != "double":
            kind = "double"
        if kind == "double":
            bound = value.bound * 2
            return self.define(f"{value.name} + {value.name}", value.shape, value.dtype, bound)
        text = f"-{value.name}" if kind == "neg" else f"tl.abs({value.name})"
        return self.define(text, value.shape, value.dtype, value.bound)

    def rearrange(self):
        value = self.tile()
        shape, rank = value.shape, len(value.shape)
        kind = self.random.choice(
            [
                "trans",
                "trans",
                "reshape",
                "reshape",
                "expand",
                "broadcast",
                "flip",
                "join",
                "split",
                "interleave",
                "cat",
                "gather",
                "index",
            ]
        )
        axis = self.random.randrange(rank)
        if kind == "trans" and rank > 1:
            dims = list(range(rank))
            self.random.shuffle(dims)
            text = f"tl.trans({value.name}, {', '.join(map(str, dims))})"
            return self.define(text, [shape[d] for d in dims], value.dtype, value.bound)
        if kind == "reshape":
            count = size(shape)
            choices = [(count,)] + [
                (count // f, f) for f in (1, 2, 3, 4, 7, 16, 17) if count % f == 0
            ]
            choices += [
                (a, count // a // b, b)
                for a in (1, 2, 3)
                for b in (1, 2, 5)
                if count % (a * b) == 0
            ]
            if self.base_shape and size(self.base_shape) == count:
                choices += [self.base_shape] * 3
            new = self.random.choice(choices)
            return self.define(
                f"tl.reshape({value.name}, {list(new)})", new, value.dtype, value.bound
            )
        if kind == "expand" and rank < 3:
            axis = self.random.randrange(rank + 1)
            new = shape[:axis] + (1,) + shape[axis:]
            return self.define(
                f"tl.expand_dims({value.name}, {axis})", new, value.dtype, value.bound
            )
        if kind == "broadcast" and 1 in shape:
            new = tuple(self.random.choice([3, 5, 16, 17]) if e == 1 else e for e in shape)
            if size(new) <= 3000:
                return self.define(
                    f"tl.broadcast_to({value.name}, {list(new)})", new, value.dtype, value.bound
                )
        if kind == "flip" and shape[axis] & (shape[axis] - 1) == 0:
            return self.define(f"tl.flip({value.name}, {axis})", shape, value.dtype, value.bound)
        if kind in ("join", "interleave", "cat") and size(shape) <= 1500:
            other = self.pick(lambda v: v.shape == shape) or value
            text, bound = (
                self.as_dtype(other, value.dtype),
                max(value.bound, self.bound_as(other, value.dtype)),
            )
            if kind == "join" and rank < 3:
                return self.define(
                    f"tl.join({value.name}, {text})", shape + (2,), value.dtype, bound
                )
            if kind == "interleave":
                return self.define(
                    f"tl.interleave({value.name}, {text})",
                    shape[:-1] + (2 * shape[-1],),
                    value.dtype,
                    bound,
                )
            if kind == "cat":
                new = shape[:axis] + (2 * shape[axis],) + shape[axis + 1 :]
                return self.define(
                    f"tl.cat({value.name}, {text}, dim={axis})", new, value.dtype, bound
                )
        if kind == "split":
            found = self.pick(lambda v: len(v.shape) > 1 and v.shape[-1] == 2)
            if found:
                first, second = self.fresh(), self.fresh()
                self.emit(f"{first}, {second} = tl.split({found.name})")
                values = [
                    Value(n, found.shape[:-1], found.dtype, found.bound) for n in (first, second)
                ]
                self.pool += values
                return values[0]
        if kind == "gather":
            other = self.pick(lambda v: v.shape == shape) or value
            index = f"(({self.as_dtype(other, 'int32')} & 1023) % {shape[axis]})"
            return self.define(
                f"tl.gather({value.name}, {index}, {axis})", shape, value.dtype, value.bound
            )
        return self.binary()

    def reduce(self):
        value = self.tile()
        axis = self.random.choice(list(range(len(value.shape))) + [None])
        keep = self.random.random() < 0.3 and axis is not None
        count = size(value.shape) if axis is None else value.shape[axis]
        if axis is None:
            shape = ()
        else:
            shape = value.shape[:axis] + ((1,) if keep else ()) + value.shape[axis + 1 :]
        kind = self.random.choice(
            ["sum", "sum", "max", "min", "xor_sum", "argmax", "argmin", "cumsum", "cumsum"]
        )
        dtype, bound = value.dtype, value.bound
        text = value.name
        if dtype in ("int8", "uint8", "int16"):
            dtype, text = "int32", f"tl.cast({text}, tl.int32)"
        if kind in ("sum", "cumsum") and dtype in EXACT:
            if bound * count > EXACT[dtype]:
                dtype = self.random.choice(["int32", "int64"])
                text, bound = self.as_dtype(value, dtype), 0
            bound *= count
        if kind == "xor_sum" and dtype in EXACT:
            kind = "max"
        if kind == "cumsum":
            axis = axis or 0
            reverse = self.random.choice(["", ", reverse=True"])
            return self.define(f"tl.cumsum({text}, {axis}{reverse})", value.shape, dtype, bound)
        if kind in ("argmax", "argmin"):
            if axis is None:
                kind = "max"
            else:
                shape = value.shape[:axis] + value.shape[axis + 1 :]
                return self.define(f"tl.{kind}({text}, {axis})", shape, "int32", 0)
        arguments = f"{text}, axis={axis}" + (", keep_dims=True" if keep else "")
        return self.define(f"tl.{kind}({arguments})", shape, dtype, bound)

    def dot(self):
        left = self.pick(lambda v: len(v.shape) == 2)
        if not left:
            return self.rearrange()
        right = self.pick(lambda v: len(v.shape) == 2 and v.shape[0] == left.shape[1])
        right_text = None
        if not right:
            right = left
            right_text = "tl.trans({}, 1, 0)"
        dtype = self.random.choice(["float32", "float16", "bfloat16", "float32"])

        def small(v):
            return f"tl.cast(tl.cast({v.name}, tl.int32) & 15, tl.{dtype})"

        b = small(right)
        columns = right.shape[1]
        if right_text:
            b, columns = right_text.format(b), right.shape[0]
        shape = (left.shape[0], columns)
        if size(shape) > 4096:
            return None
        bound = 225 * left.shape[1]
        accumulator = self.pick(
            lambda v: v.shape == shape and v.dtype == "float32" and v.bound < 2**22
        )
        text = f"tl.dot({small(left)}, {b}"
        if accumulator and self.random.random() < 0.7:
            text += f", {accumulator.name}"
            bound += accumulator.bound
        return self.define(text + ")", shape, "float32", bound)

    def scalar(self):
        choice = self.random.choice(["i32", "i64", "k", "n", "a32"])
        if choice == "k":
            return self.define("k2 + 1", (), "int32")
        if choice == "n":
            return self.define("n - k2", (), "int32")
        return self.define(
            f"tl.load({choice} + base + {self.random.randint(0, 9)})",
            (),
            ARRAYS[choice],
            EXACT.get(ARRAYS[choice], 0) // 4,
        )

    # -- control flow

    def assign(self, target, source):
        """`target = source` with target's type and bound."""
        text = self.as_dtype(source, target.dtype)
        if target.dtype in EXACT and self.bound_as(source, target.dtype) > target.bound:
            text = f"tl.where(tl.abs({text}) <= {int(target.bound)}, {text}, {text} * 0)"
        return f"tl.cast({text}, tl.{target.dtype})"

    def update(self, targets):
        """Gives outer variables new values: from each other (swaps, delays) or from the pool."""
        if len(targets) > 1 and self.random.random() < 0.4:
            first, second = targets[0], targets[1]
            if (first.shape, first.dtype, first.bound) == (
                second.shape,
                second.dtype,
                second.bound,
            ):
                self.emit(f"{first.name}, {second.name} = {second.name}, {first.name}")
        for target in targets:
            if self.random.random() < 0.2:
                continue
            source = self.pick(lambda v: v.shape == target.shape)
            text = self.assign(target, source)
            self.emit(f"{target.name} = {text}")

    def targets(self):
        found = [v for v in self.pool]
        self.random.shuffle(found)
        chosen = found[: self.random.choice([1, 1, 2, 3])]
        if chosen and self.random.random() < 0.5:
            first = chosen[0]
            # a twin, for swaps
            twin = self.define(
                f"{first.name} * 1" if first.dtype != "int1" else first.name,
                first.shape,
                first.dtype,
                first.bound,
            )
            if twin.bound == first.bound:
                chosen.insert(1, twin)
        return chosen

    def body(self, count):
        """Statements one level deeper; what they define ends with them."""
        outer = list(self.pool)
        self.depth += 1
        self.statements(count)
        return outer

    def loop(self):
        targets = self.targets()
        trips = self.random.choice(["3", "2", "k2", "n % 4", "0"])
        name = self.fresh()
        kind = self.random.choice(["for", "for", "for", "while"])
        if kind == "for":
            self.emit(f"for {name} in range({trips}):")
            outer = self.body(0)
            self.define(name, (), "int32")
        else:
            self.emit(f"{name} = tl.cast({trips}, tl.int32)")
            self.emit(f"while {name} > 0:")
            outer = self.body(0)
            self.emit(f"{name} = {name} - 1")
        self.statements(self.random.choice([1, 3, 5]))
        self.update(targets)
        self.depth -= 1
        self.pool = outer

    def branch(self):
        targets = self.targets()
        scalar = self.pick(lambda v: v.shape == ()) or self.scalar()
        self.emit(f"if {scalar.name} > {self.literal()}:")
        outer = self.body(self.random.choice([1, 3]))
        self.update(targets)
        self.emit("pass")
        self.depth -= 1
        self.pool = list(outer)
        if self.random.random() < 0.6:
            self.emit("else:")
            outer = self.body(self.random.choice([1, 3]))
            self.update(targets)
            self.emit("pass")
            self.depth -= 1
            self.pool = list(outer)

    def statements(self, count):
        for _ in range(count):
            kinds = [
                self.load,
                self.store,
                self.store,
                self.binary,
                self.binary,
                self.binary,
                self.compare,
                self.unary,
                self.convert,
                self.rearrange,
                self.rearrange,
                self.reduce,
                self.reduce,
                self.scalar,
            ]
            if self.depth < 4:
                kinds += [self.loop, self.branch]
            if self.random.random() < 0.3:
                kinds.append(self.dot)
            self.random.choice(kinds)()

    def kernel(self, name):
        self.lines = []
        self.emit(f"base = tl.program_id(0) * {REGION}")
        for _ in range(self.random.choice([1, 2, 3])):
            self.load()
        self.scalar()
        self.statements(self.budget)
        for value in self.pool[-6:]:  # nothing is dead
            dtype = value.dtype
            array = self.random.choice([a for a in ARRAYS if ARRAYS[a] == dtype])
            if value.shape == ():
                self.emit_store(f"{array} + base + {self.random.randint(0, 99)}, {value.name}")
            else:
                if size(value.shape) <= REGION:
                    where = self.index(value.shape, True)
                    self.emit_store(f"{array} + base + ({where}), {value.name}")
        arguments = ", ".join(ARRAYS)
        return f"def {name}({arguments}, n, k2):\n" + "\n".join(self.lines) + "\n"
