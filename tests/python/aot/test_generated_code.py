"""What `sectile aot` writes for C and C++: compiled with strict flags by the compilers that are here, and run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sectile import _cpp

HERE = Path(__file__).parent / "programs"
ROOT = Path(__file__).resolve().parents[3]
LEVELS = "cpu:x86-64-v2,cpu:x86-64-v3,cpu:x86-64-v4"
WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror".split()
C = [name for name in ("gcc", "gcc-11", "clang-14", "clang-22") if shutil.which(name)]
CXX = [name for name in ("g++", "g++-11", "clang++-14", "clang++-22") if shutil.which(name)]


def run(command, folder, **environment):
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, capture_output=True, text=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("aot")
    for file in HERE.iterdir():
        shutil.copy(file, folder)
    run(
        [sys.executable, "-m", "sectile", "aot", "kernels.py", "-o", "nn", "-q", "--target",
         f"{LEVELS},cuda:80+ptx,cuda:90+ptx", "--archive", "--static", "--shared"],
        folder,
    )  # fmt: skip
    run(
        [sys.executable, "-m", "sectile", "aot", "odd.py", "-o", "odd", "-q", "--static", "--shared", "--target", LEVELS],
        folder,
    )  # fmt: skip
    return folder


LIBRARY = _cpp._library_dir()
SHARED = [f"-L{LIBRARY}", "-lsectile", f"-Wl,-rpath,{LIBRARY}"]
STATIC = [f"{LIBRARY}/libsectile.a", "-lstdc++", "-lm", "-lpthread", "-ldl"]


@pytest.mark.parametrize("compiler", C)
def test_c99(made, compiler):
    include = f"-I{_cpp.get_include()}"
    command = [compiler, "-std=c99", *WARNINGS, include, "use.c", "-o", f"use-{compiler}"]
    run([*command, *SHARED, "-lm"], made)
    assert run([f"./use-{compiler}"], made) == "correct: true\n"
    libraries = run(["ldd", f"./use-{compiler}"], made)
    names = [line.split()[0] for line in libraries.splitlines()]
    assert "libsectile.so" in names
    assert not any(re.search("python|LLVM|MLIR|compiler", name) for name in names)
    run([*command, "-DLINKED", "nn.a", *STATIC, "-lm"], made)
    assert run([f"./use-{compiler}"], made) == "correct: true\n"
    assert "sectile" not in run(["ldd", f"./use-{compiler}"], made)


@pytest.mark.parametrize("flags", [[], ["-fno-exceptions", "-fno-rtti"]], ids=["", "bare"])
@pytest.mark.parametrize("compiler", CXX)
def test_cpp17(made, compiler, flags):
    command = [compiler, "-std=c++17", *WARNINGS, *flags, f"-I{_cpp.get_include()}", "use.cpp", "-o", f"cpp-{compiler}"]  # fmt: skip
    run([*command, *SHARED], made)
    assert run([f"./cpp-{compiler}"], made) == "correct: true\n"
    run([*command, "-DLINKED", "nn.a", *STATIC], made)
    assert run([f"./cpp-{compiler}"], made) == "correct: true\n"


@pytest.mark.parametrize("compiler", CXX)
def test_memory_that_is_refused(made, compiler):
    """Each allocation of each call fails once; operator new is the program's own."""
    command = [compiler, "-std=c++17", *WARNINGS, f"-I{_cpp.get_include()}", "refused.cpp", "-o", f"refused-{compiler}"]  # fmt: skip
    run([*command, "nn.a", *STATIC], made)
    assert run([f"./refused-{compiler}"], made).endswith("\ncorrect: true\n")


@pytest.mark.parametrize("flags", [["-no-pie"], ["-pie", "-O2"]], ids=["no-pie", "pie"])
@pytest.mark.parametrize("compiler", CXX)
def test_names_that_c_has_taken(made, compiler, flags):
    """Linked with the archive inside, and with the library that has it."""
    command = [compiler, "-std=c++17", *WARNINGS, *flags, f"-I{_cpp.get_include()}", "odd.cpp", "-o", f"odd-{compiler}"]  # fmt: skip
    for libraries in (["odd.a", *STATIC], ["-L.", "-lodd", f"-Wl,-rpath,{made}", *SHARED]):
        run([*command, *(["-fPIC"] if "-pie" in flags else []), *libraries], made)
        run([f"./odd-{compiler}"], made)


