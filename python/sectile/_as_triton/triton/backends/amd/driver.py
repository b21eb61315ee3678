from sectile.as_triton import missing

from ..driver import GPUDriver


class HIPDriver(GPUDriver):
    backend = "hip"


__getattr__ = missing(__name__)
