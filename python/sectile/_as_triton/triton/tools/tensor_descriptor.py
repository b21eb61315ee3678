from sectile import TensorDescriptor
from sectile.as_triton import adopt, missing

from .._utils import validate_block_shape

adopt(__name__, (TensorDescriptor,))

__getattr__ = missing(__name__)
