"""Everything a kernel can be launched with, by what arrives in it."""

import array
import ctypes
import enum

import ml_dtypes
import numpy as np
import pytest

import sectile as st
import sectile.language as tl


@st.jit
def copy(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i))


@st.jit
def put(out, value):
    tl.store(out, value)


@st.jit
def put_constant(out, value: tl.constexpr):
    tl.store(out, value)


DTYPES = [
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz,
]  # fmt: skip


def random_bytes(dtype, count, seed=0):
    rng = np.random.default_rng(seed)
    if dtype is np.bool_:
        return rng.integers(0, 2, count).astype(bool)
    size = np.dtype(dtype).itemsize
    values = rng.integers(0, 256, count * size, dtype=np.uint8).view(dtype)
    if np.dtype(dtype).kind in "fV":  # a NaN stays one, but not which one
        values[np.isnan(values.astype(np.float64))] = 1
    return values


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
def test_numpy_dtypes(dtype):
    x = random_bytes(dtype, 37)
    out = np.zeros_like(x)
    copy[(1,)](out, x, N=37)
    assert out.tobytes() == x.tobytes()


TORCH_DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
    "float8_e5m2fnuz",
]  # fmt: skip


@pytest.mark.parametrize("name", TORCH_DTYPES)
def test_torch_dtypes(name):
    torch = pytest.importorskip("torch")
    dtype = getattr(torch, name)
    raw = torch.randint(0, 2 if name == "bool" else 256, (37 * dtype.itemsize,), dtype=torch.uint8)
    x = raw.view(dtype)
    if dtype.is_floating_point:  # a NaN stays one, but not which one
        raw[: 37 * dtype.itemsize] = (
            torch.where(x.double().isnan(), 1.0, x.double()).to(dtype).view(torch.uint8)
        )
    out = torch.zeros_like(raw).view(dtype)
    copy[(1,)](out, x, N=37)
    assert torch.equal(out.view(torch.uint8), raw)


def test_torch_parameters_and_views():
    torch = pytest.importorskip("torch")
    x = torch.nn.Parameter(torch.randn(64))
    out = torch.empty(5)
    copy[(1,)](out, x[3:], N=5)
    assert torch.equal(out, x.detach()[3:8])


@pytest.mark.host
def test_torch_on_no_device():
    torch = pytest.importorskip("torch")
    with pytest.raises(st.ArgumentError, match="argument 'x' is on device meta"):
        copy[(1,)](np.zeros(4, np.float32), torch.empty(4, device="meta"), N=4)
    with pytest.raises(st.ArgumentError, match="element type torch.complex64"):
        copy[(1,)](np.zeros(4, np.float32), torch.empty(4, dtype=torch.complex64), N=4)


class Interface:
    def __init__(self, array):
        self.kept = array

    @property
    def __array_interface__(self):
        return self.kept.__array_interface__


class Dlpack:
    def __init__(self, array):
        self.kept = array
        self.capsules = 0

    def __dlpack_device__(self):
        return self.kept.__dlpack_device__()

    def __dlpack__(self, **options):
        self.capsules += 1
        return self.kept.__dlpack__(**options)


class OldDlpack(Dlpack):
    def __dlpack__(self, stream=None):
        return self.kept.__dlpack__()


class Pointer:
    """What Triton takes for a tensor: an address and a dtype."""

    def __init__(self, array):
        self.kept = array
        self.dtype = array.dtype

    def data_ptr(self):
        return self.kept.ctypes.data


@pytest.mark.host
@pytest.mark.parametrize("wrap", [Interface, Dlpack, OldDlpack, Pointer, memoryview])
def test_protocols(wrap):
    x = np.random.default_rng(0).standard_normal(40).astype(np.float32)
    out = np.zeros(40, np.float32)
    copy[(1,)](wrap(out), wrap(x), N=40)
    np.testing.assert_array_equal(out, x)
    copy[(1,)](wrap(out), wrap(x[::-1][7:]), N=1)
    assert out[0] == x[32]


@pytest.mark.host
def test_buffers():
    x = array.array("i", range(10))
    out = (ctypes.c_int32 * 10)()
    copy[(1,)](out, x, N=10)
    assert list(out) == list(range(10))
    view = memoryview(bytearray(b"abcd"))
    copy[(1,)](view, memoryview(b"wxyz"), N=4)
    assert bytes(view) == b"wxyz"


@pytest.mark.host
def test_dlpack_capsules_are_given_back():
    import gc
    import weakref

    class Tracked(np.ndarray):
        pass

    x = np.ones(4, np.float32).view(Tracked)
    gone = weakref.ref(x)
    wrapped = Dlpack(x)
    copy[(1,)](np.zeros(4, np.float32), wrapped, N=4)
    assert wrapped.capsules == 1
    del x, wrapped
    gc.collect()
    assert gone() is None


READ_ONLY = "argument 'out' is read-only"


def frozen(array):
    array.flags.writeable = False
    return array


