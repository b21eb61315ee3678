"""Random kernels for GPUs: results of each device against float64 with bounds, and code for every GPU.

More of them: python tests/python/differential/fuzz_gpu.py
"""

import error_bounds
import fuzz_case
import numpy as np
import pytest
from census import census
from fuzz_case import (
    Outcome,
    Simulator,
    compiled_function,
    differences,
    failure,
    run,
    run_on_cpu,
    run_on_gpu,
)
from fuzz_gpu import check
from launch_on_device import why_not
from random_kernels import HEADER, Builder, Case, make_case, reference
from shrink import shrink

import sectile as st
import sectile.language as tl
from sectile import _native
from sectile.language._builtin import not_yet

GROUPS, CASES = 6, 20


def expect_right(seeds, device, folder):
    for seed in seeds:
        outcome, text = check(seed, device, folder, shrinks=False)
        assert not outcome.is_bad(), text


@pytest.mark.host
@pytest.mark.parametrize("group", range(GROUPS))
def test_on_the_cpu(group, tmp_path):
    expect_right(range(group * CASES, (group + 1) * CASES), "cpu", tmp_path)


@pytest.mark.host
@pytest.mark.parametrize("group", range(2))
def test_from_archives(group, tmp_path):
    expect_right(range(group * CASES, (group + 1) * CASES), "archive", tmp_path)


@pytest.mark.host
def test_other_bits_from_an_archive_are_seen(monkeypatch, tmp_path):
    def other(case, kernel, **changed):
        arrays = run_on_cpu(case, kernel, **changed)
        for array in arrays.values():
            array.view(np.uint8)[0] ^= 1
        return arrays

    monkeypatch.setattr(fuzz_case, "run_on_cpu", other)
    outcome, _ = check(0, "archive", tmp_path, shrinks=False)
    assert outcome.kind == "wrong" and "other bits than without the archive" in outcome.text


@pytest.mark.host
@pytest.mark.parametrize("group", range(GROUPS))
def test_on_a_gpu(group, tmp_path):
    if reason := why_not("cuda"):
        pytest.skip(f"{reason}; kernels are compiled in test_compiled_for_gpus")
    expect_right(range(group * CASES, (group + 1) * CASES), "cuda", tmp_path)


@pytest.mark.host
@pytest.mark.parametrize("group", range(3))
def test_compiled_for_gpus(group, tmp_path):
    if not why_not("cuda"):
        pytest.skip("kernels run on the GPU in test_on_a_gpu")
    expect_right(range(group * CASES, (group + 1) * CASES), "compile", tmp_path)


@pytest.mark.host
@pytest.mark.parametrize("group", range(2))
def test_on_the_simulated_gpu(group, tmp_path):
    if not Simulator.path().exists():
        pytest.skip(f"{Simulator.path()} is not built")
    expect_right(range(group * CASES, (group + 1) * CASES), "simulated", tmp_path)


# With little shared memory one program has the multiprocessor, and a producer.
@pytest.mark.host
@pytest.mark.parametrize(
    "profile, shared",
    [
        ("lone_product", 232448),
        ("rounds", 232448),
        ("matmul_of_blocks", 232448),
        ("lone_attention", 82000),
    ],
)
def test_on_a_simulated_hopper(profile, shared, monkeypatch, tmp_path):
    if not Simulator.path().exists():
        pytest.skip(f"{Simulator.path()} is not built")
    simulator = Simulator()
    simulator.options = ["--chip", "sm_90a", "--shared", str(shared)]
    monkeypatch.setattr(fuzz_case, "simulate", simulator)
    monkeypatch.setattr(Builder, "only_profile", profile)
    expect_right(range(CASES), "simulated", tmp_path)


@pytest.mark.host
def test_a_case_follows_from_its_seed():
    first, second = make_case(5), make_case(5)
    assert first.source == second.source and first.options == second.options
    for name, array in first.arrays().items():
        assert array.tobytes() == second.arrays()[name].tobytes()


CONSTRUCTS = """numerics=strict,numerics=reproducible,num_ctas=2,num_ctas=8,break,continue,while,while around a for,else of a loop,and,or,
not,chain of comparisons,conditional expression,return from the kernel,slice with a step,slice with a negative step,
reduce of a tuple,scan of a tuple,combining function: branch,combining function: loop,combining function: calls another,
combining function: several returns,combining function: atomic,combining function: store,combining function: load,
combining function: effects and branches,tl.map_elementwise,tl.pointer_type""".replace("\n", "")


@pytest.mark.host
def test_kernels_have_all_constructs():
    counts = census(map(make_case, range(200)))
    assert [name for name in CONSTRUCTS.split(",") if counts[name] < 2] == []


