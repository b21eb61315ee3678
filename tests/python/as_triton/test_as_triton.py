"""`triton` switched on: programs that import it run on Sectile (`sectile.as_triton`)."""

import os
import pathlib
import pickle
import subprocess
import sys
import textwrap

import pytest

BUILD = next(path for path in sys.path if (pathlib.Path(path) / "sectile" / "__init__.py").exists())


def environment(**variables):
    kept = {name: text for name, text in os.environ.items() if not name.startswith("TRITON_")}
    kept.pop("SECTILE_AS_TRITON", None)
    return {**kept, "PYTHONPATH": BUILD, **variables}


def run(*words, check=True, cwd=None, **variables):
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        env=environment(**variables),
        cwd=cwd,
    )
    if check:
        assert done.returncode == 0, done.stderr
    return done


def program(text, **variables):
    """What a program prints that has Sectile in Triton's place."""
    prologue = "import sectile.as_triton; sectile.as_triton.install()\n"
    return run("-c", prologue + textwrap.dedent(text), **variables).stdout


KERNEL = """
import sys
import numpy as np
import triton
import triton.language as tl

@triton.jit
def scale(x, out, n, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * FACTOR, mask=i < n)

if __name__ == "__main__":
    x = np.arange(100, dtype=np.float32)
    out = np.zeros_like(x)
    scale[(triton.cdiv(100, 32),)](x, out, 100, FACTOR=3, BLOCK=32)
    assert (out == x * 3).all()
    print(triton.__version__, sys.argv[1:])
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "scaling.py"
    path.write_text(KERNEL)
    return path


def test_a_program_runs(script):
    assert (
        run("-m", "sectile", "run", "--as-triton", str(script), "5", "--x").stdout
        == "3.6.0 ['5', '--x']\n"
    )
    # The program's own folder comes before the current one, as with python.
    helper = script.with_name("helper.py")
    helper.write_text("print('helped')")
    script.write_text("import helper, triton")
    assert run("-m", "sectile", "run", "--as-triton", str(script)).stdout == "helped\n"


def test_a_module_runs(script):
    done = run("-m", "sectile", "run", "--as-triton", "-m", "scaling", "5", cwd=script.parent)
    assert done.stdout == "3.6.0 ['5']\n"


def test_the_environment_switches_it_on():
    text = "import sectile, triton; print(triton.__sectile__)"
    assert run("-c", text, SECTILE_AS_TRITON="1").stdout == "True\n"
    assert (
        "SECTILE_AS_TRITON is 'maybe', not 0 or 1"
        in run("-c", text, SECTILE_AS_TRITON="maybe", check=False).stderr
    )


def test_processes_inherit_it():
    assert (
        program("""
        import subprocess, sys
        print(subprocess.run([sys.executable, "-c", "import triton; print(triton.__sectile__)"], capture_output=True, text=True).stdout)
    """).strip()
        == "True"
    )


def test_nothing_is_called_triton_before(tmp_path):
    text = "import sectile, importlib.util; print(importlib.util.find_spec('triton'))"
    done = run("-I", "-c", f"import sys; sys.path.insert(0, {BUILD!r}); {text}")
    assert done.stdout == "None\n" or "sectile" not in done.stdout


def test_the_real_one_came_first(tmp_path):
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text("__version__ = '3.6.0'")
    (tmp_path / "library.py").write_text("import triton")
    done = run(
        "-c", "import library, sectile.as_triton; sectile.as_triton.install()", check=False,
        PYTHONPATH=f"{tmp_path}{os.pathsep}{BUILD}",
    )  # fmt: skip
    assert "the real triton 3.6.0 was imported first, by library (" in done.stderr
    assert "before that import, or start the program with `sectile run --as-triton`" in done.stderr


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "which program?"),
        (["--as-triton"], "which program?"),
        (["--as-tritno", "x.py"], "unknown option --as-tritno; there is --as-triton"),
        (["nowhere.py"], "there is no file nowhere.py"),
    ],
)
def test_wrong_command_lines(words, message):
    done = run("-m", "sectile", "run", *words, check=False)
    assert done.returncode != 0 and message in done.stderr


def test_installing_twice_changes_nothing():
    assert program("""
        import os, sys
        before = list(sys.path), os.environ["PYTHONPATH"]
        sectile.as_triton.install()
        print(before == (list(sys.path), os.environ["PYTHONPATH"]), sectile.as_triton.is_installed())
    """) == "True True\n"  # fmt: skip


# What libraries and torch import, by module.
NAMES = """
triton: AsyncCompileMode CompilationError Config FutureKernel JITFunction KernelInterface MockTensor OutOfResources TensorWrapper TritonError
triton: autotune cdiv compile constexpr_function heuristics jit must_use_result next_power_of_2 reinterpret set_allocator
triton._filecheck: MatchError filecheck_test run_filecheck run_filecheck_test run_parser stub_target
triton._utils: BITWIDTH_DICT canonicalize_dtype find_paths_if get_iterable_path get_primitive_bitwidth validate_block_shape
triton.backends: BaseBackend DriverBase backends
triton.backends.compiler: BaseBackend GPUTarget Language
triton.backends.driver: DriverBase GPUDriver
triton.backends.nvidia.compiler: CUDABackend PTXASError get_ptxas
triton.backends.nvidia.driver: CudaDriver
triton.compiler: ASTSource CompiledKernel IRSource LazyDict compile get_cache_key make_backend
triton.compiler.compiler: ASTSource CompiledKernel GPUTarget make_backend max_shared_mem triton_key
triton.compiler.errors: CompilationError CompileTimeAssertionFailure UnsupportedLanguageConstruct
triton.errors: TritonError
triton.knobs: amd autotuning base_knobs build cache compilation env language nvidia proton redis refresh_knobs runtime
triton.language: arange constexpr dot extra float8e4b15 load make_tensor_descriptor math store target_info tensor tensor_descriptor
triton.language.core: _aggregate _unwrap_if_constexpr builtin constexpr constexpr_type dtype get_int_dtype tensor view
triton.language.extra: cuda hip libdevice
triton.language.extra.cuda: gdc_wait globaltimer libdevice num_threads smid
triton.language.extra.cuda.libdevice: lgamma pow tanh
triton.language.extra.libdevice: erfinv lgamma nextafter pow tanh
triton.language.standard: _log2 argmax bitonic_merge sum
triton.language.target_info: current_target is_cuda is_hip
triton.profiler: activate deactivate finalize scope start
triton.runtime: Autotuner Config driver errors jit
triton.runtime._allocation: NullAllocator set_allocator
triton.runtime.autotuner: Autotuner Config Heuristics OutOfResources PTXASError
triton.runtime.cache: FileCacheManager _base32 get_cache_manager triton_key
triton.runtime.driver: driver
triton.runtime.errors: AutotunerError InterpreterError OutOfResources PTXASError
triton.runtime.interpreter: InterpretedFunction
triton.runtime.jit: ConstexprFunction JITCallable JITFunction KernelInterface KernelParam TensorWrapper constexpr_function
triton.testing: Benchmark assert_close do_bench perf_report
triton.tools.tensor_descriptor: TensorDescriptor
"""


def test_names():
    assert program(f"""
        import importlib
        for line in {NAMES.strip().splitlines()!r}:
            module, _, names = line.partition(": ")
            found = importlib.import_module(module)
            for name in names.split():
                getattr(found, name)
        print("all")
    """) == "all\n"  # fmt: skip


def test_names_say_that_they_are_triton_s():
    assert program("""
        import triton, triton.language as tl
        from triton.language.extra import libdevice
        from triton.runtime.autotuner import Autotuner
        named = [tl.load, tl.tensor, tl.constexpr, tl.dtype, tl.sum, libdevice.tanh, triton.JITFunction, Autotuner, triton.cdiv]
        print({each.__module__.partition(".")[0] for each in named})
    """) == "{'triton'}\n"  # fmt: skip


def test_what_is_missing_names_the_guide():
    text = program("""
        import triton, triton.runtime.jit
        for module, name in (triton, "foo"), (triton.runtime.jit, "dynamic_func"), (triton.language, "lod"):
            try:
                getattr(module, name)
            except AttributeError as error:
                print(error)
    """)
    assert "module 'triton' has no attribute 'foo'" in text and 'the guide "From Triton"' in text
    assert "has no attribute 'lod'; did you mean 'load'?" in text


def test_there_is_no_text_of_mlir_to_check(tmp_path):
    path = tmp_path / "checks.py"
    path.write_text(textwrap.dedent("""
        import sectile.as_triton; sectile.as_triton.install()
        import triton, triton.language as tl
        from triton._filecheck import filecheck_test, run_filecheck, run_parser

        @filecheck_test
        @triton.jit
        def check_store(x):
            # CHECK: tt.store
            tl.store(x, 1)

        print(check_store.__name__)
        for call in check_store, lambda: run_parser(check_store), lambda: run_filecheck("a", "b", "c"):
            try:
                call()
            except NotImplementedError as error:
                print(error)
    """))  # fmt: skip
    name, *errors = run(str(path)).stdout.splitlines()
    assert name == "check_store"
    assert [error.partition(":")[0] for error in errors[::2]] == [
        f"triton._filecheck.{each}"
        for each in ("run_filecheck_test", "run_parser", "run_filecheck")
    ]
    assert all('the guide "From Triton"' in error for error in errors[1::2])


def test_kernels_have_the_names_of_repr(tmp_path):
    """What `repr` is given, and what becomes of its text, is what Triton 3.6 does with this program."""
    path = tmp_path / "named.py"
    path.write_text(textwrap.dedent("""
        import sectile.as_triton; sectile.as_triton.install()
        import triton, triton.language as tl
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource

        def name(specialization):
            print({**specialization.constants, "D": str(specialization.constants["D"])}, specialization.signature)
            return f"package.add_{specialization.constants['BLOCK']}"

        @triton.jit(repr=name)
        def add(x, n, m, t, BLOCK: tl.constexpr, D: tl.constexpr):
            tl.store(x, n)

        signature = {"x": "*fp32", "n": "i32", "m": "constexpr", "t": ("i32", "constexpr"), "BLOCK": "constexpr",
                     "D": "constexpr"}
        source = ASTSource(add, signature, {"m": 1, (3, 1): 7, "BLOCK": 64, "D": tl.float32}, {(0,): [["tt.divisibility", 16]]})
        compiled = triton.compile(source, GPUTarget("cuda", 90, 32), {"enable_reflect_ftz": False})
        print(compiled.name, compiled.metadata.name, ".visible .entry add_64(" in compiled.asm["ptx"])
        compiled = triton.compile(ASTSource(triton.jit(add.fn), signature, source.constants), GPUTarget("cuda", 90, 32))
        print(compiled.name)
        try:
            add._repr = lambda specialization: "x-y"
            add.clear()
            triton.compile(source, GPUTarget("cuda", 90, 32))
        except triton.CompilationError as error:
            print(error.error_message)
    """))  # fmt: skip
    assert run(str(path)).stdout.splitlines() == [
        "{'m': 1, 'BLOCK': 64, 'D': 'fp32'} {'x': '*fp32', 'n': 'i32', 'm': 'constexpr', "
        "'t': ('i32', 'constexpr'), 'BLOCK': 'constexpr', 'D': 'constexpr'}",
        "add_64 add_64 True",
        "add",
        "invalid function identifier: x-y",
    ]


def test_installed_packages_know_it():
    assert program("""
        from importlib.metadata import version
        print(version("triton"))
    """) == "3.6.0\n"  # fmt: skip


def test_knobs_follow_and_are_put_back(tmp_path):
    folder = tmp_path / "cache"
    assert program(f"""
        import os
        from triton import knobs
        before = sectile.knobs.cache.dir
        with knobs.cache.scope():
            knobs.cache.dir = {str(folder)!r}
            print(os.environ["TRITON_CACHE_DIR"] == {str(folder)!r}, sectile.knobs.cache.dir)
        print(sectile.knobs.cache.dir == before, "TRITON_CACHE_DIR" in os.environ)
        print(knobs.runtime.debug, sectile.knobs.runtime.debug)
        knobs.runtime.debug = False
        print(sectile.knobs.runtime.debug)
        with knobs.runtime.scope():
            knobs.runtime.debug = True
        print(sectile.knobs.runtime.debug, os.environ.get("SECTILE_DEBUG"))
        knobs.cache.dir = None
        knobs.cache.reset()
        with knobs.runtime.scope():
            knobs.runtime.launch_enter_hook = print
            print(len(sectile.knobs.runtime.launch_enter_hook))
        print(len(sectile.knobs.runtime.launch_enter_hook))
    """, TRITON_DEBUG="1").splitlines() == [
        f"True {folder}/sectile", "True False", "True True", "False", "False None", "1", "0",
    ]  # fmt: skip


def test_the_default_precision_of_products_is_tritons():
    lines = program("""
        import triton, triton.language as tl
        from triton import knobs
        from triton.compiler import ASTSource
        from triton.backends.compiler import GPUTarget
        import linecache
        text = (
            "def product(a, b, out):\\n"
            "    i = tl.arange(0, 32)\\n"
            "    both = i[:, None] * 32 + i[None, :]\\n"
            "    tl.store(out + both, tl.dot(tl.load(a + both), tl.load(b + both)))\\n"
        )
        linecache.cache["product.py"] = (len(text), None, text.splitlines(True), "product.py")
        names = {"tl": tl}
        exec(compile(text, "product.py", "exec"), names)
        product = triton.jit(names["product"])
        def made(**options):
            source = ASTSource(product, dict.fromkeys(("a", "b", "out"), "*fp32"))
            compiled = triton.compile(source, GPUTarget("cuda", 90, 32), options)
            print("precision = ieee" in compiled.asm["ttir"], compiled.packed_metadata, compiled.function)
        made()
        made(default_dot_input_precision="bf16x3")
        made(default_dot_input_precision="tf32")
        knobs.language.fp32_default = None
        made()
        knobs.language.fp32_default = ""
        made()
        made(default_dot_input_precision="ieee", backend_name="cuda", enable_reflect_ftz=True)
    """, TRITON_F32_DEFAULT="IEEE").splitlines()  # fmt: skip
    assert [line.split()[0] for line in lines] == [
        "True",
        "False",
        "False",
        "False",
        "False",
        "True",
    ]
    assert lines[0].startswith("True (4, 1, ") and lines[0].endswith(" None")


def test_devices_have_figures_to_divide_by():
    assert program("""
        import triton
        from triton.backends import backends
        active = triton.runtime.driver.active
        target = active.get_current_target()
        properties = active.utils.get_device_properties(0)
        print(all(properties[name] > 0 for name in ("max_shared_mem", "max_num_regs", "warpSize", "multiprocessor_count")))
        print(target.warp_size, sum(each.driver.is_active() for each in backends.values()))
        print(type(active) is next(each.driver for each in backends.values() if each.driver.is_active()))
        triton.runtime.driver.set_active(backends["cpu"].driver())
        print(triton.runtime.driver.active.get_current_target().backend)
    """).splitlines() == ["True", "32 1", "True", "cpu"]  # fmt: skip


ERRORS = """
import triton, triton.language as tl
from triton.compiler import ASTSource

