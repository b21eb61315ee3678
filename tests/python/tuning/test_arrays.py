"""What a tuning does to the user's arrays, and when hooks are called."""

import numpy as np
import pytest
from tuning_support import autotune, block_of, configs

import sectile as st
import sectile.language as tl

pytestmark = pytest.mark.host


@st.jit
def accumulate(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
    tl.store(y + i, tl.load(y + i, mask=i < n) + 1, mask=i < n)


def tricky(n):
    """NaNs with payloads, infinities, both zeros, denormals."""
    bits = np.random.default_rng(0).integers(0, 2**32, n, dtype=np.uint32)
    bits[:6] = [0x7FC00001, 0xFF812345, 0x7F800000, 0x80000000, 0, 1]
    return bits.view(np.float32)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_arrays_are_restored_bit_for_bit(library):
    n = 1000
    start = tricky(n)
    x, y = start.copy(), np.ones(n, np.float32)
    if library == "torch":
        torch = pytest.importorskip("torch")
        x, y = torch.from_numpy(x), torch.from_numpy(y)
        x.requires_grad_()
    held = []

    def as_numpy(array):
        return array.detach().numpy() if library == "torch" else array

    def hook(arguments, reset_only=False):
        held.append((as_numpy(arguments["x"]).copy(), reset_only))

    tuner = st.autotune(
        configs(16, 64, 256), key=["n"], restore_value=["x"], reset_to_zero=["y"], pre_hook=hook,
        warmup=1, rep=2,
    )(accumulate)  # fmt: skip
    tuner[lambda meta: (st.cdiv(n, meta["BLOCK"]),)](x, y, n)
    assert len(held) > 9 and [only for _, only in held] == [False] * (len(held) - 1) + [True]
    for seen, _ in held:
        assert (seen.view(np.uint32) == start.view(np.uint32)).all()
    with np.errstate(all="ignore"):
        expected = start + start
    np.testing.assert_array_equal(as_numpy(x), expected)  # once, on what was there before
    assert (as_numpy(y) == 1).all()  # zeroed after the last run, then once


def test_arrays_are_restored_after_failures(out):
    @st.jit
    def kernel(x, n, BLOCK: tl.constexpr):
        tl.store(x, tl.load(x) + BLOCK)
        tl.device_assert(BLOCK == 2, "no")

    kernel = st.JITFunction(kernel.fn, debug=True)
    errors = []
    tuner = st.autotune(
        configs(2, 4), key=["n"], restore_value=["x"], warmup=0, rep=1,
        post_hook=lambda arguments, exception: errors.append(exception),
    )(kernel)  # fmt: skip
    out[0] = 100
    with pytest.warns(st.TuningWarning):
        tuner[(1,)](out, 5)
    assert out[0] == 102
    assert sum(error is not None for error in errors) == 1 and len(errors) > 3
    out[0] = 100
    tuner = st.autotune(configs(4, 8), key=["n"], restore_value=["x"], warmup=0, rep=1)(kernel)
    with pytest.raises(st.DeviceAssertionError):
        tuner[(1,)](out, 5)
    assert out[0] == 100


def test_views_and_missing_arrays():
    """A transposed, sliced array is restored in place; None is no array."""
    base = np.arange(400, dtype=np.float32).reshape(20, 20)
    before = base.copy()
    view = base.T[::2, 3:9]

    @st.jit
    def kernel(x, y, n, BLOCK: tl.constexpr):
        tl.store(x, tl.load(x) + 1)
        if y is not None:
            tl.store(y, 0.0)

    tuner = st.autotune(
        configs(2, 4), key=["n"], restore_value=["x", "y"], reset_to_zero=["y"], warmup=0, rep=1
    )(kernel)
    tuner[(1,)](view, None, 5)
    before.T[::2, 3:9][0, 0] += 1
    assert (base == before).all()


def test_an_array_read_as_another_dtype_is_restored():
    raw = np.arange(8, dtype=np.int32)

    @st.jit
    def kernel(x, n, BLOCK: tl.constexpr):
        tl.store(x, tl.load(x) + 1)

    tuner = st.autotune(configs(2, 4), key=["n"], restore_value=["x"], warmup=0, rep=1)(kernel)
    tuner[(1,)](st.reinterpret(raw, tl.uint32), 5)
    assert raw.tolist() == [1, 1, 2, 3, 4, 5, 6, 7]


def test_what_is_known_touches_nothing(bench):
    def tuner():
        return st.autotune(configs(16, 64), key=["n"], reset_to_zero=["y"], do_bench=bench)(
            accumulate
        )

    bench.out = np.zeros(1)
    grid = lambda meta: (st.cdiv(10, meta["BLOCK"]),)  # noqa: E731
    x, y = np.zeros(10, np.float32), np.full(10, 5, np.float32)
    tuner()[grid](x, y, 10)
    assert (y == 1).all()
    y[:] = 5
    tuner()[grid](x, y, 10)
    assert (y == 6).all()


def test_hooks_of_configurations(bench, out):
    calls = []

    def hooked(block):
        return st.Config({"BLOCK": block}, pre_hook=lambda args: calls.append(args["BLOCK"]))

    tuner = autotune([hooked(4), hooked(2)], key=["n"], do_bench=bench)(block_of)
    tuner[(1,)](out, 5)
    assert calls == [4, 2, 2]  # each run, and the launch
    tuner[(1,)](out, 5)
    assert calls == [4, 2, 2, 2]


def test_a_hook_may_make_the_candidate_what_it_is(out):
    """Compiled ahead without its hook this candidate fails; with it, it runs."""

    class Shape:
        def __init__(self):
            self.size = 3  # no tile has this

        def __repr__(self):
            return f"Shape({self.size})"

    @st.jit
    def kernel(out, n, shape: tl.constexpr, BLOCK: tl.constexpr):
        tl.static_assert(shape.size == BLOCK)
        tl.store(out, BLOCK)

    def hook(args):
        args["shape"].size = args["BLOCK"]

    candidates = [st.Config({"BLOCK": block}, pre_hook=hook) for block in (4, 2)]
    tuner = autotune(candidates, key=["n"], warmup=0, rep=1)(kernel)
    tuner[(1,)](out, 5, Shape())
    assert out[0] in (2, 4)
    assert tuner.tuning_report().count("best", "ok", "rejected") == 2
