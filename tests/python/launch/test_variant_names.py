"""`@jit(repr=...)`: what the code of a variant is called, and where that name is met."""

import os
import pickle
import subprocess
import sys
import textwrap
import uuid

import numpy as np
import pytest

import sectile as st
import sectile.language as tl

pytestmark = pytest.mark.host

TARGETS = ("cpu", "cuda:90", "hip:gfx942")


def named(name):
    """A kernel whose variants `name` calls by their specialisation, from one text."""

    @st.jit(repr=name)
    def fill(x, n, value, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), value, tl.arange(0, BLOCK) < n)

    return fill


def by_block(specialization):
    return f"fill_{specialization.constants['BLOCK']}"


@pytest.fixture
def x():
    return np.zeros(64, np.float32)


def warm(kernel, target="cpu", **options):
    x = st.MockTensor(tl.float32)
    return kernel.warmup(x, 20, 2.0, BLOCK=64, grid=(1,), target=target, **options)


@pytest.mark.parametrize("target", TARGETS)
def test_the_code_has_the_name(target):
    compiled = warm(named(by_block), target)
    assert compiled.name == compiled.metadata.name == "fill_64"
    assert repr(compiled) == f"<CompiledKernel fill_64 for {compiled.metadata.target}>"
    assert "func.func @fill_64(" in compiled.asm["tile"]
    if target == "cuda:90":
        assert ".visible .entry fill_64(" in compiled.asm["ptx"]
    else:  # the symbol of an ELF file
        binary = compiled.asm["hsaco" if target.startswith("hip") else "so"]
        assert b"\0fill_64\0" in binary and b"\0fill\0" not in binary
    assert pickle.loads(pickle.dumps(compiled._code)).name == "fill_64"
    # Without repr it is called as the function is.
    usual = warm(named(None), target)
    assert usual.name == "fill" and "func.func @fill(" in usual.asm["tile"]


@pytest.mark.parametrize("target", TARGETS[1:])
def test_all_stages_have_the_name(target):
    with st.knobs.scope(keep_stages=True):
        stages = warm(named(by_block), target).asm
        assert "@fill_64(" in stages["llvm"] and "@fill_64(" in stages["llvm-optimized"]


def test_what_repr_is_given(x):
    seen = []

    def note(specialization):
        seen.append(specialization)
        return "noted"

    @st.jit(repr=note)
    def kernel(x, n, one, pair, nothing, DTYPE: tl.constexpr, BLOCK: tl.constexpr):
        tl.store(x, n + one + pair[0])

    kernel[(1,)](x, 16, 1, (2.0, 1, (x, None)), None, DTYPE=tl.float32, BLOCK=64)
    (specialization,) = seen
    assert specialization.constants == {"one": 1, "nothing": None, "DTYPE": tl.float32, "BLOCK": 64}
    assert list(specialization.constants) == ["one", "nothing", "DTYPE", "BLOCK"]
    assert specialization.signature == {
        "x": "*fp32",
        "n": "i32",
        "one": "constexpr",
        "pair": ("fp32", "constexpr", ("*fp32", "constexpr")),
        "nothing": "constexpr",
        "DTYPE": "constexpr",
        "BLOCK": "constexpr",
    }
    constants, signature = specialization  # a named tuple, as in Triton
    assert (constants, signature) == (specialization.constants, specialization.signature)


def test_a_text_is_itself(x):
    @st.jit(repr=lambda s: f"fill_{s.constants['mode']}_{s.constants['MODE']}")
    def kernel(x, mode, MODE: tl.constexpr):
        tl.store(x, 1 if mode == "fast" else 2)

    assert kernel[(1,)](x, "fast", "relu").name == "fill_fast_relu"


def test_repr_is_called_once_for_each_variant(x):
    calls = []

    def count(specialization):
        calls.append(specialization.constants["BLOCK"])
        return by_block(specialization)

    fill = named(count)
    for _ in range(3):
        for block in (32, 64):
            fill[(1,)](x, 20, 2.0, BLOCK=block)
    fill.bind(x, 20, 2.0, BLOCK=64, grid=(1,))()
    assert calls == [32, 64]
    assert [variant.compiled.name for variant in fill.variants()] == ["fill_32", "fill_64"]


def test_the_name_is_behind_the_last_dot():
    assert warm(named(lambda s: f"package.module.fill_{s.constants['BLOCK']}")).name == "fill_64"
    assert warm(named(lambda s: "füllen_64"), "cuda:90").name == "füllen_64"
    # As the default is in Triton.
    fill = named(None)
    assert fill.repr(None) == f"{__name__}.named.<locals>.fill"
    fill.repr = lambda specialization: "other.fill_it"  # what replaces the method counts, too
    assert warm(fill).name == "fill_it"


def no_name(specialization):
    return returned


