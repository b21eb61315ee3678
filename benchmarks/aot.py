"""What an archive of 200 variants costs a C program: opening it, first launches, launches, beside the driver alone.

    ./dev bench aot [--device cuda] [--save]

`--save` writes the table to benchmarks/results/aot-<device>.md. Medians; the launches are of one program that adds a
few numbers. On a GPU the driver alone loads and launches the same machine code.
"""

import argparse
import pathlib
import platform
import statistics
import subprocess
import tempfile

from table import Table

import sectile as st
import sectile.language as tl
from sectile import _cpp

HERE = pathlib.Path(__file__).resolve().parent
#: Each measures everything; figures are medians over them.
PROCESSES = 9
TYPES = ["fp32", "fp16", "fp64", "i32", "i64", "bf16", "i8", "i16", "u8", "u32"]


@st.jit
def add(out, x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(out + i, mask=i < n), mask=i < n)


def export(blocks):
    kinds = {"out": "*T:16", "x": "*T:16", "n": ["i32", "i32:16"], "BLOCK": [16 << i for i in range(blocks)]}  # fmt: skip
    st.aot.export(kinds, T=TYPES)(add)
    return st.aot.Export.of(add)


def processor():
    with open("/proc/cpuinfo") as info:
        return next((line.split(":")[1].strip() for line in info if line.startswith("model name")), platform.machine())  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--save", action="store_true")
    asked = parser.parse_args()
    place, target, extra = processor(), "cpu:x86-64-v3", []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if asked.device == "cuda":
            import torch

            major, minor = torch.cuda.get_device_capability()
            place, target = torch.cuda.get_device_name(), f"cuda:{10 * major + minor}"
            kinds = {"out": "*fp32:16", "x": "*fp32:16", "n": "i32"}
            compiled = st.compile(add, kinds, {"BLOCK": 16}, target)
            (folder / "add.cubin").write_bytes(compiled.asm["cubin"])
            extra = [str(folder / "add.cubin"), str(compiled.metadata.threads)]
        built = st.aot.build([export(5)], [target])
        (folder / "add.sectile").write_bytes(built.archive)
        library = _cpp._library_dir()
        # Kernel::launch is no part of what is installed: its headers are the sources'.
        subprocess.run(
            ["c++", "-O2", "-std=c++20", "-c", HERE / "aot_peer.cpp", "-o", folder / "peer.o", f"-I{HERE.parent}",
             f"-I{HERE.parent / 'include'}"],
            check=True,
        )  # fmt: skip
        subprocess.run(
            ["cc", "-O2", "-w", HERE / "aot.c", folder / "peer.o", "-o", folder / "aot", f"-I{_cpp.get_include()}",
             f"-L{library}", "-lsectile", f"-Wl,-rpath,{library}", "-lstdc++", "-ldl"],
            check=True,
        )  # fmt: skip
        runs = []
        for _ in range(PROCESSES):
            text = subprocess.run(
                [folder / "aot", folder / "add.sectile", asked.device, *extra], check=True, stdout=subprocess.PIPE, text=True
            ).stdout  # fmt: skip
            runs.append({key: float(value) for key, value in map(str.split, text.splitlines())})

    def median(figure):
        return statistics.median(map(figure, runs))

    figures = {key: median(lambda run, key=key: run[key]) for key in runs[0]}
    print(f"{place}\n")
    table = Table(66, 16, 16)
    per = {name: figures[name] / 1e6 for name in ("open", "first")}
    table.add(f"open {len(built.archive) / 2**20:.1f} MiB, {figures['variants']:.0f} variants", f"{per['open']:.3f} ms", "1 ms", per["open"] < 1)  # fmt: skip
    if "driver_load" in figures:
        load = figures["driver_load"] / 1e6
        table.add("the driver alone: loading one variant", f"{load:.3f} ms")
        table.add("first launch of a variant", f"{per['first']:.3f} ms", "0.5 ms above that", per["first"] - load < 0.5)  # fmt: skip
    else:
        table.add(
            "first launch of a variant", f"{per['first']:.3f} ms", "0.5 ms", per["first"] < 0.5
        )
    above = median(lambda run: run["launch"] - run["kernel"])
    if "driver" in figures:
        # Of each process by itself: from one to the next the driver's own call differs by more than what is asked.
        bound, kernel, noise, both = (
            median(lambda run, name=name: run[name] - run["driver"])
            for name in ("run", "kernel", "driver_again", "driver_ex")
        )
        table.add("the driver alone: cuLaunchKernel", f"{figures['driver']:.0f} ns")
        table.add("the same once more, which shows the noise", f"{noise:+.0f} ns")
        table.add("cuCtxGetCurrent and cuLaunchKernelEx", f"{both:+.0f} ns")
        table.add("sectile_run, a bound launch", f"{bound:+.0f} ns", "+100 ns", bound < 100)
        table.add("Kernel::launch", f"{kernel:+.0f} ns")
    else:
        table.add("Kernel::launch", f"{figures['kernel']:.0f} ns")
        bound = median(lambda run: run["run"] - run["kernel"])
        table.add("sectile_run, a bound launch, above that", f"{bound:+.0f} ns")
    table.add("sectile_launch, which finds its variant, above Kernel::launch", f"{above:+.0f} ns", "+300 ns", above < 300)  # fmt: skip
    if asked.save:
        device = "h200" if "H200" in place else "-".join(place.lower().split()[:2])
        path = HERE / "results" / f"aot-{device}.md"
        path.write_text(
            f"# An archive of kernels from C: {place}\n\n`./dev bench aot --device {asked.device} --save`\n\n{table.markdown()}"
        )
        print(f"\n{path}")


if __name__ == "__main__":
    main()