@triton.jit
def bits(x):
    value = tl.load(x)
    tl.store(x, value & value)

@triton.jit
def inner():
    nothing

@triton.jit
def outer():
    # a comment
    inner()

@triton.jit
def axis():
    tl.program_id(20)
"""


def test_errors_have_both_words(tmp_path):
    (tmp_path / "wrong.py").write_text(ERRORS)
    text = program(f"""
        import sys
        sys.path.insert(1, {str(tmp_path)!r})
        from wrong import *
        for kernel, signature in (bits, {{"x": "*fp32"}}), (outer, {{}}), (axis, {{}}):
            try:
                triton.compile(ASTSource(kernel, signature, {{}}))
            except triton.TritonError as error:
                print(error, "| cause:", type(error.__cause__).__name__, error.__cause__)
                print("====")
    """)
    first, second, third, _ = text.split("====")
    assert "&: integers or truth values expected" in first and "help: cast to an integer" in first
    assert (
        "at 3:4:" in first
        and "cause: TypeError invalid operands of type triton.language.fp32" in first
    )
    assert "at 3:4:" in second and "is not defined" in second
    assert "cause: CompilationError at 2:4:" in second
    assert "cause: ValueError program_id axis must be 0, 1, or 2 but got 20" in third


def test_a_wrong_number_of_warps(script):
    text = program(f"""
        import sys
        sys.path.insert(1, {str(script.parent)!r})
        from scaling import scale, tl
        try:
            scale.warmup(tl.float32, tl.float32, 5, FACTOR=1, BLOCK=16, num_warps=3)
        except AssertionError as error:
            print(error)
    """)
    assert "num_warps is 3, not a power of two" in text and "num_warps must be a power of 2" in text


def test_stages_have_triton_s_names(script):
    assert program(f"""
        import sys
        sys.path.insert(1, {str(script.parent)!r})
        from scaling import *
        for compiled in (
            scale.warmup(tl.float32, tl.float32, 5, FACTOR=1, BLOCK=16),
            triton.compile(triton.compiler.ASTSource(scale, {{"x": "*fp32", "out": "*fp32", "n": "i32"}}, {{"FACTOR": 2, "BLOCK": 16}}),
                           target=triton.backends.compiler.GPUTarget("cuda", 90, 32)),
        ):
            print(all("scale" in compiled.asm[name] for name in ("ttir", "ttgir", "llir")))
            try:
                compiled.asm["amdgcn"]
            except KeyError as error:
                print(error)
    """).splitlines() == ["True", "\"Unknown key: 'amdgcn'\""] * 2  # fmt: skip


def test_kernels_of_a_compile_worker(script, tmp_path):
    """As torch's: the worker takes the function out, pickles what it compiled, and another process launches it."""
    text = f"""
        import pickle, sys
        sys.path.insert(1, {str(script.parent)!r})
        from scaling import *
        source = triton.compiler.ASTSource(scale, {{"x": "*fp32", "out": "*fp32", "n": "i32", "FACTOR": "constexpr", "BLOCK": "constexpr"}},
                                           {{"FACTOR": 4, "BLOCK": 32}})
        target = triton.backends.compiler.GPUTarget("cpu", "x86_64", 1)
        kernel = triton.compile(source, target, options={{"num_warps": 4, "debug": True, "sanitize_overflow": False}})
        scale.fn = scale.__globals__ = scale.used_global_vals = scale.repr = scale._hash_lock = None
        state = {{**kernel.__dict__, "metadata": kernel.metadata._asdict(), "module": None, "function": None, "run": None}}
        pickle.dump(state, open({str(tmp_path / "state")!r}, "wb"))
    """
    program(text)
    assert program(f"""
        import pickle
        import numpy as np
        from triton.compiler import CompiledKernel
        kernel = CompiledKernel.__new__(CompiledKernel)
        kernel.__dict__.update(pickle.load(open({str(tmp_path / "state")!r}, "rb")))
        kernel._init_handles()
        x, out = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
        kernel.run(4, 1, 1, 0, kernel.function, kernel.packed_metadata, None, None, None, x, out, 100, 4, 32)
        print((out == 4 * x).all(), kernel.src.fn.arg_names, kernel.src.fn.constexprs, sectile.statistics()["compiles"])
    """) == "True ['x', 'out', 'n', 'FACTOR', 'BLOCK'] [3, 4] 0\n"  # fmt: skip


