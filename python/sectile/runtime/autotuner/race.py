"""Timing many candidates against each other.

    race = Race(candidates, clock, rep=100)
    race.run(on_result)              # each candidate's `samples` and `status` are set

All candidates run in turn, in another order each round, so that what disturbs the machine for a while
disturbs all. After a round, those whose fast runs are slower than the best's median leave: at first only
when much slower, later when a little; less than four runs, which interruptions may have hit, are enough
only when those would have to be long ones. What counts in the end is the median. The last ones stay until the time
they may take is used up.
"""

from __future__ import annotations

import random
import time

from ... import _native

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .config import Config
    from .runner import Runner

# (samples, how much slower than the best median the fast ones of them must be): after that many.
_MARGINS = ((1, 1.0), (2, 0.5), (4, 0.2), (5, 0.1), (9, 0.05), (17, 0.025), (33, 0.015))
_INTERRUPTION_MILLISECONDS = 10.0
_UNINTERRUPTED_SAMPLES = 4  # one of which was not interrupted
_LEAST_SAMPLES = 3
_MOST_SAMPLES = 100
_ROUND_MILLISECONDS = 1.0  # of each candidate: short kernels run several times in a round


def quantile(values: list[float], share: float) -> float:
    """Linear interpolation between the neighbours."""
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def summary(samples: list[float]) -> list[float]:
    """[median, 20 % quantile, 80 % quantile]"""
    return [quantile(samples, share) for share in (0.5, 0.2, 0.8)]


def is_beaten(samples: list[float], best_median: float) -> bool:
    """Whether runs of these milliseconds are slower than the best by more than chance explains."""
    count = len(samples)
    # The fastest shows most where a few runs may have been interrupted.
    fast = min(samples) if count < 5 else quantile(samples, 0.2)
    if count < _UNINTERRUPTED_SAMPLES and fast - best_median < _INTERRUPTION_MILLISECONDS:
        return False
    margin = next(value for least, value in reversed(_MARGINS) if count >= least)
    return fast > best_median * (1 + margin)


class Racer:
    """A candidate being timed.

    Attributes:
        samples: milliseconds of each run.
        status: ``"running"``, then ``"finished"``, ``"rejected"`` or ``"failed"``.
        error: why it failed.
    """

    def __init__(self, config: Config, samples: list[float] | None = None) -> None:
        self.config = config
        self.samples = list(samples or ())
        self.status = "running"
        self.error: Exception | None = None

    @property
    def median(self) -> float:
        return quantile(self.samples, 0.5)

    def fail(self, error: Exception) -> None:
        self.status = "failed"
        self.error = error


