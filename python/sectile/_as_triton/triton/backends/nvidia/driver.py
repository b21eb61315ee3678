from sectile.as_triton import missing

from ..driver import GPUDriver


class CudaDriver(GPUDriver):
    backend = "cuda"


__getattr__ = missing(__name__)
