from sectile.as_triton import missing

from . import disasm, tensor_descriptor

__getattr__ = missing(__name__)
