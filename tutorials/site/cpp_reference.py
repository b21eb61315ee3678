"""The reference of the C++ API, made from the headers in include/sectile: a page for each of them.

A header opens with a comment that says what it is for; that is the text of its page. Then come its public declarations, each with
the `///` comment above it. What is in a namespace `detail`, private, or made by a macro that has no name for users, is left out. This
reads the headers by their layout, which the formatter guarantees, and not as a compiler does: it needs no program that
would have to be installed.
"""

import re
from pathlib import Path

INCLUDE = Path(__file__).resolve().parents[2] / "include/sectile"

#: The headers in the order of the menu. Those that only include others, or that users do not name, have no page.
PAGES = [
    "kernel", "types", "operators", "creation", "memory", "blocks", "math", "shape", "reduce", "elements", "random",
    "control", "debug", "device", "descriptors", "variants", "archive", "error", "aot",
]  # fmt: skip
WITHOUT_PAGE = {"sectile", "ops", "arguments", "record", "trace", "c", "tvm_ffi"}
#: Of the pages, those about launching archives: no part of the language.
OF_ARCHIVES = {"archive", "aot"}

#: A parameter that every operation has: the place of the call, which fills itself in.
PLACE = re.compile(r",?\s*(?:Operand::Where|Where|std::source_location) \w+ = [\w:]+::current\(\)")


class Declaration:
    """A declaration: its text without body, the lines of the comment above it, and the comment in its line."""

    def __init__(self, text, comment, members=()):
        self.text = text
        self.comment = comment
        self.members = list(members)
        self.remark = ""
        self.heading = ""  # the section of the header that begins with it


class Reader:
    """Reads the declarations of a header, of its namespaces, or of a class."""

    def __init__(self, text, macros=None, in_class=False, is_public=True):
        self.text = text
        self.at = 0
        self.macros = macros if macros is not None else {}
        self.in_class = in_class
        self.is_public = is_public
        self.found = []
        self.comment = []
        self.heading = ""

    def read(self):
        while self.at < len(self.text):
            self.step()
        return self.found

    def step(self):
        rest = self.text[self.at :]
        if match := re.match(r"\s+", rest):
            if match[0].count("\n") > 1:
                self.comment = []
            self.at += len(match[0])
        elif match := re.match(r"//=+-- (.*?) -*=+//.*\n?", rest):
            self.heading = match[1]
            self.at += len(match[0])
        elif match := re.match(r"///? ?(.*)\n?", rest):
            if rest.startswith("///"):
                self.comment.append(match[1])
            self.at += len(match[0])
        elif match := re.match(r"/\*.*?\*/", rest, re.S):
            self.at += len(match[0])
        elif match := re.match(r"#\s*define (SECTILE_\w+)\(([\w, .]*)\)((?:.*\\\n)*.*\n)", rest):
            self.macros[match[1]] = (match[2].split(", "), match[3].replace("\\\n", "\n"))
            self.at += len(match[0])
        elif match := re.match(r"#(?:.*\\\n)*.*(?:\n|$)", rest):
            self.at += len(match[0])
        elif match := re.match(r"(?:inline )?namespace ([\w:]+) \{", rest):
            self.at += len(match[0])
            if "detail" in match[1]:
                self.at = end_of_block(self.text, self.at)
        elif match := re.match(r"(public|private|protected):", rest):
            self.is_public = match[1] == "public"
            self.at += len(match[0])
        elif rest[0] in "};":
            self.at += 1
        elif match := re.match(r"(SECTILE_\w+)\((.*?)\)[ \t]*(?://[ ]?(.*))?\n", rest):
            self.expand(*match.groups())
            self.at += len(match[0])
        else:
            self.declaration()

    def expand(self, name, arguments, comment):
        if name not in self.macros:
            return
        parameters, body = self.macros[name]
        for parameter, argument in zip(parameters, arguments.split(", ")):
            body = re.sub(rf"(?<!#)#{parameter}\b", f'"{argument}"', body)
            body = re.sub(
                rf"\s*##\s*{parameter}\b|\b{parameter}\s*##\s*|\b{parameter}\b",
                lambda _: argument,
                body,
            )
        names = set()
        for each in Reader(body.replace(" ##", ""), self.macros, self.in_class).read():
            if name_of(each.text) not in names:  # others of the name are better matches of the same
                names.add(name_of(each.text))
                each.remark = each.remark or comment or ""
                each.comment = each.comment or self.comment
                self.comment = []
                self.add(each)

    def declaration(self):
        start = self.at
        end, opener = end_of_declaration(self.text, start)
        text = PLACE.sub("", self.text[start:end].strip())
        body = ""
        self.at = end + 1
        if opener == "{":
            after = end_of_block(self.text, self.at)
            body = self.text[self.at : after - 1]
            self.at = after
        comment, self.comment = self.comment, []
        if comment and comment[0].startswith("Internal to these headers"):
            return
        if not self.is_public or not text or text.startswith(("friend", "static_assert", "extern")):
            return
        kind = re.match(
            r"(?:template <.*?>\s*(?:requires.*?\s)?)?(class|struct|enum class|enum|union) (\w+)",
            text,
            re.S,
        )
        if kind and opener == "{":
            if kind[1].startswith("enum"):
                end = self.text.index(";", self.at)
                name = self.text[self.at : end].strip()
                self.at = end
                body = re.sub(r"\n\s*", "\n  ", body.rstrip())
                end_of_body = "\n" if "\n" in body else " "
                self.add(
                    Declaration(
                        f"{text} {{{body}{end_of_body}}}{' ' + name if name else ''};", comment
                    )
                )
                return
            members = Reader(body, self.macros, in_class=True, is_public=kind[1] == "struct").read()
            self.add(Declaration(text, comment, members))
            return
        if kind or re.search(r"\w+(?:<\w+>)?::(?:\w+|operator\W+)\(", text):
            return  # a declaration ahead, or the definition of what a class declares
        if "(" in text and not re.match(
            r"(using|inline constexpr|constexpr|static constexpr)", text
        ):
            text = without_initializers(text)
            if self.in_class and not comment and re.search(r"operator|~", text):
                return
        self.add(Declaration(text, comment))

    def add(self, declaration):
        declaration.heading, self.heading = self.heading, ""
        self.found.append(declaration)


