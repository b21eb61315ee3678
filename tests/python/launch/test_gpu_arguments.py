"""Arguments on GPUs: what selects the back end, the device and the stream. No GPU is needed."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile import _native

pytestmark = pytest.mark.host


@contextlib.contextmanager
def open_program(text):
    """A file of `text`: kernels are read from their file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.py")
        with open(path, "w") as file:
            file.write(text)
        yield path


HAS_GPU = bool(_native.gpu_devices()[0])


@st.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


class GpuArray:
    """As a torch tensor on a GPU shows itself."""

    dtype = "float32"
    shape = (64,)

    def __init__(self, device):
        self.device = device

    def data_ptr(self):
        return 0x10000

    def stride(self):
        return (1,)


def test_all_arrays_must_be_on_one_device():
    host = np.zeros(64, np.float32)
    with pytest.raises(st.ArgumentError) as error:
        copy[(1,)](GpuArray("cuda:1"), host, 64, BLOCK=64)
    text = str(error.value)
    assert "argument 'out' is on the CPU, and 'x' on cuda:1" in text
    assert "move all arrays to one device" in text
    with pytest.raises(st.ArgumentError, match="'out' is on cuda:0, and 'x' on cuda:1"):
        copy[(1,)](GpuArray("cuda:1"), GpuArray("cuda"), 64, BLOCK=64)


def test_devices_without_a_back_end_are_named():
    with pytest.raises(st.ArgumentError, match="on device xpu:0, for which there is no back end"):
        copy[(1,)](GpuArray("xpu:0"), GpuArray("xpu:0"), 64, BLOCK=64)


@pytest.mark.parametrize("target", ["cdua", "cuda90", 90])
def test_wrong_target(target):
    with pytest.raises(st.ArgumentError, match="target is .*, not the name of a target"):
        st.compile(copy, {"x": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 64}, target=target)


def test_target_must_be_where_the_arrays_are():
    x, out = np.zeros(64, np.float32), np.zeros(64, np.float32)
    with pytest.raises(st.ArgumentError, match="target is cuda, and argument 'x' is on the CPU"):
        copy[(1,)](x, out, 64, BLOCK=64, target="cuda")
    with pytest.raises(st.ArgumentError, match="target is cpu, and argument 'x' is on cuda:0"):
        copy[(1,)](GpuArray("cuda:0"), GpuArray("cuda:0"), 64, BLOCK=64, target="cpu")


def test_wrong_stream():
    x, out = np.zeros(64, np.float32), np.zeros(64, np.float32)
    with pytest.raises(
        st.ArgumentError, match="stream is 'main', not a stream or the handle of one"
    ):
        copy[(1,)](x, out, 64, BLOCK=64, stream="main")


def test_streams_of_libraries_are_known():
    class Torch:
        cuda_stream = 0x10

    class Cupy:
        ptr = 0x20

    class Protocol:
        def __cuda_stream__(self):
            return (0, 0x30)

    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    for stream in (None, 7, Torch(), Cupy(), Protocol()):  # the CPU has none: nothing to do
        out[:] = 0
        copy[(1,)](x, out, 64, BLOCK=64, stream=stream)
        assert (out == x).all()


def test_the_active_device():
    from sectile.runtime import driver

    properties = driver.active.utils.get_device_properties(0)
    assert properties["multiprocessor_count"] >= 1 and "max_shared_mem" in properties
    target = driver.active.get_current_target()
    if HAS_GPU:
        assert target.backend == "cuda" and target.warp_size == 32 and target.arch >= 80
        assert properties["max_shared_mem"] > 48 << 10
    else:
        assert target.backend == "cpu" and target == driver.GPUTarget("cpu", target.arch, 32)
        with pytest.raises(st.MachineError, match="there is no NVIDIA GPU to run on: "):
            _native.device_properties(0)
        assert st.recent_launches() == []


def test_do_bench_uses_the_hosts_clock_on_the_cpu():
    assert st.testing.do_bench(lambda: time.sleep(0.002), 4, 20, return_mode="min") >= 1.9
    assert _native.launch_counts() == {} or HAS_GPU


def test_compile_for_the_cpu_by_target():
    kernel = st.compile(
        copy, {"x": "*fp32:16", "out": "*fp32", "n": "i32"}, {"BLOCK": 64}, target="cpu"
    )
    assert kernel.metadata.backend == "cpu" and kernel.n_regs == 1


