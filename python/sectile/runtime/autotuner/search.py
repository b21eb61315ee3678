"""Which candidates to compile and time next, when there is no time for all of them.

First the cheapest by the cost model, of different tiles; then, batch by batch, half of them neighbours of
the fastest so far (one value different, and next to it on its axis) and half further ones by cost.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from .config import Config

_LEADERS = 3  # whose neighbours are tried


class Search:
    """The candidates not tried yet.

    Args:
        configs: all candidates.
        costs: what the model expects of each; the unit does not matter.
    """

    def __init__(self, configs: list[Config], costs: list[float]) -> None:
        self.values = [config.all_kwargs() for config in configs]
        self.constants = [repr(sorted(config.kwargs.items(), key=str)) for config in configs]
        self.order = sorted(range(len(configs)), key=costs.__getitem__)
        self.rest = set(range(len(configs)))
        self.axes: dict[str, list] = {}
        for values in self.values:
            for name, value in values.items():
                known = self.axes.setdefault(name, [])
                if value not in known:
                    known.append(value)
        for known in self.axes.values():
            try:
                known.sort()
            except TypeError:  # texts and dtypes: as given
                pass

    def drop(self, indices) -> None:
        """Leaves out what is known already."""
        self.rest -= set(indices)

    def are_neighbours(self, left: int, right: int) -> bool:
        """One value different, and next to it."""
        a, b = self.values[left], self.values[right]
        if a.keys() != b.keys():
            return False
        different = [name for name in a if a[name] != b[name]]
        if len(different) != 1:
            return False
        axis = self.axes[different[0]]
        return abs(axis.index(a[different[0]]) - axis.index(b[different[0]])) == 1

    def next_batch(self, count: int, times: dict[int, float]) -> list[int]:
        """Up to `count` candidates, which are not given again.

        Args:
            times: milliseconds of those measured so far.
        """
        batch: list[int] = []
        for leader in sorted(times, key=times.__getitem__)[:_LEADERS]:
            near = [i for i in self.order if i in self.rest and self.are_neighbours(i, leader)]
            batch += [i for i in near if i not in batch]
        batch = batch[: (count + 1) // 2]
        tiles = {self.constants[i] for i in batch} if not times else set()
        for is_second_pass in (False, True):
            for index in self.order:
                if len(batch) >= count:
                    break
                if index not in self.rest or index in batch:
                    continue
                # At first each tile once: warps and stages matter less.
                if not times and not is_second_pass:
                    if self.constants[index] in tiles:
                        continue
                    tiles.add(self.constants[index])
                batch.append(index)
        self.drop(batch)
        return batch
