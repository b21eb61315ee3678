"""Lesson 5: layer normalisation, forward and backward.

Forward, for each row x of length N:   y = (x - mean(x)) / sqrt(var(x) + eps) * w + b
With the normalised row x_hat and its gradient g = dy * w, backward is

    dx = (g - mean(g) - x_hat * mean(g * x_hat)) / sqrt(var + eps)     for each row
    dw = sum over rows of dy * x_hat,   db = sum over rows of dy       across all rows

dw and db need a sum over programs. Here each of P programs walks the rows pid, pid + P, pid + 2P, ...
and keeps its own partial sums in a tile; a second kernel adds the P partial sums. Nothing is atomic, so
the result is the same, bit for bit, on every run.

(Ba, Kiros, Hinton, "Layer Normalization", 2016.)

Run it:  python tutorials/05_layer_norm.py
"""

import sys

import numpy as np
from lesson import DEVICE, DEVICE_NAME, empty, import_torch, normal, to_numpy, to_torch, xp

import sectile as st
import sectile.language as tl

# How many programs share the rows of the backward pass: each has partial sums to be added at the end.
PROGRAMS = 256 if DEVICE == "cuda" else 16
# Block of the kernel that adds them, partial sums x columns: many programs on a GPU, long rows on a CPU.
SUM_BLOCK = (32, 32) if DEVICE == "cuda" else (16, 128)


@st.jit
def layer_norm_forward(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < N
    x = tl.load(x_ptr + row * N + column, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / N
    centred = tl.where(inside, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / N + eps)
    w = tl.load(w_ptr + column, mask=inside)
    b = tl.load(b_ptr + column, mask=inside)
    tl.store(y_ptr + row * N + column, centred * rstd * w + b, mask=inside)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)


@st.jit
def layer_norm_backward(
    x_ptr,
    dy_ptr,
    w_ptr,
    mean_ptr,
    rstd_ptr,
    dx_ptr,
    partial_dw_ptr,
    partial_db_ptr,
    M,
    N,
    BLOCK: tl.constexpr,
):
    program = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < N
    w = tl.load(w_ptr + column, mask=inside, other=0.0)
    dw = tl.zeros((BLOCK,), dtype=tl.float32)
    db = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(program, M, tl.num_programs(0)):
        x = tl.load(x_ptr + row * N + column, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + row * N + column, mask=inside, other=0.0).to(tl.float32)
        rstd = tl.load(rstd_ptr + row)
        x_hat = tl.where(inside, (x - tl.load(mean_ptr + row)) * rstd, 0.0)
        g = dy * w
        along_x = tl.sum(g * x_hat, axis=0) / N
        along_one = tl.sum(g, axis=0) / N
        tl.store(dx_ptr + row * N + column, (g - along_one - x_hat * along_x) * rstd, mask=inside)
        dw += dy * x_hat
        db += dy
    tl.store(partial_dw_ptr + program * N + column, dw, mask=inside)
    tl.store(partial_db_ptr + program * N + column, db, mask=inside)


@st.jit
def add_partial_sums(partial_ptr, out_ptr, P, N, BLOCK_P: tl.constexpr, BLOCK_N: tl.constexpr):
    column = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_P, BLOCK_N), dtype=tl.float32)
    for first in range(0, P, BLOCK_P):
        part = first + tl.arange(0, BLOCK_P)
        mask = (part[:, None] < P) & (column[None, :] < N)
        total += tl.load(partial_ptr + part[:, None] * N + column[None, :], mask=mask, other=0.0)
    tl.store(out_ptr + column, tl.sum(total, axis=0), mask=column < N)


def row_options(N, elements, warps):
    """BLOCK holds a row. On a GPU warps of 32 threads share it, some `elements` for each thread."""
    block = st.next_power_of_2(N)
    least, most = warps
    return {"BLOCK": block, "num_warps": min(max(block // (32 * elements), least), most)}


def forward(x, w, b, eps=1e-5, y=None):
    """Returns y and what backward needs: mean and 1/std of every row."""
    M, N = x.shape
    y = xp.empty_like(x) if y is None else y
    mean, rstd = empty(M), empty(M)
    options = row_options(N, elements=8, warps=(1, 8))
    layer_norm_forward[(M,)](x, y, w, b, mean, rstd, N, eps, **options)
    return y, mean, rstd


def backward(dy, x, w, mean, rstd, programs=PROGRAMS):
    """Returns dx, dw, db."""
    M, N = x.shape
    dx = xp.empty_like(x)
    partial = empty(2, programs, N)
    options = row_options(N, elements=16, warps=(4, 16))
    layer_norm_backward[(programs,)](
        x, dy, w, mean, rstd, dx, partial[0], partial[1], M, N, **options
    )
    sums = []
    for part in partial:
        total = empty(N)
        grid = (st.cdiv(N, SUM_BLOCK[1]),)
        add_partial_sums[grid](part, total, programs, N, *SUM_BLOCK)
        sums.append(total)
    return dx, *sums


def reference(x, w, b, dy, eps=1e-5):
    """The formulas above in float64."""
    x, w, b, dy = (to_numpy(array).astype(np.float64) for array in (x, w, b, dy))
    rstd = 1 / np.sqrt(x.var(axis=1, keepdims=True) + eps)
    x_hat = (x - x.mean(axis=1, keepdims=True)) * rstd
    g = dy * w
    dx = (
        g - g.mean(axis=1, keepdims=True) - x_hat * (g * x_hat).mean(axis=1, keepdims=True)
    ) * rstd
    return x_hat * w + b, dx, (dy * x_hat).sum(axis=0), dy.sum(axis=0)


def main(quick=False):
    M, N = (151, 300) if quick else (4096, 1023)
    x, dy = normal(M, N, seed=1), normal(M, N, seed=2)
    w, b = normal(N, seed=3), normal(N, seed=4)

    y, mean, rstd = forward(x, w, b)
    results = (y, *backward(dy, x, w, mean, rstd))
    for name, got, expected in zip(("y", "dx", "dw", "db"), results, reference(x, w, b, dy)):
        error = np.abs(to_numpy(got) - expected).max() / np.abs(expected).max()
        assert error < 2e-5, f"layer norm: {name} is off by {error} of its largest element"
        print(
            f"layer norm on {DEVICE_NAME}, {M} x {N}: {name:2} within {error:.1e} of the float64 result"
        )
    if quick:
        return

    rate = 2 * x.nbytes / 1e6
    ours = rate / st.testing.do_bench(lambda: forward(x, w, b, y=y))
    torch = import_torch()
    if torch is None:
        print(f"  forward: Sectile {ours:.1f} GB/s; torch is not installed, no comparison")
        return
    tensors = [to_torch(array) for array in (x, w, b)]
    peer = rate / st.testing.do_bench(
        lambda: torch.nn.functional.layer_norm(tensors[0], (N,), *tensors[1:])
    )
    print(f"  forward: Sectile {ours:.1f} GB/s, torch {peer:.1f} GB/s  ({ours / peer:.2f}x)")


if __name__ == "__main__":
    main("--quick" in sys.argv)
