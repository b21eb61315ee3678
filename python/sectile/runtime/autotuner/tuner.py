"""`autotune`: what a launch of a tuned kernel goes through.

launch ─► key ─► known? ─yes─► launch with that configuration          a few microseconds
                   │no
                 agree with other ranks (agreement.py) ─► on disk? (record.py) ─► Session: measure
"""

from __future__ import annotations

from contextlib import contextmanager

from ... import _native, knobs
from ...errors import (
    ArgumentError,
    CompilationError,
    CompileTimeAssertionFailure,
    OutOfResources,
    TuningError,
    TuningWarning,
)
from ..jit import KernelInterface
from . import identity
from .config import Config
from .locks import process_lock
from .space import Space

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ..._native import BoundKernel, Grid
    from .report import TuningReport
    from .runner import Runner

_default_store: Any = None


def set_store(store: Any) -> None:
    """The store through which all ranks agree, for every tuner that was given none.

    Args:
        store: has ``set``, ``get`` and ``add``, as those of torch.distributed; or a function that
            gives it, called at the first launch; None for no store.
    """
    global _default_store
    _default_store = store


def _check_names(what: str, names: list[str], arg_names: list[str]) -> None:
    unknown = [name for name in names if name not in arg_names]
    if unknown:
        from ..._suggest import did_you_mean_or_list

        text = (
            f"autotune: {what} names {unknown[0]!r}, which is no parameter of the kernel"
            f"{did_you_mean_or_list(unknown[0], arg_names)}"
        )
        if what != "key":
            raise ValueError(text)
        # Libraries have keys that a parameter was renamed under, and Triton ignores them.
        from warnings import warn

        warn(text, TuningWarning, stacklevel=4)


