"""The headers that ``sectile aot`` writes: one typed function for each kernel, in C and in C++."""

from __future__ import annotations

import os
import re

from .. import _native
from .building import fixed_constants

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

_RESERVED = set(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const consteval "
    "constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double "
    "dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace "
    "new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires "
    "restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local "
    "throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq "
    # what the functions call their own
    "nn args device stream grid archive place kernels".split()
)


#: What follows the prefix in names of generated code that belong to no kernel.
_TAKEN = {"kernels", "adopt", "open", "close", "open_linked", "archive_bytes", "archive_end", "H"}

#: What the class in C++ has beside its kernels.
_METHODS = {"Kernels", "Status", "Place", "Grid", "adopt", "open", "openLinked", "close", "handles"}


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
        if not self.file:
            raise ValueError(
                f"-o {prefix}: the prefix names a folder\n  help: such as -o {prefix}nn"
            )
        self.stem = _identifier(self.file)


class Parameter:
    """A parameter of a generated function.

    Attributes:
        name: in C.
        form: ``"pointer"``, ``"integer"``, ``"float"``, ``"bool"``, ``"text"``, ``"type"``, ``"argument"`` (given as a
            ``sectile_arg``) or ``"left out"`` (no parameter of the function).
        types: of a pointer the kinds of elements that there are variants for.
        variable: of a pointer of several types, the name of the parameter that says which.
        is_written: of a pointer.
        number: of an integer or a float its kind: ``"i32"``.
    """

    def __init__(self, name: str, form: str) -> None:
        self.name = f"{name}_" if name in _RESERVED else name
        self.form = form
        self.types: tuple[str, ...] = ()
        self.variable = ""
        self.is_written = True
        self.number = ""


class Function:
    """A kernel as a function of C.

    Attributes:
        name: of its handle in C, and of the function in C++.
        kernel: the kernel's own name.
        parameters: list of `Parameter`, one for each of the kernel.
        has_grid: whether the archive knows the grid of its launches.
        problem: why no function can be written; empty where one can.
    """

    def __init__(self, export: Export, is_written: dict[str, bool]) -> None:
        self.kernel = export.kernel.__name__
        is_taken = self.kernel in _RESERVED or self.kernel in _METHODS
        self.name = f"{self.kernel}_" if is_taken else self.kernel
        #: what follows the prefix
        self.suffix = f"{self.kernel}_" if self.kernel in _TAKEN else self.kernel
        self.document = (export.kernel.__doc__ or "").strip().splitlines()
        self.has_grid = bool(export.grid)
        self.problem = ""
        fixed = fixed_constants(export)
        combinations = [kinds for kinds, _ in export.combinations()]
        self.parameters: list[Parameter] = []
        for p in export.kernel.params:
            given = [kinds[p.name] for kinds in combinations if p.name in kinds]
            if p.name in export.chosen or p.name in fixed or not given:
                parameter = Parameter(p.name, "left out")
            else:
                if len(given) < len(combinations):
                    given.append(p.default)
                parameter = (
                    self._constant(p.name, given)
                    if p.is_constexpr
                    else self._passed(p.name, given, p.annotation)
                )
                parameter.is_written = is_written.get(p.name, False)
            self.parameters.append(parameter)
        self._name_variables(export)

    def _constant(self, name: str, values: list[Any]) -> Parameter:
        types = {type(value) for value in values}
        for kind, form in ((bool, "bool"), (int, "integer"), (float, "float"), (str, "text")):
            if types == {kind}:
                parameter = Parameter(name, form)
                is_narrow = kind is int and all(-(2**31) <= value < 2**31 for value in values)
                parameter.number = "i32" if is_narrow else "i64" if kind is int else "fp64"
                return parameter
        if all(getattr(value, "__sectile_dtype__", False) for value in values):
            return Parameter(name, "type")
        if any(isinstance(value, tuple) or callable(value) for value in values):
            self.problem = f"{name} is a tuple or a function"
        return Parameter(name, "argument")

    def _passed(self, name: str, kinds: list[Any], annotation: str | None) -> Parameter:
        texts = []
        for kind in kinds:
            if isinstance(kind, tuple):
                self.problem = f"{name} is a tuple"
                return Parameter(name, "argument")
            if kind is None:
                continue
            texts.append(
                kind
                if isinstance(kind, str)
                else "i1"
                if isinstance(kind, bool)
                else "i32"
                if isinstance(kind, int)
                else "fp32"
            )
        bases = []
        for text in texts:
            base, _, is_one = _native.parse_kind(text)
            bases.append("i32" if is_one else base)
        if bases and all(base.startswith("*") for base in bases):
            parameter = Parameter(name, "pointer")
            # In the order in which they were named.
            parameter.types = tuple(
                dict.fromkeys(base.lstrip("*").removeprefix("k") for base in bases)
            )
            return parameter
        has_none = len(texts) < len(kinds)
        if not bases or has_none or any(base.startswith("*") for base in bases):
            return Parameter(name, "argument")
        unique = set(bases)
        if unique == {"i1"}:
            return Parameter(name, "bool")
        if all(base.startswith(("fp", "bf")) for base in unique):
            parameter = Parameter(name, "float")
            parameter.number = bases[0] if len(unique) == 1 else "fp64"
            return parameter
        parameter = Parameter(name, "integer")
        is_small = unique <= {"i1", "i8", "i16", "i32", "u8", "u16"}
        is_unsigned = unique <= {"u8", "u16", "u32", "u64"} and not is_small
        parameter.number = "i32" if is_small else "u64" if is_unsigned else "i64"
        return parameter

    def _name_variables(self, export: Export) -> None:
        """Pointers whose types always go together share one parameter that says which."""
        columns: dict[tuple[Any, ...], str] = {}
        combinations = [kinds for kinds, _ in export.combinations()]
        taken = {parameter.name for parameter in self.parameters}
        for p, parameter in zip(export.kernel.params, self.parameters):
            if parameter.form != "pointer" or len(parameter.types) < 2:
                continue
            column = tuple(
                str(kinds.get(p.name)).split(":")[0].lstrip("*").removeprefix("k")
                for kinds in combinations
            )
            if column not in columns:
                own = [
                    name
                    for signature in export.signatures
                    for name in export.variables
                    if re.fullmatch(
                        rf"\*k?{re.escape(name)}(:16)?", str(_first(signature.get(p.name)))
                    )
                ]
                name = own[0] if own else f"type_of_{p.name}"
                while name in taken or name in columns.values():
                    name += "_"
                columns[column] = name
            parameter.variable = columns[column]

    @property
    def variables(self) -> list[tuple[str, tuple[str, ...]]]:
        """The type parameters, in order, with the types there are."""
        return list(
            {p.variable: (p.variable, p.types) for p in self.parameters if p.variable}.values()
        )


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) else value


