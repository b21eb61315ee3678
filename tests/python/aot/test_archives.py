"""Archives in Python: what `st.aot.build` makes and `st.aot.load` launches."""

import enum
import os
import random
import subprocess
import sys
import textwrap

import exported
import numpy as np
import pytest

import sectile as st
import sectile.language as tl

LEVEL = "cpu:x86-64-v2"


@pytest.fixture(scope="module")
def archive():
    built = st.aot.build(
        [st.aot.Export.of(kernel) for kernel, *_ in exported.CASES.values()], [LEVEL]
    )
    return st.aot.load(built.archive)


@pytest.mark.parametrize("name", list(exported.CASES))
def test_results_are_those_of_the_kernel_itself(archive, name):
    kernel, grid, arguments = exported.CASES[name]
    here, there = (arguments(np.random.default_rng(7)) for _ in range(2))
    kernel[grid](*here, target=LEVEL)
    archive[name][grid](*there)
    for a, b in zip(here, there):
        if isinstance(a, np.ndarray):
            assert a.tobytes() == b.tobytes()
    assert np.any(here[0])


def test_every_kernel_is_there(archive):
    assert list(archive) == sorted(exported.CASES)
    assert len(archive) == len(exported.CASES) >= 20


@st.aot.export(
    {"x": ["*fp32:16", "*fp32", "*i64:16"], "y": ["*fp16:16", "*fp16"],
     "n": ["i32", "i32:16", "i64", "i64:16", "u64", "i32:1"], "m": ["i32", "i32:16", "i32:1"], "flag": ["i1", None],
     "MODE": ["a", 1, 1.0, True]},
)  # fmt: skip
@st.jit
def many(x, y, n, m, flag, MODE: tl.constexpr):
    tl.store(x, tl.load(x) + n.to(x.dtype.element_ty) if MODE == "a" else tl.load(x))


@pytest.mark.parametrize("name", ["9lives", "class", "sectile", "a-b.c", "random", "main", "exp"])
def test_prefixes_become_names_of_c(tmp_path, name):
    write_script(tmp_path)
    assert run_aot(tmp_path, "kernels.py", "-o", name, "-q").returncode == 0
    header = (tmp_path / f"{name}.hpp").read_text()
    assert f'#include "{name}.h"' in header
    assert f"namespace {name} {{" not in header  # all of these mean something, or are no names


@pytest.mark.parametrize("name", ['a"b', "a\nb", "d/.", "d/"])
def test_prefixes_that_are_no_names(tmp_path, name):
    write_script(tmp_path)
    done = run_aot(tmp_path, "kernels.py", "-o", name)
    assert done.returncode == 1 and "is no name for files of C" in done.stderr
    assert not done.stdout and not (tmp_path / "d").exists()  # found before anything is made


def test_the_variant_is_the_one_that_a_launch_of_the_kernel_gets():
    """10,000 random lists of arguments; what the kernel compiles for them is what the archive has, or lacks."""
    built = st.aot.build([st.aot.Export.of(many)], [LEVEL])
    loaded = st.aot.load(built.archive).many
    there = {variant.signature for variant in loaded.variants()}
    memory = np.zeros(64, np.int64)
    random.seed(5)

    def array(dtype):
        shift = random.choice([0, 0, 8]) // np.dtype(dtype).itemsize
        return memory.view(dtype)[shift:]

    def integer():
        return random.choice(
            [
                1,
                1,
                3,
                16,
                0,
                -16,
                2**31 - 1,
                2**31,
                2**40,
                2**40 + 1,
                2**63,
                -5,
                random.randrange(-(2**33), 2**33),
            ]
        )

    compiled, refused = {}, 0
    for _ in range(10_000):
        arguments = (
            array(random.choice([np.float32, np.int64])), array(np.float16), integer(),
            random.choice([1, 2, 16, 100]), random.choice([True, False, None]), random.choice(["a", 1, 1.0, True]),
        )  # fmt: skip
        try:
            found = loaded.variant_for(*arguments)
        except st.ArgumentError as error:
            # The message ends with what the launch would have needed.
            asked = str(error).partition("export it: ")[2].splitlines()[0]
            assert asked not in there
            refused += 1
            continue
        assert found.target == LEVEL
        key = (found.signature, repr(arguments[5]))
        if key not in compiled:
            many.warmup(*arguments, target=LEVEL)
            compiled[key] = ", ".join(
                f"{name}: {kind}"
                if isinstance(kind, str) and name != "MODE"
                else f"{name} = {kind!r}"
                for name, kind in many._variants()[-1][1].items()
            )
            assert compiled[key] == found.signature
    assert 0 < refused < 8_000
    assert len({signature for signature, _ in compiled}) > 200