def end_of_declaration(text, at):
    """Where the declaration at `at` ends: the place of its `;` or of the `{` of its body, and which of them."""
    depth = 0
    seen_equal = False
    while at < len(text):
        here = text[at]
        if skipped := skip(text, at):
            at = skipped
            continue
        if here in "([":
            depth += 1
        elif here in ")]":
            depth -= 1
        elif here == "=" and depth == 0 and text[at + 1] != "=" and text[at - 1] not in "=<>!":
            seen_equal = "operator" not in text[max(0, at - 12) : at]
        elif depth == 0 and here == ";":
            return at, ";"
        elif depth == 0 and here == "{":
            # The formatter puts a space before the body of a function, and none before an initializer.
            if not seen_equal and text[at - 1].isspace() and not text[:at].endswith("requires "):
                return at, "{"
            at = end_of_block(text, at + 1)
            continue
        at += 1
    return at, ";"


def end_of_block(text, at):
    """Behind the `}` that closes the block whose `{` stands before `at`."""
    depth = 1
    while at < len(text) and depth:
        if skipped := skip(text, at):
            at = skipped
            continue
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return at


def skip(text, at):
    """Behind the comment, text or character that begins at `at`; None where there is none."""
    if text.startswith("//", at):
        return text.find("\n", at) + 1 or len(text)
    if text.startswith("/*", at):
        return text.index("*/", at) + 2
    if match := re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)\'').match(text, at):
        return match.end()
    return None


def without_initializers(text):
    """A constructor without what it initializes."""
    depth = 0
    for place, here in enumerate(text):
        depth += {"(": 1, ")": -1}.get(here, 0)
        if (
            here == ":"
            and depth == 0
            and text[:place].rstrip().endswith(")")
            and text[place + 1] != ":"
        ):
            return text[:place].rstrip()
    return text


def shown(text):
    """A declaration as the page shows it."""
    text = re.sub(r"\(\s*,\s*", "(", text)
    text = re.sub(r"operator ?(\W+?) ?\(", r"operator\1(", text)
    # What was indented in a macro or a class, or begins further left without `inline`, is indented anew.
    first, *rest = (line.rstrip() for line in text.splitlines())
    inline = re.match(r"(?:inline|\[\[nodiscard\]\]) ", first)
    first = first[inline.end() :] if inline else first
    if first.startswith("template"):
        less = min((len(line) - len(line.lstrip()) for line in rest), default=0)
    else:
        less = inline.end() if inline else 0
    text = "\n".join([first, *(line[less:] for line in rest)])
    return text.removesuffix(";") + ";"


def name_of(text):
    """What a declaration declares."""
    text = re.sub(r"template <[^{;]*?>\s*(?=[\w:\[])", "", text, count=1)
    text = re.sub(r"^\s*requires.*?\n\s*", "", text)
    if match := re.search(r"(operator\s*(?:\(\)|\[\]|[^\s(]+|\w+))\s*\(", text):
        return match[1]
    if match := re.search(r"\b(?:class|struct|enum class|enum|using|union) (\w+)", text):
        return match[1]
    if match := re.search(r"([\w~]+)\s*\(", text):
        return match[1]
    match = re.search(r"(\w+)\s*(?:=|\{|;|$)", text)
    return match[1] if match else text


