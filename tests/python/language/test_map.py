"""Functions of elements, and text for the assembler."""

import numpy as np
import pytest
from support import random
from target_check import find_ptxas

import sectile as st
import sectile.language as tl
from sectile.backends.compiler import GPUTarget


@st.jit
def three_way(x, y):
    if x < y:
        return -1
    elif x == y:
        return 0
    return 1


@st.jit
def compare(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.map_elementwise(three_way, tl.load(x + at), tl.load(y + at)))


@pytest.mark.parametrize("extent", [1, 17, 128, 1000])
def test_branches(device, extent):
    x, y = (random("int32", (extent,), low=-3, high=3, seed=seed) for seed in (1, 2))
    out = np.zeros(extent, np.int32)
    compare[(1,)](x, y, out, extent)
    np.testing.assert_array_equal(out, np.sign(x - y))


@st.jit
def collatz(x):
    """How many steps lead to 1."""
    steps = 0
    while x > 1:
        if x % 2 == 0:
            x = x // 2
        else:
            x = 3 * x + 1
        steps += 1
    return steps, x


@st.jit
def collatz_kernel(x, out, last, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    steps, end = tl.map_elementwise(collatz, tl.load(x + at))
    tl.store(out + at, steps)
    tl.store(last + at, end)


@pytest.mark.parametrize("shape", [(1, 1), (3, 50), (16, 64)], ids=str)
def test_loops_of_elements(device, shape):
    x = random("int64", shape, low=1, high=1000)
    out, last = np.zeros(shape, np.int32), np.zeros(shape, np.int64)
    collatz_kernel[(1,)](x, out, last, *shape)
    expected = np.zeros(shape, np.int32)
    for index, number in np.ndenumerate(x):
        while number > 1:
            number = number // 2 if number % 2 == 0 else 3 * number + 1
            expected[index] += 1
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(last, np.ones(shape))


@st.jit
def power(x, n):
    y = x * 0 + 1
    for _ in range(n):
        y *= x
    return y


@st.jit
def power_kernel(x, n, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.map_elementwise(power, tl.load(x + at), tl.load(n + at)))


@pytest.mark.parametrize("name", ["float32", "float16", "int32"])
def test_counted_loops_of_elements(device, name):
    x = random(name, (75,), low=-2, high=2)
    n = random("int32", (75,), low=0, high=6)
    out = np.zeros_like(x)
    power_kernel[(1,)](x, n, out, 75)
    expected = np.ones_like(x)
    for step in range(6):
        expected = np.where(step < n, expected * x, expected).astype(x.dtype)
    np.testing.assert_allclose(out, expected, rtol=2e-2 if name == "float16" else 1e-6)


@st.jit
def sums_and_differences(a, b, x, y):
    """Of neighbours: a and b of the first tile, x and y of the second."""
    return a + b, a - b, x * a, y * b


@st.jit
def pairs(x, y, out, other, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    u, v = tl.map_elementwise(
        sums_and_differences, tl.load(x + at), tl.load(y + tl.arange(0, C)), pack=2
    )
    tl.store(out + at, u)
    tl.store(other + at, v)


def test_pairs_of_neighbours(device):
    x, y = random("float32", (3, 40), seed=1), random("float32", (40,), seed=2)
    out, other = np.zeros_like(x), np.zeros_like(x)
    pairs[(1,)](x, y, out, other, 3, 40)
    expected = np.empty_like(x)
    expected[:, ::2], expected[:, 1::2] = x[:, ::2] + x[:, 1::2], x[:, ::2] - x[:, 1::2]
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(other, x * y)


@st.jit
def safe_root(x):
    if x > 0:
        y = tl.sqrt(x)
        if y > 1:
            y = y * 2
    else:
        y = -x
    return y


@st.jit
def roots(x, out, n, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.map_elementwise(safe_root, tl.load(x + at, mask=at < n, other=0.0)))


@pytest.mark.parametrize("name", ["map", "reduce", "scan"])
def test_loops_of_elements_with_a_step_of_their_own(device, name):
    """No such loop asserts that its step is not zero: it makes no turn then."""

    @st.jit
    def turns(a, b):
        total = a
        for i in range(0, 10, b & 3):
            total += i
        return total

    @st.jit
    def kernel(x, out, N: tl.constexpr, NAME: tl.constexpr):
        i = tl.arange(0, N)
        v = tl.load(x + i)
        if NAME == "map":
            tl.store(out + i, tl.map_elementwise(turns, v, v))
        elif NAME == "reduce":
            tl.store(out, tl.reduce(v, 0, turns))
        else:
            tl.store(out + i, tl.associative_scan(v, 0, turns))

    def expected(a, b):
        return a + (sum(range(0, 10, b & 3)) if b & 3 else 0)

    # The function is not associative: of two elements there is one order.
    x = np.arange(8 if name == "map" else 2, dtype=np.int32) + 5
    out = np.zeros(x.size, np.int32)
    kernel[(1,)](x, out, N=x.size, NAME=name)
    both = expected(x[0], x[1])
    wanted = {"map": [expected(v, v) for v in x], "reduce": [both, 0], "scan": [x[0], both]}[name]
    assert out.tolist() == wanted


def test_a_function_without_loops_becomes_operations_on_tiles(device):
    x = random("float32", (100,))
    out = np.zeros(128, np.float32)
    roots[(1,)](x, out, 100, 128)
    root = np.sqrt(np.maximum(x, 0))
    expected = np.where(x > 0, np.where(root > 1, root * 2, root), -x)
    np.testing.assert_allclose(out[:100], expected, rtol=1e-6)


ASSEMBLY = {"x": "*fp32", "y": "*fp32", "out": "*fp32"}


@st.jit
def add_by_assembly(x, y, out):
    at = tl.arange(0, 256)
    s = tl.inline_asm_elementwise(
        "add.f32 $0, $1, $2;",
        "=f,f,f",
        [tl.load(x + at), tl.load(y + at)],
        tl.float32,
        is_pure=True,
        pack=1,
    )
    tl.store(out + at, s)


@st.jit
def bytes_by_assembly(x, y, out, rest):
    at = tl.arange(0, 256)
    total, least = tl.inline_asm_elementwise(
        asm="""
        {
            xor.b32 $0, $2, $3;
            and.b32 $1, $2, $3;
        }
        """,
        constraints="=r,=r,r,r",
        args=[tl.load(x + at), tl.load(y + at)],
        dtype=(tl.uint8, tl.uint8),
        is_pure=True,
        pack=4,
    )
    tl.store(out + at, total)
    tl.store(rest + at, least)


@pytest.mark.host
def test_assembly_is_a_gpus():
    x = np.zeros(256, np.float32)
    with pytest.raises(
        st.CompilationError, match="assembly is a GPU's.*compiled for the CPU"
    ) as error:
        add_by_assembly[(1,)](x, x, x)
    assert "test_map.py" in str(error.value) and "NVIDIA" in str(error.value)


def compiled(kernel, signature):
    source = st.compiler.ASTSource(fn=kernel, signature=signature, constexprs={})
    return st.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]


@pytest.mark.host
def test_assembly_is_in_the_code():
    ptx = compiled(add_by_assembly, ASSEMBLY)
    assert ptx.count("add.f32 ") >= 2
    ptx = compiled(bytes_by_assembly, {name: "*u8" for name in ("x", "y", "out", "rest")})
    assert "xor.b32" in ptx and "and.b32" in ptx


@st.jit
def wrong_assembly(x, y, out):
    at = tl.arange(0, 256)
    s = tl.inline_asm_elementwise("add.f31 $0, $1;", "=f,f", [tl.load(x + at)], tl.float32, True, 1)
    tl.store(out + at, s)


@st.jit
def wrong_constraints(x, y, out):
    at = tl.arange(0, 256)
    s = tl.inline_asm_elementwise("mov.f32 $0, $1;", "=f", [tl.load(x + at)], tl.float32, True, 1)
    tl.store(out + at, s)


@pytest.mark.host
@pytest.mark.skipif(not find_ptxas(), reason="no ptxas on PATH, in CUDA_HOME or nvidia-cuda-nvcc")
def test_the_assembler_says_what_is_wrong():
    with pytest.raises(st.CompilationError, match="add.f31|Unknown|error") as error:
        compiled(wrong_assembly, ASSEMBLY)
    assert "inline_asm_elementwise" in str(error.value)


@pytest.mark.host
def test_constraints_are_checked():
    with pytest.raises(st.CompilationError, match="`constraints` does not fit") as error:
        compiled(wrong_constraints, ASSEMBLY)
    assert "test_map.py" in str(error.value)


def test_assembly(device):
    if device != "cuda":
        pytest.skip("assembly is a GPU's")
    x, y = random("float32", (256,), seed=1), random("float32", (256,), seed=2)
    out = np.zeros_like(x)
    add_by_assembly[(1,)](x, y, out)
    np.testing.assert_array_equal(out, x + y)
    x, y = random("uint8", (256,), seed=1), random("uint8", (256,), seed=2)
    out, rest = np.zeros_like(x), np.zeros_like(x)
    bytes_by_assembly[(1,)](x, y, out, rest)
    np.testing.assert_array_equal(out, x ^ y)
    np.testing.assert_array_equal(rest, x & y)
