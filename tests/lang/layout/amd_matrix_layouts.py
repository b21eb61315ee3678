"""Writes amd_matrix_layouts.txt: what AMD's calculator says of each instruction in AmdMatrixInstructions.h.

    python amd_matrix_layouts.py path/to/matrix_calculator.py

The calculator is github.com/ROCm/amd_matrix_instruction_calculator (MIT; needs the package tabulate). It is asked
for the element of every lane and register; nothing of it is kept but these numbers.
"""

import itertools
import pathlib
import re
import subprocess
import sys

# The chip, the calculator's name for it, lanes, and the instructions: our name, the calculator's.
FP8 = {"e4m3": "fp8", "e5m2": "bf8", "e4m3fnuz": "fp8", "e5m2fnuz": "bf8"}


def gfx90a():
    for size, k in ((16, 16), (32, 8)):
        shape, ours = f"{size}x{size}x{k}", f"mfma.m{size}n{size}k{k}"
        yield f"{ours}.f32.f16.f16", f"v_mfma_f32_{shape}f16"
        yield f"{ours}.f32.bf16.bf16", f"v_mfma_f32_{shape}bf16_1k"
        yield f"{ours}.s32.s8.s8", f"v_mfma_i32_{shape}i8"
    yield "mfma.m16n16k4.f32.f32.f32", "v_mfma_f32_16x16x4f32"
    yield "mfma.m32n32k2.f32.f32.f32", "v_mfma_f32_32x32x2f32"
    yield "mfma.m16n16k4.f64.f64.f64", "v_mfma_f64_16x16x4f64"


def gfx942():
    for size, k in ((16, 16), (32, 8)):
        for kind in ("f16", "bf16"):
            yield (
                f"mfma.m{size}n{size}k{k}.f32.{kind}.{kind}",
                f"v_mfma_f32_{size}x{size}x{k}_{kind}",
            )
    for size, k in ((16, 32), (32, 16)):
        shape, ours = f"{size}x{size}x{k}", f"mfma.m{size}n{size}k{k}"
        yield f"{ours}.s32.s8.s8", f"v_mfma_i32_{shape}_i8"
        for a, b in itertools.product(("e4m3fnuz", "e5m2fnuz"), repeat=2):
            yield f"{ours}.f32.{a}.{b}", f"v_mfma_f32_{shape}_{FP8[a]}_{FP8[b]}"
    yield "mfma.m16n16k8.f32.tf32.tf32", "v_mfma_f32_16x16x8_xf32"
    yield "mfma.m32n32k4.f32.tf32.tf32", "v_mfma_f32_32x32x4_xf32"
    yield "mfma.m16n16k4.f32.f32.f32", "v_mfma_f32_16x16x4_f32"
    yield "mfma.m32n32k2.f32.f32.f32", "v_mfma_f32_32x32x2_f32"
    yield "mfma.m16n16k4.f64.f64.f64", "v_mfma_f64_16x16x4_f64"


def gfx1100():
    yield "wmma.m16n16k16.f32.f16.f16", "v_wmma_f32_16x16x16_f16"
    yield "wmma.m16n16k16.f32.bf16.bf16", "v_wmma_f32_16x16x16_bf16"
    yield "wmma.m16n16k16.s32.s8.s8", "v_wmma_i32_16x16x16_iu8"


def gfx1201():
    yield from gfx1100()
    for a, b in itertools.product(("e4m3", "e5m2"), repeat=2):
        yield f"wmma.m16n16k16.f32.{a}.{b}", f"v_wmma_f32_16x16x16_{FP8[a]}_{FP8[b]}"


CHIPS = {
    "gfx90a": ("cdna2", 64, gfx90a),
    "gfx942": ("cdna3", 64, gfx942),
    "gfx1100": ("rdna3", 32, gfx1100),
    "gfx1201": ("rdna4", 32, gfx1201),
}

HEAD = """\
# Elements of AMD's matrix instructions, as the AMD matrix instruction calculator prints them (amd_matrix_layouts.py).
# A headline names the matrix and all that have it: chip, our name of the instruction, the calculator's.
# Then a line for each register, in order, and in it a cell for each lane: row and column of the element, as digits of
# base 36. "+" repeats the cells of the lanes before: both halves of the warp hold the same.
"""

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def table(calculator, arch, lanes, name, matrix):
    """Lines, one for each register."""
    command = [sys.executable, calculator, "-a", arch, "-i", name, "-M", f"-{matrix}", "--csv"]
    if lanes == 32:
        command += ["-w", "32"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split(",") for line in printed.splitlines() if re.match(r"\d+,", line)]
    assert [int(row[0]) for row in rows] == list(range(lanes)), (name, matrix)
    lines = []
    for reg in range(1, len(rows[0])):
        cells = []
        for row in rows:
            at = re.fullmatch(rf"{matrix}\[(\d+)\]\[(\d+)\]", row[reg])
            cells.append(DIGITS[int(at[1])] + DIGITS[int(at[2])])
        half = lanes // 2
        is_copy = cells[:half] == cells[half:]
        lines.append(" ".join(cells[:half] + ["+"] if is_copy else cells))
    return "\n".join(lines)


def main():
    names = {}  # by matrix and table
    for chip, (arch, lanes, instructions) in CHIPS.items():
        for ours, theirs in instructions():
            for matrix in "ABD":
                key = matrix, table(sys.argv[1], arch, lanes, theirs, matrix)
                names.setdefault(key, []).append(f"{chip} {ours} {theirs}")
    text = [HEAD]
    for (matrix, lines), holders in names.items():
        text.append(f"{matrix}: {', '.join(holders)}\n{lines}\n")
    pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(text))


if __name__ == "__main__":
    main()
