"""Triton's knobs: its environment variables as attributes, in its groups.

A knob that means something here sets Sectile's (`_FOLLOWED`); the others are kept and read back, for programs
that look at them. `runtime`'s hooks are `sectile.knobs.runtime`'s.
"""

import importlib
import os
import re
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass

import sectile.knobs as _ours
from sectile.as_triton import missing
from sectile.runtime.hooks import HookChain


class Env:
    """Assigned to a knob, lets the environment decide again."""


env = Env()
#: Whether setting a knob sets its variable, for processes that are started.
propagate_env = True

_TRUE = frozenset(("1", "true", "on", "yes", "y"))
_UNSET = object()


def getenv(key, default=None):
    return os.environ.get(key, default)


def getenv_bool(key, default=False):
    text = os.environ.get(key)
    return default if text is None else text.lower() in _TRUE


def toenv(value):
    """``(text,)`` for what an environment variable can hold, ``(None,)`` for None; None for anything else."""
    if value is None:
        return (None,)
    if type(value) is bool:
        return ("1" if value else "0",)
    return (str(value),) if type(value) in (str, int) else None


def setenv(key, text):
    if not propagate_env:
        return
    if text is None:
        os.environ.pop(key, None)
    else:
        os.environ[key] = text


class env_base:
    """A knob: what was assigned to it, else what its variable says."""

    def __init__(self, key, default=None):
        self.key = key
        self.default = default

    def __set_name__(self, owner, name):
        self.name = name

    def get(self):
        return getenv(self.key, self.default)

    def transform(self, value):
        return value

    def __get__(self, instance, owner=None):
        value = _UNSET if instance is None else vars(instance).get(self.name, _UNSET)
        return self.get() if value is _UNSET else self.transform(value)

    def __set__(self, instance, value):
        if isinstance(value, Env):
            vars(instance).pop(self.name, None)
        else:
            vars(instance)[self.name] = value
            if text := toenv(value):
                setenv(self.key, text[0])
        follow()

    def __delete__(self, instance):
        vars(instance).pop(self.name, None)
        follow()


class env_str(env_base):
    pass


class env_opt_str(env_base):
    pass


class env_str_callable_default(env_base):
    def get(self):
        text = getenv(self.key)
        return self.default() if text is None else text


class env_bool(env_base):
    def __init__(self, key, default=False):
        super().__init__(key, default)

    def get(self):
        return getenv_bool(self.key, self.default)


class env_opt_bool(env_base):
    def get(self):
        return getenv_bool(self.key, None)


class env_int(env_base):
    def __init__(self, key, default=0):
        super().__init__(key, default)

    def get(self):
        text = getenv(self.key)
        if text is None:
            return self.default
        try:
            return int(text)
        except ValueError as error:
            raise RuntimeError(f"Unable to use {self.key}={text}: expected int") from error


class env_class(env_base):
    """The class that ``MODULE:CLASS`` names, derived from one that is called `type`."""

    def __init__(self, key, type):
        super().__init__(key)
        self.type = type

    def get(self):
        text = getenv(self.key)
        if text is None:
            return None
        module, separator, name = text.partition(":")
        if not separator:
            raise RuntimeError(
                f"Unable to read {self.key}: '{text}' isn't of the form MODULE:CLASS"
            )
        found = getattr(importlib.import_module(module), name)
        if self.type not in (base.__name__ for base in found.__mro__):
            raise RuntimeError(f"Unable to use '{text}' from {self.key}: not of type '{self.type}'")
        return found


@dataclass
class NvidiaTool:
    path: str
    version: str

    @staticmethod
    def from_path(path):
        """None where `path` cannot be run, or does not say its release."""
        try:
            text = subprocess.run(
                [path, "--version"], capture_output=True, text=True, check=True
            ).stdout
        except (OSError, subprocess.CalledProcessError):
            return None
        release = re.search(r"release (\d+\.\d+)", text)
        return NvidiaTool(path, release.group(1)) if release else None


