"""kernel[grid].bind(...): launches that have their arguments."""

import gc
import threading
import time
import weakref

import numpy as np
import pytest

import sectile as st
import sectile.language as tl

pytestmark = pytest.mark.host  # bound kernels read arrays where they are


@st.jit
def axpy(x, y, out, n, a, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n) * a + tl.load(y + i, mask=i < n)
    tl.store(out + i, value, mask=i < n)


def arrays(n, seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((2, n)).astype(np.float32)
    return x, y, np.zeros(n, np.float32)


def test_a_bound_kernel_runs_as_a_launch_does():
    x, y, out = arrays(1000)
    run = axpy[(st.cdiv(1000, 64),)].bind(x, y, out, 1000, a=2.5, BLOCK=64)
    assert not out.any()
    assert run() is None
    np.testing.assert_allclose(out, 2.5 * x.astype(np.float64) + y, rtol=1e-6, atol=1e-6)
    x[:] = 1  # read when it runs, not when it was bound
    run()
    np.testing.assert_allclose(out, 2.5 + y.astype(np.float64), rtol=1e-6, atol=1e-6)
    assert run.kernel is axpy[(1,)](x, y, out, 3000, a=2.5, BLOCK=64)
    assert run.arguments["n"] == 1000 and run.arguments["out"] is out


def test_the_method_binds_too():
    x, y, out = arrays(10)
    axpy.bind(x, y, out, 10, 1.0, BLOCK=16, grid=(1,))()
    np.testing.assert_allclose(out, x + y, rtol=1e-6, atol=1e-6)


def test_arguments_are_exchanged_in_place():
    x, y, out = arrays(1000)
    run = axpy[(16,)].bind(x, y, out, 1000, 2.0, BLOCK=64)
    other, _, elsewhere = arrays(1000, seed=1)
    run(x=other, out=elsewhere)
    np.testing.assert_allclose(elsewhere, 2 * other.astype(np.float64) + y, rtol=1e-6, atol=1e-6)
    assert not out.any() and run.arguments["x"] is other
    run.update(a=3.0)
    elsewhere[:] = 0
    run()
    np.testing.assert_allclose(elsewhere, 3 * other.astype(np.float64) + y, rtol=1e-6, atol=1e-6)


def test_another_kind_of_argument_is_another_variant():
    x, y, out = arrays(1000)
    run = axpy[(16,)].bind(x, y, out, 1000, 2.0, BLOCK=64)
    before = run.kernel
    run(n=992)  # a multiple of 16, which 1000 is not
    assert run.kernel is not before
    run.update(n=1000)
    assert run.kernel is before
    run(x=x.astype(np.float64))
    assert dict((name, dtype) for name, dtype, _ in run.kernel.arguments)["x"] == "*fp64"
    np.testing.assert_allclose(out, 2 * x.astype(np.float64) + y, rtol=1e-6, atol=1e-6)


def test_the_grid_can_be_set():
    x, y, out = arrays(100)
    run = axpy[lambda meta: (st.cdiv(meta["n"], meta["BLOCK"]),)].bind(x, y, out, 32, 1.0, BLOCK=32)
    run()
    assert out[:32].all() and not out[32:].any()
    run(n=100)  # the function sees the new arguments
    np.testing.assert_allclose(out, x + y, rtol=1e-6, atol=1e-6)
    out[:] = 0
    run.grid = (1,)
    assert run.grid == (1,)
    run()
    assert out[:32].all() and not out[32:].any()
    with pytest.raises(st.ArgumentError, match="grid axis 0 is -1, below zero"):
        run.grid = (-1,)
    assert run.grid == (1,)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda run: run(3), "has its arguments already and takes none by position"),
        (lambda run: run.update(3), r"update\(\) takes arguments by name"),
        (lambda run: run(num_warps=8), "'num_warps' is no parameter, so it cannot be exchanged"),
        (lambda run: run(x=object()), "argument 'x'"),
        (lambda run: run(n=2**70), "argument 'n'"),
    ],
)
def test_wrong_calls_change_nothing(call, text):
    x, y, out = arrays(64)
    run = axpy[(1,)].bind(x, y, out, 64, 2.0, BLOCK=64)
    with pytest.raises(st.ArgumentError, match=text):
        call(run)
    run()
    np.testing.assert_allclose(out, 2 * x.astype(np.float64) + y, rtol=1e-6, atol=1e-6)


def test_several_changes_are_made_or_none():
    x, y, out = arrays(64)
    run = axpy[(1,)].bind(x, y, out, 64, 2.0, BLOCK=64)
    with pytest.raises(st.ArgumentError):
        run.update(a=5.0, x=object())
    assert run.arguments["a"] == 2.0 and run.arguments["x"] is x
    run()
    np.testing.assert_allclose(out, 2 * x.astype(np.float64) + y, rtol=1e-6, atol=1e-6)


