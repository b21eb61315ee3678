"""What type checkers say of the package and of programs that use it.

pyproject.toml configures both. Each checker runs once over all files, and mypy a second time for what --strict
adds. The tests of a checker that is not installed are skipped.
"""

import ast
import importlib.util
import inspect
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import sectile as st
import sectile.language as tl
from sectile import _native

ROOT = pathlib.Path(__file__).parents[3]
HERE = pathlib.Path(__file__).parent
PACKAGE = ROOT / "python" / "sectile"
PROGRAMS = [
    *sorted((ROOT / "tutorials").glob("*.py")),
    *sorted((ROOT / "tutorials/examples").rglob("*.py")),
    HERE / "plain_kernels.py",
    HERE / "expected_types.py",
]
WRONG = HERE / "wrong_launches.py"

pytestmark = pytest.mark.skipif(not PACKAGE.exists(), reason="the package's sources are not here")


def need(checker):
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")


def run(*command):
    result = subprocess.run(
        [sys.executable, "-m", *map(str, command)], cwd=ROOT, capture_output=True, text=True
    )
    # 1 is "there are errors"; anything else, that it could not do its work.
    assert result.returncode in (0, 1) and not result.stderr, result.stdout + result.stderr
    return result.stdout


def run_mypy(folder, *arguments):
    need("mypy")
    text = run(
        "mypy", f"--cache-dir={folder}", "--no-error-summary", "--hide-error-context", *arguments
    )
    found = re.findall(r"^(.+?):(\d+): error: (.*)$", text, re.MULTILINE)
    return [(ROOT / path, int(line), message) for path, line, message in found]


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    return run_mypy(tmp_path_factory.mktemp("mypy"))


@pytest.fixture(scope="module")
def strict_mypy(tmp_path_factory):
    # --strict wants every function annotated; how much of itself a program annotates is its own choice.
    return run_mypy(
        tmp_path_factory.mktemp("strict"),
        "--strict",
        "--disable-error-code=no-untyped-def",
        "--disable-error-code=no-untyped-call",
        "--allow-subclassing-any",  # torch is a stub here, whose names are anything
        *PROGRAMS,
    )


@pytest.fixture(scope="module")
def pyright():
    need("basedpyright")
    report = json.loads(
        run("basedpyright", "--outputjson", "--pythonpath", sys.executable, "--project", ROOT)
    )
    assert report["summary"]["filesAnalyzed"] == len(PROGRAMS) + 1 + 1  # and torch's stub
    return [
        (pathlib.Path(each["file"]), each["range"]["start"]["line"] + 1, each["message"])
        for each in report["generalDiagnostics"]
        if each["severity"] == "error"
    ]


def errors_in(files, found):
    return [f"{path}:{line}: {message}" for path, line, message in found if path in files]


def wrong_lines(*marks):
    lines = WRONG.read_text().splitlines()
    return [
        number for number, line in enumerate(lines, 1) if re.search(rf"  # ({'|'.join(marks)})$", line)
    ]  # fmt: skip


def reported_lines(found):
    return sorted({line for path, line, _ in found if path == WRONG})


def test_mypy_accepts_the_package(mypy):
    assert not [error for error in mypy if PACKAGE in error[0].parents]


def test_mypy_accepts_programs(mypy):
    assert not errors_in(PROGRAMS, mypy)


def test_strict_mypy_accepts_programs(strict_mypy):
    assert not errors_in(PROGRAMS, strict_mypy)


def test_pyright_accepts_programs(pyright):
    assert not errors_in(PROGRAMS, pyright)


def test_mypy_finds_mistakes(mypy):
    assert reported_lines(mypy) == wrong_lines("found", "found by mypy")
    # The message says what was meant, for the package has no `__getattr__` for checkers.
    assert any('maybe "program_id"?' in message for *_, message in mypy)


def test_pyright_finds_mistakes(pyright):
    assert reported_lines(pyright) == wrong_lines("found", "found by pyright")


def test_the_plain_program_runs():
    subprocess.run([sys.executable, HERE / "plain_kernels.py"], check=True, env=os.environ)


# -- Lists that are kept twice, because checkers only read literals --------------------------------


def test_public_names_are_those_of_the_table():
    assert sorted(st.__all__) == sorted([*st._HOME, *st._SUBMODULES, "__version__"])


def test_public_names_of_runtime_are_those_of_its_table():
    assert sorted(st.runtime.__all__) == sorted([*st.runtime._HOME, *st.runtime._SUBMODULES])


def test_public_names_of_the_language_are_what_it_imports():
    names = {name for name in vars(tl) if not name.startswith("_")}
    assert sorted(tl.__all__) == sorted(names - {*tl._SUBMODULES, "TYPE_CHECKING"})


