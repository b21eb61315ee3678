"""PTX of many kernels, to be compared with what another state of the compiler makes of them.

    python tests/python/dump_ptx.py before          # writes before/tutorials/..., before/random/..., ...
    ... a change that should change no code ...
    python tests/python/dump_ptx.py after --against before

Kernels: the tutorials in Python as they run on a GPU, those in C++ (where `ninja -C build` made them), random
kernels with fixed seeds (`differential/random_kernels.py`), and whatever the tests of products launch. Each
is compiled for several targets, none of which need be there. The second command fails and names the files that
differ, are missing or are new. The caches on disk are left aside: everything is compiled.
"""

import argparse
import filecmp
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE / "differential")]

TARGETS = ["cuda:80", "cuda:90", "cuda:120"]
PRODUCT_TESTS = ["test_dot.py", "test_dot_scaled.py"]


class Dump:
    """A folder of texts; errors of the compiler are texts, too."""

    def __init__(self, folder, targets):
        self.folder, self.targets = folder, targets
        self.count = 0

    def write(self, group, name, target, text):
        name = re.sub(r"[^\w.=-]+", "_", name)[:120]
        path = self.folder / group / f"{name}.{target.replace(':', '')}.ptx"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.count += 1

    def compile(self, group, name, kernel, positional, named, hidden=""):
        """`hidden` is a path that texts may name, and that differs between runs."""
        import sectile as st

        for target in self.targets:
            try:
                text = kernel.warmup(*positional, grid=(1,), target=target, **named).asm["ptx"]
            except st.SectileError as error:
                text = f"{type(error).__name__}: {error}\n"
            self.write(group, name, target, text.replace(hidden, "") if hidden else text)


def dump_tutorials(dump):
    from test_tutorials_on_gpus import LESSONS, launches

    for lesson in LESSONS:
        for number, (_, kernel, positional, named) in enumerate(launches(lesson)):
            name = f"{lesson}-{number:02}-{kernel.__name__}"
            dump.compile("tutorials", name, kernel, positional, named)


def dump_cpp_tutorials(dump):
    """Their tile IR is written by runs on the CPU, and compiled by the command line."""
    import sectile as st

    build = pathlib.Path(st.__file__).parents[2]
    for lesson in sorted((build / "tutorials").glob("[0-9]*")):
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | {
                "SECTILE_DUMP": f"tile:{folder}",
                "SECTILE_CACHE_DIR": "",
                "CUDA_VISIBLE_DEVICES": "",
            }
            subprocess.run(
                [lesson, "--quick"], env=environment, check=True, stdout=subprocess.DEVNULL
            )
            for number, kernel in enumerate(sorted(pathlib.Path(folder).glob("*.mlir"))):
                for target in dump.targets:
                    command = [build / "bin/sectile", "compile", f"--target={target}"]
                    run = subprocess.run(
                        [*command, "--emit=ptx", kernel], capture_output=True, text=True
                    )
                    text = run.stdout + run.stderr
                    dump.write("tutorials-cpp", f"{lesson.name}-{number:02}", target, text)


def dump_random_kernels(dump, count):
    from fuzz_case import compiled_function, language_dtype
    from random_kernels import make_case

    import sectile as st

    with tempfile.TemporaryDirectory() as folder:
        for seed in range(count):
            case = make_case(seed)
            positional = [
                st.MockTensor(language_dtype(name[2:]), aligned=name not in case.shifted)
                if "_" in name
                else case.scalars[name]
                for name in case.arguments
            ]
            kernel = compiled_function(case, folder)
            dump.compile("random", f"{seed:06}", kernel, positional, case.options, folder)


def dump_tests(dump, files):
    import pytest
    from target_check import Recorder

    recorder = Recorder()
    paths = [str(HERE / "language" / file) for file in files]
    with recorder.recording():
        pytest.main([*paths, "-q", "--targets=none", "--device=cpu", "-p", "no:cacheprovider"])
    for number, (kernel, positional, named) in enumerate(recorder.take()):
        dump.compile("tests", f"{number:04}-{kernel.__name__}", kernel, positional, named)


def differences(after, before):
    """The names of files that are not the same in both folders, with what is the matter."""
    files = {
        str(path.relative_to(folder))
        for folder in (after, before)
        for path in folder.rglob("*.ptx")
    }
    for name in sorted(files):
        if not (before / name).exists():
            yield f"{name}: new"
        elif not (after / name).exists():
            yield f"{name}: missing"
        elif not filecmp.cmp(after / name, before / name, shallow=False):
            yield f"{name}: differs"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path, help="written to; must not exist")
    parser.add_argument("--against", type=pathlib.Path, help="an earlier folder to compare with")
    parser.add_argument("--targets", nargs="+", default=TARGETS)
    parser.add_argument("--cases", type=int, default=200, help="random kernels")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True)
    os.environ["SECTILE_CACHE_DIR"] = ""

    dump = Dump(arguments.folder, arguments.targets)
    dump_tutorials(dump)
    dump_cpp_tutorials(dump)
    dump_random_kernels(dump, arguments.cases)
    dump_tests(dump, PRODUCT_TESTS)
    print(f"{dump.count} texts in {arguments.folder}")
    if not arguments.against:
        return 0
    found = list(differences(arguments.folder, arguments.against))
    print("\n".join(found) or f"the same as in {arguments.against}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
