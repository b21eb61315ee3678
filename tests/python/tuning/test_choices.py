"""What is measured, what is known, and what the modes say of it."""

import glob
import os
import sys
import types

import numpy as np
import pytest
from tuning_support import autotune, block_of, configs, launch

import sectile as st
import sectile.language as tl
from sectile.runtime.autotuner import identity, session

pytestmark = pytest.mark.host


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
        return original(self, entrants)

    monkeypatch.setattr(session.Session, "_race", race)

    def tuned(*blocks):
        tuner = autotune(configs(*blocks), key=["n"], warmup=0, rep=1)(block_of)
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
    tuner = autotune(configs(4, 2), key=["n", "token"], do_bench=bench)

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


def test_later_launches_take_what_was_chosen_for_their_key(bench, out):
    blocks, tuner = launch([16, 32], bench, out)
    measured = len(bench.blocks)
    tuner[(1,)](out, 5)
    tuner[(1,)](out, n=5)
    tuner[(1,)](out=out, n=5)
    assert len(bench.blocks) == measured and tuner.best_config.kwargs == {"BLOCK": 16}
    other = {key: config for key, config in tuner.cache.items()}
    tuner[(1,)](out, 7)  # another key
    assert len(bench.blocks) > measured and len(tuner.cache) == len(other) + 1
    measured = len(bench.blocks)
    tuner[(1,)](out.astype(np.int64), 5)  # another dtype
    assert len(tuner.cache) == len(other) + 2
    # What is put into the cache by hand is used at once.
    for key in other:
        tuner.cache[key] = tuner.configs[1]
    tuner[(1,)](out, 5)
    assert out[0] == 32 and tuner.best_config.kwargs == {"BLOCK": 32}


def test_arrays_read_as_another_dtype_have_the_place_of_their_own(bench, out):
    _, tuner = launch([16, 32], bench, out)

    def key(place):
        base = types.SimpleNamespace(device=place)
        return tuner._quick_key((st.reinterpret(base, tl.int32), 5), {})

    assert key("cuda:0") == key("cuda:0") != key("cuda:1")


def test_an_array_known_by_its_address_alone_is_where_its_memory_is(bench, out, monkeypatch):
    monkeypatch.setattr(identity._native, "device_of", lambda address: address // 4096 - 1)
    _, tuner = launch([16, 32], bench, out)

    def array(address, **fields):
        interface = {"shape": (4,), "typestr": "<f4", "data": (address, False), "version": 3}
        return types.SimpleNamespace(
            dtype=np.dtype("f4"), __cuda_array_interface__=interface, **fields
        )

    places = [identity.place_of({"x": array(address)}) for address in (4096, 8192, 0, 16)]
    assert places == [("gpu", 0), ("gpu", 1), ("gpu", 0), ("gpu", 0)]
    cupy = array(4096, device=types.SimpleNamespace(id=1))
    assert identity.place_of({"x": cupy}) == ("gpu", 1)
    keys = [tuner._quick_key((array(address), 5), {}) for address in (4096, 4100, 8192)]
    assert keys[0] == keys[1] != keys[2]
    wrapped = [
        tuner._quick_key((st.reinterpret(array(address), tl.int32), 5), {})
        for address in (4096, 8192)
    ]
    assert wrapped[0] != wrapped[1]
