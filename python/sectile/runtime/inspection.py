"""Looking inside compiled kernels: `inspect` and the reports it makes."""

from __future__ import annotations

import os
import re

from .. import _native
from .._notebook import cell_of
from .autotuner.limits import (
    Resources,
    limits_per_compute_unit,
    limits_per_unit,
    properties_of_architecture,
)
from .compiled import CompiledKernel
from .remarks import ACCESSES

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, overload

    from .jit import KernelInterface

_STAGES = {
    "cpu": ("tile", "tile-optimized", "llvm", "llvm-optimized", "asm"),
    "cuda": ("tile", "tile-optimized", "tile-gpu", "llvm", "llvm-optimized", "ptx"),
    "hip": ("tile", "tile-optimized", "tile-gpu", "llvm", "llvm-optimized", "amdgcn"),
}
_KEEP_STAGES = (
    "st.knobs.compilation.keep_stages = True (SECTILE_KEEP_STAGES=1) before it is compiled"
)


class Remark:
    """One remark of the compiler.

    Attributes:
        kind: ``"load"``, ``"store"``, ``"pipelined"``, ``"nest"`` ...; ``lang/README.md`` lists them.
        text: for people; may be empty.
        file, function, line, column: where in the source; line 0 is nowhere in particular.
        numbers: what programs may want, by name.
    """

    __slots__ = ("column", "file", "function", "kind", "line", "numbers", "text")

    kind: str
    text: str
    file: str
    function: str
    line: int
    column: int
    numbers: dict[str, int]

    def __init__(self, fields: dict[str, Any]) -> None:
        for name in self.__slots__:
            setattr(self, name, fields[name])

    @property
    def place(self) -> str:
        """``"kernel.py:12"``, in a notebook ``"Cell In[3]:12"``; "" when it is nowhere in particular."""
        if self.line <= 0:
            return ""
        return f"{cell_of(self.file) or os.path.basename(self.file)}:{self.line}"

    def _position(self) -> tuple:
        return self.file, self.line, self.column

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in sorted(self.__slots__)}

    def __repr__(self) -> str:
        return f"Remark({self.kind} {self.place}: {self.text} {self.numbers})"


class _Fields:
    """A record: its fields are its attributes."""

    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)

    def as_dict(self) -> dict[str, Any]:
        return {name: _plain(value) for name, value in vars(self).items()}

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({inside})"


def _plain(value: Any) -> Any:
    """As `json` takes it."""
    if hasattr(value, "as_dict"):
        return value.as_dict()
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


class Access(_Fields):
    """A load, store or atomic.

    Attributes:
        kind: ``"load"``, ``"store"``, ``"atomic"``.
        bytes: that one instruction of one thread moves (GPU; of a copy engine: a box), that one vector holds (CPU).
        element_bytes: of an element.
        argument: the parameter it goes through; None when that is not one.
        masked: it has a mask that is not gone.
        asynchronous: copied to shared memory, or from there, without a thread waiting.
        why: what keeps it from being wider than that; "" when nothing does, or nothing is known.
        place, file, line: in the source.
    """

    kind: str
    bytes: int
    element_bytes: int
    argument: str | None
    masked: bool
    asynchronous: bool
    why: str
    place: str
    file: str
    line: int


class AheadLoad(_Fields):
    """A load in a loop, and whether it starts before its iteration.

    Attributes:
        iterations_ahead: 0: it does not.
        stages: buffers in shared memory; 0: it waits in registers, or is not ahead.
        through: ``"shared memory"``, ``"registers"``, or None.
        text: how, or why not.
        place, file, line: in the source.
    """

    iterations_ahead: int
    stages: int
    through: str | None
    text: str
    place: str
    file: str
    line: int


class SharedUse(_Fields):
    """Bytes of shared memory; those that are not alive together may be the same ones.

    Attributes:
        bytes, offset: where they lie.
        what: ``"3 stages of 128x64xf16"``, ``"reduce of 64x128xf32"``.
        argument: the parameter that is copied there, or None.
        place, file, line: in the source.
    """

    bytes: int
    offset: int
    what: str
    argument: str | None
    place: str
    file: str
    line: int


