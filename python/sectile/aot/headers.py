"""The headers that ``sectile aot`` writes: one typed function for each kernel, in C and in C++."""

from __future__ import annotations

import hashlib
import math
import os
import re

from .. import _native
from ..runtime.descriptors import kind_of_text
from .building import fixed_constants
from .exports import is_function, plain

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .building import Built
    from .exports import Export

#: kind -> constant of sectile/c.h, C type of an element, C++ type of an element
_ELEMENTS = {
    "i1": ("SECTILE_BOOL", "void", "bool"),
    "i8": ("SECTILE_I8", "int8_t", "int8_t"),
    "i16": ("SECTILE_I16", "int16_t", "int16_t"),
    "i32": ("SECTILE_I32", "int32_t", "int32_t"),
    "i64": ("SECTILE_I64", "int64_t", "int64_t"),
    "u8": ("SECTILE_U8", "uint8_t", "uint8_t"),
    "u16": ("SECTILE_U16", "uint16_t", "uint16_t"),
    "u32": ("SECTILE_U32", "uint32_t", "uint32_t"),
    "u64": ("SECTILE_U64", "uint64_t", "uint64_t"),
    "fp8e4nv": ("SECTILE_F8E4M3", "void", "sectile::aot::F8e4m3"),
    "fp8e4b8": ("SECTILE_F8E4M3FNUZ", "void", "sectile::aot::F8e4m3fnuz"),
    "fp8e5": ("SECTILE_F8E5M2", "void", "sectile::aot::F8e5m2"),
    "fp8e5b16": ("SECTILE_F8E5M2FNUZ", "void", "sectile::aot::F8e5m2fnuz"),
    "fp8e4b15": ("SECTILE_F8E4B15", "void", "sectile::aot::F8e4b15"),
    "fp16": ("SECTILE_F16", "void", "sectile::aot::F16"),
    "bf16": ("SECTILE_BF16", "void", "sectile::aot::Bf16"),
    "fp32": ("SECTILE_F32", "float", "float"),
    "fp64": ("SECTILE_F64", "double", "double"),
}

#: Words of C and C++, and macros that compilers and their headers define.
_WORDS = set(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const consteval "
    "constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double "
    "dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace "
    "new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires "
    "restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local "
    "throw true try typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq "
    "NULL EOF errno stdin stdout stderr assert linux unix i386 INFINITY NAN signbit major minor std sectile I complex "
    "imaginary offsetof BUFSIZ RAND_MAX EXIT_SUCCESS EXIT_FAILURE TMP_MAX FILENAME_MAX FOPEN_MAX HUGE_VAL M_PI M_E B0 "
    "DOMAIN OVERFLOW UNDERFLOW PATH_MAX NAME_MAX SEEK_SET SEEK_CUR SEEK_END CLOCKS_PER_SEC BIG_ENDIAN LITTLE_ENDIAN".split()
)
#: What generated functions and classes call their own.
_OWN = set(
    "nn args device stream grid archive place kernels Kernels Status Place Grid adopt open openLinked close handles".split()
)


#: Types and macros of C's headers.
_HEADER_NAMES = re.compile(
    r"u?int(_fast|_least)?\d*_t|u?int(ptr|max)_t|s?size_t|(ptrdiff|wchar|wint|char8|char16|char32|nullptr|max_align)_t"
    r"|(U?INT(_FAST|_LEAST)?\d*|U?INTPTR|U?INTMAX|SIZE|PTRDIFF|WCHAR|WINT|SIG_ATOMIC|[SU]?CHAR|U?SHRT|U?LONG|U?LLONG)"
    r"_(MAX|MIN|WIDTH)|U?INT(MAX|\d+)_C"
)


def _is_word(name: str) -> bool:
    return (
        name in _WORDS
        or name.startswith(("sectile_", "SECTILE_", "_"))
        or bool(_HEADER_NAMES.fullmatch(name))
    )


