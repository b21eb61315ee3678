"""What kernels tell their host while they run, the same on every device: prints, assertions, bounds."""

import re

import numpy as np
import pytest

import sectile as st
import sectile.language as tl


@pytest.fixture
def printed():
    """The text printed so far, one program's after another's: GPUs print as programs come."""
    pieces = []
    st.set_print(pieces.append)

    def lines(order=None):
        text = "".join(pieces).splitlines()
        return sorted(text, key=order) if order else text

    yield lines
    st.set_print(None)


@st.jit
def show_rows(x, rows, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    program = tl.program_id(0)
    i, j = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    tile = tl.load(x + (program * ROWS + i)[:, None] * COLUMNS + j[None, :])
    tl.device_print("t", tl.trans(tile), tl.sum(tile, 1), rows)


@pytest.mark.parametrize("dtype", ["float16", "int32", "uint8", "float64"])
@pytest.mark.parametrize("shape", [(1, 8), (16, 32), (8, 100)])
def test_prints_of_tiles(dtype, shape, printed):
    rows, columns = shape
    x = np.random.default_rng(3).integers(0, 10, (3 * rows, columns)).astype(dtype)
    show_rows[(3,)](x, -5, COLUMNS=columns, ROWS=rows)
    text = (lambda v: f"{float(v):.1f}") if "float" in dtype else (lambda v: str(int(v)))
    expected = []
    for program in range(3):
        tile = x[program * rows : (program + 1) * rows]
        place = f"pid ({program}, 0, 0) idx "
        expected += [
            f"{place}({j}, {i})  t:  (operand 0){text(tile[i, j])}"
            for j in range(columns)
            for i in range(rows)
        ]
        sums = tile.sum(1, dtype=np.float64)
        expected += [f"{place}({i})  t:  (operand 1){text(sums[i])}" for i in range(rows)]
        expected.append(f"{place}()  t:  (operand 2)-5")
    # The spaces that line indices up are not the point.
    squeezed = [
        re.sub(r"\( *", "(", re.sub(r", +", ", ", line))
        for line in printed(lambda line: int(re.search(r"\d+", line)[0]))
    ]
    assert squeezed == expected


@st.jit
def sums_until(x, out, limit, rounds, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    program = tl.program_id(0)
    value = tl.load(x + program * BLOCK + i)
    for k in range(rounds):
        total = tl.sum(value * k, 0)
        tl.device_assert(total < limit, "grew")
        tl.store(out + program * BLOCK + i, value + total)


@pytest.mark.parametrize("num_warps", [1, 4, 8])
def test_assertions_in_loops(num_warps):
    x, out = np.ones((8, 512), np.int32), np.zeros((8, 512), np.int32)
    sums_until[(8,)](x, out, 512 * 10, 10, BLOCK=512, debug=True, num_warps=num_warps)
    assert (out == 1 + 512 * 9).all()
    x[5] = 2
    with pytest.raises(st.DeviceAssertionError, match=r"program \(5, 0, 0\) of .*grew"):
        sums_until[(8,)](x, out, 512 * 10, 10, BLOCK=512, debug=True, num_warps=num_warps)
    # The device goes on as if nothing had been.
    x[5] = 1
    sums_until[(8,)](x, out, 512 * 10, 4, BLOCK=512, debug=True, num_warps=num_warps)
    assert (out == 1 + 512 * 3).all()


@st.jit
def columns_reversed(x, out, rows, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    i, j = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    mask = (i < rows)[:, None] & (j >= 0)[None, :]
    value = tl.load(x + i[:, None] * COLUMNS + j[None, :], mask=mask, other=0)
    tl.store(out + i[:, None] * COLUMNS + (COLUMNS - 1 - j)[None, :], value, mask=mask)


def test_the_first_offender_of_a_tile(device):
    columns, rows = 48, 16
    memory = np.full(rows * columns + 64, -1, np.int32)
    x = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    out = memory[: rows * columns]
    columns_reversed[(1,)](x, out, rows, COLUMNS=columns, ROWS=rows, check="bounds")
    np.testing.assert_array_equal(out.reshape(rows, columns), x[:, ::-1])
    memory[:] = -1
    # Of the row-major order of the tile, the first beyond the last but one row: its last column.
    short = memory[: (rows - 1) * columns]
    with pytest.raises(st.OutOfBoundsError) as raised:
        columns_reversed[(1,)](x, short, rows, COLUMNS=columns, ROWS=rows, check="bounds")
    text = str(raised.value)
    assert "'out'" in text and str(rows * columns - 1) in text, text
    # The CPU stores what comes before it; a GPU nothing of the tile.
    assert (memory[0 if device == "cuda" else short.size :] == -1).all()
    columns_reversed[(1,)](x, short, rows - 1, COLUMNS=columns, ROWS=rows, check="bounds")
    np.testing.assert_array_equal(short.reshape(-1, columns), x[:-1, ::-1])


@st.jit
def bump(counts, where, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.atomic_add(counts + tl.load(where + i, mask=i < n, other=0), 1, mask=i < n)


def test_bounds_of_atomics():
    where = np.random.default_rng(1).integers(0, 10, 100).astype(np.int32)
    counts = np.zeros(10, np.int32)
    bump[(1,)](counts, where, 100, BLOCK=128, check="bounds")
    np.testing.assert_array_equal(counts, np.bincount(where, minlength=10))
    where[[30, 60]] = 12, -1
    with pytest.raises(st.OutOfBoundsError, match="'counts'"):
        bump[(1,)](counts, where, 100, BLOCK=128, check="bounds")


@st.jit
def wait_for_the_first(flag, n):
    if tl.program_id(0) == 0:
        tl.device_assert(n == 0, "never sets the flag")
        tl.atomic_xchg(flag, 1)
    else:
        while tl.atomic_add(flag, 0) == 0:
            pass


def test_programs_that_wait_for_a_stopped_one_end(device):
    if device == "cpu":
        pytest.skip("threads of the host do not look whether others have stopped")
    flag = np.zeros(1, np.int32)
    wait_for_the_first[(4,)](flag, 0, debug=True)
    flag[0] = 0
    with pytest.raises(st.DeviceAssertionError, match="never sets the flag"):
        wait_for_the_first[(4,)](flag, 1, debug=True)
