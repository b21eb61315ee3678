"""`autotune` in one process: what is measured, when, and what happens to the user's arrays."""

import glob
import os
import sys
import types
import warnings

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile.runtime.autotuner import identity, session
from sectile.runtime.autotuner.limits import Resources

pytestmark = pytest.mark.host


@st.jit
def block_of(out, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK != 13)
    tl.store(out, BLOCK)


def configs(*blocks):
    return [st.Config({"BLOCK": block}) for block in blocks]


class Bench:
    """A do_bench by which a smaller BLOCK is faster; a new one per test, that counts its calls."""

    def __init__(self, out):
        self.out = out
        self.blocks = []

    def __repr__(self):
        return "Bench"  # the same in every process

    def __call__(self, call, quantiles):
        call()
        self.blocks.append(int(self.out[0]))
        return [float(self.out[0])] * 3


@pytest.fixture
def out():
    return np.zeros(1, np.int32)


@pytest.fixture
def bench(out):
    return Bench(out)


def launch(blocks, bench, out, n=5, kernel=block_of, key=("n",), **options):
    """A new tuner's first launch, as in a new process; the block that was used."""
    tuner = st.autotune(configs(*blocks), key=list(key), do_bench=bench, **options)(kernel)
    out[0] = 0
    tuner[(1,)](out, n)
    return int(out[0]), tuner


# -- what is measured, and what is known --------------------------------------------------------------


def test_a_choice_is_remembered_by_key_and_on_disk(bench, out):
    chosen, tuner = launch((4, 2, 8), bench, out)
    assert chosen == 2 and bench.blocks == [4, 2, 8]
    assert tuner.best_config == tuner.configs[1]
    assert tuner.configs_timings == {c: [float(c.kwargs["BLOCK"])] * 3 for c in tuner.configs}
    assert list(tuner.cache.values()) == [tuner.configs[1]] and tuner.bench_time > 0
    tuner[(1,)](out, 5)
    assert len(bench.blocks) == 3
    tuner[(1,)](out, 6)
    assert len(bench.blocks) == 6
    tuner[(1,)](np.zeros(1, np.int64), 5)  # another dtype
    assert len(bench.blocks) == 9

    again, other = launch((4, 2, 8), bench, out)
    assert again == 2 and len(bench.blocks) == 9
    assert other.configs_timings == {c: [float(c.kwargs["BLOCK"])] * 3 for c in other.configs}
    assert other.tuning_report().seconds == 0.0 and other.bench_time == 0.0


def test_an_added_candidate_costs_one_run(bench, out):
    launch((4, 2, 8), bench, out)
    bench.blocks.clear()
    assert launch((4, 2, 8, 1), bench, out)[0] == 1
    assert bench.blocks == [1]
    assert launch((16, 4, 2, 8, 1), bench, out)[0] == 1
    assert bench.blocks == [1, 16]


def test_a_candidate_taken_away_costs_nothing(bench, out):
    launch((4, 2, 8), bench, out)
    bench.blocks.clear()
    assert launch((8, 4), bench, out)[0] == 4
    assert launch((8, 2), bench, out)[0] == 2
    assert bench.blocks == []


def test_an_added_candidate_runs_beside_the_champion(monkeypatch, out):
    """Times of another day do not compare: with our own clock the winner runs again."""
    raced = []
    original = session.Session._race

    def race(self, entrants):
        raced.append(sorted(c.config.kwargs["BLOCK"] for c in entrants))
        original(self, entrants)

    monkeypatch.setattr(session.Session, "_race", race)

    def tuned(*blocks):
        tuner = st.autotune(configs(*blocks), key=["n"], warmup=0, rep=1)(block_of)
        tuner[(1,)](out, 5)
        return tuner.best_config.kwargs["BLOCK"]

    champion = tuned(4, 2)
    tuned(4, 2, 8)
    assert raced == [[2, 4], sorted([champion, 8])]


