"""Runs generated kernels on both sides and compares every array.

python differential_support.py 1000 50      # kernels of seeds 1000 ... 1049; failures are printed
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


def differences(source, name, seed, folder, **options):
    """What differs, as text; empty when nothing does."""
    kernel, reference = functions(source, name, folder)
    got, expected = arrays(seed), arrays(seed)
    rng = np.random.default_rng(seed)
    scalars = int(rng.integers(1, 20)), int(rng.integers(1, 5))
    with np.errstate(all="ignore"):
        for program in range(PROGRAMS):
            numpy_language.program = program
            reference(*map(numpy_language.Pointer, expected.values()), *scalars)
    kernel[(PROGRAMS,)](*got.values(), *scalars, **options)
    found = []
    for array in got:
        differs = np.flatnonzero(~(got[array] == expected[array]))
        if len(differs):
            at = differs[0]
            found.append(
                f"{array}: {len(differs)} differ, first [{at}] {got[array][at]} for {expected[array][at]}"
            )
    return "\n".join(found)


def run(seed, folder, **options):
    """(source, difference)"""
    name = f"kernel_{seed}"
    source = generate.Generator(seed).kernel(name)
    return source, differences(source, name, seed, folder, **options)


if __name__ == "__main__":
    import time

    first, count = int(sys.argv[1]), int(sys.argv[2])
    options = dict(option.split("=") for option in sys.argv[3:])
    folder = tempfile.mkdtemp(prefix="differential")
    failures = 0
    for seed in range(first, first + count):
        start = time.time()
        try:
            source, difference = run(seed, folder, **options)
        except Exception as error:  # the source is in the folder
            difference = f"{type(error).__name__}: {str(error)[:600]}"
        seconds = time.time() - start
        if seconds > 3:
            print(f"{folder}/kernel_{seed}.py took {seconds:.1f} s", flush=True)
        if difference:
            failures += 1
            print(f"{folder}/kernel_{seed}.py\n{difference}", flush=True)
    print(f"{count} kernels, {failures} failures")
