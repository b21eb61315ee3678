"""Where programs written for Triton look for things."""

import ast
import inspect
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import sectile as st
import sectile.language as tl


@st.jit
def kernel(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), n)


@st.jit
def asserting(N: tl.constexpr):
    tl.static_assert(N == 2, "N must be 2")


@st.jit
def trying(x):
    try:
        tl.store(x, 1)
    except ValueError:
        pass


def test_imports():
    from sectile.backends.compiler import GPUTarget
    from sectile.compiler import ASTSource, CompilationError, CompiledKernel, compile
    from sectile.compiler.compiler import ASTSource as Same
    from sectile.compiler.compiler import CompiledKernel as SameKernel
    from sectile.compiler.errors import CompileTimeAssertionFailure, UnsupportedLanguageConstruct
    from sectile.errors import TritonError
    from sectile.runtime import OutOfResources, driver
    from sectile.runtime.autotuner import OutOfResources as FromAutotuner
    from sectile.runtime.driver import driver as from_driver
    from sectile.runtime.errors import InterpreterError, PTXASError
    from sectile.runtime.errors import OutOfResources as FromErrors
    from sectile.runtime.jit import JITCallable

    assert ASTSource is Same and CompiledKernel is SameKernel and compile is st.compile
    assert CompilationError is st.CompilationError and TritonError is st.TritonError
    assert OutOfResources is FromAutotuner is FromErrors is st.OutOfResources
    assert issubclass(CompileTimeAssertionFailure, CompilationError)
    assert issubclass(UnsupportedLanguageConstruct, CompilationError)
    assert issubclass(OutOfResources, TritonError) and issubclass(PTXASError, TritonError)
    assert issubclass(InterpreterError, TritonError) and st.InterpreterError is InterpreterError
    assert driver.active.get_current_target() == from_driver.active.get_current_target()
    assert isinstance(driver.active.get_current_target(), GPUTarget)
    assert isinstance(kernel, JITCallable)
    assert isinstance(kernel.warmup(tl.int32, 5, BLOCK=16), CompiledKernel)


