"""Odd kernels for headers."""

import sectile as st
import sectile.language as tl


@st.aot.export({})
@st.jit
def nothing():
    """Ends with a backslash \\"""
    pass


@st.aot.export({"x": "*fp16:16", "y": ["*fp32:16", None], "z": None})
@st.jit
def half(x, y, z):
    r"""A comment /* that begins, ??/ and ends */ \
    """
    pass


@st.aot.export(
    {
        "x": "*T:16",
        "bias": ["*T:16", None],
        "device": "u32",
        "int32_t": "i64",
        "NULL": ["fp32", "i32"],
        "flag": ["i1"],
        "MODE": 'a"b\\?',
        "W": 5,
        "D": tl.float16,
        "E": [True, False],
        "e": "fp64",
        "b": "i8",
        "u": ["u64", "i32"],
    },
    T=["bf16", "fp32"],
)
@st.jit
def open(
    x,
    bias,
    device,
    int32_t,
    NULL,
    flag,
    MODE: tl.constexpr,
    W: tl.constexpr,
    D: tl.constexpr,
    E: tl.constexpr,
    e,
    b,
    u,
):
    tl.store(x, 1)


@st.aot.export(
    {"x": "*T:16", "n": "i32", "D": [tl.float32, None], "W": [tl.constexpr(1), tl.constexpr(2)]},
    T=["fp32", "fp64"],
)
@st.jit
def T(x, n: tl.int64, D: tl.constexpr, W: tl.constexpr):
    tl.store(x, n * W)


@st.aot.export({"x": "*fp32:16", "args": "i32", "nn": "i32"}, grid=(1, 2))
@st.jit
def open_(x, args, nn=2):
    tl.store(x, nn)


@st.aot.export(
    {"Of_a": "*fp32:16", "a_bytes": "*fp16:16", "char16_t": "i32", "INT32_MAX": "i32", "sectile_n": "i32", "nullptr_t": "i32",
     "__private": "i32", "check": "bounds"},
    grid=1,
)  # fmt: skip
@st.jit
def sectile_names(Of_a, a_bytes, char16_t, INT32_MAX, sectile_n, nullptr_t, __private):
    tl.store(Of_a, char16_t + INT32_MAX + sectile_n + nullptr_t)


@st.jit
def helper(x):
    return x * 3


@st.aot.export(
    {"x": "*fp32:16", "F": helper, "EVEN": [True, False], "n": "i32", "M": 7},
    grid=1,
    choose={"EVEN": lambda n: n % 2 == 0},
)
@st.jit
def call(x, n, F: tl.constexpr, EVEN: tl.constexpr, M: tl.constexpr = 9):
    tl.store(x, F(n) + (0.5 if EVEN else 0.25) + M * 100)
