"""The kernels of the tutorials, as they run on a GPU, compiled for every GPU: they assemble and spill nothing.

None need be there: lessons run on the CPU with the constants they choose for GPUs.
"""

import importlib
import pathlib
import sys

import pytest
from target_check import TARGETS, Recorder, assemble, find_ptxas, targets_of

TUTORIALS = pathlib.Path(__file__).parents[2] / "tutorials"
LESSONS = sorted(path.stem for path in TUTORIALS.glob("[0-9]*.py"))
recorded = {}


def launches(lesson):
    """(name, kernel, positional arguments, keyword arguments) of each variant that a lesson launches."""
    if lesson not in recorded:
        recorder = Recorder()
        sys.path.insert(0, str(TUTORIALS))
        try:
            support = importlib.import_module("lesson")
            device, support.DEVICE = support.DEVICE, "cuda"
            module = importlib.import_module(lesson)
            with recorder.recording():
                module.main(quick=True)
            support.DEVICE = device
        finally:
            sys.path.remove(str(TUTORIALS))
        recorded[lesson] = [(recorder.name_of(*launch), *launch) for launch in recorder.take()]
    return recorded[lesson]


@pytest.mark.host
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("lesson", LESSONS)
def test_no_errors_and_no_spills(lesson, target):
    assert launches(lesson), f"{lesson} launches no kernel"
    for name, kernel, positional, named in launches(lesson):
        if target not in targets_of(named):
            continue  # On a Hopper GPU a lesson may launch variants that older ones refuse.
        compiled = kernel.warmup(*positional, grid=(1,), target=target, **named)
        error, spilled = assemble(compiled.asm["ptx"])
        assert not error, f"{name} for {target}: {error}"
        assert not spilled, f"{name} for {target}: {spilled} bytes of registers are spilled"
    if not find_ptxas():
        pytest.skip("compiled; spills unknown: no ptxas on PATH, in CUDA_HOME or nvidia-cuda-nvcc")
