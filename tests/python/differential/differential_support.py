"""Runs generated kernels on both sides and compares every array.

python differential_support.py 1000 50      # kernels of seeds 1000 ... 1049; failures are printed
python differential_support.py 1000 50 overlap=1
python differential_support.py 1000 50 device=cuda    # with barriers, on a GPU
"""

import importlib.util
import pathlib
import sys
import tempfile

import generate
import numpy as np
import numpy_language

import sectile as st
import sectile.language as tl

PROGRAMS = 2


def arrays(seed):
    """Whole numbers in [0, 8)."""
    rng = np.random.default_rng(seed)
    length = PROGRAMS * generate.REGION
    return {
        name: rng.integers(0, generate.LOADED_BOUND, length).astype(getattr(numpy_language, dtype))
        for name, dtype in generate.ARRAYS.items()
    }


def overlapping_arrays(seed):
    """The same for one program, with pairs of arrays that are one, or views of one shifted against
    each other."""
    rng = np.random.default_rng(seed)
    made = {name: array[: generate.REGION] for name, array in arrays(seed).items()}
    for first, second in (("a32", "b32"), ("i32", "j32")):
        shift = int(rng.choice([0, 0, 1, 3, 16, 33]))
        length = generate.REGION + shift
        memory = rng.integers(0, generate.LOADED_BOUND, length).astype(made[first].dtype)
        views = [memory[: generate.REGION], memory[shift:]]
        made[first], made[second] = views if rng.random() < 0.5 else reversed(views)
    return made


def functions(source, name, folder):
    """The kernel by Sectile and by Python."""
    path = pathlib.Path(folder) / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    module.tl = tl
    spec.loader.exec_module(module)
    names = {"tl": numpy_language}
    exec(compile(source, str(path), "exec"), names)
    return st.jit(getattr(module, name)), names[name]


def differences(source, name, seed, folder, overlap=False, **options):
    """What differs, as text; empty when nothing does."""
    kernel, reference = functions(source, name, folder)
    programs = 1 if overlap else PROGRAMS  # those of a grid run in any order
    make = overlapping_arrays if overlap else arrays
    got, expected = make(seed), make(seed)
    rng = np.random.default_rng(seed)
    scalars = int(rng.integers(1, 20)), int(rng.integers(1, 5))
    with np.errstate(all="ignore"):
        for program in range(programs):
            numpy_language.program = program
            reference(*map(numpy_language.Pointer, expected.values()), *scalars)
    kernel[(programs,)](*got.values(), *scalars, **options)
    found = []
    for array in got:
        differs = np.flatnonzero(~(got[array] == expected[array]))
        if len(differs):
            at = differs[0]
            found.append(
                f"{array}: {len(differs)} differ, first [{at}] {got[array][at]} for {expected[array][at]}"
            )
    return "\n".join(found)


def run(seed, folder, has_threads=False, **options):
    """(source, difference)"""
    name = f"kernel_{seed}"
    source = generate.Generator(seed, has_threads=has_threads).kernel(name)
    return source, differences(source, name, seed, folder, **options)


if __name__ == "__main__":
    import time

    first, count = int(sys.argv[1]), int(sys.argv[2])
    options = dict(option.split("=") for option in sys.argv[3:])
    device = options.pop("device", "cpu")
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
    from launch_on_device import launches_on

    folder = tempfile.mkdtemp(prefix="differential")
    failures = 0
    for seed in range(first, first + count):
        start = time.time()
        try:
            with launches_on(device):
                source, difference = run(seed, folder, device != "cpu", **options)
        except Exception as error:  # the source is in the folder
            difference = f"{type(error).__name__}: {str(error)[:600]}"
        seconds = time.time() - start
        if seconds > 3:
            print(f"{folder}/kernel_{seed}.py took {seconds:.1f} s", flush=True)
        if difference:
            failures += 1
            print(f"{folder}/kernel_{seed}.py\n{difference}", flush=True)
    print(f"{count} kernels, {failures} failures")
