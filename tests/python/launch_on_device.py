"""`kernel[grid](...)` of a test, with its arrays on another device.

    with launches_on("cuda"):
        kernel[grid](x, out, n)    # x and out are NumPy arrays or torch CPU tensors

Each launch copies its arrays to the device, with their alignment, strides and overlaps, waits, and copies back
what they hold then. So a test is written once, for arrays of the host, and compares on the host.

"hip:gfx942" is an AMD GPU in an interpreter (emulated_hip.py).
"moved" is the CPU with arrays copied in the same way: it tests this file where there is no GPU.
"""

import contextlib
import copy
import ctypes
import os
import sys

import emulated_hip
import numpy as np
import pytest

import sectile as st
import sectile._native as native


class Region:
    """Host bytes [begin, end), and a copy of them on the device at the same place modulo 256."""

    ALIGNMENT = 256

    def __init__(self, begin, end):
        self.begin, self.end = begin, end
        self.host = np.ctypeslib.as_array((ctypes.c_uint8 * (end - begin)).from_address(begin))


class TorchRegion(Region):
    def __init__(self, begin, end, torch, device):
        super().__init__(begin, end)
        size = end - begin
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


class TorchDevice:
    """The GPU "cuda" as torch reaches it, or the CPU."""

    def __init__(self, name):
        import torch

        self.torch, self.name = torch, name

    def region(self, begin, end):
        return TorchRegion(begin, end, self.torch, self.name)

    def empty(self, shape, dtype):
        return self.torch.empty(shape, dtype=dtype, device=self.name)

    def dtype_of(self, array):
        return (
            getattr(self.torch, array.dtype.name) if isinstance(array, np.ndarray) else array.dtype
        )

    def wait(self):
        if self.name == "cpu":
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


class EmulatedRegion(Region):
    def __init__(self, begin, end):
        super().__init__(begin, end)
        self.memory = emulated_hip.Memory(end - begin, begin % self.ALIGNMENT)
        self.memory.bytes[:] = self.host

    def tensor(self, address, dtype, shape, strides):
        return emulated_hip.Array(self.memory.address + address - self.begin, dtype, shape, strides)

    def copy_back(self):
        self.host[:] = self.memory.bytes
        self.memory.release()


class EmulatedDevice:
    """An AMD GPU in an interpreter. Its launches are over when they return."""

    def region(self, begin, end):
        return EmulatedRegion(begin, end)

    def empty(self, shape, dtype):
        return emulated_hip.Array(0, dtype, shape, (1,) * len(shape))

    def dtype_of(self, array):
        return array.dtype

    def wait(self):
        pass


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

    def __init__(self, launch, device):
        self.launch, self.device = launch, device

    def __call__(self, *arguments, **keywords):
        if "arch" in keywords:
            pytest.skip("arch= is an option of the CPU")
        values = list(leaves((*arguments, *keywords.values())))
        arrays = [self.array_of(v) for v in values if self.is_array(self.array_of(v))]
        regions = self.regions([a for a in arrays if 0 not in a.shape])
        try:
            moved = [self.move(a, regions) for a in arguments]
            kernel = self.launch(*moved, **{k: self.move(v, regions) for k, v in keywords.items()})
            self.device.wait()
        finally:
            for region in regions:
                region.copy_back()
        return kernel

    @staticmethod
    def array_of(value):
        while isinstance(value, (st.TensorWrapper, st.TensorDescriptor)):
            value = value.base
        return value

    def is_array(self, value):
        if isinstance(value, np.ndarray):
            return value.flags.writeable  # the others are for the tests of read-only arrays
        torch = sys.modules.get("torch")
        return torch is not None and isinstance(value, torch.Tensor) and value.device.type == "cpu"

    def as_numpy(self, array):
        if isinstance(array, np.ndarray):
            return array
        integer = getattr(sys.modules["torch"], f"int{8 * array.element_size()}")
        return array.detach().view(integer).numpy()

    def regions(self, arrays):
        bounds = sorted(np.lib.array_utils.byte_bounds(self.as_numpy(a)) for a in arrays)
        merged = []
        for begin, end in bounds:
            if merged and begin < merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([begin, end])
        return [self.device.region(begin, end) for begin, end in merged]

    def move(self, value, regions):
        if isinstance(value, (tuple, list)):
            return map_items(lambda item: self.move(item, regions), value)
        if isinstance(value, st.TensorWrapper):
            return st.reinterpret(self.move(value.base, regions), value.dtype)
        if isinstance(value, st.TensorDescriptor):
            moved = copy.copy(value)
            moved.base = self.move(value.base, regions)
            return moved
        if not self.is_array(value):
            return value
        array, dtype = self.as_numpy(value), self.device.dtype_of(value)
        address = array.__array_interface__["data"][0]
        strides = [stride // array.itemsize for stride in array.strides]
        for region in regions:
            if array.size and region.begin <= address < region.end:
                return region.tensor(address, dtype, array.shape, strides)
        return self.device.empty(array.shape, dtype)


def device_named(name):
    if name.startswith("hip:"):
        return EmulatedDevice()
    return TorchDevice("cpu" if name == "moved" else name)


@contextlib.contextmanager
def launches_on(name):
    """Within, `kernel[grid]` of every `st.jit` function runs on that device; "cpu" changes nothing."""
    if name == "cpu":
        yield
        return
    device = device_named(name)
    native_launch = st.JITFunction.__getitem__
    st.JITFunction.__getitem__ = lambda self, grid: LaunchOnDevice(
        native_launch(self, grid), device
    )
    try:
        yield
    finally:
        st.JITFunction.__getitem__ = native_launch


def why_not(device):
    """Why launches cannot be on that device; empty when they can."""
    if device == "cpu":
        return ""
    if device.startswith("hip:"):
        return emulated_hip.why_not(device.removeprefix("hip:"))
    if device == "cuda":
        devices, reason = native.gpu_devices("cuda")
        if not devices:
            return reason
    try:
        import torch
    except ImportError:
        return "torch is not installed, which arrays on other devices are made with"
    if device == "cuda" and not torch.cuda.is_available():
        return "torch sees no GPU: torch.cuda.is_available() is False"
    return ""
