"""What a kernel's code depends on besides its own text, as far as its names show.

`snapshot(fn)` follows the names in the function's code object: helpers decorated with @jit and plain
functions it may call at compile time (their text, and what they refer to in turn), global and closure
values, attributes of modules, classes and objects, items of lists and dictionaries. It returns a digest of
all that, and the list of what to look at before the next launch: as long as every watched thing is what it
was, so is the digest.

This is what makes a kernel found without evaluating it, not what makes it right. Names do not show what a
method reads, or an item of a foreign container: whatever evaluation reads that no watch covers is noted as
it is read, and asked again before the code is used (`bindings/ReadLog.h`). So a snapshot may leave out what
it likes; what it watches it must digest. It asks no property of the user's, nor calls anything.
"""

from __future__ import annotations

import builtins
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

from .. import _native
from .reads import PLAIN_TYPES, code_text, functions_behind, global_names_of, is_jit, names_of
from .source import SourceUnavailable, source_lines, source_text

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_DEPTH = 4  # of attributes of attributes, items of items
_MOST_ITEMS = 256  # of a dictionary that is followed
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))


def _home(fn: FunctionType) -> str:
    """The module of `fn`; of a program, the name of its file."""
    if fn.__module__ in (None, "__main__"):
        return fn.__code__.co_filename.replace("\\", "/").rpartition("/")[2]
    return fn.__module__


def _of_class(kind: type, name: str) -> Any:
    for base in kind.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    raise AttributeError(name)


def _at_rest(owner: Any, name: str) -> Any:
    """The attribute, if reading it runs no code of the user's; else AttributeError."""
    kind = type(owner)
    if isinstance(owner, type):
        members = owner.__dict__.get("_member_map_", {})  # an enumeration's
        found = members[name] if name in members else _of_class(owner, name)
    elif name in getattr(owner, "__dict__", ()):
        found = owner.__dict__[name]
    elif hasattr(kind, "__members__") and name in ("name", "value"):
        found = owner.__dict__[f"_{name}_"]  # an enumeration's
    else:
        found = _of_class(kind, name)
    runs_code = hasattr(type(found), "__get__") and not (
        isinstance(found, (FunctionType, staticmethod, classmethod))
        or type(found).__name__ == "member_descriptor"  # a slot
        or is_jit(found)
    )
    if runs_code or kind.__getattribute__ not in (object.__getattribute__, type.__getattribute__):
        raise AttributeError(name)
    return getattr(owner, name)


