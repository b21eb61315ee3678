"""The pages about Python's API, the command line and environment variables, made from docstrings and the runtime's tables.

What needs the compiled part of Sectile says so in place of its contents where that is not built.
"""

import importlib
import inspect
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from docstrings import Docstring, entries, inline, markdown, signature

import sectile

ROOT = Path(__file__).resolve().parents[2]

NOT_BUILT = "Sectile was not built where this site was made, and this part is made by running it: `./dev build`, then `./dev docs`."


def native():
    """The compiled part of Sectile, or None where it is not built."""
    try:
        return importlib.import_module("sectile._native")
    except ImportError:
        return None


def write(folder):
    pages = {
        "python.md": python_api(),
        "command-line.md": command_line(),
        "environment.md": environment(),
    }
    for name, text in pages.items():
        (folder / "reference" / name).write_text(text)


# ---- the API -----------------------------------------------------------------------------------------

#: What the parts of the page are called, by the modules that names come from. A module that is missing here is an error.
TITLES = {
    "runtime.jit": "Kernels", "runtime.autotuner": "Tuning", "runtime.inspection": "Looking inside",
    "compiler": "Compiling ahead", "runtime.control": "The process", "runtime.functions": "Numbers of blocks",
    "runtime.descriptors": "Descriptors", "runtime.reinterpretation": "Arrays as other dtypes",
    "runtime.mocks": "Stand-ins", "errors": "Errors", "_cpp": "For C++ programs",
}  # fmt: skip

INTRODUCTION = """# The Python API

What `import sectile as st` has. The language of kernels, `sectile.language`, has [pages of its own](language.md).

A launch is `kernel[grid](arguments, **options)`. `grid` is how many programs there are along one to three axes: an int, a tuple, or a function that is given the launch's
arguments by name and returns one of these. A launch returns the compiled kernel.

The examples are whole programs behind these lines, and are run by the tests:

```python
import numpy as np
import sectile as st
import sectile.language as tl
```
"""


def python_api():
    if not native():
        return f"{INTRODUCTION}\n{NOT_BUILT}\n"
    parts = [INTRODUCTION, launch_options()]
    homes = {home: names for home, names in sectile._FROM.items()}
    links = {
        name: "#" + anchor(name) for names in homes.values() for name in names if name[0] != "_"
    }
    for home, names in sorted(homes.items(), key=lambda each: list(TITLES).index(each[0])):
        parts.append(f"## {TITLES[home]}\n")
        for name in names:
            parts.append(python_entry(name, getattr(sectile, name), links.get))
    parts.append(module_part("testing", "Measuring and comparing", links.get))
    parts.append(knobs_part())
    parts.append(archives_part(links.get))
    parts.append(module_part("as_triton", "In place of Triton", links.get))
    return "\n".join(parts)


def anchor(name):
    return "sectile" + name.lower()


def launch_options():
    rows = ["## Options of a launch\n", "| option | default | meaning |", "|---|---|---|"]
    for name, _, default, _, _, meaning in native().launch_options():
        rows.append(f"| `{name}` | `{default}` | {inline(meaning)} |")
    return "\n".join(rows) + "\n"


def python_entry(name, value, link, prefix="sectile.", level="###"):
    if inspect.isclass(value) and issubclass(value, Exception):
        bases = ", ".join(f"`{base.__name__}`" for base in value.__bases__)
        return f"{level} `{prefix}{name}`\n\nA {bases}. {body(value, link)}\n"
    lines = [f"{level} `{prefix}{name}`\n"]
    if callable(value):
        try:
            lines.append(
                f"```{{code-block}} python\n:class: signature\n\n{signature(value, name)}\n```\n"
            )
        except ValueError:
            pass
    lines.append(body(value, link) + "\n")
    if inspect.isclass(value):
        lines += [method(each, name, link, level + "#") for each in methods(value)]
    return "\n".join(lines)


def methods(value):
    """The documented methods and properties that a class itself has."""
    for name, member in vars(value).items():
        if not name.startswith("_") and inspect.getdoc(member) and not inspect.isclass(member):
            if inspect.isfunction(member) or isinstance(
                member, (property, classmethod, staticmethod)
            ):
                yield name, member


def method(named, owner, link, level):
    name, member = named
    function = getattr(member, "__func__", member)
    if isinstance(member, property):
        text = f".{name}"
    else:
        text = signature(function, f".{name}").replace("(self, ", "(").replace("(self)", "()")
        text = re.sub(r"\(\n    cls,\n", "(\n", text).replace("(cls, ", "(")
    return f"{level} `{owner}.{name}`\n\n```{{code-block}} python\n:class: signature\n\n{text}\n```\n\n{body(member, link)}\n"


