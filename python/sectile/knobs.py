"""Environment variables as typed attributes, in groups.

    import sectile as st
    st.knobs.cache.dir = "/tmp/kernels"      # as if SECTILE_CACHE_DIR had been set
    st.knobs.runtime.check                   # "bounds", or None

    with st.knobs.scope():                   # all is as before behind it
        st.knobs.compilation.dump = "llvm:/tmp/dumps"
        kernel[grid](x, n)

    with st.knobs.scope(check="bounds"):     # the same, by the name of the variable
        kernel[grid](x, n)

Setting one sets the environment variable, for this process and those it starts, and informs the runtime: it
holds from the next launch on, also for kernels that are loaded already (those about compiling: for what is
compiled from then on; `JITFunction.clear` forgets what there is). What cannot change any more is an error.
``None`` (or `del`) unsets a knob. A program that changes `os.environ` itself calls `refresh` afterwards.
`table()` lists the meaning of all, `python/README.md` too.
"""

from __future__ import annotations

import os
import sys

from ._generic import Generic

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar, overload

    from .runtime.hooks import HookChain

    T = TypeVar("T")  # of the value
    D = TypeVar("D")  # of the default: None where there is none
else:
    T = D = None


def refresh() -> None:
    """Makes the runtime read the environment again; a no-op where it has not started.

    Raises:
        RuntimeError: something was set that this process cannot change any more.
    """
    native = sys.modules.get("sectile._native")
    if native is None:
        return
    if refused := native.reconfigure():
        raise RuntimeError("\n".join(refused))


def _change(variable: str, text: str | None) -> None:
    """Sets or unsets the variable, or leaves all as it was."""
    before = os.environ.get(variable)
    _set(variable, text)
    try:
        refresh()
    except RuntimeError:
        _set(variable, before)
        raise


def _set(variable: str, text: str | None) -> None:
    if text is None:
        os.environ.pop(variable, None)
    else:
        os.environ[variable] = text


# As jit/runtime/Knobs.cpp reads them.
_FLAGS = {
    **dict.fromkeys(("1", "true", "on", "yes"), True),
    **dict.fromkeys(("0", "false", "off", "no", ""), False),
}


class Knob(Generic[T, D]):
    # One environment variable: its name, how its text is read, its default, and the texts allowed.
    if not TYPE_CHECKING:
        # The meaning in the runtime's table, for help(); it is not read before.
        __doc__ = property(lambda self: self.meaning)

    def __init__(
        self, variable: str, kind: type[T], default: D, allowed: tuple[str, ...] = ()
    ) -> None:
        self.variable = variable
        self.kind = kind
        self.default = default
        self.allowed = allowed

    @property
    def meaning(self) -> str:
        """The sentence about the variable in `table()`."""
        return next(row[3] for row in table() if row[0] == self.variable)

    def _check(self, text: str) -> str:
        if self.allowed and text not in self.allowed:
            from ._suggest import did_you_mean

            raise ValueError(
                f"{self.variable} is {text!r}, not one of {', '.join(self.allowed)}"
                f"{did_you_mean(text, self.allowed)}"
            )
        return text

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: Any = None) -> Knob[T, D]: ...
        @overload
        def __get__(self, instance: Group, owner: Any = None) -> T | D: ...

    def __get__(self, instance: Group | None, owner: Any = None) -> Any:
        if instance is None:
            return self
        text = os.environ.get(self.variable)
        if text is None:
            return self.default
        if self.kind is bool:
            if text not in _FLAGS:
                raise ValueError(f"{self.variable} is {text!r}, not 0 or 1")
            return _FLAGS[text]
        if self.kind is int:
            try:
                return int(text)
            except ValueError:
                raise ValueError(f"{self.variable} is {text!r}, not an integer") from None
        if self.kind is float:
            try:
                return float(text)
            except ValueError:
                raise ValueError(f"{self.variable} is {text!r}, not a number") from None
        return self._check(text)

    def __set__(self, instance: Group, value: T | bool | os.PathLike[str] | None) -> None:
        _change(self.variable, self._text(value))

    def _text(self, value: Any) -> str | None:
        if value is None:
            return None
        if self.kind is bool or (isinstance(value, bool) and "1" in self.allowed):
            return "1" if value else "0"
        is_number = self.kind in (int, float)
        if isinstance(value, bool) and is_number:
            pass  # True threads?
        elif isinstance(value, self.kind) or (self.kind is float and isinstance(value, int)):
            return self._check(str(value))
        elif self.kind is str and hasattr(value, "__fspath__"):
            return os.fspath(value)
        raise TypeError(
            f"{self.variable} takes {self.kind.__name__}, not {type(value).__name__} {value!r}"
        )

    def __delete__(self, instance: Group) -> None:
        _change(self.variable, None)


