"""Arrays of one launch that share memory: a program loads whole tiles, then stores them."""

import numpy as np
import pytest
import torch

import sectile as st
import sectile.language as tl

N = 150  # more than one vector, and no multiple of one


@st.jit
def shift(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) + 1, mask=i < n)


@st.jit
def reverse(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + (n - 1 - i), tl.load(x_ptr + i, mask=i < n), mask=i < n)


@st.jit
def flip(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.flip(tl.load(x_ptr + i), 0))


@st.jit
def transpose(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    inside = (i < n)[:, None] & (i < n)[None, :]
    x = tl.load(x_ptr + i[:, None] * n + i[None, :], mask=inside)
    tl.store(y_ptr + i[None, :] * n + i[:, None], x, mask=inside)


@st.jit
def two_stores(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr + i, i, mask=i < n)
    tl.store(y_ptr + i, i + 1000, mask=i < n)


@st.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    inside = i < n
    total = tl.load(x_ptr + i, mask=inside) + tl.load(y_ptr + i, mask=inside)
    tl.store(out_ptr + i, total, mask=inside)


@st.jit
def follow(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    p = x_ptr
    for _ in range(2):  # reads what it wrote, through a pointer that began as another
        tl.store(y_ptr + i + 1, tl.load(p + i, mask=i < n) + 1, mask=i < n)
        p = y_ptr


def memory(kind, count=N):
    values = np.arange(count, dtype=np.float32) ** 2 % 97
    return torch.from_numpy(values) if kind == "torch" else values


def as_numpy(array):
    return array.numpy() if isinstance(array, torch.Tensor) else array


both = pytest.mark.parametrize("kind", ["numpy", "torch"])


@both
@pytest.mark.parametrize("distance", [1, 3, 16, 40])
@pytest.mark.parametrize("is_forward", [True, False])
def test_views_shifted_against_each_other(kind, distance, is_forward):
    array = memory(kind)
    low, high = array[:-distance], array[distance:]
    source, target = (low, high) if is_forward else (high, low)
    expected = as_numpy(array).copy()
    moved = as_numpy(source).copy() + 1
    if is_forward:
        expected[distance:] = moved
    else:
        expected[:-distance] = moved
    shift[(1,)](source, target, N - distance, BLOCK=256)
    np.testing.assert_array_equal(as_numpy(array), expected)


@both
def test_one_array_given_twice_and_written_in_another_order(kind):
    array = memory(kind)
    expected = as_numpy(array)[::-1].copy()
    reverse[(1,)](array, array, N, BLOCK=256)
    np.testing.assert_array_equal(as_numpy(array), expected)


@both
def test_flip_in_place(kind):
    array = memory(kind, 128)
    expected = as_numpy(array)[::-1].copy()
    flip[(1,)](array, array, BLOCK=128)
    np.testing.assert_array_equal(as_numpy(array), expected)


@both
def test_transpose_in_place(kind):
    array = memory(kind, 21 * 21)
    expected = as_numpy(array).reshape(21, 21).T.ravel().copy()
    transpose[(1,)](array, array, 21, BLOCK=32)
    np.testing.assert_array_equal(as_numpy(array), expected)


@pytest.mark.host  # the order of two stores is a promise of the CPU, where a program is one thread
def test_stores_through_overlapping_arrays_keep_their_order():
    array = np.zeros(N, dtype=np.int32)
    expected = array.copy()
    expected[5 : 5 + 100] = np.arange(100)
    expected[:100] = np.arange(100) + 1000
    two_stores[(1,)](array[5:], array, 100, BLOCK=128)
    np.testing.assert_array_equal(array, expected)


def test_overlap_through_negative_strides():
    array = memory("numpy")
    expected = array.copy()
    expected[3:] = array[:-3] + 1
    # A reversed view points at its last element; what it may reach lies below.
    shift[(1,)](array[:-3], array[3:][::-1][::-1], N - 3, BLOCK=256)
    np.testing.assert_array_equal(array, expected)


@both
def test_equal_arrays_used_alike_need_no_other_code(kind):
    x, y = memory(kind), memory(kind) * 2
    apart = as_numpy(x).copy()
    out = as_numpy(x) * 0
    # On GPUs a program's threads have elements of their own only where there are enough.
    add[(1,)](apart, as_numpy(y), out, N, BLOCK=1024)
    in_place = add[(1,)](x, y, x, N, BLOCK=1024)
    np.testing.assert_array_equal(as_numpy(x), out)
    assert in_place.metadata.arguments_overlap == 0


@both
def test_arrays_that_are_only_read_need_no_other_code(kind):
    x, out = memory(kind), memory(kind) * 0
    kernel = add[(1,)](x, x, out, N, BLOCK=256)
    np.testing.assert_array_equal(as_numpy(out), as_numpy(x) * 2)
    assert kernel.metadata.arguments_overlap == 0


@pytest.mark.host  # as is that of a store and a later load
def test_a_pointer_that_changes_its_array_in_a_loop():
    x, y = memory("numpy"), np.zeros(N + 1, np.float32)
    expected = y.copy()
    expected[1:] = x + 1
    expected[1:] = expected[:-1].copy() + 1
    follow[(1,)](x, y, N, BLOCK=256)
    np.testing.assert_array_equal(y, expected)


def test_partial_overlap_gets_code_of_its_own():
    array = memory("numpy")
    kernel = shift[(1,)](array[:-1], array[1:], N - 1, BLOCK=256)
    assert kernel.metadata.arguments_overlap == 1


def test_calls_apart_after_calls_that_overlap():
    array = memory("numpy")
    shift[(1,)](array[:-1], array[1:], N - 1, BLOCK=256)
    x, y = memory("numpy"), np.zeros(N, np.float32)
    kernel = shift[(1,)](x, y, N, BLOCK=256)
    np.testing.assert_array_equal(y, x + 1)
    assert kernel.metadata.arguments_overlap == 0


@st.jit
def reverse_all(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + (BLOCK - 1 - i), tl.load(x_ptr + i))


@st.jit
def add_number(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + 3) + i)


@st.jit
def double_blocks(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)


@pytest.mark.parametrize("block", [16, 128, 1024, 4096])
def test_one_array_reversed_by_every_number_of_warps(device, block):
    for warps in (1, 2, 4, 8):
        array = np.arange(block, dtype=np.int32)
        apart, out = array.copy(), np.zeros_like(array)
        kernel = reverse_all[(1,)](array, array, BLOCK=block, num_warps=warps)
        np.testing.assert_array_equal(array, np.arange(block)[::-1])
        assert kernel.metadata.arguments_overlap == (warps > 1 or device in ("cpu", "moved"))
        kernel = reverse_all[(1,)](apart, out, BLOCK=block, num_warps=warps)
        np.testing.assert_array_equal(out, array)
        assert kernel.metadata.arguments_overlap == 0


@pytest.mark.parametrize("warps", [1, 4, 8])
def test_a_number_that_all_threads_load_from_what_they_write(device, warps):
    array = np.arange(512, dtype=np.int32) + 40
    add_number[(1,)](array, array, BLOCK=512, num_warps=warps)
    np.testing.assert_array_equal(array, np.arange(512) + 43)


def test_a_loop_over_one_array_given_twice_needs_no_other_code(device):
    array = np.arange(5000, dtype=np.int32)
    kernel = double_blocks[(1,)](array, array, array.size, BLOCK=1024)
    np.testing.assert_array_equal(array, 2 * np.arange(5000))
    assert kernel.metadata.arguments_overlap == 0
