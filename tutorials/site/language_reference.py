"""The reference of the language, made from the docstrings of `sectile.language`: a page for each of its modules.

Nothing here is a second list of operations: `tl.__all__` is what is public, the modules are the pages, and their first lines
are the titles.
"""

import importlib
import inspect
import re

import cpp_reference
import wrong_uses
from docstrings import PREAMBLE, Docstring, entries, inline, markdown, signature

import sectile.language as tl

#: The modules in the order of the menu, and what the page is called where the module's first line is too long.
PAGES = {
    "_program": "Programs and hints", "_creation": "Making and converting tiles", "_memory": "", "_blocks": "Block pointers and descriptors", "_math": "Elementwise functions",
    "_shape": "Shapes", "_reduction": "Along a dimension", "_linear_algebra": "", "_random": "Random numbers", "_loops": "",
    "_debug": "Printing, asserting, assembly", "_tensor": "Tiles", "_constexpr": "Constants", "_aggregates": "Classes of values",
    "_dtypes": "Dtypes", "target_info": "Asking for the target", "extra.cuda": "What GPUs have",
}  # fmt: skip

#: Public names that are no operations and have an entry without an example: types, and what only annotations use.
REFERENCE_ONLY = {
    "block_type", "constexpr_type", "pi32_t", "pointer_type", "slice", "str_to_ty", "tuple", "tuple_type", "void",
    "math", "TRITON_MAX_TENSOR_NUMEL", "target_info.current_target",
}  # fmt: skip

#: Where an operation is available when its docstring does not say so.
EVERYWHERE = "CPU, NVIDIA GPUs, AMD GPUs (emulated)"


WRONG_USES = wrong_uses.by_operation()
CPP = cpp_reference.functions()


#: What `tl` has as further modules, other than libdevice, whose functions are a table.
SUBMODULES = ("target_info", "extra.cuda")


class Entry:
    """A public name of the language: what the reference says of it."""

    def __init__(self, name, value, module):
        self.name = name
        self.value = value
        self.module = module
        self.doc = Docstring(inspect.getdoc(value) if not is_dtype(value) else value_doc(name))
        self.of_module = Docstring(importlib.import_module(f"sectile.language.{module}").__doc__)

    @property
    def is_operation(self):
        return hasattr(self.value, "__sectile_builtin__")

    @property
    def signature(self):
        """As it is called; "" for what is not called."""
        if inspect.isfunction(self.value):
            return signature(self.value, f"tl.{self.name}")
        return ""

    def section(self, name):
        """What the docstring says about it, else what that of the module says."""
        return self.doc.sections.get(name) or self.of_module.sections.get(name, "")

    @property
    def where(self):
        return self.section("Where") or EVERYWHERE


def is_dtype(value):
    return isinstance(value, tl.dtype)


def value_doc(name):
    return f"The dtype `{name}`."


def module_of(name, value):
    """The module that defines a public name, and so the page it is on."""
    module = getattr(value, "__module__", "") or ""
    short = module.rpartition(".")[2]
    if short in PAGES:
        return short
    if is_dtype(value) or name in ("pi32_t", "void"):
        return "_dtypes"
    if name == "math":
        return "_math"
    return "_constexpr" if name == "const" else "_tensor"


def all_entries():
    """Returns an `Entry` for each public name, sorted by name."""
    found = []
    for name in sorted(tl.__all__, key=str.lower):
        value = getattr(tl, name)
        found.append(Entry(name, value, module_of(name, value)))
    return found


def entries_of_submodules():
    """Returns an `Entry` for each operation of the modules that `tl` has as names."""
    return [
        Entry(
            f"{module}.{name}",
            getattr(importlib.import_module(f"sectile.language.{module}"), name),
            module,
        )
        for module in SUBMODULES
        for name in importlib.import_module(f"sectile.language.{module}").__all__
        if name != "libdevice"
    ]


def every_entry():
    """Public names, what classes among them have, and the names of submodules."""
    found = all_entries()
    methods = [
        each for entry in found if inspect.isclass(entry.value) for each in methods_of(entry)
    ]
    return [*found, *methods, *entries_of_submodules()]


def methods_of(entry):
    """Returns entries of the documented operations of a class, ``tensor_descriptor.load``."""
    return [
        Entry(f"{entry.name}.{name}", value, entry.module)
        for name, value in vars(entry.value).items()
        if inspect.isfunction(value) and not name.startswith("_") and value.__doc__
    ]


def entries_with_examples():
    """Returns the entries that have to have an example which runs on the CPU."""
    return [
        entry
        for entry in every_entry()
        if entry.is_operation
        or (
            entry.name in tl.__all__
            and entry.name not in REFERENCE_ONLY
            and not is_dtype(entry.value)
        )
    ]


def title_of(module):
    doc = importlib.import_module(f"sectile.language.{module}").__doc__
    return PAGES[module] or doc.splitlines()[0].rstrip(".")


def file_of(module):
    """Returns the name of a module's page, without its folder."""
    return module.lstrip("_").replace(".", "_") + ".md"


def anchor(name):
    """Returns what MyST makes of the heading of an entry."""
    return "tl" + name.replace(".", "").lower()


class Links:
    """Where names in docstrings lead."""

    def __init__(self, found):
        self.targets = {
            entry.name: f"{file_of(entry.module)}#{anchor(entry.name)}" for entry in found
        }

    def __call__(self, name):
        return self.targets.get(name.removeprefix("tl."))


