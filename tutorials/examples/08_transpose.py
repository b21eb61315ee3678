"""Example 8: a transpose of any view, by its strides.

An array arrives in a kernel as an address. Where its next row and its next column are, only the launch knows: the strides. With them as arguments one kernel reads every
view of an array: a part of it (`x[10:200, 5:]`), every other column (`x[:, ::2]`), a transposed one (`x.T`), and one that runs backwards (`x[::-1]`).

Strides of NumPy count bytes, those of kernels (and of torch) elements. One that is 1 lets the compiler read whole vectors, because an integer that is 1 becomes a constant of the code;
one that is not 1 makes it gather. `st.inspect` shows which of them it was.
"""

import numpy as np

import sectile as st
import sectile.language as tl


@st.jit
def transpose(out, out_row, out_column, x, x_row, x_column, rows, columns, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (r[:, None] < rows) & (c[None, :] < columns)
    tile = tl.load(x + r[:, None] * x_row + c[None, :] * x_column, mask=inside)
    tl.store(
        out + c[:, None] * out_row + r[None, :] * out_column, tl.trans(tile), mask=tl.trans(inside)
    )


def strides_in_elements(array):
    return [stride // array.itemsize for stride in array.strides]


def transposed(x, out=None, **options):
    """A matrix with rows and columns exchanged, of any view; into `out`, which may be a view, too."""
    rows, columns = x.shape
    out = np.empty((columns, rows), x.dtype) if out is None else out
    grid = (st.cdiv(rows, 32), st.cdiv(columns, 32))
    transpose[grid](
        out,
        *strides_in_elements(out),
        x,
        *strides_in_elements(x),
        rows,
        columns,
        BLOCK=32,
        **options,
    )
    return out


whole = np.random.default_rng(0).standard_normal((300, 500), np.float32)
views = {
    "whole": whole,
    "part": whole[10:200, 5:],
    "every other column": whole[:, ::2],
    "transposed": whole.T,
    "backwards": whole[::-1],
}
for name, view in views.items():
    # check="strides" would refuse a view whose strides are not among the arguments: here they are.
    assert np.array_equal(transposed(view, check="strides"), view.T), name
    print(f"{name}: strides {strides_in_elements(view)}")

# The result may be a view as well: the right half of a larger array.
target = np.zeros((500, 600), np.float32)
transposed(whole, target[:, 300:])
assert np.array_equal(target[:, 300:], whole.T) and not target[:, :300].any()
print("correct: True")