class env_nvidia_tool(env_base):
    """A program of CUDA's: where the variable says, else where Sectile would look for it."""

    def __init__(self, binary):
        super().__init__(f"TRITON_{binary.upper().replace('-', '_')}_PATH")
        self.binary = binary

    def get(self):
        return self.transform(getenv(self.key))

    def transform(self, value):
        import shutil

        home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
        program = "ptxas" if self.binary.startswith("ptxas") else self.binary
        for path in (value, shutil.which(program), os.path.join(home, "bin", program)):
            if path and (tool := NvidiaTool.from_path(path)):
                return tool
        raise RuntimeError(
            f"Cannot find {self.binary}\n  help: set {self.key}; Sectile itself needs none (`sectile doctor`)"
        )


class _forwarded:
    """An attribute that is one of `sectile.knobs`' groups'."""

    def __init__(self, group):
        self.group = group

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        return getattr(self.group, self.name)

    def __set__(self, instance, value):
        setattr(self.group, self.name, value)


@dataclass(frozen=True)
class CompileTimes:
    """Times of a compile, in microseconds.

    Attributes:
        ir_initialization: until there was IR.
        lowering_stages: list of (stage, time).
        store_results: what writing to the cache took.
    """

    ir_initialization: int
    lowering_stages: list
    store_results: int

    @property
    def total_lowering(self):
        return sum(time for _, time in self.lowering_stages)

    @property
    def total(self):
        return self.ir_initialization + self.total_lowering + self.store_results


class base_knobs:
    @property
    def knob_descriptors(self):
        return {
            name: value for name, value in vars(type(self)).items() if isinstance(value, env_base)
        }

    @property
    def knobs(self):
        return {name: getattr(self, name) for name in self.knob_descriptors}

    def _callbacks(self):
        found = {}
        if isinstance(self, runtime_knobs):
            found["debug"] = self.debug
        for name, value in vars(type(self)).items():
            if isinstance(value, _forwarded):
                held = getattr(self, name)
                found[name] = list(held.calls) if isinstance(held, HookChain) else held
        return found

    def copy(self):
        other = type(self)()
        vars(other).update(vars(self))
        return other

    def reset(self):
        """Lets the environment decide all knobs of the group."""
        for name in self.knob_descriptors:
            delattr(self, name)
        return self

    @contextmanager
    def scope(self):
        """Restores the group, its variables and its hooks at its end."""
        variables = {knob.key: getenv(knob.key) for knob in self.knob_descriptors.values()}
        before, callbacks = dict(vars(self)), self._callbacks()
        try:
            yield
        finally:
            vars(self).clear()
            vars(self).update(before)
            for key, text in variables.items():
                if text is None:
                    os.environ.pop(key, None)
                else:
                    os.environ[key] = text
            for name, value in callbacks.items():
                held = getattr(self, name)
                if isinstance(held, HookChain):
                    held.replace(None)
                    for call in value:
                        held.add(call)
                elif held != value:
                    setattr(self, name, value)
            follow()


class build_knobs(base_knobs):
    cc = env_opt_str("CC")
    cudacrt_path = env_opt_str("TRITON_CUDACRT_PATH")
    cudart_path = env_opt_str("TRITON_CUDART_PATH")
    impl = None

    @property
    def backend_dirs(self):
        return {path for path in (self.cudacrt_path, self.cudart_path) if path is not None}


class redis_knobs(base_knobs):
    key_format = env_str("TRITON_REDIS_KEY_FORMAT", "triton:{key}:{filename}")
    host = env_str("TRITON_REDIS_HOST", "localhost")
    port = env_int("TRITON_REDIS_PORT", 6379)


