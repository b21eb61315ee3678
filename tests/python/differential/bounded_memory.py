"""Arrays in memory and the operations on them: loads, stores, atomics. A part of `error_bounds.py`."""

import builtins

import numpy as np
from bounded_tiles import FLOATS, Tile, broadcast_to, cast, chosen, is_float, refuse_unless


class Memory:
    """An array argument. Numbers of atomic operations are kept: they come in any order."""

    def __init__(self, array, dtype):
        self.dtype = dtype
        self.value = array.astype(np.float64) if is_float(dtype) else array.copy()
        self.error = np.zeros(array.shape) if is_float(dtype) else None
        self.count = np.zeros(array.shape)
        self.absolute = np.abs(self.value) if is_float(dtype) else None

    def copy_of(self):
        return [
            None if a is None else a.copy()
            for a in (self.value, self.error, self.count, self.absolute)
        ]

    def restore(self, saved):
        self.value, self.error, self.count, self.absolute = saved


class Pointer:
    def __init__(self, memory, offsets=0):
        self.memory, self.offsets = memory, np.asarray(offsets, np.int64)

    def __add__(self, other):
        other = other.value if isinstance(other, Tile) else other
        return Pointer(self.memory, self.offsets + np.asarray(other).astype(np.int64))

    @property
    def shape(self):
        return self.offsets.shape

    @property
    def dtype(self):
        return f"pointer to {self.memory.dtype}"

    def map(self, function):
        return Pointer(self.memory, function(self.offsets))

    def __getitem__(self, index):
        return Pointer(self.memory, self.offsets[index])

    def places(self, mask):
        """(offsets, mask) of one shape, inside the array."""
        mask = np.broadcast_to(True if mask is None else mask.value, self.offsets.shape)
        inside = (self.offsets >= 0) & (self.offsets < len(self.memory.value))
        refuse_unless(inside | ~mask, "an access outside the array")
        return np.where(mask, self.offsets, 0), mask

    def distinct(self, mask):
        """Offsets of what is not masked, which must all differ."""
        offsets, mask = self.places(mask)
        taken = offsets[mask]
        refuse_unless(len(np.unique(taken)) == len(taken), "two elements at one address")
        return taken, mask

    def written(self, mask, value):
        """The same, but elements at one address may have one exact value."""
        offsets, mask = self.places(mask)
        taken = offsets[mask]
        places, firsts, which = np.unique(taken, return_index=True, return_inverse=True)
        if len(places) != len(taken):
            refuse_unless(value.is_exact(), "two elements at one address")
            numbers = value.value[mask]
            refuse_unless(numbers == numbers[firsts][which], "two elements at one address")
        return taken, mask


def load(pointer, mask=None, other=None, **hints):
    if not isinstance(pointer, Pointer):  # a block pointer
        return pointer.load(**hints)
    memory = pointer.memory
    offsets, inside = pointer.places(mask)
    picked = Tile(
        memory.value[offsets], memory.dtype, None if memory.error is None else memory.error[offsets]
    )
    if mask is None:
        return picked
    return chosen(inside, picked, cast(0 if other is None else other, memory.dtype))


def store(pointer, value, mask=None, **hints):
    if not isinstance(pointer, Pointer):
        return pointer.store(value, **hints)
    memory = pointer.memory
    value = broadcast_to(cast(value, memory.dtype), pointer.shape)
    taken, mask = pointer.written(mask, value)
    memory.value[taken] = value.value[mask]
    if memory.error is not None:
        memory.error[taken] = value.error[mask]


def debug_barrier():
    """One program is one thread here."""


def atomic(combine):
    def of(pointer, value, mask=None, sem=None, scope=None):
        """The result is right where addresses differ, in one program."""
        memory = pointer.memory
        value = broadcast_to(cast(value, memory.dtype), pointer.shape)
        offsets, mask = pointer.places(mask)
        old = Tile(
            memory.value[offsets],
            memory.dtype,
            None if memory.error is None else memory.error[offsets],
        )
        for index in zip(*np.nonzero(mask)) if mask.ndim else ([()] if mask else []):
            at = offsets[index]
            one = value[index]
            now = Tile(
                memory.value[at], memory.dtype, None if memory.error is None else memory.error[at]
            )
            memory.value[at] = combine(now.value, one.value)
            if memory.error is None:
                continue
            if combine is not np.add:
                memory.error[at] = builtins.max(now.error, one.error)
                continue
            # n sums in any order: n u (|x1| + ... + |xn|), and none as long as all are whole and small
            unit, least, greatest = FLOATS[memory.dtype]
            memory.count[at] += 1
            memory.absolute[at] += one.magnitude()
            refuse_unless(memory.absolute[at] < greatest / 2, "overflow of a sum")
            whole = now.is_exact() and one.is_exact() and one.value == np.rint(one.value)
            whole = whole and memory.value[at] == np.rint(memory.value[at])
            if whole and memory.absolute[at] < 0.5 / unit:
                continue
            memory.error[at] = (
                now.error + one.error + memory.count[at] * (unit * memory.absolute[at] + least)
            )
        return old

    return of


atomic_add, atomic_max, atomic_min = atomic(np.add), atomic(np.maximum), atomic(np.minimum)
atomic_and, atomic_or = atomic(np.bitwise_and), atomic(np.bitwise_or)
atomic_xor, atomic_xchg = atomic(np.bitwise_xor), atomic(lambda old, new: new)


def atomic_cas(pointer, expected, value, sem=None, scope=None):
    """The addresses differ."""
    memory = pointer.memory
    taken, _ = pointer.distinct(None)
    old = memory.value[pointer.offsets]
    memory.value[pointer.offsets] = np.where(old == expected.value, value.value, old)
    return Tile(old, memory.dtype)