class Occupancy(_Fields):
    """How many programs a multiprocessor holds at a time (of AMD's CDNA: a compute unit; of RDNA: two of them,
    which a program has together).

    Attributes:
        programs: so many.
        limited_by: what is used up first, of ``"registers"``, ``"shared memory"``, ``"threads"``
            and ``"programs"`` (of which a multiprocessor has no more than 16 to 32).
        limits: how many programs each of them would allow.
        warps, most_warps: at a time, and at most.
        source: where the limits of the device are from: its driver, or the table for its
            architecture in `sectile.runtime.autotuner.limits`.
    """

    programs: int
    limited_by: list[str]
    limits: dict[str, int]
    warps: int
    most_warps: int
    source: str


class VariantReport:
    """What is known of one compiled variant; printing it shows all.

    Attributes:
        name, target, backend: ``"softmax"``, ``"nvptx64:sm_90a"``, ``"cuda"``.
        signature: parameter -> kind, of what a launch passes.
        constants: parameter -> value, of the rest. (Text, for a compiled kernel by itself.)
        options: ``num_warps``, ``num_stages`` and other launch keywords.
        origin: ``"compiled"``, ``"disk"``, ``"memory"``, ``"same ir"``; None for a compiled kernel by itself.
        stages: name -> text of the stages that were kept.
        missing_stages: names of the others.
        n_regs: registers of a thread (32 bits each); None when nothing assembled it, or on the CPU.
        n_spills: bytes of local memory of a thread, which is where registers spill to; None likewise.
        shared: bytes of shared memory of a program.
        scratch_bytes: of a CPU thread.
        threads: of a program; 1 on the CPU, where programs run on all cores in turn.
        occupancy: an `Occupancy`; None on the CPU.
        accesses: a list of `Access`, in the order of the source.
        ahead: a list of `AheadLoad`.
        shared_uses: a list of `SharedUse`.
        remarks: all of the compiler's, as `Remark`.
    """

    def __init__(self, compiled: Any, variant: Any = None) -> None:
        metadata = compiled.metadata
        self.name: str = compiled.name
        self.target: str = metadata.target
        self.backend: str = metadata.backend
        self.origin: str | None = variant and variant.origin
        self._read_signature(compiled, variant)
        self.options: dict[str, Any] = {
            name: getattr(metadata, name)
            for name in ("num_warps", "num_stages", "num_ctas")
            if self.backend != "cpu" and hasattr(metadata, name)
        }
        self.options.update(variant.options if variant else _options_of(compiled))
        asm = compiled.asm
        self.stages: dict[str, str] = {
            name: asm[name] for name in _STAGES.get(self.backend, ()) if name in asm
        }
        self.stages.update((k, v) for k, v in asm.items() if isinstance(v, str))
        self.missing_stages = [s for s in _STAGES.get(self.backend, ()) if s not in asm]
        resources = Resources.of(compiled)
        self.n_regs: int | None = resources.registers or None
        self.n_spills: int | None = None if self.n_regs is None else resources.spilled_bytes
        self.shared: int = resources.shared_bytes
        self.threads: int = resources.threads
        self.scratch_bytes: int = metadata.scratch_bytes
        self.occupancy = _occupancy(resources, self.target)
        # Those of one line stay in the order of their emission, which is that in which the code runs.
        self.remarks = sorted(
            map(Remark, compiled.remarks), key=lambda each: (each.file, each.line)
        )
        self._read_remarks([name for name, _, _ in compiled.arguments])

    def _read_signature(self, compiled: Any, variant: Any) -> None:
        passed = [name for name, _, _ in compiled.arguments]
        if variant is not None:
            kinds = variant.signature
        else:
            # "x: *fp32:16, BLOCK = 64": texts of constants may hold anything.
            text = compiled.provenance["variant"]
            words = re.split(r"(?:^|, )(\w+)(?:: | = )", text)
            kinds = dict(zip(words[1::2], words[2::2]))
        self.signature = {name: kinds.get(name, kind) for name, kind, _ in compiled.arguments}
        self.constants = {name: kind for name, kind in kinds.items() if name not in passed}

    def _read_remarks(self, arguments: list[str]) -> None:
        self.accesses: list[Access] = []
        self.ahead: list[AheadLoad] = []
        self.shared_uses: list[SharedUse] = []
        copied: dict[tuple, str | None] = {}
        for remark in self.remarks:
            numbers = remark.numbers
            where = {"place": remark.place, "file": remark.file, "line": remark.line}
            if remark.kind in ACCESSES:
                number = numbers.get("argument", -1)
                name = arguments[number] if 0 <= number < len(arguments) else None
                copied.setdefault(remark._position(), name)
                self.accesses.append(
                    Access(
                        kind=ACCESSES[remark.kind],
                        bytes=numbers.get("bytes", 0),
                        element_bytes=numbers.get("element_bytes", 0),
                        argument=name,
                        masked=bool(numbers.get("is_masked")),
                        asynchronous=remark.kind != ACCESSES[remark.kind],
                        why=remark.text,
                        **where,
                    )
                )
            elif remark.kind in ("pipelined", "not-pipelined"):
                ahead = numbers.get("iterations_ahead", 0)
                through = "shared memory" if numbers.get("through_shared_memory") else "registers"
                self.ahead.append(
                    AheadLoad(
                        iterations_ahead=ahead,
                        stages=numbers.get("stages", 0),
                        through=through if ahead else None,
                        text=remark.text,
                        **where,
                    )
                )
        for remark in self.remarks:
            if remark.kind in ("shared-buffer", "shared-scratch"):
                self.shared_uses.append(
                    SharedUse(
                        bytes=remark.numbers.get("bytes", 0),
                        offset=remark.numbers.get("offset", 0),
                        what=remark.text,
                        argument=copied.get(remark._position())
                        if remark.kind == "shared-buffer"
                        else None,
                        place=remark.place,
                        file=remark.file,
                        line=remark.line,
                    )
                )

    def as_dict(self) -> dict[str, Any]:
        """All of it, as `json` takes it."""
        return {name: _plain(value) for name, value in vars(self).items()}

    def _facts(self) -> Iterator[tuple[str, str]]:
        """What is known of the whole variant, line by line: a title, "" where the line goes on, and a text."""

        def pairs(mapping: dict[str, Any], sign: str) -> str:
            return ", ".join(f"{name}{sign}{value}" for name, value in mapping.items()) or "none"

        yield "signature", pairs(self.signature, ": ")
        if self.constants:
            yield "constants", pairs(self.constants, "=")
        if self.options:
            yield "options", pairs(self.options, "=")
        kept = [f"{name} ({len(text.splitlines())} lines)" for name, text in self.stages.items()]
        yield "stages", ", ".join(kept) or "none"
        if self.missing_stages:
            yield "", f"not kept: {', '.join(self.missing_stages)}; for them set"
            yield "", _KEEP_STAGES
        if self.backend == "cpu":
            yield "programs", f"on all cores in turn, {self.scratch_bytes} bytes of scratch each"
        else:
            registers = (
                "registers not known: nothing assembled it (put ptxas on the PATH)"
                if self.n_regs is None and self.backend == "cuda"
                else f"{self.n_regs} registers, {self.n_spills} bytes spilled"
            )
            yield (
                "resources",
                f"{self.threads} threads, {registers}, {self.shared} bytes of shared memory",
            )
        if self.occupancy:
            o = self.occupancy
            unit = "multiprocessor" if self.backend == "cuda" else "compute unit"
            if self.backend == "hip" and o.most_warps == 64:  # RDNA
                unit = "pair of compute units"
            yield (
                "occupancy",
                f"{o.programs} program{'s' * (o.programs != 1)} on a {unit} "
                f"({o.warps} of {o.most_warps} warps), "
                f"limited by {' and '.join(o.limited_by)}",
            )
            yield "", f"room for {pairs(o.limits, ': ')} ({o.source})"

    def _tables(self) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
        """What is known of its parts: titles and rows, of which there may be none."""
        yield (
            "shared memory",
            [
                (f"{use.bytes} bytes", f"at {use.offset}", use.place, use.argument or "", use.what)
                for use in self.shared_uses
            ],
        )
        yield (
            "memory accesses",
            [
                (
                    access.kind,
                    f"{access.bytes} bytes",
                    access.place,
                    access.argument or "",
                    _joined("asynchronous" if access.asynchronous else "", access.why),
                )
                for access in self.accesses
            ],
        )
        yield (
            "loads of loops",
            [
                (load.place, "ahead" if load.iterations_ahead else "not ahead", load.text)
                for load in self.ahead
            ],
        )
        known = {*ACCESSES, "pipelined", "not-pipelined", "shared-buffer", "shared-scratch"}
        others = [remark for remark in self.remarks if remark.kind not in known]
        yield "code", [(r.place, r.kind, r.text) for r in others]

    def _lines(self) -> Iterator[str]:
        yield f"{self.name} for {self.target}"
        for title, text in self._facts():
            yield f"  {title:<10}  {text}"
        for title, rows in self._tables():
            yield from _table(title, rows)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        from . import html

        parts = [html.heading(f"{self.name} for {self.target}"), html.table(self._facts())]
        for title, rows in self._tables():
            if rows:
                parts += [html.heading(title), html.table(rows)]
        return "\n".join(parts)


