"""Ctrl-C, and other signals with handlers of Python's, while a kernel on the CPU keeps the main thread.

Each program runs in a process of its own, which sends itself the signal from another thread.
"""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.host

HEAD = """
import os, signal, sys, threading, time
import numpy as np
import sectile as st
import sectile.language as tl

@st.jit
def endless(out, flag):
    turns = tl.load(out)
    while tl.load(flag, volatile=True) == 0:
        turns += 1
    tl.store(out, turns)

@st.jit
def endless_tiles(out, flag, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    while tl.load(flag, volatile=True) == 0:
        total += tl.load(out + i)
    tl.store(out + i, total)

@st.jit
def long_loop(out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.load(out + i)
    for turn in range(n):
        for again in range(n):
            total = tl.sin(total) + again
    tl.store(out + i, total)

@st.jit
def program_number(out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = (tl.program_id(0) + i).to(tl.float32)
    for _ in tl.static_range(64):
        value = tl.sin(value)
    tl.store(out + tl.program_id(0) % 64, tl.sum(value))

out, flag = np.zeros(256, np.float32), np.zeros(1, np.int32)
counter = np.zeros(1, np.int64)
number = getattr(signal, sys.argv[1]) if len(sys.argv) > 1 else signal.SIGINT

def send(after, times=1):
    def body():
        for _ in range(times):
            time.sleep(after)
            os.kill(os.getpid(), number)
    threading.Thread(target=body, daemon=True).start()
    return time.monotonic()

def afterwards():
    "The process is as good as before."
    flag[0] = 1
    endless[(4,)](counter, flag)
    out[:] = 0
    program_number[(64,)](out, 16)
    assert np.isfinite(out[:64]).all() and out[:64].any()
"""


@pytest.fixture
def run(tmp_path):
    def run(text, *arguments, threads=None):
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(HEAD) + textwrap.dedent(text))
        environment = dict(os.environ)
        if threads:
            environment["SECTILE_NUM_THREADS"] = str(threads)
        return subprocess.run(
            [sys.executable, str(script), *arguments],
            capture_output=True, text=True, timeout=60, env=environment,
        )  # fmt: skip

    return run


LAUNCHES = {
    "a while loop of scalars": "endless[(1,)](counter, flag)",
    "in every thread": "endless[(64,)](counter, flag)",
    "a while loop of tiles": "endless_tiles[(3,)](out, flag, 256)",
    "nested for loops": "long_loop[(2,)](out, 1 << 30, 64)",
    "many programs": "program_number[(1 << 30,)](out, 64)",
    "a bound kernel": "endless[(2,)].bind(counter, flag)()",
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("launch", LAUNCHES.values(), ids=LAUNCHES)
def test_control_c_ends_a_launch(run, launch, threads):
    result = run(
        f"""
        started = send(0.7)
        try:
            {launch}
        except KeyboardInterrupt:
            print("interrupted")
        afterwards()
        """,
        threads=threads,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "interrupted\n"


def test_a_handler_decides(run):
    """One that returns lets the kernel go on; one that raises ends it, with what it raises."""
    result = run(
        """
        seen = []
        def handler(*_):
            seen.append(1)
            if len(seen) == 3:
                raise TimeoutError("third")
        signal.signal(signal.SIGALRM, handler)
        send(0.4, times=3)
        try:
            endless[(2,)](counter, flag)
        except TimeoutError as error:
            print(error, len(seen))
        afterwards()
        """,
        "SIGALRM",
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "third 3\n"


def test_a_handler_may_let_the_kernel_finish(run):
    result = run(
        """
        def handler(*_):
            flag[0] = 1
        signal.signal(signal.SIGUSR1, handler)
        send(0.4)
        endless[(2,)](counter, flag)
        print("done")
        """,
        "SIGUSR1",
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "done\n"


def test_launches_of_other_threads_go_on(run):
    """Python runs handlers in its main thread: that one is interrupted, not the kernel elsewhere."""
    result = run(
        """
        worker = threading.Thread(target=lambda: endless[(2,)](counter, flag))
        worker.start()
        send(0.5)
        try:
            time.sleep(30)  # an interrupted join() leaves the thread for dead in some Pythons
        except KeyboardInterrupt:
            print("interrupted", worker.is_alive())
        flag[0] = 1
        worker.join()
        afterwards()
        """
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "interrupted True\n"


def test_a_child_is_interrupted_as_its_parent_was(run):
    result = run(
        """
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        def interrupted():
            send(0.5)
            try:
                endless[(2,)](counter, flag)
            except KeyboardInterrupt:
                return True
        assert interrupted()
        if child := os.fork():
            assert os.waitpid(child, 0)[1] == 0
            print("both")
        else:
            os._exit(0 if interrupted() else 1)
        """
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "both\n"