class Callback:
    """A function to call, or None. Of this process only: no environment variable can hold it."""

    def __init__(self, meaning: str) -> None:
        self.__doc__ = meaning

    def __set_name__(self, owner: Any, name: str) -> None:
        self.slot = "_" + name

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: Any = None) -> Callback: ...
        @overload
        def __get__(self, instance: Group, owner: Any = None) -> Callable[..., Any] | None: ...

    def __get__(self, instance: Group | None, owner: Any = None) -> Any:
        return self if instance is None else vars(instance).get(self.slot)

    def __set__(self, instance: Group, value: Callable[..., Any] | None) -> None:
        if value is not None and not callable(value):
            raise TypeError(f"{self.slot[1:]} takes a function or None, not {value!r}")
        vars(instance)[self.slot] = value

    def __delete__(self, instance: Group) -> None:
        vars(instance).pop(self.slot, None)


class CompileHook(Callback):
    """A callback that is called with variants; while there is none, the bindings call nothing."""

    def __set__(self, instance: Group, value: Callable[..., Any] | None) -> None:
        super().__set__(instance, value)
        _update_compile_hooks()

    def __delete__(self, instance: Group) -> None:
        super().__delete__(instance)
        _update_compile_hooks()


def _update_compile_hooks() -> None:
    from .runtime import compile_hooks

    compile_hooks.update()


class Hook:
    """Functions that are notified of every launch; setting one replaces all. Of this process only."""

    def __init__(self, which: str, meaning: str) -> None:
        self.which = which
        self.__doc__ = meaning

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: Any = None) -> Hook: ...
        @overload
        def __get__(self, instance: Group, owner: Any = None) -> HookChain: ...

    def __get__(self, instance: Group | None, owner: Any = None) -> Any:
        if instance is None:
            return self
        from .runtime import hooks

        return getattr(hooks, self.which)

    def __set__(self, instance: Group, value: HookChain | Callable[..., Any] | None) -> None:
        chain = self.__get__(instance)
        if value is not chain:
            chain.replace(value)

    def __delete__(self, instance: Group) -> None:
        self.__get__(instance).replace(None)


class Group:
    """Knobs of one subject; other attributes cannot be set, so a misspelt one is an error."""

    if not TYPE_CHECKING:  # checkers would take them for leave to use any name

        def __setattr__(self, name: str, value) -> None:
            if not isinstance(getattr(type(self), name, None), (Knob, Callback, Hook)):
                from ._suggest import did_you_mean

                raise AttributeError(
                    f"knobs.{type(self).__name__} has no knob {name!r}{did_you_mean(name, self._names())}"
                )
            object.__setattr__(self, name, value)

        def __getattr__(self, name: str):
            from ._suggest import did_you_mean

            raise AttributeError(
                f"knobs.{type(self).__name__} has no knob {name!r}{did_you_mean(name, self._names())}"
            )

    def scope(self) -> scope:
        """``with st.knobs.cache.scope():`` as `knobs.scope`, which restores every group."""
        return scope()

    def _names(self) -> list[str]:
        return [name for name, value in vars(type(self)).items() if isinstance(value, Knob)]

    def __dir__(self) -> list[str]:
        return self._names()


class Cache(Group):
    """Where compiled kernels are kept."""

    dir = Knob("SECTILE_CACHE_DIR", str, None)
    size = Knob("SECTILE_CACHE_SIZE", str, None)
    layers = Knob("SECTILE_CACHE_LAYERS", str, None)
    wait = Knob("SECTILE_CACHE_WAIT", int, 30)


class Compilation(Group):
    """What the compiler shows of its work."""

    dump = Knob("SECTILE_DUMP", str, None)
    stop_after = Knob("SECTILE_STOP_AFTER", str, None)
    time = Knob("SECTILE_TIME", str, None, ("0", "1", "passes", ""))
    time_passes = Knob("SECTILE_TIME_PASSES", bool, False)
    log = Knob("SECTILE_LOG", str, None)
    keep_stages = Knob("SECTILE_KEEP_STAGES", bool, False)
    verify = Knob("SECTILE_VERIFY", bool, False)
    library = Knob("SECTILE_COMPILER_LIBRARY", str, None)
    reproducer_dir = Knob("SECTILE_REPRODUCER_DIR", str, None)
    ptxas = Knob("SECTILE_PTXAS", str, None)
    assembler = Knob("SECTILE_ASSEMBLER", str, None, ("driver", "ptxas", "none", ""))
    listener = CompileHook("called with each variant that is new to a kernel: src, metadata, "
                           "metadata_group, times, cache_hit")  # fmt: skip


