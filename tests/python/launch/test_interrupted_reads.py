"""What a kernel reads of Python at a launch may be interrupted: KeyboardInterrupt and SystemExit reach the caller.

Each case reads a value in its own way; `interrupt` is called as it is read. Interrupted is

- the first launch, which evaluates the kernel;
- a later launch, which asks whether the value is the same;
- a launch after `clear()`, which asks the runtime for what it has compiled.

In all three the next launch is as if nothing had happened, and compiles nothing that was there.
"""

import threading

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile import _native

pytestmark = pytest.mark.host

pending = []


def interrupt():
    if pending:
        raise pending.pop()


class Settings:
    @property
    def value(self):
        interrupt()
        return 10

    def __getitem__(self, name):
        interrupt()
        return 10

    def method(self):
        interrupt()
        return 10


def function():
    interrupt()
    return 10


class Missing:
    """Has no attribute `value`, and says so by an exception of its own."""

    def __getattr__(self, name):
        if name == "value":
            interrupt()
        raise AttributeError(name)


settings, missing = Settings(), Missing()


@st.jit
def read_attribute(o):
    tl.store(o, settings.value)


@st.jit
def read_item(o):
    tl.store(o, settings["value"])


@st.jit
def call_method(o):
    tl.store(o, settings.method())


@st.jit
def call_function(o):
    tl.store(o, function())


@st.jit
def ask_for_attribute(o):
    if hasattr(missing, "value"):
        tl.store(o, 20)
    else:
        tl.store(o, 10)


@st.jit
def read_of_constant(o, c: tl.constexpr):
    tl.store(o, c.value)


KERNELS = {
    "attribute": (read_attribute, lambda: ()),
    "item": (read_item, lambda: ()),
    "method": (call_method, lambda: ()),
    "function": (call_function, lambda: ()),
    "hasattr": (ask_for_attribute, lambda: ()),
    # Of each new object everything that was recorded is asked.
    "new constant": (read_of_constant, lambda: (Settings(),)),
}
RAISED = [KeyboardInterrupt("by the test"), SystemExit(3)]


def launch(kernel, arguments):
    out = np.zeros(1, np.int32)
    kernel[(1,)](out, *arguments())
    return int(out[0])


def made():
    statistics = _native.statistics()
    return statistics["compiles"] + statistics["same_ir_hits"]


@pytest.fixture(autouse=True)
def fresh():
    pending.clear()
    _native.clear_memory()
    for kernel, _ in KERNELS.values():
        kernel.clear()
    with st.knobs.cache.scope():
        st.knobs.cache.dir = ""
        yield
    pending.clear()


def interrupted(kernel, arguments, raised):
    pending.append(raised)
    with pytest.raises(type(raised)) as caught:
        launch(kernel, arguments)
    assert caught.value is raised and not pending


@pytest.mark.parametrize("raised", RAISED, ids=lambda raised: type(raised).__name__)
@pytest.mark.parametrize("name", KERNELS)
def test_the_first_launch(name, raised):
    kernel, arguments = KERNELS[name]
    interrupted(kernel, arguments, raised)
    assert launch(kernel, arguments) == 10


@pytest.mark.parametrize("raised", RAISED, ids=lambda raised: type(raised).__name__)
@pytest.mark.parametrize("name", KERNELS)
def test_a_later_launch(name, raised):
    kernel, arguments = KERNELS[name]
    assert launch(kernel, arguments) == 10
    before = made()
    interrupted(kernel, arguments, raised)
    assert launch(kernel, arguments) == 10
    assert made() == before


@pytest.mark.parametrize("raised", RAISED, ids=lambda raised: type(raised).__name__)
@pytest.mark.parametrize("name", KERNELS)
def test_a_launch_of_what_the_runtime_has(name, raised):
    kernel, arguments = KERNELS[name]
    assert launch(kernel, arguments) == 10
    kernel.clear()
    interrupted(kernel, arguments, raised)
    assert launch(kernel, arguments) == 10


def test_a_bound_kernel():
    bound = read_attribute[(1,)].bind(np.zeros(1, np.int32))
    pending.append(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        bound.update(o=np.zeros(1, np.int32))
    out = np.zeros(1, np.int32)
    bound(o=out)
    assert out[0] == 10


def test_another_thread_that_waits_is_not_interrupted():
    """Two threads launch the same kernel, and the one that evaluates it is interrupted."""
    is_asking, results = threading.Event(), []

    class Late(KeyboardInterrupt):
        """Raised in one thread only."""

    def other():
        is_asking.wait(30)
        results.append(launch(call_function, tuple))

    thread = threading.Thread(target=other)

    class Slow(list):
        def __bool__(self):
            if threading.current_thread() is thread or is_asking.is_set():
                return False
            is_asking.set()
            thread.join(0.3)  # it waits for this one
            return True

        def pop(self):
            return Late()

    global pending
    before, pending = pending, Slow()
    try:
        thread.start()
        with pytest.raises(Late):
            launch(call_function, tuple)
        thread.join(30)
    finally:
        pending = before
    assert results == [10]
