"""benchmarks/libraries.py: a library's own tests with Triton and with Sectile, side by side."""

import os
import pathlib
import subprocess
import sys

import pytest

import sectile as st

pytestmark = pytest.mark.host
ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "benchmarks" / "libraries.py"

#: Tests of a library that is none: what is called Triton there has no name.
TESTS = """
import os
import pytest

IS_SECTILE = os.environ.get("SECTILE_AS_TRITON") == "1"

@pytest.mark.parametrize("n", range(5))
def test_right(n):
    if IS_SECTILE:
        import triton
        assert "sectile" in triton.__file__

def test_differs():
    assert not IS_SECTILE, "what differs"

def test_wrong():
    assert False

def test_elsewhere():
    pytest.skip("another GPU")
"""


def libraries(folder, *words):
    package = pathlib.Path(st.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, PROGRAM, *map(str, words)], cwd=folder, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(package)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_two_runs_and_their_table(tmp_path):
    (tmp_path / "repository/tests").mkdir(parents=True)
    (tmp_path / "repository/tests/test_all.py").write_text(TESTS)
    said = libraries(
        tmp_path,
        "run",
        "attorch",
        "repository",
        "--with",
        "triton",
        "--out",
        "t.tsv",
        "--sample",
        3,
    )
    assert "1 failed, 4 passed, 1 skipped" in said
    said = libraries(
        tmp_path,
        "run",
        "attorch",
        "repository",
        "--with",
        "sectile",
        "--out",
        "s.tsv",
        "--of",
        "t.tsv",
    )
    assert "1 failed, 3 passed" in said  # those that pass with Triton, and no others
    table = libraries(tmp_path, "compare", "s.tsv", "t.tsv")
    assert "| attorch | 4 | 4 | 3 | 75.0 % |" in table
    assert "test_differs`: AssertionError: what differs" in table