class Snapshot:
    def __init__(self, package: str, has_places: bool = True, files: Iterable[str] = ()) -> None:
        self.package = package
        self.has_places = has_places
        self.parts: list[str] = []
        self.files: dict[str, int] = {name: number for number, name in enumerate(files)}
        self.watches: dict[tuple, tuple] = {}
        # What was visited, by identity; the values keep the objects alive, so that no id is reused.
        self.seen: dict[object, object] = {}
        #: All names in the code of the functions visited.
        self.names: set[str] = set()

    def digest(self) -> str:
        return _native.digest([part.encode("utf-8", "surrogatepass") for part in self.parts])

    def visit(self, key: object, value: object) -> bool:
        """True the first time."""
        if key in self.seen:
            return False
        self.seen[key] = value
        return True

    def watch(self, kind: str, holder: object, name: object, value: object) -> None:
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
        if code.co_name == "<lambda>":  # several may share a line, and so their text
            text += code_text(code)
        # Lines are in the code (messages, debug information), so they are part of what is compiled. Of a file
        # it is its module, and which functions share one: where files lie differs between a container's
        # build and its use, and the runtime puts in the place that is right when it loads the kernel.
        place = ""
        if self.has_places:
            file = self.files.setdefault(code.co_filename, len(self.files))
            place = f"@{_home(fn)}:{file}:{code.co_firstlineno}"
        self.parts.append(f"def {fn.__qualname__}{place}\n{text}")
        self.watch_function(fn)
        names = names_of(code)
        self.names |= names
        for index, default in enumerate(fn.__defaults__ or ()):
            self.value(f"default {index}", default, names)
        for name, default in (fn.__kwdefaults__ or {}).items():
            self.value(f"default {name}", default, names)
        namespace = fn.__globals__
        looked_up = global_names_of(code)
        for name in sorted(names):
            if name in namespace:
                value = namespace[name]
                self.watch("dict", namespace, name, value)
                self.value(name, value, names)
            elif name in looked_up or hasattr(builtins, name):
                self.watch("absent", namespace, name, None)
        for name, cell in zip(code.co_freevars, fn.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self.watch("cell", cell, name, value)
            self.value(name, value, names)

    def watch_function(self, fn: FunctionType) -> None:
        # Tools that reload edited modules put new code into old functions.
        now = (fn.__code__, fn.__defaults__, fn.__kwdefaults__)
        self.watch("function", fn, None, now)
        if fn.__kwdefaults__:  # may be changed in place
            named = tuple(part for item in fn.__kwdefaults__.items() for part in item)
            self.watch("items", fn.__kwdefaults__, None, named)

    def value(self, name: str, value: Any, names: set[str], depth: int = 0) -> None:
        """Describes `value`, known as `name`, of which the attributes `names` may be read."""
        if isinstance(value, _PLAIN):
            self.parts.append(f"{name}={type(value).__name__}:{value!r}")
        elif isinstance(value, ModuleType):
            self.attributes(name, value, names, depth)
        elif is_jit(value):
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
            defaults = getattr(value, "_field_defaults", {})
            self.container(f"{name} defaults", defaults, names, depth)
        elif type(value) in (list, dict):
            self.container(name, value, names, depth)
        elif isinstance(value, (set, frozenset)):
            self.parts.append(f"{name}={type(value).__name__}:{sorted(map(repr, value))}")
        elif isinstance(value, FunctionType):
            self.python_function(name, value)
        elif isinstance(value, MethodType):
            self.value(f"{name}.__func__", value.__func__, names, depth)
            self.value(f"{name}.__self__", value.__self__, names, depth + 1)
        elif isinstance(value, BuiltinFunctionType):
            self.parts.append(f"{name}=native:{value.__module__}.{value.__qualname__}")
        else:
            self.attributes(name, value, names, depth)

    def python_function(self, name: str, fn: FunctionType) -> None:
        is_own = (fn.__module__ or "").partition(".")[0] == self.package
        if (
            is_own
            or getattr(fn, "__sectile_constexpr_function__", False)
            or functions_behind(fn) is not None
        ):
            self.function(fn, None)
        else:  # another package's: its code, but not all that it refers to in turn
            self.watch_function(fn)
            self.parts.append(f"{name}=function:{fn.__qualname__}:{code_text(fn.__code__)}")

    def container(self, name: str, value: Any, names: set[str], depth: int) -> None:
        """A list or dictionary: its items, in their order."""
        self.parts.append(f"{name}={type(value).__name__}[{len(value)}]")
        if not self.visit(("items", id(value)), value):
            return
        if isinstance(value, list):
            flat = tuple(value)
        else:
            if len(value) > _MOST_ITEMS or depth >= _DEPTH:
                return  # evaluation notes which items it reads
            flat = tuple(part for item in value.items() for part in item)
        if all(type(part) in PLAIN_TYPES for part in flat):
            self.parts.append(repr(flat))
        elif depth >= _DEPTH:
            return
        else:
            for index, part in enumerate(flat):
                self.value(f"{name}[{index}]", part, names, depth + 1)
        self.watch("items", value, None, flat)

    def attributes(self, name: str, value: Any, names: set[str], depth: int) -> None:
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
                    item = _at_rest(value, attribute)
                except Exception:
                    continue
                if not isinstance(item, MethodType):  # made anew by each read: nothing to compare
                    self.watch("attribute", value, attribute, item)
            self.value(f"{name}.{attribute}", getattr(item, "__func__", item), names, depth + 1)


def snapshot_of(fn: FunctionType, source: str | None = None, has_places: bool = True) -> Snapshot:
    """Returns the snapshot of a kernel. `source` is its text, when that is not the file's; without `has_places`
    file, line and decorators are left out, which change messages and not the code."""
    state = Snapshot((fn.__module__ or "").partition(".")[0], has_places)
    state.function(fn, source)
    return state


def texts(fn: FunctionType, text: str | None = None) -> list[str]:
    """What a snapshot digests: the texts of a kernel and of the functions it may call, and what their
    names stand for."""
    return snapshot_of(fn, text, has_places=False).parts


def describe(
    fn: FunctionType, constants: list, files: Iterable[str] = (), names: set[str] | None = None
) -> tuple[str, list[str]]:
    """The digest of constant arguments of `fn`: texts, dtypes, functions, objects.

    Args:
        names: of the attributes that may be read of objects; None: those in the code of `fn`.

    Returns:
        The digest, and `files` with those of the functions among the constants added.
    """
    state = Snapshot((fn.__module__ or "").partition(".")[0], files=files)
    names = names_of(fn.__code__) if names is None else names
    for index, constant in enumerate(constants):
        state.value(f"constant {index}", constant, names)
        # Members of an enumeration differ in nothing but their text.
        state.parts.append("" if hasattr(constant, "__sectile_jit__") else _stable_repr(constant))
    return state.digest(), list(state.files)


def _stable_repr(value: Any) -> str:
    """repr(), unless it is one that shows an address."""
    text = "" if type(value).__repr__ is object.__repr__ else repr(value)
    return "" if " at 0x" in text else text
