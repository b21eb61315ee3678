"""Functions that are notified of every variant of a kernel: `knobs.runtime.jit_cache_hook` and
`jit_post_compile_hook`, and `knobs.compilation.listener`.

They are called when the variant is there, compiled or loaded, before it is launched; what they return is ignored,
what they raise ends that launch. A launch that finds its variant pays nothing for them.
"""

from __future__ import annotations

from types import SimpleNamespace

from .. import _native, knobs
from .compiled import source_of
from .device_caches import variant_key
from .specialization import described

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from .jit import JITFunction

_OPTIONS = [name for name, kind, *_ in _native.launch_options() if kind != "keyword"]


def _description(kernel: JITFunction, index: int, variant: tuple, is_warmup: bool) -> dict:
    """The data that the two hooks receive, by Triton's names."""
    compiled, kinds, *_ = variant
    key = variant_key(index, compiled)
    signature, folded, attributes = described(kernel, kinds)
    chosen = {name: getattr(compiled.metadata, name) for name in _OPTIONS}
    request = {
        **chosen,
        "key": key,
        "signature": signature,
        "constants": folded,
        "configs": [attributes],
        "device": 0,
        "extern_libs": None,
        "specialization_data": _as_text(kernel, key, signature, folded, attributes, chosen),
        "is_warmup": is_warmup,
    }
    settings = ", ".join(f"{name}={value}" for name, value in chosen.items())
    kinds_text = ", ".join(f"{name}: {kind}" for name, kind in signature.items())
    return {
        "key": key,
        "repr": f"{kernel.__qualname__}[{settings}]({kinds_text})",
        "fn": SimpleNamespace(
            module=kernel.__module__, name=kernel.__qualname__, jit_function=kernel
        ),
        "compile": request,
        "is_manual_warmup": is_warmup,
        "already_compiled": False,
    }


def _as_text(kernel, key, signature, constants, attributes, options) -> str:
    """A variant as JSON, by Triton's names: what a program may write down and compile again elsewhere, by
    `JITFunction.preload`. Dtypes are texts, as in Triton, and functions are named by where they are defined."""
    import json

    from ..language import dtype
    from .jit import JITFunction

    def plain(value):
        if getattr(value, "__sectile_constexpr__", False) is True:
            return {"constexpr": plain(value.value)}
        if isinstance(value, JITFunction):
            return {"jit_function": f"{value.module}:{value.__qualname__}"}
        if isinstance(value, (type(None), bool, int, float, str)):
            return value
        return str(value) if isinstance(value, dtype) else {"no_text_for": repr(value)}

    return json.dumps(
        {
            "name": kernel._fn_name,
            "signature": signature,
            "constant_keys": [list(path) for path in constants],
            "constant_vals": [plain(value) for value in constants.values()],
            "attrs_keys": [list(path) for path in attributes],
            "attrs_vals": list(attributes.values()),
            "options": {name: plain(value) for name, value in options.items()},
            "key": str(key),
        },
        default=str,
    )


def described_variant(kernel: JITFunction, text: str):
    """The `ASTSource` and the options of a variant that `_as_text` described.

    Raises:
        ValueError: the text is no such description, or has a value that no text says.
        RuntimeError: it describes another kernel.
    """
    import json

    from ..compiler.compiler import ASTSource

    title = f"{kernel.__name__}: preload"
    try:
        known = json.loads(text)
        name, signature, options = known["name"], known["signature"], known["options"]
        paths = [tuple(path) for path in known["constant_keys"]]
        values = known["constant_vals"]
        attributes = {
            tuple(path): value for path, value in zip(known["attrs_keys"], known["attrs_vals"])
        }
        is_table = isinstance(signature, dict) and isinstance(options, dict)
        if len(paths) != len(values) or not all(paths) or not is_table:
            raise TypeError("constant_keys and constant_vals, or signature and options, do not fit")
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{title}: this is no description of a variant: {type(error).__name__}: {error}\n"
            '  help: pass the text that jit_cache_hook receives as compile["specialization_data"]'
        ) from None
    if name != kernel._fn_name:
        raise RuntimeError(
            f"{title}: the description is of {name}, not of {kernel._fn_name}\n"
            f"  Specialization data is for {name} but trying to preload for {kernel._fn_name}"
        )
    names = kernel.arg_names

    def constant(path, value):
        place = f"{title}: {names[path[0]] if path[0] < len(names) else path}"
        if isinstance(value, str):
            return _dtype_of(value) or value
        if not isinstance(value, dict):
            return value
        if "constexpr" in value:
            from ..language import constexpr

            return constexpr(constant(path, value["constexpr"]))
        if "jit_function" in value:
            return _function_named(value["jit_function"], place)
        raise ValueError(
            f"{place} is {value.get('no_text_for', value)}, which a text cannot hold\n"
            "  help: compile this variant by warmup() or precompile(), with the object itself"
        )

    def tuples(kind):
        return tuple(map(tuples, kind)) if isinstance(kind, list) else kind

    constants = {path: constant(path, value) for path, value in zip(paths, values)}
    source = ASTSource(
        kernel, {name: tuples(kind) for name, kind in signature.items()}, constants, attributes
    )
    return source, options


def _dtype_of(text: str):
    """The dtype that is written so; None for any other text."""
    from ..language._dtypes import str_to_ty

    try:
        found = str_to_ty(text)
    except ValueError:
        return None
    return found if str(found) == text else None


def _function_named(text: str, place: str):
    """The kernel function ``"module:qualified.name"``."""
    import importlib
    from operator import attrgetter

    module, _, name = text.partition(":")
    try:
        return attrgetter(name)(importlib.import_module(module))
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"{place} is the function {name} of the module {module}, which is not there: {error}\n"
            "  help: functions that a description names have to be globals of modules that can be imported"
        ) from None


def _event(compiled, origin: str) -> dict:
    """The data that the listener receives; times are in microseconds."""
    is_hit = origin != "compiled"
    times = {} if is_hit else {step: round(s * 1e6) for step, s in compiled.compile_times}
    total, front_end = times.pop("total", 0), times.pop("front end", 0)
    # "backend/link" is part of "backend".
    stages = [(step, time) for step, time in times.items() if "/" not in step]
    return {
        "src": source_of(compiled),
        "metadata": compiled.metadata._asdict(),
        "metadata_group": {},
        "times": SimpleNamespace(
            ir_initialization=front_end,
            lowering_stages=stages,
            total_lowering=total - front_end,
            store_results=0,
            total=total,
        ),
        "cache_hit": is_hit,
    }


def _report(kernel: JITFunction, index: int, is_warmup: bool) -> None:
    every = kernel._variants()
    if index >= len(every):  # forgotten by another thread
        return
    for hook in (knobs.runtime.jit_cache_hook, knobs.runtime.jit_post_compile_hook):
        if hook is not None:
            hook(**_description(kernel, index, every[index], is_warmup))
    if knobs.compilation.listener is not None:
        knobs.compilation.listener(**_event(every[index][0], every[index][4]))


def update() -> None:
    """Makes the bindings report variants, or stops it; called when a hook was set or taken away."""
    hooks = (
        knobs.runtime.jit_cache_hook,
        knobs.runtime.jit_post_compile_hook,
        knobs.compilation.listener,
    )
    is_wanted = any(hook is not None for hook in hooks)
    _native.set_variant_listener(_report if is_wanted else None)
