"""What kernels tell their host while they run, the same on every device: prints, assertions, bounds."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import sectile as st
import sectile.language as tl


@pytest.fixture
def printed():
    """The text printed so far."""
    pieces = []
    st.set_print(pieces.append)
    yield lambda: "".join(pieces)
    st.set_print(None)


def laid_out(words, threshold=1024):
    """An array of words, padded on the left, as NumPy lays it out."""
    words = np.asarray(words)
    width = max(map(len, words.flat))
    padded = np.char.rjust(words, width).astype(object)
    return np.array2string(
        padded, max_line_width=80, threshold=threshold, edgeitems=3, formatter={"object": str}
    )


@st.jit
def show_rows(x, rows, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    program = tl.program_id(0)
    i, j = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    tile = tl.load(x + (program * ROWS + i)[:, None] * COLUMNS + j[None, :])
    tl.device_print("t", tl.trans(tile), tl.sum(tile, 1), rows)


@pytest.mark.parametrize("dtype", ["float16", "int32", "uint8", "float64"])
@pytest.mark.parametrize("shape", [(1, 8), (16, 32), (8, 100), (32, 64)])
def test_prints_of_tiles(dtype, shape, printed):
    rows, columns = shape
    x = np.random.default_rng(3).integers(0, 10, (3 * rows, columns)).astype(dtype)
    show_rows[(3,)](x, -5, COLUMNS=columns, ROWS=rows)
    is_float = "float" in dtype
    text = np.vectorize(lambda v: f"{float(v):.1f}" if is_float else str(int(v)))
    name = {"float16": "fp16", "int32": "i32", "uint8": "u8", "float64": "fp64"}[dtype]
    sum_name = {"uint8": "u32"}.get(dtype, name)
    expected = ""
    for program in range(3):
        tile = x[program * rows : (program + 1) * rows]
        left_out = rows * columns - 36 if rows * columns > 1024 else 0
        note = (
            f", {left_out} of {rows * columns} elements left out "
            f"(SECTILE_PRINT_ELEMENTS={rows * columns} shows all)"
        )
        lines = [
            (f"tl.trans(tile) = {name}[{columns}x{rows}]{note if left_out else ''}", tile.T),
            (f"tl.sum(tile, 1) = {sum_name}[{rows}]", tile.sum(1, dtype=np.float64)),
        ]
        place = f"pid ({program}, 0, 0) t: "
        for head, values in lines:
            shown = laid_out(text(values))
            on_one = "\n" not in shown and len(place + head) + 1 + len(shown) <= 80
            expected += place + head + (" " if on_one else "\n") + shown + "\n"
        expected += f"{place}rows = -5\n"
    assert printed() == expected


@st.jit
def show_steps(x, n):
    program = tl.program_id(0) + 3 * tl.program_id(1)
    value = tl.load(x + program)
    for step in range(n):
        value = value * 2
        tl.device_print("step", step, value, when=program % 2 == 1)
    print(value)
    tl.device_print("bits: ", value, hex=True)
    tl.device_print("end")


def test_programs_print_in_order(printed):
    show_steps[(3, 2)](np.arange(6, dtype=np.int32), 3)
    expected = ""
    for program in range(6):
        place = f"pid ({program % 3}, {program // 3}, 0) "
        if program % 2:
            for step in range(3):
                expected += f"{place}step: step = {step}\n"
                expected += f"{place}step: value = {program << (step + 1)}\n"
        expected += f"{place}value = {program * 8}\n{place}bits: 0x{program * 8:08x}\n{place}end\n"
    assert printed() == expected


@st.jit
def show_one(x, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    tl.device_print("x", tl.load(x + program * BLOCK + tl.arange(0, BLOCK)), program)


def test_many_programs_print_in_order(printed):
    x = np.random.default_rng(8).integers(-9, 10, (700, 8)).astype(np.int64)
    for _ in range(5):
        before = len(printed())
        show_one[(700,)](x, BLOCK=8)
        lines = printed()[before:].splitlines()
        assert len(lines) == 2100
        for program in range(700):
            row = laid_out(x[program].astype(str))
            loaded = "tl.load(x + program * BLOCK + tl.arange(0, BLOCK))"
            place = f"pid ({program}, 0, 0) x: "
            assert lines[3 * program : 3 * program + 3] == [
                f"{place}{loaded} = i64[8]",
                row,
                f"{place}program = {program}",
            ]


@st.jit
def show_names(x, n):
    pair = (x, n)
    tl.device_print("", n + 1)
    tl.device_print("p", 3, n - (1), *pair)
    tl.device_print(
        "q",
        n * 2,
        tl.where(n > 0, n + 100000000, n - 100000000) * tl.where(n > 0, n, 0) + 1,
    )


def test_names_of_printed_values(printed):
    show_names[(1,)](np.zeros(1, np.float32), 4)
    lines = printed().splitlines()
    place = "pid (0, 0, 0) "
    address = next(i for i, line in enumerate(lines) if "0x" in line)
    assert re.fullmatch(re.escape(place) + r"p: operand 3 = 0x[0-9a-f]{16}", lines.pop(address))
    assert lines == [
        place + "n + 1 = 5",
        place + "p: operand 1 = 3",
        place + "p: n - (1) = 3",
        place + "p: operand 4 = 4",
        place + "q: n * 2 = 8",
        place + "q: tl.where(n > 0, n + 100000000, n - 100000000) * tl.where(... = 400000017",
    ]


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
def pick(x, where, out, N: tl.constexpr, M: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, 4)
    rows = tl.load(x + tl.arange(0, N)[:, None] * 4 + j[None, :])
    index = tl.load(where + i[:, None] * 4 + j[None, :])
    tl.store(out + i[:, None] * 4 + j[None, :], tl.gather(rows, index, 0))


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "int16"])
@pytest.mark.parametrize("count", [3, 16, 50])
def test_bounds_of_gathers(dtype, count):
    x = np.random.default_rng(1).standard_normal((20, 4)).astype(np.float32)
    where = np.random.default_rng(2).integers(0, 20, (count, 4)).astype(dtype)
    out = np.zeros((count, 4), np.float32)
    pick[(1,)](x, where, out, N=20, M=count, check="bounds")
    np.testing.assert_array_equal(out, np.take_along_axis(x, where.astype(np.int64), 0))
    for index in [20, 200] if dtype == "uint8" else [20, -1, 300]:
        wrong = where.copy()
        wrong[count - 1, 2] = index
        with pytest.raises(st.OutOfBoundsError) as raised:
            pick[(1,)](x, wrong, out, N=20, M=count, check="bounds")
        text = str(raised.value)
        assert (
            f"gather: out of bounds in program (0, 0, 0) of pick: index {index} of axis 0" in text
        )
        assert "which has 20 elements" in text and "tl.gather(rows, index, 0)" in text, text


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


PROFILED = """
import pathlib, sys
import numpy as np
import sectile as st, sectile.language as tl

