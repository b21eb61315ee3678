"""The host side: launches, a tuning, starts of processes; on a GPU beside the driver's own call, Triton and CuPy.

    ./dev bench runtime [--save] [--only NAME]

A launch is that of an empty kernel, timed by the host in bursts that the GPU's queue can hold, contenders in
turn; a figure is the median of the bursts. The bar is the distance from bare `cuLaunchKernelEx`, called in a loop
of C with the same kernel and the same parameters. Tunings start with empty caches. `--save` writes the table to
benchmarks/results/runtime.md.
"""

import argparse
import ast
import ctypes
import importlib.util
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from table import Table

os.environ.setdefault("CUDA_CACHE_DISABLE", "1")

HERE = pathlib.Path(__file__).resolve().parent
BURST = 300  # launches; the driver's queue holds about a thousand
ROUNDS = 40


def load(source, name, folder):
    path = pathlib.Path(folder) / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def for_triton(source):
    source = source.replace("import sectile as dsl", "import triton as dsl")
    return source.replace("import sectile.language as tl", "import triton.language as tl")


def compilers(source, name, folder):
    """{"sectile": module, "triton": module} of one text; Triton only where it is installed."""
    found = {"sectile": load(source, f"{name}_sectile", folder)}
    if importlib.util.find_spec("triton"):
        found["triton"] = load(for_triton(source), f"{name}_triton", folder)
    return found


# -- launches ------------------------------------------------------------------------------------------

COUNTS = {
    0: 1.0,
    8: 1.5,
    20: 3.0,
    58: 7.0,
}  # arguments: microseconds above the driver's call at most


def empty_kernels():
    text = "import sectile as dsl\nimport sectile.language as tl\n\n"
    for count in COUNTS:
        names = ", ".join(f"a{i}" for i in range(count))
        text += f"\n@dsl.jit\ndef empty{count}({names}):\n    pass\n\n"
    return text


def is_array(index):
    return index % 8 in (0, 3, 5)  # three of each eight


def arguments_of(count, array):
    scalars = [5, 2.5, 100_003, True, 7]
    return [array(i) if is_array(i) else scalars[i % len(scalars)] for i in range(count)]


BARE = r"""
#include <dlfcn.h>
#include <stddef.h>
#include <time.h>
typedef struct {
  unsigned grid[3], block[3], shared;
  void *stream, *attributes;
  unsigned count;
} Config;
typedef int (*Launch)(const Config *, void *, void **, void **);
double bare(void *function, void **parameters, unsigned threads, int count) {
  static Launch launch;
  if (!launch)
    launch = (Launch)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuLaunchKernelEx");
  Config config = {{1, 1, 1}, {threads, 1, 1}, 0, NULL, NULL, 0};
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (int i = 0; i < count; ++i)
    if (launch(&config, function, parameters, NULL))
      return -1;
  clock_gettime(CLOCK_MONOTONIC, &b);
  return (b.tv_sec - a.tv_sec) + 1e-9 * (b.tv_nsec - a.tv_nsec);
}
"""


def bare_launcher(folder):
    compiler = next((c for c in ("cc", "gcc", "clang", "clang-22") if shutil.which(c)), None)
    if compiler is None:
        sys.exit("runtime.py: a C compiler is needed to call the driver: install gcc")
    source, library = pathlib.Path(folder) / "bare.c", pathlib.Path(folder) / "bare.so"
    source.write_text(BARE)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", source, "-o", library, "-ldl"], check=True)
    function = ctypes.CDLL(str(library)).bare
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int]
    return function


def driver_function(compiled):
    """A function of the driver for what Sectile compiled, loaded once more."""
    cuda = ctypes.CDLL("libcuda.so.1")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    cubin = compiled.asm["cubin"]
    for result in (
        cuda.cuModuleLoadData(ctypes.byref(module), ctypes.c_char_p(cubin)),
        cuda.cuModuleGetFunction(ctypes.byref(function), module, compiled.name.encode()),
    ):
        if result:
            sys.exit(f"runtime.py: the driver refused the kernel: error {result}")
    return function


