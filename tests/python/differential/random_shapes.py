"""Statements of random kernels that move elements of tiles. A part of `random_kernels.py`."""

from random_addresses import LARGEST, is_power_of_two, size
from random_memory import FLOATS, INTEGERS


class Shapes:
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
            return self.slice(name)
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

    def slice(self, name=None):
        name = name or self.tile()
        return name and self.define(f"{name}[{', '.join(map(self.part, self.shape(name)))}]")

    def part(self, extent):
        """The text of an index of a dimension: mostly a slice, which is not empty."""
        choose, roll = self.random.choice, self.random.random()
        first, last = sorted(self.random.randrange(extent) for _ in range(2))
        if roll < 0.15:
            return str(choose([first, last - extent]))
        if roll < 0.4:
            return ":"
        step, down = choose(["", f":{choose([2, 3, 4])}"]), choose([1, 1, 2, 3])
        return choose(
            [f"{first}:{last + 1}{step}", f"{first - extent}:{step}", f"::-{down}", f":{last + 1}",
             f"{last}:{first - 1 if first else ''}:-{down}", f"{last - extent}::-{down}"]
        )  # fmt: skip
