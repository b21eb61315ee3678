"""Blocks of arrays that Hopper's copy engine brings to shared memory: their code needs no GPU; results elsewhere are
those of any load."""

import numpy as np
import pytest
from support import numpy_dtype, remarks_of

import sectile as st
import sectile.language as tl


@st.jit
def _product(
    a,
    b,
    out,
    M,
    N,
    K,
    lda,
    ldb,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    TURNED_A: tl.constexpr,
    TURNED_B: tl.constexpr,
):
    """Every program has several tiles, so memory barriers are made anew."""
    if TURNED_A:
        left = tl.make_tensor_descriptor(a, [K, M], [lda, 1], [BK, BM])
    else:
        left = tl.make_tensor_descriptor(a, [M, K], [lda, 1], [BM, BK])
    if TURNED_B:
        right = tl.make_tensor_descriptor(b, [N, K], [ldb, 1], [BN, BK])
    else:
        right = tl.make_tensor_descriptor(b, [K, N], [ldb, 1], [BK, BN])
    rows, columns = tl.arange(0, BM)[:, None], tl.arange(0, BN)[None, :]
    down = tl.cdiv(M, BM)
    for tile in range(tl.program_id(0), down * tl.cdiv(N, BN), tl.num_programs(0)):
        i, j = tile % down * BM, tile // down * BN
        total = tl.zeros((BM, BN), dtype=out.dtype.element_ty)
        for k in range(0, K, BK):
            x = left.load([k, i]).T if TURNED_A else left.load([i, k])
            y = right.load([j, k]).T if TURNED_B else right.load([k, j])
            total = tl.dot(x, y, total)
        mask = (i + rows < M) & (j + columns < N)
        tl.store(out + (i + rows) * N + j + columns, total, mask=mask)


