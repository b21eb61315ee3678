"""Loops with products whose rows lie where block tables say: what addresses are made of is loaded first, rounds ahead."""

import numpy as np
import pytest

import sectile as st
import sectile.language as tl


@st.jit
def paged(
    q_ptr,
    k_ptr,
    v_ptr,
    table_ptr,
    out_ptr,
    length,
    page_count,
    scale,
    D: tl.constexpr,
    M: tl.constexpr,
    PAGE: tl.constexpr,
    BY_ROWS: tl.constexpr,
):
    """Attention to `length` keys, which lie in pages that the table names; BY_ROWS: it names each row."""
    m = tl.arange(0, M)
    n = tl.arange(0, PAGE)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + m[:, None] * D + d[None, :])
    top = tl.full((M,), float("-inf"), tl.float32)
    total = tl.zeros((M,), tl.float32)
    acc = tl.zeros((M, D), tl.float32)
    for page in range(0, page_count):
        inside = page * PAGE + n < length
        if BY_ROWS:
            rows = tl.load(table_ptr + page * PAGE + n, mask=inside, other=0)
        else:
            rows = tl.load(table_ptr + page) * PAGE + n
        k = tl.load(k_ptr + rows[None, :] * D + d[:, None], mask=inside[None, :], other=0.0)
        v = tl.load(v_ptr + rows[:, None] * D + d[None, :], mask=inside[:, None], other=0.0)
        scores = tl.where(inside[None, :], tl.dot(q, k) * scale, float("-inf"))
        highest = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp(scores - highest[:, None])
        fade = tl.exp(top - highest)
        total = total * fade + tl.sum(p, 1)
        acc = acc * fade[:, None] + tl.dot(p.to(v.dtype), v)
        top = highest
    tl.store(out_ptr + m[:, None] * D + d[None, :], acc / total[:, None])


def attention(q, k, v, rows, scale):
    scores = q.astype(np.float64) @ k[rows].astype(np.float64).T * scale
    p = np.exp(scores - scores.max(1, keepdims=True))
    return p @ v[rows].astype(np.float64) / p.sum(1, keepdims=True)


@pytest.mark.parametrize("length", [1, 31, 32, 33, 64, 100, 160])
@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_attention_through_tables(length, by_rows, stages):
    D, M, PAGE, PAGES = 64, 64, 32, 16
    random = np.random.default_rng(length)
    q = random.standard_normal((M, D)).astype(np.float16)
    k, v = (random.standard_normal((PAGES * PAGE, D)).astype(np.float16) for _ in range(2))
    count = -(-length // PAGE)
    if by_rows:
        table = random.permutation(PAGES * PAGE)[:length].astype(np.int32)
        rows = table
    else:
        table = random.permutation(PAGES)[:count].astype(np.int32)
        rows = (table[:, None] * PAGE + np.arange(PAGE)).reshape(-1)[:length]
    out = np.full((M, D), np.nan, np.float32)
    paged[(1,)](q, k, v, table, out, length, count, 0.125, D, M, PAGE, by_rows, num_stages=stages)
    np.testing.assert_allclose(out, attention(q, k, v, rows, 0.125), rtol=0, atol=4e-3)


@st.jit
def through_block(a_ptr, b_ptr, table_ptr, out_ptr, count, SIZE: tl.constexpr, WAY: tl.constexpr):
    """The list itself is read in blocks, by a descriptor or a block pointer."""
    i = tl.arange(0, SIZE)
    at = i[:, None] * SIZE + i[None, :]
    a = tl.load(a_ptr + at)
    total = tl.zeros((SIZE, SIZE), tl.float32)
    table = tl.make_tensor_descriptor(table_ptr, [count], [1], [SIZE])
    for start in range(0, count, SIZE):
        if WAY == "descriptor":
            rows = table.load([start])
        else:
            block = tl.make_block_ptr(table_ptr, (count,), (1,), (start,), (SIZE,), (0,))
            rows = tl.load(block, boundary_check=(0,), padding_option="zero")
        total += tl.dot(a, tl.load(b_ptr + rows[:, None] * SIZE + i[None, :]))
    tl.store(out_ptr + at, total)


@pytest.mark.parametrize("way", ["descriptor", "pointer"])
@pytest.mark.parametrize("count", [4, 64, 148])
def test_lists_that_are_read_in_blocks(way, count):
    SIZE = 64
    random = np.random.default_rng(count)
    a = random.standard_normal((SIZE, SIZE)).astype(np.float16)
    b = random.standard_normal((200, SIZE)).astype(np.float16)
    table = random.integers(0, 200, count).astype(np.int32)
    out = np.full((SIZE, SIZE), np.nan, np.float32)
    through_block[(1,)](a, b, table, out, count, SIZE, way)
    rows = np.concatenate([table, np.zeros(-count % SIZE, np.int32)]).reshape(-1, SIZE)
    expected = sum(a.astype(np.float64) @ b[some].astype(np.float64) for some in rows)
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-3)


