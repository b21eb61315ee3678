from sectile.as_triton import missing

from ..compiler import BaseBackend, GPUTarget, Language


class HIPBackend(BaseBackend):
    backend = "hip"
    binary_ext = "hsaco"


__getattr__ = missing(__name__)
