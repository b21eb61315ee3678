"""Loops over range() with bounds and steps of all integer types, at the edges of each, against Python.

    case = make_case(7)                        # bounds from memory, a constant step, or constants only
    difference = run(case, "cpu", folder)      # "" when every loop ran through Python's numbers

A program has a range of its own, and stores the number of its turns and their indices. A loop that makes
more turns than Python stops at an assertion on the CPU, so that no endless loop hangs a test.

    python tests/python/differential/random_ranges.py cpu 0 200          # seeds 0 ... 199
    python tests/python/differential/random_ranges.py simulated 0 200    # the GPU's code, on the CPU
    python tests/python/differential/random_ranges.py cuda 0 200
"""

import importlib.util
import pathlib
import random
import sys
import tempfile
from dataclasses import dataclass

import numpy as np
from fuzz_case import simulate

import sectile as st
import sectile.language as tl

TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
MOST_TURNS = 12


def limits(dtype):
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def bits(dtype):
    return np.iinfo(dtype).bits


def is_signed(dtype):
    return dtype[0] == "i"


def common(*dtypes):
    """The type that integers meet in: the wider, at equal width the unsigned."""
    return max(dtypes, key=lambda dtype: (bits(dtype), not is_signed(dtype)))


def wrapped(number, dtype):
    low, high = limits(dtype)
    return (number - low) % (high - low + 1) + low


def one_type_holds(start, end):
    """Whether some type holds all numbers of the bounds: not for uint64 with signed ones."""
    return "uint64" not in (start, end) or not (is_signed(start) or is_signed(end))


@dataclass
class Range:
    start: int
    end: int
    step: int

    def numbers(self):
        """What the loop runs through; None when that is more than a test can run."""
        if self.step == 0:
            return []
        turns = range(self.start, self.end, self.step)
        # len() is for 63 bits only.
        if not turns or turns[0] == turns[-1]:
            return list(turns)
        count = (turns[-1] - turns[0]) // self.step + 1
        return list(turns) if count <= MOST_TURNS else None


