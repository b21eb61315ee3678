"""Arrays of any library: copied, put back, filled and compared, by the library's own vectorised code.

    memory = memory_of(array)            # of NumPy, CuPy or torch, on any device; None for another kind
    before = memory.copy()
    memory.fill(pattern)
    memory.put(before)

A `Memory` sees elements as integers, so nothing is lost: NaNs keep their payloads, and unwritten elements are
known by the pattern they were filled with. `decoded` gives their values, by the dtype the kernel knows.
"""

from __future__ import annotations

import math
import sys
from contextlib import nullcontext

from ... import _native
from . import identity

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

# Elements that are looked at together: on the host what stays in its caches, elsewhere what is worth a call.
_HOST_BLOCK = 1 << 16
_LIBRARY_BLOCK = 1 << 24
_MANY_BLOCKS = 16  # worth a thread for each processor
_FILLED_SHARE = 8


def arrays_of(argument: Any) -> list[Any]:
    """The argument, or the arrays among its items when it has any."""
    items = identity.items_of(argument)
    if items is None:
        return [] if argument is None else [argument]
    return [item for item in identity.leaves(items) if hasattr(item, "dtype")]


def named_arrays(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arrays among arguments, by the names compiled kernels have for them: ``x``, ``pair[0]``, ``pair.y``."""
    found: dict[str, Any] = {}
    scalar = getattr(sys.modules.get("numpy"), "generic", ())  # has a dtype, and is a number

    def add(name: str, value: Any) -> None:
        items = identity.items_of(value)
        if items is not None:
            fields = getattr(items, "_fields", None)
            for index, item in enumerate(items):
                add(f"{name}.{fields[index]}" if fields else f"{name}[{index}]", item)
        elif hasattr(value, "dtype") and not isinstance(value, scalar):
            found[name] = value

    for name, value in arguments.items():
        add(name, value)
    return found


def owner_of(array: Any) -> Any:
    """The array that owns the bytes: kernels may see them as another dtype."""
    base = getattr(array, "base", None)
    array = base if getattr(array, "__sectile_reinterpret__", False) else array
    # A leaf that wants gradients must not be written by copy_.
    return array.detach() if hasattr(array, "detach") else array


def copy_of(array: Any) -> Any:
    array = owner_of(array)
    return array.clone() if hasattr(array, "clone") else array.copy()


def assign(array: Any, source: Any) -> None:
    array = owner_of(array)
    if hasattr(array, "copy_"):
        array.copy_(source)
    else:
        array[...] = source


def set_zero(argument: Any) -> None:
    """Zeroes an array; of a tuple or descriptor, every array in it."""
    for array in map(owner_of, arrays_of(argument)):
        if hasattr(array, "zero_"):
            array.zero_()
        else:
            array[...] = 0


class Memory:
    """The elements of one array as integers; `copy` gives a copy of the same kind of integers.

    Attributes:
        view: integers that share the array's memory, axes ordered from the largest stride to the smallest.
        shape: of the array itself.
        start, end: addresses of its first byte and of the one behind its last.
    """

    def __init__(
        self, view: Any, shape: tuple[int, ...], strides: tuple[int, ...], start: int, width: int
    ) -> None:
        # Neighbours in memory are neighbours in the view: a transposed matrix is read as it lies there.
        self.axes = sorted(range(len(shape)), key=lambda axis: -abs(strides[axis]))
        self.view = self._permuted(view)
        self.shape = shape
        self.width = width
        self.size = math.prod(shape)
        reach = [(count - 1) * stride for count, stride in zip(shape, strides)] if self.size else []
        self.start = start + sum(min(each, 0) for each in reach)
        self.end = start + sum(max(each, 0) for each in reach) + (width if self.size else 0)

    # Each library has its own:

    def _permuted(self, view: Any) -> Any:
        raise NotImplementedError

    def copy(self) -> Any:
        """A copy, without gaps."""
        raise NotImplementedError

    def fill_part(self, part: Any, pattern: int) -> None:
        """Every element of a part of the view gets these bits, as a signed number."""
        raise NotImplementedError

    def decoded(self, bits: Any, dtype: str) -> Any:
        """Values of integers, as floats.

        Args:
            bits: from this array or a copy.
            dtype: how the kernel sees the elements: ``"bf16"``, ``"int32"``.
        """
        raise NotImplementedError

    def is_nan(self, values: Any) -> Any:
        raise NotImplementedError

    def is_finite(self, values: Any) -> Any:
        raise NotImplementedError

    def are_equal(self, left: Any, right: Any) -> bool:
        raise NotImplementedError

    def quartile(self, values: Any, mask: Any) -> float:
        """The value that a quarter of those where `mask` holds are below; 0 where it holds nowhere."""
        chosen = values[mask]
        count = math.prod(chosen.shape)
        return float(self.sorted(chosen)[count // 4]) if count else 0.0

    def sorted(self, values: Any) -> Any:
        raise NotImplementedError

    def smaller(self, left: Any, right: Any) -> Any:
        raise NotImplementedError

    def first(self, mask: Any) -> int:
        """The flat index of the first that is true."""
        raise NotImplementedError

    def is_flat(self, bits: Any) -> bool:
        """Whether integers lie without gaps, in the order of the view's axes."""
        raise NotImplementedError

    def quiet(self) -> Any:
        """A context in which infinities and NaNs are computed with without a warning."""
        return nullcontext()

    block: int
    is_host = False  # what NumPy does then goes on without the GIL

    # The same for all:

    def each(self, function: Callable[..., Any], *operands: Any) -> list[Any]:
        """``function(begin, *parts)`` of all `blocks`, by several threads where that helps; the results in order."""
        blocks = list(self.blocks(*operands))
        if not self.is_host or len(blocks) < _MANY_BLOCKS:
            return [function(begin, *parts) for begin, parts in blocks]
        from concurrent.futures import ThreadPoolExecutor

        count = _native.hardware_threads()
        share = -(-len(blocks) // count)

        def several(start: int) -> list[Any]:
            return [function(begin, *parts) for begin, parts in blocks[start : start + share]]

        with ThreadPoolExecutor(count) as pool:
            shares = list(pool.map(several, range(0, len(blocks), share)))
        return [result for part in shares for result in part]

    def put(self, copy: Any) -> None:
        self._assign(self.view, copy)

    def _assign(self, target: Any, source: Any) -> None:
        def one(_: int, to: Any, part: Any) -> None:
            to[...] = part

        self.each(one, target, source)

    def fill(self, pattern: int, turn: int | None = None) -> None:
        """Every element gets these bits.

        Args:
            turn: of a large array, the first and the last block do, and of the others one run of an
                eighth of their length, at places that change with this number.
        """
        number = self.signed(pattern)
        last = self.size - self.block

        def one(begin: int, part: Any) -> None:
            if turn is not None and 0 < begin < last:
                length = -(-part.shape[0] // _FILLED_SHARE)
                at = (begin // self.block + turn) * 5 % _FILLED_SHARE * length
                part = part[at : at + length]
            self.fill_part(part, number)

        self.each(one, self.view)

    def signed(self, pattern: int) -> int:
        bits = 8 * self.width
        return pattern - (1 << bits) if pattern >> (bits - 1) else pattern

    def blocks(self, *operands: Any) -> Iterator[tuple[int, tuple]]:
        """Parts of the view and of copies of it, in order: (flat index of the first element, the parts)."""
        if all(map(self.is_flat, operands)):
            operands = tuple(each.reshape(-1) for each in operands)
        rows = operands[0].shape[0] if operands[0].ndim else 0
        if self.size <= self.block or not rows:
            if self.size:
                yield 0, operands
            return
        row = self.size // rows
        step = max(1, self.block // row)
        for begin in range(0, rows, step):
            yield begin * row, tuple(each[begin : begin + step] for each in operands)

    def index_of(self, flat: int) -> tuple[int, ...]:
        """The array's own index of the element at a flat index of the view."""
        index = [0] * len(self.shape)
        for axis in reversed(self.axes):
            flat, index[axis] = divmod(flat, self.shape[axis])
        return tuple(index)

    def value_at(self, bits: Any, flat: int, dtype: str) -> float | int:
        """One element of the view or of a copy."""
        index = self.index_of(flat)
        element = bits[tuple(slice(index[axis], index[axis] + 1) for axis in self.axes)]
        if dtype.startswith(("int", "uint")) and dtype != "int1":
            number = int(element.reshape(-1)[0])
            return number % (1 << 8 * self.width) if dtype.startswith("u") else number
        return float(self.decoded(element, dtype).reshape(-1)[0])


class _NumpyMemory(Memory):
    """The memory of an array of NumPy, or of CuPy, which has the same functions."""

    def __init__(self, array: Any, library: Any, start: int, is_host: bool) -> None:
        self.library = library
        self.is_host = is_host
        self.block = _HOST_BLOCK if is_host else _LIBRARY_BLOCK
        width = array.dtype.itemsize
        super().__init__(array.view(f"i{width}"), array.shape, array.strides, start, width)

    def _permuted(self, view: Any) -> Any:
        return view.transpose(self.axes)

    def is_flat(self, bits: Any) -> bool:
        return bool(bits.flags.c_contiguous)

    def smaller(self, left: Any, right: Any) -> Any:
        return self.library.minimum(left, right)

    def quiet(self) -> Any:
        return self.library.errstate(all="ignore") if self.is_host else nullcontext()

    def copy(self) -> Any:
        result = self.library.empty(self.view.shape, self.view.dtype)
        self._assign(result, self.view)
        return result

    def fill_part(self, part: Any, pattern: int) -> None:
        part.fill(pattern)

    def decoded(self, bits: Any, dtype: str) -> Any:
        if dtype in ("fp32", "fp64"):
            return bits.view(f"f{self.width}")
        if dtype == "fp16":
            return bits.view("f2").astype("f4")
        if dtype == "bf16":
            return (bits.astype("i4") << 16).view("f4")
        if dtype.startswith("fp8"):
            return self.library.asarray(_fp8_values(dtype), "f4")[bits.view("u1")]
        return bits.view("u1" if dtype == "int1" else dtype).astype("f8")

    def is_nan(self, values: Any) -> Any:
        return self.library.isnan(values)

    def is_finite(self, values: Any) -> Any:
        return self.library.isfinite(values)

    def are_equal(self, left: Any, right: Any) -> bool:
        if self.is_flat(left) and self.is_flat(right) and left.nbytes % 8 == 0 and left.ndim:
            left, right = left.reshape(-1).view("i8"), right.reshape(-1).view("i8")
        return bool((left == right).all())

    def sorted(self, values: Any) -> Any:
        return self.library.sort(values)

    def first(self, mask: Any) -> int:
        return int(mask.reshape(-1).argmax())


class _TorchMemory(Memory):
    def __init__(self, array: Any, torch: Any) -> None:
        self.torch = torch
        self.block = _LIBRARY_BLOCK
        width = array.element_size()
        strides = tuple(each * width for each in array.stride())
        view = _integers_of(array, torch)
        super().__init__(view, tuple(array.shape), strides, array.data_ptr(), width)

    def _permuted(self, view: Any) -> Any:
        return view.permute(self.axes)

    def is_flat(self, bits: Any) -> bool:
        return bits.is_contiguous()

    def smaller(self, left: Any, right: Any) -> Any:
        return self.torch.minimum(left, right)

    def copy(self) -> Any:
        return self.view.clone(memory_format=self.torch.contiguous_format)

    def fill_part(self, part: Any, pattern: int) -> None:
        part.fill_(pattern)

    def decoded(self, bits: Any, dtype: str) -> Any:
        torch = self.torch
        floats = {
            "fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": "bfloat16",
            "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2", "fp8e4b8": "float8_e4m3fnuz",
            "fp8e5b16": "float8_e5m2fnuz",
        }  # fmt: skip
        if dtype in floats:
            values = bits.view(getattr(torch, floats[dtype]))
            return values if self.width >= 4 else values.float()
        if dtype == "fp8e4b15":
            values = torch.tensor(_fp8_values(dtype), device=bits.device)
            return values[bits.view(torch.uint8).long()]
        values = bits.double()
        is_unsigned = dtype.startswith("uint") or dtype == "int1"
        return (
            torch.where(values < 0, values + 2.0 ** (8 * self.width), values)
            if is_unsigned
            else values
        )

    def is_nan(self, values: Any) -> Any:
        return self.torch.isnan(values)

    def is_finite(self, values: Any) -> Any:
        return self.torch.isfinite(values)

    def are_equal(self, left: Any, right: Any) -> bool:
        return self.torch.equal(left, right)

    def sorted(self, values: Any) -> Any:
        return values.sort().values

    def first(self, mask: Any) -> int:
        return int(mask.reshape(-1).to(self.torch.uint8).argmax())


def _integers_of(array: Any, torch: Any) -> Any:
    """The elements of a tensor as integers in the same memory."""
    integers = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return array.view(integers[array.element_size()])


def _fp8_values(dtype: str) -> list[float]:
    """The value of each byte."""
    from ...language._dtypes import _FLOAT_LAYOUTS

    mantissa_bits, bias = _FLOAT_LAYOUTS[dtype]
    values = []
    for byte in range(256):
        exponent = byte >> mantissa_bits & (1 << (7 - mantissa_bits)) - 1
        fraction = (byte & (1 << mantissa_bits) - 1) / (1 << mantissa_bits)
        value = math.ldexp(fraction + (exponent > 0), max(exponent, 1) - bias)
        if (
            dtype == "fp8e4nv"
            and byte & 0x7F == 0x7F
            or dtype.endswith(("b8", "b16"))
            and byte == 0x80
        ):
            value = math.nan
        elif dtype == "fp8e5" and exponent == 31:
            value = math.nan if fraction else math.inf
        values.append(-value if byte & 0x80 else value)
    return values


def memory_of(array: Any) -> Memory | None:
    """None for an array of a library that is not known here."""
    array = owner_of(array)
    torch, numpy, cupy = map(sys.modules.get, ("torch", "numpy", "cupy"))
    if torch is not None and isinstance(array, torch.Tensor):
        if numpy is None or array.device.type != "cpu":
            return _TorchMemory(array, torch)
        array = _integers_of(array, torch).numpy()
    if cupy is not None and isinstance(array, cupy.ndarray):
        return _NumpyMemory(array, cupy, array.data.ptr, is_host=False)
    if numpy is None:  # then it is no array of NumPy's either
        return None
    if not isinstance(array, numpy.ndarray) and hasattr(array, "__array_interface__"):
        array = numpy.asarray(array)
    if not isinstance(array, numpy.ndarray):
        return None
    return _NumpyMemory(array.view(numpy.ndarray), numpy, array.ctypes.data, is_host=True)
