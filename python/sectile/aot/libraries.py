"""``sectile aot --static`` and ``--shared``: an archive inside an object file, or a library of its own."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile

from .._cpp import _library_dir, get_include
from ..errors import MachineError

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .building import Built
    from .headers import Names


#: As many as sectile_ffi_call of sectile/tvm_ffi.h takes.
MOST_FFI_PARAMETERS = 256


def _compiler() -> list[str]:
    given = os.environ.get("CC", "")
    if given:
        # A program, whose path may have blanks, or one with options.
        return [given] if shutil.which(given) else shlex.split(given)
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    raise MachineError(
        "--static and --shared need a C compiler, and there is none\n"
        "  help: install gcc or clang, or name one in CC; an archive (--archive) needs none"
    )


def _run(command: Sequence[str], folder: str) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    except OSError as error:
        raise MachineError(f"{command[0]} cannot be run: {error.strerror}") from None
    if done.returncode:
        raise MachineError(f"{shlex.join(command)} failed:\n{done.stderr.strip()}")


def _assembly(names: Names, archive: bytes) -> str:
    """The archive's bytes between two symbols that only the function beside them sees: a program that was not compiled for
    libraries copies data of theirs that it names, and would copy the two apart. Names of files are relative: no folder gets
    into the result."""
    lines, function = (
        ['.section .rodata.sectile_archive,"a",@progbits', ".balign 16"],
        names.data(archive),
    )
    for name, content in (("bytes", '.incbin "archive.sectile"'), ("end", ".byte 0")):
        symbol = f"{function}_{name}"
        lines += [f".globl {symbol}", f".hidden {symbol}", f"{symbol}:", content]
    return "\n".join([*lines, '.section .note.GNU-stack,"",@progbits', ""])


def _data(names: Names, archive: bytes) -> str:
    """C code with the function that gives the archive."""
    function = names.data(archive)
    return f"""#include <stddef.h>
extern const unsigned char {function}_bytes[] __attribute__((visibility("hidden")));
extern const unsigned char {function}_end[] __attribute__((visibility("hidden")));
__attribute__((visibility("default"))) const void *{function}(size_t *size) {{
  *size = (size_t)({function}_end - {function}_bytes);
  return {function}_bytes;
}}
"""


def _write(folder: str, name: str, content: str | bytes) -> None:
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def _read(folder: str, name: str) -> bytes:
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def make_static(names: Names, archive: bytes) -> bytes:
    """Returns the content of ``PREFIX.a``, a library with the archive inside.

    Raises:
        MachineError: there is no C compiler or no ``ar``, or one of them fails.
    """
    compiler = _compiler()
    if not shutil.which("ar"):
        raise MachineError("--static needs ar, which is not on the PATH\n  help: install binutils")
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, "archive.sectile", archive)
        _write(folder, "archive.s", _assembly(names, archive))
        _write(folder, "data.c", _data(names, archive))
        objects = [f"{names.file}-archive.o", f"{names.file}-data.o"]
        _run([*compiler, "-c", "archive.s", "-o", objects[0]], folder)
        _run([*compiler, "-O1", "-fPIC", "-c", "data.c", "-o", objects[1]], folder)
        # D: no times, no owners.
        _run(["ar", "rcsD", "library.a", *objects], folder)
        return _read(folder, "library.a")


def _entry_points(names: Names, built: Built) -> str:
    """C code with a function of TVM's FFI for each kernel whose grid the archive knows."""
    from .headers import argument_type, functions_of

    functions = [
        f
        for f in functions_of(built)
        if f.has_grid and not f.problem and len(f.parameters) <= MOST_FFI_PARAMETERS
    ]
    lines = [
        "#include <sectile/tvm_ffi.h>",
        "#include <pthread.h>",
        f'#include "{names.file}.h"',
        "",
        f"static {names.stem}_kernels kernels;",
        "static sectile_status opened;",
        "static char problem[1024];",
        "static pthread_once_t once = PTHREAD_ONCE_INIT;",
        "static void open_kernels(void) {",
        f"  opened = {names.stem}_open_linked(&kernels);",
        "  strncpy(problem, sectile_error_text(), sizeof problem - 1);",
        "}",
        "",
    ]
    for function in functions:
        parameters = function.parameters
        forms = [
            {"fixed": "SECTILE_FFI_FIXED", "descriptor": "SECTILE_FFI_DESCRIBED"}.get(
                p.form, "SECTILE_FFI_PASSED"
            )
            for p in parameters
        ]
        fixed = [argument_type(p) for p in parameters]
        lines += [
            f'__attribute__((visibility("default"))) int __tvm_ffi_{function.kernel}(',
            "    void *self, const sectile_ffi_value *values, int32_t count, sectile_ffi_value *result) {",
            f"  static const unsigned char forms[] = {{{', '.join(forms) or '0'}}};",
            f"  const sectile_arg fixed[] = {{{', '.join(fixed) or 'sectile_left_out()'}}};",
            "  (void)self;",
            "  pthread_once(&once, open_kernels);",
            "  if (opened != SECTILE_OK)",
            '    return sectile_ffi_fail("RuntimeError", problem);',
            f"  return sectile_ffi_call(kernels.{function.name}, forms, fixed, {len(parameters)}, values, count, result);",
            "}",
            "",
        ]
    return "\n".join(lines)


def make_shared(names: Names, built: Built, header: bytes) -> bytes:
    """Returns the content of ``libNAME.so``, which lies beside the other files.

    It has the archive, the functions of `header`, and a function ``__tvm_ffi_KERNEL`` for each kernel that was exported with ``grid=``. It
    is linked with libsectile.so, which is looked for where it is now and beside the library.

    Raises:
        MachineError: there is no C compiler, or it fails.
    """
    compiler = _compiler()
    library = _library_dir()
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, "archive.sectile", built.archive)
        _write(folder, "archive.s", _assembly(names, built.archive))
        _write(folder, "data.c", _data(names, built.archive))
        _write(folder, "entries.c", _entry_points(names, built))
        _write(folder, f"{names.file}.h", header)
        _run(
            [*compiler, "-std=gnu99", "-O1", "-fPIC", "-fvisibility=hidden", "-shared", "-I.", f"-I{get_include()}",
             "entries.c", "data.c", "archive.s", "-o", "library.so", f"-L{library}", "-lsectile", f"-Wl,-rpath,$ORIGIN:{library}",
             "-lpthread"],
            folder,
        )  # fmt: skip
        return _read(folder, "library.so")