def in_turn(runs, wait, rounds=ROUNDS):
    """Microseconds of one call of each of {name: function(count) -> seconds}."""
    figures = {name: [] for name in runs}
    order = list(runs)
    shuffled = random.Random(rounds)
    for run in runs.values():
        run(50)
    for _ in range(rounds):
        shuffled.shuffle(order)
        for name in order:
            wait()
            figures[name].append(runs[name](BURST) / BURST * 1e6)
    wait()
    return {name: statistics.median(values) for name, values in figures.items()}


def loop(call):
    def run(count):
        start = time.perf_counter()
        for _ in range(count):
            call()
        return time.perf_counter() - start

    return run


def bench_launch(table, folder):
    import torch

    modules = compilers(empty_kernels(), "empty", folder)
    bare = bare_launcher(folder)
    try:
        import cupy
    except ImportError:
        cupy = None
    for count, bar in COUNTS.items():
        arguments = arguments_of(count, lambda i: torch.zeros(64, device="cuda"))
        kernel = getattr(modules["sectile"], f"empty{count}")
        place = {} if count else {"target": "cuda"}  # no array says where
        compiled = kernel[(1,)](*arguments, **place)
        function = driver_function(compiled)
        values = [ctypes.c_uint64(0) for _ in compiled.arguments]
        parameters = (ctypes.c_void_p * max(1, len(values)))(
            *[ctypes.cast(ctypes.pointer(value), ctypes.c_void_p) for value in values]
        )
        threads = 32 * compiled.metadata.num_warps
        bound = kernel[(1,)].bind(*arguments, **place)

        def generic(kernel=kernel, arguments=arguments, place=place):
            kernel[(1,)](*arguments, **place)

        runs = {
            "driver": lambda n, f=function, p=parameters, t=threads: bare(f, p, t, n),
            "sectile": loop(generic),
            "bound": loop(bound),
        }
        if "triton" in modules:
            other = getattr(modules["triton"], f"empty{count}")
            runs["triton"] = loop(lambda k=other, a=arguments: k[(1,)](*a))
        if cupy and count <= 20:
            declared = ", ".join(
                f"float *a{i}" if is_array(i) else f"int a{i}" for i in range(count)
            )
            raw = cupy.RawKernel(f'extern "C" __global__ void empty({declared}) {{}}', "empty")
            passed = tuple(
                cupy.zeros(64, cupy.float32) if is_array(i) else cupy.int32(5) for i in range(count)
            )
            runs["cupy"] = loop(lambda r=raw, p=passed: r((1,), (threads,), p))
        took = in_turn(runs, torch.cuda.synchronize)
        above = {name: value - took["driver"] for name, value in took.items()}
        others = "".join(
            f"; {name} {took[name]:.2f}" for name in ("triton", "cupy") if name in took
        )
        table.add(
            f"launch, {count} arguments",
            f"{took['sectile']:.2f} us, the driver's call {took['driver']:.2f} (+{above['sectile']:.2f}){others}",
            f"<= +{bar} us", above["sectile"] <= bar,
        )  # fmt: skip
        table.add(
            f"bound launch, {count} arguments", f"{took['bound']:.2f} us (+{above['bound']:.2f})",
            "<= +0.3 us" if count == 8 else "", above["bound"] <= 0.3 if count == 8 else None,
        )  # fmt: skip