def _is_of_libc(name: str) -> bool:
    """Whether C's library has a function of that name, which a namespace cannot have, too."""
    import ctypes

    for library in ("libc.so.6", "libm.so.6"):
        try:
            if hasattr(ctypes.CDLL(library), name):
                return True
        except OSError:
            pass
    return name == "main"


def _unique(name: str, taken: set[str]) -> str:
    """`name`, changed where it is reserved or taken; takes it."""
    name = _identifier(name)
    if name.startswith(("_", "sectile_", "SECTILE_")):
        name = f"p_{name.lstrip('_')}"
    while name in taken or name in _OWN or _is_word(name):
        name += "_"
    taken.add(name)
    return name


#: What follows the prefix in names of generated code that belong to no kernel.
_TAKEN = {
    "kernels",
    "adopt",
    "open",
    "close",
    "open_linked",
    "archive_data",
}


def _identifier(text: str) -> str:
    text = re.sub(r"\W", "_", text, flags=re.ASCII)
    return f"k_{text}" if not text or text[0].isdigit() else text


class Names:
    """What generated code is called after: the last part of the prefix.

    Attributes:
        stem: ``"nn"`` of ``build/nn``, as an identifier.
        file: the last part as it is.
    """

    def __init__(self, prefix: str) -> None:
        self.file = os.path.basename(prefix)
        if not re.fullmatch(r"\w[\w.+-]*", self.file):
            raise ValueError(
                f"-o {prefix}: {self.file or 'nothing'!r} is no name for files of C\n"
                "  help: letters, digits, and _ - . + may be in it: -o build/nn"
            )
        stem = _identifier(self.file)
        #: Part of the names of functions, and a namespace of C++.
        self.stem = f"k_{stem}" if _is_word(stem) or _is_of_libc(stem) else stem

    def data(self, archive: bytes) -> str:
        """The name of the function that gives the archive of a library. A program may have several libraries of one name,
        whose archives differ: the name is the archive's own."""
        return f"{self.stem}_archive_data_{hashlib.sha256(archive).hexdigest()[:16]}"


class Parameter:
    """A parameter of a generated function.

    Attributes:
        name: in C.
        form: ``"pointer"``, ``"descriptor"``, ``"integer"``, ``"float"``, ``"bool"``, ``"text"``, ``"type"``,
            ``"argument"`` (given as a ``sectile_arg``) or ``"fixed"`` (no parameter of the function).
        fixed: what is passed for a fixed one, in C.
        types: of a pointer the kinds of elements that there are variants for.
        extent: of a pointer into an array whose bounds are checked, the name of the parameter with its bytes.
        variable: of a pointer of several types, the name of the parameter that says which.
        is_written: of a pointer or a descriptor.
        number: of an integer or a float its kind: ``"i32"``.
        is_typed: of an integer: that is its type whatever its value.
        may_be_none: of a pointer.
    """

    def __init__(self, name: str, form: str) -> None:
        self.name = name
        self.form = form
        self.fixed = "sectile_left_out()"
        self.may_be_none = False
        self.types: tuple[str, ...] = ()
        self.extent = ""
        self.variable = ""
        self.is_written = True
        self.number = ""
        self.is_typed = False


