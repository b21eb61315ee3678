"""Machine code as text, by NVIDIA's `cuobjdump`."""

import subprocess
import tempfile

from sectile.as_triton import missing

from .. import knobs


def path_to_cuobjdump():
    return knobs.nvidia.cuobjdump.path, knobs.nvidia.cuobjdump.version


def get_sass(cubin_asm, fun=None):
    """The instructions of a cubin, of one function when `fun` names it."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin_asm)
        file.flush()
        return extract(file.name, fun)


def extract(file_path, fun=None):
    words = [path_to_cuobjdump()[0], "-sass"] + (["-fun", fun] if fun else []) + [file_path]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


__getattr__ = missing(__name__)
