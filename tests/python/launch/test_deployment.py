"""A cache filled in one place and used in another: archives, layers, paths, many processes."""

import json
import os
import shutil
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.host

KERNELS = """
    import sectile as st
    import sectile.language as tl
    from .helpers import double

    @st.jit
    def kernel(out, x, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.device_assert(i < 1000, "too far")
        tl.store(out + i, double(tl.load(x + i, mask=i < n)), mask=i < n)

    @st.jit
    def apply(out, fn: tl.constexpr):
        tl.store(out, fn(tl.load(out)))
"""
HELPERS = """
    import sectile as st
    import sectile.language as tl

    @st.jit
    def double(x):
        tl.device_assert(x < 100, "too large")
        return x * 2
"""
PROGRAM = """
    import sys
    import numpy as np
    import sectile as st
    from pack.kernels import apply, kernel
    from pack.helpers import double

    x = np.arange(100, dtype=np.float32)
    out = np.zeros_like(x)
    kernel[(2,)](out, x, 100, BLOCK=64, debug=True)
    kernel[(2,)](out, x, 100, BLOCK=64, check="bounds")
    assert (out == 2 * x).all()
    apply[(1,)](out[1:], double)
    assert out[1] == 4
    counts = st.runtime.control.statistics()
    print(counts["compiles"], counts["disk_hits"], counts["layer_hits"])
    x[3] = 200
    try:
        kernel[(2,)](out, x, 100, BLOCK=64, debug=True)
    except st.DeviceAssertionError as error:
        print(error)
    try:
        kernel[(9,)](out, x[:80], 1000, BLOCK=64, check="bounds")
    except st.OutOfBoundsError as error:
        print(error)
"""


def write_package(folder):
    package = folder / "pack"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "kernels.py").write_text(textwrap.dedent(KERNELS))
    (package / "helpers.py").write_text(textwrap.dedent(HELPERS))
    (folder / "program.py").write_text(textwrap.dedent(PROGRAM))


