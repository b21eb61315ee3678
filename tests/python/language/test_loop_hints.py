"""What tl.range's hints do, and what the compiler answers to those it does not follow."""

import re

import numpy as np
import pytest

import sectile as st
import sectile.language as tl


@st.jit
def product(a, b, c, K, STAGES: tl.constexpr):
    i = tl.arange(0, 64)[:, None]
    j = tl.arange(0, 64)[None, :]
    acc = tl.zeros((64, 64), tl.float32)
    for k in tl.range(0, K, 64, num_stages=STAGES):
        acc = tl.dot(tl.load(a + i * K + j + k), tl.load(b + (i + k) * 64 + j), acc)
    tl.store(c + i * 64 + j, acc)


def remarks(kernel, *arguments, target="cuda:90", **options):
    compiled = kernel.warmup(*arguments, grid=(1,), target=target, **options)
    return [(remark.kind, remark.text) for remark in st.inspect(compiled).remarks]


@pytest.mark.host
@pytest.mark.parametrize("stages", [2, 3, 5])
def test_num_stages_of_a_loop(stages):
    said = remarks(product, tl.float16, tl.float16, tl.float32, 1024, stages, target="cuda:80")
    ahead = f"{stages - 1} iteration{'s' * (stages != 2)} ahead"
    texts = [text for kind, text in said if kind == "pipelined"]
    assert len(texts) == 2
    assert all(f"through {stages} stages" in text and ahead in text for text in texts), texts


@pytest.mark.host
def test_num_stages_of_a_loop_goes_before_that_of_the_launch():
    said = remarks(product, tl.float16, tl.float16, tl.float32, 1024, 1, num_stages=4)
    assert ("not-pipelined", "num_stages is 1") in said
    assert not [text for kind, text in said if kind == "pipelined"]


@st.jit
def wishes(x, n):
    for i in tl.range(0, n, flatten=True, warp_specialize=True, disallow_acc_multi_buffer=True):
        tl.store(x + i, i)


@pytest.mark.host
@pytest.mark.parametrize("target", ["cuda:80", "cpu"])
def test_what_is_not_followed_is_answered(target):
    said = remarks(wishes, tl.int32, 100, target=target)
    for name in ("flatten", "warp_specialize", "disallow_acc_multi_buffer"):
        assert [text for kind, text in said if kind == "hint" and text.startswith(name + ": ")]
    report = st.inspect(wishes.warmup(tl.int32, 100, grid=(1,), target=target))
    assert "flatten: nested loops stay nested" in str(report)


@st.jit
def imprecise(a, c, MOST: tl.constexpr):
    i = tl.arange(0, 64)[:, None]
    j = tl.arange(0, 64)[None, :]
    x = tl.load(a + i * 64 + j)
    tl.store(c + i * 64 + j, tl.dot(x, x, max_num_imprecise_acc=MOST))


@pytest.mark.host
@pytest.mark.parametrize("target", ["cuda:90", "cpu"])
def test_max_num_imprecise_acc_is_answered(target):
    for most, is_answered in (32, True), (0, False), (None, False):
        said = remarks(imprecise, tl.float8e5, tl.float32, most, target=target)
        texts = [text for kind, text in said if kind == "hint" and "max_num_imprecise_acc" in text]
        assert bool(texts) == is_answered


@st.jit
def sums(x, out, n, step, FACTOR: tl.constexpr):
    total = 0
    last = -1
    for i in tl.range(0, n, step, loop_unroll_factor=FACTOR):
        total += tl.load(x + i)
        last = i
    tl.store(out, total)
    tl.store(out + 1, last)


@pytest.mark.parametrize("factor", [0, 1, 2, 3, 8])
@pytest.mark.parametrize("step", [1, 3])
def test_unrolled_loops(factor, step, device):
    x = np.random.default_rng(factor).integers(0, 100, 50).astype(np.int32)
    for n in (0, 1, 2, 3, 7, 8, 9, 50):
        out = np.zeros(2, np.int32)
        sums[(1,)](x, out, n, step, factor)
        assert out.tolist() == [x[0:n:step].sum(), max([-1, *range(0, n, step)])]


@st.jit
def unrolled_at_the_end(out, lo, hi, step):
    turns = 0
    for i in tl.range(lo, hi, step, loop_unroll_factor=4):
        turns += 1
        tl.device_assert(turns < 10, "more turns than there are")
    tl.store(out, turns)


@pytest.mark.parametrize("bounds", [(2147483640, 2147483647, 5), (-(2**31), 2**31 - 1, 2**29),
                                    (2147483647, -(2**31), -(2**30)), (5, 5, 7), (5, 4, 1)])  # fmt: skip
def test_unrolled_loops_at_the_end_of_their_type(bounds, device):
    out = np.zeros(1, np.int32)
    unrolled_at_the_end[(1,)](out, *bounds, debug=True)
    assert out[0] == len(range(*bounds))


@pytest.mark.host
def test_unrolling_repeats_the_body():
    with st.knobs.scope(keep_stages=True):
        compiled = sums.warmup(tl.int32, tl.int32, 50, 3, 4, grid=(1,), target="cpu")
    # Those of the loop, and those of the turns left over.
    assert compiled.asm["tile-optimized"].count("tile.load") == 5


@st.jit
def invariant(x, out, n, KEEP: tl.constexpr):
    i = tl.arange(0, 64)
    for k in tl.range(0, n, disable_licm=KEEP):
        tl.store(out + k * 64 + i, tl.load(x + i) + tl.exp(n * 1.0))


@st.jit
def invariant_while(out, n, KEEP: tl.constexpr):
    k = 0
    while tl.condition(k < n, disable_licm=KEEP):
        tl.store(out + k, tl.exp(n * 1.0))
        k += 1


@pytest.mark.host
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("target", ["cpu", "cuda:80"])
def test_disable_licm(keep, target):
    with st.knobs.scope(keep_stages=True):
        compiled = invariant.warmup(tl.float32, tl.float32, 50, keep, grid=(1,), target=target)
        other = invariant_while.warmup(tl.float32, 50, keep, grid=(1,), target=target)
    for text, loop in ((compiled.asm["tile-optimized"], "scf.for"),
                       (other.asm["tile-optimized"], "scf.while")):  # fmt: skip
        assert (text.index("math.exp") > text.index(loop)) == keep
    assert bool(re.search("llvm.licm.disable", compiled.asm["llvm"])) == keep
    assert bool(re.search("llvm.licm.disable", other.asm["llvm"])) == keep


@st.jit
def any_step(out, lo, hi, step):
    turns = 0
    for i in range(lo, hi, step):
        turns += 1
    tl.store(out, turns)


def test_a_step_of_zero_makes_no_turn(device):
    out = np.full(1, -1, np.int32)
    any_step[(1,)](out, 0, 10, 0)
    assert out[0] == 0


@pytest.mark.host
def test_a_step_of_zero_is_an_error_with_assertions():
    out = np.full(1, -1, np.int32)
    with pytest.raises(st.DeviceAssertionError, match="range: step is zero"):
        any_step[(1,)](out, 0, 10, 0, debug=True)


@pytest.mark.parametrize("bounds", [(10, 0, -1), (0, 10, 3), (10, 0, 1), (0, 10, -1), (7, -7, -5)])
def test_a_step_known_at_run_time_has_a_direction(bounds, device):
    out = np.full(1, -1, np.int32)
    any_step[(1,)](out, *bounds)
    assert out[0] == len(range(*bounds))
