"""Loads, stores, masks, pointer arithmetic, atomics."""

import numpy as np
import pytest
from support import DTYPES, EXTENTS, numpy_dtype, random

import sectile as st
import sectile.language as tl


@st.jit
def copy(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("name", DTYPES)
def test_masked_copy_touches_nothing_else(name, extent):
    x = random(name, extent + 8)
    out = np.full(extent + 8, 7).astype(numpy_dtype(name))
    copy[(st.cdiv(extent, 64),)](x, out, extent, N=64)
    np.testing.assert_array_equal(out[:extent], x[:extent])
    np.testing.assert_array_equal(out[extent:], np.full(8, 7).astype(out.dtype))


@pytest.mark.parametrize("extent", [1, 2, 3, 5, 9, 17, 18, 33, 65])
@pytest.mark.parametrize("narrow", ["int8", "int16", "bfloat16", "float16", "float32"])
@pytest.mark.parametrize("wide", ["int32", "int64", "float32", "float64"])
def test_narrowed_tail_touches_nothing_else(wide, narrow, extent):
    dtype = DTYPES[narrow][1]

    @st.jit
    def kernel(x_ptr, out_ptr, N: tl.constexpr, dtype: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(out_ptr + i, tl.load(x_ptr + i).to(dtype))

    x = np.random.default_rng(0).integers(0, 100, extent).astype(numpy_dtype(wide))
    out = np.full(extent + 8, 7).astype(numpy_dtype(narrow))
    kernel[(1,)](x, out, N=extent, dtype=dtype)
    np.testing.assert_array_equal(out[:extent], x.astype(out.dtype))
    np.testing.assert_array_equal(out[extent:], np.full(8, 7).astype(out.dtype))


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("offset", [0, 1, 5])
def test_strided_access_at_any_alignment(stride, offset):
    @st.jit
    def kernel(x_ptr, out_ptr, stride, n, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(out_ptr + i, tl.load(x_ptr + i * stride, mask=i < n, other=-1.0))

    x = random("float32", 400)[offset:]
    out = np.empty(100, np.float32)
    kernel[(1,)](x, out, stride, 90, N=100)
    np.testing.assert_array_equal(out[:90], x[: 90 * stride : stride])
    assert (out[90:] == -1).all()


def test_masks_of_every_form():
    @st.jit
    def kernel(x_ptr, out_ptr, rows, columns, parity, M: tl.constexpr, N: tl.constexpr):
        i = tl.arange(0, M)[:, None]
        j = tl.arange(0, N)[None, :]
        mask = (i < rows) & (j < columns) & ((i + j) % 2 == parity) | (j == 3)
        tl.store(out_ptr + i * N + j, tl.load(x_ptr + i * N + j, mask=mask, other=9.0), mask=j != 5)

    x = random("float32", (9, 40))
    for parity in (0, 1):
        out = np.zeros_like(x)
        kernel[(1,)](x, out, 7, 30, parity, M=9, N=40)
        i, j = np.indices(x.shape)
        mask = (i < 7) & (j < 30) & ((i + j) % 2 == parity) | (j == 3)
        np.testing.assert_array_equal(out, np.where(j != 5, np.where(mask, x, 9), 0))


def test_masked_out_lanes_may_point_anywhere():
    @st.jit
    def kernel(x_ptr, out_ptr, n, N: tl.constexpr):
        i = tl.arange(0, N)
        far = tl.where(i < n, i, 2_000_000_000)
        tl.store(out_ptr + far, tl.load(x_ptr + far, mask=i < n, other=0.0) + 1, mask=i < n)

    x = random("float32", 50)
    out = np.empty_like(x)
    kernel[(1,)](x, out, 50, N=64)
    np.testing.assert_array_equal(out, x + 1)


def test_gather_and_scatter_with_64_bit_indices():
    @st.jit
    def kernel(x_ptr, i_ptr, out_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        where = tl.load(i_ptr + i)
        tl.store(out_ptr + where, tl.load(x_ptr + where) * 2)

    x, i = random("float32", 100), np.random.default_rng(0).permutation(100)
    out = np.zeros_like(x)
    kernel[(1,)](x, i, out, N=100)
    np.testing.assert_array_equal(out, x * 2)


@pytest.mark.host
def test_what_was_loaded_stays_when_its_addresses_repeat():
    @st.jit
    def kernel(x_ptr, i_ptr, out_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        where = x_ptr + tl.load(i_ptr + i)
        value = tl.load(where)
        tl.store(where, value + 10)
        tl.store(out_ptr + i, value)

    for extent in (1, 7, 10, 64, 100):
        x, i = np.arange(100, dtype=np.int32), (np.arange(100) % extent).astype(np.int32)
        expected, out = x.copy(), np.zeros(100, np.int32)
        kernel[(1,)](x, i, out, N=100)
        np.testing.assert_array_equal(out, expected[i])
        expected[:extent] += 10
        np.testing.assert_array_equal(x, expected)


@pytest.mark.host
def test_later_stores_win_where_addresses_repeat():
    @st.jit
    def kernel(x_ptr, P: tl.constexpr, N: tl.constexpr):
        i = tl.arange(0, N)
        where = x_ptr + i % P
        tl.store(where, 1)
        tl.store(where, 2, mask=i < P)

    for period in (3, 32, 50):
        x = np.zeros(100, np.int32)
        kernel[(1,)](x, P=period, N=100)
        np.testing.assert_array_equal(x[:period], 2)


@pytest.mark.host
@pytest.mark.parametrize("stride", [0, 3, 8, 20])
def test_rows_that_overlap_by_their_stride(stride):
    @st.jit
    def kernel(x_ptr, out_ptr, stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
        i, j = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
        value = tl.load(x_ptr + i * stride + j)
        tl.store(x_ptr + i * stride + j, value * 2)
        tl.store(out_ptr + i * COLUMNS + j, value)

    x, out = np.arange(400, dtype=np.int32), np.zeros((6, 20), np.int32)
    places = np.arange(6)[:, None] * stride + np.arange(20)
    expected = x.copy()
    expected[np.unique(places)] *= 2
    kernel[(1,)](x, out, stride, ROWS=6, COLUMNS=20)
    np.testing.assert_array_equal(out, places)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.host
def test_one_array_for_two_arguments_and_addresses_that_repeat():
    @st.jit
    def kernel(x_ptr, i_ptr, out_ptr, kept_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        where = tl.load(i_ptr + i)
        value = tl.load(x_ptr + where)
        tl.store(out_ptr + where, value + 10)
        tl.store(kept_ptr + i, value)

    x, i = np.arange(100, dtype=np.int32), (np.arange(100) % 10).astype(np.int32)
    expected, kept = x[i].copy(), np.zeros(100, np.int32)
    kernel[(1,)](x, i, x, kept, N=100)
    np.testing.assert_array_equal(kept, expected)


def test_copies_of_an_element_are_loaded_before_one_is_stored():
    """All warps have the few elements and the number; one of them stores, and late ones have loaded before."""

    @st.jit
    def kernel(x_ptr, count_ptr, out_ptr, N: tl.constexpr):
        i = tl.arange(0, 8)
        value = tl.load(x_ptr + i)
        tl.store(x_ptr + i, value + 1)
        count = tl.load(count_ptr)
        tl.store(count_ptr, count * 3)
        again = tl.load(count_ptr)
        total = tl.sum(value, 0) + 100 * count + 10000 * again
        tl.store(out_ptr + tl.arange(0, N), total + tl.zeros((N,), tl.int32))

    x, count, out = np.arange(8, dtype=np.int32), np.array([7], np.int32), np.zeros(1024, np.int32)
    kernel[(1,)](x, count, out, N=1024, num_warps=8)
    assert (x == np.arange(8) + 1).all() and count[0] == 21
    assert (out == 28 + 700 + 210000).all()


def test_booleans_are_bytes():
    @st.jit
    def kernel(x_ptr, out_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        flag = tl.load(x_ptr + i)
        tl.static_assert(flag.dtype == tl.int1)
        tl.store(out_ptr + i, ~flag)

    x = np.random.default_rng(0).integers(0, 2, 37).astype(bool)
    out = np.zeros_like(x)
    kernel[(1,)](x, out, N=37)
    np.testing.assert_array_equal(out, ~x)


def test_a_load_happens_before_a_later_store():
    @st.jit
    def kernel(x_ptr, out_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        before = tl.load(x_ptr + i)
        tl.store(x_ptr + i, before * 0 + 5)
        after = tl.load(x_ptr + i)
        tl.store(out_ptr + i, before * 8 + after)

    x = random("float32", 70)
    original, out = x.copy(), np.empty_like(x)
    kernel[(1,)](x, out, N=70)
    np.testing.assert_array_equal(out, original * np.float32(8) + 5)
    assert (x == 5).all()


def test_reversing_in_place_needs_the_whole_tile_first():
    @st.jit
    def kernel(x_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        x = tl.load(x_ptr + i)
        tl.debug_barrier()
        tl.store(x_ptr + (N - 1 - i), x)

    x = random("float32", 200)
    expected = x[::-1].copy()
    kernel[(1,)](x, N=200)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize(
    "name", ["int32", "uint32", "int64", "uint64", "float32", "float64", "float16", "bfloat16"]
)
def test_atomic_add_from_many_programs(name):
    @st.jit
    def kernel(out_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.atomic_add(out_ptr + i % 7, 1, mask=i != 3)

    out = np.zeros(7, numpy_dtype(name))
    programs = 20 if name in ("float16", "bfloat16") else 500
    kernel[(programs,)](out, N=21)
    expected = np.bincount(np.delete(np.arange(21), 3) % 7, minlength=7) * programs
    np.testing.assert_array_equal(out.astype(np.float64), expected)


@st.jit
def atomic_add_tile(x_ptr, out_ptr, old_ptr, count, first, N: tl.constexpr, sem: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + i, mask=i < count)
    old = tl.atomic_add(out_ptr + first + i, x, mask=i < count, sem=sem)
    if old_ptr is not None:
        tl.store(old_ptr + i, old, mask=i < count)


@pytest.mark.parametrize("sem", ["relaxed", "acq_rel"])
@pytest.mark.parametrize("wants_old", [False, True])
@pytest.mark.parametrize("count, first", [(4096, 0), (4096, 1), (3001, 0), (999, 2), (6, 0)])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_atomic_add_of_neighbours(name, count, first, wants_old, sem):
    # Neighbours may be added in pairs and vectors, as far as alignment and mask allow.
    x = random(name, count, 1, low=-8, high=8)
    start = random(name, count + first + 3, 2, low=-8, high=8)
    out, old = start.copy(), np.zeros_like(x) if wants_old else None
    atomic_add_tile[(st.cdiv(count, 1024),)](x, out, old, count, first, N=1024, sem=sem)
    expected = start.astype(np.float32)
    expected[first : first + count] += x.astype(np.float32)
    np.testing.assert_array_equal(out, expected.astype(numpy_dtype(name)))
    if wants_old:
        np.testing.assert_array_equal(old, start[first : first + count])


ATOMIC_INSTRUCTIONS = [
    ("fp16", 80, "relaxed", "atom.global.gpu.relaxed.add.noftz.f16x2"),
    ("fp16", 90, "relaxed", "atom.global.gpu.relaxed.add.noftz.v4.f16x2"),
    ("bf16", 90, "relaxed", "atom.global.gpu.relaxed.add.noftz.v4.bf16x2"),
    ("fp32", 90, "release", "atom.global.gpu.relaxed.add.v4.f32"),
    ("fp32", 80, "relaxed", "atom.global.gpu.relaxed.add.f32"),
    ("fp32", 90, "acq_rel", "atom.global.gpu.relaxed.add.v4.f32"),
    ("i32", 90, "relaxed", "atom.global.gpu.relaxed.add.u32"),
]


@pytest.mark.host
@pytest.mark.parametrize("name, capability, sem, instruction", ATOMIC_INSTRUCTIONS)
def test_atomic_instructions(name, capability, sem, instruction):
    signature = {
        "x_ptr": f"*{name}:16",
        "out_ptr": f"*{name}:16",
        "count": "i32:16",
        "first": "i32:16",
    }
    constants = {"old_ptr": None, "N": 4096, "sem": sem}
    kernel = st.compile(
        atomic_add_tile, signature, constants, target=f"cuda:{capability}", num_warps=4
    )
    ptx = kernel.asm["ptx"]
    width = 2 if "f16x2" in instruction else 1
    width *= 4 if ".v4" in instruction else 1
    assert ptx.count(instruction) == 4096 // 128 // width, ptx
    fences = {"relaxed": 0, "release": 1, "acq_rel": 2}[sem]
    assert ptx.count("fence.acq_rel.gpu") == fences, ptx


@pytest.mark.host
@pytest.mark.parametrize("scope, suffix", [("cta", "cta"), ("gpu", "gpu"), ("sys", "sys")])
@pytest.mark.parametrize("sem", ["relaxed", "acquire", "release", "acq_rel"])
def test_atomics_have_their_order_and_scope(sem, scope, suffix):
    @st.jit
    def kernel(out_ptr, old_ptr, sem: tl.constexpr, scope: tl.constexpr):
        tl.store(old_ptr, tl.atomic_add(out_ptr, 1, sem=sem, scope=scope))

    signature = {"out_ptr": "*i32", "old_ptr": "*i32"}
    compiled = st.compile(kernel, signature, {"sem": sem, "scope": scope}, target="cuda:90")
    assert f"atom.global.{suffix}.{sem}.add.u32" in compiled.asm["ptx"]


@pytest.mark.parametrize(
    "name", ["int32", "uint32", "int64", "float32", "float64", "float16", "bfloat16"]
)
def test_atomic_max_min(name):
    @st.jit
    def kernel(x_ptr, max_ptr, min_ptr, N: tl.constexpr):
        i = tl.program_id(0) * N + tl.arange(0, N)
        tl.atomic_max(max_ptr + i % 5, tl.load(x_ptr + i))
        tl.atomic_min(min_ptr + i % 5, tl.load(x_ptr + i))

    x = random(name, 5 * 64)
    largest, smallest = np.repeat(x[:1], 5), np.repeat(x[:1], 5)
    kernel[(10,)](x, largest, smallest, N=32)
    for k in range(5):
        assert largest[k] == max(x[k::5].max(), x[0])
        assert smallest[k] == min(x[k::5].min(), x[0])


@st.jit
def extremes_of_pairs(x_ptr, max_ptr, min_ptr, old_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(old_ptr + i, tl.atomic_max(max_ptr + i, x, mask=i != 5))
    tl.atomic_min(min_ptr + i, x, sem="relaxed")


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_atomic_max_min_of_special_values(name):
    """A number wins over NaN, as fmax and fmin have it; neighbours in the same word stay."""
    special = [np.nan, -np.nan, np.inf, -np.inf, 0.0, 1.0, -1.5, 6e-8, 6e4]
    x, start = (each.astype(numpy_dtype(name)).ravel() for each in np.meshgrid(special, special))
    assert np.signbit(special[1])
    largest, smallest, old = start.copy(), start.copy(), np.zeros_like(start)
    extremes_of_pairs[(1,)](x, largest, smallest, old, x.size)
    expected = np.fmax(x.astype(np.float32), start.astype(np.float32))
    expected[5] = start[5]
    np.testing.assert_array_equal(largest.astype(np.float32), expected)
    expected = np.fmin(x.astype(np.float32), start.astype(np.float32))
    np.testing.assert_array_equal(smallest.astype(np.float32), expected)
    old[5] = start[5]
    np.testing.assert_array_equal(old.astype(np.float32), start.astype(np.float32))


@pytest.mark.host
@pytest.mark.parametrize("name, bits", [("fp32", 32), ("fp64", 64)])
def test_atomic_max_min_are_instructions(name, bits):
    """A loop is for NaN alone."""
    signature = {
        "x_ptr": f"*{name}",
        "max_ptr": f"*{name}",
        "min_ptr": f"*{name}",
        "old_ptr": f"*{name}",
    }
    kernel = st.compile(extremes_of_pairs, signature, {"N": 128}, target="cuda:80", num_warps=4)
    for operation in (f"acq_rel.max.s{bits}", f"acq_rel.min.u{bits}", f"relaxed.min.s{bits}"):
        assert kernel.asm["ptx"].count(f"atom.global.gpu.{operation}") == 1, operation


@pytest.mark.parametrize("sem", ["relaxed", "acquire", "release", "acq_rel"])
def test_atomic_logic_exchange_and_results(sem):
    @st.jit
    def kernel(out_ptr, old_ptr, sem: tl.constexpr):
        tl.store(old_ptr, tl.atomic_or(out_ptr, 0b1100, sem=sem))
        tl.store(old_ptr + 1, tl.atomic_and(out_ptr, 0b0110, sem=sem))
        tl.store(old_ptr + 2, tl.atomic_xor(out_ptr, 0b1111, sem=sem))
        tl.store(old_ptr + 3, tl.atomic_xchg(out_ptr, 77, sem=sem))
        tl.store(old_ptr + 4, tl.atomic_cas(out_ptr, 77, 78, sem=sem))
        tl.store(old_ptr + 5, tl.atomic_cas(out_ptr, 77, 79, sem=sem))

    out, old = np.array([0b0101], np.int32), np.zeros(6, np.int32)
    kernel[(1,)](out, old, sem=sem)
    assert old.tolist() == [0b0101, 0b1101, 0b0100, 0b1011, 77, 78]
    assert out[0] == 78


def test_a_spin_lock_guards_a_plain_update():
    @st.jit
    def kernel(lock_ptr, total_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        while tl.atomic_cas(lock_ptr, 0, 1) == 1:
            pass
        tl.store(total_ptr + i, tl.load(total_ptr + i) + 1)
        tl.debug_barrier()
        tl.atomic_xchg(lock_ptr, 0)

    lock, total = np.zeros(1, np.int32), np.zeros(50, np.float32)
    kernel[(300,)](lock, total, N=50)
    assert (total == 300).all() and lock[0] == 0


@st.jit
def _waits(flag, seen):
    while tl.load(flag, cache_modifier=".cv") == 0:
        pass
    tl.store(seen, tl.load(flag))


def test_what_is_fetched_anew_is_waited_for(device):
    """The loop must not go, though nothing comes of it."""
    types = {"flag": "*i32", "seen": "*i32"}
    ptx = st.compile(_waits, signature=types, target="cuda:90").asm["ptx"]
    assert "ld.global.cv" in ptx and "bra" in ptx
    seen = np.zeros(1, np.int32)
    _waits[(1,)](np.array([5], np.int32), seen)
    assert seen[0] == 5
