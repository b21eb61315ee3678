"""From a key that was not met before to a configuration: read, asked for, or measured."""

from __future__ import annotations

import math
import os
import sys
import time
import warnings

from ... import _native, knobs
from ...errors import CompilationError, OutOfResources, TuningError, TuningWarning
from . import identity, progress
from .agreement import agree
from .config import Config
from .locks import HostLock
from .record import FORMAT, SUFFIX, Contents, Record
from .report import TuningReport

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import Any

    from .verification import Verification


class Choice:
    """One decision of a tuner.

    Args:
        tuner: the `Autotuner`.
        key: of the launch.
        configs: the candidates, pruned.
        arguments, args, grid, kwargs: of the launch.

    Attributes:
        report: of the candidates, after `make`.
        is_tuned: whether something was measured here.
    """

    def __init__(
        self, tuner, key: tuple, configs: list[Config], arguments, args, grid, kwargs
    ) -> None:
        self.tuner = tuner
        self.key = key
        self.configs = configs
        self.launch = arguments, args, grid, kwargs
        place = identity.place_of(arguments, kwargs.get("target"))
        self.device = identity.device_at(place)
        self.ids, self.is_stable = identity.candidate_ids(configs)
        self.searched = _native.digest(sorted(self.ids))[:24]
        self.name, self.record = self._open_record()
        self.what = f"tuning of {tuner.__name__} for {key[:-1]}"
        self.is_tuned = False
        self.seconds = 0.0
        self.report: Any = None

    def _open_record(self) -> tuple[str, Record]:
        """The digest of all that the times depend on, and the record of that name."""
        tuner = self.tuner
        texts = [identity.stable_text(part) for part in self.key[:-1]]
        method = "" if tuner._do_bench is None else identity.stable_text(tuner._do_bench)
        if tuner._has_own("_bench"):  # a part without a stable text: the choice is not kept
            own = identity.stable_text(tuner._bench)
            method = None if own is None or method is None else f"{method} {own}"
        parts = [
            str(FORMAT), identity.kernel_digest(tuner), _native.build_id(), self.device.text,
            identity.environment(), method or "", *(text or repr(text) for text in texts),
        ]  # fmt: skip
        if tuner.verify is not True:
            parts.append(f"verify={tuner.verify!r}")
        name = f"{tuner.__name__[:64]}-{_native.digest(parts)[:24]}"
        folder = identity.folder()
        keeps = tuner.cache_results and knobs.autotuning.cache and folder is not None
        is_same_elsewhere = self.is_stable and None not in texts and method is not None
        path = None
        if keeps and is_same_elsewhere:
            assert folder is not None
            path = os.path.join(folder, name + SUFFIX)
        about = {
            "kernel": tuner.__name__, "key": [str(text) for text in texts],
            "device": self.device.text, "build": _native.build_id(),
        }  # fmt: skip
        return name, Record(path, about)

    # -- reading -----------------------------------------------------------------------------------

    def _recorded(self, contents: Contents, is_whole: bool) -> str | None:
        """The id of the choice on record.

        Args:
            is_whole: it must have been made among all of today's candidates, and verified if they are to be.
        """
        choice = contents.choice
        if choice is None:
            return None
        if is_whole and self.tuner.verify is not False and "verified" not in choice:
            return None  # of an old version: its candidates may be wrong
        whole = choice.get("searched") == self.searched or all(
            name in contents.results for name in self.ids
        )
        if is_whole and not whole:
            return None
        if choice["id"] in self.ids:
            return choice["id"]
        # What was chosen is no candidate any more: the best of the others is taken.
        measured = [name for name in self.ids if contents.milliseconds(name) < math.inf]
        return min(measured, key=contents.milliseconds) if measured else None

    def _config(self, name: str) -> Config:
        if name not in self.ids:
            raise TuningError(
                f"{self.what}: the process that tunes chose a configuration that is no candidate here\n"
                f"  help: all ranks must have the same list of configurations"
            )
        return self.configs[self.ids.index(name)]

    # -- deciding ----------------------------------------------------------------------------------

    def make(self) -> Config:
        """The configuration to launch with.

        Raises:
            what `autotune` lists for a launch.
        """
        from . import tuner as module

        store = self.tuner.store if self.tuner.store is not None else module._default_store
        if store is not None and not hasattr(store, "get") and callable(store):
            store = store()
        if store is None:
            name = self._here()
        else:
            name = agree(store, self.name, self.what, self._here)
        config = self._config(name)
        contents = self._contents if self.report is None else None
        if contents is not None:
            self._make_report(contents, name)
        progress.watcher().decided(self)
        return config

    @property
    def _contents(self) -> Contents:
        return self.record.load()

    def _make_report(
        self, contents: Contents, name: str, check: Verification | None = None
    ) -> None:
        self.report = TuningReport(
            self.tuner.__name__, self.key, self.device, list(zip(self.ids, self.configs)), contents,
            name, self.is_tuned, self.seconds, self.record.path,
        )  # fmt: skip
        if check is not None:
            self.report.notes = [*check.notes, *(a for a in check.alarms if a not in check.notes)]
            self.report.is_doubtful = check.is_doubtful

    def _here(self) -> str:
        """The id of the choice, found or made in this process."""
        mode = knobs.autotuning.mode
        contents = self.record.load()
        if mode != "force":
            found = self._recorded(contents, is_whole=mode == "on")
            if found is not None:
                return found
        if mode == "frozen":
            raise TuningError(
                f"{self.what}: nothing is known of it on {self.device.name}, and SECTILE_AUTOTUNE is "
                f"frozen\n"
                f"  help: run this launch once with SECTILE_AUTOTUNE=on and the same cache folder"
                + (f" ({os.path.dirname(self.record.path)})" if self.record.path else "")
            )
        if mode == "off":
            return self._first_that_compiles()
        if identity.is_capturing(self.device, self.launch[3].get("stream")):
            raise TuningError(
                f"{self.what}: it cannot be measured while the stream is captured into a CUDA graph\n"
                f"  help: launch it once with these sizes before the capture; what is known then is used"
            )
        lock = f"{self.record.path}.lock" if self.record.path else None
        with HostLock(lock, self.what):
            if mode != "force":
                contents = self.record.load()  # another process may have been at it
                found = self._recorded(contents, is_whole=True)
                if found is not None:
                    return found
            return self._measure(contents, mode == "force")

    def _first_that_compiles(self) -> str:
        from .runner import Runner

        arguments, args, grid, kwargs = self.launch
        runner = Runner(self.tuner, args, grid, kwargs, arguments)
        error: Exception | None = None
        for name, config in zip(self.ids, self.configs):
            try:
                if not runner.is_hooked(config):
                    runner.compile(config)
                return name
            except (CompilationError, OutOfResources) as raised:
                error = error or raised
        assert error is not None
        raise error

    def _measure(self, contents: Contents, is_forced: bool) -> str:
        from .runner import Runner
        from .session import Candidate, Session

        arguments, args, grid, kwargs = self.launch
        runner = Runner(self.tuner, args, grid, kwargs, arguments)
        if is_forced:
            self.record.append({"type": "restart"})
            contents = Contents()
        budget = self.tuner.budget
        if budget is None:
            budget = knobs.autotuning.budget
        candidates = [
            Candidate(index, name, config)
            for index, (name, config) in enumerate(zip(self.ids, self.configs))
        ]
        session = Session(
            runner, candidates, self.device, self.record, contents, budget, self.tuner.cost_model,
            identity.key_text(self.key[:-1]),
        )  # fmt: skip
        started = time.perf_counter()
        best = session.run()
        self.is_tuned = True
        self.seconds = time.perf_counter() - started
        check = session.verification
        row: dict[str, Any] = {"type": "choice", "id": best.id, "searched": self.searched}
        if check is not None:
            agreed = [name for name in self.ids if contents.milliseconds(name) < math.inf]
            row["verified"] = len(agreed) if check.outputs else 0
        if check is None or not check.is_doubtful:
            self.record.append(row)
        contents.take(row)
        self._make_report(contents, best.id, check)
        self._warn_of_failures(contents)
        if check is not None:
            self._warn_of_differences(check)
        return best.id

    def _warn_of_differences(self, check: Verification) -> None:
        for alarm in check.alarms:
            _warn(f"{self.what}: {alarm}")
        if not check.dropped:
            return
        count = f"{len(check.dropped)} of {len(self.ids)} candidates"
        assert check.winner is not None
        lines = [
            f"{self.what}: candidates leave different results, and no rule decides which are right: the results "
            f"of this kernel may be wrong. Those of {check.winner.members[0].text} are taken, {count} are left "
            f"out, and the choice is not kept on disk"
            if check.is_doubtful
            else f"{self.what}: {count} leave other results and are left out"
        ]
        from .verification import parameter_of

        by_reason: dict[str, list[str]] = {}
        for candidate, reason in check.dropped:
            by_reason.setdefault(reason, []).append(candidate.text)
        for reason, texts in list(by_reason.items())[:8]:
            more = f" and {len(texts) - 1} that agree with it" if len(texts) > 1 else ""
            lines.append(f"  {texts[0]}{more}: {reason}")
        if len(by_reason) > 8:
            lines.append(f"  and {len(by_reason) - 8} results more; tuning_report() has them all")
        name = next(map(parameter_of, check.outputs), "out")
        lines.append(
            "  help: offer only values that are right for all sizes, and guard them by tl.device_assert; where "
            f"results may differ, pass\n        verify=False, or verify={{{name!r}: 1e-2}} with the arrays that have "
            "to agree, and how closely"
        )
        _warn("\n".join(lines))

    def _warn_of_failures(self, contents: Contents) -> None:
        failed = [
            contents.results[name]
            for name in self.ids
            if contents.results.get(name, {}).get("status") == "failed"
        ]
        if failed:
            first = failed[0]
            _warn(
                f"{self.what}: {len(failed)} of {len(self.ids)} candidates failed and are left out; "
                f"{first['config']}: {first.get('reason', '')}"
            )


def _warn(text: str) -> None:
    """At the user's line: that of the launch."""
    package = os.path.dirname(knobs.__file__)
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, TuningWarning, stacklevel=level)
