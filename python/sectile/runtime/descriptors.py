"""Tensor descriptors made on the host and passed to kernels."""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_MOST_DIMENSIONS = 5
_ALIGNMENT = 16  # bytes


class DescriptorKind(
    namedtuple("DescriptorKind", ("base", "shape", "strides", "block_shape", "padding"))
):
    """The kinds of a descriptor's items: ``("*fp32:16", ("i32", 1), ...)``."""

    __sectile_tensor_descriptor__ = True
    __slots__ = ()


def kind_of_text(text: str) -> DescriptorKind | None:
    """The kind of a descriptor that is written ``"tensordesc<fp16[128, 64]>(i32, i32:16)"``; None for another text.

    Raises:
        ValueError: the text begins so, and goes on in another way.
    """
    from .. import _native
    from ..language import constexpr

    fields = _native.descriptor_kind(text)
    if fields is None:
        return None
    base, shape, strides, block_shape, padding = fields
    return DescriptorKind(base, shape, strides, block_shape, constexpr(padding))


class TensorDescriptor:
    """An array, and the blocks in which a kernel reads and writes it: what ``tl.make_tensor_descriptor`` makes,
    as an argument of a launch.

        desc = TensorDescriptor.from_tensor(x, [128, 64])
        kernel[grid](desc)          # desc.load([i, j]) in the kernel

    `base`, `shape` and `strides` are arguments of the launch, each specialized as such; `block_shape` and
    `padding` are constants of the kernel. All may be assigned later, `block_shape` by a hook of the autotuner.

    Args:
        base: the array; its address is a multiple of 16 bytes.
        shape: extents in elements, 1 to 5 of them.
        strides: in elements; the last is 1, the others are multiples of 16 bytes.
        block_shape: extents of the blocks.
        padding: ``"zero"`` or ``"nan"``: what elements outside `shape` read as.
        round_f32_to_tf32: accepted for Triton's sake; products make tf32 of float32 as their `input_precision` says.

    Raises:
        ValueError: what breaks these rules, naming the argument, the value and the rule.
        TypeError: `base` is no array, or a number no integer.

    Example:
        @st.jit
        def double(out, x):
            out.store([2, 4], 2 * x.load([2, 4]))

        x = np.arange(32, dtype=np.float32).reshape(4, 8)
        out = np.zeros_like(x)
        blocks = [st.TensorDescriptor.from_tensor(each, [2, 4]) for each in (out, x)]
        double[(1,)](*blocks)
        print(out[2:, 4:].tolist())  # [[40.0, 42.0, 44.0, 46.0], [56.0, 58.0, 60.0, 62.0]]
    """

    __sectile_tensor_descriptor__ = True

    def __init__(
        self,
        base: Any,
        shape: Sequence[int],
        strides: Sequence[int],
        block_shape: Sequence[int],
        padding: str = "zero",
        round_f32_to_tf32: bool = False,
    ) -> None:
        self.base = base
        self.shape = _integers("shape", shape)
        self.strides = _integers("strides", strides)
        self.block_shape = _integers("block_shape", block_shape)
        self.padding = padding
        self.round_f32_to_tf32 = round_f32_to_tf32
        self._check()

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        block_shape: Sequence[int],
        padding: str = "zero",
        round_f32_to_tf32: bool = False,
    ) -> TensorDescriptor:
        """Describes an array by its own shape and strides.

        Args:
            tensor: a torch tensor, a NumPy array, or anything with ``shape`` and ``strides`` in bytes.
        """
        if callable(getattr(tensor, "stride", None)):
            strides = tensor.stride()
        else:
            size = _element_size(tensor)
            strides = [stride // size for stride in tensor.strides]
        return cls(tensor, tensor.shape, strides, block_shape, padding, round_f32_to_tf32)

    def fields(self) -> DescriptorKind:
        """What a launch passes: base, shape, strides, block_shape, padding."""
        return DescriptorKind(self.base, self.shape, self.strides, self.block_shape, self.padding)

    @classmethod
    def _make(cls, kinds: Any) -> DescriptorKind:
        """What a descriptor of such items is specialized on."""
        return DescriptorKind(*kinds)

    def _check(self) -> None:
        rank = len(self.shape)
        if not 1 <= rank <= _MOST_DIMENSIONS:
            raise ValueError(f"TensorDescriptor: shape has {rank} dimensions, not 1 to 5")
        for name in ("strides", "block_shape"):
            found = getattr(self, name)
            if len(found) != rank:
                raise ValueError(
                    f"TensorDescriptor: {name} {found} has {len(found)} entries, shape has {rank}"
                )
        for name in ("shape", "block_shape"):
            if min(getattr(self, name)) <= 0:
                raise ValueError(
                    f"TensorDescriptor: {name} {getattr(self, name)} should be positive numbers"
                )
        if self.strides[-1] != 1:
            raise ValueError(
                f"TensorDescriptor: the last of strides {self.strides} should be 1\n"
                f"  help: describe the array with its contiguous dimension last"
            )
        size = _element_size(self.base)
        for dim, stride in enumerate(self.strides[:-1]):
            if stride * size % _ALIGNMENT:
                raise ValueError(
                    f"TensorDescriptor: strides[{dim}] is {stride} elements, {stride * size} bytes, and should be a "
                    f"multiple of {_ALIGNMENT} bytes\n  help: pad the rows of the array"
                )
        address = _address(self.base)
        if address is not None and address % _ALIGNMENT:
            raise ValueError(
                f"TensorDescriptor: base begins at address {address:#x}, which is no multiple of {_ALIGNMENT} bytes\n"
                f"  help: begin the view at such an element, or copy it"
            )
        last = sum((extent - 1) * stride for extent, stride in zip(self.shape, self.strides))
        room = _bytes_behind(self.base)
        if room is not None and (last + 1) * size > room:
            raise ValueError(
                f"TensorDescriptor: shape {self.shape} with strides {self.strides} reaches element {last}, and the "
                f"memory of base ends behind element {room // size - 1}\n"
                f"  help: shape is the array's, in elements; block_shape that of a block"
            )
        if self.padding not in ("zero", "nan"):
            raise ValueError(
                f"TensorDescriptor: padding {self.padding!r} is neither 'zero' nor 'nan'"
            )
        if self.padding == "nan" and "int" in str(self.base.dtype):
            raise ValueError(
                f"TensorDescriptor: padding 'nan' is for floating-point numbers, not for {self.base.dtype}"
            )

    def __repr__(self) -> str:
        return (
            f"TensorDescriptor({self.base.dtype}, shape={self.shape}, strides={self.strides}, "
            f"block_shape={self.block_shape}, padding={self.padding!r})"
        )


def _integers(name: str, given: Sequence[int]) -> list[int]:
    from operator import index

    try:
        return [index(number) for number in given]
    except TypeError:
        raise TypeError(
            f"TensorDescriptor: {name} {given!r} should be a sequence of integers"
        ) from None


def _element_size(array: Any) -> int:
    if callable(getattr(array, "element_size", None)):  # torch
        return int(array.element_size())
    size = getattr(array, "itemsize", None)
    if size is None:
        raise TypeError(f"TensorDescriptor: base is {type(array).__name__}, which is no array")
    return int(size)


def _bytes_behind(array: Any) -> int | None:
    """From the array's first element to the end of the memory that it is a view of; None where that is not known."""
    try:
        if callable(getattr(array, "untyped_storage", None)):  # torch
            return array.untyped_storage().nbytes() - array.storage_offset() * array.element_size()
        owner, interface = array, array.__array_interface__
        while getattr(owner.base, "__array_interface__", None):
            owner = owner.base
        return owner.__array_interface__["data"][0] + owner.nbytes - interface["data"][0]
    except (AttributeError, RuntimeError, TypeError):
        return None


def _address(array: Any) -> int | None:
    if callable(getattr(array, "data_ptr", None)):
        return int(array.data_ptr())
    for protocol in ("__array_interface__", "__cuda_array_interface__"):
        interface = getattr(array, protocol, None)
        if interface is not None:
            return int(interface["data"][0])
    return None
