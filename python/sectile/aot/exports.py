"""`export`: which variants of a kernel go into an archive."""

from __future__ import annotations

import itertools
import re
from types import FunctionType

from .. import _native
from .formulas import FormulaError, formula, formulas

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from ..runtime.jit import JITFunction
    from .formulas import Steps

    K = TypeVar("K")

#: What has been exported since the process began, in order.
_exported: list[Export] = []
#: Whether a kernel of the same name from the same file takes the place of an earlier one: a cell, or a module, that is
#: run again. ``sectile aot`` runs each file once, and two kernels of one name are an error.
_replaces = True


class Export:
    """A kernel and the variants of it that go into archives.

    Attributes:
        kernel: the `JITFunction`.
        signatures: list of mappings of parameters to kinds, in which lists stand for alternatives.
        grid: up to three formulas, or none.
    """

    def __init__(
        self,
        kernel: JITFunction,
        signatures: Sequence[Mapping[str, Any]],
        choose: Mapping[str, Any],
        grid: Any,
        variables: Mapping[str, Any],
    ) -> None:
        self.kernel = kernel
        for signature in signatures:
            if not hasattr(signature, "keys"):
                raise TypeError(
                    f"{kernel.__name__}: expected a mapping of parameters to kinds, got {signature!r}\n"
                    '  help: such as {"x": "*fp32:16", "n": "i32", "BLOCK": 64}'
                )
        self.signatures = list(signatures)
        self.choose = dict(choose)
        self.variables = {name: _list(values) for name, values in variables.items()}
        names = kernel.arg_names
        option_names = _option_names()
        scope = kernel.get_capture_scope()
        truths = {name for name in names if self._is_truth(name)}
        self.chosen: dict[str, Steps] = {}
        self.chosen_options: dict[str, Steps] = {}
        for name, expression in self.choose.items():
            steps = formula(
                expression, names, f"{kernel.__name__}: choose[{name!r}]", scope, truths
            )
            if name in names:
                self.chosen[name] = steps
                self._refuse_later(name, steps)
            elif name in option_names:
                self.chosen_options[name] = steps
                self._refuse_unchosen(name)
            else:
                raise ValueError(
                    f"{kernel.__name__}: choose names {name!r}, which is neither a parameter nor an option of a launch\n"
                    f"  help: the parameters are {', '.join(names)}"
                )
        self.grid = (
            [] if grid is None else formulas(grid, names, f"{kernel.__name__}: grid", scope, truths)
        )
        if grid is not None and not 1 <= len(self.grid) <= 3:
            raise ValueError(
                f"{kernel.__name__}: a grid has one to three axes, got {len(self.grid)}"
            )
        self._check()
        self._combinations: list[tuple[dict[str, Any], dict[str, Any]]] | None = None
        self._refuse_objects()
        for axis in self.grid:
            self._refuse_arrays("grid", axis)
        for name, steps in {**self.chosen, **self.chosen_options}.items():
            self._refuse_arrays(f"choose[{name!r}]", steps)

    def _refuse_arrays(self, what: str, steps: Steps) -> None:
        """Formulas are of integers."""
        argument = _native.formula_steps()["Argument"][0]
        constants = {p.name for p in self.kernel.params if p.is_constexpr}
        for kind, place in steps:
            if kind != argument or (name := self.kernel.arg_names[place]) in constants:
                continue
            kinds = [kinds[name] for kinds, _ in self.combinations() if name in kinds]
            if kinds and all(
                isinstance(each, str) and each.lstrip().startswith(("*", "tensordesc"))
                for each in kinds
            ):
                raise ValueError(
                    f"{self.kernel.__name__}: {what} depends on {name!r}, which is an array\n"
                    "  help: pass its extent as a parameter of the kernel, and use that"
                )

    def _given(self, name: str) -> list[Any]:
        """What the signatures have for a parameter or an option."""
        return [
            item
            for signature in self.signatures
            if name in signature
            for item in _list(signature[name])
        ]

    def _is_truth(self, name: str) -> bool:
        """Whether a parameter is a truth value in all signatures."""
        given = self._given(name)
        return bool(given) and all(
            isinstance(plain(item), bool) or (isinstance(item, str) and item == "i1")
            for item in given
        )

    def _refuse_unchosen(self, option: str) -> None:
        """An option that is chosen has several values, which are integers."""
        values = self._given(option)
        name = self.kernel.__name__
        if not values:
            raise ValueError(
                f"{name}: choose names {option!r}, of which the signatures have no value\n"
                f"  help: such as {{{option!r}: [...]}}, from which it chooses"
            )
        for value in values:
            if not isinstance(value, int):
                raise ValueError(
                    f"{name}: choose[{option!r}] cannot give {value!r}: what is chosen is an integer\n"
                    "  help: export a kernel of another name for each"
                )

    def _refuse_later(self, name: str, steps: Steps) -> None:
        """Choices are made in the order of the parameters."""
        names = self.kernel.arg_names
        argument = _native.formula_steps()["Argument"][0]
        for kind, value in steps:
            if kind == argument and names[value] in self.choose and value >= names.index(name):
                raise ValueError(
                    f"{self.kernel.__name__}: choose[{name!r}] depends on {names[value]!r}, which is chosen later"
                )

    def _refuse_objects(self) -> None:
        """Kinds are texts, and constants are values that an archive can tell apart."""
        name = self.kernel.__name__
        functions: dict[str, Any] = {}
        for kinds, _ in self.combinations():
            for p in self.kernel.params:
                if p.name not in kinds:
                    continue
                value = kinds[p.name]
                if p.is_constexpr and is_function(value):
                    if p.has_default and p.default is not value:
                        raise ValueError(
                            f"{name}: {p.name} is {_name_of(value)}, and its default {_name_of(p.default)}: "
                            "launches leave functions out, and would mean the default\n"
                            f"  help: leave {p.name} out of the signature, or give it no default"
                        )
                    if functions.setdefault(p.name, value) is not value:
                        raise ValueError(
                            f"{name}: {p.name} has several functions, which launches cannot name\n"
                            "  help: export a kernel for each, or choose among them by a text"
                        )
                elif not (_is_constant(value) if p.is_constexpr else _is_kind(value)):
                    wanted = (
                        "a number, a text, a dtype, None, or a tuple of these"
                        if p.is_constexpr
                        else 'a kind, such as "*fp32:16" or "i32"'
                    )
                    raise ValueError(f"{name}: {p.name} is {value!r}, not {wanted}")

    def _check(self) -> None:
        names = self.kernel.arg_names
        kinds = [
            item
            for signature in self.signatures
            for value in signature.values()
            for item in _texts(value)
        ]
        for name, values in self.variables.items():
            if not values:
                raise ValueError(f"{self.kernel.__name__}: {name} stands for no type")
            if not any(re.search(rf"(?<!\w)k?{re.escape(name)}(?!\w)", kind) for kind in kinds):
                from .._suggest import did_you_mean

                raise ValueError(
                    f"{self.kernel.__name__}: {name}=... is a type that no signature names"
                    f"{did_you_mean(name, ['choose', 'grid'])}\n"
                    f'  help: a signature names it as "*{name}" or "{name}"'
                )
        hidden = [name for name in names if name == "target" or name in self.options()]
        if hidden:
            raise ValueError(
                f"{self.kernel.__name__}: the parameter {hidden[0]!r} hides an option of launches\n"
                "  help: give it another name"
            )
        option_names = _option_names()
        for signature in self.signatures:
            for name, value in signature.items():
                if isinstance(value, list) and not value:
                    raise ValueError(
                        f"{self.kernel.__name__}: {name} has no alternative: its list is empty"
                    )
                if name not in names and name not in option_names:
                    from .._suggest import did_you_mean

                    raise ValueError(
                        f"{self.kernel.__name__}: the signature names {name!r}, which is neither a parameter nor an "
                        f"option of a launch{did_you_mean(name, names)}\n"
                        f"  help: the parameters are {', '.join(names)}"
                    )
            missing = [
                parameter.name
                for parameter in self.kernel.params
                if parameter.name not in signature and not parameter.has_default
            ]
            if missing:
                raise ValueError(
                    f"{self.kernel.__name__}: the signature has no kind for {missing[0]!r}\n"
                    '  help: such as "*fp32:16", "i32", or the value of a constant'
                )

    def options(self) -> set[str]:
        """The options of launches that signatures set."""
        names = self.kernel.arg_names
        return {name for signature in self.signatures for name in signature if name not in names}

    def combinations(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Every (signature, options) to be compiled, each once."""
        if self._combinations is None:
            self._combinations = list(self._all_combinations())
        return self._combinations

    def _all_combinations(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        names = self.kernel.arg_names
        constants = {p.name for p in self.kernel.params if p.is_constexpr}
        seen: set[str] = set()
        for signature in self.signatures:
            for variables in _choices(self.variables):
                filled = {
                    name: [
                        item if name in constants else _substitute(item, variables)
                        for item in _list(value)
                    ]
                    for name, value in signature.items()
                }
                for one in _choices(filled):
                    kinds = {name: value for name, value in one.items() if name in names}
                    options = {name: value for name, value in one.items() if name not in names}
                    # 1, 1.0 and True are different constants, and so are two functions of one name.
                    numbers = [id(value) for value in kinds.values() if is_function(value)]
                    if (text := repr((kinds, options, numbers))) not in seen:
                        seen.add(text)
                        yield kinds, options


def is_function(value: Any) -> bool:
    return bool(getattr(value, "__sectile_jit__", False)) or isinstance(value, FunctionType)


def _name_of(value: Any) -> str:
    return str(getattr(value, "__name__", repr(value)))


def plain(value: Any) -> Any:
    """The value of a ``tl.constexpr``."""
    return value.value if getattr(type(value), "__sectile_constexpr__", False) else value


def _texts(value: Any) -> Iterator[str]:
    """The texts in a kind: itself, or those of alternatives and of items of tuples."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)


def _is_constant(value: Any) -> bool:
    """Whether it is known by its value."""
    if getattr(type(value), "__sectile_constexpr__", False):
        value = value.value
    if isinstance(value, tuple):
        return all(map(_is_constant, value))
    is_ours = getattr(value, "__sectile_dtype__", False) or hasattr(value, "__sectile_builtin__")
    return type(value) in (bool, int, float, str, type(None)) or bool(is_ours)


def _is_kind(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_kind, value))
    return type(value) in (bool, int, float, str, type(None))


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]


