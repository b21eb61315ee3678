import importlib.util
import itertools
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("neighbours.py")
OTHERS = [name for name in ("torch", "numba", "triton") if importlib.util.find_spec(name)]


@pytest.mark.parametrize(
    "order", list(itertools.permutations(["sectile", *OTHERS]))[:: max(1, len(OTHERS))]
)
def test_one_process(order):
    if not OTHERS:
        pytest.skip("neither torch nor numba nor triton is installed")
    done = subprocess.run(
        [sys.executable, PROGRAM, *order], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