def test_pickled_kernels_are_names(script):
    sys.path.insert(0, str(script.parent))
    try:
        script.write_text(KERNEL.replace("triton", "sectile"))
        import scaling

        assert pickle.loads(pickle.dumps(scaling.scale)) is scaling.scale

        @scaling.sectile.jit
        def local(x):
            pass

        with pytest.raises(
            pickle.PicklingError, match="local: a kernel is pickled as the name .*<locals>.local"
        ):
            pickle.dumps(local)
    finally:
        sys.path.remove(str(script.parent))


REVERSE = """
import triton
import triton.language as tl

@triton.jit
def reverse(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    for j in range(4):
        tl.store(out + (N - 1 - i) * 4 + j, tl.load(x + i * 4 + j) + 1)
"""


def test_code_for_arrays_that_share_memory(tmp_path):
    (tmp_path / "reversing.py").write_text(REVERSE)
    assert program(f"""
        import pickle, sys
        import numpy as np
        sys.path.insert(1, {str(tmp_path)!r})
        from reversing import *
        source = triton.compiler.ASTSource(reverse, {{"x": "*fp32", "out": "*fp32", "N": "constexpr"}}, {{"N": 64}})
        kernel = triton.compile(source, triton.backends.compiler.GPUTarget("cpu", "x86_64", 1))
        for code in kernel._code, pickle.loads(pickle.dumps(kernel._code)):
            x = np.arange(256, dtype=np.float32)
            expected = x.reshape(64, 4)[::-1].ravel() + 1
            out = np.zeros_like(x)
            code.launch(1, None, x, out, 64)
            code.launch(1, None, x, x, 64)
            print((out == expected).all(), (x == expected).all())
    """).splitlines() == ["True True"] * 2  # fmt: skip


