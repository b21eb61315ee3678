"""AMD code objects in numbers: what the main loop of a product does in a round, registers, waves that have room, and
how long compiling takes. Nothing runs: no AMD GPU is at hand, and no time is claimed.

    ./dev bench amd [--save]

Beside them stand the same counts of Triton 3.6's own code for these tiles (f16, 128x128; BK 64 and 4 waves on CDNA,
BK 32 and 8 waves on RDNA; num_stages=2), taken once from its PyPI wheel.
"""

import argparse
import pathlib
import statistics
import tempfile
import time

from amd_figures import KEYS, loop_figures, waves_of_a_simd

import sectile as st
import sectile.language as tl

HERE = pathlib.Path(__file__).resolve().parent
#: Triton 3.6: the counts of KEYS, vector registers.
TRITON = {
    "gfx90a": ((32, 72, 256, 8, 8, 2, 6, 89, 248), 236),
    "gfx942": ((32, 16, 256, 12, 8, 2, 9, 58, 172), 216),
    "gfx950": ((16, 24, 256, 8, 8, 2, 5, 45, 139), 204),
    "gfx1100": ((16, 80, 384, 4, 4, 2, 19, 20, 171), 199),
    "gfx1201": ((16, 40, 192, 4, 4, 2, 17, 21, 138), 147),
}
ARCHS = tuple(TRITON)


@st.jit
def product(a, b, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    left = a + m[:, None] * K + k[None, :]
    right = b + k[:, None] * N + n[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += BK
        right += BK * N
    tl.store(out + m[:, None] * N + n[None, :], total.to(tl.float16))


@st.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * n + i, e / tl.sum(e, 0), i < n)


def compile_product(target, arch, kernel=product):
    """For `target` with the tiles and the threads that `arch` has."""
    depth, warps = (64, 4) if arch.startswith("gfx9") else (32, 8)
    kinds = {"a": "*fp16:16", "b": "*fp16:16", "out": "*fp16:16", "M": "i32:16", "N": "i32:16",
             "K": "i32:16"}  # fmt: skip
    blocks = {"BM": 128, "BN": 128, "BK": depth}
    return st.compile(kernel, kinds, blocks, target, num_warps=warps, num_stages=2)


def compile_softmax(target, arch, kernel=softmax, block=1024):
    kinds = {"x": "*fp32:16", "out": "*fp32:16", "n": "i32:16"}
    return st.compile(kernel, kinds, {"BLOCK": block}, target, num_warps=4, num_stages=2)


def rows(what, compiled, arch):
    counts = loop_figures(compiled.asm["amdgcn"])
    registers = compiled.n_regs
    yield (
        what,
        *(counts[key] for key in KEYS),
        registers,
        waves_of_a_simd(arch, registers),
        compiled.n_spills,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/amd.md")
    arguments = parser.parse_args()
    names = [key.replace("_", " ") for key in KEYS]
    table = [("code", *names, "registers", "waves", "spilled"), ("---",) * (len(names) + 4)]
    times, of_ptx = [("", "AMD", "PTX"), ("---",) * 3], {}

    def measured(compile, kernel, target, arch):
        """The time to code without the texts of stages, by names that no cache knows: the median of five."""
        times = []
        for number in range(5):
            with st.knobs.scope(keep_stages=False):
                renamed = st.jit(kernel.fn, repr=lambda _: f"again_{number}")
                start = time.perf_counter()
                compiled = compile(target, arch, kernel=renamed)
                assembler = dict(compiled.compile_times).get("assemble", 0)
                times.append(time.perf_counter() - start - assembler)
        return f"{1e3 * statistics.median(times):.0f} ms"

    with tempfile.TemporaryDirectory() as cache, st.knobs.scope(cache_dir=cache, keep_stages=True):
        for target in ("cuda:90", *(f"hip:{arch}" for arch in ARCHS)):
            compile_softmax(target, "", block=64)  # what is done once per process
        for what, compile, kernel in (
            ("product", compile_product, product),
            ("softmax of 1024", compile_softmax, softmax),
        ):
            for arch in ARCHS:
                compiled = compile(f"hip:{arch}", arch)
                milliseconds = measured(compile, kernel, f"hip:{arch}", arch)
                tiles = (what, arch[:4] if what == "product" else "")
                if tiles not in of_ptx:
                    of_ptx[tiles] = measured(compile, kernel, "cuda:90", arch)
                times.append((f"{what}, {arch}", milliseconds, of_ptx[tiles]))
                table.extend(rows(f"{what}, {arch}", compiled, arch))
                if what == "product":
                    counts, registers = TRITON[arch]
                    waves = waves_of_a_simd(arch, registers)
                    table.append((f"Triton 3.6, {arch}", *counts, registers, waves, 0))
    lines = ["| " + " | ".join(map(str, row)) + " |\n" for row in table]
    text = (
        "".join(lines)
        + "\nCompiling, with the linker for AMD and without the assembler for NVIDIA:\n\n"
    )
    text += "".join("| " + " | ".join(row) + " |\n" for row in times)
    print(text)
    if arguments.save:
        (HERE / "results" / "amd.md").write_text(
            "# AMD code objects in numbers\n\n`./dev bench amd --save`: counts per round of the main loop and wave (of "
            "softmax: of the whole kernel), vector registers of a lane, the waves of a SIMD that have room for these, "
            "bytes spilled. Emulated: nothing ran on a GPU.\n\n" + text
        )


if __name__ == "__main__":
    main()
