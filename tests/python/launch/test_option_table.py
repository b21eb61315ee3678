"""Launch options: one table (backends/plain/CompileOptions.def), from which all that names them comes."""

import inspect
import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile import _native

pytestmark = pytest.mark.host

TABLE = {name: row for name, *row in _native.launch_options()}
#: Those that select a variant, with a value that is not the usual one.
UNUSUAL = {
    name: ("bounds" if kind == "check" else "strict" if kind == "choice" else not initial if kind == "flag" else 8 if name == "num_warps" else 2)
    for name, (kind, initial, *_) in TABLE.items()
    if kind != "keyword"
}  # fmt: skip
UNUSUAL |= {"maxnreg": 64, "matrix_instr_nonkdim": 16, "default_dot_input_precision": "ieee"}
#: Options of AMD's GPUs, which launches elsewhere leave out.
AMD = ("waves_per_eu", "matrix_instr_nonkdim")
#: Those that mean nothing without debug=True, where code is as without them.
OF_DEBUG = ("sanitize_overflow", "fatal_asserts")


def new_kernel():
    @st.jit
    def kernel(x, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + i, tl.load(x + i, i < n) + 1, i < n)

    return kernel


def warm(kernel, target="cuda:90", **options):
    return kernel.warmup(
        st.MockTensor(tl.float32), 100, BLOCK=64, grid=(1,), target=target, **options
    )


@pytest.mark.parametrize("name", UNUSUAL)
def test_a_variant_knows_each_option(name):
    kernel, other = new_kernel(), new_kernel()
    target = "hip:gfx942" if name in AMD else "cuda:90"
    usual = warm(kernel, target)
    compiled = warm(kernel, target, **{name: UNUSUAL[name]})
    if name in OF_DEBUG:
        asserting = warm(new_kernel(), target, debug=True, **{name: UNUSUAL[name]})
        assert getattr(asserting.metadata, name) == UNUSUAL[name]
    assert getattr(compiled.metadata, name) == UNUSUAL[name] or name in OF_DEBUG
    assert getattr(usual.metadata, name) == TABLE[name][1]
    variants = kernel.variants()
    assert [variant.options for variant in variants] == [{}, {name: UNUSUAL[name]}]
    assert variants[1].reason == f"{name}: {UNUSUAL[name]} instead of the usual"
    # What it says makes the same kernel again.
    again = other.precompile(variants)
    assert [each.hash for each in again] == [usual.hash, compiled.hash]
    assert sorted(str(each.options) for each in other.variants()) == sorted(
        str(each.options) for each in variants
    )


def test_precompiled_and_sealed_the_same_launch_is_accepted(tmp_path):
    program = """
        import sectile as st, sectile.language as tl

        def new_kernel():
            @st.jit
            def kernel(x, n, BLOCK: tl.constexpr):
                i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                tl.store(x + i, tl.load(x + i, i < n) + 1, i < n)
            return kernel

        def warm(kernel, **options):
            mock = st.MockTensor(tl.float32)
            return kernel.warmup(mock, 100, BLOCK=64, grid=(1,), target="cuda:90", **options)

        first = new_kernel()
        every = [dict(launch_cooperative_grid=True), dict(launch_pdl=True), dict(maxnreg=64),
                 dict(debug=True, sanitize_overflow=False), dict(check="bounds")]
        for options in every:
            warm(first, **options)
        second = new_kernel()
        second.precompile(first.variants())
        st.seal()
        for options in every:
            warm(second, **options)
        try:
            warm(second, launch_pdl=True, num_warps=8)
        except st.SectileError as error:
            print(str(error).splitlines()[0])
    """
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(program))
    result = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "SECTILE_CACHE_DIR": ""},
    )
    assert result.returncode == 0, result.stderr
    assert "sealed, and no variant fits: num_warps: 8 instead of 4" in result.stdout


def test_a_configuration_has_the_counts_of_the_table():
    parameters = inspect.signature(st.Config).parameters
    counts = {name: row[1] for name, row in TABLE.items() if row[0] == "count"}
    assert {name: parameters[name].default for name in counts} == counts
    assert set(parameters) - set(counts) == {"kwargs", "pre_hook", "ir_override"}
    config = st.Config({"BLOCK": 8}, **{name: UNUSUAL[name] for name in counts})
    assert config.all_kwargs() == {"BLOCK": 8, **{name: UNUSUAL[name] for name in counts}}


@st.jit
def product(a, b, out, PRECISION: tl.constexpr):
    i = tl.arange(0, 32)
    both = i[:, None] * 32 + i[None, :]
    tl.store(out + both, tl.dot(tl.load(a + both), tl.load(b + both), input_precision=PRECISION))


def precision_of(compiled):
    """What the product's operands are rounded to, as the kernel's IR has it; tf32 is not written."""
    found = re.search(r"tile\.dot .*precision = (\w+)", compiled.asm["tile"])
    return found.group(1) if found else "tf32"


@pytest.mark.parametrize("name", ["ieee", "bf16x3", "tf32x3", "bf16x6", "tf32"])
@pytest.mark.parametrize("own", [None, "ieee", "tf32"])
def test_products_that_name_no_precision_have_that_of_the_launch(name, own):
    kinds = dict.fromkeys("ab", "*fp32:16") | {"out": "*fp32:16"}
    with st.knobs.scope(keep_stages=True):
        made = st.compile(
            product, kinds, {"PRECISION": own}, "cuda:90", default_dot_input_precision=name
        )
    assert precision_of(made) == (own or name)