def test_inductor_compiles_through_it():
    pytest.importorskip("torch")
    text = """
        import torch, torch._inductor.config as config
        config.cpu_backend = "triton"
        config.force_disable_caches = True
        config.compile_threads = 1
        x = torch.randn(64, 300, generator=torch.Generator().manual_seed(0))
        models = {
            "pointwise": lambda x: torch.relu(x) + torch.sigmoid(x),
            "softmax": lambda x: torch.softmax(x, -1),
            "argmax": lambda x: x.argmax(-1),
            "cumsum": lambda x: x.cumsum(-1),
            "variance": lambda x: torch.var_mean(x, dim=1),
        }
        for name, model in models.items():
            torch._dynamo.reset()
            torch.testing.assert_close(torch.compile(model)(x), model(x), rtol=3e-4, atol=3e-4)
        known = sectile.statistics()
        print(known["compiles"] + known["disk_hits"] >= len(models))
    """
    assert program(text) == "True\n"


IN_PLACE = """
import torch
import triton
import triton.language as tl

@triton.jit
def add(a, b, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(a + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)

def in_place(x):
    add[(2,)](x, x, x, 100, BLOCK=64)
    return x * 3

def apart(x, y):
    out = torch.zeros_like(x)
    add[(2,)](x, y, out, 100, BLOCK=64)
    return out * x
"""


