"""The NVIDIA back end against Triton and torch: one process, one GPU, the same data, in turn.

    ./dev bench nvidia [--save] [--only NAME]        (on a machine with a GPU, torch and Triton)

Kernels of gpu_kernels.py run under both compilers from the same text, with the same blocks and warps; the
column "lesson" is Sectile's own tutorial on the same data. Contenders run in turn, in another order each
round (which kernel ran before costs or saves up to 8 %); a figure is the median; the L2 cache is flushed
before every run; data is random; every result is compared with torch's in float64 first. `--save` writes
the table to benchmarks/results/nvidia.md.
"""

import argparse
import contextlib
import importlib
import importlib.util
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

# The driver's own cache would hide what assembling costs.
os.environ.setdefault("CUDA_CACHE_DISABLE", "1")

import torch

HERE = pathlib.Path(__file__).resolve().parent


def load_kernels(source, name, folder):
    path = pathlib.Path(folder) / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lessons():
    """The modules of tutorials/, by number."""
    tutorials = HERE.parent / "tutorials"
    sys.path.insert(0, str(tutorials))
    found = {path.name[:2]: path.stem for path in sorted(tutorials.glob("[0-9]*.py"))}
    return {number: importlib.import_module(name) for number, name in found.items()}


def contenders(folder):
    """{"sectile": module, "triton": module}; Triton only where it is installed."""
    source = (HERE / "gpu_kernels.py").read_text()
    found = {"sectile": load_kernels(source, "kernels_sectile", folder)}
    if importlib.util.find_spec("triton"):
        text = source.replace("import sectile as dsl", "import triton as dsl")
        text = text.replace("import sectile.language as tl", "import triton.language as tl")
        found["triton"] = load_kernels(text, "kernels_triton", folder)
    return found


class Timer:
    def __init__(self):
        self.flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")

    def once(self, run):
        self.flush.zero_()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        end.record()
        return start, end

    def medians(self, runs, rounds=50):
        """Seconds of each of {name: function}, which run in turn."""
        for run in runs.values():
            for _ in range(3):
                run()
        events = {name: [] for name in runs}
        order = list(runs)
        shuffled = random.Random(rounds)
        for _ in range(rounds):
            shuffled.shuffle(order)
            for name in order:
                events[name].append(self.once(runs[name]))
        torch.cuda.synchronize()
        return {
            name: statistics.median(s.elapsed_time(e) for s, e in pairs) / 1e3
            for name, pairs in events.items()
        }


class Table:
    def __init__(self):
        self.rows = []

    def add(self, what, seconds, amount, unit, bars):
        """`bars`: {contender: least ratio of Sectile's rate to its}."""
        rate = {name: amount / s for name, s in seconds.items()}
        lesson = rate.pop("lesson", None)
        figure = f"{rate['sectile']:.0f} {unit}"
        verdicts = []
        for name, value in rate.items():
            if name == "sectile":
                continue
            ratio = rate["sectile"] / value
            figure += f"; {name} {value:.0f} ({ratio:.2f}x)"
            if name in bars:  # 0.98 to 1.02 is a tie
                verdicts.append(ratio >= bars[name] - 0.02 * (bars[name] == 1.0))
        bar = ", ".join(f">= {least}x {name}" for name, least in bars.items())
        met = "" if not verdicts else "yes" if all(verdicts) else "no"
        own = ""
        if lesson:
            own = f"{lesson:.0f}"
            own += f" ({lesson / rate['triton']:.2f}x triton)" if "triton" in rate else ""
        self.rows.append((what, figure, own, bar, met))
        print(f"  {what:<34} {figure:<72} {own:<20} {bar:<28} {met}", flush=True)

    def note(self, what, figure, bar, met):
        self.rows.append((what, figure, "", bar, "" if met is None else "yes" if met else "no"))
        print(f"  {what:<34} {figure:<93} {bar:<28} {self.rows[-1][-1]}", flush=True)

    def fail(self, what, error):
        text = f"{type(error).__name__}: {str(error).splitlines()[0][:90]}"
        self.rows.append((what, text, "", "", "no"))
        print(f"  {what:<34} FAILED {text}", flush=True)

    def markdown(self):
        head = "| what | same text | lesson | bar | met |\n|---|---|---|---|---|\n"
        return head + "".join("| " + " | ".join(row) + " |\n" for row in self.rows)