@pytest.mark.host
@pytest.mark.parametrize("wrap", [lambda x: x, Interface, memoryview, Dlpack])
def test_read_only(wrap):
    x = np.arange(4, dtype=np.float32)
    out = frozen(np.zeros(4, np.float32))
    copy[(1,)](np.zeros(4, np.float32), wrap(frozen(x)), N=4)  # reading is fine
    with pytest.raises(st.ArgumentError, match="read-only"):
        copy[(1,)](wrap(out), x, N=4)
    assert not out.any()


def test_arrays_need_not_be_contiguous():
    x = np.arange(40, dtype=np.float32)[::2]

    @st.jit
    def strided(out, x, stride, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(out + i, tl.load(x + i * stride))

    out = np.zeros(20, np.float32)
    strided[(1,)](out, x, x.strides[0] // 4, N=20)
    np.testing.assert_array_equal(out, x)
    strided[(1,)](out, x[::-1], -2, N=20)
    np.testing.assert_array_equal(out, x[::-1])


def test_array_subclass_and_scalar_array():
    class Sub(np.ndarray):
        pass

    out = np.zeros(3, np.int32).view(Sub)
    put[(1,)](out, 7)
    assert out[0] == 7
    scalar = np.zeros((), np.int32)
    put[(1,)](scalar, 8)
    assert scalar == 8


@pytest.mark.parametrize(
    "value, dtype",
    [
        (5, np.int64), (-5, np.int64), (1, np.int64), (0, np.int64), (2**40, np.int64),
        (-(2**63), np.int64), (2**63 - 1, np.int64), (2**64 - 1, np.uint64),
        (2.5, np.float64), (float("inf"), np.float64), (True, np.int64), (False, np.int64),
        (np.int8(-3), np.int64), (np.uint16(9), np.int64), (np.int64(16), np.int64),
        (np.float32(0.1), np.float32), (np.float64(1.5), np.float64), (np.float16(1.5), np.float64),
        (np.bool_(True), np.int64), (ml_dtypes.bfloat16(1.5), np.float64),
        (tl.constexpr(12), np.int64),
    ],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("kernel", [put, put_constant], ids=["runtime", "constexpr"])
def test_numbers(kernel, value, dtype):
    out = np.zeros(1, dtype)
    kernel[(1,)](out, value)
    plain = value.value if isinstance(value, tl.constexpr) else value
    assert out[0] == dtype(plain)


def test_floats_are_single_precision():
    out = np.zeros(1, np.float64)
    put[(1,)](out, 0.1)
    assert out[0] == np.float64(np.float32(0.1))


def test_none_folds():
    @st.jit
    def kernel(out, bias):
        if bias is None:
            tl.store(out, 1)
        else:
            tl.store(out, tl.load(bias))

    out = np.zeros(1, np.float32)
    kernel[(1,)](out, None)
    assert out[0] == 1
    kernel[(1,)](out, np.full(1, 3, np.float32))
    assert out[0] == 3


class Mode(enum.IntEnum):
    PLAIN = 1
    TWICE = 2


@st.jit
def triple(x):
    return x * 3


@st.jit
def negate(x):
    return -x


@st.jit
def by_constant(out, x, how: tl.constexpr):
    value = tl.load(x)
    if how == "plain":
        tl.store(out, value)
    elif how == "twice":
        tl.store(out, value * 2)


@st.jit
def by_mode(out, x, mode: tl.constexpr):
    value = tl.load(x)
    if mode == Mode.TWICE:
        value *= 2
    tl.store(out, value)


@st.jit
def by_dtype(out, x, dtype: tl.constexpr):
    tl.store(out, tl.load(x).to(dtype).to(tl.float32))


@st.jit
def by_function(out, x, fn: tl.constexpr):
    tl.store(out, fn(tl.load(x)))


@st.jit
def by_tuple(out, x, factors):
    tl.store(out, tl.load(x) * factors[0] * factors[1])


@pytest.mark.parametrize(
    "kernel, constant, expected",
    [
        (by_constant, "plain", 2.75), (by_constant, "twice", 5.5),
        (by_mode, Mode.PLAIN, 2.75), (by_mode, Mode.TWICE, 5.5),
        (by_dtype, tl.int32, 2.0), (by_dtype, tl.float16, 2.75),
        (by_function, triple, 8.25), (by_function, negate, -2.75),
        (by_tuple, (2, 5), 27.5), (by_tuple, (3, 0.5), 4.125), (by_tuple, [2, 2], 11.0),
    ],
)  # fmt: skip
def test_constants(kernel, constant, expected):
    x, out = np.full(1, 2.75, np.float32), np.zeros(1, np.float32)
    for _ in range(2):
        out[0] = 0
        kernel[(1,)](out, x, constant)
        assert out[0] == expected


def test_reinterpret():
    bits = np.array([0x3F800000, 0x40000000], np.int32)
    out = np.zeros(2, np.float32)
    copy[(1,)](out, st.reinterpret(bits, tl.float32), N=2)
    np.testing.assert_array_equal(out, [1, 2])
    small = np.array([-1], np.int8)
    wide = np.zeros(1, np.int32)
    copy[(1,)](wide, st.reinterpret(small, tl.uint8), N=1)
    assert wide[0] == 255
    fp8 = ml_dtypes.float8_e5m2(1.5)
    copy[(1,)](out, st.reinterpret(np.array([fp8]).view(np.uint8), tl.float8e5), N=1)
    assert out[0] == 1.5


def test_defaults_and_keywords():
    @st.jit
    def kernel(out, a=2, *, b=3, C: tl.constexpr = 5):
        tl.store(out, a * 100 + b * 10 + C)

    def run(*args, **kwargs):
        out = np.zeros(1, np.int32)
        kernel[(1,)](out, *args, **kwargs)
        return out[0]

    assert run() == 235
    assert run(7) == 735
    assert run(b=1, a=4, C=9) == 419
    assert run(**{"a".upper().lower(): 6}) == 635  # a name that is not interned


def test_typed_parameters():
    @st.jit
    def kernel(out, a: tl.int64, b: tl.float64):
        tl.static_assert(a.dtype == tl.int64)
        tl.static_assert(b.dtype == tl.float64)
        tl.store(out, a + b)

    out = np.zeros(1, np.float64)
    kernel[(1,)](out, 1, 0.1)
    assert out[0] == 1.1


GRIDS = [5, (5,), [5], (5, 1), (1, 5, 1), np.int64(5), (np.int32(5),), lambda meta: (meta["n"],)]


@pytest.mark.parametrize("grid", GRIDS)
def test_grids(grid):
    @st.jit
    def kernel(out, n):
        pid = tl.program_id(0) + tl.program_id(1) * tl.num_programs(0)
        tl.atomic_add(out + pid, tl.num_programs(0) * tl.num_programs(1) * tl.num_programs(2))

    out = np.zeros(6, np.int32)
    kernel[grid](out, 5)
    np.testing.assert_array_equal(out, [5, 5, 5, 5, 5, 0])


@pytest.mark.parametrize("grid", [0, (0,), (3, 0), (2, 3, 0)])
def test_empty_grids_run_nothing(grid):
    out = np.zeros(1, np.int32)
    compiled = put[grid](out, 3)
    assert out[0] == 0 and compiled.name == "put"


@pytest.mark.host
def test_grid_function_sees_all_arguments():
    seen = {}

    def grid(arguments):
        seen.update(arguments)
        return 1

    out, x = np.zeros(2, np.float32), np.ones(2, np.float32)
    copy[grid](out, x=x, N=2)
    assert seen["out"] is out and seen["x"] is x and seen["N"] == 2


@pytest.mark.host
def test_what_a_launch_returns():
    out, x = np.zeros(4, np.float32), np.ones(4, np.float32)
    compiled = copy[(1,)](out, x, N=4, num_warps=8, num_stages=2)
    assert compiled.name == "copy"
    assert "tile." in compiled.asm["tile"]
    assert compiled.asm["so"][:4] == b"\x7fELF"
    assert compiled.metadata.num_warps == 8 and compiled.metadata.num_stages == 2
    assert [(name, dtype) for name, dtype, _ in compiled.arguments] == [
        ("out", "*fp32"),
        ("x", "*fp32"),
    ]
    assert [written for _, _, written in compiled.arguments] == [True, False]
    assert copy[(1,)](out, x, N=4, num_warps=8, num_stages=2) is compiled
    assert copy[(1,)](out, x, N=4) is not compiled


@pytest.mark.host
def test_warmup_and_compile():
    @st.jit
    def kernel(out, x, n, f, B: tl.constexpr):
        i = tl.arange(0, B)
        tl.store(out + i, tl.load(x + i, mask=i < n) * f, mask=i < n)

    warm = kernel.warmup(tl.float32, st.MockTensor(tl.float32), 30, 2.0, B=32, grid=(1,))
    ahead = st.compile(
        kernel, {"out": "*fp32:16", "x": "*fp32:16", "n": "i32", "f": "fp32"}, {"B": 32}
    )
    out, x = np.zeros(32, np.float32), np.arange(32, dtype=np.float32)
    aligned = [a for a in (out, x) if a.ctypes.data % 16 == 0]
    run = kernel[(1,)](out, x, 30, 2.0, B=32)
    assert warm is ahead
    if len(aligned) == 2:
        assert run is warm
    np.testing.assert_array_equal(out[:30], x[:30] * 2)
    with pytest.raises(ValueError, match="unknown dtype 'fp31'"):
        st.compile(kernel, {"out": "*fp31", "x": "*fp32", "n": "i32", "f": "fp32"}, {"B": 32})


@pytest.mark.host
def test_arrays_of_jax_are_read_only():
    # JAX itself is no requirement here: its type's name is what tells, and some versions' DLPack does not.
    base = np.zeros(16, np.float32)
    methods = {
        "__dlpack__": lambda self, stream=None: base.__dlpack__(),
        "__dlpack_device__": lambda self: base.__dlpack_device__(),
    }
    some = type("library.Array", (), methods)()
    store_ones[(1,)](some, BLOCK=16)
    assert (base == 1).all()
    with pytest.raises(st.ArgumentError, match="argument 'out' is read-only"):
        store_ones[(1,)](type("jaxlib.Array", (), methods)(), BLOCK=16)


@st.jit
def store_ones(out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), 1.0)
