"""Bound kernels, streams and graphs on a GPU."""

import pytest
from launch_on_device import why_not

import sectile as st
import sectile.language as tl

pytestmark = [
    pytest.mark.host,
    pytest.mark.skipif(bool(why_not("cuda")), reason=f"needs a GPU: {why_not('cuda')}"),
]


@st.jit
def add_one(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


@pytest.fixture
def torch():
    import torch

    return torch


def test_bound_kernels_follow_the_current_stream(torch):
    x = torch.zeros(1000, device="cuda")
    seen = []
    st.knobs.runtime.launch_enter_hook.add(lambda data: seen.append(data.get()["stream"]))
    try:
        run = add_one[(16,)].bind(x, 1000, BLOCK=64)
        run()
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            run()
        fixed = add_one[(16,)].bind(x, 1000, BLOCK=64, stream=side)
        fixed()
    finally:
        st.knobs.runtime.launch_enter_hook = None
    torch.cuda.synchronize()
    assert seen == [torch.cuda.current_stream().cuda_stream, side.cuda_stream, side.cuda_stream]
    assert (x == 3).all()


def test_another_array_of_the_gpu(torch):
    x, y = torch.zeros(2, 1000, device="cuda")
    run = add_one[(16,)].bind(x, 1000, BLOCK=64)
    run(x=y)
    run(n=500)
    assert x.sum() == 0 and y.sum() == 1500


@pytest.mark.parametrize("is_bound", [False, True])
def test_graphs_capture_launches(torch, is_bound):
    x = torch.zeros(1000, device="cuda")
    launch = add_one[(16,)].bind(x, 1000, BLOCK=64) if is_bound else None
    add_one[(16,)](x, 1000, BLOCK=64)  # compiled and loaded before the capture
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(3):
            if launch:
                launch()
            else:
                add_one[(16,)](x, 1000, BLOCK=64)
    torch.cuda.synchronize()
    assert (x == 1).all()
    for _ in range(5):
        graph.replay()
    torch.cuda.synchronize()
    assert (x == 16).all()


@st.jit
def add_asserting(x, n, limit, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    tl.device_assert(value < limit, "too large")
    tl.store(x + i, value + 1, mask=i < n)


def test_graphs_hold_fatal_assertions(torch):
    x = torch.zeros(1000, device="cuda")
    options = dict(BLOCK=64, debug=True)
    add_asserting[(16,)](x, 1000, 100.0, **options, fatal_asserts=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        add_asserting[(16,)](x, 1000, 100.0, **options, fatal_asserts=True)
    graph.replay()
    torch.cuda.synchronize()
    assert (x == 2).all()
    other = torch.cuda.CUDAGraph()
    with pytest.raises(st.ArgumentError, match="fatal_asserts=True"), torch.cuda.graph(other):
        add_asserting[(16,)](x, 1000, 100.0, **options)


def test_a_fatal_assertion_says_where_it_is():
    import subprocess
    import sys

    program = (
        "import sys; sys.path[:0] = %r; import torch, sectile; from test_gpu_bound import add_asserting\n"
        "x = torch.full((100,), 7.0, device='cuda')\n"
        "add_asserting[(2,)](x, 100, 5.0, BLOCK=64, debug=True, fatal_asserts=True)\n"
        "print('launched', flush=True)\n"
        "torch.cuda.synchronize()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program % (sys.path,)], capture_output=True, text=True, timeout=100
    )
    assert done.stdout == "launched\n" and done.returncode != 0
    line = add_asserting.fn.__code__.co_firstlineno + 4
    assert (
        f"test_gpu_bound.py:{line}: add_asserting" in done.stderr
        and "`too large` failed" in done.stderr
    ), done.stderr
