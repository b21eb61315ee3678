"""How many random kernels have each construct: fuzz_gpu.py --census 500.

A construct that no kernel has is one that nothing tests; `test_fuzz_gpu.py` wants some of each.
"""

import ast
import collections

LOOPS = (ast.For, ast.While)
EFFECTS = ("load", "store", "atomic")


def nodes(tree, *kinds):
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def calls(tree):
    """(name, call) of each operation of the language."""
    for call in nodes(tree, ast.Call):
        if isinstance(call.func, ast.Attribute):
            yield call.func.attr, call


def constructs_of_loops(tree):
    for loop in nodes(tree, *LOOPS):
        yield "while" if isinstance(loop, ast.While) else "for"
        if isinstance(loop, ast.While) and nodes(loop, ast.For):
            yield "while around a for"
        if loop.orelse:
            yield "else of a loop"
    for word in (ast.Break, ast.Continue):
        if nodes(tree, word):
            yield word.__name__.lower()


def constructs_of_conditions(tree):
    for node in nodes(tree, ast.BoolOp):
        yield "and" if isinstance(node.op, ast.And) else "or"
    if any(isinstance(node.op, ast.Not) for node in nodes(tree, ast.UnaryOp)):
        yield "not"
    if nodes(tree, ast.IfExp):
        yield "conditional expression"
    if any(len(node.ops) > 1 for node in nodes(tree, ast.Compare)):
        yield "chain of comparisons"


def constructs_of_slices(tree):
    for part in nodes(tree, ast.Slice):
        if part.step is not None:
            is_down = isinstance(part.step, ast.UnaryOp)
            yield "slice with a negative step" if is_down else "slice with a step"


def functions_below(function, functions):
    """It, and what it calls."""
    names = {node.id for node in nodes(function, ast.Name)} & functions.keys()
    return [
        function,
        *(f for n in names - {function.name} for f in functions_below(functions[n], functions)),
    ]


def constructs_of_combiners(kernel, functions):
    for name, call in calls(kernel):
        if name not in ("reduce", "associative_scan"):
            continue
        word = "reduce" if name == "reduce" else "scan"
        yield f"{word} with a function"
        if isinstance(call.args[0], ast.Tuple):
            yield f"{word} of a tuple"
        function = functions[call.args[2].id]
        below = functions_below(function, functions)
        if len(below) > 1:
            yield "combining function: calls another"
        for each in below:
            operations = [operation for operation, _ in calls(each)]
            if found := [e for e in EFFECTS for o in operations if o.startswith(e)]:
                yield f"combining function: {found[0]}"
                if nodes(each, ast.If, *LOOPS):
                    yield "combining function: effects and branches"
            if nodes(each, ast.If, ast.IfExp):
                yield "combining function: branch"
            if nodes(each, *LOOPS):
                yield "combining function: loop"
            if len(nodes(each, ast.Return)) > 1:
                yield "combining function: several returns"


def constructs(case):
    """The names of what one case has."""
    functions = {f.name: f for f in ast.parse(case.source).body if isinstance(f, ast.FunctionDef)}
    kernel = functions.pop(case.name)
    found = {f"numerics={case.numerics}"} - {"numerics=default"}
    if blocks := case.options.get("num_ctas"):
        found.add(f"num_ctas={blocks}")
    if case.programs > 1:
        found.add("several programs")
    if nodes(kernel, ast.Return):
        found.add("return from the kernel")
    for group in (constructs_of_loops, constructs_of_conditions, constructs_of_slices):
        found |= set(group(kernel))
    found |= set(constructs_of_combiners(kernel, functions))
    return found | {f"tl.{name}" for name, _ in calls(kernel)}


def census(cases):
    counts = collections.Counter()
    for case in cases:
        counts.update(constructs(case))
    return counts