returned = None


NO_NAMES = (
    "fill-64",
    "",
    "64",
    "fill_0.5",
    "package.",
    "fill 64",
    "fill\n",
    "a\0b",
    "\ud800",
    5,
    None,
    b"fill",
)


@pytest.mark.parametrize("text", NO_NAMES)
def test_what_is_no_name(text, x):
    global returned
    returned = text
    with pytest.raises(st.CompilationError) as caught:
        named(no_name)[(1,)](x, 20, 2.0, BLOCK=64)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message == (
        f"fill: repr returned {text!r}, which is no name for the code of a variant"
    )
    line = no_name.__code__.co_firstlineno
    assert (diagnostic.file, diagnostic.line, diagnostic.function) == (__file__, line, "no_name")
    assert "def no_name(specialization):" in str(caught.value)
    assert "help: return a text of letters, digits and underscores" in str(caught.value)
    # The next launch asks again.
    returned = "fill_it"
    assert warm(named(no_name)).name == "fill_it"


def test_an_object_that_is_called():
    class Namer:
        def __call__(self, specialization):
            return "x-y"

    with pytest.raises(st.CompilationError, match="repr returned 'x-y'") as caught:
        warm(named(Namer()))
    assert "@st.jit(repr=name)" in str(caught.value)  # the kernel's own place


def test_what_repr_raises_is_not_changed(x):
    fill = named(lambda s: s.constants["BLOK"])
    with pytest.raises(KeyError, match="BLOK"):
        fill[(1,)](x, 20, 2.0, BLOCK=64)
    assert fill.variants() == []


def test_one_text_with_two_names(x):
    """Neither of the caches mistakes one for the other, and code without a name keeps its key."""
    names = (by_block, lambda s: "other", None, lambda s: "fill")
    compiled = []
    for name in names:
        kernel = named(name)
        result = kernel[(1,)](x, 20, 2.0, BLOCK=64)
        compiled.append((result.name, kernel.variants()[0].origin))
    assert [name for name, _ in compiled] == ["fill_64", "other", "fill", "fill"]
    assert compiled[3][1] == "memory"  # the function's own name


PROGRAM = """
    import sys
    import numpy as np
    import sectile as st
    import sectile.language as tl

    @st.jit(repr=(lambda s: sys.argv[1]) if sys.argv[1:] else None)
    def fill(x, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), 1)

    compiled = fill[(1,)](np.zeros(64, np.float32), BLOCK=64)
    print(compiled.name, fill.variants()[0].origin)
"""


def test_the_cache_on_disk_knows_the_name(tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))

    def run(*words):
        return subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path,
            env={**os.environ, "SECTILE_CACHE_DIR": str(tmp_path / "cache")},
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    assert run("program.py", "first") == "first compiled\n"
    assert run("program.py", "second") == "second compiled\n"
    assert run("program.py", "first") == "first disk\n"
    assert run("program.py") == "fill compiled\n"
    listed = run("-m", "sectile", "cache", "ls")
    assert "fill (first)  x86_64" in listed and "fill  x86_64" in listed
    assert '"kernel": "fill", "name": "second"' in run("-m", "sectile", "cache", "ls", "--json")


def test_events_and_hooks(x):
    events, launches = [], []
    name = f"heard_{uuid.uuid4().hex}"  # not on disk: an event is a compile
    st.set_compile_listener(events.append)

    def hook(metadata):
        launches.append(metadata.get()["name"])

    st.knobs.runtime.launch_enter_hook.add(hook)
    try:
        named(lambda s: name)[(1,)](x, 20, 2.0, BLOCK=64)
    finally:
        st.set_compile_listener(None)
        st.knobs.runtime.launch_enter_hook.remove(hook)
    assert [(event.kernel, event.name) for event in events] == [("fill", name)]
    assert launches == [name]


def test_messages_name_the_function(x):
    fill = named(by_block)
    compiled = fill[(1,)](x, 20, 2.0, BLOCK=64)
    with pytest.raises(st.ArgumentError, match="^fill: "):
        compiled.launch((1,), x)
    with pytest.raises(st.ArgumentError, match="^fill: grid axis"):
        fill[(-1,)](x, 20, 2.0, BLOCK=64)


def test_archives_find_what_has_a_name(x):
    """They go by the function's name, of which the variants are."""
    fill = named(by_block)
    kinds = {"x": "*fp32:16", "n": "i32", "value": "fp32", "BLOCK": [32, 64]}
    export = st.aot.Export(fill, [kinds], {}, None, {})
    archive = st.aot.load(st.aot.build([export], ["cpu:x86-64-v2"]).archive)
    assert list(archive) == ["fill"] and len(archive.fill.variants()) == 2
    archive.fill[(1,)](x, 20, 2.0, BLOCK=64)
    assert x.sum() == 40
