"""Options of the suite.

    pytest tests/python/language tests/python/differential --device=cuda

runs the same tests on a GPU: every launch copies its NumPy arrays and torch CPU tensors there, with their
alignment, strides and overlaps, and what they hold afterwards back.
"""

import ctypes

import numpy as np
import pytest

import sectile as st


def pytest_addoption(parser):
    parser.addoption(
        "--device", default="cpu", choices=["cpu", "cuda"], help="where launches of the tests run"
    )


class Region:
    """Host bytes [begin, end), and a copy of them on the GPU at the same place modulo 256."""

    ALIGNMENT = 256

    def __init__(self, begin, end, torch):
        self.begin, self.end, self.torch = begin, end, torch
        self.lead = begin % self.ALIGNMENT
        host = torch.from_numpy(self.host_bytes().copy())
        self.memory = torch.empty(self.lead + len(host), dtype=torch.uint8, device="cuda")
        self.memory[self.lead :] = host.cuda()

    def host_bytes(self):
        size = self.end - self.begin
        return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(self.begin))

    def tensor(self, address, element, dtype):
        """One element of `dtype` at a host address: kernels know the rest from their arguments."""
        start = self.lead + address - self.begin
        return self.memory[start : start + element].view(dtype)

    def copy_back(self):
        self.host_bytes()[:] = self.memory[self.lead :].cpu().numpy()


def torch_dtype(torch, dtype):
    names = {"bool": "bool", "float8_e4m3fn": "float8_e4m3fn", "float8_e5m2": "float8_e5m2"}
    return getattr(torch, names.get(dtype.name, dtype.name))


class LaunchOnGpu:
    """kernel[grid] with its arrays on the GPU."""

    def __init__(self, launch, torch):
        self.launch, self.torch = launch, torch

    def __call__(self, *arguments, **keywords):
        if "arch" in keywords or "check" in keywords:
            pytest.skip("an option of the CPU")
        given = [a for a in (*arguments, *keywords.values()) if self.is_array(a) and a.size != 0]
        regions = self.regions(given)
        moved = [self.move(a, regions) for a in arguments]
        kernel = self.launch(*moved, **{k: self.move(v, regions) for k, v in keywords.items()})
        self.torch.cuda.synchronize()
        for region in regions:
            region.copy_back()
        return kernel

    def is_array(self, value):
        return isinstance(value, (np.ndarray, self.torch.Tensor))

    def as_numpy(self, array):
        if isinstance(array, np.ndarray):
            return array
        return (
            array.view(self.torch.uint8).numpy()
            if array.element_size() == 1
            else (array.view(getattr(self.torch, f"int{8 * array.element_size()}")).numpy())
        )

    def regions(self, arrays):
        bounds = sorted(np.lib.array_utils.byte_bounds(self.as_numpy(a)) for a in arrays)
        merged = []
        for begin, end in bounds:
            if merged and begin < merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([begin, end])
        return [Region(begin, end, self.torch) for begin, end in merged]

    def move(self, value, regions):
        if not self.is_array(value):
            return value
        array = self.as_numpy(value)
        dtype = value.dtype if array is not value else torch_dtype(self.torch, value.dtype)
        address = array.__array_interface__["data"][0]
        for region in regions:
            if region.begin <= address < region.end:
                return region.tensor(address, array.itemsize, dtype)
        return self.torch.empty(0, dtype=dtype, device="cuda")


@pytest.fixture(autouse=True, scope="session")
def launches(request):
    if request.config.getoption("--device") == "cpu":
        yield
        return
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no usable NVIDIA GPU: torch.cuda.is_available() is False")
    native = st.JITFunction.__getitem__
    st.JITFunction.__getitem__ = lambda self, grid: LaunchOnGpu(native(self, grid), torch)
    yield
    st.JITFunction.__getitem__ = native
