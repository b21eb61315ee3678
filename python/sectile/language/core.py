"""The same names as `sectile.language`; kernels written as ``tl.core.load`` find them here."""

from ..runtime.functions import constexpr_function
from . import *  # noqa: F403
from ._builtin import builtin as builtin
from ._constexpr import constexpr
from ._dtypes import dtype

CONSTEXPR_0 = constexpr(0)  # the default of parameters in kernels of libraries


@constexpr_function
def get_int_dtype(bitwidth: int, signed: bool) -> dtype:
    """The integer dtype of so many bits."""
    return dtype(f"{'int' if signed else 'uint'}{bitwidth}")
