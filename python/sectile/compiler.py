"""Compiling ahead of the first launch: ``sectile.compile(kernel, signature)``."""

from __future__ import annotations

from .runtime.jit import JITFunction, MockScalar, MockTensor

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def _mock(kernel: str, name: str, text: Any):
    """What stands for an argument of the kind `text`: ``"*fp32:16"``, ``"i32"``, or a constant."""
    if not isinstance(text, str):
        return text
    kind, _, hint = text.partition(":")
    kind = kind.strip()
    hint = hint.strip()
    if hint not in ("", "1", "16"):
        raise ValueError(f"{kernel}: {name} has the hint {hint!r}; known are 1 and 16")
    if hint == "1":
        return 1
    from .language._dtypes import dtype, pointer_type

    try:
        if kind.startswith("*"):
            const = kind.startswith("*k")
            element = dtype(kind[2:] if const else kind[1:])
            return MockTensor(pointer_type(element, const), aligned=hint == "16")
        return MockScalar(dtype(kind), aligned=hint == "16")
    except ValueError as error:
        raise ValueError(f"{kernel}: {name}: {error}") from None


def compile(
    kernel: JITFunction,
    signature: Mapping[str, Any],
    constexprs: Mapping[str, Any] | None = None,
    target: str | None = None,
    **options: Any,
):
    """Compiles one variant of `kernel` without arguments to run it on.

    Args:
        kernel: a `JITFunction`.
        signature: for each parameter its kind: ``"*fp32"`` a pointer, ``"i32"`` a number, with
            ``":16"`` for what is a multiple of 16 and ``":1"`` for an integer that is 1;
            ``"constexpr"`` for one in `constexprs`; anything that is no string is a constant.
        constexprs: values of the compile-time parameters.
        target: ``"cpu"``, ``"cuda"`` (the first GPU at hand) or ``"cuda:90"``, with the compute
            capability; needs no GPU. ``"cpu"`` when None.
        options: as in a launch: ``num_warps=8``.

    Returns:
        The compiled kernel: ``.asm``, ``.metadata``, ``.name``.
    """
    if not isinstance(kernel, JITFunction):
        raise TypeError(f"compile: expected a @jit function, got a {type(kernel).__name__}")
    arguments = dict(constexprs or {})
    for name, kind in signature.items():
        if kind != "constexpr":
            arguments[name] = _mock(kernel.__name__, name, kind)
    if target is not None:
        options["target"] = target
    return kernel.warmup(**arguments, **options)
