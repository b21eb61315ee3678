from sectile import language as _language
from sectile.as_triton import missing
from sectile.language import *  # noqa: F403
from sectile.language import TRITON_MAX_TENSOR_NUMEL, random as _random  # noqa: F401
from sectile.language import tensor_descriptor, tuple_type

from . import core, extra, math, random, standard, target_info
from .core import must_use_result, tensor_descriptor_type

__all__ = [*_language.__all__, "core", "extra", "math", "random", "standard", "target_info"]

__getattr__ = missing(__name__)