def test_what_cannot_be_compiled_changes_nothing():
    x, y, out = arrays(64)
    run = axpy[(1,)].bind(x, y, out, 64, 2.0, BLOCK=64)
    with pytest.raises(st.CompilationError):
        run.update(BLOCK=-5)
    assert run.arguments["BLOCK"] == 64
    run()
    assert out.all()


def test_binding_names_what_is_missing():
    x, y, out = arrays(64)
    with pytest.raises(st.ArgumentError, match="arguments 'a', 'BLOCK' are missing"):
        axpy[(1,)].bind(x, y, out, 64)
    with pytest.raises(TypeError):
        axpy.bind(x, y, out, 64, 2.0, BLOCK=64)  # no grid


def test_arrays_live_as_long_as_the_bound_kernel():
    class Array(np.ndarray):
        pass

    x, y, out = arrays(64)
    run = axpy[(1,)].bind(x, y, out.view(Array), 64, 2.0, BLOCK=64)
    watched = weakref.ref(run.arguments["out"])
    gc.collect()
    assert watched() is not None
    run()
    run.update(out=out)
    gc.collect()
    assert watched() is None
    assert out.all()


def test_cycles_through_a_bound_kernel_are_collected():
    class Array(np.ndarray):
        pass

    x, y, out = arrays(64)
    view = out.view(Array)
    view.run = axpy[(1,)].bind(x, y, view, 64, 2.0, BLOCK=64)
    watched = weakref.ref(view)
    del view
    gc.collect()
    assert watched() is None


def test_the_source_is_that_of_the_latest_binding():
    @st.jit
    def add(out, BLOCK: tl.constexpr):
        tl.store(out + tl.arange(0, BLOCK), SHIFT)  # noqa: F821

    add.fn.__globals__["SHIFT"] = tl.constexpr(3)
    out = np.zeros(4, np.int32)
    run = add[(1,)].bind(out, BLOCK=4)
    add.fn.__globals__["SHIFT"] = tl.constexpr(5)
    run()
    assert (out == 3).all()
    run(BLOCK=4)
    assert (out == 5).all()


def test_threads_share_a_bound_kernel():
    n = 4096
    x, y, _ = arrays(n)
    outs = [np.zeros(n, np.float32) for _ in range(4)]
    run = axpy[(64,)].bind(x, y, outs[0], n, 2.0, BLOCK=64)
    failures = []

    def work(out):
        try:
            for _ in range(200):
                run(out=out)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(out,)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for out in outs:
        np.testing.assert_allclose(out, 2 * x.astype(np.float64) + y, rtol=1e-6, atol=1e-6)


def test_heuristics_and_tuned_kernels_bind():
    @st.autotune([st.Config({"BLOCK": 32}), st.Config({"BLOCK": 64}, num_warps=2)], key=["n"])
    @st.heuristics({"EVEN": lambda args: args["n"] % args.get("BLOCK", 32) == 0})
    @st.jit
    def double(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + i, tl.load(x + i, mask=EVEN or i < n) * 2, mask=EVEN or i < n)

    x = np.ones(64, np.float32)
    run = double.bind(x, 64, grid=lambda meta: (st.cdiv(64, meta["BLOCK"]),))
    x[:] = 1
    run()
    run()
    assert (x == 4).all()


def test_arguments_exchanged_during_a_run_stay_until_its_end():
    """Another thread is at it: its arrays must not die under it."""

    class Holder(np.ndarray):  # arrays have no weak references, this class has
        pass

    @st.jit
    def long(x, out, rounds, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK,), tl.float32)
        for k in range(rounds):
            total += tl.load(x + (i + k) % BLOCK)
        tl.store(out + i, total)

    x, other = np.ones(1024, np.float32).view(Holder), np.ones(1024, np.float32)
    alive, out = weakref.ref(x), np.zeros(1024, np.float32)
    run = long[(1,)].bind(x, out, 1, BLOCK=1024)
    del x
    for rounds in (1000, 10_000, 100_000, 1_000_000, 10_000_000):
        run.update(rounds=rounds)
        start = time.perf_counter()
        run()
        duration = time.perf_counter() - start
        if duration > 0.3:
            break
    thread = threading.Thread(target=run)
    start = time.perf_counter()
    thread.start()
    time.sleep(0.02)
    run.update(x=other)
    gc.collect()
    is_there = alive() is not None
    if time.perf_counter() - start > duration / 2:
        thread.join()
        pytest.skip("the run may have ended before it was looked at")
    assert is_there
    thread.join()
    for _ in range(100):
        gc.collect()
        if alive() is None:
            break
        time.sleep(0.01)
    assert alive() is None and out[0] == rounds
