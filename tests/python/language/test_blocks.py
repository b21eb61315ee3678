"""Block pointers and tensor descriptors: blocks of arrays that lie within, across and outside their edges."""

import itertools

import numpy as np
import pytest
from support import DTYPES, numpy_dtype, random

import sectile as st
import sectile.language as tl


def block_of(x, offsets, extents, padding):
    """The block of `x`, elements outside being `padding`."""
    out = np.full(extents, padding, x.dtype)
    index = [np.arange(o, o + e) for o, e in zip(offsets, extents)]
    inside = [(i >= 0) & (i < n) for i, n in zip(index, x.shape)]
    out[np.ix_(*inside)] = x[np.ix_(*[i[k] for i, k in zip(index, inside)])]
    return out


# Origin, across each edge, outside, and beyond 32 bits' reach of any extent.
OFFSETS = [(0, 0), (5, 3), (20, 30), (-3, -5), (33, 60), (-20, 0), (100, 100), (0, -(2**31))]


@st.jit
def by_descriptor(
    x, o, out, m, n, stride, i, j, M: tl.constexpr, N: tl.constexpr, PADDING: tl.constexpr
):
    block: tl.constexpr = (M, N)
    source = tl.make_tensor_descriptor(x, [m, n], [stride, 1], block, padding_option=PADDING)
    target = tl.make_tensor_descriptor(o, [m, n], [stride, 1], [M, N])
    tile = source.load([i, j])
    target.store([i, j], tile)
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    tl.store(out + rows[:, None] * N + columns[None, :], tile)


@st.jit
def by_block_pointer(
    x, o, out, m, n, stride, i, j, M: tl.constexpr, N: tl.constexpr, PADDING: tl.constexpr
):
    source = tl.make_block_ptr(x, (m, n), (stride, 1), (i, j), (M, N), (1, 0))
    target = tl.make_block_ptr(o, (m, n), (stride, 1), (0, 0), (M, N), order=(1, 0))
    target = tl.advance(target, (i, j))
    tile = tl.load(source, boundary_check=(0, 1), padding_option=PADDING)
    tl.store(target, tile, boundary_check=(1, 0))
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    tl.store(out + rows[:, None] * N + columns[None, :], tile)


@pytest.mark.parametrize("kernel", [by_descriptor, by_block_pointer], ids=lambda k: k.__name__)
@pytest.mark.parametrize("offsets", OFFSETS)
@pytest.mark.parametrize("block", [(16, 32), (7, 20)])
def test_a_block_anywhere(device, kernel, offsets, block):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((37, 64)).astype(np.float32)
    for n, padding in ((61, "zero"), (64, "nan")):
        o, out = np.full_like(x, 7), np.zeros(block, np.float32)
        kernel[(1,)](x, o, out, 37, n, 64, *offsets, *block, padding)
        expected = block_of(x[:, :n], offsets, block, 0 if padding == "zero" else np.nan)
        np.testing.assert_array_equal(out, expected)
        written = np.full_like(x, 7)
        inside = block_of(np.ones_like(x[:, :n], dtype=bool), (0, 0), (37, 64), False)
        index = np.indices(x.shape)
        for dim in range(2):
            inside &= (index[dim] >= offsets[dim]) & (index[dim] < offsets[dim] + block[dim])
        written[inside] = x[inside]
        np.testing.assert_array_equal(o, written)


@st.jit
def some_dimensions(x, out, m, n, i, j, M: tl.constexpr, N: tl.constexpr, CHECK: tl.constexpr):
    p = tl.make_block_ptr(x, (m, n), (n, 1), (i, j), (M, N), (1, 0))
    tile = tl.load(p, boundary_check=CHECK)
    q = tl.make_block_ptr(out, (M, N), (N, 1), (0, 0), (M, N), (1, 0))
    tl.store(q, tile)


@pytest.mark.parametrize(
    "check, offsets", [((), (3, 2)), ((0,), (30, 2)), ((0,), (-5, 0)), ((1,), (2, 40))]
)
def test_only_the_named_dimensions_are_checked(device, check, offsets):
    x = np.random.default_rng(1).standard_normal((37, 53)).astype(np.float32)
    out = np.zeros((16, 16), np.float32)
    some_dimensions[(1,)](x, out, 37, 53, *offsets, 16, 16, check)
    np.testing.assert_array_equal(out, block_of(x, offsets, (16, 16), 0))


@st.jit
def of_any_type(x, o, n, stride, SIZE: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [2, n], [stride, 1], [2, SIZE])
    target = tl.make_tensor_descriptor(o, [2, n], [stride, 1], [2, SIZE])
    tl.static_assert(source.dtype == x.dtype.element_ty)
    target.store([0, 3], source.load([0, 3]))
    p = tl.make_block_ptr(x, (2, n), (stride, 1), (0, 3), (2, SIZE), (1, 0))
    q = tl.make_block_ptr(o, (2, n), (stride, 1), (0, SIZE + 3), (2, SIZE), (1, 0))
    tile = tl.load(p, boundary_check=(1,))
    tl.store(q, tile.to(q.dtype.element_ty), boundary_check=(1,))


