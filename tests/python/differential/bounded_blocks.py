"""Block pointers and tensor descriptors. A part of `error_bounds.py`."""

import numpy as np
from bounded_memory import load, store
from bounded_tiles import Tile, broadcast_to, cast, refuse_unless


def number(value):
    return int(value.value) if isinstance(value, Tile) else int(value)


class Block:
    """A block of an array: element [i, j] is base[(o0 + i) * s0 + (o1 + j) * s1]."""

    def __init__(self, base, shape, strides, offsets, extents):
        self.base, self.extents = base, tuple(map(number, extents))
        self.shape, self.strides = tuple(map(number, shape)), tuple(map(number, strides))
        self.offsets = tuple(map(number, offsets))

    def at(self, offsets):
        return Block(self.base, self.shape, self.strides, offsets, self.extents)

    def moved(self, steps):
        return self.at([o + number(s) for o, s in zip(self.offsets, steps)])

    def places(self, checked):
        """Pointers and the mask of what lies within the array; None where nothing is checked."""
        index = np.indices(self.extents)
        places = np.zeros(self.extents, np.int64)
        mask = np.ones(self.extents, bool)
        for dim, extent in enumerate(self.shape):
            at = self.offsets[dim] + index[dim]
            places += at * self.strides[dim]
            if dim in checked:
                mask &= (at >= 0) & (at < extent)
        return self.base + places, Tile(mask, "int1") if checked else None

    def load(self, boundary_check=(), padding_option="", **hints):
        pointers, mask = self.places(boundary_check)
        is_nan = padding_option == "nan"
        refuse_unless(not is_nan or mask is None or mask.value.all(), "a NaN has no bound")
        return load(pointers, mask, None if mask is None else 0)

    def store(self, value, boundary_check=(), **hints):
        pointers, mask = self.places(boundary_check)
        store(pointers, broadcast_to(cast(value, self.base.memory.dtype), self.extents), mask)


class Descriptor:
    def __init__(self, block, padding):
        self.block, self.padding = block, padding
        self.all = tuple(range(len(block.extents)))

    def load(self, offsets):
        return self.block.at(map(number, offsets)).load(self.all, self.padding)

    def store(self, offsets, value):
        self.block.at(map(number, offsets)).store(value, self.all)

    def gather(self, rows, column):
        pointers, mask = self.rows(rows, column)
        return load(pointers, mask, 0)

    def rows(self, rows, column):
        rows, columns = rows.value[:, None], number(column) + np.arange(self.block.extents[1])
        (m, n), strides = self.block.shape, self.block.strides
        inside = (rows >= 0) & (rows < m) & (columns >= 0) & (columns < n)
        return self.block.base + (rows * strides[0] + columns * strides[1]), Tile(inside, "int1")


def make_block_ptr(base, shape, strides, offsets, block_shape, order):
    return Block(base, shape, strides, offsets, block_shape)


def advance(base, offsets):
    return base.moved(offsets)


def make_tensor_descriptor(base, shape, strides, block_shape, padding_option="zero"):
    block = Block(base, shape, strides, [0] * len(block_shape), block_shape)
    return Descriptor(block, padding_option)
