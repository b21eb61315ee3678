"""Classes whose instances are values of kernels: ``@aggregate``."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T", bound=type)


class _AggregateClass(type):
    def __setattr__(cls, name: str, value: Any) -> None:
        if name == "__init__":
            name, value = "__sectile_aggregate__", _as_jit(value)
        super().__setattr__(name, value)


def _as_jit(function: Any) -> Any:
    from ..runtime.jit import jit

    return function if getattr(function, "__sectile_jit__", False) else jit(function)


def _is_constexpr(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return annotation.rpartition(".")[2] == "constexpr"
    return hasattr(annotation, "__sectile_constexpr__")


def aggregate(cls: T) -> T:
    """Makes a class of the user a class of values in kernels: fields and methods, as several values in one.

    The annotations are the fields, each a scalar, a tile, a pointer, a tuple, another aggregate, or, where it is
    annotated `constexpr`, a constant that is part of the code. ``__init__`` runs in the kernel and gives every
    field; without one the fields are the arguments. Methods are decorated with `jit`. Loops, branches, calls
    and returns take instances like tuples. They never change: outside ``__init__`` fields are not assigned.

        >>> @st.language.aggregate
        ... class Sums:
        ...     total: tl.tensor
        ...     block: tl.constexpr
        ...     def __init__(self, total, block: tl.constexpr):
        ...         self.total = total
        ...         self.block = block
        ...     @st.jit
        ...     def add(self, x):
        ...         return Sums(self.total + tl.sum(x, 0), self.block)

    Raises:
        TypeError: the class has no annotated fields, inherits those of another aggregate, or has a constexpr field
            before others and no ``__init__`` to say in which order they are given.

    Example:
        @st.language.aggregate
        class Range:
            least: tl.tensor
            greatest: tl.tensor

            def __init__(self, x):
                self.least = tl.min(x, 0)
                self.greatest = tl.max(x, 0)

            @st.jit
            def width(self):
                return self.greatest - self.least

        @st.jit
        def kernel(out, x):
            tl.store(out, Range(tl.load(x + tl.arange(0, 4))).width())

        out = np.zeros(1, np.int32)
        kernel[(1,)](out, np.array([3, 9, -1, 4], np.int32))
        print(out)  # [10]
    """
    import inspect
    import operator

    if not isinstance(cls, type):
        raise TypeError(f"aggregate: a class expected, not {cls!r}")
    annotations = inspect.get_annotations(cls)
    if not annotations:
        raise TypeError(
            f"aggregate: {cls.__name__} has no fields\n"
            f"  help: annotate them in the class, as in `x: tl.tensor`"
        )
    for base in cls.__mro__[1:]:
        if isinstance(base, _AggregateClass) or issubclass(base, tuple):
            raise TypeError(
                f"aggregate: {cls.__name__} inherits from {base.__name__}, whose fields it would not have\n"
                f"  help: make it a field, or repeat its fields"
            )
    constants = [name for name, annotation in annotations.items() if _is_constexpr(annotation)]
    fields = [name for name in annotations if name not in constants] + constants
    init: Any = cls.__init__  # type: ignore[misc]
    if init is object.__init__:
        if fields != list(annotations):
            raise TypeError(
                f"aggregate: {cls.__name__} has no __init__, and constexpr fields before others\n"
                f"  help: write an __init__, or put the constexpr fields last"
            )
        init = None

    def make(cls: Any, items: Any) -> Any:
        return tuple.__new__(cls, items)

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        from ._builtin import KernelOnlyError

        if cls.__sectile_aggregate__ is not True:
            raise KernelOnlyError(
                f"{cls.__name__} has an __init__, which runs in kernels only\n"
                f"  help: pass the fields, and make it in the kernel"
            )
        given = dict(zip(cls._fields, args), **kwargs)
        if len(args) + len(kwargs) != len(given) or set(given) != set(cls._fields):
            raise TypeError(f"{cls.__name__}: its fields are {', '.join(cls._fields)}")
        return tuple.__new__(cls, [given[name] for name in cls._fields])

    def text(self: Any) -> str:
        items = ", ".join(f"{n}={v!r}" for n, v in zip(self._fields, self))
        return f"{type(self).__name__}({items})"

    left_out = ("__dict__", "__weakref__", "__init__", *fields)
    members = {name: member for name, member in vars(cls).items() if name not in left_out}
    members |= {
        name: property(operator.itemgetter(place), doc=f"Field {place}.")
        for place, name in enumerate(fields)
    }
    members |= {
        "__slots__": (), "__new__": new, "__repr__": text, "_make": classmethod(make),
        "_fields": tuple(fields), "_field_defaults": {},
        "__sectile_constants_from__": len(fields) - len(constants),
        "__sectile_aggregate__": True if init is None else _as_jit(init),
    }  # fmt: skip
    bases = tuple(base for base in cls.__bases__ if base is not object)
    return _AggregateClass(cls.__name__, (*bases, tuple), members)  # type: ignore[return-value]
