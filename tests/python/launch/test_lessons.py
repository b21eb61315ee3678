"""Lessons are one text for two kinds of arrays: NumPy's on the CPU, torch's on a GPU.

Here they run on the CPU with torch's, so that where there is no GPU the other half is tested, too; on a GPU
`tests/python/language/test_cpp_same_ir.py` and `./dev check` run them.
"""

import importlib
import pathlib
import runpy
import sys

import numpy as np
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


def test_gradient_where_the_sums_of_exponentials_are_tiny(monkeypatch):
    """All scores lie near -770, and keys beyond the end at 0: there exp(0 - logsum) is infinite."""
    monkeypatch.syspath_prepend(str(TUTORIALS))
    monkeypatch.delitem(sys.modules, "lesson", raising=False)
    lesson = importlib.import_module("lesson")
    monkeypatch.setattr(lesson, "DEVICE", "cpu")
    monkeypatch.setattr(lesson, "xp", np)
    names = runpy.run_path(str(TUTORIALS / "12_attention_gradient.py"))
    random = np.random.default_rng(1)
    q, k, v, dout = (random.standard_normal((1, 100, 64), dtype=np.float32) for _ in range(4))
    q, k = q / 8 + 12, k / 8 - 8
    out, dq, dk, dv = (np.empty_like(q) for _ in range(4))
    logsum, delta = np.empty((1, 100), np.float32), np.empty((1, 100), np.float32)
    names["attention"](q, k, v, out, logsum)
    assert logsum.max() < -700
    names["gradient"](q, k, v, out, logsum, dout, delta, dq, dk, dv)
    expected = names["numpy_gradient"](*(array.astype(np.float64) for array in (q, k, v, dout)))
    for got, wanted in zip((out, dq, dk, dv), expected, strict=True):
        assert np.abs(got - wanted).max() < 1e-3 * np.abs(wanted).max()