class Function:
    """A kernel as a function of C.

    Attributes:
        name: of its handle in C, and of the function in C++.
        suffix: what follows the prefix in the name of the function in C.
        interface: of the kernel's parameters, as the archive numbers it.
        kernel: the kernel's own name.
        parameters: list of `Parameter`, one for each of the kernel.
        has_grid: whether the archive knows the grid of its launches.
        problem: why no function can be written; empty where one can.
    """

    def __init__(
        self, export: Export, is_written: dict[str, bool], checks_bounds: bool, interface: int
    ) -> None:
        self.kernel = export.kernel.__name__
        self.name = self.suffix = self.kernel
        self.interface = interface
        self.document = (export.kernel.__doc__ or "").strip().splitlines()
        self.has_grid = bool(export.grid)
        self.problem = ""
        fixed = fixed_constants(export)
        combinations = [kinds for kinds, _ in export.combinations()]
        self.parameters: list[Parameter] = []
        for p in export.kernel.params:
            given = [kinds[p.name] for kinds in combinations if p.name in kinds]
            if p.name in export.chosen or not given:
                parameter = Parameter(p.name, "fixed")
            elif p.name in fixed:
                parameter = Parameter(p.name, "fixed")
                # Where the kernel has a default of its own, leaving it out means that.
                if p.has_default:
                    parameter.fixed = self._literal(p.name, fixed[p.name])
            else:
                if len(given) < len(combinations):
                    given.append(p.default)
                parameter = (
                    self._constant(p.name, given)
                    if p.is_constexpr
                    else self._passed(p.name, given, p.annotation)
                )
                array = f"{p.name}.base" if parameter.form == "descriptor" else p.name
                parameter.is_written = is_written.get(array, False)
            self.parameters.append(parameter)
        taken: set[str] = set()
        for parameter in self.parameters:
            parameter.name = _unique(parameter.name, taken)
        for parameter in self.parameters:
            if checks_bounds and parameter.form == "pointer":
                parameter.extent = _unique(f"{parameter.name}_bytes", taken)
        self._name_variables(export, taken)

    def _literal(self, name: str, value: Any) -> str:
        """A constant as an argument in C."""
        value = plain(value)
        if value is None:
            return "sectile_none()"
        if isinstance(value, bool):
            return f"sectile_truth({int(value)})"
        if isinstance(value, int) and -(2**63) < value < 2**63:
            return f"sectile_integer(INT64_C({value}))"
        if isinstance(value, float) and math.isfinite(value):
            return f"sectile_float(0, {value!r})"
        if isinstance(value, str) and value.isascii() and value.isprintable():
            text = value.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
            return f'sectile_text("{text}")'
        if getattr(value, "__sectile_dtype__", False) and str(value.name) in _ELEMENTS:
            return f"sectile_type_arg({_ELEMENTS[value.name][0]})"
        self.problem = f"{name} is a constant that C has not; it is launched from Python"
        return "sectile_left_out()"

    def _constant(self, name: str, values: list[Any]) -> Parameter:
        values = [plain(value) for value in values]
        types = {type(value) for value in values}
        for kind, form in ((bool, "bool"), (int, "integer"), (float, "float"), (str, "text")):
            if types == {kind}:
                parameter = Parameter(name, form)
                is_narrow = kind is int and all(-(2**31) <= value < 2**31 for value in values)
                parameter.number = "i32" if is_narrow else "i64" if kind is int else "fp64"
                return parameter
        if all(getattr(value, "__sectile_dtype__", False) for value in values):
            return Parameter(name, "type")
        if any(isinstance(value, tuple) or is_function(value) for value in values):
            self.problem = f"{name} is a tuple or a function; it is launched from Python"
        return Parameter(name, "argument")

    def _passed(self, name: str, kinds: list[Any], annotation: str | None) -> Parameter:
        bases = []
        annotated = _type_of(annotation)
        if all(_is_descriptor(kind) for kind in kinds):
            return Parameter(name, "descriptor")
        for kind in kinds:
            if isinstance(kind, tuple) or _is_descriptor(kind):
                self.problem = f"{name} is a tuple, or not always a tensor descriptor; call sectile_launch(nn->..., ...)"
                return Parameter(name, "argument")
            if kind is None:
                continue
            if isinstance(kind, str):
                base, _, is_one = _native.parse_kind(kind)
                # A number is passed as what its parameter is annotated with, whatever its kind says.
                is_annotated = annotated and not base.startswith("*")
                bases.append(annotated if is_annotated else "i32" if is_one else base)
            else:
                own = (
                    "i1" if isinstance(kind, bool) else "fp32" if isinstance(kind, float) else "i32"
                )
                bases.append(annotated or own)
        has_none = None in kinds
        if not bases:
            parameter = Parameter(name, "fixed")
            parameter.fixed = "sectile_none()"
            return parameter
        if all(base.startswith("*") for base in bases):
            parameter = Parameter(name, "pointer")
            parameter.may_be_none = has_none
            # In the order in which they were named.
            parameter.types = tuple(
                dict.fromkeys(base.lstrip("*").removeprefix("k") for base in bases)
            )
            return parameter
        unique = set(bases)
        if has_none or any(base.startswith("*") for base in bases):
            return Parameter(name, "argument")
        if unique == {"i1"}:
            return Parameter(name, "bool")
        if len(unique) == 1 and bases[0].startswith(("fp", "bf")):
            parameter = Parameter(name, "float")
            parameter.number = bases[0]
            return parameter
        # What a number is follows from its value where there are several of these, as in Python.
        if len(unique) == 1 or unique <= {"i32", "i64", "u64"}:
            parameter = Parameter(name, "integer")
            parameter.number = (
                bases[0] if len(unique) == 1 else "u64" if unique == {"u64"} else "i64"
            )
            parameter.is_typed = len(unique) == 1 and bases[0] != "i32"
            return parameter
        return Parameter(name, "argument")

    def _name_variables(self, export: Export, taken: set[str]) -> None:
        """Pointers whose types always go together share one parameter that says which."""
        combinations = [kinds for kinds, _ in export.combinations()]
        groups: list[tuple[list[str], str]] = []  # the type in each combination, the name
        pairs = [
            (p, parameter)
            for p, parameter in zip(export.kernel.params, self.parameters)
            if parameter.form == "pointer" and len(parameter.types) > 1
        ]
        # One that is always there knows the types of all combinations.
        for p, parameter in sorted(pairs, key=lambda pair: pair[1].may_be_none):
            column = [
                str(kinds.get(p.name)).split(":")[0].lstrip("*").removeprefix("k")
                for kinds in combinations
            ]
            for types, name in groups:
                if all(mine in (theirs, "None") for mine, theirs in zip(column, types)):
                    parameter.variable = name
                    break
            else:
                own = [
                    name
                    for signature in export.signatures
                    for name in export.variables
                    if re.fullmatch(
                        rf"\*k?{re.escape(name)}(:16)?", str(_first(signature.get(p.name)))
                    )
                ]
                # A member of a class template cannot be called like its type.
                taken.add(self.kernel)
                parameter.variable = _unique(own[0] if own else f"type_of_{p.name}", taken)
                groups.append((column, parameter.variable))

    @property
    def variables(self) -> list[tuple[str, tuple[str, ...]]]:
        """The type parameters, in order, with the types there are."""
        return list(
            {p.variable: (p.variable, p.types) for p in self.parameters if p.variable}.values()
        )


