from collections.abc import Callable, Sequence
from types import FunctionType, SimpleNamespace
from typing import Any, Generic, Literal, SupportsIndex, TypeAlias, final, overload, type_check_only

from typing_extensions import ParamSpec, TypeVar

from .compiler import ASTSource
from .runtime.compiled import Metadata
from .runtime.jit import JITFunction

P = ParamSpec("P", default=...)
Result = TypeVar("Result", default=Any, covariant=True)

# How many programs there are along one to three axes, or a function of the launch's arguments by name.
Extents: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
Grid: TypeAlias = Extents | Callable[[dict[str, Any]], Extents]

# A launch takes the kernel's arguments and, beside them, options by name. Python's types cannot add keywords
# to a ParamSpec. So the kernel's parameters alone are one way to launch it, in which a misspelt argument is
# found; each option is another, in which it is not.
@type_check_only
class Launch(Generic[P, Result]):
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result: ...
    @overload
    def __call__(self, *args: Any, num_warps: int, **kwargs: Any) -> Result: ...
    @overload
    def __call__(self, *args: Any, num_stages: int, **kwargs: Any) -> Result: ...
    @overload
    def __call__(self, *args: Any, num_ctas: int, **kwargs: Any) -> Result: ...
    @overload
    def __call__(self, *args: Any, maxnreg: int | None, **kwargs: Any) -> Result: ...
    @overload
    def __call__(self, *args: Any, stream: Any, **kwargs: Any) -> Result: ...
    @overload
    def __call__(self, *args: Any, target: str, **kwargs: Any) -> Result: ...
    @overload
    def __call__(self, *args: Any, arch: str | None, **kwargs: Any) -> Result: ...
    @overload
    def __call__(self, *args: Any, debug: bool | None, **kwargs: Any) -> Result: ...
    @overload
    def __call__(self, *args: Any, check: str | None, **kwargs: Any) -> Result: ...
    @overload
    def __call__(self, *args: Any, sanitize_overflow: bool | None, **kwargs: Any) -> Result: ...
    @overload
    def __call__(self, *args: Any, enable_fp_fusion: bool | None, **kwargs: Any) -> Result: ...
    @overload
    def __call__(
        self, *args: Any, launch_cooperative_grid: bool | None, **kwargs: Any
    ) -> Result: ...
    @overload
    def __call__(self, *args: Any, launch_pdl: bool | None, **kwargs: Any) -> Result: ...
    @overload
    def __call__(
        self,
        *args: Any,
        numerics: Literal["default", "strict", "reproducible"] | None,
        **kwargs: Any,
    ) -> Result: ...
    @overload
    def __call__(self, *args: Any, persistent: bool | None, **kwargs: Any) -> Result: ...
    @overload
    def __call__(self, *args: Any, extern_libs: Any, **kwargs: Any) -> Result: ...
    @overload
    def __call__(self, *args: Any, ir_override: str | None, **kwargs: Any) -> Result: ...
    @overload
    def __call__(self, *args: Any, waves_per_eu: int | None, **kwargs: Any) -> Result: ...
    @overload
    def __call__(self, *args: Any, matrix_instr_nonkdim: int | None, **kwargs: Any) -> Result: ...
    @overload
    def __call__(self, *args: Any, kpack: Any, **kwargs: Any) -> Result: ...
    @overload
    def __call__(self, *args: Any, schedule_hint: Any, **kwargs: Any) -> Result: ...

@final
class Launcher(Launch[P, CompiledKernel]):
    """kernel[grid]: call it to launch."""

    @property
    def kernel(self) -> JITFunction[P]: ...
    @property
    def grid(self) -> Grid: ...
    @property
    def bind(self) -> Launch[P, BoundKernel]:
        """bind(*arguments, **named): the launch with its arguments, to be run many times by calling what is
        returned."""

@final
class BoundKernel:
    """kernel[grid].bind(...): call it to launch."""

    grid: Grid
    @property
    def kernel(self) -> CompiledKernel:
        """The compiled kernel that is launched."""
    @property
    def arguments(self) -> dict[str, Any]:
        """Parameter -> argument."""
    def __call__(self, **arguments: Any) -> None: ...
    def update(self, **arguments: Any) -> None:
        """update(**arguments): other arguments from now on; may compile. Nothing changes when it
        fails."""

