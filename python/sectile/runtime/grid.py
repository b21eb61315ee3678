"""What went wrong in the grid function of a launch."""

from __future__ import annotations

from .._suggest import did_you_mean
from ..errors import GridKeyError

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def explain(error: KeyError, grid: Any, kernel: str, known: Mapping[str, Any]) -> None:
    """Raises a `GridKeyError` if `error` is of the grid function's asking for what it is not given; else returns.

    Args:
        error: what calling `grid` raised.
        grid: the function.
        kernel: its kernel's name.
        known: what the function was given.
    """
    places = error.__traceback__
    while places is not None and places.tb_frame.f_code is not getattr(grid, "__code__", ""):
        places = places.tb_next
    name = (error.args or (None,))[0]
    if places is None or name in known:
        return
    raise GridKeyError(
        f"{kernel}: the grid function asks for {name!r}, which is neither a parameter nor a setting"
        f"{did_you_mean(str(name), known)}\n"
        f"  help: it is given {', '.join(known)}"
    ) from None
