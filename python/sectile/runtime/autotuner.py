"""Choosing among configurations of a kernel by measuring them, and deriving constants from arguments."""

from __future__ import annotations

import math
import os
import time

from .. import _native
from ..errors import CompilationError, OutOfResources
from .jit import KernelInterface

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Config:
    """One configuration: values of the kernel's constants and launch options.

    Args:
        kwargs: values of ``tl.constexpr`` parameters, by name.
        num_warps, num_stages, num_ctas, maxnreg: launch options.
        pre_hook: called with the dictionary of arguments before each launch with this configuration.
        ir_override: accepted and ignored.
    """

    def __init__(
        self,
        kwargs: dict[str, Any],
        num_warps: int = 4,
        num_stages: int = 3,
        num_ctas: int = 1,
        maxnreg: int | None = None,
        pre_hook: Callable | None = None,
        ir_override: str | None = None,
    ) -> None:
        self.kwargs = dict(kwargs)
        self.num_warps = num_warps
        self.num_stages = num_stages
        self.num_ctas = num_ctas
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = ir_override

    def all_kwargs(self) -> dict[str, Any]:
        """What a launch with this configuration passes besides the arguments."""
        options = {
            "num_warps": self.num_warps,
            "num_stages": self.num_stages,
            "num_ctas": self.num_ctas,
            "maxnreg": self.maxnreg,
        }
        return {
            **self.kwargs,
            **{name: value for name, value in options.items() if value is not None},
        }

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Config)
            and self.all_kwargs() == other.all_kwargs()
            and self.pre_hook is other.pre_hook
        )

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return ", ".join(f"{name}: {value}" for name, value in self.all_kwargs().items())

    def __repr__(self) -> str:
        return f"<Config {self}>"


def _copy(array):
    return array.clone() if hasattr(array, "clone") else array.copy()


def _assign(array, source) -> None:
    if hasattr(array, "copy_"):
        array.copy_(source)
    else:
        array[...] = source


def _zero(array) -> None:
    if hasattr(array, "zero_"):
        array.zero_()
    else:
        array[...] = 0