class Autotuner(KernelInterface):
    """A kernel with several configurations; made by `autotune`.

    Attributes:
        configs: the candidates.
        cache: the best `Config` of each key met so far. A key is the values of the parameters named,
            the dtypes of all arrays, and the device.
        best_config: that of the last launch.
        configs_timings: milliseconds (median, 20 % and 80 % quantile) of each candidate, from the last
            tuning, done here or read from disk; inf for those that cannot run.
        bench_time: seconds the last tuning took in this process.

    Subclasses that search in their own way override `run` and have, as Triton's have, `nargs` (arguments
    by position, which they set), `prune_configs`, `_bench`, `pre_hook` and `post_hook`, `keys`, `fn` and
    `base_fn`. What they put into `cache` may have a key without the device.
    """

    def __init__(
        self,
        fn: Any,
        arg_names: list[str],
        configs: list[Config] | Space,
        key: list[str],
        reset_to_zero: list[str] | None = None,
        restore_value: list[str] | None = None,
        pre_hook: Callable | None = None,
        post_hook: Callable | None = None,
        prune_configs_by: dict[str, Any] | None = None,
        warmup: float | None = None,
        rep: float | None = None,
        use_cuda_graph: bool = False,
        do_bench: Callable | None = None,
        cache_results: bool | None = None,
        budget: float | None = None,
        cost_model: Callable | None = None,
        store: Any = None,
        verify: bool | float | dict[str, float | None] = True,
    ) -> None:
        self.fn = fn
        self.base_fn = fn
        while not getattr(self.base_fn, "__sectile_jit__", False) and hasattr(self.base_fn, "fn"):
            self.base_fn = self.base_fn.fn
        self.arg_names = list(arg_names)
        self.configs = (configs.configs() if isinstance(configs, Space) else list(configs)) or [
            Config({})
        ]
        for config in self.configs:
            if not isinstance(config, Config):
                raise TypeError(
                    f"autotune: expected a list of configurations, found {config!r} in it\n"
                    f'  help: st.Config({{"BLOCK": 256}}, num_warps=4), or a space, st.Space(BLOCK=[256, 512])'
                )
        if isinstance(key, str):
            raise TypeError(f"autotune: key is a list of parameters: key=[{key!r}]")
        self.keys = list(key)
        self.reset_to_zero = list(reset_to_zero or ())
        self.restore_value = list(restore_value or ())
        _check_names("key", self.keys, self.arg_names)
        _check_names("reset_to_zero", self.reset_to_zero, self.arg_names)
        _check_names("restore_value", self.restore_value, self.arg_names)
        self.user_pre_hook = pre_hook
        self.user_post_hook = post_hook
        self.user_defined_pre_hook = pre_hook is not None
        self.user_defined_post_hook = post_hook is not None
        self.pre_hook = pre_hook or self._zero
        self.post_hook = post_hook or (lambda arguments, exception=None: None)
        self.nargs: dict[str, Any] | None = None
        self.__name__ = self.base_fn.__name__
        prune = dict(prune_configs_by or {})
        self.early_config_prune = prune.pop("early_config_prune", None)
        self.perf_model = prune.pop("perf_model", None)
        self.configs_top_k = prune.pop("top_k", 1.0)
        if prune:
            raise ValueError(
                f"autotune: prune_configs_by has {next(iter(prune))!r}; known are "
                f"early_config_prune, perf_model and top_k"
            )
        self.num_warmups = 25.0 if warmup is None else warmup
        self.num_reps = 100.0 if rep is None else rep
        self.use_cuda_graph = use_cuda_graph
        self._do_bench = do_bench
        self.cache_results = True if cache_results is None else cache_results
        self.budget = budget
        self.cost_model = cost_model
        self.store = store
        if verify is not True and verify is not False:
            from .verification import check_option

            check_option(verify, self.arg_names)
        self.verify = verify
        self.cache: dict[tuple, Config] = {}
        self.best_config: Config | None = None
        self.configs_timings: dict[Config, list[float]] = {}
        self.bench_time = 0.0
        self._reports: dict[tuple, TuningReport] = {}
        self._devices: dict[Any, str] = {}
        # What launches like earlier ones come to: (key, configuration, what it passes).
        self._plans: dict[tuple, tuple[tuple, Config, dict[str, Any]]] = {}
        self._key_places = [
            (self.arg_names.index(name), name) for name in self.keys if name in self.arg_names
        ]

    # -- a launch ----------------------------------------------------------------------------------

    def run(self, *args: Any, grid: Grid | None, warmup: bool = False, **kwargs: Any) -> Any:
        if warmup:
            return self.warmup(*args, grid=grid, **kwargs)
        # One configuration needs no key.
        quick = self._quick_key(args, kwargs) if len(self.configs) > 1 else None
        plan = self._plans.get(quick) if quick is not None else None
        if plan is not None and self.cache.get(plan[0]) is plan[1]:
            self.best_config = plan[1]
            return self.fn[grid](*args, **kwargs, **plan[2])
        config = self._config(args, grid, kwargs)
        settings = config.all_kwargs()
        if quick is not None and config.pre_hook is None:
            if len(self._plans) >= 4096:  # sizes that never come back
                self._plans.clear()
            key = self._key(self._arguments(args, kwargs), kwargs)
            self._plans[quick] = (key, config, settings)
        return self.fn.run(*args, grid=grid, warmup=False, **kwargs, **settings)

    def _check_free(self, arguments: dict[str, Any], kwargs: dict[str, Any]) -> None:
        """Raises an error where a launch passes what the configurations set."""
        chosen = {name for config in self.configs for name in config.all_kwargs()}
        if taken := [name for name in {**arguments, **kwargs} if name in chosen]:
            names = ", ".join(taken)
            raise ArgumentError(
                f"{self.__name__}: {names} {'is' if len(taken) == 1 else 'are'} chosen by autotune; leave "
                f"{'it' if len(taken) == 1 else 'them'} out of the launch\n"
                f"  help: to choose by yourself, take {'it' if len(taken) == 1 else 'them'} out of every "
                f"Config, or launch the kernel below: {self.__name__}.fn[grid](...)"
            )

    def _quick_key(self, args: tuple, kwargs: dict[str, Any]) -> tuple | None:
        """Equal for launches that have equal keys, made of what is quick to ask for; None when nothing
        is. The parts are what `_key` makes its texts of: values, dtypes, and where the first array is."""
        count = len(args)
        parts = [count, *kwargs]
        for index, name in self._key_places:
            parts.append(args[index] if index < count else kwargs.get(name))
        is_first = True
        values = list(args) if not kwargs else [*args, *kwargs.values()]
        for value in values:
            dtype = getattr(value, "dtype", None)
            if dtype is None:
                if isinstance(value, (tuple, list)):
                    values.extend(value)  # looked at last: so it is in every launch like this
                    parts.append(len(value))
                    if len(values) > 4096:  # a list may hold itself
                        return None
                continue
            parts.append(dtype)
            if is_first:
                is_first = False
                # A TensorWrapper has none; the array below it has one.
                base = getattr(value, "base", None)
                place = getattr(value, "device", None) or getattr(base, "device", None)
                array = value if base is None else base
                if place is None and hasattr(array, "__cuda_array_interface__"):
                    place = identity.place_of({"": array})
                parts.append(place)
        if kwargs:
            parts.append(kwargs.get("target"))
        quick = tuple(parts)
        try:
            hash(quick)
        except TypeError:
            return None
        return quick

    def bind(self, *args: Any, grid: Grid, **kwargs: Any) -> BoundKernel:
        """As `JITFunction.bind`, with the configuration for these arguments, which is tuned if need be.
        Its `pre_hook` is called here, and not when the bound kernel runs."""
        config = self._config(args, grid, kwargs)
        return self.fn.bind(*args, grid=grid, **kwargs, **config.all_kwargs())

    def _config(self, args: tuple, grid, kwargs: dict[str, Any]) -> Config:
        arguments = self._arguments(args, kwargs)
        self._check_free(arguments, kwargs)
        if len(self.configs) == 1:
            config = self.configs[0]
        else:
            key = self._key(arguments, kwargs)
            known = self.cache.get(key)
            if known is None:
                known = self.cache.get(key[:-1])  # put there by a subclass
            if known is None and self._runs_nothing(args, grid, kwargs, arguments):
                return self.configs[0]
            config = known or self._decide(key, arguments, args, grid, kwargs)
        self.best_config = config
        if config.pre_hook:
            config.pre_hook({**arguments, **kwargs, **config.all_kwargs()})
        return config

    def _runs_nothing(self, args: tuple, grid, kwargs: dict, arguments: dict) -> bool:
        """Whether the grid has no program with any candidate: nothing can be compared or measured then."""
        from .runner import Runner

        runner = Runner(self, args, grid, kwargs, arguments)
        return all(runner.program_count(config) == 0 for config in self.configs)

    def warmup(self, *args: Any, grid: Grid | None = None, **kwargs: Any) -> Any:
        """Compiles every candidate for these arguments, in parallel, and runs none.

        Returns:
            The compiled kernels, in the order of the candidates that `prune_configs_by` leaves;
            candidates that cannot be compiled are left out.

        Raises:
            CompilationError, OutOfResources: none can.
        """
        from concurrent.futures import ThreadPoolExecutor

        from .runner import Runner

        arguments = self._arguments(args, kwargs)
        self._check_free(arguments, kwargs)
        runner = Runner(self, args, grid, kwargs, arguments)
        configs = self._remaining(args, arguments, kwargs)
        threads = max(1, knobs.autotuning.threads or _native.hardware_threads())
        with ThreadPoolExecutor(min(threads, len(configs)), "sectile-tune") as pool:
            waiting = [pool.submit(runner.compile, config) for config in configs]
        errors = [future.exception() for future in waiting]
        made = [future.result() for future, error in zip(waiting, errors) if error is None]
        for error in errors:
            is_expected = isinstance(error, (CompilationError, OutOfResources))
            if error is not None and (not made or not is_expected):
                raise error
        return made

    def _arguments(self, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The kernel's parameters that were passed, in the order the kernel has them."""
        given = dict(zip(self.arg_names, args))
        if kwargs:
            given.update(kwargs)
            return {name: given[name] for name in self.arg_names if name in given}
        return given

    def _key(self, arguments: dict[str, Any], kwargs: dict[str, Any]) -> tuple:
        key = [arguments[name] for name in self.keys if name in arguments]
        for value in identity.leaves(arguments.values()):
            dtype = getattr(value, "dtype", None)
            if dtype is not None:
                key.append(str(dtype))
        place = identity.place_of(arguments, kwargs.get("target"))
        text = self._devices.get(place)
        if text is None:
            text = self._devices[place] = identity.device_at(place).text
        key.append(text)
        return tuple(key)

    def _remaining(
        self, args: tuple, arguments: dict[str, Any], meta: dict[str, Any]
    ) -> list[Config]:
        """The candidates for a launch, by a subclass's `prune_configs` where there is one."""
        if not self._has_own("prune_configs"):
            return self._prune(args, arguments, meta)
        with self._naming(args):
            return list(self.prune_configs(meta))

    def _has_own(self, name: str) -> bool:
        """Whether a subclass, a program or this object has another method of that name than `Autotuner`'s."""
        return getattr(getattr(self, name), "__func__", None) is not Autotuner._OWN[name]

    @contextmanager
    def _naming(self, args: tuple) -> Iterator[None]:
        """Sets `nargs`, the arguments by name, which methods of subclasses read, while they run."""
        before, self.nargs = self.nargs, dict(zip(self.arg_names, args))
        try:
            yield
        finally:
            self.nargs = before

    def _prune(self, args: tuple, arguments: dict[str, Any], meta: dict[str, Any]) -> list[Config]:
        configs = self.configs
        if self.early_config_prune:
            configs = list(
                self.early_config_prune(configs, dict(zip(self.arg_names, args)), **meta)
            )
            if not configs:
                raise TuningError(
                    f"{self.__name__}: early_config_prune left no configuration\n"
                    f"  help: return at least one of the configurations it is given"
                )
        if self.perf_model:
            top = self.configs_top_k
            if isinstance(top, float) and top <= 1.0:
                top = max(1, int(len(configs) * top))
            elif not isinstance(top, int) or top < 1:
                raise TypeError(
                    f"{self.__name__}: top_k is {top!r}, not a number of configurations or a share "
                    f"of them up to 1.0"
                )
            if top < len(configs):
                estimate = {
                    c: self.perf_model(**{**arguments, **meta, **c.all_kwargs()}) for c in configs
                }
                configs = sorted(configs, key=estimate.__getitem__)[:top]
        return configs

    # -- for subclasses ----------------------------------------------------------------------------

    @property
    def _measures_by_itself(self) -> bool:
        """Whether candidates are timed by the user's `do_bench`, or by a `_bench` that is not this class's own."""
        return self._do_bench is not None or self._has_own("_bench")

    def _measure_by_itself(self, runner: Runner, config: Config) -> Any:
        """Milliseconds of one candidate, or a list of them: median, 20 % and 80 % quantile."""
        if self._has_own("_bench"):
            with self._naming(runner.args):
                return self._bench(
                    *runner.args, config=config, grid=runner.grid, warmup=False, **runner.kwargs
                )
        assert self._do_bench is not None
        return self._do_bench(lambda: runner.once(config), quantiles=(0.5, 0.2, 0.8))

    def prune_configs(self, kwargs: dict[str, Any]) -> list[Config]:
        """The candidates that `prune_configs_by` leaves for `nargs` and these arguments by name."""
        nargs = self.nargs or {}
        return self._prune(tuple(nargs.values()), {**nargs, **kwargs}, kwargs)

    def _bench(self, *args, config: Config, **kwargs) -> list[float]:
        """Milliseconds (median, 20 % and 80 % quantile) of one candidate by itself; inf where it cannot
        run. Nothing is compared with other candidates. `kwargs` has the grid, as those of `run`."""
        from .runner import Runner

        grid = kwargs.pop("grid")
        kwargs.pop("warmup", None)
        runner = Runner(self, args, grid, kwargs, self._arguments(args, kwargs))
        runner.save()
        bench: Any = self._do_bench
        if bench is None:
            from functools import partial

            from ...testing import do_bench

            bench = partial(do_bench, warmup=self.num_warmups, rep=self.num_reps)
        try:
            return list(bench(lambda: runner.once(config), quantiles=(0.5, 0.2, 0.8)))
        except (OutOfResources, CompileTimeAssertionFailure):
            return [float("inf")] * 3

    #: What `_has_own` compares with: other methods of a subclass, a program or an object are called.
    _OWN = {"prune_configs": prune_configs, "_bench": _bench}

    def _zero(self, arguments: dict[str, Any], reset_only: bool = False) -> None:
        from .arrays import set_zero

        for name in self.reset_to_zero:
            set_zero(arguments.get(name))

    # -- a choice ----------------------------------------------------------------------------------

    def _decide(self, key: tuple, arguments, args, grid, kwargs) -> Config:
        from .choice import Choice

        with process_lock():
            known = self.cache.get(key)
            if known is not None:  # another thread was at it
                return known
            candidates = self._remaining(args, arguments, kwargs)
            if len(candidates) == 1:
                self.cache[key] = candidates[0]
                return candidates[0]
            choice = Choice(self, key, candidates, arguments, args, grid, kwargs)
            config = choice.make()
            self.cache[key] = config
        report = choice.report
        self._reports[key] = report
        self.configs_timings = report.timings()
        if choice.is_tuned:
            self.bench_time = report.seconds
        listener = knobs.autotuning.listener
        if listener is not None:
            listener(
                fn=self.base_fn, key=key, best_config=config, configs_timings=self.configs_timings,
                duration=report.seconds if choice.is_tuned else None, cache_hit=not choice.is_tuned,
            )  # fmt: skip
        if knobs.autotuning.print and choice.is_tuned:
            print(f"autotuning {self.__name__} for {key}: {config} after {report.seconds:.2f} s")
        return config

    def tuning_report(self, key: tuple | None = None) -> TuningReport:
        """What is known of the candidates: ``print(kernel.tuning_report())``, ``.save("plot.png")``.

        Args:
            key: one of `cache`; None: that of the latest choice.

        Raises:
            TuningError: no choice was made in this process, or none for `key`.
        """
        if not self._reports or (key is not None and key not in self._reports):
            raise TuningError(
                f"{self.__name__}: nothing was tuned in this process"
                + (f" for {key}" if key is not None and self._reports else "")
                + "\n  help: launch the kernel first; a kernel with one configuration is not tuned"
            )
        return self._reports[key if key is not None else next(reversed(self._reports))]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)


