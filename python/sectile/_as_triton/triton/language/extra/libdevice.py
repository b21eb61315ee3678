"""As `sectile.language.extra.libdevice`, whose functions are made when they are first read."""

from sectile.as_triton import adopt
from sectile.language.extra import libdevice as _libdevice

__all__ = list(_libdevice.__all__)


def __getattr__(name):
    function = getattr(_libdevice, name)
    adopt(__name__, (function,))
    globals()[name] = function
    return function


def __dir__():
    return list(__all__)
