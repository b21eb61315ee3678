"""The elements of arrays as tuning sees them: as integers, in the order of memory, of any library."""

import math
import sys

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile.runtime.autotuner import arrays

pytestmark = pytest.mark.host


def numpy_memory(array):
    return arrays.memory_of(array)


def torch_memory(array):
    """That of a tensor on a GPU, which works on the host as well."""
    torch = pytest.importorskip("torch")
    return arrays._TorchMemory(torch.from_numpy(array), torch)


@pytest.fixture(params=[numpy_memory, torch_memory])
def memory_of(request):
    return request.param


VIEWS = {
    "a row": lambda: np.arange(100, dtype=np.float32),
    "transposed": lambda: np.arange(600, dtype=np.float32).reshape(20, 30).T,
    "a slice": lambda: np.arange(600, dtype=np.float32).reshape(20, 30)[::2, 3:9],
    "three axes": lambda: np.arange(24, dtype=np.int16).reshape(2, 3, 4).transpose(1, 2, 0),
    "one element": lambda: np.array(5, np.int64),
    "bytes": lambda: np.arange(7, dtype=np.uint8),
    "nothing": lambda: np.zeros((0, 3), np.float32),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("block", [1, 7, 1 << 16])
def test_copies_patterns_and_indices(memory_of, name, block):
    array = VIEWS[name]()
    outside = array.base.copy() if array.base is not None else None
    before = array.copy()
    memory = memory_of(array)
    memory.block = block
    copy = memory.copy()
    assert (
        sum(math.prod(parts[0].shape) for _, parts in memory.blocks(memory.view, copy))
        == array.size
    )
    memory.fill(0xA5 if memory.width == 1 else int("a5" * memory.width, 16))
    assert array.tobytes() == b"\xa5" * array.nbytes
    memory.put(copy)
    np.testing.assert_array_equal(array, before)
    if outside is not None:
        np.testing.assert_array_equal(array.base, outside)
    for begin, (part,) in memory.blocks(copy):
        index = memory.index_of(begin)
        assert (
            float(memory.decoded(part.reshape(-1)[:1], name_of(array)).reshape(-1)[0])
            == before[index]
        )
        assert memory.value_at(copy, begin, name_of(array)) == before[index]


def name_of(array):
    return "fp32" if array.dtype == np.float32 else str(array.dtype)


def test_addresses():
    base = np.zeros((10, 10), np.float32)
    start = base.ctypes.data

    def bounds(array):
        memory = arrays.memory_of(array)
        return memory.start - start, memory.end - start

    assert bounds(base) == (0, 400)
    assert bounds(base[2:4]) == (80, 160)
    assert bounds(base[::-1, 3]) == (12, 376)
    assert bounds(base[0:0])[0] == bounds(base[0:0])[1]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"])  # fmt: skip
def test_values_of_small_floats_are_those_of_torch(name):
    torch = pytest.importorskip("torch")
    width = 1 if "8_" in name else 2
    bits = np.arange(256**width, dtype=f"u{width}").view(f"i{width}")
    expected = torch.from_numpy(bits.copy()).view(getattr(torch, name)).float().numpy()
    dtype = tl.dtype(name).name
    memory = arrays.memory_of(bits)
    np.testing.assert_array_equal(memory.decoded(memory.view, dtype), expected)
    tensor = torch_memory(bits)
    np.testing.assert_array_equal(tensor.decoded(tensor.view, dtype).numpy(), expected)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint32", "int64"])
def test_values_of_integers(memory_of, dtype):
    array = np.array([0, 1, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    signed = array.view(f"i{array.itemsize}")  # torch has no wide unsigned integers
    memory = memory_of(signed)
    values = np.asarray(memory.decoded(memory.view, dtype))
    np.testing.assert_array_equal(values, array.astype(np.float64))
    assert [memory.value_at(memory.view, i, dtype) for i in range(4)] == [int(v) for v in array]


def test_many_blocks_are_done_in_order_by_threads():
    array = np.arange(40 * arrays._HOST_BLOCK, dtype=np.int32)
    memory = arrays.memory_of(array)
    starts = memory.each(lambda begin, part: (begin, int(part[0])), memory.view)
    assert starts == [(i, i) for i in range(0, array.size, arrays._HOST_BLOCK)]


def test_filling_in_part_moves():
    array = np.zeros(20 * arrays._HOST_BLOCK, np.int8)
    memory = arrays.memory_of(array)
    filled = []
    for turn in range(8):
        array[:] = 0
        memory.fill(1, turn)
        filled.append(array.copy())
        assert (array[: arrays._HOST_BLOCK] == 1).all() and (
            array[-arrays._HOST_BLOCK :] == 1
        ).all()
        assert 0.1 < array.mean() < 0.3
    assert (sum(filled) > 0).all()  # after eight turns every element was


def test_arrays_read_as_another_dtype_and_other_kinds():
    raw = np.zeros(4, np.uint8)
    assert arrays.memory_of(st.reinterpret(raw, tl.float8e5)).view.ctypes.data == raw.ctypes.data
    assert arrays.memory_of(object()) is None
    assert "numpy" in sys.modules
