"""Candidates whose results differ: who is left out, what is said, and what is done to the arrays."""

import glob
import json
import os
import re
import zlib
from typing import NamedTuple

import numpy as np
import pytest
from tuning_support import configs
from verification_support import (
    chosen,
    double,
    grid,
    row_sum,
    rows,
    softmax,
    softmax_of,
    total,
    tuned,
    warned,
)

import sectile as st
import sectile.language as tl
from sectile.runtime.autotuner import Config, session, verification

pytestmark = pytest.mark.host

# -- who is right -------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", ["nan", "zeros", "the right results"])
def test_a_block_that_is_too_small_for_its_row(before):
    """The fault of README's own softmax: two thirds of a row are never written, and so the winner is fast."""
    x = rows()
    fill = {"nan": np.nan, "zeros": 0.0}
    out = np.full_like(x, fill[before]) if before in fill else softmax_of(x)
    tuner = tuned(softmax, (256, 512, 1024))
    text = warned(tuner, (64,), out, x, 781, 781)
    np.testing.assert_allclose(out, softmax_of(x), rtol=1e-5)
    assert chosen(tuner) == 1024
    assert (
        "tuning of softmax for ('float32', 'float32'): 2 of 3 candidates leave other results"
        in text
    )
    value = re.search(
        r"BLOCK: 256: out\[0, 256\] is not written, where BLOCK: 1024 leaves (\S+);", text
    )
    assert float(value[1]) == pytest.approx(out[0, 256], rel=1e-4)
    assert "BLOCK: 512: out[0, 512] is not written" in text
    assert f"so are {64 * (781 - 256)} of {x.size} elements" in text
    assert "help:" in text and "verify=False" in text and "verify={'out': 1e-2}" in text
    assert [row.status for row in tuner.tuning_report().rows] == ["different", "different", "best"]
    assert "2 different" in str(tuner.tuning_report()) and "out[0, 256]" in str(
        tuner.tuning_report()
    )


def test_who_is_left_out_stays_out(tmp_path):
    x, out = rows(), np.empty((64, 781), np.float32)
    assert warned(tuned(softmax, (256, 1024)), (64,), out, x, 781, 781)
    again = tuned(softmax, (256, 1024))
    assert warned(again, (64,), out, x, 781, 781) == ""  # known, from disk
    assert chosen(again) == 1024
    report = again.tuning_report()
    assert [row.status for row in report.rows] == ["different", "best"]
    assert "out[0, 256] is not written" in report.rows[0].reason


def test_where_nothing_says_who_is_right(monkeypatch):
    """Every candidate writes all elements of the result: the choice is a guess, and said to be one."""
    timed = []
    original = session.Session._race

    def race(self, entrants):
        raced = original(self, entrants)
        timed.append([c.config.kwargs["BLOCK"] for c in raced])
        return raced

    monkeypatch.setattr(session.Session, "_race", race)
    x, out = rows(), np.empty(64, np.float32)
    tuner = tuned(row_sum, (256, 512, 1024))
    text = warned(tuner, (64,), out, x, 781)
    assert "no rule decides which are right: the results of this kernel may be wrong" in text
    assert "Those of BLOCK: 1024 are taken, 2 of 3 candidates are left out" in text
    assert "not kept on disk" in text
    assert re.search(
        r"BLOCK: 256: out\[0\] is \S+, where BLOCK: 1024 leaves \S+; 64 of 64 elements", text
    )
    assert chosen(tuner) == 1024 and tuner.tuning_report().is_doubtful
    assert "no rule decides which are right" in str(tuner.tuning_report())
    np.testing.assert_allclose(out, x.sum(axis=1), rtol=1e-5)
    assert timed == [[1024]]
    # The next process is told, too, and compares anew; what was timed is not timed again.
    again = tuned(row_sum, (256, 512, 1024))
    assert "no rule decides which are right" in warned(again, (64,), out, x, 781)
    assert chosen(again) == 1024 and timed[1:] in ([], [[1024]])


