"""Loops of matrix products: any number of rounds, tails of the depth, several products, stages asked for."""

import numpy as np
import pytest
from support import random

import sectile as st
import sectile.language as tl


@st.jit
def product(
    a,
    b,
    out,
    M,
    N,
    K,
    b_row,
    b_column,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    STAGES: tl.constexpr,
    IS_MASKED: tl.constexpr,
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in tl.range(0, K, BK, num_stages=STAGES):
        k = start + tl.arange(0, BK)
        left = a + m[:, None] * K + k[None, :]
        right = b + k[:, None] * b_row + n[None, :] * b_column
        if IS_MASKED:
            x = tl.load(left, (m[:, None] < M) & (k[None, :] < K), other=0)
            y = tl.load(right, (k[:, None] < K) & (n[None, :] < N), other=0)
        else:
            x = tl.load(left)
            y = tl.load(right)
        total = tl.dot(x, y, total)
    tl.store(out + m[:, None] * N + n[None, :], total, (m[:, None] < M) & (n[None, :] < N))


def check_product(name, shape, blocks, stages, is_transposed=False, warps=4):
    M, N, K = shape
    BM, BN, BK = blocks
    a, b = random(name, (M, K), 1), random(name, (K, N), 2)
    for operand in (a, b):  # gfx90a takes subnormal operands as zero
        operand[np.abs(operand) < 2.0**-14] = 0
    held = np.ascontiguousarray(b.T) if is_transposed else b
    strides = (1, K) if is_transposed else (N, 1)
    is_masked = any(extent % block for extent, block in zip(shape, blocks))
    out = np.full((M, N), 77, np.float32)
    product[(-(-M // BM), -(-N // BN))](
        a, held, out, M, N, K, *strides, BM, BN, BK, stages, is_masked, num_warps=warps
    )
    exact = a.astype(np.float64) @ b.astype(np.float64)
    # Sums of exact products in f32.
    bound = 2.0**-22 * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)) + 1e-30
    assert (np.abs(out - exact) <= np.maximum(bound, 1e-6)).all()


@pytest.mark.parametrize("stages", (1, 2, 4))
@pytest.mark.parametrize("rounds", (0, 1, 2, 5))
def test_rounds(rounds, stages):
    check_product("float16", (64, 64, 32 * rounds), (64, 64, 32), stages)


@pytest.mark.parametrize("is_transposed", (False, True))
@pytest.mark.parametrize("shape", ((64, 64, 40), (50, 70, 33), (64, 48, 8), (33, 64, 96)))
def test_tails(shape, is_transposed):
    check_product("float16", shape, (32, 64, 32), 2, is_transposed)


@pytest.mark.parametrize("is_transposed", (False, True))
@pytest.mark.parametrize("blocks", ((128, 128, 64), (128, 128, 32), (32, 128, 128), (64, 64, 16)))
def test_blocks(blocks, is_transposed):
    """Of one stage and of two on GPUs that have 64 KiB, and of too many registers for some."""
    check_product("float16", (128, 128, 256), blocks, 2, is_transposed)


@pytest.mark.parametrize("blocks", ((96, 64, 32), (64, 48, 96)))
def test_extents_that_are_no_powers_of_two(blocks):
    check_product("float16", (100, 96, 192), blocks, 2)


def test_bfloat16():
    check_product("bfloat16", (64, 64, 96), (64, 64, 32), 2)


@pytest.mark.parametrize("K", (0, 32, 77))
def test_several_products_and_other_users(K):
    """Two products take `x`; a sum takes `z` besides a product; `w` is of the round's number."""

    @st.jit
    def kernel(a, b, c, first, second, sums, K, B: tl.constexpr, BK: tl.constexpr):
        i = tl.arange(0, B)
        one, two = tl.zeros((B, B), tl.float32), tl.zeros((B, B), tl.float32)
        total = tl.zeros((B,), tl.float32)
        for start in range(0, K, BK):
            k = start + tl.arange(0, BK)
            x = tl.load(a + i[:, None] * K + k[None, :], k[None, :] < K, other=0)
            y = tl.load(b + k[:, None] * B + i[None, :], k[:, None] < K, other=0)
            z = tl.load(c + k[:, None] * B + i[None, :], k[:, None] < K, other=0)
            one = tl.dot(x, y, one)
            two = tl.dot(x, z, two)
            total += tl.sum(z.to(tl.float32), 0) + start
            two += tl.max(one, 1)[:, None]
        tl.store(first + i[:, None] * B + i[None, :], one)
        tl.store(second + i[:, None] * B + i[None, :], two)
        tl.store(sums + i, total)

    B, BK = 64, 32
    a, b, c = (
        random("int8", shape, seed, -4, 4).astype(np.float16)
        for seed, shape in enumerate(((B, K), (K, B), (K, B)))
    )
    first, second = (np.full((B, B), 77, np.float32) for _ in range(2))
    sums = np.full(B, 77, np.float32)
    kernel[(1,)](a, b, c, first, second, sums, K, B, BK)
    a, b, c = (x.astype(np.float64) for x in (a, b, c))
    one, two = np.zeros((B, B)), np.zeros((B, B))
    for start in range(0, K, BK):
        part = slice(start, start + BK)
        one += a[:, part] @ b[part]
        two += a[:, part] @ c[part] + one.max(1)[:, None]
    np.testing.assert_array_equal(first, one)
    np.testing.assert_array_equal(second, two)
    np.testing.assert_array_equal(sums, c.sum(0) + sum(range(0, K, BK)))


@pytest.mark.parametrize("tiles", (1, 3))
def test_loops_in_a_loop(tiles):
    """The next tile's loop writes the buffers that slower threads may still read."""

    @st.jit
    def kernel(a, b, out, K, tiles, B: tl.constexpr, BK: tl.constexpr):
        i = tl.arange(0, B)
        for tile in range(tiles):
            total = tl.zeros((B, B), tl.float32)
            for start in range(0, K, BK):
                k = start + tl.arange(0, BK)
                x = tl.load(a + (tile * B + i[:, None]) * K + k[None, :])
                y = tl.load(b + k[:, None] * B + i[None, :])
                total = tl.dot(x, y, total)
            tl.store(out + (tile * B + i[:, None]) * B + i[None, :], total)

    B, BK, K = 64, 32, 96
    a = random("int8", (tiles * B, K), 1, -4, 4).astype(np.float16)
    b = random("int8", (K, B), 2, -4, 4).astype(np.float16)
    out = np.full((tiles * B, B), 77, np.float32)
    kernel[(1,)](a, b, out, K, tiles, B, BK)
    np.testing.assert_array_equal(out, a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("is_causal", (False, True))
def test_attention(is_causal):
    """Chained products: the second one's operand is loaded with the first's, and read after a softmax."""

    @st.jit
    def kernel(
        q, k, v, out, N, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr
    ):  # fmt: skip
        m = tl.program_id(0) * BM + tl.arange(0, BM)
        d = tl.arange(0, D)
        queries = tl.load(q + m[:, None] * D + d[None, :])
        most = tl.full((BM,), -float("inf"), tl.float32)
        weight = tl.zeros((BM,), tl.float32)
        total = tl.zeros((BM, D), tl.float32)
        end = N
        if CAUSAL:
            end = (tl.program_id(0) + 1) * BM
        for start in range(0, end, BN):
            n = start + tl.arange(0, BN)
            keys = tl.load(k + n[None, :] * D + d[:, None])
            values = tl.load(v + n[:, None] * D + d[None, :])
            scores = tl.dot(queries, keys) * scale
            if CAUSAL:
                scores = tl.where(m[:, None] >= n[None, :], scores, -float("inf"))
            now = tl.maximum(most, tl.max(scores, 1))
            p = tl.exp(scores - now[:, None])
            shrink = tl.exp(most - now)
            weight = weight * shrink + tl.sum(p, 1)
            total = tl.dot(p.to(tl.float16), values, total * shrink[:, None])
            most = now
        tl.store(out + m[:, None] * D + d[None, :], total / weight[:, None])

    N, D, BM, BN = 128, 64, 64, 32
    q, k, v = (random("float16", (N, D), seed) for seed in range(3))
    out = np.full((N, D), 77, np.float32)
    kernel[(N // BM,)](q, k, v, out, N, D**-0.5, D, BM, BN, is_causal)
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.T * D**-0.5
    if is_causal:
        scores = np.where(np.tri(N, dtype=bool), scores, -np.inf)
    p = np.exp(scores - scores.max(1, keepdims=True))
    exact = p / p.sum(1, keepdims=True) @ v
    np.testing.assert_allclose(out, exact, rtol=0, atol=4e-3)


@st.jit
def attention_by_blocks(
    q, k, v, out, length, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, STAGES: tl.constexpr
):
    rows = tl.make_block_ptr(q, (length, D), (D, 1), (tl.program_id(0) * M, 0), (M, D), (1, 0))
    queries = tl.load(rows)
    top = tl.full((M,), float("-inf"), tl.float32)
    total = tl.zeros((M,), tl.float32)
    acc = tl.zeros((M, D), tl.float32)
    for start in tl.range(0, length, N, num_stages=STAGES):
        keys = tl.load(tl.make_block_ptr(k, (D, length), (1, D), (0, start), (D, N), (0, 1)))
        scores = tl.dot(queries, keys)
        highest = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp2(scores - highest[:, None])
        fade = tl.exp2(top - highest)
        values = tl.load(tl.make_block_ptr(v, (length, D), (D, 1), (start, 0), (N, D), (1, 0)))
        total = total * fade + tl.sum(p, 1)
        acc = tl.dot(p.to(values.dtype), values, acc * fade[:, None])
        top = highest
    place = tl.make_block_ptr(out, (length, D), (D, 1), (tl.program_id(0) * M, 0), (M, D), (1, 0))
    tl.store(place, (acc / total[:, None]).to(out.dtype.element_ty))


def remarks_of_attention(dtype, stages, **constants):
    signature = dict.fromkeys(["q", "k", "v", "out"], f"*{dtype}:16") | {"length": "i32:16"}
    compiled = st.compile(
        attention_by_blocks, signature=signature, target="cuda:90", num_warps=4, num_stages=4,
        STAGES=stages, **constants,
    )  # fmt: skip
    return {(remark["kind"], remark["text"]) for remark in compiled.remarks}


@pytest.mark.host
def test_products_of_single_warps_leave_room_for_a_second_program():
    shape = {"M": 32, "N": 32, "D": 128}
    said = remarks_of_attention("fp32", None, **shape)
    assert ("hint", "num_stages=4: with 3 a multiprocessor has room for 2 programs") in said
    assert [text for kind, text in said if kind == "pipelined" and "through 3 stages" in text]
    assert "not-persistent" in [kind for kind, _ in said]
    # A loop has what it asks for itself.
    said = remarks_of_attention("fp32", 4, **shape)
    assert [text for kind, text in said if kind == "pipelined" and "through 4 stages" in text]


@pytest.mark.parametrize("length", [64, 256])
@pytest.mark.parametrize("stages", [2, 3, 4])
def test_attention_by_blocks_of_float32(length, stages):
    M, N, D = 32, 32, 64
    random = np.random.default_rng(length)
    q, k, v = (random.standard_normal((length, D)).astype(np.float32) for _ in range(3))
    q *= np.float32(0.1)
    out = np.full((length, D), np.nan, np.float32)
    attention_by_blocks[(length // M,)](q, k, v, out, length, M, N, D, None, num_stages=stages)
    scores = q.astype(np.float64) @ k.astype(np.float64).T
    p = np.exp2(scores - scores.max(1, keepdims=True))
    expected = p @ v.astype(np.float64) / p.sum(1, keepdims=True)
    np.testing.assert_allclose(out, expected, rtol=0, atol=5e-3)