class KernelBase:
    def __getitem__(self, grid: Grid) -> Launcher: ...
    def _configure(
        self,
        fn: FunctionType,
        parameters: list[tuple[str, bool, bool, bool, str | None]],
        positional_count: int,
        options: dict[str, Any],
        pre_run_hooks: list[Callable[..., object]],
        /,
    ) -> None: ...
    def _prepare(
        self, grid: Grid | None, args: tuple[Any, ...], kwargs: dict[str, Any], is_warmup: bool, /
    ) -> CompiledKernel: ...
    def _variants(
        self,
    ) -> list[tuple[CompiledKernel, dict[str, Any], dict[str, Any], str, str, int]]: ...
    def _forget(self) -> None: ...

class CompiledKernel:
    """One compiled variant of a kernel: its code, and what is known of it."""

    def __getitem__(self, grid: Grid) -> Callable[..., None]:
        """compiled[grid](*arguments): launches it; constants may be passed again, or left out."""
    def _init_handles(self) -> None: ...
    def _owner(self) -> JITFunction | None:
        """The JITFunction that obtained it; None once that is gone."""
    def record_time(self, seconds: float) -> bool:
        """Keeps with the cache entry what one launch took. False when there is no entry of one's
        own to keep it with."""
    @property
    def name(self) -> str: ...
    @property
    def asm(self) -> dict[str, Any]:
        """The text of each stage that was kept: "tile", "llvm", "asm"; and "so", the loadable code
        (GPUs: "ptx", "cubin"). SECTILE_KEEP_STAGES=1 keeps all."""
    @property
    def metadata(self) -> Metadata:
        """num_warps, num_stages, ..., target, backend, shared."""
    @property
    def arguments(self) -> list[tuple[str, str, bool]]:
        """(name, dtype, is stored through) of what a launch passes."""
    @property
    def warnings(self) -> list[str]:
        """The warnings of the compile; empty from the cache."""
    @property
    def compile_times(self) -> list[tuple[str, float]]:
        """(step, seconds) of the compile; empty from the cache."""
    @property
    def provenance(self) -> dict[str, Any]:
        """How it was made, as its cache entry records: source_digest, variant, options, version,
        created_at (seconds since 1970), compile_seconds, measured_seconds (0: not measured)."""
    @property
    def remarks(self) -> list[dict[str, Any]]:
        """The compiler's remarks on how it compiled the kernel, as dictionaries; sectile.inspect()
        reads them."""
    @property
    def hash(self) -> str:
        """A text that differs between compiled kernels and is the same in every process."""
    @property
    def kernel(self) -> bytes:
        """The loadable code."""
    @property
    def src(self) -> ASTSource:
        """The `sectile.compiler.ASTSource` that it was made of."""
    @property
    def n_regs(self) -> int:
        """Registers of a GPU thread; 0 on the CPU."""
    @property
    def n_spills(self) -> int:
        """Local memory of a GPU thread, in registers; 0 on the CPU."""

class GpuTimer:
    def __init__(self, device: int, stream: int) -> None: ...
    def flush(self) -> None: ...
    def mark(self) -> None: ...
    def take(self) -> list[float]: ...

_cleanup: object
_print_handler_is_set: bool

def block_length(lines: list[str], start: int, /) -> int: ...
def build_id() -> str: ...
def clear_memory() -> None: ...
def commands() -> list[tuple[str, str, str]]: ...
def source_changed() -> None:
    """The text of some kernel has been replaced: the sources of all are looked at anew."""

def compiler_error() -> str: ...
def compiler_path() -> str: ...
def gpu_devices(backend: str = "") -> tuple[list[tuple[str, str]], str]: ...
def gpu_backend() -> str: ...
def device_of(address: int, /) -> int: ...
def device_properties(device: int, /) -> dict[str, Any]: ...
def digest(parts: Sequence[str | bytes], /) -> str: ...
def gpu_assembler() -> str: ...
def hardware_threads() -> int: ...
def host_fingerprint() -> str: ...
def knob_problems() -> list[str]: ...
def knob_table() -> list[tuple[str, str, str, str, str]]: ...
def knobs_markdown() -> str: ...
def launch_options() -> list[tuple[str, str, Any, int, int, str]]: ...
def launch_counts() -> dict[int, tuple[int, int]]: ...
def parse_kind(text: str, /) -> tuple[str, bool, bool]: ...
def recent_launches(device: int, /) -> list[str]: ...
def reconfigure() -> list[str]: ...
def run_command(words: list[str], /) -> int: ...
def seal() -> None: ...
def set_compile_listener(listener: Callable[[SimpleNamespace], object] | None, /) -> None: ...
def set_launch_hooks(
    enter: Callable[..., object] | None, exit: Callable[..., object] | None, /
) -> None: ...
def set_print(handler: Callable[[str], object] | None, /) -> None: ...
def set_variant_listener(listener: Callable[[Any, int, bool], object] | None, /) -> None: ...
def statistics() -> dict[str, Any]: ...
