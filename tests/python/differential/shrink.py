"""The smallest kernel found that goes wrong in the same way: statements are taken away while it does.

small = shrink(case, is_still_bad)   # a Case; is_still_bad(case) runs it
"""

import ast
import dataclasses
import re
import time


def blocks(tree):
    """Lists of statements, the outermost first."""
    found = []
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            statements = getattr(node, name, None)
            if isinstance(statements, list) and not isinstance(node, ast.Module):
                found.append((node, name))
    return found


def variants(source):
    """Sources with less in them, the greatest leaps first."""
    tree = ast.parse(source)
    count = len(blocks(tree))
    for b in range(count):
        node, name = blocks(tree)[b]
        length = len(getattr(node, name))
        size = length
        while size:
            for start in range(length - size, -1, -size):
                copy = ast.parse(source)
                node, name = blocks(copy)[b]
                statements = getattr(node, name)
                kept = statements[:start] + statements[start + size :]
                if not kept and name == "body":
                    kept = [ast.Pass()]
                setattr(node, name, kept)
                yield ast.unparse(ast.fix_missing_locations(copy))
            size //= 2
    for b in range(count):  # a loop or branch by what is in it
        for i in range(len(getattr(*blocks(tree)[b]))):
            copy = ast.parse(source)
            node, name = blocks(copy)[b]
            statements = getattr(node, name)
            if hasattr(statements[i], "body") and not isinstance(statements[i], ast.FunctionDef):
                statements[i : i + 1] = statements[i].body
                yield ast.unparse(ast.fix_missing_locations(copy))
    calls = [node for node in ast.walk(tree) if isinstance(node, (ast.Call, ast.BinOp))]
    for c in range(
        len(calls)
    ):  # an operation by one of its operands, a call without one of its arguments
        for which in range(6):
            copy = ast.parse(source)
            node = [n for n in ast.walk(copy) if isinstance(n, (ast.Call, ast.BinOp))][c]
            if isinstance(node, ast.BinOp):
                if which > 1:
                    break
                new = [node.left, node.right][which]
            elif which < len(node.keywords):
                del node.keywords[which]
                yield ast.unparse(copy)
                continue
            elif which - len(node.keywords) < len(node.args):
                new = node.args[which - len(node.keywords)]
            else:
                break

            class Replace(ast.NodeTransformer):
                def visit(self, n, old=node, new=new):
                    return new if n is old else self.generic_visit(n)

            yield ast.unparse(ast.fix_missing_locations(Replace().visit(copy)))


def may_end(source):
    """Whether all while loops still count, and have a way out; else they would run for ever."""
    for loop in [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.While)]:
        texts = [ast.unparse(statement) for statement in loop.body]
        if not any(re.fullmatch(r"(\w+) = \1 - 1|\w+ \+= 1", text) for text in texts):
            return False
        leaves = [
            s
            for s in loop.body
            if isinstance(s, ast.If) and isinstance(s.body[-1], (ast.Break, ast.Return))
        ]
        if isinstance(loop.test, ast.Constant) and not leaves:
            return False
    return True


def simpler(case):
    for options in ({"num_warps": 1}, {"num_warps": 4}, {"num_stages": 1}):
        if any(case.options[name] > value for name, value in options.items()):
            yield dataclasses.replace(case, options={**case.options, **options})
    for name in ("numerics", "num_ctas"):
        if name in case.options:
            options = {n: value for n, value in case.options.items() if n != name}
            yield dataclasses.replace(case, options=options)
    if case.programs > 1:
        yield dataclasses.replace(case, programs=1, rows=1)
    if case.shifted:
        yield dataclasses.replace(case, shifted=frozenset())
    for source in variants(case.source):
        yield dataclasses.replace(case, source=source)


def names_in(function):
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}


def tidy(case):
    """Without parameters and helpers that nothing uses."""
    tree = ast.parse(case.source)
    kernel = tree.body[-1]
    used = names_in(kernel)
    for helper in reversed(tree.body[:-1]):  # helpers call those before them
        if isinstance(helper, ast.FunctionDef) and helper.name in used:
            used |= names_in(helper)
    kernel.args.args = [argument for argument in kernel.args.args if argument.arg in used]
    tree.body = [
        n for n in tree.body if not isinstance(n, ast.FunctionDef) or n is kernel or n.name in used
    ]
    return dataclasses.replace(case, source=ast.unparse(tree) + "\n")


def shrink(case, is_still_bad, seconds=20):
    end = time.monotonic() + seconds
    tried = {case.source}
    progress = True
    while progress:
        progress = False
        for smaller in simpler(case):
            if time.monotonic() > end:
                return case
            if smaller.source != case.source and smaller.source in tried:
                continue
            if not may_end(smaller.source):
                continue
            tried.add(smaller.source)
            try:
                smaller = tidy(smaller)
                bad = is_still_bad(smaller)
            except Exception:  # what makes no sense any more
                continue
            if bad:
                case, progress = smaller, True
                break
    return case
