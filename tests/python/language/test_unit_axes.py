"""Matrices of batches and heads: blocks of extent one along these, which kernels reshape, and blocks of arrays that begin
at an offset."""

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile.tools.tensor_descriptor import TensorDescriptor


def _random(rng, *shape):
    return rng.standard_normal(shape).astype(np.float16)


@st.jit
def _batched(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, HOW: tl.constexpr
):
    batch, m, n = tl.program_id(2), tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        left = a.load([batch, m, k])
        right = b.load([batch, k, n])
        if HOW == "turned":
            right = b.load([batch, n, k]).permute(0, 2, 1)
        if HOW == "computed":
            left = (left.to(tl.float32) * 2.0).to(tl.float16)
        total = tl.dot(left.reshape(BM, BK), right.reshape(BK, BN), total)
    if HOW == "added":
        c.atomic_add([batch, m, n], total[None, :, :])
    elif HOW == "twice":
        both = tl.reshape(total, [1, BM, BN])
        c.store([batch, m, n], both + tl.sum(both, axis=0)[None, :, :])
    else:
        c.store([batch, m, n], total[None, :, :].to(c.dtype) if HOW == "cast" else total.reshape(1, BM, BN))  # fmt: skip


@pytest.mark.parametrize("how", ["plain", "cast", "turned", "computed", "added", "twice"])
def test_batches(device, how):
    rng = np.random.default_rng(sum(map(ord, how)))
    B, M, N, K, BM, BN, BK = 3, 72, 56, 40, 64, 32, 16
    x, y = _random(rng, B, M, K), _random(rng, B, K, N)
    held = np.ascontiguousarray(y.transpose(0, 2, 1)) if how == "turned" else y
    a, b = x, held
    c = np.zeros((B, M, N), np.float16 if how == "cast" else np.float32)
    right = [1, BN, BK] if how == "turned" else [1, BK, BN]
    _batched[2, 2, B](
        TensorDescriptor.from_tensor(a, [1, BM, BK]), TensorDescriptor.from_tensor(b, right),
        TensorDescriptor.from_tensor(c, [1, BM, BN]), M, N, K, BM=BM, BN=BN, BK=BK, HOW=how, num_stages=3,
    )  # fmt: skip
    expected = (
        x.astype(np.float64) @ y.astype(np.float64) * (2 if how in ("computed", "twice") else 1)
    )
    np.testing.assert_allclose(c, expected, rtol=2e-3, atol=3e-2)


