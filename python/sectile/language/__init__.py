"""The kernel language: ``import sectile.language as tl``.

Names, arguments and meaning are Triton's. Every operation here is a documented stub; what it does is
decided by the compiler when it meets the name in a kernel.
"""

from builtins import slice, tuple  # kernels may annotate with tl.tuple

from . import math
from ._aggregates import aggregate
from ._blocks import (
    advance,
    load_tensor_descriptor,
    make_block_ptr,
    make_tensor_descriptor,
    store_tensor_descriptor,
    tensor_descriptor,
)
from ._constexpr import const, constexpr, constexpr_type
from ._creation import arange, cast, cat, full, to_tensor, zeros, zeros_like
from ._debug import device_assert, device_print, inline_asm_elementwise, static_assert, static_print
from ._dtypes import (
    bfloat16,
    block_type,
    dtype,
    float8e4b8,
    float8e4b15,
    float8e4nv,
    float8e5,
    float8e5b16,
    float16,
    float32,
    float64,
    int1,
    int8,
    int16,
    int32,
    int64,
    pi32_t,
    pointer_type,
    str_to_ty,
    tuple_type,
    uint8,
    uint16,
    uint32,
    uint64,
    void,
)
from ._linear_algebra import dot, dot_scaled
from ._loops import condition, range, static_range
from ._math import (
    PropagateNan,
    abs,
    add,
    cdiv,
    ceil,
    clamp,
    cos,
    div_rn,
    erf,
    exp,
    exp2,
    fdiv,
    floor,
    fma,
    log,
    log2,
    maximum,
    minimum,
    mul,
    rsqrt,
    sigmoid,
    sin,
    softmax,
    sqrt,
    sqrt_rn,
    sub,
    tanh,
    umulhi,
    where,
)
from ._memory import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_xchg,
    atomic_xor,
    load,
    store,
)
from ._program import (
    assume,
    debug_barrier,
    max_constancy,
    max_contiguous,
    multiple_of,
    num_programs,
    program_id,
)
from ._random import (
    pair_uniform_to_normal,
    philox,
    philox_impl,
    rand,
    rand4x,
    randint,
    randint4x,
    randn,
    randn4x,
    uint_to_uniform_float,
)
from ._reduction import (
    argmax,
    argmin,
    associative_scan,
    bitonic_merge,
    cumprod,
    cumsum,
    histogram,
    map_elementwise,
    max,
    min,
    reduce,
    reduce_or,
    sort,
    sum,
    topk,
    xor_sum,
)
from ._shape import (
    broadcast,
    broadcast_to,
    expand_dims,
    flip,
    gather,
    interleave,
    join,
    permute,
    ravel,
    reshape,
    split,
    squeeze,
    swizzle2d,
    trans,
    unsqueeze,
    view,
)
from ._tensor import tensor

TRITON_MAX_TENSOR_NUMEL = 1048576  #: Triton's limit on tile elements; Sectile has none of its own.

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from . import core as core
    from . import extra as extra
    from . import random as random
    from . import standard as standard
    from . import target_info as target_info

_SUBMODULES = ("core", "extra", "random", "standard", "target_info")


__all__ = [
    "abs", "add", "advance", "aggregate", "arange", "argmax", "argmin", "associative_scan", "assume",
    "atomic_add", "atomic_and", "atomic_cas", "atomic_max", "atomic_min", "atomic_or",
    "atomic_xchg", "atomic_xor", "bfloat16", "bitonic_merge", "block_type", "broadcast", "broadcast_to", "cast",
    "cat", "cdiv", "ceil", "clamp", "condition", "const", "constexpr", "constexpr_type", "cos", "cumprod", "cumsum",
    "debug_barrier", "device_assert", "device_print", "div_rn", "dot", "dot_scaled", "dtype",
    "erf", "exp", "exp2", "expand_dims", "fdiv", "flip", "float16", "float32", "float64",
    "float8e4b15", "float8e4b8", "float8e4nv", "float8e5", "float8e5b16", "floor", "fma", "full", "gather",
    "histogram", "inline_asm_elementwise", "int1", "int16", "int32", "int64", "int8",
    "interleave", "join", "load", "load_tensor_descriptor", "log", "log2", "make_block_ptr",
    "make_tensor_descriptor", "map_elementwise", "math", "max", "max_constancy", "max_contiguous",
    "maximum", "min", "minimum", "mul", "multiple_of", "num_programs", "pair_uniform_to_normal",
    "permute", "philox", "philox_impl", "pi32_t", "pointer_type", "program_id", "PropagateNan",
    "rand", "rand4x", "randint", "randint4x", "randn", "randn4x", "range", "ravel", "reduce",
    "reduce_or", "reshape", "rsqrt", "sigmoid", "sin", "slice", "softmax", "sort", "split",
    "sqrt", "sqrt_rn", "squeeze", "static_assert", "static_print", "static_range", "store",
    "store_tensor_descriptor", "str_to_ty", "sub", "sum", "swizzle2d", "tanh", "tensor",
    "tensor_descriptor", "to_tensor", "topk", "trans", "TRITON_MAX_TENSOR_NUMEL", "tuple",
    "tuple_type",
    "uint16", "uint32", "uint64", "uint8", "uint_to_uniform_float", "umulhi", "unsqueeze", "view",
    "void", "where", "xor_sum", "zeros", "zeros_like",
]  # fmt: skip


if not TYPE_CHECKING:  # checkers would take it for leave to use any name

    def __getattr__(name: str):
        if name in _SUBMODULES:
            import importlib

            return importlib.import_module(f"{__name__}.{name}")
        if name.startswith("__"):  # protocols ask for these all the time
            raise AttributeError(name)
        from .._suggest import did_you_mean
        from ._elsewhere import help_for

        remedy = help_for(name)
        hint = f"\n  help: {remedy}" if remedy else did_you_mean(name, [*__all__, *_SUBMODULES])
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
