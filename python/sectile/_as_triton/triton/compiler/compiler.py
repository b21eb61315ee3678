"""`compile`, and what it compiles."""

import os
from functools import lru_cache

from sectile.as_triton import adopt, missing
from sectile.compiler import compiler as _compiler
from sectile.compiler.compiler import ASTSource, CompiledKernel
from sectile.errors import OutOfResources
from sectile.runtime import compiled as _compiled

from .. import knobs
from ..backends import backends
from ..backends.compiler import BaseBackend, GPUTarget, Language
from ..runtime.cache import (
    _base32,
    get_cache_key,
    get_cache_manager,
    get_dump_manager,
    get_override_manager,
    triton_key,
)

adopt(__name__, (ASTSource, CompiledKernel))


#: Triton's names of stages -> Sectile's, the first that is there.
_STAGES = {
    "source": ("tile",),
    "ttir": ("tile",),
    "ttgir": ("tile-gpu", "tile-optimized"),
    "llir": ("llvm-optimized", "llvm"),
}


class AsmDict(dict):
    """`CompiledKernel.asm` with Triton's names, too: what is not kept is compiled again, with all stages."""

    def __init__(self, stages, compiled):
        super().__init__(stages)
        self._compiled = compiled

    def __missing__(self, name):
        if name == "sass":
            from ..tools.disasm import get_sass

            value = get_sass(self["cubin"])
        elif name in _STAGES:
            known = self if any(each in self for each in _STAGES[name]) else self._all()
            value = next((known[each] for each in _STAGES[name] if each in known), None)
            if value is None:
                raise KeyError(f"Unknown key: '{name}'")
        else:
            raise KeyError(f"Unknown key: '{name}'")
        self[name] = value
        return value

    def _all(self):
        import sectile.knobs

        compiled = self._compiled
        with sectile.knobs.scope(keep_stages=True):
            made = _compiler.compile(compiled.src, _target_of(compiled), compiled._origin.options)
        return made._code.asm

    def __reduce__(self):
        return dict, (dict(self),)


def _target_of(compiled):
    backend, arch = compiled.metadata.backend, compiled.metadata.target.partition(":")[2]
    return f"{backend}:{arch}" if backend != "cpu" else "cpu"


class Target(str):
    """What code is for, ``"nvptx64:sm_90a"``, which also answers as Triton's `GPUTarget` does."""

    @property
    def backend(self):
        chip = self.partition(":")[2]
        return "cuda" if chip.startswith("sm_") else "hip" if chip.startswith("gfx") else "cpu"

    @property
    def arch(self):
        chip = self.partition(":")[2]
        return int(chip.removeprefix("sm_").rstrip("af")) if self.backend == "cuda" else chip

    @property
    def warp_size(self):
        return 64 if self.partition(":")[2].startswith("gfx9") else 32


def _metadata(code):
    """The metadata of compiled code with what Triton's has besides."""
    known = code.metadata
    known.target = Target(known.target)
    known.backend_name, known.arch = known.backend, known.target.arch
    known.warp_size = known.target.warp_size
    known.cluster_dims = (known.num_ctas, 1, 1)
    if known.default_dot_input_precision == "default":
        known.default_dot_input_precision = "tf32"
    known.triton_version = "3.6.0"
    known.tensordesc_meta, known.tmem_size = None, 0
    known.global_scratch_size = known.profile_scratch_size = 0
    known.supported_fp8_dtypes = BaseBackend.defaults["supported_fp8_dtypes"]
    known.extern_libs = ()
    return known


_compiled._ATTRIBUTES["asm"] = lambda compiled: AsmDict(compiled._code.asm, compiled)
_compiled._ATTRIBUTES["metadata"] = lambda compiled: _metadata(compiled._code)
#: What Triton's launchers pass on to `CompiledKernel.run`, which knows its code without them.
_compiled._ATTRIBUTES["module"] = _compiled._ATTRIBUTES["function"] = lambda compiled: None
_compiled._ATTRIBUTES["metadata_group"] = lambda compiled: {}
_compiled._ATTRIBUTES["packed_metadata"] = lambda compiled: tuple(
    getattr(compiled._code.metadata, name) for name in ("num_warps", "num_ctas", "shared")
)
#: Threads of a block for which the registers of a multiprocessor suffice.
_compiled._ATTRIBUTES["n_max_threads"] = lambda compiled: min(
    1024, 65536 // compiled.n_regs // 32 * 32
)


