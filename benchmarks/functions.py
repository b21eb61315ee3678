"""What mathematical functions of f32 cost on a GPU, beside Triton's, which are CUDA's libdevice.

    ./dev bench functions [--save] [--only exp,pow]        (on a machine with a GPU, torch and Triton)

A program sums f over 32 arguments for each of its elements, all in registers: so the figure is what the arithmetic of one
function costs, in picoseconds an evaluation of the whole GPU, and not what memory does. Most arguments are ordinary ones;
what is rare (NaN, infinities, numbers of 1e30) costs more here and there and is not measured. Both compilers see the same
text; they run in turn; a figure is the median of the ratios of rounds. Errors are measured by ulp.py.

`--save` writes the table to benchmarks/results/functions.md.
"""

import argparse
import importlib.util
import os
import pathlib
import statistics
import tempfile

import torch
from table import Table

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS, ELEMENTS, BLOCK = 15, 1 << 21, 512
BAR = 1.1  # times Triton's time

# name: how it is written, and the interval of arguments; of y too where there are two
FUNCTIONS = {
    "x / y": ("x / y", -100, 100),
    "exp": ("tl.exp(x)", -80, 80),
    "exp2": ("tl.exp2(x)", -100, 100),
    "log": ("tl.log(x)", 0, 100),
    "log2": ("tl.log2(x)", 0, 100),
    "sin": ("tl.sin(x)", -100, 100),
    "cos": ("tl.cos(x)", -100, 100),
    "sqrt": ("tl.sqrt(x)", 0, 100),
    "rsqrt": ("tl.rsqrt(x)", 0, 100),
    "erf": ("tl.erf(x)", -4, 4),
    "sigmoid": ("tl.sigmoid(x)", -20, 20),
    "floor": ("tl.floor(x)", -100, 100),
    "pow": ("libdevice.pow(x, y)", 0, 20),
    "pow(x, 3)": ("libdevice.pow(x, 3.0)", -20, 20),
    "tanh": ("libdevice.tanh(x)", -4, 4),
    "tan": ("libdevice.tan(x)", -10, 10),
    "asin": ("libdevice.asin(x)", -1, 1),
    "acos": ("libdevice.acos(x)", -1, 1),
    "atan": ("libdevice.atan(x)", -10, 10),
    "atan2": ("libdevice.atan2(x, y)", -10, 10),
    "sinh": ("libdevice.sinh(x)", -10, 10),
    "cosh": ("libdevice.cosh(x)", -10, 10),
    "asinh": ("libdevice.asinh(x)", -10, 10),
    "acosh": ("libdevice.acosh(x)", 1, 10),
    "atanh": ("libdevice.atanh(x)", -1, 1),
    "log10": ("libdevice.log10(x)", 0, 100),
    "log1p": ("libdevice.log1p(x)", 0, 10),
    "expm1": ("libdevice.expm1(x)", -5, 5),
    "exp10": ("libdevice.exp10(x)", -30, 30),
    "cbrt": ("libdevice.cbrt(x)", -100, 100),
    "erfc": ("libdevice.erfc(x)", -4, 8),
    "erfinv": ("libdevice.erfinv(x)", -1, 1),
    "lgamma": ("libdevice.lgamma(x)", 0, 20),
    "fmod": ("libdevice.fmod(x, y)", 1, 100),
    "hypot": ("libdevice.hypot(x, y)", -100, 100),
    "sinpi": ("libdevice.sinpi(x)", -10, 10),
    "cospi": ("libdevice.cospi(x)", -10, 10),
    "normcdf": ("libdevice.normcdf(x)", -4, 4),
    "j0": ("libdevice.j0(x)", -8, 8),
}

HEAD = """
import {package} as dsl
import {package}.language as tl
from {package}.language.extra{below} import libdevice
"""
KERNEL = """
@dsl.jit
def {name}(x_ptr, y_ptr, out_ptr, x_step, y_step, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for _ in range(32):
        total += {formula}
        x += x_step
        y += y_step
    tl.store(out_ptr + i, total)
"""


def kernels(package, folder, names):
    below = "" if package == "sectile" else ".cuda"
    text = HEAD.format(package=package, below=below)
    for name in names:
        text += KERNEL.format(
            name=f"kernel_{list(FUNCTIONS).index(name)}", formula=FUNCTIONS[name][0]
        )
    path = pathlib.Path(folder) / f"functions_{package}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: getattr(module, f"kernel_{list(FUNCTIONS).index(name)}") for name in names}


def milliseconds(run):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(5):
        run()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 5


def compare(name, contenders, table):
    _, low, high = FUNCTIONS[name]
    span = (high - low) / 33  # arguments of a thread pass through all of the interval
    x = low + span * torch.rand(ELEMENTS, device="cuda")
    y = low + span * torch.rand(ELEMENTS, device="cuda")
    results, runs = {}, {}
    for package, found in contenders.items():
        out = torch.full_like(x, float("nan"))
        runs[package] = lambda kernel=found[name], out=out: kernel[(ELEMENTS // BLOCK,)](
            x, y, out, span, span, BLOCK=BLOCK
        )
        runs[package]()
        results[package] = out
    times = {package: [] for package in runs}
    for package, run in runs.items():
        milliseconds(run)
    for _ in range(ROUNDS):
        for package, run in runs.items():
            times[package].append(milliseconds(run))
    each = {
        package: statistics.median(found) * 1e9 / (32 * ELEMENTS)
        for package, found in times.items()
    }
    if "triton" not in runs:
        table.add(name, f"{each['sectile']:.2f} ps")
        return
    apart = (results["sectile"] - results["triton"]).abs() / results["triton"].abs().clamp(min=1)
    ratio = statistics.median(a / b for a, b in zip(times["sectile"], times["triton"]))
    note = "" if apart.max() < 1e-4 else f"; results differ by {apart.max():.1e}"
    table.add(
        name,
        f"{each['sectile']:.2f} ps, Triton {each['triton']:.2f}: {ratio:.2f}x{note}",
        f"<= {BAR}x",
        ratio <= BAR,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="names, with commas between them")
    parser.add_argument("--save", action="store_true", help="write results/functions.md")
    options = parser.parse_args()
    names = [name for name in FUNCTIONS if not options.only or name in options.only.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        packages = ["sectile"] + (["triton"] if importlib.util.find_spec("triton") else [])
        contenders = {package: kernels(package, folder, names) for package in packages}
        table = Table(12, 44, 8)
        for name in names:
            compare(name, contenders, table)
    if options.save:
        (HERE / "results" / "functions.md").write_text(
            f"# Mathematical functions of f32\n\n`./dev bench functions --save` on {torch.cuda.get_device_name()}, torch "
            f"{torch.__version__}: picoseconds of the whole GPU for one evaluation, and the times of Triton's.\n\n{table.markdown()}"
        )


if __name__ == "__main__":
    os.environ.setdefault("CUDA_CACHE_DISABLE", "1")
    main()
