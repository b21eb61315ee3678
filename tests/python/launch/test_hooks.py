"""Hooks of launches, and of the decorator."""

import numpy as np
import pytest

import sectile as st
import sectile.language as tl


def described(grid, metadata, arguments):
    return {"name": f"scale_{arguments['n']}", "bytes": 8 * arguments["n"]}


@st.jit(launch_metadata=described)
def scale(x, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


@st.jit
def failing(x):
    tl.device_assert(tl.load(x) == 1, "not one")


@pytest.fixture
def told():
    events = []

    def enter(metadata):
        events.append(("enter", metadata))

    def leave(metadata):
        events.append(("exit", metadata))

    st.knobs.runtime.launch_enter_hook.add(enter)
    st.knobs.runtime.launch_exit_hook.add(leave)
    yield events
    st.knobs.runtime.launch_enter_hook.remove(enter)
    st.knobs.runtime.launch_exit_hook.remove(leave)


def test_hooks_hear_of_launches(told, device):
    x = np.ones(100, np.float32)
    compiled = scale[(7, 1)](x, 100, 3.0, BLOCK=16)
    assert (x == 3).all()
    assert [event for event, _ in told] == ["enter", "exit"]
    assert told[0][1] is told[1][1]
    data = told[0][1].get()
    assert data["name"] == "scale_100" and data["bytes"] == 800
    assert data["grid"] == (7, 1, 1) and data["num_warps"] == 4
    assert data["kernel"] is compiled and data["target"] == compiled.metadata.target
    assert told[0][1].get() is data


@pytest.mark.host
def test_bound_kernels_have_them_too(told):
    x = np.ones(100, np.float32)
    run = scale[(7,)].bind(x, 100, 3.0, BLOCK=16)
    assert told == []
    run()
    run(n=50)
    assert [event for event, _ in told] == ["enter", "exit"] * 2
    assert told[3][1].get()["name"] == "scale_50"


def test_removed_hooks_are_silent(told):
    st.knobs.runtime.launch_enter_hook = None
    x = np.ones(4, np.float32)
    scale[(1,)](x, 4, 2.0, BLOCK=16)
    assert [event for event, _ in told] == ["exit"]
    del st.knobs.runtime.launch_exit_hook
    scale[(1,)](x, 4, 2.0, BLOCK=16)
    assert len(told) == 1 and (x == 4).all()


def test_what_a_hook_raises_stops_the_launch(told):
    def refuse(metadata):
        raise KeyError(metadata.get()["name"])

    chain = st.knobs.runtime.launch_enter_hook
    chain.add(refuse)
    x = np.ones(4, np.float32)
    with pytest.raises(KeyError, match="scale_4"):
        scale[(1,)](x, 4, 2.0, BLOCK=16)
    chain.remove(refuse)
    assert (x == 1).all() and [event for event, _ in told] == ["enter"]


def test_the_exit_hook_runs_when_a_launch_fails(told):
    with pytest.raises(st.DeviceAssertionError, match="not one"):
        failing[(1,)](np.zeros(1, np.float32), debug=True)
    assert [event for event, _ in told] == ["enter", "exit"]


def test_hooks_are_functions():
    for wrong in (3, "print"):
        with pytest.raises(TypeError, match="a hook is a function"):
            st.knobs.runtime.launch_enter_hook.add(wrong)
        with pytest.raises(TypeError, match="a hook is a function"):
            st.knobs.runtime.launch_enter_hook = wrong


def test_pre_run_hooks_see_the_arguments():
    @st.jit
    def store(x, n, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), n)

    calls = []

    def once(*args, **kwargs):
        calls.append((args[1:], kwargs))
        store.pre_run_hooks.remove(once)

    store.add_pre_run_hook(once)
    store.add_pre_run_hook(lambda *args, **kwargs: calls.append("second"))
    x = np.zeros(4, np.int32)
    store[(1,)](x, 5, BLOCK=4)
    store.run(x, 6, grid=(1,), BLOCK=4)
    assert calls == [((5,), {"BLOCK": 4}), "second", "second"]
    assert (x == 6).all()


def test_copied_kernels_keep_options_and_hooks():
    import copy

    def make():
        @st.jit(do_not_specialize=["n"], debug=True)
        def kernel(x, n):
            tl.store(x, n)

        return kernel

    kernel, x, seen = make(), np.zeros(1, np.int32), []
    kernel.add_pre_run_hook(lambda *args, **kwargs: seen.append(args[1]))
    kernel[(1,)](x, 1)
    copied = copy.copy(kernel)
    assert copied is not kernel and copied.fn is kernel.fn and not copied.variants()
    copied[(1,)](x, 5)
    assert x[0] == 5 and seen == [1, 5]
    assert copied.do_not_specialize == ["n"] and copied.debug
    kernel._unsafe_update_src(kernel.src.replace("tl.store(x, n)", "tl.store(x, n + 1)"))
    copy.copy(kernel)[(1,)](x, 5)
    assert x[0] == 6
