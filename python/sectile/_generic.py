"""`Generic` for classes with type parameters, without the milliseconds that importing typing takes.

    if TYPE_CHECKING:
        T = TypeVar("T")
    else:
        T = None

    class Knob(Generic[T]): ...

While a program runs ``Generic[T]`` and ``Knob[int]`` are the classes themselves.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Generic as Generic
else:

    class Generic:
        def __class_getitem__(cls, parameters):
            return cls
