"""Python expressions of integers as formulas that an archive keeps and a program without Python evaluates.

What may be in one: the kernel's parameters, integers, names of integers outside, ``+ - * // % << >>``, comparisons,
``and or not``, ``a if condition else b``, ``min``, ``max``, ``cdiv`` and ``next_power_of_2``.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
from functools import lru_cache
from operator import index
from types import FunctionType

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any, TypeAlias

    Steps: TypeAlias = list[tuple[int, int]]

_BINARY = {
    ast.Add: "Add", ast.Sub: "Subtract", ast.Mult: "Multiply", ast.FloorDiv: "FloorDivide", ast.Mod: "Modulo",
    ast.LShift: "ShiftLeft", ast.RShift: "ShiftRight",
}  # fmt: skip
#: comparison -> step, whether its sides are exchanged
_COMPARISONS = {
    ast.Lt: ("Less", False), ast.LtE: ("LessOrEqual", False), ast.Gt: ("Less", True), ast.GtE: ("LessOrEqual", True),
    ast.Eq: ("Equal", False), ast.NotEq: ("NotEqual", False),
}  # fmt: skip


class FormulaError(ValueError):
    """An expression that no formula can be made of."""


@lru_cache(maxsize=1)
def _numbers() -> dict[str, int]:
    from .. import _native

    return {name: number for name, (number, _) in _native.formula_steps().items()}


class _Compiler:
    def __init__(
        self,
        parameters: Sequence[str],
        lookup: Callable[[str], Any],
        where: str,
        visible: Sequence[str],
        truths: Collection[str],
    ) -> None:
        self.parameters = list(parameters)
        self.truths = truths  # of the parameters, those that are truth values
        self.visible = visible  # of the parameters, those that the expression's names mean
        self.lookup = lookup
        self.where = where
        self.steps: Steps = []

    def refuse(self, node: ast.AST, problem: str) -> FormulaError:
        return FormulaError(
            f"{self.where}: {problem}: {ast.unparse(node)}\n"
            "  help: integers, parameters, + - * // % << >>, comparisons, and, or, not, `a if condition else b`, "
            "min, max, cdiv and next_power_of_2 may be used"
        )

    def emit(self, name: str, value: int = 0) -> None:
        self.steps.append((_numbers()[name], value))

    def constant(self, node: ast.AST, value: Any) -> None:
        if getattr(type(value), "__sectile_constexpr__", False):
            value = value.value  # tl.constexpr, which globals of kernels have to be
        try:
            value = value if isinstance(value, bool) else index(value)
        except TypeError:
            raise self.refuse(node, f"{value!r} is no integer") from None
        if not -(2**63) <= value < 2**63:
            raise self.refuse(node, "an integer beyond 64 bits")
        if isinstance(value, bool):  # what `not` gives is a truth value
            self.emit("Constant", int(not value))
            self.emit("Not")
        else:
            self.emit("Constant", int(value))

    def add(self, node: ast.expr) -> None:
        if isinstance(node, ast.Constant):
            self.constant(node, node.value)
        elif isinstance(node, ast.Name):
            if node.id in self.visible:
                self.emit("Argument", self.parameters.index(node.id))
                if node.id in self.truths:
                    self.emit("Not")
                    self.emit("Not")
            else:
                self.constant(node, self.outside(node))
        elif isinstance(node, ast.Attribute):
            self.constant(node, self.outside(node))
        elif isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            self.add(node.left)
            self.add(node.right)
            self.emit(_BINARY[type(node.op)])
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub, ast.UAdd)):
            self.add(node.operand)
            if not isinstance(node.op, ast.UAdd):
                self.emit("Not" if isinstance(node.op, ast.Not) else "Negate")
        elif isinstance(node, ast.Compare):
            self.compare(node)
        elif isinstance(node, ast.BoolOp):
            self.connect(node)
        elif isinstance(node, ast.IfExp):
            self.add(node.body)
            self.add(node.orelse)
            self.add(node.test)
            self.emit("Select")
        elif isinstance(node, ast.Call):
            self.call(node)
        else:
            raise self.refuse(node, "no formula can be made of this")

    def compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for count, (left, operator, right) in enumerate(zip(sides, node.ops, sides[1:])):
            if type(operator) not in _COMPARISONS:
                raise self.refuse(node, "no formula can be made of this comparison")
            name, is_exchanged = _COMPARISONS[type(operator)]
            for side in (right, left) if is_exchanged else (left, right):
                self.add(side)
            self.emit(name)
            if count:
                self.emit("And")

    def connect(self, node: ast.BoolOp) -> None:
        for count, value in enumerate(node.values):
            # `a or b` of numbers gives one of them in Python, and a truth value here.
            is_truth = (
                isinstance(value, (ast.Compare, ast.BoolOp))
                or (isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not))
                or (isinstance(value, ast.Constant) and isinstance(value.value, bool))
                or (
                    isinstance(value, ast.Name)
                    and value.id in self.visible
                    and value.id in self.truths
                )
            )
            if not is_truth:
                raise self.refuse(value, "`and` and `or` connect comparisons, not numbers")
            self.add(value)
            if count:
                self.emit("And" if isinstance(node.op, ast.And) else "Or")

    def outside(self, node: ast.expr) -> Any:
        """The value of a name that is no parameter."""
        if isinstance(node, ast.Attribute):
            holder = self.outside(node.value)
            try:
                return getattr(holder, node.attr)
            except AttributeError as error:
                raise self.refuse(node, str(error)) from None
        if not isinstance(node, ast.Name):
            raise self.refuse(node, "no formula can be made of this")
        try:
            return self.lookup(node.id)
        except KeyError:
            raise self.refuse(node, "unknown name") from None

    def call(self, node: ast.Call) -> None:
        from .. import language
        from ..runtime import functions

        if not isinstance(node.func, (ast.Name, ast.Attribute)) or node.keywords:
            raise self.refuse(node, "no formula can be made of this call")
        called = self.outside(node.func)
        name = getattr(called, "__name__", "")
        if called is min or called is max:
            if not node.args:
                raise self.refuse(node, f"{name} of nothing")
            for count, argument in enumerate(node.args):
                self.add(argument)
                if count:
                    self.emit("Minimum" if called is min else "Maximum")
        elif (called is functions.cdiv or called is language.cdiv) and len(node.args) == 2:
            self.add(node.args[0])
            self.add(node.args[1])
            self.emit("CeilDivide")
        elif called is functions.next_power_of_2 and len(node.args) == 1:
            self.add(node.args[0])
            self.emit("NextPowerOf2")
        else:
            raise self.refuse(node, "no formula can be made of this call")


def _lambda_of(function: FunctionType, where: str) -> ast.Lambda:
    """The lambda in the source that this function was made from."""
    code = function.__code__
    if code.co_name != "<lambda>":
        raise FormulaError(
            f"{where}: {code.co_name} is a function, of which no formula can be made\n"
            "  help: write a lambda, or the expression as a text"
        )
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    try:
        tree = ast.parse(text)
    except SyntaxError:
        tree = ast.Module([], [])
    names = list(inspect.signature(function).parameters)
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda)
        and node.lineno == code.co_firstlineno
        and [argument.arg for argument in node.args.args] == names
    ]
    if hasattr(code, "co_positions"):  # from Python 3.11 on
        # Instructions that are from no text are given a place without width.
        places = [(p[0], p[2]) for p in code.co_positions() if None not in p and p[0::2] != p[1::2]]
        found = [node for node in found if all(_holds(node.body, place) for place in places)]
    if len({ast.unparse(node) for node in found}) == 1:
        return found[0]
    problem = (
        "several lambdas on one line look alike"
        if found
        else "the source of the lambda is not at hand"
    )
    raise FormulaError(f"{where}: {problem}\n  help: write the expression as a text")


def _holds(node: ast.expr, place: tuple[Any, Any]) -> bool:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return (node.lineno, node.col_offset) <= place < (node.end_lineno, node.end_col_offset)


def formulas(
    expression: Any,
    parameters: Sequence[str],
    where: str,
    names: dict[str, Any],
    truths: Collection[str] = (),
) -> list[Steps]:
    """Returns the steps of each item of an expression that may be a tuple.

    Args:
        expression: a number, a text, or a lambda whose parameters are some of the kernel's.
        parameters: the kernel's.
        where: what errors begin with: ``"softmax: choose['BLOCK']"``.
        names: what a text may refer to beside the parameters: the kernel's globals. Where these have none of the name,
            ``cdiv`` and ``next_power_of_2`` are Sectile's.
        truths: the parameters that are truth values.

    Raises:
        FormulaError: no formula can be made of it.
    """
    if isinstance(expression, (tuple, list)):
        return [
            steps
            for item in expression
            for steps in formulas(item, parameters, where, names, truths)
        ]
    visible: Sequence[str] = parameters
    if not isinstance(expression, (int, str, FunctionType)):
        raise FormulaError(f"{where}: expected a lambda, a text or an int, got {expression!r}")
    if isinstance(expression, int):
        tree: ast.expr = ast.Constant(expression)
    elif isinstance(expression, str):
        try:
            tree = ast.parse(expression.strip(), mode="eval").body
        except SyntaxError as error:
            raise FormulaError(f"{where}: {error.msg}: {expression}") from None
        except (RecursionError, MemoryError):
            raise FormulaError(f"{where}: the expression is too deep") from None
    else:
        visible = list(inspect.signature(expression).parameters)
        unknown = [
            name for name in inspect.signature(expression).parameters if name not in parameters
        ]
        if unknown:
            raise FormulaError(
                f"{where}: the kernel has no parameter {unknown[0]!r}\n"
                f"  help: the parameters are {', '.join(parameters)}"
            )
        closure = inspect.getclosurevars(expression)
        names = {**closure.builtins, **closure.globals, **closure.nonlocals}
        tree = _lambda_of(expression, where).body

    from ..runtime import functions

    own = {"cdiv": functions.cdiv, "next_power_of_2": functions.next_power_of_2}

    def lookup(name: str) -> Any:
        for known in (names, own, vars(builtins)):
            if name in known:
                return known[name]
        raise KeyError(name)

    result = []
    for item in tree.elts if isinstance(tree, (ast.Tuple, ast.List)) else [tree]:
        compiler = _Compiler(parameters, lookup, where, visible, truths)
        try:
            compiler.add(item)
        except RecursionError:
            raise FormulaError(f"{where}: the expression is too deep") from None
        result.append(compiler.steps)
    return result


def formula(
    expression: Any,
    parameters: Sequence[str],
    where: str,
    names: dict[str, Any],
    truths: Collection[str] = (),
) -> Steps:
    """The same of one expression, which is no tuple."""
    result = formulas(expression, parameters, where, names, truths)
    if len(result) != 1:
        raise FormulaError(f"{where}: expected one number, got a tuple of {len(result)}")
    return result[0]