def test_a_header_for_other_parameters_is_found(made):
    (made / "other.py").write_text((made / "kernels.py").read_text().replace("def matmul(c, a, b, m, n, k)", "def matmul(c, a, b, n, m, k)"))  # fmt: skip
    run([sys.executable, "-m", "sectile", "aot", "other.py", "-o", "other", "-q"], made)
    (made / "old.c").write_text(
        '#include "nn.h"\n#include <stdio.h>\n'
        'int main(void) {\n  nn_kernels nn;\n  int failed = nn_open(&nn, "other.sectile");\n  puts(sectile_error_text());\n'
        '  nn_close(&nn);\n  failed &= nn_open(&nn, "nothing") != 0;\n  nn_close(&nn);\n  return !failed;\n}\n'
    )
    run([C[0], "-std=c99", f"-I{_cpp.get_include()}", "old.c", "-o", "old", *SHARED], made)
    assert "matmul: its parameters in archive other.sectile are others than those in the header" in run(["./old"], made)  # fmt: skip


def test_cpp_refuses_a_type_without_a_variant(made):
    (made / "wrong.cpp").write_text(
        '#include "nn.hpp"\n'
        "int main() {\n  nn::Kernels kernels;\n  double x[4];\n"
        "  return kernels.softmax({}, {1}, x, x, 2, 2).ok();\n}\n"
    )
    done = subprocess.run(
        [CXX[0], "-std=c++17", f"-I{_cpp.get_include()}", "-fsyntax-only", "wrong.cpp"],
        cwd=made, capture_output=True, text=True,
    )  # fmt: skip
    assert "softmax: the archive has no variant for this type of T" in done.stderr


def test_header_says_what_there_is(made):
    header = (made / "nn.h").read_text()
    assert "T: SECTILE_F32, SECTILE_BF16." in header
    assert "float *out, const float *x" in header  # what is only read is const
    assert "nn_layer_norm(const nn_kernels *nn, sectile_device device,\n" in header  # no grid
    assert "const float *bias" in header
    assert max(map(len, header.splitlines())) <= 120
    for word in ("kernels.py", str(made), "tmp"):
        assert word not in header


@pytest.mark.parametrize("compiler", C)
def test_functions_of_tvm_without_its_package(made, compiler):
    include = f"-I{_cpp.get_include()}"
    run(
        [
            compiler,
            "-std=gnu99",
            "-rdynamic",
            include,
            "ffi.c",
            "-o",
            f"ffi-{compiler}",
            *SHARED,
            "-ldl",
        ],
        made,
    )
    assert run([f"./ffi-{compiler}", "./libnn.so"], made) == "correct: true\n"


def test_functions_of_tvm(made):
    site = pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed")
    numpy = pytest.importorskip("numpy")
    module = site.load_module(str(made / "libnn.so"))
    rng = numpy.random.default_rng(0)
    a, b = rng.standard_normal((50, 33)), rng.standard_normal((33, 70))
    c = numpy.zeros((50, 70), numpy.float32)
    module.matmul(c, a.astype(numpy.float32), b.astype(numpy.float32), 50, 70, 33)
    assert numpy.abs(c - a @ b).max() < 1e-4
    empty = numpy.zeros((0, 70), numpy.float32)
    module.matmul(empty, a[:0].astype(numpy.float32), b.astype(numpy.float32), 0, 70, 33)
    with pytest.raises(TypeError, match="fp64:16 instead of"):
        module.matmul(c, a, b.astype(numpy.float32), 50, 70, 33)


def test_ship_example_without_python(tmp_path):
    folder, build = ROOT / "tutorials/examples/11_ship/cpp_only", tmp_path / "build"
    run(
        [
            "cmake",
            "-G",
            "Ninja",
            "-S",
            folder,
            "-B",
            build,
            f"-DSectile_DIR={_cpp.get_cmake_dir()}",
        ],
        tmp_path,
    )
    run(["cmake", "--build", build], tmp_path)
    assert run([build / "serve", build / "nn.sectile"], tmp_path) == "correct: true\n"
    assert "sectile" not in run(["ldd", build / "serve"], tmp_path)


