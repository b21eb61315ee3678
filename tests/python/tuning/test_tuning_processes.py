"""Tuning in several processes: killed, at once, forked, by ranks; and the command line."""

import glob
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
import types

import pytest

pytestmark = pytest.mark.host

# Tunes `kernel` with a do_bench that writes one line for each measurement to FILE.
PROGRAM = """
import os, sys, time
import numpy as np
import sectile as st
import sectile.language as tl

BLOCKS = [int(b) for b in os.environ.get("BLOCKS", "8 4 2 1").split()]

def log(text):
    with open(os.environ["FILE"], "a") as file:
        file.write(f"{text}\\n")

def bench(call, quantiles):
    call()
    log(f"{os.environ.get('RANK', '')} {out[0]}")
    time.sleep(float(os.environ.get("PAUSE", "0")))
    return float(out[0])

@st.jit
def kernel(out, n, BLOCK: tl.constexpr):
    tl.store(out, BLOCK)

def tuner(**options):
    options = {"do_bench": bench, "verify": False, **options}
    return st.autotune([st.Config({"BLOCK": b}) for b in BLOCKS], key=["n"], **options)(kernel)

out = np.zeros(1, np.int32)
"""
LAUNCH = "t = tuner()\nt[(1,)](out, 5)\nprint('chose', t.best_config.kwargs['BLOCK'])\n"


class Job:
    def __init__(self, folder):
        self.folder = folder
        self.log = folder / "log"
        self.log.write_text("")
        (folder / "program.py").write_text(PROGRAM)

    def start(self, text=LAUNCH, **environment):
        main = self.folder / f"main-{abs(hash(text))}.py"
        if not main.exists():  # else a process may be reading it
            main.write_text(f"from program import *\nimport program\n{textwrap.dedent(text)}")
        return subprocess.Popen(
            [sys.executable, str(main)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "SECTILE_CACHE_DIR": str(self.folder / "cache"),
                "SECTILE_TUNING_DIR": "",
                "FILE": str(self.log),
                **environment,
            }
            | {"SECTILE_TUNING_DIR": str(self.folder / "tuning")},
        )

    def run(self, text=LAUNCH, **environment):
        process = self.start(text, **environment)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        return out

    def measured(self):
        return self.log.read_text().split("\n")[:-1]

    def wait_for(self, count):
        end = time.monotonic() + 60
        while len(self.measured()) < count:
            assert time.monotonic() < end
            time.sleep(0.01)


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path)


def test_killed_in_the_middle_and_resumed(job):
    process = job.start(PAUSE="0.3")
    job.wait_for(3)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(job.measured()) == 3
    assert job.run() == "chose 1\n"
    # Of the three that ran, the last was killed while it was measured.
    assert sorted(job.measured()) == [" 1", " 2", " 2", " 4", " 8"]
    assert job.run() == "chose 1\n"
    assert len(job.measured()) == 5


@pytest.mark.parametrize("seed", range(4))
def test_killed_at_any_time_with_the_clock(job, seed):
    """With rounds of all candidates, too: whenever it is killed, what is on disk can be gone on from."""
    text = "t = tuner(do_bench=None, warmup=0, rep=400)\nlog('ready')\nt[(1,)](out, 5)\nprint('done')\n"
    process = job.start(text)
    job.wait_for(1)
    time.sleep(0.02 + 0.05 * seed)
    process.send_signal(signal.SIGKILL)
    process.wait()
    text += "r = t.tuning_report()\nprint(r.damaged_lines, r.count('best', 'ok', 'rejected'), r.best.status)"
    assert job.run(text).split("\n")[0] == "done"
    assert job.run(text).split("\n")[1].split() == ["0", "4", "best"]


