"""Hooks that hear of variants: `jit_cache_hook`, `jit_post_compile_hook`, `compilation.listener`."""

import json

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile import _native

pytestmark = pytest.mark.host


def make():
    @st.jit
    def kernel(x, n, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), n)

    return kernel


@pytest.fixture
def x():
    return np.zeros(64, np.float32)


@pytest.fixture
def heard():
    """What both hooks are told, in turn."""
    events = []
    with st.knobs.runtime.scope():
        st.knobs.runtime.jit_cache_hook = lambda **event: events.append(("cache", event))
        st.knobs.runtime.jit_post_compile_hook = lambda **event: events.append(("post", event))
        yield events


def test_what_hooks_are_told(heard, x):
    kernel = make()
    for _ in range(2):
        kernel[(1,)](x, 16, BLOCK=32, num_warps=8)
    assert (x[:32] == 16).all()
    assert [which for which, _ in heard] == ["cache", "post"]
    event = heard[0][1]
    assert event == heard[1][1]
    assert event["fn"].jit_function is kernel and event["fn"].module == __name__
    assert event["fn"].name == "make.<locals>.kernel"
    assert not event["is_manual_warmup"] and not event["already_compiled"]
    assert event["repr"] == (
        "make.<locals>.kernel[num_warps=8, num_stages=3, num_ctas=1, maxnreg=None, check=None, "
        "debug=False, sanitize_overflow=True, fatal_asserts=False, enable_fp_fusion=True, launch_cooperative_grid=False, "
        "launch_pdl=False, numerics=default, persistent=True, waves_per_eu=None, "
        "matrix_instr_nonkdim=None, default_dot_input_precision=default](x: *fp32, n: i32, BLOCK: constexpr)"
    )
    told = event["compile"]
    assert told["signature"] == {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    assert told["constants"] == {(2,): 32} and told["num_warps"] == 8
    assert told["configs"][0][(1,)] == [["tt.divisibility", 16]]
    assert event["key"] == told["key"] and event["key"] in kernel.device_caches["cpu:0"][0]


def test_each_variant_is_told_once(heard, x):
    kernel = make()
    for n in (1, 2, 4, 8, 16, 32):
        kernel[(1,)](x, n, BLOCK=32)
    assert len(heard) == 6
    assert heard[0][1]["compile"]["constants"] == {(1,): 1, (2,): 32}
    kernel.device_caches.clear()
    kernel[(1,)](x, 1, BLOCK=32)
    assert len(heard) == 8


def test_other_ways_to_have_a_variant(heard, x):
    kernel = make()
    kernel.warmup(tl.float32, 5, BLOCK=16, grid=(1,))
    assert heard[-1][1]["is_manual_warmup"] and heard[-1][1]["compile"]["is_warmup"]
    kernel.run(x, 5, grid=(1,), warmup=False, BLOCK=32)
    kernel[(1,)].bind(x, 5, BLOCK=64)()
    st.autotune([st.Config({"BLOCK": 8})], key=["n"])(kernel)[(1,)](x, 5)
    assert len(heard) == 8 and (x == 5).all()
    assert kernel[(7,)].grid == (7,)


def test_hooks_hear_of_tuples(heard, x):
    @st.jit
    def kernel(pair, n):
        tl.store(pair[0], n + pair[1][1])

    kernel[(1,)]((x, (None, 5, 1)), 7)
    told = heard[0][1]["compile"]
    assert told["signature"] == {"pair": ("*fp32", ("constexpr", "i32", "constexpr")), "n": "i32"}
    assert told["constants"] == {(0, 1, 0): None, (0, 1, 2): 1}
    assert [["tt.divisibility", 16]] not in told["configs"][0].get((1,), [])


def test_hooks_hear_before_the_launch(heard, x):
    kernel = make()

    def refuse(**event):
        raise RuntimeError(f"no more of {event['fn'].name}: {x[0]}")

    st.knobs.runtime.jit_post_compile_hook = refuse
    with pytest.raises(RuntimeError, match="no more of make.<locals>.kernel: 0.0"):
        kernel[(1,)](x, 16, BLOCK=32)
    assert not x.any()
    kernel[(1,)](x, 16, BLOCK=32)  # it is no longer new
    assert (x[:32] == 16).all() and len(heard) == 1


def test_hooks_hear_of_threads(heard):
    from concurrent.futures import ThreadPoolExecutor

    kernel = make()

    def launch(block):
        own = np.zeros(64, np.float32)
        kernel[(1,)](own, 3, BLOCK=block)
        return own.sum()

    blocks = [1, 2, 4, 8, 16, 32]
    with ThreadPoolExecutor(8) as pool:
        sums = list(pool.map(launch, blocks * 4))
    assert sums == [3 * block for block in blocks * 4]
    told = [event["compile"]["constants"][(2,)] for which, event in heard if which == "post"]
    assert set(told) == set(blocks) and len(told) == len(kernel.variants())


def test_hooks_are_functions():
    with pytest.raises(TypeError, match="jit_cache_hook takes a function or None, not 3"):
        st.knobs.runtime.jit_cache_hook = 3


def test_the_listener(x):
    events = []
    kernel = make()
    st.knobs.compilation.listener = lambda **event: events.append(event)
    try:
        st.clear_cache()
        kernel[(1,)](x, 123457, BLOCK=64, num_stages=7)
        kernel.clear()
        kernel[(1,)](x, 123457, BLOCK=64, num_stages=7)
    finally:
        del st.knobs.compilation.listener
    make()[(1,)](x, 5, BLOCK=64, num_stages=7)
    assert len(events) == 2 and events[1]["cache_hit"]
    assert events[0]["src"].fn is kernel and events[0]["metadata"]["name"] == "kernel"
    times = events[0]["times"]
    assert times.total == times.ir_initialization + times.total_lowering
    assert sum(time for _, time in times.lowering_stages) <= times.total
    assert events[0]["cache_hit"] == (times.total == 0)
    assert events[1]["times"].total == 0


@st.jit
def doubled(x):
    return x * 2


@st.jit
def described(x, y, n, pair, f: tl.constexpr, kind: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = f(tl.load(x + i, i < n)).to(kind) + pair[0] * pair[1]
    tl.store(y + i, value, i < n)


def described_arguments(size):
    x = np.arange(64, dtype=np.float32)
    return x, np.zeros(64, np.float32), size, (3, 5), doubled, tl.float32


@pytest.mark.skipif(bool(_native.gpu_devices()[0]), reason="it preloads for the GPU at hand")
@pytest.mark.parametrize("size", (1, 16, 33))
def test_variants_are_compiled_again_from_their_text(heard, size):
    x, y, *rest = described_arguments(size)
    first = described[(1,)](x, y, *rest, BLOCK=64, num_warps=2)
    (text,) = {event["compile"]["specialization_data"] for _, event in heard}
    described._forget()
    heard.clear()
    again = described.preload(text)
    assert again.metadata == first.metadata
    for _, event in heard:
        assert event["is_manual_warmup"]
        told = json.loads(event["compile"]["specialization_data"])
        assert {**told, "key": ""} == {**json.loads(text), "key": ""}
    heard.clear()
    described[(1,)](x, y, *rest, BLOCK=64, num_warps=2)
    assert not heard, "the launch found the variant"
    assert (y[:size] == 2 * x[:size] + 15).all() and not y[size:].any()


def test_texts_that_describe_no_variant_are_refused(heard, x):
    kernel = make()
    kernel[(1,)](x, 16, BLOCK=32)
    text = heard[0][1]["compile"]["specialization_data"]
    with pytest.raises(
        RuntimeError,
        match="Specialization data is for .*kernel but trying to preload for .*described",
    ):
        described.preload(text)
    for wrong in (
        "",
        "{}",
        "[1]",
        text.replace('"options"', '"choices"'),
        text.replace("[[2]]", "[[]]"),
    ):
        with pytest.raises(
            ValueError, match="kernel: preload: this is no description of a variant"
        ):
            kernel.preload(wrong)
    with pytest.raises(
        ValueError, match="kernel: preload: BLOCK is <object>, which a text cannot hold"
    ):
        kernel.preload(text.replace("[32]", '[{"no_text_for": "<object>"}]'))
    with pytest.raises(
        ValueError, match="BLOCK is the function gone of the module nowhere, which is not there"
    ):
        kernel.preload(text.replace("[32]", '[{"jit_function": "nowhere:gone"}]'))
