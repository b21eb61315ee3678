"""``sectile tune script.py``: runs a program, shows what its tuned kernels do, and ends with a table."""

from __future__ import annotations

import math
import os
import runpy
import shutil
import sys
import time
import traceback

from ... import knobs
from .identity import key_text
from .progress import Watcher, set_watcher
from .report import TuningReport, time_text

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import Any, TextIO

_CUT_FIRST = (5, 1, 2, 0)  # columns: how, key, best, kernel; times stay
_NARROWEST = 8


class Display(Watcher):
    """One line that is rewritten, on a terminal; else a line for each tuning.

        timing 3 of 12, run 7, 1.4 s, best 43.1 us: BLOCK: 128  matmul (512, 512, float16)

    What changes comes first: the terminal may be narrow.

    Args:
        stream: where to, stderr by default: the program's own output stays clean.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.is_live = self.stream.isatty()
        self.drawn = 0.0
        self.reports: list[tuple[TuningReport, bool]] = []
        self.started_at = 0.0
        self.best: tuple[float, Any] = (math.inf, None)
        self.texts: dict[Any, str] = {}

    def _show(self, text: str, is_last: bool = False) -> None:
        if not self.is_live:
            if is_last:
                print(text, file=self.stream, flush=True)
            return
        now = time.monotonic()
        if not is_last and now - self.drawn < 0.05:
            return
        self.drawn = now
        width = shutil.get_terminal_size().columns - 1
        self.stream.write(
            "\r\x1b[K" + (text if is_last else text[:width]) + ("\n" if is_last else "")
        )
        self.stream.flush()

    def _line(self, session, step: str) -> str:
        best = f", best {time_text(self.best[0])}: {self.best[1]}" if self.best[1] else ""
        seconds = time.perf_counter() - self.started_at
        return f"{step}, {seconds:.1f} s{best}  {session.tuner.__name__} {session.key_text}"

    def started(self, session) -> None:
        self.started_at = time.perf_counter()
        self.best = (math.inf, None)
        self.texts = {candidate.config: candidate.text for candidate in session.candidates}
        self._show(self._line(session, f"{len(session.candidates)} candidates"))

    def compiled(self, session, candidate) -> None:
        self._show(self._line(session, f"compiled {session.compiled}/{len(session.candidates)}"))

    def verified(self, session, candidate) -> None:
        done = len(session.verification.trials)
        self._show(self._line(session, f"verified {done}/{len(session.candidates)}"))

    def timed(self, session, race, candidates: dict) -> None:
        alive = [racer for racer in race.alive() if racer.samples]
        if alive:
            fastest = min(alive, key=lambda racer: racer.median)
            self.best = fastest.median, self.texts[fastest.config]
            rounds = max(len(racer.samples) for racer in alive)
            self._show(
                self._line(session, f"timing {len(alive)} of {len(race.racers)}, run {rounds}")
            )

    def result(self, session, candidate, row: dict) -> None:
        if row["status"] == "ok" and row["ms"][0] < self.best[0]:
            self.best = row["ms"][0], candidate.text
        self._show(
            self._line(session, f"{len(session.known.results)}/{len(session.candidates)} done")
        )

    def finished(self, session, best) -> None:
        if self.is_live:  # what is printed next begins a line
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def decided(self, choice) -> None:
        report = choice.report
        self.reports.append((report, choice.is_tuned))
        key, best = key_text(report.key[:-1]), report.best
        self._show(
            f"{report.kernel} {key}: {time_text(best.milliseconds)}, {report.best_text()}; "
            f"{report.summary()}"
            if math.isfinite(best.milliseconds)
            else f"{report.kernel} {key}: {report.best_text()}; not measured",
            is_last=True,
        )


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def final_table(reports: list[tuple[TuningReport, bool]], width: int | None = None) -> str:
    """One line for each choice: what, how fast, against the first candidate, how it was found.

    Args:
        width: of the terminal: what does not fit is cut; None: any width.
    """
    if not reports:
        return "no autotuned kernel was launched with more than one configuration"
    rows = [("kernel", "key", "best", "time", "first", "how")]
    for report, _ in reports:
        best, first = report.best.milliseconds, report.rows[0].milliseconds
        gain = f"{first / best:.2f}x" if math.isfinite(first) and best > 0 else "-"
        rows.append(
            (
                report.kernel, key_text(report.key[:-1]), report.best_text(),
                time_text(best) if math.isfinite(best) else "-", gain, report.summary(),
            )
        )  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*rows)]
    if width is not None:
        for column in _CUT_FIRST:
            excess = sum(widths) + 2 * (len(widths) - 1) - width
            widths[column] = min(widths[column], max(widths[column] - excess, _NARROWEST))
    lines = [
        "  ".join(_cut(cell, room).ljust(room) for cell, room in zip(row, widths)).rstrip()
        for row in rows
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    lines.append('"first": how much faster than the first candidate of the list')
    return "\n".join(lines)


def _misuse(message: str) -> int:
    from ...__main__ import usage

    print(f"sectile tune: {message}\n\n{usage('tune')}", end="", file=sys.stderr)
    return 2


def main(arguments: list[str]) -> int:
    """Runs the command; returns the exit status: the script's own, 1 after an error in it."""
    plots = None
    details = False
    while arguments and arguments[0].startswith("-"):
        option, *arguments = arguments
        if option == "--force":
            knobs.autotuning.mode = "force"
        elif option == "--details":
            details = True
        elif option in ("--budget", "--plot"):
            if not arguments:
                return _misuse(f"{option} needs a value")
            value, *arguments = arguments
            if option == "--plot":
                plots = value
                continue
            try:
                knobs.autotuning.budget = float(value)
            except ValueError:
                return _misuse(f"--budget is {value!r}, not a number of seconds")
        else:
            return _misuse(f"unknown option {option!r}")
    if not arguments:
        return _misuse("no script was given")
    script = arguments[0]
    if not os.path.exists(script):
        return _misuse(f"there is no file {script!r}")
    if knobs.autotuning.mode in ("off", "frozen"):  # left over from the surroundings
        knobs.autotuning.mode = "on"

    display = Display()
    set_watcher(display)
    sys.argv = list(arguments)
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    status = 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except KeyboardInterrupt:
        print("\ninterrupted: what was measured is kept", file=sys.stderr)
        status = 130
    except Exception:
        traceback.print_exc()
        status = 1
    finally:
        set_watcher(None)
    sys.stdout.flush()
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    print("\n" + final_table(display.reports, width))
    for index, (report, _) in enumerate(display.reports):
        if details:
            print(f"\n{report}")
        if plots is not None:
            os.makedirs(plots, exist_ok=True)
            path = os.path.join(plots, f"{report.kernel}-{index}.png")
            try:
                report.save(path)
                print(path)
            except ImportError as error:
                print(error, file=sys.stderr)
                plots = None
    return status
