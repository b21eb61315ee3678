from sectile.as_triton import missing
from sectile.runtime.errors import PTXASError

from ... import knobs
from ..compiler import BaseBackend, GPUTarget, Language


class CUDABackend(BaseBackend):
    backend = "cuda"
    binary_ext = "cubin"


def get_ptxas(arch=None):
    """The path and version of the assembler."""
    return knobs.nvidia.ptxas


def min_dot_size(target):
    """How many rows, columns and depth a product has at least: one of each, here."""
    return lambda lhs_type, rhs_type: (1, 1, 1)


def sm_arch_from_capability(capability):
    return f"sm_{capability}{'a' if capability >= 90 else ''}"


__getattr__ = missing(__name__)
