"""What there is to compile for, and to run on."""

from dataclasses import dataclass

from sectile.as_triton import missing

from .amd.compiler import HIPBackend as _HIPBackend
from .amd.driver import HIPDriver as _HIPDriver
from .compiler import BaseBackend, CPUBackend
from .driver import CpuDriver, DriverBase
from .nvidia.compiler import CUDABackend as _CUDABackend
from .nvidia.driver import CudaDriver as _CudaDriver


@dataclass(frozen=True)
class Backend:
    compiler: type
    driver: type


backends = {
    "nvidia": Backend(_CUDABackend, _CudaDriver),
    "amd": Backend(_HIPBackend, _HIPDriver),
    "cpu": Backend(CPUBackend, CpuDriver),
}

__getattr__ = missing(__name__)