@st.jit
def chained(a_ptr, b_ptr, first, next_ptr, out_ptr, count, SIZE: tl.constexpr):
    """A sum of products whose second operands are a list: where the next one lies stands beside each."""
    i = tl.arange(0, SIZE)
    at = i[:, None] * SIZE + i[None, :]
    a = tl.load(a_ptr + at)
    total = tl.zeros((SIZE, SIZE), tl.float32)
    place = first
    for _ in range(count):
        total += tl.dot(a, tl.load(b_ptr + place * SIZE * SIZE + at))
        place = tl.load(next_ptr + place)
    tl.store(out_ptr + at, total)


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_lists(count):
    SIZE = 32
    random = np.random.default_rng(count)
    a = random.standard_normal((SIZE, SIZE)).astype(np.float16)
    b = random.standard_normal((9, SIZE, SIZE)).astype(np.float16)
    order = random.permutation(9)
    after = np.empty(9, np.int32)
    after[order] = np.roll(order, -1)
    out = np.full((SIZE, SIZE), np.nan, np.float32)
    chained[(1,)](a, b, int(order[0]), after, out, count, SIZE)
    expected = a.astype(np.float64) @ b[order[:count]].astype(np.float64).sum(0)
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-3)


@st.jit
def rewritten(a_ptr, b_ptr, table_ptr, out_ptr, count, SIZE: tl.constexpr):
    """Each round says where the operand of the next one lies."""
    i = tl.arange(0, SIZE)
    at = i[:, None] * SIZE + i[None, :]
    a = tl.load(a_ptr + at)
    total = tl.zeros((SIZE, SIZE), tl.float32)
    for turn in range(count):
        place = tl.load(table_ptr + turn)
        tl.debug_barrier()
        tl.store(table_ptr + turn + 1, (place * 5 + 3) % 8)
        tl.debug_barrier()
        total += tl.dot(a, tl.load(b_ptr + place * SIZE * SIZE + at))
    tl.store(out_ptr + at, total)


@pytest.mark.parametrize("count", [1, 6])
def test_tables_that_the_loop_writes(count):
    SIZE = 32
    random = np.random.default_rng(count)
    a = random.standard_normal((SIZE, SIZE)).astype(np.float16)
    b = random.standard_normal((8, SIZE, SIZE)).astype(np.float16)
    table = np.full(16, 7, np.int32)
    table[0] = 1
    places = [1]
    for _ in range(count - 1):
        places.append((places[-1] * 5 + 3) % 8)
    out = np.full((SIZE, SIZE), np.nan, np.float32)
    rewritten[(1,)](a, b, table, out, count, SIZE)
    expected = a.astype(np.float64) @ b[places].astype(np.float64).sum(0)
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-3)


@st.jit
def summed(weight_ptr, value_ptr, table_ptr, out_ptr, count, D: tl.constexpr, ROWS: tl.constexpr):
    """sum over i of weight[i] value[table[i]], without products of matrices."""
    n = tl.arange(0, ROWS)
    d = tl.arange(0, D)
    total = tl.zeros((D,), tl.float32)
    for start in range(0, count, ROWS):
        inside = start + n < count
        rows = tl.load(table_ptr + start + n, mask=inside, other=0)
        weight = tl.load(weight_ptr + start + n, mask=inside, other=0.0)
        value = tl.load(value_ptr + rows[:, None] * D + d[None, :], mask=inside[:, None], other=0.0)
        total += tl.sum(weight[:, None].to(tl.float32) * value * (1 + rows % 2)[:, None], 0)
    tl.store(out_ptr + d, total)


@pytest.mark.parametrize("count", [0, 1, 32, 33, 200])
@pytest.mark.parametrize("warps", [1, 4])
def test_sums_through_tables(count, warps):
    D, ROWS, ALL = 64, 32, 300
    random = np.random.default_rng(count)
    weight = random.standard_normal(max(count, 1)).astype(np.float16)
    value = random.standard_normal((ALL, D)).astype(np.float16)
    table = random.integers(0, ALL, max(count, 1)).astype(np.int32)
    out = np.full(D, np.nan, np.float32)
    summed[(1,)](weight, value, table, out, count, D, ROWS, num_warps=warps)
    weight, table = weight[:count].astype(np.float64), table[:count]
    expected = (weight * (1 + table % 2)) @ value[table].astype(np.float64)
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-3)


