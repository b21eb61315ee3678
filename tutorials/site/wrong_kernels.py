"""The page of kernels that are wrong, made from the table that the tests of the front end compare messages with."""

import re
from pathlib import Path

TABLE = Path(__file__).resolve().parents[2] / "tests/python/frontend/errors.txt"

INTRODUCTION = """# Kernels that are wrong

Every kernel on this page has a mistake, and below it stands what the compiler says about it, to the letter: the tests compare them. The [error index](errors.md) says
why, and what to do. Where a kernel has parameters that are not shown to be something else, `x`, `y` and `out` are arrays of fp32, `p` is one of int32, `n` and `m` are
int32, `f` is fp32, and `N` and `M` are the constants 16 and 32.

`@jit` is `@st.jit`, as in every kernel.
"""


def cases():
    """Yields title, source and report of each wrong kernel."""
    for block in re.split(r"^== ", TABLE.read_text(), flags=re.M)[1:]:
        title, _, rest = block.partition("\n")
        source, _, report = rest.partition("\n--\n")
        yield title, source.strip(), report.strip()


def write(folder):
    text = [INTRODUCTION]
    for title, source, report in cases():
        heading = title[0].upper() + title[1:]
        text.append(f"## {heading}\n\n```python\n{source}\n```\n\n```text\n{report}\n```\n")
    (folder / "wrong-kernels.md").write_text("\n".join(text))