class cache_knobs(base_knobs):
    home_dir = env_str("TRITON_HOME", os.path.expanduser("~/"))
    dump_dir = env_str_callable_default("TRITON_DUMP_DIR", lambda: cache.get_triton_dir("dump"))
    override_dir = env_str_callable_default(
        "TRITON_OVERRIDE_DIR", lambda: cache.get_triton_dir("override")
    )
    dir = env_str_callable_default("TRITON_CACHE_DIR", lambda: cache.get_triton_dir("cache"))
    manager_class = env_class("TRITON_CACHE_MANAGER", "CacheManager")
    remote_manager_class = env_class("TRITON_REMOTE_CACHE_BACKEND", "RemoteCacheBackend")

    def get_triton_dir(self, dirname):
        return os.path.join(self.home_dir, ".triton", dirname)


class compilation_knobs(base_knobs):
    override = env_bool("TRITON_KERNEL_OVERRIDE")
    dump_ir = env_bool("TRITON_KERNEL_DUMP")
    dump_ir_extract_di_local_variables = env_bool("LLVM_EXTRACT_DI_LOCAL_VARIABLES")
    store_binary_only = env_bool("TRITON_STORE_BINARY_ONLY")
    always_compile = env_bool("TRITON_ALWAYS_COMPILE")
    use_ir_loc = env_opt_str("USE_IR_LOC")
    enable_asan = env_bool("TRITON_ENABLE_ASAN")
    disable_line_info = env_bool("TRITON_DISABLE_LINE_INFO")
    front_end_debugging = env_bool("TRITON_FRONT_END_DEBUGGING")
    allow_non_constexpr_globals = env_bool("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS")
    instrumentation_mode = ""
    listener = _forwarded(_ours.compilation)


class autotuning_knobs(base_knobs):
    cache = env_bool("TRITON_CACHE_AUTOTUNING")
    print = env_bool("TRITON_PRINT_AUTOTUNING")


class runtime_knobs(base_knobs):
    interpret = env_bool("TRITON_INTERPRET")
    override_arch = env_opt_str("TRITON_OVERRIDE_ARCH")
    launch_enter_hook = _forwarded(_ours.runtime)
    launch_exit_hook = _forwarded(_ours.runtime)
    jit_cache_hook = _forwarded(_ours.runtime)
    jit_post_compile_hook = _forwarded(_ours.runtime)
    #: Called by nothing: code is loaded by the runtime, without Python.
    kernel_load_start_hook = HookChain()
    kernel_load_end_hook = HookChain()
    add_stages_inspection_hook = None

    @property
    def debug(self):
        return bool(_ours.runtime.debug)

    @debug.setter
    def debug(self, value):
        # None unsets the variable, as it was before.
        _ours.runtime.debug = True if value else None


class language_knobs(base_knobs):
    fp32_default = env_opt_str("TRITON_F32_DEFAULT")
    default_fp_fusion = env_bool("TRITON_DEFAULT_FP_FUSION", True)


class nvidia_knobs(base_knobs):
    cuobjdump = env_nvidia_tool("cuobjdump")
    nvdisasm = env_nvidia_tool("nvdisasm")
    ptxas = env_nvidia_tool("ptxas")
    ptxas_blackwell = env_nvidia_tool("ptxas-blackwell")
    dump_nvptx = env_bool("NVPTX_ENABLE_DUMP")
    disable_ptxas_opt = env_bool("DISABLE_PTXAS_OPT")
    ptxas_options = env_opt_str("PTXAS_OPTIONS")
    mock_ptx_version = env_opt_str("TRITON_MOCK_PTX_VERSION")
    dump_ptxas_log = env_bool("TRITON_DUMP_PTXAS_LOG")
    libdevice_path = env_opt_str("TRITON_LIBDEVICE_PATH")
    libcuda_path = env_opt_str("TRITON_LIBCUDA_PATH")


