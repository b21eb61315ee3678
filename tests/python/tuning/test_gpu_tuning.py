"""Tuning on a GPU: arrays of torch, candidates that do not fit, graphs."""

import pytest
from launch_on_device import why_not

import sectile as st
import sectile.language as tl

pytestmark = pytest.mark.skipif(bool(why_not("cuda")), reason=f"needs a GPU: {why_not('cuda')}")


@pytest.fixture
def torch():
    import torch

    return torch


def matmul_text(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        inner = start + k
        x = tl.load(
            a + m[:, None] * K + inner[None, :],
            mask=(m < M)[:, None] & (inner < K)[None, :],
            other=0.0,
        )
        y = tl.load(
            b + inner[:, None] * N + n[None, :],
            mask=(inner < K)[:, None] & (n < N)[None, :],
            other=0.0,
        )
        total = tl.dot(x, y, total)
    mask = (m < M)[:, None] & (n < N)[None, :]
    tl.store(c + m[:, None] * N + n[None, :], total.to(c.dtype.element_ty), mask=mask)


FITTING = [
    st.Config({"BM": bm, "BN": bn, "BK": 32}, num_warps=4, num_stages=3)
    for bm in (32, 64) for bn in (32, 64)
]  # fmt: skip
TOO_LARGE = st.Config({"BM": 256, "BN": 256, "BK": 128}, num_warps=8, num_stages=4)


def launch(tuned, torch, size=(200, 300, 100)):
    M, N, K = size
    torch.manual_seed(3)
    a, b = torch.randn(M, K, device="cuda").half(), torch.randn(K, N, device="cuda").half()
    c = torch.full((M, N), float("nan"), device="cuda", dtype=torch.float16)
    tuned[lambda meta: (st.cdiv(M, meta["BM"]), st.cdiv(N, meta["BN"]))](a, b, c, M, N, K)
    exact = a.double() @ b.double()
    assert (c.double() - exact).norm() <= 1e-3 * exact.norm()


def test_candidates_that_do_not_fit_are_left_out(torch):
    tuned = st.autotune([TOO_LARGE, *FITTING], key=["M", "N", "K"])(st.jit(matmul_text))
    launch(tuned, torch, (256, 320, 128))  # which are copied to shared memory by 16 bytes
    assert tuned.best_config in FITTING
    text = str(tuned.tuning_report())
    assert "shared memory" in text, text
    assert all(times[0] > 0 for c, times in tuned.configs_timings.items() if c in FITTING[:1])


def test_what_was_measured_is_remembered(torch, monkeypatch):
    first = st.autotune(FITTING, key=["M", "N", "K"])(st.jit(matmul_text))
    launch(first, torch)
    monkeypatch.setenv("SECTILE_AUTOTUNE", "frozen")
    second = st.autotune(FITTING, key=["M", "N", "K"])(st.jit(matmul_text))
    launch(second, torch)
    assert second.best_config == first.best_config
    with pytest.raises(st.TuningError, match="frozen"):
        launch(second, torch, (64, 64, 64))


@st.autotune(
    [st.Config({"BLOCK": block}) for block in (64, 128, 256)],
    key=["n"], restore_value=["x"], reset_to_zero=["count"],
)  # fmt: skip
@st.jit
def add_one(x, count, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)
    tl.atomic_add(count, tl.sum((i < n).to(tl.int32), axis=0))


def test_arrays_hold_what_one_launch_leaves(torch):
    x, count = torch.arange(1000.0, device="cuda"), torch.zeros(1, dtype=torch.int32, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        add_one[lambda meta: (st.cdiv(1000, meta["BLOCK"]),)](x, count, 1000)
    side.synchronize()
    assert (x.cpu() == torch.arange(1000.0) + 1).all() and count.item() == 1000


@st.jit
def softmax(out, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    v = tl.load(x + row * columns + column, mask=inside, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * columns + column, e / tl.sum(e, axis=0), mask=inside)


@pytest.mark.parametrize("own_stream", [False, True])
def test_who_leaves_other_results_is_left_out(torch, own_stream):
    tuned = st.autotune(
        [st.Config({"BLOCK": block}) for block in (256, 512, 1024, 2048)], key=[], rep=5, cache_results=False
    )(softmax)  # fmt: skip
    x = torch.rand(1024, 781, device="cuda")
    out = torch.zeros_like(x)
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with pytest.warns(
        st.TuningWarning, match=r"(?s)2 of 4 .*BLOCK: 256: out\[0, 256\] is not written"
    ):
        tuned[(1024,)](out, x, 781, **({"stream": stream.cuda_stream} if own_stream else {}))
    torch.cuda.synchronize()
    torch.testing.assert_close(out, torch.softmax(x, dim=1))
    assert tuned.tuning_report().verified == 2


def test_a_capture_is_not_tuned_in(torch):
    x, count = torch.zeros(333, device="cuda"), torch.zeros(1, dtype=torch.int32, device="cuda")

    def run():
        add_one[lambda meta: (st.cdiv(333, meta["BLOCK"]),)](x, count, 333)

    graph = torch.cuda.CUDAGraph()
    with pytest.raises(st.TuningError, match="captured into a CUDA graph"):
        with torch.cuda.graph(graph):
            run()
    torch.cuda.synchronize()
    run()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    x.zero_()
    graph.replay()
    graph.replay()
    torch.cuda.synchronize()
    assert (x == 2).all()
