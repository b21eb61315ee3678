"""Statements of random kernels that read and write blocks of arrays. A part of `random_kernels.py`."""

import numpy as np
from bounded_tiles import TYPES

LOADED = ["float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64"]
WHOLE = 1 << 14  # elements of an array, or of one program's part of an output


class Blocks:
    def block_extents(self):
        """Extents of a block; rows of at least 16 bytes, as descriptors want them."""
        shape = self.base_shape if self.random.random() < 0.5 else self.new_shape()
        return shape if shape[-1] >= 16 else (*shape[:-1], self.random.choice([16, 20, 32]))

    def array_around(self, extents, is_fixed=False):
        """Extents and strides, as texts, of an array about as large as four blocks each way."""
        choose, shape, stride, strides = self.random.choice, [], 1, []
        for extent in reversed(extents):
            length = max(1, min(self.random.randint(extent // 2, 3 * extent + 5), WHOLE // stride))
            varying = str(length) if is_fixed else f"k + {max(length - 32, 1)}"
            shape.insert(0, choose([str(length), str(length), varying]))
            strides.insert(0, str(stride))
            stride *= max(1, min(length + choose([0, 0, 1, 16]), WHOLE // stride))
        return ", ".join(shape) + ",", ", ".join(strides) + ","

    def block_offsets(self, extents):
        choose, texts = self.random.choice, []
        for extent in extents:
            some = self.random.randint(-extent, 3 * extent)
            texts.append(
                choose(
                    ["0", str(some), str(extent), f"pid * {extent}", f"k + {some}", f"n - {some}",
                     f"tl.cast(n, tl.int64) * {choose([1, 16])}"]
                )
            )  # fmt: skip
        return ", ".join(texts) + ","

    def checked(self, extents):
        """All dimensions mostly: elsewhere the block may leave the array, and the statement is dropped."""
        if self.random.random() < 0.8:
            return tuple(range(len(extents)))
        return tuple(d for d in range(len(extents)) if self.random.random() < 0.6)

    def block_load(self):
        choose, extents = self.random.choice, self.block_extents()
        array = self.array("x", choose(LOADED))
        shape, strides = self.array_around(extents)
        base = f"{array} + {choose(['0', 'k', 'pid * 16'])}"
        block = f"({', '.join(map(str, extents))},)"
        padding = choose(["zero", "zero", "nan"]) if "float" in array else "zero"
        if self.random.random() < 0.5:
            text = f"tl.make_tensor_descriptor({base}, ({shape}), ({strides}), {block}"
            text += choose(["", f", padding_option='{padding}'"])
            return self.define(f"{text}).load(({self.block_offsets(extents)}))")
        order = tuple(reversed(range(len(extents))))
        pointer, value, turn = self.fresh(), self.fresh(), self.fresh()
        how = f"boundary_check={self.checked(extents)}, padding_option='{padding}'"
        lines = [
            f"{pointer} = tl.make_block_ptr({base}, ({shape}), ({strides}), "
            f"({self.block_offsets(extents)}), {block}, {order})",
            f"{value} = tl.load({pointer}, {how})",
        ]
        how_it_moves = self.random.random()
        if (
            how_it_moves < 0.3
        ):  # a counter's block: never before the array, and maybe never behind it
            offsets = ", ".join(choose([f"{turn} * {extent}", "0"]) for extent in extents)
            lines += [
                f"for {turn} in range({choose(['1', '2', 'k - 1', '1, -1, -1', 'k - 2, -1, -1'])}):",
                f"    {value} = {value} + tl.load(tl.make_block_ptr({base}, ({shape}), ({strides}), "
                f"({offsets},), {block}, {order}), {how})",
            ]
        elif how_it_moves < 0.7:
            steps = ", ".join(str(choose([0, extent, 16, -3])) for extent in extents)
            lines += [
                f"for {turn} in range({choose(['1', '3', 'k - 1'])}):",
                f"    {pointer} = tl.advance({pointer}, ({steps},))",
                f"    {value} = {value} + tl.load({pointer}, {how})",
            ]
        if not self.attempt(*lines):
            return None
        self.pool.append(value)
        return value

    def block_gather(self):
        choose = self.random.choice
        rows = self.pick(lambda tile: len(tile.shape) == 1 and tile.dtype == "int32")
        array = self.array("x", choose(["float32", "float16", "int32"]))
        columns = choose([16, 20, 64])
        if not rows or self.shape(rows)[0] * columns > 4096:
            return None
        length = choose([40, 64, 100])
        return self.define(
            f"tl.make_tensor_descriptor({array}, ({choose([20, 100])}, {length}), ({length}, 1), "
            f"(1, {columns})).gather({rows}, {choose(['0', 'k', 'n - 9', '30'])})"
        )

    def block_store(self):
        """A tile into a block of an output, which may leave the part that is the program's own."""
        name = self.tile()
        if not name:
            return None
        extents, dtype = self.shape(name), self.dtype(name)
        if dtype == "int1" or extents[-1] * np.dtype(TYPES[dtype]).itemsize < 16:
            return None
        shape, strides = self.array_around(extents, is_fixed=True)
        start = self.stored.get(dtype, 0)
        array = self.array("o", dtype)
        descriptor = (
            f"tl.make_tensor_descriptor({array} + pid * {WHOLE}, ({shape}), ({strides}), "
            f"({', '.join(map(str, extents))},))"
        )
        if start or not self.attempt(
            f"{descriptor}.store(({self.block_offsets(extents)}), {name})"
        ):
            return None
        self.stored[dtype] = WHOLE  # the block's elements are to themselves
        return name
