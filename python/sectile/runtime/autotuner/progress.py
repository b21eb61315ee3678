"""What is called with the steps of a tuning: nothing, or the display of `sectile tune`."""

from __future__ import annotations


class Watcher:
    """Is called at each step, and does nothing. Displays derive from it."""

    def started(self, session) -> None:
        """Before anything is compiled."""

    def compiled(self, session, candidate) -> None:
        """After each compile, good or bad."""

    def verified(self, session, candidate) -> None:
        """After the first run of a candidate, whose results are compared with the others'."""

    def timed(self, session, race, candidates: dict) -> None:
        """After each round; `candidates` gives that of each `Racer`."""

    def result(self, session, candidate, row: dict) -> None:
        """When a candidate is done with: `row` is that of the record."""

    def finished(self, session, best) -> None:
        """After the last round."""

    def decided(self, choice) -> None:
        """A configuration was chosen, measured or read; ``choice.report`` has the candidates."""


_watcher = Watcher()


def watcher() -> Watcher:
    return _watcher


def set_watcher(new: Watcher | None) -> None:
    global _watcher
    _watcher = new or Watcher()
