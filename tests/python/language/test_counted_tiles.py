"""One loop over the steps of all tiles, with a counter of its own and branches at the first and the last step of each,
as persistent products are written: what it computes, whether the compiler makes two loops of it or not."""

import types

import numpy as np
import pytest

import sectile as st
import sectile.language as tl


def plain(out, n, m, start):
    """A number that the first step gives, one that all change, one that the last step begins anew."""
    ki = -1
    tile = start - 5
    total = 7
    steps = 0
    for _ in range(0, n * m):
        ki = tl.where(ki == n - 1, 0, ki + 1)
        if ki == 0:
            tile += 5
        steps += tile + ki
        total += ki * tile
        if ki == n - 1:
            tl.store(out + tile - start, total + steps)
            total = 1
    tl.store(out + 400, total + 3 * tile + steps)


def factors_turned(out, n, m, start):
    ki = -1
    tile = start
    total = 0
    for _ in range(0, m * n):
        ki = tl.where(ki == n - 1, 0, ki + 1)
        if ki == 0:
            tile = tile + 3
            total = 0 - tile
        total += ki
        if ki == n - 1:
            tl.store(out + tile - start, total * 2 + ki)
    tl.store(out + 400, total)


def no_first(out, n, m, start):
    ki = -1
    at = 0
    total = start
    for _ in range(0, n * m):
        ki = tl.where(ki == n - 1, 0, ki + 1)
        total += ki * ki
        if ki == n - 1:
            tl.store(out + at, total)
            at += 2
            total = start
    tl.store(out + 400, total + at)


def of_memory(out, n, m, start):
    """The first step loads what the last one before has stored."""
    ki = -1
    at = 0
    seen = 0
    for _ in range(0, n * m):
        ki = tl.where(ki == n - 1, 0, ki + 1)
        if ki == 0:
            seen = tl.load(out + at) + 1
            at += 1
        seen += 2
        if ki == n - 1:
            tl.store(out + at, seen + ki)
    tl.store(out + 400, seen)


def rotated(out, n, m, start):
    """The last step takes what was carried into it."""
    ki = -1
    one = start
    two = 0
    for i in range(0, n * m):
        ki = tl.where(ki == n - 1, 0, ki + 1)
        three = one + 1
        if ki == n - 1:
            tl.store(out + two - two % 2 + ki, one + 10 * two)
        two = one % 50
        one = three
    tl.store(out + 400, one + two)


def begun_twice(out, n, m, start):
    """Two numbers begin with what one was."""
    ki = -1
    one = start
    two = 3
    for _ in range(0, n * m):
        ki = tl.where(ki == n - 1, 0, ki + 1)
        if ki == 0:
            two = one * 2
            one = one + 1
        two += ki
        if ki == n - 1:
            tl.store(out + two % 300, one)
    tl.store(out + 400, one + two)


def given_on(out, n, m, start):
    """What the first step gives becomes another number, which the last step takes."""
    ki = -1
    one = start
    two = 3
    three = 0
    for _ in range(0, n * m):
        ki = tl.where(ki == n - 1, 0, ki + 1)
        if ki == 0:
            one += three + 1
            three = 5
        three += 2
        if ki == n - 1:
            tl.store(out + three % 300, one + two)
        two = one
    tl.store(out + 400, one + two + three)


def read_before(out, n, m, start):
    """What the first step gives is read in front of it, too."""
    ki = -1
    tile = start
    total = 0
    for _ in range(0, n * m):
        ki = tl.where(ki == n - 1, 0, ki + 1)
        total += tile
        if ki == 0:
            tile += 2
        if ki == n - 1:
            tl.store(out + tile - start, total)
    tl.store(out + 400, total + tile)


def changed_again(out, n, m, start):
    """What the first step gives changes in others."""
    ki = -1
    tile = start
    for _ in range(0, n * m):
        ki = tl.where(ki == n - 1, 0, ki + 1)
        if ki == 0:
            tile += 2
        tile += ki
        if ki == n - 1:
            tl.store(out + tile % 300, tile)
    tl.store(out + 400, tile)