def test_samples_of_a_killed_run_are_used(job):
    """Rounds on record count: the second process times less."""
    text = """
    from sectile.runtime.autotuner import race, session
    original = race.HostClock.time_round
    rounds = [0]
    def time_round(self, turns):
        original(self, turns)
        log("round")
        if os.environ.get("DIE") and len(open(os.environ["FILE"]).readlines()) == 6:
            os.kill(os.getpid(), 9)
    session.HostClock.time_round = time_round
    session.Race._turns = lambda self, racer: 1
    race.is_beaten = lambda samples, best: False
    t = tuner(do_bench=None, warmup=0, rep=0.0001)   # three rounds ... of which none rejects
    race._LEAST_SAMPLES = 9
    t[(1,)](out, 5)
    """
    process = job.start(text, DIE="1")
    process.communicate(timeout=60)
    assert process.returncode == -9 and len(job.measured()) == 6
    job.run(text)
    assert len(job.measured()) == 6 + 4  # the sixth was killed before it was written: 5 + 4 = 9


def test_many_processes_tune_once(job):
    processes = [job.start(PAUSE="0.05", RANK=str(rank)) for rank in range(5)]
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert (out, process.returncode) == ("chose 1\n", 0), err
    ranks = {line.split()[0] for line in job.measured()}
    assert len(job.measured()) == 4 and len(ranks) == 1


def test_whoever_waits_for_one_that_is_killed_goes_on(job):
    first = job.start(PAUSE="0.3", RANK="first")
    job.wait_for(2)
    second = job.start(RANK="second")
    time.sleep(0.5)
    assert not [line for line in job.measured() if "second" in line]
    first.send_signal(signal.SIGKILL)
    first.wait()
    out, err = second.communicate(timeout=60)
    assert out == "chose 1\n", err
    assert 1 <= len([line for line in job.measured() if "second" in line]) <= 3


FORKS = {
    # A child of another thread, which then wants the same kernel: it waits for its parent's choice.
    "from another thread": """
        import threading
        tuning = threading.Thread(target=lambda: t[(1,)](out, 5))
        t = tuner()
        tuning.start()
        while not program.out[0]: time.sleep(0.01)
        child = os.fork()
        if child:
            tuning.join()
            assert os.waitpid(child, 0)[1] == 0
        else:
            mine = np.zeros(1, np.int32)
            t[(1,)](mine, 5)
            assert mine[0] == 1
            print('chose', t.best_config.kwargs['BLOCK'], flush=True)
            os._exit(0)
        print('chose', t.best_config.kwargs['BLOCK'])
    """,
    # A child of the tuning itself, for which the parent waits: nobody may wait for the other.
    "from the tuning": """
        def forking(call, quantiles):
            result = bench(call, quantiles)
            if out[0] == 4:
                child = os.fork()
                if not child:
                    tuner()[(1,)](out, 5)
                    assert out[0] == 1
                    print('chose 1', flush=True)
                    os._exit(0)
                assert os.waitpid(child, 0)[1] == 0
            return result
        t = tuner(do_bench=forking)
        t[(1,)](out, 5)
        print('chose', t.best_config.kwargs['BLOCK'])
    """,
}


@pytest.mark.parametrize("way", FORKS)
def test_a_fork_in_the_middle(job, way):
    assert job.run(FORKS[way], PAUSE="0.1") == "chose 1\nchose 1\n"


def test_a_child_that_lives_on_does_not_hold_the_lock(job):
    """The parent is killed; its child, made while the parent tuned, sleeps: the next process tunes."""
    text = """
    def forking(call, quantiles):
        if os.fork() == 0:
            os.close(1); os.close(2)
            time.sleep(20)
            os._exit(0)
        bench(call, quantiles)
        os.kill(os.getpid(), 9)
    tuner(do_bench=forking)[(1,)](out, 5)
    """
    process = job.start(text)
    process.wait()
    start = time.monotonic()
    assert job.run() == "chose 1\n"
    assert time.monotonic() - start < 15


def test_an_added_candidate_in_another_process(job):
    job.run(BLOCKS="8 4")
    assert job.run(BLOCKS="8 4 2") == "chose 2\n"
    assert job.measured() == [" 8", " 4", " 2"]


def test_frozen_in_another_process(job):
    process = job.start(SECTILE_AUTOTUNE="frozen")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "sectile.TuningError: tuning of kernel" in err
    assert f"the same cache folder ({job.folder / 'tuning'})" in err
    job.run()
    assert job.run(SECTILE_AUTOTUNE="frozen") == "chose 1\n"


