"""st.knobs: every variable as an attribute, for a scope, and in effect from then on."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile import _native

pytestmark = pytest.mark.host
GROUPS = (st.knobs.cache, st.knobs.compilation, st.knobs.runtime, st.knobs.autotuning)


@pytest.fixture(autouse=True)
def restored():
    with st.knobs.scope():
        yield


def knobs_by_variable():
    return {
        knob.variable: (group, name)
        for group in GROUPS
        for name, knob in vars(type(group)).items()
        if isinstance(knob, st.knobs.Knob)
    }


def new_kernel():
    @st.jit
    def store(out, BLOCK: tl.constexpr):
        tl.store(out + tl.arange(0, BLOCK), 1.0)

    return store


def run(kernel, **options):
    out = np.zeros(16, np.float32)
    compiled = kernel[(1,)](out, BLOCK=16, **options)
    assert out.all()
    return compiled


def test_all_variables_of_the_runtime_are_attributes():
    variables = {row[0] for row in _native.knob_table()}
    assert variables - set(knobs_by_variable()) == set()
    assert {row[0] for row in st.knobs.table()} == set(knobs_by_variable())


def test_the_document_has_the_table():
    readme = (Path(__file__).parents[3] / "python" / "README.md").read_text()
    start, end = "<!-- sectile knobs --markdown -->\n", "\n<!-- end -->"
    assert start in readme
    table = readme.split(start)[1].split(end)[0]
    assert table == st.knobs.markdown(), "run: sectile knobs --markdown"


def test_a_scope_restores_everything(monkeypatch):
    monkeypatch.setenv("SECTILE_CHECK", "bounds")
    monkeypatch.delenv("SECTILE_DEBUG", raising=False)
    listener = st.knobs.autotuning.listener
    with st.knobs.scope() as scope:
        assert isinstance(scope, st.knobs.scope)
        st.knobs.runtime.check = None
        st.knobs.runtime.debug = True
        st.knobs.autotuning.listener = print
        os.environ["SECTILE_LOG"] = "compile"
        with st.knobs.scope(num_threads=1, dump="tile:/nowhere"):
            assert st.knobs.runtime.num_threads == 1
            assert os.environ["SECTILE_DUMP"] == "tile:/nowhere"
        assert "SECTILE_DUMP" not in os.environ
        assert st.knobs.runtime.debug
    assert os.environ["SECTILE_CHECK"] == "bounds"
    assert "SECTILE_DEBUG" not in os.environ and "SECTILE_LOG" not in os.environ
    assert st.knobs.autotuning.listener is listener


def test_a_scope_restores_after_an_error():
    before = dict(os.environ)
    with pytest.raises(ZeroDivisionError), st.knobs.scope(check="bounds"):
        1 // 0
    assert dict(os.environ) == before


def test_a_scope_refuses_what_it_does_not_know():
    with pytest.raises(TypeError, match="there is no knob 'chek', did you mean 'check'|chek"):
        st.knobs.scope(chek="bounds")
    with pytest.raises(TypeError, match="takes int"):
        st.knobs.scope(num_threads="many")
    with pytest.raises(TypeError, match="takes int"):
        st.knobs.runtime.num_threads = True


def test_what_is_not_understood_is_refused_and_nothing_changed():
    run(new_kernel())
    before = st.knobs.cache.size
    with pytest.raises(RuntimeError, match="SECTILE_CACHE_SIZE: expected a size such as 512M"):
        st.knobs.cache.size = "big"
    assert st.knobs.cache.size == before
    with pytest.raises(RuntimeError, match="from 1 to 4096"), st.knobs.scope(num_threads=5000):
        pass
    assert st.knobs.runtime.num_threads != 5000


def test_the_cache_can_move_while_the_process_runs(tmp_path):
    run(new_kernel())
    writes = st.statistics()["disk_writes"]
    with st.knobs.scope(cache_dir=tmp_path / "other"):
        run(new_kernel(), num_warps=1)
        assert st.statistics()["cache_directory"] == str(tmp_path / "other")
        assert len(list((tmp_path / "other").glob("*.kernel"))) >= 1
        assert st.statistics()["disk_writes"] == writes + 1
    assert st.statistics()["cache_directory"] != str(tmp_path / "other")
    assert st.statistics()["disk_writes"] == writes + 1
    with st.knobs.scope(cache_dir=""):
        run(new_kernel(), num_warps=2)
        assert st.statistics()["cache_directory"] == ""


def test_threads_can_change_while_the_process_runs():
    kernel = new_kernel()
    run(kernel)
    usual = _native.hardware_threads()
    with st.knobs.scope(num_threads=3):
        assert _native.hardware_threads() == 3
        out = np.zeros(16, np.float32)
        kernel[(1000,)](out, BLOCK=16)
        assert out.all()
        assert thread_count() >= 2
    assert _native.hardware_threads() == usual


def thread_count():
    names = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
    return sum(name.startswith("sectile-") for name in names)


def test_stages_dumps_and_the_log_can_be_switched_on(tmp_path, capfd):
    kernel = new_kernel()
    assert "llvm" not in run(kernel).asm
    with st.knobs.scope(keep_stages=True, log="compile", dump=f"llvm:{tmp_path}"):
        kernel.clear()
        assert "llvm" in run(kernel).asm
        assert st.inspect(kernel)[0].missing_stages == []
    assert "compiled store for cpu" in capfd.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["store.llvm.ll"]
    kernel.clear()
    assert "llvm" not in run(kernel).asm


def test_a_kernel_that_has_run_is_dumped(tmp_path):
    store, out = new_kernel(), np.zeros(8, np.float32)
    before = store[(1,)](out, BLOCK=8)
    store[(1,)](out, BLOCK=4)
    for folder in (tmp_path / "first", tmp_path / "second"):
        with st.knobs.scope(dump=f"tile,llvm:{folder}"):
            store[(1,)](out, BLOCK=8)
            assert len(list(folder.iterdir())) == 2
            store[(1,)](out, BLOCK=8)  # is there now: nothing more is compiled
            assert len(list(folder.iterdir())) == 2
    # Outside the variant is the one it was, and there are no more than before.
    assert store[(1,)](out, BLOCK=8) is before
    assert [variant.signature["BLOCK"] for variant in store.variants()] == [8, 4]


def test_stages_are_kept_of_a_kernel_that_has_run():
    store, out = new_kernel(), np.zeros(8, np.float32)
    assert "llvm" not in store[(1,)](out, BLOCK=2).asm
    with st.knobs.scope(keep_stages=True):
        assert "llvm" in store[(1,)](out, BLOCK=2).asm
    assert len(store.variants()) == 1


def test_a_kernel_in_the_disk_cache_is_dumped(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np, sectile as st, sectile.language as tl\n"
        "@st.jit\n"
        "def store(out, BLOCK: tl.constexpr):\n"
        "    tl.store(out + tl.arange(0, BLOCK), 1.0)\n"
        "store[(1,)](np.zeros(8, np.float32), BLOCK=8)\n"
    )
    environment = {**os.environ, "SECTILE_CACHE_DIR": str(tmp_path / "cache")}
    subprocess.run([sys.executable, program], check=True, env=environment)
    environment["SECTILE_DUMP"] = f"tile:{tmp_path / 'dumps'}"
    subprocess.run([sys.executable, program], check=True, env=environment)
    assert len(list((tmp_path / "dumps").iterdir())) == 1


def test_stages_of_a_gpu_are_dumped(tmp_path):
    signature = {"out": "*fp32:16", "BLOCK": 16}
    with st.knobs.scope(dump=f"all:{tmp_path}"):
        st.compile(new_kernel(), signature, target="cuda:90")
    assert {path.name for path in tmp_path.iterdir()} == {
        "store.tile.mlir",
        "store.tile-optimized.mlir",
        "store.tile-gpu.mlir",
        "store.llvm.ll",
        "store.llvm-optimized.ll",
        "store.ptx",
    }
    assert ".visible .entry" in (tmp_path / "store.ptx").read_text()


@pytest.mark.parametrize(
    "text, is_active", [("1", True), ("0", False), ("off", False), ("", False)]
)
def test_debug_is_read_alike_everywhere(text, is_active):
    @st.jit
    def check(x):
        tl.device_assert(tl.load(x) > 0, "positive")

    os.environ["SECTILE_DEBUG"] = text
    st.knobs.refresh()
    assert st.knobs.runtime.debug == is_active
    if is_active:
        with pytest.raises(st.DeviceAssertionError):
            check[(1,)](np.zeros(1, np.float32))
    else:
        check[(1,)](np.zeros(1, np.float32))


def test_debug_that_is_no_flag_is_off_everywhere(said_by):
    program = """
        import numpy as np, sectile as st, sectile.language as tl
        @st.jit
        def check(x):
            tl.device_assert(tl.load(x) > 0, "positive")
        check[(1,)](np.zeros(1, np.float32))
        try:
            st.knobs.runtime.debug
        except ValueError as error:
            print(error)
    """
    done = said_by(program, SECTILE_DEBUG="maybe")
    assert done.stdout == "SECTILE_DEBUG is 'maybe', not 0 or 1\n"
    assert done.stderr == "sectile: warning: SECTILE_DEBUG: expected 0 or 1, found 'maybe'\n"


@pytest.fixture
def said_by(tmp_path):
    """Runs a program in an environment; gives what it said."""

    def run(program, **environment):
        (tmp_path / "program.py").write_text(textwrap.dedent(program))
        done = subprocess.run(
            [sys.executable, str(tmp_path / "program.py")],
            capture_output=True,
            text=True,
            env={**os.environ, "SECTILE_CACHE_DIR": "", **environment},
        )
        assert done.returncode == 0, done.stderr
        return done

    return run


LAUNCH = """
    import numpy as np, sectile as st, sectile.language as tl
    @st.jit
    def store(out):
        tl.store(out, 1.0)
    for _ in range(3):
        store[(1,)](np.zeros(1, np.float32))
        store.clear()
