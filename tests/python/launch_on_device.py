"""`kernel[grid](...)` of a test, with its arrays on another device.

    with launches_on("cuda"):
        kernel[grid](x, out, n)    # x and out are NumPy arrays or torch CPU tensors

Each launch copies its arrays to the device, with their alignment, strides and overlaps, waits, and copies back
what they hold then. So a test is written once, for arrays of the host, and compares on the host.

"moved" is the CPU with arrays copied in the same way: it tests this file where there is no GPU.
"""

import contextlib
import ctypes
import os
import sys

import numpy as np
import pytest

import sectile as st
import sectile._native as native


class Region:
    """Host bytes [begin, end), and a copy of them on the device at the same place modulo 256."""

    ALIGNMENT = 256

    def __init__(self, begin, end, torch, device):
        self.begin, self.end = begin, end
        size = end - begin
        self.host = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(begin))
        memory = torch.empty(size + 2 * self.ALIGNMENT, dtype=torch.uint8, device=device)
        lead = (begin - memory.data_ptr()) % self.ALIGNMENT
        self.memory = memory[lead : lead + size]
        self.memory.copy_(torch.from_numpy(self.host.copy()))

    def tensor(self, address, dtype, shape, strides):
        """What lies at a host address, in elements; one element where torch has no such view."""
        item = dtype.itemsize
        start = address - self.begin
        first = start % item
        typed = self.memory[first : first + (self.end - self.begin - first) // item * item]
        typed = typed.view(dtype)
        if any(stride < 0 for stride in strides):  # kernels know strides from their arguments
            shape, strides = (1,), (1,)
        return typed.as_strided(shape, strides, typed.storage_offset() + start // item)

    def copy_back(self):
        self.host[:] = self.memory.cpu().numpy()


def leaves(values):
    """The arguments, and in their place the items of those that are tuples."""
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from leaves(value)
        else:
            yield value


def map_items(function, values):
    """As tuple(map(...)), of a named tuple one of its class."""
    items = [function(value) for value in values]
    return values._make(items) if hasattr(values, "_make") else type(values)(items)


class LaunchOnDevice:
    """What `kernel[grid]` is replaced by."""

    def __init__(self, launch, torch, device):
        self.launch, self.torch, self.device = launch, torch, device

    def __call__(self, *arguments, **keywords):
        if "arch" in keywords:
            pytest.skip("arch= is an option of the CPU")
        values = list(leaves((*arguments, *keywords.values())))
        arrays = [self.array_of(v) for v in values if self.is_array(self.array_of(v))]
        regions = self.regions([a for a in arrays if 0 not in a.shape])
        moved = [self.move(a, regions) for a in arguments]
        kernel = self.launch(*moved, **{k: self.move(v, regions) for k, v in keywords.items()})
        self.wait()
        for region in regions:
            region.copy_back()
        return kernel

    def wait(self):
        if self.device == "cpu":
            return
        try:
            self.torch.cuda.synchronize()
        except RuntimeError as error:
            # The context is lost, and with it every later test of this process. Under pytest-xdist
            # a new process goes on.
            print(f"CUDA context lost: {error}", file=sys.stderr, flush=True)
            if "PYTEST_XDIST_WORKER" in os.environ:
                os._exit(1)
            raise

    @staticmethod
    def array_of(value):
        return value.base if isinstance(value, st.TensorWrapper) else value

    def is_array(self, value):
        if isinstance(value, np.ndarray):
            return value.flags.writeable  # the others are for the tests of read-only arrays
        return isinstance(value, self.torch.Tensor) and value.device.type == "cpu"

    def as_numpy(self, array):
        if isinstance(array, np.ndarray):
            return array
        integer = getattr(self.torch, f"int{8 * array.element_size()}")
        return array.detach().view(integer).numpy()

    def regions(self, arrays):
        bounds = sorted(np.lib.array_utils.byte_bounds(self.as_numpy(a)) for a in arrays)
        merged = []
        for begin, end in bounds:
            if merged and begin < merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([begin, end])
        return [Region(begin, end, self.torch, self.device) for begin, end in merged]

    def move(self, value, regions):
        if isinstance(value, (tuple, list)):
            return map_items(lambda item: self.move(item, regions), value)
        if isinstance(value, st.TensorWrapper):
            return st.reinterpret(self.move(value.base, regions), value.dtype)
        if not self.is_array(value):
            return value
        array = self.as_numpy(value)
        dtype = value.dtype if array is not value else getattr(self.torch, value.dtype.name)
        address = array.__array_interface__["data"][0]
        strides = [stride // array.itemsize for stride in array.strides]
        for region in regions:
            if array.size and region.begin <= address < region.end:
                return region.tensor(address, dtype, array.shape, strides)
        return self.torch.empty(array.shape, dtype=dtype, device=self.device)


@contextlib.contextmanager
def launches_on(device):
    """Within, `kernel[grid]` of every `st.jit` function runs on that device; "cpu" changes nothing."""
    if device == "cpu":
        yield
        return
    if device.startswith("hip:"):
        from launch_in_interpreter import launches_in

        with launches_in(device.removeprefix("hip:")):
            yield
        return
    import torch

    native = st.JITFunction.__getitem__
    place = "cpu" if device == "moved" else device
    st.JITFunction.__getitem__ = lambda self, grid: LaunchOnDevice(native(self, grid), torch, place)
    try:
        yield
    finally:
        st.JITFunction.__getitem__ = native


def why_not(device):
    """Why launches cannot be on that device; empty when they can."""
    if device == "cpu":
        return ""
    if device.startswith("hip:"):
        from launch_in_interpreter import why_not_in

        return why_not_in(device.removeprefix("hip:"))
    if device == "cuda":
        devices, reason = native.gpu_devices()
        if not devices:
            return reason
    try:
        import torch
    except ImportError:
        return "torch is not installed, which arrays on other devices are made with"
    if device == "cuda" and not torch.cuda.is_available():
        return "torch sees no GPU: torch.cuda.is_available() is False"
    return ""
