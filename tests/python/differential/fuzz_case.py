"""Runs a random kernel on a device and compares with the reference.

    outcome = run(make_case(7), "cuda", folder)   # Outcome("right", "")

Devices: "cpu"; "cuda", compared with the CPU as well; "compile", which compiles for one GPU, chosen by the
seed, and assembles the code where there is a ptxas; "archive", which exports the kernel and runs what an archive
has on the CPU, with the same bits as the kernel itself; "simulated", which runs the GPU's code on the CPU, thread
by thread (tests/backends/gpu/Simulator.cpp): seconds for large tiles, and races are found as well.
"""

import dataclasses
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass

import numpy as np

import sectile as st
import sectile.language as tl

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from error_bounds import Unsuitable  # noqa: E402
from random_kernels import reference  # noqa: E402
from target_check import assemble, targets_of  # noqa: E402

WARPS = (1, 2, 4, 8)


@dataclass
class Outcome:
    """kind: "right", "wrong" (a result), "failed" (to compile or run), "refused" (for want of resources)."""

    kind: str
    text: str = ""

    def is_bad(self):
        return self.kind in ("wrong", "failed")


def compiled_function(case, folder):
    """The kernel, from a file: st.jit reads source there."""
    path = pathlib.Path(folder) / f"{case.name}.py"
    path.write_text(case.source)
    spec = importlib.util.spec_from_file_location(case.name, path)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True  # texts of one file follow each other within a second
    spec.loader.exec_module(module)
    return getattr(module, case.name)


def language_dtype(name):
    return getattr(tl, name)


def mismatch(got, memory):
    """What is beyond the bound, as text; empty when nothing is."""
    if memory.error is None:
        wrong = got != memory.value
    else:
        got = got.astype(np.float64)
        with np.errstate(invalid="ignore"):
            wrong = ~((got == memory.value) | (np.abs(got - memory.value) <= memory.error))
    if not wrong.any():
        return ""
    at = np.flatnonzero(wrong)
    shown = ", ".join(
        f"[{i}] {got[i]!r} for {memory.value[i]!r}"
        + ("" if memory.error is None else f" +- {memory.error[i]:.3g}")
        for i in at[:3]
    )
    return f"{len(at)} of {len(got)} differ: {shown}"


def differences(results, expected):
    lines = []
    for name, got in results.items():
        if name[0] == "x":
            continue
        if text := mismatch(got, expected[name]):
            lines.append(f"{name}: {text}")
    return "\n".join(lines)


def run_on_cpu(case, kernel, **changed):
    arrays = case.arrays()
    arguments = [arrays.get(name, case.scalars.get(name)) for name in case.arguments]
    kernel[case.grid](*arguments, **{**case.options, **changed})
    return arrays


