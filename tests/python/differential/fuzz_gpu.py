"""Random kernels on a GPU against the CPU, both against float64 with error bounds (`error_bounds.py`).

    python tests/python/differential/fuzz_gpu.py --seconds 120 --seed 0            # what there is
    python tests/python/differential/fuzz_gpu.py --device compile --cases 500      # no GPU needed
    python tests/python/differential/fuzz_gpu.py --device simulated                # its code on the CPU
    ... --device hip:gfx942                  # AMD's code objects, in an interpreter
    ... --device archive                     # what an archive has, on the CPU
    ... --device simulated --chip sm_90a     # Hopper's: group products, copy engine, producers (no other is)
    ... --device simulated --chip gfx942     # 64 lanes (gfx1100: 32) and AMD's matrix instructions
    python tests/python/differential/fuzz_gpu.py --only 1234                       # one, with its source
    ... --profile matmul                     # of one kind only: other kernels, by numbers of their own
    python tests/python/differential/fuzz_gpu.py --census 500                      # what is in so many

Case number i of seed s is the same everywhere: its number is printed, and `--only` repeats it. A mismatch is
printed with its kernel, made smaller while it still goes wrong. Processes that a kernel crashes or hangs are
replaced.
"""

import argparse
import collections
import multiprocessing
import os
import pathlib
import queue
import sys
import tempfile
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent))
warnings.simplefilter("ignore", SyntaxWarning)  # kernels become strange while they become smaller

HANGING = 60  # seconds


def report(case, outcome, device):
    arrays = [name for name in case.arguments if "_" in name]
    launch = ", ".join(f"{n}={case.scalars[n]}" for n in case.arguments if "_" not in n)
    return (
        f"--- {outcome.kind}, case {case.seed} (fuzz_gpu.py --device {device} --only {case.seed})\n"
        f"{outcome.text}\n"
        f"grid {case.grid}, {launch}, {case.options}, {case.style} numbers, shifted by one element: "
        f"{sorted(case.shifted & set(arrays)) or 'none'}\n{case.source}"
    )


def set_up(arguments):
    import emulated_hip
    import fuzz_case

    if arguments.chip:
        fuzz_case.simulate.options = ["--chip", arguments.chip]
        if arguments.shared:
            fuzz_case.simulate.options += ["--shared", str(arguments.shared)]
    if arguments.profile:
        from random_kernels import Builder

        Builder.only_profile = arguments.profile
    if arguments.device.startswith("hip:"):
        emulated_hip.use(arguments.device.removeprefix("hip:"))


class LostDevice(BaseException):
    """A kernel crashed, and this process can use the GPU no more."""


def check(seed, device, folder, shrinks=True, full=False):
    """(Outcome, report)"""
    from fuzz_case import Outcome, run
    from random_kernels import make_case
    from shrink import shrink

    from sectile import MachineError

    case = make_case(seed)

    def attempt(case):
        try:
            return run(case, device, folder)
        except Exception as error:
            text = f"{type(error).__name__}: {str(error)[:2000]}"
            if device == "cuda" and ("CUDA" in text or isinstance(error, MachineError)):
                raise LostDevice(text) from None
            return Outcome("failed", text)

    outcome = attempt(case)
    if not outcome.is_bad():
        return outcome, report(case, outcome, device) if full else ""
    text = report(case, outcome, device)
    if shrinks:

        def is_still_bad(smaller):
            now = attempt(smaller)
            return now.kind == outcome.kind and family(now) == family(outcome)

        try:
            small = shrink(case, is_still_bad)
        except LostDevice as lost:
            raise LostDevice(f"{lost}\nwhile this was made smaller:\n{text}") from None
        if small is not case:
            now = attempt(small)
            # What goes wrong now and then may be right by now: then the kernel as it was is shown.
            if now.kind == outcome.kind and family(now) == family(outcome):
                text = report(small, now, device)
    return outcome, text


def family(outcome):
    """What failures of one cause have in common: messages without names and numbers."""
    words = outcome.text.replace("(", " ").split()
    kept = [w for w in words if not any(c.isdigit() for c in w) and "/" not in w]
    return " ".join(kept[:8]) if outcome.kind == "failed" else outcome.text.split("\n")[0]


def work(number, count, arguments, current, results):
    """Cases number, number + count, ...; says which one it is at, for when it does not come back."""
    os.environ["SECTILE_CACHE_DIR"] = tempfile.mkdtemp(dir=arguments.folder)
    set_up(arguments)
    folder = tempfile.mkdtemp(dir=arguments.folder)
    for seed in range(arguments.first + number, arguments.first + arguments.cases, count):
        if time.time() > arguments.end:
            break
        if seed < current[number]:  # a process before this one went that far
            continue
        current[number] = seed
        started = time.time()
        try:
            outcome, text = check(seed, arguments.device, folder, arguments.shrink)
        except BaseException as error:  # the context of the GPU is lost, and with it this process
            from fuzz_case import Outcome
            from random_kernels import make_case

            outcome = Outcome("crashed", f"{type(error).__name__}: {str(error)[:9000]}")
            results.put(
                (number, seed, outcome.kind, report(make_case(seed), outcome, arguments.device), 0)
            )
            results.close()
            results.join_thread()
            os._exit(1)
        results.put((number, seed, outcome.kind, text, time.time() - started))
        current[number] = seed + 1
    results.put((number, None, "", "", 0))


