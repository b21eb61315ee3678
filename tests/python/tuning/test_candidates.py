"""Candidates that fail, that are pruned, and that there is no time for."""

import warnings

import pytest
from tuning_support import autotune, block_of, configs, launch

import sectile as st
import sectile.language as tl

pytestmark = pytest.mark.host


@st.jit
def sometimes_wrong(out, n, BLOCK: tl.constexpr):
    if BLOCK == 4:
        tl.store(out, tl.zeros((4, 2), tl.int32) + tl.zeros((4, 3), tl.int32))
    if BLOCK == 8:
        tl.device_assert(n < 0, "too large")
    tl.store(out, BLOCK)


def test_one_that_fails_is_reported_and_skipped(bench, out):
    with pytest.warns(
        st.TuningWarning, match="1 of 3 candidates failed and are left out; BLOCK: 4"
    ):
        chosen, tuner = launch((4, 2, 16), bench, out, kernel=sometimes_wrong)
    assert chosen == 2 and bench.blocks == [2, 16]
    rows = {row.config.kwargs["BLOCK"]: row for row in tuner.tuning_report().rows}
    assert rows[4].status == "failed" and "4x2" in rows[4].reason and "4x3" in rows[4].reason
    assert tuner.configs_timings[tuner.configs[0]] == [float("inf")] * 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        launch((4, 2, 16), bench, out, kernel=sometimes_wrong)  # on record
    assert len(bench.blocks) == 2


def test_one_that_fails_when_it_runs(out):
    kernel = st.JITFunction(sometimes_wrong.fn, debug=True)
    tuner = autotune(configs(8, 2, 16), key=["n"], warmup=0, rep=1)(kernel)
    with pytest.warns(st.TuningWarning, match="BLOCK: 8.*too large"):
        tuner[(1,)](out, 5)
    assert out[0] in (2, 16)
    row = tuner.tuning_report().rows[0]
    assert row.status == "failed" and "too large" in row.reason


def test_one_that_the_kernel_rules_out_is_no_mistake(bench, out):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen, tuner = launch((13, 2, 4), bench, out)
    assert chosen == 2
    assert tuner.tuning_report().rows[0].status == "excluded"
    assert tuner.tuning_report().rows[0].reason.startswith("static assertion failed")


def test_all_fail(bench, out):
    @st.jit
    def kernel(out, n, BLOCK: tl.constexpr):
        tl.store(out, undefined_name)  # noqa: F821

    with pytest.raises(
        st.CompilationError, match="(?s)undefined_name.*all 2 candidates of kernel fail"
    ):
        launch((4, 2), bench, out, kernel=kernel)
    # Ruled out by the kernel itself, every one: its own words, too.
    with pytest.raises(
        st.CompilationError, match="(?s)static assertion failed.*all 2 candidates of .* fail"
    ):
        launch((13, 13), bench, out)
    assert bench.blocks == []


def test_all_that_failed_before_fail_with_their_own_error_again(bench, out):
    """What is on record says that they fail, and not with which error."""

    @st.jit
    def kernel(out, n, BLOCK: tl.constexpr):
        tl.store(out, undefined_name)  # noqa: F821

    tuner = autotune(configs(4, 2), key=["n"], do_bench=bench)(kernel)
    for _ in range(2):
        with pytest.raises(st.CompilationError, match="(?s)undefined_name.*all 2 candidates"):
            tuner[(1,)](out, 5)
    assert bench.blocks == []


def test_all_fail_at_run_time_with_the_error_of_the_first(out):
    kernel = st.JITFunction(sometimes_wrong.fn, debug=True)
    tuner = autotune([*configs(8), st.Config({"BLOCK": 8}, num_warps=8)], key=["n"])(kernel)
    with pytest.raises(st.DeviceAssertionError, match="too large"):
        tuner[(1,)](out, 5)


def test_a_wrong_call_says_so(out):
    tuner = autotune(configs(4, 2), key=["n"])(block_of)
    with pytest.raises(st.ArgumentError, match="unknown argument 'm'"):
        tuner[(1,)](out, 5, m=3)


@pytest.mark.parametrize("is_known", [False, True])
def test_what_autotune_chooses_is_left_out_of_the_launch(out, is_known):
    tuner = autotune(configs(4, 2), key=["n"], warmup=0, rep=1)(block_of)
    if is_known:
        tuner[(1,)](out, 5)
    said = "block_of: BLOCK is chosen by autotune; leave it out of the launch\n  help: "
    for call in (
        lambda: tuner[(1,)](out, 5, BLOCK=4),
        lambda: tuner[(1,)](out, 5, 4),
        lambda: tuner.warmup(out, 5, BLOCK=4, grid=(1,)),
        lambda: tuner.bind(out, 5, BLOCK=4, grid=(1,)),
        lambda: autotune(configs(4), key=["n"])(block_of)[(1,)](out, 5, BLOCK=4),
    ):
        with pytest.raises(st.ArgumentError, match=said):
            call()
    with pytest.raises(
        st.ArgumentError, match="BLOCK, num_warps are chosen by autotune; leave them"
    ):
        tuner[(1,)](out, 5, BLOCK=4, num_warps=8)


