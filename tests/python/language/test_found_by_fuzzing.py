"""Kernels on which GPUs once failed, made small (differential/fuzz_gpu.py).

Without a GPU they are compiled for one; results are compared on every device.
"""

import re
import struct

import numpy as np
import pytest
from support import random
from test_shape import index_2d

import sectile as st
import sectile.language as tl
from sectile.backends.compiler import GPUTarget


def test_a_branch_gives_a_scalar_before_a_tile():
    @st.jit
    def kernel(x, out, scalar, n, N: tl.constexpr):
        i = tl.arange(0, N)
        v, s = tl.load(x + i), n
        if n > 3:
            s = s + n
        else:
            v = v + 1
        tl.store(scalar, s)
        tl.store(out + i, v)

    x = random("int32", 100)
    for n in (2, 5):
        out, scalar = np.zeros_like(x), np.zeros(1, np.int32)
        kernel[(1,)](x, out, scalar, n, N=100)
        assert scalar[0] == (n if n <= 3 else 2 * n)
        np.testing.assert_array_equal(out, x if n > 3 else x + 1)


def test_batched_products_with_a_single_row():
    @st.jit
    def kernel(x, out):
        row = tl.arange(0, 4)[None, None, :] + 4 * tl.arange(0, 3)[:, None, None]
        column = tl.arange(0, 4)[None, :, None] + 4 * tl.arange(0, 3)[:, None, None]
        product = tl.dot(tl.load(x + row), tl.load(x + column), out_dtype=tl.float64)
        tl.store(out + tl.arange(0, 3)[:, None, None], product)

    x, out = random("float64", (3, 4)), np.zeros(3)
    kernel[(1,)](x, out, num_warps=1)
    np.testing.assert_allclose(out, (x * x).sum(axis=1), rtol=1e-12)