class Autotuner(KernelInterface):
    """A kernel with several configurations; made by `autotune`.

    Attributes:
        cache: the best `Config` of each key met so far.
        best_config: that of the last launch.
        configs_timings: milliseconds (median, 20 % and 80 % quantile) of each, from the last tuning.
        bench_time: seconds the last tuning took.
    """

    def __init__(
        self,
        fn,
        arg_names: list[str],
        configs: list[Config],
        key: list[str],
        reset_to_zero: list[str] | None = None,
        restore_value: list[str] | None = None,
        pre_hook: Callable | None = None,
        post_hook: Callable | None = None,
        prune_configs_by: dict[str, Any] | None = None,
        warmup: int | None = None,
        rep: int | None = None,
        do_bench: Callable | None = None,
        cache_results: bool = False,
    ) -> None:
        self.fn = fn
        self.base_fn = fn
        while isinstance(self.base_fn, (Autotuner, Heuristics)):
            self.base_fn = self.base_fn.fn
        self.arg_names = list(arg_names)
        self.configs = list(configs) or [Config({})]
        self.keys = list(key)
        unknown = [name for name in self.keys if name not in self.arg_names]
        if unknown:
            from .._suggest import did_you_mean

            raise ValueError(
                f"autotune: key names {unknown[0]!r}, which is no parameter of the kernel"
                f"{did_you_mean(unknown[0], self.arg_names)}"
            )
        self.reset_to_zero = list(reset_to_zero or ())
        self.restore_value = list(restore_value or ())
        self.user_pre_hook = pre_hook
        self.user_post_hook = post_hook
        prune = prune_configs_by or {}
        self.early_config_prune = prune.get("early_config_prune")
        self.perf_model = prune.get("perf_model")
        self.configs_top_k = prune.get("top_k")
        self.num_warmups = 25 if warmup is None else warmup
        self.num_reps = 100 if rep is None else rep
        self._do_bench = do_bench
        self.cache_results = cache_results or os.environ.get("SECTILE_CACHE_AUTOTUNING", "0") == "1"
        self.cache: dict[tuple, Config] = {}
        self.best_config: Config | None = None
        self.configs_timings: dict[Config, list[float]] = {}
        self.bench_time = 0.0

    def _bench(self, arguments: dict[str, Any], args, grid, config: Config, meta) -> list[float]:
        clash = sorted(set(meta) & set(config.kwargs))
        if clash:
            raise ValueError(
                f"{self.__name__}: {', '.join(clash)} is both passed and set by the configurations\n"
                f"  help: leave it to the autotuner, or take it out of the Config"
            )
        settings = {**meta, **config.all_kwargs()}
        everything = {**arguments, **settings}
        saved = {name: _copy(everything[name]) for name in self.restore_value}

        def call() -> None:
            if config.pre_hook:
                config.pre_hook(everything)
            for name in self.reset_to_zero:
                _zero(everything[name])
            if self.user_pre_hook:
                self.user_pre_hook(everything, reset_only=False)
            error = None
            try:
                self.fn.run(*args, grid=grid, **settings)
            except Exception as raised:
                error = raised
                raise
            finally:
                for name, value in saved.items():
                    _assign(everything[name], value)
                if self.user_post_hook:
                    self.user_post_hook(everything, exception=error)

        try:
            if self._do_bench is not None:
                result = self._do_bench(call, quantiles=(0.5, 0.2, 0.8))
            else:
                from ..testing import do_bench

                result = do_bench(
                    call, warmup=self.num_warmups, rep=self.num_reps, quantiles=(0.5, 0.2, 0.8)
                )
            return list(result) if isinstance(result, (list, tuple)) else [result]
        except OutOfResources:
            return [math.inf] * 3
        except CompilationError as error:
            # A configuration the kernel itself rules out is no candidate; any other error is a bug.
            if not error.error_message.startswith("static assertion failed"):
                raise
            return [math.inf] * 3

    def _prune(self, arguments: dict[str, Any], meta) -> list[Config]:
        configs = self.configs
        if self.early_config_prune:
            configs = list(self.early_config_prune(configs, arguments, **meta))
            if not configs:
                raise ValueError(
                    f"{self.__name__}: early_config_prune left no configuration\n"
                    f"  help: return at least one of the configurations it is given"
                )
        if self.perf_model and self.configs_top_k is not None:
            top = self.configs_top_k
            top = int(len(configs) * top) if isinstance(top, float) and top <= 1.0 else int(top)
            if top < len(configs):
                estimate = {
                    c: self.perf_model(**{**arguments, **meta, **c.all_kwargs()}) for c in configs
                }
                configs = sorted(configs, key=estimate.__getitem__)[: max(1, top)]
        return configs

    def _key(self, arguments: dict[str, Any]) -> tuple:
        key = [arguments[name] for name in self.keys if name in arguments]
        key += [str(value.dtype) for value in arguments.values() if hasattr(value, "dtype")]
        return tuple(key)

    def run(self, *args, grid, warmup: bool = False, **kwargs):
        arguments = dict(zip(self.arg_names, args))
        arguments.update((name, value) for name, value in kwargs.items() if name in self.arg_names)
        if len(self.configs) == 1:
            config = self.configs[0]
        else:
            key = self._key(arguments)
            known = self.cache.get(key)
            config = known or self._stored(key) or self._tune(key, arguments, args, grid, kwargs)
            self.cache[key] = config
        self.best_config = config
        if config.pre_hook and not warmup:
            config.pre_hook({**arguments, **kwargs, **config.all_kwargs()})
        return self.fn.run(*args, grid=grid, warmup=warmup, **kwargs, **config.all_kwargs())

    def _tune(self, key, arguments, args, grid, kwargs) -> Config:
        started = time.perf_counter()
        candidates = self._prune(arguments, kwargs)
        timings = {c: self._bench(arguments, args, grid, c, kwargs) for c in candidates}
        self.bench_time = time.perf_counter() - started
        best = min(timings, key=lambda c: timings[c][0])
        if timings[best][0] == math.inf:
            raise OutOfResources(
                f"{self.__name__}: none of the {len(timings)} configurations can run"
            )
        for name in self.reset_to_zero:
            _zero({**arguments, **kwargs}[name])
        self.configs_timings = timings
        if os.environ.get("SECTILE_PRINT_AUTOTUNING", "0") == "1":
            print(f"autotuning {self.__name__} for {key}: {best} after {self.bench_time:.2f} s")
        self._store(key, best)
        return best

    def _store_path(self, key: tuple) -> str | None:
        from .control import build_id, statistics

        folder = statistics()["cache_directory"]
        if not folder or not self.cache_results:
            return None
        text = repr((self.base_fn.cache_key, build_id(), [str(c) for c in self.configs], key))
        name = f"{self.__name__}-{_native.digest([text])[:24]}.autotune.json"
        return os.path.join(folder, name)

    def _stored(self, key: tuple) -> Config | None:
        path = self._store_path(key)
        if path is None:
            return None
        import json

        try:
            with open(path, encoding="utf-8") as file:
                chosen = json.load(file)["config"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return next((config for config in self.configs if str(config) == chosen), None)

    def _store(self, key: tuple, config: Config) -> None:
        path = self._store_path(key)
        if path is None:
            return
        import json

        temporary = f"{path}.{os.getpid()}.tmp"
        try:
            with open(temporary, "w", encoding="utf-8") as file:
                json.dump({"config": str(config), "key": [str(part) for part in key]}, file)
            os.replace(temporary, path)
        except OSError:  # the cache never fails a launch
            pass

    @property
    def __name__(self) -> str:
        return self.base_fn.__name__

    def __call__(self, *args, **kwargs):
        return self.fn(*args, **kwargs)


def autotune(
    configs: list[Config],
    key: list[str],
    prune_configs_by: dict[str, Any] | None = None,
    reset_to_zero: list[str] | None = None,
    restore_value: list[str] | None = None,
    pre_hook: Callable | None = None,
    post_hook: Callable | None = None,
    warmup: int | None = None,
    rep: int | None = None,
    use_cuda_graph: bool = False,
    do_bench: Callable | None = None,
    cache_results: bool = False,
):
    """Decorator above `jit`: at the first launch with new values of `key`, measures every configuration
    on the real arguments and keeps the fastest.

    Args:
        configs: what to choose from.
        key: parameters whose values call for tuning anew; so do the dtypes of all arrays.
        prune_configs_by: ``early_config_prune(configs, arguments, **meta)`` returns those worth
            measuring; ``perf_model(**arguments)`` estimates times, of which the best ``top_k`` (a number,
            or a share of all) are measured.
        reset_to_zero: arrays to zero before each run.
        restore_value: arrays to restore after each run while tuning.
        pre_hook, post_hook: called around each run while tuning.
        warmup, rep: milliseconds given to `sectile.testing.do_bench`.
        use_cuda_graph: accepted and ignored on the CPU.
        do_bench: replaces it: ``do_bench(call, quantiles)`` returns milliseconds.
        cache_results: remember the choice on disk, beside the compiled kernels.
    """

    def decorate(fn):
        return Autotuner(
            fn, fn.arg_names, configs, key, reset_to_zero, restore_value, pre_hook, post_hook,
            prune_configs_by, warmup, rep, do_bench, cache_results,
        )  # fmt: skip

    return decorate


class Heuristics(KernelInterface):
    """A kernel some of whose constants follow from its arguments; made by `heuristics`."""

    def __init__(self, fn, arg_names: list[str], values: dict[str, Callable]) -> None:
        self.fn = fn
        self.arg_names = list(arg_names)
        self.values = dict(values)

    def run(self, *args, grid, warmup: bool = False, **kwargs):
        arguments = {**dict(zip(self.arg_names, args)), **kwargs}
        for name, function in self.values.items():
            kwargs[name] = arguments[name] = function(arguments)
        return self.fn.run(*args, grid=grid, warmup=warmup, **kwargs)

    @property
    def __name__(self) -> str:
        return self.fn.__name__


def heuristics(values: dict[str, Callable]):
    """Decorator above `jit`: ``{"EVEN": lambda args: args["n"] % 64 == 0}`` computes constants at each
    launch from the dictionary of arguments (values computed earlier in the list included)."""

    def decorate(fn):
        return Heuristics(fn, fn.arg_names, values)

    return decorate