class KernelReport:
    """The variants of a kernel, in the order in which they were obtained; printing it shows all.

    Attributes:
        name: of the kernel.
        variants: a list of `VariantReport`; also by ``report[0]``, ``len(report)`` and iteration.
        best: of a tuned kernel, how many of the variants, which come first, were compiled for the
            configuration of its latest launch; 0 of any other kernel. Printing shows only those, then.
    """

    def __init__(self, name: str, variants: list[VariantReport], best: int = 0) -> None:
        self.name = name
        self.variants = variants
        self.best = best

    def __len__(self) -> int:
        return len(self.variants)

    def __getitem__(self, index: int) -> VariantReport:
        return self.variants[index]

    def __iter__(self) -> Iterator[VariantReport]:
        return iter(self.variants)

    def as_dict(self) -> dict[str, Any]:
        """All of it, as `json` takes it."""
        return {"name": self.name, "variants": [variant.as_dict() for variant in self.variants]}

    def __str__(self) -> str:
        parts = [str(variant) for variant in self._shown()]
        return "\n\n".join([*parts, *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        from . import html

        parts = [variant._repr_html_() for variant in self._shown()]
        notes = [f"<div>{html.escape(note)}</div>" for note in self._notes()]
        return "\n<hr>\n".join([*parts, *notes])

    def _shown(self) -> list[VariantReport]:
        return self.variants[: self.best] or self.variants

    def _notes(self) -> Iterator[str]:
        """What is said about variants that are not shown."""
        if not self.variants:
            yield f"{self.name}: no variant is compiled yet; launch it, or use {self.name}.precompile()"
        if hidden := len(self.variants) - len(self._shown()):
            yield (
                f"{hidden} more variant{'s' * (hidden > 1)} of {self.name}, of other configurations: "
                f"for variant in st.inspect({self.name}): print(variant)"
            )


def _options_of(compiled: Any) -> dict[str, Any]:
    """Those that are not the usual ones, of a kernel by itself."""
    words = re.split(r"(?:^|, )(\w+)=", compiled.provenance["options"])
    return {
        name: int(text) if text.isdigit() else text
        for name, text in zip(words[1::2], words[2::2])
        if name not in ("backend", "arch", "ptx_version")
    }


def _joined(*texts: str) -> str:
    return ", ".join(text for text in texts if text)


def _table(title: str, rows: list[tuple[str, ...]]) -> Iterator[str]:
    if not rows:
        return
    yield f"  {title}"
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [text.ljust(width) for text, width in zip(row, widths) if width]
        yield "    " + "  ".join(cells).rstrip()


def _occupancy(resources: Resources, target: str) -> Occupancy | None:
    kind, _, architecture = target.rpartition(":")
    if kind == "amdgcn":
        found = limits_per_compute_unit(resources, architecture)
        if found is None:
            return None
        limits, waves, most = found
        return _occupancy_of(limits, waves, most, f"from the table for {architecture}")
    if kind != "nvptx64":
        return None
    properties, source = None, f"from the table for {architecture}"
    for index, (name, arch) in enumerate(_native.gpu_devices()[0]):
        if arch == architecture:
            properties, source = _native.device_properties(index), f"limits of {name}"
            break
    if properties is None:
        properties = properties_of_architecture(architecture)
    if properties is None:
        return None
    warp = properties["warpSize"]
    return _occupancy_of(
        limits_per_unit(resources, properties),
        -(-resources.threads // warp),
        properties["max_threads_per_sm"] // warp,
        source,
    )


def _occupancy_of(limits: dict[str, int], warps: int, most_warps: int, source: str) -> Occupancy:
    programs = min(limits.values())
    return Occupancy(
        programs=programs,
        limited_by=[name for name, room in limits.items() if room == programs],
        limits=limits,
        warps=programs * warps,
        most_warps=most_warps,
        source=source,
    )


if TYPE_CHECKING:

    @overload
    def inspect(kernel: KernelInterface) -> KernelReport: ...
    @overload
    def inspect(
        kernel: CompiledKernel | _native.BoundKernel | _native.Launcher,
    ) -> VariantReport: ...


def inspect(kernel: Any) -> KernelReport | VariantReport:
    """What the compiler made of a kernel, and why: print the result, or read its attributes.

        print(st.inspect(kernel))              # every variant that was compiled; of a tuned one the best
        st.inspect(kernel)[0].accesses[0].why  # "the mask may change at every element"
        st.inspect(kernel[grid](x, n))         # of one compiled kernel

    For each variant: its signature, constants, options and target; the text of the stages that were kept;
    registers, spilled bytes, shared memory (and what takes it), threads; occupancy and what limits it; the
    width of every access to memory and what keeps it from being wider; which loads start iterations ahead, and
    why others do not; on the CPU how loops were vectorized. Registers and spills are the assembler's figures;
    the limits behind the occupancy are those of the device the code was made for when there is one, else
    those of NVIDIA's tables for the architecture. Nothing is compiled or run.

    Args:
        kernel: a `@jit` function, a tuner around one, a compiled kernel (``kernel[grid](...)``,
            ``kernel.warmup(...)``, `sectile.compile`) or a bound one.

    Returns:
        A `KernelReport` of all variants; a `VariantReport` of a compiled kernel.

    Example:
        @st.jit
        def copy(out, x):
            i = tl.arange(0, 64)
            tl.store(out + i, tl.load(x + 2 * i))

        compiled = st.compile(copy, {"out": "*fp32:16", "x": "*fp32:16"}, {}, target="cuda:90")
        load, store = st.inspect(compiled).accesses
        print(load.argument, load.bytes, load.why)  # x 4 elements are 2 apart
        print(store.argument, store.bytes)  # out 4
    """
    if isinstance(kernel, (_native.BoundKernel, _native.Launcher)):
        kernel = kernel.kernel
    if isinstance(kernel, CompiledKernel):
        return VariantReport(kernel)
    function = kernel
    while not hasattr(function, "_variants") and hasattr(function, "fn"):
        function = function.fn  # a tuner
    if not hasattr(function, "_variants"):
        from ..errors import with_article

        raise TypeError(
            "inspect: expected a @jit function or a compiled kernel, got "
            + with_article(type(kernel).__name__)
        )
    best = getattr(kernel, "best_config", None)
    chosen: list[VariantReport] = []
    others: list[VariantReport] = []
    for variant in function.variants():
        report = VariantReport(variant.compiled, variant)
        (chosen if best is not None and _is_of(report, variant, best) else others).append(report)
    return KernelReport(function.__name__, chosen + others, len(chosen))


def _is_of(report: VariantReport, variant: Any, config: Any) -> bool:
    """Whether launches with a configuration use this variant, which is none of those that tuning tries only."""
    if "debug" in variant.options or "check" in variant.options:
        return False
    metadata = variant.compiled.metadata
    return all(
        report.constants.get(name, getattr(metadata, name, value)) == value
        for name, value in config.all_kwargs().items()
    )
