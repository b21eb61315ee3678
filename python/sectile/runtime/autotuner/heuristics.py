"""Constants that follow from a launch's arguments."""

from __future__ import annotations

from ...errors import ArgumentError
from ..jit import OF_TUNERS, KernelInterface

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..._native import BoundKernel, Grid


class Heuristics(KernelInterface):
    """A kernel some of whose constants follow from its arguments; made by `heuristics`."""

    def __init__(self, fn: Any, arg_names: list[str], values: dict[str, Callable]) -> None:
        self.fn = fn
        self.arg_names = list(arg_names)
        self.values = dict(values)
        for name, function in self.values.items():
            if not callable(function):
                raise TypeError(
                    f"heuristics: {name} is {function!r}, not a function of the arguments\n"
                    f'  help: {{"{name}": lambda args: ...}}'
                )
        self.__name__ = fn.__name__

    if not TYPE_CHECKING:

        def __getattr__(self, name: str):
            """What only tuners have is the tuner's below, if there is one."""
            if name in OF_TUNERS and "fn" in self.__dict__:
                return getattr(self.fn, name)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _compute(self, args: tuple, kwargs: dict[str, Any]) -> None:
        """Adds the constants to the named arguments of a launch."""
        arguments = {**dict(zip(self.arg_names, args)), **kwargs}
        for name, function in self.values.items():
            try:
                kwargs[name] = arguments[name] = function(arguments)
            except KeyError as error:
                if error.args[:1] and error.args[0] not in arguments:
                    raise ArgumentError(
                        f"{self.__name__}: the heuristic of {name} asks for {error.args[0]!r}, which the launch "
                        f"does not pass; it passes {', '.join(arguments) or 'nothing'}"
                    ) from error
                raise

    def run(self, *args: Any, grid: Grid | None, warmup: bool = False, **kwargs: Any) -> Any:
        self._compute(args, kwargs)
        return self.fn.run(*args, grid=grid, warmup=warmup, **kwargs)

    def bind(self, *args: Any, grid: Grid, **kwargs: Any) -> BoundKernel:
        """As `JITFunction.bind`; the constants follow from these arguments, not from later ones."""
        self._compute(args, kwargs)
        return self.fn.bind(*args, grid=grid, **kwargs)

    def warmup(self, *args: Any, grid: Grid | None = None, **kwargs: Any) -> Any:
        """Compiles for these arguments without running."""
        self._compute(args, kwargs)
        return self.fn.warmup(*args, grid=grid, **kwargs)


def heuristics(values: dict[str, Callable]) -> Callable[[KernelInterface], Heuristics]:
    """Decorator above `jit`: ``{"EVEN": lambda args: args["n"] % 64 == 0}`` computes constants at each
    launch from the dictionary of arguments (values computed earlier in the list included).

    Example:
        @st.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
        @st.jit
        def fill(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            if EVEN:
                tl.store(x + i, 1)
            else:
                tl.store(x + i, 1, mask=i < n)

        x = np.zeros(100, np.int32)
        fill[(2,)](x, 100, BLOCK=64)
        print(x.sum())  # 100
    """

    def decorate(fn: Any) -> Heuristics:
        if not (isinstance(fn, KernelInterface) and hasattr(fn, "arg_names")):
            raise TypeError(
                f"heuristics: expected a kernel, got {type(fn).__name__} {getattr(fn, '__name__', '')!r}\n"
                f"  help: put @st.jit below @st.heuristics(...)"
            )
        return Heuristics(fn, fn.arg_names, values)

    return decorate