def imported_for_checkers(path):
    """The names that a module binds under ``if TYPE_CHECKING``."""
    for statement in ast.parse(path.read_text()).body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            for each in statement.body:
                yield from (alias.asname or alias.name for alias in each.names)


def test_every_public_name_is_imported_for_checkers():
    for module, path in ((st, PACKAGE / "__init__.py"), (st.runtime, PACKAGE / "runtime/__init__.py")):  # fmt: skip
        assert sorted(imported_for_checkers(path)) == sorted({*module.__all__} - {"__version__"})
    assert sorted(imported_for_checkers(PACKAGE / "language/__init__.py")) == sorted(tl._SUBMODULES)


LANG = ROOT / "lang/builtins"


@pytest.mark.skipif(not LANG.exists(), reason="the compiler's sources are not here")
def test_methods_of_tiles_are_those_of_the_compiler():
    methods = {"to", "item"}
    for file in LANG.glob("*Ops.cpp"):
        text = re.sub(r'"\s*"', "", file.read_text())
        for name in re.findall(
            r'table\.add\(\s*"(\w+)\((?:(?!table\.add).)*?\bkMethod\)', text, re.S
        ):
            methods.add(name)  # fmt: skip
    # Families whose entries are made in loops.
    atomics = re.findall(r'\{"(\w+)", AtomicUpdate::', (LANG / "AtomicOps.cpp").read_text())
    elementary = re.findall(r'\{"(\w+)", (?:approximable|exact)<', (LANG / "MathOps.cpp").read_text())  # fmt: skip
    assert len(atomics) == 7 and len(elementary) == 13
    methods.update(f"atomic_{name}" for name in atomics)
    methods.update(elementary)

    (tensor,) = (
        each
        for each in ast.parse((PACKAGE / "language/_tensor.py").read_text()).body
        if isinstance(each, ast.ClassDef)
    )
    names = set()
    for statement in ast.walk(tensor):
        if isinstance(statement, ast.FunctionDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Assign):
            names.update(target.id for target in statement.targets)
    assert {name for name in names if not name.startswith("_")} == methods


# -- The stub of the native module -----------------------------------------------------------------

STUB = ast.parse((PACKAGE / "_native.pyi").read_text()) if PACKAGE.exists() else ast.Module([], [])
CLASSES = {each.name: each for each in STUB.body if isinstance(each, ast.ClassDef)}
FOR_CHECKERS = {"P", "Result", "Extents", "Grid", "Launch"}


def bound_names(body):
    for each in body:
        if isinstance(each, (ast.FunctionDef, ast.ClassDef)):
            yield each.name
        elif isinstance(each, ast.AnnAssign):
            yield each.target.id
        elif isinstance(each, ast.Assign):
            yield from (target.id for target in each.targets)


def test_the_stub_has_the_names_of_the_native_module():
    module = {name for name in vars(_native) if not name.startswith("__")}
    assert set(bound_names(STUB.body)) - FOR_CHECKERS == module


@pytest.mark.parametrize("name", sorted(set(CLASSES) - FOR_CHECKERS))
def test_the_stub_has_the_members_of_native_classes(name):
    dunders = {"__call__", "__getitem__"}
    kind = getattr(_native, name)
    members = {
        each
        for each in vars(kind)
        if each in dunders or not (each.startswith("__") or each.startswith("_pybind11"))
    }
    stubs = set(bound_names(CLASSES[name].body)) - {"__init__"}
    if name == "Launcher":
        stubs.update(bound_names(CLASSES["Launch"].body))
    assert stubs == members


@pytest.mark.parametrize("name", sorted(set(CLASSES) - FOR_CHECKERS))
def test_docstrings_of_the_stub_are_those_of_the_native_module(name):
    kind = getattr(_native, name)
    if text := ast.get_docstring(CLASSES[name]):
        assert text == inspect.getdoc(kind)
    for member in CLASSES[name].body:
        if isinstance(member, ast.FunctionDef) and (text := ast.get_docstring(member)):
            # pybind11 puts the signature before it.
            native = inspect.getdoc(vars(kind)[member.name]).rpartition("\n")[2]
            assert " ".join(text.split()) == native


def test_launches_have_the_options_of_the_runtime():
    """Each is a way to launch of its own; one that the runtime does not know would hide a misspelling."""
    known = [name for name, *_ in _native.launch_options()]
    assert len(known) > 15
    overloads = [[each.arg for each in call.args.kwonlyargs] for call in CLASSES["Launch"].body]
    assert overloads[0] == []
    assert sorted(overloads[1:]) == sorted([name] for name in known)
