"""That the suite runs on a GPU where there is one, and what carries its arrays there."""

import numpy as np
import pytest
from launch_on_device import LaunchOnDevice, TorchDevice, launches_on, why_not
from target_check import assemble, find_ptxas

import sectile as st
import sectile.language as tl


@st.jit
def double(x, out, stride, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, 2 * tl.load(x + i * stride))


def test_cuda_is_among_the_devices():
    if reason := why_not("cuda"):
        pytest.skip(f"no test runs on a GPU: {reason}")


def test_moved_arrays_keep_alignment_strides_and_overlap():
    pytest.importorskip("torch")
    memory = np.arange(100, dtype=np.float32)
    seen = []
    views = [memory[3:40:2], memory[10:20], memory[::-1], np.zeros((3, 5), np.int8)[:, 1:3]]
    LaunchOnDevice(lambda *arrays: seen.extend(arrays), TorchDevice("cpu"))(*views)
    for view, copy in zip(views, seen):
        assert view.ctypes.data % 256 == copy.data_ptr() % 256
    for view, copy in zip(views[:2] + views[3:], seen[:2] + seen[3:]):
        assert copy.numpy().tobytes() == view.tobytes() and copy.shape == view.shape
        assert copy.stride() == tuple(s // view.itemsize for s in view.strides)
    assert seen[1].data_ptr() - seen[0].data_ptr() == 28
    assert seen[1].data_ptr() != views[1].ctypes.data


def test_results_of_moved_arrays_come_back():
    torch = pytest.importorskip("torch")
    with launches_on("moved"):
        x, out = np.arange(20, dtype=np.float32), np.full(30, 7, np.float32)
        double[(1,)](x, out[10:20], 2, N=10)
        assert (out[10:20] == 4 * np.arange(10)).all() and (out[:10] == 7).all()
        half = torch.arange(8).bfloat16()
        double[(1,)](half, half, 1, N=8)
        assert half.tolist() == [2 * i for i in range(8)]


@pytest.mark.skipif(not find_ptxas(), reason="no ptxas on PATH, in CUDA_HOME or nvidia-cuda-nvcc")
def test_the_assembler_finds_errors():
    header = ".version 7.0\n.target sm_80\n.address_size 64\n"
    assert assemble(header + ".visible .entry f() { ret; }\n") == ("", 0)
    error, _ = assemble(header + ".visible .entry f() { mov.u32 %r1, 1; ret; }\n")
    assert "r1" in error
