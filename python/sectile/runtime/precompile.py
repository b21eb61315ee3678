"""The set of a kernel's variants: what there is, and compiling it ahead, in parallel."""

from __future__ import annotations

import itertools
import os

from .. import _native

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from concurrent.futures import Future, ThreadPoolExecutor
    from typing import Any

    from .compiled import CompiledKernel
    from .jit import JITFunction

_pool: ThreadPoolExecutor | None = None


def pool() -> ThreadPoolExecutor:
    """The threads that compile; they hold the GIL only to read Python's objects."""
    global _pool
    if _pool is None:
        from concurrent.futures import ThreadPoolExecutor

        _pool = ThreadPoolExecutor(_native.hardware_threads(), thread_name_prefix="sectile-compile")
    return _pool


def _forget_pool() -> None:
    global _pool
    _pool = None  # its threads are the parent's


os.register_at_fork(after_in_child=_forget_pool)


class Variant:
    """One variant of a kernel.

    Attributes:
        compiled: the compiled kernel.
        signature: parameter -> ``"*fp32:16"``, ``"i32"`` or its constant; `sectile.compile` and
            ``kernel.precompile`` take it.
        options: keywords of the launch that were not the usual ones: ``{"num_warps": 8}``.
        target: ``"cpu"``, ``"cuda:sm_90a"``.
        origin: where it came from: ``"compiled"``, ``"disk"``, ``"memory"``, ``"same ir"`` (other source,
            equal code).
        reason: what sets it apart from the nearest variant before it: ``"n: 1 instead of i32"``.
    """

    def __init__(
        self,
        compiled: CompiledKernel,
        signature: dict[str, Any],
        options: dict[str, Any],
        target: str,
        origin: str,
        source_version: int,
    ) -> None:
        self.compiled = compiled
        self.signature = signature
        self.options = options
        self.target = target
        self.origin = origin
        self.reason = "the first variant"
        self._source_version = source_version

    def _properties(self) -> dict[str, Any]:
        return {**self.signature, **self.options, "target": self.target}

    def __repr__(self) -> str:
        return f"Variant({self.signature}, {self.options}, {self.target!r}: {self.reason})"


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and bool(a == b))


def _difference(variant: Variant, other: Variant) -> list[str]:
    here, there = variant._properties(), other._properties()
    absent = object()
    return [
        f"{name}: {_text(here.get(name, absent), absent)} instead of "
        f"{_text(there.get(name, absent), absent)}"
        for name in {**here, **there}
        if not _same(here.get(name, absent), there.get(name, absent))
    ]


def _text(value: Any, absent: object) -> str:
    if value is absent:
        return "the usual"
    return value if isinstance(value, str) else getattr(value, "__name__", None) or repr(value)


def variants(kernel: JITFunction) -> list[Variant]:
    """Implements `JITFunction.variants`."""
    result: list[Variant] = []
    for fields in kernel._variants():
        variant = Variant(*fields)
        siblings = [v for v in result if v._source_version == variant._source_version]
        if siblings:
            differences = [_difference(variant, other) for other in reversed(siblings)]
            nearest = min(differences, key=len)
            variant.reason = (
                ", ".join(nearest)
                or "how its arrays overlap, where they lie, how they are laid out or how far "
                "they reach, or its device"
            )
        elif result:
            variant.reason = "its source, or something that it refers to, changed"
        result.append(variant)
    return result


def _combinations(mapping: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """Every choice among the lists of a mapping."""
    choices = [value if isinstance(value, list) else [value] for value in mapping.values()]
    for chosen in itertools.product(*choices):
        yield dict(zip(mapping, chosen))


def _flat(signatures: Iterable) -> Iterable:
    for signature in signatures:
        if isinstance(signature, Variant) or hasattr(signature, "keys"):
            yield signature
        elif isinstance(signature, (list, tuple)):
            yield from _flat(signature)
        else:
            raise TypeError(
                f"precompile: expected a mapping of parameters to kinds, got {signature!r}\n"
                f'  help: such as {{"x": "*fp32:16", "n": "i32", "BLOCK": 64}}'
            )


def precompile(
    kernel: JITFunction,
    signatures: Sequence,
    targets: str | Sequence[str] | None,
    wait: bool,
    options: Mapping[str, Any],
) -> list[Any]:
    """Implements `JITFunction.precompile`."""
    from ..compiler import compile  # which imports JITFunction

    if "target" in options:
        raise TypeError(
            f"{kernel.__name__}.precompile: unknown option 'target'; did you mean targets=[{options['target']!r}]?"
        )
    asked = None if targets is None else [targets] if isinstance(targets, str) else list(targets)
    jobs: list[tuple[dict, dict, str]] = []
    for signature in _flat(signatures):
        mapping, own, usual = signature, {}, "cpu"
        if isinstance(signature, Variant):
            mapping, own, usual = signature.signature, signature.options, signature.target
        for target in asked or [usual]:
            for chosen in _combinations({**own, **options}):
                jobs += [(one, chosen, target) for one in _combinations(mapping)]
    constexprs = {parameter.name for parameter in kernel.params if parameter.is_constexpr}
    futures: list[Future] = []
    for signature, chosen, target in jobs:
        # A text is a constant there, elsewhere a kind.
        constants = {name: value for name, value in signature.items() if name in constexprs}
        kinds = {name: kind for name, kind in signature.items() if name not in constexprs}
        futures.append(pool().submit(compile, kernel, kinds, constants, target, **chosen))
    if not wait:
        return futures
    from concurrent.futures import wait as wait_for

    wait_for(futures)
    return [future.result() for future in futures]
