"""`sectile layout --svg` draws the table that `sectile layout` prints."""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from sectile.tools.layout_svg import Table, draw, layout_text

SVG = "{http://www.w3.org/2000/svg}"


def sectile(*words):
    return subprocess.run([sys.executable, "-m", "sectile", *words], capture_output=True, text=True)


@pytest.mark.parametrize(
    "description", ["accumulator 16x16 f16 warps=1", "blocked 16x64 f16 warps=4", "shared 8x64 f16"]
)
def test_every_cell_of_the_table_is_in_the_picture(description):
    done = sectile("layout", "--svg", description)
    assert done.returncode == 0, done.stderr
    picture = ElementTree.fromstring(done.stdout)
    texts = [text.text for text in picture.iter(f"{SVG}text")]
    table = Table(layout_text([description]))
    cells = [cell for row in table.cells for cell in row]
    assert len(cells) == len(table.rows) * len(table.columns) >= 32
    assert texts[-len(cells) - len(table.rows) :] == [
        text for number, row in zip(table.rows, table.cells) for text in (number, *row)
    ]
    assert len(list(picture.iter(f"{SVG}rect"))) == len(cells)


def test_cells_of_one_warp_differ_in_color_from_those_of_another():
    text = layout_text(["blocked 16x16 f32 warps=2"])
    boxes = ElementTree.fromstring(draw(text)).iter(f"{SVG}rect")
    colors = {"0": set(), "1": set()}
    for cell, box in zip((cell for row in Table(text).cells for cell in row), boxes):
        colors[cell.partition(".")[0]].add(box.get("fill"))
    assert colors["0"] and colors["1"]
    assert not colors["0"] & colors["1"]


def test_size_of_the_table_is_as_asked():
    table = Table(layout_text(["blocked 64x64 f16 warps=4", "--rows=4"]))
    assert len(table.rows) == 4


def test_what_is_not_understood_is_an_error_with_its_reason():
    done = sectile("layout", "--svg", "shaed 8x64")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'shaed' is not blocked" in done.stderr
    with pytest.raises(ValueError, match="no table in the output"):
        draw("nothing")
