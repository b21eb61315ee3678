"""Launches on AMD GPUs through the driver, with HIP's runtime over an interpreter (emulated_hip.py): what programs
see of them. That kernels compute what they should is for the language's tests, with --device=hip:gfx942."""

import os
import pathlib
import subprocess
import sys
import textwrap

import emulated_hip
import pytest

pytestmark = [
    pytest.mark.host,
    pytest.mark.skipif(not emulated_hip.LIBRARY.exists(), reason="there is no emulated runtime"),
]

BEGINNING = """
import ctypes, sys
import numpy as np
import sectile as st, sectile.language as tl
import emulated_hip
from sectile.runtime import driver

class OnGpu:
    '''An array of a GPU, as CuPy has them.'''

    def __init__(self, values, device=0):
        emulated_hip._library().hipSetDevice(device)
        self.memory = emulated_hip.Memory(values.nbytes)
        emulated_hip._library().hipSetDevice(0)
        self.values = np.ndarray(values.shape, values.dtype, self.memory.bytes)
        self.values[...] = values

    @property
    def dtype(self):
        return self.values.dtype

    @property
    def __cuda_array_interface__(self):
        data = (self.memory.address, False)
        return {"shape": self.values.shape, "typestr": self.dtype.str, "data": data, "version": 3}

@st.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)

def numbers(device=0, n=1000):
    host = np.random.default_rng(device).standard_normal((2, n)).astype(np.float32)
    return OnGpu(host[0], device), OnGpu(host[1], device), OnGpu(np.zeros(n, np.float32), device)

def message(function):
    try:
        function()
    except st.SectileError as error:
        return str(error)
    raise AssertionError("no error")
"""


