"""The CPU back end against torch and NumPy: one process, the same threads, one table.

    ./dev bench cpu [--save] [--only NAME] [--runs 5]

Contenders run in turn, in bursts, on random data; a speed is the median of many runs, a ratio the median of
those of the single rounds. `--save` writes the table to benchmarks/results/cpu-<host>.md, named after the
processor and what it can do: figures of one host say little of another. What must happen in a fresh process (import, first compile, warm start) is run in one,
several times, and the median of those is shown. `--runs N` repeats all of it in N processes, one behind the other, and
shows for each row the run whose figure is the median: where memory lies, which a process keeps, costs some percent, too.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

# OpenBLAS's threads otherwise spin for a tenth of a second after each product, on the cores of whoever
# comes next. 2^20 cycles are well below a millisecond. Read when NumPy is imported.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")
# Lessons run on a GPU if they see one.
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import torch

import sectile as st
import sectile.language as tl

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tutorials"))


def lesson(name):
    return __import__(name)


def seconds_in_turn(contenders, rounds=12, burst=0.08, enough=8.0):
    """For each round the seconds of each contender: the median of a burst of runs. Contenders run in turn, every
    second round in reverse: other guests of the host change its speed from one second to the next, and what
    ran within one round had about the same of it.

    After each parallel region the threads of OpenMP (torch) and of Sectile spin for a while, waiting
    for the next; whoever comes directly after the other finds a core taken. So the first runs of a
    burst, until 20 ms have gone by, are not counted. Runs of more than a second are. Once a contender has
    run for `enough` seconds, the round is the last (torch multiplies fp16 at 1 GFLOP/s on some processors).
    """
    table, spent = [], [0.0] * len(contenders)
    while len(table) < rounds and max(spent) < enough:
        row = [0.0] * len(contenders)
        numbers = range(len(contenders))
        for number in reversed(numbers) if len(table) % 2 else numbers:
            taken = []
            begin = time.perf_counter()
            while len(taken) < 2 or time.perf_counter() < begin + burst:
                start = time.perf_counter()
                contenders[number]()
                end = time.perf_counter()
                if start > begin + 0.02 or end - start > 1:
                    taken.append(end - start)
            row[number] = statistics.median(taken)
            spent[number] += sum(taken)
        table.append(row)
    return table


class Table:
    def __init__(self):
        self.rows = []

    def add(self, what, figure, bar, met):
        self.rows.append((what, figure, bar, "yes" if met else "no"))
        print(f"  {what:<44} {figure:<50} {bar:<16} {'met' if met else 'MISSED'}", flush=True)

    @staticmethod
    def median(tables):
        """Of each row that all tables have, the one with the median figure: the factor in parentheses, else the first."""
        found = Table()
        for rows in zip(*tables):
            figures = [re.search(r"\(([0-9.]+)x\)|([0-9.]+)", row[1]) for row in rows]
            order = [float(figure[1] or figure[2]) if figure else 0.0 for figure in figures]
            found.rows.append(tuple(rows[order.index(statistics.median_low(order))]))
        return found

    def markdown(self):
        head = "| what | measured | bar | met |\n|---|---|---|---|\n"
        return head + "".join("| " + " | ".join(row) + " |\n" for row in self.rows)


# ---- fresh processes -----------------------------------------------------------------------------------

FIRST_CALL = """
import sys, time
from importlib import import_module
sys.path.insert(0, {tutorials!r})
import numpy as np
block = {block}
if {kernel!r} == "vector add":
    kernel = import_module("01_vector_add").add
    x = np.ones(100_000, np.float32); out = np.empty_like(x)
    call = lambda: kernel[(-(-x.size // block),)](x, x, out, x.size, BLOCK=block)
elif {kernel!r} == "softmax":
    kernel = import_module("02_fused_softmax").softmax_rows
    x = np.ones((4, block - 3), np.float32); out = np.empty_like(x)
    call = lambda: kernel[(4,)](out, x, block - 3, block - 3, block - 3, BLOCK=block)
else:
    module = import_module("03_matmul")
    x = np.ones((128, 128), np.float32); out = np.empty_like(x)
    call = lambda: module.matmul(x, x, out=out, block=(block, block, 64))
start = time.perf_counter()
call()
first = time.perf_counter() - start
maps = open("/proc/self/maps").read()
print(first * 1e3, "libsectile-compiler" in maps)
"""


def first_call(kernel, block, cache):
    """Milliseconds of the first call in a fresh process, and whether the compiler library was mapped."""
    script = FIRST_CALL.format(tutorials=str(HERE.parent / "tutorials"), kernel=kernel, block=block)
    # Importing the tutorial imports sectile and defines the kernel; only the call is timed.
    path = pathlib.Path(cache) / "first_call.py"
    path.write_text(script)
    environment = dict(os.environ, SECTILE_CACHE_DIR=str(pathlib.Path(cache) / "kernels"))
    answer = subprocess.run(
        [sys.executable, str(path)], env=environment, capture_output=True, text=True, check=True
    ).stdout.split()
    return float(answer[0]), answer[1] == "True"


def median_cold_ms(kernel, block, repeats=7):
    figures = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            figures.append(first_call(kernel, block, cache)[0])
    return statistics.median(figures)


def bench_import(table):
    def seconds(code):
        figures = []
        for _ in range(15):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            figures.append(time.perf_counter() - start)
        return statistics.median(figures)

    extra = (seconds("import sectile") - seconds("pass")) * 1e3
    table.add("import sectile beyond bare Python", f"{extra:.1f} ms", "<= 30 ms", extra <= 30)


def bench_compile(table):
    bars = {"vector add": (20, 1024, 65536), "softmax": (30, 1024, 65536), "matmul": (45, 64, 256)}
    for kernel, (bar, small, large) in bars.items():
        cold = median_cold_ms(kernel, small)
        table.add(
            f"first kernel, no cache: {kernel}", f"{cold:.1f} ms", f"<= {bar} ms", cold <= bar
        )
        big = median_cold_ms(kernel, large)
        what = f"the same, block {small} -> {large}"
        if kernel == "matmul":  # 4,096 -> 65,536 elements
            what = "the same, block 64x64 -> 256x256"
        table.add(what, f"{big:.1f} ms ({big / cold:.2f}x)", "<= 1.5x", big <= 1.5 * cold)


def bench_warm_start(table):
    with tempfile.TemporaryDirectory() as cache:
        first_call("softmax", 1024, cache)
        runs = [first_call("softmax", 1024, cache) for _ in range(9)]
    warm = statistics.median(run[0] for run in runs)
    table.add("first call, warm disk cache: softmax", f"{warm:.2f} ms", "<= 3 ms", warm <= 3)
    mapped = any(run[1] for run in runs)
    table.add("compiler library mapped afterwards", "yes" if mapped else "no", "no", not mapped)


# ---- this process --------------------------------------------------------------------------------------


@st.jit
def eight_arguments(a, b, c, d, i, j, x, y):
    tl.store(a, tl.load(b) + tl.load(c) + tl.load(d) + i + j + x + y)


def bench_launch(table):
    arrays = [np.zeros(16, np.float32) for _ in range(4)]
    tensors = [torch.zeros(16) for _ in range(4)]
    for name, pointers in (("NumPy arrays", arrays), ("torch tensors", tensors)):
        launch = eight_arguments[(1,)]
        arguments = (*pointers, 3, 5, 2.0, 7.0)
        launch(*arguments)
        count, figures = 20_000, []
        for _ in range(7):
            start = time.perf_counter()
            for _ in range(count):
                launch(*arguments)
            figures.append((time.perf_counter() - start) / count * 1e6)
        microseconds = statistics.median(figures)
        table.add(
            f"launch, 8 arguments, one program: {name}",
            f"{microseconds:.2f} us",
            "<= 5 us",
            microseconds <= 5,
        )


def ratio_row(table, what, unit, work, ours, peers, bar):
    """`work` in units of `unit` per second, per run; the bar is against the first peer (torch): the median of the
    rounds' ratios."""
    rounds = seconds_in_turn([ours, *(run for _, run in peers)])
    rates = [work / statistics.median(taken) for taken in zip(*rounds)]
    ratio = statistics.median(peer / mine for mine, peer, *_ in rounds)
    others = ", ".join(f"{name} {rate:.1f}" for (name, _), rate in zip(peers, rates[1:]))
    table.add(
        what, f"{rates[0]:.1f} {unit}; {others} ({ratio:.2f}x)", f">= {bar}x torch", ratio >= bar
    )


def bench_vector_add(table):
    kernel = lesson("01_vector_add").add
    count = 1 << 24
    x, y = (np.random.default_rng(0).standard_normal(count, dtype=np.float32) for _ in range(2))
    out = np.empty_like(x)
    tx, ty, tout = torch.from_numpy(x), torch.from_numpy(y), torch.empty(count)
    ratio_row(
        table,
        "vector add f32 2^24",
        "GB/s",
        12 * count / 1e9,
        lambda: kernel[(st.cdiv(count, 16384),)](x, y, out, count, BLOCK=16384),
        [("torch", lambda: torch.add(tx, ty, out=tout)), ("NumPy", lambda: np.add(x, y, out=out))],
        0.9,
    )


def bench_softmax(table):
    module = lesson("02_fused_softmax")
    for columns in (256, 781, 1024, 4096):
        x = np.random.default_rng(0).standard_normal((4096, columns), dtype=np.float32)
        out, tx = np.empty_like(x), torch.from_numpy(x)
        tout = torch.empty_like(tx)
        ratio_row(
            table,
            f"softmax f32 4096x{columns}",
            "GB/s",
            2 * x.nbytes / 1e9,
            lambda: module.softmax(x, out),
            [("torch", lambda: torch.softmax(tx, dim=1, out=tout))],
            1.0,
        )


def seconds_an_element(run, elements, bursts=60, calls=40):
    """The best of many bursts: what the work takes when nothing comes between."""
    best = float("inf")
    for _ in range(bursts):
        start = time.perf_counter()
        for _ in range(calls):
            run()
        best = min(best, (time.perf_counter() - start) / calls)
    return best / elements


@st.jit
def exponentials(out, x, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.exp(tl.load(x + i)))


def bench_arguments(table):
    """exp of arguments whose result is no ordinary number, and rows that padding follows; in cache."""
    elements = 1 << 16
    out = np.empty(elements, np.float32)

    def of(argument):
        x = np.full(elements, argument, np.float32)
        launch = exponentials[(elements // 4096,)]
        launch(out, x, BLOCK=4096)
        return seconds_an_element(lambda: launch(out, x, BLOCK=4096), elements) * 1e9

    ordinary = of(0.5)
    for argument in (-np.inf, -100.0, -90.0):
        taken = of(argument)
        table.add(
            f"exp({argument:g}) against exp(0.5), f32",
            f"{taken:.3f} ns an element; {ordinary:.3f} ({taken / ordinary:.2f}x)",
            "<= 1.5x",
            taken <= 1.5 * ordinary,
        )
    module = lesson("02_fused_softmax")

    def row(columns):
        x = np.random.default_rng(0).standard_normal((64, columns), dtype=np.float32)
        y = np.empty_like(x)
        module.softmax(x, y)
        return seconds_an_element(lambda: module.softmax(x, y), x.size) * 1e9

    whole, padded = row(1024), row(781)
    table.add(
        "softmax of 781 columns against 1024, f32",
        f"{padded:.3f} ns an element; {whole:.3f} ({padded / whole:.2f}x)",
        "<= 1.2x",
        padded <= 1.2 * whole,
    )


def bench_layer_norm(table):
    module = lesson("05_layer_norm")
    for columns in (781, 1024, 4096):
        rng = np.random.default_rng(0)
        x = rng.standard_normal((4096, columns), dtype=np.float32)
        w, b = (rng.standard_normal(columns, dtype=np.float32) for _ in range(2))
        y = np.empty_like(x)
        tx, tw, tb = (torch.from_numpy(array) for array in (x, w, b))
        ratio_row(
            table,
            f"layer norm forward f32 4096x{columns}",
            "GB/s",
            2 * x.nbytes / 1e9,
            lambda: module.forward(x, w, b, y=y),
            [("torch", lambda: torch.nn.functional.layer_norm(tx, (columns,), tw, tb))],
            1.0,
        )


@st.jit
def sort_rows(x, out, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + at, tl.sort(tl.load(x + at)))


@st.jit
def topk_rows(x, out, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    tl.store(out + row * K + tl.arange(0, K), tl.topk(tl.load(x + row * N + tl.arange(0, N)), K))


@st.jit
def count(x, out, N: tl.constexpr, BINS: tl.constexpr):
    counts = tl.histogram(tl.load(x + tl.program_id(0) * N + tl.arange(0, N)), BINS)
    tl.atomic_add(out + tl.arange(0, BINS), counts)


def bench_ordering(table):
    """Sorting, the greatest elements, histograms."""
    x = torch.randn(1024, 1024)
    out = torch.empty_like(x)
    ratio_row(
        table, "sort f32 2^20 in rows of 1024", "Melements/s", x.numel() / 1e6,
        lambda: sort_rows[(1024,)](x, out, 1024),
        [("torch", lambda: torch.sort(x, 1)), ("NumPy", lambda: np.sort(x.numpy(), 1))], 1.0,
    )  # fmt: skip
    assert torch.equal(out, torch.sort(x, 1).values)
    x, out = torch.randn(1024, 4096), torch.empty(1024, 16)
    ratio_row(
        table, "topk 16 of f32 4096, 1024 rows", "Melements/s", x.numel() / 1e6,
        lambda: topk_rows[(1024,)](x, out, 4096, 16),
        [("torch", lambda: torch.topk(x, 16, 1))], 1.0,
    )  # fmt: skip
    assert torch.equal(out, torch.topk(x, 16, 1).values)
    x, out = (
        torch.randint(0, 256, (1 << 24,), dtype=torch.int32),
        torch.zeros(256, dtype=torch.int32),
    )
    ratio_row(
        table, "histogram of i32 2^24 into 256", "Melements/s", x.numel() / 1e6,
        lambda: count[(x.numel() // 16384,)](x, out.zero_(), 16384, 256),
        [("torch", lambda: torch.bincount(x, minlength=256))], 1.0,
    )  # fmt: skip
    assert torch.equal(out, torch.bincount(x, minlength=256).int())


def bench_matmul(table):
    module = lesson("03_matmul")
    for size in (512, 1024, 2048, 4096):
        rng = np.random.default_rng(0)
        a, b = (rng.standard_normal((size, size), dtype=np.float32) for _ in range(2))
        out, ta, tb = np.empty_like(a), torch.from_numpy(a), torch.from_numpy(b)
        tout = torch.empty_like(ta)
        ratio_row(
            table,
            f"matmul f32 {size}^3",
            "GFLOP/s",
            2 * size**3 / 1e9,
            lambda: module.matmul(a, b, out=out),
            [
                ("torch", lambda: torch.matmul(ta, tb, out=tout)),
                ("NumPy", lambda: np.matmul(a, b, out=out)),
            ],
            0.9,
        )


@st.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c = a @ b of extents that the blocks divide: no masks, no grouping."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32)
    for first in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (first + k)[None, :])
        y = tl.load(b + (first + k)[:, None] * N + n[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + m[:, None] * N + n[None, :], total.to(c.dtype.element_ty))


def bench_blocks(table):
    """A plain kernel with each block: what users get who did not tune."""
    size = 1024
    a, b, c = (torch.randn(size, size) for _ in range(3))
    for block in ((64, 64, 64), (128, 128, 64), (128, 128, 128), (256, 256, 128)):
        grid = (size // block[0], size // block[1])
        ratio_row(
            table,
            f"plain matmul f32 {size}^3, blocks of {'x'.join(map(str, block))}",
            "GFLOP/s",
            2 * size**3 / 1e9,
            lambda: product[grid](a, b, c, size, size, size, *block),
            [("torch", lambda: torch.matmul(a, b, out=c))],
            0.75,
        )


def bench_narrow(table):
    """bf16, fp16 and int8: by AMX, AVX512-BF16 or VNNI where the processor has them."""
    block = (256, 256, 128)
    for dtype in (torch.bfloat16, torch.float16, torch.int8):
        for size in (512, 1024, 2048):
            if dtype == torch.int8:
                a, b = (torch.randint(-128, 127, (size, size), dtype=dtype) for _ in range(2))
                c, peer = torch.empty(size, size, dtype=torch.int32), torch._int_mm
            else:
                a, b = (torch.randn(size, size).to(dtype) for _ in range(2))
                c, peer = torch.empty(size, size, dtype=dtype), torch.matmul
            grid = (size // block[0], size // block[1])
            ratio_row(
                table,
                f"plain matmul {str(dtype).removeprefix('torch.')} {size}^3, 256x256x128",
                "GFLOP/s",
                2 * size**3 / 1e9,
                lambda: product[grid](a, b, c, size, size, size, *block),
                [("torch", lambda: peer(a, b, out=c))],
                0.7,
            )


def bench_cache(table):
    what = "cache, 16 processes x 200 rounds, some killed"
    program = pathlib.Path(os.environ.get("SECTILE_BENCH_BUILD", "build")) / "benchmarks"
    program /= "sectile_bench_cache_stress"
    if not program.exists():
        return print(f"  {what}: not run, {program} is not built (./dev bench builds it)")
    run = subprocess.run([program], capture_output=True, text=True)
    table.add(what, run.stdout.strip().splitlines()[-1], "0 errors, 0 wrong", run.returncode == 0)


#: What figures depend on most, widest first; as /proc/cpuinfo calls them.
FEATURES = ("amx_bf16", "amx_int8", "avx512_bf16", "avx512_vnni", "avx512f", "avx2")


def cpu_facts():
    """Name, model number, and those of FEATURES that it has."""
    facts = {}
    for line in open("/proc/cpuinfo"):
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    flags = facts.get("flags", "").split()
    family = "-".join(facts.get(key, "?") for key in ("cpu family", "model"))
    return (
        facts.get("model name", platform.processor()),
        family,
        [feature for feature in FEATURES if feature in flags],
    )


BENCHMARKS = {
    "import": bench_import,
    "compile": bench_compile,
    "warm": bench_warm_start,
    "launch": bench_launch,
    "add": bench_vector_add,
    "softmax": bench_softmax,
    "arguments": bench_arguments,
    "norm": bench_layer_norm,
    "ordering": bench_ordering,
    "matmul": bench_matmul,
    "blocks": bench_blocks,
    "narrow": bench_narrow,
    "cache": bench_cache,
}


def run_apart(parts, runs):
    """The tables of so many processes."""
    tables = []
    with tempfile.TemporaryDirectory() as folder:
        rows = pathlib.Path(folder) / "rows.json"
        for _ in range(runs):
            command = [sys.executable, __file__, "--rows", rows]
            for part in parts:
                command += ["--only", part]
            subprocess.run(command, check=True)
            tables.append(json.loads(rows.read_text()))
    return tables


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=BENCHMARKS, action="append", help="run just this part")
    parser.add_argument(
        "--save", action="store_true", help="write benchmarks/results/cpu-<host>.md"
    )
    parser.add_argument("--runs", type=int, default=1, help="so many processes, and their median")
    parser.add_argument("--rows", help=argparse.SUPPRESS)  # where one of them leaves its table
    options = parser.parse_args()

    threads = len(os.sched_getaffinity(0))
    torch.set_num_threads(threads)
    name, family, features = cpu_facts()
    about = (
        f"{name} (family-model {family}; {', '.join(features)}), {threads} threads, "
        f"Python {platform.python_version()}, torch {torch.__version__}, NumPy {np.__version__}"
    )
    print(about)
    table = Table()
    if options.runs == 1:
        for part in options.only or BENCHMARKS:
            BENCHMARKS[part](table)
    else:
        table = Table.median(run_apart(options.only or [], options.runs))
        print(f"median of {options.runs} runs")
        for row in table.rows:
            print(f"  {row[0]:<44} {row[1]:<50} {row[2]:<16} {row[3]}")
    if options.rows:
        pathlib.Path(options.rows).write_text(json.dumps(table.rows))
    if options.save:
        results = HERE / "results"
        results.mkdir(exist_ok=True)
        words = re.findall("[a-z0-9]+", name.lower().replace("(r)", "").replace("(tm)", ""))
        # A virtual machine may hide the tile registers of its processor.
        tiles = ["amx"] if any(feature.startswith("amx") for feature in features) else []
        host = "-".join([*words[:4], family, *tiles])
        runs = f" --runs {options.runs}" if options.runs > 1 else ""
        (results / f"cpu-{host}.md").write_text(
            f"# CPU figures: {name}\n\n`./dev bench cpu --save{runs}` on {about}\n\n{table.markdown()}"
        )


if __name__ == "__main__":
    main()
