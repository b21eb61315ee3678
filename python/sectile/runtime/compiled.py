"""What is done with a compiled kernel in Python: `compiled[grid](...)`, `.src` and `.metadata`."""

from __future__ import annotations

from types import SimpleNamespace

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._native import CompiledKernel, Grid
    from ..compiler import ASTSource
    from .jit import JITFunction


class Metadata(SimpleNamespace):
    """What is known of a compiled kernel, as attributes; as of a named tuple there are `_fields` and
    `_asdict()`."""

    @property
    def _fields(self) -> tuple[str, ...]:
        return tuple(vars(self))

    def _asdict(self) -> dict[str, Any]:
        return dict(vars(self))


def _origin(compiled: CompiledKernel) -> tuple[JITFunction, dict[str, Any], dict[str, Any]]:
    """The kernel it was compiled from, its signature (parameter -> kind or constant), and its options."""
    kernel = compiled._owner()
    if kernel is not None:
        for variant, signature, options, *_ in kernel._variants():
            if variant is compiled:
                return kernel, signature, options
    raise RuntimeError(
        f"{compiled.name}: the kernel that this was compiled from is gone\n"
        f"  help: keep the @jit function, and do not clear() it before this is used"
    )


def source_of(compiled: CompiledKernel) -> ASTSource:
    """Implements `CompiledKernel.src`."""
    from ..compiler import ASTSource

    kernel, signature, _ = _origin(compiled)
    constexprs = constants_of(kernel, signature)
    kinds = {name: "constexpr" if name in constexprs else kind for name, kind in signature.items()}
    return ASTSource(kernel, kinds, constexprs=constexprs)


def _constants(kernel: JITFunction) -> list[str]:
    return [parameter.name for parameter in kernel.params if parameter.is_constexpr]


def constants_of(kernel: JITFunction, signature: dict[str, Any]) -> dict[str, Any]:
    """Those of a variant: constant parameters, and others of which the value was folded (1, None)."""
    constants = _constants(kernel)
    return {
        name: kind
        for name, kind in signature.items()
        if name in constants or not isinstance(kind, (str, tuple))
    }


def launcher(compiled: CompiledKernel, grid: Grid) -> Callable[..., None]:
    """Implements ``compiled[grid]``.

    Its constants hold whatever is passed for them. Arguments of other kinds than it was compiled for
    (another dtype, an address that is no multiple of 16) are launched with the variant that fits them.
    """
    kernel, signature, options = _origin(compiled)
    constants = {name: signature[name] for name in _constants(kernel)}
    every = kernel.arg_names
    passed = [name for name in every if name not in constants]

    def launch(*args: Any, **kwargs: Any) -> None:
        names = every if len(args) > len(passed) else passed
        if len(args) > len(names):
            raise TypeError(
                f"{compiled.name}: {len(args)} arguments are given, and there are {len(names)} "
                f"parameters: {', '.join(names)}"
            )
        given = {**dict(zip(names, args)), **kwargs}
        if given.get("stream", 0) is None:
            del given["stream"]
        kernel.run(grid=grid, **{**options, **given, **constants})

    return launch
