"""Functions that are notified of every launch: `knobs.runtime.launch_enter_hook` and `launch_exit_hook`."""

from __future__ import annotations

from .. import _native

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .compiled import CompiledKernel
    from .jit import JITFunction


class LaunchMetadata:
    """The data of a launch that a hook receives; put together only when the hook asks for it, with `get`."""

    def __init__(
        self,
        kernel: JITFunction | None,
        compiled: CompiledKernel,
        grid: tuple[int, int, int],
        stream: int,
        arguments: dict[str, Any],
    ) -> None:
        self._kernel = kernel
        self._compiled = compiled
        self._grid = grid
        self._stream = stream
        self._arguments = arguments
        self._data: dict[str, Any] | None = None

    def get(self) -> dict[str, Any]:
        """``name``, ``kernel`` (the compiled one), ``grid`` (three ints), ``stream`` (the driver's
        handle; 0 on the CPU), ``num_warps``, ``target``, and what the kernel's ``launch_metadata(grid,
        metadata, arguments)`` returns, if it has one: names, flops, bytes."""
        if self._data is None:
            compiled = self._compiled
            data = {
                "name": compiled.name,
                "kernel": compiled,
                "grid": self._grid,
                "stream": self._stream,
                "num_warps": compiled.metadata.num_warps,
                "target": compiled.metadata.target,
            }
            if self._kernel is not None and self._kernel.launch_metadata is not None:
                data.update(
                    self._kernel.launch_metadata(self._grid, compiled.metadata, self._arguments)
                )
            self._data = data
        return self._data


class HookChain:
    """Functions of one argument, a `LaunchMetadata`, called in the order in which they were added."""

    def __init__(self) -> None:
        self.calls: list[Callable[[LaunchMetadata], object]] = []

    def add(self, function: Callable[[LaunchMetadata], object]) -> None:
        """`function` is called from now on; once, however often it is added."""
        if not callable(function):
            raise TypeError(f"a hook is a function, not {function!r}")
        if function not in self.calls:
            self.calls = [*self.calls, function]  # replaced, not changed: a launch may be at it
            _update()

    def remove(self, function: Callable[[LaunchMetadata], object]) -> None:
        """`function` is not called any more; nothing happens if it was not."""
        if function in self.calls:
            self.calls = [call for call in self.calls if call != function]
            _update()

    def replace(self, function: Callable[[LaunchMetadata], object] | None) -> None:
        """`function` alone is called; None: no function is."""
        if function is not None and not callable(function):
            raise TypeError(f"a hook is a function or None, not {function!r}")
        self.calls = [] if function is None else [function]
        _update()

    def __call__(self, metadata: LaunchMetadata) -> None:
        for function in self.calls:
            function(metadata)

    def __len__(self) -> int:
        return len(self.calls)


enter = HookChain()
exit = HookChain()


def _entered(*launch: Any) -> LaunchMetadata:
    metadata = LaunchMetadata(*launch)
    enter(metadata)
    return metadata


def _update() -> None:
    if enter.calls or exit.calls:
        _native.set_launch_hooks(_entered, exit)
    else:
        _native.set_launch_hooks(None, None)
