"""Functions of plain numbers that are useful on both sides of a launch."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])


def cdiv(x: int, y: int) -> int:
    """`x` divided by `y`, rounded up: how many tiles of `y` elements cover `x`.

    Also an operation of the kernel language, where it works on tiles.

    Example:
        print(st.cdiv(100, 64), st.cdiv(128, 64))  # 2 2
    """
    return -(-x // y)


cdiv.__sectile_builtin__ = "cdiv"  # type: ignore[attr-defined]


def next_power_of_2(n: int) -> int:
    """The least power of two that is not less than `n`; 1 for 0 and 1.

    In a kernel `n` must be a compile-time constant.

    Example:
        print(st.next_power_of_2(100), st.next_power_of_2(128))  # 128 128
    """
    if not hasattr(n, "bit_length"):
        raise TypeError(f"next_power_of_2: n is {n!r}, not an integer")
    if n < 0:
        raise ValueError(f"next_power_of_2: n is {n}, below zero")
    return 1 if n <= 1 else 1 << (n - 1).bit_length()


def constexpr_function(fn: F) -> F:
    """Marks a plain Python function that kernels may call on compile-time constants.

    It runs while the kernel is compiled and gives a constant. From Python it is called as ever.

    Example:
        @st.constexpr_function
        def padded(n):
            return (n + 15) // 16 * 16

        @st.jit
        def kernel(out, N: tl.constexpr):
            tl.store(out, padded(N))

        out = np.zeros(1, np.int32)
        kernel[(1,)](out, N=20)
        print(out, padded(3))  # [32] 16
    """
    fn.__sectile_constexpr_function__ = True  # type: ignore[attr-defined]
    return fn


next_power_of_2.__sectile_constexpr_function__ = True  # type: ignore[attr-defined]
