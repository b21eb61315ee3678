"""The own tests of libraries of Triton kernels, with Triton and with Sectile in its place.

    git clone https://github.com/linkedin/Liger-Kernel
    python benchmarks/libraries.py run liger Liger-Kernel --with triton --out triton.tsv
    python benchmarks/libraries.py run liger Liger-Kernel --with sectile --out sectile.tsv --of triton.tsv
    python benchmarks/libraries.py compare sectile.tsv triton.tsv [--save SETTING]

Needs a GPU, torch, pytest, what the library imports, pytest-xdist for several workers, and pytest-timeout for a limit of
each test. A run adds a line to the file for each test as it ends, so what a limit of time cuts off is known, too; runs of
several libraries may go to one file. `--sample N` takes N of the parameters of each test function, the same in every run. `--of FILE` takes the
tests that pass there. Nothing of the libraries is part of Sectile. `--save` writes benchmarks/results/libraries.md.

What Triton does not pass counts for neither: tests that want another GPU, more memory, or another version.
"""

import argparse
import collections
import importlib.util
import os
import pathlib
import random
import subprocess
import sys
import time
import types
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent


@dataclass
class Library:
    """Where its tests are.

    Attributes:
        tests: files and folders, of the repository.
        packages: the folder that has its packages.
        ignored: patterns of files that test something else than Triton kernels.
        bare: packages of which only the modules below are imported: their own imports want compiled extensions. With what
            these modules take from them.
        paths: more folders from which modules are imported.
        workers: most of pytest's workers that its tests bear.
    """

    tests: tuple
    packages: str = "."
    ignored: tuple = ()
    bare: dict = field(default_factory=dict)
    paths: tuple = ()
    workers: int = 64


LIBRARIES = {
    "liger": Library(
        ("test/transformers",),
        "src",
        ("*cute*", "*cutile*", "*trainer_integration*", "*monkey_patch*"),
    ),
    "fla": Library(("tests/ops", "tests/modules")),
    # Its conftest.py keeps results of its own, which pytest-xdist's first process does not have.
    "flaggems": Library(("tests",), "src", workers=1),
    "attorch": Library(("tests",)),
    "mamba": Library(("tests/ops/triton",), bare={"mamba_ssm": {}}),
    "unsloth": Library(
        ("unsloth/kernels/moe/tests/test_grouped_gemm.py",),
        bare={
            "unsloth": {"DEVICE_TYPE": "cuda"},
            "unsloth.kernels": {},
            "unsloth.kernels.moe": {},
        },
        paths=("unsloth/kernels/moe",),
    ),
}


# ---- pytest's plug-in, in the processes that run tests -------------------------------------------------


def _prepare():
    """Before anything of the library is imported."""
    library, folder = LIBRARIES[os.environ["LIBRARY_NAME"]], os.environ["LIBRARY_FOLDER"]
    if os.environ.get("SECTILE_AS_TRITON"):
        importlib.import_module("sectile")  # which makes the next one its own
        triton = importlib.import_module("triton")
        assert "sectile" in pathlib.Path(triton.__file__).parts, triton.__file__
    for name, known in library.bare.items():
        package = types.ModuleType(name)
        package.__path__ = [os.path.join(folder, library.packages, *name.split("."))]
        vars(package).update(known)
        sys.modules[name] = package


def pytest_collection_modifyitems(items):
    if wanted := os.environ.get("LIBRARY_TESTS"):
        names = set(pathlib.Path(wanted).read_text().splitlines())
        items[:] = [item for item in items if item.nodeid in names]
    if count := int(os.environ.get("LIBRARY_SAMPLE", "0")):
        functions = collections.defaultdict(list)
        for item in items:
            functions[item.nodeid.split("[")[0]].append(item)
        items[:] = [
            item
            for name, found in functions.items()
            for item in random.Random(name).sample(found, min(count, len(found)))
        ]
    random.Random(1).shuffle(items)  # a limit of time cuts off a part of each file


class Log:
    """Writes each test's outcome as it ends."""

    def __init__(self, path):
        self.path = path

    def pytest_runtest_logreport(self, report):
        if report.when != "call" and report.outcome == "passed":
            return
        reason = ""
        if report.failed:
            lines = str(report.longrepr).strip().split("\n")
            errors = [line[1:].strip() for line in lines if line.startswith("E ")]
            reason = " | ".join(errors[:2] or lines[-1:])[:300]
        fields = [
            os.environ["LIBRARY_NAME"],
            report.outcome,
            f"{report.duration:.2f}",
            report.nodeid,
            reason,
        ]
        with open(self.path, "a") as file:
            file.write("\t".join(field.replace("\t", " ") for field in fields) + "\n")


def pytest_configure(config):
    if "PYTEST_XDIST_WORKER" not in os.environ:
        config.pluginmanager.register(Log(os.environ["LIBRARY_RESULTS"]), "library-log")


if os.environ.get("LIBRARY_NAME") and __name__ != "__main__":
    _prepare()


