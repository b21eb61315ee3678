"""`CompiledKernel`: what is done with a compiled kernel in Python."""

from __future__ import annotations

from types import SimpleNamespace

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._native import Grid, KernelCode
    from ..compiler import ASTSource
    from .jit import JITFunction


class Metadata(SimpleNamespace):
    """What is known of a compiled kernel, as attributes; as of a named tuple there are `_fields` and
    `_asdict()`."""

    @property
    def _fields(self) -> tuple[str, ...]:
        return tuple(vars(self))

    def _asdict(self) -> dict[str, Any]:
        return dict(vars(self))


class _Origin:
    """What a compiled kernel was made of: its kernel, the kinds and constants of its parameters, its options. A
    pickle does not hold it."""

    def __init__(
        self, owner: Callable[[], Any], signature: Any = None, options: Any = None
    ) -> None:
        self.owner = owner
        self.signature = signature
        self.options = options

    def __reduce__(self) -> Any:
        return _Origin, (_nothing,)


def _nothing() -> None:
    return None


class CompiledKernel:
    """One compiled variant of a kernel: its code, and what is known of it.

    ``compiled[grid](...)`` launches it through the kernel that it was compiled from; `launch` and `run` launch
    this code alone, without that kernel. Attributes may be set, and others added. A pickle holds the code, so
    that another process of the same build, on the same kind of machine, launches it without the kernel's source.

    Attributes:
        name: of the code, in profilers and debuggers, too: the function's, or what `repr` of `jit` calls the variant.
        asm: the text of each stage that was kept, ``"tile"``, ``"llvm"``, ``"asm"``; and ``"so"``, the loadable
            code (GPUs: ``"ptx"``, ``"cubin"``, ``"hsaco"``). ``SECTILE_KEEP_STAGES=1`` keeps all.
        metadata: ``num_warps``, ``num_stages`` ..., ``target``, ``backend``, ``shared`` (bytes; on the CPU those of
            scratch memory, at least 1, since programs divide by it).
        hash: a text that differs between compiled kernels and is the same in every process.
        kernel: the loadable code, bytes.
        src: the `sectile.compiler.ASTSource` that it was made of.
        arguments: list of (name, dtype, is stored through) of what a launch passes.
        warnings: list of the compile's warnings; empty from the cache.
        compile_times: list of (step, seconds) of the compile; empty from the cache.
        provenance: how it was made, as its cache entry records: ``source_digest``, ``variant``, ``options``,
            ``version``, ``created_at`` (seconds since 1970), ``compile_seconds``, ``measured_seconds`` (0: not measured).
        remarks: list of the compiler's remarks, as dictionaries; `sectile.inspect` reads them.
        n_regs: registers of a GPU thread; 1 on the CPU, where programs that divide by it find no fewer.
        n_spills: local memory of a GPU thread, in registers; 0 on the CPU.
        run: the launch as Triton's takes it: ``run(x, y, z, stream, function, packed_metadata, launch_metadata,
            enter_hook, exit_hook, *arguments)``.
    """

    if TYPE_CHECKING:
        name: str
        asm: dict[str, Any]
        metadata: Metadata
        hash: str
        kernel: bytes
        src: ASTSource
        arguments: list[tuple[str, str, bool]]
        warnings: list[str]
        compile_times: list[tuple[str, float]]
        provenance: dict[str, Any]
        remarks: list[dict[str, Any]]
        n_regs: int
        n_spills: int
        run: Callable[..., None]

    def __init__(
        self, code: KernelCode, signature: dict[str, Any], options: dict[str, Any]
    ) -> None:
        self._code = code
        self._origin = _Origin(code.owner, signature, options)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str):
            compute = _ATTRIBUTES.get(name)
            if compute is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            value = compute(self)
            if name not in _READ_EACH_TIME:
                self.__dict__[name] = value
            return value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_ATTRIBUTES})

    def __getitem__(self, grid: Grid) -> Callable[..., None]:
        """``compiled[grid](*arguments)``: launches it; constants may be passed again, or left out."""
        return launcher(self, grid)

    def launch(self, grid: Grid, *arguments: Any, stream: int | None = None) -> None:
        """Launches this code, and no other, without the kernel that it was compiled from.

        Args:
            grid: an int or a tuple of up to three.
            arguments: one for each parameter, in order. Those of constants, and those of which the code has the
                value (1, None), may all be left out. Those of constants (``tl.constexpr``) are not looked at.
            stream: the driver's handle; None: the current one of the arrays' library.

        Raises:
            ArgumentError: an argument is not what the code was compiled for: another dtype or device, no
                multiple of 16 where the code takes one, not the 1 or None that it was compiled for, a descriptor of other
                blocks, arrays that share memory where it relies on their not doing so.
        """
        self._code.launch(grid, stream, *arguments)

    def launch_metadata(self, grid: Any, stream: int, *arguments: Any) -> Any:
        """What `run` gives to the hooks it is called with: a `LaunchMetadata`; None while there are no hooks."""
        from . import hooks

        if not (hooks.enter.calls or hooks.exit.calls):
            return None
        names = [name for name, *_ in self._code.parameters]
        return hooks.LaunchMetadata(self._owner(), self, grid, stream, dict(zip(names, arguments)))

    def record_time(self, seconds: float) -> bool:
        """Keeps with the cache entry what one launch took. False when there is no entry of one's own to keep it
        with."""
        return self._code.record_time(seconds)

    def _owner(self) -> JITFunction | None:
        """The JITFunction that obtained it; None once that is gone."""
        return self._origin.owner()

    def _note_ignored(self, options: dict[str, str]) -> None:
        """Adds to the remarks which options launches gave that change nothing, and why."""
        self.__dict__.setdefault("_ignored", {}).update(options)

    def _init_handles(self) -> None:
        """Makes `run` ready. Triton's programs call it before they read `n_regs`, or after they have restored
        the attributes of a pickled kernel, with ``run`` None."""
        if self.__dict__.get("run") is None:
            self.__dict__["run"] = self._code.runner

    def __getstate__(self) -> dict[str, Any]:
        # The other process reads these from the code again.
        return {name: value for name, value in self.__dict__.items() if name not in _ATTRIBUTES}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        return f"<CompiledKernel {self.name} for {self.metadata.target}>"