@st.jit
def _product_of_pointers(
    a,
    b,
    out,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    """Block pointers, whose rows may lie along either axis."""
    x = tl.make_block_ptr(a, (M, K), (stride_am, stride_ak), (0, 0), (BM, BK), (1, 0))
    y = tl.make_block_ptr(b, (K, N), (stride_bk, stride_bn), (0, 0), (BK, BN), (1, 0))
    total = tl.zeros((BM, BN), dtype=out.dtype.element_ty)
    for _ in range(0, K, BK):
        left = tl.load(x, boundary_check=(0, 1), padding_option="zero")
        right = tl.load(y, boundary_check=(0, 1), padding_option="zero")
        total = tl.dot(left, right, total)
        x = tl.advance(x, (0, BK))
        y = tl.advance(y, (BK, 0))
    rows, columns = tl.arange(0, BM)[:, None], tl.arange(0, BN)[None, :]
    tl.store(out + rows * N + columns, total, mask=(rows < M) & (columns < N))


EXTENTS = {"BM": 128, "BN": 128, "BK": 64}
TYPES = {"a": "*fp16:16", "b": "*fp16:16", "out": "*fp32:16"}


def _compiled(turned=(False, False), signature={}, target="cuda:90", **options):
    numbers = {"M": "i32", "N": "i32", "K": "i32", "lda": "i32:16", "ldb": "i32:16"}
    constants = EXTENTS | options.pop("extents", {}) | dict(zip(("TURNED_A", "TURNED_B"), turned))
    return st.compile(
        _product, signature=TYPES | numbers | signature, constexprs=constants, target=target, **options
    )  # fmt: skip


@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("num_warps", [4, 8])
def test_code_on_hopper(turned, num_warps):
    kernel = _compiled(turned, num_warps=num_warps, extents={"BM": 16 * num_warps})
    ptx = kernel.asm["ptx"]
    assert ptx.count(".param .align 64 .b8") == 2, "one map for each array"
    assert "cp.async.bulk.tensor.2d" in ptx and "cp.async.cg" not in ptx
    # Maps are read where the launch puts them.
    assert "st.local" not in ptx and kernel.n_spills in (0, None)
    found = remarks_of(kernel, "pipelined")
    assert [remark["numbers"]["by_copy_engine"] for remark in found] == [1, 1]
    assert all("by the copy engine" in remark["text"] for remark in found)
    # Threads only store to shared memory once the engine is done with it.
    assert ptx.count("fence.proxy.async") == 1


@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize(
    "extents, boxes",
    [
        # Of 64 elements of a row, or fewer where that leaves no whole number of them.
        ((128, 192, 64), ({128 * 64, 64 * 64}, {64 * 64}, {192 * 64})),
        ((64, 96, 64), ({64 * 64}, {64 * 32}, {96 * 64})),
        ((64, 96, 96), ({64 * 32, 96 * 64}, {96 * 32}, {96 * 32})),
        # Boxes have 256 rows at most, and all of them as many.
        ((320, 32, 64), ({160 * 64, 64 * 64}, {64 * 32}, {32 * 64})),
        ((64, 384, 32), ({64 * 32, 32 * 64}, {32 * 64}, {192 * 32})),
    ],
)
def test_blocks_whose_extents_are_no_powers_of_two(turned, extents, boxes):
    kernel = _compiled(turned, num_warps=4, extents=dict(zip(("BM", "BN", "BK"), extents)))
    assert "wgmma" in kernel.asm["ptx"] and "cp.async.cg" not in kernel.asm["ptx"]
    copies = remarks_of(kernel, "tensor-copy")
    assert len(copies) == 2
    assert copies[0]["numbers"]["bytes"] // 2 in boxes[0]
    assert copies[1]["numbers"]["bytes"] // 2 in boxes[2 if turned[1] else 1]


def test_block_pointers_are_blocks_too():
    numbers = dict.fromkeys(["M", "N", "K"], "i32")
    for ones in ({"stride_ak": 1, "stride_bn": 1}, {"stride_am": 1, "stride_bk": 1}):
        strides = dict.fromkeys(["stride_am", "stride_ak", "stride_bk", "stride_bn"], "i32:16")
        strides = {name: type for name, type in strides.items() if name not in ones}
        kernel = st.compile(
            _product_of_pointers, signature=TYPES | numbers | strides, constexprs=EXTENTS | ones,
            target="cuda:90", num_warps=4,
        )  # fmt: skip
        assert "cp.async.bulk.tensor.2d" in kernel.asm["ptx"], ones


@pytest.mark.parametrize(
    "change, reason",
    [
        ({"signature": {"a": "*fp16"}}, "multiple of 16 bytes"),
        ({"target": "cuda:80"}, None),
        ({"debug": True}, None),
        ({"check": "bounds"}, None),
    ],
)
def test_what_the_engine_does_not_copy(change, reason):
    kernel = _compiled(num_warps=4, **change)
    ptx, found = kernel.asm["ptx"], remarks_of(kernel, "not-by-copy-engine")
    assert ("cp.async.bulk" in ptx) == (reason is not None), "the other array"
    assert len(found) == (reason is not None)
    assert all(reason in remark["text"] for remark in found)


@st.jit
def _blocks_of(
    a,
    b,
    out,
    sizes,
    K,
    WRITES: tl.constexpr,
    LOADED: tl.constexpr,
    MOVED: tl.constexpr,
    WAITS: tl.constexpr,
):
    size = tl.load(sizes) if LOADED else K
    start = a + 64 * tl.load(sizes) if MOVED else a + 64 * tl.program_id(0)
    left = tl.make_tensor_descriptor(start, [64, size], [K, 1], [64, 64])
    right = tl.make_tensor_descriptor(b, [K, 64], [64, 1], [64, 64])
    total = tl.zeros((64, 64), dtype=tl.float32)
    if WAITS:
        while tl.atomic_add(sizes, 0) < 3:
            pass
    for k in range(0, K, 64):
        total = tl.dot(left.load([0, k]), right.load([k, 0]), total)
    if WRITES:
        tl.store(a, 0.0)
    tl.store(out + tl.arange(0, 64), tl.sum(total, axis=1))


@pytest.mark.parametrize(
    "which, reason, copied",
    [
        ("WRITES", "the kernel writes to the argument that this reads", 1),
        ("LOADED", "do not follow from the arguments", 1),
        # A number that is loaded may be negative; a program's may not.
        ("MOVED", "does not begin at an argument", 1),
        # Another program may have written what is waited for.
        ("WAITS", "the kernel orders memory", 0),
    ],
)
def test_arrays_that_the_engine_does_not_read(which, reason, copied):
    constants = dict.fromkeys(["WRITES", "LOADED", "MOVED", "WAITS"], False) | {which: True}
    kernel = st.compile(
        _blocks_of, signature=TYPES | {"sizes": "*i32:16", "K": "i32:16"}, constexprs=constants,
        target="cuda:90", num_warps=4,
    )  # fmt: skip
    found = remarks_of(kernel, "not-by-copy-engine")
    assert len(found) == 2 - copied and all(reason in remark["text"] for remark in found)
    assert kernel.asm["ptx"].count(".param .align 64 .b8") == copied, "the others have maps"
    pipelined = remarks_of(kernel, "pipelined")
    assert sum(remark["numbers"]["by_copy_engine"] for remark in pipelined) == copied


def _random(dtype, shape, random):
    if dtype == "int8":
        return random.integers(-128, 128, shape).astype(np.int8)
    # f32 may be rounded to ten digits first.
    return (random.integers(-512, 512, shape) / 256).astype(numpy_dtype(dtype))


@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize(
    "dtype, shape, extents, num_warps, num_stages",
    [
        ("float16", (128, 128, 256), (128, 128, 64), 8, 3),
        ("float16", (200, 136, 312), (64, 64, 64), 4, 4),
        ("bfloat16", (40, 72, 1000), (64, 32, 32), 4, 2),
        ("float16", (256, 256, 0), (128, 256, 64), 8, 2),
        ("float16", (16, 24, 40), (16, 32, 16), 1, 3),
        ("float16", (520, 64, 96), (256, 64, 32), 8, 3),
        ("float32", (100, 60, 132), (64, 64, 32), 4, 3),
        ("int8", (144, 80, 208), (64, 64, 64), 4, 3),
        # Extents that are no powers of two.
        ("float16", (96, 40, 128), (48, 40, 24), 4, 3),
        ("float16", (200, 400, 200), (128, 192, 64), 4, 2),
        ("bfloat16", (136, 200, 304), (64, 96, 96), 4, 3),
        ("float16", (192, 176, 160), (64, 176, 80), 4, 2),
        ("float32", (100, 208, 132), (64, 96, 48), 4, 3),
        ("int8", (144, 192, 208), (64, 192, 96), 4, 3),
        ("float16", (328, 40, 96), (320, 32, 32), 4, 2),
        # A row of 31 halves is no multiple of 16 bytes: pointers.
        ("float16", (31, 31, 31), (64, 64, 32), 4, 3),
    ],
)
def test_results(device, turned, dtype, shape, extents, num_warps, num_stages):
    M, N, K = shape
    random = np.random.default_rng(sum(shape))
    a, b = _random(dtype, (M, K), random), _random(dtype, (K, N), random)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    held = [np.ascontiguousarray(x.T if isTurned else x) for x, isTurned in zip((a, b), turned)]
    out = np.full((M, N), -77, np.int32 if dtype == "int8" else np.float32)
    lda, ldb = M if turned[0] else K, K if turned[1] else N
    _product[(2,)](
        *held, out, M, N, K, lda, ldb, *extents, *turned, num_warps=num_warps, num_stages=num_stages
    )
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-3 * max(1, K) ** 0.5)


