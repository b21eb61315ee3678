"""Where the C++ side of this installation lies: headers, and the files of `find_package(Sectile)`."""

from __future__ import annotations

import os

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def _folder(name: str, witness: str, purpose: str) -> str:
    folder = os.path.join(_PACKAGE, *name.split("/"))
    if not os.path.exists(os.path.join(folder, witness)):
        from .errors import MachineError

        raise MachineError(
            f"this installation has no {purpose} ({folder} is missing); "
            "install the wheel, pip install opus-sectile, or build with ./dev build"
        )
    return folder


def get_include() -> str:
    """The folder of the C++ headers: ``c++ -std=c++20 -I $(python -c "import sectile; print(sectile.get_include())")``.

    Raises:
        MachineError: this installation has no headers.
    """
    return _folder("include", "sectile/sectile.h", "C++ headers")


def get_cmake_dir() -> str:
    """The folder for CMake's ``Sectile_DIR``, after which ``find_package(Sectile)`` gives ``Sectile::sectile``.

    ``cmake -DSectile_DIR=$(sectile --cmake-dir) ...`` on a command line.

    Raises:
        MachineError: this installation has no CMake files.
    """
    return _folder("cmake/Sectile", "SectileConfig.cmake", "CMake files")
