"""Many threads in one process: they launch, compile, clear, listen, seal and fork at once.

Each program runs in a process of its own, so that what is sealed, listened to or forked is its own.
"""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.host

HEAD = """
import os, signal, sys, threading, warnings
import numpy as np
import sectile as st
import sectile.language as tl

warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads

@st.jit
def kernel(out, x, n, NUMBER: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, value * NUMBER + 1, mask=i < n)

x = np.random.default_rng(0).standard_normal(1000).astype(np.float32)

def use(number, kernel=kernel, block=64):
    out = np.zeros_like(x)
    kernel[(-(-x.size // block),)](out, x, x.size, NUMBER=number, BLOCK=block)
    expected = x.astype(np.float64) * number + 1
    return np.abs(out - expected).max() <= 1e-6 * (abs(number) * np.abs(x).max() + 1)

errors = []

def together(*bodies):
    def guarded(body, number):
        try:
            start.wait()
            body(number)
        except BaseException as error:
            errors.append(error)
    start = threading.Barrier(len(bodies))
    threads = [threading.Thread(target=guarded, args=(body, i)) for i, body in enumerate(bodies)]
    for thread in threads: thread.start()
    return threads

def join(threads):
    for thread in threads: thread.join()
    for error in errors: raise error
"""


@pytest.fixture
def run(tmp_path):
    def run(text, **environment):
        script = tmp_path / "program.py"
        script.write_text(HEAD + textwrap.dedent(text))
        result = subprocess.run(
            [sys.executable, str(script)],
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "SECTILE_CACHE_DIR": str(tmp_path / "cache"), **environment},
        )
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    return run


def test_launches_while_others_compile_and_clear(run):
    text = """
    done = []

    def launch_one(_):
        for _ in range(400): assert use(3)
        done.append(1)

    def launch_others(thread):
        for round in range(120): assert use(2 + (round * thread) % 7, block=32)
        done.append(1)

    def compile_ahead(_):
        number = 1000
        while len(done) < 4:
            number += 4
            kernel.precompile({"out": "*fp32:16", "x": "*fp32:16", "n": "i32", "BLOCK": 64,
                               "NUMBER": [number, number + 1]}, num_warps=[4, 8])

    def forget(_):
        while len(done) < 4:
            st.clear_cache()          # what the runtime holds
            kernel.variants()
            kernel.clear()            # what the kernel holds, while others launch it

    join(together(launch_one, launch_one, launch_others, launch_others, compile_ahead, forget))
    print(st.runtime.control.statistics()["failed_compiles"])
    """
    assert run(text) == "0\n"
    assert run(text) == "0\n"  # now from disk


def test_kernels_die_on_whichever_thread(run):
    """Functions defined where they are used, handed to other threads and dropped there."""
    text = """
    import queue
    handed = queue.Queue()

    def define(thread):
        for round in range(60):
            @st.jit
            def local(out, x, n, NUMBER: tl.constexpr, BLOCK: tl.constexpr):
                i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                tl.store(out + i, tl.load(x + i, mask=i < n) * NUMBER + 1, mask=i < n)
            assert use(round, local)
            handed.put((round, local))
        handed.put(None)

    def drop(_):
        while (item := handed.get()) is not None:
            assert use(item[0], item[1]) and use(item[0] + 1, item[1])
            st.clear_cache()

    join(together(define, define, drop, drop))
    """
    run(text)


def test_one_compile_for_threads_that_want_the_same(run):
    text = """
    def launch(_):
        for number in range(30): assert use(number)
    join(together(*[launch] * 6))
    print(st.runtime.control.statistics()["compiles"], len(kernel.variants()))
    """
    assert run(text) == "30 30\n"


def test_listeners(run):
    text = """
    seen, callers = [], set()

    def listener(event):
        seen.append(event.variant)
        callers.add(threading.get_ident())

    def broken(event):
        raise RuntimeError("of the listener")

    st.set_compile_listener(listener)
    futures = [kernel.warmup(x, x, 1000, NUMBER=number, BLOCK=32, grid=(1,), wait=False)
               for number in range(8)]
    def launch(thread):
        for number in range(10): assert use(100 * thread + number + 10)
    join(together(launch, launch, launch))
    [future.result(timeout=60) for future in futures]
    assert len(seen) == len(set(seen)) == 38, len(seen)
    assert len(callers) >= 4
    st.set_compile_listener(None)
    assert use(5555) and len(seen) == 38
    """
    run(text)


def test_sealed_while_others_compile(run):
    text = """
    good, refused = [], []

    def launch(thread):
        for round in range(100000):
            was_sealed, number = bool(sealed), 1000 * thread + round % 1000 + 1
            try:
                assert use(number)
                assert not was_sealed or number in good
                good.append(number)
            except st.SectileError as error:
                assert "sealed, and no variant fits: NUMBER" in str(error), error
                refused.append(number)
                if len(refused) > 20: return

    def seal(_):
        while len(good) < 20: pass
        st.seal()
        sealed.append(True)

    sealed = []
    join(together(launch, launch, launch, seal))
    compiled = st.runtime.control.statistics()["compiles"]
    for number in good: assert use(number)
    assert st.runtime.control.statistics()["compiles"] == compiled
    """
    run(text)


FORK = """
    stopped = []

    def work(thread):
        number = 100000 * (thread + 1)
        while not stopped:
            number += 1
            assert use(number)
            if ahead: kernel.precompile({"out": "*fp32:16", "x": "*fp32:16", "n": "i32", "BLOCK": 64,
                                         "NUMBER": number}, targets=["cuda:90"])
            if number % 5 == 0: st.clear_cache()

    # What is imported late is imported now: a child of fork() waits for ever for a module that another
    # thread was importing.
    ahead = AHEAD
    assert use(1)
    kernel.precompile({"out": "*fp32", "x": "*fp32", "n": "i32", "BLOCK": 64, "NUMBER": 0})
    threads = together(work, work, work)
    for round in range(20):
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            good = use(5) and use(9000000 + round)
            if ahead:
                made, = kernel.precompile({"out": "*fp32:16", "x": "*fp32:16", "n": "i32",
                                           "BLOCK": 64, "NUMBER": 7 + round}, targets=["cuda:90"])
                good = good and "ptx" in made.asm
            os._exit(0 if good else 1)
        status = os.waitpid(child, 0)[1]
        assert status == 0, (round, status)
    stopped.append(True)
    join(threads)
"""


@pytest.mark.parametrize("cached", [False, True])
def test_forks_while_others_compile(run, cached):
    """Locks of LLVM, of the linker and of the system's loader are held at all times here."""
    environment = {} if cached else {"SECTILE_CACHE_DIR": ""}
    run(
        FORK.replace("AHEAD", str(not cached)),
        SECTILE_ASSEMBLER="none",
        SECTILE_CACHE_WAIT="1",
        **environment,
    )


def test_a_fork_while_the_compiler_is_loaded(run):
    text = """
    import ast, inspect, linecache, tokenize
    import sectile.compiler, sectile.runtime.dependencies, sectile.runtime.functions
    import sectile.runtime.precompile, sectile.runtime.source
    thread, = together(lambda _: use(3))
    loading = lambda: "sectile-compiler" in open("/proc/self/maps").read()
    while not loading() and thread.is_alive(): pass
    children = []
    for round in range(4):
        children.append(os.fork())
        if children[-1] == 0:
            signal.alarm(60)
            os._exit(0 if use(4 + round) else 1)
    for child in children: assert os.waitpid(child, 0)[1] == 0
    join([thread])
    """
    for _ in range(3):
        run(text, SECTILE_CACHE_DIR="")
