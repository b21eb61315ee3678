"""One tuning, from candidates to a choice.

    drop the unfit (limits) ─► order (cost model, search) ─► batch ─► compile, all in parallel
                                        ▲                               │ drop those that do not fit, or fail
                                        │                               ▼
                                        │                   one run of each: drop other results
                                        │                               │             (verification)
                                        └── time and candidates left ── race: time them in turn ─► record
                                                                        └─► the fastest

Without a budget there is one batch: all candidates. What an earlier process measured is not measured
again, except that its winner runs along with new ones, for times of different days do not compare.
"""

from __future__ import annotations

import math
import os
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

from ... import _native, knobs
from ...errors import CompilationError, DeviceAssertionError, OutOfResources
from . import progress
from .config import distinct_texts
from .cost_model import guessed_resources, predicted_cost
from .identity import Device
from .limits import Resources, reason_after_compiling, reason_before_compiling
from .locks import HostLock
from .race import GpuClock, HostClock, Race, Racer, first_runs, summary
from .record import Contents, Record
from .runner import Runner
from .search import Search
from .verification import Verification

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import Any

    from .config import Config

_DEVICE_LOCK_SECONDS = 120.0


def is_a_property_of_the_kernel(error: Exception) -> bool:
    """Whether a candidate would fail again for `error`, in another process and at another time."""
    return isinstance(error, (OutOfResources, CompilationError))


def first_line(error: BaseException | None) -> str:
    if isinstance(error, CompilationError):
        return error.error_message
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__


def _is_excluded(error: Exception) -> bool:
    """Whether the device or the kernel itself rules the candidate out, which is no mistake of the user's."""
    if isinstance(error, CompilationError):
        return error.error_message.startswith("static assertion failed")
    return isinstance(error, OutOfResources)


class Candidate:
    """A configuration and what is known of it.

    Attributes:
        index, id, config: place in the list; name in the record; the configuration.
        text: what distinguishes it from the other candidates.
        compiled: the kernel; None before, and when only a hook makes it compilable.
        resources: of the compiled kernel; None before.
        cost: what the model expects, in no unit.
        compile_seconds: 0.0 when it came from the cache.
        error: of compiling or running.
    """

    def __init__(self, index: int, name: str, config: Config) -> None:
        self.index = index
        self.id = name
        self.config = config
        self.text = str(config)
        self.compiled: Any = None
        self.resources: Resources | None = None
        self.cost = math.inf
        self.compile_seconds = 0.0
        self.error: Exception | None = None