class Mode(enum.Enum):
    A = 1
    B = 2


def helper_of(factor):
    @st.jit
    def scaled(x):
        return x * factor

    return scaled


def test_constants_that_an_archive_cannot_tell_apart_are_refused():
    @st.jit
    def apply(x, F: tl.constexpr):
        tl.store(x, F(tl.load(x)))

    one, other = helper_of(tl.constexpr(2.0)), helper_of(tl.constexpr(5.0))
    kind = {"x": "*fp32:16"}
    with pytest.raises(ValueError, match="F has several functions, which launches cannot name"):
        st.aot.export({**kind, "F": [one, other]})(apply)
    for value in (Mode.A, np.float32(1), object(), (1, Mode.B)):
        with pytest.raises(ValueError, match="not a number, a text, a dtype, None, or a tuple"):
            st.aot.export({**kind, "F": value})(apply)
    with pytest.raises(ValueError, match="not a kind"):
        st.aot.export({"x": np.zeros(3), "F": 1})(apply)
    st.aot.export({**kind, "F": one}, grid=1)(apply)
    with pytest.raises(ValueError, match="apply is exported twice"):
        st.aot.export({**kind, "F": one}, grid=1)(apply)
    loaded = st.aot.load(st.aot.build([st.aot.Export.of(apply)], [LEVEL]).archive).apply
    x = np.full(1, 3, np.float32)
    loaded(x)
    assert x[0] == 6
    with pytest.raises(st.ArgumentError, match="cannot tell it from others of its name"):
        loaded(x, one)


def test_the_kernels_own_default_is_what_leaving_out_means():
    @st.aot.export({"x": "*i32:16", "BLOCK": 128}, grid=1)
    @st.jit
    def tell_block(x, BLOCK: tl.constexpr = 64):
        tl.store(x, BLOCK)

    loaded = st.aot.load(st.aot.build([st.aot.Export.of(tell_block)], [LEVEL]).archive).tell_block
    x = np.zeros(1, np.int32)
    with pytest.raises(st.ArgumentError, match="BLOCK: 64 instead of 128"):
        loaded(x)
    loaded(x, BLOCK=128)
    assert x[0] == 128


def test_options_that_a_target_does_not_look_at_are_no_obstacle():
    @st.aot.export(
        {"x": "*i32:16", "n": "i32", "waves_per_eu": [1, 2]},
        choose={"waves_per_eu": "1 if n < 5 else 2"},
        grid=1,
    )
    @st.jit
    def tell_n(x, n):
        tl.store(x, n)

    built = st.aot.build([st.aot.Export.of(tell_n)], [LEVEL, "hip:gfx942"])
    x = np.zeros(1, np.int32)
    for n in (3, 7):
        st.aot.load(built.archive).tell_n(x, n)
        assert x[0] == n


def test_many_combinations_take_no_time():
    @st.aot.export(
        {"x": "*i32", **{f"c{i}": [0, 1] for i in range(9)}, "num_warps": [4, 8]},
        choose={"num_warps": 4},
    )
    @st.jit
    def wide(
        x,
        c0: tl.constexpr,
        c1: tl.constexpr,
        c2: tl.constexpr,
        c3: tl.constexpr,
        c4: tl.constexpr,
        c5: tl.constexpr,
        c6: tl.constexpr,
        c7: tl.constexpr,
        c8: tl.constexpr,
    ):
        pass

    from sectile.aot import building

    export = st.aot.Export.of(wide)
    building._refuse_ambiguous(export)
    assert len(export.combinations()) == 1024