def functions_of(built: Built) -> list[Function]:
    """The functions for the kernels of an archive, by name."""
    result = []
    for export, compiled in built.entries:
        is_written: dict[str, bool] = {}
        for code in compiled:
            for name, _, written in code.arguments:
                is_written[name] = is_written.get(name, False) or written
        result.append(Function(export, is_written))
    return sorted(result, key=lambda function: function.name)


_C_NUMBERS = {
    "i32": "int32_t",
    "i64": "int64_t",
    "u64": "uint64_t",
    "fp32": "float",
    "fp64": "double",
}


def _c_parameter(p: Parameter) -> str:
    if p.form == "pointer":
        element = "void" if p.variable else _ELEMENTS[p.types[0]][1]
        return f"{'' if p.is_written else 'const '}{element} *{p.name}"
    kinds = {
        "integer": _C_NUMBERS.get(p.number, "int64_t"),
        "float": _C_NUMBERS.get(p.number, "double"),
        "bool": "int32_t",
        "text": "const char *",
        "type": "sectile_type",
        "argument": "sectile_arg",
    }
    kind = kinds[p.form]
    return f"{kind}{'' if kind.endswith('*') else ' '}{p.name}"


def _argument(p: Parameter, as_double: str) -> str:
    """The expression that makes the ``sectile_arg``. ``as_double``: how a float is widened."""
    if p.form == "left out":
        return "sectile_left_out()"
    if p.form == "pointer":
        return f"sectile_pointer({p.variable or _ELEMENTS[p.types[0]][0]}, {p.name})"
    if p.form == "integer":
        return f"sectile_{'unsigned' if p.number == 'u64' else 'integer'}({p.name})"
    if p.form == "float":
        # fp32 is what a float is without more.
        kind = "0" if p.number == "fp32" else _ELEMENTS.get(p.number, ("0",))[0]
        is_double = _C_NUMBERS.get(p.number, "double") == "double"
        return f"sectile_float({kind}, {p.name if is_double else as_double.format(p.name)})"
    return {
        "bool": f"sectile_truth({p.name})",
        "text": f"sectile_text({p.name})",
        "type": f"sectile_type_arg({p.name})",
        "argument": p.name,
    }[p.form]


def _comment(lines: Sequence[str], begin: str, middle: str, end: str) -> list[str]:
    text = [line.replace("*/", "* /").rstrip() for line in lines]
    return [f"{begin if i == 0 else middle}{line}".rstrip() for i, line in enumerate(text[:-1])] + [
        f"{middle if len(text) > 1 else begin}{text[-1]}{end}"
    ]


