"""The package around the compiler: import, names, dtypes, constants, decorators, knobs."""

import inspect
import os
import pathlib
import pickle
import re
import subprocess
import sys

import pytest

import sectile as st
import sectile.language as tl


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    ).stdout


def test_import_loads_no_array_library():
    loaded = run(
        "import sys\nbefore = set(sys.modules)\nimport sectile, sectile.language\n"
        "@sectile.jit\n"
        "def kernel(x): pass\n"
        "print(*sorted(m for m in ('numpy', 'torch', 'inspect', 'ast', 'pandas', 'matplotlib') "
        "if m in sys.modules and m not in before))"
    )
    assert loaded.strip() == ""


def test_every_public_name_can_be_had():
    for name in st.__all__:
        assert getattr(st, name) is not None
    for name in tl.__all__:
        assert hasattr(tl, name)


def test_every_error_can_be_had_from_the_package():
    from sectile import errors

    for name, value in vars(errors).items():
        if isinstance(value, type) and value.__module__ == "sectile":
            assert name in st.__all__ and getattr(st, name) is value


def test_misspelt_names():
    with pytest.raises(AttributeError, match="did you mean 'autotune'"):
        st.autotun
    with pytest.raises(AttributeError, match="did you mean 'program_id'"):
        tl.programid
    with pytest.raises(AttributeError, match="did you mean 'tanh'"):
        tl.extra.libdevice.tanhh


def test_names_from_elsewhere_say_what_does_it_here():
    from sectile.language import _elsewhere

    with pytest.raises(AttributeError, match=r"help: use tl\.sum\(x, axis\) / n"):
        tl.mean
    with pytest.raises(AttributeError, match=r"help: use libdevice\.atan2\(y, x\) \(from sectile"):
        tl.atan2
    for name, text in _elsewhere._REPLACEMENTS.items():
        assert not hasattr(tl, name), f"tl.{name} exists"
        for operation in re.findall(r"tl\.(\w+)", text):
            assert hasattr(tl, operation), f"{name}: there is no tl.{operation}"
        for function in re.findall(r"libdevice\.(\w+)", text):
            assert hasattr(tl.extra.libdevice, function), f"{name}: no libdevice.{function}"
    assert _elsewhere.LIBDEVICE == "from sectile.language.extra import libdevice"
    exec(_elsewhere.LIBDEVICE, {})


def not_yet():
    for name in tl.__all__:
        stub = getattr(tl, name)
        if hasattr(stub, "__sectile_not_yet__"):
            yield name, stub


def test_what_is_not_there_yet_says_so_and_what_to_do():
    stubs = dict(not_yet())
    for name, stub in stubs.items():
        message, remedy = stub.__sectile_not_yet__
        first = stub.__doc__.splitlines()[0]
        assert first == f"Not available yet: {remedy}."
        with pytest.raises(NotImplementedError) as raised:
            stub()
        assert str(raised.value) == (
            f"`tl.{name}` is Triton's and not in Sectile yet\n  help: {remedy}"
        )
        for operation in re.findall(r"tl\.(\w+)", remedy.replace("tl.extra.libdevice", "")):
            assert hasattr(tl, operation) and operation not in stubs


def operations():
    for name in tl.__all__:
        stub = getattr(tl, name)
        if isinstance(getattr(stub, "__sectile_builtin__", None), str):
            yield name, stub


def test_every_operation_is_documented():
    found = dict(operations())
    assert len(found) > 95
    for name, stub in found.items():
        assert stub.__sectile_builtin__ == name
        assert len(stub.__doc__) > 20, name
        assert inspect.signature(stub) is not None
        assert stub.__module__.startswith("sectile.language")


LANG = pathlib.Path(__file__).parents[3] / "lang/builtins"


@pytest.mark.skipif(not LANG.exists(), reason="the compiler's sources are not here")
def test_stubs_have_the_parameters_of_their_operations():
    signatures = {}
    for file in LANG.glob("*Ops.cpp"):
        text = re.sub(r'"\s*"', "", file.read_text())
        signatures.update(re.findall(r'"([a-z]\w*)\(([\w ,*=\'.()]*)\)"', text))
    compared = 0
    for name, stub in operations():
        if name in signatures:
            parameters = inspect.signature(stub).parameters.values()
            starred = [("*" if p.kind == p.VAR_POSITIONAL else "") + p.name for p in parameters]
            required = [p.default is p.empty for p in parameters]
            expected = [p.strip() for p in signatures[name].split(",") if p.strip()]
            assert starred == [p.split("=")[0] for p in expected], name
            assert required == ["=" not in p for p in expected], name
            compared += 1
    assert compared > 60


