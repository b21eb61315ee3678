"""Loop ranges.

Shapes: bounds, steps and conditions are scalars.

Dtypes: integers; a condition is int1, or is compared with 0.
"""

from __future__ import annotations

from ._builtin import builtin

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._constexpr import constexpr
    from ._tensor import Value, tensor


@builtin
def range(
    arg1: Value,
    arg2: Value | None = None,
    step: Value | None = None,
    num_stages: int | None = None,
    loop_unroll_factor: int | None = None,
    disallow_acc_multi_buffer: bool = False,
    flatten: bool = False,
    warp_specialize: bool = False,
    disable_licm: bool = False,
) -> Iterable[tensor]:
    """``for i in tl.range(...)``: a loop that runs on the device, through the numbers of Python's ``range``.

    Bounds and step are integers of any types, constants or values of run time, and the loop makes Python's
    turns also where the last step would pass the end of its type. The index has the type that bounds and
    step meet in. A step that is negative counts down. A step of 0 is an error where it is a constant; at run
    time the loop makes no turn, and with ``debug=True`` it is a failed assertion.

    What the compiler does not follow of the other arguments it answers by a remark of the kind ``"hint"``,
    which `sectile.inspect` shows.

    Args:
        arg1, arg2, step: as of Python's ``range``.
        num_stages: how many iterations are under way at once (GPUs), in place of the launch's ``num_stages``;
            0 or 1: no load runs ahead. Loops without `dot` load at most one iteration ahead.
        loop_unroll_factor: so many turns are made one; those left over are a second loop. At most 1024.
        disable_licm: what does not change from turn to turn is computed in each of them.
        disallow_acc_multi_buffer: the case as it is: an accumulator has one buffer.
        flatten, warp_specialize: not followed; where a thread beside the program starts copies the compiler decides.
    Raises:
        CompilationError: a bound or the step is no integer, the step is the constant 0, one bound is uint64
            and the other may be negative, or a hint is out of range.

    Example:
        @st.jit
        def kernel(out, x, n):
            total = 0.0
            for i in tl.range(0, n, num_stages=2):
                total += tl.load(x + i)
            tl.store(out, total)

        out = np.zeros(1, np.float32)
        kernel[(1,)](out, np.arange(5, dtype=np.float32), 5)
        print(out)  # [10.]
    """


@builtin
def static_range(
    arg1: int, arg2: int | None = None, step: int | None = None
) -> Iterable[constexpr]:
    """``for i in tl.static_range(...)``: constant bounds; the loop is written out, `i` is a constant.

    Errors: a bound that is no constant.

    Example:
        @st.jit
        def kernel(out):
            for i in tl.static_range(4):
                tl.store(out + i, tl.sum(tl.arange(0, i + 1)))  # i may be an extent

        out = np.zeros(4, np.int32)
        kernel[(1,)](out)
        print(out)  # [0 1 3 6]
    """


@builtin
def condition(arg1: Value, disable_licm: bool = False) -> Value:
    """``while tl.condition(i < n, disable_licm=True)``: the condition of a loop, with a hint.

    Args:
        arg1: the condition, a scalar.
        disable_licm: what does not change from turn to turn is computed in each of them.

    Errors: a condition that is a tile.

    Example:
        @st.jit
        def kernel(out, n):
            steps = 0
            while tl.condition(n > 1, disable_licm=True):
                n = n // 2
                steps += 1
            tl.store(out, steps)

        out = np.zeros(1, np.int32)
        kernel[(1,)](out, 40)
        print(out)  # [5]
    """
