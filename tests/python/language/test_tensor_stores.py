"""Tiles that Hopper's copy engine stores from shared memory: their code needs no GPU; results elsewhere are those of any
store."""

import numpy as np
import pytest
from support import numpy_dtype, remarks_of

import sectile as st
import sectile.language as tl


@st.jit
def _stored(
    a,
    out,
    count,
    M,
    N,
    row,
    BM: tl.constexpr,
    BN: tl.constexpr,
    HOW: tl.constexpr,
    WHAT: tl.constexpr,
):
    """Products of `a` with itself, turned, which threads do not hold as memory wants them."""
    down, across = tl.arange(0, BM), tl.arange(0, BN)
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    left = tl.load(
        a + (i + down)[:, None] * 32 + tl.arange(0, 32)[None, :], mask=i + down[:, None] < M
    )
    right = tl.load(a + (j + across)[:, None] * 32 + tl.arange(0, 32)[None, :])
    x = tl.dot(left, right.T).to(out.dtype.element_ty)
    if HOW == "pointers":
        # Only in kernels with products in loops do pointers tell of blocks.
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, 32, 16):
            inner = k + tl.arange(0, 16)[None, :]
            x_k = tl.load(a + (i + down)[:, None] * 32 + inner, mask=i + down[:, None] < M)
            y_k = tl.load(a + (j + across)[:, None] * 32 + inner)
            total = tl.dot(x_k, y_k.T, total)
        x = total.to(out.dtype.element_ty)
    if WHAT == "counted":
        tl.atomic_add(count, 1)
    if WHAT == "read":
        x += tl.load(out)
    if HOW == "descriptor":
        block = tl.make_tensor_descriptor(out, [M, N], [row, 1], [BM, BN])
        if WHAT == "halves" or WHAT == "halves of rows":
            width = row if WHAT == "halves of rows" else N
            block = tl.make_tensor_descriptor(out, [M, width], [row, 1], [BM, BN // 2])
            for half in tl.static_range(2):
                beside = j + half * (BN // 2)
                places = (
                    a + (beside + tl.arange(0, BN // 2))[:, None] * 32 + tl.arange(0, 32)[None, :]
                )
                x = tl.dot(left, tl.load(places).T).to(out.dtype.element_ty)
                block.store([i, beside], x)
        else:
            block.store([i, j], x)
            if WHAT == "twice":
                block.store([i, j + 8], tl.dot(left, left.T).to(tl.float16))
    elif HOW == "block":
        block = tl.make_block_ptr(out, (M, N), (row, 1), (i, j), (BM, BN), (1, 0))
        tl.store(block, x, boundary_check=(0, 1))
    else:
        mask = ((i + down)[:, None] < M) & ((j + across)[None, :] < N)
        places = out + (i + down)[:, None] * row + (j + across)[None, :]
        if WHAT == "cached":
            tl.store(places, x, mask=mask, cache_modifier=".cs")
        else:
            tl.store(places, x, mask=mask)


def _compiled_store(
    how="descriptor", what="", out="*fp16:16", target="cuda:90", BN=64, N="i32:16", **options
):
    types = {
        "a": "*fp16:16",
        "out": out,
        "count": "*i32:16",
        "M": "i32",
        "N": N,
        "row": "i32:16",
    }
    return st.compile(
        _stored, signature=types, constexprs={"BM": 64, "BN": BN, "HOW": how, "WHAT": what},
        target=target, num_warps=4, **options,
    )  # fmt: skip


@pytest.mark.parametrize("how", ["descriptor", "block", "pointers"])
def test_code_of_stores_on_hopper(how):
    kernel = _compiled_store(how)
    ptx = kernel.asm["ptx"]
    assert ptx.count("cp.async.bulk.tensor.2d.global.shared::cta") == 1, "64 halves are one box"
    assert "st.global" not in ptx and ptx.count("wait_group.read 0") == 1
    # One fence is that of the product's operands, the other that of the tile which is stored.
    assert ptx.count("fence.proxy.async") == 2 and "st.local" not in ptx
    assert [
        remark["numbers"]["stage_bytes"] for remark in remarks_of(kernel, "by-copy-engine")
    ] == [64 * 64 * 2]
    for other in (_compiled_store(how, target="cuda:80"), _compiled_store(how, check="bounds")):
        assert "cp.async.bulk" not in other.asm["ptx"] and "st.global" in other.asm["ptx"]


def test_pointers_of_kernels_without_loops_are_stored_by_threads():
    """The engine would have one tile to bring to memory, and Triton's tests of products read `st.global.v4`."""
    types = {"a": "*fp16:16", "out": "*fp16:16", "row": "i32:16"}
    kernel = st.compile(
        _one_product, signature=types, constexprs={"BLOCK": 64}, target="cuda:90", num_warps=4
    )
    assert "cp.async.bulk" not in kernel.asm["ptx"] and "st.global.v4" in kernel.asm["ptx"]
    assert not remarks_of(kernel, "by-copy-engine") and not remarks_of(kernel, "not-by-copy-engine")


@st.jit
def _one_product(a, out, row, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)[:, None] * row + tl.arange(0, BLOCK)[None, :]
    x = tl.load(a + places)
    tl.store(out + places, tl.dot(x, x.T).to(tl.float16))


@pytest.mark.parametrize(
    "how, what, out, reason",
    [
        ("descriptor", "counted", "*fp16:16", "the kernel orders memory"),
        ("descriptor", "read", "*fp16:16", "the kernel reads the argument that this writes"),
        ("descriptor", "twice", "*fp16:16", "another store of the kernel may write there"),
        ("pointers", "cached", "*fp16:16", "it asks for a kind of caching"),
        ("descriptor", "", "*fp16", "multiple of 16 bytes"),
    ],
)
def test_stores_that_the_engine_does_not_do(how, what, out, reason):
    kernel = _compiled_store(how, what, out)
    found = remarks_of(kernel, "not-by-copy-engine")
    assert found and all(reason in remark["text"] for remark in found)
    assert "global.shared::cta" not in kernel.asm["ptx"]
    assert not [r for r in remarks_of(kernel, "by-copy-engine") if r["text"].startswith("stored")]


def test_rows_that_the_engine_would_write_too_far():
    """An H200 writes rows to the end of their last 16 bytes, wherever the array ends."""
    found = remarks_of(_compiled_store(N="i32"), "not-by-copy-engine")
    assert found and all("end at a multiple of 16 bytes" in remark["text"] for remark in found)


def test_halves_of_a_tile_are_two_stores_of_the_engine():
    # Rows that may reach into one another are written in order.
    assert "cp.async.bulk" not in _compiled_store(what="halves", BN=128).asm["ptx"]
    ptx = _compiled_store(what="halves of rows", BN=128).asm["ptx"]
    assert ptx.count("cp.async.bulk.tensor.2d.global.shared::cta") == 2
    assert ptx.count("wait_group.read 0") == 1, "both are waited for together"


@pytest.mark.parametrize("how", ["descriptor", "block", "pointers", "halves"])
@pytest.mark.parametrize(
    "dtype, shape, row, extents, num_warps",
    [
        ("float16", (128, 128), 128, (64, 64), 4),
        ("float16", (100, 72), 80, (64, 64), 4),
        ("float32", (65, 33), 36, (32, 128), 4),
        ("bfloat16", (1, 8), 8, (16, 32), 1),
        ("float32", (200, 256), 256, (128, 256), 8),
        # Rows that are no multiple of 16 bytes: by threads.
        ("float16", (70, 61), 61, (64, 32), 2),
    ],
)
def test_results_of_stores(device, how, dtype, shape, row, extents, num_warps):
    M, N = shape
    random = np.random.default_rng(sum(shape))
    a = np.zeros((512, 32), np.float16)
    a[: max(M, N)] = (random.integers(-8, 9, (max(M, N), 32)) / 8).astype(np.float16)
    expected = (a[:M].astype(np.float64) @ a[:N].astype(np.float64).T).astype(numpy_dtype(dtype))
    memory = np.full((M + 3, row), -77, numpy_dtype(dtype))
    count = np.zeros(1, np.int32)
    grid = (-(-M // extents[0]), -(-N // extents[1]))
    if how == "halves":
        how, what = "descriptor", "halves of rows" if row == N else "halves"
    else:
        what = ""
    _stored[grid](a, memory, count, M, N, row, *extents, how, what, num_warps=num_warps)
    np.testing.assert_allclose(
        memory[:M, :N].astype(np.float64), expected.astype(np.float64), rtol=1e-2, atol=1e-3
    )
    assert (memory[M:] == -77).all() and (memory[:M, N:] == -77).all(), "outside of the array"


@st.jit
def _running(a, out, M, STEP: tl.constexpr, TURNS: tl.constexpr, BM: tl.constexpr):
    """Sums of products that a loop stores, to one place or to many, each in its round."""
    rows, columns = tl.arange(0, BM)[:, None], tl.arange(0, BM)[None, :]
    block = tl.make_tensor_descriptor(out, [M, BM], [BM, 1], [BM, BM])
    total = tl.zeros((BM, BM), dtype=tl.float32)
    for turn in range(TURNS):
        x = tl.load(a + turn * BM * BM + rows * BM + columns)
        total = tl.dot(x, x.T, total)
        block.store([turn * STEP, 0], total.to(tl.float16))


def test_code_of_stores_in_loops():
    types = {"a": "*fp16:16", "out": "*fp16:16", "M": "i32"}
    ptx = st.compile(
        _running, signature=types, constexprs={"STEP": 64, "TURNS": 8, "BM": 64}, target="cuda:90"
    ).asm["ptx"]
    assert "cp.async.bulk.tensor.2d.global.shared::cta" in ptx
    assert "cp.async.bulk.wait_group 0" in ptx, "the engine keeps no order among rounds"
    assert "cp.async.bulk.wait_group.read 0" in ptx, "of the last round"


@pytest.mark.parametrize("step", [0, 64, 17])
def test_stores_of_rounds_keep_their_order(device, step):
    turns, BM = 6, 64
    random = np.random.default_rng(step)
    a = (random.integers(-4, 5, (turns, BM, BM)) / 8).astype(np.float16)
    out = np.full((turns * BM, BM), -77, np.float16)
    M = turns * BM - 3
    _running[(1,)](a, out, M, step, turns, BM)
    expected, total = np.full((turns * BM, BM), -77.0), np.zeros((BM, BM))
    for turn in range(turns):
        total = total + a[turn].astype(np.float64) @ a[turn].astype(np.float64).T
        expected[turn * step : turn * step + BM] = total
    expected[M:] = -77
    np.testing.assert_allclose(out.astype(np.float64), expected, rtol=2e-3, atol=1e-3)


@st.jit
def _three_stores(
    a, b, c, d, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ORDER: tl.constexpr
):
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    wide = tl.make_tensor_descriptor(c, [M, 2 * N], [2 * N, 1], [BM, BN])
    other = tl.make_tensor_descriptor(d, [M, N], [N, 1], [BM, BN])
    across = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * across, tl.num_programs(0)):
        m = tile // across * BM
        n = tile % across * BN
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(tl.cdiv(K, BK)):
            total = tl.dot(left.load([m, k * BK]), right.load([n, k * BK]).T, total)
        for store in tl.static_range(3):
            if ORDER[store] == "c":
                wide.store([m, 2 * n], total.to(tl.float16))
            elif ORDER[store] == "e":
                wide.store([m, 2 * n + BN], (total + 2).to(tl.float16))
            elif ORDER[store] == "d":
                other.store([m, n], (total + 1).to(tl.float16))


@pytest.mark.parametrize("order", ["cde", "ced", "dce", "cd-", "ce-"])
@pytest.mark.parametrize("blocks, warps, stages", [((128, 256, 64), 8, 3), ((128, 128, 64), 8, 6)])
def test_there_is_room_for_stores_beside_each_other(order, blocks, warps, stages):
    """What the engine takes leaves room for what threads exchange for the others."""
    signature = {name: "*fp16:16" for name in "abcd"} | {name: "i32:16" for name in "MNK"}
    constants = dict(zip(("BM", "BN", "BK"), blocks)) | {"ORDER": tuple(order)}
    kernel = st.compile(
        _three_stores, signature, constants, "cuda:90", num_warps=warps, num_stages=stages
    )
    stored = sum(
        "stored from shared memory by the copy engine" in remark["text"]
        for remark in kernel.remarks
    )
    assert stored == (2 if order == "ce-" else 0)


@pytest.mark.parametrize("order", ["cde", "ced", "dce"])
@pytest.mark.parametrize("M, N, K", [(128, 128, 64), (200, 136, 72)])
def test_three_stores_of_a_round(device, M, N, K, order):
    random = np.random.default_rng(M)
    a, b = (random.standard_normal((size, K)).astype(np.float16) for size in (M, N))
    c, d = np.full((M, 2 * N), np.nan, np.float16), np.full((M, N), np.nan, np.float16)
    _three_stores[(2,)](a, b, c, d, M, N, K, 64, 64, 32, tuple(order), num_warps=4)
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    both = np.full((M, 2 * N + 128), np.nan)
    for n in range(0, N, 64):
        width = min(64, N - n)
        both[:, 2 * n : 2 * n + width] = wanted[:, n : n + width]
        both[:, 2 * n + width : 2 * n + 64] = 0
        both[:, 2 * n + 64 : 2 * n + 64 + width] = wanted[:, n : n + width] + 2
        both[:, 2 * n + 64 + width : 2 * n + 128] = 2
    np.testing.assert_allclose(c, both[:, : 2 * N], rtol=4e-3, atol=4e-2)
    np.testing.assert_allclose(d, wanted + 1, rtol=4e-3, atol=4e-2)
