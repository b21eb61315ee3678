"""Tables for notebooks: HTML that needs nothing but itself, with every text escaped."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_CELL = "text-align: left; vertical-align: top"


class Markup(str):
    """Text that is HTML already and is not escaped again."""


def escape(text: object) -> str:
    """`text` as HTML shows it, unless it is `Markup`."""
    if isinstance(text, Markup):
        return text
    plain = str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return plain.replace('"', "&quot;")


def heading(text: str) -> str:
    return f"<div><b>{escape(text)}</b></div>"


def table(rows: Iterable[Sequence[object]], headings: Sequence[str] = ()) -> str:
    """A table of cells, which are texts or `Markup`."""
    lines = ["<table>"]
    if headings:
        cells = "".join(f'<th style="{_CELL}">{escape(each)}</th>' for each in headings)
        lines.append(f"<thead><tr>{cells}</tr></thead>")
    lines.append("<tbody>")
    for row in rows:
        cells = "".join(f'<td style="{_CELL}">{escape(each)}</td>' for each in row)
        lines.append(f"<tr>{cells}</tr>")
    lines.append("</tbody></table>")
    return "\n".join(lines)


def bar(share: float, color: str) -> Markup:
    """A bar as wide as a share, from 0 to 1, of its cell."""
    width = 100 * min(max(share, 0.0), 1.0)
    return Markup(
        f'<div style="width: 12em"><div style="width: {width:.1f}%; background: {color}">&nbsp;</div></div>'
    )
