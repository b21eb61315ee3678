from sectile.as_triton import adopt, missing
from sectile.runtime.autotuner import Autotuner, Config, Heuristics, autotune, heuristics

from .. import knobs
from .errors import AutotunerError, OutOfResources, PTXASError
from .jit import JITFunction, KernelInterface

adopt(__name__, (Autotuner, Config, Heuristics, autotune, heuristics))

__getattr__ = missing(__name__)
