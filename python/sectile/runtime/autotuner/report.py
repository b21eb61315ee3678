"""What is known of a tuning's candidates, as a table with bars, and as an image where matplotlib is."""

from __future__ import annotations

import math
import os

from .config import distinct_texts

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from .config import Config
    from .identity import Device
    from .record import Contents

_BAR_CELLS = 24
_EIGHTHS = " ▏▎▍▌▋▊▉█"

#: Of bars, by the status of their candidate.
_COLORS = {"best": "#1b7837", "ok": "#5aae61", "rejected": "#bbbbbb"}


class Row:
    """One candidate.

    Attributes:
        config: the `Config`.
        status: ``"best"``, ``"ok"`` (measured to the end), ``"rejected"`` (slower, after fewer runs),
            ``"excluded"`` (cannot run here, or ruled out by the kernel), ``"failed"``,
            ``"different"`` (leaves other results than the chosen ones), or ``"not tried"``.
        milliseconds: median of a launch; inf when it has none.
        low, high: 20 % and 80 % quantile.
        runs: how many runs that is of; 0 when the user's ``do_bench`` measured.
        reason: why it was not measured; "" when it was.
        registers, spilled_bytes, shared_bytes: of a thread, a thread and a program; 0 on the CPU.
        cost: what the model expected, in no unit; NaN when it was not asked.
        compile_seconds: next to nothing when it came from the cache.
    """

    def __init__(self, config: Config, row: dict | None) -> None:
        row = row or {}
        times = [*row.get("ms", ()), math.inf, math.inf, math.inf]
        resources = row.get("resources", {})
        self.config = config
        self.status: str = row.get("status", "not tried")
        self.milliseconds, self.low, self.high = times[:3]
        if math.isinf(self.low):  # a do_bench that gives one number
            self.low = self.high = self.milliseconds
        self.runs: int = row.get("runs", 0)
        self.reason: str = row.get("reason", "")
        self.registers: int = resources.get("registers", 0)
        self.spilled_bytes: int = resources.get("spilled_bytes", 0)
        self.shared_bytes: int = resources.get("shared_bytes", 0)
        self.cost: float = row.get("cost", math.nan)
        self.compile_seconds: float = row.get("compile_s", 0.0)

    def resources(self) -> list[str]:
        """What it needs of a GPU, as texts; none on the CPU."""
        facts = []
        if self.registers:
            facts.append(f"{self.registers} registers")
        if self.spilled_bytes:
            facts.append(f"{self.spilled_bytes} bytes spilled")
        if self.shared_bytes:
            facts.append(f"{self.shared_bytes / 1024:.3g} KiB shared")
        return facts

    def __repr__(self) -> str:
        return f"<Row {self.status} {self.milliseconds:.4g} ms: {self.config}>"


def bar(share: float, cells: int = _BAR_CELLS) -> str:
    """A bar of `share` of the cells, in eighths."""
    eighths = round(min(max(share, 0.0), 1.0) * cells * 8)
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def time_text(milliseconds: float) -> str:
    """``"43.1 us"``: three digits and a unit."""
    for unit, size in (("s", 1e3), ("ms", 1.0), ("us", 1e-3)):
        if milliseconds >= size or unit == "us":
            return f"{milliseconds / size:.3g} {unit}"
    return ""


