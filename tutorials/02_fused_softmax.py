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
from lesson import DEVICE_NAME, import_torch, normal, to_numpy, to_torch, xp

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
    block = st.next_power_of_2(columns)
    softmax_rows[(rows,)](
        out,
        x,
        strides_in_elements(x)[0],
        strides_in_elements(out)[0],
        columns,
        BLOCK=block,
        # Warps of 32 threads share the row on a GPU, some 16 elements for each thread.
        num_warps=min(max(block // 512, 4), 16),
    )
    return out


def numpy_softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def main(quick=False):
    rows, columns = (123, 781) if quick else (4096, 781)
    x = normal(rows, columns, seed=1)
    out = softmax(x, xp.empty_like(x))

    expected = numpy_softmax(to_numpy(x).astype(np.float64))
    error = np.abs(to_numpy(out) - expected).max()
    assert error < 1e-6, f"softmax: off by {error} from the float64 result"
    print(
        f"softmax on {DEVICE_NAME}: {rows} x {columns} float32, within {error:.1e} of the float64 result"
    )
    if quick:
        return

    contenders = {"Sectile": lambda x, out: softmax(x, out)}
    if torch := import_torch():
        contenders["torch"] = lambda x, out: torch.softmax(to_torch(x), dim=1)
    if xp is np:
        contenders["NumPy"] = lambda x, out: numpy_softmax(x)
    print("  GB/s         " + "".join(f"{name:>9}" for name in contenders))
    for columns in (256, 781, 1024, 4096):
        x = normal(rows, columns, seed=2)
        out = xp.empty_like(x)
        rates = [
            2 * x.nbytes / 1e6 / st.testing.do_bench(lambda: run(x, out))
            for run in contenders.values()
        ]
        peer = "torch" if "torch" in contenders else list(contenders)[-1]
        ratio = rates[0] / rates[list(contenders).index(peer)]
        print(
            f"  {rows} x {columns:<5} "
            + "".join(f"{rate:9.1f}" for rate in rates)
            + (f"  ({ratio:.1f}x {peer})" if len(rates) > 1 else "")
        )


if __name__ == "__main__":
    main("--quick" in sys.argv)
