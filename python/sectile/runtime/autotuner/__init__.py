"""Choosing among configurations of a kernel by measuring them, once, and remembering.

    @st.autotune(
        [st.Config({"BLOCK": block}, num_warps=warps) for block in (512, 1024) for warps in (4, 8)],
        key=["n"],
    )
    @st.jit
    def kernel(x, out, n, BLOCK: tl.constexpr): ...

    kernel[grid](x, out, n)         # the first launch with this n measures, unless that was done before
                                    # and leaves out those that leave other results in out
    print(kernel.tuning_report())

| file | what |
|---|---|
| `config.py`, `space.py` | `Config`; `Space`: all combinations of some values |
| `tuner.py`, `heuristics.py` | `autotune` and `heuristics`: what a launch goes through |
| `session.py` | one tuning, from candidates to a choice: the order of the steps |
| `limits.py`, `cost_model.py`, `search.py` | which cannot run; which are likely fast; which are next |
| `runner.py`, `race.py` | runs of one candidate with arrays put back; timing all of them in turn |
| `verification.py`, `arrays.py` | which leave other results, and which are right; arrays of any library |
| `record.py`, `locks.py`, `agreement.py` | results on disk; one process tunes; ranks agree |
| `identity.py` | names of kernels, keys, devices and candidates, the same in every process |
| `report.py`, `progress.py`, `command.py` | tables and plots; `sectile tune` |

Importing the package loads only what a launch needs.
"""

from __future__ import annotations

from ..errors import OutOfResources, PTXASError
from .config import Config
from .heuristics import Heuristics, heuristics
from .space import Space
from .tuner import Autotuner, autotune, set_store

__all__ = [
    "Autotuner",
    "Config",
    "Heuristics",
    "OutOfResources",
    "PTXASError",
    "Space",
    "autotune",
    "heuristics",
    "set_store",
]