def test_a_tuning_that_waits_says_for_whom(job):
    first = job.start(PAUSE="2")
    job.wait_for(1)
    text = (
        "from sectile.runtime.autotuner import locks\nlocks._REPORT_AFTER_SECONDS = 0.2\n" + LAUNCH
    )
    second = job.start(text)
    time.sleep(1.5)
    first.send_signal(signal.SIGKILL)
    first.wait()
    out, err = second.communicate(timeout=60)
    assert out == "chose 1\n"
    assert f"sectile: waiting for process {first.pid}: tuning of kernel for (5, 'int32')" in err


# -- ranks --------------------------------------------------------------------------------------------

STORE = """
class FileStore:
    '''set, get and add, by files.'''
    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
    def path(self, key):
        return os.path.join(self.folder, key.replace("/", "_"))
    def set(self, key, text):
        with open(self.path(key) + f".{os.getpid()}", "w") as file:
            file.write(text)
        os.rename(self.path(key) + f".{os.getpid()}", self.path(key))
    def get(self, key):
        with open(self.path(key)) as file:
            return file.read()
    def add(self, key, count):
        import fcntl
        with open(self.path(key), "a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write("x" * count)
            file.flush()
            return os.path.getsize(self.path(key))
store = FileStore(os.environ["FILE"] + ".store")
"""


def ranks(job, text, count=4, **environment):
    """(output, status) of ranks that share no folder but the store's."""
    processes = []
    for rank in range(count):
        own = job.folder / f"rank{rank}"
        own.mkdir()
        script = f"import os\nos.environ['SECTILE_TUNING_DIR'] = {str(own)!r}\n{STORE}{textwrap.dedent(text)}"
        processes.append(job.start(script, RANK=str(rank), PAUSE="0.05", **environment))
    return [(process.communicate(timeout=120), process.returncode) for process in processes]


def test_ranks_agree(job):
    text = "st.runtime.autotuner.set_store(lambda: store)\n" + LAUNCH
    for (out, err), status in ranks(job, text):
        assert (out, status) == ("chose 1\n", 0), err
    assert len(job.measured()) == 4 and len({line.split()[0] for line in job.measured()}) == 1


def test_ranks_agree_where_disks_differ(job):
    """One rank has a record that says otherwise; who asks first decides for all."""
    text = """
    if os.environ["RANK"] == "2":
        program.BLOCKS, keep = [8, 4], program.BLOCKS
        tuner()[(1,)](out, 5)                    # alone, and without the store: 4 is its best
        program.BLOCKS = keep
        os.environ["SECTILE_AUTOTUNE"] = "frozen"   # and it would stay so
    t = tuner(store=store)
    t[(1,)](out, 5)
    print('chose', t.best_config.kwargs['BLOCK'])
    """
    results = ranks(job, text)
    assert len({out for (out, _), _ in results}) == 1, results
    assert all(status == 0 for _, status in results)


def test_ranks_hear_of_a_failure(job):
    text = """
    def failing(call, quantiles):
        raise KeyboardInterrupt
    t = tuner(store=store, do_bench=failing)
    t[(1,)](out, 5)
    """
    results = ranks(job, text, count=3)
    errors = [err.strip().split("\n")[-1] for (_, err), _ in results]
    assert sum("KeyboardInterrupt" == error for error in errors) == 1
    assert sum("the process that tunes failed: KeyboardInterrupt" in error for error in errors) == 2


