"""Arrays whose elements a kernel reads as another dtype."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import Any


class TensorWrapper:
    """An array whose elements are read as another dtype. Made by `reinterpret`."""

    __sectile_reinterpret__ = True

    def __init__(self, base: Any, dtype: Any) -> None:
        self.base = base
        self.dtype = dtype

    @property
    def shape(self) -> Any:
        return self.base.shape

    @property
    def data(self) -> Any:
        return self.base.data

    @data.setter
    def data(self, data: Any) -> None:
        self.base.data = data

    @property
    def device(self) -> Any:
        return self.base.device

    def data_ptr(self) -> int:
        address: int = self.base.data_ptr()
        return address

    def stride(self, *args: Any) -> Any:
        return self.base.stride(*args)

    def element_size(self) -> int:
        size: int = self.base.element_size()
        return size

    # What follows is torch's, of the array below, and read as the same dtype.

    def cpu(self) -> TensorWrapper:
        return TensorWrapper(self.base.cpu(), self.dtype)

    def to(self, device: Any) -> TensorWrapper:
        return TensorWrapper(self.base.to(device), self.dtype)

    def clone(self) -> TensorWrapper:
        return TensorWrapper(self.base.clone(), self.dtype)

    def new_empty(self, sizes: Any) -> TensorWrapper:
        return TensorWrapper(self.base.new_empty(sizes), self.dtype)

    def copy_(self, other: TensorWrapper) -> TensorWrapper:
        self.base.copy_(other.base)
        return self

    def __repr__(self) -> str:
        return f"TensorWrapper[{self.dtype}]({self.base!r})"


def reinterpret(tensor: Any, dtype: Any) -> TensorWrapper:
    """The same memory with elements of `dtype`, for dtypes the array library does not have.

    Args:
        tensor: any array a kernel takes.
        dtype: a dtype of the language (``tl.uint16``, ``tl.float8e5`` ...) of equal width, or
            ``tl.int1`` for bytes.

    Returns:
        Something to pass to a kernel.

    Example:
        @st.jit
        def to_float(out, x):
            tl.store(out, tl.load(x).to(tl.float32))

        bits = np.array([0x3FC0], np.uint16)  # 1.5 in bf16
        out = np.zeros(1, np.float32)
        to_float[(1,)](out, st.reinterpret(bits, tl.bfloat16))
        print(out)  # [1.5]
    """
    if isinstance(tensor, TensorWrapper):
        tensor = tensor.base
    return TensorWrapper(tensor, dtype)
