"""Lesson 12: the gradient of attention, in one pass.

Training needs three gradients of lesson 6's attention: of q, k and v, from that of the result. With P the matrix of
weights and all matrices written out (Dao et al., "FlashAttention", 2022, appendix B.2):

    dV = P^T dOut        dP = dOut V^T        dS = P * (dP - delta)        dQ = dS K scale        dK = dS^T Q scale

where delta is the sum of dOut * Out over each row: what all weights of a row lose together, since they sum to 1.

*Recompute, do not keep.* P is as large as the matrix of scores, which lesson 6 never wrote down. Forward keeps one
number a row instead, the logarithm of the sum of exponentials (`logsum`): exp(score - logsum) is the weight again.

*Who owns what.* dK and dV are sums over all rows of Q, dQ is one over all rows of K. A program owns a block of keys
and walks along the queries:

               Q^T, dOut^T  (D x length)
             +----+----+----+----+
             | ->   ->   ->      |      scores of one step, transposed: BLOCK_N x BLOCK_M
             +----+----+----+----+
    K, V +---+
         | n |    dK, dV: sums along the walk, never leave fast memory
         +---+    dQ: each program adds its part to the same rows in memory, atomically

Scores are computed transposed, keys along rows, since that is how dV = P^T dOut and dK = dS^T Q take them: five
products a step, where two passes, one for dQ and one for dK and dV, would compute the scores and dP twice. The price
is the atomic additions, which come in any order: dQ is the same from run to run only up to rounding.

*Edges.* Rows of Q beyond the end are loaded as zeros, and have the weights exp(0 - infinity) = 0. Rows of K beyond the
end are zeros, too, and add nothing to dQ, as long as their weights are finite: no weight is above 1, so exponents are
cut at 0, where exp(0 - logsum) of such a row might be infinite.

*For torch.* `Attention.apply(q, k, v)` is what autograd calls: forward keeps what backward reads.

*Precision.* As in lesson 3: products of float32 are TF32's on a GPU.

Run it:  python tutorials/12_attention_gradient.py     (the same kernels in C++: cpp/12_attention_gradient.cpp)
"""

import sys

import numpy as np
from lesson import DEVICE, DEVICE_NAME, empty, import_torch, normal, to_numpy, to_torch, xp

import sectile as st
import sectile.language as tl


