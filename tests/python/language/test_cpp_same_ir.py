"""The same kernel written in Python and in C++ becomes the same tile IR, byte for byte.

Runs the lessons of tutorials/ in both languages with SECTILE_DUMP=tile. Only names of parameters are
left out: the C++ lessons give none.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import sectile._native as native

pytestmark = pytest.mark.host

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(native.__file__).parents[2]
LESSONS = sorted(path.stem for path in (ROOT / "tutorials").glob("0*.py"))


def tile_ir(command, folder):
    environment = os.environ | {"SECTILE_DUMP": f"tile:{folder}", "SECTILE_CACHE_DIR": ""}
    subprocess.run(
        [*command, "--quick"], env=environment, check=True, capture_output=True, timeout=120
    )
    return {
        path.name: re.sub(r'tile\.name = "\w+"', "tile.name", path.read_text())
        for path in folder.iterdir()
    }


@pytest.mark.parametrize("lesson", LESSONS)
def test_same_ir(lesson, tmp_path):
    program = BUILD / "tutorials" / lesson
    if not program.exists():
        pytest.skip(f"{program} is not built (SECTILE_BUILD_TUTORIALS)")
    (tmp_path / "cpp").mkdir()
    (tmp_path / "python").mkdir()
    cpp = tile_ir([program], tmp_path / "cpp")
    python = tile_ir([sys.executable, ROOT / "tutorials" / f"{lesson}.py"], tmp_path / "python")
    assert cpp.keys() == python.keys() and cpp
    for name in cpp:
        assert cpp[name] == python[name], name
