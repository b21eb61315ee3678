"""Products in block-scaled formats, against float64."""

import linecache

import ml_dtypes
import numpy as np
import pytest

import sectile as st
import sectile.language as tl

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
FP8 = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}


def numbers(rng, name, shape):
    """(what a kernel is given, its numbers); of e2m1 not packed yet."""
    if name == "e2m1":
        codes = rng.integers(0, 16, shape).astype(np.uint8)
        return codes, E2M1[codes]
    if name in FP8:
        made = rng.standard_normal(shape).astype(FP8[name])
        return made.view(np.uint8), made.astype(np.float64)
    kind = np.float16 if name == "fp16" else ml_dtypes.bfloat16
    made = rng.standard_normal(shape).astype(kind)
    return made, made.astype(np.float64)


def packed(codes, axis):
    low, high = (np.take(codes, range(i, codes.shape[axis], 2), axis) for i in (0, 1))
    return np.ascontiguousarray(low | (high << 4))


def scales(rng, name, rows, inner):
    """(what a kernel is given, a factor for each element of [rows, inner])"""
    if name is None:
        return None, 1.0
    if name == "e8m0":
        given = rng.integers(120, 134, (rows, inner // 32)).astype(np.uint8)
        return given, np.repeat(2.0 ** (given.astype(np.float64) - 127), 32, axis=1)
    given = np.abs(rng.standard_normal((rows, inner // 16)) + 0.5).astype(FP8["e4m3"])
    return given, np.repeat(given.astype(np.float64), 16, axis=1)


@st.jit
def product(
    a, sa, b, sb, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
    A_ALONG_K: tl.constexpr, B_ALONG_K: tl.constexpr, SIZE: tl.constexpr, HAS_ACC: tl.constexpr,
):  # fmt: skip
    rows_a: tl.constexpr = M // 2 if A == "e2m1" and not A_ALONG_K else M
    inner_a: tl.constexpr = K // 2 if A == "e2m1" and A_ALONG_K else K
    inner_b: tl.constexpr = K // 2 if B == "e2m1" and B_ALONG_K else K
    columns_b: tl.constexpr = N // 2 if B == "e2m1" and not B_ALONG_K else N
    x = tl.load(a + tl.arange(0, rows_a)[:, None] * inner_a + tl.arange(0, inner_a)[None, :])
    y = tl.load(b + tl.arange(0, inner_b)[:, None] * columns_b + tl.arange(0, columns_b)[None, :])
    k = tl.arange(0, K // SIZE)[None, :]
    x_scale = None if sa is None else tl.load(sa + tl.arange(0, M)[:, None] * (K // SIZE) + k)
    y_scale = None if sb is None else tl.load(sb + tl.arange(0, N)[:, None] * (K // SIZE) + k)
    places = c + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    acc = tl.load(places) if HAS_ACC else None
    z = tl.dot_scaled(x, x_scale, A, y, y_scale, B, acc, lhs_k_pack=A_ALONG_K, rhs_k_pack=B_ALONG_K)
    tl.store(places, z)


def check(a, b, scale_a, scale_b, shape=(32, 48, 64), along_k=(True, True), has_acc=False, seed=0):
    rng = np.random.default_rng(seed)
    m, n, k = shape
    given_a, x = numbers(rng, a, (m, k))
    given_b, y = numbers(rng, b, (k, n))
    if a == "e2m1":
        given_a = packed(given_a, 1 if along_k[0] else 0)
    if b == "e2m1":
        given_b = packed(given_b, 0 if along_k[1] else 1)
    sa, factors_a = scales(rng, scale_a, m, k)
    sb, factors_b = scales(rng, scale_b, n, k)
    c = rng.standard_normal((m, n)).astype(np.float32)
    if sa is not None and scale_a == "e4m3":
        sa = st.reinterpret(sa.view(np.uint8), tl.float8e4nv)
    if sb is not None and scale_b == "e4m3":
        sb = st.reinterpret(sb.view(np.uint8), tl.float8e4nv)
    left, right = x * factors_a, y * (factors_b.T if sb is not None else 1.0)
    expected = left @ right + (c if has_acc else 0)
    size = 16 if "e4m3" in (scale_a, scale_b) else 32
    product[(1,)](given_a, sa, given_b, sb, c, m, n, k, a, b, *along_k, size, has_acc)
    # Scaled operands that fp16 or bf16 do not hold are rounded once; sums are fp32's, of 128 terms at most.
    u = 2.0**-11 if "fp16" in (a, b) else 2.0**-8
    error = (2 * u if "fp16" in (a, b) or scale_a == "e4m3" else 2**-18) * (
        np.abs(left) @ np.abs(right)
    )
    assert np.all(np.abs(c - expected) <= error + 1e-5)


FORMATS = ["e2m1", "e4m3", "e5m2", "bf16", "fp16"]


@pytest.mark.parametrize("b", FORMATS)
@pytest.mark.parametrize("a", FORMATS)
def test_formats(device, a, b):
    for scale_a, scale_b in (("e8m0", "e8m0"), ("e8m0", None), (None, "e8m0"), (None, None)):
        check(a, b, scale_a, scale_b, seed=10 * FORMATS.index(a) + FORMATS.index(b))


@pytest.mark.parametrize("along_k", [(True, True), (False, True), (True, False), (False, False)])
@pytest.mark.parametrize("scale", ["e8m0", "e4m3"])
def test_packing_and_scales(device, along_k, scale):
    check("e2m1", "e2m1", scale, scale, along_k=along_k)
    check("e2m1", "e2m1", scale, scale, (16, 16, 128), along_k, has_acc=True)
    check("e2m1", "e4m3", scale, None, along_k=(along_k[0], True))


def test_scales_at_the_ends_of_their_range(device):
    """2^-127 and 2^127 are exact; 255 is NaN."""
    a = np.full((16, 32), 0x38, np.uint8)  # 1.0
    b = np.full((32, 16), 0x38, np.uint8)
    sa = np.full((16, 1), 127, np.uint8)
    sa[:4, 0] = [0, 254, 255, 1]
    c = np.zeros((16, 16), np.float32)
    product[(1,)](a, sa, b, None, c, 16, 16, 32, "e4m3", "e4m3", True, True, 32, False)
    assert np.isnan(c[2]).all()
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(c[1], np.float32(2.0**127 * 32))  # beyond fp32
    np.testing.assert_array_equal(c[4:], 32)
    np.testing.assert_array_equal(c[3], np.float32(2.0**-126 * 32))


@st.jit
def batches(a, sa, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, 2)[:, None, None]
    rows, inner, columns = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    x = tl.load(a + i * M * K + rows[None, :, None] * K + inner[None, None, :])
    y = tl.load(b + i * N * K + inner[None, :, None] * N + columns[None, None, :])
    scale = tl.load(
        sa
        + i * M * (K // 32)
        + rows[None, :, None] * (K // 32)
        + tl.arange(0, K // 32)[None, None, :]
    )
    z = tl.dot_scaled(x, scale, "e5m2", y, None, "bf16")
    tl.store(c + i * M * N + rows[None, :, None] * N + columns[None, None, :], z)


def test_batches(device):
    rng = np.random.default_rng(5)
    given_a, x = numbers(rng, "e5m2", (2, 16, 64))
    given_b, y = numbers(rng, "bf16", (2, 64, 16))
    sa = rng.integers(120, 134, (2, 16, 2)).astype(np.uint8)
    c = np.zeros((2, 16, 16), np.float32)
    batches[(1,)](given_a, sa, given_b, c, 16, 16, 64)
    left = x * np.repeat(2.0 ** (sa.astype(np.float64) - 127), 32, axis=2)
    np.testing.assert_allclose(c, left @ y, rtol=1e-4, atol=1e-3)


@pytest.mark.host
@pytest.mark.parametrize(
    "call, message",
    {
        "x, s, 'e3m2', y, s, 'e4m3'": "no format 'e3m2' of lhs",
        "x, s, 'e4m3', y, s, 'bf16'": "rhs of format 'bf16' should hold bf16, not u8",
        "x, s, 'e4m3', y.to(tl.float32), s, 'e2m1'": "rhs of format 'e2m1' should hold u8, not fp32",
        "x, tl.zeros((16, 4), tl.uint8), 'e4m3', y, s, 'e4m3'": "lhs_scale is 16x4, and should be 16x1",
        "x, s, 'e4m3', y, tl.zeros((32, 1), tl.uint8), 'e4m3'": "rhs_scale is 32x1, and should be 16x1",
        "x, s.to(tl.float32), 'e4m3', y, s, 'e4m3'": "lhs_scale should hold uint8 (e8m0) or fp8e4nv, not fp32",
        "x, s, 'e4m3', y, s, 'e4m3', lhs_k_pack=False": "lhs_k_pack=False is for e2m1",
        "x, None, 'e4m3', y, None, 'e2m1'": "inner dimensions differ",
        "s, None, 'e4m3', y, s, 'e4m3'": "inner dimensions differ",
        "n, None, 'e4m3', y, s, 'e4m3'": "`lhs` should be a tile, not a scalar i32",
        "tl.arange(0, 16).to(tl.uint8), None, 'e4m3', y, s, 'e4m3'": "lhs should be a matrix",
    }.items(),
)
def test_refusals(call, message):
    source = f"""
def kernel(out, n):
    x = tl.zeros((16, 32), tl.uint8)
    y = tl.zeros((32, 16), tl.uint8)
    s = tl.zeros((16, 1), tl.uint8)
    z = tl.dot_scaled({call})
    tl.store(out, tl.sum(tl.sum(z, 1), 0))
"""
    file = f"refused_{abs(hash(call))}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names = {"tl": tl}
    exec(compile(source, file, "exec", dont_inherit=True), names)
    with pytest.raises(st.CompilationError) as raised:
        st.jit(names["kernel"])[(1,)](np.zeros(4, np.float32), 4)
    assert "dot" in str(raised.value) and message in str(raised.value)
    assert f"{file}:6:" in str(raised.value)