def autotune(
    configs: list[Config] | Space,
    key: list[str],
    prune_configs_by: dict[str, Any] | None = None,
    reset_to_zero: list[str] | None = None,
    restore_value: list[str] | None = None,
    pre_hook: Callable | None = None,
    post_hook: Callable | None = None,
    warmup: float | None = None,
    rep: float | None = None,
    use_cuda_graph: bool = False,
    do_bench: Callable | None = None,
    cache_results: bool | None = None,
    budget: float | None = None,
    cost_model: Callable | None = None,
    store: Any = None,
    verify: bool | float | dict[str, float | None] = True,
) -> Callable[[KernelInterface], Autotuner]:
    """Decorator above `jit`: at the first launch with new values of `key`, runs the configurations on the
    real arguments, leaves out those whose results differ, measures the others and keeps the fastest, on disk,
    too.

    Args:
        configs: what to choose from: a list of `Config`, or a `Space`.
        key: parameters whose values call for tuning anew; so do the dtypes of all arrays and the device.
        prune_configs_by: ``early_config_prune(configs, named_args, **kwargs)`` returns those worth
            measuring: `named_args` has the arguments passed by position, `kwargs` those passed by name;
            ``perf_model(**arguments)`` estimates times, of which the best ``top_k`` (a number, or a share of all)
            are measured.
        reset_to_zero: arrays to zero before each run, and once after the last.
        restore_value: arrays that hold after the tuning, bit for bit, what they held before.
        pre_hook: ``pre_hook(arguments)`` before each run while tuning, and
            ``pre_hook(arguments, reset_only=True)`` after the last.
        post_hook: ``post_hook(arguments, exception=None)`` after each run while tuning.
        warmup: milliseconds of runs before the first that counts, of all candidates together; 25.
        rep: milliseconds of runs for each candidate at most, and at least three runs; 100.
        use_cuda_graph: accepted. What a launch costs the host is not in a GPU's times anyway.
        do_bench: measures in place of all that: ``do_bench(call, quantiles)`` returns milliseconds.
        cache_results: False: remember the choice in this process only.
        budget: seconds a tuning may take; the rest of the candidates is then left out, the least
            likely ones by the cost model. Default: `SECTILE_TUNING_BUDGET`, else none.
        cost_model: ``cost_model(config, programs, resources, device)`` orders the candidates in place
            of `sectile.runtime.autotuner.cost_model`; ``programs`` and ``resources`` as there.
        store: see `set_store`; for this kernel.
        verify: True: every candidate runs once with its asserts on, and once to compare what it leaves in the
            arrays that the kernel writes. Floats may differ as other orders of adding let them, by dtype; NaN
            equals NaN. What differs is left out with a `TuningWarning`; the rule of which is right, and what it
            cannot see, is in `sectile.runtime.autotuner.verification`. Where the rule does not decide, the choice is
            made with a warning and not kept on disk. A number is the relative tolerance of all arrays, 0 for
            equal bits; ``{"out": 1e-2, "count": None}`` compares these arrays alone, None being the tolerance of
            the dtype: for kernels with scratch arrays, atomics or a random order. False: nothing is
            compared. It takes a copy of each array that is written, and one of the results.

    `SECTILE_AUTOTUNE` decides what happens where nothing is known: ``on`` measures; ``off`` takes the first
    candidate that can be compiled; ``frozen`` raises; ``force`` measures also where something is known.

    Raises (at a launch):
        TuningError: it would have to tune, and the stream is being captured into a CUDA graph, or the
            mode is frozen; or the process that tunes for all ranks failed.
        ArgumentError: the launch passes what the configurations set; or its grid function asks for what is
            not there (a `GridKeyError`).
        OutOfResources: no candidate can run.
        the error of a candidate, when all fail; one that fails alone, or leaves other results, is a
            `TuningWarning`.

    Raises (here):
        ValueError: `reset_to_zero`, `restore_value` or `verify` name what is no parameter; if `key` does,
            that is a `TuningWarning`.
        TypeError: `verify` is none of the above.

    Example:
        @st.autotune(st.Space(BLOCK=[256, 1024]), key=["n"])
        @st.jit
        def double(out, x, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(out + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)

        x = np.arange(5000, dtype=np.float32)
        out = np.empty_like(x)
        double[lambda META: (st.cdiv(5000, META["BLOCK"]),)](out, x, 5000)
        print(np.array_equal(out, 2 * x), double.best_config.kwargs["BLOCK"] in (256, 1024))  # True True
    """

    def decorate(fn: Any) -> Autotuner:
        if not (isinstance(fn, KernelInterface) and hasattr(fn, "arg_names")):
            raise TypeError(
                f"autotune: expected a kernel, got {type(fn).__name__} {getattr(fn, '__name__', '')!r}\n"
                f"  help: put @st.jit below @st.autotune(...)"
            )
        return Autotuner(
            fn, fn.arg_names, configs, key, reset_to_zero, restore_value, pre_hook, post_hook,
            prune_configs_by, warmup, rep, use_cuda_graph, do_bench, cache_results, budget, cost_model,
            store, verify,
        )  # fmt: skip

    return decorate