"""


def test_unknown_variables_are_warned_of_once(said_by):
    done = said_by(LAUNCH, SECTILE_CHEK="bounds", SECTILE_QWERTZ="1", SECTILE_TEST_MINE="1")
    assert sorted(done.stderr.splitlines()) == [
        "sectile: warning: SECTILE_CHEK is no variable of Sectile's; did you mean SECTILE_CHECK?",
        "sectile: warning: SECTILE_QWERTZ is no variable of Sectile's; `sectile knobs` lists them",
    ]


def test_a_dump_that_cannot_be_written_says_so_once(said_by):
    done = said_by(LAUNCH, SECTILE_DUMP="tile,llvm:/proc/foo")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("sectile: warning: SECTILE_DUMP: cannot write /proc/foo: ")
    done = said_by(LAUNCH, SECTILE_DUMP=":::")
    assert done.stderr.startswith("sectile: warning: SECTILE_DUMP: expected stages and a folder")
    assert said_by(LAUNCH, SECTILE_DUMP="").stderr == ""


def test_attributes_and_their_defaults_are_those_of_the_table():
    rows = {row[0]: row for row in _native.knob_table()}
    for variable, (group, name) in knobs_by_variable().items():
        _, kind, initial, meaning, attribute = rows[variable]
        assert attribute == f"{type(group).__name__.lower()}.{name}"
        knob = vars(type(group))[name]
        assert knob.__doc__ == meaning
        assert (knob.kind is bool) == (kind == "flag")
        if knob.default is not None:
            assert initial == str(int(knob.default) if knob.kind is bool else knob.default)
        if knob.allowed:
            assert [text for text in knob.allowed if text] == kind.split("|")


def test_printed_elements_of_a_loaded_kernel():
    @st.jit
    def show(x):
        tl.device_print("x", tl.load(x + tl.arange(0, 64)))

    said = []
    st.set_print(said.append)
    try:
        x = np.arange(64, dtype=np.float32)
        show[(1,)](x)
        with st.knobs.scope(print_elements=4):
            show[(1,)](x)
    finally:
        st.set_print(None)
    assert "63" in said[0] and "63" in "".join(said)
    assert len(said[1]) < len(said[0])


def test_the_compiler_library_cannot_change_once_it_is_loaded():
    assert _native.compiler_error() == ""
    with pytest.raises(
        RuntimeError, match="SECTILE_COMPILER_LIBRARY: the compiler library is loaded"
    ):
        st.knobs.compilation.library = "/elsewhere/libsectile-compiler.so"
    assert "elsewhere" not in os.environ.get("SECTILE_COMPILER_LIBRARY", "")


def test_who_changes_the_environment_says_so(tmp_path):
    run(new_kernel())
    os.environ["SECTILE_CACHE_DIR"] = str(tmp_path)
    assert st.statistics()["cache_directory"] != str(tmp_path)
    st.knobs.refresh()
    assert st.statistics()["cache_directory"] == str(tmp_path)


def timed(tmp_path, time, target="cpu", **more):
    """What a process with one kernel says on stderr."""
    (tmp_path / "kernel.py").write_text(
        textwrap.dedent(f"""
        import sectile as st, sectile.language as tl
        @st.jit
        def store(out, BLOCK: tl.constexpr):
            tl.store(out + tl.arange(0, BLOCK), 1.0)
        st.compile(store, {{"out": "*fp32", "BLOCK": 64}}, target={target!r})
        """)
    )
    environment = {
        **os.environ,
        "SECTILE_CACHE_DIR": str(tmp_path / "cache"),
        "SECTILE_TIME": time,
        **more,
    }
    command = [sys.executable, str(tmp_path / "kernel.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


def steps(text):
    return [line.split("%", 1)[1] for line in text.splitlines() if " ms " in line and "%" in line]


def test_where_the_time_goes(tmp_path):
    said = timed(tmp_path, "1")
    table, total = said.split("sectile: 1 compile took ")
    assert table.startswith("sectile: store for cpu [out: *fp32, BLOCK = 64]: ")
    names = [name.strip() for name in steps(table)]
    for name in (
        "load compiler",
        "front end",
        "optimize",
        "emit llvm",
        "generate code",
        "link",
        "load",
        "cache",
    ):
        assert name in names
    assert not any(name.startswith("    ") for name in steps(table)), "passes"
    assert [name.strip() for name in steps(total)] == names
    shares = [float(line.split("ms")[1].split("%")[0]) for line in table.splitlines()[1:]]
    assert abs(sum(shares) - 100) <= len(shares)
    # From the cache now.
    said = timed(tmp_path, "1")
    assert said.startswith("sectile: 1 kernel came from the disk cache in ")
    # Every pass can be timed by compiling only.
    said = timed(tmp_path, "passes", "cuda:90")
    assert {"canonicalize", "pipeline-loops", "assign-layouts"} <= {s.strip() for s in steps(said)}
    assert timed(tmp_path, "passes").count("canonicalize") == 1
    # What is verified takes time, too: layouts, after each pass from the one that assigns them.
    checked = [s.strip() for s in steps(timed(tmp_path, "passes", "cuda:90", SECTILE_VERIFY="1"))]
    first = checked.index("assign-layouts")
    assert checked[first : first + 14 : 2] == [
        "assign-layouts",
        "narrow-exchanges",
        "cse",
        "start-products",
        "cse",
        "make-persistent",
        "pipeline-loops",
    ]
    assert checked[first + 1 : first + 6 : 2] == ["verify-layouts"] * 3
    assert "verify-layouts" not in said
    assert timed(tmp_path, "0") == ""
