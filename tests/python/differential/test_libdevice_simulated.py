"""Functions of libdevice on the simulated GPU: the same bits as on the CPU, or close where products may fuse."""

import inspect

import numpy as np
import pytest
from fuzz_case import Simulator, simulate

import sectile as st
import sectile.language as tl
from sectile.language.extra import libdevice

N = 128
EXACT = """add_rd sub_rz mul_ru fma_rd div_rd rcp_ru sqrt_ru nextafter logb remainder norm3d rhypot
float2int_ru float2ull_rn ll2float_rd float_as_int brev hadd rsqrt_rn saturatef""".split()
CLOSE = "tgamma lgamma erfinv erfcinv erfcx normcdf j0 y1 cyl_bessel_i0 jn yn rnorm4d rcbrt".split()
# Arguments that are not of the type that is tested.
TYPES = {"ll2float_rd": ["int64"], "brev": ["int32"], "hadd": ["int32", "int32"]}
RESULTS = {"float2int_ru": "int32", "float2ull_rn": "uint64", "float_as_int": "int32"}
RESULTS |= {"ll2float_rd": "float32", "brev": "int32", "hadd": "int32"}
ONLY_SINGLE = {*TYPES, *RESULTS, "rsqrt_rn", "saturatef"}


@st.jit
def one(x_ptr, out_ptr, f: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, f(tl.load(x_ptr + i)))


@st.jit
def two(x_ptr, y_ptr, out_ptr, f: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, f(tl.load(x_ptr + i), tl.load(y_ptr + i)))


@st.jit
def three(x_ptr, y_ptr, z_ptr, out_ptr, f: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, f(tl.load(x_ptr + i), tl.load(y_ptr + i), tl.load(z_ptr + i)))


@st.jit
def four(x_ptr, y_ptr, z_ptr, w_ptr, out_ptr, f: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    tl.store(out_ptr + i, f(x, y, tl.load(z_ptr + i), tl.load(w_ptr + i)))


KERNELS = {1: one, 2: two, 3: three, 4: four}


def operand(dtype, rng):
    if "int" in dtype:
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, N, dtype=dtype, endpoint=True)
    info = np.finfo(dtype)
    x = rng.uniform(-4, 4, N).astype(dtype)
    special = [0, info.smallest_subnormal, info.tiny, info.max, 1, np.inf, np.nan, 0.5, 2e9]
    x[:18] = np.array([*special, *(-value for value in special)], dtype)
    return rng.permutation(x)


def on_the_simulator(kernel, function, arrays, folder):
    mocks = [st.MockTensor(getattr(tl, array.dtype.name)) for array in arrays]
    text = kernel.warmup(*mocks, function, N, grid=(1,), target="cpu").asm["tile"]
    (folder / "kernel.mlir").write_text(text)
    words = [folder / "kernel.mlir", 1, "num_warps=4", "num_stages=2"]
    for index, array in enumerate(arrays):
        (folder / str(index)).write_bytes(array.tobytes())
        words.append(f"{folder / str(index)}:0")
    answer = simulate(" ".join(map(str, words)))
    assert answer == "right"
    return np.frombuffer((folder / str(len(arrays) - 1)).read_bytes(), arrays[-1].dtype)


CASES = [
    (name, dtype)
    for name in EXACT + CLOSE
    for dtype in ("float32", "float64")
    if dtype == "float32" or name not in ONLY_SINGLE
]


@pytest.mark.parametrize("name, dtype", CASES)
def test_on_the_simulated_gpu(name, dtype, tmp_path):
    if not Simulator.path().exists():
        pytest.skip(f"{Simulator.path()} is not built")
    function = getattr(libdevice, name)
    count = len(inspect.signature(function).parameters)
    rng = np.random.default_rng(31)
    arrays = [operand(kind, rng) for kind in TYPES.get(name, [dtype] * count)]
    if name in ("jn", "yn"):
        arrays[0] = rng.integers(0, 12, N, dtype="int32")
    out = np.zeros(N, RESULTS.get(name, dtype))
    KERNELS[count][(1,)](*arrays, out, f=function, N=N)
    got = on_the_simulator(KERNELS[count], function, [*arrays, np.zeros_like(out)], tmp_path)
    if name in EXACT:
        np.testing.assert_array_equal(got, out)
    else:
        eps = np.finfo(dtype).eps
        np.testing.assert_allclose(got, out, rtol=16 * eps, atol=4 * eps)