def _choices(mapping: Mapping[str, list[Any]]) -> Iterable[dict[str, Any]]:
    for chosen in itertools.product(*mapping.values()):
        yield dict(zip(mapping, chosen))


def _substitute(value: Any, variables: Mapping[str, Any]) -> Any:
    """``"*T:16"`` with the type that T stands for."""
    if isinstance(value, tuple):
        items = [_substitute(item, variables) for item in value]
        return value._make(items) if hasattr(value, "_make") else tuple(items)
    if not isinstance(value, str) or not variables:
        return value

    def filled(constness: str, name: str) -> str | None:
        """The type that a name stands for; also of ``kT``, which is T, constant."""
        if constness + name in variables:
            return str(variables[constness + name])
        return f"{constness}{variables[name]}" if name in variables else None

    if value.lstrip().startswith("tensordesc"):
        return re.sub(
            r"(<\s*)(k?)(\w+)(?=\s*\[)",
            lambda found: found[1] + (filled(found[2], found[3]) or found[2] + found[3]),
            value,
        )
    found = re.fullmatch(r"(\*?)(k?)(\w+)(:\w+)?", value)
    name = filled(found[2], found[3]) if found else None
    if not found or not name:
        return value
    if not found[1] and not found[4] and (replacement := variables.get(value)) is not None:
        return replacement  # perhaps a constant
    return f"{found[1]}{name}{found[4] or ''}"