def _type_of(annotation: str | None) -> str:
    """The type that a parameter is annotated with, as kinds name it; empty where that is none."""
    try:
        base = str(_native.parse_kind(annotation)[0]) if annotation else ""
    except ValueError:
        return ""
    return base if base in _ELEMENTS else ""


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) else value


def _is_descriptor(kind: Any) -> bool:
    if isinstance(kind, str):
        return kind_of_text(kind) is not None
    return hasattr(kind, "__sectile_tensor_descriptor__")


def functions_of(built: Built) -> list[Function]:
    """The functions for the kernels of an archive, by name."""
    result = []
    loaded = _native.archive_of_memory(built.archive, "in memory")
    interfaces = {kernel.name: kernel.interface for kernel in loaded.kernels}
    for export, compiled in built.entries:
        is_written: dict[str, bool] = {}
        checks_bounds = any(code.metadata.check == "bounds" for code in compiled)
        for code in compiled:
            for name, _, written in code.arguments:
                is_written[name] = is_written.get(name, False) or written
        interface = interfaces[export.kernel.__name__]
        result.append(Function(export, is_written, checks_bounds, interface))
    result.sort(key=lambda function: function.kernel)
    handles: set[str] = set()
    suffixes = set(_TAKEN)
    for function in result:
        function.name = _unique(function.kernel, handles)
        function.suffix = _identifier(function.kernel)
        while function.suffix in suffixes:
            function.suffix += "_"
        suffixes.add(function.suffix)
    return result


