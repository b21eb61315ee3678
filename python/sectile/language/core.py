"""The same names as `sectile.language`; kernels written as ``tl.core.load`` find them here."""

from . import *  # noqa: F403
from ._builtin import builtin as builtin