def run(text, folder, chips="gfx942", **environment):
    """What a program prints, with such GPUs."""
    path = folder / "program.py"
    path.write_text(BEGINNING + textwrap.dedent(text))
    tests = pathlib.Path(emulated_hip.__file__).parent
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tests), *(p for p in sys.path if p)]),
        **emulated_hip.environment(chips),
        "SECTILE_CACHE_DIR": str(folder / "cache"),
        **environment,
    }
    done = subprocess.run(
        [sys.executable, path], env=environment, text=True, capture_output=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("chip", emulated_hip.CHIPS)
def test_a_launch_goes_where_its_arrays_are(chip, tmp_path):
    text = """
    x, y, out = numbers()
    made = add[(4,)](x, y, out, 1000, BLOCK=256)
    assert (out.values == x.values + y.values).all()
    print(made.metadata.target, driver.active.get_current_target())
    """
    lanes = 64 if chip.startswith("gfx9") else 32
    assert run(text, tmp_path, chip).split("\n")[0] == (
        f"amdgcn:{chip} GPUTarget(backend='hip', arch='{chip}', warp_size={lanes})"
    )


def test_several_gpus_of_several_kinds(tmp_path):
    run(
        """
        for device, chip in enumerate(("gfx942", "gfx1100", "gfx942")):
            x, y, out = numbers(device)
            made = add[(4,)](x, y, out, 1000, BLOCK=256)
            assert (out.values == x.values + y.values).all()
            assert made.metadata.target == f"amdgcn:{chip}"
            add[(4,)](x, y, out, 1000, BLOCK=256, target="hip")
        x, y, out = numbers(0)
        far = numbers(1)[2]
        text = message(lambda: add[(4,)](x, y, far, 1000, BLOCK=256))
        assert "hip:1" in text and "hip:0" in text, text
        """,
        tmp_path,
        "gfx942,gfx1100,gfx942",
    )


def test_targets_by_name(tmp_path):
    run(
        """
        x, y, out = numbers()
        add[(4,)](x, y, out, 1000, BLOCK=256, target="hip")
        assert (out.values == x.values + y.values).all()
        on_cuda = add.warmup(x, y, out, 1000, BLOCK=256, grid=(4,), target="cuda:90")
        assert on_cuda.metadata.target == "nvptx64:sm_90a"
        assert add.device_caches.keys() == ["cuda:0", "hip:0"]
        text = message(lambda: add[(4,)](x, y, out, 1000, BLOCK=256, target="cuda"))
        assert "target is cuda, and argument 'x' is on hip:0" in text, text
        text = message(lambda: add[(4,)](x, y, out, 1000, BLOCK=256, target="hip:gfx90a"))
        assert "the code is for gfx90a, and" in text and "gfx942" in text, text
        kinds = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
        assert st.compile(add, kinds, {"BLOCK": 64}, "hip").metadata.target == "amdgcn:gfx942"
        """,
        tmp_path,
    )


def test_reports(tmp_path):
    """Prints, assertions and checked accesses come through memory that both see."""
    printed = run(
        """
        @st.jit
        def kernel(x, n):
            i = tl.arange(0, 8)
            v = tl.load(x + i)
            tl.device_print("v", v)
            tl.device_assert(tl.sum(v) < n, "too much")

        x = OnGpu(np.arange(8, dtype=np.int32))
        kernel[(2,)](x, 29, debug=True)
        text = message(lambda: kernel[(2,)](x, 28, debug=True))
        assert "too much" in text, text
        x, y, out = numbers()
        text = message(lambda: add[(4,)](x, y, out, 1001, BLOCK=256, check="bounds"))
        assert "index 1000 of argument 'x', which has 1000 elements" in text, text
        """,
        tmp_path,
    )
    assert printed.count("v: i32[8] [0 1 2 3 4 5 6 7]") >= 3, printed


def test_a_kernel_that_goes_wrong_is_named_with_the_launches_before(tmp_path):
    run(
        """
        x, y, out = numbers()
        add[(4,)](x, y, out, 1000, BLOCK=256)
        text = message(lambda: add[(8,)](x, y, out, 2000, BLOCK=256))
        assert "add: launch: hipErrorLaunchFailure" in text, text
        assert "the latest on hip:0, newest first:" in text and "add[8, 1, 1](x = " in text, text
        """,
        tmp_path,
    )


ATOMICS = """
class Elsewhere(OnGpu):
    '''An array in memory of another kind, which has a device, too.'''

    def __init__(self, values, function, flags):
        library, address = emulated_hip._library(), ctypes.c_void_p()
        assert library[function](ctypes.byref(address), ctypes.c_size_t(values.nbytes), flags) == 0
        size = values.nbytes
        place = (ctypes.c_uint8 * size).from_address(address.value)
        self.memory = type("Memory", (), {"address": address.value, "bytes": np.ctypeslib.as_array(place)})
        self.values = np.ndarray(values.shape, values.dtype, self.memory.bytes)
        self.values[...] = values

@st.jit
def count(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + i % 64, tl.load(x + i, i < n), i < n)

host = np.arange(1000, dtype=np.float32) % 7
expected = np.array([host[i::64].sum() for i in range(64)], np.float32)
zeros = np.zeros(64, np.float32)
kinds = {
    "device": lambda: OnGpu(zeros),
    "pinned": lambda: Elsewhere(zeros, "hipHostMalloc", 0),
    "managed": lambda: Elsewhere(zeros, "hipMallocManaged", 1),
    "fine-grained": lambda: Elsewhere(zeros, "hipExtMallocWithFlags", 1),
}

def launched(kind):
    out = kinds[kind]()
    made = count[(4,)](OnGpu(host), out, 1000, BLOCK=256)
    assert (out.values == expected).all(), kind
    return made

def loops(made):
    return [remark for remark in st.inspect(made).remarks if remark.kind == "atomic-loop"]
"""


@pytest.mark.parametrize("chip", ["gfx90a", "gfx1100"])
def test_atomics_are_instructions_in_the_gpus_own_memory(chip, tmp_path):
    run(
        ATOMICS
        + """
for kind in ("device", "pinned", "device", "managed", "fine-grained", "device"):
    made = launched(kind)
    assert made.metadata.device_memory == (kind == "device"), kind
    assert bool(loops(made)) == (kind != "device"), kind
assert [each.compiled.metadata.device_memory for each in count.variants()] == [False, True]
assert "where they lie" in count.variants()[1].reason
bound = count[(4,)].bind(OnGpu(host), kinds["device"](), 1000, BLOCK=256)
assert bound.kernel.metadata.device_memory
bound.update(out=kinds["pinned"]())
assert not bound.kernel.metadata.device_memory
""",
        tmp_path,
        chip,
    )


def test_atomics_that_are_instructions_anywhere_have_one_variant(tmp_path):
    run(
        ATOMICS
        + """
for kind in kinds:
    assert not launched(kind).metadata.device_memory and not loops(launched(kind))
assert len(count.variants()) == 1
""",
        tmp_path,
        "gfx942",
    )


def test_atomics_compiled_ahead_serve_memory_of_every_kind(tmp_path):
    run(
        ATOMICS
        + """
kinds_of_arguments = {"x": "*fp32:16", "out": "*fp32:16", "n": "i32"}
made = st.compile(count, kinds_of_arguments, {"BLOCK": 256}, "hip")
assert not made.metadata.device_memory
st.seal()
assert launched("device").metadata.device_memory
assert not launched("pinned").metadata.device_memory
""",
        tmp_path,
        "gfx90a",
    )
    sealed = tmp_path / "sealed"
    sealed.mkdir()
    run(
        ATOMICS
        + """
launched("pinned")
st.seal()
launched("managed")
text = message(lambda: launched("device"))
assert "device_memory: 1 instead of 0" in text, text
""",
        sealed,
        "gfx90a",
    )


def test_tuning(tmp_path):
    run(
        """
        @st.autotune([st.Config({"BLOCK": b}, num_warps=w) for b in (64, 256) for w in (1, 4, 32)], key=["n"])
        @st.jit
        def scale(x, out, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(out + i, 2 * tl.load(x + i, i < n), i < n)

        x, _, out = numbers()
        scale[lambda meta: (st.cdiv(1000, meta["BLOCK"]),)](x, out, 1000)
        assert (out.values == 2 * x.values).all()
        assert scale.best_config.num_warps in (1, 4)  # 32 warps of 64 lanes are too many
        occupancy = st.inspect(add.warmup(x, x, out, 1000, BLOCK=256, grid=(4,))).occupancy
        assert occupancy.programs >= 1
        """,
        tmp_path,
        SECTILE_TUNING_DIR=str(tmp_path),
    )


def test_the_doctor(tmp_path):
    report = run("from sectile import _doctor; _doctor.main([])", tmp_path, "gfx942,gfx1201")
    assert "used: hip:0 emulated gfx942, gfx942, 16 GiB" in report
    assert "used: hip:1 emulated gfx1201, gfx1201, 16 GiB" in report
    last = report.strip().split("\n")[-1]
    assert last == (
        "Kernels will run on: hip:0 (emulated gfx942), hip:1 (emulated gfx1201), and on the CPU."
    )


def test_without_the_library(tmp_path):
    report = run(
        "from sectile import _doctor; _doctor.main([])",
        tmp_path,
        SECTILE_HIP="/none/libamdhip64.so",
    )
    assert "not used: AMD's HIP runtime was not found: /none/libamdhip64.so" in report


def test_a_child_of_fork_is_told(tmp_path):
    run(
        """
        import os
        x, y, out = numbers()
        add[(4,)](x, y, out, 1000, BLOCK=256)
        if (child := os.fork()) == 0:
            text = message(lambda: add[(4,)](x, y, out, 1000, BLOCK=256))
            os._exit(0 if "does not survive fork()" in text else 1)
        assert os.waitpid(child, 0)[1] == 0
        """,
        tmp_path,
    )


def test_memory_that_dlpack_calls_rocm(tmp_path):
    run(
        """
        class Device(ctypes.Structure):
            _fields_ = [("kind", ctypes.c_int), ("index", ctypes.c_int)]

        class Tensor(ctypes.Structure):
            _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("rank", ctypes.c_int),
                        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p),
                        ("offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

        class Exported:
            '''An array that is known by DLPack alone.'''
            ROCM = 10

            def __init__(self, array):
                self.array, self.dtype = array, array.dtype
                self.shape = (ctypes.c_int64 * 1)(array.values.size)
                self.tensor = Tensor(array.memory.address, Device(self.ROCM, 0), 1, 2, 32, 1, self.shape)

            def __dlpack_device__(self):
                return self.ROCM, 0

            def __dlpack__(self, stream=None, max_version=None):
                new = ctypes.pythonapi.PyCapsule_New
                new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
                return new(ctypes.addressof(self.tensor), b"dltensor", None)

        x, y, out = numbers()
        made = add[(4,)](Exported(x), Exported(y), Exported(out), 1000, BLOCK=256)
        assert made.metadata.target == "amdgcn:gfx942"
        assert (out.values == x.values + y.values).all()
        """,
        tmp_path,
    )


TUTORIALS = pathlib.Path(emulated_hip.LIBRARY).parents[4] / "tutorials"


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100"])
@pytest.mark.parametrize(
    "lesson", ["02_fused_softmax", "03_matmul", "06_attention", "08_grouped_products"]
)
def test_programs_in_cpp(lesson, chip, tmp_path):
    environment = {
        **os.environ,
        **emulated_hip.environment(chip),
        "SECTILE_CACHE_DIR": str(tmp_path),
    }
    done = subprocess.run(
        [TUTORIALS / lesson, "--quick"],
        env=environment,
        text=True,
        capture_output=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"on emulated {chip}" in done.stdout


def test_an_address_without_a_device_is_the_drivers_to_place(tmp_path):
    """Some libraries pass such: objects with data_ptr() and dtype alone."""
    run(
        """
class Typed:
    def __init__(self, array):
        self.array, self.dtype = array, array.dtype

    def data_ptr(self):
        return self.array.__cuda_array_interface__["data"][0]

x, y, out = numbers()
add[(4,)](Typed(x), Typed(y), Typed(out), 1000, BLOCK=256)
np.testing.assert_array_equal(out.values, x.values + y.values)

class Host:
    dtype = np.dtype(np.float32)

    def __init__(self, values):
        self.values = values

    def data_ptr(self):
        return self.values.ctypes.data

a, b, c = np.ones(64, np.float32), np.ones(64, np.float32), np.zeros(64, np.float32)
add[(1,)](Host(a), Host(b), Host(c), 64, BLOCK=64)
assert (c == 2).all()
""",
        tmp_path,
    )


BUFFERS = """
@st.jit
def gather(x, out, n, stride, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i * stride, i < n, other=3.0), i < n)

class Claims(OnGpu):
    '''An array that says it is larger, or runs downward.'''

    def __init__(self, values, shape=None, step=1):
        super().__init__(values)
        self.shape, self.step = shape or values.shape, step

    @property
    def __cuda_array_interface__(self):
        address = self.memory.address + (0 if self.step > 0 else 4 * (self.values.size - 1))
        return {"shape": self.shape, "typestr": "<f4", "data": (address, False), "version": 3,
                "strides": (4 * self.step,)}

host = np.random.default_rng(0).standard_normal(1000).astype(np.float32)

def launched(x, n, stride):
    out = OnGpu(np.zeros(1000, np.float32))
    made = gather[(4,)](x, out, n, stride, BLOCK=256)
    expected = np.zeros(1000, np.float32)
    expected[:n] = host[::stride][:n]
    np.testing.assert_array_equal(out.values, expected)
    return made.metadata.large_arrays
"""


@pytest.mark.parametrize("chip", ["gfx942", "gfx1201"])
def test_buffers_are_for_arrays_below_2_gib_and_strides_upward(chip, tmp_path):
    run(
        BUFFERS
        + """
assert not launched(Claims(host), 500, 2)
assert not launched(Claims(host, (2**29 - 1,)), 500, 2)
assert launched(Claims(host, (2**29,)), 500, 2)
assert launched(Claims(host, step=-1), 999, -1)
assert not launched(Claims(host), 333, 3)
large = {each.compiled.metadata.large_arrays for each in gather.variants()}
assert large == {False, True}
assert any("how far they reach" in each.reason for each in gather.variants())
bound = gather[(4,)].bind(Claims(host), OnGpu(host), 500, 2, BLOCK=256)
assert not bound.kernel.metadata.large_arrays
bound.update(x=Claims(host, (2**29,)))
assert bound.kernel.metadata.large_arrays
bound.update(x=Claims(host), stride=-2)
assert bound.kernel.metadata.large_arrays
""",
        tmp_path,
        chip,
    )


def test_compiled_kernels_refuse_what_their_buffers_do_not_reach(tmp_path):
    run(
        BUFFERS
        + """
usual = gather[(4,)](Claims(host), OnGpu(host), 500, 2, BLOCK=256)
out = OnGpu(np.zeros(1000, np.float32))
usual.launch((4,), Claims(host), out, 500, 2)
assert (out.values[:500] == host[::2]).all()
assert "2 GiB or more behind its pointer, or an integer is negative" in message(
    lambda: usual.launch((4,), Claims(host), out, 500, -2)
)
""",
        tmp_path,
    )
