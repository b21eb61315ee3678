"""Stand-ins for arguments in ``kernel.warmup(...)``, which compiles and runs nothing."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class MockTensor:
    """Stands for an array of `dtype` in ``kernel.warmup(...)``; it has no memory.

    Args:
        dtype: a dtype of the language, of torch or of NumPy.
        shape: for grid functions that look at it; not used otherwise.
        aligned: whether the array's address would be a multiple of 16.
        memory: the addresses of its first byte and behind its last; None: it shares memory with no other.

    Example:
        @st.jit
        def fill(x):
            tl.store(x, 1)

        compiled = fill.warmup(st.MockTensor(tl.float16), grid=(1,), target="cuda:90")
        print("st.global" in compiled.asm["ptx"])  # True
    """

    __sectile_mock__ = True

    def __init__(
        self,
        dtype: Any,
        shape: Sequence[int] | None = None,
        aligned: bool = True,
        memory: tuple[int, int] | None = None,
    ) -> None:
        self.dtype = dtype
        self.shape = tuple(shape) if shape is not None else None
        self.is_aligned = aligned
        self.memory = memory
        self.is_scalar = False

    def stride(self, axis: int | None = None) -> Any:
        """Returns the strides of a contiguous array of `shape`, or that of one axis."""
        strides, step = [], 1
        for length in reversed(self.shape or ()):
            strides.append(step)
            step *= length
        strides.reverse()
        return tuple(strides) if axis is None else strides[axis]

    @staticmethod
    def wrap_dtype(value: Any) -> Any:
        """`value`, wrapped if it is a dtype."""
        return MockTensor(value) if getattr(value, "__sectile_dtype__", False) else value


class MockScalar:
    """Stands for a number of `dtype` in ``kernel.warmup(...)``."""

    __sectile_mock__ = True

    def __init__(self, dtype: Any, aligned: bool = False) -> None:
        self.dtype = dtype
        self.is_aligned = aligned
        self.is_scalar = True