@pytest.mark.parametrize("name", [*DTYPES, "bool"])
def test_every_type(device, name):
    x = (random("int8", (2, 64)) > 0) if name == "bool" else random(name, (2, 64))
    o = np.zeros_like(x)
    of_any_type[(1,)](x, o, 50, 64, 16)
    expected = np.zeros_like(x)
    expected[:, 3:19], expected[:, 19:35] = x[:, 3:19], x[:, 3:19]
    np.testing.assert_array_equal(o, expected)


@st.jit
def of_rank_five(x, o, a, b, c, d, e, i: tl.constexpr, RANK: tl.constexpr, BLOCK: tl.constexpr):
    shape = (a, b, c, d, e)[5 - RANK :]
    strides = (b * c * d * e, c * d * e, d * e, e, 1)[5 - RANK :]
    source = tl.make_tensor_descriptor(x, shape, strides, BLOCK)
    target = tl.make_tensor_descriptor(o, shape, strides, BLOCK)
    target.store(i, source.load(i) + 1)


@pytest.mark.parametrize("rank", range(1, 6))
def test_every_rank(device, rank):
    shape, block = (3, 2, 4, 5, 20)[5 - rank :], (2, 2, 2, 4, 16)[5 - rank :]
    x = np.random.default_rng(rank).standard_normal(shape).astype(np.float32)
    for offsets in itertools.product(*[(-1, 2)] * rank):
        o = np.zeros_like(x)
        of_rank_five[(1,)](x, o, 3, 2, 4, 5, 20, offsets, rank, block)
        expected = np.zeros_like(x)
        where = tuple(slice(max(i, 0), max(i + e, 0)) for i, e in zip(offsets, block))
        expected[where] = x[where] + 1
        np.testing.assert_array_equal(o, expected)


# -- as values of the language ----------------------------------------------------------------------------


@st.jit
def moved(p, step, TURNS: tl.constexpr):
    for _ in tl.static_range(TURNS):
        p = tl.advance(p, (0, step))
    return p


@st.jit
def sums(x, out, m, n, flag, K: tl.constexpr):
    p = tl.make_block_ptr(x, (m, n), (n, 1), (tl.program_id(0) * 8, 0), (8, K), (1, 0))
    pair = (p, tl.arange(0, 8))
    total = tl.zeros((8,), tl.float32)
    for _ in range(0, tl.cdiv(n, 2 * K)):
        total += tl.sum(tl.load(pair[0], boundary_check=(0, 1)), axis=1)
        pair = (moved(pair[0], K, 2), pair[1])
    # Every second block; with the flag, what lies at the front again.
    if flag != 0:
        p = tl.advance(p, (0, 0))
    else:
        p = tl.advance(p, (0, n))
    total += tl.sum(tl.load(p, boundary_check=(0, 1)), axis=1)
    tl.store(out + tl.program_id(0) * 8 + pair[1], total)


@pytest.mark.parametrize("flag", [0, 1])
def test_block_pointers_in_loops_branches_calls_and_tuples(device, flag):
    x = np.random.default_rng(3).standard_normal((13, 100)).astype(np.float32)
    out = np.zeros(16, np.float32)
    sums[(2,)](x, out, 13, 100, flag, 16)
    padded = np.zeros((16, 128), np.float64)
    padded[:13, :100] = x
    expected = padded.reshape(16, 4, 2, 16)[:, :, 0].sum((1, 2)) + flag * padded[:, :16].sum(1)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)


@st.jit
def add_row(d, e, i, j):
    e.store([i, j], d.load([i, j]) + tl.load_tensor_descriptor(e, [i, j]))


@st.jit
def accumulate(x, o, m, n, flag, B: tl.constexpr):
    d = tl.make_tensor_descriptor(x, [m, n], [n, 1], [B, B])
    e = tl.make_tensor_descriptor(o, [m, n], [n, 1], [B, B])
    if flag != 0:
        d = tl.make_tensor_descriptor(x, [m - 1, n], [n, 1], [B, B])
    tl.static_assert(isinstance(d, tl.tensor_descriptor) and not isinstance(d, tuple))
    for i in range(0, d.shape[0], d.block_shape[0]):
        j = 0
        while j < d.shape[1]:
            add_row(d, e, i, j)
            j += B
    tl.store_tensor_descriptor(e, [m - 1, n - 1], 5.0)


