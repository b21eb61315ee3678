"""``tl.tensor``: what the values inside a kernel are. For annotations and documentation."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from . import _creation, _math, _memory, _reduction, _shape
    from ._dtypes import block_type
    from ._dtypes import dtype as Dtype

    #: What most operations take: a tile, a scalar or a Python number. (A `constexpr` is anything to checkers.)
    Value: TypeAlias = "tensor | float"


class tensor:
    """A tile: a fixed-shape, n-dimensional block of elements that one program works on.

    Tiles exist only while a kernel runs, so this class cannot be instantiated. In a kernel they have
    Python's arithmetic, comparison, bit and shift operators, new dimensions as in ``x[:, None]``, parts by
    constants as in ``x[0]`` and ``x[:, 3:7]``, and
    every operation that takes a tile first can be written as a method: ``x.sum(0)``,
    ``x.to(tl.float16)``, ``x.reshape(4, 8)``, ``x.exp()``.

    ``//`` and ``%`` of tiles truncate towards zero, as in C and in Triton: ``-4 // 3`` is -1 and ``-4 % 3`` is
    -1, where Python and NumPy give -2 and 2. Constants among themselves follow Python.

    Example:
        @st.jit
        def squares(v: tl.tensor):
            tl.static_assert(v.shape[1] == 3)
            return v * v

        @st.jit
        def kernel(out):
            v = squares(tl.arange(0, 6).reshape(2, 3))
            tl.store(out + tl.arange(0, 2), v.sum(axis=1))  # methods are operations, too

        out = np.zeros(2, np.int32)
        kernel[(1,)](out)
        print(out)  # [ 5 50]
    """

    __sectile_class__ = "tensor"

    #: Extents, a tuple of constants; empty for a scalar.
    shape: tuple[int, ...]
    #: Element type.
    dtype: Dtype
    #: Shape and element type together.
    type: block_type
    #: Number of elements.
    numel: int
    #: The tile with its last two dimensions swapped.
    T: tensor

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError(
            "tl.tensor cannot be made outside a kernel\n"
            "  help: tiles come from tl.load, tl.zeros, tl.arange and arithmetic on them"
        )

    def to(
        self, dtype: Dtype, fp_downcast_rounding: str | None = None, bitcast: bool = False
    ) -> tensor:
        """As `tl.cast`."""
        raise NotImplementedError

    def logical_and(self, other: Value) -> tensor:
        """Both true, element by element."""
        raise NotImplementedError

    def logical_or(self, other: Value) -> tensor:
        """At least one true, element by element."""
        raise NotImplementedError

    def item(self) -> tensor:
        """The one element of a tile, as a scalar."""
        raise NotImplementedError

    # What follows is for type checkers only: kernels are compiled, not run.
    if TYPE_CHECKING:

        def _arithmetic(self, other: Value) -> tensor: ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _arithmetic
        __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _arithmetic
        __mod__ = __rmod__ = _arithmetic
        __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _arithmetic
        __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _arithmetic

        # Any and not a tile: only so may `min(x, y)`, which wants a truth value, be written for scalars.
        def _comparison(self, other: Value) -> Any: ...

        __lt__ = __le__ = __gt__ = __ge__ = _comparison

        def __eq__(self, other: object) -> Any: ...
        def __ne__(self, other: object) -> Any: ...

        def _sign(self) -> tensor: ...

        __neg__ = __pos__ = __invert__ = __abs__ = _sign

        def __index__(self) -> int:
            """A scalar may be a bound of ``range``."""
            ...

        def __getitem__(self, index: int | slice | None | tuple[int | slice | None, ...]) -> tensor:
            """``x[:, None]``: None puts in an extent of 1; tiles have no other subscripts."""
            ...

        # Operations that are methods, too: `kMethod` in lang/*Ops.cpp.
        abs = _math.abs
        associative_scan = _reduction.associative_scan
        argmax = _reduction.argmax
        argmin = _reduction.argmin
        atomic_add = _memory.atomic_add
        atomic_and = _memory.atomic_and
        atomic_cas = _memory.atomic_cas
        atomic_max = _memory.atomic_max
        atomic_min = _memory.atomic_min
        atomic_or = _memory.atomic_or
        atomic_xchg = _memory.atomic_xchg
        atomic_xor = _memory.atomic_xor
        broadcast_to = _shape.broadcast_to
        cast = _creation.cast
        cdiv = _math.cdiv
        ceil = _math.ceil
        cos = _math.cos
        cumprod = _reduction.cumprod
        cumsum = _reduction.cumsum
        erf = _math.erf
        exp = _math.exp
        exp2 = _math.exp2
        expand_dims = _shape.expand_dims
        flip = _shape.flip
        floor = _math.floor
        gather = _shape.gather
        histogram = _reduction.histogram
        log = _math.log
        log2 = _math.log2
        max = _reduction.max
        min = _reduction.min
        permute = _shape.permute
        ravel = _shape.ravel
        reduce = _reduction.reduce
        reduce_or = _reduction.reduce_or
        reshape = _shape.reshape
        rsqrt = _math.rsqrt
        sigmoid = _math.sigmoid
        sin = _math.sin
        softmax = _math.softmax
        sort = _reduction.sort
        split = _shape.split
        sqrt = _math.sqrt
        sqrt_rn = _math.sqrt_rn
        squeeze = _shape.squeeze
        store = _memory.store
        sum = _reduction.sum
        tanh = _math.tanh
        trans = _shape.trans
        unsqueeze = _shape.unsqueeze
        view = _shape.view
        xor_sum = _reduction.xor_sum