@st.jit
def _heads(q, k, v, out, length, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m, head, batch = tl.program_id(0) * BM, tl.program_id(1), tl.program_id(2)
    queries = q.load([batch, m, head, 0]).reshape(BM, D)
    mixed = tl.zeros((BM, D), tl.float32)
    for start in range(0, length, BN):
        keys = k.load([batch, start, head // 2, 0]).reshape(BN, D)
        values = tl.reshape(v.load([batch, start, head // 2, 0]), (BN, D))
        mixed = tl.dot(tl.dot(queries, keys.T).to(tl.float16), values, mixed)
    out.store([batch, m, head, 0], mixed.to(tl.float16)[None, :, None, :])


def test_heads_between_rows_and_columns(device):
    rng = np.random.default_rng(1)
    B, S, H, D, BM, BN = 2, 80, 4, 32, 64, 32
    q, k, v = (_random(rng, B, S, h, D) * np.float16(0.25) for h in (H, H // 2, H // 2))
    out = np.zeros((B, S, H, D), np.float16)
    block = lambda x, rows: TensorDescriptor.from_tensor(x, [1, rows, 1, D])  # noqa: E731
    _heads[2, H, B](
        block(q, BM), block(k, BN), block(v, BN), block(out, BM), S,
        D=D, BM=BM, BN=BN, num_stages=2,
    )  # fmt: skip
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = np.einsum("bmhd,bnhd->bhmn", q, k.repeat(2, axis=2))
    expected = np.einsum("bhmn,bnhd->bmhd", scores, v.repeat(2, axis=2))
    np.testing.assert_allclose(out, expected, rtol=2e-2, atol=5e-2)


@st.jit
def _outside(x, out, first, BM: tl.constexpr, BN: tl.constexpr):
    batch = first + tl.program_id(0)
    tile = x.load([batch, -1, 2]).reshape(BM, BN)
    out.store([batch, 0, 0], (tile + 1.0).reshape(1, BM, BN))


def test_blocks_outside_of_the_array(device):
    """Batches before the first and behind the last are zeros, and are not stored."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((2, 8, 16)).astype(np.float32)
    out = np.full((2, 8, 16), 7, np.float32)
    _outside[4](
        TensorDescriptor.from_tensor(x, [1, 8, 16]), TensorDescriptor.from_tensor(out, [1, 8, 16]),
        -1, BM=8, BN=16,
    )  # fmt: skip
    expected = np.ones_like(x)
    expected[:, 1:, :-2] += x[:, :-1, 2:]
    np.testing.assert_array_equal(out, expected)


@st.jit
def _by_block_pointers(a, c, B, M, N, BM: tl.constexpr, BN: tl.constexpr):
    batch, m = tl.program_id(1), tl.program_id(0) * BM
    source = tl.make_block_ptr(a, (B, M, N), (M * N, N, 1), (batch, m, 0), (1, BM, BN), (2, 1, 0))
    target = tl.make_block_ptr(c, (B, N, M), (M * N, M, 1), (batch, 0, m), (1, BN, BM), (2, 1, 0))
    tile = tl.load(source, boundary_check=(0, 1, 2), padding_option="zero")
    tl.store(target, tl.trans(tile, (0, 2, 1)), boundary_check=(0, 1, 2))


def test_block_pointers(device):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((3, 20, 9)).astype(np.float32)
    out = np.zeros((3, 9, 20), np.float32)
    _by_block_pointers[2, 3](x, out, 3, 20, 9, BM=16, BN=16)
    np.testing.assert_array_equal(out, x.transpose(0, 2, 1))


@st.jit
def _attention(
    q, k, v, out, batch_stride, head_stride, row_stride, heads, length, HOW: tl.constexpr, D: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Flash attention with block pointers from each head on, or with pointers."""
    program = tl.program_id(1)
    batch, head, m = program // heads, program % heads, tl.program_id(0) * BM
    start = batch.to(tl.int64) * batch_stride + head.to(tl.int64) * head_stride
    columns = tl.arange(0, D)[None, :]
    shape, strides = (length, D), (row_stride, 1)
    query_block = tl.make_block_ptr(q + start, shape, strides, (m, 0), (BM, D), (1, 0))
    key_block = tl.make_block_ptr(k + start, (D, length), (1, row_stride), (0, 0), (D, BN), (0, 1))
    value_block = tl.make_block_ptr(v + start, shape, strides, (0, 0), (BN, D), (1, 0))
    queries = tl.load(query_block, boundary_check=(0,), padding_option="zero")
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    mixed = tl.zeros((BM, D), tl.float32)
    for n in range(0, length, BN):
        rows = n + tl.arange(0, BN)
        if HOW == "blocks":
            keys = tl.load(key_block, boundary_check=(1,), padding_option="zero")
            values = tl.load(value_block, boundary_check=(0,), padding_option="zero")
        else:
            places = start + rows[:, None] * row_stride + columns
            if HOW == "narrow":
                places = (
                    batch * batch_stride + head * head_stride + rows[:, None] * row_stride + columns
                )
            keys = tl.load(k + places, mask=rows[:, None] < length, other=0.0).T
            values = tl.load(v + places, mask=rows[:, None] < length, other=0.0)
        scores = tl.where(rows[None, :] < length, tl.dot(queries, keys), -float("inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        shrink = tl.exp2(top - new_top)
        weights = tl.exp2(scores - new_top[:, None])
        total = total * shrink + tl.sum(weights, axis=1)
        mixed = tl.dot(weights.to(tl.float16), values, mixed * shrink[:, None])
        top = new_top
        key_block = tl.advance(key_block, (0, BN))
        value_block = tl.advance(value_block, (BN, 0))
    results = tl.make_block_ptr(out + start, shape, strides, (m, 0), (BM, D), (1, 0))
    tl.store(results, (mixed / total[:, None]).to(tl.float16), boundary_check=(0,))


@pytest.mark.parametrize("between", [False, True])
@pytest.mark.parametrize("how", ["blocks", "wide", "narrow"])
def test_arrays_from_each_head_on(device, how, between):
    """Heads before rows, and between rows and columns."""
    B, H, S, D = 2, 3, 150, 64
    rng = np.random.default_rng(5)
    q, k, v = (_random(rng, B, S, H, D) if between else _random(rng, B, H, S, D) for _ in range(3))
    q *= np.float16(0.25)
    out = np.full_like(q, np.nan)
    strides = (S * H * D, D, H * D) if between else (H * S * D, S * D, D)
    _attention[3, B * H](q, k, v, out, *strides, H, S, how, D, 64, 32, num_stages=2)
    axes = (0, 2, 1, 3) if between else (0, 1, 2, 3)
    q, k, v, out = (x.transpose(axes).astype(np.float64) for x in (q, k, v, out))
    weights = np.exp2(np.einsum("bhmd,bhnd->bhmn", q, k))
    expected = np.einsum("bhmn,bhnd->bhmd", weights / weights.sum(-1, keepdims=True), v)
    np.testing.assert_allclose(out, expected, rtol=0, atol=4e-3)


@pytest.mark.parametrize("how", ["blocks", "wide", "narrow"])
def test_the_copy_engine_reads_arrays_from_each_head_on(how):
    signature = dict.fromkeys(["q", "k", "v", "out"], "*fp16:16")
    signature |= dict.fromkeys(["batch_stride", "head_stride", "row_stride"], "i32:16")
    compiled = st.compile(
        _attention, signature | {"heads": "i32", "length": "i32"}, HOW=how, D=128, BM=128, BN=128,
        target="cuda:90", num_warps=8, num_stages=2,
    )  # fmt: skip
    ptx = compiled.asm["ptx"]
    assert "cp.async.bulk.tensor.4d.shared" in ptx and "cp.async.bulk.tensor.4d.global" in ptx
    assert "producer" in _kinds(compiled) and compiled.n_spills in (0, None)


def _kinds(compiled):
    return [remark["kind"] for remark in compiled.remarks]


def test_the_copy_engine_reads_and_writes_blocks_of_batches():
    def block(*extents):
        return f"tensordesc<fp16[{', '.join(map(str, extents))}]>(i32:16, i32:16, i32:16) strides (i32:16, i32:16, 1)"

    compiled = st.compile(
        _batched,
        {"a": block(1, 128, 64), "b": block(1, 64, 128), "c": block(1, 128, 128), "M": "i32", "N": "i32", "K": "i32"},
        BM=128, BN=128, BK=64, HOW="cast", target="cuda:90", num_warps=8, num_stages=3,
    )  # fmt: skip
    ptx = compiled.asm["ptx"]
    assert "cp.async.bulk.tensor.3d.shared" in ptx
    assert "cp.async.bulk.tensor.3d.global" in ptx
    assert "wgmma" in ptx and "mma.sync" not in ptx and compiled.n_spills in (0, None)
    assert _kinds(compiled).count("pipelined") == 2
