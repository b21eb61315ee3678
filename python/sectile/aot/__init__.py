"""Kernels that leave Python: archives of compiled code, for C, C++ and Python programs that compile nothing.

    # kernels.py
    @st.aot.export({"out": "*T:16", "x": "*T:16", "n": ["i32:16", "i32"], "BLOCK": 1024}, T=["fp32", "bf16"])
    @st.jit
    def scale(out, x, n, BLOCK: tl.constexpr): ...

    $ sectile aot kernels.py -o build/nn --target cuda:80,cuda:90,cpu:x86-64-v3
      → build/nn.sectile  build/nn.h  build/nn.hpp

    nn = st.aot.load("build/nn.sectile")          # Python; C and C++ programs include nn.h or nn.hpp
    nn.scale[(st.cdiv(n, 1024),)](out, x, n, BLOCK=1024)

Which variant a launch gets follows from its arguments as it does for the kernel itself; one that is not in the archive
is an error that names the argument.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from .building import build
    from .exports import Export, export
    from .loading import Archive, ArchivedKernel, ArchivedVariant, load

__all__ = ["Archive", "ArchivedKernel", "ArchivedVariant", "build", "Export", "export", "load"]

_FROM = {
    "building": ("build",),
    "exports": ("Export", "export"),
    "loading": ("Archive", "ArchivedKernel", "ArchivedVariant", "load"),
}
_HOME = {name: module for module, names in _FROM.items() for name in names}

if not TYPE_CHECKING:

    def __getattr__(name: str):
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
