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


def _library_dir() -> str:
    """Returns the folder of libsectile.so: in a wheel the package's own, in a build tree build/lib."""
    from .errors import MachineError

    for folder in (_PACKAGE, os.path.normpath(os.path.join(_PACKAGE, "..", "..", "lib"))):
        if os.path.exists(os.path.join(folder, "libsectile.so")):
            return folder
    raise MachineError(f"libsectile.so is not beside the Python package ({_PACKAGE})")


def flags(option: str) -> str:
    """What ``sectile --cflags``, ``--libs``, ``--cmake-dir`` and ``--include-dir`` print.

    Raises:
        MachineError: this installation has no headers or CMake files.
    """
    from shlex import quote

    if option == "--cmake-dir":
        return get_cmake_dir()
    if option == "--include-dir":
        return get_include()
    if option == "--cflags":
        return f"-std=c++20 -I{quote(get_include())}"
    library = quote(_library_dir())
    return f"-L{library} -lsectile -Wl,-rpath,{library} -Wl,--build-id"


OPTIONS = ("--cflags", "--libs", "--cmake-dir", "--include-dir")
