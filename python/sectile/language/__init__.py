"""The kernel language: ``import sectile.language as tl``.

Names, arguments and meaning are Triton's. Every operation here is a documented stub; what it does is
decided by the compiler when it meets the name in a kernel.
"""

from . import math
from ._constexpr import const, constexpr
from ._creation import arange, cast, cat, full, to_tensor, zeros, zeros_like
from ._debug import device_assert, device_print, inline_asm_elementwise, static_assert, static_print
from ._dtypes import (
    bfloat16,
    block_type,
    dtype,
    float8e4b8,
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
    advance,
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_xchg,
    atomic_xor,
    load,
    make_block_ptr,
    make_tensor_descriptor,
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

tuple = tuple  # noqa: PLW0127 - kernels may annotate with tl.tuple
slice = slice  # noqa: PLW0127

TRITON_MAX_TENSOR_NUMEL = 1048576  #: Triton's limit on tile elements; Sectile has none of its own.

_SUBMODULES = ("core", "extra", "random", "standard")


def __getattr__(name: str):
    if name in _SUBMODULES:
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    if name.startswith("__"):  # protocols ask for these all the time
        raise AttributeError(name)
    known = [key for key in globals() if not key.startswith("_")]
    from .._suggest import did_you_mean

    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}{did_you_mean(name, known)}"
    )


__all__ = [key for key in globals() if not key.startswith("_") and key != "math"] + ["math"]