def edges(dtype):
    low, high = limits(dtype)
    half = 1 << (bits(dtype) - 1)
    near = [low, high, 0, half, -half, half // 2, (high + low) // 2]
    return [n + d for n in near for d in (-3, -2, -1, 0, 1, 2, 3) if low <= n + d <= high]


def random_range(rng, types):
    """Bounds near edges, and a step that gets from one to the other in a few turns."""
    start_type, end_type, step_type = types
    while True:
        start = rng.choice(edges(start_type))
        if rng.random() < 0.3:
            end = wrapped(start + rng.randint(-40, 40), end_type)
        else:
            end = rng.choice(edges(end_type))
        low, high = limits(step_type)
        kind = rng.random()
        if kind < 0.5:
            step = (end - start) // rng.randint(1, MOST_TURNS) + rng.randint(-2, 2)
        elif kind < 0.8:
            step = rng.choice(edges(step_type))
        else:
            step = rng.randint(-5, 5)
        step = min(max(step, low), high)
        made = Range(start, end, step)
        if made.numbers() is not None:
            return made


def run_time_source(types):
    """All numbers from memory. (The type of an index is that of its arithmetic.)"""
    start, end, step = types
    index = common(start, end, step)
    return f"""
def kernel(starts, ends, steps, counts, indices, MOST: tl.constexpr):
    p = tl.program_id(0)
    n = 0
    for i in range(tl.load(starts + p), tl.load(ends + p), tl.load(steps + p)):
        tl.static_assert(i.dtype == tl.{index})
        tl.device_assert(n < MOST, "more turns than Python makes")
        tl.store(indices + p * MOST + n, i, mask=n < MOST)
        n += 1
    tl.store(counts + p, n)
"""


def constant_step_source(types, step):
    return f"""
def kernel(starts, ends, counts, indices, MOST: tl.constexpr):
    p = tl.program_id(0)
    n = 0
    for i in range(tl.load(starts + p), tl.load(ends + p), {step}):
        tl.device_assert(n < MOST, "more turns than Python makes")
        tl.store(indices + p * MOST + n, i, mask=n < MOST)
        n += 1
    tl.store(counts + p, n)
"""


def constant_source(ranges):
    """One loop after the other; numbers as they are written."""
    lines = ["def kernel(counts, indices, MOST: tl.constexpr):"]
    for number, each in enumerate(ranges):
        lines += [
            "    n = 0",
            f"    for i in range({each.start}, {each.end}, {each.step}):",
            '        tl.device_assert(n < MOST, "more turns than Python makes")',
            f"        tl.store(indices + {number} * MOST + n, i, mask=n < MOST)",
            "        n += 1",
            f"    tl.store(counts + {number}, n)",
        ]
    return "\n".join(lines) + "\n"


def literal_type(number):
    """What a number written in a kernel is."""
    for dtype in ("int32", "uint32", "int64", "uint64"):
        low, high = limits(dtype)
        if low <= number <= high:
            return dtype
    raise ValueError(number)


def empty_results(count, dtype):
    return np.full(count, -1, np.int32), np.full(count * MOST_TURNS, 77, dtype)


def differences(ranges, dtypes, counts, indices):
    """What differs from Python, as text; empty when nothing does. `dtypes` are those of the indices, which
    are cast when they are stored."""
    lines = []
    stored = indices.dtype.name
    for number, (each, dtype) in enumerate(zip(ranges, dtypes)):
        wanted = [wrapped(wrapped(i, dtype), stored) for i in each.numbers()]
        row = indices[number * MOST_TURNS : (number + 1) * MOST_TURNS]
        got = [int(i) for i in row[: len(wanted)]]
        if counts[number] != len(wanted) or got != wanted:
            lines.append(f"{each}: {counts[number]} turns, {got} for {wanted}")
        elif (row[len(wanted) :] != 77).any():
            lines.append(f"{each}: stores behind the last turn")
    return "\n".join(lines[:5]) + (f"\n... {len(lines)} in all" if len(lines) > 5 else "")


def random_types(rng):
    while True:
        types = tuple(rng.choice(TYPES) for _ in range(3))
        if one_type_holds(*types[:2]):
            return types


@dataclass
class Case:
    """A kernel, the arrays it is launched with, and the range of each program (or all in one program)."""

    source: str
    arguments: dict
    ranges: list
    programs: int
    dtypes: list

    def difference(self, results):
        return differences(self.ranges, self.dtypes, results["counts"], results["indices"])


def make_constants(rng):
    ranges, dtypes = [], []
    while len(ranges) < 4:
        each = random_range(rng, tuple(rng.choice(("int32", "int64", "uint64")) for _ in range(3)))
        kinds = [literal_type(n) for n in (each.start, each.end, each.step)]
        if each.step and any(
            low <= each.start <= high and low <= each.end <= high
            for low, high in map(limits, TYPES)
        ):
            ranges.append(each)
            dtypes.append(common(*kinds))
    counts, indices = empty_results(len(ranges), "int64")
    return Case(constant_source(ranges), {"counts": counts, "indices": indices}, ranges, 1, dtypes)


def make_case(seed, types=None, programs=40):
    rng = random.Random(seed)
    types = types or random_types(rng)
    start, end, step = types
    kind = rng.choice(["run time", "run time", "constant step", "constants"])
    if kind == "constants":
        return make_constants(rng)
    ranges = []
    while not ranges:
        ranges = [random_range(rng, types) for _ in range(programs)]
        if kind == "constant step":
            by = ranges[0].step or 1
            ranges = [Range(each.start, each.end, by) for each in ranges]
            ranges = [each for each in ranges if each.numbers() is not None]
    if kind == "constant step":
        source, index = constant_step_source(types, by), common(start, end, literal_type(by))
    else:
        source, index = run_time_source(types), common(*types)
    counts, indices = empty_results(len(ranges), index)
    arguments = {
        "starts": np.array([each.start for each in ranges], start),
        "ends": np.array([each.end for each in ranges], end),
    }
    if kind == "run time":
        arguments["steps"] = np.array([each.step for each in ranges], step)
    arguments |= {"counts": counts, "indices": indices}
    return Case(source, arguments, ranges, len(ranges), [index] * len(ranges))


def jit_function(case, folder, name):
    path = pathlib.Path(folder) / f"{name}.py"
    path.write_text(case.source)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    module.tl = tl
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return st.jit(module.kernel)


def has_zero_step(case):
    return any(each.step == 0 for each in case.ranges)


def run(case, device, folder, name="kernel"):
    """What differs from Python; empty when nothing does."""
    kernel = jit_function(case, folder, name)
    arrays = {name: array.copy() for name, array in case.arguments.items()}
    if device == "simulated":
        return simulated(case, kernel, arrays, folder)
    # A step of 0 is an error with assertions, and a loop of no turns without.
    kernel[(case.programs,)](
        *arrays.values(), MOST=MOST_TURNS, debug=device == "cpu" and not has_zero_step(case)
    )
    return case.difference(arrays)


def simulated(case, kernel, arrays, folder):
    """The code for a GPU, thread by thread on the CPU."""
    mocks = [st.MockTensor(getattr(tl, array.dtype.name)) for array in arrays.values()]
    text = kernel.warmup(*mocks, MOST=MOST_TURNS, grid=(1,), target="cpu").asm["tile"]
    folder = pathlib.Path(folder)
    (folder / "kernel.mlir").write_text(text)
    for name, array in arrays.items():
        (folder / name).write_bytes(array.tobytes())
    warps, stages = 1, 3
    words = [folder / "kernel.mlir", case.programs, f"num_warps={warps}", f"num_stages={stages}"]
    words += [f"{folder / name}:0" for name in arrays]
    answer = simulate(" ".join(map(str, words)))
    if answer != "right":
        return answer
    return case.difference(
        {n: np.frombuffer((folder / n).read_bytes(), a.dtype) for n, a in arrays.items()}
    )


if __name__ == "__main__":
    device, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
    from launch_on_device import launches_on

    folder = tempfile.mkdtemp(prefix="ranges")
    failures = loops = 0
    for seed in range(first, first + count):
        case = make_case(seed)
        loops += len(case.ranges)
        with launches_on("cpu" if device == "simulated" else device):
            try:
                difference = run(case, device, folder, f"kernel_{seed}")
            except Exception as error:
                difference = f"{type(error).__name__}: {str(error)[:600]}"
        if difference:
            failures += 1
            print(f"seed {seed}\n{case.source}{difference}", flush=True)
    print(f"{count} kernels, {loops} loops, {failures} kernels wrong")
