"""Draws the pictures of the guide: `python tutorials/site/pictures.py` writes them into tutorials/guide/pictures.

They are small and kept in the repository, so that the guide has them wherever it is read. A test draws them anew and compares.
"""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "guide/pictures"

INK, PALE = "#222222", "#cccccc"
COLORS = ["#bcd7f0", "#f6d6a8", "#c8e6c0", "#e3c9ec"]


class Picture:
    def __init__(self, width, height):
        self.width, self.height = width, height
        self.parts = []

    def box(self, x, y, width, height, fill, text="", dashed=False):
        dash = ' stroke-dasharray="3 3"' if dashed else ""
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}" stroke="{INK}"{dash}/>'
        )
        if text:
            self.text(x + width / 2, y + height / 2 + 4, text)

    def text(self, x, y, text, anchor="middle", more=""):
        text = text.replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{more}>{text}</text>')

    def arrow(self, x1, y1, x2, y2):
        self.parts.append(
            f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{INK}" marker-end="url(#tip)"/>'
        )

    def svg(self):
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" font-family="sans-serif" font-size="13" fill="{INK}">'
        )
        tip = (
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            f'<path d="M0 0 L8 4 L0 8 z" fill="{INK}"/></marker></defs>'
        )
        ground = f'<rect width="{self.width}" height="{self.height}" fill="#ffffff"/>'
        return "\n".join([head, tip, ground, *self.parts, "</svg>"]) + "\n"


def programs():
    """An array of ten elements, three programs with a tile of four each."""
    picture = Picture(620, 200)
    size, left, top = 40, 110, 20
    picture.text(left - 12, top + 25, "array", "end")
    for element in range(10):
        picture.box(left + size * element, top, size, size, COLORS[element // 4], str(element))
    for program in range(3):
        x = left + size * 4 * program
        y = top + 92
        for place in range(4):
            element = 4 * program + place
            inside = element < 10
            picture.box(x + size * place + 2, y, size - 4, size - 4, COLORS[program] if inside else "#ffffff",
                        str(element), dashed=not inside)  # fmt: skip
            if inside:
                picture.arrow(
                    x + size * (place + 0.5), top + size + 2, x + size * (place + 0.5), y - 4
                )
        picture.text(x + 2 * size, y + 58, f"program {program}")
    picture.text(left - 12, top + 115, "tile i", "end")
    picture.text(608, top + 168, "masked: i < 10 is false", "end", ' font-style="italic"')
    return picture


def square():
    """A column of rows and a row of columns, which together are a square of offsets."""
    picture = Picture(560, 250)
    size, left, top = 40, 200, 60
    rows, columns = [0, 1, 2], [0, 1, 2, 3]
    picture.text(left + 2 * size, 24, "c[None, :]    1 x 4")
    picture.text(left - 100, top + 1.5 * size + 5, "r[:, None]", "middle")
    picture.text(left - 100, top + 1.5 * size + 22, "3 x 1", "middle")
    for c in columns:
        picture.box(left + size * c, 32, size, 24, COLORS[1], str(c))
    for r in rows:
        picture.box(left - 50, top + size * r + 4, 44, size, COLORS[0], f"{r}")
        for c in columns:
            picture.box(left + size * c, top + 4 + size * r, size, size, COLORS[2], str(r * 10 + c))
    picture.text(left + 2 * size, top + 3 * size + 32, "x + r[:, None] * 10 + c[None, :]")
    picture.text(
        left + 2 * size,
        top + 3 * size + 52,
        "3 x 4 addresses of an array whose rows are 10 elements apart",
    )
    return picture


def product():
    """One program of a matrix product: a strip of A, a strip of B, one tile of C."""
    picture = Picture(560, 330)
    left, top, m, n, k = 40, 140, 150, 210, 180
    bx, by = left + k + 40, 20
    picture.box(left, top, k, m, "#ffffff")
    picture.box(bx, by, n, top - by - 20, "#ffffff")
    picture.box(bx, top, n, m, "#ffffff")
    for step in range(4):
        picture.box(left + k // 4 * step, top + 50, k // 4, 50, COLORS[0], f"{step}")
        picture.box(bx + 70, by + 25 * step, 70, 25, COLORS[1], f"{step}")
    picture.box(bx + 70, top + 50, 70, 50, COLORS[2], "acc")
    picture.arrow(left + 6, top + 112, left + k - 6, top + 112)
    picture.arrow(bx + 152, by + 6, bx + 152, by + 94)
    picture.text(left + k / 2, top - 8, "A: M x K")
    picture.text(bx + n + 10, by + 50, "B: K x N", "start")
    picture.text(bx + n + 10, top + m / 2, "C: M x N", "start")
    picture.text(280, top + m + 26, "turn 0, 1, 2, 3 of the loop:  acc = tl.dot(a, b, acc)")
    return picture


DRAWN = {"programs": programs, "square": square, "product": product}

#: Pictures of `sectile layout`, by the description it is given.
LAYOUTS = {
    "layout-blocked": "blocked 16x64 f16 warps=4",
    "layout-accumulator": "accumulator 16x16 f16 warps=1",
    "layout-shared": "shared 8x64 f16 swizzle=128",
}


def layout(description):
    from sectile.tools.layout_svg import draw, layout_text

    return draw(layout_text([description]))


def main():
    FOLDER.mkdir(exist_ok=True)
    for name, picture in DRAWN.items():
        (FOLDER / f"{name}.svg").write_text(picture().svg())
    for name, description in LAYOUTS.items():
        (FOLDER / f"{name}.svg").write_text(layout(description))


if __name__ == "__main__":
    sys.exit(main())
