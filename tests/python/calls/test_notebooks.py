"""In a notebook reports are tables, and errors name cells."""

import html.parser
import sys

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile._notebook import cell_of, with_cells

WRONG = """\
import numpy as np
import sectile as st
import sectile.language as tl

@st.jit
def wrong(x):
    tl.store(x + tl.arange(0, 8), tl.arange(0, 6))

@st.jit
def beyond(x):
    tl.store(x + tl.arange(0, 8), 1.0)

x = np.zeros(4, np.float32)
"""


@pytest.fixture(params=["terminal", "notebook"])
def shell(request, tmp_path, monkeypatch):
    """A shell of IPython, as in a terminal or with the names of cells that a notebook's kernel gives them."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    interactive = pytest.importorskip("IPython.core.interactiveshell", reason="needs IPython")
    shell = interactive.InteractiveShell.instance()
    shell.history_manager.enabled = False
    if request.param == "notebook":
        names = iter(range(100))
        shell.compile.get_code_name = lambda *_: str(tmp_path / f"ipykernel_1/{next(names)}.py")
    yield shell
    interactive.InteractiveShell.clear_instance()


def run(shell, text):
    """Runs a cell; returns its number, and the exception that ends it."""
    number = shell.execution_count
    result = shell.run_cell(text, store_history=True, silent=False)
    return number, result.error_before_exec or result.error_in_exec


def test_errors_name_cells(shell):
    cell, error = run(shell, WRONG)
    assert error is None
    _, error = run(shell, "wrong[(1,)](x)")
    assert isinstance(error, st.CompilationError)
    assert f"--> Cell In[{cell}]:7:5, in wrong\n" in str(error)
    assert "ipython-input" not in str(error) and "ipykernel" not in str(error)
    assert error.diagnostics[0].file != f"Cell In[{cell}]"  # where debuggers find the text

    _, error = run(shell, 'beyond[(1,)](x, check="bounds")')
    assert isinstance(error, st.OutOfBoundsError)
    assert f"--> Cell In[{cell}]:11:5, in beyond\n" in str(error)


def test_a_kernel_of_one_cell_that_calls_a_helper_of_another(shell):
    first, _ = run(shell, WRONG.replace("def wrong", "def helper"))
    second, _ = run(shell, "@st.jit\ndef kernel(x):\n    helper(x)\n")
    _, error = run(shell, "kernel[(1,)](x)")
    assert f"--> Cell In[{first}]:7:5, in helper\n" in str(error)
    assert f"called from Cell In[{second}]:3:5, in kernel\n" in str(error)


def test_reports_name_cells(shell):
    cell, _ = run(shell, WRONG.replace("np.zeros(4", "np.zeros(8"))
    run(shell, "beyond[(1,)](x); report = st.inspect(beyond)")
    (access,) = shell.user_ns["report"][0].accesses
    assert access.place == f"Cell In[{cell}]:11"


def test_other_files_are_called_as_they_are(shell):
    assert cell_of(__file__) == ""
    assert with_cells(f"  --> {__file__}:3:4, in f") == f"  --> {__file__}:3:4, in f"


def test_without_ipython_nothing_is_looked_for(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert cell_of("<ipython-input-1-abc>") == ""
    assert with_cells("<ipython-input-1-abc>:3:4") == "<ipython-input-1-abc>:3:4"


class Tags(html.parser.HTMLParser):
    """Cells of all tables, and whether every tag is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.urls = [], [], []
        self.feed(text)
        assert not self.open
        assert not self.urls, "it needs nothing but itself"

    def handle_starttag(self, tag, attributes):
        self.urls += [value for name, value in attributes if name in ("src", "href", "class")]
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in ("hr", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


@st.jit
def named(out, x, NAME: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + 2 * i))


def test_a_report_of_a_variant_is_a_table_of_its_facts():
    x = np.arange(32, dtype=np.float32)
    compiled = named[(1,)](np.empty(16, np.float32), x, NAME="<b>&", BLOCK=16)
    report = st.inspect(compiled)
    text = report._repr_html_()
    assert "<b>&amp;" not in text.replace("&lt;b&gt;&amp;", "") and "&lt;b&gt;&amp;" in text
    rows = Tags(text).rows
    assert ["signature", "out: *fp32:16, x: *fp32:16"] in rows
    assert rows.count(rows[0]) == 1
    accesses = [row for row in rows if row[0] in ("load", "store")]
    assert [row[0] for row in accesses] == [access.kind for access in report.accesses]
    assert all(row[2].startswith("test_notebooks.py:") for row in accesses)


def test_a_report_of_a_kernel_has_all_variants():
    @st.jit
    def fresh(x, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), 1.0)

    assert "no variant is compiled yet" in st.inspect(fresh)._repr_html_()
    x = np.empty(32, np.float32)
    for block in (16, 32):
        fresh[(1,)](x, BLOCK=block)
    text = st.inspect(fresh)._repr_html_()
    assert [row for row in Tags(text).rows if row[0] == "constants"] == [
        ["constants", "BLOCK=16"],
        ["constants", "BLOCK=32"],
    ]


def test_a_report_of_a_tuning_is_a_table_of_its_candidates():
    times = iter([2.0, 1.0])
    tuned = st.autotune(
        [st.Config({"BLOCK": block, "NAME": "<i>"}) for block in (16, 8)],
        key=[],
        verify=False,
        do_bench=lambda *_, **__: [next(times)] * 3,
    )(named)
    tuned[(1,)](np.empty(16, np.float32), np.empty(32, np.float32))
    report = tuned.tuning_report()
    text = report._repr_html_()
    assert "<i>" not in text
    rows = Tags(text).rows
    assert rows[0] == ["time", "", "of the best", "candidate", ""]
    assert [(row[0], row[2], row[3]) for row in rows[1:]] == [
        ("1 ms", "100%", "BLOCK: 8"),
        ("2 ms", "50%", "BLOCK: 16"),
    ]
    assert "width: 50.0%" in text