def counter_behind(out, n, m, start):
    ki = -1
    for _ in range(0, n * m):
        ki = tl.where(ki == n - 1, 0, ki + 1)
        if ki == n - 1:
            tl.store(out + ki, start)
    tl.store(out + 400, ki)


def turn_used(out, n, m, start):
    ki = -1
    for i in range(0, n * m):
        ki = tl.where(ki == n - 1, 0, ki + 1)
        if ki == n - 1:
            tl.store(out + i, start + ki)
    tl.store(out + 400, n)


def other_factor(out, n, m, start):
    """The counter goes round elsewhere than the product says."""
    ki = -1
    total = 0
    for _ in range(0, (n + 1) * m):
        ki = tl.where(ki == n - 1, 0, ki + 1)
        total += ki
        if ki == n - 1:
            tl.store(out + total % 300, start)
    tl.store(out + 400, total)


def does_otherwise(out, n, m, start):
    ki = -1
    total = 0
    for _ in range(0, n * m):
        ki = tl.where(ki == n - 1, 0, ki + 1)
        if ki == n - 1:
            tl.store(out + total % 300, total)
            total += 3
        else:
            total += ki + 1
    tl.store(out + 400, total)


def stores_behind(out, n, m, start):
    """Something is stored behind the last step, and read by it."""
    ki = -1
    total = 0
    for _ in range(0, n * m):
        ki = tl.where(ki == n - 1, 0, ki + 1)
        total += ki + 1
        if ki == n - 1:
            total += tl.load(out + 399)
        tl.store(out + 399, total)
    tl.store(out + 400, total)


def counting(out, n, m, start):
    """A while loop that counts, what it is behind the loop included."""
    tile = start
    total = 0
    while tile < start + 3 * m:
        for i in range(n):
            total += i * tile
        tl.store(out + tile - start, total)
        tile += 3
    tl.store(out + 400, tile + total)


def counting_between(out, n, m, start):
    """Tiles of a part of the numbers, one part after the other."""
    tile = 2
    done = 0
    for part in range(m):
        tiles = n + part
        while done <= tile and done + tiles > tile:
            total = part
            for i in range(tile):
                total += i
            tl.store(out + tile, total)
            tile += 2
        done += tiles
    tl.store(out + 400, tile + done)


def counting_for_nothing(out, n, m, start):
    """The test's first term is false from the begin."""
    tile = n
    while tile >= n + m and tile < 100:
        for i in range(2):
            tl.store(out + tile + i, start)
        tile += 1
    tl.store(out + 400, tile)


def counting_changed(out, n, m, start):
    """What is counted changes in the loop, too."""
    tile = 0
    while tile < n * m:
        for i in range(2):
            tl.store(out + tile, start + i)
        if tile == 3:
            tile += 2
        tile += 1
    tl.store(out + 400, tile)


def bound_changed(out, n, m, start):
    tile = 0
    end = n + m
    while tile < end:
        for i in range(2):
            tl.store(out + tile, start + end + i)
        tile += 1
        end -= 1
    tl.store(out + 400, tile + end)


def counted_twice(out, n, m, start):
    """A number that counts with the loop, from another one on, and is wanted behind it."""
    again = start - 5
    total = 0
    for tile in range(start, start + 5 * m, 5):
        for i in range(n):
            total += i + again
        again += 5
        tl.store(out + again - start, total + tile)
    tl.store(out + 400, again + total)


class Memory:
    def __init__(self, array, at=0):
        self.array, self.at = array, at

    def __add__(self, more):
        return Memory(self.array, self.at + more)

    __radd__ = __add__

    def __sub__(self, less):
        return self + -less


class Language:
    @staticmethod
    def where(condition, x, y):
        return x if condition else y

    @staticmethod
    def store(pointer, value):
        pointer.array[pointer.at] = value

    @staticmethod
    def load(pointer):
        return int(pointer.array[pointer.at])


NESTED = [plain, factors_turned, no_first, of_memory, begun_twice, changed_again]
OTHERS = [
    given_on, rotated, read_before, counter_behind, turn_used, other_factor, does_otherwise, stores_behind,
]  # fmt: skip


