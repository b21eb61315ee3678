"""Products of arrays whose addresses are loaded, by descriptors made in the kernel and by pointers: rows begin at
multiples of 16 bytes, and end anywhere."""

import numpy as np
import pytest

import sectile as st
import sectile.language as tl


@st.jit
def _of_addresses(
    a,
    b,
    out,
    nothing,
    M,
    N,
    K,
    lda,
    ldb,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    TURNED: tl.constexpr,
    DESCRIBED: tl.constexpr,
):
    """The arrays are addresses that were loaded, as in a list of products; nobody knows what divides M, N and K."""
    more = tl.load(nothing)
    x = (a.to(tl.int64) + more).to(tl.pointer_type(tl.float16))
    y = (b.to(tl.int64) + more).to(tl.pointer_type(tl.float16))
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    if DESCRIBED:
        left = tl.make_tensor_descriptor(x, [M, K], [lda, 1], [BM, BK])
        if TURNED:
            right = tl.make_tensor_descriptor(y, [N, K], [ldb, 1], [BN, BK])
        else:
            right = tl.make_tensor_descriptor(y, [K, N], [ldb, 1], [BK, BN])
    for turn in range(0, tl.cdiv(K, BK)):
        if DESCRIBED:
            p = left.load([tl.program_id(0) * BM, turn * BK])
            if TURNED:
                q = right.load([tl.program_id(1) * BN, turn * BK]).T
            else:
                q = right.load([turn * BK, tl.program_id(1) * BN])
        else:
            across = turn * BK + tl.arange(0, BK)[None, :]
            down = turn * BK + tl.arange(0, BK)[:, None]
            at = tl.multiple_of(x + m * lda + across, [1, 16])
            p = tl.load(at, (m < M) & (across < K), other=0)
            if TURNED:
                at = tl.multiple_of(y + n * ldb + down, [16, 1])
            else:
                at = tl.multiple_of(y + down * ldb + n, [1, 16])
            q = tl.load(at, (down < K) & (n < N), other=0)
        total = tl.dot(p, q, total)
    tl.store(out + m * N + n, total, mask=(m < M) & (n < N))


