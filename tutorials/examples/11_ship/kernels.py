"""Example 11: ship it: kernels written in Python, part of a C++ program that runs without Python.

`@st.aot.export` says which variants the program needs. CMakeLists.txt compiles them into it; main.cpp calls them.
"""

import sectile as st
import sectile.language as tl


@st.aot.export(
    {
        "out": "*T:16",
        "x": "*T:16",
        "rows": "i32",
        "columns": ["i32:16", "i32"],
        "BLOCK": [128, 1024],
    },
    T=["fp32", "bf16"],
    choose={"BLOCK": lambda columns: 128 if columns <= 128 else 1024},
    grid=lambda rows: rows,
)
@st.jit(do_not_specialize=["rows"])
def softmax(out, x, rows, columns, BLOCK: tl.constexpr):
    """Softmax of each row of a matrix of up to 1024 columns."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    inside = i < columns
    v = tl.load(x + row * columns + i, mask=inside, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * columns + i, (e / tl.sum(e, 0)).to(out.dtype.element_ty), mask=inside)