def run(folder, cache, program="program.py", **environment):
    result = subprocess.run(
        [sys.executable, str(folder / program)],
        capture_output=True,
        text=True,
        env={**os.environ, "SECTILE_CACHE_DIR": str(cache), **environment},
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def command(*arguments, status=0, **environment):
    result = subprocess.run(
        [sys.executable, "-m", "sectile", "cache", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
    )
    assert result.returncode == status, result.stderr
    return result.stdout


def test_the_cache_of_another_path_is_a_cache(tmp_path):
    build, serve, cache = tmp_path / "build", tmp_path / "srv" / "app", tmp_path / "cache"
    write_package(build)
    assert run(build, cache).splitlines()[0] == "3 0 0"
    shutil.copytree(build / "pack", serve / "pack")
    shutil.copy(build / "program.py", serve)
    shutil.rmtree(build)
    text = run(serve, cache)
    assert text.splitlines()[0] == "0 3 0"
    # Messages name the files that are there.
    assert f"{serve}/pack/helpers.py" in text and "too large" in text
    assert f"{serve}/pack/kernels.py" in text and "out of bounds" in text
    assert str(build) not in text


def test_a_line_moved_is_another_kernel(tmp_path):
    write_package(tmp_path / "a")
    run(tmp_path / "a", tmp_path / "cache")
    kernels = tmp_path / "a" / "pack" / "kernels.py"
    kernels.write_text("# a line more\n" + kernels.read_text())
    assert run(tmp_path / "a", tmp_path / "cache").splitlines()[0] != "0 3 0"


def test_functions_that_move_to_another_file_are_another_kernel(tmp_path):
    """Which functions share a file is in the key: their messages could not name both."""
    one = """
        import array
        import sectile as st
        import sectile.language as tl
        {rest}
        @st.jit
        def kernel(out):
            tl.store(out, helper(3))
        out = array.array("i", [0])
        kernel[(1,)](out)
        print(st.runtime.control.statistics()["compiles"])
    """
    helper = "@st.jit\ndef helper(x):\n    return x\n"
    text = textwrap.dedent(one)
    head, _, tail = text.partition("{rest}\n")
    (tmp_path / "p.py").write_text(head + helper + tail)
    assert run(tmp_path, tmp_path / "cache", "p.py") == "1\n"
    (tmp_path / "other.py").write_text(head + helper)
    (tmp_path / "p.py").write_text(head + "from other import helper\n\n\n" + tail)
    run(tmp_path, tmp_path / "cache", "p.py")
    listed = json.loads(command("ls", "--json", SECTILE_CACHE_DIR=tmp_path / "cache"))
    files = sorted(tuple(map(os.path.basename, entry["source_files"])) for entry in listed)
    assert files == [("p.py",), ("p.py", "other.py")]


def test_export_import_and_layers(tmp_path):
    build, archive, layer = tmp_path / "build", tmp_path / "kernels.sectile", tmp_path / "layer"
    write_package(build)
    run(build, tmp_path / "cache")
    assert "exported 3 entries" in command("export", archive, SECTILE_CACHE_DIR=tmp_path / "cache")
    assert "imported 3 entries" in command("import", archive, "--dir", layer, "--shared")
    text = run(build, tmp_path / "empty", SECTILE_CACHE_LAYERS=f"{tmp_path}/none:{layer}")
    assert text.splitlines()[0] == "0 3 3"
    assert [name for name in os.listdir(tmp_path / "empty") if name.endswith(".kernel")] == []
    listed = json.loads(
        command("ls", "--json", SECTILE_CACHE_DIR=tmp_path / "empty", SECTILE_CACHE_LAYERS=layer)
    )
    assert len(listed) == 3 and all(entry["layer"] for entry in listed)
    assert {entry["kernel"] for entry in listed} == {"kernel", "apply"}
    assert all(entry["compile_seconds"] > 0 for entry in listed)
    with open(archive, "r+b") as file:
        file.seek(1000)
        file.write(b"x")
    command("import", archive, "--dir", tmp_path / "fresh", status=1)
    assert not any(name.endswith(".kernel") for name in os.listdir(tmp_path / "fresh"))


def test_many_processes_compile_each_kernel_once(tmp_path):
    (tmp_path / "storm.py").write_text(
        textwrap.dedent("""
        import array
        import sectile as st
        import sectile.language as tl

        @st.jit
        def kernel(out, NUMBER: tl.constexpr):
            tl.store(out, NUMBER * 3)

        out = array.array("i", [0])
        for number in range(6):
            kernel[(1,)](out, NUMBER=number)
            assert out[0] == number * 3
        print(st.runtime.control.statistics()["compiles"])
        """)
    )
    environment = {**os.environ, "SECTILE_CACHE_DIR": str(tmp_path / "cache")}
    children = [
        subprocess.Popen(
            [sys.executable, str(tmp_path / "storm.py")],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(8)
    ]
    outputs = [child.communicate(timeout=300)[0] for child in children]
    assert [child.returncode for child in children] == [0] * 8
    assert sum(map(int, outputs)) == 6


def test_two_copies_in_one_process_name_their_own_file(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "k.py").write_text(
            textwrap.dedent("""
            import sectile as st
            import sectile.language as tl

            @st.jit
            def kernel(out):
                tl.device_assert(tl.load(out) == 1, "not one")
            """)
        )
    (tmp_path / "program.py").write_text(
        textwrap.dedent("""
        import array, importlib.util, os, sys
        import sectile as st

        out = array.array("i", [0])  # of one alignment
        for name in ("one", "two", "one"):
            path = os.path.join(os.path.dirname(__file__), name, "k.py")
            spec = importlib.util.spec_from_file_location("k", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            try:
                module.kernel[(1,)](out, debug=True)
            except st.DeviceAssertionError as error:
                assert path in str(error), (path, str(error))
        print(st.runtime.control.statistics()["compiles"])
        """)
    )
    assert run(tmp_path, tmp_path / "cache") == "1\n"
    assert run(tmp_path, "") == "2\n"  # the third has the code, with the places, of the first
