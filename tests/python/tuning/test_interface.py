"""The rest of what tuners offer: warm-up, heuristics, listeners, reports, threads."""

import sys
import threading

import numpy as np
import pytest
from tuning_support import autotune, block_of, configs, launch

import sectile as st
import sectile.language as tl
from sectile.runtime.autotuner import race, session
from sectile.runtime.autotuner.config import distinct_texts
from sectile.runtime.autotuner.limits import Resources

pytestmark = pytest.mark.host


def test_wrong_names():
    for option in ("reset_to_zero", "restore_value"):
        with pytest.raises(ValueError, match=f"{option} names 'outt', .* did you mean 'out'"):
            autotune(configs(1), key=["n"], **{option: ["outt"]})(block_of)


def test_keys_that_are_no_parameters_are_ignored(bench, out):
    with pytest.warns(st.TuningWarning, match="key names 'm', which is no parameter") as warned:
        tuner = autotune(configs(4, 2), key=["m", "n"], do_bench=bench)(block_of)
    assert warned[0].filename == __file__
    # No parameter has anything in common with 'm': all are named, instead of one by chance.
    assert str(warned[0].message).endswith("of the kernel; there are 'out', 'n', 'BLOCK'")
    tuner[(1,)](out, 5)
    tuner[(1,)](out, 5)
    assert [key[:2] for key in tuner.cache] == [(5, "int32")] and out[0] == 2


