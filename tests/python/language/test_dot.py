"""tl.dot on every dtype, with odd extents, accumulators and batches."""

import numpy as np
import pytest
from support import DTYPES, random
from test_shape import index_2d

import sectile as st
import sectile.language as tl


@st.jit
def dot(
    a_ptr,
    b_ptr,
    out_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    out_dtype: tl.constexpr,
    precision: tl.constexpr = None,
):
    a = tl.load(a_ptr + index_2d(M, K))
    b = tl.load(b_ptr + index_2d(K, N))
    product = tl.dot(a, b, input_precision=precision, out_dtype=out_dtype)
    tl.store(out_ptr + index_2d(M, N), product)


def assert_float32_product(out, a, b, start, is_tf32):
    """`out` is start + a @ b but for roundings of the sum; and of the operands, each by at most 2^-11, where
    they are rounded to TF32."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    bound = 1e-5 * (np.abs(start + a @ b) + a.shape[1] ** 0.5)
    if is_tf32:
        bound = bound + 2.0**-10 * (np.abs(a) @ np.abs(b))
    assert (np.abs(out - (start + a @ b)) <= bound).all()


@pytest.mark.parametrize(
    "shape",
    [
        (16, 16, 16),
        (64, 64, 64),
        (1, 1, 1),
        (3, 5, 7),
        (17, 33, 65),
        (100, 48, 20),
        (6, 64, 128),
        (13, 130, 3),
    ],
)
def test_float32(shape, device):
    M, N, K = shape
    a, b = random("float32", (M, K), 1), random("float32", (K, N), 2)
    for precision in (None, "ieee"):
        out = np.empty((M, N), np.float32)
        dot[(1,)](a, b, out, M, N, K, tl.float32, precision)
        assert_float32_product(out, a, b, 0, is_tf32=device == "cuda" and precision is None)


# What an operand loses in each precision on a GPU, relative: rounding to 11 bits, or what parts leave over.
LOSS = {"ieee": 0.0, "tf32": 2.0**-11, "tf32x3": 2.0**-21, "bf16x3": 2.0**-15, "bf16x6": 2.0**-21}


@pytest.mark.parametrize("shape", [(16, 16, 16), (17, 33, 65), (64, 64, 64)])
@pytest.mark.parametrize("precision", LOSS)
def test_precisions(precision, shape, device):
    M, N, K = shape
    a, b = random("float32", (M, K), 1), random("float32", (K, N), 2)
    out = np.empty((M, N), np.float32)
    dot[(1,)](a, b, out, M, N, K, tl.float32, precision)
    a, b = a.astype(np.float64), b.astype(np.float64)
    # AMD's instructions of f32 round nothing.
    rounds = device == "cuda" or (device.startswith("hip") and precision.startswith("bf16"))
    loss = LOSS[precision] if rounds else 0.0
    sums = 4 * (K + 2) * 2.0**-24  # tensor cores cut off where IEEE rounds
    assert (np.abs(out - a @ b) <= (2.01 * loss + sums) * (np.abs(a) @ np.abs(b))).all()


@pytest.mark.parametrize("precision", ["bf16x3", "bf16x6"])
def test_parts_of_special_values(precision):
    """Infinities and NaN meet ordinary numbers as in IEEE's sums, though what they leave for other parts is NaN."""
    a, b = random("float32", (16, 32), 1), random("float32", (32, 16), 2)
    a[0, 3], a[1, 4], a[2, 5], b[6, 7] = np.inf, -np.inf, np.nan, np.inf
    b[:4, 9] = 0.0
    out = np.empty((16, 16), np.float32)
    dot[(1,)](a, b, out, 16, 16, 32, tl.float32, precision)
    with np.errstate(invalid="ignore"):
        expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(out, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "name, out_name",
    [
        ("float16", "float32"),
        ("bfloat16", "float32"),
        ("float64", "float64"),
        ("int8", "int32"),
    ],
)
def test_other_types(name, out_name):
    M, N, K = 33, 40, 50
    a, b = random(name, (M, K), 1), random(name, (K, N), 2)
    out = np.empty((M, N), out_name)
    dot[(1,)](a, b, out, M, N, K, DTYPES[out_name][1])
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(
        out,
        expected,
        rtol=1e-5 if out_name != "int32" else 0,
        atol=1e-4 if out_name != "int32" else 0,
    )


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(16, 16, 16), (64, 64, 64), (33, 40, 50)])
@pytest.mark.parametrize("is_turned", [False, True])
def test_widened_halves_lose_nothing(name, shape, is_turned):
    """Products of halves are exact in f32, those of subnormal ones included, however they are multiplied."""

    @st.jit
    def kernel(
        a_ptr, b_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, T: tl.constexpr
    ):
        a = tl.load(a_ptr + index_2d(M, K)).to(tl.float32)
        if T:
            b = tl.trans(tl.load(b_ptr + index_2d(N, K)).to(tl.float32))
        else:
            b = tl.load(b_ptr + index_2d(K, N)).to(tl.float32)
        tl.store(out_ptr + index_2d(M, N), tl.dot(a, b))

    M, N, K = shape
    a, b = random(name, (M, K), 1), random(name, (K, N), 2)
    a[::3] *= np.float32(2.0**-16 if name == "float16" else 2.0**-127)
    out = np.empty((M, N), np.float32)
    kernel[(1,)](a, np.ascontiguousarray(b.T) if is_turned else b, out, M, N, K, is_turned)
    a, b = a.astype(np.float64), b.astype(np.float64)
    bound = 4 * (K + 2) * 2.0**-24 * (np.abs(a) @ np.abs(b)) + 2.0**-149 * K
    assert (np.abs(out - a @ b) <= bound).all()


