"""Math functions against float64 (float32) and long double (float64) references."""

import math
import runpy

import numpy as np
import pytest
from support import assert_close, random

import sectile as st
import sectile.language as tl
from sectile.language.extra import libdevice


@st.jit
def unary(x_ptr, out_ptr, N: tl.constexpr, f: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, f(tl.load(x_ptr + i)))


FUNCTIONS = {
    # name: (kernel function, reference, low, high)
    "exp": (tl.exp, np.exp, -80, 80),
    "exp2": (tl.exp2, np.exp2, -100, 100),
    "log": (tl.log, np.log, 1e-6, 1e6),
    "log2": (tl.log2, np.log2, 1e-6, 1e6),
    "sin": (tl.sin, np.sin, -100, 100),
    "cos": (tl.cos, np.cos, -100, 100),
    "sqrt": (tl.sqrt, np.sqrt, 0, 1e6),
    "sqrt_rn": (tl.sqrt_rn, np.sqrt, 0, 1e6),
    "rsqrt": (tl.rsqrt, lambda x: 1 / np.sqrt(x), 1e-6, 1e6),
    "erf": (tl.erf, np.vectorize(math.erf, otypes=[float]), -4, 4),
    "floor": (tl.floor, np.floor, -100, 100),
    "ceil": (tl.ceil, np.ceil, -100, 100),
    "abs": (tl.abs, np.abs, -100, 100),
    "sigmoid": (tl.sigmoid, lambda x: 1 / (1 + np.exp(-x)), -30, 30),
}


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_function(function, name, device):
    f, reference, low, high = FUNCTIONS[function]
    x = random(name, 10_001, low=low, high=high)
    out = np.empty_like(x)
    unary[(1,)](x, out, N=x.size, f=f)
    exact = x.astype(np.float64 if name == "float32" else np.longdouble)
    expected = reference(exact).astype(np.float64)
    # sin and cos near their zeros: absolute against one.
    scale = np.maximum(np.abs(expected), 0.01) if function in ("sin", "cos") else None
    ulps = 4
    if device == "cuda" and name == "float32" and function in ("exp", "sigmoid"):
        ulps = ulps + np.abs(x)  # ex2.approx(x log2(e)), as in Triton: the product is rounded
    assert_close(out, expected, name, ulps=ulps, scale=scale)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_special_values(name):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40], name)
    out = np.empty_like(x)
    for f, reference in (
        (tl.exp, np.exp),
        (tl.log, np.log),
        (tl.sqrt, np.sqrt),
        (tl.exp2, np.exp2),
    ):
        unary[(1,)](x, out, N=x.size, f=f)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(out, reference(x), rtol=1e-6)


@pytest.mark.parametrize(
    ("numerics", "instruction"), [("default", "ex2.approx.ftz.f32"), ("strict", "ex2.approx.f32")]
)
def test_small_powers_of_two_are_zero_on_nvidia_unless_numerics_are_strict(numerics, instruction):
    @st.jit
    def kernel(out, x):
        i = tl.arange(0, 128)
        tl.store(out + i, tl.exp2(tl.load(x + i)))

    compiled = st.compile(kernel, {"out": "*fp32", "x": "*fp32"}, {}, "cuda:90", numerics=numerics)
    assert instruction in compiled.asm["ptx"]


def test_fma_rounds_once_and_umulhi():
    @st.jit
    def kernel(x_ptr, y_ptr, z_ptr, out_ptr, a_ptr, b_ptr, high_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(out_ptr + i, tl.fma(tl.load(x_ptr + i), tl.load(y_ptr + i), tl.load(z_ptr + i)))
        tl.store(high_ptr + i, tl.umulhi(tl.load(a_ptr + i), tl.load(b_ptr + i)))

    x, y, z = (random("float32", 1000, seed) for seed in range(3))
    a, b = random("uint32", 1000, 3), random("uint32", 1000, 4)
    out, high = np.empty_like(x), np.empty_like(a)
    kernel[(1,)](x, y, z, out, a, b, high, N=1000)
    # The product of two float32 is exact in float64; the sum then rounds twice, seldom visibly.
    expected = (x.astype(np.longdouble) * y + z).astype(np.float32)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(
        high, (a.astype(np.uint64) * b.astype(np.uint64)) >> np.uint64(32)
    )


def test_softmax_along_rows():
    @st.jit
    def kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
        i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
        tl.store(out_ptr + i, tl.softmax(tl.load(x_ptr + i), dim=1))

    x = random("float32", (7, 33))
    out = np.empty_like(x)
    kernel[(1,)](x, out, M=7, N=33)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(axis=1, keepdims=True), rtol=1e-5)