def test_libdevice():
    assert tl.extra.libdevice.pow.__sectile_builtin__ == "pow"
    assert tl.extra.libdevice.fast_expf.__sectile_builtin__ == "exp"
    assert str(inspect.signature(tl.extra.libdevice.fma)) == "(x, y, z)"
    for name in tl.extra.libdevice.__all__:
        assert getattr(tl.extra.libdevice, name).__doc__
    # The precise ones, whatever tl.exp may be on a GPU.
    assert tl.extra.libdevice.exp.__sectile_builtin__ == "libdevice.exp"
    assert not hasattr(tl.extra.libdevice, "gamma")


def dtypes_of(name):
    """The dtypes that a function of libdevice takes, as its name says."""
    kinds = {
        "int": tl.int32,
        "uint": tl.uint32,
        "ll": tl.int64,
        "longlong": tl.int64,
        "ull": tl.uint64,
    }
    kinds |= {"float": tl.float32, "double": tl.float64}
    if found := re.match(r"(hilo)?(int|uint|ll|longlong|ull|float|double)(2|_as_)", name):
        return [kinds[found[2]]]
    if name in {
        "brev",
        "clz",
        "popc",
        "ffs",
        "mulhi",
        "umulhi",
        "mul24",
        "hadd",
        "rhadd",
        "sad",
        "byte_perm",
    }:
        return [tl.int32]
    if name in {"jn", "yn"}:
        return [tl.int32, tl.float32]
    if name in {"ldexp", "scalbn"}:
        return [tl.float32, tl.int32]
    return [tl.float64 if name == "rcp64h" else tl.float32]


def test_every_function_of_libdevice_compiles():
    libdevice = tl.extra.libdevice
    for name in libdevice.__all__:
        function = getattr(libdevice, name)
        count = len(inspect.signature(function).parameters)

        @st.jit
        def kernel(x, y, out, function: tl.constexpr, count: tl.constexpr):
            a, b = tl.load(x + tl.arange(0, 8)), tl.load(y + tl.arange(0, 8))
            if count == 1:
                result = function(a)
            elif count == 2:
                result = function(a, b)
            elif count == 3:
                result = function(a, b, b)
            else:
                result = function(a, b, b, b)
            tl.store(out + tl.arange(0, 8), result.to(tl.float32))

        first, *rest = dtypes_of(name)
        x, y = st.MockTensor(first), st.MockTensor(rest[0] if rest else first)
        kernel.warmup(x, y, st.MockTensor(tl.float32), function, count, grid=(1,))


@pytest.mark.parametrize(
    "dtype, name, bits, floating",
    [
        (tl.int1, "int1", 1, False),
        (tl.int64, "int64", 64, False),
        (tl.uint8, "uint8", 8, False),
        (tl.float16, "fp16", 16, True),
        (tl.bfloat16, "bf16", 16, True),
        (tl.float8e4nv, "fp8e4nv", 8, True),
        (tl.float64, "fp64", 64, True),
    ],
)
def test_dtypes(dtype, name, bits, floating):
    assert (dtype.name, dtype.primitive_bitwidth, dtype.is_floating()) == (name, bits, floating)
    assert dtype == tl.dtype(name) and hash(dtype) == hash(tl.dtype(name))
    assert pickle.loads(pickle.dumps(dtype)) == dtype
    assert eval(repr(dtype), {"sectile": st}) == dtype


def test_every_name_of_a_dtype_means_the_same_in_signatures():
    from sectile import _native
    from sectile.language import _dtypes

    for name in (*_dtypes._ALIASES, *_dtypes._SCALARS):
        if name != "void":
            kind, is_aligned, is_one = _native.parse_kind(f"*{name}:16")
            assert tl.str_to_ty(kind) == tl.pointer_type(tl.dtype(name)), name
            assert is_aligned and not is_one
    assert _native.parse_kind("f32") == ("fp32", False, False)
    assert _native.parse_kind(" i32 : 1 ") == ("i32", False, True)


