"""Several GPUs in one process, and one each for the ranks of a job."""

import json
import subprocess
import sys
import threading

import pytest
from launch_on_device import why_not

import sectile as st
import sectile._native as native
import sectile.language as tl


def why_not_two():
    if reason := why_not("cuda"):
        return reason
    return "" if gpu_count() >= 2 else "there is one only"


def gpu_count():
    return len(native.gpu_devices()[0])


pytestmark = [
    pytest.mark.host,
    pytest.mark.skipif(bool(why_not_two()), reason=f"needs two GPUs: {why_not_two()}"),
]


@st.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@st.jit
def add_one(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


@pytest.fixture
def torch():
    import torch

    assert torch.cuda.current_device() == 0
    yield torch
    assert torch.cuda.current_device() == 0, "launches leave the caller's device as it was"


def arrays(torch, device, n=1003):
    return [torch.randn(n, device=device) for _ in range(2)] + [torch.zeros(n, device=device)]


def check(torch, x, y, out):
    torch.cuda.synchronize(x.device)
    assert torch.equal(out, x + y)


def test_the_arrays_say_where(torch):
    compiles = []
    st.set_compile_listener(compiles.append)
    kernel = st.jit(add.fn)  # unknown to the table of functions
    try:
        for device in ("cuda:1", "cuda:0", "cuda:1"):
            x, y, out = arrays(torch, device)
            kernel[(4,)](x, y, out, 1003, BLOCK=256)
            check(torch, x, y, out)
    finally:
        st.set_compile_listener(None)
    assert len(compiles) <= 1, "one variant serves equal devices"


def test_arrays_of_two_gpus_are_refused(torch):
    x, y, out = arrays(torch, "cuda:0")
    with pytest.raises(st.ArgumentError, match="'y' is on cuda:1, and 'x' on cuda:0"):
        add[(4,)](x, y.to("cuda:1"), out, 1003, BLOCK=256)


def test_the_current_device_does_not_matter(torch):
    x, y, out = arrays(torch, "cuda:0")
    with torch.cuda.device(1):
        add[(4,)](x, y, out, 1003, BLOCK=256)
        assert torch.cuda.current_device() == 1
    check(torch, x, y, out)


def test_streams_of_the_other_gpu(torch):
    x, y, out = arrays(torch, "cuda:1", 1 << 20)
    side = torch.cuda.Stream(device=1)
    side.wait_stream(torch.cuda.current_stream(1))
    seen = []
    st.knobs.runtime.launch_enter_hook.add(lambda data: seen.append(data.get()["stream"]))
    try:
        with torch.cuda.stream(side):
            torch.cuda._sleep(200_000_000)
            x.mul_(2)
            add[(1 << 10,)](x, y, out, 1 << 20, BLOCK=1024)
    finally:
        st.knobs.runtime.launch_enter_hook = None
    assert seen == [side.cuda_stream]
    torch.cuda.set_device(0)
    check(torch, x, y, out)


def test_bound_kernels_move_between_gpus(torch):
    x, y = torch.zeros(1000, device="cuda:0"), torch.zeros(1000, device="cuda:1")
    run = add_one[(16,)].bind(x, 1000, BLOCK=64)
    run()
    run(x=y)
    run(n=500)
    run(x=x, n=1000)
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)
    assert (x == 2).all() and (y[:500] == 2).all() and (y[500:] == 1).all()


def test_graphs_on_the_other_gpu(torch):
    with torch.cuda.device(1):
        x = torch.zeros(1000, device="cuda")
        add_one[(16,)](x, 1000, BLOCK=64)
        graph = torch.cuda.CUDAGraph()
        # Else torch takes the stream of the first graph of the process, which may be on the other GPU.
        with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
            add_one[(16,)](x, 1000, BLOCK=64)
        for _ in range(3):
            graph.replay()
        torch.cuda.synchronize()
        assert (x == 4).all()


def test_a_thread_for_each_gpu(torch):
    problems = []

    def work(device):
        try:
            for _ in range(200):
                x, y, out = arrays(torch, device)
                add[(4,)](x, y, out, 1003, BLOCK=256)
                check(torch, x, y, out)
        except BaseException as error:
            problems.append(error)

    count = gpu_count()
    threads = [threading.Thread(target=work, args=(f"cuda:{i % count}",)) for i in range(2 * count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_reports_of_the_other_gpu(torch, capfd):
    @st.jit
    def tell(x):
        tl.device_print("value", tl.load(x + tl.arange(0, 4)))

    tell[(1,)](torch.arange(40, 44, device="cuda:1"))
    assert "43" in capfd.readouterr().out

    x, y, out = arrays(torch, "cuda:1")
    with pytest.raises(st.OutOfBoundsError, match="'x'"):
        add[(8,)](x, y, out, 2000, BLOCK=256, check="bounds")
    add[(4,)](x, y, out, 1003, BLOCK=256)  # the device goes on
    check(torch, x, y, out)


def test_what_is_tuned_on_one_serves_its_equal(torch):
    tuned = st.autotune([st.Config({"BLOCK": size}) for size in (256, 512, 1024)], key=["n"])(
        st.jit(add.fn)
    )
    for device in ("cuda:0", "cuda:1"):
        x, y, out = arrays(torch, device)
        tuned[lambda meta: (st.cdiv(1003, meta["BLOCK"]),)](x, y, out, 1003)
        check(torch, x, y, out)
    assert len({str(best) for best in tuned.cache.values()}) == 1


RANK = """
import json, os, sys
import torch
import torch.distributed as dist
import sectile as st
import sectile.language as tl

rank, folder = int(sys.argv[1]), sys.argv[2]
os.environ["SECTILE_TUNING_DIR"] = f"{folder}/rank{rank}"  # disks that are not shared
torch.cuda.set_device(rank)
dist.init_process_group("nccl", init_method=f"file://{folder}/meet", rank=rank, world_size=2)

from sectile.runtime import autotuner
autotuner.set_store(dist.distributed_c10d._get_default_store)

timed = []
def bench(call, quantiles):
    timed.append(1)
    call()
    return [1.0 + (len(timed) * (7 + 3 * rank)) % 5] * 3  # ranks would not agree by themselves

@st.autotune([st.Config({"BLOCK": size}) for size in (64, 128, 256, 512)], key=["n"], do_bench=bench)
@st.jit
def scale(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

x = torch.full((1000,), float(rank + 1), device=f"cuda:{rank}")
kept = x.clone()
scale[lambda meta: (st.cdiv(1000, meta["BLOCK"]),)](x, 1000)
x.copy_(kept)
scale[lambda meta: (st.cdiv(1000, meta["BLOCK"]),)](x, 1000)
dist.all_reduce(x)
assert (x == 6).all(), x[:4]
print(json.dumps([str(scale.best_config), len(timed)]))
dist.destroy_process_group()
"""


def test_ranks_of_torch_distributed_agree(torch, tmp_path):
    script = tmp_path / "rank.py"
    script.write_text(RANK)
    ranks = [
        subprocess.Popen(
            [sys.executable, script, str(rank), str(tmp_path)], stdout=-1, stderr=-1, text=True
        )
        for rank in range(2)
    ]
    results = [rank.communicate(timeout=240) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], results
    answers = [json.loads(out.splitlines()[-1]) for out, _ in results]
    assert answers[0][0] == answers[1][0]
    assert sorted(count > 0 for _, count in answers) == [False, True], "one rank times"
