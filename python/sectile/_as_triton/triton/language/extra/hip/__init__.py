from sectile.as_triton import missing

from .. import libdevice
from . import libdevice as _same  # sys.modules gets the other name, too

__getattr__ = missing(__name__)