@pytest.mark.parametrize("rows_along", [(1, 1), (0, 0), (0, 1), (1, 0)])
def test_results_of_block_pointers(device, rows_along):
    M, N, K = 48, 56, 200
    random = np.random.default_rng(11)
    a, b = _random("float16", (M, K), random), _random("float16", (K, N), random)
    held = [np.asfortranarray(x) if axis == 0 else x for x, axis in zip((a, b), rows_along)]
    strides = [stride // 2 for x in held for stride in x.strides]
    out = np.full((M, N), np.nan, np.float32)
    _product_of_pointers[(1,)](*held, out, M, N, K, *strides, 64, 64, 32, num_warps=4)
    np.testing.assert_allclose(
        out, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-3
    )


@st.jit
def _placed(a, b, out, i, k, M, K, lda, WIDE: tl.constexpr):
    """One block of `a`, wherever it lies, times the identity."""
    rows, columns = tl.arange(0, 64)[:, None], tl.arange(0, 32)[None, :]
    if WIDE:
        left = tl.make_block_ptr(a, (M, K), (lda, 1), (i, k), (64, 32), (1, 0))
    else:
        left = tl.make_tensor_descriptor(a, [M, K], [lda, 1], [64, 32])
    right = tl.make_tensor_descriptor(b, [32, 32], [32, 1], [32, 32])
    total = tl.zeros((64, 32), dtype=tl.float32)
    for _ in range(2):
        if WIDE:
            x = tl.load(left, boundary_check=(0, 1), padding_option="zero")
        else:
            x = left.load([i, k])
        total = tl.dot(x, right.load([0, 0]), total)
    tl.store(out + rows * 32 + columns, total)


@pytest.mark.parametrize("isWide", [False, True])
@pytest.mark.parametrize(
    "i, k",
    [(0, 0), (-3, -5), (70, 30), (-64, 0), (99, 39), (100, 0), (1 << 30, 0), (-(1 << 31), 2)],
)
def test_blocks_that_leave_the_array(device, i, k, isWide):
    M, K = 100, 40
    random = np.random.default_rng(3)
    a = _random("float16", (M, K), random)
    out = np.full((64, 32), np.nan, np.float32)
    _placed[(1,)](a, np.eye(32, dtype=np.float16), out, i, k, M, K, K, isWide, num_warps=4)
    expected = np.zeros((64, 32))
    for row in range(64):
        for column in range(32):
            if 0 <= i + row < M and 0 <= k + column < K:
                expected[row, column] = 2 * float(a[i + row, k + column])
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("offset", [(1 << 32) + 8, -(1 << 32) + 8, (1 << 63) - 1])
def test_offsets_of_64_bits_are_not_cut(device, offset):
    a = np.ones((64, 64), np.float16)
    out = np.full((64, 32), np.nan, np.float32)
    _placed[(1,)](a, np.eye(32, dtype=np.float16), out, offset, 0, 64, 64, 64, True, num_warps=4)
    np.testing.assert_array_equal(out, 0)


def test_arrays_that_begin_anywhere(device):
    """The variant is found by the address and the strides of each launch."""
    M, N, K = 64, 64, 64
    random = np.random.default_rng(4)
    memory = _random("float16", (M * 72 + 64,), random)
    b = _random("float16", (K, N), random)
    for first, row in ((0, 64), (4, 64), (8, 72), (1, 71), (0, 65), (0, 64)):
        a = np.lib.stride_tricks.as_strided(memory[first:], (M, K), (2 * row, 2))
        out = np.full((M, N), np.nan, np.float32)
        _product[(1,)](
            memory[first:], b, out, M, N, K, row, N, 64, 64, 32, False, False, num_warps=4
        )
        expected = a.astype(np.float64) @ b.astype(np.float64)
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-3)