class IRSource:
    """Triton's IR from a file, which Sectile does not read."""

    def __init__(self, path, context=None, backend=None):
        raise NotImplementedError(
            f"triton.compile: {path}: Sectile reads no IR of Triton's\n"
            "  help: compile the @jit function: triton.compile(ASTSource(kernel, signature, constexprs))"
        )


class LazyDict:
    """A dictionary of which parts are computed when it is asked for."""

    def __init__(self, data):
        self.data = data
        self.extras = []

    def get(self):
        for function, arguments in self.extras:
            self.data = {**self.data, **function(*arguments)}
        self.extras.clear()
        return self.data

    def add(self, function, arguments):
        self.extras.append((function, arguments))


def make_backend(target):
    """The compiler for a `GPUTarget`."""
    found = [each.compiler for each in backends.values() if each.compiler.supports_target(target)]
    if len(found) != 1:
        raise RuntimeError(
            f"{len(found)} compatible backends for target ({target.backend}) ({found}). There should only be one."
        )
    return found[0](target)


@lru_cache
def max_shared_mem(device):
    from ..runtime.driver import driver

    return driver.active.utils.get_device_properties(device)["max_shared_mem"]


def compile(src, target=None, options=None, _env_vars=None):
    """Compiles one variant of a kernel.

    Args:
        src: an `ASTSource`.
        target: a `GPUTarget`; that of `driver.active` when None.
        options: of a launch: ``{"num_warps": 8}``. Those of Triton's that have no meaning here are left out.

    Returns:
        A `CompiledKernel`, which stands alone: its pickle is its code. Where `options` has ``debug``, an assertion
        that fails on a GPU ends the context, as in Triton (`fatal_asserts`): torch's compiler asserts wherever it
        loads by an index, and its launches are neither waited for nor kept out of graphs.
    """
    if isinstance(src, (str, os.PathLike)):
        IRSource(src)
    if target is None:
        from ..runtime.driver import driver

        target = driver.active.get_current_target()
    knobs.follow()
    taken = {name: value for name, value in (options or {}).items() if name not in _IGNORED}
    if taken.get("debug") or knobs.runtime.debug:
        taken["debug"] = True
        taken.setdefault("fatal_asserts", True)
    kernel = _compiler.compile_for_any_memory(src, target, taken)
    return _standing_alone(kernel, src)


#: Options of Triton's back ends that change nothing here.
_IGNORED = frozenset((
    "num_consumer_groups", "num_buffers_warp_spec", "supported_fp8_dtypes", "backend_name",
    "arch", "warp_size", "cluster_dims", "allowed_dot_input_precisions",
    "deprecated_fp8_dot_operand_dtypes", "max_num_imprecise_acc_default", "generate_native_code",
))  # fmt: skip


def _standing_alone(kernel, src):
    """Gives the kernel what torch's launchers read; attributes, so that they are in its pickle."""
    kernel.src = src
    kernel.metadata = _metadata(kernel._code)
    for name in ("asm", "hash", "name", "n_regs", "n_spills"):
        if name not in ("n_regs", "n_spills") or kernel.metadata.backend_name == "cpu":
            setattr(kernel, name, getattr(kernel, name))
    kernel.num_warps, kernel.shared = kernel.metadata.num_warps, kernel.metadata.shared
    _write_for_static_launcher(kernel)
    return kernel


def _write_for_static_launcher(kernel):
    """Writes the cubin where torch's static launcher looks for it.

    That launcher passes the kernel's own parameters and looks at nothing else, so it gets no code that has further
    ones (assertions, bounds, several programs to a block), maps of arrays, or needs arrays that lie apart.
    """
    known = kernel.metadata
    is_plain = not (known.hidden_parameters or known.tensor_maps or known.alias_hazards)
    if (
        known.backend == "cuda"
        and "cubin" in kernel.asm
        and is_plain
        and known.threads == 32 * known.num_warps
    ):
        get_cache_manager(kernel.hash).put(kernel.asm["cubin"], f"{kernel.src.name}.cubin")


__getattr__ = missing(__name__)