FORMS = (
    "write '*fp32' for a pointer to fp32, '*fp32:16' for one whose address is a multiple of 16, "
    "'i32' for a number, 'i32:16' for a multiple of 16, 'i32:1' for 1"
)


def test_kinds_that_cannot_be_read():
    from sectile import _native

    with pytest.raises(ValueError) as raised:
        _native.parse_kind("*fp31:16")
    message, help = str(raised.value).split("\n  help: ")
    assert message == "unknown dtype 'fp31' in '*fp31:16'"
    assert help.startswith(FORMS + "; the dtypes are i1, i8, i16") and help.endswith("fp32, fp64")
    for text in ("fp32:8", "*fp32:1", "fp32:1"):
        with pytest.raises(ValueError) as raised:
            _native.parse_kind(text)
        hint = text.split(":")[1]
        assert str(raised.value) == f"unknown hint '{hint}' in '{text}'\n  help: {FORMS}"


def test_pointer_types():
    assert tl.pointer_type(tl.float32).name == "*fp32"
    assert tl.pointer_type(tl.float32, const=True).name == "*kfp32"
    assert tl.pointer_type(tl.int8) != tl.pointer_type(tl.uint8)
    with pytest.raises(TypeError):
        tl.pointer_type(3)
    with pytest.raises(ValueError, match="unknown dtype 'float31'"):
        tl.dtype("float31")