def test_compile_ahead_of_time():
    try:
        kernel = st.compile(
            copy,
            {"x": "*fp32:16", "out": "*fp32:16", "n": "i32"},
            {"BLOCK": 1024},
            target="cuda:90",
            num_warps=8,
        )
    except st.CompilationError as error:
        if "unknown name 'cuda'" not in str(error):
            raise
        pytest.skip("this build generates no code for GPUs")
    assert kernel.metadata.target == "nvptx64:sm_90a"
    assert ".target sm_90a" in kernel.asm["ptx"] and ".entry copy" in kernel.asm["ptx"]
    assert kernel.metadata.threads == 256


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU")
def test_launch_without_a_gpu():
    with pytest.raises(st.MachineError, match="there is no NVIDIA GPU to run on"):
        copy[(1,)](GpuArray("cuda:0"), GpuArray("cuda:0"), 64, BLOCK=64)


@pytest.mark.skipif(not HAS_GPU, reason=_native.gpu_devices()[1] or "no GPU")
def test_launches_follow_torchs_device_and_stream():
    torch = pytest.importorskip("torch")
    x = torch.randn(1000, device="cuda")
    out = torch.zeros_like(x)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        x.mul_(2)
        kernel = copy[(4,)](x, out, 1000, BLOCK=256)
    stream.synchronize()
    assert torch.equal(out, x)
    assert kernel.metadata.backend == "cuda" and kernel.n_regs > 0
    out.zero_()
    torch.cuda.synchronize()
    copy[(4,)](x, out, 1000, BLOCK=256, stream=stream.cuda_stream)
    stream.synchronize()
    assert torch.equal(out, x)


@pytest.mark.skipif(not HAS_GPU, reason=_native.gpu_devices()[1] or "no GPU")
def test_launch_on_cupys_arrays():
    cupy = pytest.importorskip("cupy")
    x = cupy.arange(1000, dtype="float32")
    out = cupy.zeros(1000, dtype="float32")
    copy[(4,)](x, out, 1000, BLOCK=256, num_warps=2)
    assert (out.get() == np.arange(1000)).all()


@pytest.mark.skipif(not HAS_GPU, reason=_native.gpu_devices()[1] or "no GPU")
def test_launch_on_jaxs_arrays():
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    x = jax.numpy.arange(1000, dtype="float32")
    out = torch.zeros(1000, device="cuda")
    copy[(4,)](x, out, 1000, BLOCK=256, num_warps=2)
    assert (out.cpu().numpy() == np.arange(1000)).all()
    # JAX's arrays never change.
    with pytest.raises(st.ArgumentError, match="argument 'out' is read-only"):
        copy[(4,)](out, x, 1000, BLOCK=256)


@pytest.mark.skipif(not HAS_GPU, reason=_native.gpu_devices()[1] or "no GPU")
def test_times_and_latest_launches():
    torch = pytest.importorskip("torch")
    x = torch.randn(1 << 24, device="cuda")
    out = torch.empty_like(x)
    launch = lambda: copy[(1 << 14,)](x, out, x.numel(), BLOCK=1024)  # noqa: E731
    # 128 MiB cannot be moved faster; a launch alone would seem to take less.
    assert st.testing.do_bench(launch) > 0.01
    assert torch.equal(out, x)
    assert st.recent_launches()[0].startswith(
        f"copy[16384, 1, 1](x = 0x{x.data_ptr():016x}, out = "
    )
    with pytest.raises(st.ArgumentError, match="grid axis y has 65536 programs"):
        copy[(1, 65536)](x, out, 1, BLOCK=1024)


@pytest.mark.skipif(not HAS_GPU, reason=_native.gpu_devices()[1] or "no GPU")
def test_a_crash_names_the_latest_launches():
    program = """
import torch, sectile as st, sectile.language as tl
@st.jit
def crash(x, where, BLOCK: tl.constexpr):
    tl.store(x + where + tl.arange(0, BLOCK), 1.0)
x = torch.zeros(64, device="cuda")
crash[(1,)](x, 1 << 40, BLOCK=64)
try:
    torch.cuda.synchronize()
except RuntimeError:
    pass
try:
    crash[(2,)](x, 1 << 40, BLOCK=64)
except st.MachineError as error:
    print(error)
"""
    with open_program(program) as path:
        report = subprocess.run([sys.executable, path], capture_output=True, text=True).stdout
    assert "crash: launch: CUDA_ERROR_ILLEGAL_ADDRESS" in report
    assert "where = 1099511627776) on stream" in report
    assert "SECTILE_CHECK=bounds" in report