def test_kinds_with_equal_code_are_variants_of_their_own():
    @st.aot.export({"x": ["*i8:16", "*u8:16"], "y": ["i32", "u32"]})
    @st.jit
    def add(x, y):
        tl.store(x, tl.load(x) + y.to(tl.int8))

    built = st.aot.build([st.aot.Export.of(add)], [LEVEL])
    loaded = st.aot.load(built.archive).add
    assert len({variant.signature for variant in loaded.variants()}) == 4
    for dtype in (np.int8, np.uint8):
        x = np.full(16, 100, dtype)
        loaded[(1,)](x, 7)
        assert x[0] == 107


def test_tensor_descriptors_by_the_text_of_their_kinds():
    """Every way of extents and strides that the texts name gets its variant; others are an error that writes the text."""

    @st.aot.export(
        {"out": ["tensordesc<T[4, 16]>", "tensordesc<T[4, 16]>(i32, i32:16)",
                 "tensordesc<T[4, 16]>(i32:16, i32:16)", "tensordesc<T[4, 16]>(1, i32)",
                 "tensordesc<T[4, 16]>(i32, i32) strides (i32:16, 1)"], "x": "*T:16"},
        T=["fp32", "i16"],
        grid=1,
    )  # fmt: skip
    @st.jit
    def fill(out, x):
        tl.static_assert(out.block_shape[1] == 16)
        out.store([0, 0], tl.full((4, 16), 1, x.dtype.element_ty) * tl.load(x))

    loaded = st.aot.load(st.aot.build([st.aot.Export.of(fill)], [LEVEL]).archive).fill
    assert "out: tensordesc<fp32[4, 16]>(i32, i32:16), x: *fp32:16" in [
        variant.signature for variant in loaded.variants()
    ]
    for dtype in (np.float32, np.int16):
        x = np.full(1, 5, dtype)
        for rows, columns, stride in [
            (7, 24, 24),
            (7, 32, 32),
            (16, 48, 48),
            (1, 24, 24),
            (7, 17, 32),
        ]:
            array = np.zeros((rows, stride), dtype)
            view = array[:, :columns]
            loaded(st.TensorDescriptor.from_tensor(view, [4, 16]), x)
            expected = np.zeros_like(array)
            expected[:4, :16] = 5
            assert np.array_equal(array, expected)
    array = np.zeros((16, 24), np.float32)
    with pytest.raises(st.ArgumentError) as caught:
        loaded(st.TensorDescriptor.from_tensor(array, [4, 16]), np.ones(1, np.float32))
    assert "export it: out: tensordesc<fp32[4, 16]>(i32:16, i32), x: *fp32:16" in str(caught.value)
    with pytest.raises(st.ArgumentError):
        loaded(st.TensorDescriptor.from_tensor(array, [4, 8]), np.ones(1, np.float32))
    # What a launch is specialised on compiles it again.
    with pytest.raises(
        ValueError,
        match=r"fill: out: 'tensordesc<fp32\[4\]>\(i32, i32\)': 2 extents are given, and the blocks have 1",
    ):
        st.compile(fill, {"out": "tensordesc<fp32[4]>(i32, i32)", "x": "*fp32"}, target=LEVEL)
    compiled = st.compile(fill, {"out": "tensordesc<fp32[4, 16]>", "x": "*fp32"}, target=LEVEL)
    compiled[(1,)](st.TensorDescriptor.from_tensor(np.zeros((7, 24), np.float32), [4, 16]), x)


SCRIPT = """
import sectile as st
import sectile.language as tl
from helper import FACTOR

@st.aot.export({"x": "*fp32:16", "n": ["i32", "i32:16"], "BLOCK": 64}, grid=lambda n: st.cdiv(n, 64))
@st.jit
def scale(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.device_assert(n > 0, "n must be positive")
    tl.store(x + i, tl.load(x + i, mask=i < n) * FACTOR, mask=i < n)
"""


def run_aot(folder, *words, **environment):
    # A module that is written twice in a second has the time, and perhaps the size, of its old bytecode.
    return subprocess.run(
        [sys.executable, "-m", "sectile", "aot", *words],
        cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )  # fmt: skip


def write_script(folder, text=SCRIPT, factor=3):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernels.py").write_text(textwrap.dedent(text))
    (folder / "helper.py").write_text(
        f"import sectile.language as tl\nFACTOR = tl.constexpr({factor})\n"
    )
    return folder