def test_constexpr_arithmetic():
    four = tl.constexpr(4)
    assert (four * 2 + 1).value == 9
    assert (2**four).value == 16
    assert (four == 4).value is True and bool(four != 4) is False
    assert (-four).value == -4 and (four // 3).value == 1
    assert tl.constexpr(tl.constexpr(3)).value == 3
    assert list(range(four)) == [0, 1, 2, 3]
    assert hash(tl.constexpr("a")) == hash(tl.constexpr("a"))


def test_parameters():
    @st.jit(do_not_specialize=["n"], do_not_specialize_on_alignment=[0])
    def kernel(
        x, n, m: "tl.int64", p: tl.pointer_type(tl.float16), q: tl.tensor, B: tl.constexpr = 4
    ):
        pass

    assert kernel.arg_names == ["x", "n", "m", "p", "q", "B"]
    assert [p.annotation for p in kernel.params] == [None, None, "int64", "*fp16", None, None]
    assert kernel.constexprs == [5]
    assert [p.do_not_specialize for p in kernel.params][:2] == [False, True]
    assert kernel.params[0].do_not_specialize_on_alignment
    assert kernel.params[5].has_default and kernel.params[5].default == 4
    assert kernel.src.startswith("def kernel(")


def test_string_annotation():
    @st.jit
    def kernel(x, B: "tl.constexpr"):
        pass

    assert kernel.constexprs == [1]


@st.jit
def module_level(x):
    pass


def test_pickle_by_name():
    assert pickle.loads(pickle.dumps(module_level)) is module_level


def test_cdiv_and_powers():
    assert [st.cdiv(n, 4) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]
    assert [st.next_power_of_2(n) for n in (0, 1, 2, 3, 1000)] == [1, 1, 2, 4, 1024]
    with pytest.raises(ValueError):
        st.next_power_of_2(-1)


def test_knobs(monkeypatch):
    monkeypatch.delenv("SECTILE_CHECK", raising=False)
    assert st.knobs.runtime.check is None
    st.knobs.runtime.check = "bounds"
    assert os.environ["SECTILE_CHECK"] == "bounds"
    del st.knobs.runtime.check
    assert "SECTILE_CHECK" not in os.environ
    with pytest.raises(AttributeError, match="did you mean 'check'"):
        st.knobs.runtime.chek = "bounds"
    with pytest.raises(TypeError):
        st.knobs.runtime.num_threads = "many"
    assert any(row[0] == "SECTILE_CACHE_DIR" for row in st.knobs.table())


def test_knob_descriptors_name_variables_of_the_table():
    names = {row[0] for row in st.knobs.table()}
    for group in (st.knobs.cache, st.knobs.compilation, st.knobs.runtime, st.knobs.autotuning):
        for name in dir(group):
            assert getattr(type(group), name).variable in names


def test_knobs_with_a_choice_and_callbacks(monkeypatch):
    group = st.knobs.autotuning
    monkeypatch.setenv("SECTILE_AUTOTUNE", "frosen")
    with pytest.raises(
        ValueError, match="not one of on, off, force, frozen; did you mean 'frozen'"
    ):
        group.mode
    with pytest.raises(ValueError, match="not one of"):
        group.mode = "never"
    group.mode = "off"
    assert os.environ["SECTILE_AUTOTUNE"] == "off"
    monkeypatch.setenv("SECTILE_TUNING_BUDGET", "2.5")
    assert group.budget == 2.5
    with pytest.raises(TypeError, match="takes a function"):
        group.listener = 3
    assert group.listener is None


def command(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "sectile", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


def test_command_line():
    run("import sectile.__main__ as m, sys; sys.exit(m.main(['version']))")
    wrong = command("docter")
    assert wrong.returncode == 2
    lines = wrong.stderr.splitlines()
    # Above the usage and below it.
    assert lines[0] == lines[-1] == "sectile: unknown command 'docter'; did you mean 'doctor'?"
    assert "usage: sectile COMMAND ..." in lines


BUILD = pathlib.Path(st.__file__).parents[2]  # of a build tree
COMMANDS = [
    "doctor", "cache", "run", "tune", "aot", "layout", "opt", "compile", "knobs", "version",
]  # fmt: skip
FLAGS = ["--cflags", "--libs", "--cmake-dir", "--include-dir"]


def command_of_cpp(*arguments, **environment):
    """The same of a C++ installation."""
    file = BUILD / "bin" / "sectile"
    if not file.exists():
        pytest.skip("there is no command line of C++ here")
    return subprocess.run(
        [file, *arguments], capture_output=True, text=True, env={**os.environ, **environment}
    )


def test_both_command_lines_have_one_table():
    from sectile import _native

    help = command("--help")
    assert help.returncode == 0 and help.stderr == ""
    assert [name for name, _, usage in _native.commands() if usage] == COMMANDS
    assert [name for name, _, usage in _native.commands() if not usage] == FLAGS
    for name in COMMANDS + FLAGS:
        assert f"\n  {name} " in help.stdout
    assert command_of_cpp("--help").stdout == help.stdout
    assert command().returncode == command_of_cpp().returncode == 2


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_everywhere(name):
    from sectile import _native

    expected = {known: usage for known, _, usage in _native.commands()}[name]
    results = [command(name, "--help"), command(name, "-h"), command_of_cpp(name, "--help")]
    for result in results:
        assert result.returncode == 0 and result.stderr == ""
        assert result.stdout.startswith(expected)
        assert result.stdout.startswith(f"usage: sectile {name}")
        assert result.stdout == results[0].stdout


def test_what_only_python_can_do_is_one_sentence_in_cpp():
    for name in ("doctor", "tune", "--cflags"):
        result = command_of_cpp(name)
        assert result.returncode == 2 and result.stdout == ""
        assert len(result.stderr.splitlines()) == 1
        assert f"`{name}` is a command of the Python package" in result.stderr
    for name in ("version", "knobs"):
        assert command_of_cpp(name).stdout == command(name).stdout
    markdown = command_of_cpp("knobs", "--markdown").stdout
    assert markdown == command("knobs", "--markdown").stdout == st.knobs.markdown() + "\n"
    for run_command in (command, command_of_cpp):
        wrong = run_command("knobs", "--all")
        assert wrong.returncode == 2 and "unknown option '--all'" in wrong.stderr


def test_the_commands_of_the_compiler_are_passed_on():
    for name, expected in (
        ("opt", "--canonicalize"), ("compile", "--num-warps=N"), ("layout", "blocked 128x64")
    ):  # fmt: skip
        assert expected in command(name, "--help").stdout
    drawn = command("layout", "blocked 128x64 f16 warps=4")
    assert drawn.returncode == 0 and drawn.stdout.startswith("#tile.layout<")
    wrong = command("layout", "blocked")
    assert wrong.returncode == 1 and wrong.stderr


def test_options_of_a_compile_are_those_of_a_launch(tmp_path):
    file = tmp_path / "kernel.mlir"
    compiled = st.compile(scale_for_commands, {"x": "*fp32"}, target="cuda:90")
    file.write_text(compiled.asm["tile"])
    made = command("compile", "--target=cuda:90", "--num-warps=8", "--launch-pdl", "--check=bounds",
                   "--num-stages=2", str(file))  # fmt: skip
    assert made.returncode == 0, made.stderr
    for text in ("num_warps=8", "launch_pdl=1", "check=bounds", "num_stages=2", "256 threads"):
        assert text in made.stdout
    for option, expected in (
        ("--num-warps=3", "--num-warps: expected a power of two from 1 to 64, found '3'"),
        ("--debug=maybe", "--debug: expected 1 or 0, found 'maybe'"),
        ("--num-wraps=4", "unknown option --num-wraps=4"),
    ):
        wrong = command("compile", option, str(file))
        assert wrong.returncode == 1 and expected in wrong.stderr


@st.jit
def scale_for_commands(x):
    tl.store(x, tl.load(x) * 2)


def test_doctor():
    report = command("doctor", SECTILE_CHEK="bounds").stdout
    assert "cpu" in report and "used:" in report
    assert "cuda" in report
    assert "SECTILE_CHEK" in report and "did you mean SECTILE_CHECK?" in report


def test_doctor_ends_with_a_verdict(tmp_path):
    from sectile import _doctor, _native

    devices, _ = _native.gpu_devices()
    names = [(f"{_native.gpu_backend()}:{i}", name) for i, (name, _) in enumerate(devices)]
    last = command("doctor").stdout.splitlines()[-1]
    assert last == _doctor._verdict(names, [])
    assert _doctor._verdict([], []) == "Kernels will run on: the CPU."
    assert _doctor._verdict([("cuda:0", "H200")], []) == (
        "Kernels will run on: cuda:0 (H200), and on the CPU."
    )
    broken = command("doctor", SECTILE_COMPILER_LIBRARY=str(tmp_path / "none.so"))
    assert broken.returncode == 1
    assert broken.stdout.splitlines()[-1].startswith("Problem: kernels that are not in the cache")


def test_doctor_keeps_long_names_for_those_who_ask():
    from sectile import _native

    for name in (_native.build_id(), _native.host_fingerprint()):
        assert name not in command("doctor").stdout
        assert name in command("doctor", "--verbose").stdout
    wrong = command("doctor", "--vrbose")
    assert wrong.returncode == 2 and "unknown option '--vrbose'" in wrong.stderr


def test_the_kinds_of_variables_have_one_name_each():
    kinds = {kind for _, kind, _, _ in st.knobs.table()}
    assert not kinds & {"bool", "int", "float", "str"}
    assert all(initial for _, _, initial, _ in st.knobs.table())
    assert "(flag; default: 1)" in command("knobs").stdout


def test_doctor_counts_the_processors_it_may_use():
    program = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "import sectile.__main__ as m; m.main(['doctor'])"
    )
    assert " 1 threads" in run(program) or " 1 thread " in run(program)
    assert " 3 threads" in run(
        "import sectile.__main__ as m; m.main(['doctor'])", SECTILE_NUM_THREADS="3"
    )


def test_a_reader_may_stop_early():
    shell = f"set -o pipefail; {sys.executable} -u -m sectile doctor | head -1"
    result = subprocess.run(["bash", "-c", shell], capture_output=True, text=True)
    assert result.stdout == "Sectile\n" and result.stderr == ""


def test_a_suggestion_is_closer_than_chance():
    from sectile._suggest import closest, did_you_mean_or_list

    assert closest("m", ["x", "o", "n"]) is None and closest("N", ["x", "n"]) == "n"
    assert closest("ab", ["xb", "abc"]) == "abc"
    assert closest("frozn", ["on", "frozen"]) == "frozen"
    assert closest("BLOCK_SIZE", ["BLOCK_SZIE", "BLOCK"]) == "BLOCK_SZIE"
    assert did_you_mean_or_list("m", ["x", "n"]) == "; there are 'x', 'n'"
    assert did_you_mean_or_list("outt", ["x", "out"]) == "; did you mean 'out'?"
    assert did_you_mean_or_list("m", ["x"]) == "; there is 'x'"
