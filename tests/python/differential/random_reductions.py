"""Statements of random kernels that combine elements along a dimension. A part of `random_kernels.py`."""

from error_bounds import is_float
from random_addresses import size

COMBINERS = [
    "a ^ b",
    "a + b",
    "a * b",
    "a & b",
    "tl.maximum(a, b)",
    "tl.where(a > b, a, b)",
    "a + b + a * b",
]


class Reductions:
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

    def extremum_beside_nan(self):
        """The greatest or least number of a tile some of whose elements are NaN, or where it is."""
        choose = self.random.choice
        name = self.tile(lambda tile: is_float(tile.dtype))
        if not name:
            return None
        dtype, shape = self.dtype(name), self.shape(name)
        whole = self.pick(lambda tile: tile.dtype in ("int32", "int64") and tile.shape == shape)
        if not whole:
            return None
        axis, kind = self.random.randrange(len(shape)), choose(["max", "min"])
        some = f"tl.where(({whole} & {choose([1, 3, 4])}) != 0, float('nan'), {name})"
        if self.random.random() < 0.3:
            return self.define(f"tl.arg{kind}({some}, {axis})")
        result = choose(["int32", dtype])
        return self.define(
            f"tl.cast(tl.{kind}({some}, {axis}, return_indices=True)[{int(result == 'int32')}], tl.{result})"
        )

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
