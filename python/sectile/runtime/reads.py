"""What evaluating a kernel reads of Python, and how to see that it would read the same again.

The bindings note every question that evaluation asks (`bindings/ReadLog.h`) and come here with what needs
Python's own words: which functions read nothing but what can be watched, which attributes cannot change, what
the text of a function is.
"""

from __future__ import annotations

import builtins
import sys
from opcode import opmap
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType

from .. import _native
from .source import SourceUnavailable, source_lines

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import Any

PLAIN_TYPES = frozenset({type(None), bool, int, float, complex, str, bytes, type(Ellipsis)})

_PURE_MODULES = frozenset({"math", "cmath", "operator", "_operator"})
_PURE_BUILTINS = frozenset(
    "abs all any ascii bin bool bytes chr complex dict divmod enumerate filter float format frozenset hex "
    "int isinstance issubclass iter len list map max min next oct ord pow print range repr reversed round "
    "set slice sorted str sum tuple type zip".split()
)
#: Instructions of functions that change something, or reach what their names do not show.
_OPEN_INSTRUCTIONS = frozenset(
    opmap[name]
    for name in (
        "IMPORT_NAME", "IMPORT_FROM", "IMPORT_STAR", "LOAD_BUILD_CLASS", "LOAD_NAME", "STORE_NAME",
        "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR",
    )
    if name in opmap
)  # fmt: skip
_LOAD_GLOBAL = opmap["LOAD_GLOBAL"]
_GLOBAL_LOOKUPS = frozenset((_LOAD_GLOBAL, opmap["LOAD_NAME"]))
_EXTENDED_ARG = opmap["EXTENDED_ARG"]
_STORES_TO_CELLS = frozenset(opmap[name] for name in ("STORE_DEREF", "DELETE_DEREF"))
_SUSPENDS = 0x20 | 0x80 | 0x200  # generators, coroutines and both


