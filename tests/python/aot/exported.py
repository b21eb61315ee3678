"""Twenty kernels of many kinds, exported: what an archive gives must be what the kernel itself gives, bit for bit.

`CASES` has for each kernel the arguments of a launch, made from a generator of random numbers.
"""

import numpy as np

import sectile as st
import sectile.language as tl

CASES = {}
N = 777


def case(signature, grid, arguments, **export):
    """Exports a kernel, and notes how it is launched."""

    def mark(kernel):
        CASES[kernel.__name__] = (kernel, grid, arguments)
        return st.aot.export(signature, **export)(kernel)

    return mark


def floats(rng, *shape):
    return rng.standard_normal(shape or (N,)).astype(np.float32)


F, I = "*fp32:16", "*i32:16"
SIZE = {"n": "i32", "BLOCK": 256}
BLOCKS = (st.cdiv(N, 256),)


def elementwise(rng):
    return np.zeros(N, np.float32), floats(rng), N, 256


@case({"out": F, "x": F, **SIZE}, BLOCKS, elementwise)
@st.jit
def exponential(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.exp(tl.load(x + i, mask=i < n)), mask=i < n)


@case({"out": F, "x": F, **SIZE}, BLOCKS, elementwise)
@st.jit
def gelu(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(out + i, 0.5 * v * (1 + tl.erf(v * 0.70710678)), mask=i < n)


@case({"out": F, "x": F, **SIZE}, BLOCKS, elementwise)
@st.jit
def sine(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.sin(tl.load(x + i, mask=i < n) * 100), mask=i < n)


@case({"out": F, "x": F, **SIZE}, BLOCKS, elementwise)
@st.jit
def running_sum(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.cumsum(tl.load(x + i, mask=i < n, other=0), 0), mask=i < n)


@case({"out": F, "x": F, **SIZE}, BLOCKS, elementwise)
@st.jit
def backwards(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + n - 1 - i, tl.load(x + i, mask=i < n), mask=i < n)


@case({"out": F, "x": F, **SIZE}, BLOCKS, elementwise)
@st.jit
def sorted_blocks(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.sort(tl.load(x + i, mask=i < n, other=0)), mask=i < n)


@case({"out": I, "x": F, **SIZE}, BLOCKS, lambda rng: (np.zeros(4, np.int32), floats(rng), N, 256))
@st.jit
def largest(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0), tl.argmax(tl.load(x + i, mask=i < n, other=-1e9), 0))


@case({"out": I, "x": I, **SIZE}, BLOCKS, lambda rng: (np.zeros(16, np.int32), rng.integers(0, 16, N).astype(np.int32), N, 256))  # fmt: skip
@st.jit
def histogram(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.load(x + i, mask=i < n, other=0), 1, mask=i < n)


@case(
    {"out": F, "seed": "i32", **SIZE}, BLOCKS, lambda rng: (np.zeros(N, np.float32), 1234, N, 256)
)
@st.jit
def noise(out, seed, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.rand(seed, i), mask=i < n)


def rows(rng):
    return np.zeros((20, 100), np.float32), floats(rng, 20, 100), 100, 128


ROWS = {"out": F, "x": F, "columns": "i32", "BLOCK": 128}


@case(ROWS, (20,), rows)
@st.jit
def softmax(out, x, columns, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = tl.program_id(0) * columns + i
    v = tl.load(x + at, mask=i < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + at, e / tl.sum(e, 0), mask=i < columns)


@case({**ROWS, "eps": "fp32"}, (20,), lambda rng: (*rows(rng), 1e-5))
@st.jit
def layer_norm(out, x, columns, BLOCK: tl.constexpr, eps):
    i = tl.arange(0, BLOCK)
    at = tl.program_id(0) * columns + i
    v = tl.load(x + at, mask=i < columns, other=0)
    mean = tl.sum(v, 0) / columns
    d = tl.where(i < columns, v - mean, 0)
    tl.store(out + at, d * tl.rsqrt(tl.sum(d * d, 0) / columns + eps), mask=i < columns)


@case(ROWS, (20,), rows)
@st.jit
def two_passes(out, x, columns, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(x + tl.program_id(0) * columns + i, mask=i < columns, other=0)
    i = tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0) * columns + i, total, mask=i < columns)


