"""Lesson 2: softmax in one pass over memory.

Written with whole-array operations, softmax reads and writes its matrix several times: maximum,
subtract, exponential, sum, divide. A kernel holds a row in a tile, does all five steps there, and
touches memory twice: one load, one store. Fusing is what makes kernels worth writing.

One program handles one row. The tile is the next power of two above the row's length, and the surplus
elements are loaded as minus infinity, which neither the maximum nor the sum notices.

Run it:  python tutorials/02_fused_softmax.py      (the same kernel in C++: cpp/02_fused_softmax.cpp)
"""

import sys

import numpy as np

import sectile as st
import sectile.language as tl


@st.jit
def softmax_rows(out_ptr, in_ptr, in_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    x = tl.load(in_ptr + row * in_stride + column, mask=inside, other=-float("inf"))
    # Subtracting the maximum keeps exp() from overflowing and changes nothing else.
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * out_stride + column, e / tl.sum(e, axis=0), mask=inside)


def strides_in_elements(matrix):
    """Of a NumPy array or a torch tensor."""
    if isinstance(matrix, np.ndarray):
        return [stride // matrix.itemsize for stride in matrix.strides]
    return list(matrix.stride())


def softmax(x, out):
    """Softmax of every row of a matrix into `out`."""
    rows, columns = x.shape
    softmax_rows[(rows,)](
        out,
        x,
        strides_in_elements(x)[0],
        strides_in_elements(out)[0],
        columns,
        BLOCK=st.next_power_of_2(columns),
    )
    return out


def numpy_softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def main(quick=False):
    rng = np.random.default_rng(0)
    rows, columns = (123, 781) if quick else (4096, 781)
    x = rng.standard_normal((rows, columns), dtype=np.float32)
    out = softmax(x, np.empty_like(x))

    expected = numpy_softmax(x.astype(np.float64))
    error = np.abs(out - expected).max()
    assert error < 1e-6, f"softmax: off by {error} from the float64 result"
    print(f"softmax: {rows} x {columns} float32, within {error:.1e} of the float64 result")
    if quick:
        return

    print("  GB/s           Sectile    torch    NumPy")
    for columns in (256, 781, 1024, 4096):
        x = rng.standard_normal((rows, columns), dtype=np.float32)
        out = np.empty_like(x)
        contenders = [lambda: softmax(x, out)]
        try:
            import torch

            tensor = torch.from_numpy(x)
            contenders.append(lambda: torch.softmax(tensor, dim=1))
        except ImportError:
            contenders.append(None)
        contenders.append(lambda: numpy_softmax(x))
        rates = [
            2 * x.nbytes / 1e6 / st.testing.do_bench(run) if run else float("nan")
            for run in contenders
        ]
        verdict = "  faster than torch" if rates[0] > rates[1] else ""
        print(f"  {rows} x {columns:<5} " + " ".join(f"{rate:8.1f}" for rate in rates) + verdict)


if __name__ == "__main__":
    main("--quick" in sys.argv)
