"""What the digest of a kernel covers: a change that could matter changes it, another does not."""

import textwrap
import types

import pytest

import sectile as st
from sectile.runtime import dependencies, source


def load(tmp_path, text, name="subject"):
    """A module made from `text`, in a file so that its source can be had."""
    path = tmp_path / f"{name}.py"
    path.write_text(textwrap.dedent(text))
    module = types.ModuleType(name)
    module.__file__ = str(path)
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    return module


SUBJECT = """
    import math
    import sectile as st
    import sectile.language as tl

    SIZE = tl.constexpr(4)
    TABLE = [1, 2]
    UNUSED = 1

    class Config:
        depth = 3

    @st.constexpr_function
    def double(n):
        return n * SIZE.value

    @st.jit
    def helper(x):
        return x * SIZE

    @st.jit
    def kernel(x):
        tl.store(x, helper(tl.load(x)) + double(2) + Config.depth + TABLE[0] + math.pi)
"""


def watches_hold(watches):
    now = []
    for kind, holder, name, expected in watches:
        if kind == "dict":
            now.append(holder.get(name) is expected)
        elif kind == "absent":
            now.append(name not in holder)
        elif kind == "cell":
            now.append(holder.cell_contents is expected)
        elif kind == "attribute":
            now.append(getattr(holder, name) is expected)
        elif kind == "function":
            now.append((holder.__code__, holder.__defaults__, holder.__kwdefaults__) == expected)
        else:
            assert kind == "items"
            flat = holder if isinstance(holder, list) else [x for i in holder.items() for x in i]
            now.append(len(flat) == len(expected) and all(a is b for a, b in zip(flat, expected)))
    return all(now)


def change_constant(module):
    module.SIZE = st.language.constexpr(5)


def change_constant_in_place(module):
    module.SIZE.value = 5


def change_list(module):
    module.TABLE.append(3)


def change_attribute(module):
    module.Config.depth = 4


def change_helper(module):
    module.helper = module.kernel


def change_function(module):
    module.double = lambda n: n


def change_foreign_module(module):
    module.math = types.SimpleNamespace(pi=3)


@pytest.mark.parametrize(
    "change",
    [
        change_constant,
        change_constant_in_place,
        change_list,
        change_attribute,
        change_helper,
        change_function,
        change_foreign_module,
    ],
)
def test_change_is_seen(tmp_path, change):
    module = load(tmp_path, SUBJECT)
    digest, watches, _ = module.kernel._snapshot()
    assert watches_hold(watches)
    change(module)
    assert not watches_hold(watches)
    assert module.kernel._snapshot()[0] != digest


def test_what_is_not_used_does_not_matter(tmp_path):
    module = load(tmp_path, SUBJECT)
    digest, watches, _ = module.kernel._snapshot()
    module.UNUSED = 2
    assert watches_hold(watches)
    assert module.kernel._snapshot()[0] == digest


def test_same_text_same_digest(tmp_path):
    assert load(tmp_path, SUBJECT).kernel.cache_key == load(tmp_path, SUBJECT).kernel.cache_key


def test_a_file_edited_after_it_was_loaded_changes_nothing(tmp_path):
    text = textwrap.dedent("""
        import sectile as st
        import sectile.language as tl

        @st.jit
        def helper(x):
            return x + 1

        @st.jit
        def kernel(out):
            tl.store(out, helper(6))
    """)
    module = load(tmp_path, text)
    (tmp_path / "subject.py").write_text("# a line more\n" + text.replace("x + 1", "x - 1"))
    compiled = st.compile(module.kernel, {"out": "*i32"}, target="cpu")
    assert "7 : i32" in compiled.asm["tile"] and "5 : i32" not in compiled.asm["tile"]


def test_text_of_a_helper_counts(tmp_path):
    first = load(tmp_path, SUBJECT).kernel.cache_key
    changed = SUBJECT.replace("return x * SIZE", "return x + SIZE")
    assert load(tmp_path, changed).kernel.cache_key != first


