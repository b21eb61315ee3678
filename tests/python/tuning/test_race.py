"""Timing candidates in turn: who leaves, who wins, what is reported."""

import random

import pytest

import sectile._native as native
import sectile.runtime.autotuner.race as module
from sectile.runtime.autotuner import Config
from sectile.runtime.autotuner.race import GpuClock, HostClock, Race, Racer, first_runs, is_beaten

pytestmark = pytest.mark.host


class FakeClock:
    """Gives each run of a configuration the time that `times` makes up for it."""

    def __init__(self, times):
        self.times = times
        self.rounds = []

    def time_round(self, turns):
        self.rounds.append([racer.config.kwargs["I"] for racer in turns])
        for racer in turns:
            if racer.status != "running":
                continue
            try:
                racer.samples.append(self.times(racer.config.kwargs["I"]))
            except RuntimeError as error:
                racer.fail(error)

    def settle(self):
        pass


def race(times, count, **options):
    racers = [Racer(Config({"I": i})) for i in range(count)]
    clock = FakeClock(times)
    results, rounds = [], []
    Race(racers, clock, warmup=0, **options).run(rounds.append, results.append)
    assert sorted(id(r) for r in results) == sorted(id(r) for r in racers)  # each once
    return racers, clock, rounds


def winner(racers):
    return min((r for r in racers if r.status == "finished"), key=lambda r: r.median)


def test_the_fastest_wins_in_spite_of_noise():
    for seed in range(20):
        noise = random.Random(seed)

        def times(i):
            base = 1.0 + 0.05 * ((i * 7) % 16)  # number 0 is the fastest, by 5 %
            spike = 8.0 if noise.random() < 0.1 else 0.0
            return base * noise.uniform(1.0, 1.03) + spike

        racers, _, _ = race(times, 16)
        assert winner(racers).config.kwargs["I"] == 0, seed
        assert sum(r.status == "rejected" for r in racers) >= 12


def test_losers_run_less():
    racers, _, _ = race(lambda i: 1.0 + i, 8)
    assert [r.status for r in racers] == ["finished"] + ["rejected"] * 7
    assert all(len(r.samples) == 4 for r in racers[1:])
    slow, _, _ = race(lambda i: 100.0 * (1 + 2 * i), 8)  # too slow for an interruption to explain
    assert [len(r.samples) for r in slow] == [3] + [1] * 7


def test_equals_stay_until_their_time_is_used_up():
    racers, _, _ = race(lambda i: 2.0, 3, rep=20)
    assert [r.status for r in racers] == ["finished"] * 3
    assert all(len(r.samples) == 10 for r in racers)
    racers, _, _ = race(lambda i: 400.0, 2, rep=20)
    assert all(len(r.samples) == 3 for r in racers)


def test_rounds_are_interleaved_and_in_different_orders():
    _, clock, _ = race(lambda i: 5.0, 6, rep=50)
    for turns in clock.rounds:
        assert sorted(turns) == list(range(6))
    assert len({tuple(turns) for turns in clock.rounds}) > 1


def test_short_kernels_run_several_times_a_round():
    _, clock, _ = race(lambda i: 0.01, 2)
    assert len(clock.rounds[-1]) > 2


def test_a_candidate_that_fails_leaves_and_the_others_go_on():
    count = [0]

    def times(i):
        if i == 0:
            count[0] += 1
            if count[0] == 2:
                raise RuntimeError("broken")
            return 0.1
        return 1.0

    racers, _, _ = race(times, 3)
    assert racers[0].status == "failed" and str(racers[0].error) == "broken"
    assert winner(racers) in racers[1:]


def test_a_deadline_ends_it_after_one_round():
    racers, clock, _ = race(lambda i: 1.0, 3, seconds_left=lambda: 0.0)
    assert len(clock.rounds) == 1
    assert all(r.status == "finished" and len(r.samples) == 1 for r in racers)


def test_samples_of_a_run_that_was_ended_count():
    racers = [Racer(Config({"I": 0}), [1.0] * 99), Racer(Config({"I": 1}), [1.0] * 99)]
    clock = FakeClock(lambda i: 1.0)
    Race(racers, clock, warmup=0).run(lambda new: None, lambda racer: None)
    assert [len(r.samples) for r in racers] == [100, 100]