class Progress:
    def __init__(self):
        self.start = self.shown = time.time()
        self.counts = collections.Counter()
        self.slow = []

    def take(self, seed, kind, text, seconds):
        self.counts[kind] += 1
        self.slow = sorted([*self.slow, (seconds, seed)], reverse=True)[:3]
        if text:
            print(text, flush=True)
        if time.time() - self.shown > 10:
            self.show()

    def show(self):
        self.shown = time.time()
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.counts.most_common())
        print(
            f"{self.shown - self.start:.0f} s: {sum(self.counts.values())} cases: {kinds}",
            flush=True,
        )

    def bad(self):
        return sum(self.counts[kind] for kind in ("wrong", "failed", "crashed", "hanging"))


def run_all(arguments):
    context = multiprocessing.get_context("spawn")
    count = arguments.jobs
    current = context.Array("q", [0] * count)
    results = context.Queue()
    progress = Progress()
    workers, since = {}, {}

    def start(number):
        workers[number] = context.Process(
            target=work, args=(number, count, arguments, current, results)
        )
        workers[number].start()
        since[number] = (time.time(), current[number])

    for number in range(count):
        start(number)
    while workers:
        try:
            number, seed, kind, text, seconds = results.get(timeout=1)
            if seed is None:
                workers.pop(number).join()
            else:
                progress.take(seed, kind, text, seconds)
            continue
        except queue.Empty:
            pass
        for number, worker in list(workers.items()):
            at = current[number]
            if since[number][1] != at:
                since[number] = (time.time(), at)
            hangs = time.time() - since[number][0] > HANGING + 20 * arguments.shrink
            if worker.is_alive() and not hangs:
                continue
            worker.kill()
            worker.join()
            if worker.exitcode != 1:  # 1: it has said why
                from fuzz_case import Outcome
                from random_kernels import make_case

                kind = "hanging" if hangs else "crashed"
                outcome = Outcome(
                    kind, f"after {HANGING} s" if hangs else f"exit status {worker.exitcode}"
                )
                progress.take(at, kind, report(make_case(at), outcome, arguments.device), 0)
            current[number] = at + 1
            del workers[number]
            if time.time() < arguments.end:
                start(number)
    progress.show()
    slow = ", ".join(f"{seed} ({seconds:.1f} s)" for seconds, seed in progress.slow)
    print(f"slowest: {slow}")
    return progress.bad()


def default_device():
    from launch_on_device import why_not

    reason = why_not("cuda")
    if reason:
        print(f"no GPU ({reason}): kernels are compiled only; --device cpu runs them on the CPU")
    return "compile" if reason else "cuda"


def show_census(seeds):
    from census import census
    from random_kernels import make_case

    for name, count in sorted(census(map(make_case, seeds)).items()):
        print(f"{count:6} {name}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=0, help="cases begin at 1000000 times this")
    parser.add_argument("--cases", type=int, default=1000000, help="at most so many")
    chips = [f"hip:{chip}" for chip in ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")]
    parser.add_argument(
        "--device", choices=["cuda", "cpu", "compile", "simulated", "archive", *chips]
    )
    parser.add_argument(
        "--shared",
        type=int,
        help="bytes of shared memory of that chip: few leave room for one program",
    )
    parser.add_argument(
        "--chip", help="sm_90a, or a chip of AMD's, that --device simulated is like"
    )
    parser.add_argument("--profile", help="kernels of this kind only (random_statements.py)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    parser.add_argument("--only", type=int, help="run this case and print its kernel")
    parser.add_argument("--census", type=int, help="print how many of so many cases have what")
    parser.add_argument(
        "--no-shrink", dest="shrink", action="store_false", help="print kernels as they are"
    )
    arguments = parser.parse_args()
    import fuzz_case  # noqa: F401 - finds the modules of tests/python

    if arguments.census:
        return show_census(
            range(arguments.seed * 1000000, arguments.seed * 1000000 + arguments.census)
        )
    arguments.device = arguments.device or default_device()
    if arguments.only is not None:
        set_up(arguments)
        folder = tempfile.mkdtemp(prefix="sectile-fuzz-")
        outcome, text = check(arguments.only, arguments.device, folder, arguments.shrink, full=True)
        print(text)
        sys.exit(outcome.is_bad())
    set_up(arguments)
    arguments.first = arguments.seed * 1000000
    arguments.end = time.time() + arguments.seconds
    with tempfile.TemporaryDirectory(prefix="sectile-fuzz-") as arguments.folder:
        bad = run_all(arguments)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