def test_agreement_of_different_blocks_counts_more_than_copies():
    """Three candidates of one block are one opinion; two blocks that agree are two."""
    x, out = rows(), np.empty(64, np.float32)
    candidates = [Config({"BLOCK": 256}, num_warps=w) for w in (1, 2, 4)] + configs(1024, 2048)
    tuner = st.autotune(candidates, key=[], warmup=0, rep=1)(row_sum)
    assert "no rule decides" in warned(tuner, (64,), out, x, 781)
    assert chosen(tuner) in (1024, 2048)
    assert tuner.tuning_report().count("different") == 3


def test_who_goes_outside_the_arrays_is_wrong():
    @st.jit
    def kernel(out, x, columns, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        v = tl.load(x + row * columns + tl.arange(0, BLOCK))
        tl.store(out + row, tl.sum(v, axis=0))

    memory = np.zeros(8 * 64 + 512, np.float32)  # so that nothing else is touched
    x = memory[: 8 * 64].reshape(8, 64)
    x[:] = rows(shape=(8, 64))
    out = np.empty(8, np.float32)
    tuner = tuned(kernel, (64, 256))
    text = warned(tuner, (8,), out, x, 64)
    assert chosen(tuner) == 64 and not tuner.tuning_report().is_doubtful
    assert re.search(r"BLOCK: 256: load: out of bounds .* of argument 'x'", text)
    np.testing.assert_allclose(out, x.sum(axis=1), rtol=1e-5)


def test_a_champion_may_lose_to_a_candidate_that_is_added():
    x, out = rows(shape=(16, 600)), np.empty((16, 600), np.float32)
    assert warned(tuned(softmax, (128, 256)), (16,), out, x, 600, 600)  # of two that are wrong
    tuner = tuned(softmax, (128, 256, 1024))
    text = warned(tuner, (16,), out, x, 600, 600)
    assert chosen(tuner) == 1024 and "BLOCK: 256: out[0, 256] is not written" in text
    np.testing.assert_allclose(out, softmax_of(x), rtol=1e-5)


# -- what is no difference ------------------------------------------------------------------------------


def test_other_orders_of_adding_are_no_difference():
    @st.jit
    def kernel(out, x, columns, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        sums = tl.zeros([BLOCK], tl.float32)
        for start in range(0, columns, BLOCK):
            i = start + tl.arange(0, BLOCK)
            sums += tl.load(x + row * columns + i, mask=i < columns, other=0.0)
        tl.store(out + row, tl.sum(sums, axis=0))

    x, out = rows(shape=(64, 5000)) - 0.5, np.empty(64, np.float32)
    results = {}
    for block in (16, 128, 1024):
        kernel[(64,)](out, x, 5000, BLOCK=block)
        results[block] = out.copy()
    assert (results[16] != results[1024]).any()  # else this tests nothing
    tuner = tuned(kernel, (16, 128, 1024))
    assert warned(tuner, (64,), out, x, 5000) == ""
    assert tuner.tuning_report().verified == 3 and "results of 3 agree" in str(
        tuner.tuning_report()
    )
    exact = tuned(kernel, (16, 128, 1024), verify=0.0)
    assert "elements differ" in warned(exact, (64,), out, x, 5000)


@pytest.mark.parametrize("reset", [True, False])
def test_atomics(reset):
    x, out = rows(shape=(1, 100_000))[0], np.zeros(1, np.float32)
    tuner = tuned(total, (64, 256, 1024), reset_to_zero=["out"] if reset else None)
    assert warned(tuner, grid(x.size), out, x, x.size) == ""
    assert out[0] == pytest.approx(x.sum(), rel=1e-4)  # also where nothing but the copy resets it
    assert tuner.tuning_report().verified == 3


def test_nan_and_infinities():
    @st.jit
    def kernel(out, x, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x + i, mask=i < n)
        tl.store(out + i, tl.where((i == 5) & (BLOCK == 64), WRONG, v), mask=i < n)

    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, np.nan, np.inf, 1.0] * 20, np.float32)
    out = np.empty_like(x)
    for wrong in (np.nan, np.inf, 1.0):
        kernel.__globals__["WRONG"] = tl.constexpr(float(wrong))
        text = warned(tuned(kernel, (64, 128), cache_results=False), grid(x.size), out, x, x.size)
        if np.isnan(wrong):
            assert text == ""
        else:
            assert (
                f"out[5] is {'inf' if wrong > 1 else 1}, where BLOCK: 128 leaves nan; 1 of 160"
                in text
            )