@st.jit
def profiled_kernel(x):
    tl.store(x, 7.0)

x = np.zeros(1, np.float32)
profiled_kernel[(1,)](x)
assert x[0] == 7
maps = pathlib.Path("/proc/self/maps").read_text().splitlines()
print(*{line.split(maxsplit=5)[5] for line in maps if "profiled_kernel" in line})
"""


@pytest.mark.host
def test_code_in_files_for_profilers(tmp_path):
    script = tmp_path / "profiled.py"
    script.write_text(PROFILED)

    def run(folder):
        environment = dict(os.environ, SECTILE_CODE_DIR=str(folder))
        return subprocess.run(
            [sys.executable, script], env=environment, capture_output=True, text=True, check=True
        )

    folder = tmp_path / "new" / "code"
    first, second = run(folder), run(folder)
    (file,) = folder.iterdir()  # of the same content, there is one
    assert first.stdout.strip() == second.stdout.strip() == str(file)
    assert file.name.startswith("profiled_kernel-") and file.suffix == ".so"
    content = file.read_bytes()
    assert b"\0profiled_kernel\0" in content and b".debug_line" in content
    # What others put there is not loaded.
    file.write_bytes(content[:-1] + b"x")
    assert run(folder).stdout.strip() == str(file.with_name(file.stem + "-1.so"))
    # Where nothing can be written, kernels run all the same.
    (tmp_path / "file").write_text("")
    refused = run(tmp_path / "file")
    assert "memfd:sectile-profiled_kernel" in refused.stdout
    assert "SECTILE_CODE_DIR" in refused.stderr and "Not a directory" in refused.stderr
    # The dynamic loader would put a folder of its own in the place of this one's name.
    refused = run(tmp_path / "$ORIGIN")
    assert "memfd:sectile-profiled_kernel" in refused.stdout
    assert "SECTILE_CODE_DIR" in refused.stderr and "takes what follows a '$'" in refused.stderr