@st.jit
def _through_pointers(a, b, out, M, K, far, WHAT: tl.constexpr):
    """Products of rows of `a`, K or 64 long, at pointers that are no blocks, or blocks elsewhere than they seem."""
    rows, columns, deep = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    first = rows
    bound, end = M, K
    if WHAT == "wide start":  # 2^32, added in 64 bits
        first = far.to(tl.int64) * 4 + rows
    elif WHAT == "two wide starts":
        first = far.to(tl.int64) + far.to(tl.int64) + far + far + rows
    elif WHAT == "wide mask":  # of other numbers than the address, which 32 bits would wrap
        bound = M - far.to(tl.int64) * 4
    elif WHAT == "narrow bound":  # 70 + 70 is -116
        bound = ((M - 30).to(tl.int8) + (M - 30).to(tl.int8)).to(tl.int32)
    elif WHAT == "narrow start":  # 100 + 100 is -56, and 0 with what is added
        first = ((M.to(tl.int8) + M.to(tl.int8)).to(tl.int32) + 56) + rows
    elif WHAT == "narrow stride":  # 16 * 16 is 0
        pass
    stride = K
    if WHAT == "narrow stride":
        stride = ((M - 84).to(tl.int8) * 16).to(tl.int32)
    total = tl.zeros((64, 64), dtype=tl.float32)
    for k in range(0, K, 32):
        places = a + first[:, None] * stride + (k + deep)[None, :]
        mask = (first[:, None] < bound) & (k + deep < end)[None, :]
        x = tl.load(places, mask=mask, other=0.0)
        y = tl.load(b + (k + deep)[:, None] * 64 + columns[None, :])
        total = tl.dot(x, y, total)
    tl.store(out + rows[:, None] * 64 + columns[None, :], total)