class amd_knobs(base_knobs):
    use_buffer_ops = env_bool("AMDGCN_USE_BUFFER_OPS", True)
    use_buffer_atomics = env_bool("AMDGCN_USE_BUFFER_ATOMICS", True)
    buffer_ops_analyze_small_tensor_range = env_bool("AMDGCN_ANALYZE_SMALL_TENSOR_RANGE")
    dump_amdgcn = env_bool("AMDGCN_ENABLE_DUMP")
    libhip_path = env_opt_str("TRITON_LIBHIP_PATH")
    use_block_pingpong = env_opt_bool("TRITON_HIP_USE_BLOCK_PINGPONG")
    use_in_thread_transpose = env_opt_bool("TRITON_HIP_USE_IN_THREAD_TRANSPOSE")
    use_async_copy = env_bool("TRITON_HIP_USE_ASYNC_COPY")
    scalarize_packed_fops = env_bool("AMDGCN_SCALARIZE_PACKED_FOPS")


class proton_knobs(base_knobs):
    disable = env_bool("TRITON_PROTON_DISABLE")
    cupti_lib_dir = env_str("TRITON_CUPTI_LIB_PATH", "")
    enable_nvtx = env_bool("TRITON_ENABLE_NVTX", True)


build = build_knobs()
redis = redis_knobs()
cache = cache_knobs()
compilation = compilation_knobs()
autotuning = autotuning_knobs()
runtime = runtime_knobs()
language = language_knobs()
nvidia = nvidia_knobs()
amd = amd_knobs()
proton = proton_knobs()


def _cache_folder():
    if compilation.always_compile:
        return ""
    is_chosen = (
        "dir" in vars(cache)
        or "home_dir" in vars(cache)
        or getenv("TRITON_CACHE_DIR")
        or getenv("TRITON_HOME")
    )
    return os.path.join(cache.dir, "sectile") if is_chosen and cache.dir else None


def _dumps():
    return f"all:{cache.dump_dir}" if compilation.dump_ir else None


def _of(group, name, variable):
    def read():
        group_now = globals()[group]
        if name not in vars(group_now) and getenv(variable) is None:
            return None
        value = getattr(group_now, name)
        return ("1" if value else "0") if isinstance(value, bool) else value

    return read


def _ptxas():
    value = vars(nvidia).get("ptxas", getenv("TRITON_PTXAS_PATH"))
    return value if isinstance(value, str) and os.path.exists(value) else None


#: Sectile's variable -> what Triton's say it is; None: they say nothing, and what it was before holds.
_FOLLOWED = {
    "SECTILE_CACHE_DIR": _cache_folder,
    "SECTILE_DUMP": _dumps,
    "SECTILE_PTXAS": _ptxas,
    "SECTILE_DEFAULT_DOT_INPUT_PRECISION": lambda: (language.fp32_default or "").lower() or None,
    "SECTILE_PRINT_AUTOTUNING": _of("autotuning", "print", "TRITON_PRINT_AUTOTUNING"),
    "SECTILE_CACHE_AUTOTUNING": _of("autotuning", "cache", "TRITON_CACHE_AUTOTUNING"),
}
_before = {variable: getenv(variable) for variable in _FOLLOWED}


def follow():
    """Sets Sectile's variables by Triton's as they are now; called when a knob is set, and by `compile`."""
    if "proton" not in globals():
        return  # this module is being imported
    is_changed = False
    for variable, read in _FOLLOWED.items():
        text = read()
        text = _before[variable] if text is None else text
        if getenv(variable) != text:
            is_changed = True
            if text is None:
                os.environ.pop(variable, None)
            else:
                os.environ[variable] = text
    if is_changed:
        _ours.refresh()


def refresh_knobs():
    """Reads again what is read once: TRITON_DEBUG."""
    if runtime.debug != getenv_bool("TRITON_DEBUG"):
        runtime.debug = getenv_bool("TRITON_DEBUG")
    compilation.instrumentation_mode = getenv("TRITON_INSTRUMENTATION_MODE", "")


if getenv("TRITON_DEBUG") is not None:
    refresh_knobs()
follow()

__getattr__ = missing(__name__)
