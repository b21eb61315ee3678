"""``tl.extra``: what goes beyond the core language. `libdevice` works on every back end."""

from . import libdevice

__all__ = ["libdevice"]
