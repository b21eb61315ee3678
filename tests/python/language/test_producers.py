"""Loops whose copies a thread beside the program starts: attention in blocks of 128x128, which fill a multiprocessor."""

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile.tools.tensor_descriptor import TensorDescriptor


@st.jit
def _tile_of(q, k, v, out, rows, length, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    queries = q.load([rows, 0])
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    mixed = tl.zeros((BM, D), tl.float32)
    for start in range(0, length, BN):
        scores = tl.dot(queries, k.load([start, 0]).T)
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        shrink = tl.exp2(top - new_top)
        weights = tl.exp2(scores - new_top[:, None])
        total = total * shrink + tl.sum(weights, axis=1)
        mixed = tl.dot(weights.to(tl.float16), v.load([start, 0]), mixed * shrink[:, None])
        top = new_top
    out.store([rows, 0], mixed / total[:, None])


@st.jit
def _attention(q, k, v, out, length, tiles, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        _tile_of(q, k, v, out, tile * BM, length, D, BM, BN)


@st.jit
def _one_tile(
    q, k, v, out, length, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, lengths=None,
    OF_TILE: tl.constexpr = False,
):  # fmt: skip
    if OF_TILE:
        length = tl.max(tl.load(lengths + tl.arange(0, 16)), axis=0)
    elif lengths is not None:
        length = tl.load(lengths + tl.program_id(0))
    _tile_of(q, k, v, out, tl.program_id(0) * BM, length, D, BM, BN)


def _compiled(kernel, has_lengths=False, of_tile=False, **options):
    def block(rows, element="fp16"):
        return f"tensordesc<{element}[{rows}, 128]>(i32:16, i32:16) strides (i32:16, 1)"

    signature = {"q": block(128), "k": block(128), "v": block(128), "out": block(128, "fp32"), "length": "i32"}  # fmt: skip
    if kernel is _attention:
        signature["tiles"] = "i32"
    signature |= {"D": 128, "BM": 128, "BN": 128}
    if has_lengths:
        signature |= {"lengths": "*i32", "OF_TILE": of_tile}
    with st.knobs.scope(keep_stages=True):
        return st.compile(kernel, signature, target="cuda:90", num_warps=8, num_stages=2, **options)


@pytest.mark.parametrize("kernel", [_one_tile, _attention])
def test_a_thread_beside_the_program_starts_copies(kernel):
    compiled = _compiled(kernel)
    assert "producer" in {remark["kind"] for remark in compiled.remarks}
    ptx = compiled.asm["ptx"]
    assert ".reqntid 384" in ptx
    # Copies stand beside the program alone, which has the others' registers.
    before, after = ptx.split("setmaxnreg.inc.sync.aligned.u32 \t240;")
    assert "setmaxnreg.dec.sync.aligned.u32 \t24;" in before + after
    # Those of the queries, too: both kernels go on into the next tile.
    assert ptx.count("cp.async.bulk.tensor.2d.shared") == 6
    assert compiled.metadata.num_warps == 8
    assert compiled.metadata.threads == 384
    assert compiled.n_spills in (0, None)


@st.jit
def _weighted_queries(q, k, out, length, LATE: tl.constexpr):
    rows = tl.program_id(0) * 128
    queries = q.load([rows, 0])
    mixed = tl.zeros((128, 128), tl.float32)
    for start in range(0, length, 128):
        keys = k.load([start, 0])
        weights = tl.exp2(tl.dot(queries, keys.T) * 0.01)
        mixed = tl.dot(weights.to(tl.float16), queries if LATE else keys, mixed)
    out.store([rows, 0], mixed.to(tl.float16))


@pytest.mark.parametrize("late", [False, True])
def test_what_a_late_product_reads_is_not_given_back_behind_the_loop(late):
    block = "tensordesc<fp16[128, 128]>(i32:16, i32:16) strides (i32:16, 1)"
    signature = {"q": block, "k": block, "out": block, "length": "i32", "LATE": late}
    compiled = st.compile(_weighted_queries, signature, target="cuda:90", num_warps=8, num_stages=2)
    remarks = [remark["text"] for remark in compiled.remarks if remark["kind"] == "pipelined"]
    assert any("round before of the loop around" in text for text in remarks) == (not late)


def test_registers_that_a_user_bounds_are_not_shared_out():
    compiled = _compiled(_one_tile, maxnreg=240)
    assert "overlapped" in {remark["kind"] for remark in compiled.remarks}
    assert "setmaxnreg" not in compiled.asm["ptx"]


def test_a_producer_computes_its_numbers_itself():
    assert _compiled(_one_tile, has_lengths=True).metadata.threads == 384
    compiled = _compiled(_one_tile, has_lengths=True, of_tile=True)
    assert compiled.metadata.threads == 256
    (remark,) = (each for each in compiled.remarks if each["kind"] == "no-producer")
    assert "more than arithmetic" in remark["text"]


@pytest.mark.parametrize("length", [0, 128, 256, 640])
@pytest.mark.parametrize(
    "kernel, has_lengths", [(_one_tile, False), (_one_tile, True), (_attention, False)]
)
def test_attention_in_large_blocks(device, kernel, has_lengths, length):
    D, tiles = 128, 3
    random = np.random.default_rng(length)
    q = (random.standard_normal((tiles * 128, D)) * 0.2).astype(np.float16)
    k, v = (random.standard_normal((max(length, 128), D)).astype(np.float16) for _ in range(2))
    out = np.full((tiles * 128, D), np.nan, np.float32)
    blocks = [TensorDescriptor.from_tensor(x, [128, D]) for x in (q, k, v, out)]
    if kernel is _attention:
        kernel[(2,)](*blocks, length, tiles, D, 128, 128, num_warps=8, num_stages=2)
    else:
        lengths = np.full(tiles, length, np.int32) if has_lengths else None
        kernel[(tiles,)](*blocks, length, D, 128, 128, lengths, num_warps=8, num_stages=2)
    scores = q.astype(np.float64) @ k[:length].astype(np.float64).T
    weights = np.exp2(scores - scores.max(axis=1, initial=-np.inf, keepdims=True))
    with np.errstate(invalid="ignore"):
        expected = weights @ v[:length].astype(np.float64) / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(out, expected, rtol=0, atol=2e-3)