@pytest.mark.parametrize("flag", [0, 1])
def test_descriptors_in_loops_branches_and_calls(device, flag):
    x = np.random.default_rng(4).standard_normal((20, 24)).astype(np.float32)
    o = np.ones_like(x)
    accumulate[(1,)](x, o, 20, 24, flag, 8)
    expected = 1 + x
    if flag:
        expected[-1] = 1
    expected[-1, -1] = 5
    np.testing.assert_array_equal(o, expected)


# -- the other accesses -----------------------------------------------------------------------------------


@st.jit
def rows_of(x, numbers, o, back, m, n, y, R: tl.constexpr, C: tl.constexpr):
    d = tl.make_tensor_descriptor(x, [m, n], [n, 1], [1, C])
    e = tl.make_tensor_descriptor(back, [m, n], [n, 1], [1, C])
    rows = tl.load(numbers + tl.arange(0, R))
    tile = d.gather(rows, y)
    tl.store(o + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :], tile)
    e.scatter(tile * 2, rows, y)


@pytest.mark.parametrize("y", [0, 8, 20, -5])
@pytest.mark.parametrize("kind", [np.int32, np.int16])
def test_gather_and_scatter(device, y, kind):
    x = np.random.default_rng(5).standard_normal((30, 28)).astype(np.float32)
    numbers = np.array([3, 29, -1, 0, 30, 7, 12, 100], kind)
    o, back = np.zeros((8, 16), np.float32), np.zeros_like(x)
    rows_of[(1,)](x, numbers, o, back, 30, 28, y, 8, 16)
    expected = np.stack([block_of(x, (r, y), (1, 16), 0)[0] for r in numbers])
    np.testing.assert_array_equal(o, expected)
    written = np.zeros_like(x)
    for r in numbers:
        if 0 <= r < 30:
            written[r, max(y, 0) : max(y + 16, 0)] = 2 * x[r, max(y, 0) : max(y + 16, 0)]
    np.testing.assert_array_equal(back, written)


UPDATES = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


@st.jit
def update(x, o, m, n, WHICH: tl.constexpr):
    d = tl.make_tensor_descriptor(x, [m, n], [n, 1], [8, 16])
    e = tl.make_tensor_descriptor(o, [m, n], [n, 1], [8, 16])
    tile = d.load([2, 9])
    if WHICH == "add":
        e.atomic_add([2, 9], tile)
    elif WHICH == "min":
        e.atomic_min([2, 9], tile)
    elif WHICH == "max":
        e.atomic_max([2, 9], tile)
    elif WHICH == "and":
        e.atomic_and([2, 9], tile)
    elif WHICH == "or":
        e.atomic_or([2, 9], tile)
    else:
        e.atomic_xor([2, 9], tile)


@pytest.mark.parametrize("which", UPDATES)
@pytest.mark.parametrize("name", ["int32", "uint32", "int64", "float32", "float16"])
def test_atomics(device, which, name):
    if name.startswith("float") and which in ("and", "or", "xor"):
        pytest.skip("bits of integers only")
    x, o = random(name, (7, 20), seed=1), random(name, (7, 20), seed=2)
    expected = o.copy()
    expected[2:, 9:] = UPDATES[which](o[2:, 9:], x[2:, 9:])
    update[(1,)](x, o, 7, 20, which)
    np.testing.assert_array_equal(o, expected)


# -- products -----------------------------------------------------------------------------------------------


@st.jit
def matmul(
    a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, USE: tl.constexpr
):
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    if USE == "descriptors":
        da = tl.make_tensor_descriptor(a, [m, k], [k, 1], [BM, BK])
        db = tl.make_tensor_descriptor(b, [k, n], [n, 1], [BK, BN])
        for p in range(0, k, BK):
            acc = tl.dot(da.load([i, p]), db.load([p, j]), acc, input_precision="ieee")
        tl.make_tensor_descriptor(c, [m, n], [n, 1], [BM, BN]).store([i, j], acc)
    else:
        pa = tl.make_block_ptr(a, (m, k), (k, 1), (i, 0), (BM, BK), (1, 0))
        # The transpose of an array that lies the other way.
        pb = tl.make_block_ptr(b, (k, n), (1, k), (0, j), (BK, BN), (0, 1))
        for _ in range(0, k, BK):
            lhs, rhs = tl.load(pa, boundary_check=(0, 1)), tl.load(pb, boundary_check=(0, 1))
            acc = tl.dot(lhs, rhs, acc, input_precision="ieee")
            pa = tl.advance(pa, (0, BK))
            pb = tl.advance(pb, (BK, 0))
        pc = tl.make_block_ptr(c, (m, n), (n, 1), (i, j), (BM, BN), (1, 0))
        tl.store(pc, acc.to(pc.dtype.element_ty), boundary_check=(0, 1))


