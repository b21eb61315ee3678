"""``sectile aot FILE.py -o PREFIX``: compiles what a file exports, and writes the archive with its headers."""

from __future__ import annotations

import errno
import operator
import os
import re
import runpy
import sys
import time
import traceback

from .. import _native
from ..compiler.compiler import ASTSource
from ..errors import MachineError, SectileError
from . import exports as exported_kernels
from .exports import Export

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..runtime.compiled import CompiledKernel


class Target:
    """One of ``--target``.

    Attributes:
        name: as it was written.
        compile_for: what compiles: ``"cuda:80"``.
        wants_text: PTX is kept, which the driver of a later GPU assembles.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        base, plus, kind = name.partition("+")
        self.wants_text = bool(plus)
        backend, _, arch = base.partition(":")
        if (plus and (kind != "ptx" or backend != "cuda")) or backend not in ("cpu", "cuda", "hip"):
            raise ValueError(
                f"--target: unknown target {name!r}\n"
                "  help: cpu (this very processor), cpu:x86-64-v3, cuda:80, cuda:90+ptx (assembled by the driver, also "
                "of later GPUs), hip:gfx942"
            )
        if backend != "cpu" and not arch:
            raise ValueError(
                f"--target: {name!r} names no architecture\n"
                f"  help: {'cuda:80, with the compute capability' if backend == 'cuda' else 'hip:gfx942'}"
            )
        # What only that very architecture has ("sm_90a") would run on no later one.
        is_short = re.fullmatch(r"\d+[af]?", arch) and (self.wants_text or not arch.isdigit())
        self.compile_for = f"cuda:sm_{arch}" if backend == "cuda" and is_short else base


class Built:
    """An archive that was compiled.

    Attributes:
        archive: its bytes.
        entries: for each kernel (`Export`, compiled variants).
    """

    def __init__(self, archive: bytes, entries: list[tuple[Export, list[CompiledKernel]]]) -> None:
        self.archive = archive
        self.entries = entries


def _source_of(export: Export, kinds: dict[str, Any]) -> ASTSource:
    constexprs = {p.name for p in export.kernel.params if p.is_constexpr}
    constants = {name: kinds[name] for name in kinds if name in constexprs}
    signature = {name: kinds[name] for name in kinds if name not in constexprs}
    return ASTSource(export.kernel, signature, constants)


def _compile_for_any_memory(
    export: Export, kinds: dict[str, Any], options: dict[str, Any], target: Target
) -> list[CompiledKernel]:
    """The code for arrays that lie apart, and what launches with others need."""
    arguments = _source_of(export, kinds)._arguments()
    settings = {**options, "target": target.compile_for}
    made = export.kernel._prepare(None, (), {**arguments, **settings}, True, True)
    usual = made[0]
    is_assembled = usual.metadata.backend != "cuda" or usual.kernel.startswith(b"\x7fELF")
    if not is_assembled and not target.wants_text:
        raise MachineError(
            f"{usual.name}: {target.name} needs NVIDIA's ptxas, which is not here\n"
            f"  help: put it on the PATH, or name {target.name}+ptx, which the driver assembles when it is loaded"
        )
    return made


def build(
    kernels: Sequence[Export] | None = None,
    targets: Sequence[str] = ("cpu:x86-64-v3",),
    report: Callable[[str], object] | None = None,
) -> Built:
    """Compiles what has been exported, for all targets, in parallel. Needs none of their devices.

    Args:
        kernels: `Export` objects; all of this process when None.
        targets: as ``sectile aot --target`` takes them.
        report: called with a line for each variant that has been compiled.

    Returns:
        A `Built` with ``archive``, its bytes: equal input gives equal bytes.

    Raises:
        CompilationError: of the first kernel that does not compile, after all have ended.
        MachineError: a target needs NVIDIA's ptxas, which is not here.
        ValueError: there is nothing to compile; an unknown target; two kernels of one name.

    Example:
        @st.aot.export({"x": "*fp32:16", "factor": "fp32"}, grid=1)
        @st.jit
        def scale(x, factor):
            tl.store(x, tl.load(x) * factor)

        built = st.aot.build([st.aot.Export.of(scale)], ["cpu:x86-64-v2", "cpu:x86-64-v3"])
        print(len(built.archive) > 0)  # True
    """
    from ..runtime.precompile import pool

    chosen = list(exported_kernels._exported) if kernels is None else list(kernels)
    if not chosen:
        raise ValueError(
            "there is nothing to compile: no kernel has been exported\n"
            "  help: put @st.aot.export(...) above @st.jit"
        )
    wanted = [Target(name) for name in dict.fromkeys(targets)]
    _refuse_twins(chosen)
    jobs = []
    for export in chosen:
        _refuse_ambiguous(export)
        for kinds, options in export.combinations():
            for target in wanted:
                future = pool().submit(
                    _timed, report, _compile_for_any_memory, export, kinds, options, target
                )
                jobs.append((export, target, kinds, future))
    from concurrent.futures import wait

    wait([job[3] for job in jobs])
    variants: list[tuple[Any, bool]] = []
    compiled: dict[int, list[CompiledKernel]] = {id(export): [] for export in chosen}
    for export, target, _, future in jobs:
        for code in future.result():
            compiled[id(export)].append(code)
            variants.append((code._code, target.wants_text))
    entries = [(export, compiled[id(export)]) for export in chosen]
    archive = _native.write_archive([_description(export) for export in chosen], variants)
    return Built(archive, entries)


def _place_of(export: Export) -> str:
    code = export.kernel.fn.__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


def _refuse_twins(chosen: Sequence[Export]) -> None:
    known: dict[str, Export] = {}
    for export in chosen:
        name = export.kernel.__name__
        other = known.setdefault(name, export)
        if other is not export:
            raise ValueError(
                f"two exported kernels are called {name!r}, at {_place_of(other)} and {_place_of(export)}\n"
                "  help: a name in an archive is one kernel's"
            )


def _each_file_once(exports: Sequence[Export]) -> list[Export]:
    """Without the kernels of a file that was run before: it is named, and another that is named imports it."""
    first: dict[str, Any] = {}  # of a file the globals of its first run
    result = []
    for export in exports:
        function = export.kernel.fn
        path = os.path.realpath(function.__code__.co_filename)
        if first.setdefault(path, function.__globals__) is function.__globals__:
            result.append(export)
    return result


def _refuse_ambiguous(export: Export) -> None:
    """Variants of one kind that only options tell apart need a choice."""
    for name in sorted(export.options()):
        values = {repr(options.get(name)) for _, options in export.combinations()}
        if len(values) > 1 and name not in export.chosen_options:
            are_integers = all(
                isinstance(options[name], int) for _, options in export.combinations() if name in options
            )
            raise ValueError(
                f"{export.kernel.__name__}: {name} has several values, and launches cannot tell which they want\n  help: "
                + (
                    f"choose={{{name!r}: ...}} says it, by the other arguments"
                    if are_integers
                    else "export a kernel of another name for each"
                )
            )


_NOTHING = object()


def _plain_number(value: Any) -> Any:
    """A number as Python's own, from NumPy's; what no archive has as a default is `_NOTHING`."""
    if value is None or type(value) in (bool, int, float):
        return value
    try:
        return operator.index(value)
    except TypeError:
        pass
    is_float = hasattr(value, "__float__") and not hasattr(value, "__len__")
    return float(value) if is_float else _NOTHING


def fixed_constants(export: Export) -> dict[str, Any]:
    """Constant parameters that have one value in all variants: launches may leave them out."""
    result = {}
    combinations = [kinds for kinds, _ in export.combinations()]
    for parameter in export.kernel.params:
        if not parameter.is_constexpr or parameter.name in export.chosen:
            continue
        values = [kinds.get(parameter.name, parameter.default) for kinds in combinations]
        if all(repr(value) == repr(values[0]) for value in values):
            result[parameter.name] = values[0]
    return result


def _description(export: Export) -> tuple[Any, ...]:
    """As the bindings take it (Archives.cpp)."""
    fixed = fixed_constants(export)
    parameters = []
    for p in export.kernel.params:
        # The kernel's own default comes first: a launch that leaves it out means that.
        initial = p.default if p.has_default else fixed.get(p.name, _NOTHING)
        if not p.is_constexpr:
            initial = _plain_number(initial)
        has_initial = initial is not _NOTHING
        parameters.append(
            (p.name, p.is_constexpr, not p.do_not_specialize, not p.do_not_specialize_on_alignment, p.annotation,
             has_initial, initial if has_initial else None, export.chosen.get(p.name, []), p.is_keyword_only)
        )  # fmt: skip
    text = (export.kernel.__doc__ or "").strip()
    return (
        export.kernel.__name__, text, parameters, export.grid, list(export.chosen_options.items())
    )  # fmt: skip


def _timed(report: Callable[[str], object] | None, compile: Callable, *arguments: Any) -> Any:
    begun = time.perf_counter()
    made = compile(*arguments)
    if report:
        export, kinds, options, target = arguments
        report(_line(export, made, target, options, time.perf_counter() - begun))
    return made


def _line(
    export: Export, made: list[CompiledKernel], target: Target, options: dict[str, Any], seconds: float
) -> str:
    usual = made[0]
    constants = {p.name for p in export.kernel.params if p.is_constexpr}
    signature = ", ".join(
        f"{name} = {kind!r}" if name in constants or not isinstance(kind, str) else f"{name}: {kind}"
        for name, kind in usual._origin.signature.items()
    )
    parts = [f"{usual.name:16s} {target.name:14s} {signature}"]
    parts += [f"{name}={value}" for name, value in options.items()]
    if usual.metadata.backend != "cpu" and not target.wants_text:
        spilled = max(code.n_spills * 4 for code in made)
        parts.append(f"{usual.n_regs} registers, {spilled} bytes spilled")
    if len(made) > 1:
        parts.append(f"{len(made)} kinds of memory")
    parts.append(f"{1000 * seconds:.0f} ms")
    return "  ".join(parts)


def write(files: Mapping[str, bytes]) -> None:
    """Writes files as a whole, all or none: what has one before open goes on with that, and where one of them cannot be
    written those before stay. A link stays, and its target is written; a pipe or a device is written to.

    Raises:
        MachineError: naming the file.
    """
    path, aside = "", {}
    try:
        for path, content in files.items():
            target = os.path.realpath(path)
            if os.path.isdir(target):
                raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
            if os.path.exists(target) and not os.path.isfile(target):
                continue
            aside[path] = (f"{target}.{os.getpid()}.tmp", target)
            mode = 0o777 if path.endswith(".so") else 0o666  # less what the umask takes
            with open(os.open(aside[path][0], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
                file.write(content)
        for path, content in files.items():
            if path in aside:
                os.replace(*aside[path])
                continue
            with open(path, "wb") as file:
                file.write(content)
    except OSError as error:
        raise MachineError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        for left, _ in aside.values():
            if os.path.exists(left):
                os.unlink(left)


def _settings_of_the_environment(built: Built) -> list[str]:
    """What the environment has asked of code whose exports leave it open: ``["SECTILE_CHECK=bounds"]``."""
    found: dict[str, None] = {}
    for export, compiled in built.entries:
        for option, initial in (
            ("check", None),
            ("debug", False),
            ("numerics", "default"),
            ("default_dot_input_precision", "default"),
        ):
            name = f"SECTILE_{option.upper()}"
            is_changed = any(getattr(code.metadata, option) != initial for code in compiled)
            if is_changed and option not in export.options() and name in os.environ:
                found[f"{name}={os.environ[name]}"] = None
    return list(found)


class UsageError(Exception):
    """A wrong command line."""


def _parse(words: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = {"files": [], "prefix": None, "targets": [], "forms": [], "quiet": False, "depfile": None}
    rest = iter(words)

    def value(option: str) -> str:
        try:
            return next(rest)
        except StopIteration:
            raise UsageError(f"{option} needs a value") from None

    for word in rest:
        name, equals, given = word.partition("=")
        if name in ("-o", "--output"):
            result["prefix"] = given if equals else value(name)
        elif name == "--target":
            result["targets"] += (given if equals else value(name)).split(",")
        elif name == "--depfile":
            result["depfile"] = given if equals else value(name)
        elif word in ("--static", "--shared", "--archive"):
            result["forms"].append(word[2:])
        elif word in ("-q", "--quiet"):
            result["quiet"] = True
        elif word.startswith("-"):
            raise UsageError(f"unknown option {word!r}")
        else:
            result["files"].append(word)
    if not result["files"]:
        raise UsageError("which file has the kernels?")
    for file in result["files"]:
        if not os.path.isfile(file):
            raise UsageError(f"there is no file {file!r}")
    if result["prefix"] is None:
        raise UsageError("-o PREFIX is missing")
    return result


class FileError(Exception):
    """A file with kernels that does not run; its text is the traceback from there on."""


def load_file(path: str) -> None:
    """Runs a file for what it exports. Its folder comes first where it imports, as when it is run as a program.

    Raises:
        FileError: it does not run.
    """
    before = list(sys.path)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        # A name of no module, which the file has while it runs. Kernels are cached by it, and their code names the file.
        stem = os.path.splitext(os.path.basename(path))[0]
        runpy.run_path(path, run_name=f"_sectile_aot_{stem}")
    except SystemExit as error:
        raise FileError(f"{path} ended the process (exit status {error.code})") from None
    except SectileError:
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if os.path.abspath(frame.filename) == os.path.abspath(path)]
        start = frames.index(own[0]) if own else len(frames)
        lines = traceback.format_list(frames[start:]) + traceback.format_exception_only(error)
        raise FileError(f"{path} does not run\n" + "".join(lines).rstrip()) from None
    finally:
        sys.path[:] = before


def _dependencies(made: Sequence[str], given: Sequence[str], known_before: set[str]) -> str:
    """A depfile as of make: what was made depends on the files with the kernels, and on modules that came with them."""

    def quoted(path: str) -> str:
        return os.path.abspath(path).replace("\\", "\\\\").replace(" ", "\\ ").replace("#", "\\#").replace("$", "$$")

    import sysconfig

    # What is installed changes by installing, not by editing.
    installed = tuple(
        os.path.join(path, "")
        for name, path in sysconfig.get_paths().items()
        if name in ("stdlib", "platstdlib", "purelib", "platlib")
    )
    files = {
        file
        for name, module in list(sys.modules.items())
        if name not in known_before
        and (file := getattr(module, "__file__", None))
        and file.endswith(".py")
        and not file.startswith(installed)
        and name.partition(".")[0] != "sectile"
    }
    # Ninja looks for the first output of its rule here: the archive, not the headers.
    text = quoted(made[-1]) + ":"
    return text + "".join(f" \\\n  {quoted(file)}" for file in sorted({*given, *files})) + "\n"


def main(arguments: list[str]) -> int:
    """Implements ``sectile aot``."""
    from .. import __main__ as command
    from . import headers, libraries

    try:
        asked = _parse(arguments)
    except UsageError as error:
        print(f"sectile aot: {error}\n\n{command.usage('aot')}", file=sys.stderr)
        return 2

    def report(line: str) -> None:
        if not asked["quiet"]:
            sys.stdout.write(f"{line}\n")  # as a whole: several threads report
            sys.stdout.flush()

    begun = time.perf_counter()
    try:
        names = headers.Names(asked["prefix"])
        folder = os.path.dirname(asked["prefix"])
        if folder:
            os.makedirs(folder, exist_ok=True)
        del exported_kernels._exported[:]
        known_before = set(sys.modules)
        exported_kernels._replaces = False
        for file in asked["files"]:
            load_file(file)
        exported_kernels._exported[:] = _each_file_once(exported_kernels._exported)
        built = build(None, asked["targets"] or ["cpu:x86-64-v3"], report)
        if settings := _settings_of_the_environment(built):
            note = f"{', '.join(settings)} of the environment is part of the code"
            print(f"sectile aot: note: {note}", file=sys.stderr)
        prefix = asked["prefix"]
        files = {
            f"{prefix}.h": headers.c_header(built, names, asked["forms"]).encode(),
            f"{prefix}.hpp": headers.cpp_header(built, names, asked["forms"]).encode(),
        }
        forms = asked["forms"] or ["archive"]
        if "archive" in forms:
            files[f"{prefix}.sectile"] = built.archive
        if "static" in forms:
            files[f"{prefix}.a"] = libraries.make_static(names, built.archive)
        if "shared" in forms:
            for export, _ in built.entries:
                if len(export.kernel.params) > libraries.MOST_FFI_PARAMETERS:
                    note = f"{export.kernel.__name__} has more parameters than TVM's FFI passes"
                    print(f"sectile aot: note: {note}; it has no __tvm_ffi function", file=sys.stderr)
            path = os.path.join(folder, f"lib{names.file}.so")
            files[path] = libraries.make_shared(names, built, files[f"{prefix}.h"])
        made = list(files)
        if asked["depfile"]:
            if os.path.realpath(asked["depfile"]) in map(os.path.realpath, made):
                raise ValueError(f"--depfile {asked['depfile']} is one of the files that are made")
            files[asked["depfile"]] = _dependencies(made, asked["files"], known_before).encode()
        write(files)
    except (SectileError, FileError, TypeError, ValueError, OSError) as error:
        print(f"sectile aot: {error}", file=sys.stderr)
        return 1
    count = sum(len(codes) for _, codes in built.entries)
    report(
        f"{count} variants of {len(built.entries)} kernel{'s' * (len(built.entries) > 1)}, "
        f"{len(built.archive) / 1024:.0f} KiB, in {time.perf_counter() - begun:.1f} s: {', '.join(made)}"
    )
    return 0