# ---- the commands --------------------------------------------------------------------------------------


def outcomes(path):
    """(library, test) -> (outcome, seconds, reason)"""
    result = {}
    for line in pathlib.Path(path).read_text().splitlines():
        library, outcome, seconds, test, reason = line.split("\t")
        result[library, test] = (outcome, float(seconds), reason)
    return result


def run(options):
    library, folder = LIBRARIES[options.library], pathlib.Path(options.repository).resolve()
    results = pathlib.Path(options.out).resolve()
    paths = [
        str(HERE),
        str(folder / library.packages),
        str(folder),
        *(str(folder / path) for path in library.paths),
        os.environ.get("PYTHONPATH", ""),
    ]
    environment = {
        # What tells pytest's processes of themselves is not for those that are started here.
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "LIBRARY_NAME": options.library,
        "LIBRARY_FOLDER": str(folder),
        "LIBRARY_RESULTS": str(results),
        "LIBRARY_SAMPLE": str(options.sample),
    }
    environment.pop("SECTILE_AS_TRITON", None)
    if options.provider == "sectile":
        environment["SECTILE_AS_TRITON"] = "1"
    if options.of:
        passed = [
            test
            for (name, test), (outcome, *_) in outcomes(options.of).items()
            if name == options.library and outcome == "passed"
        ]
        wanted = results.with_suffix(f".{options.library}.tests")
        wanted.write_text("\n".join(passed))
        environment["LIBRARY_TESTS"] = str(wanted)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "libraries", "-p", "no:cacheprovider"]
    command += ["--rootdir", folder, *(f"--ignore-glob={each}" for each in library.ignored)]
    if importlib.util.find_spec("pytest_timeout"):
        command.append(f"--timeout={options.timeout}")
    if (workers := min(options.workers, library.workers)) > 1:
        command += ["-n", workers]
    command += library.tests
    begun = time.monotonic()
    try:
        done = subprocess.run(
            list(map(str, command)), cwd=folder, env=environment, timeout=options.seconds
        )
        end = f"pytest's status is {done.returncode}"
    except subprocess.TimeoutExpired:
        end = "ended by the limit of time"
    print(f"{options.library} with {options.provider}: {time.monotonic() - begun:.0f} s, {end}")
    counts = collections.Counter(
        outcome
        for (name, _), (outcome, *_) in (outcomes(results) if results.exists() else {}).items()
        if name == options.library
    )
    print(
        "  "
        + (
            ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
            or "no test ran"
        )
    )


def report(sectile, triton):
    rows = collections.defaultdict(collections.Counter)
    reasons = []
    for (library, test), (outcome, seconds, _) in triton.items():
        if outcome != "passed":
            continue
        mine, mine_seconds, why = sectile.get((library, test), ("not run", 0.0, ""))
        rows[library][mine] += 1
        if mine != "not run":
            rows[library]["seconds of Triton"] += seconds
            rows[library]["seconds of Sectile"] += mine_seconds
        if mine == "failed":
            reasons.append(f"- `{library}: {test}`: {why}")
    lines = [
        "| library | pass with Triton | of these ran with Sectile | pass | share | seconds, Triton | seconds, Sectile |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for library, row in sorted(rows.items()):
        ran = row["passed"] + row["failed"] + row["skipped"]
        share = f"{100 * row['passed'] / ran:.1f} %" if ran else ""
        lines.append(
            f"| {library} | {ran + row['not run']} | {ran} | {row['passed']} | {share} | "
            f"{row['seconds of Triton']:.0f} | {row['seconds of Sectile']:.0f} |"
        )
    if reasons:
        lines += ["", "What fails with Sectile alone:", "", *sorted(reasons)]
    return "\n".join(lines) + "\n"


def compare(options):
    text = report(outcomes(options.sectile), outcomes(options.triton))
    print(text)
    if options.save:
        (HERE / "results" / "libraries.md").write_text(
            f"# The own tests of libraries\n\n`python benchmarks/libraries.py compare sectile.tsv triton.tsv --save '{options.save}'`\n\n{text}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run", help="run a library's tests")
    one.add_argument("library", choices=LIBRARIES)
    one.add_argument("repository", help="its checkout")
    one.add_argument("--with", dest="provider", choices=["sectile", "triton"], required=True)
    one.add_argument("--out", required=True, help="the file that lines are added to")
    one.add_argument("--of", help="only what passes in this file")
    one.add_argument("--sample", type=int, default=0, help="so many of each test function; 0: all")
    one.add_argument("--seconds", type=float, help="of the whole run")
    one.add_argument("--timeout", type=int, default=120, help="seconds of one test")
    one.add_argument("--workers", type=int, default=1)
    one.set_defaults(run=run)
    both = commands.add_parser("compare", help="a table of two runs")
    both.add_argument("sectile")
    both.add_argument("triton")
    both.add_argument(
        "--save", metavar="SETTING", help="write results/libraries.md, naming the GPU"
    )
    both.set_defaults(run=compare)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