def _notes(function: Function) -> list[str]:
    """What is said above a function."""
    lines = list(function.document) or [f"Launches the kernel {function.kernel}."]
    for name, types in function.variables:
        lines.append(f"{name}: {', '.join(_ELEMENTS[t][0] for t in types)}.")
    left_out = [p.name for p in function.parameters if p.form == "left out"]
    if left_out:
        lines.append(f"The archive knows {', '.join(left_out)}.")
    return lines


def _wrapped(begin: str, parts: Sequence[str], end: str, indent: str) -> list[str]:
    """``begin(part, part, ...)end`` in lines of at most 100 columns."""
    lines, line = [], begin
    for count, part in enumerate(parts):
        text = part + (", " if count + 1 < len(parts) else end)
        if len((line + text).rstrip()) > 100:
            lines.append(line.rstrip())
            line = indent
        line += text
    lines.append(line.rstrip())
    return lines


def c_header(built: Built, names: Names, forms: Sequence[str]) -> str:
    """The header for C99 and C++: a struct of handles, and one function for each kernel."""
    stem = names.stem
    functions = functions_of(built)
    guard = f"{stem.upper()}_H"
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
        "  nn->archive = archive;",
        *[
            f'  nn->{function.name} = sectile_find(archive, "{function.kernel}");'
            for function in functions
        ],
        "  if (" + " || ".join(f"!nn->{function.name}" for function in functions) + ")",
        "    return SECTILE_ERROR_CALL;",
        "  return SECTILE_OK;",
        "}",
        "",
        f"static inline sectile_status {stem}_open({stem}_kernels *nn, const char *path) {{",
        "  sectile_archive *archive = NULL;",
        "  sectile_status status = sectile_open(path, &archive);",
        f"  return status == SECTILE_OK ? {stem}_adopt(nn, archive) : status;",
        "}",
        "",
    ]
    if "static" in forms or "shared" in forms:
        library = f"lib{names.file}.so" if "static" not in forms else f"{names.file}.a"
        lines += [
            f"/* The archive in {library}. */",
            f"extern const unsigned char {stem}_archive_bytes[];",
            f"extern const unsigned char {stem}_archive_end[];",
            f"static inline sectile_status {stem}_open_linked({stem}_kernels *nn) {{",
            "  sectile_archive *archive = NULL;",
            f"  size_t size = (size_t)({stem}_archive_end - {stem}_archive_bytes);",
            "  sectile_status status =",
            f'      sectile_open_memory({stem}_archive_bytes, size, "{names.file}", &archive);',
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
    return "\n".join(lines)


def _c_function(function: Function, stem: str) -> list[str]:
    if function.problem:
        return [
            f"/* {function.kernel}: {function.problem}; call sectile_launch(nn->{function.name}, ...). */",
            "",
        ]
    parameters = [f"const {stem}_kernels *nn", "sectile_device device", "void *stream"]
    if not function.has_grid:
        parameters.append("sectile_grid grid")
    parameters += [f"sectile_type {name}" for name, _ in function.variables]
    parameters += [_c_parameter(p) for p in function.parameters if p.form != "left out"]
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
            if p.form == "pointer" and not p.is_written:
                lines.append(f"  args[{i}].flags = SECTILE_ARG_READ_ONLY;")
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
        f"}} // namespace {stem}",
        "",
    ]
    return "\n".join(lines)


def _cpp_function(function: Function) -> list[str]:
    if function.problem:
        return [
            f"  // {function.kernel}: {function.problem}; call sectile_launch(handles().{function.name}, ...).",
            "",
        ]
    element = {}
    for p in function.parameters:
        if p.form == "pointer":
            element[p.name] = p.variable or _ELEMENTS[p.types[0]][2]
    lines = [f"  {line}" for line in _comment(_notes(function), "/// ", "/// ", "")]
    if function.variables:
        lines.append(f"  template <{', '.join('class ' + name for name, _ in function.variables)}>")
    parameters = ["const Place &place"]
    if not function.has_grid:
        parameters.append("const Grid &grid")
    arguments = []
    for p in function.parameters:
        if p.form == "left out":
            arguments.append("sectile_left_out()")
        elif p.form == "pointer":
            constant = "" if p.is_written else "const "
            # Only one parameter of each type takes part in finding out what T is.
            parameters.append(f"{constant}{element[p.name]} *{p.name}")
            arguments.append(f"sectile::aot::pointer({p.name})")
        else:
            parameters.append(_c_parameter(p))
            arguments.append(_argument(p, "double({})"))
    lines += [
        "  " + line
        for line in _wrapped(f"Status {function.name}(", parameters, ") const {", "    ")
    ]
    for name, types in function.variables:
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