def test_shadowed_builtin(tmp_path):
    module = load(
        tmp_path,
        """
        import sectile as st
        @st.jit
        def kernel(x):
            for i in range(3):
                pass
        """,
    )
    digest, watches, _ = module.kernel._snapshot()
    module.range = reversed
    assert not watches_hold(watches)
    assert module.kernel._snapshot()[0] != digest


def test_closure(tmp_path):
    module = load(
        tmp_path,
        """
        import sectile as st
        import sectile.language as tl
        def make(n):
            n = tl.constexpr(n)
            @st.jit
            def kernel(x):
                tl.store(x, n)
            return kernel
        """,
    )
    assert module.make(1).cache_key != module.make(2).cache_key
    assert module.make(1).cache_key == module.make(1).cache_key


def test_mutually_recursive_helpers_end(tmp_path):
    module = load(
        tmp_path,
        """
        import sectile as st
        @st.jit
        def one(x):
            return two(x)
        @st.jit
        def two(x):
            return one(x)
        """,
    )
    assert module.one.cache_key != module.two.cache_key


def test_library_functions_are_not_followed(tmp_path):
    module = load(
        tmp_path,
        """
        import numpy as np
        import sectile as st
        @st.jit
        def kernel(x):
            np.sum, np.load, np.float32
        """,
    )
    digest, watches, _ = module.kernel._snapshot()
    assert len(watches) < 20


def test_constants_that_are_objects():
    import enum

    class Mode(enum.IntEnum):
        A = 1
        B = 2

    @st.jit
    def kernel(x):
        pass

    describe = dependencies.describe
    assert describe(kernel.fn, [Mode.A]) != describe(kernel.fn, [Mode.B])
    assert describe(kernel.fn, ["a"]) != describe(kernel.fn, ["b"])
    assert describe(kernel.fn, [Mode.A]) == describe(kernel.fn, [Mode.A])
    assert describe(kernel.fn, [object()]) == describe(kernel.fn, [object()])


BLOCKS = [
    ("def f():\n    pass\nx = 1\n", 2),
    ("@st.jit\ndef f():\n    pass\n\n\n@st.jit\ndef g(): pass\n", 3),
    ("@st.jit(\n    debug=True,\n)\ndef f(\n    a,\n    b,\n):\n    return a\n# end\nx = 1\n", 8),
    ('def f():\n    """\nnot the end\n"""\n    return 1\ny = 2\n', 5),
    ("def f():\n    x = '''\ny = 1\n''' + \"#\"\n    return x\nz = 1\n", 5),
    ("def f():\n    a = (1 +\n2)\n    return a\nz = 1\n", 4),
    ("def f():\n    a = 1 + \\\n2\n    return a\nz = 1\n", 4),
    ("def f(): return 1\ndef g(): return 2\n", 1),
    (
        "    def f():\n        pass\n\n# comment at the margin\n        # inside\n        x = 1\n    y = 2\n",
        6,
    ),
    ("def f():\n    s = 'it\\'s'  # don't (\n    return s\nz = (1\n)\n", 3),
    ("def f():\n    return 1", 2),
    ('def f():\n    s = f"{a["b"]}" if 0 else r"\\"\n    return s\nz = 1\n', 3),
]


@pytest.mark.parametrize("text, length", BLOCKS)
def test_extent_of_a_function(text, length):
    assert source.block_length(text.splitlines(keepends=True)) == length


def test_extent_agrees_with_inspect():
    """On every function of a large module of the standard library."""
    import argparse
    import inspect

    checked = 0
    for _, kind in inspect.getmembers(argparse, inspect.isclass):
        if kind.__module__ != "argparse":
            continue
        for _, fn in inspect.getmembers(kind, inspect.isfunction):
            if fn.__module__ != "argparse":
                continue
            expected = "".join(inspect.getsourcelines(fn)[0]).rstrip()
            assert "".join(source.source_lines(fn)[0]).rstrip() == expected
            checked += 1
    assert checked > 50


def test_no_source():
    scope = {"st": st}
    exec("@st.jit\ndef kernel(x):\n    pass\n", scope)
    with pytest.raises(OSError, match="the source of kernel is not available"):
        scope["kernel"].src
