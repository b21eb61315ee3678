"""What a kernel's code depends on besides its own text.

`snapshot(fn)` follows the names in the function's code object: helpers decorated with @jit and plain
functions it may call at compile time (their text, and what they refer to in turn), global and closure
values, attributes of modules, classes and objects. It returns a digest of all that, and the list of what
to look at before the next launch: as long as every watched thing is what it was, so is the digest.

The list names more than the kernel uses (any attribute name of the code that an object happens to have),
never less, so a needless recompile is possible and a stale kernel is not.
"""

from __future__ import annotations

import builtins
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType

from .. import _native
from .source import SourceUnavailable, source_lines, source_text

_DEPTH = 4  # of attributes of attributes
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))


def _names(code: CodeType) -> set[str]:
    """All global, builtin and attribute names in a code object and those nested in it."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names


def code_text(code: CodeType) -> str:
    """What a function without source does: instructions, constants and names."""
    constants = [
        code_text(constant) if isinstance(constant, CodeType) else repr(constant)
        for constant in code.co_consts
    ]
    return f"{code.co_code!r}{constants}{code.co_names}{code.co_varnames}{code.co_freevars}"


def _home(fn: FunctionType) -> str:
    """The module of `fn`; of a program, the name of its file."""
    if fn.__module__ in (None, "__main__"):
        return fn.__code__.co_filename.replace("\\", "/").rpartition("/")[2]
    return fn.__module__


class _Snapshot:
    def __init__(self, package: str, has_places: bool = True, files=()) -> None:
        self.package = package
        self.has_places = has_places
        self.parts: list[str] = []
        self.files: dict[str, int] = {name: number for number, name in enumerate(files)}
        self.watches: dict[tuple, tuple] = {}
        # What was visited, by identity; the values keep the objects alive, so that no id is reused.
        self.seen: dict[object, object] = {}

    def digest(self) -> str:
        return _native.digest([part.encode("utf-8", "surrogatepass") for part in self.parts])

    def visit(self, key, value) -> bool:
        """True the first time."""
        if key in self.seen:
            return False
        self.seen[key] = value
        return True

    def watch(self, kind: str, holder, name, value) -> None:
        self.watches.setdefault((kind, id(holder), name), (kind, holder, name, value))

    def function(self, fn: FunctionType, text: str | None) -> None:
        """A function's text (or, without source, its code) and whatever it refers to."""
        if not self.visit(id(fn), fn):
            return
        code = fn.__code__
        if text is None:
            try:
                text = "".join(source_lines(fn)[0]) if self.has_places else source_text(fn)
            except SourceUnavailable:
                text = code_text(code)
        # Lines are in the code (messages, debug information), so they are part of what is compiled. Of a file
        # it is its module, and which functions share one: where files lie differs between a container's
        # build and its use, and the runtime puts in the place that is right when it loads the kernel.
        place = ""
        if self.has_places:
            file = self.files.setdefault(code.co_filename, len(self.files))
            place = f"@{_home(fn)}:{file}:{code.co_firstlineno}"
        self.parts.append(f"def {fn.__qualname__}{place}\n{text}")
        for index, default in enumerate(fn.__defaults__ or ()):
            self.value(f"default {index}", default, ())
        for name, default in (fn.__kwdefaults__ or {}).items():
            self.value(f"default {name}", default, ())
        names = _names(code)
        namespace = fn.__globals__
        for name in sorted(names):
            if name in namespace:
                value = namespace[name]
                self.watch("dict", namespace, name, value)
                self.value(name, value, names)
            elif hasattr(builtins, name):
                self.watch("absent", namespace, name, None)
        for name, cell in zip(code.co_freevars, fn.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self.watch("cell", cell, name, value)
            self.value(name, value, names)

    def value(self, name: str, value, names, depth: int = 0) -> None:
        """Describes `value`, known as `name`, of which the attributes `names` may be read."""
        if isinstance(value, _PLAIN):
            self.parts.append(f"{name}={type(value).__name__}:{value!r}")
        elif isinstance(value, ModuleType):
            self.attributes(name, value, names, depth)
        elif getattr(value, "__sectile_jit__", False) is True and not isinstance(value, type):
            self.parts.append(f"{name}=jit:{value.__name__}")
            self.function(value.fn, getattr(value, "_source_override", None))
        elif isinstance(getattr(value, "__sectile_builtin__", None), str):
            self.parts.append(f"{name}=builtin:{value.__sectile_builtin__}")
        elif getattr(value, "__sectile_dtype__", False) is True and not isinstance(value, type):
            self.parts.append(f"{name}=dtype:{value.name}")
        elif getattr(value, "__sectile_constexpr__", False) is True and not isinstance(value, type):
            self.watch("attribute", value, "value", value.value)
            self.value(f"{name}.value", value.value, names, depth)
        elif isinstance(value, tuple):
            fields = getattr(type(value), "_fields", "")
            self.parts.append(f"{name}={type(value).__qualname__}[{len(value)}]{fields}")
            for index, item in enumerate(value):
                self.value(f"{name}[{index}]", item, names, depth + 1)
        elif isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
            # Kernels make instances: the fields are all that the code depends on.
            self.parts.append(f"{name}=class:{value.__qualname__}{value._fields}")
            for field, default in getattr(value, "_field_defaults", {}).items():
                self.value(f"{name}.{field}", default, names, depth + 1)
        elif isinstance(value, (list, dict, set, frozenset)):
            text = repr(value)
            self.watch("text", value, name, text)
            self.parts.append(f"{name}={text}")
        elif isinstance(value, FunctionType):
            own = (value.__module__ or "").partition(".")[0] == self.package
            if own or getattr(value, "__sectile_constexpr_function__", False):
                self.function(value, None)
            else:  # somebody else's library: its code, but not all that it refers to in turn
                self.parts.append(
                    f"{name}=function:{value.__qualname__}:{code_text(value.__code__)}"
                )
        elif isinstance(value, BuiltinFunctionType):
            self.parts.append(f"{name}=native:{value.__module__}.{value.__qualname__}")
        else:
            self.attributes(name, value, names, depth)

    def attributes(self, name: str, value, names, depth: int) -> None:
        """A module, class or object: what it is, and those of its attributes the code may read."""
        is_module = isinstance(value, ModuleType)
        if is_module:
            self.parts.append(f"{name}=module:{value.__name__}")
            if value.__name__.partition(".")[0] == "sectile":
                return  # the language: fixed by the compiler's build
        else:
            kind = value if isinstance(value, type) else type(value)
            self.parts.append(f"{name}={kind.__module__}.{kind.__qualname__}")
        if depth >= _DEPTH:
            return
        for attribute in sorted(names):
            if attribute.startswith("__") or not self.visit((id(value), attribute), value):
                continue
            if is_module:
                if attribute not in value.__dict__:
                    continue
                item = value.__dict__[attribute]
                self.watch("dict", value.__dict__, attribute, item)
            else:
                try:
                    item = getattr(value, attribute)
                    again = getattr(value, attribute)
                except Exception:
                    continue
                # Bound methods and properties make a fresh object at each read: nothing to compare.
                if item is again:
                    self.watch("attribute", value, attribute, item)
            self.value(f"{name}.{attribute}", getattr(item, "__func__", item), names, depth + 1)


def snapshot(
    fn: FunctionType, source: str | None = None, has_places: bool = True
) -> tuple[str, list[tuple], list[str]]:
    """The digest of `fn` and all it refers to, and what to watch.

    Args:
        fn: the kernel's function.
        source: its text, when that is not the file's.
        has_places: digest file, line and decorators, too, which change messages and not the code.

    Returns:
        ``(digest, watches, files)``; each watch is ``(kind, holder, name, expected)`` with kind ``"dict"``,
        ``"absent"``, ``"cell"``, ``"attribute"`` or ``"text"``; the files are those of the functions, which
        the digest knows by their number only.
    """
    state = _Snapshot((fn.__module__ or "").partition(".")[0], has_places)
    state.function(fn, source)
    return state.digest(), list(state.watches.values()), list(state.files)


def texts(fn: FunctionType, text: str | None = None) -> list[str]:
    """What `snapshot` digests: the texts of a kernel and of the functions it may call, and what their
    names stand for."""
    state = _Snapshot((fn.__module__ or "").partition(".")[0], has_places=False)
    state.function(fn, text)
    return state.parts


def describe(fn: FunctionType, constants: list, files=()) -> tuple[str, list[str]]:
    """The digest of constant arguments of `fn`: texts, dtypes, functions, objects.

    Returns:
        The digest, and `files` with those of the functions among the constants added.
    """
    state = _Snapshot((fn.__module__ or "").partition(".")[0], files)
    names = _names(fn.__code__)
    for index, constant in enumerate(constants):
        state.value(f"constant {index}", constant, names)
        # Members of an enumeration differ in nothing but their text.
        state.parts.append("" if hasattr(constant, "__sectile_jit__") else _stable_repr(constant))
    return state.digest(), list(state.files)


def _stable_repr(value) -> str:
    """repr(), unless it is the default one, which shows an address."""
    return "" if type(value).__repr__ is object.__repr__ else repr(value)
