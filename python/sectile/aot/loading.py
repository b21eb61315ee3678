"""`load`: an archive's kernels, launched from Python. The compiler's library is never loaded."""

from __future__ import annotations

from .. import _native

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike
    from typing import Any

    from .._native import Grid


class ArchivedVariant:
    """One variant of an archived kernel.

    Attributes:
        signature: ``"x: *fp32:16, n: i32, BLOCK = 1024"``.
        options: what differs from the defaults: ``"num_warps=8"``.
        target: ``"cpu:x86-64-v3"``, ``"cuda:sm_80"``, ``"cuda:sm_90+ptx"``.
        registers, spilled_bytes: of a GPU's thread; -1 where that is not known.
        code_bytes: its size in the archive.
    """

    def __init__(self, *fields: Any) -> None:
        (
            self.signature,
            self.options,
            self.target,
            self.registers,
            self.spilled_bytes,
            self.code_bytes,
        ) = fields

    def __repr__(self) -> str:
        options = f", {self.options}" if self.options else ""
        return f"ArchivedVariant({self.signature!r}{options}, {self.target!r})"


class ArchivedKernel:
    """A kernel of an archive; ``kernel[grid](*arguments)`` launches it.

    What a launch leaves out is the parameter's default, or chosen as the export says. Options such as ``num_warps``
    cannot be set: the code is there already.

    Attributes:
        name: of the kernel.
        arg_names: names of the parameters.
        __doc__: the kernel's docstring.
    """

    def __init__(self, native: Any) -> None:
        self._native = native
        self.name: str = native.name
        self.__name__ = self.name
        self.__doc__ = native.documentation or None

    @property
    def arg_names(self) -> list[str]:
        return [name for name, *_ in self._native.parameters]

    def __getitem__(self, grid: Grid | None) -> Callable[..., None]:
        """``kernel[grid]``; a grid of None is the one of the export."""

        def launch(*arguments: Any, **named: Any) -> None:
            self._native.launch(grid, arguments, named)

        return launch

    def __call__(self, /, *arguments: Any, **named: Any) -> None:
        """Launches it on the grid of its export.

        Raises:
            ArgumentError: it was exported without ``grid=``; or no variant fits the arguments.
        """
        self._native.launch(None, arguments, named)

    def variants(self) -> list[ArchivedVariant]:
        """The variants in the archive, for all targets."""
        return [ArchivedVariant(*fields) for fields in self._native.variants]

    def variant_for(self, /, *arguments: Any, **named: Any) -> ArchivedVariant:
        """The variant that a launch with these arguments gets; its code is loaded.

        Raises:
            ArgumentError: no variant fits.
            MachineError: there is none for this device.
        """
        return ArchivedVariant(*self._native.variant_for(arguments, named))

    def __repr__(self) -> str:
        return f"<ArchivedKernel {self.name} of {len(self._native.variants)} variants>"


class Archive:
    """Kernels by name: ``archive.softmax``, ``archive["softmax"]``.

    Attributes:
        path: what messages call it.
    """

    def __init__(self, native: Any) -> None:
        self._native = native
        self.path: str = native.name
        self._kernels = {kernel.name: ArchivedKernel(kernel) for kernel in native.kernels}

    def __getitem__(self, name: str) -> ArchivedKernel:
        return self._kernels[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._kernels})

    if not TYPE_CHECKING:

        def __getattr__(self, name: str):
            kernels = self.__dict__.get("_kernels", {})
            if name in kernels:
                return kernels[name]
            from .._suggest import did_you_mean

            raise AttributeError(
                f"{self.__dict__.get('path', 'the archive')} has no kernel {name!r}"
                f"{did_you_mean(name, list(kernels))}"
            )

    def __repr__(self) -> str:
        return f"<Archive {self.path}: {', '.join(self._kernels)}>"


def load(archive: str | PathLike[str] | bytes) -> Archive:
    """Opens an archive that ``sectile aot`` made.

    Nothing is compiled, and code is loaded by the launch that needs it first.

    Args:
        archive: its path, or its bytes.

    Returns:
        An `Archive`: ``archive.softmax[grid](*arguments)``.

    Raises:
        MachineError: it cannot be read, is damaged, or is of another version.

    Example:
        @st.aot.export({"x": "*fp32:16", "factor": "fp32"}, grid=1)
        @st.jit
        def scale(x, factor):
            tl.store(x, tl.load(x) * factor)

        built = st.aot.build([st.aot.Export.of(scale)], ["cpu:x86-64-v2"])
        archive = st.aot.load(built.archive)
        x = np.ones(1, np.float32)
        archive.scale(x, 3.0)
        print(x)  # [3.]
    """
    if isinstance(archive, bytes):
        return Archive(_native.archive_of_memory(archive, "in memory"))
    import os

    return Archive(_native.open_archive(os.fspath(archive)))
