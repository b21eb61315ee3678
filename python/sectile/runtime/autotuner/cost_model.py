"""Which candidates are likely fast: an order to try them in, never a verdict.

The model knows how many programs the grid has, what each takes of the device, and nothing of what the
kernel does. All work together is 1, shared evenly by the programs; the time of a launch is modelled as

    time  =  busiest / programs  / hiding * start * reuse * spills

    busiest  ceil(programs / units): programs of the unit (multiprocessor, thread) that has most, which
             is where a grid that does not divide evenly loses
    hiding   warps in flight on a unit / WARPS_WANTED, at most 1: what covers a warp's waits. Warps in
             flight follow from registers, shared memory and threads (limits.py)
    start    1 + START * programs / units: what beginning a program costs
    reuse    1 + REUSE * sqrt(programs / units): bigger tiles load less for each result
    spills   1 + SPILL for each register kept in memory

Before compiling, what a program takes is guessed from the configuration alone. The result has no unit;
only the order counts. The constants are round numbers, not fitted.
"""

from __future__ import annotations

import math

from .limits import Resources, programs_per_unit, threads_of

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from .config import Config
    from .identity import Device

_WARPS_WANTED = 8.0  # on a multiprocessor, of which each has loads under way
_START = {"cuda": 2e-5, "hip": 2e-5, "cpu": 1e-4}
_REUSE = 0.05
_SPILL = 0.02


def guessed_resources(config: Config, device: Device) -> Resources:
    """Before compiling: half of the registers a thread may have."""
    if not device.is_gpu:
        return Resources()
    threads = threads_of(config, device)
    registers = min(128, device.properties["max_num_regs"] // max(threads, 1))
    if config.maxnreg:
        registers = min(registers, config.maxnreg)
    return Resources(registers, 0, 0, threads)


def predicted_cost(programs: int | None, resources: Resources, device: Device) -> float:
    """Relative time of a launch; inf for a candidate that does not fit.

    Args:
        programs: of the whole grid; None when it is not known.
        resources: of the compiled kernel, or guessed.
        device: where it runs.
    """
    resident = programs_per_unit(resources, device)
    if resident < 1:
        return math.inf
    is_gpu = device.is_gpu
    spills = 1 + _SPILL * resources.spilled_bytes / 4
    warps = resources.threads / device.properties["warpSize"] if is_gpu else _WARPS_WANTED
    if not programs:
        return spills / min(1.0, resident * warps / _WARPS_WANTED)
    units = device.units
    busiest = math.ceil(programs / units)
    in_flight = min(resident, max(1.0, programs / units))
    hiding = min(1.0, in_flight * warps / _WARPS_WANTED)
    start = 1 + _START[device.kind] * programs / units
    reuse = 1 + _REUSE * math.sqrt(programs / units)
    return busiest / programs / hiding * start * reuse * spills


def order_by_cost(costs: list[float]) -> list[int]:
    """Indices from the cheapest on; equal ones stay in the order they were given."""
    return sorted(range(len(costs)), key=costs.__getitem__)