def test_what_is_around_the_kernel_does_not_matter(tmp_path, bench, out):
    """A comment above it, its decorators, and another file of the same text leave it what it was."""
    text = "import sectile as st, sectile.language as tl\n{}\ndef k(out, n, BLOCK: tl.constexpr):\n    {}\n"

    def kernel(name, decorator, body):
        path = tmp_path / f"{name}.py"
        path.write_text(text.format(decorator, body))
        space = {}
        exec(compile(path.read_text(), str(path), "exec"), space)
        return space["k"]

    first = kernel("a", "@st.jit", "tl.store(out, BLOCK)")
    launch((4, 2), bench, out, kernel=first)
    assert len(bench.blocks) == 2
    launch(
        (4, 2),
        bench,
        out,
        kernel=kernel("b", "# quick\n\n@st.jit(version=2)", "tl.store(out, BLOCK)"),
    )
    assert len(bench.blocks) == 2
    launch((4, 2), bench, out, kernel=kernel("c", "@st.jit", "tl.store(out, BLOCK + 0)"))
    assert len(bench.blocks) == 4


def test_what_changes_the_code_or_the_times_is_part_of_the_name(monkeypatch, bench, out):
    launch((4, 2), bench, out)
    for change in ("build", "device", "check"):
        with monkeypatch.context() as patch:
            if change == "build":
                patch.setattr(identity._native, "build_id", lambda: "another")
            elif change == "device":
                patch.setattr(identity._native, "host_fingerprint", lambda: "another")
            else:
                patch.setenv("SECTILE_CHECK", "bounds")
            before = len(bench.blocks)
            launch((4, 2), bench, out)
            assert len(bench.blocks) == before + 2, change
            launch((4, 2), bench, out)
            assert len(bench.blocks) == before + 2, change
    before = len(bench.blocks)
    launch((4, 2), bench, out)
    assert len(bench.blocks) == before


def test_results_need_not_be_kept(bench, out, monkeypatch):
    launch((4, 2), bench, out, cache_results=False)
    launch((4, 2), bench, out, cache_results=False)
    assert len(bench.blocks) == 4
    for variable, value in (("SECTILE_TUNING_DIR", ""), ("SECTILE_CACHE_AUTOTUNING", "0")):
        with monkeypatch.context() as patch:
            patch.setenv(variable, value)
            before = len(bench.blocks)
            launch((4, 2), bench, out)
            launch((4, 2), bench, out)
            assert len(bench.blocks) == before + 4


def test_a_key_that_only_this_process_knows_is_kept_in_memory(bench, out):
    class Token:
        pass

    token = Token()
    tuner = st.autotune(configs(4, 2), key=["n", "token"], do_bench=bench)

    @st.jit
    def kernel(out, n, token: tl.constexpr, BLOCK: tl.constexpr):
        tl.store(out, BLOCK)

    tuner = tuner(kernel)
    tuner[(1,)](out, 5, token)
    tuner[(1,)](out, 5, token)
    assert len(bench.blocks) == 2
    assert not glob.glob(os.path.join(os.environ["SECTILE_TUNING_DIR"], "*.tuning"))


def test_damage_costs_what_it_hits(bench, out):
    launch((4, 2, 8), bench, out)
    (path,) = glob.glob(os.path.join(os.environ["SECTILE_TUNING_DIR"], "*.tuning"))
    with open(path, "rb") as file:
        lines = file.read().splitlines(keepends=True)
    line = next(i for i, text in enumerate(lines) if b'"result"' in text and b"BLOCK: 2" in text)
    bench.blocks.clear()
    with open(path, "wb") as file:  # a flipped bit in the winner's line; the choice stands
        file.write(
            b"".join(lines[:line] + [lines[line].replace(b"2.0", b"3.0")] + lines[line + 1 :])
        )
    chosen, tuner = launch((4, 2, 8), bench, out)
    assert chosen == 2 and bench.blocks == []
    assert tuner.tuning_report().damaged_lines == 1
    assert "1 damaged lines" in str(tuner.tuning_report())
    with open(path, "wb") as file:  # killed before the choice was written, and one line lost
        file.write(b"".join(lines[:line] + lines[line + 1 : -1]))
    assert launch((4, 2, 8), bench, out)[0] == 2
    assert bench.blocks == [2]
    with open(path, "wb") as file:
        file.write(os.urandom(1000))
    assert launch((4, 2, 8), bench, out)[0] == 2
    assert bench.blocks == [2, 4, 2, 8]