def test_products_that_name_no_precision_have_that_of_the_environment():
    kinds = dict.fromkeys("ab", "*fp32:16") | {"out": "*fp32:16"}
    named = [{"default_dot_input_precision": name} for name in ("bf16x3", "tf32", "default")]
    for name, given in zip(("ieee", "bf16x3", "tf32", "ieee"), ({}, *named), strict=True):
        with st.knobs.scope(keep_stages=True, default_dot_input_precision="ieee"):
            made = st.compile(product, kinds, {"PRECISION": None}, "cuda:90", **given)
        assert precision_of(made) == name
    with st.knobs.scope(keep_stages=True):
        made = st.compile(product, kinds, {"PRECISION": None}, "cuda:90")
    assert precision_of(made) == "tf32"


def test_products_are_exact_on_the_cpu_whatever_the_precision():
    kinds = dict.fromkeys("ab", "*fp32:16") | {"out": "*fp32:16"}
    made = [
        st.compile(product, kinds, {"PRECISION": None}, "cpu", default_dot_input_precision=name)
        for name in ("default", "ieee", "tf32")
    ]
    assert made[0] is made[1] is made[2]


def test_an_unknown_precision_lists_the_known():
    with pytest.raises(st.SectileError, match="not default, tf32, tf32x3, ieee, bf16x3 or bf16x6"):
        warm(new_kernel(), default_dot_input_precision="tf16")


def ignored(compiled):
    return [remark["text"] for remark in compiled.remarks if remark["kind"] == "option"]


def test_options_that_change_nothing_are_remarked():
    kernel = new_kernel()
    assert ignored(warm(kernel)) == []
    first = warm(kernel, waves_per_eu=2)
    assert ignored(first) == ["waves_per_eu: for AMD's GPUs, ignored"]
    again = warm(kernel, kpack=2, schedule_hint=None, waves_per_eu=3)
    assert again is first  # they select no variant
    assert ignored(first) == [
        "waves_per_eu: for AMD's GPUs, ignored",
        "kpack: of Triton's for AMD's GPUs, ignored",
    ]
    assert "kpack: of Triton's for AMD's GPUs, ignored" in str(st.inspect(first))
    assert ignored(warm(kernel, "hip:gfx942", waves_per_eu=2)) == []
    hints = [name for name, row in TABLE.items() if row[0] == "keyword" and "ignored" in row[-1]]
    assert len(hints) == 6
    assert [text.partition(":")[0] for text in ignored(warm(new_kernel(), **dict.fromkeys(hints, 1)))] == hints  # fmt: skip
    assert ignored(warm(new_kernel(), kpack=None, ptx_options="")) == []
    assert ignored(warm(kernel, "cpu", matrix_instr_nonkdim=16)) == [
        "matrix_instr_nonkdim: for AMD's GPUs, ignored"
    ]


def test_an_unknown_option_lists_all():
    with pytest.raises(st.ArgumentError) as raised:
        new_kernel()[(1,)](np.zeros(4, np.float32), 4, 4, num_wraps=4)
    assert "did you mean 'num_warps'?" in str(raised.value)
    assert "launch options are " + ", ".join(TABLE) in str(raised.value)


@pytest.mark.parametrize(
    "option, value, allowed",
    [
        ("num_warps", True, "a power of two from 1 to 64"),
        ("num_warps", 3, "a power of two from 1 to 64"),
        ("num_warps", 4.0, "a power of two from 1 to 64"),
        ("num_warps", 2**70, "a power of two from 1 to 64"),
        ("num_stages", True, "an int from 0 to 64"),
        ("maxnreg", False, "an int from 1 to 1024, or None"),
        ("maxnreg", 0, None),
        ("debug", "x", "True or False"),
        ("debug", 2, "True or False"),
        ("debug", [], "True or False"),
        ("enable_fp_fusion", "no", "True or False"),
        ("launch_pdl", 1.0, "True or False"),
    ],
)
def test_values_that_are_none(option, value, allowed):
    kernel, x = new_kernel(), np.zeros(4, np.float32)
    if allowed is None:
        kernel[(1,)](x, 4, 4, **{option: value})
        return
    with pytest.raises(st.ArgumentError) as raised:
        kernel[(1,)](x, 4, 4, **{option: value})
    assert str(raised.value) == f"kernel: {option} is {value!r}, not {allowed}"


@pytest.mark.parametrize("value", [True, np.True_, 1])
def test_what_may_stand_for_true(value):
    kernel, x = new_kernel(), np.zeros(4, np.float32)
    kernel[(1,)](x, 4, 4, debug=value, num_warps=np.int64(8), maxnreg=None, enable_fp_fusion=None)
    assert kernel.variants()[0].options == {"num_warps": 8, "debug": True}


def test_precompile_says_that_it_takes_targets():
    @st.jit
    def kernel(x):
        pass

    with pytest.raises(
        TypeError,
        match=r"kernel.precompile: unknown option 'target'; did you mean targets=\['cpu'\]",
    ):
        kernel.precompile({"x": "*fp32"}, target="cpu")
