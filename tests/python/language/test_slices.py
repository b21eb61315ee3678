"""Parts of tiles by constant indices and slices are NumPy's."""

import linecache

import numpy as np
import pytest
from support import random

import sectile as st
import sectile.language as tl

EXPRESSIONS = {
    (12,): ["x[0]", "x[-1]", "x[3:7]", "x[:5]", "x[7:]", "x[::2]", "x[::-1]", "x[-2:2:-3]", "x[2:-2, None]", "x[None, 4]",
            "x[:]", "x[50:1:-4]", "x[:None]", "x[...]", "x[..., None]", "x[3, ...]", "x[N - 7]", "x[N // 4:N]"],
    (5, 8): ["x[0]", "x[:, 3]", "x[1:4]", "x[:, 3:7]", "x[2, 5]", "x[-2:, ::3]", "x[::-1, ::-1]", "x[3, None, 2:4]",
             "x[None, :, 0]", "x[1:2, -1]", "x[4][2]", "x[1:4][1:][0]", "x[..., 3]", "x[None, ..., 1:3]", "x[1, ..., 2]", "x[2, 3, ...]"],
    (3, 4, 2): ["x[1]", "x[:, 2]", "x[:, :, 1]", "x[0, 1:3, ::-1]", "x[:, 1, None, :]", "x[2, 3, 1]", "x[1:, ::2, 0]", "x[..., 0]", "x[1, ..., None]", "x[0, ..., ::-1]", "x[...]"],
}  # fmt: skip


@pytest.mark.parametrize("name", ["float32", "int8", "float64", "float16"])
@pytest.mark.parametrize("shape", EXPRESSIONS)
def test_slices(device, shape, name):
    x = random(name, shape, seed=3)
    lines = [
        "def kernel(x_ptr, out, N: tl.constexpr):",
        f"    x = tl.reshape(tl.load(x_ptr + tl.arange(0, {x.size})), {shape})",
    ]
    expected, start = [], 0
    for expression in EXPRESSIONS[shape]:
        part = eval(expression, {"x": x, "N": 12})
        lines.append(f"    tl.static_assert({expression}.shape == {np.shape(part)})")
        whole = f"tl.reshape({expression}, ({np.size(part)},))" if np.ndim(part) else expression
        places = f"out + {start}" + (f" + tl.arange(0, {np.size(part)})" if np.ndim(part) else "")
        lines.append(f"    tl.store({places}, {whole})")
        expected.append(np.ravel(part))
        start += np.size(part)
    source = "\n".join([*lines, ""])
    file = f"slices_{len(shape)}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names = {"tl": tl}
    exec(compile(source, file, "exec", dont_inherit=True), names)
    out = np.zeros(start, x.dtype)
    st.jit(names["kernel"])[(1,)](x, out, 12)
    np.testing.assert_array_equal(out, np.concatenate(expected))


@st.jit
def halves(x, out, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    total = tl.zeros((N // 2,), tl.float32)
    for _ in range(3):
        total += v[: N // 2] * v[N // 2 :]
        v = v[::-1]
    tl.store(out + tl.arange(0, N // 2), total)


def test_slices_in_loops(device):
    x = random("float32", (64,))
    out = np.zeros(32, np.float32)
    halves[(1,)](x, out, 64)
    wide = x.astype(np.float64)
    once = wide[:32] * wide[32:]
    np.testing.assert_allclose(out, 2 * once + once[::-1], rtol=1e-5, atol=1e-6)


@st.jit
def tree_sum(x, n: tl.constexpr):
    if n == 1:
        return x[0]
    half: tl.constexpr = n // 2
    return tree_sum(x[:half], half) + tree_sum(x[half:], n - half)


@st.jit
def power(x, n: tl.constexpr):
    return x if n == 1 else x * power(x, n - 1)


@st.jit
def recursive(x, out, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    tl.store(out, tree_sum(v, N))
    tl.store(out + 1 + tl.arange(0, N), power(v, 5))


@pytest.mark.parametrize("n", [1, 11, 16])
def test_recursion_on_constants(device, n):
    x = random("float32", (n,), seed=n)
    out = np.zeros(n + 1, np.float32)
    recursive[(1,)](x, out, n)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(out, [wide.sum(), *wide**5], rtol=1e-5, atol=1e-5)