POINTERS = {
    "": lambda a, M: a,
    "wide start": lambda a, M: 0 * a,
    "two wide starts": lambda a, M: 0 * a,
    "wide mask": lambda a, M: 0 * a,
    "narrow bound": lambda a, M: 0 * a,
    "narrow start": lambda a, M: a,
    "narrow stride": lambda a, M: np.repeat(a[:1], 64, axis=0),
}


@pytest.mark.parametrize("what", POINTERS)
def test_numbers_that_wrap_elsewhere(device, what):
    M, K = 100, 64
    random = np.random.default_rng(8)
    a, b = _random("float16", (M, K), random), _random("float16", (K, 64), random)
    out = np.full((64, 64), np.nan, np.float32)
    _through_pointers[(1,)](a, b, out, M, K, 1 << 30, what, num_warps=4)
    expected = POINTERS[what](a[:64].astype(np.float64), M) @ b.astype(np.float64)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-3)


@st.jit
def _rows_of_rounds(a, b, out, M):
    """What the product of a round sums is stored in the next one, masked as that one's rows are."""
    rows, columns = tl.arange(0, 64), tl.arange(0, 32)
    y = tl.load(b + columns[:, None] * 32 + columns[None, :])
    last = tl.zeros((64, 32), dtype=tl.float32)
    for turn in range(3):
        first = (2 - turn) * 64 + rows
        tl.store(
            out + turn * 64 * 32 + rows[:, None] * 32 + columns[None, :],
            last,
            mask=(first < M)[:, None],
        )
        x = tl.load(a + (first % M)[:, None] * 32 + columns[None, :])
        last = tl.dot(x, y)


def test_rows_that_begin_anew_and_are_seen_later(device):
    M = 100
    random = np.random.default_rng(9)
    a, b = _random("float16", (M, 32), random), _random("float16", (32, 32), random)
    out = np.full((3, 64, 32), -77, np.float32)
    _rows_of_rounds[(1,)](a, b, out, M, num_warps=4)
    expected, last = np.full((3, 64, 32), -77.0), np.zeros((64, 32))
    for turn in range(3):
        first = (2 - turn) * 64 + np.arange(64)
        expected[turn][first < M] = last[first < M]
        last = a[first % M].astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-3)


@st.jit
def _unchecked(a, b, out, M, K, row, CHECKED: tl.constexpr, STORES: tl.constexpr):
    """Blocks of arrays that are longer than they are said to be, along axes that are not checked."""
    x = tl.make_block_ptr(a, (M, K), (row, 1), (0, 0), (64, 32), (1, 0))
    y = tl.make_block_ptr(b, (K, 32), (32, 1), (0, 0), (32, 32), (1, 0))
    total = tl.zeros((64, 32), dtype=tl.float32)
    for _ in range(2):
        if CHECKED == "rows":
            total = tl.dot(tl.load(x, boundary_check=(0,)), tl.load(y), total)
        elif CHECKED == "columns":
            total = tl.dot(tl.load(x, boundary_check=(1,)), tl.load(y), total)
        else:
            total = tl.dot(tl.load(x), tl.load(y), total)
        x = tl.advance(x, (0, 32))
        y = tl.advance(y, (32, 0))
    if STORES:
        written = tl.make_block_ptr(out, (M, 20), (32, 1), (0, 0), (64, 32), (1, 0))
        if CHECKED == "rows":
            tl.store(written, total.to(tl.float16), boundary_check=(0,))
        elif CHECKED == "columns":
            tl.store(written, total.to(tl.float16), boundary_check=(1,))
        else:
            tl.store(written, total.to(tl.float16))
    else:
        rows, columns = tl.arange(0, 64)[:, None], tl.arange(0, 32)[None, :]
        tl.store(out + rows * 32 + columns, total.to(tl.float16))