class Runtime(Group):
    """How kernels run."""

    check = Knob("SECTILE_CHECK", str, None)
    debug = Knob("SECTILE_DEBUG", bool, False)
    num_threads = Knob("SECTILE_NUM_THREADS", int, None)
    code_dir = Knob("SECTILE_CODE_DIR", str, None)
    hip = Knob("SECTILE_HIP", str, None)
    as_triton = Knob("SECTILE_AS_TRITON", bool, False)
    print_elements = Knob("SECTILE_PRINT_ELEMENTS", int, 1024)
    numerics = Knob("SECTILE_NUMERICS", str, "default", ("default", "strict", "reproducible"))
    default_dot_input_precision = Knob(
        "SECTILE_DEFAULT_DOT_INPUT_PRECISION",
        str,
        "default",
        ("default", "tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"),
    )
    print_format = Knob("SECTILE_PRINT_FORMAT", str, "numpy", ("numpy", "triton"))
    print_buffer = Knob("SECTILE_PRINT_BUFFER", str, None)
    launch_enter_hook = Hook(
        "enter",
        "called with a LaunchMetadata before each launch: .add(function), .remove(function)",
    )
    launch_exit_hook = Hook("exit", "the same after each launch; on a GPU it is queued then")
    jit_cache_hook = CompileHook("called with each variant that is new to a kernel: key, repr, fn, "
                                 "compile, is_manual_warmup, already_compiled")  # fmt: skip
    jit_post_compile_hook = CompileHook("the same, after that")


class Autotuning(Group):
    """The tuner."""

    mode = Knob("SECTILE_AUTOTUNE", str, "on", ("on", "off", "force", "frozen"))
    dir = Knob("SECTILE_TUNING_DIR", str, None)
    cache = Knob("SECTILE_CACHE_AUTOTUNING", bool, True)
    print = Knob("SECTILE_PRINT_AUTOTUNING", bool, False)
    threads = Knob("SECTILE_TUNING_THREADS", int, None)
    budget = Knob("SECTILE_TUNING_BUDGET", float, None)
    listener = Callback("called after each choice: fn, key, best_config, configs_timings, duration, "
                        "cache_hit")  # fmt: skip


cache = Cache()
compilation = Compilation()
runtime = Runtime()
autotuning = Autotuning()


_GROUPS = (cache, compilation, runtime, autotuning)


def _knobs() -> Iterator[tuple[Group, str, Knob[Any, Any]]]:
    for group in _GROUPS:
        for name, knob in vars(type(group)).items():
            if isinstance(knob, Knob):
                yield group, name, knob


class scope:
    """``with st.knobs.scope():`` restores every knob at its end, and the environment with them.

        with st.knobs.scope(num_threads=1, dump="llvm:/tmp/dumps"): ...

    Knobs are the process's: other threads see them, too.

    Args:
        values: knobs to set, by the names of their variables: ``cache_dir`` is SECTILE_CACHE_DIR.
    """

    def __init__(self, **values: Any) -> None:
        known = {knob.variable.removeprefix("SECTILE_").lower(): knob for _, _, knob in _knobs()}
        self._texts: dict[str, str | None] = {}
        for name, value in values.items():
            if name not in known:
                from ._suggest import did_you_mean

                raise TypeError(f"scope: there is no knob {name!r}{did_you_mean(name, known)}")
            self._texts[known[name].variable] = known[name]._text(value)

    def __enter__(self) -> scope:
        self._before = {knob.variable: os.environ.get(knob.variable) for _, _, knob in _knobs()}
        self._callbacks = [dict(vars(group)) for group in _GROUPS]
        try:
            for variable, text in self._texts.items():
                _change(variable, text)
        except RuntimeError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for variable, text in self._before.items():
            _set(variable, text)
        for group, callbacks in zip(_GROUPS, self._callbacks):
            changed = vars(group) != callbacks
            vars(group).clear()
            vars(group).update(callbacks)
            if changed:
                _update_compile_hooks()
        refresh()


def table() -> list[tuple[str, str, str, str]]:
    """(variable, kind, default, meaning) of every variable that the runtime, the compiler and this
    package read."""
    from . import _native

    return [row[:4] for row in _native.knob_table()]


def markdown() -> str:
    """`table()` with the attribute of each, as python/README.md has it: ``sectile knobs --markdown``."""
    from . import _native

    return _native.knobs_markdown()