# -- modes --------------------------------------------------------------------------------------------


def test_frozen(monkeypatch, bench, out):
    monkeypatch.setenv("SECTILE_AUTOTUNE", "frozen")
    with pytest.raises(
        st.TuningError, match=r"tuning of block_of for \(5, 'int32'\): nothing is known"
    ):
        launch((4, 2), bench, out)
    assert bench.blocks == []
    monkeypatch.setenv("SECTILE_AUTOTUNE", "on")
    launch((4, 2), bench, out)
    monkeypatch.setenv("SECTILE_AUTOTUNE", "frozen")
    assert launch((4, 2), bench, out)[0] == 2
    assert launch((4, 2, 1), bench, out)[0] == 2  # a new candidate is not measured
    assert launch((8, 4), bench, out)[0] == 4  # nor one that was never measured beside a known one
    with pytest.raises(st.TuningError, match="SECTILE_AUTOTUNE is frozen"):
        launch((16, 8), bench, out)
    with pytest.raises(st.TuningError):
        launch((4, 2), bench, out, n=6)
    assert len(bench.blocks) == 2


def test_off(monkeypatch, bench, out):
    monkeypatch.setenv("SECTILE_AUTOTUNE", "off")
    assert launch((13, 4, 2), bench, out)[0] == 4  # 13 does not compile
    assert bench.blocks == []
    with pytest.raises(st.CompilationError, match="static assertion failed"):
        launch((13, 13), bench, out)
    monkeypatch.delenv("SECTILE_AUTOTUNE")
    launch((4, 2), bench, out)
    monkeypatch.setenv("SECTILE_AUTOTUNE", "off")
    assert launch((4, 2), bench, out)[0] == 2


def test_force(monkeypatch, bench, out):
    launch((4, 2), bench, out)
    monkeypatch.setenv("SECTILE_AUTOTUNE", "force")
    _, tuner = launch((4, 2), bench, out)
    assert bench.blocks == [4, 2, 4, 2]
    tuner[(1,)](out, 5)
    assert len(bench.blocks) == 4  # once a process


def test_a_wrong_mode(monkeypatch, bench, out):
    monkeypatch.setenv("SECTILE_AUTOTUNE", "frozn")
    with pytest.raises(ValueError, match="did you mean 'frozen'"):
        launch((4, 2), bench, out)


def test_capture_of_a_graph(monkeypatch, bench, out):
    with monkeypatch.context() as patch:
        patch.setattr(identity, "is_capturing", lambda device, stream: True)
        with pytest.raises(
            st.TuningError, match="captured into a CUDA graph\n  help: launch it once"
        ):
            launch((4, 2), bench, out)
        assert bench.blocks == []
    launch((4, 2), bench, out)
    monkeypatch.setattr(identity, "is_capturing", lambda device, stream: True)
    assert launch((4, 2), bench, out)[0] == 2  # what is known is used


def test_who_is_asked_about_capture(monkeypatch):
    def cuda(capturing, initialized=True):
        return types.SimpleNamespace(
            cuda=types.SimpleNamespace(
                is_initialized=lambda: initialized, is_current_stream_capturing=lambda: capturing
            )
        )

    gpu = identity.Device("cuda", 0, "gpu", "gpu", {})
    cpu = identity.Device("cpu", 0, "cpu", "cpu", {})
    monkeypatch.setitem(sys.modules, "torch", cuda(True))
    assert identity.is_capturing(gpu) and not identity.is_capturing(cpu)
    monkeypatch.setitem(sys.modules, "torch", cuda(True, initialized=False))
    assert not identity.is_capturing(gpu)
    monkeypatch.setitem(sys.modules, "torch", cuda(False))
    assert not identity.is_capturing(gpu)
    assert identity.is_capturing(gpu, types.SimpleNamespace(is_capturing=lambda: True))


# -- candidates that fail -----------------------------------------------------------------------------


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
    tuner = st.autotune(configs(8, 2, 16), key=["n"], warmup=0, rep=1)(kernel)
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
    with pytest.raises(st.OutOfResources, match="(?s)none of the 2 configurations.*BLOCK: 13"):
        launch((13, 13), bench, out)
    assert bench.blocks == []