class OwnSearch(st.runtime.Autotuner):
    """As libraries have them: a cache of their own, a search of their own."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__name__ = "own_" + self.base_fn.__name__
        self.cache = {}
        self.timings = {}

    def run(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        key = tuple(self.nargs[name] for name in self.keys)
        if key not in self.cache:
            for config in self.prune_configs(kwargs):
                self.timings[config] = self._bench(*args, config=config, **kwargs)
            self.cache[key] = min(self.timings, key=self.timings.__getitem__)
            self.pre_hook({**self.nargs, **kwargs}, reset_only=True)
        self.best_config = self.cache[key]
        return self.fn.run(*args, **kwargs, **self.best_config.all_kwargs())


def test_subclasses_with_a_search_of_their_own(bench, out):
    seen = []

    def prune(configs, named_args, **kwargs):
        seen.append((sorted(named_args), sorted(kwargs)))
        return configs[1:]

    tuner = OwnSearch(
        block_of, block_of.arg_names, configs(1, 4, 2, 13), ["n"], ["out"], None, None, None,
        {"early_config_prune": prune}, None, None, False, bench,
    )  # fmt: skip
    assert tuner.__name__ == "own_block_of" and not tuner.user_defined_pre_hook
    assert not tuner.user_defined_post_hook
    tuner[(1,)](out, 5)
    assert out[0] == 2 and bench.blocks == [4, 2]
    assert seen == [(["n", "out"], ["grid", "warmup"])]
    assert [times[0] for times in tuner.timings.values()] == [4, 2, float("inf")]
    assert tuner.best_config.kwargs == {"BLOCK": 2}


def test_benching_without_a_bench_of_ones_own(out):
    tuner = OwnSearch(block_of, block_of.arg_names, configs(4), ["n"], None, ["out"])
    tuner.num_warmups = tuner.num_reps = 1
    times = tuner._bench(out, 5, config=tuner.configs[0], grid=(1,))
    assert len(times) == 3 and times[1] <= times[0] <= times[2] < float("inf")
    assert out[0] == 0  # put back


def test_configurations_from_outside(bench, out):
    class Known(st.runtime.Autotuner):
        def run(self, *args, **kwargs):
            self.cache.setdefault((args[1], "int32"), self.configs[0])
            return super().run(*args, **kwargs)

    tuner = Known(block_of, block_of.arg_names, configs(4, 2), ["n"], do_bench=bench)
    tuner[(1,)](out, 5)
    assert out[0] == 4 and bench.blocks == []


def test_warmup_compiles_all_and_runs_none(out):
    tuner = autotune(configs(2, 13, 4), key=["n"])(block_of)
    compiled = tuner.warmup(out, 5, grid=(1,))
    assert len(compiled) == 2 and out[0] == 0 and not tuner.cache
    assert len(tuner.warmup(st.MockTensor(tl.int32), 5)) == 2
    with pytest.raises(st.CompilationError, match="static assertion"):
        autotune(configs(13, 13), key=["n"])(block_of).warmup(out, 5, grid=(1,))


def test_heuristics_below_and_above(bench, out):
    @st.jit
    def kernel(out, n, BLOCK: tl.constexpr, TWICE: tl.constexpr):
        tl.store(out, BLOCK + TWICE)

    values = {"TWICE": lambda args: 2 * args["n"]}
    below = autotune(configs(4, 2), key=["n"], do_bench=bench)(st.heuristics(values)(kernel))
    below[lambda meta: (meta["TWICE"] // 100,)](out, 50)  # grids see what heuristics compute
    assert out[0] == 102 and bench.blocks == [104, 102]
    above = st.heuristics(values)(autotune(configs(4, 2), key=["n"], do_bench=bench)(kernel))
    above[(1,)](out, 60)
    assert out[0] == 122
    assert len(above.warmup(out, 60, grid=(1,))) == 2
    # Constants computed otherwise are another kernel.
    other = {"TWICE": lambda args: 3 * args["n"]}
    count = len(bench.blocks)
    autotune(configs(4, 2), key=["n"], do_bench=bench)(st.heuristics(other)(kernel))[(1,)](out, 50)
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
    assert "3 measured, 1 excluded" in text
    ranked = [line for line in text.splitlines() if "█" in line]
    assert [line.split("BLOCK: ")[1][0] for line in ranked] == ["2", "4", "8"]
    assert [line.count("█") for line in ranked] == [24, 12, 6]
    assert "static assertion failed" in text
    assert report.best.config is tuner.best_config and report.best.milliseconds == 2.0
    with pytest.raises(st.TuningError, match="nothing was tuned in this process for"):
        tuner.tuning_report(("x",))
    with pytest.raises(st.TuningError, match="nothing was tuned in this process\n"):
        autotune(configs(4, 2), key=["n"])(block_of).tuning_report()
    assert tuner.tuning_report(next(iter(tuner.cache))) is report
    pytest.importorskip("matplotlib")
    report.save(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes()[:4] == b"\x89PNG"


def test_the_report_says_what_was_rejected(monkeypatch, out):
    monkeypatch.setattr(
        race, "is_beaten", lambda samples, best: len(samples) > 2 and samples[0] > best
    )
    tuner = autotune(configs(4, 2, 8), key=["n"], warmup=0, rep=1)(block_of)
    tuner[(1,)](out, 5)
    report = tuner.tuning_report()
    slower = report.count("rejected")
    text = f"3 measured ({slower} of them until clearly slower), in" if slower else "3 measured, in"
    assert text in str(report)


def test_the_report_of_what_was_not_measured(monkeypatch, out):
    monkeypatch.setenv("SECTILE_AUTOTUNE", "off")
    tuner = autotune(configs(4, 2), key=["n"])(block_of)
    tuner[(1,)](out, 5)
    text = str(tuner.tuning_report())
    assert "nothing was measured: SECTILE_AUTOTUNE=off takes the first that compiles" in text
    assert "from disk" not in text and "0 measured" not in text


def test_on_the_cpu_options_of_gpus_are_no_news(bench, out):
    _, tuner = launch((4, 2), bench, out)
    assert "num_" not in str(tuner.tuning_report())
    both = [st.Config({"BLOCK": 4}, num_warps=1), st.Config({"BLOCK": 2}, num_warps=2)]
    assert distinct_texts(both, "cpu") == ("", {both[0]: "BLOCK: 4", both[1]: "BLOCK: 2"})
    assert distinct_texts(both, "cuda") == (
        "num_stages: 3, num_ctas: 1",
        {both[0]: "BLOCK: 4, num_warps: 1", both[1]: "BLOCK: 2, num_warps: 2"},
    )
    # Where nothing else tells two of them apart, they are named.
    same = [st.Config({"BLOCK": 4}, num_warps=1), st.Config({"BLOCK": 4}, num_warps=2)]
    assert distinct_texts(same, "cpu") == (
        "BLOCK: 4",
        {same[0]: "num_warps: 1", same[1]: "num_warps: 2"},
    )


def test_what_a_kernel_without_a_tuner_says():
    for name in ("best_config", "tuning_report", "configs_timings", "bench_time"):
        with pytest.raises(
            AttributeError, match=f"block_of is not tuned and has no {name}: put @st.autotune"
        ):
            getattr(block_of, name)
        assert not hasattr(block_of, name)
    with pytest.raises(AttributeError, match="'JITFunction' object has no attribute 'best'"):
        block_of.best


def test_heuristics_above_a_tuner_have_what_it_has(bench, out):
    tuner = autotune(configs(4, 2), key=["n"], do_bench=bench)(block_of)
    above = st.heuristics({})(tuner)
    above[(1,)](out, 5)
    assert above.best_config is tuner.best_config
    assert above.tuning_report() is tuner.tuning_report()
    with pytest.raises(AttributeError, match="block_of is not tuned"):
        st.heuristics({})(block_of).best_config
    with pytest.raises(AttributeError, match="'Heuristics' object has no attribute 'best'"):
        above.best


def test_the_report_without_matplotlib(bench, out, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    _, tuner = launch((4, 2), bench, out)
    with pytest.raises(ImportError, match="matplotlib is not installed\n  help:"):
        tuner.tuning_report().save(tmp_path / "plot.png")


def test_candidates_are_compiled_in_parallel(monkeypatch, bench, out):
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
    tuner = autotune(configs(4, 2), key=["n"], do_bench=bench)(block_of)
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
    tuner = autotune(candidates, key=["n"], do_bench=bench)(block_of)
    tuner[(1,)](out, 5)
    assert sorted(compiled) == [8, 16] and bench.blocks == [8]
    rows = tuner.tuning_report().rows
    assert [(row.status, row.reason) for row in rows[:2]] == [
        ("excluded", "too many"), ("excluded", "too large")
    ]  # fmt: skip


def test_what_is_no_kernel_or_no_configuration_is_said_where_it_is_written():
    @st.jit
    def kernel(out, BLOCK: tl.constexpr):
        tl.store(out, BLOCK)

    def plain(out, BLOCK):
        pass

    one = [st.Config({"BLOCK": 4})]
    wrong = [
        (lambda: st.autotune(one, key=[])(plain), "autotune: expected a kernel, got function 'plain'", "put @st.jit below"),
        (lambda: st.heuristics({})(plain), "heuristics: expected a kernel, got function 'plain'", "put @st.jit below"),
        (lambda: st.jit(st.autotune(one, key=[])(kernel)), "expected a Python function, got an Autotuner", "@st.jit below"),
        (lambda: st.autotune([{"BLOCK": 4}], key=[])(kernel), "found {'BLOCK': 4} in it", "st.Config("),
        (lambda: st.Config("BLOCK=64"), "Config: expected a dictionary of constants", "st.Config("),
        (lambda: st.autotune(one, key="columns")(kernel), "key is a list of parameters", "key=['columns']"),
        (lambda: st.heuristics({"BLOCK": 4})(kernel), "heuristics: BLOCK is 4, not a function", "lambda args"),
        (lambda: st.next_power_of_2(3.5), "next_power_of_2: n is 3.5, not an integer", ""),
    ]  # fmt: skip
    for call, message, help in wrong:
        with pytest.raises(TypeError) as raised:
            call()
        assert message in str(raised.value) and help in str(raised.value)
    heuristic = st.heuristics({"BLOCK": lambda args: args["N"]})(kernel)
    with pytest.raises(
        st.ArgumentError, match="the heuristic of BLOCK asks for 'N', which the launch does not"
    ):
        heuristic[(1,)](np.zeros(1, np.int32))


@pytest.mark.parametrize("number", ["-3", "x"])
def test_a_wrong_number_of_threads_stops_no_tuning(monkeypatch, number, out):
    monkeypatch.setenv("SECTILE_NUM_THREADS", number)
    tuner = st.autotune([st.Config({"BLOCK": b}) for b in (2, 4)], key=["n"])(block_of)
    tuner[(1,)](out, 5)
    assert tuner.best_config is not None
