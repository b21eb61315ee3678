"""What programs written for Triton do on a GPU with compiled kernels, sources, hooks and caches."""

import pytest
from launch_on_device import why_not

import sectile as st
import sectile.language as tl
from sectile.compiler import ASTSource
from sectile.runtime.jit import get_device_key

pytestmark = [
    pytest.mark.host,
    pytest.mark.skipif(bool(why_not("cuda")), reason=f"needs a GPU: {why_not('cuda')}"),
]


def make():
    @st.jit
    def kernel(x, out, n, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, mask=i < n) * FACTOR, mask=i < n)

    return kernel


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def arrays(torch):
    x = torch.randn(1001, device="cuda")
    return x, torch.zeros_like(x)


def test_compiled_kernels_are_launched(arrays, torch):
    x, out = arrays
    kernel = make()
    compiled = kernel.warmup(x, out, 1001, FACTOR=3, BLOCK=128, num_warps=8, grid=(1,))
    compiled._init_handles()
    assert compiled.n_regs > 0 and compiled.metadata.num_warps == 8
    compiled[(8, 1, 1)](x, out, 1001, 3, 128)
    assert torch.equal(out, x * 3) and len(kernel.variants()) == 1
    out.zero_()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    compiled[(8,)](x, out, 1001, stream=stream.cuda_stream)
    stream.synchronize()
    assert torch.equal(out, x * 3) and len(kernel.variants()) == 1
    key = get_device_key()
    assert key == f"cuda:{torch.cuda.current_device()}" and list(kernel.device_caches) == [key]
    assert list(kernel.device_caches[key][0].values()) == [compiled]


def test_sources_are_compiled_for_the_gpu_at_hand(arrays, torch):
    x, out = arrays
    kinds = {"x": "*fp32:16", "out": "*fp32:16", "n": "i32"}
    kernel = make()
    compiled = st.compile(ASTSource(kernel, kinds, {"FACTOR": 5, "BLOCK": 128}))
    assert compiled.metadata.backend == "cuda" and "ptx" in compiled.asm
    target = st.runtime.driver.active.get_current_target()
    assert target.backend == "cuda"
    again = st.compile(compiled.src, target, {"num_warps": 4})
    assert again.hash == compiled.hash
    compiled[(8,)](x, out, 1001)
    assert torch.equal(out, x * 5)


def test_hooks_are_told(arrays):
    x, out = arrays
    events = []
    with st.knobs.runtime.scope():
        st.knobs.runtime.jit_post_compile_hook = lambda **event: events.append(event)
        kernel = make()
        for _ in range(2):
            kernel[(8,)](x, out, 1001, 2, 128, num_warps=2)
    assert len(events) == 1 and events[0]["compile"]["num_warps"] == 2
    assert events[0]["key"] in kernel.device_caches[get_device_key()][0]


def test_what_the_gpu_could_do(torch):
    assert 100 < st.testing.get_dram_gbps() < 20000
    clock = st.testing.nvsmi(["clocks.max.sm"])[0] * 1000
    tensor_cores = st.testing.get_max_tensorcore_tflops(torch.float16, clock)
    assert 10 < st.testing.get_max_simd_tflops(torch.float32, clock) < tensor_cores < 10000


def test_libdevice_is_not_needed(arrays, torch):
    x, out = arrays
    make()[(8,)](x, out, 1001, 2, 128, extern_libs={"libdevice": "/no/such/file"}, waves_per_eu=2)
    assert torch.equal(out, x * 2)