def test_the_command_writes_archive_headers_and_dependencies(tmp_path):
    folder = write_script(tmp_path)
    done = run_aot(folder, "kernels.py", "-o", "out/nn", "--target", f"{LEVEL},cpu:x86-64-v3", "--depfile", "out/nn.d")  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 5  # a line for each variant, and the sum
    assert lines[-1].startswith("4 variants of 1 kernel, ")
    assert sorted(os.listdir(folder / "out")) == ["nn.d", "nn.h", "nn.hpp", "nn.sectile"]
    depends = (folder / "out/nn.d").read_text()
    assert "helper.py" in depends and "numpy" not in depends
    loaded = st.aot.load(folder / "out/nn.sectile")
    x = np.arange(100, dtype=np.float32)
    loaded.scale(x, 100)
    assert np.array_equal(x, 3 * np.arange(100))


@pytest.mark.parametrize("forms", [["--archive"], ["--archive", "--static", "--shared"]])
def test_a_full_disk_leaves_the_files_before(tmp_path, forms):
    """Files may have 3000 bytes: headers fit, the archive does not.

    Python writes no bytecode then (-B): it moves the 3000 bytes that fitted to their place, and each
    later process that imports the module fails.
    """
    folder = write_script(tmp_path)
    words = ["kernels.py", "-o", "out/nn", "--target", LEVEL, "--depfile", "out/nn.d", *forms]
    assert run_aot(folder, *words).returncode == 0
    before = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    write_script(tmp_path, factor=4)
    limited = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))\n"
    limited += "from sectile.aot.building import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-B", "-c", limited, *words], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 1
    if len(forms) == 1:
        assert done.stderr == "sectile aot: out/nn.sectile cannot be written: File too large\n"
    assert before == {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    done = run_aot(folder, *words[:2], "kernels.py/nn", *words[3:])
    assert done.returncode == 1 and "Traceback" not in done.stderr


def test_equal_input_gives_equal_bytes_wherever_it_lies(tmp_path):
    archives = []
    for name in ("a", "elsewhere/deeper"):
        folder = write_script(tmp_path / name)
        done = run_aot(
            folder, "kernels.py", "-o", "nn", "-q", "--static",
            "--target", f"{LEVEL},cuda:80+ptx,hip:gfx942",
            SECTILE_CACHE_DIR=str(tmp_path / f"cache-{len(archives)}"),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout == ""
        archives.append((folder / "nn.a").read_bytes())
    assert archives[0] == archives[1]
    folder = write_script(tmp_path / "a", factor=4)
    assert run_aot(folder, "kernels.py", "-o", "nn", "-q", "--static", "--target", f"{LEVEL},cuda:80+ptx,hip:gfx942").returncode == 0  # fmt: skip
    assert (folder / "nn.a").read_bytes() != archives[0]


def test_what_was_compiled_before_leaves_no_trace(tmp_path):
    """Equal code of another file is in the cache, and its file is in no message of this archive."""
    made = []
    for caches in (["one", "both"], ["both"]):
        for name, folder in (("first", "a"), ("second", "b")):
            write_script(tmp_path / folder)
            (tmp_path / folder / f"{name}.py").write_text(textwrap.dedent(SCRIPT))
        cache = {"SECTILE_CACHE_DIR": str(tmp_path / caches[0])}
        if caches == ["both"]:
            assert run_aot(tmp_path / "a", "first.py", "-o", "nn", "-q", **cache).returncode == 0
        assert run_aot(tmp_path / "b", "second.py", "-o", "nn", "-q", **cache).returncode == 0
        made.append((tmp_path / "b/nn.sectile").read_bytes())
    assert made[0] == made[1]
    assert b"first.py" not in made[1] and b"second.py" in made[1]


@pytest.mark.parametrize(
    "text, problem",
    [
        ("import sys; sys.exit(3)", "ended the process (exit status 3)"),
        ("def f(:", "SyntaxError"),
        ("import nothing_of_that_name", "No module named 'nothing_of_that_name'"),
        ("import sys; sys.path.clear(); 1 / 0", "ZeroDivisionError"),
        ("import sectile as st\nst.aot.export({})(3)", "expected a @jit function"),
    ],
)
def test_files_that_do_not_run(tmp_path, text, problem):
    (tmp_path / "stuff.py").write_text(text)
    done = run_aot(tmp_path, "stuff.py", "-o", "nn")
    assert done.returncode == 1
    assert problem in done.stderr
    assert "building.py" not in done.stderr and "runpy" not in done.stderr


def test_settings_of_the_environment_in_the_code_are_named(tmp_path):
    folder = write_script(tmp_path)
    words = ["kernels.py", "-o", "nn", "--target", LEVEL]
    assert run_aot(folder, *words).stderr == ""
    done = run_aot(folder, *words, SECTILE_CHECK="bounds")
    assert "note: SECTILE_CHECK=bounds of the environment is part of the code" in done.stderr
    variant = st.aot.load(folder / "nn.sectile").scale.variants()[0]
    assert variant.options == "check=bounds"
    for value in ("none", "0", "off"):
        assert "note" not in run_aot(folder, *words, SECTILE_CHECK=value).stderr
    write_script(tmp_path, SCRIPT.replace('"BLOCK": 64}', '"BLOCK": 64, "check": None}'))
    assert run_aot(folder, *words, SECTILE_CHECK="bounds").stderr == ""


def test_files_are_written_together_and_links_stay(tmp_path):
    folder = write_script(tmp_path)
    (folder / "nn.h").write_text("old")
    (folder / "nn.hpp").mkdir()
    done = run_aot(folder, "kernels.py", "-o", "nn")
    assert (
        done.returncode == 1
        and done.stderr == "sectile aot: nn.hpp cannot be written: Is a directory\n"
    )
    assert (folder / "nn.h").read_text() == "old"
    (folder / "nn.hpp").rmdir()
    (folder / "elsewhere").mkdir()
    (folder / "nn.h").unlink()
    (folder / "nn.h").symlink_to("elsewhere/header.h")
    os.mkfifo(folder / "pipe")
    reader = subprocess.Popen(["cat", folder / "pipe"], stdout=subprocess.PIPE, text=True)
    assert run_aot(folder, "kernels.py", "-o", "nn", "--depfile", "pipe").returncode == 0
    assert "kernels.py" in reader.communicate(timeout=60)[0]
    assert (folder / "nn.h").is_symlink() and "nn_scale" in (
        folder / "elsewhere/header.h"
    ).read_text()
    assert not list(folder.glob("**/*.tmp"))
    done = run_aot(folder, "kernels.py", "-o", "nn", "--depfile", "./nn.h")
    assert (
        done.returncode == 1 and "--depfile ./nn.h is one of the files that are made" in done.stderr
    )


@pytest.mark.parametrize("kind", ["*fp32:16", "tensordesc<fp32[16]>"])
def test_formulas_of_arrays_are_refused(kind):
    @st.jit
    def kernel(x, n):
        pass

    for settings in ({"grid": lambda x: x}, {"choose": {"num_warps": lambda n, x: n + x}}):
        with pytest.raises(ValueError, match="depends on 'x', which is an array"):
            st.aot.export({"x": kind, "n": "i32", "num_warps": [2, 4]}, **settings)(kernel)
    st.aot.export({"x": kind, "n": "i32"}, grid=lambda n: n)(kernel)


def test_type_variables_of_any_name():
    from sectile.aot.exports import _substitute

    for text, filled in [
        ("*kv:16", "*fp32:16"), ("*kkv", "*kfp32"), ("*kT:16", "*ki8:16"), ("kv", "fp32"), ("T", "i8"), ("i32", "i32"),
        ("tensordesc<kv[16]>", "tensordesc<fp32[16]>"), (" tensordesc< kT [16]> nan", " tensordesc< ki8 [16]> nan"),
        ("tensordesc<fp16[16]>", "tensordesc<fp16[16]>"),
    ]:  # fmt: skip
        assert _substitute(text, {"kv": "fp32", "T": "i8"}) == filled


def test_two_kernels_of_one_name_are_refused(tmp_path):
    for folder in ("a", "b"):
        write_script(tmp_path / folder)
    done = run_aot(tmp_path, "a/kernels.py", "b/kernels.py", "-o", "nn")
    assert done.returncode == 1 and "two exported kernels are called 'scale'" in done.stderr
    assert "a/kernels.py:" in done.stderr and "b/kernels.py:" in done.stderr


def test_files_that_import_each_other_are_run_once(tmp_path):
    write_script(tmp_path)
    text = "from kernels import *\n" + SCRIPT.replace("def scale", "def scale_again")
    (tmp_path / "again.py").write_text(text)
    for files in (["again.py", "kernels.py"], ["kernels.py", "again.py"]):
        done = run_aot(tmp_path, *files, "-o", "nn")
        assert done.returncode == 0, done.stderr
        assert list(st.aot.load(tmp_path / "nn.sectile")) == ["scale", "scale_again"]


def test_grid_functions_see_arguments_behind_nested_tuples():
    @st.aot.export({"pair": (("i32", "i32"), "i32"), "n": "i32", "BLOCK": [16, 32], "out": "*i32:16"},
                   choose={"BLOCK": lambda n: 16 if n < 100 else 32})  # fmt: skip
    @st.jit
    def tell(pair, out, n, BLOCK: tl.constexpr):
        tl.store(out, tl.num_programs(0))

    loaded = st.aot.load(st.aot.build([st.aot.Export.of(tell)], [LEVEL]).archive).tell
    out, seen = np.zeros(4, np.int32), {}
    loaded[lambda meta: (seen.update(meta), st.cdiv(meta["n"], meta["BLOCK"]))[1]](((2, 3), 4), out, 90)  # fmt: skip
    assert (seen["n"], seen["BLOCK"], out[0]) == (90, 16, 6)


def test_truth_values_are_chosen():
    @st.aot.export(
        {"out": "*i32:16", "n": "i32", "flag": "i1", "A": [True, False], "B": [True, False], "C": [True]},
        choose={"A": lambda n: True if n > 5 else False, "B": lambda flag: flag, "C": True},
        grid=1,
    )  # fmt: skip
    @st.jit
    def tell(out, n, flag, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
        tl.store(out, 4 * A + 2 * B + C)

    loaded = st.aot.load(st.aot.build([st.aot.Export.of(tell)], [LEVEL]).archive).tell
    out = np.zeros(4, np.int32)
    for n in (3, 9):
        for flag in (False, True):
            loaded(out, n, flag)
            assert out[0] == 4 * (n > 5) + 2 * flag + 1


def test_loading_and_launching_load_no_compiler(tmp_path):
    folder = write_script(tmp_path)
    assert run_aot(folder, "kernels.py", "-o", "nn", "--target", LEVEL).returncode == 0
    program = """
        import numpy as np, sectile as st
        x = np.ones(64, np.float32)
        st.aot.load("nn.sectile").scale(x, 64)
        assert x[63] == 3
        maps = open("/proc/self/maps").read()
        assert "libsectile.so" in maps and "libsectile-compiler" not in maps
        assert st.statistics()["compiles"] == 0
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], cwd=folder, check=True)


def test_traps_of_archived_code_name_file_and_line(tmp_path):
    folder = write_script(
        tmp_path, SCRIPT.replace('"BLOCK": 64}', '"BLOCK": 64, "debug": True}').replace("n > 0", "n > 5")
    )  # fmt: skip
    done = run_aot(folder, "kernels.py", "-o", "nn", "--target", LEVEL)
    assert done.returncode == 0, done.stderr
    scale = st.aot.load(folder / "nn.sectile").scale
    with pytest.raises(st.DeviceAssertionError, match="n must be positive") as caught:
        scale(np.ones(64, np.float32), 3)
    assert "kernels.py:10" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
    assert 'tl.device_assert(n > 5, "n must be positive")' in str(caught.value)


def test_what_a_launch_leaves_out():
    @st.aot.export(
        {
            "out": "*i32:16",
            "n": "i32",
            "m": "i32",
            "BLOCK": [16, 64],
            "ONE": 5,
            "TWO": 9,
            "EVEN": [True, False],
            "num_warps": [2, 4],
        },
        choose={
            "BLOCK": lambda n: 16 if n < 10 else 64,
            "EVEN": lambda n: n % 2 == 0,
            "num_warps": "2 if n < 10 else 4",
        },
        grid=lambda n, BLOCK: (1, st.cdiv(n, BLOCK)),
    )
    @st.jit
    def tell(
        out,
        n,
        m=np.int32(7),
        BLOCK: tl.constexpr = 32,
        *,
        ONE: tl.constexpr,
        TWO: tl.constexpr = 9,
        EVEN: tl.constexpr,
    ):
        if tl.program_id(1) == 0:
            tl.store(out, BLOCK)
            tl.store(out + 1, m)
            tl.store(out + 2, tl.num_programs(1))
            tl.store(out + 3, ONE if EVEN is True else -ONE)

    built = st.aot.build([st.aot.Export.of(tell)], [LEVEL])
    loaded = st.aot.load(built.archive).tell
    for n in (5, 9, 10, 1000):
        out = np.zeros(4, np.int32)
        loaded(out, n)
        block = 16 if n < 10 else 64
        assert out.tolist() == [block, 7, -(-n // block), -5 if n % 2 else 5]
        assert loaded.variant_for(out, n).options == f"num_warps={2}" * (n < 10)
    seen = []
    loaded[lambda meta: seen.append(meta) or (3, meta["BLOCK"])](out, 5, m=8)
    assert out.tolist() == [16, 8, 16, -5]
    assert {**seen[0], "out": None} == {
        "out": None, "n": 5, "m": 8, "BLOCK": 16, "ONE": 5, "TWO": 9, "EVEN": False,
    }  # fmt: skip
    with pytest.raises(st.ArgumentError, match="argument 'ONE' has to be named"):
        loaded(out, 5, 7, 16, 5)
    loaded[(1,)](out, 5, BLOCK=64)
    assert out[0] == 64


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda k, x: k[(1,)](), "softmax: argument 'out' is missing"),
        (lambda k, x: k[(1,)](x, x, 5, 5, 5), "5 arguments are given, and there are 4 parameters"),
        (lambda k, x: k[(1,)](x, x, 5, out=x), "argument 'out' is given twice"),
        (lambda k, x: k[(1,)](x, x, 5, colums=3), "unknown argument 'colums'; did you mean 'columns'?"),
        (lambda k, x: k[(1,)](x, x, 5, num_warps=3), "num_warps cannot be set"),
        (lambda k, x: k[(1,)](x, x[1:], 5), "x: *fp32 instead of *fp32:16"),
        (lambda k, x: k[(1,)](x, x.astype(np.float64), 5), "x: *fp64:16 instead of *fp32:16"),
        (lambda k, x: k[(1,)](x, x, 16), "columns: i32:16 instead of i32"),
        (lambda k, x: k(x, x, 5), "the launch has no grid, and in memory has none for it"),
    ],
)  # fmt: skip
def test_wrong_launches(archive, call, message):
    with pytest.raises(st.ArgumentError) as caught:
        call(archive.softmax, np.zeros(200, np.float32))
    assert message in str(caught.value)


def test_wrong_exports():
    @st.jit
    def kernel(x, n, BLOCK: tl.constexpr):
        pass

    def refused(message, *signatures, **keywords):
        with pytest.raises((ValueError, TypeError)) as caught:
            st.aot.export(*signatures, **keywords)(kernel)
        assert message in str(caught.value), str(caught.value)

    good = {"x": "*fp32", "n": "i32", "BLOCK": 64}
    refused("kernel has no signature")
    refused("the signature names 'm', which is neither a parameter nor an option", {**good, "m": 3})
    refused("the signature has no kind for 'BLOCK'", {"x": "*fp32", "n": "i32"})
    refused("choose names 'block', which is neither", good, choose={"block": 3})
    refused("the kernel has no parameter 'k'", good, choose={"BLOCK": lambda k: k})
    refused("unknown name: q", good, choose={"BLOCK": "q + 1"})
    refused("1.5 is no integer", good, choose={"BLOCK": "n * 1.5"})
    refused("no formula can be made of this: [n]", good, choose={"BLOCK": "max([n])"})
    refused("a grid has one to three axes, got 4", good, grid=(1, 2, 3, 4))
    refused("`and` and `or` connect comparisons", good, choose={"BLOCK": "n or 5"})
    refused(
        "chose=... is a type that no signature names; did you mean 'choose'?",
        good,
        chose={"BLOCK": 1},
    )
    refused("T=... is a type that no signature names", good, T=["fp32"])
    refused(
        "choose names 'num_warps', of which the signatures have no value",
        good,
        choose={"num_warps": 8},
    )
    both = {**good, "check": [None, "bounds"]}
    refused(
        "choose['check'] cannot give None: what is chosen is an integer", both, choose={"check": 1}
    )
    with pytest.raises(TypeError, match="export: kernel has no signature"):
        st.aot.export(kernel)
    with pytest.raises(TypeError, match="an archive has no heuristics"):
        st.aot.export(good)(st.heuristics({"BLOCK": lambda meta: 64})(kernel))

    @st.jit
    def apply(x, F: tl.constexpr = helper_of(tl.constexpr(2.0))):
        tl.store(x, F(tl.load(x)))

    with pytest.raises(ValueError, match="F is scaled, and its default scaled: launches leave"):
        st.aot.export({"x": "*fp32:16", "F": helper_of(tl.constexpr(3.0))})(apply)
    with pytest.raises(TypeError, match="put it above @st.jit"):
        st.aot.export(good)(lambda x: x)
    tuned = st.autotune([st.Config({"BLOCK": 64})], key=["n"])(kernel)
    with pytest.raises(TypeError, match="put it below the tuner"):
        st.aot.export(good)(tuned)


def test_wrong_builds(tmp_path):
    with pytest.raises(ValueError, match="there is nothing to compile"):
        st.aot.build([], [LEVEL])

    @st.aot.export({"x": "*fp32", "num_warps": [4, 8]})
    @st.jit
    def ambiguous(x):
        pass

    with pytest.raises(ValueError, match="num_warps has several values, and launches cannot tell"):
        st.aot.build([st.aot.Export.of(ambiguous)], [LEVEL])

    @st.aot.export({"x": "*fp32", "check": ["bounds", None]})
    @st.jit
    def checked(x):
        pass

    with pytest.raises(ValueError, match="check has several values.*\n.*of another name for each"):
        st.aot.build([st.aot.Export.of(checked)], [LEVEL])
    for name, problem in [("cuda", "names no architecture"), ("gpu:80", "unknown target 'gpu:80'"), ("cpu+ptx", "unknown target")]:  # fmt: skip
        with pytest.raises(ValueError, match=problem):
            st.aot.build([st.aot.Export.of(ambiguous)], [name])

    done = run_aot(tmp_path, "none.py", "-o", "nn")
    assert done.returncode == 2 and "there is no file 'none.py'" in done.stderr
    (tmp_path / "empty.py").write_text("")
    done = run_aot(tmp_path, "empty.py", "-o", "nn")
    assert done.returncode == 1 and "no kernel has been exported" in done.stderr
    assert run_aot(tmp_path, "empty.py").returncode == 2
    assert "usage: sectile aot" in run_aot(tmp_path, "--help").stdout
    folder = write_script(tmp_path, SCRIPT.replace("* FACTOR", "* factor"))
    done = run_aot(folder, "kernels.py", "-o", "nn")
    assert done.returncode == 1 and "factor" in done.stderr and "Traceback" not in done.stderr


def test_files_that_are_no_archives(tmp_path):
    with pytest.raises(st.MachineError, match="No such file"):
        st.aot.load(tmp_path / "none")
    with pytest.raises((ValueError, st.MachineError), match="value 0|null byte"):
        st.aot.load(f"{tmp_path}/file\0more")
    (tmp_path / "file").write_bytes(b"something else")
    with pytest.raises(st.MachineError, match="it is no archive of kernels"):
        st.aot.load(tmp_path / "file")
    with pytest.raises(st.MachineError, match="in memory: it is empty"):
        st.aot.load(b"")


def test_a_target_without_its_assembler_is_an_error(monkeypatch):
    kernel, *_ = exported.CASES["exponential"]
    monkeypatch.setenv("SECTILE_ASSEMBLER", "none")
    code = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        import exported, sectile as st
        export = st.aot.Export.of(exported.CASES["exponential"][0])
        st.aot.build([export], ["cuda:80+ptx"])
        try:
            st.aot.build([export], ["cuda:80"])
        except st.MachineError as error:
            assert "needs NVIDIA's ptxas" in str(error), error
        else:
            raise AssertionError
        """
    )
    subprocess.run([sys.executable, "-c", code], check=True)