def test_libdevice_asin():
    from sectile.language.extra import libdevice

    @st.jit
    def kernel(x_ptr, out_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(out_ptr + i, libdevice.asin(tl.load(x_ptr + i)))

    x = random("float32", 1000, low=-1, high=1)
    out = np.empty_like(x)
    kernel[(1,)](x, out, N=1000)
    assert_close(out, np.arcsin(x.astype(np.float64)), "float32", ulps=4)


FUNCTIONS_OF_F32 = (
    "tl.log(x)", "tl.log2(x)", "tl.exp(x)", "libdevice.tanh(x)", "libdevice.atan(x)", "libdevice.pow(x, x)",
    "libdevice.pow(x, 3.0)", "libdevice.exp10(x)", "libdevice.cbrt(x)", "libdevice.erfc(x)", "libdevice.asinh(x)",
    "libdevice.acosh(x)", "libdevice.atanh(x)", "libdevice.hypot(x, x)", "libdevice.log1p(x)", "libdevice.sinh(x)",
)  # fmt: skip


@pytest.mark.parametrize("formula", FUNCTIONS_OF_F32)
def test_functions_of_f32_stay_in_f32_on_gpus(formula, tmp_path):
    # Most GPUs have 32 or 64 times fewer units for f64, and `div.rn` and `sqrt.rn` are calls.
    path = tmp_path / "kernels.py"
    path.write_text(
        "import sectile as st, sectile.language as tl\n"
        "from sectile.language.extra import libdevice\n"
        "@st.jit\n"
        "def kernel(p):\n"
        "    i = tl.arange(0, 128)\n"
        "    x = tl.load(p + i)\n"
        f"    tl.store(p + i, {formula})\n"
    )
    namespace = runpy.run_path(str(path))
    ptx = st.compile(namespace["kernel"], {"p": "*fp32:16"}, target="cuda:90").asm["ptx"]
    assert ".f64" not in ptx and "div.rn" not in ptx and "sqrt.rn" not in ptx, formula


EXTREMES = {
    "log": (tl.log, np.log), "log2": (tl.log2, np.log2), "log10": (libdevice.log10, np.log10),
    "log1p": (libdevice.log1p, np.log1p), "tanh": (libdevice.tanh, np.tanh), "atan": (libdevice.atan, np.arctan),
    "sinh": (libdevice.sinh, np.sinh), "cosh": (libdevice.cosh, np.cosh), "asinh": (libdevice.asinh, np.arcsinh),
    "acosh": (libdevice.acosh, np.arccosh), "atanh": (libdevice.atanh, np.arctanh), "cbrt": (libdevice.cbrt, np.cbrt),
    "asin": (libdevice.asin, np.arcsin), "acos": (libdevice.acos, np.arccos), "expm1": (libdevice.expm1, np.expm1),
    "erfc": (libdevice.erfc, np.vectorize(math.erfc, otypes=[float])),
    "exp10": (libdevice.exp10, lambda x: np.power(10.0, x)),
}  # fmt: skip


@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_arguments(name, device):
    # Where a GPU's instruction for reciprocals gives 0 or infinity, which quotients must not be made of.
    f, reference = EXTREMES[name]
    powers = np.exp2(np.arange(-149.0, 128.0))
    some = np.array([0, np.inf, np.nan, np.finfo(np.float32).max, 0.5, 1, 1.5, 2, 10])
    x = np.concatenate([powers, powers * 1.25, some])
    x = np.concatenate([x, -x]).astype(np.float32)
    x = np.resize(x, 2048)
    got = np.empty_like(x)
    unary[(1,)](x, got, N=x.size, f=f)
    with np.errstate(all="ignore"):
        expected = reference(x.astype(np.float64)).astype(np.float32)
    assert (np.isnan(got) == np.isnan(expected)).all(), x[np.isnan(got) != np.isnan(expected)]
    numbers = ~np.isnan(expected)
    with np.errstate(invalid="ignore"):
        near = np.abs(got - expected) <= 1e-6 * np.abs(expected) + 5 * 2.0**-149
    wrong = numbers & ~((got == expected) | near)
    assert not wrong.any(), list(zip(x[wrong], got[wrong], expected[wrong]))[:8]


@st.jit
def quantize(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, libdevice.llrint(tl.abs(v).to(tl.float32) * 100.0))


@pytest.mark.host
def test_signs_of_halves_and_rounded_conversions_are_one_instruction():
    ptx = st.compile(quantize, {"x": "*fp16:16", "out": "*i64:16"}, {"N": 128}, "cuda:90").asm[
        "ptx"
    ]
    assert "cvt.rni.s64.f32" in ptx
    assert "cvt.rni.f32.f32" not in ptx and "cvt.rn.f16.f32" not in ptx


@pytest.mark.parametrize("name", ["float16", "float32"])
def test_rounded_conversions(device, name):
    x = np.array([0.005, -0.015, 0.025, 3.7, -655.04, 0.0, -0.0, 1e-7], name).repeat(16)
    out = np.zeros(x.size, np.int64)
    quantize[(1,)](x, out, x.size)
    expected = np.rint((np.abs(x).astype(np.float32) * np.float32(100)).astype(np.float64))
    np.testing.assert_array_equal(out, expected.astype(np.int64))
