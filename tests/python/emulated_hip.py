"""An AMD GPU that is not there: the launch path of Sectile, with HIP's runtime over an interpreter.

    use("gfx942")                     # before the process asks for devices
    with launches_on("hip:gfx942"):   # launch_on_device.py
        kernel[grid](x, out, n)

The runtime is a library of the tests (tests/backends/amd/isa/EmulatedHip.cpp); all of it is emulated. What the
interpreter finds, an access outside the arrays, a race, a hazard, is a `sectile.MachineError`.
"""

import ctypes
import functools
import os
import pathlib

import numpy as np

import sectile as st
import sectile._native as native

CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")

LIBRARY = (
    pathlib.Path(st.__file__).parents[2]
    / "tests/backends/amd/isa/libsectile_emulated_hip.so"  # build/python/sectile
)


def environment(chips):
    """What gives a process emulated GPUs, and no others: "gfx942,gfx1100"."""
    return {
        "SECTILE_HIP": str(LIBRARY),
        "EMULATED_HIP_CHIPS": chips,
        "CUDA_VISIBLE_DEVICES": "",  # NVIDIA's come first
    }


def use(chip):
    """Gives this process, and those it starts, one emulated GPU. To be called before it asks for devices."""
    os.environ.update(environment(chip))


def why_not(chip):
    """Why launches cannot be on that chip; empty when they can."""
    if chip not in CHIPS:
        return f"no chip {chip}: one of {', '.join(CHIPS)}"
    if not LIBRARY.exists():
        return f"{LIBRARY} is not built: ninja sectile_emulated_hip"
    devices, reason = native.gpu_devices("hip")
    if [arch for _, arch in devices] != [chip]:
        return f"HIP's runtime is not the emulated one with a {chip}: {reason or devices}"
    used = native.gpu_backend()
    return "" if used == "hip" else f"this machine's own GPUs come first ({used})"


@functools.cache
def _library():
    library = ctypes.CDLL(LIBRARY)
    library.sectile_emulated_malloc.restype = ctypes.c_void_p
    library.sectile_emulated_malloc.argtypes = (ctypes.c_size_t, ctypes.c_size_t)
    library.hipFree.argtypes = (ctypes.c_void_p,)
    return library


class Memory:
    """Bytes of the emulated GPU. Kernels may touch these, and nothing around them.

    Args:
        size: in bytes.
        lead: its address modulo 256.
    """

    def __init__(self, size, lead=0):
        self.address = _library().sectile_emulated_malloc(size, lead)
        self.bytes = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(self.address))

    def release(self):
        del self.bytes
        _library().hipFree(self.address)


class Array:
    """What a launch takes for an array on the GPU: strides in elements, the dtype NumPy's or torch's."""

    device = "cuda:0"  # as torch calls AMD's GPUs, too

    def __init__(self, address, dtype, shape, strides):
        self.address, self.dtype, self.shape, self.strides = address, dtype, shape, strides

    def data_ptr(self):
        return self.address

    def stride(self):
        return tuple(self.strides)
