"""What a process costs until its first result, and what the installed package takes.

    python benchmarks/startup.py [--save] [--rounds 30] [--device cuda] [--wheel dist/sectile-....whl]

With `--device cuda` kernels run on the first GPU; the driver's context is made before, and not counted.

Fresh processes with all kernels in the disk cache, those that are compared in turn; a figure is the
median. The clock begins before the process is started. `--save` writes the table to
benchmarks/results/startup.md, of a GPU to startup_cuda.md. `SECTILE_BENCH_BUILD` names the build
folder (`./dev bench` sets it).
"""

import argparse
import glob
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile

from table import Table

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("SECTILE_BENCH_BUILD", HERE.parent / "build"))

CLOCK = "import time\nclock = lambda: time.clock_gettime(time.CLOCK_MONOTONIC)\n"
BARE = CLOCK + "print(clock())\n"
IMPORT = CLOCK + "import sectile, sectile.language\nprint(clock())\n"
# A GPU's memory by the driver alone: torch would cost seconds, and load what is looked for.
ARRAYS = {
    "cpu": """
import array
x, out = array.array("f", [2.0] * 1000), array.array("f", [0.0] * 1000)
first_and_last = lambda: (out[0], out[999])
""",
    "cuda": """
import array, ctypes
cuda = ctypes.CDLL("libcuda.so.1")
context, data = ctypes.c_void_p(), array.array("f", [2.0] * 1000)
assert not cuda.cuInit(0) and not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
assert not cuda.cuCtxSetCurrent(context)
class Array:
    def __init__(self):
        self.address = ctypes.c_uint64()
        assert not cuda.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(4000))
        self.__cuda_array_interface__ = {
            "shape": (1000,), "typestr": "<f4", "data": (self.address.value, False), "version": 3}
x, out = Array(), Array()
assert not cuda.cuMemcpyHtoD_v2(x.address, ctypes.c_void_p(data.buffer_info()[0]), ctypes.c_size_t(4000))
def first_and_last():
    assert not cuda.cuMemcpyDtoH_v2(ctypes.c_void_p(data.buffer_info()[0]), out.address, ctypes.c_size_t(4000))
    return data[0], data[999]
""",
}
KERNEL = (
    CLOCK
    + """
import sectile as st
import sectile.language as tl

@st.jit
def twice(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

ARRAYS
imported = clock()
twice[(4,)](out, x, 1000, BLOCK=256)
values = first_and_last()
end = clock()
assert values == (4, 4)
print(end, imported, int("sectile-compiler" in open("/proc/self/maps").read()))
"""
)


def run(command, environment):
    """The clock before the start, and the numbers that the process prints."""
    start = time.clock_gettime(time.CLOCK_MONOTONIC)
    output = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if output.returncode:
        sys.exit(f"{command}: {output.stderr}")
    return [start, *map(float, output.stdout.split())]


def milliseconds(samples):
    return statistics.median(samples) * 1e3


def bench_cpp(table, environment, rounds, device):
    program = BUILD / "benchmarks" / "sectile_bench_startup"
    if not program.exists():
        print(f"  {program} is missing: ninja -C {BUILD} sectile_benchmarks")
        return
    bare, whole, inside, loaded = [], [], [], False
    for number in range(rounds + 2):  # the first compiles, the second warms the files up
        start, main, _, _, _ = run([program, "bare"], environment)
        began, entered, context, end, compiler = run([program, device], environment)
        if number < 2:
            continue
        bare.append(main - start)
        whole.append(end - began - (context - entered if device == "cuda" else 0))
        inside.append(end - (context if device == "cuda" else entered))
        loaded |= bool(compiler)
    less = ", less the driver's context" if device == "cuda" else ""
    total = milliseconds(whole)
    table.add(
        f"C++, {device}: process start to first result{less}", f"{total:.1f} ms", "<= 15 ms",
        total <= 15,
    )  # fmt: skip
    table.add("  of these until main() is entered", f"{milliseconds(bare):.1f} ms")
    table.add("  of these in main()", f"{milliseconds(inside):.2f} ms")
    table.add("  compiler library in /proc/self/maps", "yes" if loaded else "no", "no", not loaded)


def bench_python(table, environment, rounds, device):
    with tempfile.TemporaryDirectory() as folder:
        programs = []
        for name, text in (
            ("bare", BARE),
            ("import", IMPORT),
            ("kernel", KERNEL.replace("ARRAYS", ARRAYS[device])),
        ):
            path = os.path.join(folder, name + ".py")
            with open(path, "w") as file:
                file.write(text)
            programs.append([sys.executable, path])
        samples, loaded = [], False
        for number in range(rounds + 2):
            taken = [run(program, environment) for program in programs]
            if number < 2:
                continue
            ends = [each[1] - each[0] for each in taken]
            samples.append((ends[0], ends[1] - ends[0], taken[2][1] - taken[2][2]))
            loaded |= bool(taken[2][3])
    bare, imported, first = (milliseconds(each) for each in zip(*samples))
    table.add("Python: process start, bare", f"{bare:.1f} ms")
    table.add(
        "Python: import sectile beyond that", f"{imported:.1f} ms", "<= 20 ms", imported <= 20
    )
    where = f"Python, {device}: first cached kernel beyond that"
    table.add(where, f"{first:.2f} ms", "<= 5 ms", first <= 5)
    table.add("  compiler library in /proc/self/maps", "yes" if loaded else "no", "no", not loaded)


def bench_size(table, wheel):
    with zipfile.ZipFile(wheel) as archive:
        installed = sum(info.file_size for info in archive.infolist()) / 1e6
    zipped = os.path.getsize(wheel) / 1e6
    table.add(
        "installed size of the Python package", f"{installed:.1f} MB ({zipped:.1f} MB zipped)",
        "<= 120 MB", installed <= 120,
    )  # fmt: skip


def cpu_name():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--save", action="store_true", help="write benchmarks/results/startup.md or startup_cuda.md"
    )
    parser.add_argument("--rounds", type=int, default=30, help="processes of each kind")
    parser.add_argument(
        "--device", choices=["cpu", "cuda"], default="cpu", help="where kernels run"
    )
    parser.add_argument("--wheel", help="whose installed size is told; default: the one in dist/")
    options = parser.parse_args(arguments)

    threads = len(os.sched_getaffinity(0))
    about = f"{cpu_name()}, {threads} threads, Python {platform.python_version()}"
    print(about)
    table = Table(68, 36, 12)
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "SECTILE_CACHE_DIR": cache}
        bench_cpp(table, environment, options.rounds, options.device)
        bench_python(table, environment, options.rounds, options.device)
    wheels = [options.wheel] if options.wheel else glob.glob(str(HERE.parent / "dist" / "*.whl"))
    for wheel in wheels[:1]:
        bench_size(table, wheel)
    if not wheels:
        print("  no wheel in dist/: ./dev wheel makes one, whose installed size is told here")
    if options.save:
        on_gpu = options.device == "cuda"
        path = HERE / "results" / ("startup_cuda.md" if on_gpu else "startup.md")
        command = "benchmarks/startup.py --save" + (" --device cuda" if on_gpu else "")
        path.write_text(
            f"# Start-up and size\n\n`python {command}` on {about}\n\n{table.markdown()}"
        )
    return table


if __name__ == "__main__":
    main()
