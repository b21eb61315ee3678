"""The programs of TritonBench (TritonBench_G: 184 public Triton kernels) with Triton and with Sectile in its place.

    git clone https://github.com/thunlp/TritonBench
    ./dev bench tritonbench --repository TritonBench [--save] [--minutes 20] [NAME ...]

Each program is run by its own performance script, on the largest of its inputs, once with the real Triton and once
through the drop-in (`sectile run --as-triton`), each in a process of its own; one of the two is at work at a time. The
figure is the time that the GPU spends in kernels (torch's profiler), Triton's over Sectile's. First calls compile, in
several processes at a time. `--tests` also runs the tests behind each program in both and compares what they print as
results: a program that reads memory nobody wrote, or whose programs race, differs there by itself.

Nothing of TritonBench is part of Sectile. `--save` writes benchmarks/results/tritonbench-<card>.md.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
PROVIDERS = ("triton", "sectile")
#: The stages in which the assembler runs, the same for both.
ASSEMBLING = ("cubin", "assemble")


# ---- the process that runs programs ------------------------------------------------------------------


def run_test(path, out):
    """Runs the program with its tests, and saves the tensors of its results."""
    import runpy

    import torch

    torch.manual_seed(0)
    results, found = {}, runpy.run_path(str(path), run_name="tests")

    def collect(name, value):
        if isinstance(value, torch.Tensor):
            results[name] = value.detach().cpu()
        elif isinstance(value, dict):
            for key, item in value.items():
                collect(f"{name}.{key}", item)
        elif isinstance(value, (list, tuple)):
            for number, item in enumerate(value):
                collect(f"{name}.{number}", item)

    for name, value in found.items():
        if name.startswith("result"):
            collect(name, value)
    torch.cuda.synchronize()
    torch.save(results, out)


def run_performance(name, is_timed):
    """Returns the milliseconds of a first call, and of the kernels of a later one."""
    import importlib

    import torch
    from torch.profiler import ProfilerActivity, profile

    torch.manual_seed(0)
    torch.set_default_device("cuda")  # inputs are made there: the processor would take minutes
    try:
        script = importlib.import_module(name + "_perf").performance_metrics()
        script.get_input_tensors()
    finally:
        torch.set_default_device("cpu")
    inputs = script.to_cuda(script.input_tensors[-1])
    script.input_tensors.clear()
    start = time.time()
    script.call_op(inputs)
    torch.cuda.synchronize()
    figures = {"first": time.time() - start}
    if is_timed:
        start = time.time()
        script.call_op(inputs)
        torch.cuda.synchronize()
        count = max(3, min(20, int(0.05 / max(time.time() - start, 1e-5))))
        with profile(activities=[ProfilerActivity.CUDA]) as seen:
            for _ in range(count):
                script.call_op(inputs)
            torch.cuda.synchronize()
        total = sum(event.self_device_time_total for event in seen.key_averages())
        figures["milliseconds"] = total / count / 1000
    torch.cuda.empty_cache()
    return figures


class CompileTimes:
    """Counts kernels that are compiled, and the seconds that this takes without the assembler."""

    def __init__(self):
        import triton

        self.kernels, self.seconds = 0, 0.0
        triton.knobs.compilation.listener = self.listen

    def listen(self, src, metadata, metadata_group, times, cache_hit):
        if not cache_hit:
            stages = [time for stage, time in times.lowering_stages if stage not in ASSEMBLING]
            self.seconds += 1e-6 * (times.ir_initialization + sum(stages))
            self.kernels += 1

    def take(self):
        """Returns the sums, which begin anew."""
        taken = {"kernels": self.kernels, "compiling": self.seconds}
        self.kernels, self.seconds = 0, 0.0
        return taken


def work(provider, folder):
    """Answers requests ("test NAME", "warm NAME", "time NAME"), one a line, by a line of JSON each."""
    import contextlib
    import io

    folder = pathlib.Path(folder)
    sys.path[:0] = [str(folder), str(folder / "scripts")]
    compiled = CompileTimes()
    for line in sys.stdin:
        what, name = line.split()
        compiled.take()
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                if what == "test":
                    run_test(folder / "tests" / f"{name}.py", folder / f"{name}.{provider}.pt")
                    answer = {}
                else:
                    answer = run_performance(name, what == "time") | compiled.take()
        except BaseException as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:200].replace("\n", " ")}
        print("answer " + json.dumps(answer), file=sys.__stdout__, flush=True)
        if "CUDA" in answer.get("error", ""):  # nothing works in this process any more
            os._exit(1)


class Worker:
    """A process of one provider. With `tunes_anew` it takes no choice of another process's from disk: those were made
    while other programs had the GPU, too, and Triton keeps none."""

    def __init__(self, provider, folder, tunes_anew=False):
        self.provider, self.folder, self.process = provider, folder, None
        self.mode = "force" if tunes_anew else "on"

    def ask(self, what, name, seconds=60):
        if self.process is None or self.process.poll() is not None:
            environment = dict(os.environ, TRITON_CACHE_DIR=f"{self.folder}/triton")
            environment["SECTILE_CACHE_DIR"] = f"{self.folder}/sectile"
            environment["SECTILE_AUTOTUNE"] = self.mode
            command = [sys.executable]
            if self.provider == "sectile":
                command += ["-m", "sectile", "run", "--as-triton"]
            self.process = subprocess.Popen(
                [*command, __file__, "--work", self.provider, self.folder],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        timer = threading.Timer(seconds, self.process.kill)
        timer.start()
        try:
            print(what, name, file=self.process.stdin, flush=True)
            for line in self.process.stdout:
                if line.startswith("answer "):
                    answer = json.loads(line[len("answer ") :])
                    if "CUDA" in answer.get(
                        "error", ""
                    ):  # it ends, and the next question is for another
                        self.process.wait()
                    return answer
        except BrokenPipeError:
            pass
        finally:
            timer.cancel()
        self.process.wait()
        return {"error": f"the process ended, or took more than {seconds} s"}


# ---- the process that asks ---------------------------------------------------------------------------


def lay_out(repository, folder):
    """Copies the programs, with and without their tests, and returns their names."""
    repository, folder = pathlib.Path(repository), pathlib.Path(folder)
    scripts = repository / "performance_metrics" / "perf_G"
    for name in ("tests", "TritonBench_v1", "scripts"):
        (folder / name).mkdir()
    for program in (repository / "data" / "TritonBench_G_v1").glob("*.py"):
        text = program.read_text()
        (folder / "tests" / program.name).write_text(text)
        # A line of #'s parts the program from its tests.
        kernel = re.split(r"^#{20,}.*$", text, flags=re.MULTILINE)[0]
        (folder / "TritonBench_v1" / program.name).write_text(kernel)
    for script in [scripts / "performance_utils.py", *(scripts / "golden_metrics").glob("*.py")]:
        (folder / "scripts" / script.name).write_text(script.read_text())
    return sorted(path.stem[: -len("_perf")] for path in (folder / "scripts").glob("*_perf.py"))


def compile_all(names, folder, with_tests, until):
    """First calls of all programs with both, several at a time; returns what each came to."""
    requests, outcomes = queue.Queue(), {}
    for name in names:
        for what in ("test", "warm") if with_tests else ("warm",):
            for provider in PROVIDERS:
                requests.put((provider, what, name))

    def serve():
        workers = {provider: Worker(provider, folder) for provider in PROVIDERS}
        while time.time() < until:
            try:
                provider, what, name = requests.get_nowait()
            except queue.Empty:
                break
            outcomes[provider, what, name] = workers[provider].ask(what, name)
        for worker in workers.values():
            if worker.process:
                worker.process.kill()

    threads = [threading.Thread(target=serve) for _ in range(max(1, (os.cpu_count() or 2) // 2))]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(10)
        print(f"  compiling: {requests.qsize()} of {2 * len(names)} first calls left", flush=True)
    return outcomes


def differences(name, folder):
    """Which results of the two differ by more than 2 %, as text."""
    import torch

    ours, theirs = (torch.load(f"{folder}/{name}.{p}.pt") for p in ("sectile", "triton"))
    found = []
    for key, expected in theirs.items():
        if key not in ours or ours[key].shape != expected.shape:
            found.append(f"{key} is missing")
            continue
        x, y = ours[key].to(torch.complex128), expected.to(torch.complex128)
        apart = (x - y).abs()[(x != y) & ~(x.isnan() & y.isnan())]
        greatest = y.abs()[y.isfinite()].max().item() if y.isfinite().any() else 0.0
        if apart.numel() and not apart.max() <= 0.02 * max(greatest, 1e-6):
            found.append(f"{key}: {apart.max():.3g} of {greatest:.3g}")
    return "; ".join(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--repository", help="a checkout of thunlp/TritonBench")
    parser.add_argument(
        "--save", action="store_true", help="write benchmarks/results/tritonbench-<card>.md"
    )
    parser.add_argument(
        "--tests", action="store_true", help="compare the results of their tests, too"
    )
    parser.add_argument(
        "--minutes", type=float, default=30, help="what is not done by then is left out"
    )
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", metavar="NAME", help="these programs only")
    arguments = parser.parse_args()
    if arguments.work:
        return work(*arguments.work)
    import torch

    if not torch.cuda.is_available():
        return print("no GPU: TritonBench's programs run on GPUs only")
    if not arguments.repository:
        parser.error(
            "--repository: say where TritonBench lies (git clone https://github.com/thunlp/TritonBench)"
        )
    until = time.time() + 60 * arguments.minutes
    folder = tempfile.mkdtemp(prefix="tritonbench-")
    names = lay_out(arguments.repository, folder)
    if unknown := set(arguments.names) - set(names):
        parser.error(f"no such program: {', '.join(sorted(unknown))}")
    names = arguments.names or names
    outcomes = compile_all(names, folder, arguments.tests, until)

    notes, rows = [], []
    sums = {provider: collections.Counter() for provider in PROVIDERS}
    for name in names if arguments.tests else ():
        errors = [outcomes.get((p, "test", name), {}).get("error", "") for p in PROVIDERS]
        if any(errors):
            notes.append(
                f"tests of {name}: Triton: {errors[0] or 'right'}; Sectile: {errors[1] or 'right'}"
            )
        elif text := differences(name, folder):
            notes.append(f"tests of {name} differ: {text[:160]}")
    workers = [Worker(provider, folder, tunes_anew=True) for provider in PROVIDERS]
    for name in names:
        if time.time() > until:
            notes.append(f"no time for {name}")
            continue
        theirs, ours = (worker.ask("time", name) for worker in workers)
        if "error" in theirs or "error" in ours:
            both = (theirs.get("error", "right"), ours.get("error", "right"))
            notes.append(f"{name}: Triton: {both[0][:100]}; Sectile: {both[1][:100]}")
            continue
        for provider in PROVIDERS:
            first = outcomes.get((provider, "warm", name), {})
            sums[provider].update(
                {what: first.get(what, 0) for what in ("first", "kernels", "compiling")}
            )
        rows.append((theirs["milliseconds"] / ours["milliseconds"], name, theirs, ours))
        print(f"  {rows[-1][0]:6.2f}x  {name}", flush=True)
    rows.sort(key=lambda row: row[0])
    mean = math.exp(sum(math.log(row[0]) for row in rows) / max(1, len(rows)))
    slower = sum(row[0] < 0.97 for row in rows)
    card = torch.cuda.get_device_name().split()[-1]
    text = f"# TritonBench_G\n\n`./dev bench tritonbench --repository TritonBench --save` on NVIDIA {card}, torch {torch.__version__}.\n"
    text += f"{len(rows)} of {len(names)} programs run with both: geometric mean {mean:.2f} of Triton's speed, {slower} below 0.97.\n"
    of_triton, of_sectile = (sums[provider] for provider in PROVIDERS)
    text += f"First calls, tuning included: Triton {of_triton['first']:.0f} s, Sectile {of_sectile['first']:.0f} s.\n"
    text += "Compiling in them, summed up, without the assembler: " + ", ".join(
        f"{name} {each['compiling']:.0f} s for {each['kernels']} kernels"
        for name, each in (("Triton", of_triton), ("Sectile", of_sectile))
    )
    text += f", {of_sectile['compiling'] / max(of_triton['compiling'], 1e-9):.2f}x.\n\n"
    text += "| program | Triton, ms | Sectile, ms | x |\n|---|---|---|---|\n"
    for ratio, name, theirs, ours in rows:
        text += f"| {name} | {theirs['milliseconds']:.4f} | {ours['milliseconds']:.4f} | {ratio:.2f} |\n"
    text += "".join(f"\n- {note}" for note in notes) + "\n"
    print(text)
    if arguments.save:
        place = HERE / "results" / f"tritonbench-{card.lower()}.md"
        place.write_text(text)
        print(f"written: {place}")
    os._exit(0)  # threads of workers that hang are left


if __name__ == "__main__":
    main()
