"""The same names as `sectile.language`; kernels written as ``tl.core.load`` find them here."""

from __future__ import annotations

from ..runtime.functions import constexpr_function
from . import *  # noqa: F403
from ._aggregates import aggregate as _aggregate  # noqa: F401 - as Triton 3.6 calls it
from ._blocks import tensor_descriptor
from ._builtin import builtin as builtin
from ._builtin import not_yet
from ._constexpr import constexpr
from ._constexpr import constexpr_type as constexpr_type
from ._dtypes import dtype
from ._dtypes import slice_type as slice_type
from ._dtypes import tuple_type as tuple_type

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

tensor_descriptor_base = tensor_descriptor
CONSTEXPR_0 = constexpr(0)  # the default of parameters in kernels of libraries


@constexpr_function
def get_int_dtype(bitwidth: int, signed: bool) -> dtype:
    """The integer dtype of so many bits."""
    return dtype(f"{'int' if signed else 'uint'}{bitwidth}")


def is_builtin(fn: Any) -> bool:
    """Whether `fn` is an operation of the kernel language."""
    return hasattr(fn, "__sectile_builtin__")


def _unwrap_if_constexpr(o: Any) -> Any:
    """The value in a `constexpr`, also of those in lists and tuples; anything else as it is."""
    if isinstance(o, list):
        return [_unwrap_if_constexpr(each) for each in o]
    if type(o) is tuple:
        return tuple(_unwrap_if_constexpr(each) for each in o)
    return o.value if isinstance(o, constexpr) else o


def extern(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Marks `fn`, which Triton would call with its own builder of IR: a kernel that names it is refused."""
    return not_yet(
        "Sectile has no IR builder in Python: write it as a @jit function, or with tl.extra.libdevice"
    )(fn)


@not_yet(
    "call the function of tl.extra.libdevice that does it, or write it with tl's own operations"
)
def extern_elementwise(
    lib_name: str, lib_path: str, args: list, arg_type_symbol_dict: dict, is_pure: bool
) -> Any:
    """Calls a function of a library in the device's code, element by element."""