class HostClock:
    """The host's clock around each run: for kernels that are done when the launch returns."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner

    def time_round(self, turns: list[Racer]) -> None:
        """One run of each; a racer may have several turns."""
        clock = time.perf_counter
        for racer in turns:
            if racer.status != "running":
                continue
            error = None
            started = False
            try:
                self.runner.prepare(racer.config)
                started = True
                start = clock()
                self.runner.launch(racer.config)
                racer.samples.append((clock() - start) * 1e3)
            except Exception as raised:
                error = raised
                racer.fail(raised)
            finally:
                if started:
                    self.runner.finish(racer.config, error)

    def settle(self) -> None:
        """Waits until all that was started is done."""


class GpuClock:
    """Events on the stream around each run. The L2 cache is overwritten first, and while that goes on
    the host prepares the launch: what it costs is not in the times."""

    def __init__(self, runner: Runner, device: int, stream: int) -> None:
        self.runner = runner
        self.timer = _native.GpuTimer(device, stream)

    def time_round(self, turns: list[Racer]) -> None:
        timed = []
        for racer in turns:
            if racer.status != "running":
                continue
            error = None
            started = False
            try:
                self.runner.prepare(racer.config)
                started = True
                self.timer.flush()
                self.timer.mark()
                timed.append(racer)
                self.runner.launch(racer.config)
            except Exception as raised:
                error = raised
                racer.fail(raised)
            finally:
                if timed and timed[-1] is racer:
                    self.timer.mark()
                if started:
                    self.runner.finish(racer.config, error)
        for racer, milliseconds in zip(timed, self.timer.take()):
            if racer.status == "running":
                racer.samples.append(milliseconds)

    def settle(self) -> None:
        self.timer.take()


def first_runs(
    racers: list[Racer], once: Callable[[Racer], None], make_clock: Callable, clock: Any = None
) -> Any:
    """Runs each candidate once, untimed, and waits for it: code is loaded, memory touched, and one
    that fails does so alone.

    Args:
        once: runs a candidate.
        make_clock: gives the clock for a ``(device, stream)``, or for None: the host.
        clock: what it gave earlier.

    Returns:
        The clock.
    """
    for racer in racers:
        before = _native.launch_counts()
        try:
            once(racer)
            if clock is None:
                clock = make_clock(_launched_on(before, _native.launch_counts()))
            clock.settle()
        except Exception as error:
            racer.fail(error)
    return clock


def _launched_on(before: dict, after: dict) -> tuple[int, int] | None:
    """(device, handle of the stream) of the launches since `before`; None: on the host."""
    for device, (count, stream) in after.items():
        if count != before.get(device, (0, 0))[0]:
            return device, stream
    return None


class Race:
    """See the module.

    Args:
        racers: the candidates; those with samples have them from a run that was ended.
        clock: `HostClock` or `GpuClock`.
        warmup: milliseconds of runs before the first that counts, of all candidates together.
        rep: milliseconds of runs each candidate may take, at least three.
        seconds_left: how long the race may still take; at least one round is run.
    """

    def __init__(
        self, racers: list[Racer], clock, warmup: float = 25, rep: float = 100,
        seconds_left: Callable[[], float] | None = None,
    ) -> None:  # fmt: skip
        self.racers = racers
        self.clock = clock
        self.warmup = warmup
        self.rep = rep
        self.seconds_left = seconds_left or (lambda: float("inf"))
        self.order = random.Random(len(racers))  # the same in every process

    def alive(self) -> list[Racer]:
        return [racer for racer in self.racers if racer.status == "running"]

    def run(self, on_round: Callable[[dict], None], on_result: Callable[[Racer], None]) -> None:
        """Times until all have a status.

        Args:
            on_round: called after each round with the new samples of each candidate.
            on_result: called with each candidate when its status is known.
        """
        self._report([], on_result)
        self._warm_up()
        while alive := self.alive():
            known = {id(racer): len(racer.samples) for racer in alive}
            turns = [racer for racer in alive for _ in range(self._turns(racer))]
            self.order.shuffle(turns)
            self.clock.time_round(turns)
            self._report(alive, on_result)
            fresh = {racer: racer.samples[known[id(racer)] :] for racer in alive}
            on_round(
                {racer: new for racer, new in fresh.items() if new and racer.status == "running"}
            )
            self._judge(on_result)

    def _turns(self, racer: Racer) -> int:
        if not racer.samples:
            return 1
        wanted = int(_ROUND_MILLISECONDS / max(min(racer.samples), 1e-4))
        return max(1, min(wanted, len(racer.samples), 8))

    def _warm_up(self) -> None:
        """Clocks of a GPU rise, and caches fill, while all take a turn."""
        start = time.perf_counter()
        alive = self.alive()
        while alive and (time.perf_counter() - start) * 1e3 < self.warmup:
            kept = [list(racer.samples) for racer in alive]
            self.clock.time_round(alive)
            for racer, samples in zip(alive, kept):
                racer.samples = samples
            alive = [racer for racer in alive if racer.status == "running"]

    def _report(self, racers: list[Racer], on_result: Callable) -> None:
        for racer in racers or self.racers:
            if racer.status == "failed" and racer.error is not None:
                if not getattr(racer, "is_reported", False):
                    racer.is_reported = True  # type: ignore[attr-defined]
                    on_result(racer)

    def _judge(self, on_result: Callable) -> None:
        alive = self.alive()
        if not alive:
            return
        reference = min(
            racer.median for racer in self.racers if racer.samples and racer.status != "failed"
        )
        for racer in alive:
            if is_beaten(racer.samples, reference):
                racer.status = "rejected"
                on_result(racer)
        alive = self.alive()
        is_late = self.seconds_left() <= 0
        for racer in alive:
            enough = min(_MOST_SAMPLES, max(_LEAST_SAMPLES, self.rep / max(racer.median, 1e-4)))
            is_alone = len(alive) == 1 and len(racer.samples) >= _LEAST_SAMPLES
            if len(racer.samples) >= enough or is_alone or is_late:
                racer.status = "finished"
                on_result(racer)