_C_NUMBERS = {
    "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t", "u8": "uint8_t", "u16": "uint16_t",
    "u32": "uint32_t", "u64": "uint64_t", "fp32": "float", "fp64": "double",
}  # fmt: skip


def _c_parameter(p: Parameter) -> str:
    if p.form == "pointer":
        element = "void" if p.variable else _ELEMENTS[p.types[0]][1]
        extent = f", uint64_t {p.extent}" if p.extent else ""
        return f"{'' if p.is_written else 'const '}{element} *{p.name}{extent}"
    kinds = {
        "integer": _C_NUMBERS.get(p.number, "int64_t"),
        "float": _C_NUMBERS.get(p.number, "double"),
        "bool": "int32_t",
        "text": "const char *",
        "type": "sectile_type",
        "descriptor": "const sectile_descriptor *",
        "argument": "sectile_arg",
    }
    kind = kinds[p.form]
    return f"{kind}{'' if kind.endswith('*') else ' '}{p.name}"


def _float_type(p: Parameter) -> str:
    """The type that a float is converted to. fp32 is what it is without more."""
    return "0" if p.number == "fp32" else _ELEMENTS.get(p.number, ("0",))[0]


def _argument(p: Parameter, as_double: str) -> str:
    """The expression that makes the ``sectile_arg``. ``as_double``: how a float is widened."""
    if p.form == "fixed":
        return p.fixed
    if p.form == "pointer":
        kind = p.variable or _ELEMENTS[p.types[0]][0]
        if p.extent:
            return f"sectile_array({kind}, {p.name}, {p.extent})"
        return f"sectile_pointer({kind}, {p.name})"
    if p.form == "integer":
        if p.number == "u64":
            if p.is_typed:
                return f"sectile_unsigned_of(SECTILE_U64, {p.name})"
            return f"sectile_unsigned({p.name})"  # by its value: beyond int64_t it is a u64
        if p.is_typed:
            return f"sectile_integer_of({_ELEMENTS[p.number][0]}, {p.name})"
        return f"sectile_integer({p.name})"
    if p.form == "float":
        is_double = _C_NUMBERS.get(p.number, "double") == "double"
        return (
            f"sectile_float({_float_type(p)}, {p.name if is_double else as_double.format(p.name)})"
        )
    return {
        "bool": f"sectile_truth({p.name})",
        "text": f"sectile_text({p.name})",
        "type": f"sectile_type_arg({p.name})",
        "descriptor": f"sectile_described({p.name})",
        "argument": p.name,
    }[p.form]


def argument_type(p: Parameter) -> str:
    """What TVM's FFI is told of a parameter: the argument of a fixed one, of a number a stand-in with the type it is
    converted to."""
    if p.form == "fixed":
        return p.fixed
    if p.form == "integer" and p.is_typed:
        return f"sectile_integer_of({_ELEMENTS[p.number][0]}, 0)"
    if p.form == "float":
        return f"sectile_float({_float_type(p)}, 0)"
    return "sectile_left_out()"


def _printable(line: str) -> str:
    """A line of a docstring that neither ends nor begins a comment of C, and goes on in no next line."""
    line = "".join(c if c.isprintable() else " " for c in line.expandtabs())
    line = line.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?").rstrip()
    return f"{line} ." if line.endswith("\\") else line


def _comment(lines: Sequence[str], begin: str, middle: str, end: str) -> list[str]:
    text = [_printable(line) for line in lines]
    last = len(text) - 1
    return [
        f"{begin if i == 0 else middle}{line}{end if i == last else ''}".rstrip()
        for i, line in enumerate(text)
    ]