def product(rng):
    return np.zeros((64, 48), np.float32), floats(rng, 64, 32), floats(rng, 32, 48), 64, 48, 32


PRODUCT = {"c": F, "a": F, "b": F, "m": "i32:16", "n": "i32:16", "k": "i32:16"}


@case(PRODUCT, (4, 3), product)
@st.jit
def matmul(c, a, b, m, n, k):
    i = tl.program_id(0) * 16 + tl.arange(0, 16)
    j = tl.program_id(1) * 16 + tl.arange(0, 16)
    acc = tl.zeros((16, 16), tl.float32)
    for start in range(0, k, 16):
        at = start + tl.arange(0, 16)
        acc += tl.dot(
            tl.load(a + i[:, None] * k + at[None, :]), tl.load(b + at[:, None] * n + j[None, :])
        )
    tl.store(c + i[:, None] * n + j[None, :], acc)


@case(PRODUCT, (4, 3), product)
@st.jit
def transpose_sum(c, a, b, m, n, k):
    i = tl.program_id(0) * 16 + tl.arange(0, 16)
    j = tl.program_id(1) * 16 + tl.arange(0, 16)
    tile = tl.load(a + i[:, None] * k + (j % k)[None, :])
    tl.store(
        c + i[:, None] * n + j[None, :],
        tl.sum(tl.trans(tile), 0)[:, None] + tl.zeros((16, 16), tl.float32),
    )


@case(
    {"out": "*fp16:16", "x": F, **SIZE},
    BLOCKS,
    lambda rng: (np.zeros(N, np.float16), floats(rng), N, 256),
)
@st.jit
def narrow(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n).to(tl.float16), mask=i < n)


@case({"out": "*i64:16", "x": I, "shift": "i64", **SIZE}, BLOCKS, lambda rng: (np.zeros(N, np.int64), rng.integers(-(2**31), 2**31, N).astype(np.int32), 2**40 + 1, N, 256))  # fmt: skip
@st.jit
def widen(out, x, shift, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n).to(tl.int64) * shift, mask=i < n)


@case({"out": F, "x": F, "ACTIVATION": ["relu", "tanh", None], **SIZE}, BLOCKS, lambda rng: (np.zeros(N, np.float32), floats(rng), "tanh", N, 256))  # fmt: skip
@st.jit
def activation(out, x, ACTIVATION: tl.constexpr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    if ACTIVATION == "relu":
        v = tl.maximum(v, 0)
    elif ACTIVATION == "tanh":
        v = 2 * tl.sigmoid(2 * v) - 1
    tl.store(out + i, v, mask=i < n)


@case({"out": F, "x": F, "bias": [F, None], **SIZE}, BLOCKS, lambda rng: (np.zeros(N, np.float32), floats(rng), None, N, 256))  # fmt: skip
@st.jit
def maybe_bias(out, x, bias, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    if bias is not None:
        v += tl.load(bias + i, mask=i < n)
    tl.store(out + i, v, mask=i < n)


@case({"out": F, "pair": (F, "fp32"), **SIZE}, BLOCKS, lambda rng: (np.zeros(N, np.float32), (floats(rng), 2.5), N, 256))  # fmt: skip
@st.jit
def of_a_tuple(out, pair, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(pair[0] + i, mask=i < n) * pair[1], mask=i < n)


@case({"out": F, "x": F, "TYPE": [tl.float16, tl.float32], "flag": "i1", **SIZE}, BLOCKS, lambda rng: (np.zeros(N, np.float32), floats(rng), tl.float16, True, N, 256))  # fmt: skip
@st.jit
def of_a_type(out, x, TYPE: tl.constexpr, flag, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n).to(TYPE).to(tl.float32)
    tl.store(out + i, tl.where(flag, v, -v), mask=i < n)
