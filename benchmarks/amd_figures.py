"""What the main loop of an AMD kernel does in a round, counted in its assembly text: no GPU is needed, and nothing
is said about time."""

import re

#: Registers of a lane in a SIMD, in steps of so many, and the waves that a SIMD takes (LLVM's AMDGPUUsage).
_REGISTERS = {"gfx9": (512, 8, 8), "gfx1": (1536, 24, 16)}

KEYS = ("matrix", "lds_reads", "lds_bytes", "lds_writes", "global_loads", "barriers", "waits", "valu",
        "all")  # fmt: skip


def waves_of_a_simd(arch, registers):
    """How many waves have room by their vector registers."""
    total, step, most = _REGISTERS[arch[:4]]
    return min(most, total // max(step, -(-registers // step) * step))


def _lds_bytes(name):
    """Bytes that a lane reads: ds_read_b128, ds_load_2addr_b64, ds_read_u16_d16 ..."""
    bits = int(re.search(r"_[biu](\d+)", name)[1])
    return bits // 8 * (2 if "read2" in name or "2addr" in name else 1)


def _counts(body):
    found = dict.fromkeys(KEYS, 0)
    for text in body:
        name = text.split()[0]
        found["all"] += 1
        if "mfma" in name or "wmma" in name:
            found["matrix"] += 1
        elif name.startswith(("ds_read", "ds_load")):
            found["lds_reads"] += 1
            found["lds_bytes"] += _lds_bytes(name)
        elif name.startswith(("ds_write", "ds_store")):
            found["lds_writes"] += 1
        elif name.startswith(("global_load", "buffer_load", "flat_load")):
            found["global_loads"] += 1
        elif name in ("s_barrier", "s_barrier_signal"):
            found["barriers"] += 1
        elif name.startswith("s_wait") and not name.startswith("s_wait_alu"):
            found["waits"] += 1
        elif name.startswith("v_"):
            found["valu"] += 1
    return found


def _body(assembly):
    """(labels: name -> number of an instruction, the instructions)"""
    labels, instructions = {}, []
    for line in assembly.split(".end_amdhsa_kernel")[0].splitlines():
        text = line.split(";")[0].strip()
        if label := re.match(r"([.\w$]+):$", text):
            labels[label[1]] = len(instructions)
        elif re.match(r"(v|s|ds|global|buffer|flat|scratch|exp)_\w+", text):
            instructions.append(text)
    return labels, instructions


def main_loop(assembly):
    """The instructions of the loop with the most matrix instructions, or, without any, of the whole kernel.

    Args:
        assembly: ``compiled.asm["amdgcn"]``.
    """
    labels, instructions = _body(assembly)
    loops = [instructions]
    for number, text in enumerate(instructions):
        branch = re.match(r"s_c?branch\w* ([.\w$]+)", text)
        if branch and labels.get(branch[1], number + 1) <= number:
            loops.append(instructions[labels[branch[1]] : number + 1])

    def worth(body):
        matrix = _counts(body)["matrix"]
        return matrix and len(body) < len(instructions), matrix, -len(body)

    return max(loops, key=worth)


def loop_figures(assembly):
    """Counts of `KEYS` in the main loop of ``compiled.asm["amdgcn"]``."""
    return _counts(main_loop(assembly))