def products_of_ptx(left, right, chip):
    """The instructions of a kernel that multiplies tiles of 64x64, each loaded as one type and widened to f32."""

    @st.jit
    def kernel(a_ptr, b_ptr, out_ptr):
        at = index_2d(64, 64)
        a = tl.load(a_ptr + at).to(tl.float32)
        b = tl.load(b_ptr + at).to(tl.float32)
        tl.store(out_ptr + at, tl.dot(a, b))

    signature = {"a_ptr": f"*{left}:16", "b_ptr": f"*{right}:16", "out_ptr": "*fp32:16"}
    ptx = st.compile(kernel, signature=signature, target=f"cuda:{chip}", num_warps=4).asm["ptx"]
    return {line.split()[0] for line in ptx.splitlines() if "mma" in line or "tf32" in line}


@pytest.mark.parametrize(
    "left, right, chip, instruction, rounding",
    [
        ("fp16", "fp16", 80, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", None),
        ("bf16", "bf16", 80, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", None),
        ("fp16", "bf16", 80, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", None),
        (
            "fp16",
            "fp32",
            80,
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
            "cvt.rna.tf32.f32",
        ),
        ("fp16", "fp16", 90, "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", None),
        (
            "fp32",
            "fp16",
            90,
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
            "cvt.rn.tf32.f32",
        ),
    ],
)
def test_instructions_of_widened_operands(left, right, chip, instruction, rounding):
    found = products_of_ptx(left, right, chip)
    assert any(text.startswith(instruction) for text in found)
    assert {text for text in found if text.startswith("cvt")} == ({rounding} if rounding else set())


def test_accumulator_in_a_loop_with_transposed_operand(device):
    @st.jit
    def kernel(a_ptr, b_ptr, out_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr):
        total = tl.full((M, N), 1.0, tl.float32)
        for k in range(0, K, BLOCK):
            column = k + tl.arange(0, BLOCK)
            a = tl.load(
                a_ptr + tl.arange(0, M)[:, None] * K + column[None, :],
                mask=column[None, :] < K,
                other=0.0,
            )
            b = tl.load(
                b_ptr + tl.arange(0, N)[:, None] * K + column[None, :],
                mask=column[None, :] < K,
                other=0.0,
            )
            total += tl.dot(a, tl.trans(b))
        tl.store(out_ptr + index_2d(M, N), total)

    a, b = random("float32", (20, 77), 1), random("float32", (35, 77), 2)
    out = np.empty((20, 35), np.float32)
    kernel[(1,)](a, b, out, 77, M=20, N=35, BLOCK=16)
    assert_float32_product(out, a, b.T, 1, is_tf32=device == "cuda")


def test_batched():
    @st.jit
    def kernel(a_ptr, b_ptr, out_ptr):
        batch = tl.arange(0, 3)[:, None, None]
        a = tl.load(
            a_ptr + batch * 20 + tl.arange(0, 4)[None, :, None] * 5 + tl.arange(0, 5)[None, None, :]
        )
        b = tl.load(
            b_ptr + batch * 30 + tl.arange(0, 5)[None, :, None] * 6 + tl.arange(0, 6)[None, None, :]
        )
        c = tl.dot(a, b)
        tl.store(
            out_ptr
            + batch * 24
            + tl.arange(0, 4)[None, :, None] * 6
            + tl.arange(0, 6)[None, None, :],
            c,
        )

    a, b = random("float32", (3, 4, 5), 1), random("float32", (3, 5, 6), 2)
    out = np.empty((3, 4, 6), np.float32)
    kernel[(1,)](a, b, out)
    np.testing.assert_allclose(out, a @ b, rtol=1e-5, atol=1e-5)


def test_chained_products_as_in_attention(device):
    @st.jit
    def kernel(q_ptr, k_ptr, v_ptr, out_ptr, N: tl.constexpr, D: tl.constexpr):
        q = tl.load(q_ptr + index_2d(N, D))
        k = tl.load(k_ptr + index_2d(N, D))
        v = tl.load(v_ptr + index_2d(N, D))
        scores = tl.dot(q, tl.trans(k))
        p = tl.exp(scores - tl.max(scores, axis=1)[:, None])
        p = p / tl.sum(p, axis=1)[:, None]
        tl.store(out_ptr + index_2d(N, D), tl.dot(p, v))

    q, k, v = (random("float32", (24, 16), seed) for seed in range(3))
    out = np.empty_like(q)
    kernel[(1,)](q, k, v, out, N=24, D=16)
    scores = q.astype(np.float64) @ k.T.astype(np.float64)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    # TF32 moves scores of up to 8 by 2^-10 of them, and weights by as much as that.
    atol = 3e-2 if device == "cuda" else 1e-5
    np.testing.assert_allclose(out, p / p.sum(axis=1, keepdims=True) @ v, rtol=1e-4, atol=atol)


def test_four_and_five_dimensions():
    @st.jit
    def kernel(a_ptr, b_ptr, c_ptr, out_ptr, deep_ptr):
        a = tl.reshape(tl.load(a_ptr + tl.arange(0, 120)), (2, 3, 4, 5))
        b = tl.reshape(tl.load(b_ptr + tl.arange(0, 180)), (2, 3, 5, 6))
        c = tl.reshape(tl.load(c_ptr + tl.arange(0, 144)), (2, 3, 4, 6))
        tl.store(out_ptr + tl.arange(0, 144), tl.reshape(tl.dot(a, b, acc=c), (144,)))
        a5, b5 = tl.reshape(a, (2, 1, 3, 4, 5)), tl.reshape(b, (2, 1, 3, 5, 6))
        tl.store(deep_ptr + tl.arange(0, 144), tl.reshape(tl.dot(a5, b5), (144,)))

    a, b = random("float32", (2, 3, 4, 5), 1), random("float32", (2, 3, 5, 6), 2)
    c = random("float32", (2, 3, 4, 6), 3)
    out, deep = np.empty_like(c), np.empty_like(c)
    kernel[(1,)](a, b, c, out, deep)
    np.testing.assert_allclose(out, a @ b + c, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(deep, a @ b, rtol=1e-5, atol=1e-5)