def run_from_archive(case, kernel):
    """(the arrays, what differs from those of the kernel itself)"""
    level = ("cpu:x86-64-v2", "cpu:x86-64-v3")[case.seed // 7 % 2]
    direct = run_on_cpu(case, kernel, target=level)
    signature = {**kernel.variants()[-1].signature, **case.options}
    export = st.aot.Export(kernel, [signature], {}, None, {})
    archive = st.aot.load(st.aot.build([export], [level]).archive)
    arrays = case.arrays()
    arguments = [arrays.get(name, case.scalars.get(name)) for name in case.arguments]
    archive[kernel.__name__][case.grid](*arguments)
    lines = [
        f"{name}: other bits than without the archive\n"
        for name, got in arrays.items()
        if got.tobytes() != direct[name].tobytes()
    ]
    return arrays, "".join(lines)


class GpuArray:
    """A NumPy array's copy on the GPU, as bytes: dtypes NumPy and torch have not in common do no harm."""

    def __init__(self, array, is_shifted, place):
        import torch

        raw = torch.from_numpy(np.ascontiguousarray(array).view(np.uint8))
        lead = array.itemsize if is_shifted else 0
        self.memory = torch.empty(lead + raw.numel(), dtype=torch.uint8, device=place)
        self.bytes = self.memory[lead:]
        self.bytes.copy_(raw)
        self.dtype = array.dtype

    def argument(self, name):
        import torch

        kinds = {"uint16": "int16", "uint32": "int32", "uint64": "int64", "bfloat16": "bfloat16",
                 "float8e4nv": "uint8", "float8e5": "uint8"}  # fmt: skip
        view = self.bytes.view(getattr(torch, kinds.get(name, name)))
        return st.reinterpret(view, language_dtype(name))

    def numpy(self):
        return self.bytes.cpu().numpy().view(self.dtype)


def run_on_gpu(case, kernel, place="cuda"):
    import torch

    arrays = {name: GpuArray(a, name in case.shifted, place) for name, a in case.arrays().items()}
    arguments = [
        arrays[name].argument(name[2:]) if name in arrays else case.scalars[name]
        for name in case.arguments
    ]
    options = dict(case.options)
    if place == "cuda" and torch.cuda.get_device_capability() < (9, 0):
        options.pop("num_ctas", None)
    kernel[case.grid](*arguments, **options)
    if place == "cuda":
        torch.cuda.synchronize()
    return {name: array.numpy() for name, array in arrays.items()}


def compile_for_gpu(case, kernel):
    arguments = [
        st.MockTensor(language_dtype(name[2:]), aligned=name not in case.shifted)
        if "_" in name
        else case.scalars[name]
        for name in case.arguments
    ]
    targets = targets_of(case.options)
    target = targets[case.seed % len(targets)]
    compiled = kernel.warmup(*arguments, grid=case.grid, target=target, **case.options)
    error, _ = assemble(compiled.asm["ptx"])
    return Outcome("failed", f"{target}: ptxas: {error}") if error else Outcome("right")


class Simulator:
    """A process that answers for one kernel after the other."""

    def __init__(self):
        self.process = None
        self.options = []  # ["--chip", "gfx942"]: a GPU of 64 lanes with AMD's matrix instructions

    @staticmethod
    def path():
        build = pathlib.Path(st.__file__).parents[2]  # build/python/sectile
        return build / "tests/backends/gpu/sectile_simulator"

    def __call__(self, line):
        if self.process is None or self.process.poll() is not None:
            pipe = subprocess.PIPE
            # What is freed has other bytes at once (glibc), so that none is used unnoticed.
            surroundings = {**os.environ, "MALLOC_PERTURB_": "165"}
            self.process = subprocess.Popen(
                [self.path(), *self.options], stdin=pipe, stdout=pipe, text=True, env=surroundings
            )
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        return answer or f"failed: the simulator ended with status {self.process.wait()}"


simulate = Simulator()


def run_simulated(case, kernel, folder):
    """(the arrays, what the simulator says)"""
    mocks = [
        st.MockTensor(language_dtype(name[2:]), aligned=name not in case.shifted)
        if "_" in name
        else case.scalars[name]
        for name in case.arguments
    ]
    # What descriptors of loaded addresses promise stands in the IR for NVIDIA's GPUs.
    of_nvidia = "tl.pointer_type" in case.source and not any("gfx" in o for o in simulate.options)
    asked = {"num_warps": case.options["num_warps"]} if of_nvidia else {}
    target = "cuda:90" if of_nvidia else "cpu"
    text = kernel.warmup(*mocks, grid=(1,), target=target, **asked).asm["tile"]
    folder = pathlib.Path(folder)
    (folder / "kernel.mlir").write_text(text)
    options = [f"{name}={value}" for name, value in case.options.items()]
    if case.seed % 4 == 1:  # code for launches whose arrays may share memory is right for all
        options.append("arguments_overlap=1")
    words = [folder / "kernel.mlir", "x".join(map(str, case.grid)), *options]
    arrays = case.arrays()
    # Scalars whose value was compiled in are no arguments.
    for name in re.findall(r'tile.name = "(\w+)"', text.split("attributes")[0]):
        if name in arrays:
            (folder / name).write_bytes(arrays[name].tobytes())
            lead = arrays[name].itemsize if name in case.shifted else 0
            words.append(f"{folder / name}:{lead}")
        else:
            words.append(f"i32:{case.scalars[name]}")
    answer = simulate(" ".join(map(str, words)))
    for name, array in arrays.items():
        if (folder / name).exists():
            arrays[name] = np.frombuffer((folder / name).read_bytes(), array.dtype)
    return arrays, answer


def run_in_interpreter(case, kernel, chip):
    """(the arrays, what the interpreter of AMD's code says)"""
    from launch_on_device import launches_on

    arrays = case.arrays()
    arguments = [arrays.get(name, case.scalars.get(name)) for name in case.arguments]
    options = {name: value for name, value in case.options.items() if name != "num_ctas"}
    options["num_warps"] = min(options["num_warps"], 16 if chip.startswith("gfx9") else 32)
    try:
        with launches_on(f"hip:{chip}"):
            kernel[case.grid](*arguments, **options)
    except st.MachineError as error:
        return arrays, str(error)
    return arrays, ""


def failure(text):
    is_refused = "shared memory" in text and "not in Sectile yet" not in text
    return Outcome("refused" if is_refused else "failed", text)


def reproduced(case, device, kernel, folder):
    """Runs the kernel as numerics="reproducible" promises the same bits: (how, arrays), ..."""
    if device == "cpu":
        yield 'check="bounds"', run_on_cpu(case, kernel, check="bounds")
        with st.knobs.scope(num_threads=1):
            yield "one thread", run_on_cpu(case, kernel)
        return
    for warps in WARPS:
        if warps == case.options["num_warps"]:
            continue
        changed = {**case.options, "num_warps": warps, "num_stages": 1 + warps % 3}
        other = dataclasses.replace(case, options=changed)
        if device == "cuda":
            yield f"num_warps={warps}", run_on_gpu(other, kernel)
            continue
        if device.startswith("hip:"):
            results, answer = run_in_interpreter(other, kernel, device.removeprefix("hip:"))
            if answer:
                raise Misdeed(f"num_warps={warps}: {answer}")
            yield f"num_warps={warps}", results
            continue
        results, answer = run_simulated(other, kernel, folder)
        if answer == "right":
            yield f"num_warps={warps}", results
        elif "shared memory" not in answer:
            raise Misdeed(f"num_warps={warps}: {answer}")


class Misdeed(Exception):
    """What the simulator says of a variant."""


def different_bits(case, results, device, kernel, folder):
    """What differs although the contract promises the same bits, as text; empty when nothing does."""
    if case.numerics != "reproducible" or device == "archive":
        return ""
    lines = []
    for how, others in reproduced(case, device, kernel, folder):
        for name, got in results.items():
            if got.tobytes() == others[name].tobytes():
                continue
            at = (
                np.flatnonzero(got.view(np.uint8) != others[name].view(np.uint8))[0] // got.itemsize
            )
            lines.append(
                f"{name}: other bits with {how}: [{at}] {others[name][at]!r} for {got[at]!r}"
            )
    return "\n".join(lines)


def results_on(device, case, kernel, folder):
    """(the arrays, what else went wrong)"""
    if device == "cpu":
        return run_on_cpu(case, kernel), ""
    if device == "cuda":
        return run_on_gpu(case, kernel), ""
    if device == "archive":
        return run_from_archive(case, kernel)
    if device.startswith("hip:"):
        return run_in_interpreter(case, kernel, device.removeprefix("hip:"))
    results, answer = run_simulated(case, kernel, folder)
    if answer.startswith("failed"):
        raise Misdeed(answer)
    return results, answer.removeprefix("right")


NAMES = {
    "cpu": "CPU",
    "cuda": "GPU",
    "simulated": "simulated GPU",
    "archive": "CPU, from an archive",
}


def run(case, device, folder):
    try:
        expected = None if device == "compile" else reference(case)
    except Unsuitable as reason:
        return Outcome("unsuitable", str(reason))
    if case.needs_order and device not in ("cpu", "compile", "archive"):
        return Outcome("unsuitable", "threads do not wait for each other")
    where = device
    try:
        kernel = compiled_function(case, folder)
        if device == "compile":
            return compile_for_gpu(case, kernel)
        for where in ("cuda", "cpu") if device == "cuda" else (device,):
            results, wrong = results_on(where, case, kernel, folder)
            wrong += differences(results, expected)
            wrong = wrong or different_bits(case, results, where, kernel, folder)
            if wrong:
                return Outcome("wrong", f"on the {NAMES.get(where, where)}:\n{wrong}")
        return Outcome("right")
    except (st.OutOfResources, Misdeed) as error:
        return failure(f"{where}: {error}")
    except st.MachineError:
        raise  # the device is lost
    except st.SectileError as error:
        return failure(f"{where}: {error}")