def _option_names() -> list[str]:
    # Those of a launch only ("target", "stream") select no variant.
    return [name for name, kind, *_ in _native.launch_options() if kind != "keyword"]


def export(
    *signatures: Mapping[str, Any],
    choose: Mapping[str, Any] | None = None,
    grid: Any = None,
    **variables: Any,
) -> Callable[[K], K]:
    """Marks a kernel for ``sectile aot``: which variants go into an archive.

    Args:
        signatures: mappings of parameters to kinds, as of `JITFunction.precompile`: ``"*fp32:16"`` an array whose
            address is a multiple of 16, ``"i32"`` an integer, ``"tensordesc<fp16[128, 64]>(i32, i32:16)"`` a
            `TensorDescriptor` by its blocks and extents, anything else a constant. A list stands for
            alternatives, of which all combinations are compiled. Options of a launch may be in it:
            ``{"num_warps": [4, 8]}``.
        choose: how a launch that leaves out a parameter chooses it, or which of several options it gets: a lambda
            of other parameters, or a text: ``{"BLOCK": lambda columns: 512 if columns <= 512 else 1024}``. It may use
            integers, arithmetic, comparisons, ``min``, ``max``, ``cdiv`` and ``next_power_of_2``; what it gives has to be among
            the variants.
        grid: the grid of launches that name none: up to three such expressions.
        variables: names that stand for types in the kinds: ``T=["fp32", "bf16"]`` for ``"*T:16"``.

    Returns:
        A decorator, which returns the kernel as it is.

    Raises:
        TypeError: what is decorated is no `JITFunction`.
        ValueError: a signature names an unknown parameter, or lacks one; a choice that no formula can be made of.

    Example:
        @st.aot.export(
            {"out": "*T:16", "x": "*T:16", "n": ["i32:16", "i32"], "BLOCK": [256, 1024]},
            T=["fp32", "fp16"],
            choose={"BLOCK": lambda n: 256 if n <= 4096 else 1024},
            grid=lambda n, BLOCK: st.cdiv(n, BLOCK),
        )
        @st.jit
        def double(out, x, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

        print(sum(1 for _ in st.aot.Export.of(double).combinations()))  # 8
    """

    from ..runtime.jit import JITFunction

    if len(signatures) == 1 and isinstance(signatures[0], JITFunction):
        raise TypeError(
            f"export: {signatures[0].__name__} has no signature\n"
            '  help: @st.aot.export({"x": "*fp32:16", "n": "i32", "BLOCK": 64})'
        )

    def mark(kernel: K) -> K:
        from ..errors import with_article

        if not isinstance(kernel, JITFunction):
            is_tuner = hasattr(kernel, "configs")
            hint = (
                "put it below the tuner, with the winning values in its signatures: choices are made where archives are built"
                if is_tuner
                else "an archive has no heuristics: put it below them, and choose= says what they compute"
                if hasattr(kernel, "values")
                else "put it above @st.jit"
            )
            raise TypeError(
                f"export: expected a @jit function, got {with_article(type(kernel).__name__)}\n  help: {hint}"
            )
        if not signatures:
            raise TypeError(
                f"export: {kernel.__name__} has no signature\n"
                '  help: such as {"x": "*fp32:16", "n": "i32", "BLOCK": 64}'
            )
        try:
            made = Export(kernel, signatures, choose or {}, grid, variables)
        except FormulaError as error:
            raise ValueError(str(error)) from None
        if any(other.kernel is kernel for other in _exported):
            raise ValueError(
                f"export: {kernel.__name__} is exported twice\n"
                "  help: one export takes several signatures: export({...}, {...})"
            )
        if _replaces:
            _exported[:] = [other for other in _exported if _place(other.kernel) != _place(kernel)]
        _exported.append(made)
        return kernel

    return mark


def _place(kernel: JITFunction) -> tuple[str, str]:
    return kernel.fn.__code__.co_filename, kernel.__qualname__


def _of(kernel: JITFunction) -> Export:
    """The latest export of a kernel.

    Raises:
        KeyError: it has not been exported.
    """
    for made in reversed(_exported):
        if made.kernel is kernel:
            return made
    raise KeyError(f"{kernel.__name__} has not been exported")


Export.of = staticmethod(_of)  # type: ignore[attr-defined]
