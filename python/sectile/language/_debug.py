"""Looking into a kernel, at compile time and while it runs.

Shapes: any.

Dtypes: any.
"""

from __future__ import annotations

from ._builtin import builtin

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._dtypes import dtype as Dtype
    from ._tensor import Value


@builtin
def static_print(
    *values: Any, sep: str = " ", end: str = "\n", file: Any = None, flush: bool = False
) -> None:
    """Prints constants and types while the kernel is compiled.

    Errors: none; a tile is printed by its type.

    Example:
        @st.jit
        def kernel(out, N: tl.constexpr):
            v = tl.arange(0, N) * 0.5
            tl.static_print("N is", N, "and v has", v.dtype)
            tl.store(out + tl.arange(0, N), v)

        out = np.zeros(4, np.float32)
        kernel[(1,)](out, N=4)
        print(out)  # [0.  0.5 1.  1.5]
    """


@builtin
def static_assert(cond: Any, msg: str = "") -> None:
    """Ends the compilation with an error unless the constant `cond` is true.

    Errors: a condition that is false, with `msg`; one that is no constant. The first is a
    `CompileTimeAssertionFailure`.

    Example:
        @st.jit
        def kernel(out, N: tl.constexpr):
            tl.static_assert(N % 4 == 0, "N must be a multiple of 4")
            tl.store(out + tl.arange(0, N), 1)

        out = np.zeros(8, np.int32)
        kernel[(1,)](out, N=8)
        print(out.sum())  # 8
        try:
            kernel[(1,)](out, N=6)
        except st.CompilationError as error:
            print(error.diagnostics[0].message)  # static assertion failed: N must be a multiple of 4
    """


@builtin
def device_print(prefix: str, *args: Value, hex: bool = False, when: Value | None = None) -> None:
    """Prints values while the kernel runs: whole tiles, one program after another.

    ``tl.device_print("sums", n, tl.sum(x, 1))`` prints, for each program::

        pid (0, 0, 0) sums: n = 6
        pid (0, 0, 0) sums: tl.sum(x, 1) = fp32[2x3]
        [[ 1.5   2.0   0.25]
         [  inf 20.0  -1.0 ]]

    A single value has no name of its own but the prefix. Tiles of more than 1024 elements are cut short,
    and say how many elements they leave out; the environment variable ``SECTILE_PRINT_ELEMENTS`` is that
    limit, 0 for none. Programs come in order on every device; a GPU's prints come when the kernel is over, as
    far as its buffer holds them (``SECTILE_PRINT_BUFFER``), and those that are missing are counted. Where the text
    goes can be changed with `sectile.set_print`.

    Args:
        prefix: a string known at compile time.
        args: tiles and scalars.
        hex: print the bits in hexadecimal.
        when: a scalar; programs where it is false print nothing.

    Errors: a prefix that is no constant text; a `when` that is a tile.

    Example:
        @st.jit
        def kernel(x):
            tl.device_print("x", tl.load(x + tl.arange(0, 3)))

        texts = []
        st.set_print(texts.append)
        kernel[(1,)](np.array([1, 2, 3], np.int32))
        st.set_print(None)
        print("".join(texts).splitlines()[-1])  # pid (0, 0, 0) x: i32[3] [1 2 3]
    """


@builtin
def device_assert(cond: Value, msg: str = "", mask: Value | None = None) -> None:
    """Stops the launch with an error where `cond` is false; active with ``debug=True`` only.

    So is ``assert cond, "text"`` in a kernel, which is the same: **without** ``debug=True`` (a launch option, or
    ``SECTILE_DEBUG=1``) a false one passes in silence. `mask` leaves elements out of the check.

    A GPU's launches are waited for then, and cannot be captured into a graph. With ``fatal_asserts=True`` as well they
    are as usual; an assertion that fails prints its text and ends the process's use of the GPU, as in Triton.

    Dtypes: int1, or numbers, which are compared with 0.

    Errors: a message that is no constant text; at run time, a `DeviceAssertionError`, with the place and the program.

    Example:
        @st.jit
        def kernel(x):
            v = tl.load(x + tl.arange(0, 3))
            tl.device_assert(v > 0, "numbers must be positive")

        try:
            kernel[(1,)](np.array([1, 2, -3], np.int32), debug=True)
        except st.DeviceAssertionError as error:
            print("numbers must be positive" in str(error))  # True
    """


@builtin
def inline_asm_elementwise(
    asm: str,
    constraints: str,
    args: Sequence[Value],
    dtype: Dtype | Sequence[Dtype],
    is_pure: bool,
    pack: int,
) -> Any:
    """Runs assembly of the target, PTX on NVIDIA GPUs, on `pack` elements at a time.

    Elements below 32 bits lie side by side in registers of 32 bits; which elements meet is not specified.

    Args:
        asm: the text; ``$0``, ``$1`` ... are the registers of the results, then those of the arguments.
        constraints: as in `LLVM <https://llvm.org/docs/LangRef.html#inline-asm-constraint-string>`_, ``"=r,r"``.
        args: tiles and scalars, which are broadcast.
        dtype: the dtype of the result, or a tuple of dtypes: then the result is a tuple of tiles.
        is_pure: it has no effects; it may be run more or fewer times than written.
        pack: a power of two.

    Shapes: the common one of `args`.

    Dtypes: those given.

    Where: NVIDIA GPUs; the example compiles for one.

    Raises:
        CompilationError: on the CPU.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 128)
            v = tl.inline_asm_elementwise("popc.b32 $0, $1;", "=r,r", [tl.load(x + i)], tl.int32, True, 1)
            tl.store(out + i, v)

        compiled = st.compile(kernel, {"out": "*i32", "x": "*i32"}, {}, target="cuda:90")
        print("popc.b32" in compiled.asm["ptx"])  # True
    """
