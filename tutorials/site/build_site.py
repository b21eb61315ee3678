"""Builds the documentation site: `./dev docs` runs this.

    python tutorials/site/build_site.py build/docs

Pages are written for readers of the repository, so they lie where they belong and link to one another by their
paths there. This program copies them into one folder (`build/docs/source`), adds the pages that are made from
docstrings, headers, tables and programs, lets every link lead to the page that its target became, and calls Sphinx.
A warning, a link that leads nowhere among them, is an error.

    build/docs/source   what Sphinx reads
    build/docs/html     the site
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
sys.path.insert(0, str(SITE))

import generated_pages  # noqa: E402 - found through the line above

# Files of the repository that are pages of the site: where each lies, and the page's name. Pages of the guide and of
# `tutorials/site/pages` are pages by the same name.
PAGES = {
    "tutorials/README.md": "lessons/index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}

CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.M | re.S)
LINK = re.compile(r"(\]\()([^)\s#]*)(#[^)\s]*)?(\))")


def pages_of_the_repository():
    """Returns the path of each file that is a page, and the page's name."""
    pages = {ROOT / path: name for path, name in PAGES.items()}
    for path in sorted((ROOT / "tutorials/guide").glob("*.md")):
        pages[path] = f"guide/{path.name}"
    for path in sorted((SITE / "pages").rglob("*.md")):
        pages[path] = str(path.relative_to(SITE / "pages"))
    for path in sorted((ROOT / "benchmarks/results").glob("*.md")):
        pages[path] = f"benchmarks/{path.name}"
    pages[ROOT / "README.md"] = "index.md"  # which has the same first sections
    for path in generated_pages.programs():
        pages[path] = generated_pages.page_of_program(path)
    return pages


def with_links_of_the_site(text, path, name, pages, folder):
    """Returns the text of the page `name`, made from the file at `path`, with links that lead to other pages.

    A link to a file that is no page becomes a link to a copy of that file. Links in code are code.
    """

    def lead(match):
        start, target, anchor, end = match.groups()
        if not target or "://" in target or target.startswith("mailto:"):
            return match[0]
        file = (path.parent / target).resolve()
        file = {
            ROOT / "benchmarks/results": SITE / "pages/benchmarks/index.md",
            ROOT / "tutorials/examples": SITE / "pages/examples/index.md",
        }.get(file, file)
        if file not in pages:
            if not file.is_file():
                return match[0]  # Sphinx reports it
            copy = f"files/{file.relative_to(ROOT)}" + ("" if file.suffix == ".svg" else ".txt")
            (folder / copy).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, folder / copy)
            return f"{start}{relative(copy, name)}{end}"
        return f"{start}{relative(pages[file], name)}{anchor or ''}{end}"

    parts = CODE.split(text)
    parts[::2] = [LINK.sub(lead, part) for part in parts[::2]]
    return "".join(parts)


def relative(target, name):
    return os.path.relpath(target, Path(name).parent)


def with_sections(text, path):
    """Returns the text with sections of other files in it.

    `<!-- section FILE: HEADING -->` is replaced by the section of that file, `<!-- docstring FILE -->` by the docstring of that module.
    """

    def docstring(match):
        return f"```text\n{ast.get_docstring(ast.parse((path.parent / match[1]).read_text()))}\n```"

    def section(match):
        file, heading = (path.parent / match[1]).resolve(), match[2]
        found = re.search(
            rf"^(#+) {re.escape(heading)}\n(.*?)(?=^#{{1,2}} |\Z)", file.read_text(), re.M | re.S
        )
        if not found:
            sys.exit(f"error: {path} includes section {heading!r} of {file}, which has none")
        return with_links_moved(found[2].strip(), file, path)

    text = re.sub(r"^<!-- docstring (\S+) -->$", docstring, text, flags=re.M)
    return re.sub(r"^<!-- section (\S+): (.*?) -->$", section, text, flags=re.M)


def with_links_moved(text, old, new):
    """Returns text of the file `old` with links that hold in the file `new`."""

    def move(match):
        start, target, anchor, end = match.groups()
        if "://" in target:
            return match[0]
        file = (old.parent / target).resolve() if target else old
        return f"{start}{os.path.relpath(file, new.parent)}{anchor or ''}{end}"

    parts = CODE.split(text)
    parts[::2] = [LINK.sub(move, part) for part in parts[::2]]
    return "".join(parts)


def stage(folder):
    """Fills `folder` with what Sphinx reads."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pages = pages_of_the_repository()
    for path, name in pages.items():
        if path == ROOT / "README.md":
            continue
        text = generated_pages.text_of(path)
        text = with_links_of_the_site(with_sections(text, path), path, name, pages, folder)
        write(folder / name, text)
    generated_pages.write_all(folder)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--external", action="store_true", help="follow links to other sites, too")
    arguments = parser.parse_args()
    output = arguments.output.resolve()
    stage(output / "source")
    sphinx = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto", "-c", str(SITE)]
    doctrees = ["-d", str(output / "doctrees")]
    status = subprocess.run([*sphinx, "-b", "html", *doctrees, output / "source", output / "html"])
    if not status.returncode and arguments.external:
        status = subprocess.run(
            [*sphinx, "-b", "linkcheck", *doctrees, output / "source", output / "links"]
        )
    return status.returncode


if __name__ == "__main__":
    sys.exit(main())