WRONG = tl.constexpr(0.0)


def test_an_infinity_is_not_near_a_number():
    @st.jit
    def kernel(out, x, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x + i, mask=i < n)
        tl.store(out + i, tl.where((i == 1) & (BLOCK == 128), 3.0, v), mask=i < n)

    x = np.array([1.0, np.inf, 2.0], np.float32)
    text = warned(tuned(kernel, (64, 128)), grid(3), np.empty_like(x), x, 3)
    assert re.search(r"out\[1\] is (3|inf), where BLOCK: \d+ leaves (3|inf)", text)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, np.bool_])
def test_integers_are_exact(dtype):
    @st.jit
    def kernel(out, x, n, at, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x + i, mask=i < n)
        tl.store(out + i, tl.where((i == at) & (BLOCK == 64), v ^ 1, v), mask=i < n)

    # All values there are, and with them those that arrays are filled with.
    x = np.arange(512).astype(dtype)
    out = np.empty_like(x)
    assert warned(tuned(kernel, (64, 128), cache_results=False), grid(512), out, x, 512, -1) == ""
    text = warned(tuned(kernel, (64, 128), cache_results=False), grid(512), out, x, 512, 300)
    assert "out[300] is" in text and "1 of 512 elements" in text
    # A given tolerance holds for integers, too.
    loose = tuned(kernel, (64, 128), cache_results=False, verify={"out": 1.0})
    assert warned(loose, grid(512), out, x, 512, 301) == "" or dtype == np.bool_


# -- arrays --------------------------------------------------------------------------------------------


def test_a_kernel_in_place_computes_on_what_there_was():
    x = rows(shape=(1, 1000))[0]
    before = x.copy()
    tuner = tuned(double, (64, 128, 256))
    assert warned(tuner, grid(1000), x, 1000) == ""
    np.testing.assert_array_equal(x, 2 * before)  # once, without restore_value
    assert tuner.tuning_report().verified == 3


