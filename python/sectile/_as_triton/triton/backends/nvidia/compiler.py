from sectile.as_triton import missing
from sectile.runtime.errors import PTXASError

from ... import knobs
from ..compiler import BaseBackend, GPUTarget, Language, Options


class CUDABackend(BaseBackend):
    backend = "cuda"
    binary_ext = "cubin"


class CUDAOptions(Options):
    """The options of a compile, by keyword; those that are not given have their defaults."""

    def __init__(self, **options):
        known = {**BaseBackend.defaults, "backend_name": "cuda", "arch": None}
        if unknown := [name for name in options if name not in known]:
            raise TypeError(
                f"CUDAOptions: unknown option {unknown[0]!r}\n  help: known are {', '.join(sorted(known))}"
            )
        super().__init__({**known, **options})


def get_ptxas(arch=None):
    """The path and version of the assembler."""
    return knobs.nvidia.ptxas


def min_dot_size(target):
    """How many rows, columns and depth a product has at least: one of each, here."""
    return lambda lhs_type, rhs_type: (1, 1, 1)


def sm_arch_from_capability(capability):
    return f"sm_{capability}{'a' if capability >= 90 else ''}"


__getattr__ = missing(__name__)
