from sectile.language.target_info import *  # noqa: F403
from sectile.language.target_info import (
    cuda_capability_geq,
    current_target,
    is_cuda,
    is_hip,
    is_hip_cdna3,
    is_hip_cdna4,
)
