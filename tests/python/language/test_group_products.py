"""Products of four warps together (wgmma), which Hopper has: their code needs no GPU; results elsewhere are those of
any product."""

import re

import ml_dtypes
import numpy as np
import pytest

import sectile as st
import sectile.language as tl


@st.jit
def _product(
    a,
    b,
    out,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    M: tl.constexpr,
    N: tl.constexpr,
    BK: tl.constexpr,
):
    rows, columns, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    lhs = a + rows[:, None] * stride_am + depth[None, :] * stride_ak
    rhs = b + depth[:, None] * stride_bk + columns[None, :] * stride_bn
    total = tl.zeros((M, N), dtype=out.dtype.element_ty)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(lhs, mask=depth[None, :] < K - k * BK, other=0)
        y = tl.load(rhs, mask=depth[:, None] < K - k * BK, other=0)
        total = tl.dot(x, y, total)
        lhs += BK * stride_ak
        rhs += BK * stride_bk
    tl.store(out + rows[:, None] * N + columns[None, :], total)


def _compiled(dtype, contiguous, target="cuda:90", **options):
    """`contiguous`: the axes of both operands along which elements are neighbours."""
    strides = ["stride_am", "stride_ak", "stride_bk", "stride_bn"]
    ones = {strides[contiguous[0]]: 1, strides[2 + contiguous[1]]: 1}
    signature = {"a": f"*{dtype}:16", "b": f"*{dtype}:16", "K": "i32:16"}
    signature["out"] = options.pop("out", "*fp32:16")
    signature |= {name: "i32:16" for name in strides if name not in ones}
    extents = {"M": 128, "N": 128, "BK": 64} | options.pop("extents", {})
    return st.compile(
        _product, signature=signature, constexprs=extents | ones, target=target, **options
    )


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("contiguous", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("num_warps", [4, 8])
def test_code_on_hopper(dtype, contiguous, num_warps):
    kernel = _compiled(dtype, contiguous, num_warps=num_warps)
    ptx = kernel.asm["ptx"]
    kind = {"fp16": "f16", "bf16": "bf16"}[dtype]
    # A group of four warps has 64 rows, twice with one group.
    assert ptx.count(f"wgmma.mma_async.sync.aligned.m64n128k16.f32.{kind}.{kind}") == 4 * (
        8 // num_warps
    )
    assert "mma.sync" not in ptx and "ldmatrix" not in ptx
    assert "wgmma.wait_group.sync.aligned 1;" in ptx, "no product is under way behind its round"
    # Before each round's products, and before the engine stores the sums or a piece of them.
    assert ptx.count("fence.proxy.async") == 1 + ptx.count("cp.async.bulk.commit_group")
    kinds = [remark["kind"] for remark in kernel.remarks]
    assert "pipelined" in kinds and "products-wait" not in kinds
    assert kernel.n_spills in (0, None)


@pytest.mark.parametrize(
    "dtype, name",
    [
        ("fp32", "m64n128k8.f32.tf32.tf32"),
        ("i8", "m64n128k32.s32.s8.s8"),
        ("fp8e4nv", "m64n128k32.f32.e4m3.e4m3"),
        ("fp8e5", "m64n128k32.f32.e5m2.e5m2"),
    ],
)
def test_elements_of_8_and_32_bits_along_the_depth(dtype, name):
    """Their instructions read nothing else; operands that lie otherwise are those of single warps."""
    out = "*i32:16" if dtype == "i8" else "*fp32:16"
    ptx = _compiled(dtype, (1, 0), out=out).asm["ptx"]
    assert f"wgmma.mma_async.sync.aligned.{name}" in ptx and "mma.sync" not in ptx
    assert "wgmma" not in _compiled(dtype, (1, 1), out=out).asm["ptx"]
    assert "wgmma" not in _compiled(dtype, (0, 0), out=out).asm["ptx"]
    if dtype.startswith("fp8"):
        assert "wgmma" not in _compiled(dtype, (1, 0), numerics="strict").asm["ptx"]


@st.jit
def _product_of_digits(a, b, out, MOST: tl.constexpr):
    rows, columns = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    x, y = tl.load(a + rows * 64 + columns), tl.load(b + rows + columns * 64)
    tl.store(out + rows * 64 + columns, tl.dot(x, y, max_num_imprecise_acc=MOST))


@pytest.mark.parametrize("most, products", [(None, 1), (0, 0), (31, 0), (32, 2), (63, 2), (64, 1)])
def test_fp8_keeps_its_digits_where_that_is_asked_for(most, products):
    """Sums of so many are computed apart, by whole instructions of 32; or none by those that lose digits."""
    signature = {"a": "*fp8e4nv:16", "b": "*fp8e4nv:16", "out": "*fp32:16"}
    kernel = st.compile(
        _product_of_digits, signature=signature, constexprs={"MOST": most}, target="cuda:90"
    )
    ptx = kernel.asm["ptx"]
    assert ptx.count("wgmma.commit_group") == products and ("wgmma" in ptx) == (products > 0)
    assert len(re.findall(r"\badd\.(?:rn\.)?f32", ptx)) == (32 if products == 2 else 0)
    kinds = [remark["kind"] for remark in kernel.remarks]
    assert ("sums-apart" in kinds) == (products == 2)
    assert ("hint" in kinds) == (most == 31)


@st.jit
def _sums_apart(a, b, out, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, MOST: tl.constexpr,
                COMPUTED: tl.constexpr):  # fmt: skip
    rows, columns, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    total = tl.full((M, N), 1.5, tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + k + depth[None, :])
        if COMPUTED:
            x = (-x.to(tl.float32)).to(tl.float8e4nv)
        y = tl.load(b + columns[None, :] * K + k + depth[:, None])
        total = tl.dot(x, y, total, max_num_imprecise_acc=MOST)
    tl.store(out + rows[:, None] * N + columns[None, :], total)


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize(
    "extents, depth, num_warps",
    [((64, 64, 64), 256, 4), ((128, 128, 128), 512, 8), ((128, 64, 128), 128, 4), ((64, 32, 256), 1024, 4)],
)  # fmt: skip
def test_sums_apart(device, extents, depth, num_warps, computed):
    M, N, BK = extents
    random = np.random.default_rng(7)
    a = random.uniform(0.5, 2, (M, depth)).astype(ml_dtypes.float8_e4m3fn)
    b = random.uniform(0.5, 2, (N, depth)).astype(ml_dtypes.float8_e4m3fn)
    exact = 1.5 + (-1 if computed else 1) * (a.astype(np.float64) @ b.astype(np.float64).T)

    def error(most):
        out = np.full((M, N), np.nan, np.float32)
        held = [st.reinterpret(array.view(np.uint8), tl.float8e4nv) for array in (a, b)]
        _sums_apart[(1,)](*held, out, depth, M, N, BK, most, computed, num_warps=num_warps)
        return np.abs(out - exact).max() / np.abs(exact).max()

    most_of_all = error(None)
    assert most_of_all < 3e-2  # on Hopper: sums of 1600 lose all but 13 bits, 32 times over
    for most in (BK, 96, 64, 32, 0):
        if most <= BK:
            assert error(most) <= max(most_of_all, 1e-6)
    assert error(0) < 1e-6


@st.jit
def _chain_of_fp8(q, k, v, out, length, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    rows, columns, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    x = tl.load(q + rows[:, None] * D + depth[None, :])
    total = tl.zeros((M, D), tl.float32)
    for start in range(0, length, N):
        y = tl.load(k + (start + columns)[None, :] * D + depth[:, None])
        weights = tl.exp2(tl.dot(x, y) * 0.0625)
        z = tl.load(v + depth[None, :] * length + (start + columns)[:, None])
        total = tl.dot(weights.to(tl.float8e4nv), z, total)
    tl.store(out + rows[:, None] * D + depth[None, :], total)


@pytest.mark.parametrize("num_warps", [4, 8])
def test_sums_become_operands_of_fp8_without_shared_memory(num_warps):
    """A thread has pairs of neighbours and wants four in a row: words of two pairs go from lane to lane, so that 64 numbers
    take 16 shuffles, 16 permutations of bytes on either side, and no barrier."""
    kernel = st.compile(
        _chain_of_fp8, target="cuda:90", num_warps=num_warps,
        signature={"q": "*fp8e4nv:16", "k": "*fp8e4nv:16", "v": "*fp8e4nv:16", "out": "*fp32:16", "length": "i32:16"},
        constexprs={"M": 16 * num_warps, "N": 128, "D": 64},
    )  # fmt: skip
    ptx = kernel.asm["ptx"]
    assert "mma.sync" not in ptx and "ld.shared" not in ptx and "ldmatrix" not in ptx
    # Copies of the chain: one may stand before the loop. One more shuffle tells all lanes the warp's number.
    chains = ptx.count("m64n64k32.f32.e4m3.e4m3") // 4
    assert (
        ptx.count("shfl.sync.idx") - 16 * chains in (0, 1) and ptx.count("prmt.b32") <= 32 * chains
    )


@pytest.mark.parametrize("num_warps", [4, 8])
@pytest.mark.parametrize("length", [128, 384])
def test_a_chain_of_fp8(device, length, num_warps):
    M, N, D = 16 * num_warps, 128, 64
    random = np.random.default_rng(9)
    q, k, v = (
        random.standard_normal(shape).astype(ml_dtypes.float8_e4m3fn)
        for shape in ((M, D), (length, D), (D, length))
    )
    out = np.full((M, D), np.nan, np.float32)
    held = [st.reinterpret(array.view(np.uint8), tl.float8e4nv) for array in (q, k, v)]
    _chain_of_fp8[(1,)](*held, out, length, M, N, D, num_warps=num_warps)
    weights = np.exp2(q.astype(np.float64) @ k.astype(np.float64).T * 0.0625)
    rounded = weights.astype(np.float32).astype(ml_dtypes.float8_e4m3fn).astype(np.float64)
    expected = rounded @ v.astype(np.float64).T
    # A weight beside the middle of two numbers of fp8 may become either.
    np.testing.assert_allclose(out, expected, rtol=0, atol=2e-2 * np.abs(expected).max())


@pytest.mark.parametrize(
    "change",
    [
        {"num_warps": 2, "extents": {"N": 64}},
        {"extents": {"M": 32}},
        {"target": "cuda:80"},
        {"numerics": "reproducible"},
    ],
)
def test_code_of_single_warps(change):
    ptx = _compiled("fp16", (1, 1), **({"num_warps": 4} | change)).asm["ptx"]
    assert "mma.sync" in ptx and "wgmma" not in ptx


@pytest.mark.parametrize("contiguous", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize(
    "extents, num_warps, product",
    [
        ((128, 192, 64), 4, "m64n192k16"),
        ((128, 192, 64), 8, "m64n192k16"),
        ((64, 96, 96), 4, "m64n96k16"),
        ((192, 80, 64), 4, "m64n80k16"),
        ((64, 176, 48), 4, "m64n176k16"),
        # Two groups of warps cannot have 192 rows, and lie a power of two apart along the columns.
        ((192, 192, 32), 8, "m64n32k16"),
        ((64, 384, 32), 4, "m64n192k16"),
    ],
)
def test_extents_that_are_no_powers_of_two(contiguous, extents, num_warps, product):
    kernel = _compiled(
        "fp16", contiguous, num_warps=num_warps, extents=dict(zip(("M", "N", "BK"), extents))
    )
    ptx = kernel.asm["ptx"]
    assert f"wgmma.mma_async.sync.aligned.{product}." in ptx and "mma.sync" not in ptx
    assert set(re.findall(r"wgmma.mma_async.sync.aligned.(\w+)", ptx)) == {product}
    assert "wgmma.wait_group.sync.aligned 1;" in ptx
    assert kernel.n_spills in (0, None)


@st.jit
def _product_of_bytes(a, b, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BM, BN])
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(left.load([i, k]), right.load([j, k]).T, total)
    target.store([i, j], total.to(out.dtype.element_ty))


@pytest.mark.parametrize("columns", [128, 144, 176, 192])
@pytest.mark.parametrize("out", ["fp16", "fp8e5"])
def test_tiles_that_programs_in_turns_store(columns, out):
    """Rows of 144 bytes are no whole panels, so threads exchange and store them: turns count what that takes."""
    kernel = st.compile(
        _product_of_bytes,
        {"a": "*fp16:16", "b": "*fp16:16", "out": f"*{out}:16", "M": "i32:16", "N": "i32:16", "K": "i32:16"},
        {"BM": 128, "BN": columns, "BK": 64}, "cuda:90", num_warps=4, num_stages=3,
    )  # fmt: skip
    by_engine = [remark for remark in kernel.remarks if remark["kind"] == "by-copy-engine"]
    assert bool(by_engine) == (out == "fp16" or columns % 32 == 0)
    assert kernel.n_spills in (0, None)


def test_columns_that_are_not_sixteen_are_of_single_warps():
    ptx = _compiled("fp16", (1, 1), num_warps=4, extents={"N": 72}).asm["ptx"]
    assert "mma.sync" in ptx and "wgmma" not in ptx


def test_a_product_under_way_has_a_stage_more_where_that_fits():
    """Else warps meet once more a round."""

    def remarks(**options):
        kernel = _compiled("fp16", (1, 1), num_warps=8, extents={"M": 128, "N": 256}, **options)
        return [remark["text"] for remark in kernel.remarks if remark["kind"] == "pipelined"]

    text = (
        "{} iterations ahead, through 4 stages in shared memory, by the copy engine, on into the next "
        "round of the loop around"
    )
    assert remarks(num_stages=3) == [text.format(2)] * 2
    assert remarks(num_stages=4) == [text.format(3)] * 2
    with pytest.raises(st.OutOfResources, match="num_stages=4 fits"):
        _compiled("fp16", (1, 1), num_warps=8, num_stages=5, extents={"M": 128, "N": 256})


@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize(
    "extents, depth, num_warps, num_stages",
    [((64, 64, 32), 100, 4, 3), ((128, 128, 64), 256, 8, 3), ((64, 16, 16), 7, 4, 4),
     ((128, 32, 128), 1000, 4, 2), ((64, 256, 64), 0, 8, 2), ((256, 64, 32), 33, 8, 1),
     ((128, 192, 64), 200, 4, 2), ((64, 96, 96), 250, 4, 2), ((192, 80, 48), 100, 4, 3),
     ((192, 192, 32), 70, 8, 3), ((64, 176, 80), 161, 4, 1)],
)  # fmt: skip
def test_results(device, turned, extents, depth, num_warps, num_stages):
    M, N, BK = extents
    random = np.random.default_rng(5)
    lhs, rhs = random.standard_normal((M, depth)), random.standard_normal((depth, N))
    held = [
        np.ascontiguousarray((array.T if isTurned else array).astype(np.float16))
        for array, isTurned in zip((lhs, rhs), turned)
    ]
    a, b = held
    strides = [(1, M) if turned[0] else (depth, 1), (1, depth) if turned[1] else (N, 1)]
    out = np.full((M, N), np.nan, np.float32)
    _product[(1,)](
        a, b, out, depth, *strides[0], *strides[1], M, N, BK, num_warps=num_warps, num_stages=num_stages
    )  # fmt: skip
    exact = [array.T if isTurned else array for array, isTurned in zip(held, turned)]
    expected = exact[0].astype(np.float64) @ exact[1].astype(np.float64)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-3)


@st.jit
def _gram(a, out, depth, M: tl.constexpr, BK: tl.constexpr):
    rows, step = tl.arange(0, M), tl.arange(0, BK)
    total = tl.zeros((M, M), tl.float32)
    for k in range(0, depth, BK):
        x = tl.load(a + (k + step)[None, :] * M + rows[:, None])
        total += tl.dot(x, tl.trans(x))
    tl.store(out + rows[:, None] * M + rows[None, :], total)


@pytest.mark.host
@pytest.mark.parametrize("num_warps", [4, 8])
def test_a_tile_and_its_transpose_are_verified(num_warps):
    """Both products' operands are one load, which they may want in shared memory in two ways."""
    with st.knobs.scope(verify=True):
        st.compile(
            _gram, {"a": "*fp16:16", "out": "*fp32:16", "depth": "i32:16"}, {"M": 64, "BK": 16},
            "cuda:90", num_warps=num_warps, num_stages=4,
        )  # fmt: skip


@pytest.mark.parametrize("num_warps", [4, 8])
def test_a_tile_times_its_transpose(device, num_warps):
    a = np.random.default_rng(6).standard_normal((64, 64)).astype(np.float16)
    out = np.zeros((64, 64), np.float32)
    _gram[(1,)](a, out, 64, 64, 16, num_warps=num_warps, num_stages=4)
    exact = a.astype(np.float64)
    np.testing.assert_allclose(out, exact.T @ exact, rtol=1e-4, atol=1e-3)


@st.jit
def _sums_in_memory(a, b, out, held, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    rows, columns, depth = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, BK)
    sums = tl.zeros((M, N), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows * K + depth[None, :] + k)
        y = tl.load(b + (depth[:, None] + k) * N + columns)
        tl.store(held + rows * N + columns, sums)
        more = tl.dot(x, y)
        sums = more + tl.load(held + rows * N + columns)
    tl.store(out + rows * N + columns, sums)


@pytest.mark.parametrize(
    "shape, num_warps", [((64, 32, 16), 4), ((32, 32, 16), 4), ((128, 16, 64), 8)]
)
def test_what_is_stored_is_loaded_through_the_same_pointers(device, shape, num_warps):
    """The store has the layout of the accumulator, the load another one."""
    M, N, BK = shape
    random = np.random.default_rng(7)
    a = random.integers(-2, 3, (M, 4 * BK)).astype(np.float16)
    b = random.integers(-1, 2, (4 * BK, N)).astype(np.float16)
    out, held = np.zeros((M, N), np.float32), np.zeros((M, N), np.float32)
    _sums_in_memory[(1,)](a, b, out, held, 4 * BK, M, N, BK, num_warps=num_warps, num_stages=2)
    np.testing.assert_array_equal(out, a.astype(np.float64) @ b.astype(np.float64))


@st.jit
def _looked_up(a, b, table, out, rounds, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    rows, columns, depth = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, BK)
    sums = tl.zeros((M, N), tl.int32)
    for k in range(rounds):
        x = tl.load(a + rows * BK + depth[None, :] + k * M * BK)
        y = tl.load(b + depth[:, None] * N + columns + k * BK * N)
        index = tl.dot(x, y).to(tl.int32) & 255
        sums += tl.load(table + index, mask=index > 3, other=1)
    tl.store(out + rows * N + columns, sums)


def test_a_load_waits_for_the_product_that_its_address_comes_from(device):
    M, N, BK, rounds = 64, 16, 16, 3
    random = np.random.default_rng(8)
    a = random.integers(-2, 3, (rounds, M, BK)).astype(np.float16)
    b = random.integers(-2, 3, (rounds, BK, N)).astype(np.float16)
    table, out = random.integers(-9, 9, 256).astype(np.int32), np.zeros((M, N), np.int32)
    _looked_up[(1,)](a, b, table, out, rounds, M, N, BK, num_warps=4)
    index = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64) & 255
    np.testing.assert_array_equal(out, np.where(index > 3, table[index], 1).sum(axis=0))
