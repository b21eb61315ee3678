"""README and guides are true: every block runs as pasted, every command in their tables works."""

import os
import re
import shlex
import subprocess
import sys

import pytest
from documents import (
    DOCUMENTS,
    ERROR_INDEX,
    ROOT,
    SITE_PAGES,
    WRONG_KERNELS,
    blocks,
    programs,
    prose,
    table_commands,
    table_messages,
    table_variables,
)

README = ROOT / "README.md"
PROGRAMS = [
    (path, index) for path in [*DOCUMENTS, *SITE_PAGES] for index in range(len(programs(path)))
]


def named(value):
    return value.stem if hasattr(value, "stem") else str(value)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the files that the README has its reader save, and `sectile` on the PATH."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "add.py").write_text(blocks(README, "python")[0])
    (folder / "program.py").write_text(programs(ROOT / "tutorials/guide/tuning.md")[0])
    (folder / "add.cpp").write_text(blocks(README, "cpp")[0])
    (folder / "CMakeLists.txt").write_text(blocks(README, "cmake")[0])
    (folder / "bin").mkdir()
    command = folder / "bin/sectile"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m sectile "$@"\n')
    command.chmod(0o755)
    return folder


@pytest.fixture
def run(place, monkeypatch):
    monkeypatch.setenv("SECTILE_CACHE_DIR", str(place / "cache"))
    monkeypatch.setenv("PATH", f"{place / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("SECTILE_TUNING_DIR", str(place / "tuning"))

    def run(*command, **variables):
        done = subprocess.run(
            command,
            cwd=place,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run


@pytest.mark.parametrize("path, index", PROGRAMS, ids=named)
def test_python_blocks_run_as_pasted(path, index, place, run):
    text = programs(path)[index]
    if "import torch" in text:
        pytest.importorskip("torch")
    (place / "pasted.py").write_text(text)
    printed = run(sys.executable, "pasted.py")
    expected = text.count('print("correct:"')
    assert len(re.findall(r"^correct:", printed, re.M)) == expected
    assert not re.search(r"^correct:.*False", printed, re.M), printed


def test_messages_of_the_error_index_are_those_that_users_see(place, run):
    """Each message in its tables is one that a wrong kernel of the table of messages gets, or that a program of the page meets."""
    seen = WRONG_KERNELS.read_text()
    for text in programs(ERROR_INDEX):
        (place / "mistakes.py").write_text(text)
        seen += run(sys.executable, "mistakes.py")
    messages = table_messages(ERROR_INDEX)
    assert len(messages) > 40
    for message in messages:
        pattern = ".+?".join(map(re.escape, message.split("…")))
        assert re.search(rf"^{pattern}$|^{pattern}\n", seen, re.M), message


def test_every_page_is_linked_and_every_link_leads_somewhere():
    linked = set()
    for page in [
        *DOCUMENTS,
        ROOT / "CONTRIBUTING.md",
        ROOT / "SECURITY.md",
        ROOT / "tutorials/README.md",
    ]:
        for target in re.findall(r"\]\(([^)#]+)(#[^)]*)?\)", prose(page)):
            if "://" not in target[0]:
                file = (page.parent / target[0]).resolve()
                assert file.exists(), f"{page.name} links to {target[0]}"
                linked.add(file)
                if target[1]:
                    headings = re.findall(r"^#+ (.*)$", file.read_text(), re.M)
                    anchors = {
                        "#" + re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings
                    }
                    assert target[1] in anchors, f"{page.name} links to {target[0]}{target[1]}"
    assert set(DOCUMENTS) - {README} <= linked


@pytest.mark.parametrize("page", ["README.md", "tutorials/guide/cpp.md"])
def test_cpp_blocks_compile_with_the_flags_that_the_command_prints(page, place, run):
    for index, text in enumerate(blocks(ROOT / page, "cpp")):
        source = place / f"pasted{index}.cpp"
        source.write_text(text)
        run("sh", "-c", f"c++ {source.name} -o pasted $(sectile --cflags --libs)")
        assert run("./pasted") == "correct: true\n"


def test_cmake_block_builds(place, run):
    (line,) = re.findall(r"`(cmake -S [^`]*)`", README.read_text())
    run("sh", "-c", line, CMAKE_GENERATOR="Ninja")
    assert run("build/add") == "correct: true\n"


def test_serving_example_builds_and_compiles_nothing(place, run, tmp_path):
    project = ROOT / "tutorials/examples/10_serve"
    line = (project / "CMakeLists.txt").read_text().splitlines()[0].removeprefix("# ")
    line = line.replace("-S .", f"-S {project}").replace("-B build", f"-B {tmp_path}")
    run("sh", "-c", line.replace("--build build", f"--build {tmp_path}"), CMAKE_GENERATOR="Ninja")
    assert run(tmp_path / "serve", "build") == "8 variants\n"
    assert run(tmp_path / "serve").endswith("correct: true\n")


COMMANDS = list(dict.fromkeys(command for path in DOCUMENTS for command in table_commands(path)))


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_in_tables(command, place, run):
    run(sys.executable, "add.py")
    if "cache import" in command:
        run("sh", "-c", command.replace("import", "export"))
    assert run("sh", "-c", command)


VARIABLES = list(dict.fromkeys(v for path in DOCUMENTS for v in table_variables(path)))


@pytest.mark.parametrize("setting", VARIABLES)
def test_variables_in_tables(setting, place, run, tmp_path):
    from sectile import knobs

    name, value = setting.split("=", 1)
    assert name in {row[0] for row in knobs.table()}
    if value.startswith(("/srv", "/var")):
        value = str(tmp_path)
    program = "program.py" if name == "SECTILE_AUTOTUNE" else "add.py"
    if value == "frozen":
        run(sys.executable, program)
    run(sys.executable, program, **{name: value})
    if name == "SECTILE_DUMP":
        assert list((place / value.split(":")[1]).rglob("*"))
