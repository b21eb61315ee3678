"""A variant in Triton's words: what a kernel's `repr` and the hooks of compiles are given."""

from __future__ import annotations

from collections import namedtuple

from .compiled import constants_of

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import Any

    from .jit import JITFunction

#: What `repr` is called with: ``constants``, parameter -> value, of the parameters that the code has no argument
#: for; ``signature``, parameter -> ``"*fp32"``, ``"i32"``, ``"constexpr"``, a tuple of these.
Specialization = namedtuple("Specialization", ["constants", "signature"])


def _described(
    kind: Any, path: tuple[int, ...], attributes: dict[Any, Any], constants: dict[Any, Any]
) -> Any:
    """A kind as Triton writes it: without divisibility, which goes to `attributes`; of items of tuples
    values go to `constants`."""
    if hasattr(kind, "__sectile_tensor_descriptor__"):
        element = kind.base.partition(":")[0].lstrip("*")
        return f"tensordesc<{element}{list(getattr(kind.block_shape, 'value', kind.block_shape))}>"
    if isinstance(kind, tuple):
        items = [_described(item, (*path, i), attributes, constants) for i, item in enumerate(kind)]
        return kind._make(items) if hasattr(kind, "_make") else tuple(items)
    if not isinstance(kind, str):
        constants[path] = getattr(kind, "value", kind)
        return "constexpr"
    if kind.endswith(":16"):
        attributes[path] = [["tt.divisibility", 16]]
    return kind.partition(":")[0]


def described(
    kernel: JITFunction, kinds: dict[str, Any]
) -> tuple[dict[str, Any], dict[Any, Any], dict[Any, Any]]:
    """What Triton writes for a variant.

    Args:
        kinds: parameter -> ``"*fp32:16"``, ``"i32"`` or its constant, as `Variant.signature`.

    Returns:
        ``(signature, constants, attributes)``: parameter -> kind without divisibility; path -> value; path ->
        divisibility. A path is ``(position of the parameter,)``, of an item of a tuple ``(position, item)``.
    """
    constants = constants_of(kernel, kinds)
    signature: dict[str, Any] = {}
    folded: dict[tuple[int, ...], Any] = {}
    attributes: dict[tuple[int, ...], Any] = {}
    places = {name: (place,) for place, name in enumerate(kernel.arg_names)}
    for name, kind in kinds.items():
        signature[name] = (
            "constexpr" if name in constants else _described(kind, places[name], attributes, folded)
        )
    folded.update((places[name], value) for name, value in constants.items())
    return signature, folded, attributes


def specialization_of(kernel: JITFunction, kinds: dict[str, Any]) -> Specialization:
    """The argument of ``kernel.repr`` for the variant of these kinds (`described`). Items of tuples that are
    constants are not among its constants, as in Triton."""
    signature, folded, _ = described(kernel, kinds)
    names = kernel.arg_names
    declared = set(kernel.constexprs)

    def passed(path: tuple[int, ...], value: Any) -> Any:
        # A text for a parameter that is no tl.constexpr was marked, for it is no kind.
        is_marked = getattr(value, "__sectile_constexpr__", False) is True
        if path[0] not in declared and is_marked and isinstance(value.value, str):
            return value.value
        return value

    constants = {
        names[path[0]]: passed(path, value) for path, value in folded.items() if len(path) == 1
    }
    return Specialization(constants, signature)
