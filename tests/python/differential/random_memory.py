"""Statements of random kernels that load, store and count in memory. A part of `random_kernels.py`."""

from error_bounds import is_float
from random_addresses import size

INTEGERS = ["int32", "int32", "int64", "int16", "int8", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float32", "float32", "float16", "bfloat16", "float64"]
NARROW = ["float8e4nv", "float8e5"]


class MemoryStatements:
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

    def reread(self):
        """Stores a tile and reads it back; and often sums what came back, behind a store of one element."""
        choose, roll = self.random.choice, self.random.random
        name = self.tile(lambda tile: tile.dtype in ("int32", "float32", "float64"))
        if not name or not self.shape(name):
            return None
        dtype = self.dtype(name)
        index, extent = self.index(self.shape(name), injective=True)
        start = self.stored.get(dtype, 0)
        if start + extent > 1 << 14:
            return None
        pointer = f"{self.array('o', dtype)} + pid * {1 << 14} + {start} + ({index})"
        # On a GPU other threads may read it than have written it.
        if not self.attempt(f"tl.store({pointer}, {name})", "tl.debug_barrier()"):
            return None
        self.stored[dtype] = (start + extent + 15) // 16 * 16
        back = self.define(f"tl.load({pointer})")
        if back and roll() < 0.7:
            self.store(self.define(f"tl.full([1], {choose([0, 5])}, tl.{dtype})"))
            self.store(self.define(f"tl.cast(tl.sum({back}, axis=None), tl.{dtype})"))
        return back

    def scalar(self):
        choose = self.random.choice
        text = choose(
            ["k + 1", "n - k", "pid * 3 + n", f"k if {self.test()} else n", "load", "load"]
        )
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
        if (
            is_float(dtype) and self.case.numerics == "reproducible"
        ):  # which refuses sums in any order
            kinds = [kind for kind in kinds if kind != "add"]
            if not kinds:
                return None
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
