"""All combinations of some values, as candidates."""

from __future__ import annotations

from .config import OPTIONS, Config

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any


class Space:
    """Candidates that are all combinations of the values given, in place of a list of `Config`.

        space = st.Space(BLOCK_M=[64, 128], BLOCK_N=[64, 128], num_warps=[4, 8])
        space = space.where(lambda BLOCK_M, BLOCK_N, **_: BLOCK_M * BLOCK_N <= 128 * 128)

        @st.autotune(space, key=["M", "N"], budget=20)     # seconds

    Args:
        axes: for each ``tl.constexpr`` parameter, and for ``num_warps``, ``num_stages``, ``num_ctas``
            and ``maxnreg``, the values to choose from: a sequence in their natural order (the search
            tries what is next to a good value), or one value.

    Raises:
        ValueError: an axis has no values, or the same one twice.

    Example:
        space = st.Space(BLOCK=[64, 128], num_warps=[4, 8])
        space = space.where(lambda BLOCK, num_warps: BLOCK >= 16 * num_warps)
        print([(config.kwargs["BLOCK"], config.num_warps) for config in space.configs()])  # [(64, 4), (128, 4), (128, 8)]
    """

    def __init__(self, **axes: Sequence | Any) -> None:
        self.axes: dict[str, list] = {}
        self.conditions: list[Callable] = []
        for name, values in axes.items():
            listed = list(values) if isinstance(values, (list, tuple, range)) else [values]
            if not listed:
                raise ValueError(f"Space: {name} has no values")
            for index, value in enumerate(listed):
                if value in listed[:index]:
                    raise ValueError(f"Space: {name} has the value {value!r} twice")
            self.axes[name] = listed

    def where(self, condition: Callable[..., bool]) -> Space:
        """The part of the space in which ``condition(**values)`` holds; it may name the axes it wants
        and take the others as ``**_``."""
        part = Space(**self.axes)
        part.conditions = [*self.conditions, condition]
        return part

    def points(self) -> Iterator[dict[str, Any]]:
        """The combinations as dictionaries, the last axis fastest."""
        names = list(self.axes)

        def extend(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
            if len(values) == len(names):
                if all(condition(**values) for condition in self.conditions):
                    yield dict(values)
                return
            name = names[len(values)]
            for value in self.axes[name]:
                yield from extend({**values, name: value})

        return extend({})

    def configs(self) -> list[Config]:
        """The combinations as configurations.

        Raises:
            ValueError: no combination meets the conditions.
        """
        found = []
        for point in self.points():
            options = {name: point.pop(name) for name in OPTIONS if name in point}
            found.append(Config(point, **options))
        if not found:
            raise ValueError("Space: no combination meets the conditions")
        return found

    def __repr__(self) -> str:
        axes = ", ".join(f"{name}={values}" for name, values in self.axes.items())
        return f"Space({axes})" + (
            f" with {len(self.conditions)} conditions" if self.conditions else ""
        )
