"""The same random kernels in Python and in C++: both front ends must make the same tile IR of them.

    fuzz_cpp.py                        24 kernels from seed 0, in one translation unit
    fuzz_cpp.py --seed 1000 --count 2000 --batch 50 --compiler g++ --jobs 2
    fuzz_cpp.py --seed 17 --count 1 --show          its sources, and where the two texts part

Nothing is run: what a kernel computes follows from its IR, and the same kernels of Python are run by the other
tests. Where the texts differ, those after the optimizer's first pipeline are compared (a value that C++
returns from a branch though nothing changed it is gone by then), and in these, last, not the order of constants
(a parameter specialised to 1 becomes one where Python assigns what it makes of it, and where C++ uses it).
Every fourth kernel has loops with `break` and `continue` (`random_exits.py`).
"""

import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[3]
STAGES = ("tile", "tile-optimized")

HEAD = """#include <cstdio>
#include <sectile/sectile.h>

using namespace sectile;

/// Records one kernel; that compiling stops there is an error that is expected.
template <class Record>
static void attempt(const char *name, Record record) {
  try {
    record();
  } catch (const Error &error) {
    if (!std::strstr(error.what(), "stopped after"))
      std::printf("%s: %s\\n", name, error.what());
  }
}

"""


@dataclass
class Difference:
    seed: int
    text: str


def has_exits(seed):
    """Most random loops with exits have no C++ spelling; every fourth kernel is one that has."""
    return seed % 4 == 3


def case_of(seed):
    import random_exits
    import random_kernels

    return (random_exits if has_exits(seed) else random_kernels).make_case(seed)


def program(cases):
    """One translation unit that records the kernels of all cases."""
    from cpp_source import cpp_kernel

    texts, calls = [HEAD], []
    for case in cases:
        given = [argument(case, name, at) for at, name in enumerate(case.arguments)]
        texts.append(
            f"static void run_{case.name}() {{\n{cpp_kernel(case.source, case.name)}.compile({', '.join(given)});\n}}\n"
        )
        calls.append(f'  attempt("{case.name}", run_{case.name});')
    return "\n".join([*texts, "int main() {", *calls, "}", ""])


def argument(case, name, at):
    """An argument like that of Python's launch; nothing is behind the pointers."""
    if "_" not in name:
        return str(case.scalars[name])
    address = (at + 1 << 20) + (8 if name in case.shifted else 0)
    return f"reinterpret_cast<void *>({address})"


def stopped(folder):
    return os.environ | {
        "SECTILE_DUMP": f"{','.join(STAGES)}:{folder}",
        "SECTILE_STOP_AFTER": STAGES[-1],
        "SECTILE_CACHE_DIR": "",
        "CUDA_VISIBLE_DEVICES": "",
    }