def _notes(function: Function) -> list[str]:
    """What is said above a function."""
    lines = list(function.document) or [f"Launches the kernel {function.kernel}."]
    for name, types in function.variables:
        lines.append(f"{name}: {', '.join(_ELEMENTS[t][0] for t in types)}.")
    if extents := [p.extent for p in function.parameters if p.extent]:
        lines.append(
            f"{', '.join(extents)}: what may be accessed; SECTILE_UNKNOWN_BYTES: that is not known."
        )
    left_out = [p.name for p in function.parameters if p.form == "fixed"]
    if left_out:
        lines.append(f"The archive knows {', '.join(left_out)}.")
    return lines


def _wrapped(begin: str, parts: Sequence[str], end: str, indent: str) -> list[str]:
    """``begin(part, part, ...)end`` in lines of at most 100 columns."""
    lines, line = [], begin
    if not parts:
        return [begin + end]
    for count, part in enumerate(parts):
        text = part + (", " if count + 1 < len(parts) else end)
        if len((line + text).rstrip()) > 100:
            lines.append(line.rstrip())
            line = indent
        line += text
    lines.append(line.rstrip())
    return lines


#: Stands for a digest of the header that it is in.
_TAG = "@TAG@"


def _tagged(header: str, included: str = "") -> str:
    """The header with its digest, and that of the header which it includes: two that differ share no name that a
    compiler or a linker takes for the same."""
    digest = hashlib.sha256((included + header).encode()).hexdigest()[:16]
    return header.replace(_TAG, digest)


