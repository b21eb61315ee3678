"""Helpers of Triton's own tests, and of libraries' that took them over."""

import os
import re

import numpy as np
import pytest
import torch

import triton
import triton.language as tl
from triton import knobs
from triton.runtime.jit import TensorWrapper, reinterpret, type_canonicalisation_dict

int_dtypes = ["int8", "int16", "int32", "int64"]
uint_dtypes = ["uint8", "uint16", "uint32", "uint64"]
integral_dtypes = int_dtypes + uint_dtypes
float_dtypes = ["float16", "float32", "float64"]
float_dtypes_with_bfloat16 = [*float_dtypes, "bfloat16"]
dtypes = integral_dtypes + float_dtypes
dtypes_with_bfloat16 = [*dtypes, "bfloat16"]
torch_float8_dtypes = ["float8_e4m3fn", "float8_e5m2"]
torch_dtypes = ["bool", *int_dtypes, "uint8", *float_dtypes, "bfloat16"]
tma_dtypes = sorted({*dtypes_with_bfloat16} - {"int64", "uint64", "float64"})


def is_interpreter():
    return False  # TRITON_INTERPRET=1 changes nothing here


def get_current_target():
    return triton.runtime.driver.active.get_current_target()


def _is(backend, *archs):
    target = get_current_target()
    return target.backend == backend and (
        not archs or any(each in str(target.arch) for each in archs)
    )


def is_cuda():
    return _is("cuda")


def _capability():
    return torch.cuda.get_device_capability()[0] if is_cuda() else 0


def is_ampere_or_newer():
    return _capability() >= 8


def is_hopper_or_newer():
    return _capability() >= 9


def is_hopper():
    return _capability() == 9


def is_blackwell():
    return _capability() == 10


def is_sm12x():
    return _capability() == 12


def is_hip():
    return _is("hip")


def is_hip_cdna2():
    return _is("hip", "gfx90a")


def is_hip_cdna3():
    return _is("hip", "gfx942")


def is_hip_cdna4():
    return _is("hip", "gfx950")


def is_hip_cdna():
    return _is("hip", "gfx90a", "gfx942", "gfx950")


def is_hip_gfx11():
    return _is("hip", "gfx11")


def is_hip_gfx12():
    return _is("hip", "gfx12")


def is_hip_gfx1250():
    return _is("hip", "gfx1250")


def is_xpu():
    return False


def get_hip_lds_size():
    return 163840 if is_hip_cdna4() else 65536


def get_arch():
    return str(get_current_target().arch)


def numpy_random(shape, dtype_str, rs=None, low=None, high=None):
    """Random numbers of a dtype: all integers but 0, normal floats; float8 as bytes from 20 to 39."""
    shape = (shape,) if isinstance(shape, int) else shape
    random = rs or np.random.RandomState(seed=17)
    if dtype_str in integral_dtypes:
        limits = np.iinfo(dtype_str)
        least = limits.min if low is None else max(low, limits.min)
        most = limits.max if high is None else min(high, limits.max)
        numbers = random.randint(least, most, shape, dtype=dtype_str)
        numbers[numbers == 0] = 1  # divisors
        return numbers
    if dtype_str and "float8" in dtype_str:
        return random.randint(20, 40, shape, dtype=np.int8)
    if dtype_str in float_dtypes:
        return random.normal(0, 1, shape).astype(dtype_str)
    if dtype_str == "bfloat16":
        bits = random.normal(0, 1, shape).astype("float32").view("uint32")
        return (bits & np.uint32(0xFFFF0000)).view("float32")
    if dtype_str in ("bool", "int1", "bool_"):
        return random.normal(0, 1, shape) > 0.0
    raise RuntimeError(f"Unknown dtype {dtype_str}")


def to_triton(x, device, dst_type=None):
    """A NumPy array on a device, as `dst_type` where torch has no such dtype or NumPy has none."""
    kind = x.dtype.name
    if kind in uint_dtypes:
        signed = torch.tensor(x.astype(kind.removeprefix("u")), device=device)
        return reinterpret(signed, getattr(tl, kind))
    tensor = torch.tensor(x, device=device)
    if dst_type and "float8" in dst_type:
        return reinterpret(tensor, getattr(tl, dst_type))
    return tensor.bfloat16() if kind == "float32" and dst_type == "bfloat16" else tensor


def str_to_triton_dtype(x):
    return tl.str_to_ty(type_canonicalisation_dict[x], None)


def torch_dtype_name(dtype):
    if isinstance(dtype, tl.dtype):
        return dtype.name
    if isinstance(dtype, torch.dtype):
        return re.match(r"torch\.(\w+)$", str(dtype)).group(1)
    raise TypeError(f"not a triton or torch dtype: {type(dtype)}")


def to_numpy(x):
    if isinstance(x, TensorWrapper):
        return x.base.cpu().numpy().astype(torch_dtype_name(x.dtype))
    if isinstance(x, torch.Tensor):
        return (x.cpu().float() if x.dtype is torch.bfloat16 else x.cpu()).numpy()
    raise ValueError(f"Not a triton-compatible tensor: {x}")


def supports_tma(byval_only=False):
    return is_hopper_or_newer()


def supports_ws():
    return is_hopper_or_newer()


def tma_skip_msg(byval_only=False):
    return "needs the copy engine of an NVIDIA Hopper GPU, or a newer one"


requires_tma = pytest.mark.skipif(not supports_tma(), reason=tma_skip_msg())


def default_alloc_fn(size, align, _):
    return torch.empty(size, dtype=torch.int8, device="cuda")


def unwrap_tensor(t):
    return t.base if isinstance(t, TensorWrapper) else t


def _fresh_knobs_impl(skipped_attr=None):
    """(function that gives knobs as without an environment, function that puts all back)."""
    groups = {
        name: group
        for name, group in vars(knobs).items()
        if isinstance(group, knobs.base_knobs) and name not in (skipped_attr or ())
    }
    keys = {knob.key for group in groups.values() for knob in group.knob_descriptors.values()}
    before = {key: os.environ.get(key) for key in keys}
    propagated = knobs.propagate_env

    def fresh():
        for name, group in groups.items():
            setattr(knobs, name, group.copy().reset())
        for key in keys:
            os.environ.pop(key, None)
        knobs.propagate_env = True
        return knobs

    def reset():
        for name, group in groups.items():
            setattr(knobs, name, group)
        for key, text in before.items():
            if text is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = text
        knobs.propagate_env = propagated
        knobs.follow()

    return fresh, reset
