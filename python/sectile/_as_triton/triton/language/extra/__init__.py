from sectile.as_triton import missing

from . import libdevice
from . import cuda, hip

__getattr__ = missing(__name__)
