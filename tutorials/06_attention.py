"""Lesson 6: attention, without ever writing down the matrix of scores.

Attention mixes the rows of V: row m of the result is the mean of all rows of V, weighted by the softmax of
the products of row m of Q with all rows of K. Written with whole-array operations it needs a matrix of
length x length scores; here each program keeps BLOCK_M rows of Q in a tile and walks along K and V:

               K^T  (D x length)
             +----+----+----+----+
             | ->   ->   ->      |      scores = Q K^T of one step: BLOCK_M x BLOCK_N
             +----+----+----+----+
    Q +---+
      | m |    softmax along the walk   ->   out: BLOCK_M x D
      +---+

*Online softmax.* A softmax needs the greatest score before the first exponential, and it is known only at
the end of the walk. So the loop carries the greatest score so far (`top`), and when it grows, what was summed
with the old one is scaled by exp(old - new): the same result, in one pass. (Milakov and Gimelshein,
"Online normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022.)

*Edges.* Rows of K beyond the end get the score minus infinity, whose exponential is zero.

*Precision.* As in lesson 3: products of float32 are TF32's on a GPU.

Run it:  python tutorials/06_attention.py          (the same kernel in C++: cpp/06_attention.cpp)
"""

import sys

import numpy as np
from lesson import DEVICE, DEVICE_NAME, import_torch, normal, to_numpy, to_torch, xp

import sectile as st
import sectile.language as tl


@st.jit
def attention_rows(
    out_ptr,
    q_ptr,
    k_ptr,
    v_ptr,
    length,
    scale,
    D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    # Program (i, h): the i-th block of rows of head h.
    head = tl.program_id(1) * length * D
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    rows = head + m[:, None] * D + d[None, :]
    q = tl.load(q_ptr + rows, mask=m[:, None] < length, other=0.0)

    top = tl.full((BLOCK_M,), -float("inf"), tl.float32)  # the greatest score of each row so far
    total = tl.zeros((BLOCK_M,), tl.float32)  # the sum of exponentials so far
    mixed = tl.zeros((BLOCK_M, D), tl.float32)  # rows of V, weighted, so far
    for start in range(0, length, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        columns = head + n[:, None] * D + d[None, :]
        k = tl.load(k_ptr + columns, mask=n[:, None] < length, other=0.0)
        v = tl.load(v_ptr + columns, mask=n[:, None] < length, other=0.0)
        scores = tl.dot(q, tl.trans(k)) * scale
        scores = tl.where(n[None, :] < length, scores, -float("inf"))

        new_top = tl.maximum(top, tl.max(scores, axis=1))
        shrink = tl.exp(top - new_top)
        weights = tl.exp(scores - new_top[:, None])
        total = total * shrink + tl.sum(weights, axis=1)
        mixed = tl.dot(weights, v, mixed * shrink[:, None])
        top = new_top

    tl.store(out_ptr + rows, mixed / total[:, None], mask=m[:, None] < length)


def attention(q, k, v, out):
    """softmax(q k^T / sqrt(D)) v of each head; arrays are heads x length x D, contiguous."""
    heads, length, D = q.shape
    blocks = {"BLOCK_M": 64, "BLOCK_N": 32 if DEVICE == "cuda" else 64}
    grid = (st.cdiv(length, blocks["BLOCK_M"]), heads)
    attention_rows[grid](out, q, k, v, length, D**-0.5, D=D, **blocks)
    return out


def numpy_attention(q, k, v):
    scores = q @ k.swapaxes(1, 2) * q.shape[2] ** -0.5
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return weights / weights.sum(axis=2, keepdims=True) @ v


def main(quick=False):
    shape = (2, 100, 64) if quick else (8, 1000, 64)
    q, k, v = (normal(*shape, seed=seed) for seed in (1, 2, 3))
    out = attention(q, k, v, xp.empty_like(q))

    expected = numpy_attention(*(to_numpy(array).astype(np.float64) for array in (q, k, v)))
    error = np.abs(to_numpy(out) - expected).max() / np.abs(expected).max()
    tolerance = 2e-3 if DEVICE == "cuda" else 1e-5
    assert error < tolerance, (
        f"attention: off by {error} of the largest element from the float64 result"
    )
    print(
        f"attention on {DEVICE_NAME}: {shape[0]} heads of {shape[1]} x {shape[2]} float32,"
        f" within {error:.1e} of the float64 result"
    )
    if quick:
        return

    contenders = {"Sectile": lambda: attention(q, k, v, out)}
    if torch := import_torch():
        there = [to_torch(array)[None] for array in (q, k, v)]
        if DEVICE == "cuda":
            torch.backends.cuda.matmul.allow_tf32 = True  # as we do
        contenders["torch"] = lambda: torch.nn.functional.scaled_dot_product_attention(*there)
    if xp is np:
        contenders["NumPy"] = lambda: numpy_attention(q, k, v)
    work = 4 * shape[0] * shape[1] ** 2 * shape[2] / 1e6  # two products, in MFLOP
    rates = {name: work / st.testing.do_bench(run) for name, run in contenders.items()}
    print("  " + ", ".join(f"{name} {rate:.1f} GFLOP/s" for name, rate in rates.items()))


if __name__ == "__main__":
    main("--quick" in sys.argv)
