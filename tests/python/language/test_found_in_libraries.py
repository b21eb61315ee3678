"""What kernels of libraries ask of the language besides its operations."""

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile.language.standard import _log2


@st.jit
def flags(out, N: tl.constexpr, first: tl.constexpr = tl.core.CONSTEXPR_0):
    rounds: tl.constexpr = tl.standard._log2(N)
    same: tl.constexpr = _log2(N)
    tl.static_assert(rounds == same)
    tl.store(out, rounds)
    tl.store(out + 1, first + 5)


def test_logarithms_and_zero(device):
    for n, log in ((1, 0), (64, 6), (4096, 12)):
        out = np.zeros(2, np.int32)
        flags[(1,)](out, n)
        assert out.tolist() == [log, 5]
    assert _log2(64) == 6 and tl.core.CONSTEXPR_0.value == 0


@st.jit
def bits(out, x, N: tl.constexpr, SIGNED: tl.constexpr):
    i = tl.arange(0, N)
    values = tl.load(x + i)
    kind: tl.constexpr = tl.core.get_int_dtype(
        bitwidth=values.dtype.primitive_bitwidth, signed=SIGNED
    )
    tl.store(out + i, values.to(kind, bitcast=True))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_integers_of_a_width(device, dtype):
    x = np.random.default_rng(5).standard_normal(16).astype(dtype)
    for signed in (True, False):
        integer = np.dtype(f"{'int' if signed else 'uint'}{8 * x.itemsize}")
        out = np.zeros(16, integer)
        bits[(1,)](out, x, 16, signed)
        np.testing.assert_array_equal(out, x.view(integer))
    assert tl.core.get_int_dtype(8, False) == tl.uint8