def counted_for_nothing(out, n, m, start):
    """Nobody wants what the loops make, but for the last."""
    again = start
    total = 0
    for tile in range(start, m + start):
        for i in range(n):
            total += i + tile
        again += 1
    same = 0
    for tile in range(start, m + start):
        for i in range(n):
            same += i * tile
    more = 0
    for tile in range(start, m + start):
        for i in range(n):
            more += i * tile
    tl.store(out + 400, same + more)


COUNTING = [counting, counting_between, counting_for_nothing, counted_twice, counted_for_nothing]
STAYING = [counting_changed, bound_changed]


@pytest.mark.parametrize(
    "function", NESTED + OTHERS + COUNTING + STAYING, ids=lambda function: function.__name__
)
def test_steps_of_tiles(device, function):
    kernel = st.jit(function)
    for n, m in ((1, 1), (3, 4), (1, 5), (4, 1), (0, 3), (3, 0), (7, 11)):
        out = np.zeros(401, np.int32)
        kernel[(1,)](out, n, m, 20)
        wanted = np.zeros(401, np.int32)
        types.FunctionType(function.__code__, {"tl": Language})(Memory(wanted), n, m, 20)
        np.testing.assert_array_equal(out, wanted, err_msg=f"n = {n}, m = {m}")


@pytest.mark.parametrize("function", NESTED + OTHERS, ids=lambda function: function.__name__)
def test_which_become_two_loops(function):
    signature = {"out": "*i32", "n": "i32", "m": "i32", "start": "i32"}
    with st.knobs.scope(keep_stages=True):
        text = st.compile(st.jit(function), signature, {}, "cuda:90").asm["tile-optimized"]
    assert text.count("scf.for") == (2 if function in NESTED else 1)


@pytest.mark.parametrize("function", COUNTING + STAYING, ids=lambda function: function.__name__)
def test_which_while_loops_count(function):
    signature = {"out": "*i32", "n": "i32", "m": "i32", "start": "i32"}
    with st.knobs.scope(keep_stages=True):
        text = st.compile(st.jit(function), signature, {}, "cuda:90").asm["tile-optimized"]
    assert text.count("scf.while") == (function in STAYING)


@st.jit
def _counted_in_64_bits(out, n, m, a):
    """The loop begins at a sum that wraps in 32 bits, the other number at what was widened before."""
    first = (a + 1).to(tl.int64)
    again = a.to(tl.int64)
    last = again
    for tile in range(first, first + m):
        for i in range(n):
            last = again + i
        again += 1
    tl.store(out, last)
    tl.store(out + 1, again)


@st.jit
def _counted_in_8_bits(out, n, start):
    tile = start.to(tl.int8)
    turns = 0
    while tile < 126:
        for i in range(n):
            turns += 1
        tile += 3
    tl.store(out, turns)
    tl.store(out + 1, tile.to(tl.int64))


def test_numbers_that_wrap_are_not_counted_by_others(device):
    out = np.zeros(2, np.int64)
    _counted_in_64_bits[(1,)](out, 2, 3, 2**31 - 1)
    assert out.tolist() == [2**31 - 1 + 3, 2**31 - 1 + 3]
    _counted_in_8_bits[(1,)](out, 1, 2)
    tile, turns = 2, 0
    while tile < 126:
        tile, turns = (tile + 3 + 128) % 256 - 128, turns + 1
    assert out.tolist() == [turns, tile]


@st.jit
def _counted_twice(
    a, b, c, M, N, K, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr,
    WHILE: tl.constexpr,
):  # fmt: skip
    """As Triton's tutorial 9 has it: what loads a tile and what stores it count for themselves."""
    across, k_tiles = tl.cdiv(N, BN), tl.cdiv(K, BK)
    tiles = tl.cdiv(M, BM) * across
    stored = tl.program_id(0) - PROGRAMS
    if WHILE:
        tile = tl.program_id(0)
        while tile < tiles:
            stored = _one_tile(
                a, b, c, M, N, K, lda, ldb, ldc, tile, stored, across, k_tiles, BM, BN, BK, PROGRAMS
            )
            tile += PROGRAMS
    else:
        for tile in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=True):
            stored = _one_tile(
                a, b, c, M, N, K, lda, ldb, ldc, tile, stored, across, k_tiles, BM, BN, BK, PROGRAMS
            )


