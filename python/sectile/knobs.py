"""Environment variables as typed attributes, in groups.

    import sectile as st
    st.knobs.cache.dir = "/tmp/kernels"      # as if SECTILE_CACHE_DIR had been set
    st.knobs.runtime.check                   # "bounds", or None

Setting one sets the environment variable, for this process and those it starts; ``None`` (or `del`)
unsets it. Those of the cache, of threads and the log are read once, when the first kernel is launched.
`table()` lists the meaning of all.
"""

from __future__ import annotations

import os


class Knob:
    """One environment variable: its name, how its text is read, its default, and the texts allowed."""

    def __init__(
        self, variable: str, kind: type, default, meaning: str, allowed: tuple[str, ...] = ()
    ) -> None:
        self.variable = variable
        self.kind = kind
        self.default = default
        self.allowed = allowed
        self.__doc__ = meaning

    def _check(self, text: str) -> str:
        if self.allowed and text not in self.allowed:
            from ._suggest import did_you_mean

            raise ValueError(
                f"{self.variable} is {text!r}, not one of {', '.join(self.allowed)}"
                f"{did_you_mean(text, self.allowed)}"
            )
        return text

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        text = os.environ.get(self.variable)
        if text is None:
            return self.default
        if self.kind is bool:
            return text.strip().lower() not in ("", "0", "false", "off", "no")
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

    def __set__(self, instance, value) -> None:
        if value is None:
            os.environ.pop(self.variable, None)
        elif self.kind is bool:
            os.environ[self.variable] = "1" if value else "0"
        elif isinstance(value, self.kind) or (self.kind is float and isinstance(value, int)):
            os.environ[self.variable] = self._check(str(value))
        elif self.kind is str and hasattr(value, "__fspath__"):
            os.environ[self.variable] = os.fspath(value)
        else:
            raise TypeError(
                f"{self.variable} takes {self.kind.__name__}, not {type(value).__name__} {value!r}"
            )

    def __delete__(self, instance) -> None:
        os.environ.pop(self.variable, None)


class Callback:
    """A function to call, or None. Of this process only: no environment variable can hold it."""

    def __init__(self, meaning: str) -> None:
        self.__doc__ = meaning

    def __set_name__(self, owner, name: str) -> None:
        self.slot = "_" + name

    def __get__(self, instance, owner=None):
        return self if instance is None else vars(instance).get(self.slot)

    def __set__(self, instance, value) -> None:
        if value is not None and not callable(value):
            raise TypeError(f"{self.slot[1:]} takes a function or None, not {value!r}")
        vars(instance)[self.slot] = value

    def __delete__(self, instance) -> None:
        vars(instance).pop(self.slot, None)


class Group:
    """Knobs of one subject; other attributes cannot be set, so a misspelt one is an error."""

    def __setattr__(self, name: str, value) -> None:
        if not isinstance(getattr(type(self), name, None), (Knob, Callback)):
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

    def _names(self) -> list[str]:
        return [name for name, value in vars(type(self)).items() if isinstance(value, Knob)]

    def __dir__(self):
        return self._names()


class Cache(Group):
    """Where compiled kernels are kept."""

    dir = Knob(
        "SECTILE_CACHE_DIR", str, None, "folder of the disk cache; empty text switches it off"
    )
    size = Knob("SECTILE_CACHE_SIZE", str, None, "upper limit of that folder, such as 512M")
    layers = Knob(
        "SECTILE_CACHE_LAYERS", str, None, "folders that are only read, after that one; a:b"
    )
    wait = Knob(
        "SECTILE_CACHE_WAIT", int, 30, "seconds to wait for a process that compiles the same kernel"
    )


class Compilation(Group):
    """What the compiler shows of its work."""

    dump = Knob(
        "SECTILE_DUMP", str, None, "stages to write to files, and where: tile,llvm:/tmp/dumps"
    )
    stop_after = Knob("SECTILE_STOP_AFTER", str, None, "compiling ends after this stage")
    time_passes = Knob("SECTILE_TIME_PASSES", bool, False, "seconds of each step go to stderr")
    log = Knob("SECTILE_LOG", str, None, "'compile' prints each compile, its reason and time")
    keep_stages = Knob("SECTILE_KEEP_STAGES", bool, False, "keep the text of every stage in .asm")


class Runtime(Group):
    """How kernels run."""

    check = Knob("SECTILE_CHECK", str, None, "'bounds' checks every access")
    debug = Knob("SECTILE_DEBUG", bool, False, "device_assert is active in every kernel")
    num_threads = Knob("SECTILE_NUM_THREADS", int, None, "threads that run programs on the CPU")


class Autotuning(Group):
    """The tuner."""

    mode = Knob(
        "SECTILE_AUTOTUNE", str, "on",
        "on: measure what is not known; force: measure anew; off: measure nothing, take the first "
        "candidate where none is known; frozen: that is an error",
        ("on", "off", "force", "frozen"),
    )  # fmt: skip
    dir = Knob(
        "SECTILE_TUNING_DIR", str, None,
        "folder of what was measured; default: 'tuning' in the cache's; empty text: it is not kept",
    )  # fmt: skip
    cache = Knob("SECTILE_CACHE_AUTOTUNING", bool, True, "remember every choice on disk")
    print = Knob("SECTILE_PRINT_AUTOTUNING", bool, False, "print what was chosen")
    threads = Knob(
        "SECTILE_TUNING_THREADS", int, None,
        "threads that compile candidates; default: the CPUs this process may use",
    )  # fmt: skip
    budget = Knob(
        "SECTILE_TUNING_BUDGET",
        float,
        None,
        "seconds a tuning may take, where autotune() says none",
    )
    listener = Callback("called after each choice: fn, key, best_config, configs_timings, duration, "
                        "cache_hit")  # fmt: skip


cache = Cache()
compilation = Compilation()
runtime = Runtime()
autotuning = Autotuning()


def table() -> list[tuple[str, str, str, str]]:
    """(variable, kind, default, meaning) of every variable that the runtime, the compiler and this
    package read."""
    from . import _native

    rows = list(_native.knob_table())
    known = {row[0] for row in rows}
    for group in (cache, compilation, runtime, autotuning):
        for knob in vars(type(group)).values():
            if isinstance(knob, Knob) and knob.variable not in known:
                kind = "|".join(knob.allowed) or knob.kind.__name__
                default = "" if knob.default is None else str(knob.default)
                rows.append((knob.variable, kind, default, knob.__doc__ or ""))
    return rows
