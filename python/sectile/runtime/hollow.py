"""What a `JITFunction` becomes in another process: itself where its module can be imported, else what is known of it.

torch's compile workers take the Python function out of a kernel (``kernel.fn = None``) and pickle the rest; the
process that asked for the compile reads names and parameters of what arrives, and launches the compiled code.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import Any

    from .jit import JITFunction

_KEPT = ("__name__", "__qualname__", "__module__", "__doc__", "arg_names", "constexprs", "src", "cache_key",
         "starting_line_number", "do_not_specialize", "do_not_specialize_on_alignment", "debug", "noinline")  # fmt: skip


class HollowParameter:
    """A `KernelParam` without the function whose default it has."""

    def __init__(self, num: int, name: str, is_constexpr: bool, annotation: str | None) -> None:
        self.num = num
        self.name = name
        self.is_constexpr = is_constexpr
        self.annotation = annotation


class HollowKernel:
    """What is known of a `JITFunction` whose Python function stayed in another process. It cannot be launched.

    Attributes:
        fn: None.
        params: list of `HollowParameter`.
        __name__, __qualname__, __module__, arg_names, constexprs, src, cache_key: as of the kernel.
    """

    __name__: str
    fn: Any = None
    used_global_vals: dict[Any, Any] | None = None

    def __init__(self, known: dict[str, Any], parameters: list[tuple[Any, ...]]) -> None:
        self.__dict__.update(known)
        self._known = known
        self._parameters = parameters
        self.params = [HollowParameter(*each) for each in parameters]

    @property
    def module(self) -> str:
        return self.__module__

    def __reduce__(self) -> Any:
        return HollowKernel, (self._known, self._parameters)

    def __getitem__(self, grid: Any) -> Any:
        raise RuntimeError(
            f"{self.__name__}: this kernel came out of a pickle without its Python function\n"
            "  help: launch the compiled kernel, or the kernel in the module that defines it"
        )


def _found(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _import(module: str, name: str) -> Any:
    from importlib import import_module

    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def reduce(kernel: JITFunction) -> Any:
    """Implements `JITFunction.__reduce_ex__`."""
    if kernel.fn is not None:
        found = _found(kernel.__module__, kernel.__qualname__)
        while found is not None and found is not kernel:
            found = getattr(found, "fn", None)  # of a tuner
        if found is not kernel:
            from pickle import PicklingError

            raise PicklingError(
                f"{kernel.__name__}: a kernel is pickled as the name {kernel.__module__}.{kernel.__qualname__}, and "
                "that is not this kernel\n  help: define it at the top of a module; or pickle the compiled kernel, "
                "which holds its code"
            )
        return _by_name, (kernel.__module__, kernel.__qualname__)
    function = kernel.__wrapped__
    kernel.fn = function
    try:
        known = {name: getattr(kernel, name) for name in _KEPT}
    finally:
        kernel.fn = None
    known["repr"] = kernel.__dict__.get("repr")
    parameters = [(p.num, p.name, p.is_constexpr, p.annotation) for p in kernel.params]
    return HollowKernel, (known, parameters)


def _by_name(module: str, name: str) -> Any:
    from .jit import JITFunction

    found = _import(module, name)
    while not isinstance(found, JITFunction):
        found = found.fn
    return found
