"""Triton's words for what Sectile refuses.

An error keeps Sectile's text, with its caret and remedy. Behind it stand Triton's place and words, and `__cause__`
is the exception that Triton would have raised inside: programs and tests look for either. The table below is the one
list of these words.
"""

import ast
import linecache
import re

from sectile import errors

# Sectile's message -> Triton's words, and the class of its inner exception.
_WORDS = (
    (r"([&|^]|<<|>>|~): integers or truth values expected, found (\S+) and (\S+)",
     r"invalid operands of type triton.language.\2 and triton.language.\3", TypeError),
    (r"'([&|^]|<<|>>)' is not defined between (\S+) and (\S+)",
     r"unsupported operand type(s) for \1: '\2' and '\3'", TypeError),
    (r"(/|//|%): (\S+) and (\S+) differ in signedness",
     r"Cannot use \1 with \2 and \3 because they have different signedness;this is unlikely to result in a useful "
     r"answer. Cast them to the same signedness.", TypeError),
    (r"store: the pointer is to constant data.*", "Cannot store to a constant pointer", ValueError),
    (r"conditional expression: types differ: (\S+) if the condition holds, (\S+) otherwise",
     r"Ternary expression with dynamic condition has inconsistent types \1 and \2", None),
    (r"'(\w+)' is (\S+) if the condition on line \d+ holds, and (\S+) otherwise",
     r"Mismatched type for \1 between then block (\2) and else block (\3)", AssertionError),
    (r"returned values differ: (\S+) on line \d+, (\S+) otherwise",
     r"Return type mismatch: \2 and \1", None),
    (r"the index of a tile must be an integer, not (\w+)", r"unsupported tensor index: \1", ValueError),
    (r"(expand_dims): axis (-?\d+) is out of range for a result of rank (\d+)",
     r"invalid axis \2. Expected a value in [-\3, \3)", ValueError),
    (r"expand_dims: an axis is given twice", "expand_dims received duplicate axes, normalized axes = [0, 0]", ValueError),
    (r"program_id: axis is (\S+), but a grid has axes 0, 1 and 2",
     r"program_id axis must be 0, 1, or 2 but got \1", ValueError),
    (r"num_programs: axis is (\S+), but a grid has axes 0, 1 and 2",
     r"num_programs axis must be 0, 1, or 2 but got \1", ValueError),
    (r"make_tensor_descriptor: a row of the block has (\d+) bytes, and needs at least 16",
     r"Descriptor block shape must have at least 16 bytes in the last dimension, but got \1", ValueError),
    (r"dot: max_num_imprecise_acc is (\d+), but the inner extent is (\d+)",
     r"max_num_imprecise_acc (\1) must be <= K (\2)", ValueError),
    (r"dot_scaled: (lhs|rhs)_scale is ([\dx]+), and should be (\d+)x(\d+).*",
     lambda match: (f"{match[1]}_scale must be a tensor of shape [{match[3]}, {match[4]}]. "
                    f"Got {match[2].split('x')}"), ValueError),
    (r"'(\w+)' is used before it is assigned", r"NameError('\1 is not defined')", NameError),
    (r"name '(\w+)' is not defined", r"NameError('\1 is not defined')", None),
    (r"'(\w+)' is a plain \w+ outside the kernel, which may change later",
     r"NameError(Cannot access global variable \1 from within @jit'ed function. Triton kernels can only access global "
     r"variables that are instanstiated as constexpr (`x = triton.language.constexpr(42)`).)", NameError),
    (r"arange: \[(.*)\) does not fit int32", r"arange's arguments must fit in int32, and \1 is out of range", ValueError),
    (r"\w+: repr returned '(?:.*\.)?([^.]*)', which is no name for the code of a variant",
     r"invalid function identifier: \1", None),
    (r"static assertion failed.*", None, None),
)  # fmt: skip


def _in_triton(message):
    """(words, class) of a message; (None, None) where Triton has no others."""
    for pattern, words, kind in _WORDS:
        if match := re.fullmatch(pattern, message, re.DOTALL):
            return (words(match) if callable(words) else words and match.expand(words)), kind
    return None, None


def _place(function, file, line):
    """``at LINE:COLUMN:``, counted from the ``def`` of the function and its indentation, with the source up to there."""
    lines = linecache.getlines(file)
    begin = re.compile(rf"\s*def\s+{re.escape(function)}\b")
    for first in range(min(line, len(lines)), 0, -1):
        if begin.match(lines[first - 1]):
            indent = len(lines[first - 1]) - len(lines[first - 1].lstrip())
            break
    else:
        return ""
    text = lines[line - 1]
    # Triton points to where the statement begins.
    statement = max(len(text) - len(text.lstrip()) - indent, 0)
    excerpt = [text[indent:].rstrip("\n") for text in lines[first - 1 : line]][-12:]
    return (
        f"at {line - first + 1}:{statement}:\n" + "\n".join(excerpt) + "\n" + " " * statement + "^"
    )


def _cause(kind, words, inner):
    """The inner exception: that of a helper's own place, or of the words."""
    if inner:
        error = errors.CompilationError(inner + (f"\n{words}" if words else ""))
        error.src, error.node = inner, None
        if kind is not None:
            error.__cause__ = kind(words)
        return error
    return kind(words) if kind is not None else None


def _add_words(error):
    """Gives an error Triton's place, words and cause."""
    if not error.diagnostics:
        return
    first = error.diagnostics[0]
    words, kind = _in_triton(first.message)
    own = _place(first.function, first.file, first.line)
    text = [str(error)]
    if first.callers:
        function, (file, line, *_) = first.callers[-1]
        text.append(_place(function, file, line))
        cause = _cause(kind, words, own)
    else:
        text.append(own)
        cause = _cause(kind, words, None)
    if words:
        text.append(words)
    error.args = ("\n".join(part for part in text if part),)
    error.words = words or ""
    error.src = own
    error.node = ast.Constant(None, lineno=first.line, col_offset=max(first.column - 1, 0))
    error.__cause__ = cause


class _PowerOfTwo(errors.ArgumentError, AssertionError):
    """A number of warps that is no power of two."""


def _call_error(text):
    """The error of a wrong call with Triton's class, where it is another one; None else."""
    if re.search(r"num_warps is (\d+), not a power of two", text):
        return _PowerOfTwo(f"{text}\nnum_warps must be a power of 2")
    return None


def speak():
    """Errors have Triton's words, too, from now on."""
    errors.companion = _add_words
    errors.call_companion = _call_error