def record_in_cpp(cases, folder, compiler, library):
    (folder / "kernels.cpp").write_text(program(cases))
    compiled = subprocess.run(
        [compiler, "-std=c++20", "-O0", "-w", f"-I{ROOT}/include", f"-I{ROOT}", "-include", "cstring",
         "kernels.cpp", f"-L{library}", "-lsectile", f"-Wl,-rpath,{library}", "-o", "kernels"],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    if compiled.returncode:
        raise RuntimeError(f"{folder}/kernels.cpp does not compile:\n{compiled.stderr[:4000]}")
    (folder / "cpp").mkdir()
    done = subprocess.run(
        [folder / "kernels"], env=stopped(folder / "cpp"), capture_output=True, text=True
    )
    return done.stdout + done.stderr


def record_in_python(seeds, folder):
    (folder / "python").mkdir()
    done = subprocess.run(
        [sys.executable, __file__, "--record", *map(str, seeds)],
        env=stopped(folder / "python"), capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout + done.stderr


def record(seeds):
    """In a process of its own: records the kernels, whose stages are dumped."""
    from fuzz_case import compiled_function, language_dtype

    import sectile as st

    for seed in seeds:
        case = case_of(seed)
        with tempfile.TemporaryDirectory() as folder:
            kernel = compiled_function(case, folder)
            given = [
                st.MockTensor(language_dtype(name[2:]), aligned=name not in case.shifted)
                if "_" in name
                else case.scalars[name]
                for name in case.arguments
            ]
            try:
                kernel.warmup(*given, grid=(1,), target="cpu")
            except st.SectileError as error:
                if "stopped after" not in str(error):
                    print(f"{case.name}: {error}")


def stage(folder, case, name):
    path = folder / f"{case.name}.{name}.mlir"
    return path.read_text() if path.exists() else ""


def without_constants(text):
    """The text with each constant where it is used."""
    made = re.compile(r"^ *(%\w+) = (arith\.constant .*)\n", re.MULTILINE)
    values = dict(made.findall(text))
    return re.sub(r"%\w+", lambda name: values.get(name[0], name[0]), made.sub("", text))


def without_values(text):
    """The operations and their types alone: branches hand on what they change in the order of Python's
    assignments, and in C++ in that of the loop."""
    lines = [line for line in text.splitlines() if "arith.constant" not in line]
    return re.sub(r"%\w+(?:[:#]\d+)?", "%", "\n".join(lines))


def compare(case, folder):
    """What differs, as text; empty when nothing does."""
    for name in STAGES:
        python, cpp = (stage(folder / side, case, name) for side in ("python", "cpp"))
        if python and python == cpp:
            return ""
    if python and without_constants(python) == without_constants(cpp):
        return ""
    if python and has_exits(case.seed) and without_values(python) == without_values(cpp):
        return ""
    lines = difflib.unified_diff(
        python.splitlines(), cpp.splitlines(), "python", "c++", lineterm=""
    )
    return "\n".join(lines) or "neither was recorded"


def translatable(seeds):
    """Cases that both languages can say, and how many of the seeds those are not."""
    from cpp_source import Untranslatable, cpp_kernel

    cases, refused = [], 0
    for seed in seeds:
        case = case_of(seed)
        try:
            cpp_kernel(case.source, case.name)
            cases.append(case)
        except Untranslatable:
            refused += 1
    return cases, refused


def run_batch(seeds, compiler, library, folder):
    """(kernels compared, seeds that C++ cannot say, differences)"""
    cases, refused = translatable(seeds)
    with ThreadPoolExecutor() as pool:
        python = pool.submit(record_in_python, [case.seed for case in cases], folder)
        said = record_in_cpp(cases, folder, compiler, library) + python.result()
    different = [Difference(case.seed, text) for case in cases if (text := compare(case, folder))]
    for each in different:
        about = [line for line in said.splitlines() if re.match(rf"kernel_{each.seed}\b", line)]
        each.text = "\n".join([*about, each.text])
    return len(cases), refused, different


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--batch", type=int, default=24, help="kernels of one translation unit")
    parser.add_argument("--compiler", default="clang++-22")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print the sources, too")
    parser.add_argument("--record", nargs="*", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.record is not None:
        return record(chosen.record)

    import sectile._native as native

    library = pathlib.Path(native.__file__).parents[2] / "lib"
    end = chosen.seed + chosen.count
    batches = [range(s, min(s + chosen.batch, end)) for s in range(chosen.seed, end, chosen.batch)]
    compared = refused = 0
    different = []

    def work(seeds):
        with tempfile.TemporaryDirectory() as folder:
            return run_batch(seeds, chosen.compiler, library, pathlib.Path(folder))

    with ThreadPoolExecutor(chosen.jobs) as pool:
        for count, untranslatable, found in pool.map(work, batches):
            compared, refused = compared + count, refused + untranslatable
            different += found
            for each in found:
                print(f"seed {each.seed}:\n{each.text}\n", flush=True)
    if chosen.show:
        from cpp_source import cpp_kernel

        for case in translatable(range(chosen.seed, end))[0]:
            print(case.source, cpp_kernel(case.source, case.name), sep="\n")
    print(
        f"{compared} kernels compared, {len(different)} differ; {refused} seeds have no C++ spelling"
    )
    return bool(different)


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    sys.exit(main())
