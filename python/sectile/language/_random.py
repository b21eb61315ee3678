"""Random numbers by Philox 4x32: a pure function of a seed and an offset.

Shapes: that of the offset or counter.

Errors: an offset or counter that holds no integers; a number of rounds that is no constant.

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11.
"""

from __future__ import annotations

from ._builtin import builtin

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import TypeAlias

    from ._tensor import Value, tensor

    Four: TypeAlias = tuple[tensor, tensor, tensor, tensor]


@builtin
def philox(seed: Value, c0: Value, c1: Value, c2: Value, c3: Value, n_rounds: int = 10) -> Four:
    """Four uint32 tiles from a 64-bit `seed` and the counter words `c0` .. `c3`.

    Dtypes: counters of 32 or 64 bits; the results are uint32 or uint64.

    Example:
        @st.jit
        def kernel(out):
            i = tl.arange(0, 4)
            a, b, c, d = tl.philox(7, i, 0, 0, 0)
            tl.store(out + i, a)

        out = np.zeros(4, np.uint32)
        kernel[(1,)](out)
        print(len(set(out.tolist())))  # 4
    """


@builtin
def philox_impl(
    c0: Value, c1: Value, c2: Value, c3: Value, k0: Value, k1: Value, n_rounds: int = 10
) -> Four:
    """Philox on raw counter (`c0` .. `c3`) and key (`k0`, `k1`) words.

    Dtypes: uint32 or uint64, counter and key of one width.

    Example:
        @st.jit
        def kernel(out):
            zero = tl.zeros((1,), tl.uint32)
            a, b, c, d = tl.philox_impl(zero, zero, zero, zero, zero, zero)
            i = tl.arange(0, 1)
            tl.store(out + i, a)

        out = np.zeros(1, np.uint32)
        kernel[(1,)](out)
        print(hex(out[0]))  # 0x6627e8d5
    """


@builtin
def randint(seed: Value, offset: Value, n_rounds: int = 10) -> tensor:
    """Uniform int32 over the whole range, one for each element of `offset`.

    Dtypes: `offset` any integer; the result is int32.

    Example:
        @st.jit
        def kernel(out):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.randint(42, i))

        first, second = np.zeros(4, np.int32), np.zeros(4, np.int32)
        kernel[(1,)](first)
        kernel[(1,)](second)
        print(np.array_equal(first, second), len(set(first.tolist())))  # True 4
    """


@builtin
def randint4x(seed: Value, offset: Value, n_rounds: int = 10) -> Four:
    """Four int32 tiles at the price of one `randint`.

    Dtypes: `offset` any integer; the results are int32.

    Example:
        @st.jit
        def kernel(out):
            i = tl.arange(0, 2)
            a, b, c, d = tl.randint4x(42, i)
            tl.store(out + i, a)
            tl.store(out + 2 + i, b)
            tl.store(out + 4 + i, c)
            tl.store(out + 6 + i, d)

        out = np.zeros(8, np.int32)
        kernel[(1,)](out)
        print(len(set(out.tolist())))  # 8
    """


@builtin
def rand(seed: Value, offset: Value, n_rounds: int = 10) -> tensor:
    """Uniform fp32 in ``[0, 1)``, one for each element of `offset`.

    Args:
        seed: scalar.
        offset: integer tile; equal (seed: Value, offset) give equal numbers.
        n_rounds: constant; 10 is the published generator.

    Dtypes: `offset` any integer; the result is fp32.

    Example:
        @st.jit
        def kernel(out, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(out + i, tl.rand(42, i), mask=i < n)

        out = np.empty(10000, np.float32)
        kernel[(10,)](out, 10000, BLOCK=1024)
        print(out.min() >= 0, out.max() < 1, abs(out.mean() - 0.5) < 0.02)  # True True True
    """


@builtin
def rand4x(seed: Value, offsets: Value, n_rounds: int = 10) -> Four:
    """Four tiles of uniform fp32 in ``[0, 1)``.

    Dtypes: `offsets` any integer; the results are fp32.

    Example:
        @st.jit
        def kernel(out):
            i = tl.arange(0, 256)
            a, b, c, d = tl.rand4x(42, i)
            tl.store(out + i, (a + b + c + d) / 4)

        out = np.empty(256, np.float32)
        kernel[(1,)](out)
        print(abs(out.mean() - 0.5) < 0.1)  # True
    """


@builtin
def randn(seed: Value, offset: Value, n_rounds: int = 10) -> tensor:
    """Standard normal fp32 by the Box-Muller transform, one for each element of `offset`.

    Dtypes: `offset` any integer; the result is fp32.

    Example:
        @st.jit
        def kernel(out, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(out + i, tl.randn(42, i), mask=i < n)

        out = np.empty(10000, np.float32)
        kernel[(10,)](out, 10000, BLOCK=1024)
        print(abs(out.mean()) < 0.05, abs(out.std() - 1) < 0.05)  # True True
    """


@builtin
def randn4x(seed: Value, offset: Value, n_rounds: int = 10) -> Four:
    """Four tiles of standard normal fp32.

    Dtypes: `offset` any integer; the results are fp32.

    Example:
        @st.jit
        def kernel(out):
            i = tl.arange(0, 1024)
            a, b, c, d = tl.randn4x(42, i)
            tl.store(out + i, (a + b + c + d) / 2)

        out = np.empty(1024, np.float32)
        kernel[(1,)](out)
        print(abs(out.std() - 1) < 0.1)  # True
    """


@builtin
def uint_to_uniform_float(x: tensor) -> tensor:
    """Maps 32- or 64-bit integers to uniform fp32 in ``[0, 1)``.

    Shapes: that of `x`.

    Dtypes: integers of 32 or 64 bits; the result is fp32.

    Errors: another dtype.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 2)
            tl.store(out + i, tl.uint_to_uniform_float(tl.load(x + i)))

        out = np.empty(2, np.float32)
        kernel[(1,)](out, np.array([0, 2**30], np.uint32))
        print(out)  # [0.         0.49999997]
    """


@builtin
def pair_uniform_to_normal(u1: tensor, u2: tensor) -> tuple[tensor, tensor]:
    """Two independent standard normal tiles from two uniform ones (Box-Muller).

    Shapes: the common one of both.

    Dtypes: fp32.

    Errors: shapes that do not broadcast.

    Example:
        @st.jit
        def kernel(out):
            i = tl.arange(0, 1024)
            a, b, c, d = tl.rand4x(1, i)
            x, y = tl.pair_uniform_to_normal(a, b)
            tl.store(out + i, x)

        out = np.empty(1024, np.float32)
        kernel[(1,)](out)
        print(abs(out.mean()) < 0.1, abs(out.std() - 1) < 0.1)  # True True
    """
