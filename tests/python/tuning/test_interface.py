"""The rest of what tuners offer: warm-up, heuristics, listeners, reports, threads."""

import sys
import threading

import pytest
from tuning_support import block_of, configs, launch

import sectile as st
import sectile.language as tl
from sectile.runtime.autotuner import session
from sectile.runtime.autotuner.limits import Resources

pytestmark = pytest.mark.host


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
