"""`tl` by NumPy: enough of the language to run a generated kernel as plain Python.

numpy_language.run(kernel_function, program, *arguments)   # arrays are changed in place
"""

import ml_dtypes
import numpy as np

int1, int8, int16, int32, int64 = np.bool_, np.int8, np.int16, np.int32, np.int64
uint8 = np.uint8
float16, bfloat16, float32, float64 = np.float16, ml_dtypes.bfloat16, np.float32, np.float64

program = 0


class Pointer:
    """An array and the offset of every element of a tile of pointers."""

    def __init__(self, array, offsets=0):
        self.array, self.offsets = array, np.asarray(offsets, np.int64)

    def __add__(self, offsets):
        return Pointer(self.array, self.offsets + np.asarray(offsets).astype(np.int64))


def program_id(axis):
    return np.int32(program)


def arange(start, end):
    return np.arange(start, end, dtype=np.int32)


def full(shape, value, dtype):
    return np.full(shape, value, dtype)


def cast(x, dtype):
    return np.asarray(x).astype(dtype)


def load(pointer, mask=True, other=0):
    offsets, mask, other = np.broadcast_arrays(pointer.offsets, mask, other)
    picked = pointer.array[np.where(mask, offsets, 0)]
    return np.where(mask, picked, other.astype(pointer.array.dtype))


def store(pointer, value, mask=True):
    offsets, mask, value = np.broadcast_arrays(pointer.offsets, mask, value)
    pointer.array[offsets[mask]] = value[mask].astype(pointer.array.dtype)


def debug_barrier():
    pass


def where(condition, x, y):
    return np.where(condition, x, y)


maximum, minimum, abs, floor, sqrt, exp2 = (
    np.maximum,
    np.minimum,
    np.abs,
    np.floor,
    np.sqrt,
    np.exp2,
)
expand_dims, reshape, flip = np.expand_dims, np.reshape, np.flip
broadcast_to = np.broadcast_to


def trans(x, *dims):
    return np.transpose(x, dims)


def join(a, b):
    return np.stack(np.broadcast_arrays(a, b), axis=-1)


def split(x):
    return x[..., 0], x[..., 1]


def interleave(a, b):
    return join(a, b).reshape(*a.shape[:-1], -1)


def cat(a, b, dim=0):
    return np.concatenate([a, b], axis=dim)


def gather(src, index, axis):
    return np.take_along_axis(src, index.astype(np.int64), axis)


def _reduction(function):
    def reduce(x, axis=None, keep_dims=False):
        return np.asarray(function(x, axis=axis, keepdims=keep_dims)).astype(x.dtype)

    return reduce


sum, max, min = _reduction(np.sum), _reduction(np.max), _reduction(np.min)
xor_sum = _reduction(
    lambda x, axis, keepdims: np.bitwise_xor.reduce(x, axis=axis, keepdims=keepdims)
)


def argmax(x, axis):
    return np.argmax(x, axis).astype(np.int32)


def argmin(x, axis):
    return np.argmin(x, axis).astype(np.int32)


def cumsum(x, axis, reverse=False):
    if reverse:
        return np.flip(cumsum(np.flip(x, axis), axis), axis)
    return np.cumsum(x, axis=axis, dtype=x.dtype)


def associative_maximum(x, axis):
    return np.maximum.accumulate(x, axis)


def dot(a, b, acc=None):
    product = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    return product if acc is None else product + acc
