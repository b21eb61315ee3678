"""The tile IR of one kernel per kind of statement, compared with tests/python/frontend/golden/*.mlir.

SECTILE_UPDATE_GOLDEN=1 rewrites the files; read the difference before committing it.
"""

import os
from pathlib import Path

import pytest
from corpus import KERNELS
from frontend_support import tile_ir

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", KERNELS)
def test_golden(name):
    kernel, signature = KERNELS[name]
    text = tile_ir(kernel, **signature)
    path = GOLDEN / f"{name}.mlir"
    if os.environ.get("SECTILE_UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def test_every_golden_file_has_its_kernel():
    assert {path.stem for path in GOLDEN.glob("*.mlir")} == set(KERNELS)