def _origin(compiled: CompiledKernel) -> tuple[JITFunction, dict[str, Any], dict[str, Any]]:
    """The kernel it was compiled from, its signature (parameter -> kind or constant), and its options."""
    kernel = compiled._owner()
    if kernel is not None:
        return kernel, dict(compiled._origin.signature), dict(compiled._origin.options)
    raise RuntimeError(
        f"{compiled.name}: the kernel that this was compiled from is gone\n"
        f"  help: keep the @jit function; or use compiled.launch(grid, *arguments), which does without"
    )


def source_of(compiled: CompiledKernel) -> ASTSource:
    """Implements `CompiledKernel.src`."""
    from ..compiler import ASTSource

    kernel, signature, _ = _origin(compiled)
    constexprs = constants_of(kernel, signature)
    kinds = {name: "constexpr" if name in constexprs else kind for name, kind in signature.items()}
    return ASTSource(kernel, kinds, constexprs=constexprs)


def _constants(kernel: JITFunction) -> list[str]:
    return [parameter.name for parameter in kernel.params if parameter.is_constexpr]


def constants_of(kernel: JITFunction, signature: dict[str, Any]) -> dict[str, Any]:
    """Those of a variant: constant parameters, and others of which the value was folded (1, None)."""
    constants = _constants(kernel)
    return {
        name: kind
        for name, kind in signature.items()
        if name in constants or not isinstance(kind, (str, tuple))
    }


def launcher(compiled: CompiledKernel, grid: Grid) -> Callable[..., None]:
    """Implements ``compiled[grid]``.

    Its constants hold whatever is passed for them. Arguments of other kinds than it was compiled for
    (another dtype, an address that is no multiple of 16) are launched with the variant that fits them.
    """
    kernel, signature, options = _origin(compiled)
    constants = {name: signature[name] for name in _constants(kernel)}
    every = kernel.arg_names
    passed = [name for name in every if name not in constants]

    def launch(*args: Any, **kwargs: Any) -> None:
        names = every if len(args) > len(passed) else passed
        if len(args) > len(names):
            raise TypeError(
                f"{compiled.name}: {len(args)} arguments are given, and there are {len(names)} "
                f"parameters: {', '.join(names)}"
            )
        given = {**dict(zip(names, args)), **kwargs}
        if given.get("stream", 0) is None:
            del given["stream"]
        kernel[grid](**{**options, **given, **constants})

    return launch


def _remarks(compiled: CompiledKernel) -> list[dict[str, Any]]:
    """Implements `CompiledKernel.remarks`: the compiler's, and one for each option that launches gave in vain."""
    nowhere = {"file": "", "function": "", "line": 0, "column": 0, "numbers": {}}
    ignored = compiled.__dict__.get("_ignored", {})
    return compiled._code.remarks + [
        {"kind": "option", "text": f"{name}: {why}", **nowhere} for name, why in ignored.items()
    ]


def _of_code(name: str) -> Callable[[CompiledKernel], Any]:
    return lambda compiled: getattr(compiled._code, name)


#: What is read of the code, or computed, when it is asked for.
_ATTRIBUTES: dict[str, Callable[[CompiledKernel], Any]] = {
    **{
        name: _of_code(name)
        for name in (
            "name", "asm", "metadata", "hash", "kernel", "arguments", "provenance", "warnings", "compile_times",
        )
    },
    "remarks": _remarks,
    "src": source_of,
    "n_regs": lambda compiled: compiled._code.registers or 1,
    "n_spills": lambda compiled: compiled._code.local_bytes // 4,
    "run": _of_code("runner"),
}  # fmt: skip
#: The kernel may be gone the next time; loading may fail for once; launches may add remarks.
_READ_EACH_TIME = ("src", "n_regs", "n_spills", "remarks")
