"""Example 4: a matrix product with bias and GELU in one kernel, and the tuner chooses its blocks.

`out = gelu(a @ b + bias)` is one launch: the tile of the product is in fast memory when it is finished, so the bias and the function cost
nothing there. GELU is the exact one, `x * (1 + erf(x / sqrt(2))) / 2`.

Which blocks are fast depends on the device and on the sizes. `st.autotune` compiles the candidates in parallel, runs each once on the same inputs,
drops those whose results differ, times the others, and keeps the choice on disk. The first launch for a new value of the `key` waits for that; later ones,
also those of other processes, do not.
"""

import numpy as np

import sectile as st
import sectile.language as tl


@st.autotune(
    st.Space(BLOCK_M=[32, 64], BLOCK_N=[32, 64], BLOCK_K=[32, 64]),
    key=["M", "N", "K"],
)
@st.jit
def linear_gelu(
    out, a, b, bias, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        # Rows and columns beyond the end are read as zeros, which add nothing.
        rows = tl.load(a + m[:, None] * K + k[None, :], (m[:, None] < M) & (k[None, :] < K), 0.0)
        columns = tl.load(b + k[:, None] * N + n[None, :], (k[:, None] < K) & (n[None, :] < N), 0.0)
        acc = tl.dot(rows, columns, acc, input_precision="ieee")
    acc += tl.load(bias + n, mask=n < N, other=0.0)[None, :]
    result = 0.5 * acc * (1 + tl.erf(acc * 0.70710678118654752))
    tl.store(out + m[:, None] * N + n[None, :], result, (m[:, None] < M) & (n[None, :] < N))


def grid(constants):
    """How many programs there are depends on the blocks, so the grid is a function of what the tuner chose."""
    return st.cdiv(constants["M"], constants["BLOCK_M"]), st.cdiv(
        constants["N"], constants["BLOCK_N"]
    )


M, N, K = 200, 150, 130  # multiples of no block
random = np.random.default_rng(0)
a = random.standard_normal((M, K), np.float32)
b = random.standard_normal((K, N), np.float32)
bias = random.standard_normal(N, np.float32)
out = np.empty((M, N), np.float32)
linear_gelu[grid](out, a, b, bias, M, N, K)

print("chosen:", linear_gelu.best_config)
print(linear_gelu.tuning_report())


def erf(x):
    """Abramowitz and Stegun 7.1.5, summed in float64: x is small enough here."""
    total, term = np.zeros_like(x), x.copy()
    for i in range(200):
        total += term / (2 * i + 1)
        term *= -x * x / (i + 1)
    return total * 2 / np.sqrt(np.pi)


z = a.astype(np.float64) @ b.astype(np.float64) + bias
small = np.clip(z / np.sqrt(2), -4, 4)  # beyond these erf is 1 or -1 to eight digits
expected = 0.5 * z * (1 + np.where(np.abs(z / np.sqrt(2)) > 4, np.sign(z), erf(small)))
error = np.abs(out - expected).max()
print(f"greatest error: {error:.1e}")
assert error < 1e-4
print("correct: True")
