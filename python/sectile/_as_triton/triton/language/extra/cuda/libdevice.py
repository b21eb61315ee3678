"""``tl.extra.cuda.libdevice`` is ``tl.extra.libdevice``."""

import sys

from .. import libdevice

sys.modules[__name__] = libdevice
