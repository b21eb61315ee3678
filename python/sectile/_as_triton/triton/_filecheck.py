"""FileCheck on the texts of Triton's MLIR, which Triton's own tests ask for. There is no such text here: the names can be
imported, so that the other tests of a file run, and what would look for a text is an error that says so."""

import functools

from sectile.as_triton import SEE_GUIDE, missing

from .backends.compiler import GPUTarget

stub_target = GPUTarget("cuda", 100, 32)


class MatchError(ValueError):
    """A text without what was looked for; nothing here raises it."""

    def __init__(self, message, module_str):
        super().__init__(message)
        self.module_str = module_str

    def __str__(self):
        return f"{super().__str__()}\n{self.module_str}"


def _refuse(name):
    raise NotImplementedError(
        f"triton._filecheck.{name}: there is no text of Triton's MLIR to look into; the stages of a kernel are in "
        f'.asm of what compile returns: "tile", "llvm", "ptx"\n{SEE_GUIDE}'
    )


def run_parser(kernel_fn, args=(), kwargs={}, target=stub_target):
    """Would return the kernel as a module of Triton's MLIR: NotImplementedError."""
    _refuse("run_parser")


def run_filecheck(name, module_str, check_template):
    """Would compare a text of Triton's MLIR with its description: NotImplementedError."""
    _refuse("run_filecheck")


def run_filecheck_test(kernel_fn):
    """Would compare a kernel with the description in its source: NotImplementedError."""
    _refuse("run_filecheck_test")


def filecheck_test(fn):
    """Makes a kernel a test, which is a NotImplementedError when it runs."""

    @functools.wraps(fn)
    def test():
        run_filecheck_test(fn)

    return test


__getattr__ = missing(__name__)
