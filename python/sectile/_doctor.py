"""``sectile doctor``: what Sectile finds on this machine, and why something is not used."""

from __future__ import annotations

import os
import platform
import sys


def _line(what: str, finding: str) -> None:
    print(f"  {what:<18} {finding}")


def _processor() -> tuple[str, list[str]]:
    name = platform.machine()
    flags: set[str] = set()
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                key, _, value = line.partition(":")
                if key.strip() == "model name" and name == platform.machine():
                    name = value.strip()
                elif key.strip() == "flags" and not flags:
                    flags = set(value.split())
    except OSError:
        pass
    wanted = (
        "avx2",
        "fma",
        "f16c",
        "avx512f",
        "avx512_bf16",
        "avx512_fp16",
        "avx512_vnni",
        "amx_bf16",
    )
    return name, [flag for flag in wanted if flag in flags]


def _report_gpus(used: str) -> list[tuple[str, str]]:
    """Prints what there is of each maker's GPUs; returns the name and model of those that are used."""
    from . import _native

    places = []
    for backend in ("cuda", "hip"):
        devices, reason = _native.gpu_devices(backend)
        for index, (name, arch) in enumerate(devices):
            what = f"{backend}:{index} {name}, {arch}"
            if backend == used:
                memory = _native.device_properties(index)["total_memory"] / 2**30
                places.append((f"{backend}:{index}", name))
                finding = f"used: {what}, {memory:.0f} GiB"
            else:
                finding = (
                    f"not used: {what}: a process uses the GPUs of one maker, and NVIDIA's come "
                    "first; hide them with CUDA_VISIBLE_DEVICES="
                )
            _line(backend if index == 0 else "", finding)
        if not devices or reason:
            _line(backend, f"not used: {reason}")
    return places


def _verdict(gpus: list[tuple[str, str]], problems: list[str]) -> str:
    """What it all comes to."""
    if problems:
        return "\n".join(f"Problem: {problem}." for problem in problems)
    places = [f"{place} ({name})" for place, name in gpus]
    if not places:
        return "Kernels will run on: the CPU."
    return f"Kernels will run on: {', '.join(places)}, and on the CPU."


def main(arguments: list[str]) -> int:
    """Prints the report; 1 when kernels cannot be compiled or run here, 2 when it is called wrongly.

    With ``--verbose`` also the names of the build and of the processor's code, which the cache goes by.
    """
    import sectile

    from . import _native
    from .runtime import control

    if unknown := [word for word in arguments if word not in ("--verbose", "-v")]:
        print(
            f"sectile doctor: unknown option {unknown[0]!r}; the only one is --verbose",
            file=sys.stderr,
        )
        return 2
    is_verbose = bool(arguments)
    problems: list[str] = []
    package = os.path.dirname(os.path.abspath(__file__))
    print("Sectile")
    _line("version", sectile.__version__)
    if is_verbose:
        _line("build", control.build_id())
    _line("package", package)
    _line("python", f"{platform.python_version()} ({sys.executable})")

    print("Back ends")
    name, features = _processor()
    _line("cpu", f"used: {name}; {', '.join(features) or 'no vector extensions beyond the base'}")
    threads = _native.hardware_threads()
    _line("", f"{threads} thread{'s' * (threads != 1)} for programs (SECTILE_NUM_THREADS)")
    if is_verbose:
        _line("", f"code for {_native.host_fingerprint()}")
    gpus = _report_gpus(_native.gpu_backend())

    print("Compiler")
    error = _native.compiler_error()
    if error:
        _line("library", error)
        problems.append(
            "kernels that are not in the cache cannot be compiled, for want of the compiler library; "
            "install Sectile again, or name the library in SECTILE_COMPILER_LIBRARY"
        )
    else:
        path = _native.compiler_path()
        size = f", {os.path.getsize(path) / 2**20:.0f} MiB" if os.path.exists(path) else ""
        _line("library", f"{path}{size}")
    _line("assembler", "cpu: built in (LLVM and LLD)")
    _line("", f"cuda: {_native.gpu_assembler()}")
    _line("", "hip: built in (LLVM and LLD)")

    print("Cache")
    statistics = control.statistics()
    if statistics["disk_disabled"]:
        _line("disk", f"not used: {statistics['disk_disabled']}")
    else:
        files = control.cache_files()
        total = control.cache_bytes()
        count = f"{len(files)} file{'' if len(files) == 1 else 's'}"
        _line("disk", f"{statistics['cache_directory']}: {count}, {total / 2**20:.1f} MiB")

    print("Environment")
    found = sorted(name for name in os.environ if name.startswith("SECTILE_"))
    for variable in found:
        _line(variable, os.environ[variable])
    if not found:
        _line("", "no SECTILE_ variable is set")
    for problem in _native.knob_problems():
        _line("", problem)

    print("\n" + _verdict(gpus, problems))
    return 1 if problems else 0