def test_torch_stores():
    torch = pytest.importorskip("torch")
    if not torch.distributed.is_available():
        pytest.skip("torch has no torch.distributed")
    import threading

    from sectile.runtime.autotuner.agreement import agree

    store = torch.distributed.HashStore()
    decided, answers = [], []

    def rank():
        def decide():
            decided.append(1)
            time.sleep(0.2)
            return "abc"

        answers.append(agree(store, "k", "tuning of k", decide))

    threads = [threading.Thread(target=rank) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["abc"] * 4 and len(decided) == 1


def test_a_rank_that_does_not_answer():
    import sectile as st
    from sectile.runtime.autotuner.agreement import agree

    class Store(dict):
        set = dict.__setitem__
        get = dict.__getitem__

        def add(self, key, count):
            return 2

    with pytest.raises(st.TuningError, match="has not answered for 0 s\n  help: look there"):
        agree(Store(), "k", "tuning of k", lambda: "", timeout=0.1)
    with pytest.raises(TypeError, match="store has no set"):
        agree(object(), "k", "tuning of k", lambda: "")


# -- the command --------------------------------------------------------------------------------------


def tune(job, *arguments, script=LAUNCH, **environment):
    job.start("pass").wait()  # writes program.py
    path = job.folder / "script.py"
    path.write_text(f"from program import *\n{script}")
    command = [*arguments] if "SCRIPT" not in arguments else [
        str(path) if argument == "SCRIPT" else argument for argument in arguments
    ]  # fmt: skip
    return subprocess.run(
        [sys.executable, "-m", "sectile", "tune", *command],
        capture_output=True,
        text=True,
        timeout=120,
        env={
            **os.environ,
            "SECTILE_CACHE_DIR": str(job.folder / "cache"),
            "SECTILE_TUNING_DIR": str(job.folder / "tuning"),
            "FILE": str(job.log),
            **environment,
        },
    )


def test_the_command(job):
    script = LAUNCH + "print(*__import__('sys').argv[1:], __name__)\nraise SystemExit(3)\n"
    result = tune(job, "--details", "SCRIPT", "--flag", "a", script=script)
    assert result.returncode == 3, result.stderr
    lines = result.stdout.splitlines()
    assert lines[:2] == ["chose 1", "--flag a __main__"]
    table = next(i for i, line in enumerate(lines) if line.startswith("kernel  key"))
    assert lines[table + 2].startswith("kernel  (5, int32)  BLOCK: 1  1 ms  8.00x  4 measured, in ")
    assert " 8.00x " in lines[table + 2] and "4 measured" in lines[table + 2]
    assert sum("█" in line for line in lines) == 4
    assert "kernel (5, int32): 1 ms, BLOCK: 1" in result.stderr
    assert len(job.measured()) == 4

    result = tune(job, "SCRIPT", SECTILE_AUTOTUNE="frozen")
    assert result.returncode == 0 and "from disk" in result.stdout
    assert len(job.measured()) == 4
    result = tune(job, "--force", "SCRIPT")
    assert len(job.measured()) == 8


def test_the_command_keeps_what_was_measured_before_an_error(job):
    result = tune(job, "SCRIPT", script=LAUNCH + "1 / 0\n")
    assert result.returncode == 1 and "ZeroDivisionError" in result.stderr
    assert "BLOCK: 1" in result.stdout
    assert glob.glob(str(job.folder / "tuning" / "kernel-*.tuning"))


def test_plots_of_the_command(job):
    pytest.importorskip("matplotlib")
    result = tune(job, "--plot", str(job.folder / "plots"), "SCRIPT")
    assert (job.folder / "plots" / "kernel-0.png").stat().st_size > 1000, result.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "no script was given"),
        (["none.py"], "there is no file 'none.py'"),
        (["--fast", "x"], "unknown option '--fast'"),
        (["--budget", "soon", "x"], "--budget is 'soon', not a number"),
        (["--budget"], "--budget needs a value"),
    ],
)
def test_wrong_commands(job, arguments, message):
    result = tune(job, *arguments)
    assert result.returncode == 2 and message in result.stderr and "usage:" in result.stderr


def test_the_live_display():
    import io

    from sectile.runtime.autotuner import Config
    from sectile.runtime.autotuner.command import Display
    from sectile.runtime.autotuner.race import Racer

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    class Session:
        tuner = type("T", (), {"__name__": "matmul"})()
        tuner.__name__ = "matmul"
        key_text = "(512, float16)"
        configs = [Config({"BLOCK": 8}), Config({"BLOCK": 16}), Config({"BLOCK": 32})]
        candidates = [
            types.SimpleNamespace(config=c, text=f"BLOCK: {c.kwargs['BLOCK']}") for c in configs
        ]
        compiled = 2
        verification = types.SimpleNamespace(trials={1})

    stream = Terminal()
    display = Display(stream)
    display.started(Session)
    display.drawn = 0.0
    display.compiled(Session, None)
    display.drawn = 0.0
    display.verified(Session, None)
    racer = Racer(Session.configs[0], [0.25, 0.25])
    race = type("R", (), {"alive": lambda self: [racer], "racers": [racer, racer]})()
    display.drawn = 0.0
    display.timed(Session, race, {})
    text = stream.getvalue()
    lines = [re.sub(r"[0-9.]+ s", "0 s", line) for line in text.split("\r\x1b[K")]
    assert lines == [
        "",
        "3 candidates, 0 s  matmul (512, float16)",
        "compiled 2/3, 0 s  matmul (512, float16)",
        "verified 1/3, 0 s  matmul (512, float16)",
        "timing 1 of 2, run 2, 0 s, best 250 us: BLOCK: 8  matmul (512, float16)",
    ]


