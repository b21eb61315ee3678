import inspect as _inspect

from sectile.as_triton import adopt, missing
from sectile.language import core as _core
from sectile.language.core import *  # noqa: F403
from sectile.language.core import (
    _aggregate,
    _unwrap_if_constexpr,
    builtin,
    constexpr,
    constexpr_type,
    extern,
    extern_elementwise,
    get_int_dtype,
    is_builtin,
    slice_type,
    tensor_descriptor,
    tensor_descriptor_base,
    tuple_type,
)

from triton._utils import TRITON_MAX_TENSOR_NUMEL, get_primitive_bitwidth, validate_block_shape

builtin_min, builtin_max = __builtins__["min"], __builtins__["max"]
TRITON_BUILTIN = "__sectile_builtin__"
#: Types of values that a kernel gives to functions of Python's; there are none that a program could make.
base_type = base_value = object
tensor_descriptor_type = tensor_descriptor_base_type = tensor_descriptor


def must_use_result(x=True, message=None):
    """Marks a function whose result a kernel must not drop. A mark alone: what is dropped has no effect."""
    return (lambda function: function) if isinstance(x, (bool, str)) else x


def _unwrap_shape(shape):
    shape = _unwrap_if_constexpr(shape)
    return [_unwrap_if_constexpr(extent) for extent in shape]


def _unwrap_iterable(x):
    if len(x) == 1:
        try:
            iter(x[0])
        except TypeError:
            return x
        return x[0]
    return x


adopt(__name__, [value for name, value in vars(_core).items() if not name.startswith("__")])

# torch asks this signature by which keyword operations get the builder of IR.
_stub = vars(_core)["view"]
_stub.__signature__ = _inspect.Signature(
    [*_inspect.signature(_stub).parameters.values(),
     _inspect.Parameter("_semantic", _inspect.Parameter.KEYWORD_ONLY, default=None)]
)  # fmt: skip

__getattr__ = missing(__name__)