@pytest.mark.parametrize("use", ["descriptors", "block pointers"])
@pytest.mark.parametrize("name", ["float32", "float16"])
@pytest.mark.parametrize("shape", [(64, 64, 64), (70, 40, 88)])
def test_matmul(device, use, name, shape):
    m, n, k = shape
    a, b = random(name, (m, k), seed=1), random(name, (k, n), seed=2)
    c = np.zeros((m, n), numpy_dtype(name))
    given = b if use == "descriptors" else np.ascontiguousarray(b.T)
    matmul[(-(-m // 32), -(-n // 32))](a, given, c, m, n, k, 32, 32, 16, use)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c, expected, atol=2e-2 if name == "float16" else 1e-4, rtol=2e-3)


# -- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.host
@pytest.mark.parametrize(
    "statement, message",
    {
        "tl.make_block_ptr(n, (n,), (1,), (0,), (16,), (0,))": "make_block_ptr: `pointer` should be a pointer",
        "tl.make_block_ptr(x + tl.arange(0, 4), (n,), (1,), (0,), (16,), (0,))": "`base` is a tile of pointers",
        "tl.make_block_ptr(x, (n, n), (1,), (0, 0), (16, 16), (1, 0))": "`strides` has 1 entries, the array has 2 dim",
        "tl.make_block_ptr(x, (n,), (1,), (0,), (16, 16), (0,))": "`block_shape` has 2 entries, the array has 1 dim",
        "tl.make_block_ptr(x, (n,), (1,), (0,), (n,), (0,))": "`block_shape` should be known at compile time",
        "tl.make_block_ptr(x, (n, n), (1, 1), (0, 0), (16, 16), (1, 1))": "`order` should name each of the 2 dim",
        "tl.make_block_ptr(x, (1.5,), (1,), (0,), (16,), (0,))": "`shape` should hold integers, not fp32",
        "tl.make_block_ptr(x, n, (1,), (0,), (16,), (0,))": "`shape` should be a tuple of integers",
        "tl.advance(x, (1,))": "advance: `base` should be a block pointer, not *fp32",
        "tl.advance(p, (1, 2))": "`offsets` has 2 entries, the array has 1 dimensions",
        "tl.load(p, mask=n > 0)": "load: mask and other are for tiles of pointers",
        "tl.load(p, boundary_check=(1,))": "`boundary_check` names dimension 1, but the block pointer has 1",
        "tl.load(p, boundary_check=(0,), padding_option='one')": "load: no padding 'one'",
        "tl.store(p, tl.zeros((8,), tl.float32))": "store: `value` is 8, but the block is 16",
        "tl.load(x, boundary_check=(0,))": "boundary_check and padding_option are for block pointers",
        "p + 1": "block_pointer",
        "tl.make_tensor_descriptor(x, [n, n], [n, 2], [16, 16])": "the last stride should be 1, known at compile",
        "tl.make_tensor_descriptor(x, [n, n], [1, n], [16, 16])": "the last stride should be 1, known at compile",
        "tl.make_tensor_descriptor(x, [n], [1], [2])": "a row of the block has 8 bytes, and needs at least 16",
        "tl.make_tensor_descriptor(x, [n], [1], [16], padding_option='ones')": "no padding 'ones'",
        "tl.make_tensor_descriptor(i, [n], [1], [16], 'nan')": "padding 'nan' is for floating-point numbers",
        "tl.make_tensor_descriptor(x, [], [], [])": "a descriptor has 1 to 5 dimensions, not 0",
        "d.load([0, 0])": "`offsets` has 2 entries, the array has 1 dimensions",
        "d.load(0)": "`offsets` should be a tuple of integers, one for each dimension, not int",
        "d.store([0], tl.zeros((8,), tl.float32))": "`value` is 8, but the block is 16",
        "d.gather(tl.arange(0, 8), 0)": "the descriptor's blocks are 16, and should be single rows of a matrix",
        "d.atomic_and([0], 1)": "not available for fp32",
        "d.lod([0])": "tensor_descriptor has no method 'lod'",
        "d.strde": "tensor_descriptor has no attribute 'strde'",
        "tl.load_tensor_descriptor(p, [0])": "`desc` should be a tensor descriptor, not block_pointer",
    }.items(),
)
def test_refusals(statement, message):
    source = f"""
def kernel(x, i, n):
    p = tl.make_block_ptr(x, (n,), (1,), (0,), (16,), (0,))
    d = tl.make_tensor_descriptor(x, [n], [1], [16])
    r = {statement}
"""
    import linecache

    file = f"refused_{abs(hash(statement))}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names = {"tl": tl}
    exec(compile(source, file, "exec", dont_inherit=True), names)
    with pytest.raises(st.CompilationError) as raised:
        st.jit(names["kernel"])[(1,)](np.zeros(4, np.float32), np.zeros(4, np.int32), 4)
    assert message in str(raised.value)
    assert f"{file}:5:" in str(raised.value)
