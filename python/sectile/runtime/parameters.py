"""The parameters of a kernel, as its Python function declares them."""

from __future__ import annotations

from types import FunctionType

from ..language._dtypes import dtype

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import Any


class KernelParam:
    """One parameter of a kernel, as the decorator understood it.

    Attributes:
        name, num: name and position.
        is_constexpr: annotated ``tl.constexpr``.
        annotation: ``"fp32"``, ``"*fp16"`` ... when a type was asked for, ``"const"``, else None.
        do_not_specialize, do_not_specialize_on_alignment: from the decorator.
        has_default, default: those that the Python function has now; ``inspect.Parameter.empty`` where there
            is none.
    """

    name: str
    num: int
    is_constexpr: bool
    annotation: str | None
    do_not_specialize: bool
    do_not_specialize_on_alignment: bool
    is_keyword_only: bool
    _function: Any  # a FunctionType, which checkers would take for a method of this class

    @property
    def has_default(self) -> bool:
        return self.name in _defaults(self._function)

    @property
    def default(self) -> Any:
        defaults = _defaults(self._function)
        if self.name in defaults:
            return defaults[self.name]
        from inspect import Parameter  # slow to import, and rarely asked for

        return Parameter.empty

    def __repr__(self) -> str:
        return f"KernelParam({self.num}, {self.name!r}{', constexpr' if self.is_constexpr else ''})"


def _annotation(annotation: Any) -> tuple[bool, str | None]:
    """(is it tl.constexpr?, the dtype it names)."""
    if isinstance(annotation, str):
        text = annotation.strip("'\" ")
        if text.rpartition(".")[2] == "constexpr":
            return True, None
        for prefix in ("tl.", "sectile.language.", "language."):
            text = text.removeprefix(prefix)
        if text == "const":
            return False, text
    elif isinstance(annotation, type):
        if getattr(annotation, "__sectile_const__", False):
            return False, "const"
        return bool(getattr(annotation, "__sectile_constexpr__", False)), None
    elif getattr(annotation, "__sectile_constexpr__", False):
        return True, None
    elif getattr(annotation, "__sectile_dtype__", False):
        text = annotation.name
    else:
        return False, None
    element = text.removeprefix("*").removeprefix("k") if text.startswith("*") else text
    try:
        name = dtype(element).name
    except ValueError:
        return False, None  # tl.tensor, int ...: says nothing about the dtype
    return False, text[: len(text) - len(element)] + name


def _defaults(fn: FunctionType) -> dict[str, Any]:
    """Returns the defaults of `fn` by the names of its parameters."""
    values = fn.__defaults__ or ()
    count = fn.__code__.co_argcount
    names = fn.__code__.co_varnames[max(count - len(values), 0) : count]
    return {**dict(zip(reversed(names), reversed(values))), **(fn.__kwdefaults__ or {})}


def parameters_of(
    fn: FunctionType, unspecialized: list[int | str], unaligned: list[int | str]
) -> list[KernelParam]:
    """Returns the parameters of `fn` in their order.

    Args:
        unspecialized, unaligned: `do_not_specialize` and `do_not_specialize_on_alignment` of `jit`.

    Raises:
        TypeError: the function has ``*args`` or ``**kwargs``.
    """
    code = fn.__code__
    if code.co_flags & 0x0C:  # *args or **kwargs
        raise TypeError(
            f"{fn.__name__}: a kernel that is launched cannot have *args or **kwargs\n"
            f"  help: name each parameter; helpers called from kernels may have *args"
        )
    positional = code.co_argcount
    names = code.co_varnames[: positional + code.co_kwonlyargcount]

    def listed(entries: list[int | str], index: int, name: str) -> bool:
        return index in entries or name in entries

    parameters = []
    for index, name in enumerate(names):
        parameter = KernelParam()
        parameter.name, parameter.num = name, index
        parameter.is_constexpr, parameter.annotation = _annotation(fn.__annotations__.get(name))
        parameter.do_not_specialize = listed(unspecialized, index, name)
        parameter.do_not_specialize_on_alignment = listed(unaligned, index, name)
        parameter.is_keyword_only = index >= positional
        parameter._function = fn
        parameters.append(parameter)
    return parameters
