"""The examples in the docstrings of `sectile`, which its reference shows, print what stands beside them."""

import contextlib
import io
import re
import runpy
import sys
from pathlib import Path

import pytest

import sectile as st

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tutorials/site"))

import python_reference  # noqa: E402 - found through the line above

pytestmark = pytest.mark.host

EXAMPLES = python_reference.examples()


def test_what_most_programs_use_has_an_example():
    wanted = {
        "jit",
        "autotune",
        "Space",
        "Config",
        "compile",
        "inspect",
        "cdiv",
        "TensorDescriptor",
    }
    assert wanted | {"JITFunction.bind", "JITFunction.precompile", "testing.do_bench"} <= set(
        EXAMPLES
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, tmp_path):
    program = EXAMPLES[name]
    expected = re.findall(r"^ *print\(.*\)  # (.*)$", program, re.M)
    assert expected, "an example prints what it computes"
    path = tmp_path / "example.py"
    path.write_text(program)
    output = io.StringIO()
    # What was compiled before must not be found: an example may count compiles.
    with st.knobs.scope(cache_dir=""), contextlib.redirect_stdout(output):
        runpy.run_path(str(path))
    assert output.getvalue().splitlines() == expected
