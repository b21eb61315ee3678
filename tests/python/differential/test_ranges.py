"""Loops over range() with bounds and steps of every integer type, at the edges of each, against Python.

More of them: python tests/python/differential/random_ranges.py cpu 0 1000
"""

import itertools

import pytest
from fuzz_case import Simulator
from random_ranges import TYPES, Range, make_case, one_type_holds, run

GROUPS, CASES = 8, 25


def expect_python(seeds, device, folder):
    for seed in seeds:
        case = make_case(seed)
        difference = run(case, device, folder, f"kernel_{seed}")
        assert not difference, f"seed {seed}\n{case.source}{difference}"


@pytest.mark.parametrize("group", range(GROUPS))
def test_loops_make_the_turns_of_python(group, tmp_path, device):
    expect_python(range(group * CASES, (group + 1) * CASES), device, tmp_path)


@pytest.mark.parametrize("start", TYPES)
def test_bounds_and_steps_of_all_types(start, tmp_path, device):
    for seed, (end, step) in enumerate(itertools.product(TYPES, TYPES)):
        if one_type_holds(start, end):
            case = make_case(seed, (start, end, step), programs=12)
            difference = run(case, device, tmp_path, f"kernel_{seed}")
            assert not difference, f"{start} {end} {step}\n{case.source}{difference}"


@pytest.mark.host
@pytest.mark.parametrize("group", range(2))
def test_on_the_simulated_gpu(group, tmp_path):
    if not Simulator.path().exists():
        pytest.skip(f"{Simulator.path()} is not built")
    expect_python(range(1000 + group * CASES, 1000 + (group + 1) * CASES), "simulated", tmp_path)


@pytest.mark.host
def test_wrong_turns_are_found():
    case = make_case(3)
    results = {name: array.copy() for name, array in case.arguments.items()}
    assert case.difference(results)
    assert Range(2147483640, 2147483647, 5).numbers() == [2147483640, 2147483645]
    assert Range(-(2**63), 2**63 - 1, 1).numbers() is None
    assert Range(-(2**63), 2**64 - 1, 2**62).numbers() == [(i - 2) * 2**62 for i in range(6)]
