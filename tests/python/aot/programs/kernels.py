"""Kernels for use.c, use.cpp, refused.cpp and ffi.c."""

import sectile as st
import sectile.language as tl


@st.aot.export(
    {"out": "*T:16", "x": "*T:16", "stride": ["i32:16", "i32"], "columns": ["i32:16", "i32"], "BLOCK": [128, 1024]},
    T=["fp32", "bf16"],
    choose={"BLOCK": lambda columns: 128 if columns <= 128 else 1024},
)  # fmt: skip
@st.jit
def softmax(out, x, stride, columns, BLOCK: tl.constexpr):
    """Softmax of each row of a matrix of up to 1024 columns."""
    at = tl.program_id(0) * stride + tl.arange(0, BLOCK)
    inside = tl.arange(0, BLOCK) < columns
    v = tl.load(x + at, mask=inside, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + at, (e / tl.sum(e, 0)).to(out.dtype.element_ty), mask=inside)


@st.aot.export(
    {"out": "*fp32:16", "x": "*fp32:16", "bias": ["*fp32:16", None], "rows": "i32", "columns": ["i32:16", "i32"],
     "eps": "fp32", "BLOCK": 1024},
    grid="rows",
)  # fmt: skip
@st.jit(do_not_specialize=["rows"])
def layer_norm(out, x, bias, rows, columns, eps=1e-5, BLOCK: tl.constexpr = 1024):
    i = tl.arange(0, BLOCK)
    at = tl.program_id(0) * columns + i
    v = tl.load(x + at, mask=i < columns, other=0)
    d = tl.where(i < columns, v - tl.sum(v, 0) / columns, 0)
    y = d / tl.sqrt(tl.sum(d * d, 0) / columns + eps)
    if bias is not None:
        y += tl.load(bias + i, mask=i < columns)
    tl.store(out + at, y, mask=i < columns)


@st.aot.export(
    {"c": "*fp32:16", "a": "*fp32:16", "b": "*fp32:16", "m": ["i32:16", "i32"], "n": ["i32:16", "i32"], "k": ["i32:16", "i32"]},
    grid=lambda m, n: (st.cdiv(m, 32), st.cdiv(n, 32)),
)  # fmt: skip
@st.jit
def matmul(c, a, b, m, n, k):
    i = tl.program_id(0) * 32 + tl.arange(0, 32)
    j = tl.program_id(1) * 32 + tl.arange(0, 32)
    acc = tl.zeros((32, 32), tl.float32)
    for start in range(0, k, 32):
        at = start + tl.arange(0, 32)
        left = tl.load(
            a + i[:, None] * k + at[None, :], mask=(i[:, None] < m) & (at[None, :] < k), other=0
        )
        right = tl.load(
            b + at[:, None] * n + j[None, :], mask=(at[:, None] < k) & (j[None, :] < n), other=0
        )
        acc = tl.dot(left, right, acc, input_precision="ieee")
    tl.store(c + i[:, None] * n + j[None, :], acc, mask=(i[:, None] < m) & (j[None, :] < n))


@st.aot.export(
    {"out": "*i32:16", "operator": "i32", "MODE": ["up", "down"], "NEGATE": [True, False]}, grid=1
)
@st.jit
def delete(out, operator, MODE: tl.constexpr, NEGATE: tl.constexpr):
    """Names that C++ has taken.

    Two paragraphs, and what would end a comment: */ \\.
    """
    v = operator + 1 if MODE == "up" else operator - 1
    tl.store(out, -v if NEGATE else v)


@st.aot.export(
    {"out": ["tensordesc<T[8, 16]>(i32, i32)", "tensordesc<T[8, 16]>(i32, i32:16)"],
     "x": ["tensordesc<T[8, 16]>(i32, i32) nan", "tensordesc<T[8, 16]>(i32, i32:16) nan"]},
    T=["fp32", "fp64"],
    grid=1,
)  # fmt: skip
@st.jit
def twice(out, x, FACTOR: tl.constexpr = 2):
    """Doubles a block that begins in row 2, column 16; beyond the array it reads NaN, and stores nothing."""
    out.store([2, 16], x.load([2, 16]) * FACTOR)


@st.aot.export({"out": "*fp32:16", "x": "*fp32:16", "n": "i32", "check": "bounds"}, grid=1)
@st.jit
def checked(out, x, n):
    """Copies 64 numbers, of which n may be read."""
    i = tl.arange(0, 64)
    tl.store(out + i, tl.load(x + i))


@st.aot.export(
    {
        "out": "tensordesc<fp32[16]>",
        "x": "tensordesc<fp32[16]>",
        "s": "tensordesc<fp32[16]>",
        "n": "i32",
    },
    grid=1,
)
@st.jit
def chain(out, x, s, n):
    for _ in range(n):
        v = x.load([0])
        out.store([0], v + s.load([0]))
        s.store([0], v)


@st.aot.export(
    {"out": "*fp32:16", "x": "*fp32:16", "s": "*fp32:16", "n": "i32", "check": "bounds"}, grid=1
)
@st.jit
def chain_of_arrays(out, x, s, n):
    i = tl.arange(0, 16)
    for _ in range(n):
        v = tl.load(x + i)
        tl.store(out + i, v + tl.load(s + i))
        tl.store(s + i, v)


@st.aot.export({"out": "*u64:16", "u": "u64", "n": "i64", "f": "fp64"}, grid=1)
@st.jit
def wide(out, u, n, f):
    tl.store(out, u + n.to(tl.uint64) + (f * 2).to(tl.uint64))


@st.aot.export({"x": "*fp32:16", "n": "i32"}, grid="n")
@st.jit
def prints(x, n):
    tl.device_print(
        "a text that is too long to be kept in place, with a number behind it", tl.load(x)
    )