@st.jit
def _one_tile(
    a, b, c, M, N, K, lda, ldb, ldc, tile, stored, across, k_tiles, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr, PROGRAMS: tl.constexpr,
):  # fmt: skip
    rows = tile // across * BM + tl.arange(0, BM)
    columns = tile % across * BN + tl.arange(0, BN)
    rows = tl.where(rows < M, rows, 0)
    columns = tl.where(columns < N, columns, 0)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for ki in range(k_tiles):
        k = ki * BK + tl.arange(0, BK)
        left = tl.arange(0, BK) < K - ki * BK
        x = tl.load(a + (rows[:, None] * lda + k[None, :]), mask=left[None, :], other=0.0)
        y = tl.load(b + (k[:, None] * ldb + columns[None, :]), mask=left[:, None], other=0.0)
        total = tl.dot(x, y, total)
    stored += PROGRAMS
    i = stored // across * BM + tl.arange(0, BM)
    j = stored % across * BN + tl.arange(0, BN)
    inside = (i < M)[:, None] & (j < N)[None, :]
    tl.store(c + ldc * i[:, None] + j[None, :], total.to(tl.float16), mask=inside)
    return stored


@pytest.mark.parametrize("with_while", [False, True])
@pytest.mark.parametrize("M, N, K", [(64, 64, 64), (200, 136, 72), (257, 200, 136), (64, 64, 0)])
def test_tiles_that_are_counted_twice(device, M, N, K, with_while):
    random = np.random.default_rng(M + N + K)
    lda, ldb, ldc = max(16, (K + 15) // 16 * 16), (N + 15) // 16 * 16, (N + 15) // 16 * 16
    a, b = np.full((M, lda), np.nan, np.float16), np.full((max(K, 1), ldb), np.nan, np.float16)
    a[:, :K], b[:K, :N] = random.standard_normal((M, K)), random.standard_normal((K, N))
    wanted = a[:, :K].astype(np.float64) @ b[:K, :N].astype(np.float64)
    for blocks, programs in (((64, 64, 32), 3), ((128, 64, 64), 1)):
        c = np.full((M, ldc), -32768, np.float16)
        _counted_twice[(programs,)](
            a, b, c, M, N, K, lda, ldb, ldc, *blocks, PROGRAMS=programs, WHILE=with_while
        )
        np.testing.assert_allclose(c[:, :N].astype(np.float64), wanted, rtol=2e-3, atol=2e-3)
        assert np.all(c[:, N:] == -32768)


@pytest.mark.parametrize("with_while", [False, True])
def test_tiles_that_are_counted_twice_are_the_copy_engines(with_while):
    names = ("M", "N", "K", "lda", "ldb", "ldc")
    signature = {name: "*fp16:16" for name in "abc"} | {name: "i32:16" for name in names}
    constants = {"BM": 128, "BN": 256, "BK": 64, "PROGRAMS": 132, "WHILE": with_while}
    kernel = st.compile(_counted_twice, signature, constants, "cuda:90", num_warps=8)
    texts = [remark["text"] for remark in kernel.remarks]
    assert sum("on into the next round of the loop around" in text for text in texts) == 2
    assert sum("stored from shared memory by the copy engine" in text for text in texts) == 1


@st.jit
def _persistent(
    a, b, c, M, N, K, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr,
    WAY: tl.constexpr,
):  # fmt: skip
    start = tl.program_id(0)
    down, across, k_tiles = tl.cdiv(M, BM), tl.cdiv(N, BN), tl.cdiv(K, BK)
    tiles = down * across
    tiles_here = tiles // PROGRAMS
    if start < tiles % PROGRAMS:
        tiles_here += 1
    tile = start - PROGRAMS
    ki = -1
    m = 0
    n = 0
    rows = tl.arange(0, BM)
    columns = tl.arange(0, BN)
    if WAY == "descriptors":
        left = tl.make_tensor_descriptor(a, [M, K], [lda, 1], [BM, BK])
        right = tl.make_tensor_descriptor(b, [K, N], [ldb, 1], [BK, BN])
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, k_tiles * tiles_here):
        ki = tl.where(ki == k_tiles - 1, 0, ki + 1)
        if ki == 0:
            tile += PROGRAMS
            m = tile // across * BM
            n = tile % across * BN
            rows = m + tl.arange(0, BM)
            columns = n + tl.arange(0, BN)
            if WAY == "where":
                rows = tl.where(rows < M, rows, 0)
                columns = tl.where(columns < N, columns, 0)
            else:
                rows = rows % M
                columns = columns % N
        if WAY == "descriptors":
            x = left.load([m, ki * BK])
            y = right.load([ki * BK, n])
        else:
            k = ki * BK + tl.arange(0, BK)
            x = tl.load(
                a + rows[:, None] * lda + k[None, :],
                mask=tl.arange(0, BK)[None, :] < K - ki * BK,
                other=0.0,
            )
            y = tl.load(
                b + k[:, None] * ldb + columns[None, :],
                mask=tl.arange(0, BK)[:, None] < K - ki * BK,
                other=0.0,
            )
        total = tl.dot(x, y, total)
        if ki == k_tiles - 1:
            i = m + tl.arange(0, BM)
            j = n + tl.arange(0, BN)
            tl.store(
                c + i[:, None] * ldc + j[None, :],
                total.to(tl.float16),
                mask=(i[:, None] < M) & (j[None, :] < N),
            )
            total = tl.zeros((BM, BN), dtype=tl.float32)


