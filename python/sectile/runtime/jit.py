"""`@sectile.jit`: a Python function as a kernel."""

from __future__ import annotations

from types import FunctionType

from .. import _native
from .._generic import Generic
from . import compiled  # noqa: F401 - the bindings ask for it: a launch should import nothing
from .dependencies import describe, snapshot_of
from .source import SourceUnavailable, remember, source_lines, source_text

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from ast import Module
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Future
    from inspect import Signature
    from typing import Any, Literal, TypeAlias, overload

    from typing_extensions import ParamSpec, TypeVar

    from .._native import BoundKernel, CompiledKernel, Grid, Launcher
    from .precompile import Variant

    P = ParamSpec("P", default=...)  # the parameters of a kernel
    R = TypeVar("R", default=Any, covariant=True)  # what it returns where another kernel calls it
    Signatures: TypeAlias = Mapping[str, Any] | Variant | Sequence["Signatures"]
else:
    P = R = None

OF_TUNERS = (
    "best_config",
    "tuning_report",
    "configs_timings",
    "bench_time",
)  #: attributes of theirs


class KernelInterface(Generic[P, R]):
    """What is launched with ``kernel[grid](...)``: a `JITFunction`, or a tuner around one."""

    def __getitem__(self, grid: Grid) -> Callable[..., Any]:
        def launch(*args: Any, **kwargs: Any) -> Any:
            return self.run(*args, grid=grid, warmup=False, **kwargs)

        return launch

    def run(self, *args: Any, grid: Grid | None, warmup: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError

    def warmup(self, *args: Any, grid: Grid | None = None, wait: bool = True, **kwargs: Any) -> Any:
        """Compiles for these arguments without running; a dtype or `MockTensor` may stand for an array.

        Args:
            wait: False compiles on another thread, without the GIL, and returns a
                ``concurrent.futures.Future`` of the compiled kernel at once. A launch of that variant
                meanwhile waits for the same compile.
        """
        if not wait:
            from .precompile import pool

            return pool().submit(self.run, *args, grid=grid, warmup=True, **kwargs)
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def bind(self, *args: Any, grid: Grid, **kwargs: Any) -> BoundKernel:
        """A launch with its arguments, to be run many times: nothing is read or looked up then.

            run = kernel.bind(x, y, n, BLOCK=64, grid=(64,))     # compiles if need be; runs nothing
            run()                                                # one C call
            run(x=other)                                         # another x from now on
            run.update(n=5); run.grid = (5,)

        The arrays are kept alive. Their addresses are read when they are given, so an array that moves
        its memory has to be given again. The stream is asked for at each launch, as ever. What kernels
        refer to (globals, source) is as it was at the latest `bind` or `update`.

        Returns:
            A `BoundKernel` with ``update(**arguments)``, ``grid``, ``kernel`` and ``arguments``.
        """
        raise NotImplementedError


class KernelParam:
    """One parameter of a kernel, as the decorator understood it.

    Attributes:
        name, num: name and position.
        is_constexpr: annotated ``tl.constexpr``.
        annotation: ``"fp32"``, ``"*fp16"`` ... when a type was asked for, ``"const"``, else None.
        do_not_specialize, do_not_specialize_on_alignment: from the decorator.
        has_default, default: of the Python function; ``inspect.Parameter.empty`` where there is none.
    """

    name: str
    num: int
    is_constexpr: bool
    annotation: str | None
    do_not_specialize: bool
    do_not_specialize_on_alignment: bool
    has_default: bool
    is_keyword_only: bool
    _default: Any

    @property
    def default(self) -> Any:
        if self.has_default:
            return self._default
        from inspect import Parameter  # slow to import, and rarely asked for

        return Parameter.empty

    def __repr__(self) -> str:
        return f"KernelParam({self.num}, {self.name!r}{', constexpr' if self.is_constexpr else ''})"


def _annotation(annotation: Any) -> tuple[bool, str | None]:
    """(is it tl.constexpr?, the dtype it names)."""
    if isinstance(annotation, str):
        text = annotation.strip("'\" ")
        if text.rpartition(".")[2] == "constexpr":
            return True, None
        for prefix in ("tl.", "sectile.language.", "language."):
            text = text.removeprefix(prefix)
        if text == "const":
            return False, text
    elif isinstance(annotation, type):
        if getattr(annotation, "__sectile_const__", False):
            return False, "const"
        return bool(getattr(annotation, "__sectile_constexpr__", False)), None
    elif getattr(annotation, "__sectile_constexpr__", False):
        return True, None
    elif getattr(annotation, "__sectile_dtype__", False):
        text = annotation.name
    else:
        return False, None
    from ..language._dtypes import dtype

    element = text.removeprefix("*").removeprefix("k") if text.startswith("*") else text
    try:
        name = dtype(element).name
    except ValueError:
        return False, None  # tl.tensor, int ...: says nothing about the dtype
    return False, text[: len(text) - len(element)] + name


def _parameters(
    fn: FunctionType, unspecialized: list[int | str], unaligned: list[int | str]
) -> list[KernelParam]:
    code = fn.__code__
    if code.co_flags & 0x0C:  # *args or **kwargs
        raise TypeError(
            f"{fn.__name__}: a kernel that is launched cannot have *args or **kwargs\n"
            f"  help: name each parameter; helpers called from kernels may have *args"
        )
    positional = code.co_argcount
    names = code.co_varnames[: positional + code.co_kwonlyargcount]
    defaults = dict(
        zip(names[positional - len(fn.__defaults__ or ()) : positional], fn.__defaults__ or ())
    )
    defaults.update(fn.__kwdefaults__ or {})

    def listed(entries: list[int | str], index: int, name: str) -> bool:
        return index in entries or name in entries

    parameters = []
    for index, name in enumerate(names):
        parameter = KernelParam()
        parameter.name, parameter.num = name, index
        parameter.is_constexpr, parameter.annotation = _annotation(fn.__annotations__.get(name))
        parameter.do_not_specialize = listed(unspecialized, index, name)
        parameter.do_not_specialize_on_alignment = listed(unaligned, index, name)
        parameter.has_default, parameter._default = name in defaults, defaults.get(name)
        parameter.is_keyword_only = index >= positional
        parameters.append(parameter)
    return parameters


class JITFunction(_native.KernelBase, KernelInterface[P, R]):
    """A kernel, or a helper that kernels call. Made by `jit`.

    ``kernel[grid](*arguments, num_warps=4, ...)`` launches it and returns the compiled kernel. Two options help to find
    mistakes: ``debug=True`` makes ``assert`` and `tl.device_assert` active, and ``check`` is a text of what to check,
    separated by commas:

    - ``"bounds"``: the first access outside the argument arrays stops the launch and is named with its line;
    - ``"strides"``: an array argument that is a view (``x[::2]``, ``x.T``) is refused when no integer argument of the
      launch is one of its strides, for the kernel would then read other elements than those of the view.

    Attributes:
        fn: the Python function.
        params: list of `KernelParam`.
        arg_names: names of the parameters.
        src: the text from ``def`` on.
    """

    __sectile_jit__ = True

    def __init__(
        self,
        fn: Callable[P, R],
        version: Any = None,
        do_not_specialize: Iterable[int | str] | None = None,
        do_not_specialize_on_alignment: Iterable[int | str] | None = None,
        debug: bool | None = None,
        noinline: bool | None = None,
        repr: Callable[..., str] | None = None,
        launch_metadata: Callable[..., dict[str, Any]] | None = None,
    ) -> None:
        if isinstance(fn, JITFunction):
            fn = fn.fn  # a second kernel from the same text
        if not isinstance(fn, FunctionType):
            hint = (
                "\n  help: put @st.jit below the other decorators"
                if isinstance(fn, KernelInterface)
                else ""
            )
            article = "an" if type(fn).__name__[0] in "AEIOUaeiou" else "a"
            raise TypeError(
                f"jit: expected a Python function, got {article} {type(fn).__name__}{hint}"
            )
        if fn.__name__ == "<lambda>":
            raise TypeError(
                "jit: a kernel is made from a function that `def` defines, got a lambda\n"
                "  help: its source is the text from `def` on"
            )
        remember(fn)
        self.fn: FunctionType = fn
        self.version = version
        self.debug = debug
        self.noinline = noinline
        self.launch_metadata = launch_metadata
        self.do_not_specialize = list(do_not_specialize or ())
        self.do_not_specialize_on_alignment = list(do_not_specialize_on_alignment or ())
        self._repr = repr
        self._source_override: str | None = None
        self._names: set[str] | None = None  # in the code of the functions of the latest snapshot
        self.pre_run_hooks: list[Callable[..., object]] = []
        self.__name__ = fn.__name__
        self.__qualname__ = fn.__qualname__
        self.__doc__ = fn.__doc__
        self.__module__ = fn.__module__
        self.__wrapped__ = fn
        self.__globals__ = fn.__globals__
        self._params: list[KernelParam] = []
        self._parameter_error: TypeError | None = None
        try:
            self._params = _parameters(
                fn, self.do_not_specialize, self.do_not_specialize_on_alignment
            )
        except TypeError as error:  # a helper may have *args; launching it is what fails
            self._parameter_error = error
        parameters = self._params
        self._configure(
            fn.__name__,
            [
                (p.name, p.is_constexpr, not p.do_not_specialize, not p.do_not_specialize_on_alignment,
                 p.annotation, p.has_default, p._default)
                for p in parameters
            ],
            sum(not p.is_keyword_only for p in parameters),
            {"debug": True} if debug else {},
            self.pre_run_hooks,
        )  # fmt: skip

    if TYPE_CHECKING:

        def __getitem__(self, grid: Grid) -> Launcher[P]: ...

        @overload  # type: ignore[override] # the cases of the same signature
        def warmup(
            self, *args: Any, grid: Grid | None = None, wait: Literal[True] = True, **kwargs: Any
        ) -> CompiledKernel: ...
        @overload
        def warmup(
            self, *args: Any, grid: Grid | None = None, wait: Literal[False], **kwargs: Any
        ) -> Future[CompiledKernel]: ...
        @overload
        def warmup(
            self, *args: Any, grid: Grid | None = None, wait: bool, **kwargs: Any
        ) -> CompiledKernel | Future[CompiledKernel]: ...
        def warmup(self, *args: Any, **kwargs: Any) -> Any: ...

    @property
    def params(self) -> list[KernelParam]:
        if self._parameter_error is not None:
            raise self._parameter_error
        return self._params

    @property
    def arg_names(self) -> list[str]:
        return [parameter.name for parameter in self.params]

    @property
    def constexprs(self) -> list[int]:
        """Positions of the compile-time parameters."""
        return [parameter.num for parameter in self.params if parameter.is_constexpr]

    @property
    def src(self) -> str:
        if self._source_override is not None:
            return self._source_override
        return source_text(self.fn)

    @property
    def module(self) -> str:
        return self.__module__

    @property
    def signature(self) -> Signature:
        """``inspect.signature`` of the Python function."""
        from inspect import signature

        return signature(self.fn)

    @property
    def raw_src(self) -> list[str]:
        """The lines of the function as they stand in the file, decorators included."""
        return source_lines(self.fn)[0]

    @property
    def starting_line_number(self) -> int:
        """Of the first line of `raw_src`, counted from 1."""
        return self.fn.__code__.co_firstlineno

    def parse(self) -> Module:
        """`src` as an ``ast.Module`` of one function."""
        import ast

        return ast.parse(self.src)

    def repr(self, specialization: Any) -> str:
        """What profilers call a variant: the decorator's `repr` says, else the function's full name."""
        return self._repr(specialization) if self._repr else f"{self.module}.{self.__qualname__}"

    @property
    def device_caches(self) -> DeviceCaches:
        """The compiled variants by device, for tests that count them or forget them all."""
        return DeviceCaches(self)

    def _unsafe_update_src(self, text: str) -> None:
        """Replaces the source text; variants compiled so far are forgotten. The text that the function
        was defined with undoes it."""
        try:
            is_own = text == source_text(self.fn)
        except SourceUnavailable:
            is_own = False
        self._source_override = None if is_own else text
        self._forget()
        _native.source_changed()  # of kernels that call this one, too

    @property
    def cache_key(self) -> str:
        """A digest of the source and of what its names refer to."""
        return self._snapshot()[0]

    def _snapshot(self) -> tuple[str, list[tuple[Any, ...]], list[str]]:
        """What the digest of the source is now.

        Returns:
            ``(digest, watches, files)``; each watch is ``(kind, holder, name, expected)`` with kind
            ``"dict"``, ``"absent"``, ``"cell"``, ``"attribute"``, ``"items"`` or ``"function"``
            (`bindings/Watch.h`); the files are those of the functions, which the digest knows by their
            number only.
        """
        if self._parameter_error is not None:
            raise self._parameter_error
        state = snapshot_of(self.fn, self._source_override)
        self._names = state.names
        return state.digest(), list(state.watches.values()), list(state.files)

    def _describe_constants(self, constants: list[Any], files: list[str]) -> tuple[str, list[str]]:
        """What constant arguments are that are no plain numbers, for the cache key."""
        return describe(self.fn, constants, files, self._names)

    def add_pre_run_hook(self, hook: Callable[..., object]) -> None:
        """`hook(*args, **kwargs)` is called before each launch, but for those of bound kernels."""
        self.pre_run_hooks.append(hook)

    def run(
        self, *args: Any, grid: Grid | None, warmup: bool = False, **kwargs: Any
    ) -> CompiledKernel:
        """As ``self[grid](*args, **kwargs)``; with `warmup` it is compiled and not run."""
        return self._prepare(grid, args, kwargs, warmup)

    def bind(self, *args: Any, grid: Grid, **kwargs: Any) -> BoundKernel:
        return self[grid].bind(*args, **kwargs)

    bind.__doc__ = KernelInterface.bind.__doc__

    def variants(self) -> list[Variant]:
        """The variants so far, in the order they were made, each with what sets it apart.

        What they were made for can be made elsewhere, or at the next start, before anything is launched:

            kernel.precompile([variant.signature for variant in kernel.variants()])
        """
        from .precompile import variants

        return variants(self)

    if TYPE_CHECKING:

        @overload
        def precompile(
            self,
            *signatures: Signatures,
            targets: str | Sequence[str] | None = None,
            wait: Literal[True] = True,
            **options: Any,
        ) -> list[CompiledKernel]: ...
        @overload
        def precompile(
            self,
            *signatures: Signatures,
            targets: str | Sequence[str] | None = None,
            wait: Literal[False],
            **options: Any,
        ) -> list[Future[CompiledKernel]]: ...

    def precompile(
        self,
        *signatures: Signatures,
        targets: str | Sequence[str] | None = None,
        wait: bool = True,
        **options: Any,
    ) -> list[Any]:
        """Compiles variants ahead of their first launch, in parallel, for any target, with or without a GPU.

        Args:
            signatures: mappings of parameters to kinds as in `sectile.compile`, or `Variant` objects, or
                sequences of them. A list stands for alternatives, of which all combinations are compiled:
                ``{"x": ["*fp16:16", "*bf16:16"], "n": ["i32", "i32:16", 1], "BLOCK": [64, 128]}``.
            targets: ``"cpu"``, ``"cuda"``, ``"cuda:90"``; one or several. That of each `Variant`, else
                ``"cpu"``, when None.
            wait: False returns futures at once.
            options: as in a launch: ``num_warps=8``; lists are alternatives here, too.

        Returns:
            A list of compiled kernels, or of their futures: signatures first, then options, then targets vary
            slowest.

        Raises:
            CompilationError: of the first that failed, after all have ended.
        """
        from .precompile import precompile

        return precompile(self, signatures, targets, wait, options)

    def clear(self) -> None:
        """Forgets the compiled variants of this kernel; the next launch looks them up anew."""
        self._forget()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str):
            if name in OF_TUNERS:
                raise AttributeError(
                    f"{self.__name__} is not tuned and has no {name}: put @st.autotune(...) above @st.jit"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        raise RuntimeError(
            f"{self.__name__} is a kernel and cannot be called like a function\n"
            f"  help: launch it on a grid, {self.__name__}[grid](...), or call it from another kernel"
        )

    def __get__(self, instance: Any, owner: Any = None) -> JITFunction[P, R]:
        return self

    def __repr__(self) -> str:
        return f"JITFunction({self.__module__}:{self.__qualname__})"

    def __reduce__(self) -> str:
        # By name, as functions are pickled: the decorated function is what the module holds.
        return self.__qualname__


JITCallable = JITFunction  #: for ``isinstance`` of programs written for Triton


def get_device_key() -> str:
    """The key of the current device in `JITFunction.device_caches`: ``"cuda:0"``."""
    from .driver import active

    return f"{active.get_current_target().backend}:{active.get_current_device()}"


def variant_key(index: int, kernel: CompiledKernel) -> str:
    """Of a variant among those of its kernel."""
    return f"{index}: {kernel.hash}"


class DeviceCaches:
    """``kernel.device_caches[get_device_key()][0]`` is a dictionary of the variants compiled for the CPU
    or for GPUs; clearing it, or all, has the same effect as ``kernel.clear()``."""

    def __init__(self, kernel: JITFunction) -> None:
        self._kernel = kernel

    def clear(self) -> None:
        self._kernel.clear()

    def __getitem__(self, key: Any) -> tuple[VariantCache]:
        backend = str(key).partition(":")[0]
        return (VariantCache(self._kernel, "cpu" if backend == "cpu" else "cuda"),)

    def keys(self) -> list[str]:
        """Of devices there is something for."""
        names = {target.partition(":")[0] for *_, target, _, _ in self._kernel._variants()}
        return [get_device_key() if name == "cuda" else "cpu:0" for name in sorted(names)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def values(self) -> list[tuple[VariantCache]]:
        return [self[key] for key in self.keys()]

    def items(self) -> list[tuple[str, tuple[VariantCache]]]:
        return [(key, self[key]) for key in self.keys()]


class VariantCache(dict):  # type: ignore[type-arg] # dict[...] is made when it is run
    """Compiled kernels by hash, as they were when it was asked for."""

    def __init__(self, kernel: JITFunction, backend: str) -> None:
        super().__init__(
            (variant_key(index, each), each)
            for index, (each, _, _, target, _, _) in enumerate(kernel._variants())
            if target.partition(":")[0] == backend
        )
        self._kernel = kernel

    def clear(self) -> None:
        super().clear()
        self._kernel.clear()


if TYPE_CHECKING:

    @overload
    def jit(
        fn: None = None,
        *,
        version: Any = None,
        repr: Callable[..., str] | None = None,
        launch_metadata: Callable[..., dict[str, Any]] | None = None,
        do_not_specialize: Iterable[int | str] | None = None,
        do_not_specialize_on_alignment: Iterable[int | str] | None = None,
        debug: bool | None = None,
        noinline: bool | None = None,
    ) -> Callable[[Callable[P, R]], JITFunction[P, R]]: ...
    @overload
    def jit(
        fn: Callable[P, R],
        *,
        version: Any = None,
        repr: Callable[..., str] | None = None,
        launch_metadata: Callable[..., dict[str, Any]] | None = None,
        do_not_specialize: Iterable[int | str] | None = None,
        do_not_specialize_on_alignment: Iterable[int | str] | None = None,
        debug: bool | None = None,
        noinline: bool | None = None,
    ) -> JITFunction[P, R]: ...


def jit(
    fn: Callable[..., Any] | None = None,
    *,
    version: Any = None,
    repr: Callable[..., str] | None = None,
    launch_metadata: Callable[..., dict[str, Any]] | None = None,
    do_not_specialize: Iterable[int | str] | None = None,
    do_not_specialize_on_alignment: Iterable[int | str] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
) -> Any:
    """Makes a function a kernel. Use it plain or with options: ``@st.jit`` or ``@st.jit(debug=True)``.

    Compilation happens at the first launch with arguments of a new kind: another dtype, an integer that
    is or is not 1 or a multiple of 16, another value of a ``tl.constexpr`` parameter.

    Arguments are arrays, numbers, None, and tuples of these, which may be nested and of ``NamedTuple``
    classes: each item is specialised as an argument. Functions, strings and dtypes are constants.

    Args:
        do_not_specialize: names or positions of integer parameters whose values make no variants.
        do_not_specialize_on_alignment: names or positions whose divisibility by 16 makes none.
        debug: ``tl.device_assert`` is active and integer overflow is checked.
        version, noinline: accepted and ignored. Calls to helpers are always inlined.
        repr, launch_metadata: kept for profilers, as ``kernel._repr`` and ``kernel.launch_metadata``.
    """

    def decorate(function: Callable[..., Any]) -> JITFunction:
        return JITFunction(
            function,
            version=version,
            do_not_specialize=do_not_specialize,
            do_not_specialize_on_alignment=do_not_specialize_on_alignment,
            debug=debug,
            noinline=noinline,
            repr=repr,
            launch_metadata=launch_metadata,
        )

    return decorate if fn is None else decorate(fn)


class MockTensor:
    """Stands for an array of `dtype` in ``kernel.warmup(...)``; it has no memory.

    Args:
        dtype: a dtype of the language, of torch or of NumPy.
        shape: for grid functions that look at it; not used otherwise.
        aligned: whether the array's address would be a multiple of 16.
    """

    __sectile_mock__ = True

    def __init__(
        self, dtype: Any, shape: Sequence[int] | None = None, aligned: bool = True
    ) -> None:
        self.dtype = dtype
        self.shape = tuple(shape) if shape is not None else None
        self.is_aligned = aligned
        self.is_scalar = False

    def stride(self, axis: int | None = None) -> Any:
        """Of a contiguous array of `shape`."""
        strides, step = [], 1
        for length in reversed(self.shape or ()):
            strides.append(step)
            step *= length
        strides.reverse()
        return tuple(strides) if axis is None else strides[axis]

    @staticmethod
    def wrap_dtype(value: Any) -> Any:
        """`value`, wrapped if it is a dtype."""
        return MockTensor(value) if getattr(value, "__sectile_dtype__", False) else value


class MockScalar:
    """Stands for a number of `dtype` in ``kernel.warmup(...)``."""

    __sectile_mock__ = True

    def __init__(self, dtype: Any, aligned: bool = False) -> None:
        self.dtype = dtype
        self.is_aligned = aligned
        self.is_scalar = True


class TensorWrapper:
    """An array whose elements are read as another dtype. Made by `reinterpret`."""

    __sectile_reinterpret__ = True

    def __init__(self, base: Any, dtype: Any) -> None:
        self.base = base
        self.dtype = dtype

    @property
    def shape(self) -> Any:
        return self.base.shape

    def data_ptr(self) -> int:
        address: int = self.base.data_ptr()
        return address

    def stride(self, *args: Any) -> Any:
        return self.base.stride(*args)

    def element_size(self) -> int:
        size: int = self.base.element_size()
        return size

    def __repr__(self) -> str:
        return f"TensorWrapper[{self.dtype}]({self.base!r})"


def reinterpret(tensor: Any, dtype: Any) -> TensorWrapper:
    """The same memory with elements of `dtype`, for dtypes the array library does not have.

    Args:
        tensor: any array a kernel takes.
        dtype: a dtype of the language (``tl.uint16``, ``tl.float8e5`` ...) of equal width, or
            ``tl.int1`` for bytes.

    Returns:
        Something to pass to a kernel.
    """
    if isinstance(tensor, TensorWrapper):
        tensor = tensor.base
    return TensorWrapper(tensor, dtype)