def bench_cpu_launch(table, folder):
    import numpy as np

    text = """
import sectile as dsl
import sectile.language as tl


@dsl.jit
def eight(a0, a1, a2, a3, a4, a5, a6, a7):
    tl.store(a0, tl.load(a3) + tl.load(a5) + a1 + a2 + a4 + a6 + a7)


@dsl.autotune([dsl.Config({}, num_warps=warps) for warps in (4, 8)], key=["a7"])
@dsl.jit
def tuned(a0, a1, a2, a3, a4, a5, a6, a7):
    tl.store(a0, tl.load(a3) + tl.load(a5) + a1 + a2 + a4 + a6 + a7)
"""
    module = load(text, "cpu_launch", folder)
    kernel = module.eight
    kinds = {"NumPy arrays": lambda i: np.zeros(16, np.float32)}
    if importlib.util.find_spec("torch"):
        import torch

        kinds["torch tensors"] = lambda i: torch.zeros(16)
    for name, array in kinds.items():
        arguments = arguments_of(8, array)
        kernel[(1,)](*arguments)
        module.tuned[(1,)](*arguments)
        bound = kernel[(1,)].bind(*arguments)
        took = in_turn(
            {
                "tuned": loop(lambda k=module.tuned, a=arguments: k[(1,)](*a)),
                "generic": loop(lambda k=kernel, a=arguments: k[(1,)](*a)),
                "bound": loop(bound),
            },
            lambda: None,
        )
        table.add(
            f"CPU, 8 arguments, one program: {name}", f"{took['generic']:.2f} us; bound {took['bound']:.2f}, tuned {took['tuned']:.2f}",
            "<= 2 us", took["generic"] <= 2,
        )  # fmt: skip


# -- tuning --------------------------------------------------------------------------------------------

MATMUL_CONFIGS = [
    (bm, bn, bk, warps, stages)
    for bm, bn, warps in (
        (64, 64, 4), (128, 64, 4), (64, 128, 4), (128, 128, 4), (128, 128, 8), (128, 256, 8),
        (256, 128, 8), (64, 256, 8),
    )
    for bk in (32, 64)
    for stages in (3, 4)
]  # fmt: skip

TUNED = """
import sys
import time
import torch

import sectile as dsl
import sectile.language as tl
from kernels import matmul
from configs import CONFIGS


def configs():
    return [
        dsl.Config({"BM": bm, "BN": bn, "BK": bk, "GROUP": 8}, num_warps=warps, num_stages=stages)
        for bm, bn, bk, warps, stages in CONFIGS
    ]


tuned = dsl.autotune(configs(), key=["M", "N", "K"])(matmul)

if __name__ == "__main__":
    size = 2048
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.empty_like(a)
    torch.matmul(a, b)
    torch.cuda.synchronize()

    def grid(meta):
        return (dsl.cdiv(size, meta["BM"]) * dsl.cdiv(size, meta["BN"]),)

    start = time.perf_counter()
    tuned[grid](a, b, c, size, size, size)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    error = (c.double() - a.double() @ b.double()).norm() / (a.double() @ b.double()).norm()
    assert error < 1e-3, error
    best = tuned.best_config
    chosen = (best.kwargs["BM"], best.kwargs["BN"], best.kwargs["BK"], best.num_warps, best.num_stages)
    times = []
    flush = torch.empty(64 << 20, dtype=torch.int8, device="cuda")
    if "--every" in sys.argv:
        for config in CONFIGS:
            bm, bn, bk, warps, stages = config
            run = lambda: matmul[grid_of(config)](
                a, b, c, size, size, size, BM=bm, BN=bn, BK=bk, GROUP=8, num_warps=warps, num_stages=stages
            )
            grid_of = lambda config: (dsl.cdiv(size, config[0]) * dsl.cdiv(size, config[1]),)
            try:
                times.append((dsl.testing.do_bench(run, warmup=5, rep=40, return_mode="median"), config))
            except Exception:
                pass
        times.sort()
    print("RESULT", (seconds, chosen, times), flush=True)
"""


