"""\"Did you mean\": the known name closest to a misspelt one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def _distance(a: str, b: str, limit: int) -> int:
    """Edits (insert, delete, replace, swap of neighbours) from `a` to `b`; `limit` + 1 if more."""
    before: list[int] = []
    previous = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        current = [i]
        for j, right in enumerate(b, 1):
            cost = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (left != right))
            if i > 1 and j > 1 and left == b[j - 2] and a[i - 2] == right:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return limit + 1
        before, previous = previous, current
    return previous[-1]


def closest(name: str, known: Iterable[str]) -> str | None:
    """The closest of `known`, or None when none is close enough to be what was meant."""
    limit = max(1, len(name) // 3)
    best, best_distance = None, limit + 1
    for candidate in known:
        if abs(len(candidate) - len(name)) > limit:
            continue
        distance = _distance(name.lower(), candidate.lower(), limit)
        # Most short names have others within so many edits by chance: half of the letters must be right.
        if distance < best_distance and 2 * distance < max(len(name), len(candidate)):
            best, best_distance = candidate, distance
    return best


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` or ``""``, to put at the end of a message."""
    found = closest(name, known)
    return f"; did you mean {found!r}?" if found else ""


def did_you_mean_or_list(name: str, known: Iterable[str]) -> str:
    """The same, or ``"; there are 'x', 'y'"`` where nothing is close."""
    known = list(known)
    listed = ", ".join(map(repr, known)) or "none"
    return did_you_mean(name, known) or f"; there {'is' if len(known) == 1 else 'are'} {listed}"
