"""Places in notebooks, as their reader knows them: ``Cell In[3]``, not the file in which IPython keeps the cell's text."""

from __future__ import annotations

import sys

# What IPython calls the text of a cell, in a terminal and in a notebook's kernel, which has files for debuggers; then a line.
_CANDIDATE = r"(<ipython-input[^>\n]*>|[^\s:<>]+\.py)(?=:\d)"


def cell_of(file: str) -> str:
    """Returns ``"Cell In[3]"`` for the name of the file of a cell; "" for any other file, and outside IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    name_of = getattr(getattr(shell, "compile", None), "format_code_name", None)
    found = name_of(file) if name_of else None  # ("Cell", "In[3]"), or None
    return " ".join(found) if found else ""


def with_cells(text: str) -> str:
    """Returns a message in which places in cells are called as `cell_of` calls them."""
    if "IPython" not in sys.modules:
        return text
    import re  # not at the top: it takes milliseconds

    return re.sub(_CANDIDATE, lambda match: cell_of(match[1]) or match[1], text)
