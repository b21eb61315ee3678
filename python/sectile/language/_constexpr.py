"""``tl.constexpr``: a value that is part of the compiled code."""

from __future__ import annotations

import operator
from collections import namedtuple

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import Any

MYPY = False  # mypy takes this name for true, and goes by the first of several definitions
if MYPY:
    constexpr: Any
    const: Any


def _fits_everything(annotation: type) -> Any:
    """Makes pyright, as ``Any`` above makes mypy, accept that a parameter with this annotation takes whatever a
    launch passes for it: ``BLOCK=64``, a dtype, a function, None."""
    return annotation


def _plain(value):
    while getattr(value, "__sectile_constexpr__", False) and not isinstance(value, type):
        value = value.value
    return value


@_fits_everything
class constexpr:  # type: ignore[no-redef]
    """A compile-time constant.

    As the annotation of a kernel parameter (``BLOCK: tl.constexpr``) it asks for one compiled variant
    per value. Around a value (``N = tl.constexpr(4)``) it makes a global that kernels may read.
    Arithmetic and comparison among constants, and with plain numbers, give constants again.

        >>> (tl.constexpr(4) * 2).value
        8

    Example:
        SCALE = tl.constexpr(3)  # a number among the globals that a kernel may read

        @st.jit
        def kernel(out, N: tl.constexpr):
            tl.store(out + tl.arange(0, N), tl.arange(0, N) * SCALE)

        out = np.zeros(4, np.int32)
        kernel[(1,)](out, N=4)
        print(out)  # [0 3 6 9]
    """

    __sectile_constexpr__ = True
    __slots__ = ("value",)

    def __init__(self, value) -> None:
        self.value = _plain(value)

    def __repr__(self) -> str:
        return f"constexpr[{self.value!r}]"

    def __hash__(self) -> int:
        return hash((constexpr, self.value))

    def __index__(self) -> int:
        return operator.index(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self):
        return (constexpr(item) for item in self.value)

    def __getitem__(self, key):
        return constexpr(self.value[_plain(key)])

    def __call__(self, *args, **kwargs):
        return self.value(*args, **kwargs)

    def __getstate__(self):
        return self.value

    def __setstate__(self, value) -> None:
        self.value = value

    def logical_and(self, other) -> constexpr:
        return constexpr(self.value and _plain(other))

    def logical_or(self, other) -> constexpr:
        return constexpr(self.value or _plain(other))

    def __pos__(self) -> constexpr:
        return constexpr(+self.value)

    def __neg__(self) -> constexpr:
        return constexpr(-self.value)

    def __invert__(self) -> constexpr:
        return constexpr(~self.value)

    def __abs__(self) -> constexpr:
        return constexpr(abs(self.value))


def _define_operators() -> None:
    def forward(function):
        return lambda self, other: constexpr(function(self.value, _plain(other)))

    def reflected(function):
        return lambda self, other: constexpr(function(_plain(other), self.value))

    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift",
                 "and_", "or_", "xor"):  # fmt: skip
        function = getattr(operator, name)
        plain = name.rstrip("_")
        setattr(constexpr, f"__{plain}__", forward(function))
        setattr(constexpr, f"__r{plain}__", reflected(function))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(constexpr, f"__{name}__", forward(getattr(operator, name)))


class constexpr_type(namedtuple("constexpr_type", "value")):
    """The type of a compile-time constant, which holds the constant: ``N.type`` of an ``N: tl.constexpr``.

    >>> constexpr_type(4) == constexpr_type(tl.constexpr(4))
    True
    """

    __slots__ = ()

    def __new__(cls, value) -> constexpr_type:
        return super().__new__(cls, _plain(value))

    def __repr__(self) -> str:
        return f"constexpr_type[{self.value!r}]"


_hash = constexpr.__hash__
_define_operators()
constexpr.__hash__ = _hash  # type: ignore[method-assign]


@_fits_everything
class const:  # type: ignore[no-redef]
    """Annotation of a pointer parameter that the kernel only reads: ``x_ptr: tl.const``.

    Example:
        @st.jit
        def kernel(out, x: tl.const):
            tl.store(out, tl.load(x) + 1)  # storing through x would be an error

        out = np.zeros(1, np.int32)
        kernel[(1,)](out, np.array([41], np.int32))
        print(out)  # [42]
    """

    __sectile_const__ = True
