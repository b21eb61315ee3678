"""The same kernel written in Python and in C++ becomes the same tile IR, byte for byte.

Runs the lessons of tutorials/ in both languages with SECTILE_DUMP=tile, on the CPU and on a GPU if there
is one (some choose other constants there). Only names of parameters are left out: the C++ lessons give
none.
"""

import os
import pathlib
import subprocess
import sys

import pytest
from launch_on_device import why_not
from support import without_names

import sectile._native as native

pytestmark = pytest.mark.host

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(native.__file__).parents[2]
LESSONS = sorted(path.stem for path in (ROOT / "tutorials").glob("[0-9]*.py"))


def tile_ir(command, folder, place):
    environment = os.environ | {"SECTILE_DUMP": f"tile:{folder}", "SECTILE_CACHE_DIR": ""}
    if place == "cpu":
        environment["CUDA_VISIBLE_DEVICES"] = ""
    subprocess.run(
        [*command, "--quick"], env=environment, check=True, capture_output=True, timeout=120
    )
    return {path.name: without_names(path.read_text()) for path in folder.iterdir()}


@pytest.mark.parametrize("place", ["cpu", "cuda"])
@pytest.mark.parametrize("lesson", LESSONS)
def test_same_ir(lesson, place, tmp_path):
    if reason := why_not(place):
        pytest.skip(f"{place}: {reason}")
    program = BUILD / "tutorials" / lesson
    if not program.exists():
        pytest.skip(f"{program} is not built (SECTILE_BUILD_TUTORIALS)")
    (tmp_path / "cpp").mkdir()
    (tmp_path / "python").mkdir()
    cpp = tile_ir([program], tmp_path / "cpp", place)
    script = [sys.executable, ROOT / "tutorials" / f"{lesson}.py"]
    python = tile_ir(script, tmp_path / "python", place)
    assert cpp.keys() == python.keys() and cpp
    for name in cpp:
        assert cpp[name] == python[name], name
