"""What kernels of libraries ask of the language besides its operations."""

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile.language.extra import libdevice
from sectile.language.standard import _log2


@st.jit
def flags(out, N: tl.constexpr, first: tl.constexpr = tl.core.CONSTEXPR_0):
    rounds: tl.constexpr = tl.standard._log2(N)
    same: tl.constexpr = _log2(N)
    tl.static_assert(rounds == same)
    tl.store(out, rounds)
    tl.store(out + 1, first + 5)


def test_logarithms_and_zero(device):
    for n, log in ((1, 0), (64, 6), (4096, 12)):
        out = np.zeros(2, np.int32)
        flags[(1,)](out, n)
        assert out.tolist() == [log, 5]
    assert _log2(64) == 6 and tl.core.CONSTEXPR_0.value == 0


@st.jit
def bits(out, x, N: tl.constexpr, SIGNED: tl.constexpr):
    i = tl.arange(0, N)
    values = tl.load(x + i)
    kind: tl.constexpr = tl.core.get_int_dtype(
        bitwidth=values.dtype.primitive_bitwidth, signed=SIGNED
    )
    tl.store(out + i, values.to(kind, bitcast=True))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_integers_of_a_width(device, dtype):
    x = np.random.default_rng(5).standard_normal(16).astype(dtype)
    for signed in (True, False):
        integer = np.dtype(f"{'int' if signed else 'uint'}{8 * x.itemsize}")
        out = np.zeros(16, integer)
        bits[(1,)](out, x, 16, signed)
        np.testing.assert_array_equal(out, x.view(integer))
    assert tl.core.get_int_dtype(8, False) == tl.uint8


@st.jit
def same_type(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, tl.cast(v, v.dtype, fp_downcast_rounding="rtne"))
    tl.store(out + N + i, v.to(x.dtype.element_ty, fp_downcast_rounding="rtz"))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int32])
def test_rounding_to_the_same_type(device, dtype):
    x = (np.random.default_rng(6).standard_normal(16) * 100).astype(dtype)
    out = np.zeros(32, dtype)
    same_type[(1,)](out, x, 16)
    np.testing.assert_array_equal(out, np.concatenate([x, x]))