def test_products_of_two_types_in_one_kernel():
    @st.jit
    def kernel(a, b, c, d, wide, narrow):
        product = tl.dot(
            tl.load(a + index_2d(48, 128)), tl.load(b + index_2d(128, 8)), out_dtype=tl.float64
        )
        tl.store(wide + index_2d(48, 16), tl.cat(product, product, dim=1))
        left = tl.load(c + index_2d(128, 48))
        right = tl.load(d + index_2d(8, 128)).to(tl.float32)
        tl.store(narrow + index_2d(48, 8), tl.dot(tl.trans(left), tl.trans(right)))

    a, b = random("float64", (48, 128), 1), random("float64", (128, 8), 2)
    c = np.rint(random("float32", (128, 48), 3, -8, 8))
    d = np.rint(random("float32", (8, 128), 4, -8, 8)).astype(np.float16)
    wide, narrow = np.zeros((48, 16)), np.zeros((48, 8), np.float32)
    kernel[(1,)](a, b, c, d, wide, narrow, num_warps=2)
    np.testing.assert_allclose(wide, np.hstack([a @ b, a @ b]), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(narrow, c.T @ d.T.astype(np.float32))


@pytest.mark.parametrize("sem", ["relaxed", "release", "acq_rel"])
def test_exchanges_whose_result_is_not_used(sem):
    @st.jit
    def kernel(x, out, N: tl.constexpr, sem: tl.constexpr):
        i = tl.arange(0, N)
        tl.atomic_xchg(out + i, tl.load(x + i), sem=sem)

    x = random("float32", 100)
    out = np.zeros_like(x)
    kernel[(1,)](x, out, N=100, sem=sem)
    np.testing.assert_array_equal(out, x)


@pytest.mark.host
@pytest.mark.parametrize("target", ["cuda:80", "cuda:89", "cuda:90", "cuda:120"])
def test_products_of_fp8_ask_for_the_ptx_that_has_them(target):
    @st.jit
    def kernel(a, b, out):
        tl.store(
            out + index_2d(16, 16),
            tl.dot(tl.load(a + index_2d(16, 32)), tl.load(b + index_2d(32, 16))),
        )

    fp8, fp32 = st.MockTensor(tl.float8e4nv), st.MockTensor(tl.float32)
    ptx = kernel.warmup(fp8, fp8, fp32, grid=(1,), target=target).asm["ptx"]
    assert ("mma.sync" in ptx) == (target != "cuda:80")
    # sm_90 multiplies f16 in their place.
    has_fp8 = target in ("cuda:89", "cuda:120")
    assert (".e4m3.e4m3." in ptx) == has_fp8
    version = int(re.search(r"\.version (\d+)\.(\d+)", ptx).expand(r"\1\2"))
    assert version >= 84 or not has_fp8


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("shape", [(16, 4), (16, 8), (17, 24), (48, 20), (16, 96)])
@pytest.mark.parametrize("name", ["int8", "float16", "float32"])
def test_pipelined_operands_smaller_than_a_fragment(name, shape, stages):
    @st.jit
    def kernel(a, b, out, depth, M: tl.constexpr, N: tl.constexpr, acc_dtype: tl.constexpr):
        k = tl.arange(0, 32)
        acc = tl.zeros((M, N), acc_dtype)
        for start in range(0, depth, 32):
            inside = k < depth - start
            left = tl.load(
                a + tl.arange(0, M)[:, None] * depth + (start + k)[None, :],
                mask=inside[None, :],
                other=0,
            )
            right = tl.load(
                b + (start + k)[:, None] + tl.arange(0, N)[None, :] * depth,
                mask=inside[:, None],
                other=0,
            )
            acc = tl.dot(left, right, acc)
        tl.store(out + index_2d(M, N), acc)

    (M, N), depth = shape, 80
    a, b = random(name, (M, depth), 1, -4, 5), random(name, (N, depth), 2, -4, 5)
    a, b = (
        np.rint(a.astype(np.float64)).astype(a.dtype),
        np.rint(b.astype(np.float64)).astype(b.dtype),
    )
    is_integer = name == "int8"
    out = np.zeros(shape, np.int32 if is_integer else np.float32)
    kernel[(1,)](
        a,
        b,
        out,
        depth,
        M=M,
        N=N,
        acc_dtype=tl.int32 if is_integer else tl.float32,
        num_stages=stages,
    )
    np.testing.assert_array_equal(out, a.astype(np.float64) @ b.T.astype(np.float64))


def test_fp8_products_with_rows_known_to_be_zero():
    """ptxas takes the upper half of a zero for the number of bits 8 where it unpacks fp8 itself."""

    @st.jit
    def kernel(out, x, y):
        a = tl.load(
            x + tl.arange(0, 16)[:, None] * 64 + tl.arange(0, 64)[None, :],
            mask=tl.arange(0, 16)[:, None] < 8,
            other=0,
        )
        b = tl.load(
            y + tl.arange(0, 64)[:, None] * 8 + tl.arange(0, 8)[None, :],
            mask=tl.arange(0, 64)[:, None] < 40,
            other=0,
        )
        c = tl.dot(a, b)
        tl.store(out + tl.arange(0, 16)[:, None] * 8 + tl.arange(0, 8)[None, :], c)

    ml_dtypes = pytest.importorskip("ml_dtypes")
    random = np.random.default_rng(3)
    for x_type, y_type in (("e4m3fn", "e5m2"), ("e5m2", "e4m3fn"), ("e4m3fn", "e4m3fn")):
        x = random.integers(-8, 9, (16, 64)).astype(getattr(ml_dtypes, f"float8_{x_type}"))
        y = random.integers(-8, 9, (64, 8)).astype(getattr(ml_dtypes, f"float8_{y_type}"))
        out = np.full((16, 8), np.nan, np.float32)
        kernel[(1,)](out, x, y)
        expected = x.astype(np.float64)[:, :40] @ y.astype(np.float64)[:40]
        expected[8:] = 0
        np.testing.assert_array_equal(out, expected)


@st.jit
def flipped_column_of_doubles(out, x):
    rows = tl.load(x + (tl.arange(0, 4)[:, None] + tl.arange(0, 32)[None, :]))
    column = tl.load(x + tl.arange(0, 4)[:, None])
    sums = tl.dot(tl.trans(rows), column, tl.full([32, 1], 1, tl.float64))
    tl.store(out + tl.arange(0, 32)[:, None], tl.flip(sums, 0))


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_padding_does_not_spread_in_an_instruction_that_converts_pairs(name):
    """A product of one column leaves each thread a second element that is padding, poison for LLVM; GPUs convert
    two numbers to fp8 at a time, and LLVM took the whole result for undefined."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.random.default_rng(0).integers(-3, 4, 64).astype(np.float64)
    out = np.zeros(32, getattr(ml_dtypes, name))
    flipped_column_of_doubles[(1,)](out, x)
    expected = [x[row : row + 4] @ x[:4] + 1 for row in reversed(range(32))]
    np.testing.assert_array_equal(
        out.astype(np.float64), np.array(expected).astype(out.dtype).astype(np.float64)
    )
    kind = {"float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5"}[name]
    ptx = st.compile(
        flipped_column_of_doubles, {"out": f"*{kind}:16", "x": "*fp64:16"}, {}, target="cuda:90"
    ).asm["ptx"]
    assert "cvt.rn.satfinite.e" in ptx


@st.jit
def add_to_the_last(c, x, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_add(c + (47 - i) % 16, tl.load(x + i), mask=i < K, sem="relaxed")


@pytest.mark.parametrize("k", [1, 2, 17])
@pytest.mark.parametrize("warps", [1, 4, 16])
def test_an_address_of_one_threads_number(device, k, warps):
    """Of ~t & 15, where a branch has made the thread's number t zero, ptxas 13.0 makes 0."""
    x, c = np.arange(1, 49, dtype=np.int32), np.zeros(16, np.int32)
    add_to_the_last[(1,)](c, x, 48, k, num_warps=warps)
    expected = np.zeros(16, np.int32)
    np.add.at(expected, (47 - np.arange(k)) % 16, x[:k])
    np.testing.assert_array_equal(c, expected)


@pytest.mark.host
def test_nothing_is_left_to_fold_behind_a_branch():
    signature = {"c": "*i32", "x": "*i32", "N": "constexpr", "K": "constexpr"}
    source = st.compiler.ASTSource(
        fn=add_to_the_last, signature=signature, constexprs={"N": 48, "K": 1}
    )
    ptx = st.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
    assert "atom.global.gpu.relaxed" in ptx and "not.b32" not in ptx


@st.jit
def extremum_of_three(a, b, c, out, N: tl.constexpr, IS_MAX: tl.constexpr, SIGN: tl.constexpr):
    i = tl.arange(0, N)
    x, y, z = tl.load(a + i), tl.load(b + i), tl.load(c + i)
    y = y * SIGN
    if IS_MAX:
        tl.store(out + i, tl.maximum(tl.maximum(x, y), z))
    else:
        tl.store(out + i, tl.minimum(tl.minimum(x, y), z))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("is_max", [True, False])
def test_extremum_of_a_negation(device, dtype, is_max):
    """ptxas 13.0 loses the sign of the second of three, for sm_90 and later."""
    a, b, c = (random(dtype, 64, seed=seed) for seed in range(3))
    b[::3] = np.iinfo(dtype).min  # which is its own negation
    out = np.zeros_like(a)
    extremum_of_three[(1,)](a, b, c, out, 64, is_max, -1)
    extremum = np.maximum if is_max else np.minimum
    np.testing.assert_array_equal(out, extremum(extremum(a, -b), c))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
@pytest.mark.parametrize("is_max", [True, False])
def test_largest_negation_of_a_column(device, dtype, is_max):
    @st.jit
    def kernel(x, out, M: tl.constexpr, N: tl.constexpr, IS_MAX: tl.constexpr):
        n = tl.arange(0, N)
        v = -tl.load(x + tl.arange(0, M)[:, None] * N + n[None, :])
        tl.store(out + n, tl.max(v, 0) if IS_MAX else tl.min(v, 0))

    x = random(dtype, (32, 64))
    out = np.zeros(64, dtype)
    kernel[(1,)](x, out, 32, 64, is_max, num_warps=1)
    np.testing.assert_array_equal(out, (-x).max(0) if is_max else (-x).min(0))


def instructions_of(cubin):
    """The section of an ELF file with the kernel's code."""
    (table,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    sections = [struct.unpack_from("<IIQQQQ", cubin, table + i * size) for i in range(count)]
    for name, _, _, _, offset, length in sections:
        if cubin[sections[names][4] + name :].startswith(b".text."):
            return cubin[offset : offset + length]
    raise ValueError("no code in the cubin")


@pytest.mark.host
@pytest.mark.parametrize("dtype", ["i16", "i32"])
@pytest.mark.parametrize("is_max", [True, False])
@pytest.mark.parametrize("factor", [1, 2, 8])
def test_code_for_the_extremum_of_a_negation_is_not_that_without_it(dtype, is_max, factor):
    """LLVM's selection makes negations of products by -2 and -8."""

    def code(sign):
        signature = {name: f"*{dtype}" for name in ("a", "b", "c", "out")}
        constants = {"N": 32, "IS_MAX": is_max, "SIGN": sign}
        return st.compile(extremum_of_three, signature, constants, "cuda:90", num_warps=1).asm

    if "cubin" not in code(1):
        pytest.skip("there is no ptxas")
    assert len({instructions_of(code(sign)["cubin"]) for sign in (factor, -factor)}) == 2
    assert "not.b" not in code(1)["ptx"], "nothing is negated"


@st.jit
def uses_of_absolute_values(x, wide, is_negative, rest, divisor, N: tl.constexpr):
    i = tl.arange(0, N)
    size = tl.abs(tl.load(x + i))
    tl.store(wide + i, size.to(tl.int64))
    tl.store(is_negative + i, 1, size < 0)
    tl.store(rest + i, size % divisor)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_absolute_value_of_the_least_number(device, dtype):
    """It is that number. ptxas 13.0 takes it for a number that is not negative."""
    x = random(dtype, 64)
    x[::5], x[1::5] = np.iinfo(dtype).min, np.iinfo(dtype).max
    wide, is_negative, rest = np.zeros(64, np.int64), np.zeros(64, np.int32), np.zeros_like(x)
    uses_of_absolute_values[(1,)](x, wide, is_negative, rest, 77, 64)
    size = np.abs(x)
    assert size.min() < 0
    np.testing.assert_array_equal(wide, size)
    np.testing.assert_array_equal(is_negative, size < 0)
    np.testing.assert_array_equal(rest, np.fmod(size, x.dtype.type(77)))


@st.jit
def mark_negatives(x, out, N: tl.constexpr, IS_ABSOLUTE: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    if IS_ABSOLUTE:
        v = tl.abs(v)
    tl.store(out + i, 1, v < 0)


@pytest.mark.host
@pytest.mark.parametrize("dtype", ["i8", "i16", "i32", "i64"])
def test_code_looks_at_the_sign_of_absolute_values(dtype):
    def code(is_absolute):
        constants = {"N": 32, "IS_ABSOLUTE": is_absolute}
        signature = {"x": f"*{dtype}", "out": "*i32"}
        return st.compile(mark_negatives, signature, constants, "cuda:90", num_warps=1).asm

    ptx = code(True)["ptx"]
    assert "abs.s" not in ptx and "sad.s" in ptx
    assert "sad.s" not in code(False)["ptx"]
    if "cubin" not in code(True):
        pytest.skip("there is no ptxas")
    sizes = [len(instructions_of(code(is_absolute)["cubin"])) for is_absolute in (False, True)]
    assert sizes[0] <= sizes[1], "nothing is stored, because no absolute value is negative"


@st.jit
def number_before_a_barrier(a, n, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(a + 5)
    tl.debug_barrier()
    tl.store(a + i, x + i)


@st.jit
def tile_before_a_barrier(a, n, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(a + (B - 1 - i))
    tl.debug_barrier()
    if n > 3:
        tl.store(a + i, x)


@st.jit
def number_before_a_masked_store(a, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(a + i, tl.load(a + n) + i, i < n + 1)


@st.jit
def number_stored_then_loaded(a, n, B: tl.constexpr):
    tl.store(a + n, 7)
    x = tl.load(a + n)
    tl.store(a + n + 1 + tl.arange(0, B), x + tl.arange(0, B))


@st.jit
def copies_stored_then_loaded(a, n, B: tl.constexpr):
    i = tl.arange(0, 16)
    tl.store(a + i, i + n)
    tl.store(a + 16 + i, tl.load(a + i))


IN_ORDER = {
    number_before_a_barrier: lambda a, n, i: 5 + i,
    tile_before_a_barrier: lambda a, n, i: i[::-1],
    number_before_a_masked_store: lambda a, n, i: n + np.arange(n + 1),
    number_stored_then_loaded: lambda a, n, i: np.r_[a[:n], 7, 7 + i],
    copies_stored_then_loaded: lambda a, n, i: np.r_[a[:16], a[:16]] + n,
}


@pytest.mark.parametrize("warps", [1, 2, 8])
@pytest.mark.parametrize("block", [64, 512])
@pytest.mark.parametrize("kernel", IN_ORDER, ids=lambda kernel: kernel.__name__)
def test_accesses_of_one_array_stay_in_order(device, kernel, block, warps):
    """LLVM 22 sinks a load past a barrier of AMD's into a branch, and takes lanes for threads of their own, which
    load what only they have stored."""
    a = np.arange(600, dtype=np.int32)
    expected = IN_ORDER[kernel](a.copy(), 40, np.arange(block))
    kernel[(1,)](a, 40, block, num_warps=warps)
    np.testing.assert_array_equal(a[: expected.size], expected)


@st.jit
def product_stored_in_part(x, y, out, count, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(x + m[:, None] * K + k[None, :])
    product = tl.dot(left, tl.load(y + k[:, None] * N + n[None, :]))
    tl.store(out + m[:, None] * N + n[None, :], product, mask=(n < count)[None, :])


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("count", [0, 1, 5, 32])
def test_a_product_that_some_lanes_store(count, warps):
    """LLVM 22 moves WMMA of gfx11 and gfx12 into the branch of the store, where lanes are off."""
    x, y = random("float16", (16, 64), 1), random("float16", (64, 32), 2)
    out = np.full((16, 32), 7, np.float32)
    product_stored_in_part[(1,)](x, y, out, count, 16, 32, 64, num_warps=warps)
    expected = np.full((16, 32), 7, np.float64)
    expected[:, :count] = (x.astype(np.float64) @ y.astype(np.float64))[:, :count]
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


@st.jit
def flipped_again_and_again(x, out, count, M: tl.constexpr, N: tl.constexpr):
    places = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    value = tl.load(x + places)
    for _ in range(count):
        value = tl.flip(value, 0)
    tl.store(out + places, value)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_a_tile_that_turns_round_in_a_loop(count):
    """LLVM 22 drops the wait before a barrier where only the loop's last round has loads under way."""
    x = random("int32", (16, 5))
    out = np.zeros_like(x)
    flipped_again_and_again[(1,)](x, out, count, 16, 5, num_warps=4)
    np.testing.assert_array_equal(out, x[::-1] if count % 2 else x)


@st.jit
def summed_behind_stores(x, out, memory, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    tl.store(memory + i, tl.load(x + i))
    tl.debug_barrier()
    value = tl.load(memory + i)
    tl.store(out + tl.arange(0, 1), tl.full([1], 5, tl.float32))
    tl.store(out + 1, tl.sum(value))


@pytest.mark.parametrize("numerics", ["default", "reproducible"])
@pytest.mark.parametrize("size", [16, 64, 1024])
def test_a_sum_of_what_was_stored(size, numerics):
    """On CPUs a sum in a fixed order is a chain of steps. Each was to be half a place in front of the next, so that
    the first ones came before the store of what they read."""
    x = np.random.default_rng(size).integers(-4, 5, size).astype(np.float32)
    out, memory = np.zeros(2, np.float32), np.zeros_like(x)
    summed_behind_stores[(1,)](x, out, memory, size, num_warps=1, numerics=numerics)
    assert out.tolist() == [5, x.sum(dtype=np.float64)]


@st.jit
def product_summed_behind_a_store(x, out, K: tl.constexpr):
    i, j = tl.arange(0, 128)[:, None], tl.arange(0, 16)
    total = tl.zeros([128, 17], tl.float32)
    for _ in range(0, K, 16):
        y = tl.load(x + tl.arange(0, 17)[:, None] + j[None, :])
        total = tl.dot(tl.load(x + i + j[None, :]), tl.trans(y), total)
    tl.store(out + tl.arange(0, 1), tl.full([1], 5, tl.float32))
    tl.store(out + 1, tl.sum(total))


@pytest.mark.parametrize("numerics", ["default", "reproducible"])
def test_a_sum_of_what_a_loop_made(numerics):
    """As above: before the loop whose result it sums, for which there was no code."""
    x = np.random.default_rng(5).integers(-4, 5, 160).astype(np.float16)
    out = np.zeros(2, np.float32)
    product_summed_behind_a_store[(1,)](x, out, 32, num_warps=1, numerics=numerics)
    window = x.astype(np.float64)[np.arange(128)[:, None] + np.arange(16)[None, :]]
    assert out.tolist() == [5, 2 * (window @ window[:17].T).sum()]