def test_an_array_under_two_names_is_not_filled():
    """It is read under the one and written under the other."""

    @st.jit
    def kernel(out, x, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        at = tl.load(x + i, mask=i < n, other=0)
        tl.device_assert((at >= 0) & (at < 4), "an index that was never there", mask=i < n)
        tl.store(out + i, at + 1, mask=i < n)

    x = np.array([0, 1, 2, 3] * 50, np.int32)
    before = x.copy()
    tuner = tuned(kernel, (64, 128))
    assert warned(tuner, grid(200), x, x[:], 200) == ""
    np.testing.assert_array_equal(x, before + 1)


def test_an_array_that_is_read_by_its_address_is_not_filled():
    @st.jit
    def kernel(out, address, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(address).to(tl.pointer_type(tl.int32))
        tl.store(out + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)

    out = np.arange(200, dtype=np.int32)
    address = np.array([out.ctypes.data], np.int64)
    tuner = tuned(kernel, (64, 128))
    assert warned(tuner, grid(200), out, address, 200) == ""
    np.testing.assert_array_equal(out, np.arange(200) + 1)


def test_elements_that_no_candidate_writes_stay():
    x = rows(shape=(1, 100))[0]
    out = np.full(300, 7.0, np.float32)

    @st.jit
    def copy(out, x, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)

    assert warned(tuned(copy, (32, 64)), grid(100), out, x, 100) == ""
    np.testing.assert_array_equal(out[:100], x)
    assert (out[100:] == 7.0).all()


@st.jit
def min_and_max(least, scratch, most, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    v = tl.load(x + row * columns + column, mask=inside, other=0.5)
    tl.store(least + row, tl.min(v, axis=0))
    tl.store(most + row, tl.max(v, axis=0))
    tl.store(scratch + row, BLOCK)


def test_several_outputs():
    x = rows(shape=(8, 100))
    x[:, 50:] += 1.0  # the smallest is in the first half, the largest in the second
    least, scratch, most = (np.empty(8, np.float32) for _ in range(3))
    arguments = least, scratch, most, x, 100
    text = warned(tuned(min_and_max, (64, 128)), (8,), *arguments)
    assert "scratch[0] is 64, where BLOCK: 128 leaves 128" in text
    alone = tuned(min_and_max, (64, 128), verify={"most": None, "least": 1e-3})
    assert "most[" in warned(alone, (8,), *arguments)
    assert "scratch" not in warned(
        tuned(min_and_max, (64, 128), verify={"most": 1e-3}), (8,), *arguments
    )
    only_least = tuned(min_and_max, (64, 128), verify={"least": None})
    assert warned(only_least, (8,), *arguments) == ""
    assert only_least.tuning_report().verified == 2


class Pair(NamedTuple):
    x: object
    out: object


def test_arrays_in_tuples():
    @st.jit
    def kernel(pair, others, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(pair.out + i, tl.load(pair.x + i, mask=i < n), mask=i < n)
        tl.store(others[1], BLOCK)

    x = rows(shape=(1, 100))[0]
    text = warned(
        tuned(kernel, (64, 128)), (1,), Pair(x, np.empty_like(x)), (x, np.zeros(1, np.int32)), 100
    )
    assert "BLOCK: 64: pair.out[64] is not written" in text
    text = warned(
        tuned(kernel, (128, 256), cache_results=False),
        (1,),
        Pair(x, np.empty_like(x)),
        (x, np.zeros(1, np.int32)),
        100,
    )
    assert "others[1][0] is 128, where BLOCK: 256 leaves 256" in text


@pytest.mark.parametrize(
    "name", ["float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
)
def test_tensors_of_torch(name):
    torch = pytest.importorskip("torch")

    @st.jit
    def kernel(out, x, n, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        i = tl.arange(0, BLOCK)
        v = tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float32)
        tl.store(out + row * n + i, (v * 2).to(out.dtype.element_ty), mask=i < n)

    dtype = getattr(torch, name)
    x = torch.from_numpy(rows(shape=(8, 100))).to(dtype)
    out = torch.zeros(8, 100).to(dtype)
    tuner = tuned(kernel, (64, 128))
    text = warned(tuner, (8,), out, x, 100)
    assert chosen(tuner) == 128 and "BLOCK: 64: out[0, 64] is not written" in text
    assert torch.equal(out.float(), (x.float() * 2).to(dtype).float())


@st.jit
def in_steps(out, x, n, STEP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bits = tl.load(x + i, mask=i < n) + STEP * (BLOCK == 64)
    tl.store(out.to(tl.pointer_type(tl.uint8)) + i, bits.to(tl.uint8), mask=i < n)


@pytest.mark.parametrize("step, differs", [(1, False), (16, True)])
def test_one_unit_in_the_last_place_of_an_eight_bit_float_is_no_difference(step, differs):
    """16 units are a factor of four."""
    x = np.full(100, 0x38, np.uint8)
    out = st.reinterpret(np.empty_like(x), tl.float8e4nv)
    text = warned(tuned(in_steps, (64, 128)), grid(100), out, x, 100, step)
    assert bool(text) == differs
    if differs:
        assert "out[0] is 1, where BLOCK: 64 leaves 4;" in text


def test_tensors_on_a_gpu_are_compared_by_torch(monkeypatch):
    """What is done to them there, done to tensors on the host."""
    torch = pytest.importorskip("torch")
    from sectile.runtime.autotuner.arrays import _TorchMemory

    used = []

    def memory_of(array):
        used.append(array)
        return _TorchMemory(array, torch)

    monkeypatch.setattr(verification, "memory_of", memory_of)
    x = torch.from_numpy(rows())
    out = torch.zeros(64, 781)
    tuner = tuned(softmax, (256, 512, 1024, 2048))
    text = warned(tuner, (64,), out, x, 781, 781)
    assert used and "BLOCK: 256: out[0, 256] is not written" in text and "2 of 4 candidates" in text
    torch.testing.assert_close(out, torch.softmax(x, dim=1))
    sums = torch.zeros(64)
    text = warned(tuned(row_sum, (256, 1024, 2048)), (64,), sums, x, 781)
    assert re.search(r"BLOCK: 256: out\[0\] is \S+, where BLOCK: 1024 leaves \S+; 64 of 64", text)
    torch.testing.assert_close(sums, x.sum(dim=1))


def test_views():
    """Transposed, reversed and sliced arrays: elements are named as the user indexes them."""
    base = np.zeros((20, 30), np.float32)
    before = base.copy()
    view = base.T[::3, ::-1]  # 10 x 20, strides 12 and -120 bytes

    @st.jit
    def kernel(out, rows, columns, BLOCK: tl.constexpr):
        i = tl.arange(0, 16)[:, None]
        j = tl.arange(0, 32)[None, :]
        inside = (i < rows) & (j < tl.minimum(columns, BLOCK))
        tl.store(out + i * 3 - j * 30, 1.0 + i + j, mask=inside)

    tuner = tuned(kernel, (16, 32))
    text = warned(tuner, (1,), view, 10, 20)
    assert chosen(tuner) == 32
    assert "BLOCK: 16: out[0, 16] is not written, where BLOCK: 32 leaves 17" in text
    assert "so are 40 of 200 elements" in text
    before.T[::3, ::-1][:] = 1 + np.arange(10)[:, None] + np.arange(20)
    np.testing.assert_array_equal(base, before)


def test_an_array_of_a_library_that_is_not_known(monkeypatch):
    monkeypatch.setattr(verification, "memory_of", lambda array: None)
    x, out = rows(), np.empty((64, 781), np.float32)
    tuner = tuned(softmax, (256, 1024))
    assert warned(tuner, (64,), out, x, 781, 781) == ""
    text = str(tuner.tuning_report())
    assert "out is not compared: numpy.ndarray is not a kind known here" in text
    assert "2 measured" in text and "agree" not in text
    monkeypatch.setattr(session.Session, "run", None)
    assert warned(tuned(softmax, (256, 1024)), (64,), out, x, 781, 781) == ""  # known from disk


def test_without_memory_for_a_copy(monkeypatch):
    def copy(self):
        raise MemoryError("no 4 TiB")

    monkeypatch.setattr("sectile.runtime.autotuner.arrays._NumpyMemory.copy", copy)
    x, out = rows(), np.empty((64, 781), np.float32)
    tuner = tuned(softmax, (256, 1024))
    assert warned(tuner, (64,), out, x, 781, 781) == ""
    assert "out is not compared: it cannot be copied: MemoryError: no 4 TiB" in str(
        tuner.tuning_report()
    )


# -- asserts --------------------------------------------------------------------------------------------


@st.jit
def covers(columns, BLOCK: tl.constexpr):
    tl.device_assert(BLOCK >= columns, "BLOCK must cover a row")


@st.jit
def asserting(out, x, columns, BLOCK: tl.constexpr):
    covers(columns, BLOCK)
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + column, mask=column < columns, other=0.0)
    tl.store(out + row, tl.sum(v, axis=0))


def test_asserts_are_on_in_a_trial():
    x, out = rows(), np.empty(64, np.float32)
    tuner = tuned(asserting, (256, 512, 1024))
    text = warned(tuner, (64,), out, x, 781)
    assert "2 of 3 candidates failed and are left out" in text and "BLOCK must cover a row" in text
    assert "other results" not in text
    assert chosen(tuner) == 1024
    np.testing.assert_allclose(out, x.sum(axis=1), rtol=1e-5)
    # Launches are as they were: without asserts.
    asserting[(64,)](out, x, 781, BLOCK=256)
    off = tuned(asserting, (256, 512), verify=False)
    assert warned(off, (64,), out, x, 781) == ""


def test_an_assert_that_holds_for_no_candidate_leaves_out_none():
    x, out = rows(), np.empty(64, np.float32)
    tuner = tuned(asserting, (256, 512))
    text = warned(tuner, (64,), out, x, 781)
    assert "an assert fails with every candidate, so none was left out for it: " in text
    assert "BLOCK must cover a row" in text and "no rule decides which are right" in text
    assert chosen(tuner) == 512


def test_what_cannot_be_compiled_with_asserts_runs_without(monkeypatch):
    original = session.Runner.compile

    def compile(self, config, **options):
        if options and config.kwargs["BLOCK"] == 1024:
            raise st.OutOfResources("registers")
        return original(self, config, **options)

    monkeypatch.setattr(session.Runner, "compile", compile)
    x, out = rows(), np.empty(64, np.float32)
    tuner = tuned(asserting, (256, 1024))
    assert "1 of 2 candidates failed" in warned(tuner, (64,), out, x, 781)
    assert chosen(tuner) == 1024


def test_what_wraps_on_purpose_is_no_failed_assert():
    @st.jit
    def kernel(out, x, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.device_assert(n > 0)
        tl.store(out + i, tl.load(x + i, mask=i < n) * 1664525 + 1013904223, mask=i < n)

    x = np.full(100, 2**30, np.int32)
    assert warned(tuned(kernel, (64, 128)), grid(100), np.empty_like(x), x, 100) == ""


def test_kernels_without_asserts_are_compiled_once(monkeypatch):
    compiled = []
    original = session.Runner.compile

    def compile(self, config, **options):
        compiled.append(options)
        return original(self, config, **options)

    monkeypatch.setattr(session.Runner, "compile", compile)
    x, out = rows(), np.empty(64, np.float32)
    warned(tuned(row_sum, (1024, 2048)), (64,), out, x, 781)
    assert compiled == [{}, {}]
    warned(tuned(asserting, (1024, 2048)), (64,), out, x, 781)
    assert sum("debug" in options for options in compiled) == 2


# -- what is asked for ----------------------------------------------------------------------------------


def test_verify_false_compares_nothing(monkeypatch):
    monkeypatch.setattr(verification.Verification, "trial", None)
    x, out = rows(), np.empty((64, 781), np.float32)
    tuner = tuned(softmax, (128, 1024), verify=False)
    assert warned(tuner, (64,), out, x, 781, 781) == ""
    assert tuner.tuning_report().verified == 0 and "agree" not in str(tuner.tuning_report())


def test_a_tolerance():
    @st.jit
    def kernel(out, x, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, mask=i < n) * (1.0 + 1.0 / BLOCK), mask=i < n)

    x, out = rows(shape=(1, 100))[0], np.empty(100, np.float32)
    for verify, differs in ((True, True), (1e-3, True), (0.1, False), ({"out": 0.1}, False)):
        text = warned(tuned(kernel, (64, 128), verify=verify), grid(100), out, x, 100)
        assert bool(text) == differs, verify


@pytest.mark.parametrize(
    "verify, error, message",
    [
        ("out", TypeError, "verify is 'out', not True, False, a tolerance"),
        (None, TypeError, "verify is None"),
        (-1.0, TypeError, "verify is -1.0"),
        ({"out": "much"}, TypeError, r"verify\['out'\] is 'much', not a tolerance or None"),
        (
            {"outt": None},
            ValueError,
            "verify names 'outt', which is no parameter of the kernel; it has out, x",
        ),
    ],
)
def test_wrong_options(verify, error, message):
    with pytest.raises(error, match=message):
        tuned(row_sum, (64, 128), verify=verify)


def test_another_verify_is_another_record():
    x, out = rows(), np.empty(64, np.float32)
    assert warned(tuned(row_sum, (256, 1024)), (64,), out, x, 781)
    loose = tuned(row_sum, (256, 1024), verify=False)
    assert warned(loose, (64,), out, x, 781) == ""
    assert loose.tuning_report().count("best", "ok", "rejected") == 2


# -- the record -----------------------------------------------------------------------------------------


def records():
    (path,) = glob.glob(os.path.join(os.environ["SECTILE_TUNING_DIR"], "*.tuning"))
    with open(path, "rb") as file:
        return path, [json.loads(line.partition(b" ")[2]) for line in file.read().splitlines()]


def test_what_is_written():
    x, out = rows(), np.empty((64, 781), np.float32)
    warned(tuned(softmax, (256, 1024, 2048)), (64,), out, x, 781, 781)
    _, lines = records()
    results = {row["config"].split(",")[0]: row for row in lines if row["type"] == "result"}
    assert results["BLOCK: 256"]["status"] == "different"
    assert "out[0, 256] is not written" in results["BLOCK: 256"]["reason"]
    assert "ms" not in results["BLOCK: 256"]
    (choice,) = [row for row in lines if row["type"] == "choice"]
    assert choice["verified"] == 2


def test_a_doubtful_choice_is_not_written():
    x, out = rows(), np.empty(64, np.float32)
    warned(tuned(row_sum, (256, 1024)), (64,), out, x, 781)
    _, lines = records()
    assert [row["status"] for row in lines if row["type"] == "result"] == ["ok"]
    assert not [row for row in lines if row["type"] == "choice"]


def test_a_choice_of_a_version_that_compared_nothing(monkeypatch):
    """Its winner may be wrong: all are compared, and nothing is timed again that was."""
    x, out = rows(), np.empty((64, 781), np.float32)
    warned(tuned(softmax, (256, 1024)), (64,), out, x, 781, 781)
    path, lines = records()
    by_id = {row["id"]: row for row in lines if row["type"] == "result"}
    small = next(name for name, row in by_id.items() if "BLOCK: 256" in row["config"])
    with open(path, "wb") as file:
        for row in lines:
            if row.get("id") == small:
                row.update(status="ok", ms=[0.001] * 3)
                del row["reason"]
            if row["type"] == "choice":
                row["id"] = small
                del row["verified"]
            text = json.dumps(row).encode()
            file.write(b"%08x %s\n" % (zlib.crc32(text), text))
    monkeypatch.setattr(session.Session, "_race", None)
    monkeypatch.setenv("SECTILE_AUTOTUNE", "frozen")  # what is known is taken, as ever
    frozen = tuned(softmax, (256, 1024))
    assert warned(frozen, (64,), out, x, 781, 781) == "" and chosen(frozen) == 256
    monkeypatch.setenv("SECTILE_AUTOTUNE", "on")
    tuner = tuned(softmax, (256, 1024))
    assert "BLOCK: 256: out[0, 256] is not written" in warned(tuner, (64,), out, x, 781, 781)
    assert chosen(tuner) == 1024
    assert warned(tuned(softmax, (256, 1024)), (64,), out, x, 781, 781) == ""


# -- with the rest of tuning ----------------------------------------------------------------------------


def test_with_a_bench_of_ones_own():
    x, out = rows(), np.empty((64, 781), np.float32)
    benched = []

    def bench(call, quantiles):
        call()
        benched.append(1)
        return 1.0

    tuner = tuned(softmax, (256, 512, 1024, 2048), do_bench=bench)
    assert "2 of 4 candidates leave other results" in warned(tuner, (64,), out, x, 781, 781)
    assert len(benched) == 2 and chosen(tuner) == 1024


def test_with_a_budget_nothing_is_timed_that_was_not_compared():
    x, out = rows(), np.empty((64, 781), np.float32)
    tuner = tuned(softmax, (2048, 1024, 512, 256), budget=0.0)
    warned(tuner, (64,), out, x, 781, 781)
    report = tuner.tuning_report()
    assert report.count("best") == 1 and report.count("not tried") == 3 and report.verified == 1


def test_sums_in_another_order_agree_where_candidates_are_known_by_their_runs_alone():
    """Compiled without its hook a candidate fails, so nothing says beforehand what it makes of the arrays."""

    class Shape:
        size = 3  # no tile has this

        def __repr__(self):
            return f"Shape({self.size})"

    @st.jit
    def total(out, x, n, shape: tl.constexpr, BLOCK: tl.constexpr):
        tl.static_assert(shape.size == BLOCK)
        sums = tl.zeros((BLOCK,), tl.float32)
        for start in range(0, n, BLOCK):
            i = start + tl.arange(0, BLOCK)
            sums += tl.load(x + i, mask=i < n, other=0)
        tl.store(out + tl.arange(0, 1), tl.sum(sums, keep_dims=True))

    def hook(arguments):
        arguments["shape"].size = arguments["BLOCK"]

    x, out = rows(shape=(1, 10_001))[0], np.empty(1, np.float32)
    candidates = [st.Config({"BLOCK": block}, pre_hook=hook) for block in (4, 64, 1024)]
    tuner = st.autotune(candidates, key=["n"], warmup=0, rep=1)(total)
    assert warned(tuner, (1,), out, x, x.size, Shape()) == ""
    np.testing.assert_allclose(out[0], x.astype(np.float64).sum(), rtol=1e-4)


def test_hooks_frame_every_trial():
    seen = []
    x = rows(shape=(1, 200))[0]

    def pre(arguments, reset_only=False):
        seen.append(arguments["x"].copy())

    before = x.copy()
    tuner = tuned(double, (64, 128), pre_hook=pre, restore_value=["x"])
    assert warned(tuner, grid(200), x, 200) == ""
    assert all((each == before).all() for each in seen)
    np.testing.assert_array_equal(x, 2 * before)
