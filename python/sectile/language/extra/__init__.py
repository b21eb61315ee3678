"""``tl.extra``: what goes beyond the core language. `libdevice` works on every back end."""

from . import cuda, libdevice

__all__ = ["cuda", "libdevice"]