@contextlib.contextmanager
def timed_assembler(seconds):
    """Adds to `seconds` how long Triton spends from PTX to machine code."""
    from triton.backends.nvidia.compiler import CUDABackend

    original = CUDABackend.make_cubin

    def timed(*args, **kwargs):
        start = time.perf_counter()
        try:
            return original(*args, **kwargs)
        finally:
            seconds.append(time.perf_counter() - start)

    CUDABackend.make_cubin = timed
    try:
        yield
    finally:
        CUDABackend.make_cubin = original


FIRST_KERNEL = """
import os, pathlib, sys, time
import torch
sys.path.insert(0, os.environ["KERNELS"])
import importlib
name = sys.argv[1]
x = torch.zeros(4096, device="cuda")
y = torch.empty_like(x)
module = importlib.import_module("kernels_" + name)
torch.cuda.synchronize()
start = time.perf_counter()
module.add[(4,)](x, x, y, 4095, BLOCK=1024)
torch.cuda.synchronize()
print(time.perf_counter() - start)
"""


class Benchmark:
    def __init__(self, table, kernels):
        self.table, self.kernels, self.timer = table, kernels, Timer()
        self.lessons = lessons()

    def compare(
        self, what, launch, others, outputs, reference, amount, unit, bars, tolerance, lesson=None
    ):
        """`launch(module)` runs the kernel into `outputs`; `lesson()` does, or returns them; `others`:
        {name: function}."""
        runs = {}
        checked = {name: lambda m=module: launch(m) for name, module in self.kernels.items()}
        if lesson:
            checked["lesson"] = lesson
        for name, run in checked.items():
            try:
                for out in outputs:
                    out.fill_(float("nan") if out.is_floating_point() else -1)
                returned = run()
                got = returned if name == "lesson" and returned is not None else outputs
                for out, expected in zip(got, reference):
                    error = (out.double() - expected.double()).norm() / expected.double().norm()
                    if not error <= tolerance:
                        raise ValueError(f"wrong by {error:.1e} of the norm")
                runs[name] = run
            except Exception as error:
                if name == "sectile":
                    return self.table.fail(what, error)
                print(f"    {name} on {what}: {type(error).__name__}: {str(error)[:90]}")
        bars = {name: least for name, least in bars.items() if name in runs or name in others}
        seconds = self.timer.medians({**runs, **others})
        self.table.add(what, seconds, amount, unit, bars)

    def elementwise(self):
        for log in (20, 24, 28):
            n = 1 << log
            x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
            out = torch.empty_like(x)
            grid = (-(-n // 1024),)
            self.compare(
                f"vector add f32 2^{log}",
                lambda k: k.add[grid](x, y, out, n, BLOCK=1024),
                {"torch": lambda: torch.add(x, y, out=out)},
                [out], [x + y], 12 * n / 1e9, "GB/s", {"triton": 1.0}, 0,
                lesson=lambda: [self.lessons["01"].vector_add(x, y)],
            )  # fmt: skip
            self.compare(
                f"copy f32 2^{log}",
                lambda k: k.copy[grid](x, out, n, BLOCK=1024),
                {"torch": lambda: out.copy_(x)},
                [out], [x], 8 * n / 1e9, "GB/s", {"triton": 1.0}, 0,
            )  # fmt: skip
        n = 1 << 26
        x = torch.randn(n, device="cuda")
        out = torch.empty_like(x)
        # The random numbers of both are Philox's: the same elements stay.
        self.kernels["sectile"].dropout[(n // 1024,)](x, out, n, 0.3, 123, BLOCK=1024)
        kept = (out != 0).float().mean().item()
        assert abs(kept - 0.7) < 1e-3, kept
        expected = out.clone()
        self.compare(
            "dropout f32 2^26",
            lambda k: k.dropout[(n // 1024,)](x, out, n, 0.3, 123, BLOCK=1024),
            {}, [out], [expected], 8 * n / 1e9, "GB/s", {"triton": 1.0}, 1e-6,
            lesson=lambda: [self.lessons["04"].dropout(x, 0.3, 123)],
        )  # fmt: skip

    def softmax(self):
        for dtype in (torch.float32, torch.bfloat16):
            for n in (256, 781, 1024, 2048, 4096, 8192, 12672, 16384, 32768):
                x = torch.randn(4096, n, device="cuda").to(dtype)
                out = torch.empty_like(x)
                block = 1 << (n - 1).bit_length()
                warps = 4 if block <= 2048 else 8 if block <= 8192 else 16
                bars = {"triton": 1.0}
                if dtype == torch.float32 and n >= 4096:
                    bars["copy"] = 0.88
                self.compare(
                    f"softmax {str(dtype)[6:]} 4096x{n}",
                    lambda k: k.softmax[(4096,)](out, x, n, n, BLOCK=block, num_warps=warps),
                    {"torch": lambda: torch.softmax(x, 1), "copy": lambda: out.copy_(x)},
                    [out], [torch.softmax(x.double(), 1)],
                    2 * x.numel() * x.element_size() / 1e9, "GB/s", bars, 5e-3,
                    # The lesson computes in the dtype of its input.
                    lesson=(lambda: [self.lessons["02"].softmax(x, out)])
                    if dtype == torch.float32 else None,
                )  # fmt: skip

    def layer_norm(self):
        rows = 4096
        for n in (1024, 2048, 4096, 8192, 15872):
            x = torch.randn(rows, n, device="cuda").half()
            w, b = torch.randn(n, device="cuda").half(), torch.randn(n, device="cuda").half()
            y = torch.empty_like(x)
            mean, rstd = torch.empty(rows, device="cuda"), torch.empty(rows, device="cuda")
            block = 1 << (n - 1).bit_length()
            warps = min(max(block // 256, 1), 8)
            norm = torch.nn.functional.layer_norm
            self.compare(
                f"layer norm forward f16 4096x{n}",
                lambda k: k.layer_norm[(rows,)](
                    x, y, w, b, mean, rstd, n, n, 1e-5, BLOCK=block, num_warps=warps
                ),
                {"torch": lambda: norm(x, (n,), w, b), "copy": lambda: y.copy_(x)},
                [y], [norm(x.double(), (n,), w.double(), b.double())],
                4 * x.numel() / 1e9, "GB/s", {"triton": 1.1}, 1e-3,
                lesson=lambda: self.lessons["05"].forward(x, w, b, y=y)[:1],
            )  # fmt: skip

            dy = torch.randn_like(x)
            leaf = [t.double().requires_grad_() for t in (x, w, b)]
            norm(leaf[0], (n,), leaf[1], leaf[2]).backward(dy.double())
            dx, dw, db = torch.empty_like(x), torch.empty_like(w), torch.empty_like(b)
            programs = 528
            partial = torch.empty(2, programs, n, device="cuda")

            def backward(k):
                k.layer_norm_backward[(programs,)](
                    x, dy, w, mean, rstd, dx, partial[0], partial[1], rows, n,
                    BLOCK=block, num_warps=warps,
                )  # fmt: skip
                k.add_partial_sums[(-(-n // 32),)](
                    partial[0], partial[1], dw, db, programs, n, BM=32, BN=32
                )

            half = [t.clone().requires_grad_() for t in (x, w, b)]
            out = norm(half[0], (n,), half[1], half[2])

            def torch_backward():
                torch.autograd.grad(out, half, dy, retain_graph=True)

            self.compare(
                f"layer norm backward f16 4096x{n}", backward, {"torch": torch_backward},
                [dx, dw, db], [t.grad for t in leaf],
                6 * x.numel() / 1e9, "GB/s", {"triton": 1.1, "torch": 1.0}, 3e-3,
                lesson=lambda: self.lessons["05"].backward(dy, x, w, mean, rstd),
            )  # fmt: skip

    def rows(self):
        x = torch.randn(8192, 4096, device="cuda")
        n = x.shape[1]
        found = torch.empty(8192, dtype=torch.int32, device="cuda")
        self.compare(
            "argmax over rows f32 8192x4096",
            lambda k: k.argmax[(8192,)](x, found, n, n, BLOCK=4096, num_warps=8),
            {"torch": lambda: torch.argmax(x, 1)},
            [found], [torch.argmax(x, 1)], 4 * x.numel() / 1e9, "GB/s", {"triton": 1.0}, 0,
        )  # fmt: skip
        out = torch.empty_like(x)
        self.compare(
            "cumsum over rows f32 8192x4096",
            lambda k: k.cumsum[(8192,)](x, out, n, n, BLOCK=4096, num_warps=8),
            {"torch": lambda: torch.cumsum(x, 1)},
            [out], [torch.cumsum(x.double(), 1)], 8 * x.numel() / 1e9, "GB/s", {"triton": 1.0}, 1e-5,
        )  # fmt: skip
        flipped = torch.empty(4096, 8192, device="cuda")
        self.compare(
            "transpose copy f32 8192x4096",
            lambda k: k.transpose[(128, 64)](x, flipped, 8192, 4096, BM=64, BN=64),
            {"torch": lambda: flipped.copy_(x.T)},
            [flipped], [x.T], 8 * x.numel() / 1e9, "GB/s", {"triton": 1.0}, 0,
        )  # fmt: skip

    def matmul(self):
        for n in (4096, 8192):
            a, b = (torch.randn(n, n, device="cuda").half() for _ in range(2))
            c = torch.empty_like(a)
            expected = torch.matmul(a.float(), b.float())
            for block, warps, stages in (((128, 128, 32), 4, 4), ((128, 256, 64), 8, 3)):
                grid = ((n // block[0]) * (n // block[1]),)
                self.compare(
                    f"matmul f16 {n}^3 {block[0]}x{block[1]}x{block[2]}",
                    lambda k: k.matmul[grid](
                        a, b, c, n, n, n, *block, GROUP=8, num_warps=warps, num_stages=stages
                    ),
                    {"cuBLAS": lambda: torch.matmul(a, b, out=c)},
                    [c], [expected], 2 * n**3 / 1e12, "TFLOP/s", {"cuBLAS": 0.5}, 1e-3,
                    lesson=lambda: [self.lessons["03"].matmul(a, b, out=c)],
                )  # fmt: skip

    def precisions(self):
        """f32 by instructions of narrower numbers, each compiler with the best of four blocks for it."""
        n = 4096
        a, b = (torch.randn(n, n, device="cuda") for _ in range(2))
        c = torch.empty_like(a)
        expected = a.double() @ b.double()
        blocks = (
            (128, 128, 32, 8, 3),
            (128, 64, 32, 4, 3),
            (64, 64, 32, 4, 3),
            (128, 128, 16, 8, 3),
        )
        for precision, tolerance in (("tf32x3", 3e-6), ("bf16x3", 3e-5), ("bf16x6", 3e-6)):

            def launch(kernels, block, precision=precision):
                BM, BN, BK, warps, stages = block
                kernels.matmul[(n // BM * (n // BN),)](
                    a, b, c, n, n, n, BM, BN, BK, GROUP=8, PRECISION=precision,
                    num_warps=warps, num_stages=stages,
                )  # fmt: skip

            best = {}
            for name, kernels in self.kernels.items():
                runs = {each: lambda k=kernels, each=each: launch(k, each) for each in blocks}
                seconds = self.timer.medians(runs, rounds=10)
                best[id(kernels)] = min(seconds, key=seconds.get)
                print(f"    {name}, {precision}: {best[id(kernels)]}")
            self.compare(
                f"matmul f32 {n}^3 {precision}",
                lambda k: launch(k, best[id(k)]),
                {}, [c], [expected], 2 * n**3 / 1e12, "TFLOP/s", {"triton": 1.0}, tolerance,
            )  # fmt: skip

    def tiles(self):
        """Tiles of products, stored: what an instruction leaves in lanes are short pieces of rows."""
        blocks = (
            (32, 32, 32, 4),
            (32, 32, 32, 1),
            (64, 32, 32, 4),
            (64, 32, 64, 2),
            (128, 16, 32, 4),
        )
        for dtype in (torch.float16, torch.float32):
            for BM, BN, BK, warps in blocks:
                a = torch.randn(256, BM, BK, device="cuda").half()
                b = torch.randn(256, BK, BN, device="cuda").half()
                c = torch.empty(256 * BM, 256 * BN, device="cuda", dtype=dtype)
                product = torch.einsum("imk,jkn->imjn", a.float(), b.float())
                self.compare(
                    f"tiles {BM}x{BN}x{BK} {str(dtype)[6:]}, {warps} warps",
                    lambda k: k.product_of_tiles[(256, 256)](
                        a, b, c, 256 * BN, BM, BN, BK, num_warps=warps
                    ),
                    {}, [c], [product.reshape(c.shape)],
                    c.numel() * c.element_size() / 1e9, "GB/s", {"triton": 1.0}, 1e-3,
                )  # fmt: skip

    def extremes(self):
        """atomic_max of floats, of which there is no instruction."""
        columns, n = 4096, 1 << 24
        for dtype in (torch.float32, torch.float64):
            x = torch.randn(n, device="cuda", dtype=dtype)
            out = torch.empty(columns, device="cuda", dtype=dtype)

            def launch(kernels, x=x, out=out):
                out.fill_(float("-inf"))
                kernels.greatest_of_columns[(n // 1024,)](x, out, columns, BLOCK=1024)

            self.compare(
                f"atomic_max {str(dtype)[6:]}, 2^24 numbers to {columns} places",
                launch, {}, [out], [x.view(-1, columns).amax(0)], n / 1e9, "G/s", {"triton": 1.0}, 0,
            )  # fmt: skip

    def ordering(self):
        """Sorting, the greatest elements, histograms: rows of a matrix, several to a program."""
        rows, n = 1024, 1024
        x = torch.randn(rows, n, device="cuda")
        out = torch.empty_like(x)
        for per, warps in ((1, 4), (1, 1), (4, 4)):
            self.compare(
                f"sort f32 {rows}x{n}, {per} rows, {warps} warps",
                lambda k: k.sort[(rows // per,)](x, out, per, n, num_warps=warps),
                {"torch": lambda: torch.sort(x, 1)},
                [out], [torch.sort(x, 1).values], rows * n / 1e9, "Gelements/s", {"triton": 1.0}, 0,
            )  # fmt: skip
        rows, n, kept = 1024, 4096, 16
        x = torch.randn(rows, n, device="cuda")
        out = torch.empty(rows, kept, device="cuda")
        for per, warps in ((1, 4), (1, 8)):
            self.compare(
                f"topk {kept} of f32 {rows}x{n}, {warps} warps",
                lambda k: k.topk[(rows // per,)](x, out, per, n, kept, num_warps=warps),
                {"torch": lambda: torch.topk(x, kept, 1)},
                [out], [torch.topk(x, kept, 1).values], rows * n / 1e9, "Gelements/s",
                {"triton": 1.0}, 0,
            )  # fmt: skip
        n, bins = 1 << 24, 256
        x = torch.randint(0, bins, (n,), device="cuda", dtype=torch.int32)
        counts = torch.zeros(bins, device="cuda", dtype=torch.int32)
        expected = torch.bincount(x, minlength=bins)
        for block in (2048, 8192):

            def count(k, block=block):
                counts.zero_()
                k.histogram[(n // block,)](x, counts, n, block, bins, num_warps=8)

            self.compare(
                f"histogram of i32 2^24 into {bins}, blocks of {block}", count,
                {"torch": lambda: torch.histc(x, bins, 0, bins - 1)},
                [counts], [expected], n / 1e9, "Gelements/s", {"triton": 1.0}, 0,
            )  # fmt: skip

    def numerics(self):
        """What strict and reproducible numbers cost (tutorials/guide/numbers.md)."""
        kernels = self.kernels["sectile"]
        for n, warps in ((1024, 4), (4096, 8)):
            x = torch.randn(8192, n, device="cuda")
            out = torch.empty_like(x)
            cases = {
                "softmax": (kernels.softmax, (out, x), torch.softmax(x.double(), 1)),
                "cumsum": (kernels.cumsum, (x, out), torch.cumsum(x.double(), 1)),
            }
            for what, (kernel, arrays, expected) in cases.items():
                runs = {}
                for kind in ("default", "strict", "reproducible"):
                    runs[kind] = lambda kind=kind: kernel[(8192,)](
                        *arrays, n, n, BLOCK=n, num_warps=warps, numerics=kind
                    )
                    out.zero_()
                    runs[kind]()
                    error = (out - expected).abs().max().item()
                    assert error <= 1e-5 * expected.abs().max().item() + 1e-6, (what, kind, error)
                seconds = self.timer.medians(runs)
                figure = ", ".join(
                    f"{kind} {1e6 * s:.1f} us ({s / seconds['default']:.2f}x)"
                    for kind, s in seconds.items()
                )
                self.table.note(f"{what} f32 8192x{n} by numerics", figure, "", None)

    def compile_times(self):
        """Kernel call to PTX, beside Triton's, without the assembler on either side."""
        half, single = (
            torch.zeros(4096, device="cuda", dtype=t) for t in (torch.half, torch.float)
        )
        n = 4096
        norm = (half, half, half, half, single, single, n, n, 1e-5)
        product = (half, half, half, n, n, n)
        cases = {
            "vector add": ("add", (single, single, single, n), {"BLOCK": 1024}, 10),
            "softmax": ("softmax", (single, single, n, n), {"BLOCK": 4096, "num_warps": 8}, 15),
            "layer norm": ("layer_norm", norm, {"BLOCK": 4096, "num_warps": 8}, 25),
            "sort": ("sort", (single, single), {"ROWS": 1, "BLOCK": 1024}, 40),
            "topk": ("topk", (single, single), {"ROWS": 1, "BLOCK": 4096, "K": 16}, 60),
            "histogram": ("histogram", (single.int(), single.int(), n), {"BLOCK": 2048, "BINS": 256}, 20),
            "matmul 128x128x32": (
                "matmul", product,
                {"BM": 128, "BN": 128, "BK": 32, "GROUP": 8, "num_warps": 4, "num_stages": 4}, 40,
            ),
            "matmul 128x256x64": (
                "matmul", product,
                {"BM": 128, "BN": 256, "BK": 64, "GROUP": 8, "num_warps": 8, "num_stages": 3}, 40,
            ),
        }  # fmt: skip
        for name, module in self.kernels.items():  # what is done once per process
            module.copy.warmup(single, single, n, BLOCK=1024, grid=(1,))
        for what, (kernel, positional, named, bar) in cases.items():
            start = time.perf_counter()
            ours = self.kernels["sectile"].__dict__[kernel].warmup(*positional, grid=(1,), **named)
            assembler = dict(ours.compile_times).get("assemble", 0)
            to_ptx = 1e3 * (time.perf_counter() - start - assembler)
            figure = f"{to_ptx:.1f} ms, assembler {1e3 * assembler:.1f} more"
            met = to_ptx <= bar
            bars = f"<= {bar} ms"
            if "triton" in self.kernels:
                start, assembling = time.perf_counter(), []
                with timed_assembler(assembling):
                    self.kernels["triton"].__dict__[kernel].warmup(*positional, grid=(1,), **named)
                theirs = 1e3 * (time.perf_counter() - start - sum(assembling))
                figure += f"; triton {theirs:.1f} ms ({to_ptx / theirs:.2f}x)"
                figure += f", assembler {1e3 * sum(assembling):.1f} more"
                met, bars = met and to_ptx <= 0.25 * theirs, bars + ", <= 0.25x triton"
            self.table.note(f"{what} to PTX, no cache", figure, bars, met)

    def first_kernel(self):
        """In processes of their own: a launch of vector add to its result, the CUDA context being there."""
        for name in self.kernels:
            times = []
            for _ in range(4):  # the first finds an empty disk cache
                done = subprocess.run(
                    [sys.executable, "-c", FIRST_KERNEL, name], capture_output=True, text=True
                )
                if done.returncode:
                    return self.table.fail(f"first kernel, {name}", done.stderr.splitlines()[-1])
                times.append(1e3 * float(done.stdout))
            cold, warm = times[0], min(times[1:])
            met = (cold <= 60 and warm <= 5) if name == "sectile" else None
            figure = f"{cold:.1f} ms, from the disk cache {warm:.1f} ms"
            self.table.note(
                f"first kernel, {name}", figure, "<= 60, 5 ms" if met is not None else "", met
            )


def main():
    parts = [
        "compile_times",
        "first_kernel",
        "elementwise",
        "softmax",
        "layer_norm",
        "rows",
        "ordering",
        "matmul",
        "precisions",
        "tiles",
        "extremes",
        "numerics",
    ]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append", choices=parts, help="these rows only")
    parser.add_argument(
        "--save",
        action="store_true",
        help="write benchmarks/results/nvidia.md, or nvidia-<rows>.md with --only",
    )
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("nvidia.py: no usable NVIDIA GPU: torch.cuda.is_available() is False")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SECTILE_CACHE_DIR"] = f"{folder}/sectile"
        os.environ["TRITON_CACHE_DIR"] = f"{folder}/triton"
        os.environ["KERNELS"] = folder
        kernels = contenders(folder)
        sys.path.insert(0, folder)
        triton = sys.modules.get("triton")
        setting = f"{torch.cuda.get_device_name()}, torch {torch.__version__}, " + (
            f"Triton {triton.__version__}" if triton else "no Triton"
        )
        print(setting, flush=True)
        table = Table()
        benchmark = Benchmark(table, kernels)
        for part in arguments.only or parts:
            getattr(benchmark, part)()
    if arguments.save:
        command = "./dev bench nvidia --save" + "".join(
            f" --only {p}" for p in arguments.only or []
        )
        name = "-".join(["nvidia", *(arguments.only or [])])  # a few rows replace no whole table
        (HERE / "results" / f"{name}.md").write_text(
            f"# NVIDIA figures\n\n`{command}` on {setting}\n\n{table.markdown()}"
        )


if __name__ == "__main__":
    main()