@pytest.mark.parametrize("described", [True, False])
@pytest.mark.parametrize("turned", [True, False])
@pytest.mark.parametrize("M, N, K", [(64, 64, 64), (65, 130, 77), (130, 61, 201), (3, 5, 1)])
def test_products_of_loaded_addresses(device, M, N, K, turned, described):
    """Rows are multiples of 16 bytes apart, and end anywhere; what is behind them is not read."""

    def padded(values):
        rows, columns = values.shape
        wide = np.full((rows, (columns + 7) // 8 * 8 + 8), np.nan, np.float16)
        wide[:, :columns] = values
        return wide

    random = np.random.default_rng(M * N + K)
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((M, K), (K, N)))
    wide_a, wide_b = padded(a), padded(np.ascontiguousarray(b.T) if turned else b)
    out = np.full((M, N), np.nan, np.float32)
    for warps, blocks in ((4, (64, 64, 32)), (4, (64, 128, 64))):
        grid = (-(-M // blocks[0]), -(-N // blocks[1]))
        _of_addresses[grid](
            wide_a, wide_b, out, np.zeros(1, np.int64), M, N, K, wide_a.shape[1], wide_b.shape[1],
            *blocks, TURNED=turned, DESCRIBED=described, num_warps=warps,
        )  # fmt: skip
        np.testing.assert_allclose(
            out, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-3
        )


def test_copies_end_where_rows_do():
    """16 bytes at a time, of which as many are copied as the row has, where threads copy."""
    signature = {"a": "*fp16:16", "b": "*fp16:16", "out": "*fp32:16", "nothing": "*i64:16", "M": "i32", "N": "i32",
                 "K": "i32", "lda": "i32", "ldb": "i32"}  # fmt: skip
    constants = {"BM": 64, "BN": 64, "BK": 32, "TURNED": True, "DESCRIBED": False}
    with st.knobs.scope(keep_stages=True):
        kernel = st.compile(_of_addresses, signature, constants, "cuda:90", num_warps=4)
    copies = [line for line in kernel.asm["tile-gpu"].splitlines() if "tile.async_copy" in line]
    assert copies and all("partial" in line and "width = 8" in line for line in copies)
    ptx = kernel.asm["ptx"]
    assert "cp.async.cg" in ptx and "cp.async.ca" not in ptx


@pytest.mark.parametrize("turned", [True, False])
def test_programs_describe_arrays_to_the_copy_engine(turned):
    """Hopper's engine copies what descriptors made of loaded addresses load; the maps are the kernel's own."""
    signature = {"a": "*fp16:16", "b": "*fp16:16", "out": "*fp32:16", "nothing": "*i64:16", "M": "i32", "N": "i32",
                 "K": "i32", "lda": "i32", "ldb": "i32"}  # fmt: skip
    constants = {"BM": 64, "BN": 64, "BK": 64, "TURNED": turned, "DESCRIBED": True}
    with st.knobs.scope(keep_stages=True):
        kernel = st.compile(_of_addresses, signature, constants, "cuda:90", num_warps=4)
    laid_out, ptx = kernel.asm["tile-gpu"], kernel.asm["ptx"]
    assert laid_out.count("tile.edited_map") == 2 and "tile.async_copy" not in laid_out
    assert "tensormap.replace.tile.global_address" in ptx and "cp.async.bulk.tensor.2d" in ptx
    # What it is given back for: another program's maps.
    assert (
        ptx.count("atom.acquire.gpu.global.or.b32")
        == ptx.count("red.release.gpu.global.and.b32")
        == 1
    )


@st.jit
def _of_a_list(memory, places, sizes, count, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c = a b^T of each product, in the way of Triton's tutorial 8: programs walk over the tiles of all products.
    `places` has the bytes from `memory` on to a, b and c, and `sizes` M, N, K and the lengths of their rows."""
    tile = tl.program_id(0)
    done = 0
    for product in range(count):
        M = tl.load(sizes + 6 * product)
        N = tl.load(sizes + 6 * product + 1)
        K = tl.load(sizes + 6 * product + 2)
        tiles = tl.cdiv(M, BM) * tl.cdiv(N, BN)
        if tile >= done and tile < done + tiles:
            begin = memory.to(tl.int64)
            a = (begin + tl.load(places + 3 * product)).to(tl.pointer_type(tl.float16))
            b = (begin + tl.load(places + 3 * product + 1)).to(tl.pointer_type(tl.float16))
            c = (begin + tl.load(places + 3 * product + 2)).to(tl.pointer_type(tl.float16))
            left = tl.make_tensor_descriptor(
                a, [M, K], [tl.load(sizes + 6 * product + 3), 1], [BM, BK]
            )
            right = tl.make_tensor_descriptor(
                b, [N, K], [tl.load(sizes + 6 * product + 4), 1], [BN, BK]
            )
            out = tl.make_tensor_descriptor(
                c, [M, N], [tl.load(sizes + 6 * product + 5), 1], [BM, BN]
            )
            while tile >= done and tile < done + tiles:
                m = (tile - done) // tl.cdiv(N, BN) * BM
                n = (tile - done) % tl.cdiv(N, BN) * BN
                total = tl.zeros((BM, BN), dtype=tl.float32)
                for k in range(0, tl.cdiv(K, BK)):
                    total += tl.dot(left.load([m, k * BK]), right.load([n, k * BK]).T)
                out.store([m, n], total.to(tl.float16))
                tile += tl.num_programs(0)
        done += tiles


_BEHIND = -32768.0  # no product gives it


def _list_of_products(extents):
    """(memory, places, sizes, views of a, b and c of each product); what is no element of a or b is NaN, of c _BEHIND."""
    random, begins, sizes, end = np.random.default_rng(len(extents)), [], [], 0
    for M, N, K in extents:
        rows = [(length + 7) // 8 * 8 + 8 for length in (K, K, N)]
        sizes.append([M, N, K, *rows])
        for count, row in zip((M, N, M), rows):
            begins.append(end)
            end += max(count, 1) * row
    memory = np.full(end, np.nan, np.float16)
    arrays = []
    for (M, N, K, *rows), *at in zip(sizes, begins[::3], begins[1::3], begins[2::3]):
        views = []
        for begin, count, length, row in zip(at, (M, N, M), (K, K, N), rows):
            whole = memory[begin : begin + count * row].reshape(count, row)
            views.append(whole[:, :length])
        views[0][:], views[1][:] = (random.standard_normal(v.shape) for v in views[:2])
        memory[at[2] : at[2] + max(M, 1) * rows[2]] = _BEHIND
        arrays.append(views)
    return memory, np.array(begins, np.int64) * 2, np.array(sizes, np.int32), arrays


_TILES = [(64, 64, 32, 4, 3), (64, 64, 64, 4, 2), (128, 64, 64, 4, 4)]


@pytest.mark.parametrize("blocks", _TILES)
@pytest.mark.parametrize("programs", [1, 2, 5])
def test_products_of_a_list(device, programs, blocks):
    """Rows end anywhere, and what is behind them is not written; tiles go on from product to product."""
    *tile, warps, stages = blocks
    extents = [(64, 64, 64), (130, 61, 201), (1, 1, 1), (64, 128, 8), (200, 72, 136), (65, 250, 77)]
    memory, places, sizes, arrays = _list_of_products(extents)
    _of_a_list[(programs,)](
        memory, places, sizes, len(extents), *tile, num_warps=warps, num_stages=stages
    )
    behind = 0
    for a, b, c in arrays:
        wanted = a.astype(np.float64) @ b.astype(np.float64).T
        np.testing.assert_allclose(c.astype(np.float64), wanted, rtol=2e-3, atol=2e-3)
        behind += c.shape[0] * (c.strides[0] // 2 - c.shape[1])
    assert np.count_nonzero(memory == _BEHIND) == behind


@pytest.mark.parametrize("blocks", _TILES)
def test_products_of_a_list_read_what_others_have_stored(device, blocks):
    """One program stores what it reads then: the product before, and the tile before. Kernels that want this of
    threads say tl.debug_barrier(); where the copy engine loads ahead, the code sees to it."""
    if device.startswith("hip"):
        pytest.skip("threads load there, and the kernel does not order what they do")
    *tile, warps, stages = blocks
    extents = [(64, 64, 64), (64, 72, 64), (64, 64, 72), (64, 256, 192)]
    memory, places, sizes, arrays = _list_of_products(extents)
    for product in (1, 2):
        places[3 * product], sizes[product, 3] = places[3 * product - 1], sizes[product - 1, 5]
    # The last product's c begins where its a does, and is wider.
    wide = np.full((64, 264), np.nan, np.float16)
    wide[:, :256] = np.random.default_rng(9).standard_normal((64, 256)) / 16
    before = wide.copy()
    memory = np.concatenate([memory, wide.ravel()])
    places[9] = places[11] = (memory.size - wide.size) * 2
    sizes[3, 3] = sizes[3, 5] = 264
    arrays = [[memory[begin // 2 :][: rows * row].reshape(rows, row)[:, :length] for begin, rows, length, row in zip(
        places[3 * p : 3 * p + 3], (M, N, M), (K, K, N), of)] for p, (M, N, K, *of) in enumerate(sizes)]  # fmt: skip
    _of_a_list[(1,)](memory, places, sizes, 4, *tile, num_warps=warps, num_stages=stages)
    for a, b, c in arrays[:3]:
        wanted = a.astype(np.float64) @ b.astype(np.float64).T
        np.testing.assert_allclose(c.astype(np.float64), wanted, rtol=4e-3, atol=4e-2)
    last, b = arrays[3][2].astype(np.float64), arrays[3][1].astype(np.float64)
    seen = before[:, :256].astype(np.float64)
    for first in range(0, 256, tile[1]):
        wanted = seen[:, :192] @ b[first : first + tile[1]].T
        np.testing.assert_allclose(last[:, first : first + tile[1]], wanted, rtol=4e-3, atol=4e-2)
        seen[:, first : first + tile[1]] = last[:, first : first + tile[1]]


def test_tiles_of_a_list_go_on_and_are_stored_by_the_copy_engine():
    signature = {"memory": "*fp16:16", "places": "*i64:16", "sizes": "*i32:16", "count": "i32"}
    kernel = st.compile(
        _of_a_list, signature, {"BM": 128, "BN": 256, "BK": 64}, "cuda:90", num_warps=8
    )
    texts = [remark["text"] for remark in kernel.remarks]
    assert sum("on into the next round of the loop around" in text for text in texts) == 2
    assert sum("stored from shared memory by the copy engine" in text for text in texts) == 1
    assert not any("C75" in text for text in texts)
    ptx = kernel.asm["ptx"]
    assert "cp.async.bulk.tensor.2d.global.shared" in ptx and "wgmma" in ptx


@st.jit
def _doubled_product(a, b, out, N, row, B: tl.constexpr):
    m, n = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    total = tl.dot(tl.load(a + m * B + n), tl.load(b + m * B + n))
    first = tl.program_id(0) * B
    tl.store(
        out + m * row + first + n, (total * 2).to(tl.float16), mask=(first + n < N) & (m < B - 3)
    )


@pytest.mark.parametrize("N", [64, 1, 7, 8, 9, 63, 127, 130, 192])
def test_stores_end_where_rows_do(device, N):
    """What is behind a row's end is not written, nor the last rows."""
    random = np.random.default_rng(N)
    a, b = (random.standard_normal((64, 64)).astype(np.float16) for _ in range(2))
    row = -(-N // 64) * 64
    out = np.full((64, row), -7, np.float16)
    _doubled_product[(row // 64,)](a, b, out, N, row, B=64)
    once = 2 * (a.astype(np.float64) @ b.astype(np.float64))
    wanted = np.full((64, row), -7.0)
    wanted[:61, :N] = np.tile(once, row // 64)[:61, :N]
    np.testing.assert_allclose(out, wanted, rtol=2e-3, atol=2e-2)


def test_stores_of_cut_rows_are_wide():
    """16 bytes at a time where the mask is on for all of them, and one branch for those that are cut."""
    signature = {"a": "*fp16:16", "b": "*fp16:16", "out": "*fp16:16", "N": "i32", "row": "i32:16"}
    with st.knobs.scope(keep_stages=True):
        kernel = st.compile(_doubled_product, signature, {"B": 64}, "cuda:90", num_warps=4)
    assert "width = 8, partial = true" in kernel.asm["tile-gpu"]
    ptx = kernel.asm["ptx"]
    assert ptx.count("st.global.v4") == 4 and ptx.count("st.global.b16") == 32


@st.jit
def _of_block_pointers(addresses, out, M, lda, B: tl.constexpr):
    x = tl.multiple_of(tl.load(addresses).to(tl.pointer_type(tl.float16)), 16)
    row = tl.multiple_of(lda.to(tl.int64), 8)
    left = tl.make_block_ptr(x, [M, B], [row, 1], [0, 0], [B, B], [1, 0])
    total = tl.zeros((B, B), dtype=tl.float32)
    for _ in range(0, 3):
        p = tl.load(left, boundary_check=(0, 1), padding_option="zero")
        total = tl.dot(p, p, total)
        left = tl.advance(left, [0, 16])
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(out + at, total)


def test_block_pointers_promise_nothing_of_strides():
    """Rows may follow each other in descending order, or be one: the engine cannot read such arrays."""
    signature = {"addresses": "*i64", "out": "*fp32:16", "M": "i32", "lda": "i32"}
    with st.knobs.scope(keep_stages=True):
        kernel = st.compile(_of_block_pointers, signature, {"B": 64}, "cuda:90", num_warps=4)
    assert "tile.edited_map" not in kernel.asm["tile-gpu"]
    assert "ascending" in " ".join(remark["text"] for remark in kernel.remarks)


@st.jit
def _of_unread_descriptor(addresses, out, rows, N, B: tl.constexpr):
    x = tl.load(addresses).to(tl.pointer_type(tl.float16))
    row = tl.load(rows)
    tl.make_tensor_descriptor(x, [N, N], [row, 1], [B, B])
    at = tl.arange(0, B)
    tl.store(out + at[:, None] * B + at[None, :], tl.load(x + at[:, None] * row + at[None, :]))


def test_unread_descriptors_promise_nothing_of_pointers():
    """Other accesses of the array are as narrow as they would be without."""
    signature = {"addresses": "*i64", "out": "*fp16:16", "rows": "*i64", "N": "i32"}
    with st.knobs.scope(keep_stages=True):
        kernel = st.compile(_of_unread_descriptor, signature, {"B": 64}, "cuda:90", num_warps=4)
    assert "ld.global.v" not in kernel.asm["ptx"]


@st.jit
def _of_offset_blocks(q, out, head, N, B: tl.constexpr):
    left = tl.make_block_ptr(q + head * N, [N, B], [B, 1], [0, 0], [B, B], [1, 0])
    total = tl.zeros((B, B), dtype=tl.float32)
    for _ in range(0, N, B):
        p = tl.load(left)
        total = tl.dot(p, p, total)
        left = tl.advance(left, [B, 0])
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(out + at, total)


def test_only_kernels_that_edit_maps_ask_for_newer_drivers():
    signature = {"q": "*fp16:16", "out": "*fp32:16", "head": "i32", "N": "i32:16"}
    with st.knobs.scope(keep_stages=True):
        kernel = st.compile(_of_offset_blocks, signature, {"B": 64}, "cuda:90", num_warps=4)
    assert ".version 8.1" in kernel.asm["ptx"]