@pytest.mark.parametrize("way", ["where", "modulo", "descriptors"])
@pytest.mark.parametrize(
    "M, N, K", [(64, 64, 64), (200, 136, 72), (257, 200, 136), (64, 64, 0), (65, 40, 8)]
)
def test_persistent_products(device, M, N, K, way):
    random = np.random.default_rng(M + N + K)
    lda, ldb, ldc = max(16, (K + 15) // 16 * 16), (N + 15) // 16 * 16, (N + 15) // 16 * 16
    a, b = np.full((M, lda), np.nan, np.float16), np.full((max(K, 1), ldb), np.nan, np.float16)
    a[:, :K] = random.standard_normal((M, K))
    b[:K, :N] = random.standard_normal((K, N))
    for programs in (1, 3):
        c = np.full((M, ldc), -3, np.float16)
        _persistent[(programs,)](
            a, b, c, M, N, K, lda, ldb, ldc, BM=64, BN=64, BK=32, PROGRAMS=programs, WAY=way, num_warps=4
        )  # fmt: skip
        wanted = np.full((M, ldc), -3.0)
        if K:  # otherwise the loop has no steps, and nothing is stored
            wanted[:, :N] = a[:, :K].astype(np.float64) @ b[:K, :N].astype(np.float64)
        np.testing.assert_allclose(c, wanted, rtol=2e-3, atol=3e-2)


@pytest.mark.parametrize("way", ["where", "modulo", "descriptors"])
def test_copies_of_persistent_products_go_on_across_tiles(way):
    signature = {"a": "*fp16:16", "b": "*fp16:16", "c": "*fp16:16", "M": "i32:16", "N": "i32:16", "K": "i32:16",
                 "lda": "i32:16", "ldb": "i32:16", "ldc": "i32:16"}  # fmt: skip
    constants = {"BM": 128, "BN": 128, "BK": 64, "PROGRAMS": 132, "WAY": way}
    with st.knobs.scope(keep_stages=True):
        text = st.compile(_persistent, signature, constants, "cuda:90", num_warps=8).asm["tile-gpu"]
    assert "tile.tensor_copy" in text and "tile.async_copy" not in text
    assert "tile.dot_wait 1" in text
