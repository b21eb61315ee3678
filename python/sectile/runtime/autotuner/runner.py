"""Runs of a kernel with one candidate after another, on the user's own arrays.

Between runs arrays are as the user asked for: those of ``reset_to_zero`` are zeroed before each run, those
of ``restore_value`` are put back after each run from a copy made before the first, bit for bit, also when
a run fails. Hooks are called as Triton calls them.
"""

from __future__ import annotations

import sys

from . import identity

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import Any

    from .config import Config


def _arrays(argument: Any) -> list[Any]:
    """The argument, or the arrays among its items when it is a tuple."""
    if not isinstance(argument, (tuple, list)):
        return [] if argument is None else [argument]
    return [item for item in identity.leaves(argument) if hasattr(item, "dtype")]


def _memory(array: Any) -> Any:
    """The array that owns the bytes: kernels may see them as another dtype."""
    base = getattr(array, "base", None)
    array = base if getattr(array, "__sectile_reinterpret__", False) else array
    # A leaf that wants gradients must not be written by copy_.
    return array.detach() if hasattr(array, "detach") else array


def copy_of(array: Any) -> Any:
    array = _memory(array)
    return array.clone() if hasattr(array, "clone") else array.copy()


def assign(array: Any, source: Any) -> None:
    array = _memory(array)
    if hasattr(array, "copy_"):
        array.copy_(source)
    else:
        array[...] = source


def set_zero(argument: Any) -> None:
    """Of a tuple, every array in it."""
    for array in map(_memory, _arrays(argument)):
        if hasattr(array, "zero_"):
            array.zero_()
        else:
            array[...] = 0


class Runner:
    """The launch that is tuned, with any candidate in place.

        runner.prepare(config); runner.launch(config); runner.finish(config)

    `finish` must follow each `prepare`, with the error when the launch failed.

    Args:
        tuner: the `Autotuner`.
        args, grid, kwargs: as the user passed them.
        arguments: all of the kernel's parameters that were passed, by name.
    """

    def __init__(self, tuner, args: tuple, grid, kwargs: dict, arguments: dict) -> None:
        self.tuner = tuner
        self.args = args
        self.grid = grid
        self.kwargs = kwargs
        self.arguments = arguments
        self.saved: list[tuple[Any, Any]] = []
        # Work on arrays goes to the library's current stream, launches to the one that was named.
        self.has_own_stream = kwargs.get("stream") is not None

    def settings(self, config: Config) -> dict[str, Any]:
        """What a launch with `config` is given by name.

        Raises:
            ValueError: the user passes what the candidate sets.
        """
        clash = sorted(set(self.kwargs) & set(config.kwargs))
        if clash:
            raise ValueError(
                f"{self.tuner.__name__}: {', '.join(clash)} is both passed and set by the "
                f"configurations\n"
                f"  help: leave it to the autotuner, or take it out of the Config"
            )
        return {**self.kwargs, **config.all_kwargs()}

    def everything(self, config: Config) -> dict[str, Any]:
        """What hooks are given: arguments and settings."""
        return {**self.arguments, **self.settings(config)}

    def is_hooked(self, config: Config) -> bool:
        """Whether a hook may change what is compiled."""
        return config.pre_hook is not None or self.tuner.user_pre_hook is not None

    def compile(self, config: Config) -> Any:
        return self.tuner.fn.run(*self.args, grid=self.grid, warmup=True, **self.settings(config))

    def program_count(self, config: Config) -> int | None:
        """How many programs the grid has; None when the grid cannot be asked."""
        grid = self.grid
        try:
            if callable(grid):
                grid = grid(self.everything(config))
            count = 1
            for axis in grid if isinstance(grid, (tuple, list)) else (grid,):
                count *= int(axis)
            return count
        except Exception:  # whatever is wrong with it, the launch will say so
            return None

    def save(self) -> None:
        """Copies what is to be restored; before the first run."""
        self.saved = [
            (array, copy_of(array))
            for name in self.tuner.restore_value
            for array in _arrays(self.arguments.get(name))
        ]

    def _synchronize(self) -> None:
        cuda = getattr(sys.modules.get("torch"), "cuda", None)
        if self.has_own_stream and cuda is not None and cuda.is_initialized():
            cuda.synchronize()

    def prepare(self, config: Config) -> None:
        if not (self.is_hooked(config) or self.tuner.reset_to_zero):
            return
        if config.pre_hook:
            config.pre_hook(self.everything(config))
        self.tuner._zero(self.arguments)
        if self.tuner.user_pre_hook:
            self.tuner.user_pre_hook(self.everything(config))
        self._synchronize()

    def launch(self, config: Config) -> Any:
        return self.tuner.fn.run(*self.args, grid=self.grid, **self.settings(config))

    def finish(self, config: Config, error: Exception | None = None) -> None:
        if self.saved:
            self._synchronize()
            for array, before in self.saved:
                assign(array, before)
        if self.tuner.user_post_hook:
            self.tuner.user_post_hook(self.everything(config), exception=error)

    def once(self, config: Config) -> None:
        """All three in turn."""
        error = None
        self.prepare(config)
        try:
            self.launch(config)
        except Exception as raised:
            error = raised
            raise
        finally:
            self.finish(config, error)

    def leave(self, config: Config | None) -> None:
        """After the last run: arrays are as for a first one with `config`."""
        self.tuner._zero(self.arguments)
        if self.tuner.user_pre_hook and config is not None:
            self.tuner.user_pre_hook(self.everything(config), reset_only=True)
        self._synchronize()