def remarks_of(kernel, chip, **constants):
    kinds = {"length": "i32", "page_count": "i32", "scale": "fp32", "table_ptr": "*i32:16"}
    kinds |= {"out_ptr": "*fp32:16", "count": "i32", "first": "i32", "next_ptr": "*i32:16"}
    signature = {
        name: kinds.get(name, "*fp16:16") for name in kernel.arg_names if name not in constants
    }
    compiled = st.compile(
        kernel, signature=signature, target=f"cuda:{chip}", num_warps=4, num_stages=3, **constants
    )
    return [(remark["kind"], remark["text"]) for remark in compiled.remarks]


@pytest.mark.parametrize("chip", [80, 90])
@pytest.mark.parametrize("way", ["descriptor", "pointer"])
def test_lists_of_blocks_are_read_ahead(chip, way):
    remarks = remarks_of(through_block, chip, SIZE=64, WAY=way)
    pipelined = [text for kind, text in remarks if kind == "pipelined"]
    assert sum("in registers: addresses are made of it" in text for text in pipelined) == 1


@pytest.mark.parametrize("chip", [80, 90])
@pytest.mark.parametrize("by_rows", [False, True])
def test_tables_are_read_ahead_of_what_they_name(chip, by_rows):
    remarks = remarks_of(paged, chip, D=64, M=64, PAGE=32, BY_ROWS=by_rows)
    pipelined = [text for kind, text in remarks if kind == "pipelined"]
    assert sum("in registers: addresses are made of it" in text for text in pipelined) == 1
    assert sum("stages in shared memory" in text for text in pipelined) == 2
    assert not [text for kind, text in remarks if kind == "not-pipelined"]


@pytest.mark.parametrize("chip", [80, 90])
@pytest.mark.parametrize("kernel", [chained, rewritten])
def test_what_a_round_has_to_wait_for_is_not_read_ahead(chip, kernel):
    remarks = remarks_of(kernel, chip, SIZE=64)
    assert "not-pipelined" in [kind for kind, _ in remarks]
    assert "pipelined" not in [kind for kind, _ in remarks]


@st.jit
def beside_a_product(value_ptr, a_ptr, b_ptr, sum_ptr, out_ptr, count):
    n = tl.arange(0, 16)
    top = 0.0
    for start in range(0, count):
        value = tl.load(value_ptr + (start * 16 + n[:, None]) * 16 + n[None, :])
        top = tl.max(value.to(tl.float32)) + 0.5 * top * tl.sum(value.to(tl.float32))
    m, i = tl.arange(0, 128), tl.arange(0, 64)
    a = tl.load(a_ptr + m[:, None] * 64 + i[None, :])
    b = tl.load(b_ptr + i[:, None] * 64 + i[None, :])
    tl.store(sum_ptr, top)
    tl.store(out_ptr + m[:, None] * 64 + i[None, :], tl.dot(a, b))


def test_loops_leave_products_elsewhere_their_registers():
    kinds = dict.fromkeys(["value_ptr", "a_ptr", "b_ptr"], "*fp16:16")
    kinds |= {"sum_ptr": "*fp32:16", "out_ptr": "*fp32:16", "count": "i32"}
    compiled = st.compile(beside_a_product, signature=kinds, target="cuda:90", num_warps=16)
    assert "wgmma" in compiled.asm["ptx"]
    assert "pipelined" in [remark["kind"] for remark in compiled.remarks]
    assert ".minnctapersm" not in compiled.asm["ptx"]


@st.jit
def _product_of_listed_rows(
    a, b, rows, out, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m, n = tl.arange(0, BM), tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        row = tl.load(rows + start + tl.arange(0, BK))
        x = tl.load(a + row[:, None] * BM + m[None, :])
        y = tl.load(b + row[:, None] * BN + n[None, :])
        total = tl.dot(x.T, y, total)
    tl.store(out + m[:, None] * BN + n[None, :], total)


@pytest.mark.host
@pytest.mark.parametrize("asked, copied", [(4, 4), (5, 4), (6, None)])
def test_loaded_addresses_are_a_stage_where_room_is_short(asked, copied):
    """Of 48 KiB each, four fit on sm_90."""
    signature = {
        "a": "*bf16:16",
        "b": "*bf16:16",
        "rows": "*i64:16",
        "out": "*fp32:16",
        "K": "i32:16",
    }
    constants = {"BM": 128, "BN": 64, "BK": 128}

    def compiled():
        return st.compile(
            _product_of_listed_rows, signature, constants, target="cuda:90", num_stages=asked
        )

    if copied is None:
        with pytest.raises(st.OutOfResources, match="shared memory"):
            compiled()
        return
    remarks = compiled().remarks
    stages = [r["numbers"].get("stages") for r in remarks if r["kind"] == "pipelined"]
    assert stages.count(copied) == 2, stages
    told = [r for r in remarks if f"num_stages={asked}: the round in which addresses" in r["text"]]
    assert len(told) == (asked > copied)
