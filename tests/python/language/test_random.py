"""The Philox generator: the published numbers, uniformity, reproducibility."""

import numpy as np
import pytest

import sectile as st
import sectile.language as tl


def philox_4x32_10(counter, key):
    """Salmon et al., SC 2011; uint32 arrays of four counters and two keys."""
    c = [np.asarray(x, np.uint64) for x in counter]
    k = [np.uint64(x) for x in key]
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [
            (b >> np.uint64(32)) ^ c[1] ^ k[0],
            b & low,
            (a >> np.uint64(32)) ^ c[3] ^ k[1],
            a & low,
        ]
        k = [(k[0] + np.uint64(0x9E3779B9)) & low, (k[1] + np.uint64(0xBB67AE85)) & low]
    return [x.astype(np.uint32) for x in c]


@pytest.mark.parametrize("seed", [0, 42, 2**31 - 1, 123456789012345])
def test_randint4x_is_philox(seed):
    @st.jit
    def kernel(a_ptr, b_ptr, c_ptr, d_ptr, seed, N: tl.constexpr):
        i = tl.arange(0, N)
        a, b, c, d = tl.randint4x(seed, i)
        tl.store(a_ptr + i, a)
        tl.store(b_ptr + i, b)
        tl.store(c_ptr + i, c)
        tl.store(d_ptr + i, d)

    outs = [np.zeros(100, np.uint32) for _ in range(4)]
    kernel[(1,)](*outs, seed, N=100)
    zero = np.zeros(100, np.uint32)
    expected = philox_4x32_10([np.arange(100), zero, zero, zero], [seed & 0xFFFFFFFF, seed >> 32])
    for out, right in zip(outs, expected):
        np.testing.assert_array_equal(out, right)


def test_rand_is_uniform_and_randn_is_normal():
    @st.jit
    def kernel(u_ptr, n_ptr, seed, N: tl.constexpr):
        i = tl.program_id(0) * N + tl.arange(0, N)
        tl.store(u_ptr + i, tl.rand(seed, i))
        tl.store(n_ptr + i, tl.randn(seed, i))

    uniform, normal = np.empty(1 << 18, np.float32), np.empty(1 << 18, np.float32)
    kernel[(256,)](uniform, normal, 7, N=1024)
    assert 0 <= uniform.min() and uniform.max() < 1
    ordered = np.sort(uniform)
    deviation = np.abs(ordered - (np.arange(ordered.size) + 0.5) / ordered.size).max()
    assert deviation < 2.2 / np.sqrt(ordered.size)  # Kolmogorov-Smirnov far beyond the 0.01 % level
    assert abs(normal.mean()) < 5 / np.sqrt(normal.size)
    assert abs(normal.std() - 1) < 5 / np.sqrt(2 * normal.size)
    assert abs((normal**3).mean()) < 5 * np.sqrt(15 / normal.size)
