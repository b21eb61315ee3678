"""Names of kernels, keys, devices and candidates: texts that are the same in every process.

A choice on disk is found again by the digest of these. What has no such text (an object shown by its
address) makes a tuning that is remembered in memory only.
"""

from __future__ import annotations

import os
import re
import sys
from types import FunctionType

from ... import _native, knobs
from ..dependencies import snapshot_of, texts
from ..reads import code_text

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from .config import Config

_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def stable_text(value: Any) -> str | None:
    """A text for `value` that another process gives to an equal one; None when there is none."""
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, (tuple, list)):
        parts = [stable_text(part) for part in value]
        return None if None in parts else f"({', '.join(map(str, parts))})"
    if getattr(value, "__sectile_jit__", False) is True:
        return f"jit:{source_digest(value)}"
    if isinstance(value, FunctionType):
        return f"{value.__qualname__}:{_native.digest([code_text(value.__code__)])[:12]}"
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    text = "" if type(value).__repr__ is object.__repr__ else repr(value)
    return None if not text or " at 0x" in text else text


def key_text(key: tuple) -> str:
    """For people: the values of a tuner's key (without its device), and each dtype once: ``(781, float32)``."""
    count = len(key)
    while count and isinstance(key[count - 1], str):
        count -= 1
    return f"({', '.join([*map(repr, key[:count]), *dict.fromkeys(key[count:])])})"


def config_text(config: Config) -> str | None:
    """Returns the text of a candidate: its values in order of their names, and its hook."""
    parts = []
    for name, value in sorted(config.all_kwargs().items()):
        text = stable_text(value)
        if text is None:
            return None
        parts.append(f"{name}={text}")
    if config.pre_hook is not None:
        hook = stable_text(config.pre_hook)
        if hook is None:
            return None
        parts.append(f"pre_hook={hook}")
    return " ".join(parts)


def candidate_ids(configs: list[Config]) -> tuple[list[str], bool]:
    """A short name for each candidate, all different, and whether other processes give the same."""
    ids: list[str] = []
    is_stable = True
    for config in configs:
        text = config_text(config)
        is_stable = is_stable and text is not None
        base = _native.digest([text if text is not None else repr(config)])[:12]
        name, copy = base, 1
        while name in ids:
            copy += 1
            name = f"{base}.{copy}"
        ids.append(name)
    return ids, is_stable


def source_digest(kernel) -> str:
    """Returns the digest of the kernel's text and all it refers to, decorators and line numbers left out: a
    comment above it, or another candidate in the list, leaves what was measured valid."""
    return snapshot_of(kernel.fn, kernel._source_override, has_places=False).digest()


def kernel_digest(tuner) -> str:
    """Returns the digest of everything from a tuner down to its kernel: computed constants change what is
    compiled."""
    parts = []
    layer = tuner.fn
    while hasattr(layer, "fn") and not getattr(layer, "__sectile_jit__", False):
        for name, function in getattr(layer, "values", {}).items():
            parts.append(f"{name}={stable_text(function)}")
        layer = layer.fn
    return _native.digest([*parts, source_digest(layer)])


def has_asserts(tuner) -> bool:
    """Whether the kernel, or a helper of its, has an assert that ``debug=True`` switches on."""
    kernel = tuner.base_fn
    return any(
        re.search(r"\b(assert|device_assert)\b", text)
        for text in texts(kernel.fn, kernel._source_override)
    )


class Device:
    """What a launch runs on.

    Attributes:
        kind: ``"cpu"``, ``"cuda"`` or ``"hip"``.
        index: of the GPU; 0 on the CPU.
        text: the model, not the piece: equal for GPUs that run equally fast.
        name: for people.
        properties: those of ``driver.active.utils.get_device_properties``; {} on the CPU.
    """

    def __init__(
        self, kind: str, index: int, text: str, name: str, properties: dict[str, Any]
    ) -> None:
        self.kind = kind
        self.index = index
        self.text = text
        self.name = name
        self.properties = properties

    @property
    def is_gpu(self) -> bool:
        return self.kind != "cpu"

    @property
    def units(self) -> int:
        """How many programs run at a time, each as fast as one alone."""
        if self.is_gpu:
            return self.properties["multiprocessor_count"]
        return _native.hardware_threads()

    def __repr__(self) -> str:
        return f"Device({self.kind}:{self.index}, {self.text})"


