"""Programs in C++ as a user builds them: by g++ and by clang++, from several translation units, with other
options, as plug-ins. Their sources are in cpp_programs/.

    SECTILE_CPP_OPTIONS=all    pytest tests/python/package/test_cpp_programs.py     # every level of optimization
"""

import os
import pathlib
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import sectile as st
import sectile._native as native
import sectile.language as tl

pytestmark = pytest.mark.host

ROOT = pathlib.Path(__file__).resolve().parents[3]
LIBRARY = pathlib.Path(native.__file__).parents[2] / "lib"
SOURCES = pathlib.Path(__file__).with_name("cpp_programs")
FLAGS = ["-std=c++20", f"-I{ROOT}/include", f"-I{ROOT}", "-Wl,--build-id"]
LINKED = [f"-L{LIBRARY}", "-lsectile", f"-Wl,-rpath,{LIBRARY}", "-pthread"]
CLANG = next(filter(shutil.which, ["clang++-22", "clang++"]), "clang++")
FOLDED = ["-ffunction-sections", "-fdata-sections", "-fuse-ld=gold", "-Wl,--icf=all"]

# The linker that folds equal functions is the one of GCC's toolchain here.
BUILDS = [("g++", ["-O1", *FOLDED]), (CLANG, ["-O0"])]
if os.environ.get("SECTILE_CPP_OPTIONS") == "all":
    BUILDS += [
        (compiler, options)
        for compiler in ("g++", CLANG)
        for options in (["-O0"], ["-O1"], ["-O2"], ["-O3"], ["-O2", "-fno-rtti"], ["-O2", *FOLDED])
    ]
    BUILDS += [
        ("g++", ["-O3", "-flto"]),
        ("g++", ["-O2", "-no-pie"]),
    ]


def require(compiler):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")


def compile_cpp(*command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def run_program(*command, cache, **environment):
    environment = os.environ | {"SECTILE_CACHE_DIR": str(cache)} | environment
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    "compiler, options", BUILDS, ids=lambda it: it if isinstance(it, str) else " ".join(it)
)
def test_kernels_of_translation_units_are_their_own(compiler, options, tmp_path):
    require(compiler)
    if "-fuse-ld=gold" in options and not shutil.which("ld.gold"):
        options = options[:1]
    with ThreadPoolExecutor() as pool:
        for folder, operator in (("Add", "+"), ("Multiply", "*")):
            (tmp_path / folder).mkdir()
            shutil.copy(SOURCES / "step.cpp", tmp_path / folder)
            defines = [
                f"-DOPERATOR={operator}",
                f"-DFOLDER={folder}",
                f'-DPOLICY="{SOURCES}/policy.h"',
            ]
            pool.submit(
                compile_cpp, compiler, *options, *FLAGS, *defines, "-c", "step.cpp", "-o", "step.o",
                folder=tmp_path / folder,
            )  # fmt: skip
    compile_cpp(
        compiler, *options, *FLAGS, SOURCES / "steps.cpp", "Add/step.o", "Multiply/step.o", *LINKED,
        "-o", "steps", folder=tmp_path,
    )  # fmt: skip
    for _ in range(2):  # from memory, then from disk
        done = run_program(tmp_path / "steps", cache=tmp_path / "cache")
        assert done.stdout == "13 13 13, 30 30 30\n", done.stderr


def unique_symbols(library):
    text = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
    return [line.split()[-1] for line in text.splitlines() if line.split()[-2:-1] == ["u"]]


# A host of C++ has the standard library loaded before; else that is bound to what the plug-in exports.
LOAD_AND_RUN = """
import _ctypes, ctypes, os, sys
ctypes.CDLL("libstdc++.so.6")
for path in sys.argv[2:]:
    os.replace(path, sys.argv[1])
    plugin = ctypes.CDLL(sys.argv[1])
    plugin.run.restype = ctypes.c_float
    print(plugin.run(), flush=True)
    _ctypes.dlclose(plugin._handle)
"""


def test_a_plugin_is_unloaded(tmp_path):
    require("g++")
    with ThreadPoolExecutor() as pool:
        made = [
            pool.submit(
                compile_cpp, "g++", "-O1", "-fno-rtti", *FLAGS, f"-DFACTOR={factor}", "-fPIC", "-shared",
                SOURCES / "plugin.cpp", *LINKED, "-o", f"plugin{factor}.so", folder=tmp_path,
            )
            for factor in (3, 4)
        ]  # fmt: skip
    [each.result() for each in made]
    plugins = [tmp_path / f"plugin{factor}.so" for factor in (3, 4)]
    assert unique_symbols(plugins[0]) == []
    done = run_program(
        sys.executable,
        "-c",
        LOAD_AND_RUN,
        tmp_path / "plugin.so",
        *plugins,
        cache=tmp_path / "cache",
    )
    numbers = [line for line in done.stdout.splitlines() if line[0].isdigit()]
    assert numbers == ["3.0", "4.0"], done.stderr


@pytest.fixture(scope="module")
def at_exit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("at_exit")
    require(CLANG)
    compile_cpp(
        CLANG, "-O0", *FLAGS, SOURCES / "at_exit.cpp", *LINKED, "-o", "at_exit", folder=folder
    )
    return folder / "at_exit"


def test_first_launches_at_exit_are_refused(at_exit):
    done = run_program(at_exit, "main", cache="")
    assert done.returncode == 0, done.stderr
    refusal = "late: has to be compiled, and this thread is ending"
    for answer in done.stdout.split("early 41\n")[1:]:
        assert answer.startswith(refusal), done.stdout
    assert done.stdout.count(refusal) == 2
    # What the cache has needs no compiler.


def test_main_returns_while_threads_compile(at_exit):
    for microseconds in (100, 20_000, 150_000, 400_000, 700_000):
        done = run_program(at_exit, "thread", str(microseconds), cache="")
        assert done.returncode == 0, (microseconds, done.stderr)


@st.jit
def prints(x, n, number):
    value = tl.load(x + tl.arange(0, 4))
    tl.device_print("x", value)
    tl.device_print("half: ", value.to(tl.float16) / 2)
    tl.device_print("positive", value > 0)
    tl.device_print("flag ", n > 3)
    tl.device_print("n:", n)
    tl.device_print("number", number)
    tl.device_print("", value[:, None] * 10 + tl.arange(0, 2)[None, :])
    tl.device_print("two", value, value > 1)
    tl.device_print("nothing")


# What Python names by the text of the argument, C++ counts.
COUNTED = {
    "value[:, None] * 10 + tl.arange(0, 2)[None, :] = ": "",
    "two: value > 1 = ": "two: operand 2 = ",
    "two: value = ": "two: operand 1 = ",
}


@pytest.mark.parametrize("form, flag", [("numpy", " flag: True\n"), ("triton", " flag: 1\n")])
def test_prints_are_those_of_python(form, flag, tmp_path, capfd):
    """In both formats."""
    require(CLANG)
    compile_cpp(
        CLANG, "-O0", *FLAGS, SOURCES / "prints.cpp", *LINKED, "-o", "prints", folder=tmp_path
    )
    done = run_program(tmp_path / "prints", cache=tmp_path / "cache", SECTILE_PRINT_FORMAT=form)
    assert done.returncode == 0, done.stderr
    x = np.array([-1, 0, 1, 2], np.int32)
    capfd.readouterr()
    with st.knobs.scope(print_format=form):
        prints[(1, 2)](x, 42, 3.25)
    expected = capfd.readouterr().out
    for text, counted in COUNTED.items():
        expected = expected.replace(text, counted)
    assert done.stdout == expected
    assert flag in done.stdout