@pytest.mark.parametrize("shared", ["OFF", "ON"])
def test_two_libraries_with_archives_of_one_name(tmp_path, shared):
    blanks = tmp_path / "my tools"  # a compiler whose path has some
    blanks.mkdir()
    (blanks / "cc").symlink_to(shutil.which("cc"))
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(two LANGUAGES C CXX)\nfind_package(Sectile REQUIRED)\n"
        "add_subdirectory(one)\nadd_subdirectory(two)\nadd_executable(both main.cpp)\n"
        "target_link_libraries(both one two)\n"
    )
    (tmp_path / "main.cpp").write_text(
        "#include <cstdio>\nfloat one();\nfloat two();\n"
        'int main() { std::printf("%g %g\\n", one(), two()); }\n'
    )
    # The second has a kernel more: classes of the same name and different layout.
    more = "@st.aot.export({'x': '*fp32:16'}, grid=1)\n@st.jit\ndef another(x):\n    tl.store(x, 0)\n\n"
    for name, value in (("one", 1), ("two", 2)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "CMakeLists.txt").write_text(
            f"add_library({name} {name}.cpp)\nset_target_properties({name} PROPERTIES POSITION_INDEPENDENT_CODE ON)\n"
            f"sectile_add_kernels({name} kernels.py SHARED_RUNTIME)\n"
        )
        (folder / "kernels.py").write_text(
            f"import sectile as st\nimport sectile.language as tl\n\n{more if value == 2 else ''}"
            f"@st.aot.export({{'x': '*fp32:16'}}, grid=1)\n@st.jit\ndef tell(x):\n    tl.store(x, {value}.0)\n"
        )
        (folder / f"{name}.cpp").write_text(
            f'#include "kernels.hpp"\n\nfloat {name}() {{\n  alignas(16) float x[4] = {{}};\n  kernels::Kernels nn;\n'
            "  return nn.openLinked().ok() && nn.tell({}, x).ok() ? x[0] : -1;\n}\n"
        )
    build = tmp_path / "build"
    run(
        ["cmake", "-G", "Ninja", "-S", tmp_path, "-B", build, f"-DSectile_DIR={_cpp.get_cmake_dir()}",
         f"-DPython_EXECUTABLE={sys.executable}", f"-DBUILD_SHARED_LIBS={shared}",
         f"-DCMAKE_C_COMPILER={blanks / 'cc'}"],
        tmp_path,
    )  # fmt: skip
    run(["cmake", "--build", build], tmp_path)
    assert run([build / "both"], tmp_path) == "1 2\n"


def test_cmake_says_which_python_it_wants(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(p LANGUAGES C)\nfind_package(Sectile REQUIRED)\n"
        "add_executable(p main.c)\nsectile_add_kernels(p kernels.py PYTHON /bin/false)\n"
    )
    for name in ("main.c", "kernels.py"):
        (tmp_path / name).write_text("")
    done = subprocess.run(
        ["cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build", f"-DSectile_DIR={_cpp.get_cmake_dir()}"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode != 0
    assert "/bin/false has no package sectile" in " ".join(done.stderr.split())


def test_ship_example_is_compiled_again_after_an_edit(tmp_path):
    shutil.copytree(ROOT / "tutorials/examples/11_ship", tmp_path / "ship")
    folder, build = tmp_path / "ship", tmp_path / "build"
    run(
        ["cmake", "-G", "Ninja", "-S", folder, "-B", build, f"-DSectile_DIR={_cpp.get_cmake_dir()}",
         f"-DPython_EXECUTABLE={sys.executable}"],
        folder,
    )  # fmt: skip
    run(["cmake", "--build", build], folder)
    assert run([build / "ship"], folder) == "correct: true\n"
    assert "no work to do" in run(["cmake", "--build", build], folder)
    kernels = folder / "kernels.py"
    kernels.write_text(kernels.read_text().replace("tl.exp(v - tl.max(v, 0))", "tl.exp(v) * 0 + 1"))
    assert "Compiling the kernels" in run(["cmake", "--build", build], folder)
    done = subprocess.run([build / "ship"], capture_output=True, text=True)
    assert done.stdout == "correct: false\n"