def test_torch_knows_what_a_kernel_writes(tmp_path):
    """Taking every array for written, torch loses what a kernel writes in place."""
    pytest.importorskip("torch")
    (tmp_path / "adding.py").write_text(IN_PLACE)
    assert program(f"""
        import sys
        sys.path.insert(1, {str(tmp_path)!r})
        import torch._inductor.config as config
        config.cpu_backend, config.force_disable_caches, config.compile_threads = "triton", True, 1
        from adding import *
        x = torch.ones(100)
        result = torch.compile(in_place)(x)
        print((x == 2).all().item(), (result == 6).all().item())
        print((torch.compile(apart)(torch.full((100,), 2.0), torch.ones(100)) == 6).all().item())
    """).splitlines() == ["True True", "True"]  # fmt: skip


def test_tutorial_9_finds_its_peer():
    pytest.importorskip("torch")
    printed = program("""
        import torch
        from triton._C.libtriton import nvidia

        cublas = nvidia.cublas.CublasLt(torch.empty(16, dtype=torch.uint8))
        a, b = torch.randn(5, 7), torch.randn(3, 7)
        c, d = torch.randn(5, 3), torch.empty(5, 3)
        exact = a.double() @ b.double().T
        cublas.gemm(a, b, c, d, 2.0, 0.5)
        torch.testing.assert_close(d.double(), 2 * exact + 0.5 * c.double(), atol=1e-5, rtol=1e-5)
        cublas.matmul(a, b, c)
        torch.testing.assert_close(c.double(), exact, atol=1e-5, rtol=1e-5)
        try:
            cublas.matmul(a, b, c.T)
        except ValueError as error:
            print(error)
    """)
    assert (
        printed == "cublas: expected A (M, K), B (N, K) and C (M, N), got (5, 7), (3, 7), (3, 5)\n"
    )


