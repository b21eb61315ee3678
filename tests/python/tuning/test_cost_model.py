"""What fits on a device, the order the model gives, the search, and spaces."""

import math

import pytest

import sectile as st
from sectile.runtime.autotuner.cost_model import guessed_resources, order_by_cost, predicted_cost
from sectile.runtime.autotuner.identity import Device
from sectile.runtime.autotuner.limits import (
    Resources,
    programs_per_unit,
    reason_after_compiling,
    reason_before_compiling,
)
from sectile.runtime.autotuner.search import Search

pytestmark = pytest.mark.host

HOPPER = Device(
    "cuda", 0, "hopper", "hopper",
    {
        "max_threads_per_block": 1024, "warpSize": 32, "max_num_regs": 65536, "capability": 90,
        "max_threads_per_sm": 2048, "regs_per_sm": 65536, "shared_mem_per_sm": 233472,
        "max_shared_mem": 232448, "multiprocessor_count": 132,
    },
)  # fmt: skip
CPU = Device("cpu", 0, "cpu", "cpu", {})


@pytest.mark.parametrize(
    "registers, shared, threads, expected",
    [  # by NVIDIA's occupancy calculator, compute capability 9.0
        (32, 0, 128, 16),
        (32, 0, 1024, 2),
        (255, 0, 128, 2),
        (128, 0, 128, 4),
        (64, 0, 256, 4),
        (168, 0, 128, 3),
        (32, 100 << 10, 128, 2),
        (32, 227 << 10, 128, 1),
        (16, 0, 32, 32),
        (0, 0, 128, 16),
    ],
)
def test_programs_on_a_multiprocessor(registers, shared, threads, expected):
    assert programs_per_unit(Resources(registers, 0, shared, threads), HOPPER) == expected


def test_who_cannot_run():
    assert "2048 threads" in reason_before_compiling(st.Config({}, num_warps=64), HOPPER)
    assert reason_before_compiling(st.Config({}, num_warps=32), HOPPER) == ""
    assert "maxnreg = 255" in reason_before_compiling(
        st.Config({}, num_warps=16, maxnreg=255), HOPPER
    )
    assert reason_before_compiling(st.Config({}, num_warps=64), CPU) == ""
    # Of two blocks one has the warps of both; more than a block may have do not come.
    assert "for 512 threads" in reason_before_compiling(
        st.Config({}, num_warps=8, num_ctas=2, maxnreg=255), HOPPER
    )
    assert guessed_resources(st.Config({}, num_warps=16, num_ctas=16), HOPPER).threads == 1024
    assert "232449 bytes of shared" in reason_after_compiling(Resources(32, 0, 232449, 128), HOPPER)
    assert reason_after_compiling(Resources(32, 0, 232448, 128), HOPPER) == ""
    assert "registers" in reason_after_compiling(Resources(255, 0, 0, 512), HOPPER)
    assert reason_after_compiling(Resources(128, 0, 0, 512), HOPPER) == ""
    assert "threads" in reason_after_compiling(Resources(16, 0, 0, 2048), HOPPER)
    assert reason_after_compiling(Resources(), CPU) == ""


def cost(programs, device=HOPPER, **resources):
    return predicted_cost(
        programs, Resources(**{"threads": 128, "registers": 64, **resources}), device
    )


def test_costs_are_ordered_as_they_should():
    assert cost(132) < cost(133)  # one program more, and one multiprocessor has two
    assert cost(132, registers=32) <= cost(132, registers=255)
    assert cost(4096) < cost(4096, spilled_bytes=400)
    assert cost(1) > cost(132)  # one multiprocessor works
    assert cost(1024) < cost(1024 * 1024)  # tiny tiles
    assert cost(1024, shared_bytes=400 << 10) == math.inf
    assert cost(1024, registers=32) < cost(1024, registers=255, threads=32, shared_bytes=100 << 10)
    assert cost(None) < cost(None, spilled_bytes=400)
    assert cost(CPU.units, CPU) < cost(CPU.units + 1, CPU)


def test_order():
    assert order_by_cost([3.0, 1.0, math.inf, 1.0]) == [1, 3, 0, 2]


def test_the_guess_before_compiling():
    guess = guessed_resources(st.Config({}, num_warps=4, maxnreg=40), HOPPER)
    assert (guess.registers, guess.threads) == (40, 128)
    for warps in (1, 2, 4, 8, 16, 32):
        guess = guessed_resources(st.Config({}, num_warps=warps), HOPPER)
        assert programs_per_unit(guess, HOPPER) >= 1


def test_spaces():
    space = st.Space(BM=[16, 32, 64], BN=[16, 32], num_warps=[2, 4], num_stages=3)
    assert len(space.configs()) == 12
    assert space.configs()[0] == st.Config({"BM": 16, "BN": 16}, num_warps=2, num_stages=3)
    part = space.where(lambda BM, BN, **_: BM >= BN).where(lambda num_warps, **_: num_warps == 4)
    assert [c.kwargs for c in part.configs()] == [
        {"BM": 16, "BN": 16}, {"BM": 32, "BN": 16}, {"BM": 32, "BN": 32}, {"BM": 64, "BN": 16},
        {"BM": 64, "BN": 32},
    ]  # fmt: skip
    assert len(space.configs()) == 12  # as it was
    with pytest.raises(ValueError, match="BM has no values"):
        st.Space(BM=[])
    with pytest.raises(ValueError, match="BM has the value 16 twice"):
        st.Space(BM=[16, 16])
    with pytest.raises(ValueError, match="no combination meets"):
        space.where(lambda **_: False).configs()


def test_the_search_goes_downhill():
    """It finds the best of 1000 with a tenth of the measurements, where neighbours are alike."""
    space = st.Space(
        A=[1, 2, 4, 8, 16, 32, 64, 128, 256, 512], B=list(range(10)), C=list(range(10))
    )
    configs = space.configs()

    def milliseconds(config):
        a, b, c = math.log2(config.kwargs["A"]), config.kwargs["B"], config.kwargs["C"]
        return 1 + (a - 6) ** 2 + (b - 2) ** 2 + (c - 7) ** 2

    search = Search(configs, [abs(c.kwargs["A"] - 8) for c in configs])  # a model that is wrong
    times = {}
    for _ in range(12):
        for index in search.next_batch(10, times):
            assert index not in times
            times[index] = milliseconds(configs[index])
    assert min(times.values()) == 1


def test_the_search_tries_all_in_the_end():
    configs = st.Space(A=[1, 2, 3], num_warps=[1, 2]).configs()
    search = Search(configs, [5, 4, 3, 2, 1, 0])
    search.drop([2])
    seen, times = [], {}
    while batch := search.next_batch(2, times):
        seen += batch
        times.update((i, float(i)) for i in batch)
    assert sorted(seen) == [0, 1, 3, 4, 5]


def test_first_different_tiles():
    configs = st.Space(A=[1, 2, 3], num_warps=[1, 2, 4]).configs()
    batch = Search(configs, list(range(9))).next_batch(3, {})
    assert {configs[i].kwargs["A"] for i in batch} == {1, 2, 3}
