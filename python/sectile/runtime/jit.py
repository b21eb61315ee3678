"""`@sectile.jit`: a Python function as a kernel."""

from __future__ import annotations

from types import FunctionType

from .. import _native
from .._generic import Generic
from . import compiled  # noqa: F401 - the bindings ask for it: a launch should import nothing
from . import precompile as ahead
from .dependencies import describe, snapshot_of
from .device_caches import DeviceCaches, VariantCache, get_device_key, variant_key
from .mocks import MockScalar, MockTensor
from .parameters import KernelParam, parameters_of
from .reinterpretation import TensorWrapper, reinterpret
from .source import SourceUnavailable, remember, source_lines, source_text

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from ast import Module
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Future
    from inspect import Signature
    from typing import Any, Literal, TypeAlias, overload

    from typing_extensions import ParamSpec, TypeVar

    from .._native import BoundKernel, Grid, Launcher
    from .compiled import CompiledKernel
    from .precompile import Variant

    P = ParamSpec("P", default=...)  # the parameters of a kernel
    R = TypeVar("R", default=Any, covariant=True)  # what it returns where another kernel calls it
    Signatures: TypeAlias = Mapping[str, Any] | Variant | Sequence["Signatures"]
else:
    P = R = None

# Programs written for Triton import all of these from here.
__all__ = [
    "DeviceCaches", "get_device_key", "jit", "JITCallable", "JITFunction", "KernelInterface", "KernelParam",
    "MockScalar", "MockTensor", "reinterpret", "TensorWrapper", "variant_key", "VariantCache",
]  # fmt: skip

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
            return ahead.pool().submit(self.run, *args, grid=grid, warmup=True, **kwargs)
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

        Example:
            @st.jit
            def scale(x, factor):
                tl.store(x, tl.load(x) * factor)

            x, y = np.ones(1, np.float32), np.ones(1, np.float32)
            run = scale.bind(x, 3.0, grid=(1,))
            run()
            run()
            run(x=y)  # another array, from now on
            print(x, y)  # [9.] [3.]
        """
        raise NotImplementedError


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

    # What programs written for Triton read, or set to None before they pickle a kernel.
    kernel = None
    hash: str | None = None
    used_global_vals: dict[Any, Any] | None = {}
    _hash_lock: Any = None

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
            from ..errors import with_article

            raise TypeError(
                f"jit: expected a Python function, got {with_article(type(fn).__name__)}{hint}"
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
            self._params = parameters_of(
                fn, self.do_not_specialize, self.do_not_specialize_on_alignment
            )
        except TypeError as error:  # a helper may have *args; launching it is what fails
            self._parameter_error = error
        parameters = self._params
        self._configure(
            fn,
            [
                (p.name, p.is_constexpr, not p.do_not_specialize, not p.do_not_specialize_on_alignment,
                 p.annotation)
                for p in parameters
            ],
            sum(not p.is_keyword_only for p in parameters),
            {"debug": True} if debug else {},
            self.pre_run_hooks,
        )  # fmt: skip

    def __copy__(self) -> JITFunction[P, R]:
        """A kernel of the same function and options, which has compiled nothing yet."""
        copied = type(self)(
            self.fn, self.version, self.do_not_specialize, self.do_not_specialize_on_alignment, self.debug,
            self.noinline, self._repr, self.launch_metadata,
        )  # fmt: skip
        copied.pre_run_hooks.extend(self.pre_run_hooks)
        copied._source_override = self._source_override
        if "repr" in self.__dict__:  # an object's own
            copied.__dict__["repr"] = self.__dict__["repr"]
        return copied

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
        """The number of the first line of `raw_src`, counted from 1."""
        return self.fn.__code__.co_firstlineno

    def parse(self) -> Module:
        """`src` as an ``ast.Module`` of one function."""
        import ast

        return ast.parse(self.src)

    def repr(self, specialization: Any) -> str:
        """The name of a variant: what the decorator's `repr` returns for it, else the function's full name.

        Args:
            specialization: has ``constants`` and ``signature``; see `jit`.
        """
        return self._fn_name if self._repr is None else self._repr(specialization)

    @property
    def _names_variants(self) -> bool:
        """Whether the code of variants is called otherwise than the function; programs of Triton's may replace
        the method, too."""
        return self._repr is not None or callable(self.__dict__.get("repr"))

    @property
    def _fn_name(self) -> str:
        return f"{self.module}.{self.__qualname__}"

    def preload(self, specialization_data: str) -> CompiledKernel:
        """Compiles the variant that a text describes, or takes it from the cache on disk: `warmup`, for a program that
        wrote down which variants it launched and has them ready before the first launch the next time.

        Args:
            specialization_data: what `knobs.runtime.jit_cache_hook` received as
                ``compile["specialization_data"]``, in this process or in another: JSON, in Triton's form.

        Returns:
            The compiled kernel, for the device at hand.

        Raises:
            ValueError: the text is no such description, or a constant of the variant is an object that no text
                says.
            RuntimeError: the text describes another kernel.
        """
        from ..compiler.compiler import compile
        from .compile_hooks import described_variant

        source, options = described_variant(self, specialization_data)
        return compile(source, options=options)

    def get_capture_scope(self) -> dict[str, Any]:
        """The global and closure variables of the Python function, by name."""
        from inspect import getclosurevars

        return {**self.__wrapped__.__globals__, **getclosurevars(self.__wrapped__).nonlocals}

    def is_gluon(self) -> bool:
        """Whether it is written in Triton's Gluon: never."""
        return False

    def __reduce_ex__(self, protocol: Any) -> Any:
        from .hollow import reduce

        return reduce(self)

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

    #: What ``kernel[grid]`` compares `run` with: where a subclass or a program has another, it is called.
    _own_run = run
    _launch_by_run = KernelInterface.__getitem__

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "run":  # one of this kernel's own, unless it is put back
            usual: Any = self._own_run
            self._set_runs_otherwise(getattr(value, "__func__", None) is not usual.__func__)

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        if name == "run":
            self._set_runs_otherwise(False)

    def bind(self, *args: Any, grid: Grid, **kwargs: Any) -> BoundKernel:
        return self._launcher(grid).bind(*args, **kwargs)

    bind.__doc__ = KernelInterface.bind.__doc__

    def variants(self) -> list[Variant]:
        """The variants so far, in the order they were made, each with what sets it apart.

        What they were made for can be made elsewhere, or at the next start, before anything is launched:

            kernel.precompile([variant.signature for variant in kernel.variants()])

        Example:
            @st.jit
            def scale(x, n):
                tl.store(x, tl.load(x) * n)

            scale[(1,)](np.ones(1, np.float32), 3)
            for variant in scale.variants():
                print(variant.signature)  # {'x': '*fp32:16', 'n': 'i32'}
        """
        return ahead.variants(self)

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
            TypeError: `target` is given, which is `targets` here.

        Example:
            @st.jit
            def scale(x, n):
                tl.store(x, tl.load(x) * n)

            compiled = scale.precompile({"x": "*fp32:16", "n": ["i32", "i32:16"]}, targets=["cpu", "cuda:90"])
            print([each.metadata.backend for each in compiled])  # ['cpu', 'cpu', 'cuda', 'cuda']
        """
        return ahead.precompile(self, signatures, targets, wait, options)

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
    classes: each item is specialized as an argument. Functions, strings and dtypes are constants.

    Args:
        do_not_specialize: names or positions of integer parameters whose values make no variants.
        do_not_specialize_on_alignment: names or positions whose divisibility by 16 makes none.
        debug: ``tl.device_assert`` is active and integer overflow is checked.
        version, noinline: accepted and ignored. Calls to helpers are always inlined.
        repr: a function that names a variant: ``repr(specialization)`` is called once for each, before it is
            compiled or loaded, with ``specialization.constants`` (parameter -> value, of all parameters that
            are constants of the code: of `tl.constexpr`, integers that are 1, None) and
            ``specialization.signature`` (parameter -> ``"*fp32"``, ``"i32"``, ``"constexpr"``). What follows the
            last dot of the text that it returns is the name of the code, in profilers, ``compiled.name``,
            ``compiled.metadata.name``, ``compiled.asm`` and launch hooks. Without it that is the function's.
        launch_metadata: a function ``launch_metadata(grid, metadata, arguments)`` of which the dictionary that
            it returns is part of what launch hooks get.

    Example:
        @st.jit
        def add_one(x, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)

        x = np.zeros(100, np.int32)
        add_one[(st.cdiv(100, 64),)](x, 100, BLOCK=64)
        print(x.sum())  # 100

        @st.jit(repr=lambda s: f"fill_{s.constants['BLOCK']}_{s.signature['x'][1:]}")
        def fill(x, BLOCK: tl.constexpr):
            tl.store(x + tl.arange(0, BLOCK), 1)

        print(fill[(1,)](x, BLOCK=64).name)  # fill_64_i32

    Raises:
        TypeError: `fn` is no function, or a lambda.
        CompilationError: at a launch, when `repr` returned no name.
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