def test_when_slower_is_slower():
    assert not is_beaten([5.0], 1.0)  # one run may have been interrupted
    assert is_beaten([500.0], 100.0)
    assert not is_beaten([9.0, 9.0, 9.0], 1.0)
    assert not is_beaten([1.2, 9.0, 1.2, 9.0], 1.0)
    assert is_beaten([1.3, 1.3, 9.0, 9.0], 1.0)
    assert not is_beaten([1.0, 1.04] * 8, 1.0)
    assert is_beaten([1.06, 1.07] * 8, 1.0)


class Runner:
    def __init__(self, log, fails=()):
        self.log, self.fails = log, fails

    def step(self, name, config):
        self.log.append((name, config.kwargs["I"]))

    def prepare(self, config):
        self.step("prepare", config)

    def launch(self, config):
        self.step("launch", config)
        if config.kwargs["I"] in self.fails:
            raise RuntimeError("no")

    def finish(self, config, error=None):
        self.step("finish" if error is None else "finish after an error", config)

    def run(self, racer):
        self.prepare(racer.config)
        try:
            self.launch(racer.config)
        finally:
            self.finish(racer.config)


class Timer:
    """As _native.GpuTimer, on a clock that counts its calls."""

    log: list = []
    failing = False

    def __init__(self, device, stream):
        self.place = device, stream
        self.marks = 0

    def flush(self):
        self.log.append(("flush", None))

    def mark(self):
        self.marks += 1
        self.log.append(("mark", None))

    def take(self):
        if self.failing:
            raise RuntimeError("the context is lost")
        count, self.marks = self.marks // 2, 0
        return [0.5 + i for i in range(count)]


def test_gpu_times_are_of_the_launch_alone(monkeypatch):
    log = []
    monkeypatch.setattr(native, "GpuTimer", type("T", (Timer,), {"log": log}))
    clock = GpuClock(Runner(log, fails=(1,)), 0, 7)
    racers = [Racer(Config({"I": i})) for i in range(3)]
    clock.time_round(racers)
    assert log == [
        ("prepare", 0), ("flush", None), ("mark", None), ("launch", 0), ("mark", None), ("finish", 0),
        ("prepare", 1), ("flush", None), ("mark", None), ("launch", 1), ("mark", None),
        ("finish after an error", 1),
        ("prepare", 2), ("flush", None), ("mark", None), ("launch", 2), ("mark", None), ("finish", 2),
    ]  # fmt: skip
    assert [r.samples for r in racers] == [
        [0.5],
        [],
        [2.5],
    ]  # the second mark pair is the failed one's
    assert racers[1].status == "failed"


def test_first_runs_find_the_stream_and_who_fails(monkeypatch):
    log = []
    monkeypatch.setattr(native, "GpuTimer", type("T", (Timer,), {"log": log}))
    counts = iter([{}, {1: (1, 99)}, {1: (1, 99)}, {1: (1, 99)}, {1: (1, 99)}, {1: (2, 99)}])
    monkeypatch.setattr(native, "launch_counts", lambda: next(counts))
    racers = [Racer(Config({"I": i})) for i in range(3)]
    runner = Runner(log, fails=(1,))
    clock = first_runs(racers, runner.run, lambda place: GpuClock(runner, *place))
    assert clock.timer.place == (1, 99)
    assert [r.status for r in racers] == ["running", "failed", "running"]


def test_a_context_that_is_lost_fails_who_lost_it(monkeypatch):
    monkeypatch.setattr(native, "GpuTimer", type("T", (Timer,), {"log": [], "failing": True}))
    counts = iter([{}, {0: (1, 0)}])
    monkeypatch.setattr(native, "launch_counts", lambda: next(counts))
    runner = Runner([])
    racers = [Racer(Config({"I": 0}))]
    first_runs(racers, runner.run, lambda place: GpuClock(runner, *place))
    assert racers[0].status == "failed" and "context is lost" in str(racers[0].error)


def test_host_times_leave_out_the_hooks(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])

    class Slow(Runner):
        def prepare(self, config):
            now[0] += 100

        def launch(self, config):
            now[0] += 0.002

        def finish(self, config, error=None):
            now[0] += 100

    racers = [Racer(Config({"I": 0}))]
    HostClock(Slow([])).time_round(racers)
    assert racers[0].samples == pytest.approx([2.0])
