"""Docstrings as pages need them: cut into sections, and with Markdown in place of reStructuredText.

    doc = Docstring(tl.load.__doc__)
    doc.text                  # what stands before the first section
    doc.sections["Dtypes"]    # "any"
    doc.example               # a program without its imports

The sections of an operation of the language are `Args`, `Returns`, `Shapes`, `Dtypes`, `Errors` (or `Raises`), `Where`,
`Example` and `Source`. What a docstring does not say about shapes, dtypes and errors, the docstring of its module says for
all operations in it.
"""

import ast
import inspect
import re
import textwrap

SECTIONS = (
    "Args", "Attributes", "Returns", "Shapes", "Dtypes", "Errors", "Raises", "Where", "Example", "Source",
)  # fmt: skip
HEADING = re.compile(rf"^({'|'.join(SECTIONS)}):(?: (.*))?$")

#: What an example begins with; pages show it once.
PREAMBLE = "import numpy as np\nimport sectile as st\nimport sectile.language as tl\n\n\n"


class Docstring:
    def __init__(self, text):
        self.sections = {}
        lines = inspect.cleandoc(text or "").splitlines()
        before, name, body = [], None, []
        for line in [*lines, "Source:"]:
            heading = HEADING.match(line)
            if heading:
                if name:
                    self.sections[name] = "\n".join(body).strip("\n")
                name, first = heading.groups()
                body = [first] if first else []
                if name == "Source" and line == "Source:":
                    break
            elif name is None:
                before.append(line)
            else:
                body.append(line)
        self.text = "\n".join(before).strip()
        self.sections = {name: _dedented(text) for name, text in self.sections.items()}
        self.sections["Errors"] = self.sections.pop("Raises", "") or self.sections.get("Errors", "")

    @property
    def example(self):
        """The program of the example, as it stands in a file; "" where there is none."""
        body = self.sections.get("Example")
        return PREAMBLE + body + "\n" if body else ""

    @property
    def arguments(self):
        """Pairs of names and meanings, in the order of the docstring."""
        return entries(self.sections.get("Args", ""))


def _dedented(text):
    first, newline, rest = text.partition("\n")
    return (
        textwrap.dedent(text) if first.startswith(" ") else first + newline + textwrap.dedent(rest)
    )


def entries(text):
    """`name: meaning` of a section, whose meanings may go on in further lines that are indented."""
    found = []
    for line in text.splitlines():
        entry = re.match(r"([*\w, ]+): (.*)$", line)
        if entry and not line.startswith(" "):
            found.append([entry[1], entry[2]])
        elif found:
            found[-1][1] += " " + line.strip()
    return found


def markdown(text, link=lambda name: None):
    """Returns reStructuredText of docstrings as Markdown. `link` gives where a name in single backticks leads, or None."""
    blocks = []

    def keep(block):
        blocks.append(block)
        return f"\0{len(blocks) - 1}\0"

    # A paragraph that ends with two colons, and what is indented behind it.
    def literal(match):
        colon = "" if match[1] == "" else match[1] + ":"
        return f"{colon}\n\n" + keep(f"```text\n{textwrap.dedent(match[2]).strip()}\n```") + "\n"

    text = re.sub(r"^(.*?)::\n\n((?:(?:  .*)?\n)*(?:  .*)\n?)", literal, text + "\n", flags=re.M)

    def code(match):
        block = textwrap.dedent(match[1]).strip()
        language = "python" if is_python(block) else "text"
        return "\n\n" + keep(f"```{language}\n{block}\n```") + "\n\n"

    text = re.sub(r"(?:\A|\n)\n((?:    .*\n+)+)", code, text)
    text = re.sub(r"``(.+?)``", lambda m: keep(f"`{m[1]}`"), text, flags=re.S)
    text = re.sub(r"`([^`<]+?) <([^>`]+)>`_", r"[\1](\2)", text)

    def reference(match):
        target = link(match[1])
        return keep(f"[`{match[1]}`]({target})" if target else f"`{match[1]}`")

    text = re.sub(r"`([^`]+)`", reference, text)
    text = re.sub(r"(?<=\w)\*(?=\w)|(?<!\*)\*(?=\w+[,)])", r"\\*", text)
    return re.sub(r"\0(\d+)\0", lambda m: blocks[int(m[1])], text).strip()


def is_python(text):
    try:
        ast.parse(text)
    except SyntaxError:
        return text.startswith(("@", ">>>"))
    return True


def inline(text, link=lambda name: None):
    """The same in one line, for the cell of a table."""
    return " ".join(markdown(text, link).split()).replace("|", "\\|")


def signature(function, name):
    """Returns ``tl.load(pointer, mask=None)``, one parameter a line where it is long."""
    parameters = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        text = str(parameter)
        text = re.sub(r"(\w+\.)*Sequence\[", "Sequence[", text).replace("'", "")
        text = text.replace("sectile.language.", "tl.")
        parameters.append(text)
    returned = inspect.signature(function).return_annotation
    arrow = (
        "" if returned in (inspect.Signature.empty, None) else f" -> {str(returned).strip(chr(39))}"
    )
    line = f"{name}({', '.join(parameters)}){arrow}"
    if len(line) <= 88:
        return line
    return f"{name}(\n" + "".join(f"    {each},\n" for each in parameters) + f"){arrow}"