class TuningReport:
    """``print(report)`` shows a table, fastest first; ``report.save("plot.png")`` draws it.

    Attributes:
        kernel: its name.
        key: of the choice, as in ``kernel.cache``.
        device: what it was measured on.
        rows: one `Row` for each candidate, in their order.
        best: that of the choice.
        is_tuned: whether something was measured in this process.
        seconds: the tuning took in this process; 0.0 when it was read from disk.
        verified: how many candidates agreed on the results; 0 when none were compared.
        is_doubtful: candidates disagreed, and no rule decided which are right.
        notes: what was not compared, and why; of a tuning in this process.
        path: the record; None when it is not on disk.
        damaged_lines: of the record, passed over.
    """

    def __init__(
        self, kernel: str, key: tuple, device: Device, candidates: list[tuple[str, Config]],
        contents: Contents, best: str, is_tuned: bool, seconds: float, path: str | None,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.key = key
        self.device = device
        self.rows = [Row(config, contents.results.get(name)) for name, config in candidates]
        self.best = self.rows[[name for name, _ in candidates].index(best)]
        if self.best.status in ("ok", "rejected"):
            self.best.status = "best"
        self.is_tuned = is_tuned
        self.seconds = seconds
        self.is_known = contents.choice is not None
        self.verified: int = (contents.choice or {}).get("verified", 0)
        self.is_doubtful = False
        self.notes: list[str] = []
        self.path = path
        self.damaged_lines = contents.damaged

    def timings(self) -> dict[Config, list[float]]:
        """[median, 20 % and 80 % quantile] of each candidate, inf for those without; milliseconds."""
        return {row.config: [row.milliseconds, row.low, row.high] for row in self.rows}

    def count(self, *statuses: str) -> int:
        return sum(row.status in statuses for row in self.rows)

    def ranked(self) -> list[Row]:
        """The chosen one, the others measured by their time, then the rest."""
        order = {"best": 0, "ok": 1, "rejected": 1}
        return sorted(self.rows, key=lambda r: (order.get(r.status, 2), r.milliseconds))

    def texts(self) -> tuple[str, dict[Config, str]]:
        """What all candidates have in common, and what distinguishes each from the others."""
        return distinct_texts([row.config for row in self.rows], self.device.kind)

    def best_text(self) -> str:
        """What distinguishes the chosen one from the other candidates."""
        return self.texts()[1][self.best.config] or str(self.best.config)

    def summary(self) -> str:
        """``"12 measured (7 of them until clearly slower), 12 agree, 3 excluded, 1 failed, in 2.1 s"``"""
        measured = self.count("best", "ok", "rejected")
        if not measured and not self.is_tuned and not self.is_known:
            return "nothing was measured: SECTILE_AUTOTUNE=off takes the first that compiles"
        slower = self.count("rejected")
        parts = [
            f"{measured} measured" + (f" ({slower} of them until clearly slower)" if slower else "")
        ]
        if self.verified > 1:
            parts.append(f"results of {self.verified} agree")
        for status in ("different", "excluded", "failed", "not tried"):
            if self.count(status):
                parts.append(f"{self.count(status)} {status}")
        how = f"in {self.seconds:.2f} s" if self.is_tuned else "from disk"
        return ", ".join([*parts, how])

    def _notes(self) -> list[str]:
        """What is to be said about the candidates as a whole."""
        notes = [self.summary()]
        if self.is_doubtful:
            notes.append("candidates leave different results, and no rule decides which are right")
        notes += self.notes
        if self.damaged_lines:
            notes.append(f"{self.damaged_lines} damaged lines of {self.path} were passed over")
        if common := self.texts()[0]:
            notes.append(f"all with {common}")
        return notes

    def _share(self, row: Row) -> float:
        """How fast a candidate that was measured is, of the chosen one."""
        return self.best.milliseconds / row.milliseconds if row.milliseconds else 1.0

    def __str__(self) -> str:
        lines = [f"{self.kernel} {self.key[:-1]} on {self.device.name}"]
        lines += [f"  {note}" for note in self._notes()]
        texts = self.texts()[1]
        for row in self.ranked():
            if math.isinf(row.milliseconds):
                lines.append(f"  {row.status:>9}  {texts[row.config]}")
                if row.reason:
                    lines.append(f"             {row.reason}")
                continue
            share = self._share(row)
            facts = row.resources()
            lines.append(
                f"  {time_text(row.milliseconds):>9}  {bar(share):<{_BAR_CELLS}} {share:4.0%}  "
                f"{texts[row.config]}" + (f"  ({', '.join(facts)})" if facts else "")
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        from .. import html

        texts = self.texts()[1]
        rows: list[tuple[object, ...]] = []
        for row in self.ranked():
            if math.isinf(row.milliseconds):
                rows.append((row.status, "", "", texts[row.config], row.reason))
                continue
            share = self._share(row)
            drawn = html.bar(share, _COLORS.get(row.status, "#bbbbbb"))
            facts = ", ".join(row.resources())
            rows.append(
                (time_text(row.milliseconds), drawn, f"{share:.0%}", texts[row.config], facts)
            )
        return "\n".join(
            [
                html.heading(f"{self.kernel} {self.key[:-1]} on {self.device.name}"),
                *(f"<div>{html.escape(note)}</div>" for note in self._notes()),
                html.table(rows, ("time", "", "of the best", "candidate", "")),
            ]
        )

    def __repr__(self) -> str:
        return f"<TuningReport {self.kernel} {self.key[:-1]}: {self.best.config}>"

    def save(self, path: str | os.PathLike) -> None:
        """Draws the candidates as bars, median with the 20 % and 80 % quantile, into an image.

        Args:
            path: its ending selects the format: ``.png``, ``.svg``, ``.pdf``.

        Raises:
            ImportError: matplotlib is not installed; the text of ``str(report)`` needs nothing.
        """
        try:
            import matplotlib
        except ImportError:
            raise ImportError(
                "tuning_report().save: matplotlib is not installed\n"
                "  help: install it, or print the report: it has bars, too"
            ) from None
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        assert matplotlib is not None
        rows = [row for row in self.ranked() if math.isfinite(row.milliseconds)]
        figure = Figure(figsize=(9, 1.2 + 0.28 * max(len(rows), 1)), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots()
        places = range(len(rows))
        middle = [row.milliseconds for row in rows]
        spread = [
            [max(row.milliseconds - row.low, 0.0) for row in rows],
            [max(row.high - row.milliseconds, 0.0) for row in rows],
        ]
        axes.barh(places, middle, xerr=spread, color=[_COLORS[row.status] for row in rows])
        texts = self.texts()[1]
        axes.set_yticks(places, [texts[row.config] for row in rows], fontsize=7)
        axes.invert_yaxis()
        axes.set_xlabel("ms (median; 20 % and 80 % quantile; grey: rejected early)")
        axes.set_title(f"{self.kernel} {self.key[:-1]}\n{self.summary()}", fontsize=9)
        figure.savefig(os.fspath(path))