@st.jit
def attention_and_logsum(
    out_ptr,
    logsum_ptr,
    q_ptr,
    k_ptr,
    v_ptr,
    length,
    scale,
    D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    # Lesson 6, and one store more.
    head = tl.program_id(1) * length * D
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    rows = head + m[:, None] * D + d[None, :]
    q = tl.load(q_ptr + rows, mask=m[:, None] < length, other=0.0)

    top = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    mixed = tl.zeros((BLOCK_M, D), tl.float32)
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
    tl.store(logsum_ptr + tl.program_id(1) * length + m, top + tl.log(total), mask=m < length)


@st.jit
def prepare_gradient(
    delta_ptr, dq_ptr, out_ptr, dout_ptr, rows, D: tl.constexpr, BLOCK_M: tl.constexpr
):
    # delta, and zeros for dQ, to which many programs will add.
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    places = m[:, None] * D + tl.arange(0, D)[None, :]
    out = tl.load(out_ptr + places, mask=m[:, None] < rows, other=0.0)
    dout = tl.load(dout_ptr + places, mask=m[:, None] < rows, other=0.0)
    tl.store(delta_ptr + m, tl.sum(out * dout, axis=1), mask=m < rows)
    tl.store(dq_ptr + places, tl.zeros((BLOCK_M, D), tl.float32), mask=m[:, None] < rows)


@st.jit
def attention_gradient(
    dq_ptr,
    dk_ptr,
    dv_ptr,
    q_ptr,
    k_ptr,
    v_ptr,
    dout_ptr,
    logsum_ptr,
    delta_ptr,
    length,
    scale,
    D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    # Program (j, h): the j-th block of keys of head h.
    head = tl.program_id(1) * length * D
    first = tl.program_id(1) * length
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    d = tl.arange(0, D)
    columns = head + n[:, None] * D + d[None, :]
    k = tl.load(k_ptr + columns, mask=n[:, None] < length, other=0.0)
    v = tl.load(v_ptr + columns, mask=n[:, None] < length, other=0.0)

    dk = tl.zeros((BLOCK_N, D), tl.float32)
    dv = tl.zeros((BLOCK_N, D), tl.float32)
    for start in range(0, length, BLOCK_M):
        m = start + tl.arange(0, BLOCK_M)
        rows = head + m[:, None] * D + d[None, :]
        q = tl.load(q_ptr + rows, mask=m[:, None] < length, other=0.0)
        dout = tl.load(dout_ptr + rows, mask=m[:, None] < length, other=0.0)
        logsum = tl.load(logsum_ptr + first + m, mask=m < length, other=float("inf"))
        delta = tl.load(delta_ptr + first + m, mask=m < length, other=0.0)

        scores = tl.dot(k, tl.trans(q)) * scale
        weights = tl.exp(tl.minimum(scores - logsum[None, :], 0.0))
        dv = tl.dot(weights, dout, dv)
        dweights = tl.dot(v, tl.trans(dout))
        dscores = weights * (dweights - delta[None, :]) * scale
        dk = tl.dot(dscores, q, dk)
        dq = tl.dot(tl.trans(dscores), k)
        tl.atomic_add(dq_ptr + rows, dq, mask=m[:, None] < length, sem="relaxed")

    tl.store(dk_ptr + columns, dk, mask=n[:, None] < length)
    tl.store(dv_ptr + columns, dv, mask=n[:, None] < length)


# Two sums of 64 x 64 numbers and four tiles of a step are more than the registers of 4 warps hold.
BLOCKS = {"BLOCK_M": 32 if DEVICE == "cuda" else 64, "BLOCK_N": 64, "num_warps": 8}


def attention(q, k, v, out, logsum):
    """softmax(q k^T / sqrt(D)) v of each head into `out`, and the logarithms of the sums of exponentials into
    `logsum`; arrays are heads x length x D, contiguous, float32, logsum is heads x length."""
    heads, length, D = q.shape
    blocks = {"BLOCK_M": 64, "BLOCK_N": 32 if DEVICE == "cuda" else 64}
    grid = (st.cdiv(length, blocks["BLOCK_M"]), heads)
    attention_and_logsum[grid](out, logsum, q, k, v, length, D**-0.5, D=D, **blocks)


def gradient(q, k, v, out, logsum, dout, delta, dq, dk, dv):
    """The gradients of q, k and v, given that of `out`. `delta`: as `logsum`, is written."""
    heads, length, D = q.shape
    prepare_gradient[(st.cdiv(heads * length, 64),)](
        delta, dq, out, dout, heads * length, D=D, BLOCK_M=64
    )
    grid = (st.cdiv(length, BLOCKS["BLOCK_N"]), heads)
    attention_gradient[grid](
        dq, dk, dv, q, k, v, dout, logsum, delta, length, D**-0.5, D=D, **BLOCKS
    )


def numpy_gradient(q, k, v, dout):
    """(out, dq, dk, dv) with all matrices written out."""
    scale = q.shape[2] ** -0.5
    scores = q @ k.swapaxes(1, 2) * scale
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    out = weights @ v
    dweights = dout @ v.swapaxes(1, 2)
    dscores = weights * (dweights - (out * dout).sum(axis=2, keepdims=True)) * scale
    return out, dscores @ k, dscores.swapaxes(1, 2) @ q, weights.swapaxes(1, 2) @ dout


def autograd_function():
    """Attention as a function that torch differentiates: Attention.apply(q, k, v)."""
    import torch

    class Attention(torch.autograd.Function):
        @staticmethod
        def forward(context, q, k, v):
            q, k, v = (array.contiguous() for array in (q, k, v))
            out, logsum = torch.empty_like(q), q.new_empty(q.shape[:2])
            attention(q, k, v, out, logsum)
            context.save_for_backward(q, k, v, out, logsum)
            return out

        @staticmethod
        @torch.autograd.function.once_differentiable  # a gradient of the gradient is an error
        def backward(context, dout):
            q, k, v, out, logsum = context.saved_tensors
            dq, dk, dv = (torch.empty_like(array) for array in (q, k, v))
            delta = torch.empty_like(logsum)
            gradient(q, k, v, out, logsum, dout.contiguous(), delta, dq, dk, dv)
            return dq, dk, dv

    return Attention


def main(quick=False):
    shape = (2, 100, 64) if quick else (8, 1000, 64)
    q, k, v, dout = (normal(*shape, seed=seed) for seed in (1, 2, 3, 4))
    out, dq, dk, dv = (xp.empty_like(q) for _ in range(4))
    logsum, delta = empty(*shape[:2]), empty(*shape[:2])
    attention(q, k, v, out, logsum)
    gradient(q, k, v, out, logsum, dout, delta, dq, dk, dv)

    expected = numpy_gradient(*(to_numpy(array).astype(np.float64) for array in (q, k, v, dout)))
    tolerance = 6e-3 if DEVICE == "cuda" else 1e-5

    def check(name, array, wanted):
        error = np.abs(array - wanted).max() / np.abs(wanted).max()
        assert error < tolerance, (
            f"{name}: off by {error} of the largest element from the float64 result"
        )
        return error

    worst = max(map(check, ("out", "dq", "dk", "dv"), map(to_numpy, (out, dq, dk, dv)), expected))
    print(
        f"gradient of attention on {DEVICE_NAME}: {shape[0]} heads of {shape[1]} x {shape[2]} float32,"
        f" within {worst:.1e} of the float64 result"
    )
    if torch := import_torch():
        leaves = [torch.as_tensor(array).detach().requires_grad_() for array in (q, k, v)]
        autograd_function().apply(*leaves).backward(to_torch(dout))
        for name, leaf, wanted in zip(("dq", "dk", "dv"), leaves, expected[1:], strict=True):
            check(f"{name} by torch's autograd", leaf.grad.cpu().numpy(), wanted)
    if quick:
        return

    def both():
        attention(q, k, v, out, logsum)
        gradient(q, k, v, out, logsum, dout, delta, dq, dk, dv)

    contenders = {"Sectile": both}
    if torch:
        if DEVICE == "cuda":
            torch.backends.cuda.matmul.allow_tf32 = True  # as we do
        peers = [torch.as_tensor(array).detach()[None].requires_grad_() for array in (q, k, v)]

        def torchs():
            result = torch.nn.functional.scaled_dot_product_attention(*peers)
            torch.autograd.grad(result, peers, to_torch(dout)[None])

        contenders["torch"] = torchs
    if xp is np:

        def numpys():
            numpy_gradient(q, k, v, dout)

        contenders["NumPy"] = numpys
    work = 14 * shape[0] * shape[1] ** 2 * shape[2] / 1e6  # seven products, in MFLOP
    rates = {name: work / st.testing.do_bench(run) for name, run in contenders.items()}
    print(
        "  forward and backward: "
        + ", ".join(f"{name} {rate:.1f} GFLOP/s" for name, rate in rates.items())
    )


if __name__ == "__main__":
    main("--quick" in sys.argv)