def on_a_terminal(columns, command, **environment):
    """What a program writes to a terminal of so many columns."""
    import fcntl
    import pty
    import struct
    import termios

    child, descriptor = pty.fork()
    if child == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.environ.pop("COLUMNS", None)
        os.execve(command[0], command, {**os.environ, **environment})
    text = b""
    while True:
        try:
            part = os.read(descriptor, 65536)
        except OSError:  # the terminal is gone
            break
        if not part:
            break
        text += part
    os.close(descriptor)
    assert os.waitpid(child, 0)[1] == 0, text.decode()
    return text.decode()


@pytest.mark.parametrize("columns", [60, 80, 110])
def test_on_a_terminal_the_progress_is_seen_and_tables_fit(job, columns):
    job.start("pass").wait()  # writes program.py
    path = job.folder / "script.py"
    path.write_text(
        "from program import *\nprogram_n = 'a long key ' * 20\n"
        "@st.jit\ndef kernel_of_a_long_name(out, x, y, n, text: tl.constexpr, BLOCK: tl.constexpr):\n"
        "    tl.store(out, BLOCK)\n"
        "t = st.autotune([st.Config({'BLOCK': b}) for b in BLOCKS], key=['n', 'text'], do_bench=bench,\n"
        "                verify={'x': None})(kernel_of_a_long_name)\n"
        "t[(1,)](out, out, out, 123456789, program_n)\n"
    )
    text = on_a_terminal(
        columns, [sys.executable, "-m", "sectile", "tune", str(path)], PAUSE="0.06", FILE=str(job.log),
        SECTILE_CACHE_DIR=str(job.folder / "cache"), SECTILE_TUNING_DIR=str(job.folder / "tuning"),
    )  # fmt: skip
    live = [part.partition("\r\n")[0] for part in text.split("\r\x1b[K")[1:] if "\r\n" not in part]
    assert all(len(part) < columns for part in live)
    best = [part for part in live if "best " in part]
    assert best and all(
        re.match(r"\d/4 done, [0-9.]+ s, best \d ms: BLOCK: \d  kernel_of", p) for p in best
    )
    table = text[text.rindex("\r\nkernel ") :].strip().split("\r\n")[:3]
    assert len(table) == 3 and all(len(line) <= columns for line in table)
    assert "1 ms" in table[2] and "8.00x" in table[2] and "BLOCK: 1" in table[2] and "…" in table[2]


def test_a_table_is_cut_where_it_matters_least():
    from sectile.runtime.autotuner.command import final_table

    class Report:
        kernel, key = "softmax", (781, "float32", "float32", "device")
        best = types.SimpleNamespace(milliseconds=0.5)
        rows = [types.SimpleNamespace(milliseconds=1.0)]
        best_text = staticmethod(lambda: "BLOCK_M: 128, BLOCK_N: 64")
        summary = staticmethod(lambda: "12 measured, results of 12 agree, in 2.1 s")

    whole = final_table([(Report, True)])
    assert (
        "(781, float32)  BLOCK_M: 128, BLOCK_N: 64  500 us  2.00x  12 measured, results of 12"
        in whole
    )
    cut = final_table([(Report, True)], 80).split("\n")
    assert max(map(len, cut)) <= 80 and "BLOCK_M: 128, BLOCK_N: 64" in cut[2]
    assert max(map(len, final_table([(Report, True)], 60).split("\n")[:3])) <= 60