def test_overridden_methods_are_called():
    """Tools wrap `JITFunction.run` and `Autotuner._bench`, and subclass both: kernel[grid] is what Triton says it is."""
    assert program("""
        import numpy as np, triton, triton.language as tl
        from triton.runtime.jit import JITFunction
        from triton.runtime.autotuner import Autotuner
        import linecache
        text = "def fill(x, B: tl.constexpr):\\n    tl.store(x + tl.program_id(0) * B + tl.arange(0, B), 1.0)\\n"
        linecache.cache["fill.py"] = (len(text), None, text.splitlines(True), "fill.py")
        names = {"tl": tl}
        exec(compile(text, "fill.py", "exec"), names)
        fill = triton.jit(names["fill"])
        x, seen = np.zeros(4, np.float32), []
        fill[(1,)](x, 4)
        original = JITFunction.run
        def run(self, *args, grid, warmup, **kwargs):
            seen.append((self.__name__, grid, warmup))
            return original(self, *args, grid=grid, warmup=warmup, **kwargs)
        JITFunction.run = run
        compiled = fill[(1,)](x, B=4)
        print(seen, compiled.name)
        seen.clear()
        configs = [triton.Config({"B": b}) for b in (4, 2)]
        triton.autotune(configs, key=[])(fill)[lambda meta: (4 // meta["B"],)](x)
        triton.autotune(configs[:1], key=[])(fill)[(1,)](x)
        run_bound = fill.bind(x, 4, grid=(1,))
        print(len(seen) > 2, {warmup for *_, warmup in seen})
        JITFunction.run = original
        del seen[1:]
        fill[(1,)](x, 4)
        print(len(seen))
        usual = fill.run
        fill.run = lambda *args, grid, warmup, **kwargs: seen.append("own") or usual(*args, grid=grid, warmup=warmup, **kwargs)
        print(fill[(1,)](x, 4).name, triton.jit(names["fill"])[(1,)](x, 4).name, seen[1:])
        triton.autotune(configs[:1], key=[])(fill)[(1,)](x)
        print(seen[1:])
        fill.run, seen[1:] = usual, []
        print(type(fill[(1,)]).__name__)
        del fill.run
        fill[(1,)](x, 4)
        print(len(seen), type(fill[(1,)]).__name__)
        object.__setattr__(fill, "further", 1)
        class Watched(JITFunction):
            def run(self, *args, **kwargs):
                seen.append("subclass")
                return super().run(*args, **kwargs)
        Watched(names["fill"])[(1,)](x, 4)
        print(seen[1:])
        class Tuner(Autotuner):
            def prune_configs(self, kwargs):
                return super().prune_configs(kwargs)[:2]
            def _bench(self, *args, config, **meta):
                seen.append({**self.nargs, **config.kwargs}["B"])
                return [float(config.kwargs["B"])] * 3
        seen.clear()
        tuner = Tuner(fill, ["x", "B"], [triton.Config({"B": b}) for b in (4, 2, 1)], [], None, None)
        tuner[lambda meta: (4 // meta["B"],)](x)
        print(sorted(seen), tuner.best_config.kwargs, tuner.nargs)
        seen.clear()
        bench = Autotuner._bench
        def patched(self, *args, config, **meta):
            seen.append(config.kwargs["B"])
            return bench(self, *args, config=config, **meta)
        Autotuner._bench = patched
        triton.autotune([triton.Config({"B": 4}), triton.Config({"B": 2})], key=[])(fill)[lambda meta: (4 // meta["B"],)](x)
        print(sorted(seen))
    """, SECTILE_AUTOTUNE_CACHE="off").splitlines() == [
        "[('fill', (1,), False)] fill", "True {False, True}", "1",
        "fill fill ['own']", "['own', 'own']", "Launcher", "1 Launcher", "['subclass']", "[2, 4] {'B': 2} None", "[2, 4]",
    ]  # fmt: skip


