"""The pages that nobody writes: lessons and examples from their programs, references from docstrings, headers and tables."""

import ast
import re
from pathlib import Path

import cpp_reference
import language_reference
import python_reference
import wrong_kernels

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = ROOT / "tutorials"


def programs():
    """Returns the programs that have a page each."""
    return [
        *sorted(TUTORIALS.glob("[0-9]*.py")),
        *sorted(TUTORIALS.glob("cpp/[0-9]*.cpp")),
        *sorted(TUTORIALS.glob("examples/[0-9]*.py")),
    ]


def page_of_program(path):
    """Returns the name of a program's page."""
    folder = "examples" if path.parent.name == "examples" else "lessons"
    return f"{folder}/{path.stem}{'-cpp' if path.suffix == '.cpp' else ''}.md"


def text_of(path):
    """Returns the text of a page, made from a file of the repository."""
    if path.suffix == ".py":
        return page_of_python(path)
    if path.suffix == ".cpp":
        return page_of_cpp(path)
    text = path.read_text()
    if path == TUTORIALS / "README.md":  # the list of its pages for the site's menu
        text += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"
    return text


def page_of_python(path):
    """The docstring of a program is the text of its page, what follows is shown."""
    source = path.read_text()
    docstring = ast.get_docstring(ast.parse(source), clean=False)
    code = source[source.index('"""', source.index('"""') + 3) + 3 :].strip()
    title, _, text = docstring.partition("\n")
    page = f"# {title.rstrip('.')}\n\n{text.strip()}\n\n```python\n{code}\n```\n"
    if (path.parent / "cpp" / f"{path.stem}.cpp").exists():
        page += f"\n[The same lesson in C++]({path.stem}-cpp.md)\n"
    # Further files of an example lie in folders that have its number.
    for file in sorted(path.parent.glob(f"{path.stem[:2]}_*/*")):
        language = {".cpp": "cpp", ".txt": "cmake"}[file.suffix]
        page += f"\n`{file.relative_to(path.parent)}`:\n\n```{language}\n{file.read_text().strip()}\n```\n"
    return page


def page_of_cpp(path):
    """The comment at the head of a program is the text of its page."""
    source = path.read_text()
    lines = source.splitlines()
    head = 0
    while head < len(lines) and lines[head].startswith("//"):
        head += 1
    comment = [re.sub(r"^// ?", "", line) for line in lines[:head]]
    title = re.sub(r"^[=\- ]*(?:\S+\.cpp - )?|[=\-/ ]*$", "", comment[0])
    text = "\n".join(comment[1:]).strip()
    code = "\n".join(lines[head:]).strip()
    page = f"# {title[0].upper()}{title[1:].rstrip('.')} (C++)\n\n{text}\n\n```cpp\n{code}\n```\n"
    return page + f"\n[The same lesson in Python]({path.stem}.md)\n"


def write_all(folder):
    """Writes the pages that are made from more than one file."""
    language_reference.write(folder)
    python_reference.write(folder)
    cpp_reference.write(folder)
    wrong_kernels.write(folder)