def names_of(code: CodeType) -> set[str]:
    """All global, builtin and attribute names in a code object and those nested in it."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= names_of(constant)
    return names


def global_names_of(code: CodeType) -> set[str]:
    """The names that a code object and those nested in it look up among the globals, be they there or not."""
    names: set[str] = set()
    extended = 0
    instructions = code.co_code
    for at in range(0, len(instructions), 2):
        operation, argument = instructions[at], extended | instructions[at + 1]
        extended = argument << 8 if operation == _EXTENDED_ARG else 0
        if operation in _GLOBAL_LOOKUPS:
            is_doubled = operation == _LOAD_GLOBAL and sys.version_info >= (3, 11)
            names.add(code.co_names[argument >> 1 if is_doubled else argument])
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= global_names_of(constant)
    return names


def code_text(code: CodeType) -> str:
    """What a function without source does: instructions, constants and names."""
    constants = [
        code_text(constant) if isinstance(constant, CodeType) else repr(constant)
        for constant in code.co_consts
    ]
    return f"{code.co_code!r}{constants}{code.co_names}{code.co_varnames}{code.co_freevars}"


def is_jit(value: Any) -> bool:
    return getattr(value, "__sectile_jit__", False) is True and not isinstance(value, type)


def source_digest(function: Any) -> str:
    """Returns the digest of the text of a function that a kernel calls; of a ``@jit`` function with its place,
    which code names. What the function refers to is read, and noted, on its own."""
    plain = getattr(function, "fn", function) if is_jit(function) else function
    code = plain.__code__
    if not is_jit(function):
        return _native.digest([code_text(code).encode("utf-8", "surrogatepass")])
    text = getattr(function, "_source_override", None)
    if text is None:
        try:
            text = "".join(source_lines(plain)[0])
        except SourceUnavailable:
            text = code_text(code)
    place = f"{code.co_filename}:{code.co_firstlineno}:{plain.__qualname__}"
    return _native.digest([part.encode("utf-8", "surrogatepass") for part in (place, text)])


def is_fixed(owner: Any, name: str) -> bool:
    """Whether attribute `name` of `owner` stays what it is: of members of enumerations, and fields of frozen
    dataclasses."""
    kind = type(owner)
    if hasattr(kind, "__members__") and name in ("name", "value", "_name_", "_value_"):
        return True
    parameters = getattr(kind, "__dataclass_params__", None)
    if not getattr(parameters, "frozen", False) or name not in kind.__dataclass_fields__:
        return False
    # A property may stand in the place of a field; a slot is a field's own.
    return not hasattr(type(getattr(kind, name, None)), "__get__") or (
        name in getattr(kind, "__slots__", ())
    )


#: The special methods that decide what an operation makes of an object.
_SPECIAL_METHODS = {
    "eq": ("__eq__",),
    "ne": ("__eq__", "__ne__"),
    "bool": ("__bool__", "__len__"),
    "str": ("__str__", "__repr__"),
    "repr": ("__repr__",),
}


def is_fixed_operation(function: Any, arguments: tuple[tuple, dict]) -> bool:
    """Whether `function`, of ``operator`` or ``builtins``, always makes the same of these very objects: their
    classes leave it to ``object``, or to a type whose values never change."""
    methods = _SPECIAL_METHODS.get(function.__name__)
    return methods is not None and all(_has_fixed(value, methods) for value in arguments[0])


def _has_fixed(value: Any, methods: tuple[str, ...]) -> bool:
    if is_plain(value):
        return True
    if type(value) is tuple:
        return all(_has_fixed(item, methods) for item in value)
    for name in methods:
        method = getattr(type(value), name, None)
        owners = (object, int, str, float)
        if method is not None and not any(method is getattr(owner, name, None) for owner in owners):
            return False
    return True


def functions_behind(callee: Any) -> dict[FunctionType, list[str]] | None:
    """What calling `callee` with plain arguments (numbers, texts, dtypes, tuples of these) depends on.

    Returns:
        The Python functions that take part, each with the global names it reads, callers first; nothing for
        a native function of numbers. None when that is unknown: the callee may read anything.
    """
    if isinstance(callee, BuiltinFunctionType):
        return {} if _is_pure_native(callee) else None
    if isinstance(callee, type):
        is_number = callee.__module__ == "numpy" and hasattr(callee, "dtype")
        return {} if is_number and not hasattr(callee, "__array_finalize__") else None
    if not isinstance(callee, FunctionType):
        return None
    if _is_ours(callee):
        return {}
    found: dict[FunctionType, list[str]] = {}
    return found if _is_closed(callee, found) else None


def _is_ours(value: Any) -> bool:
    """Whether it is this package's, which the compiler's build fixes."""
    # What it calls itself may be Triton's name (sectile.as_triton).
    return (value.__globals__.get("__name__") or "").partition(".")[0] == "sectile"


def _is_pure_native(function: BuiltinFunctionType) -> bool:
    owner = function.__self__
    if owner is None or isinstance(owner, ModuleType):
        module = function.__module__
        return module in _PURE_MODULES or (
            module == "builtins" and function.__name__ in _PURE_BUILTINS
        )
    return is_plain(owner)  # "text".upper


def is_plain(value: Any) -> bool:
    """Numbers, texts, dtypes, constants of these, and tuples of them: what shows all that it is."""
    if type(value) in PLAIN_TYPES:
        return True
    if type(value) in (tuple, frozenset):
        return all(map(is_plain, value))
    if isinstance(value, type):
        return False
    if getattr(value, "__sectile_constexpr__", False) is True:
        return is_plain(value.value)
    return getattr(value, "__sectile_dtype__", False) is True


def _is_closed(fn: FunctionType, found: dict[FunctionType, list[str]]) -> bool:
    """Whether `fn` reads nothing but its arguments and global names that are plain, or closed in turn.

    All that such a function can reach is plain, or made by itself: nothing is hidden behind an attribute or
    an item, so its names show everything it depends on.
    """
    if fn in found:
        return True
    code = fn.__code__
    if code.co_flags & _SUSPENDS or set(fn.__dict__) - _OUR_MARKS:
        return False
    if not all(map(is_plain, (*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()))):
        return False
    mentioned = names_of(code)
    if mentioned & _SETTINGS or not _instructions_are_closed(code, bool(code.co_freevars)):
        return False
    names = [
        name for name in sorted(mentioned) if name in fn.__globals__ or hasattr(builtins, name)
    ]
    found[fn] = [*code.co_freevars, *names]
    for name in names:
        if name in fn.__globals__:
            if not _is_closed_value(fn.__globals__[name], found):
                return False
        elif not _is_pure_builtin(name):
            return False
    try:
        return all(_is_closed_value(cell.cell_contents, found) for cell in fn.__closure__ or ())
    except ValueError:  # an empty cell
        return False


#: Of this package's modules, what may change.
_SETTINGS = frozenset(("driver", "knobs", "runtime"))
_OUR_MARKS = frozenset(
    ("__sectile_lines__", "__sectile_constexpr_function__", "__sectile_builtin__", "__wrapped__")
)


def _is_closed_value(value: Any, found: dict[FunctionType, list[str]]) -> bool:
    if isinstance(value, FunctionType):
        return _is_ours(value) or _is_closed(value, found)
    if isinstance(value, BuiltinFunctionType):
        return _is_pure_native(value)
    if isinstance(value, ModuleType):
        return value.__name__ in _PURE_MODULES or _is_ours_module(value)
    return is_plain(value)


def _is_ours_module(module: ModuleType) -> bool:
    return module.__name__.partition(".")[0] == "sectile"


def _is_pure_builtin(name: str) -> bool:
    value = getattr(builtins, name)
    return name in _PURE_BUILTINS or (isinstance(value, type) and issubclass(value, BaseException))


def _instructions_are_closed(code: CodeType, has_cells: bool) -> bool:
    instructions = set(code.co_code[::2])
    if instructions & _OPEN_INSTRUCTIONS or (has_cells and instructions & _STORES_TO_CELLS):
        return False
    return all(
        _instructions_are_closed(constant, has_cells)
        for constant in code.co_consts
        if isinstance(constant, CodeType)
    )