def c_header(built: Built, names: Names, forms: Sequence[str]) -> str:
    """The header for C99 and C++: a struct of handles, and one function for each kernel."""
    stem = names.stem
    functions = functions_of(built)
    guard = f"SECTILE_KERNELS_{stem}_{_TAG}_H"
    lines = [
        f"/* {names.file}.h - the kernels of {names.file}.sectile, as functions of C. Generated by `sectile aot`.",
        " *",
        f" *   {stem}_kernels nn;",
        f' *   if ({stem}_open(&nn, "{names.file}.sectile") != SECTILE_OK) puts(sectile_error_text());',
        f" *   {stem}_...(&nn, sectile_cpu(), NULL, ...);",
        f" *   {stem}_close(&nn);",
        " *",
        " * Integers decide which variant runs as they do in Python (1, multiples of 16), and so do addresses that are",
        " * multiples of 16. A null pointer is an array that is left out.",
        " */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <sectile/c.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"typedef struct {stem}_kernels {{",
        "  sectile_archive *archive;",
        *[f"  const sectile_kernel *{function.name};" for function in functions],
        f"}} {stem}_kernels;",
        "",
        f"/* Of an archive that is open. It is closed with the {stem}_kernels. */",
        f"static inline sectile_status {stem}_adopt({stem}_kernels *nn, sectile_archive *archive) {{",
        "  sectile_status status = SECTILE_OK;",
        "  nn->archive = archive;",
        *[f"  nn->{function.name} = NULL;" for function in functions],
    ]
    for function in functions:
        lines += [
            "  if (status == SECTILE_OK) {",
            f'    nn->{function.name} = sectile_find(archive, "{function.kernel}");',
            f"    if (!nn->{function.name})",
            "      status = SECTILE_ERROR_CALL;",
            "  }",
            "  if (status == SECTILE_OK)",
            f"    status = sectile_check_interface(nn->{function.name}, UINT64_C({function.interface:#x}));",
        ]
    lines += [
        "  return status;",
        "}",
        "",
        f"static inline sectile_status {stem}_open({stem}_kernels *nn, const char *path) {{",
        "  sectile_archive *archive = NULL;",
        "  sectile_status status = sectile_open(path, &archive);",
        "  nn->archive = NULL;",
        f"  return status == SECTILE_OK ? {stem}_adopt(nn, archive) : status;",
        "}",
        "",
    ]
    if "static" in forms or "shared" in forms:
        library = f"lib{names.file}.so" if "static" not in forms else f"{names.file}.a"
        lines += [
            f"/* The archive in {library}. */",
            f"const void *{names.data(built.archive)}(size_t *size);",
            f"static inline const void *{stem}_archive_data(size_t *size) {{",
            f"  return {names.data(built.archive)}(size);",
            "}",
            f"static inline sectile_status {stem}_open_linked({stem}_kernels *nn) {{",
            "  sectile_archive *archive = NULL;",
            "  size_t size = 0;",
            f"  const void *data = {stem}_archive_data(&size);",
            f'  sectile_status status = sectile_open_memory(data, size, "{names.file}", &archive);',
            "  nn->archive = NULL;",
            f"  return status == SECTILE_OK ? {stem}_adopt(nn, archive) : status;",
            "}",
            "",
        ]
    lines += [
        "/* Calls that come later are refused with SECTILE_ERROR_CLOSED. */",
        f"static inline void {stem}_close({stem}_kernels *nn) {{ sectile_close(nn->archive); }}",
        "",
    ]
    for function in functions:
        lines += _c_function(function, stem)
    lines += ["#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return _tagged("\n".join(lines))


def _c_function(function: Function, stem: str) -> list[str]:
    if function.problem:
        return [
            f"/* {function.kernel}: {function.problem.replace('...', function.name, 1)}. */",
            "",
        ]
    parameters = [f"const {stem}_kernels *nn", "sectile_device device", "void *stream"]
    if not function.has_grid:
        parameters.append("sectile_grid grid")
    parameters += [f"sectile_type {name}" for name, _ in function.variables]
    parameters += [_c_parameter(p) for p in function.parameters if p.form != "fixed"]
    lines = _comment(_notes(function), "/* ", " * ", " */")
    lines += _wrapped(
        f"static inline sectile_status {stem}_{function.suffix}(", parameters, ") {", "    "
    )
    count = len(function.parameters)
    if count:
        lines.append(f"  sectile_arg args[{count}];")
        lines += [
            f"  args[{i}] = {_argument(p, '(double){}')};"
            for i, p in enumerate(function.parameters)
        ]
        for i, p in enumerate(function.parameters):
            if p.form in ("pointer", "descriptor") and not p.is_written:
                lines.append(
                    f"  args[{i}].flags = (uint16_t)(args[{i}].flags | SECTILE_ARG_READ_ONLY);"
                )
    grid = "NULL" if function.has_grid else "&grid"
    args = "args" if count else "NULL"
    lines += [
        f"  return sectile_launch(nn->{function.name}, device, stream, {grid}, {args}, {count});",
        "}",
        "",
    ]
    return lines


def cpp_header(built: Built, names: Names, forms: Sequence[str]) -> str:
    """The header for C++17, with or without exceptions and RTTI."""
    stem = names.stem
    functions = functions_of(built)
    lines = [
        f"//===-- {names.file}.hpp - the kernels of {names.file}.sectile, as functions of C++. Generated by `sectile aot`.",
        f"//   {stem}::Kernels nn;",
        f'//   if (auto status = nn.open("{names.file}.sectile"); !status.ok())',
        "//     return std::puts(status.text()), 1;",
        "//   nn. ... ({sectile_cpu()}, ...).orThrow();   // or look at ok(); [[nodiscard]]",
        "//",
        "// C++17; works with -fno-exceptions and -fno-rtti.",
        "#pragma once",
        "",
        f'#include "{names.file}.h"',
        "",
        "#include <sectile/aot.h>",
        "",
        f"namespace {stem} {{",
        "// Another class of this name, of another archive in the same program, is another one for the linker.",
        f"inline namespace archive_{_TAG} {{",
        "",
        "/// The kernels of one archive, which is closed when this is destroyed.",
        "class Kernels {",
        "public:",
        "  using Status = sectile::aot::Status;",
        "  using Place = sectile::aot::Place;",
        "  using Grid = sectile::aot::Grid;",
        "",
        "  Kernels() = default;",
        "  ~Kernels() { close(); }",
        "  Kernels(const Kernels &) = delete;",
        "  Kernels &operator=(const Kernels &) = delete;",
        f"  Status open(const char *path) {{ return adopt(&{stem}_open, path); }}",
    ]
    if "static" in forms or "shared" in forms:
        lines.append(
            f"  Status openLinked() {{ close(); return Status({stem}_open_linked(&kernels)); }}"
        )
    lines += [
        "  void close() {",
        f"    {stem}_close(&kernels);",
        "    kernels.archive = nullptr;",
        "  }",
        f"  const {stem}_kernels &handles() const {{ return kernels; }}",
        "",
    ]
    for function in functions:
        lines += _cpp_function(function)
    lines += [
        "private:",
        "  template <class Open>",
        "  Status adopt(Open opener, const char *path) {",
        "    close();",
        "    return Status(opener(&kernels, path));",
        "  }",
        f"  {stem}_kernels kernels = {{}};",
        "};",
        "",
        f"}} // namespace archive_{_TAG}",
        f"}} // namespace {stem}",
        "",
    ]
    return _tagged("\n".join(lines), c_header(built, names, forms))


def _cpp_function(function: Function) -> list[str]:
    if function.problem:
        return [
            f"  // {function.kernel}: {function.problem.replace('nn->...', f'handles().{function.name}', 1)}.",
            "",
        ]
    # A type is found out from the first array of it that has to be there; others follow, so that nullptr may be passed.
    element: dict[str, str] = {}
    checks: list[tuple[str, tuple[str, ...]]] = list(function.variables)
    for name, _ in function.variables:
        own = [p for p in function.parameters if p.variable == name]
        leader = next((p for p in own if not p.may_be_none), own[0])
        for p in own:
            element[p.name] = name if p is leader else f"sectile::aot::Same<{name}>"
    taken = {p.name for p in function.parameters} | {name for name, _ in function.variables}
    taken |= {p.extent for p in function.parameters if p.extent}
    for p in function.parameters:
        if p.form == "pointer" and not p.variable:
            element[p.name] = _ELEMENTS[p.types[0]][2]
            if element[p.name].startswith("sectile::") and not p.may_be_none:
                # A type of the program's own may stand for it (ElementType).
                element[p.name] = _unique(f"Of_{p.name}", taken)
                checks.append((element[p.name], p.types))
    lines = [f"  {line}" for line in _comment(_notes(function), "/// ", "/// ", "")]
    if checks:
        lines.append(f"  template <{', '.join('class ' + name for name, _ in checks)}>")
    parameters = ["const Place &place"]
    if not function.has_grid:
        parameters.append("const Grid &grid")
    arguments = []
    for p in function.parameters:
        if p.form == "fixed":
            arguments.append(p.fixed)
        elif p.form == "pointer":
            constant = "" if p.is_written else "const "
            parameters.append(f"{constant}{element[p.name]} *{p.name}")
            if p.extent:
                parameters.append(f"uint64_t {p.extent}")
            extent = f", {p.extent}" if p.extent else ""
            arguments.append(f"sectile::aot::pointer({p.name}{extent})")
        elif p.form == "descriptor":
            parameters.append(f"const sectile_descriptor &{p.name}")
            flag = "" if p.is_written else ", SECTILE_ARG_READ_ONLY"
            arguments.append(f"sectile::aot::described({p.name}{flag})")
        else:
            parameters.append(_c_parameter(p))
            arguments.append(_argument(p, "double({})"))
    lines += [
        "  " + line
        for line in _wrapped(f"Status {function.name}(", parameters, ") const {", "    ")
    ]
    for name, types in checks:
        allowed = ", ".join(_ELEMENTS[t][0] for t in types)
        lines += [
            f"    static_assert(sectile::aot::isOneOf<{name}>({{{allowed}}}),",
            f'                  "{function.kernel}: the archive has no variant for this type of {name}");',
        ]
    grid = "nullptr" if function.has_grid else "&grid"
    lines += _wrapped(
        f"    return sectile::aot::launch(kernels.{function.name}, place, {grid}, {{",
        arguments,
        "});",
        "        ",
    )
    lines += ["  }", ""]
    return lines