@pytest.mark.parametrize("is_known", [False, True])
def test_a_grid_function_with_a_wrong_key(out, is_known):
    tuner = autotune(configs(4, 2), key=["n"], warmup=0, rep=1)(block_of)
    if is_known:
        tuner[lambda meta: (1,)](out, 5)
    said = "block_of: the grid function asks for 'BLOK', .* did you mean 'BLOCK'?\n  help: it is given out, n, BLOCK"
    for error in (KeyError, st.ArgumentError):
        with pytest.raises(
            error, match="(?s)" + said.replace("?", r"\?").replace("\n", ".*")
        ) as raised:
            tuner[lambda meta: (meta["BLOK"],)](out, 5)
        assert "\n  help:" in str(raised.value)  # and no literal of a text, as KeyError has it


def test_an_error_of_something_else_stays_what_it_is(out):
    def hook(arguments):
        raise KeyError("theirs")

    tuner = autotune([st.Config({"BLOCK": b}, pre_hook=hook) for b in (4, 2)], key=["n"])(block_of)
    with pytest.raises(KeyError, match="^'theirs'"):
        tuner[lambda meta: (meta["BLOCK"],)](out, 5)


def test_a_do_bench_that_gives_no_number(out):
    tuner = autotune(configs(4, 2), key=["n"], do_bench=lambda call, quantiles: float("inf"))(
        block_of
    )
    with pytest.raises(st.OutOfResources, match="do_bench gave inf"):
        tuner[(1,)](out, 5)
    with pytest.warns(st.TuningWarning, match="do_bench is broken"):
        turn = iter([ZeroDivisionError("do_bench is broken"), None])

        def bench(call, quantiles):
            call()
            if error := next(turn):
                raise error
            return 1.0

        tuner = autotune(configs(4, 2), key=["n"], do_bench=bench)(block_of)
        tuner[(1,)](out, 5)
    assert out[0] == 2


def test_prune(bench, out):
    seen = []

    def early(configs, named_args, **kwargs):
        dict(**named_args, **kwargs)  # no name is in both
        seen.append((sorted(named_args), kwargs))
        return [c for c in configs if c.kwargs["BLOCK"] != 2]

    prune = {"early_config_prune": early}
    assert launch((4, 2, 8), bench, out, prune_configs_by=prune)[0] == 4
    assert bench.blocks == [4, 8] and seen == [(["n", "out"], {})]
    autotune(configs(4, 8), ["n"], prune)(block_of)[(1,)](out, n=7)
    assert seen[1:] == [(["out"], {"n": 7})]
    with pytest.raises(st.TuningError, match="early_config_prune left no configuration") as raised:
        launch((4, 2), bench, out, prune_configs_by={"early_config_prune": lambda c, a: []})
    assert raised.value.__context__ is None  # nothing of how a configuration is looked up
    assert (
        launch(
            (4, 2), bench, out, n=9, prune_configs_by={"early_config_prune": lambda c, a: c[:1]}
        )[0]
        == 4
    )
    assert bench.blocks == [4, 8]  # one that is left is not measured


@pytest.mark.parametrize(
    "top_k, measured", [(2, [8, 4]), (0.5, [8, 4]), (0.01, []), (1.0, [1, 2, 4, 8])]
)
def test_perf_model(bench, out, top_k, measured):
    model = {"perf_model": lambda BLOCK, n, **_: -BLOCK if n == 5 else BLOCK, "top_k": top_k}
    launch((1, 2, 4, 8), bench, out, prune_configs_by=model)
    assert sorted(bench.blocks) == sorted(measured)


def test_perf_model_orders_what_is_measured(bench, out):
    launch((1, 2, 4, 8), bench, out, prune_configs_by={"perf_model": lambda BLOCK, **_: -BLOCK})
    assert bench.blocks == [8, 4, 2, 1]


def test_wrong_prunes(bench, out):
    with pytest.raises(ValueError, match="prune_configs_by has 'early_prune'"):
        autotune(configs(1, 2), key=[], prune_configs_by={"early_prune": None})(block_of)
    with pytest.raises(TypeError, match="top_k is 1.5"):
        launch((1, 2), bench, out, prune_configs_by={"perf_model": lambda **_: 1, "top_k": 1.5})


def test_a_space_with_a_budget(bench, out, monkeypatch):
    monkeypatch.setenv("SECTILE_TUNING_THREADS", "1")
    space = st.Space(BLOCK=list(range(1, 41)), num_warps=[1, 2])

    def cost(config, programs, resources, device):
        assert programs == 1 and resources.threads == 1 and device.kind == "cpu"
        return abs(config.kwargs["BLOCK"] - 30)

    tuner = autotune(space, key=["n"], do_bench=bench, budget=0.0, cost_model=cost)(block_of)
    tuner[(1,)](out, 5)
    assert len(bench.blocks) == 1 and bench.blocks[0] == 30  # the likeliest, and then it is over
    report = tuner.tuning_report()
    assert report.count("not tried") == 79 and "79 not tried" in str(report)

    bench.blocks.clear()
    again = autotune(space, key=["n"], do_bench=bench, budget=0.0, cost_model=cost)(block_of)
    again[(1,)](out, 5)
    assert bench.blocks == []  # the budget was used up: the choice stands

    # With time for it, all; the candidate that is excluded costs nothing.
    tuner = autotune(space, key=["n"], do_bench=bench, budget=600, cost_model=cost)(block_of)
    tuner[(1,)](out, 6)
    assert sorted(bench.blocks) == sorted(2 * [b for b in range(1, 41) if b != 13])
    assert tuner.best_config.kwargs["BLOCK"] == 1


def test_the_budget_of_the_environment(bench, out, monkeypatch):
    monkeypatch.setenv("SECTILE_TUNING_BUDGET", "0")
    _, tuner = launch(range(1, 13), bench, out)
    assert len(bench.blocks) == 1
