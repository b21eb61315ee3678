"""What a compiled candidate takes of a device, and whether it fits at all.

Rules are those of NVIDIA's occupancy calculation: registers go to warps in units of 256, warps to a
multiprocessor in fours, and each program takes 1 KiB of shared memory for the system.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import Any

    from .config import Config
    from .identity import Device

_REGISTER_UNIT = 256
_WARP_UNIT = 4
_SYSTEM_SHARED_BYTES = 1024
# Programs a multiprocessor can hold, where it is not 32.
_MOST_PROGRAMS = {86: 16, 87: 16, 89: 24, 120: 24}

# Threads and bytes of shared memory of a multiprocessor, by compute capability: the table "Technical
# Specifications per Compute Capability" of NVIDIA's CUDA programming guide. Registers are 65536 in all.
_MULTIPROCESSORS = {
    80: (2048, 164 << 10), 86: (1536, 100 << 10), 87: (1536, 164 << 10), 89: (1536, 100 << 10),
    90: (2048, 228 << 10), 100: (2048, 228 << 10), 103: (2048, 228 << 10), 120: (1536, 100 << 10),
}  # fmt: skip


def properties_of_architecture(architecture: str) -> dict[str, Any] | None:
    """Returns the properties of ``"sm_90a"`` that `limits_per_unit` needs, for when there is no such device to
    ask; None for an unknown architecture."""
    digits = "".join(letter for letter in architecture if letter.isdigit())
    capability = int(digits or 0)
    if capability not in _MULTIPROCESSORS:
        return None
    threads, shared = _MULTIPROCESSORS[capability]
    return {
        "capability": capability, "warpSize": 32, "max_threads_per_sm": threads,
        "regs_per_sm": 65536, "shared_mem_per_sm": shared,
    }  # fmt: skip


#: AMD's chips: lanes of a wave; of a compute unit (RDNA: of a pair of them, which a program has together) the
#: SIMDs, the waves and the registers of a lane that each of these holds, in steps of so many, bytes of LDS, and
#: programs. From LLVM's "User Guide for AMDGPU Backend" and AMD's instruction set manuals.
_COMPUTE_UNITS = {
    "gfx90a": (64, 4, 8, 512, 8, 64 << 10, 16),
    "gfx942": (64, 4, 8, 512, 8, 64 << 10, 16),
    "gfx950": (64, 4, 8, 512, 8, 160 << 10, 16),
    "gfx1100": (32, 4, 16, 1536, 24, 128 << 10, 32),
    "gfx1201": (32, 4, 16, 1536, 24, 128 << 10, 32),
}


def limits_per_compute_unit(
    resources: Resources, architecture: str
) -> tuple[dict[str, int], int, int] | None:
    """How many programs a compute unit of ``"gfx942"`` has room for, by what takes the room; the waves of a
    program; the most waves of a unit. None for an unknown architecture."""
    unit = _COMPUTE_UNITS.get(architecture)
    if unit is None:
        return None
    lanes, simds, most, registers, step, shared, programs = unit
    waves = -(-resources.threads // lanes)
    by_registers = min(most, registers // max(step, -(-resources.registers // step) * step))
    limits = {"registers": simds * by_registers // waves}
    if resources.shared_bytes:
        limits["shared memory"] = shared // resources.shared_bytes
    limits["threads"] = simds * most // waves
    limits["programs"] = programs
    return limits, waves, simds * most


class Resources:
    """What one program of a compiled kernel takes; zeros on the CPU.

    Attributes:
        registers: of a thread, 32 bits each.
        spilled_bytes: local memory of a thread.
        shared_bytes: shared memory of a program.
        threads: of a program.
    """

    __slots__ = ("registers", "shared_bytes", "spilled_bytes", "threads")

    def __init__(
        self, registers: int = 0, spilled_bytes: int = 0, shared_bytes: int = 0, threads: int = 1
    ) -> None:
        self.registers = registers
        self.spilled_bytes = spilled_bytes
        self.shared_bytes = shared_bytes
        self.threads = threads

    @classmethod
    def of(cls, compiled: Any) -> Resources:
        """Returns the resources of what ``kernel.warmup()`` returned."""
        metadata = getattr(compiled, "metadata", None)
        if metadata is None or metadata.backend == "cpu":
            return cls()
        threads = getattr(metadata, "threads", 32 * getattr(metadata, "num_warps", 4))
        return cls(compiled.n_regs, 4 * compiled.n_spills, metadata.shared, threads)

    def as_dict(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in self.__slots__}


def threads_of(config: Config, device: Device) -> int:
    """Returns the threads of a program: those of all its blocks (``num_ctas``), as many as fit into one."""
    threads = config.num_warps * device.properties["warpSize"]
    most = max(threads, device.properties["max_threads_per_block"])
    return min(threads * config.num_ctas, most)


def reason_before_compiling(config: Config, device: Device) -> str:
    """Why `config` cannot run on `device` whatever the kernel is; "" when it may."""
    if not device.is_gpu:
        return ""
    most = device.properties["max_threads_per_block"]
    threads = threads_of(config, device)
    if threads > most:
        return f"num_warps = {config.num_warps} are {threads} threads, and a program has at most {most}"
    if config.maxnreg and config.maxnreg * threads > device.properties["max_num_regs"]:
        return (
            f"maxnreg = {config.maxnreg} for {threads} threads is more than the "
            f"{device.properties['max_num_regs']} registers of a program"
        )
    return ""


def reason_after_compiling(resources: Resources, device: Device) -> str:
    """Why a compiled candidate cannot run on `device`; "" when it can."""
    if not device.is_gpu:
        return ""
    properties = device.properties
    if resources.shared_bytes > properties["max_shared_mem"]:
        return (
            f"needs {resources.shared_bytes} bytes of shared memory, and a program has at most "
            f"{properties['max_shared_mem']}"
        )
    if resources.threads > properties["max_threads_per_block"]:
        return (
            f"needs {resources.threads} threads, and a program has at most "
            f"{properties['max_threads_per_block']}"
        )
    registers = _registers(resources, properties)
    # AMD's compiler bounds the registers by the threads of a program itself.
    if device.kind == "cuda" and registers > properties["max_num_regs"]:
        return (
            f"needs {registers} registers, and a program has at most {properties['max_num_regs']}"
        )
    return ""


def _registers(resources: Resources, properties: dict[str, Any]) -> int:
    """Returns the registers of a program, rounded up as the device allocates them."""
    warp = properties["warpSize"]
    each = -(-resources.registers * warp // _REGISTER_UNIT) * _REGISTER_UNIT
    return each * -(-resources.threads // warp)


def programs_per_unit(resources: Resources, device: Device) -> int:
    """How many programs one multiprocessor holds at a time; 0 when not even one; 1 on the CPU."""
    if not device.is_gpu:
        return 1
    return min(limits_of(resources, device).values())


def limits_of(resources: Resources, device: Device) -> dict[str, int]:
    """How many programs a unit of a GPU has room for, by what takes the room."""
    if device.kind == "hip":
        found = limits_per_compute_unit(resources, device.properties["arch"])
        return found[0] if found else {"programs": 1}
    return limits_per_unit(resources, device.properties)


def limits_per_unit(resources: Resources, properties: dict[str, Any]) -> dict[str, int]:
    """How many programs a multiprocessor has room for, by what takes the room. Unknown registers do not."""
    warp = properties["warpSize"]
    warps = -(-resources.threads // warp)
    limits = {}
    if resources.registers:
        each = -(-resources.registers * warp // _REGISTER_UNIT) * _REGISTER_UNIT
        room = properties["regs_per_sm"] // each // _WARP_UNIT * _WARP_UNIT
        limits["registers"] = room // warps
    shared = resources.shared_bytes + _SYSTEM_SHARED_BYTES
    limits["shared memory"] = properties["shared_mem_per_sm"] // shared
    limits["threads"] = properties["max_threads_per_sm"] // (warps * warp)
    limits["programs"] = _MOST_PROGRAMS.get(properties.get("capability", 0), 32)
    return limits