def introduction(text):
    """Title and text of the comment that a header opens with; indented lines are code."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(re.sub(r"^// ?", "", line))
    title = re.sub(r"^[/= -]*\S+\.h - |[-= /]*$", "", lines[0])
    out, code = [], False
    for line in lines[1:]:
        is_code = line.startswith("  ") or (code and not line.strip())
        if is_code != code:
            out += ["```cpp"] if is_code else ["```"]
            if not is_code:
                out.append("")
            code = is_code
        out.append(line.removeprefix("  ") if code else line)
    return title, "\n".join([*out, *(["```"] if code else [])])


def comment_text(lines):
    """A comment as Markdown: indented lines are code, and signs of Markdown in the others are themselves."""
    out, code = [], False
    for line in lines:
        if line.startswith("  ") != code:
            code = not code
            out += ["", "```cpp"] if code else ["```", ""]
        out.append(line[2:] if code else re.sub(r"(?<!`)([<>*_])(?![^`]*`)", r"\\\1", line))
    return "\n".join([*out, *(["```"] if code else [])])


def line_of(declaration):
    return shown(declaration.text) + (f" // {declaration.remark}" if declaration.remark else "")


def part(declarations):
    """The declarations of a header; neighbors without comments share a block."""
    lines, block = [], []

    def flush():
        if block:
            lines.append("```cpp\n" + "\n".join(block) + "\n```\n")
            block.clear()

    for each in declarations:
        if each.heading:
            flush()
            lines.append(f"## {each.heading[0].upper()}{each.heading[1:]}\n")
        if each.comment or each.members:
            flush()
        block.append(line_of(each))
        if each.comment or each.members:
            flush()
            lines.append(comment_text(each.comment) + "\n")
        if each.members:
            lines.append(f"Members of `{name_of(each.text)}`:\n\n```cpp")
            for member in each.members:
                lines += [f"// {line}" for line in member.comment]
                lines.append(line_of(member))
            lines.append("```\n")
    flush()
    return "\n".join(lines)


def page(name):
    """Title and text of the page about a header."""
    source = (INCLUDE / f"{name}.h").read_text()
    title, opening = introduction(source)
    declarations = Reader(source[source.index("#pragma once") :]).read()
    return title, (
        f"# {title[0].upper()}{title[1:]}\n\n`#include <sectile/{name}.h>`\n\n{opening}\n\n{part(declarations)}"
    )


def functions():
    """The free functions of all headers: names, and pairs of a header and a declaration in one line."""
    found = {}
    for header in PAGES:
        if header in OF_ARCHIVES:
            continue
        source = (INCLUDE / f"{header}.h").read_text()
        for each in Reader(source[source.index("#pragma once") :]).read():
            text = " ".join(shown(each.text).split())
            if "(" in text and not each.members:
                found.setdefault(name_of(each.text), []).append((header, text.removesuffix(";")))
    return found


def c_page():
    """The C API: the header as it is, in parts."""
    text = (INCLUDE / "c.h").read_text()
    opening, rest = text.split("===*/\n", 1)
    opening = [line.removeprefix(" *").removeprefix(" ") for line in opening.splitlines()[1:-1]]
    first, *sections = re.split(
        r"^/\*-- (.*?) -*\*/\n", rest.split("#endif\n\n", 1)[-1], flags=re.M
    )
    lines = ["# The C API\n", "`#include <sectile/c.h>`\n"]
    code = []
    for line in opening:  # indented lines are code
        if line.startswith("  "):
            code.append(line[2:])
            continue
        if code:
            lines.append("```c\n" + "\n".join(code) + "\n```\n")
            code = []
        lines.append(line)
    parts = [("Results", first[first.index("/* Raised when") :])]
    parts += list(zip(sections[::2], sections[1::2]))
    for title, part in parts:
        part = part.split("#ifdef __cplusplus")[0].strip()
        lines.append(f"\n## {title}\n\n```c\n{part}\n```\n")
    return "\n".join(lines)


INTRODUCTION = """# The C++ API

`#include <sectile/sectile.h>` has all of it, in the namespace `sectile`; [C++](../guide/cpp.md) says how to build with it and what is written differently from Python. What an operation
computes, and for which shapes and dtypes, is the same in both languages: [the language](language.md).

The pages are made from the headers. A last parameter that every operation has is left out: the place of the call, for messages, which fills itself in.

| header | what |
|---|---|
"""


def write(folder):
    headers = {path.stem for path in INCLUDE.glob("*.h")}
    assert headers == {*PAGES, *WITHOUT_PAGE}, (
        "a header of include/sectile is not in the list of pages"
    )
    (folder / "reference/cpp").mkdir(parents=True, exist_ok=True)
    index = INTRODUCTION
    for name in PAGES:
        title, text = page(name)
        (folder / f"reference/cpp/{name}.md").write_text(text)
        index += f"| [`sectile/{name}.h`](cpp/{name}.md) | {title} |\n"
    index += "\n```{toctree}\n:hidden:\n\n" + "\n".join(f"cpp/{name}" for name in PAGES) + "\n```\n"
    (folder / "reference/cpp.md").write_text(index)
    (folder / "reference/c.md").write_text(c_page())