_gpus: dict[int, Device] = {}


def _cpu() -> Device:
    threads = _native.hardware_threads()
    fingerprint = _native.host_fingerprint()
    name = f"{fingerprint.partition(':')[0]} with {threads} threads"
    return Device("cpu", 0, f"{fingerprint} with {threads} threads", name, {})


def _gpu(index: int) -> Device:
    if index not in _gpus:
        properties = _native.device_properties(index)
        text = "{name}, {arch}, {multiprocessor_count} multiprocessors".format(**properties)
        _gpus[index] = Device(_native.gpu_backend(), index, text, properties["name"], properties)
    return _gpus[index]


def items_of(value: Any) -> tuple | list | None:
    """The items of an argument that is a tuple, or the fields of a tensor descriptor; None for others."""
    if isinstance(value, (tuple, list)):
        return value
    if getattr(value, "__sectile_tensor_descriptor__", False):
        return value.fields()
    return None


def leaves(values: Iterable) -> Iterator:
    """The values, and in the place of those that have items these."""
    for value in values:
        items = items_of(value)
        if items is None:
            yield value
        else:
            yield from leaves(items)


def _place(array: Any) -> tuple[str, int] | None:
    """("gpu", index) or ("cpu", 0) for an array; None for anything else."""
    array = getattr(array, "base", array) if hasattr(array, "data_ptr") else array
    where: Any = getattr(array, "device", None)
    kind = getattr(where, "type", None)
    if isinstance(kind, str):  # torch
        return ("gpu", where.index or 0) if kind == "cuda" else ("cpu", 0)
    if hasattr(array, "__cuda_array_interface__"):
        index = getattr(where, "id", None)  # CuPy
        if not isinstance(index, int):
            address = array.__cuda_array_interface__["data"][0]
            index = _native.device_of(address) if address else 0  # empty arrays have no memory
        return "gpu", max(index, 0)
    platform = getattr(where, "platform", None)  # JAX
    if platform in ("gpu", "cuda", "rocm"):
        return "gpu", getattr(where, "local_hardware_id", 0)
    return ("cpu", 0) if hasattr(array, "dtype") else None


def place_of(arguments: dict[str, Any], target: str | None = None) -> tuple[str, int]:
    """Where a launch with these arguments runs: what ``target=`` names, else where the first array is."""
    for value in leaves(arguments.values()):
        if hasattr(value, "dtype"):
            place = _place(value)
            if place is not None and place[0] == "gpu":
                return place
            break
    return ("gpu", 0) if target is not None and target.startswith(("cuda", "hip")) else ("cpu", 0)


def device_at(place: tuple[str, int]) -> Device:
    return _gpu(place[1]) if place[0] == "gpu" else _cpu()


def is_capturing(device: Device, stream: Any = None) -> bool:
    """Whether the stream that a launch would go to is being captured into a CUDA graph."""
    if not device.is_gpu:
        return False
    if hasattr(stream, "is_capturing"):  # CuPy's
        return bool(stream.is_capturing())
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_initialized() and cuda.is_current_stream_capturing():
        return True
    cupy = sys.modules.get("cupy")
    return bool(cupy is not None and cupy.cuda.get_current_stream().is_capturing())


def environment() -> str:
    """Switches of the process that change how fast kernels are."""
    runtime = knobs.runtime
    switches = f"check={runtime.check or ''} debug={int(runtime.debug)}"
    for name in ("numerics", "default_dot_input_precision"):
        if (value := getattr(runtime, name)) != "default":
            switches += f" {name}={value}"
    return switches


def folder() -> str | None:
    """Where records are kept; None when nothing is."""
    chosen = knobs.autotuning.dir
    if chosen is not None:
        return chosen or None
    cache = _native.statistics()["cache_directory"]
    return os.path.join(cache, "tuning") if cache else None