def body(value, link):
    """The text of a docstring, with its sections as tables."""
    doc = Docstring(inspect.getdoc(value))
    lines = [markdown(doc.text, link), ""]
    for section, title in (("Args", "argument"), ("Attributes", "attribute")):
        rows = entries(doc.sections.get(section, ""))
        if rows:
            lines += [f"| {title} | meaning |", "|---|---|"]
            lines += [f"| `{name}` | {inline(text, link)} |" for name, text in rows]
            lines.append("")
    facts = [(name, doc.sections.get(name)) for name in ("Returns", "Errors", "Source")]
    if any(text for _, text in facts):
        lines += ["| | |", "|---|---|"]
        lines += [
            f"| {'Raises' if name == 'Errors' else name} | {inline(text, link)} |"
            for name, text in facts
            if text
        ]
        lines.append("")
    if doc.example:
        lines += [f"```python\n{doc.sections['Example']}\n```", ""]
    return "\n".join(lines)


def examples():
    """The examples of the page: names, and whole programs."""
    found = {}

    def add(name, value):
        doc = Docstring(inspect.getdoc(value))
        if doc.example:
            found[name] = doc.example
        if inspect.isclass(value):
            for each, member in methods(value):
                add(f"{name}.{each}", member)

    for names in sectile._FROM.values():
        for name in names:
            add(name, getattr(sectile, name))
    for name, value in functions_of("testing"):
        add(f"testing.{name}", value)
    archives = importlib.import_module("sectile.aot")
    for name in archives.__all__:
        add(f"aot.{name}", getattr(archives, name))
    return found


def functions_of(name):
    """The documented functions and classes of a module."""
    module = importlib.import_module(f"sectile.{name}")
    for each, value in vars(module).items():
        is_own = getattr(value, "__module__", None) == module.__name__
        if not each.startswith("_") and is_own and inspect.getdoc(value):
            if inspect.isfunction(value) or inspect.isclass(value):
                yield each, value


def module_part(name, title, link):
    module = importlib.import_module(f"sectile.{name}")
    parts = [f"## {title}\n", markdown(Docstring(module.__doc__).text, link) + "\n"]
    for each, value in functions_of(name):
        parts.append(python_entry(each, value, link, prefix=f"sectile.{name}."))
    return "\n".join(parts)


def archives_part(link):
    module = importlib.import_module("sectile.aot")
    parts = ["## Archives\n", markdown(Docstring(module.__doc__).text, link) + "\n"]
    for name in module.__all__:
        parts.append(python_entry(name, getattr(module, name), link, prefix="sectile.aot."))
    return "\n".join(parts)


def knobs_part():
    module = importlib.import_module("sectile.knobs")
    doc = inspect.cleandoc(module.__doc__)
    return (
        f"## Environment variables as attributes\n\n```text\n{doc}\n```\n\n"
        "The [table](environment.md) lists them.\n"
    )


# ---- environment variables ---------------------------------------------------------------------------

GROUPS = {
    "compilation": "Compiling", "runtime": "Running kernels", "cache": "The cache of compiled kernels", "autotuning": "Tuning",
}  # fmt: skip


def environment():
    """From the table in python/README.md, which a test compares with the runtime's own."""
    text = (ROOT / "python/README.md").read_text()
    table = text.split("<!-- sectile knobs --markdown -->")[1].split("<!-- end -->")[0]
    rows = [line for line in table.splitlines() if re.match(r"\| `\w+\.\w+`", line)]
    lines = [
        "# Environment variables",
        "",
        'Each is also an attribute of `st.knobs`, which may be set while a program runs: `st.knobs.runtime.check = "bounds"`, or for a few lines',
        '`with st.knobs.scope(check="bounds"):`. `sectile knobs` lists them, and shows which are set. A value that is not understood is an error.',
        "",
    ]
    found = 0
    for group, title in GROUPS.items():
        lines += [
            f"## {title}",
            "",
            "| variable | `st.knobs.` | value | default | meaning |",
            "|---|---|---|---|---|",
        ]
        for row in rows:
            cells = re.split(r"(?<!\\)\|", row.strip().strip("|"))
            knob, variable, *rest = (cell.strip() for cell in cells)
            if knob.startswith(f"`{group}."):
                lines.append(f"| {variable} | {knob} | {' | '.join(rest)} |")
                found += 1
        lines.append("")
    assert found == len(rows), "a variable belongs to no group: add it to GROUPS"
    return "\n".join(lines)