@pytest.mark.parametrize(
    "name",
    [
        "compiler.errors.CompilationError", "compiler.compiler.ASTSource", "runtime.jit.JITFunction",
        "runtime.errors.OutOfResources", "runtime.autotuner.Config", "runtime.driver.active.utils",
        "backends.compiler.GPUTarget",
    ],
)  # fmt: skip
def test_submodules_are_attributes(name):
    subprocess.run(
        [sys.executable, "-c", f"import sectile; sectile.{name}"], check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip


def test_libdevice_by_its_other_name():
    from sectile.language.extra.cuda import libdevice
    from sectile.language.extra.cuda.libdevice import rsqrt, tanh

    assert libdevice is tl.extra.libdevice is tl.extra.cuda.libdevice
    assert tanh is libdevice.tanh and rsqrt is libdevice.rsqrt


def test_errors_of_kernels_have_classes():
    with pytest.raises(st.CompileTimeAssertionFailure, match="N must be 2") as raised:
        asserting[(1,)](3)
    assert raised.value.error_message.startswith("static assertion failed")
    with pytest.raises(st.UnsupportedLanguageConstruct, match="'try' is not supported in a kernel"):
        trying[(1,)](3)
    with pytest.raises(st.CompilationError) as raised:
        kernel[(1,)](3, 5, BLOCK=16)
    assert type(raised.value) is st.CompilationError


def test_resources():
    error = st.OutOfResources(300, 200, "shared memory")
    text = (
        "out of resource: shared memory, Required: 300, Hardware limit: 200. Reducing block sizes "
        "or `num_stages` may help."
    )
    for each in (error, pickle.loads(pickle.dumps(error))):
        assert str(each) == text
        assert (each.required, each.limit, each.name) == (300, 200, "shared memory")
    error = pickle.loads(pickle.dumps(st.OutOfResources("no room")))
    assert str(error) == "no room" and error.limit is None


def test_what_a_kernel_says_of_itself():
    assert list(kernel.signature.parameters) == kernel.arg_names == ["x", "n", "BLOCK"]
    assert kernel.module == kernel.__module__ == __name__
    assert kernel.raw_src[0] == "@st.jit\n" and kernel.src.startswith("def kernel(")
    line = kernel.starting_line_number
    with open(__file__, encoding="utf-8") as file:
        assert file.read().splitlines()[line] == "def kernel(x, n, BLOCK: tl.constexpr):"
    tree = kernel.parse()
    assert isinstance(tree, ast.Module) and tree.body[0].name == "kernel"
    assert kernel.__globals__ is globals()
    assert kernel.repr(None) == f"{__name__}.kernel"
    assert st.jit(kernel.fn, repr=lambda s: f"k_{s}").repr(5) == "k_5"


def test_parameters_without_default():
    @st.jit
    def with_default(x, n=None, BLOCK: tl.constexpr = 64):
        tl.store(x, BLOCK)

    x, n, block = with_default.params
    assert x.default is inspect.Parameter.empty is inspect._empty and not x.has_default
    assert n.default is None and n.has_default and block.default == 64


def test_kernels_of_ones_own():
    class Entry(st.KernelInterface[int]):
        def __init__(self, fn):
            self.fn = fn

        def run(self, *args, **kwargs):
            return self.fn.run(*args, **kwargs)

    x = np.zeros(16, np.int32)
    assert Entry(kernel)[(1,)](x, 7, BLOCK=16).name == "kernel" and (x == 7).all()


def test_stand_ins_have_strides():
    mock = st.MockTensor(tl.float32, (2, 3, 4))
    assert mock.stride() == (12, 4, 1) and mock.stride(1) == 4
    assert st.MockTensor(tl.float32).stride() == ()
    assert kernel.warmup(mock, 5, BLOCK=16).arguments[0][:2] == ("x", "*fp32")


def test_groups_of_knobs_have_scopes():
    before = st.knobs.runtime.num_threads
    with st.knobs.runtime.scope():
        st.knobs.runtime.num_threads = 1
        assert st.knobs.runtime.num_threads == 1
    assert st.knobs.runtime.num_threads == before


def test_the_driver():
    torch = pytest.importorskip("torch")
    active = st.runtime.driver.active
    assert active is st.runtime.driver.default
    st.runtime.driver.set_active(active)
    with pytest.raises(ValueError, match="cannot be replaced"):
        st.runtime.driver.set_active(object())
    interface = active.get_device_interface()
    assert interface is (torch.cuda if torch.cuda.is_available() else torch.cpu)
    active.set_current_device(0)
    assert active.get_current_device() == 0
    with pytest.raises((ValueError, RuntimeError)):
        active.set_current_device(99)
    cache = active.get_empty_cache_for_benchmark()
    assert cache.device.type == active.get_active_torch_device().type
    assert cache.numel() * cache.element_size() >= 1 << 28
    cache[-1] = 5
    active.clear_cache(cache)
    assert cache[-1] == 0


def test_one_back_end_is_active(monkeypatch):
    from sectile import _native
    from sectile.backends import backends

    for devices, expected in (([("H200", "sm_90a")], "cuda"), ([], "cpu")):
        monkeypatch.setattr(_native, "gpu_devices", lambda devices=devices: (devices, ""))
        active = [each.driver.name for each in backends.values() if each.driver.is_active()]
        assert active == [expected]
    assert set(backends) == {"nvidia", "amd", "cpu"}


def test_a_kernel_without_source_is_told_of_once():
    code = (
        "import numpy as np, sectile as st\n"
        "@st.jit\n"
        "def kernel(x): pass\n"
        "try: kernel[(1,)](np.zeros(3))\n"
        "except st.ArgumentError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-"], input=code, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.stdout == (
        "kernel: its source is not available (from '<stdin>')\n"
        "  help: kernels are compiled from their source text, so define the function in a file or a "
        "notebook cell\n"
    )


def test_what_a_gpu_could_do(monkeypatch):
    from sectile import _native

    h200 = {
        "mem_clock_rate": 3201000, "mem_bus_width": 6144, "capability": 90,
        "multiprocessor_count": 132,
    }  # fmt: skip
    monkeypatch.setattr(_native, "gpu_devices", lambda: ([("H200", "sm_90a")], ""))
    monkeypatch.setattr(_native, "device_properties", lambda device: h200)
    assert round(st.testing.get_dram_gbps(0)) == 4917
    for dtype, tflops in ((tl.float16, 989), (tl.float32, 495), (tl.float8e5, 1979)):
        assert round(st.testing.get_max_tensorcore_tflops(dtype, 1830000, 0)) == tflops
    for dtype, tflops in ((tl.float32, 62), (tl.float16, 124)):
        assert round(st.testing.get_max_simd_tflops(dtype, 1830000, 0)) == tflops
    with pytest.raises(RuntimeError, match="nothing is known of bf16"):
        st.testing.get_max_simd_tflops(tl.bfloat16, 1830000, 0)
    with pytest.raises(RuntimeError, match="nothing is known of fp64"):
        st.testing.get_max_tensorcore_tflops(tl.float64, 1830000, 0)
    h200["capability"] = 80
    assert round(st.testing.get_max_tensorcore_tflops(tl.bfloat16, 1410000, 0)) == 381
    monkeypatch.setattr(_native, "gpu_devices", lambda: ([], "no driver"))
    with pytest.raises(RuntimeError, match="get_dram_gbps: there is no GPU"):
        st.testing.get_dram_gbps()


def test_asking_nvidia_smi(monkeypatch, tmp_path):
    program = tmp_path / "nvidia-smi"
    program.write_text(
        "#!/bin/sh\n"
        'test "$*" = "-i 0 --query-gpu=clocks.max.sm,clocks.max.memory --format=csv,noheader,nounits"'
        " && echo '1980, 3201'\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert st.testing.nvsmi(["clocks.max.sm", "clocks.max.memory"]) == [1980, 3201]
    with pytest.raises(subprocess.CalledProcessError):
        st.testing.nvsmi(["no.such.thing"])
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError):
        st.testing.nvsmi(["clocks.max.sm"])


@st.jit
def combined(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    standard = tl.standard
    tl.store(out, tl.reduce(v, 0, standard._sum_combine))
    tl.store(out + 1, tl.reduce(v, 0, standard._elementwise_max))
    greatest, place = tl.reduce((v, i), 0, standard._argmax_combine_tie_break_left)
    tl.store(out + 2, greatest)
    tl.store(out + 3, place)
    tl.store(out + 4, tl.reduce((v, i), 0, tl.standard._argmin_combine_tie_break_left)[1])
    tl.store(out + 5, tl.reduce(v, 0, standard._xor_combine))
    tl.store(out + 6, tl.max(tl.associative_scan(v, 0, standard._prod_combine), 0))


def test_combining_functions_of_the_standard_library():
    x, out = np.array([3, 1, 7, 1, 7, 2], np.int32), np.zeros(7, np.int32)
    combined[(1,)](x, out, N=6)
    assert out.tolist() == [21, 7, 7, 2, 1, 3 ^ 1 ^ 7 ^ 1 ^ 7 ^ 2, 294]


@tl.core.extern
def of_a_library(x, _semantic=None):
    return x


@st.jit
def calling_extern(x):
    of_a_library(tl.load(x))


@st.jit
def calling_extern_elementwise(x):
    tl.core.extern_elementwise("lib", "path", [tl.load(x)], {}, is_pure=True)


def test_small_names_of_the_language():
    from sectile.language import core, random

    assert core.is_builtin(tl.load) and core.is_builtin(tl.dot) and not core.is_builtin(kernel)
    plain = core._unwrap_if_constexpr([tl.constexpr(3), (tl.constexpr("a"), 4)])
    assert plain == [3, ("a", 4)]
    assert core.tensor_descriptor_base is tl.tensor_descriptor
    assert random.N_ROUNDS_DEFAULT.value == 10
    with pytest.raises(st.CompilationError, match="Sectile has no IR builder in Python"):
        calling_extern[(1,)](np.zeros(1, np.float32))
    with pytest.raises(st.CompilationError, match="call the function of tl.extra.libdevice"):
        calling_extern_elementwise[(1,)](np.zeros(1, np.float32))


def test_dtypes_tell_their_names_and_limits():
    assert [t.mangle() for t in (tl.int1, tl.int32, tl.uint8, tl.bfloat16, tl.float8e4b15, tl.void)] == [
        "u1", "i32", "u8", "bf16", "fp8e4b15", "V",
    ]  # fmt: skip
    assert tl.pointer_type(tl.float32).mangle() == "Pfp32" and tl.void.is_void()
    assert [t.codegen_name() for t in (tl.float16, tl.bfloat16, tl.float8e5, tl.int8)] == [
        "float16", "bfloat16", "float8e5", "int8",
    ]  # fmt: skip
    assert (tl.int8.get_int_max_value(), tl.int8.get_int_min_value()) == (127, -128)
    assert (tl.uint16.get_int_max_value(), tl.int1.get_int_max_value()) == (65535, 1)
    assert tl.int64.get_int_min_value() == -(2**63) and tl.uint32.get_int_min_value() == 0
    assert tl.dtype("u1") == tl.int1
