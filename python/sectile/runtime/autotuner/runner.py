"""Runs of a kernel with one candidate after another, on the user's own arrays.

Between runs arrays are as the user asked for: those of ``reset_to_zero`` are zeroed before each run, those
of ``restore_value`` are put back after each run from a copy made before the first, bit for bit, also when
a run fails. Hooks are called as Triton calls them.
"""

from __future__ import annotations

import sys

from ..grid import explain
from .arrays import arrays_of, assign, copy_of
from .heuristics import Heuristics

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import Any

    from .config import Config


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
        """What a launch with `config` is given by name."""
        return {**self.kwargs, **config.all_kwargs()}

    def everything(self, config: Config) -> dict[str, Any]:
        """What hooks are given: arguments and settings."""
        return {**self.arguments, **self.settings(config)}

    def is_hooked(self, config: Config) -> bool:
        """Whether a hook may change what is compiled."""
        return config.pre_hook is not None or self.tuner.user_pre_hook is not None

    def compile(self, config: Config, **options: Any) -> Any:
        """The kernel compiled with `config`; `options` are launch options that count more."""
        settings = {**self.settings(config), **options}
        return self.tuner.fn.run(*self.args, grid=self.grid, warmup=True, **settings)

    def _heuristics(self, config: Config) -> dict[str, Any]:
        """The constants that heuristics below the tuner compute."""
        computed = self.settings(config)
        below = self.tuner.fn
        while below is not None:
            if isinstance(below, Heuristics):
                below._compute(self.args, computed)
            below = getattr(below, "fn", None) if below is not self.tuner.base_fn else None
        return computed

    def program_count(self, config: Config) -> int | None:
        """How many programs the grid has; None when the grid cannot be asked.

        Raises:
            GridKeyError: it asks for what it is not given.
        """
        grid, given = self.grid, self.everything(config)
        try:
            if callable(grid):
                given |= self._heuristics(config)
                grid = grid(given)
            count = 1
            for axis in grid if isinstance(grid, (tuple, list)) else (grid,):
                count *= int(axis)
            return count
        except KeyError as error:
            explain(error, self.grid, self.tuner.__name__, given)
            return None
        except Exception:  # whatever is wrong with it, the launch will report it
            return None

    def save(self) -> None:
        """Copies what is to be restored; before the first run."""
        self.saved = [
            (array, copy_of(array))
            for name in self.tuner.restore_value
            for array in arrays_of(self.arguments.get(name))
        ]

    def synchronize(self) -> None:
        """Between a launch on a stream that was named and the libraries' work on the arrays."""
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
        self.synchronize()

    def launch(self, config: Config, **options: Any) -> Any:
        settings = {**self.settings(config), **options}
        return self.tuner.fn.run(*self.args, grid=self.grid, warmup=False, **settings)

    def finish(self, config: Config, error: Exception | None = None) -> None:
        if self.saved:
            self.synchronize()
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
        self.synchronize()
