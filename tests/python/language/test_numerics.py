"""numerics="strict" and "reproducible": what each promises, by its effect on bits."""

import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import sectile as st
import sectile.language as tl

RANDOM = np.random.default_rng(5)


@st.jit
def row_sums(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, other=0.0)
    tl.store(out, tl.sum(v * v))
    tl.store(out + 1, tl.sum(tl.exp(v) * (i < n)))
    running = tl.cumsum(v)
    tl.store(out + 2 + i, running, i < n)


@st.jit
def column_softmax(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    r = tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, COLUMNS)[None, :]
    v = tl.load(x + r * COLUMNS + c)
    e = tl.exp(v - tl.max(v, 0)[None, :])
    tl.store(out + r * COLUMNS + c, e / tl.sum(e, 0)[None, :])


@st.jit
def product(a, b, out, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, N: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        left = tl.load(a + m * K + (start + k)[None, :])
        right = tl.load(b + (start + k)[:, None] * N + n)
        acc = tl.dot(left, right, acc)
    tl.store(out + m * N + n, acc)


def sums_of(device, x, block, warps, **options):
    out = np.zeros(2 + x.size, np.float32)
    row_sums[(1,)](x, out, x.size, BLOCK=block, num_warps=warps, **options)
    return out


def test_sums_do_not_depend_on_warps_or_blocks(device):
    x = RANDOM.standard_normal(1000).astype(np.float32)
    results = {
        (block, warps): sums_of(device, x, block, warps, numerics="reproducible")
        for block in (1024, 2048)
        for warps in (1, 4, 8)
    }
    first = results[1024, 1]
    for at, found in results.items():
        assert found.tobytes() == first.tobytes(), at
    assert np.allclose(first[2:], np.cumsum(x, dtype=np.float64), atol=1e-4)
    assert np.isclose(first[0], np.sum(x.astype(np.float64) ** 2), rtol=1e-6)


def test_the_order_is_that_of_neighbours(device):
    """Sums of a reproducible kernel are those of a tree over neighbours, which NumPy can follow."""
    x = (RANDOM.standard_normal(1024) * 10.0 ** RANDOM.uniform(-3, 3, 1024)).astype(np.float32)
    level = x * x
    while level.size > 1:
        level = level[0::2] + level[1::2]
    found = sums_of(device, x, 1024, 4, numerics="reproducible")
    assert found[0] == level[0]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", [100, 3, 33])
def test_scans_do_not_depend_on_what_lies_behind_the_row(device, reverse, count):
    """The extent of the block says where padding ends, and the order of a reverse scan begins there."""

    @st.jit
    def kernel(x, out, n, BLOCK: tl.constexpr, REVERSE: tl.constexpr):
        i = tl.arange(0, BLOCK)
        v = tl.load(x + i, i < n, other=0.0)
        tl.store(out + i, tl.cumsum(v, 0, reverse=REVERSE), i < n)

    x = RANDOM.standard_normal(count).astype(np.float32)
    seen = set()
    for block in (count, count + 1, count + 17, 128, 256):
        out = np.zeros_like(x)
        kernel[(1,)](x, out, count, BLOCK=block, REVERSE=reverse, numerics="reproducible")
        seen.add(out.tobytes())
    assert len(seen) == 1
    wide = x.astype(np.float64)
    expected = np.cumsum(wide[::-1])[::-1] if reverse else np.cumsum(wide)
    assert np.allclose(np.frombuffer(seen.pop(), np.float32), expected, atol=1e-5)


@pytest.mark.parametrize("rows, columns", [(64, 16), (37, 20)])
def test_reductions_across_rows(device, rows, columns):
    x = RANDOM.standard_normal((rows, columns)).astype(np.float32)
    seen = set()
    for warps in (1, 2, 8):
        out = np.zeros_like(x)
        column_softmax[(1,)](
            x, out, ROWS=rows, COLUMNS=columns, num_warps=warps, numerics="reproducible"
        )
        seen.add(out.tobytes())
    assert len(seen) == 1
    wide = np.exp(x.astype(np.float64) - x.max(0))
    assert np.allclose(
        np.frombuffer(seen.pop(), np.float32).reshape(rows, columns), wide / wide.sum(0), atol=1e-6
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_products_do_not_depend_on_warps_or_blocks(device, dtype):
    m, n, k = 128, 128, 256
    a, b = (
        RANDOM.standard_normal((m, k)).astype(dtype),
        RANDOM.standard_normal((k, n)).astype(dtype),
    )
    seen = set()
    for bm, bn, bk, warps in [
        (32, 32, 32, 1),
        (64, 32, 32, 4),
        (32, 64, 64, 4),
        (128, 128, 32, 8),
        (64, 64, 64, 2),
    ]:
        out = np.zeros((m, n), np.float32)
        product[(m // bm, n // bn)](
            a, b, out, k, BM=bm, BN=bn, BK=bk, N=n, num_warps=warps,
            numerics="reproducible",
        )  # fmt: skip
        seen.add(out.tobytes())
    assert len(seen) == 1


def test_strict_rounds_each_operation(device):
    """Neither fused nor approximated: products, sums and quotients are those of IEEE 754."""

    @st.jit
    def kernel(x, y, z, out, N: tl.constexpr):
        i = tl.arange(0, N)
        a, b, c = tl.load(x + i), tl.load(y + i), tl.load(z + i)
        tl.store(out + i, a * b + c)
        tl.store(out + N + i, a / b)
        tl.store(out + 2 * N + i, tl.sqrt(tl.abs(a)))

    n = 4096
    x, y, z = (RANDOM.standard_normal(n).astype(np.float32) for _ in range(3))
    out = np.zeros(3 * n, np.float32)
    kernel[(1,)](x, y, z, out, N=n, numerics="strict")
    expected = np.concatenate([x * y + z, x / y, np.sqrt(np.abs(x))])
    assert out.tobytes() == expected.tobytes()


@pytest.mark.host
def test_atomic_sums_of_floats_are_refused():
    @st.jit
    def kernel(x):
        tl.atomic_add(x, 1.0)

    x = np.zeros(1, np.float32)
    kernel[(3,)](x)
    with pytest.raises(st.CompilationError) as raised:
        kernel[(3,)](x, numerics="reproducible")
    text = str(raised.value)
    assert "atomic_add of floats: programs add in the order in which they arrive" in text
    assert "tl.atomic_add(x, 1.0)" in text and "in a second launch" in text
    count = np.zeros(1, np.int32)

    @st.jit
    def counting(x):
        tl.atomic_add(x, 1)

    counting[(3,)](count, numerics="reproducible")
    assert count[0] == 3 and x[0] == 3


def ptx_of(kernel, **options):
    mock = st.MockTensor(tl.float32)
    return kernel.warmup(mock, mock, mock, N=128, grid=(1,), target="cuda:90", **options).asm["ptx"]


@pytest.mark.host
@pytest.mark.parametrize("numerics", ["default", "strict", "reproducible"])
def test_a_quotient_of_fp64_is_not_approximated_where_it_is_rounded(numerics):
    """LLVM divides in fp32 when the operands came from there and the result goes there."""

    @st.jit
    def kernel(x, y, out, N: tl.constexpr):
        i = tl.arange(0, N)
        a, b = tl.load(x + i).to(tl.float64), tl.load(y + i).to(tl.float64)
        tl.store(out + i, (a / b).to(tl.float32))
        tl.store(out + N + i, tl.load(x + i).to(tl.float64) / 3.0)

    divisions = re.findall(r"\bdiv\.\S+", ptx_of(kernel, numerics=numerics))
    assert divisions and set(divisions) <= {"div.rn.f32", "div.rn.f64"}


@pytest.mark.host
def test_strict_leaves_no_approximation():
    @st.jit
    def kernel(x, y, out, N: tl.constexpr):
        i = tl.arange(0, N)
        a, b = tl.load(x + i), tl.load(y + i)
        tl.store(out + i, tl.exp(a) * b + tl.sigmoid(b) / a)

    usual, strict = ptx_of(kernel), ptx_of(kernel, numerics="strict")
    # What `exp` is of elsewhere: 2^x of the instruction, of a rounded product.
    approximation = "0f3FB8AA3B;\n\tex2.approx"
    assert "div.full" in usual and approximation in usual
    assert "div.full" not in strict and "div.rn" in strict and approximation not in strict


@pytest.mark.host
def test_strict_multiplies_fp32_as_fp32():
    @st.jit
    def kernel(x, y, out, N: tl.constexpr):
        i = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
        tl.store(out + i, tl.dot(tl.load(x + i), tl.load(y + i)))

    assert ".tf32" in ptx_of(kernel) and ".tf32" in ptx_of(kernel, numerics="reproducible")
    assert ".tf32" not in ptx_of(kernel, numerics="strict")


@pytest.mark.host
def test_the_environment_asks_for_all_kernels(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import numpy as np, sectile as st, sectile.language as tl

        @st.jit
        def kernel(x):
            tl.atomic_add(x, 1.0)

        x = np.zeros(1, np.float32)
        for numerics in (None, "strict", "reproducible"):
            st.knobs.runtime.numerics = numerics
            try:
                kernel[(1,)](x)
                print(kernel.variants()[-1].compiled.metadata.numerics)
            except st.CompilationError as error:
                print("refused")
        """)
    )
    result = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["default", "strict", "refused"]


@pytest.mark.host
def test_other_words_are_refused():
    @st.jit
    def kernel(x):
        tl.store(x, 1.0)

    with pytest.raises(st.ArgumentError) as raised:
        kernel[(1,)](np.zeros(1, np.float32), numerics="fast")
    assert "numerics is 'fast', not default, strict or reproducible" in str(raised.value)