def test_what_a_launch_returns_says_what_it_is_for():
    assert program("""
        import triton, triton.language as tl, linecache
        text = "def fill(x, n, B: tl.constexpr):\\n    i = tl.arange(0, B)\\n    tl.device_assert(i < n, 'too long')\\n    tl.store(x + i, 1.0)\\n"
        linecache.cache["fill.py"] = (len(text), None, text.splitlines(True), "fill.py")
        names = {"tl": tl}
        exec(compile(text, "fill.py", "exec"), names)
        fill = triton.jit(names["fill"])
        import numpy as np
        kernel = fill[(1,)](np.zeros(8, np.float32), 8, B=8)
        print(kernel.metadata.target.backend, kernel.metadata.warp_size, kernel.n_max_threads > 0, kernel.metadata.tmem_size)
        source = triton.compiler.ASTSource(fill, {"x": "*fp32", "n": "i32", "B": "constexpr"}, {"B": 128})
        sectile.knobs.compilation.keep_stages = True
        for target in (triton.backends.compiler.GPUTarget("cuda", 90, 32), triton.backends.compiler.GPUTarget("hip", "gfx942", 64)):
            made = triton.compile(source, target, {"debug": True})
            print(made.metadata.target.backend, made.metadata.target.arch, made.metadata.warp_size, made.metadata.hidden_parameters,
                  "__assertfail" in made.asm.get("ptx", "") or "s_trap 2" in made.asm.get("amdgcn", ""))
        reported = fill.warmup(triton.runtime.jit.MockTensor(tl.float32), 8, B=128, grid=(1,), debug=True, target="cuda:90")
        print("__assertfail" in reported.asm["ptx"], reported.metadata.hidden_parameters)
        from triton.backends.nvidia.compiler import CUDAOptions
        options = CUDAOptions(num_warps=8)
        print(options.num_warps, options.num_stages, "bf16x6" in options.allowed_dot_input_precisions)
        from triton.runtime.jit import serialize_specialization_data
        print(serialize_specialization_data("fill", {"x": "*fp32"}, {(2,): 128}, {}, options, "key")[:40])
    """).splitlines() == [
        "cpu 32 True 0", "cuda 90 32 False True", "hip gfx942 64 False True", "False True", "8 3 True",
        '{"name": "fill", "signature": {"x": "*fp',
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name", ["tools.compile", "tools.link", "tools.build_extern", "language.semantic"]
)
def test_modules_that_are_not_there_name_the_guide(name):
    assert program(f"""
        try:
            import triton.{name}
        except ImportError as error:
            print(error.name, "Triton" in str(error).splitlines()[1])
    """) == f"triton.{name} True\n"  # fmt: skip