@pytest.mark.parametrize("checked", ["rows", "columns", "none"])
@pytest.mark.parametrize("stores", [False, True])
def test_axes_that_are_not_checked(device, checked, stores):
    M, K = 40, 50
    random = np.random.default_rng(10)
    a = (random.integers(-8, 9, (64, 64)) / 8).astype(np.float16)
    b = (random.integers(-8, 9, (64, 32)) / 8).astype(np.float16)
    out = np.full((64, 32), -77, np.float16)
    _unchecked[(1,)](a, b, out, M, K, 64, checked, stores, num_warps=4)
    read = a.astype(np.float64)
    if checked == "rows":
        read[M:] = 0
    elif checked == "columns":
        read[:, K:] = 0
    expected = read @ b.astype(np.float64)
    if stores and checked == "rows":
        expected[M:] = -77
    elif stores and checked == "columns":
        expected[:, 20:] = -77
    np.testing.assert_allclose(out.astype(np.float64), expected, rtol=1e-3, atol=1e-3)


def test_unchecked_axes_are_read_by_the_engine():
    types = {
        "a": "*fp16:16",
        "b": "*fp16:16",
        "out": "*fp16:16",
        "M": "i32",
        "K": "i32",
        "row": "i32:16",
    }
    kernel = st.compile(
        _unchecked, signature=types, constexprs={"CHECKED": "rows", "STORES": True}, target="cuda:90", num_warps=4
    )  # fmt: skip
    assert "cp.async.bulk.tensor.2d.shared" in kernel.asm["ptx"]
    assert [remark["numbers"]["by_copy_engine"] for remark in remarks_of(kernel, "pipelined")] == [
        1,
        1,
    ]


@st.jit
def _many(a, out, row, COUNT: tl.constexpr, STORES: tl.constexpr):
    total = tl.zeros((64, 64), dtype=tl.float32)
    for k in range(0, row, 32):
        for number in tl.static_range(COUNT):
            array = tl.make_tensor_descriptor(a, [64 + number, row], [row, 1], [64, 32])
            x = array.load([number, k])
            total = tl.dot(x, x.T, total)
    for number in tl.static_range(STORES):
        written = tl.make_tensor_descriptor(out, [64 * (number + 1), 64], [64, 1], [64, 64])
        written.store([64 * number, 0], (total * (number + 1)).to(tl.float16))


@pytest.mark.parametrize("count, stores", [(1, 1), (20, 1), (2, 18)])
def test_maps_of_a_kernel_are_few(device, count, stores):
    row = 64
    random = np.random.default_rng(count)
    a = (random.integers(-1, 2, (64 + count, row)) / 4).astype(np.float16)
    out = np.full((stores, 64, 64), np.nan, np.float16)
    _many[(1,)](a, out, row, count, stores, num_warps=4, num_stages=2)
    expected = np.zeros((64, 64))
    for number in range(count):
        x = a[number : number + 64].astype(np.float64)
        expected += x @ x.T
    scales = np.arange(1, stores + 1)[:, None, None]
    np.testing.assert_allclose(out.astype(np.float64), expected * scales, rtol=2e-3, atol=1e-2)


@pytest.mark.parametrize(
    "count, stores, reason", [(20, 1, "maps of arrays already"), (2, 18, "bytes of shared memory")]
)
def test_code_of_many_maps(count, stores, reason):
    types = {"a": "*fp16:16", "out": "*fp16:16", "row": "i32:16"}
    kernel = st.compile(
        _many, signature=types, constexprs={"COUNT": count, "STORES": stores}, target="cuda:90", num_warps=4,
        num_stages=2, persistent=False,
    )  # fmt: skip
    assert 2 <= kernel.asm["ptx"].count(".param .align 64 .b8") <= 16
    found = remarks_of(kernel, "not-by-copy-engine")
    assert any(reason in remark["text"] for remark in found)
