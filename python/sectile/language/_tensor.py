"""``tl.tensor``: what the values inside a kernel are. For annotations and documentation."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from ._dtypes import block_type
    from ._dtypes import dtype as Dtype


class tensor:
    """A tile: a fixed-shape, n-dimensional block of elements that one program works on.

    Tiles exist only while a kernel runs, so this class cannot be instantiated. In a kernel they have
    Python's arithmetic, comparison, bit and shift operators, ``x[:, None]`` and ``x[None, :]``, and
    every operation that takes a tile first can be written as a method: ``x.sum(0)``,
    ``x.to(tl.float16)``, ``x.reshape(4, 8)``, ``x.exp()``.
    """

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

    def __init__(self, *args, **kwargs) -> None:
        raise TypeError(
            "tl.tensor cannot be made outside a kernel\n"
            "  help: tiles come from tl.load, tl.zeros, tl.arange and arithmetic on them"
        )

    def to(
        self, dtype: Dtype, fp_downcast_rounding: str | None = None, bitcast: bool = False
    ) -> tensor:
        """As `tl.cast`."""
        raise NotImplementedError

    def logical_and(self, other) -> tensor:
        """Both true, element by element."""
        raise NotImplementedError

    def logical_or(self, other) -> tensor:
        """At least one true, element by element."""
        raise NotImplementedError

    def item(self) -> tensor:
        """The one element of a tile, as a scalar."""
        raise NotImplementedError
