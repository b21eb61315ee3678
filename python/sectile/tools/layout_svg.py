"""``sectile layout --svg DESCRIPTION``: the table that ``sectile layout`` draws, as a picture.

    sectile layout --svg "accumulator 16x16 f16 warps=1" > layout.svg

A cell is a run of elements that one thread holds side by side, and has the color of its warp (where there is one warp, of its lane); in
shared memory it has the color of its bank.
"""

from __future__ import annotations

import re
import subprocess
import sys

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence

_CELL, _ROW, _LEFT, _TOP = 66, 22, 44, 46


class Table:
    """What the text says.

    Attributes:
        title: what is drawn, ``"tile 16x16: 1 warp of 32 lanes, 8 registers per lane"``.
        legend: what a cell says, ``"lane:registers of 2 neighbours"``.
        columns, rows: the numbers beside the table.
        cells: a list of texts for each row.
    """

    def __init__(self, text: str) -> None:
        lines = text.splitlines()
        start = next((i for i, line in enumerate(lines) if line.startswith("cells: ")), None)
        if start is None:
            raise ValueError(f"no table in the output of sectile layout:\n{text}")
        self.title = next(line for line in lines if re.match(r"tile |buffer ", line))
        self.legend = lines[start].removeprefix("cells: ")
        self.columns = lines[start + 1].partition("|")[2].split()
        self.rows: list[str] = []
        self.cells: list[list[str]] = []
        for line in lines[start + 2 :]:
            head, bar, rest = line.partition("|")
            if not bar or not head.strip().isdigit():
                break
            self.rows.append(head.strip())
            self.cells.append(rest.split())


def _color(cell: str, has_warps: bool) -> str:
    """The color of a cell: a hue for the warp or the bank, and shades for neighboring lanes."""
    offset, at, bank = cell.partition("@")
    if at:
        return _rgb(int(bank) / 32, 0.82, 0.65)
    holder = cell.partition(":")[0]
    warp, _, lane = holder.rpartition(".")
    if has_warps:
        return _rgb(int(warp) * 0.38 % 1, 0.76 + int(lane) % 4 * 0.05, 0.6)
    return _rgb(int(lane) % 8 / 8, 0.74 + int(lane) // 8 % 4 * 0.06, 0.6)


def _rgb(hue: float, lightness: float, saturation: float) -> str:
    from colorsys import hls_to_rgb

    return "#" + "".join(
        f"{round(255 * each):02x}" for each in hls_to_rgb(hue, lightness, saturation)
    )


def _text(x: float, y: float, text: str, more: str = "") -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f'<text x="{x:g}" y="{y:g}"{more}>{escaped}</text>'


def draw(text: str) -> str:
    """Returns the picture of what ``sectile layout`` printed.

    Raises:
        ValueError: there is no table in it.
    """
    table = Table(text)
    has_warps = any("." in cell.partition(":")[0] for row in table.cells for cell in row)
    width = (
        max(_LEFT + _CELL * len(table.columns), 7 * max(len(table.title), len(table.legend) + 7))
        + 8
    )
    height = _TOP + 20 + _ROW * len(table.rows) + 8
    middle = ' text-anchor="middle"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="12" fill="#222222">',
        _text(8, 16, table.title, ' font-weight="bold"'),
        _text(8, 33, f"cells: {table.legend}"),
    ]
    for column, number in enumerate(table.columns):
        lines.append(_text(_LEFT + _CELL * (column + 0.5), _TOP + 12, number, middle))
    for row, (number, cells) in enumerate(zip(table.rows, table.cells)):
        y = _TOP + 20 + _ROW * row
        lines.append(_text(_LEFT - 8, y + 15, number, ' text-anchor="end"'))
        for column, cell in enumerate(cells):
            x = _LEFT + _CELL * column
            lines.append(
                f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_ROW}" fill="{_color(cell, has_warps)}" stroke="#ffffff"/>'
            )
            lines.append(_text(x + _CELL / 2, y + 15, cell, middle))
    return "\n".join([*lines, "</svg>"]) + "\n"


def layout_text(arguments: Sequence[str]) -> str:
    """What ``sectile layout`` prints for these words.

    Raises:
        ValueError: it does not understand them.
    """
    done = subprocess.run(
        [sys.executable, "-m", "sectile", "layout", *arguments], capture_output=True, text=True
    )
    if done.returncode:
        raise ValueError(done.stderr.strip())
    return done.stdout


def main(arguments: list[str]) -> int:
    try:
        print(draw(layout_text([each for each in arguments if each != "--svg"])), end="")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return 0
