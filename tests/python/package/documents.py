"""The code in the documents: blocks between fences, and texts between backticks in tables."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "tutorials/guide").glob("*.md"))]
#: Pages of the site alone. Their links are those of the site, which `./dev docs` checks.
SITE_PAGES = sorted((ROOT / "tutorials/site/pages").rglob("*.md"))
ERROR_INDEX = ROOT / "tutorials/site/pages/errors.md"
WRONG_KERNELS = ROOT / "tests/python/frontend/errors.txt"


def blocks(path, language):
    """The blocks of one language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.M | re.S)


def programs(path):
    """What a reader has who pastes the Python blocks of a page one after the other into a file; a block that imports
    Sectile begins another file."""
    programs = []
    for block in blocks(path, "python"):
        if "import sectile as st" in block or not programs:
            programs.append(block)
        else:
            programs[-1] += block
    return programs


def prose(path):
    """The text without code."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "", text)


def table_texts(path):
    """Texts between backticks in the rows of tables."""
    rows = [line for line in path.read_text().splitlines() if line.startswith("| ")]
    return [text for row in rows for text in re.findall(r"`([^`]+)`", row)]


def table_commands(path):
    return [text for text in table_texts(path) if text.startswith("sectile ")]


def table_variables(path):
    return [text for text in table_texts(path) if re.match(r"SECTILE_[A-Z_]+=", text)]


def table_messages(path):
    """Messages in the first columns of tables; `...` stands for any text."""
    rows = [line for line in path.read_text().splitlines() if line.startswith("| `")]
    return [re.match(r"\| `([^`]+)`", row)[1] for row in rows]
