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


@pytest.mark.parametrize("name", ["int32", "uint32", "int64", "float32", "float64"])
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
