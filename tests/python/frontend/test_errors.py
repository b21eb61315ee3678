"""Wrong kernels and the exact diagnostics they get: text, line, column, caret and remedy.

errors.txt holds one block per kernel: `== title`, the source, a line `--`, what is reported.
SECTILE_UPDATE_GOLDEN=1 rewrites the reports; read the difference before committing it.
"""

import linecache
import os
import re
from pathlib import Path

import pytest
from frontend_support import Const, evaluate, jit, tl

TABLE = Path(__file__).parent / "errors.txt"

# Parameters get their types by name.
TYPES = {
    "x": "*fp32", "y": "*fp32", "out": "*fp32", "h": "*fp16", "p": "*i32", "u": "*u8", "c": "*kfp32",
    "n": "i32", "m": "i32", "big": "i64", "unsigned": "u32", "f": "fp32",
    "list": ("i32", "fp32", Const(1)), "arrays": ("*fp32", "*fp32"),
    "N": Const(16), "M": Const(32), "NAME": Const("relu"), "PAIR": Const((2, 3)), "NOTHING": Const(None),
}  # fmt: skip


def blocks():
    for block in re.split(r"^== ", TABLE.read_text(), flags=re.MULTILINE)[1:]:
        title, _, rest = block.partition("\n")
        source, _, report = rest.partition("\n--\n")
        yield title.strip(), source + "\n", report.strip("\n")


def report(title, source):
    """All diagnostics of the last function in `source`, rendered."""
    file = re.sub(r"\W+", "_", title) + ".py"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names = {"tl": tl, "jit": jit, "__name__": "wrong"}
    exec(compile(source, file, "exec", dont_inherit=True), names)
    kernel = [value for value in names.values() if hasattr(value, "__sectile_jit__")][-1]
    parameters = kernel.fn.__code__.co_varnames[: kernel.fn.__code__.co_argcount]
    result = evaluate(kernel, **{name: TYPES[name] for name in parameters})
    assert not result["verifier_error"], result["verifier_error"]
    return result["diagnostics"]


def update():
    text = ""
    for title, source, _ in blocks():
        rendered = "\n".join(d["text"].rstrip("\n") for d in report(title, source))
        text += f"== {title}\n{source.rstrip()}\n--\n{rendered}\n\n"
    TABLE.write_text(text)


if os.environ.get("SECTILE_UPDATE_GOLDEN"):
    update()

CASES = list(blocks())


def test_there_are_enough():
    assert len(CASES) >= 40
    assert len({title for title, _, _ in CASES}) == len(CASES)


@pytest.mark.parametrize("title, source, expected", CASES, ids=[case[0] for case in CASES])
def test_diagnostics(title, source, expected):
    found = report(title, source)
    assert "\n".join(d["text"].rstrip("\n") for d in found) == expected
    assert found, "a wrong kernel must be reported"
    for diagnostic in found:
        # The caret stands under what is wrong, in the line that is quoted.
        assert diagnostic["source_line"] == source.splitlines()[diagnostic["line"] - 1]
        # Columns count bytes of UTF-8.
        assert diagnostic["column"] <= len(diagnostic["source_line"].encode())
        assert not diagnostic["message"].endswith(".") and "\n" not in diagnostic["message"]