@pytest.mark.host
def test_other_bits_are_found(tmp_path, monkeypatch):
    """Where the contract promises the same, zeros of other signs are a fault, too."""
    case = next(c for c in map(make_case, range(100)) if c.numerics == "reproducible")

    def elsewhere(case, device, kernel, folder):
        arrays = fuzz_case.run_on_cpu(case, kernel)
        name = next(name for name in arrays if name[0] != "x")
        arrays[name].view(np.uint8)[7] ^= 1
        yield "another layout", arrays

    assert run(case, "cpu", tmp_path).kind == "right"
    monkeypatch.setattr(fuzz_case, "reproduced", elsewhere)
    outcome = run(case, "cpu", tmp_path)
    assert outcome.kind == "wrong" and "other bits with another layout" in outcome.text


@pytest.mark.host
def test_what_is_not_fused_has_one_right_answer():
    """Products and sums are rounded by themselves, in the order that reproducible numbers have."""
    body = """    i = tl.arange(0, 13)
    x = tl.load(x_float32 + i)
    tl.store(o_float32 + i, x * x + x)
    tl.store(o_float32 + 13, tl.sum(x))
    tl.store(o_float32 + 14, x / 3.0)
"""
    source = f"{HEADER}\n@st.jit\ndef kernel_3(o_float32, x_float32):\n{body.replace('+ 14', '+ 14 + i')}"
    errors = {}
    for numerics in ("default", "strict", "reproducible"):
        case = Case(3, source, options={"numerics": numerics}, style="real")
        memory = reference(case)["o_float32"]
        errors[numerics] = [
            memory.error[places].max() > 0 for places in (slice(13), 13, slice(14, 27))
        ]
        x = case.array("x_float32")[:13]
        if numerics != "default":
            np.testing.assert_array_equal(memory.value[:13], x * x + x)
        if numerics == "strict":
            np.testing.assert_array_equal(memory.value[14:27], x / np.float32(3))
        if numerics == "reproducible":
            level = np.append(x, np.zeros(3, np.float32))
            while len(level) > 1:
                level = level[::2] + level[1::2]
            assert memory.value[13] == level[0]
    assert errors["default"] == [True, True, True]
    assert errors["strict"] == [False, True, False]
    assert errors["reproducible"] == [False, False, True]


@pytest.mark.host
def test_wrong_results_are_found():
    """One element that is off by little more than the bound, or untouched memory that is written."""
    for seed in range(20):
        case = make_case(seed)
        expected = reference(case)
        results = case.arrays()
        for name, memory in expected.items():
            results[name] = memory.value.astype(error_bounds.TYPES[name[2:]])
        assert differences(results, expected) == ""
        for name, memory in expected.items():
            if name[0] == "x":
                continue
            at = int(np.random.default_rng(seed).integers(len(memory.value)))
            damaged = dict(results)
            damaged[name] = results[name].copy()
            if memory.error is None:
                damaged[name][at] += 1
            else:
                value = float(memory.value[at])
                if np.isinf(value):
                    continue
                worse = value + 1.01 * memory.error[at] + abs(value) * 0.3 + 0.1
                damaged[name][at] = worse
            assert differences(damaged, expected).startswith(name), (seed, name, at)


@pytest.mark.host
def test_shrinking_keeps_what_is_wrong():
    case = next(
        c for c in map(make_case, range(100)) if "tl.exp(" in c.source and "for " in c.source
    )
    small = shrink(case, lambda c: "tl.exp(" in c.source)
    assert "tl.exp(" in small.source and len(small.source) < len(case.source) / 2
    assert len(small.source.splitlines()) <= 8


@pytest.mark.host
def test_arrays_are_carried_to_a_device_and_back(tmp_path):
    pytest.importorskip("torch")
    for seed in range(20):
        case = make_case(seed)
        if run(case, "cpu", tmp_path).kind == "refused":
            continue
        results = run_on_gpu(case, compiled_function(case, tmp_path), place="cpu")
        assert differences(results, reference(case)) == "", seed


@pytest.mark.host
def test_what_is_wanting_is_no_failure():
    assert failure("cuda: kernel needs 300000 bytes of shared memory").kind == "refused"
    assert not Outcome("refused").is_bad() and Outcome("wrong").is_bad()
    assert failure("cuda: cannot select").is_bad()
    # What vanishes from the language is no refusal.
    assert failure("cpu: the language has no operation `sum`").is_bad()
    missing = "cpu: `tl.sum` is Triton's and not in Sectile yet"
    assert failure(missing).is_bad()
    assert failure(missing + ", which needs no shared memory").is_bad()


@pytest.mark.host
def test_an_operation_that_vanishes_is_a_failure(tmp_path, monkeypatch):
    """As when its stub is marked `not_yet` by mistake."""
    case = next(c for c in map(make_case, range(100)) if "tl.exp(" in c.source)
    monkeypatch.setattr(tl, "exp", not_yet("write it otherwise")(tl.exp))
    _native.clear_memory()
    with st.knobs.cache.scope():  # where the kernel may be from before
        st.knobs.cache.dir = ""
        outcome = run(case, "cpu", tmp_path)
    assert outcome.is_bad() and "`tl.exp` is Triton's and not in Sectile yet" in outcome.text
