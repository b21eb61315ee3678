"""The reference of the language is complete, and its examples are true.

Pages are made from docstrings (tutorials/site/language_reference.py). An example is run as a reader would who pastes it behind the
imports: on each device of the suite, and compiled for GPUs as every kernel of a test is. The comment behind a `print` is
what it prints.
"""

import contextlib
import importlib.util
import io
import os
import re
import runpy
import sys
from pathlib import Path

import pytest

import sectile as st
import sectile.language as tl

SITE = Path(__file__).resolve().parents[3] / "tutorials/site"
sys.path.insert(0, str(SITE))

import language_reference as reference  # noqa: E402 - found through the line above
import wrong_uses  # noqa: E402
from docstrings import Docstring  # noqa: E402

OPERATIONS = [entry for entry in reference.every_entry() if entry.is_operation]
EXAMPLES = {entry.name: entry.doc.example for entry in reference.entries_with_examples()}
EXAMPLES["libdevice"] = Docstring(
    __import__("sectile.language.extra.libdevice", fromlist=["*"]).__doc__
).example


@pytest.mark.host
def test_every_public_name_has_an_entry():
    entries = {entry.name: entry for entry in reference.all_entries()}
    assert set(entries) == set(tl.__all__)
    for name, entry in entries.items():
        assert entry.doc.text, f"tl.{name} has no text"
        if name not in reference.REFERENCE_ONLY and not reference.is_dtype(entry.value):
            assert entry.doc.example, f"tl.{name} has no example"


@pytest.mark.host
def test_what_has_no_example_is_no_operation():
    entries = {entry.name: entry for entry in reference.every_entry()}
    for name in reference.REFERENCE_ONLY:
        assert not entries[name].is_operation, name


@pytest.mark.host
@pytest.mark.parametrize("entry", OPERATIONS, ids=lambda entry: entry.name)
def test_operations_say_what_they_take(entry):
    assert entry.signature.startswith(f"tl.{entry.name}(")
    for section in ("Shapes", "Dtypes", "Errors"):
        assert entry.section(section), f"tl.{entry.name} says nothing about {section.lower()}"
    described = {each for names, _ in entry.doc.arguments for each in re.findall(r"\w+", names)}
    parameters = set(re.findall(r"[(\s]\*?(\w+)(?=[:,)=])", entry.signature))
    assert described <= parameters, f"tl.{entry.name} describes what is no parameter"


def expected_lines(program):
    return re.findall(r"^ *print\(.*\)  # (.*)$", program, re.M)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, tmp_path):
    program = EXAMPLES[name]
    expected = expected_lines(program)
    assert expected, "an example prints what it computes"
    path = tmp_path / f"{name}.py"
    path.write_text(program)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        runpy.run_path(str(path))
    # What is printed while compiling comes first, where there is such a thing and nothing was in the cache.
    assert output.getvalue().splitlines()[-len(expected) :] == expected


@pytest.mark.host
def test_an_example_uses_what_it_is_about():
    for name, program in EXAMPLES.items():
        word = name.rpartition(".")[2]
        assert re.search(rf"\b{word}\b", program), f"the example of {name} does not use it"


@pytest.mark.host
def test_an_operation_that_some_back_ends_lack_says_so():
    marked = {e.name for e in reference.all_entries() if "Where" in e.doc.sections}
    assert marked == {"inline_asm_elementwise"}


@pytest.fixture(scope="module")
def wrong_kernels(tmp_path_factory):
    path = tmp_path_factory.mktemp("wrong") / "wrong_kernels.py"
    path.write_text(wrong_uses.program())
    specification = importlib.util.spec_from_file_location("wrong_kernels", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def message_of(kernel):
    with pytest.raises(st.CompilationError) as caught:
        st.compile(kernel, wrong_uses.SIGNATURE, {}, target="cpu")
    return caught.value.diagnostics[0].message


@pytest.mark.host
@pytest.mark.parametrize("number", range(len(wrong_uses.uses())))
def test_wrong_use(number, wrong_kernels):
    use, expected = wrong_uses.uses()[number]
    assert message_of(getattr(wrong_kernels, f"kernel_{number}")) == expected, use


@pytest.mark.host
def test_there_is_a_wrong_use_of_every_operation_that_has_errors():
    known = set(wrong_uses.by_operation())
    for entry in OPERATIONS:
        if entry.name not in tl.__all__:
            continue  # methods and submodules: their errors are those of operations beside them
        has_errors = not entry.section("Errors").startswith("none")
        assert (entry.name in known) == has_errors, entry.name


if os.environ.get("SECTILE_UPDATE_GOLDEN"):

    @pytest.mark.host
    def test_update(wrong_kernels):
        lines = []
        for number, (use, _) in enumerate(wrong_uses.uses()):
            lines += [use, f"    {message_of(getattr(wrong_kernels, f'kernel_{number}'))}"]
        wrong_uses.TABLE.write_text("\n".join(lines) + "\n")