def entry_text(entry, links):
    """The part of a page that is about one name."""
    lines = [f"## `tl.{entry.name}`", ""]
    if entry.signature:
        lines += ["```{code-block} python", ":class: signature", "", entry.signature, "```", ""]
    lines += [markdown(entry.doc.text, links), ""]
    if entry.doc.arguments:
        lines += ["| argument | meaning |", "|---|---|"]
        lines += [f"| `{each}` | {inline(text, links)} |" for each, text in entry.doc.arguments]
        lines += [""]
    facts = []
    if attributes := entry.doc.sections.get("Attributes"):
        facts += [(f"`{each}`", text) for each, text in entries(attributes)]
    if returned := entry.doc.sections.get("Returns"):
        facts.append(("Returns", returned))
    if entry.is_operation:
        facts += [(each, entry.section(each)) for each in ("Shapes", "Dtypes")]
        facts.append(("Available on", entry.where))
    if errors := entry.section("Errors"):
        facts.append(("Errors", errors.replace("CompilationError: ", "")))
    for use, message in WRONG_USES.get(entry.name, []):
        facts.append(("", f"``{use}``: *{message}*"))
    if entry.is_operation and entry.name in CPP:
        header = CPP[entry.name][0][0]
        declarations = ", ".join(f"``{text}``" for _, text in CPP[entry.name])
        facts.append((f"In C++, [`sectile/{header}.h`](../cpp/{header}.md)", declarations))
    if source := entry.doc.sections.get("Source"):
        facts.append(("Source", source))
    if facts:
        lines += ["| | |", "|---|---|"]
        lines += [f"| {title} | {sentence(inline(text, links))} |" for title, text in facts if text]
        lines += [""]
    if entry.doc.example:
        lines += ["```python", entry.doc.sections["Example"], "```", ""]
    return "\n".join(lines)


def sentence(text):
    """The text of a fact with a capital letter and a full stop, where it begins with a word and ends with one."""
    text = text[0].upper() + text[1:] if not re.match(r"\w*\d", text) else text
    return text if text.endswith((".", "`", ":", "*")) else text + "."


def dtype_table(found):
    lines = ["| name | short | bits | kind |", "|---|---|---|---|"]
    for entry in found:
        if is_dtype(entry.value) and entry.name not in REFERENCE_ONLY:
            dtype = entry.value
            kind = (
                "floating point" if dtype.is_floating()
                else "truth value" if dtype.primitive_bitwidth == 1
                else "signed integer" if dtype.is_int_signed() else "unsigned integer"
            )  # fmt: skip
            lines.append(f"| `tl.{entry.name}` | `{dtype}` | {dtype.primitive_bitwidth} | {kind} |")
    return "\n".join(lines)


def write(folder):
    """Writes the pages into `folder`."""
    found = [*all_entries(), *entries_of_submodules()]
    links = Links(found)
    index = [INTRODUCTION, "| page | names |", "|---|---|"]
    for module in PAGES:
        entries_here = [entry for entry in found if entry.module == module]
        doc = Docstring(importlib.import_module(f"sectile.language.{module}").__doc__)
        first, _, rest = doc.text.partition("\n")
        opening = rest if first.rstrip(".") == title_of(module) else doc.text
        text = [f"# {title_of(module)}", "", markdown(opening, links), ""]
        if module == "_dtypes":
            text += [dtype_table(found), ""]
        for entry in entries_here:
            if is_dtype(entry.value) and entry.name not in REFERENCE_ONLY:
                continue
            text.append(entry_text(entry, links))
            if inspect.isclass(entry.value):
                text += [entry_text(each, links) for each in methods_of(entry)]
        path = folder / "reference/language" / file_of(module)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(text))
        names = ", ".join(
            f"[`{each.name}`](language/{links(each.name)})"
            if not is_dtype(each.value)
            else f"`{each.name}`"
            for each in entries_here
        )
        index.append(f"| [{title_of(module)}](language/{file_of(module)}) | {names} |")
    index += ["", LIBDEVICE_ROW, "", "```{toctree}", ":hidden:", ""]
    index += [f"language/{file_of(module)}" for module in PAGES] + [
        "language/libdevice",
        "```",
        "",
    ]
    (folder / "reference/language.md").write_text("\n".join(index))
    write_libdevice(folder)


INTRODUCTION = f"""# The language

Everything that a kernel may name, `import sectile.language as tl`. The pages are made from the docstrings, so `help(tl.load)` says the same.
Where an entry says nothing about a parameter's kind, it takes tiles, scalars and Python numbers.

Each example is a whole program behind these lines, and is run by the tests. What it prints stands beside the `print`.

```python
{PREAMBLE.strip()}
```

An error in a kernel is a `CompilationError`, raised when the kernel is compiled, with the place and a remedy. "Available on" names the back ends;
AMD's code is run by the tests in an emulator, and has never met a GPU of theirs.

Below "Errors" stand wrong uses and the message that each gets. In these `x` and `h` are arrays of fp32 and fp16, `p` is one of int32, `c` is read-only memory, `n` is an int32, and `i` and
`v` are tiles of four int32 and four fp32.
"""

LIBDEVICE_ROW = (
    "Further functions of numbers, named as in CUDA: [`tl.extra.libdevice`](language/libdevice.md)."
)


def write_libdevice(folder):
    from sectile.language.extra import libdevice

    lines = [
        "# Functions of libdevice", "", markdown(libdevice.__doc__), "",
        "They are available on every back end. [Numbers](../../guide/numbers.md) says how many digits are right.", "",
        "```python", PREAMBLE + Docstring(libdevice.__doc__).sections.get("Example", ""), "```", "",
        "| function | what |", "|---|---|",
    ]  # fmt: skip
    for name in libdevice.__all__:
        function = getattr(libdevice, name)
        lines.append(f"| `{signature(function, name)}` | {inline(function.__doc__)} |")
    (folder / "reference/language/libdevice.md").write_text("\n".join(lines) + "\n")
