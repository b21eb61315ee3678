from sectile.as_triton import adopt, missing
from sectile.language.extra import cuda as _cuda
from sectile.language.extra.cuda import *  # noqa: F403
from sectile.language.extra.cuda import (
    convert_custom_float8_sm70,
    convert_custom_float8_sm80,
    gdc_launch_dependents,
    gdc_wait,
    globaltimer,
    num_threads,
    num_warps,
    smid,
)

from .. import libdevice
from . import gdc, utils
from . import libdevice as _same  # sys.modules gets the other name, too

adopt(__name__, vars(_cuda).values())

__getattr__ = missing(__name__)
