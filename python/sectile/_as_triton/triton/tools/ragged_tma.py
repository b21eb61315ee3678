"""Descriptors of parts of an array that have their own lengths, by Triton's names.

A part of rows ``[begin, begin + size)`` is addressed from behind: two more dimensions in front, of which one's stride
is the row's and the other's is that less 2^34, let a row's index count back from an end that the descriptor knows, so
that what lies behind the part is outside the array.
"""

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

_ROWS = 1 << 30
_FAR = 0x7FFF0000


def create_ragged_descriptor(T, block_shape, ragged_dim=0):
    """A descriptor of parts of `T`, a tensor of two or three dimensions, along `ragged_dim`, which is not the last."""
    rank = T.dim()
    ragged_dim %= rank
    assert ragged_dim < rank - 1, "last dimension cannot be ragged"
    assert rank <= 3, "read-write ragged descriptors must have at most 3 dimensions"
    assert len(block_shape) == rank, "block shape must have same length as tensor shape"
    shape = list(T.shape)
    assert shape[ragged_dim] <= _ROWS, "number of rows may not exceed 2**30"
    shape[ragged_dim] = _ROWS
    row = T.stride(ragged_dim)
    strides = [(1 << 34) - row, row, *T.stride()]
    return TensorDescriptor(T, [_FAR, _FAR, *shape], strides, [1, 1, *block_shape])


@triton.jit
def to_ragged_indices(batch_offset, batch_size, row):
    """The three indices of a row of a part."""
    rows: tl.constexpr = 1 << 30
    return rows, batch_offset + batch_size, rows - batch_size + row


@triton.jit
def load_ragged(TMA, batch_offset, batch_size, coords, ragged_dim: tl.constexpr = 0):
    """Reads a block of a part; what lies outside it is 0."""
    tl.static_assert(
        len(TMA.shape) == len(coords) + 2, "TMA must be a read-write ragged descriptor"
    )
    first, second, third = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    block = TMA.load([first, second] + coords[:ragged_dim] + [third] + coords[ragged_dim + 1 :])
    return tl.reshape(block, block.shape[2:])


@triton.jit
def store_ragged(TMA, batch_offset, batch_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Writes a block of a part; what lies outside it is not written."""
    first, second, third = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    TMA.store(
        [first, second] + coords[:ragged_dim] + [third] + coords[ragged_dim + 1 :],
        tl.reshape(data, [1, 1] + data.shape),
    )


@triton.jit
def atomic_add_ragged(TMA, batch_offset, batch_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Adds to a block of a part; what lies outside it is not written."""
    first, second, third = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    TMA.atomic_add(
        [first, second] + coords[:ragged_dim] + [third] + coords[ragged_dim + 1 :],
        tl.reshape(data, [1, 1] + data.shape),
    )