def tuning_run(folder, name, text, *flags):
    """(seconds of the first launch, the configuration chosen, [(milliseconds, configuration)])."""
    home = pathlib.Path(folder) / f"tuning-{name}"
    home.mkdir()
    source = (HERE / "gpu_kernels.py").read_text()
    (home / "kernels.py").write_text(source if name == "sectile" else for_triton(source))
    (home / "configs.py").write_text(f"CONFIGS = {MATMUL_CONFIGS!r}\n")
    (home / "run.py").write_text(text if name == "sectile" else for_triton(text))
    environment = {
        **os.environ,
        "SECTILE_CACHE_DIR": str(home / "cache"),
        "TRITON_CACHE_DIR": str(home / "triton"),
        "SECTILE_TUNING_DIR": str(home / "tuning"),
    }
    done = subprocess.run(
        [sys.executable, home / "run.py", *flags], env=environment, text=True, capture_output=True
    )
    line = next((l for l in done.stdout.splitlines() if l.startswith("RESULT")), None)
    if line is None:
        raise RuntimeError(f"{name}: {done.stderr.strip()[-300:]}")
    return ast.literal_eval(line.removeprefix("RESULT").strip())


def bench_tuning(table, folder):
    text = TUNED.lstrip()
    seconds, chosen, times = tuning_run(folder, "sectile", text, "--every")
    taken = {config: milliseconds for milliseconds, config in times}
    least = times[0][0]
    found = taken[chosen] / least
    figure = f"{seconds:.2f} s on {len(os.sched_getaffinity(0))} cores, {chosen}"
    ratio = None
    if importlib.util.find_spec("triton"):
        other, theirs, _ = tuning_run(folder, "triton", text)
        ratio = other / seconds
        figure += f"; triton {other:.2f} s ({ratio:.1f}x), {theirs}"
    table.add(
        f"tuning {len(MATMUL_CONFIGS)} matmuls, cold", figure, ">= 4x triton",
        None if ratio is None else ratio >= 4,
    )  # fmt: skip
    table.add(
        "its winner, measured at length", f"{taken[chosen]:.4f} ms, the best of all {least:.4f} ({found:.3f}x)",
        "<= 1.02x", found <= 1.02,
    )  # fmt: skip


# -- processes -----------------------------------------------------------------------------------------


def bench_startup(table, folder):
    sys.path.insert(0, str(HERE))
    import startup

    table.rows += startup.main([]).rows


def bench_storm(table, folder):
    done = subprocess.run(
        [sys.executable, HERE / "cache_storm.py"], text=True, stdout=subprocess.PIPE
    )
    table.add(
        "64 processes x 100 kernels, empty cache",
        done.stdout.strip().splitlines()[-1],
        "each compiled once",
        done.returncode == 0,
    )


BENCHMARKS = {
    "launch": bench_launch,
    "cpu": bench_cpu_launch,
    "tuning": bench_tuning,
    "startup": bench_startup,
    "storm": bench_storm,
}
ON_GPU = {"launch", "tuning"}


def gpu_name():
    if importlib.util.find_spec("torch"):
        import torch

        if torch.cuda.is_available():
            return torch.cuda.get_device_name()
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=BENCHMARKS, action="append", help="run just this part")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/runtime.md")
    options = parser.parse_args()
    gpu = gpu_name()
    about = f"{gpu or 'no usable GPU'}, {len(os.sched_getaffinity(0))} cores, Python {sys.version.split()[0]}"
    print(about, flush=True)
    table = Table(38, 100, 22)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SECTILE_CACHE_DIR"] = f"{folder}/sectile"
        os.environ["TRITON_CACHE_DIR"] = f"{folder}/triton"
        for name in options.only or BENCHMARKS:
            if name in ON_GPU and not gpu:
                print(f"  {name}: needs a GPU and torch, left out")
                continue
            BENCHMARKS[name](table, folder)
    if options.save:
        text = f"# Runtime figures\n\n`./dev bench runtime --save` on {about}\n\n{table.markdown()}"
        (HERE / "results" / "runtime.md").write_text(text)


if __name__ == "__main__":
    main()
