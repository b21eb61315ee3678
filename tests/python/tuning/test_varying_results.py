"""Results that vary from run to run, by the size of their numbers, or of which there are none."""

import types
import warnings

import numpy as np
import pytest
from tuning_support import configs
from verification_support import row_sum, tuned

import sectile as st
import sectile.language as tl
from sectile.runtime.autotuner import Config, session, verification

pytestmark = pytest.mark.host


# -- results that vary ----------------------------------------------------------------------------------


class FakeRunner:
    """A launch that writes what `write` says; as `Runner`."""

    def __init__(self, write, **arguments):
        self.write = write
        self.arguments = arguments
        self.kwargs = {"debug": True}
        self.tuner = types.SimpleNamespace(
            base_fn=None, user_pre_hook=None, reset_to_zero=[], configs=[]
        )  # fmt: skip

    def launch(self, config, **options):
        self.write(config.kwargs["BLOCK"], **self.arguments)

    def prepare(self, config):
        pass

    def finish(self, config, error=None):
        pass

    def synchronize(self):
        pass

    def program_count(self, config):
        return 1


def compared(write, blocks, **arrays):
    check = verification.Verification(
        FakeRunner(write, **arrays), True, types.SimpleNamespace(kind="cpu", is_gpu=False)
    )
    kinds = {np.dtype("f4"): "*fp32", np.dtype("i4"): "*i32"}
    kernel = types.SimpleNamespace(
        arguments=[(name, kinds[array.dtype], True) for name, array in arrays.items()],
        remarks=[],
        asm={},
    )
    check.watch([kernel])
    for index, config in enumerate(configs(*blocks)):
        check.trial(session.Candidate(index, str(index), config))
    return check, [candidate.config.kwargs["BLOCK"] for candidate, _ in check.decide()]


def test_an_array_that_varies_from_run_to_run_is_not_compared():
    random = np.random.default_rng(0)

    def write(block, out, order):
        out[:] = 1.0
        order[:] = random.permutation(len(order))

    out, order = np.zeros(100, np.float32), np.zeros(100, np.int32)
    check, dropped = compared(write, (1, 2, 3), out=out, order=order)
    assert dropped == [] and not check.is_doubtful and len(check.winner.members) == 3
    assert check.alarms == [
        "order is not compared: every candidate leaves something else there at each run"
    ]


def test_who_varies_alone_is_left_out():
    random = np.random.default_rng(0)

    def write(block, out):
        out[:] = random.random(100) if block == 3 else 1.0

    check, dropped = compared(write, (3, 1, 2), out=np.zeros(100, np.float32))
    assert dropped == [3] and not check.is_doubtful
    assert "it leaves something else in out at each run" in check.dropped[0][1]


def test_many_different_results_take_no_more_memory():
    def write(block, out):
        out[:] = block

    check, dropped = compared(write, range(1, 31), out=np.zeros(4, np.float32))
    assert len(dropped) == 29 and check.is_doubtful
    assert len(check.groups) == verification._MOST_GROUPS
    assert all("out[0] is" in reason for _, reason in check.dropped)


def test_a_later_batch_is_compared_with_earlier_ones():
    def write(block, out):
        out[: 50 if block == 2 else 100] = 1.0

    out = np.zeros(100, np.float32)
    check, dropped = compared(write, (1, 3), out=out)
    assert dropped == []
    late = session.Candidate(2, "2", Config({"BLOCK": 2}))
    check.trial(late)
    assert [candidate for candidate, _ in check.decide()] == [late]
    check.restore()
    assert (out == 0).all()


def test_large_arrays_are_filled_in_part_and_still_watched():
    """Of an array of several blocks, a candidate that leaves out a stretch is seen after another was right."""
    from sectile.runtime.autotuner import arrays

    size = 40 * arrays._HOST_BLOCK  # by several threads, too
    ends = {1: size, 2: size // 2, 3: size - 3}

    def write(block, out):
        out[: ends[block]] = 1.0

    check, dropped = compared(write, (1, 2, 3), out=np.zeros(size, np.float32))
    assert sorted(dropped) == [2, 3] and not check.is_doubtful


# -- numbers of very different size, and launches of nothing ----------------------------------------


@st.jit
def valid_row_sums(out, x, valid, masked, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + column, mask=column < columns, other=0.0)
    tl.store(out + row, tl.where(tl.load(valid + row) != 0, tl.sum(v, axis=0), masked))


@pytest.mark.parametrize("masked", [-1e9, -1e30, float(np.finfo(np.float32).min)])
@pytest.mark.parametrize("share", [0.001, 0.5, 0.7])
def test_numbers_that_stand_for_nothing_do_not_hide_a_difference(masked, share):
    x = np.random.default_rng(0).random((1000, 1000), dtype=np.float32)
    valid = np.ones(1000, np.int32)
    valid[: int(share * 1000)] = 0
    out = np.empty(1000, np.float32)
    kernel = tuned(valid_row_sums, [64, 1024])
    with pytest.warns(st.TuningWarning):
        kernel[(1000,)](out, x, valid, masked, 1000)
    expected = np.where(valid != 0, x.sum(axis=1, dtype=np.float64), masked)
    np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_a_launch_of_no_programs_decides_nothing():
    kernel = tuned(row_sum, [64, 128, 1024])
    x = np.random.default_rng(0).random((100, 1000), dtype=np.float32)
    out = np.empty(100, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel[(0,)](out[:0], x[:0], 1000)
    assert not kernel.cache
    with pytest.warns(st.TuningWarning):
        kernel[(100,)](out, x, 1000)
    np.testing.assert_allclose(out, x.sum(axis=1), rtol=1e-5)