# ---- the command line --------------------------------------------------------------------------------

#: Commands whose output is shown, behind the usage of the command that they begin with.
SAMPLES = {
    "doctor": ["sectile doctor"],
    "cache": ["sectile cache ls", "sectile cache verify", "sectile cache export kernels.pack"],
    "aot": ["sectile aot kernels.py -o nn --target cpu:x86-64-v3"],
    "tune": ["sectile tune --force --details program.py"],
    "layout": [
        'sectile layout "blocked 8x16 f16 warps=2"',
        'sectile layout "shared 8x64 f16 swizzle=128" --rows=8',
    ],
    "run": ["sectile run add.py"],
    "compile": ["sectile compile --target=cuda:90 --remarks --emit=ptx add.mlir | head -n 20"],
    "opt": ["sectile opt --canonicalize add.mlir"],
    "knobs": ["sectile knobs | head -n 8"],
    "version": ["sectile version"],
}

COMMAND_LINE = """# The command line

`sectile COMMAND`, or `python -m sectile COMMAND`. The outputs were made when this site was built; `add.py` is the program of [the home page](../index.md), `program.py`
the one of [Tuning](../guide/tuning.md), `kernels.py` that of [Shipping](../guide/shipping.md), and `add.mlir` is the tile IR of a kernel, as `SECTILE_DUMP=tile:FOLDER` writes it.
"""


def command_line():
    if not native():
        return f"{COMMAND_LINE}\n{NOT_BUILT}\n"
    with tempfile.TemporaryDirectory() as place:
        run = runner(Path(place))
        parts = [COMMAND_LINE, block(run("sectile --help"))]
        for name, _, usage in native().commands():
            if name.startswith("--"):
                continue
            parts.append(f"## `sectile {name}`\n\n{block(run(f'sectile {name} --help'))}")
            parts += [f"`{sample}`:\n\n{block(run(sample))}" for sample in SAMPLES[name]]
    parts.append(
        "## For C++ programs\n\n`sectile --cflags --libs`, `sectile --cmake-dir` and `sectile --include-dir` print what a compiler or CMake needs: [C++](../guide/cpp.md#building).\n"
    )
    return "\n".join(parts)


def block(text):
    return f"```text\n{text.rstrip()}\n```\n"


def runner(place):
    """Returns a function that runs a command of the shell among the programs that the page speaks of, and returns what it prints.

    Folders of this machine are shown as a reader has them.
    """
    readme, tuning = (ROOT / path for path in ("README.md", "tutorials/guide/tuning.md"))
    (place / "add.py").write_text(re.search(r"```python\n(.*?)```", readme.read_text(), re.S)[1])
    (place / "program.py").write_text(
        re.search(r"```python\n(.*?)```", tuning.read_text(), re.S)[1]
    )
    shipping = (ROOT / "tutorials/guide/shipping.md").read_text()
    (place / "kernels.py").write_text(re.search(r"```python\n(.*?)```", shipping, re.S)[1])
    (place / "bin").mkdir()
    command = place / "bin/sectile"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sectile "$@"\n')
    command.chmod(0o755)
    (place / "cache").mkdir()
    variables = {
        **{name: value for name, value in os.environ.items() if not name.startswith("SECTILE_")},
        "PATH": f"{place / 'bin'}:{os.environ['PATH']}", "HOME": str(place), "COLUMNS": "100",
        "XDG_CACHE_HOME": str(place / "cache"),
    }  # fmt: skip
    package = str(Path(sectile.__file__).parent)

    def run(line):
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line], cwd=place, env=variables, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        if done.returncode not in (0, 141):  # 141: `head` closed the pipe
            raise SystemExit(f"error: {line}\n{done.stdout}{done.stderr}")
        text = done.stdout or done.stderr
        for path, shown in (
            (package, "/usr/lib/python3/site-packages/sectile"), (sys.executable, "/usr/bin/python3"),
            (str(place / "cache"), "~/.cache"), (str(place), "~"),
        ):  # fmt: skip
            text = text.replace(path, shown)
        return re.sub(
            r"(library +)\S+/(libsectile\S*)", r"\1/usr/lib/python3/site-packages/sectile/\2", text
        )

    run("SECTILE_DUMP=tile:dump sectile run add.py")
    dump = next(path for path in sorted((place / "dump").rglob("*")) if path.is_file())
    (place / "add.mlir").write_text(dump.read_text())
    return run
