"""Constants that follow from a launch's arguments."""

from __future__ import annotations

from ..jit import KernelInterface

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable


class Heuristics(KernelInterface):
    """A kernel some of whose constants follow from its arguments; made by `heuristics`."""

    def __init__(self, fn, arg_names: list[str], values: dict[str, Callable]) -> None:
        self.fn = fn
        self.arg_names = list(arg_names)
        self.values = dict(values)
        self.__name__ = fn.__name__

    def run(self, *args, grid, warmup: bool = False, **kwargs):
        arguments = {**dict(zip(self.arg_names, args)), **kwargs}
        for name, function in self.values.items():
            kwargs[name] = arguments[name] = function(arguments)
        return self.fn.run(*args, grid=grid, warmup=warmup, **kwargs)

    def bind(self, *args, grid, **kwargs):
        """As `JITFunction.bind`; the constants follow from these arguments, not from later ones."""
        arguments = {**dict(zip(self.arg_names, args)), **kwargs}
        for name, function in self.values.items():
            kwargs[name] = arguments[name] = function(arguments)
        return self.fn.bind(*args, grid=grid, **kwargs)

    def warmup(self, *args, grid=None, **kwargs):
        """Compiles for these arguments without running."""
        arguments = {**dict(zip(self.arg_names, args)), **kwargs}
        for name, function in self.values.items():
            kwargs[name] = arguments[name] = function(arguments)
        return self.fn.warmup(*args, grid=grid, **kwargs)


def heuristics(values: dict[str, Callable]):
    """Decorator above `jit`: ``{"EVEN": lambda args: args["n"] % 64 == 0}`` computes constants at each
    launch from the dictionary of arguments (values computed earlier in the list included)."""

    def decorate(fn):
        return Heuristics(fn, fn.arg_names, values)

    return decorate
