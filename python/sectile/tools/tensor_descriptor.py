"""The home of `TensorDescriptor` in Triton."""

from ..runtime.descriptors import TensorDescriptor

__all__ = ["TensorDescriptor"]
