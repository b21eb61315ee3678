"""Lessons are one text for two kinds of arrays: NumPy's on the CPU, torch's on a GPU.

Here they run on the CPU with torch's, so that where there is no GPU the other half is tested, too; on a GPU
`tests/python/language/test_cpp_same_ir.py` and `./dev check` run them.
"""

import pathlib
import runpy
import sys

import pytest

pytestmark = pytest.mark.host

TUTORIALS = pathlib.Path(__file__).resolve().parents[3] / "tutorials"
LESSONS = sorted(path.stem for path in TUTORIALS.glob("[0-9]*.py"))


@pytest.mark.parametrize("name", LESSONS)
def test_lesson_with_tensors(name, monkeypatch, capsys):
    torch = pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(TUTORIALS))
    import lesson

    made = []
    monkeypatch.setattr(lesson, "DEVICE", "cpu")
    monkeypatch.setattr(lesson, "DEVICE_NAME", "tensors")
    monkeypatch.setattr(lesson, "xp", torch)
    to_numpy = lesson.to_numpy
    monkeypatch.setattr(lesson, "to_numpy", lambda array: made.append(array) or to_numpy(array))
    monkeypatch.setattr(sys, "argv", [name, "--quick"])
    runpy.run_path(str(TUTORIALS / f"{name}.py"), run_name="__main__")
    assert "on tensors" in capsys.readouterr().out
    assert made and all(isinstance(array, torch.Tensor) for array in made)
