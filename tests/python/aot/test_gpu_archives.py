"""Archives on a GPU: which of its targets a device gets, and that results are those of the kernel itself."""

import exported
import numpy as np
import pytest
from launch_on_device import why_not

import sectile as st
import sectile.language as tl

pytestmark = pytest.mark.skipif(bool(why_not("cuda")), reason=str(why_not("cuda")))


def capability():
    import torch

    return 10 * torch.cuda.get_device_capability()[0] + torch.cuda.get_device_capability()[1]


def on_gpu(value):
    import torch

    if isinstance(value, tuple):
        return tuple(map(on_gpu, value))
    return torch.from_numpy(value).cuda() if isinstance(value, np.ndarray) else value


@pytest.fixture(scope="module")
def archive():
    built = st.aot.build(
        [st.aot.Export.of(kernel) for kernel, *_ in exported.CASES.values()],
        ["cuda:80", f"cuda:{capability()}", "cuda:80+ptx", "cpu:x86-64-v3"],
    )
    return st.aot.load(built.archive)


@pytest.mark.parametrize("name", list(exported.CASES))
def test_results_are_those_of_the_kernel_itself(archive, name):
    kernel, grid, arguments = exported.CASES[name]
    here, there = (tuple(map(on_gpu, arguments(np.random.default_rng(7)))) for _ in range(2))
    kernel[grid](*here)
    archive[name][grid](*there)
    assert here[0].cpu().numpy().tobytes() == there[0].cpu().numpy().tobytes()
    assert archive[name].variant_for(*there).target.startswith(f"cuda:sm_{capability()}")
    # The same archive serves the CPU.
    on_cpu = arguments(np.random.default_rng(7))
    archive[name][grid](*on_cpu)
    assert archive[name].variant_for(*on_cpu).target == "cpu:x86-64-v3"


def one(*targets):
    kernel, grid, arguments = exported.CASES["softmax"]
    built = st.aot.build([st.aot.Export.of(kernel)], targets)
    return (
        st.aot.load(built.archive).softmax,
        grid,
        tuple(map(on_gpu, arguments(np.random.default_rng(1)))),
    )


def test_text_for_an_older_gpu_is_assembled_by_the_driver():
    import torch

    softmax, grid, arguments = one("cuda:80+ptx")
    softmax[grid](*arguments)
    expected = torch.softmax(arguments[1].double(), 1)
    assert (arguments[0].double() - expected).abs().max() < 1e-6
    assert softmax.variant_for(*arguments).target == "cuda:sm_80+ptx"


def test_machine_code_of_another_generation_is_refused():
    other = 86 if capability() >= 90 else 90
    softmax, grid, arguments = one(f"cuda:{other}", "cpu:x86-64-v2")
    with pytest.raises(st.MachineError) as caught:
        softmax[grid](*arguments)
    assert f"has no code for cuda:0 (sm_{capability()}" in str(caught.value)
    assert f"it has some for cpu:x86-64-v2, cuda:sm_{other}" in str(caught.value)


@st.aot.export(
    {
        "c": "*fp16:16",
        "a": "*fp16:16",
        "b": "*fp16:16",
        "m": "i32:16",
        "n": "i32:16",
        "k": ["i32", "i32:16"],
    }
)
@st.jit
def product(c, a, b, m, n, k):
    i = tl.program_id(0) * 128 + tl.arange(0, 128)
    j = tl.program_id(1) * 128 + tl.arange(0, 128)
    acc = tl.zeros((128, 128), tl.float32)
    for start in range(0, k, 64):
        at = start + tl.arange(0, 64)
        left = tl.load(a + i[:, None] * k + at[None, :], mask=at[None, :] < k, other=0)
        right = tl.load(b + at[:, None] * n + j[None, :], mask=at[:, None] < k, other=0)
        acc = tl.dot(left, right, acc)
    tl.store(c + i[:, None] * n + j[None, :], acc.to(tl.float16))


@pytest.mark.parametrize("k", [256, 136, 70])
def test_products_of_any_stride(k):
    """Where the copy engine cannot describe an array, the archive has code that does without."""
    import torch

    built = st.aot.build([st.aot.Export.of(product)], [f"cuda:{capability()}"])
    loaded = st.aot.load(built.archive).product
    a, b = torch.randn(256, k, device="cuda").half(), torch.randn(k, 256, device="cuda").half()
    c = torch.empty(256, 256, device="cuda").half()
    loaded[(2, 2)](c, a, b, 256, 256, k)
    assert (c.double() - a.double() @ b.double()).abs().max() < 0.1


def test_launches_go_to_the_given_stream(archive):
    import torch

    kernel, grid, arguments = exported.CASES["exponential"]
    given = tuple(map(on_gpu, arguments(np.random.default_rng(1))))
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    archive["exponential"][grid](*given)
    given[0].zero_()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        archive["exponential"][grid](*given)
    assert given[0].abs().max() == 0
    graph.replay()
    torch.cuda.synchronize()
    assert (given[0] - given[1].exp()).abs().max() < 1e-4
    given[0].zero_()
    archive["exponential"][grid](*given, stream=stream)
    stream.synchronize()
    assert given[0].abs().max() > 0


def test_arrays_in_several_places_are_refused(archive):
    _, grid, arguments = exported.CASES["exponential"]
    out, x, *rest = arguments(np.random.default_rng(1))
    with pytest.raises(
        st.ArgumentError, match="'x' is on the CPU, and 'out' on cuda:0|move all arrays"
    ):
        archive["exponential"][grid](on_gpu(out), x, *rest)
