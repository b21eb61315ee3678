"""A few of the random kernels of `fuzz_cpp.py`: the same tile IR from Python and from C++."""

import pathlib
import shutil

import pytest
from fuzz_cpp import run_batch

import sectile._native as native

pytestmark = pytest.mark.host
LIBRARY = pathlib.Path(native.__file__).parents[2] / "lib"


@pytest.mark.parametrize("compiler, first", [("clang++-22", 0), ("g++", 100)])
def test_same_ir_of_random_kernels(compiler, first, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    compared, _, different = run_batch(range(first, first + 20), compiler, LIBRARY, tmp_path)
    assert not different, "\n\n".join(f"seed {each.seed}:\n{each.text}" for each in different)
    assert compared > 6
