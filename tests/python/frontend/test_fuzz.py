"""No kernel that Python parses may crash, hang or get invalid IR out of the front end."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("seed", ["tesserae", "opus sectile"])
def test_mutants(seed, tmp_path):
    last = tmp_path / "last.py"
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", str(Path(__file__).with_name("fuzz_front_end.py")), seed, "8000", str(last)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        process.kill()
        pytest.fail("hangs on:\n" + last.read_text())
    mutant = last.read_text() if last.exists() else ""
    assert process.returncode == 0, (
        f"exit status {process.returncode}\n{output}\nlast mutant:\n{mutant}"
    )
    parsed, accepted = map(int, output.splitlines()[-1].split()[:2])
    assert parsed > 1500 and accepted > 50
