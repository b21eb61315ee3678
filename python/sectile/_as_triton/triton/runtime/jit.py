import inspect as _inspect

from sectile.as_triton import adopt, missing
from sectile.runtime import functions as _functions
from sectile.runtime import jit as _jit
from sectile.runtime.jit import *  # noqa: F403
from sectile.runtime.jit import (
    DeviceCaches,
    JITCallable,
    JITFunction,
    KernelInterface,
    KernelParam,
    MockTensor,
    TensorWrapper,
    jit,
    reinterpret,
)
from sectile.runtime.source import source_text as _source_text

from triton._utils import (
    find_paths_if,
    get_iterable_path,
    is_namedtuple,
    type_canonicalisation_dict,
)

from .. import knobs

TRITON_MODULE = "triton.language"

adopt(
    __name__,
    [JITFunction, KernelInterface, KernelParam, jit, reinterpret, TensorWrapper, MockTensor],
)


class _Marked(type):
    def __instancecheck__(cls, value):
        return bool(getattr(value, "__sectile_constexpr_function__", False))


class ConstexprFunction(metaclass=_Marked):
    """What `constexpr_function` returns: the function itself, with ``.fn`` and ``.src``."""


class BoundConstexprFunction(ConstexprFunction):
    """A `constexpr_function` of an object; there is no class of its own for it."""


def constexpr_function(fn):
    """Marks a Python function that kernels may call on compile-time constants."""
    marked = _functions.constexpr_function(fn)
    try:
        marked.fn, marked.src = fn, _source_text(fn)
    except Exception:  # a built-in function, or one without source
        pass
    return marked


def get_full_name(fn):
    return f"{fn.__module__}.{fn.__qualname__}"


def get_jit_fn_file_line(fn):
    """(file, line of ``def``) of a kernel or of what is tuned around one."""
    while not isinstance(fn, JITFunction):
        fn = fn.fn
    for offset, line in enumerate(fn.raw_src):
        if line.strip().startswith("def "):
            return fn.fn.__code__.co_filename, fn.starting_line_number + offset
    return fn.fn.__code__.co_filename, fn.starting_line_number


def serialize_specialization_data(name, signature, constants, attrs, options, key):
    """A variant as JSON: what it is called, its kinds, constants and options."""
    import json

    def plain(value):
        kind = type(value).__name__
        return str(value) if kind == "dtype" else {"constexpr": value.value} if kind == "constexpr" else value  # fmt: skip

    return json.dumps({
        "name": name, "signature": signature,
        "constant_keys": [list(place) for place in constants], "constant_vals": [plain(c) for c in constants.values()],
        "attrs_keys": [list(place) for place in attrs], "attrs_vals": list(attrs.values()),
        "options": vars(options), "key": key,
    })  # fmt: skip


__getattr__ = missing(__name__)