class Session:
    """See the module.

    Args:
        runner: the launch.
        candidates: configurations and their ids.
        device: where it runs.
        record: of this kernel, key and device.
        known: what the record holds.
        budget: seconds for all of it; None: until all candidates are measured.
        cost_model: ``(config, programs, resources, device) -> float`` in place of `predicted_cost`.
        key_text: for the display.
    """

    def __init__(
        self, runner: Runner, candidates: list[Candidate], device: Device, record: Record,
        known: Contents, budget: float | None, cost_model, key_text: str,
    ) -> None:  # fmt: skip
        self.runner = runner
        self.tuner = runner.tuner
        self.candidates = candidates
        self.device = device
        self.record = record
        self.known = known
        self.budget = budget
        self.cost_model = cost_model
        self.key_text = key_text
        self.started = time.perf_counter()
        self.compiled = 0
        self.measured = 0
        self.clock: Any = None
        self.watcher = progress.watcher()
        texts = distinct_texts([c.config for c in candidates], device.kind)[1]
        for candidate in candidates:
            candidate.text = texts[candidate.config] or str(candidate.config)
        verify = self.tuner.verify
        self.verification = None if verify is False else Verification(runner, verify, device)

    # -- the steps ---------------------------------------------------------------------------------

    def run(self) -> Candidate:
        """The fastest candidate.

        Raises:
            the error of the first candidate that failed, when none can run.
        """
        self.watcher.started(self)
        champion = self._champion()
        todo = [c for c in self.candidates if c.id not in self.known.results]
        todo = [c for c in todo if not self._is_excluded_at_once(c)]
        search = self._search(todo)
        self.runner.save()
        try:
            if champion is None:
                champion = self._again()
            while batch := self._next_batch(search, todo):
                champion = self._try(batch, champion)
                if self._seconds_left() <= 0:
                    break
        finally:
            if self.verification is not None:
                self.verification.restore()
            self.runner.leave(champion.config if champion else None)
        if champion is None:
            self._nobody_runs()
        assert champion is not None
        self.watcher.finished(self, champion)
        return champion

    def _champion(self) -> Candidate | None:
        """The candidate that an earlier tuning chose, if it still is one and was verified."""
        if self.known.choice is None or not self.is_known_choice_good():
            return None
        found = next((c for c in self.candidates if c.id == self.known.choice["id"]), None)
        return found if found and self.known.milliseconds(found.id) < math.inf else self._fastest()

    def is_known_choice_good(self) -> bool:
        """Whether the choice on record was verified, where it has to be."""
        choice = self.known.choice
        return choice is not None and (self.verification is None or "verified" in choice)

    def _again(self) -> Candidate | None:
        """The fastest of those on record, verified now if it has to be: the process that measured them was
        killed before its choice, or its choice was doubtful, or made by a version that verified nothing."""
        timed = [c for c in self.candidates if self.known.milliseconds(c.id) < math.inf]
        if timed and self.verification is not None:
            timed = self._compile(timed)
            with self._device_lock():
                self._first_runs(timed)
        return self._fastest()

    def _fastest(self) -> Candidate | None:
        """Those measured to the end first."""
        rows = self.known.results
        timed = [c for c in self.candidates if self.known.milliseconds(c.id) < math.inf]
        return min(
            timed, key=lambda c: (rows[c.id]["status"] != "ok", rows[c.id]["ms"][0]), default=None
        )

    def _is_excluded_at_once(self, candidate: Candidate) -> bool:
        reason = reason_before_compiling(candidate.config, self.device)
        if reason:
            self._record(candidate, "excluded", reason=reason)
        return bool(reason)

    def _search(self, todo: list[Candidate]) -> Search | None:
        for candidate in todo:
            candidate.cost = self._cost(candidate)
        if self.budget is None:
            return None
        search = Search([c.config for c in self.candidates], [c.cost for c in self.candidates])
        waiting = {c.index for c in todo}
        search.drop(c.index for c in self.candidates if c.index not in waiting)
        return search

    def _cost(self, candidate: Candidate) -> float:
        programs = self.runner.program_count(candidate.config)
        resources = candidate.resources or guessed_resources(candidate.config, self.device)
        if self.cost_model is not None:
            return float(self.cost_model(candidate.config, programs, resources, self.device))
        if self.tuner.perf_model is not None:
            return float(self.tuner.perf_model(**self.runner.everything(candidate.config)))
        return predicted_cost(programs, resources, self.device)

    def _next_batch(self, search: Search | None, todo: list[Candidate]) -> list[Candidate]:
        if search is None:
            batch, todo[:] = list(todo), []
            return batch
        times = {
            c.index: self.known.milliseconds(c.id)
            for c in self.candidates
            if self.known.milliseconds(c.id) < math.inf
        }
        indices = search.next_batch(max(4, 2 * self._threads()), times)
        return [self.candidates[index] for index in indices]

    def _try(self, batch: list[Candidate], champion: Candidate | None) -> Candidate | None:
        """Compiles and times; gives the fastest of `batch` and `champion`."""
        runnable = self._compile(batch)
        for candidate in runnable:
            candidate.cost = self._cost(candidate)
        runnable.sort(key=lambda c: c.cost)
        if not runnable:
            return champion
        others = [champion] if champion and champion not in runnable else []
        if others and self.verification is not None:
            self.verification.prefers = champion
        if self.tuner._measures_by_itself:
            if self.verification is not None:
                with self._device_lock():
                    alive = self._first_runs(others + runnable)
                runnable = [c for c in runnable if c in alive]
            self._bench_by_hand(runnable)
        else:
            entrants = self._race(runnable + others)
            # Only what ran now compares; a champion that could not run now keeps his old time.
            runnable = [c for c in entrants if self.known.milliseconds(c.id) < math.inf]
        if champion and self.known.results[champion.id]["status"] == "different":
            champion = None
        ok = [c for c in runnable if self.known.results.get(c.id, {}).get("status") == "ok"]
        if champion and champion not in ok and self.known.milliseconds(champion.id) < math.inf:
            if self.tuner._measures_by_itself or not ok:
                ok.append(champion)
        return min(ok, key=lambda c: self.known.milliseconds(c.id)) if ok else self._fastest()

    # -- compiling ---------------------------------------------------------------------------------

    def _threads(self) -> int:
        return max(1, knobs.autotuning.threads or _native.hardware_threads())

    def _compile(self, batch: list[Candidate]) -> list[Candidate]:
        """All at once; those that fit, in the order given."""

        def one(candidate: Candidate) -> None:
            start = time.perf_counter()
            try:
                candidate.compiled = self.runner.compile(candidate.config)
                candidate.resources = Resources.of(candidate.compiled)
                if self.verification is not None:
                    self.verification.compile(candidate)
            except Exception as error:
                candidate.error = error
            candidate.compile_seconds = time.perf_counter() - start

        # A hook may change what is compiled. It cannot run here, with the arguments in use by others:
        # what is made without it may be what is needed, and else that shows when it runs.
        with ThreadPoolExecutor(min(self._threads(), len(batch)), "sectile-tune") as pool:
            waiting = {pool.submit(one, candidate): candidate for candidate in batch}
            try:
                for done in as_completed(waiting):
                    done.result()
                    self.compiled += 1
                    self._settle_compiled(waiting[done])
                    self.watcher.compiled(self, waiting[done])
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return [c for c in batch if c.error is None and not self._is_left_out(c)]

    def _is_left_out(self, candidate: Candidate) -> bool:
        row = self.known.results.get(candidate.id)
        return row is not None and row["status"] not in ("ok", "rejected")

    def _settle_compiled(self, candidate: Candidate) -> None:
        error = candidate.error
        if error is not None and self.runner.is_hooked(candidate.config):
            candidate.error = None
        elif error is not None:
            self._record_error(candidate, error)
        elif candidate.resources is not None:
            reason = reason_after_compiling(candidate.resources, self.device)
            if reason:
                self._record(candidate, "excluded", reason=reason)

    # -- timing ------------------------------------------------------------------------------------

    def _device_lock(self) -> HostLock:
        """Others on this host do not time on this device meanwhile."""
        if self.record.path is None:
            return HostLock(None, "")
        name = _native.digest([f"{self.device.kind}:{self.device.index} {self.device.text}"])[:16]
        path = os.path.join(os.path.dirname(self.record.path), f"device-{name}.lock")
        return HostLock(path, f"it times kernels on {self.device.kind}", _DEVICE_LOCK_SECONDS)

    def _bench_by_hand(self, runnable: list[Candidate]) -> None:
        """With the user's do_bench, or a subclass's `_bench`, one candidate after the other."""
        for candidate in runnable:
            if self._seconds_left() <= 0 and self.measured:
                break
            try:
                with self._device_lock():
                    result = self.tuner._measure_by_itself(self.runner, candidate.config)
            except Exception as error:
                self._record_error(candidate, error)
                continue
            times = list(result) if isinstance(result, (list, tuple)) else [result]
            times = [float(value) for value in times]
            if not all(map(math.isfinite, times)) or not times:
                self._record(candidate, "failed", reason=f"do_bench gave {result!r}")
                continue
            self._record(candidate, "ok", times)

    def _first_runs(self, candidates: list[Candidate]) -> list[Candidate]:
        """Runs each once, and leaves out those that fail and those whose results are not the right ones."""
        check = self.verification
        fresh = [c for c in candidates if check is None or c.id not in check.trials]
        if check is None:
            self._try_each(fresh)
        else:
            self._compare(fresh, check)
        for candidate in fresh:
            if candidate.error is not None:
                self._record_error(candidate, candidate.error)
        return [
            c for c in candidates
            if c.error is None and not self._is_left_out(c) and (check is None or c.id in check.trials)
        ]  # fmt: skip

    def _compare(self, candidates: list[Candidate], check: Verification) -> None:
        for candidate in candidates:
            # A champion of another day, with which the others are compared.
            if candidate.compiled is None and not self.runner.is_hooked(candidate.config):
                candidate.compiled = self.runner.compile(candidate.config)
        check.watch([c.compiled for c in candidates])
        try:
            self._try_each(candidates)
            asserting = [c for c in candidates if isinstance(c.error, DeviceAssertionError)]
            if check.asserts and asserting and not check.groups:
                # They hold for no candidate, so they show nothing about the candidates.
                check.give_up_asserts(first_line(asserting[0].error))
                for candidate in asserting:
                    candidate.error = None
                self._try_each(asserting)
            different = check.decide()
        finally:
            check.restore(only_read=True)
        for candidate, reason in different:
            self._record(candidate, "different", reason=reason, keep=not check.is_doubtful)
        self._leave_out_whoever_agreed_with_them(check)

    def _try_each(self, candidates: list[Candidate]) -> None:
        """First runs, until the budget is used up; at least one."""
        check = self.verification
        of_racer = {Racer(candidate.config): candidate for candidate in candidates}

        def once(racer: Racer) -> None:
            if check is None:
                self.runner.once(racer.config)
                return
            if self._seconds_left() <= 0 and check.trials:
                return
            check.trial(of_racer[racer])
            self.watcher.verified(self, of_racer[racer])

        def make_clock(place):
            return GpuClock(self.runner, *place) if place else HostClock(self.runner)

        self.clock = first_runs(list(of_racer), once, make_clock, self.clock)
        for racer, candidate in of_racer.items():
            candidate.error = racer.error

    def _leave_out_whoever_agreed_with_them(self, check: Verification) -> None:
        """What an earlier process measured agreed with its choice; when that is left out now, so are they."""
        choice = self.known.choice
        if choice is None or not self.is_known_choice_good():
            return
        row = self.known.results.get(choice["id"], {})
        if row.get("status") != "different":
            return
        for candidate in self.candidates:
            is_timed = self.known.milliseconds(candidate.id) < math.inf
            if is_timed and candidate.id not in check.trials:
                self._record(candidate, "different", reason=row["reason"], keep=False)

    def _race(self, entrants: list[Candidate]) -> list[Candidate]:
        """Times them; gives those that took part."""
        of_racer: dict[Racer, Candidate] = {}

        def on_round(fresh: dict) -> None:
            rows = {of_racer[racer].id: [round(t, 6) for t in new] for racer, new in fresh.items()}
            if rows:
                self.record.append({"type": "samples", "ms": rows})
            self.watcher.timed(self, race, of_racer)

        def on_result(racer: Racer) -> None:
            candidate = of_racer[racer]
            if racer.status == "failed":
                assert racer.error is not None
                self._record_error(candidate, racer.error)
                return
            status = "ok" if racer.status == "finished" else "rejected"
            self._record(candidate, status, summary(racer.samples), len(racer.samples))

        with self._device_lock():
            entrants = self._first_runs(entrants)
            for candidate in entrants:
                earlier = self.known.samples.get(candidate.id)
                of_racer[Racer(candidate.config, earlier)] = candidate
            self.clock = self.clock or HostClock(self.runner)
            race = Race(
                list(of_racer), self.clock, self.tuner.num_warmups, self.tuner.num_reps,
                self._seconds_left,
            )  # fmt: skip
            race.run(on_round, on_result)
        return entrants

    # -- results -----------------------------------------------------------------------------------

    def _seconds_left(self) -> float:
        if self.budget is None:
            return math.inf
        return self.budget - (time.perf_counter() - self.started)

    def _record_error(self, candidate: Candidate, error: Exception) -> None:
        candidate.error = error
        status = "excluded" if _is_excluded(error) else "failed"
        # What may be better next time is reported, and not written down.
        self._record(
            candidate, status, reason=first_line(error), keep=is_a_property_of_the_kernel(error)
        )

    def _record(
        self, candidate: Candidate, status: str, times: list[float] | None = None, runs: int = 0,
        reason: str = "", keep: bool = True,
    ) -> None:  # fmt: skip
        row: dict[str, Any] = {
            "type": "result", "id": candidate.id, "config": str(candidate.config), "status": status,
        }  # fmt: skip
        if times is not None:
            self.measured += 1
            row["ms"] = [round(value, 6) for value in times]
            row["runs"] = runs
        if reason:
            row["reason"] = reason
        if candidate.resources is not None:
            row["resources"] = candidate.resources.as_dict()
        if math.isfinite(candidate.cost):
            row["cost"] = candidate.cost
        row["compile_s"] = round(candidate.compile_seconds, 4)
        self.known.take(row)
        if keep:
            self.record.append(row)
        self.watcher.result(self, candidate, row)

    def _fail_again(self) -> None:
        """Compiles those that are only on record to have failed, in another process or at an earlier launch,
        until one fails with an error that is not about resources."""
        for candidate in self.candidates:
            if candidate.error is None and not self.runner.is_hooked(candidate.config):
                try:
                    self.runner.compile(candidate.config)
                except Exception as error:
                    candidate.error = error
            if candidate.error is not None and not isinstance(candidate.error, OutOfResources):
                return

    def _nobody_runs(self) -> None:
        """Raises the error of the first candidate that the device has room for, or that there is none."""
        self._fail_again()
        rows = [self.known.results[c.id] for c in self.candidates if c.id in self.known.results]
        name = self.tuner.__name__
        failed = [
            c for c in self.candidates
            if c.error is not None and not isinstance(c.error, OutOfResources)
        ]  # fmt: skip
        if failed:
            error = failed[0].error
            assert error is not None
            is_first = failed[0] is self.candidates[0]
            note = (
                f"all {len(rows)} candidates of {name} fail; the first, {failed[0].config}, with this"
                if is_first
                else f"none of the {len(rows)} candidates of {name} can run; {failed[0].config} fails with this"
            )
            if isinstance(error, CompilationError):
                raise type(error)(f"{error}\n  note: {note}", error.diagnostics) from error
            if hasattr(error, "add_note"):
                error.add_note(note)
            raise error
        reasons = "\n".join(f"  {row['config']}: {row.get('reason', '')}" for row in rows[:8])
        more = f"\n  and {len(rows) - 8} more" if len(rows) > 8 else ""
        raise OutOfResources(
            f"{name}: none of the {len(rows)} configurations can run\n{reasons}{more}"
        )