@st.jit
def integer_powers(out, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    powers = tl.extra.libdevice.pow(tl.load(x + i, mask=i < n), tl.load(y + i, mask=i < n))
    tl.store(out + i, powers, mask=i < n)


@pytest.mark.parametrize("exponents", [np.int8, np.int16, np.int32, np.uint16])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_integer_powers(device, dtype, exponents):
    rng = np.random.default_rng(7)
    n = 1000
    x = rng.uniform(-2, 2, n).astype(dtype)
    y = rng.integers(-9 if exponents != np.uint16 else 0, 12, n).astype(exponents)
    # Exponents that fp32 does not hold: odd and even decide the sign.
    if exponents == np.int32:
        x[:8] = dtype(-1) - np.finfo(dtype).eps * np.arange(8)
        y[:8] = 2**24 + np.arange(8) % 3
    x[8:12], y[8:12] = [0, -0.0, np.inf, np.nan], [0, 3, 2, 0]
    out = np.zeros(n, dtype)
    integer_powers[(-(-n // 256),)](out, x, y, n, 256)
    expected = np.power(x.astype(np.longdouble), y.astype(np.longdouble)).astype(dtype)
    np.testing.assert_allclose(out, expected, rtol=4 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(np.signbit(out), np.signbit(expected))


@st.jit
def of_a_constant(out, x):
    tl.store(out, tl.extra.libdevice.pow(2.0, tl.load(x)))
    tl.store(out + 1, tl.extra.libdevice.pow(tl.load(x).to(tl.float32), 3))


def test_powers_of_constants(device):
    out = np.zeros(2, np.float32)
    of_a_constant[(1,)](out, np.array([-5], np.int16))
    assert out.tolist() == [2.0**-5, -125.0]


@st.jit
def scalar_conditions(out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    row = (n > 3)[:, None] & (i < n)[None, :]
    column = (n > 3)[None, :] & (i < n)[:, None]
    tl.store(out + i[None, :], row.to(tl.int32))
    tl.store(out + N + i[:, None], column.to(tl.int32))


@pytest.mark.parametrize("n", [2, 5])
def test_new_axes_of_a_scalar(device, n):
    out = np.full(16, -1, np.int32)
    scalar_conditions[(1,)](out, n, 8)
    np.testing.assert_array_equal(out, np.tile((np.arange(8) < n) & (n > 3), 2))


@st.jit
def _is_floating(x):
    return (x + tl.zeros((1,), tl.int1)).dtype.is_floating()  # as torch's helpers ask


@st.jit
def _greater(a, b):
    is_greater = a > b
    if _is_floating(a):
        is_greater |= a != a
    return tl.where(is_greater, a, b)


@st.jit
def greatest(x, out, N: tl.constexpr):
    tl.store(out, tl.reduce(tl.load(x + tl.arange(0, N)), 0, _greater))


def test_a_tile_that_a_combining_function_only_asks_for_its_type(device):
    values = np.random.default_rng(4).standard_normal(64).astype(np.float32)
    out = np.zeros(1, np.float32)
    greatest[(1,)](values, out, N=64)
    assert out[0] == values.max()


@st.jit
def add_rows(x, out, stride, ROWS: tl.constexpr, HOW: tl.constexpr):
    places = x + tl.arange(0, 64)
    total = tl.zeros((64,), dtype=tl.float32)
    for _ in range(ROWS):
        if HOW == "statement":
            tl.multiple_of(places, 16)
        elif HOW == "value":
            places = tl.multiple_of(places, 16)
        total += tl.load(places)
        places += stride
    tl.store(out + tl.arange(0, 64), total)


@pytest.mark.host
def test_hints_may_be_statements():
    """Triton's tutorial 08 says of its pointers, in a loop, what they are multiples of, and takes no result."""
    signature = {"x": "*fp32", "out": "*fp32", "stride": "i32"}
    loads = {}
    for how in ("none", "statement", "value"):
        kernel = st.compile(
            add_rows, signature, {"ROWS": 5, "HOW": how}, target="cuda:90", num_warps=1
        )
        loads[how] = [
            (remark.numbers.get("bytes"), remark.text)
            for remark in st.inspect(kernel).remarks
            if remark.kind == "load"
        ]
    assert loads["statement"] == loads["value"] != loads["none"]


def test_what_is_hinted_is_what_it_was(device):
    x = np.arange(5 * 64, dtype=np.float32).reshape(5, 64)
    for how in ("statement", "value"):
        out = np.zeros(64, np.float32)
        add_rows[(1,)](x, out, 64, 5, how)
        np.testing.assert_array_equal(out, x.astype(np.float64).sum(axis=0))


@st.jit
def normalised(out, x, EPS: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr):
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        values = tl.load(x + start + tl.arange(0, BLOCK))
        squares += libdevice.pow(values.to(tl.float32), 2)
    scale = tl.rsqrt(tl.sum(squares, axis=0) / N + EPS)
    for start in range(0, N, BLOCK):
        # Of another type than in the loop above, and nobody reads it behind this one.
        values = tl.load(x + start + tl.arange(0, BLOCK)).to(tl.float32)
        tl.store(out + start + tl.arange(0, BLOCK), values * scale)


def test_a_name_of_another_type_in_a_later_loop(device):
    x = np.random.default_rng(8).standard_normal(64).astype(np.float16)
    out = np.zeros(64, np.float32)
    normalised[(1,)](out, x, 1e-6, 64, 16)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(out, wide / np.sqrt((wide**2).mean() + 1e-6), rtol=1e-5)


@st.jit
def read_behind(out, x, N, BLOCK: tl.constexpr):
    values = tl.load(x + tl.arange(0, BLOCK))
    for start in range(0, N, BLOCK):
        values = tl.load(x + start + tl.arange(0, BLOCK)).to(tl.float32)
        tl.store(out + start + tl.arange(0, BLOCK), values)
    tl.store(out + tl.arange(0, BLOCK), values)


def test_a_name_of_another_type_that_is_read_behind_its_loop():
    with pytest.raises(st.CompilationError, match="'values' changes its type in the loop"):
        read_behind[(1,)](np.zeros(64, np.float32), np.zeros(64, np.float16), 64, 16)


@st.jit
def powers(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    values = tl.load(x + i)
    tl.store(out + i, libdevice.pow(values, 1))
    tl.store(out + N + i, libdevice.pow(values, 2.0))
    tl.store(out + 2 * N + i, libdevice.pow(values, 3))


def test_small_powers_are_products(device):
    x = np.float32([0.0, -0.0, -1.5, 3.0, 1e30, -1e-30, np.inf, np.nan])
    out = np.zeros(24, np.float32)
    powers[(1,)](out, x, 8)
    with np.errstate(over="ignore", under="ignore"):
        expected = np.concatenate([x, x * x, (x * x) * x])
    np.testing.assert_array_equal(out, expected)
    ptx = st.compile(powers, {"out": "*fp32", "x": "*fp32"}, {"N": 8}, target="cuda:90").asm["ptx"]
    assert "lg2" not in ptx and "ex2" not in ptx


@st.jit
def through_block_pointers(out, x, N: tl.constexpr):
    there = tl.make_block_ptr(out, (N,), (1,), (0,), (N,), (0,))
    values = tl.load(x + tl.arange(0, N)) * 2.5
    tl.store(there, values.to(there.type.element_ty), boundary_check=(0,))


def test_the_type_behind_a_block_pointer(device):
    x, out = np.arange(16, dtype=np.float32), np.zeros(16, np.int16)
    through_block_pointers[(1,)](out, x, 16)
    np.testing.assert_array_equal(out, (x * 2.5).astype(np.int16))


@st.jit
def whole(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty))


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
)
@pytest.mark.parametrize("source", [np.float32, np.float64])
def test_numbers_that_an_integer_type_has_not(device, dtype, source):
    limits = np.iinfo(dtype)
    edges = [float(limits.min), float(limits.max), 2.0 * limits.max, -2.0 * limits.max - 2]
    x = np.array(
        [*edges, 0.9, -0.9, 1.5, -1.5, np.inf, -np.inf, np.nan, 100.7, -100.7, 1e30, -1e30, 3],
        source,
    )
    out = np.zeros(16, dtype)
    whole[(1,)](out, x, 16)

    def nearest(number):
        if np.isnan(number):
            return 0
        if number >= limits.max:
            return limits.max
        return limits.min if number <= limits.min else int(number)

    np.testing.assert_array_equal(out, np.array([nearest(number) for number in x.tolist()], dtype))


@st.jit
def one_number(out, x, M: tl.constexpr, N: tl.constexpr):
    values = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out, tl.max(values))
    tl.store(out + 1, tl.sum(values))


def test_a_matrix_becomes_one_number(device):
    x = np.random.default_rng(9).standard_normal((32, 64)).astype(np.float32)
    out = np.zeros(2, np.float32)
    one_number[(1,)](out, x, 32, 64)
    assert out[0] == x.max()
    np.testing.assert_allclose(out[1], x.astype(np.float64).sum(), rtol=1e-4, atol=1e-4)


@st.jit
def rows_by_block_pointer(out, x, n, N: tl.constexpr):
    source = tl.make_block_ptr(x, (n,), (1,), (0,), (N,), (0,))
    total = tl.zeros((N,), tl.float32)
    for _ in range(0, n, N):
        total += tl.load(source, boundary_check=(0,))
        source = source.advance((N,))
    tl.store(out + tl.arange(0, N), total)


def test_block_pointers_advance_by_a_method(device):
    x, out = np.arange(50, dtype=np.float32), np.zeros(16, np.float32)
    rows_by_block_pointer[(1,)](out, x, 50, 16)
    padded = np.zeros(64, np.float32)
    padded[:50] = x
    np.testing.assert_array_equal(out, padded.reshape(4, 16).sum(0))


@st.jit
def powers_of_two_types(out, x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, libdevice.pow(tl.load(x + i), tl.load(y + i)))


@pytest.mark.parametrize("dtype", ["float16", "int64", "int32", "uint8"])
def test_powers_of_two_types(device, dtype):
    x = np.random.default_rng(1).uniform(0.5, 2, 16).astype(np.float32)
    y, out = (np.arange(16) % 5).astype(dtype), np.zeros(16, np.float32)
    powers_of_two_types[(1,)](out, x, y, 16)
    np.testing.assert_allclose(out, x.astype(np.float64) ** y.astype(np.float64), rtol=1e-5)


@st.jit
def annotated_number(out, n, TILE: tl.constexpr):
    extent: tl.constexpr = TILE * n
    tile: tl.constexpr = TILE + 0
    tl.store(out + tl.arange(0, tile), extent + tl.arange(0, tile))


def test_a_number_of_the_launch_annotated_as_constant(device):
    out = np.zeros(8, np.int32)
    annotated_number[(1, 1, 1, 1)](out, 5, 8)  # what follows the third axis is 1
    assert out.tolist() == [40 + i for i in range(8)]
