"""What the site makes of docstrings and headers; `./dev docs` builds it, and takes a warning for an error."""

import re
import sys

import pytest
from documents import ROOT

sys.path.insert(0, str(ROOT / "tutorials/site"))

import cpp_reference  # noqa: E402 - found through the line above
import generated_pages  # noqa: E402
import pictures  # noqa: E402
import python_reference  # noqa: E402
from build_site import CODE, LINK, pages_of_the_repository, stage, with_sections  # noqa: E402
from docstrings import Docstring, markdown  # noqa: E402

HEADER = """
#pragma once
namespace sectile {
namespace detail {
inline int hidden(int x) { return x; }
} // namespace detail

/// Adds `x` to itself.
///   twice(3)
inline Value twice(const Operand &x, std::optional<int> count = {},
                   Operand::Where where = Operand::Where::current()) {
  return call("{", x);
}
#define SECTILE_UNARY(name)                    \\
  inline Value name(const Operand &x,          \\
                    Operand::Where where = Operand::Where::current()) { return call(#name, x); }
SECTILE_UNARY(exp) // e to the power of x
SECTILE_UNARY(log)
#undef SECTILE_UNARY

/// A place.
class Place {
public:
  Place(int x) : x{x}, y(x) {}
  /// Where it is.
  int where() const { return x; }

private:
  int x, y;
};
int Place::where() const;
} // namespace sectile
"""


def test_public_declarations_of_a_header_and_their_comments():
    found = cpp_reference.Reader(HEADER).read()
    assert [cpp_reference.name_of(each.text) for each in found] == ["twice", "exp", "log", "Place"]
    twice, exp, _, place = found
    assert cpp_reference.shown(twice.text) == (
        "Value twice(const Operand &x, std::optional<int> count = {});"
    )
    assert twice.comment == ["Adds `x` to itself.", "  twice(3)"]
    assert cpp_reference.line_of(exp) == "Value exp(const Operand &x); // e to the power of x"
    assert [cpp_reference.shown(each.text) for each in place.members] == [
        "Place(int x);",
        "int where() const;",
    ]
    assert "```cpp\ntwice(3)\n```" in cpp_reference.part(found)


@pytest.mark.parametrize("name", cpp_reference.PAGES)
def test_a_page_of_every_header_has_declarations_and_no_rest_of_a_body(name):
    _, text = cpp_reference.page(name)
    blocks = re.findall(r"^```cpp\n(.*?)^```$", text, re.M | re.S)
    assert len(blocks) > 1
    for line in "".join(blocks[1:]).splitlines():  # the first is the example of the header
        assert not re.match(
            r"\s*([,:]|}(?!;))|[^/]*(SECTILE_(?!(?:CPU|OK|F16|UNKNOWN_BYTES)\b)|#)", line
        ), line


def test_the_cpp_pages_have_the_operations():
    text = "".join(cpp_reference.page(name)[1] for name in cpp_reference.PAGES)
    for name in (
        "load",
        "store",
        "atomic_add",
        "dot",
        "sum",
        "exp",
        "arange",
        "reshape",
        "sort",
        "loop",
    ):
        assert re.search(rf"\b{name}\(", text), name


DOCSTRING = """Does something with `load`, as ``x[0]`` says::

    tl.f(x)

Args:
    x: a tile, which goes on
        in the next line.
    *y: more of them.

Dtypes: any.
Raises:
    CompilationError: never.

Example:
    print(1)  # 1
"""


def test_a_docstring_is_cut_into_sections():
    doc = Docstring(DOCSTRING)
    assert doc.arguments == [
        ["x", "a tile, which goes on in the next line."],
        ["*y", "more of them."],
    ]
    assert doc.sections["Dtypes"] == "any."
    assert doc.sections["Errors"] == "CompilationError: never."
    assert doc.example.endswith("print(1)  # 1\n")
    assert markdown(doc.text, {"load": "memory.md"}.get) == (
        "Does something with [`load`](memory.md), as `x[0]` says:\n\n```text\ntl.f(x)\n```"
    )


def test_sections_of_other_pages_are_included_with_links_that_hold(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/home.md").write_text("# A\n\n## One\n\nSee [b](b.md).\n\n## Two\n\nno\n")
    text = with_sections("<!-- section a/home.md: One -->\n", tmp_path / "page.md")
    assert text == "See [b](a/b.md).\n"
    with pytest.raises(SystemExit, match="has none"):
        with_sections("<!-- section a/home.md: Three -->\n", tmp_path / "page.md")


def test_links_of_the_staged_pages_lead_to_pages(tmp_path):
    """Sphinx looks after anchors, too, where it is installed."""
    stage(tmp_path)
    pages = sorted(tmp_path.rglob("*.md"))
    assert len(pages) > 80
    for page in pages:
        for part in CODE.split(page.read_text())[::2]:
            for _, target, _, _ in LINK.findall(part):
                if target and "://" not in target:
                    assert (page.parent / target).exists(), (
                        f"{page.relative_to(tmp_path)}: {target}"
                    )


def test_every_program_and_page_has_a_name_of_its_own():
    names = list(pages_of_the_repository().values())
    assert len(set(names)) == len(names) - 1  # README.md is the home page, too
    for path in generated_pages.programs():
        assert generated_pages.text_of(path).startswith("# ")


def test_pictures_of_the_guide_are_what_the_program_draws():
    for name, picture in pictures.DRAWN.items():
        assert (pictures.FOLDER / f"{name}.svg").read_text() == picture().svg(), name
    for name, description in pictures.LAYOUTS.items():
        assert (pictures.FOLDER / f"{name}.svg").read_text() == pictures.layout(description), name
    known = {f"{name}.svg" for name in (*pictures.DRAWN, *pictures.LAYOUTS)}
    assert {path.name for path in pictures.FOLDER.iterdir()} == known


def test_every_environment_variable_is_on_the_page():
    from sectile import knobs

    page = python_reference.environment()
    for name, *_ in knobs.table():
        assert f"| `{name}` |" in page


def test_every_public_name_of_python_is_on_the_page():
    import sectile

    page = python_reference.python_api()
    for name in sectile.__all__:
        value = getattr(sectile, name)
        if isinstance(value, str) or type(value).__name__ == "module" or name == "TritonError":
            continue
        assert f"### `sectile.{name}`" in page, name


def test_every_command_is_shown_with_its_output():
    from sectile import _native

    commands = [name for name, _, _ in _native.commands() if not name.startswith("--")]
    assert set(python_reference.SAMPLES) == set(commands)