def test_all_fail_at_run_time_with_the_error_of_the_first(out):
    kernel = st.JITFunction(sometimes_wrong.fn, debug=True)
    tuner = st.autotune([*configs(8), st.Config({"BLOCK": 8}, num_warps=8)], key=["n"])(kernel)
    with pytest.raises(st.DeviceAssertionError, match="too large"):
        tuner[(1,)](out, 5)


def test_a_wrong_call_says_so(out):
    tuner = st.autotune(configs(4, 2), key=["n"])(block_of)
    with pytest.raises(st.ArgumentError, match="unknown argument 'm'"):
        tuner[(1,)](out, 5, m=3)
    with pytest.raises(ValueError, match="BLOCK is both passed and set by the configurations"):
        tuner[(1,)](out, 5, BLOCK=4)


def test_a_do_bench_that_gives_no_number(out):
    tuner = st.autotune(configs(4, 2), key=["n"], do_bench=lambda call, quantiles: float("inf"))(
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

        tuner = st.autotune(configs(4, 2), key=["n"], do_bench=bench)(block_of)
        tuner[(1,)](out, 5)
    assert out[0] == 2


# -- pruning, orders, budgets -------------------------------------------------------------------------


def test_prune(bench, out):
    seen = []

    def early(configs, arguments, **meta):
        seen.append((arguments["n"], meta))
        return [c for c in configs if c.kwargs["BLOCK"] != 2]

    prune = {"early_config_prune": early}
    assert launch((4, 2, 8), bench, out, prune_configs_by=prune)[0] == 4
    assert bench.blocks == [4, 8] and seen == [(5, {})]
    with pytest.raises(ValueError, match="early_config_prune left no configuration"):
        launch((4, 2), bench, out, prune_configs_by={"early_config_prune": lambda c, a: []})
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
        st.autotune(configs(1, 2), key=[], prune_configs_by={"early_prune": None})(block_of)
    with pytest.raises(TypeError, match="top_k is 1.5"):
        launch((1, 2), bench, out, prune_configs_by={"perf_model": lambda **_: 1, "top_k": 1.5})


def test_a_space_with_a_budget(bench, out, monkeypatch):
    monkeypatch.setenv("SECTILE_TUNING_THREADS", "1")
    space = st.Space(BLOCK=list(range(1, 41)), num_warps=[1, 2])

    def cost(config, programs, resources, device):
        assert programs == 1 and resources.threads == 1 and device.kind == "cpu"
        return abs(config.kwargs["BLOCK"] - 30)

    tuner = st.autotune(space, key=["n"], do_bench=bench, budget=0.0, cost_model=cost)(block_of)
    tuner[(1,)](out, 5)
    assert len(bench.blocks) == 1 and bench.blocks[0] == 30  # the likeliest, and then it is over
    report = tuner.tuning_report()
    assert report.count("not tried") == 79 and "79 not tried" in str(report)

    bench.blocks.clear()
    again = st.autotune(space, key=["n"], do_bench=bench, budget=0.0, cost_model=cost)(block_of)
    again[(1,)](out, 5)
    assert bench.blocks == []  # the budget was used up: the choice stands

    # With time for it, all; the candidate that is excluded costs nothing.
    tuner = st.autotune(space, key=["n"], do_bench=bench, budget=600, cost_model=cost)(block_of)
    tuner[(1,)](out, 6)
    assert sorted(bench.blocks) == sorted(2 * [b for b in range(1, 41) if b != 13])
    assert tuner.best_config.kwargs["BLOCK"] == 1


def test_the_budget_of_the_environment(bench, out, monkeypatch):
    monkeypatch.setenv("SECTILE_TUNING_BUDGET", "0")
    _, tuner = launch(range(1, 13), bench, out)
    assert len(bench.blocks) == 1


# -- arrays and hooks ---------------------------------------------------------------------------------


@st.jit
def accumulate(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
    tl.store(y + i, tl.load(y + i, mask=i < n) + 1, mask=i < n)


def tricky(n):
    """NaNs with payloads, infinities, both zeros, denormals."""
    bits = np.random.default_rng(0).integers(0, 2**32, n, dtype=np.uint32)
    bits[:6] = [0x7FC00001, 0xFF812345, 0x7F800000, 0x80000000, 0, 1]
    return bits.view(np.float32)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_arrays_are_restored_bit_for_bit(library):
    n = 1000
    start = tricky(n)
    x, y = start.copy(), np.ones(n, np.float32)
    if library == "torch":
        torch = pytest.importorskip("torch")
        x, y = torch.from_numpy(x), torch.from_numpy(y)
        x.requires_grad_()
    held = []

    def as_numpy(array):
        return array.detach().numpy() if library == "torch" else array

    def hook(arguments, reset_only=False):
        held.append((as_numpy(arguments["x"]).copy(), reset_only))

    tuner = st.autotune(
        configs(16, 64, 256), key=["n"], restore_value=["x"], reset_to_zero=["y"], pre_hook=hook,
        warmup=1, rep=2,
    )(accumulate)  # fmt: skip
    tuner[lambda meta: (st.cdiv(n, meta["BLOCK"]),)](x, y, n)
    assert len(held) > 9 and [only for _, only in held] == [False] * (len(held) - 1) + [True]
    for seen, _ in held:
        assert (seen.view(np.uint32) == start.view(np.uint32)).all()
    with np.errstate(all="ignore"):
        expected = start + start
    np.testing.assert_array_equal(as_numpy(x), expected)  # once, on what was there before
    assert (as_numpy(y) == 1).all()  # zeroed after the last run, then once


def test_arrays_are_restored_after_failures(out):
    @st.jit
    def kernel(x, n, BLOCK: tl.constexpr):
        tl.store(x, tl.load(x) + BLOCK)
        tl.device_assert(BLOCK == 2, "no")

    kernel = st.JITFunction(kernel.fn, debug=True)
    errors = []
    tuner = st.autotune(
        configs(2, 4), key=["n"], restore_value=["x"], warmup=0, rep=1,
        post_hook=lambda arguments, exception: errors.append(exception),
    )(kernel)  # fmt: skip
    out[0] = 100
    with pytest.warns(st.TuningWarning):
        tuner[(1,)](out, 5)
    assert out[0] == 102
    assert sum(error is not None for error in errors) == 1 and len(errors) > 3
    out[0] = 100
    tuner = st.autotune(configs(4, 8), key=["n"], restore_value=["x"], warmup=0, rep=1)(kernel)
    with pytest.raises(st.DeviceAssertionError):
        tuner[(1,)](out, 5)
    assert out[0] == 100


def test_views_and_missing_arrays():
    """A transposed, sliced array is restored in place; None is no array."""
    base = np.arange(400, dtype=np.float32).reshape(20, 20)
    before = base.copy()
    view = base.T[::2, 3:9]

    @st.jit
    def kernel(x, y, n, BLOCK: tl.constexpr):
        tl.store(x, tl.load(x) + 1)
        if y is not None:
            tl.store(y, 0.0)

    tuner = st.autotune(
        configs(2, 4), key=["n"], restore_value=["x", "y"], reset_to_zero=["y"], warmup=0, rep=1
    )(kernel)
    tuner[(1,)](view, None, 5)
    before.T[::2, 3:9][0, 0] += 1
    assert (base == before).all()


def test_an_array_read_as_another_dtype_is_restored():
    raw = np.arange(8, dtype=np.int32)

    @st.jit
    def kernel(x, n, BLOCK: tl.constexpr):
        tl.store(x, tl.load(x) + 1)

    tuner = st.autotune(configs(2, 4), key=["n"], restore_value=["x"], warmup=0, rep=1)(kernel)
    tuner[(1,)](st.reinterpret(raw, tl.uint32), 5)
    assert raw.tolist() == [1, 1, 2, 3, 4, 5, 6, 7]


def test_what_is_known_touches_nothing(bench):
    def tuner():
        return st.autotune(configs(16, 64), key=["n"], reset_to_zero=["y"], do_bench=bench)(
            accumulate
        )

    bench.out = np.zeros(1)
    grid = lambda meta: (st.cdiv(10, meta["BLOCK"]),)  # noqa: E731
    x, y = np.zeros(10, np.float32), np.full(10, 5, np.float32)
    tuner()[grid](x, y, 10)
    assert (y == 1).all()
    y[:] = 5
    tuner()[grid](x, y, 10)
    assert (y == 6).all()


def test_hooks_of_configurations(bench, out):
    calls = []

    def hooked(block):
        return st.Config({"BLOCK": block}, pre_hook=lambda args: calls.append(args["BLOCK"]))

    tuner = st.autotune([hooked(4), hooked(2)], key=["n"], do_bench=bench)(block_of)
    tuner[(1,)](out, 5)
    assert calls == [4, 2, 2]  # each run, and the launch
    tuner[(1,)](out, 5)
    assert calls == [4, 2, 2, 2]


def test_a_hook_may_make_the_candidate_what_it_is(out):
    """Compiled ahead without its hook this candidate fails; with it, it runs."""

    class Shape:
        def __init__(self):
            self.size = 3  # no tile has this

        def __repr__(self):
            return f"Shape({self.size})"

    @st.jit
    def kernel(out, n, shape: tl.constexpr, BLOCK: tl.constexpr):
        tl.static_assert(shape.size == BLOCK)
        tl.store(out, BLOCK)

    def hook(args):
        args["shape"].size = args["BLOCK"]

    candidates = [st.Config({"BLOCK": block}, pre_hook=hook) for block in (4, 2)]
    tuner = st.autotune(candidates, key=["n"], warmup=0, rep=1)(kernel)
    tuner[(1,)](out, 5, Shape())
    assert out[0] in (2, 4)
    assert tuner.tuning_report().count("best", "ok", "rejected") == 2


# -- the rest of the interface ------------------------------------------------------------------------


def test_wrong_names():
    for option in ("reset_to_zero", "restore_value"):
        with pytest.raises(ValueError, match=f"{option} names 'outt', .* did you mean 'out'"):
            st.autotune(configs(1), key=["n"], **{option: ["outt"]})(block_of)
    with pytest.raises(ValueError, match="key names 'm', which is no parameter"):
        st.autotune(configs(1), key=["m"])(block_of)


def test_warmup_compiles_all_and_runs_none(out):
    tuner = st.autotune(configs(2, 13, 4), key=["n"])(block_of)
    compiled = tuner.warmup(out, 5, grid=(1,))
    assert len(compiled) == 2 and out[0] == 0 and not tuner.cache
    assert len(tuner.warmup(st.MockTensor(tl.int32), 5)) == 2
    with pytest.raises(st.CompilationError, match="static assertion"):
        st.autotune(configs(13, 13), key=["n"])(block_of).warmup(out, 5, grid=(1,))


def test_heuristics_below_and_above(bench, out):
    @st.jit
    def kernel(out, n, BLOCK: tl.constexpr, TWICE: tl.constexpr):
        tl.store(out, BLOCK + TWICE)

    values = {"TWICE": lambda args: 2 * args["n"]}
    below = st.autotune(configs(4, 2), key=["n"], do_bench=bench)(st.heuristics(values)(kernel))
    below[(1,)](out, 50)
    assert out[0] == 102 and bench.blocks == [104, 102]
    above = st.heuristics(values)(st.autotune(configs(4, 2), key=["n"], do_bench=bench)(kernel))
    above[(1,)](out, 60)
    assert out[0] == 122
    assert len(above.warmup(out, 60, grid=(1,))) == 2
    # Constants computed otherwise are another kernel.
    other = {"TWICE": lambda args: 3 * args["n"]}
    count = len(bench.blocks)
    st.autotune(configs(4, 2), key=["n"], do_bench=bench)(st.heuristics(other)(kernel))[(1,)](
        out, 50
    )
    assert out[0] == 152 and len(bench.blocks) == count + 2


def test_the_listener(bench, out, monkeypatch):
    heard = []
    st.knobs.autotuning.listener = lambda **event: heard.append(event)
    try:
        launch((4, 2), bench, out)
        launch((4, 2), bench, out)
    finally:
        st.knobs.autotuning.listener = None
    first, second = heard
    assert first["fn"] is block_of and first["best_config"].kwargs == {"BLOCK": 2}
    assert first["key"][:2] == (5, "int32") and not first["cache_hit"] and first["duration"] > 0
    assert second["cache_hit"] and second["duration"] is None
    assert second["configs_timings"] == first["configs_timings"]


def test_printing(bench, out, monkeypatch, capsys):
    monkeypatch.setenv("SECTILE_PRINT_AUTOTUNING", "1")
    launch((4, 2), bench, out)
    assert "autotuning block_of for (5, 'int32'" in capsys.readouterr().out


def test_the_report(bench, out, tmp_path):
    _, tuner = launch((4, 2, 13, 8), bench, out)
    report = tuner.tuning_report()
    text = str(report)
    assert text.splitlines()[0].startswith("block_of (5, 'int32') on ")
    assert "3 measured (3 of them to the end), 1 excluded" in text
    ranked = [line for line in text.splitlines() if "█" in line]
    assert [line.split("BLOCK: ")[1][0] for line in ranked] == ["2", "4", "8"]
    assert [line.count("█") for line in ranked] == [24, 12, 6]
    assert "static assertion failed" in text
    assert report.best.config is tuner.best_config and report.best.milliseconds == 2.0
    with pytest.raises(st.TuningError, match="nothing was tuned in this process for"):
        tuner.tuning_report(("x",))
    with pytest.raises(st.TuningError, match="nothing was tuned in this process\n"):
        st.autotune(configs(4, 2), key=["n"])(block_of).tuning_report()
    assert tuner.tuning_report(next(iter(tuner.cache))) is report
    pytest.importorskip("matplotlib")
    report.save(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes()[:4] == b"\x89PNG"


def test_the_report_without_matplotlib(bench, out, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    _, tuner = launch((4, 2), bench, out)
    with pytest.raises(ImportError, match="matplotlib is not installed\n  help:"):
        tuner.tuning_report().save(tmp_path / "plot.png")


def test_candidates_are_compiled_in_parallel(monkeypatch, bench, out):
    import threading

    monkeypatch.setenv("SECTILE_TUNING_THREADS", "3")
    inside = threading.Barrier(3, timeout=60)  # passes only if three compile at once
    compile = session.Runner.compile

    def together(self, config):
        inside.wait()
        return compile(self, config)

    monkeypatch.setattr(session.Runner, "compile", together)
    launch((4, 2, 8), bench, out)
    assert len(bench.blocks) == 3


def test_threads_tune_once(bench, out):
    import threading

    tuner = st.autotune(configs(4, 2), key=["n"], do_bench=bench)(block_of)
    threads = [threading.Thread(target=lambda: tuner[(1,)](out, 5)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(bench.blocks) == 2


def test_excluded_by_the_device_before_it_is_compiled(monkeypatch, bench, out):
    compiled = []
    compile = session.Runner.compile
    monkeypatch.setattr(
        session.Runner,
        "compile",
        lambda self, c: (compiled.append(c.num_warps), compile(self, c))[1],
    )
    monkeypatch.setattr(
        session, "reason_before_compiling", lambda c, device: "too many" if c.num_warps > 32 else ""
    )
    monkeypatch.setattr(
        session.Resources,
        "of",
        lambda compiled: Resources(threads=32 * compiled.metadata.num_warps),
    )
    monkeypatch.setattr(
        session,
        "reason_after_compiling",
        lambda used, device: "too large" if used.threads > 256 else "",
    )
    candidates = [st.Config({"BLOCK": b}, num_warps=w) for b, w in ((2, 64), (4, 16), (8, 8))]
    tuner = st.autotune(candidates, key=["n"], do_bench=bench)(block_of)
    tuner[(1,)](out, 5)
    assert sorted(compiled) == [8, 16] and bench.blocks == [8]
    rows = tuner.tuning_report().rows
    assert [(row.status, row.reason) for row in rows[:2]] == [
        ("excluded", "too many"), ("excluded", "too large")
    ]  # fmt: skip
