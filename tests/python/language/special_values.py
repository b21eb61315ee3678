#!/usr/bin/env python3
"""Makes special_values.txt, the exact results that test_special_functions.py compares with.

    python tests/python/language/special_values.py > tests/python/language/special_values.txt

Needs mpmath; the references are those of benchmarks/special_ulp.py, with 256 bits. A line is a function,
an argument (of fp32 and of fp64 alike), and the result as a sum of two doubles.
"""

import pathlib
import sys

import mpmath
import numpy as np
from mpmath import mp, mpf

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "benchmarks"))
import special_ulp

ONE_ARGUMENT = [
    name
    for name in special_ulp.FUNCTIONS
    if "norm3d" not in name and "norm4d" not in name and "hypot" not in name
]


def arguments(name):
    _, (low, high), near, *_ = special_ulp.FUNCTIONS[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    chosen = [rng.uniform(low, high, 60), 2.0 ** rng.uniform(-149, 127, 12)]
    chosen.append(-chosen[1])
    for point in near:
        steps = 2.0 ** rng.uniform(-24, -3, 4)
        chosen.append(point + rng.choice([-1, 1], 4) * steps * max(1, abs(point)))
    numbers = np.concatenate(chosen).astype(np.float32).tolist()
    # What only fp64 tells apart.
    deep = np.concatenate([rng.uniform(low, high, 20), 2.0 ** rng.uniform(-1000, 1000, 12)])
    numbers += deep.tolist()
    if "< 8" in name:
        numbers = [x for x in numbers if abs(x) < 8]
    elif name in ("j0", "j1", "y0", "y1"):
        numbers = [x for x in numbers if abs(x) >= 8]
    elif name == "lgamma":
        numbers = [x for x in numbers if not -23.0001 < x < -2.2637]
    elif "lgamma" in name:
        numbers = [x for x in numbers if -23.0001 < x < -2.2637]
    return numbers


def main():
    mp.prec = 256
    print("# Made by special_values.py.")
    for name in ONE_ARGUMENT:
        reference = special_ulp.FUNCTIONS[name][0]
        for x in arguments(name):
            if x == 0:
                continue
            exact = reference(mpf(x))
            if mpmath.isnan(exact) or abs(exact) > mpf(10) ** 308:
                continue
            high = float(exact)
            low = float(exact - mpf(high)) if abs(high) > 1e-280 else 0.0
            print(f"{name.split(',')[0]} {x.hex()} {high.hex()} {low.hex()}")


if __name__ == "__main__":
    main()
