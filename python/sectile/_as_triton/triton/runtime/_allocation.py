"""Where scratch memory for kernels comes from. Sectile's kernels ask for none, so an allocator is kept, and not called."""

from contextvars import ContextVar

from sectile.as_triton import missing
from sectile.runtime.control import set_allocator as _set_allocator


class NullAllocator:
    def __call__(self, size, alignment, stream):
        raise RuntimeError(
            "Kernel requires a runtime memory allocation, but no allocator was set. Use triton.set_allocator to specify an allocator."
        )


_NULL_ALLOCATOR = NullAllocator()
_allocator = ContextVar("_allocator", default=_NULL_ALLOCATOR)
_profile_allocator = ContextVar("_profile_allocator", default=_NULL_ALLOCATOR)


def set_allocator(allocator):
    """``allocator(size, alignment, stream)``; a no-op here, but for what reads it back."""
    _allocator.set(allocator)
    _set_allocator(allocator)


def set_profile_allocator(allocator):
    _profile_allocator.set(_NULL_ALLOCATOR if allocator is None else allocator)


__getattr__ = missing(__name__)
