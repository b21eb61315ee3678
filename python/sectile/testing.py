"""Measuring and comparing: `do_bench`, `assert_close`, `perf_report`."""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Literal, overload


def _quantile(ordered: list[float], share: float) -> float:
    """Linear interpolation between the neighbours."""
    position = share * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def _summary(times: list[float], quantiles: Sequence[float] | None, return_mode: str):
    ordered = sorted(times)
    if quantiles is not None:
        result = [_quantile(ordered, share) for share in quantiles]
        return result[0] if len(result) == 1 else result
    if return_mode == "all":
        return times
    if return_mode == "min":
        return ordered[0]
    if return_mode == "max":
        return ordered[-1]
    if return_mode == "median":
        return _quantile(ordered, 0.5)
    return sum(times) / len(times)


def _stream_in_use(before: dict, after: dict) -> tuple[int, int] | None:
    """(device, handle of the stream) of what was just run; None when that was on the CPU.

    `before` and `after` count our own launches; other work on a GPU is torch's.
    """
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_initialized():
        return cuda.current_device(), cuda.current_stream().cuda_stream
    for device, (count, stream) in after.items():
        if count != before.get(device, (0, 0))[0]:
            return device, stream
    return None


def _gpu_times(where: tuple[int, int], fn, warmup: float, rep: float, grad_to_none) -> list[float]:
    """Milliseconds of each call, by events around it."""
    from . import _native

    timer = _native.GpuTimer(*where)
    start = time.perf_counter()
    timer.mark()
    for _ in range(5):
        timer.flush()
        fn()
    timer.mark()
    timer.take()
    # By the host's clock: what `fn` does besides must not make this take for ever.
    estimate = max((time.perf_counter() - start) * 1e3 / 5, 1e-4)
    for _ in range(max(1, int(warmup / estimate))):
        fn()
    for _ in range(max(1, int(rep / estimate))):
        for tensor in grad_to_none or ():
            tensor.grad = None
        timer.flush()
        timer.mark()
        fn()
        timer.mark()
    return timer.take()


if TYPE_CHECKING:

    @overload
    def do_bench(
        fn: Callable[[], Any],
        warmup: float = 25,
        rep: float = 100,
        grad_to_none: Sequence[Any] | None = None,
        quantiles: None = None,
        return_mode: Literal["mean", "median", "min", "max"] = "mean",
    ) -> float: ...
    @overload
    def do_bench(
        fn: Callable[[], Any],
        warmup: float = 25,
        rep: float = 100,
        grad_to_none: Sequence[Any] | None = None,
        quantiles: Sequence[float] | None = None,
        return_mode: str = "mean",
    ) -> Any: ...


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """How long `fn` takes, in milliseconds.

    Args:
        fn: what to measure; it is called once beforehand, so compiling does not count.
        warmup: milliseconds to run before measuring.
        rep: milliseconds to measure for.
        grad_to_none: tensors whose ``grad`` is dropped before each call.
        quantiles: give these quantiles of the times instead.
        return_mode: ``"mean"``, ``"median"``, ``"min"``, ``"max"`` or ``"all"``.

    On a GPU (torch has started CUDA, or `fn` launches a kernel there) times are the GPU's own, by
    events on the stream in use, and the L2 cache is overwritten before each call. Else they are the
    host's, and caches are left as they are between calls: what fits into them is measured from there.

    Example:
        @st.jit
        def kernel(x):
            tl.store(x, 1)

        x = np.zeros(1, np.int32)
        milliseconds = st.testing.do_bench(lambda: kernel[(1,)](x), warmup=1, rep=5)
        print(milliseconds > 0)  # True
    """
    if return_mode not in ("mean", "median", "min", "max", "all"):
        raise ValueError(f"do_bench: return_mode is {return_mode!r}")
    from . import _native

    launches = _native.launch_counts()
    fn()
    where = _stream_in_use(launches, _native.launch_counts())
    if where is not None:
        return _summary(_gpu_times(where, fn, warmup, rep, grad_to_none), quantiles, return_mode)
    clock = time.perf_counter

    def call() -> float:
        for tensor in grad_to_none or ():
            tensor.grad = None
        start = clock()
        fn()
        return clock() - start

    estimate = max(min(call() for _ in range(3)), 1e-7)
    for _ in range(int(warmup / 1e3 / estimate)):
        fn()
    count = max(1, int(rep / 1e3 / estimate))
    return _summary([call() * 1e3 for _ in range(count)], quantiles, return_mode)


def do_bench_cudagraph(
    fn: Callable[[], Any],
    rep: float = 20,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """As `do_bench`; there are no graphs on the CPU."""
    return do_bench(
        fn, rep=rep, grad_to_none=grad_to_none, quantiles=quantiles, return_mode=return_mode
    )


def _as_numpy(value):
    import numpy as np

    if hasattr(value, "detach"):  # a torch tensor, maybe of a dtype NumPy lacks
        value = value.detach().cpu()
        return value.double().numpy() if value.is_floating_point() else value.numpy()
    array = np.asarray(value)
    return array.astype(np.float64) if array.dtype.kind in "fV" else array


def assert_close(
    x: Any, y: Any, atol: float | None = None, rtol: float | None = None, err_msg: str = ""
) -> None:
    """Raises AssertionError unless `x` and `y` have one shape and close elements; NaN equals NaN.

    Args:
        x, y: arrays, tensors or numbers.
        atol, rtol: absolute and relative tolerance; 0.01 and 0 when None.
    """
    import numpy as np

    atol = 1e-2 if atol is None else atol
    rtol = 0.0 if rtol is None else rtol
    left, right = _as_numpy(x), _as_numpy(y)
    if left.ndim and right.ndim and left.shape != right.shape:
        raise AssertionError(
            f"{err_msg}: shapes differ: {left.shape} and {right.shape}".lstrip(": ")
        )
    np.testing.assert_allclose(left, right, atol=atol, rtol=rtol, equal_nan=True, err_msg=err_msg)


def get_dram_gbps(device: int | None = None) -> float:
    """What a GPU's memory could move in GB/s, by its clock and width.

    Raises:
        RuntimeError: there is no GPU.
    """
    properties = _properties_of_gpu("get_dram_gbps", device)
    # Both edges of a clock in kHz, of a bus counted in bits.
    return properties["mem_clock_rate"] * properties["mem_bus_width"] * 2 / 8e6


# Operations of a multiprocessor in a clock (a multiplication and an addition are two) by compute
# capability, for 16-bit floats; of tf32 half as many, of 8 bits twice as many. From NVIDIA's data sheets.
_TENSOR_CORE_OPERATIONS = {7: 1024, 80: 2048, 8: 1024, 9: 4096, 10: 8192, 12: 1024}


def get_max_tensorcore_tflops(dtype: Any, clock_rate: float, device: int | None = None) -> float:
    """What a GPU's tensor cores could compute in TFLOP/s, without sparsity.

    Args:
        dtype: of the operands: of torch or of the language.
        clock_rate: in kHz, as in ``sm_clock_rate`` of `driver.active.utils.get_device_properties`.

    Raises:
        RuntimeError: there is no GPU, or one that is not known.
    """
    properties = _properties_of_gpu("get_max_tensorcore_tflops", device)
    bits = _dtype_of(dtype).primitive_bitwidth
    capability = properties["capability"]
    of_16_bits = _TENSOR_CORE_OPERATIONS.get(
        capability, _TENSOR_CORE_OPERATIONS.get(capability // 10)
    )
    if of_16_bits is None or bits not in (8, 16, 32) or (bits == 32 and capability < 80):
        raise RuntimeError(
            f"get_max_tensorcore_tflops: nothing is known of {dtype} with compute capability {capability}"
        )
    operations = of_16_bits * 16 / bits
    return properties["multiprocessor_count"] * clock_rate * operations * 1e-9


# The same of all other units, for fp32 and fp16.
_SIMD_OPERATIONS = {7: (128, 256), 80: (128, 512), 8: (256, 256), 9: (256, 512)}


def get_max_simd_tflops(dtype: Any, clock_rate: float, device: int | None = None) -> float:
    """What a GPU could compute in TFLOP/s without its tensor cores; of fp32 and fp16.

    Args and Raises: as of `get_max_tensorcore_tflops`.
    """
    properties = _properties_of_gpu("get_max_simd_tflops", device)
    capability = properties["capability"]
    operations = _SIMD_OPERATIONS.get(capability, _SIMD_OPERATIONS.get(capability // 10))
    name = _dtype_of(dtype).name
    if operations is None or name not in ("fp32", "fp16"):
        raise RuntimeError(
            f"get_max_simd_tflops: nothing is known of {dtype} with compute capability {capability}"
        )
    of_dtype = operations[name == "fp16"]
    return properties["multiprocessor_count"] * clock_rate * of_dtype * 1e-9


def nvsmi(attributes: Sequence[str]) -> list[int]:
    """What ``nvidia-smi --query-gpu`` reports of the first GPU: ``nvsmi(["clocks.max.sm"])`` in MHz.

    Raises:
        FileNotFoundError: there is no nvidia-smi.
        subprocess.CalledProcessError: it does not know an attribute, or no GPU.
    """
    import subprocess

    command = ["nvidia-smi", "-i", "0", f"--query-gpu={','.join(attributes)}"]
    text = subprocess.check_output([*command, "--format=csv,noheader,nounits"], text=True)
    return [int(value) for value in text.split(",")]


def _dtype_of(dtype):
    """That of the language."""
    from .language._dtypes import dtype as named

    return named(str(dtype).removeprefix("torch."))


def _properties_of_gpu(what: str, device: int | None) -> dict[str, Any]:
    from . import _native
    from .runtime.driver import active

    count = len(_native.gpu_devices()[0])
    if not count:
        raise RuntimeError(f"{what}: there is no GPU")
    return active.utils.get_device_properties(
        active.get_current_device() if device is None else device
    )


class Benchmark:
    """What `perf_report` measures: a function over a range of sizes, for several contenders.

    Args:
        x_names: parameters of the function that take the values of `x_vals`.
        x_vals: numbers, or tuples with one number for each of `x_names`.
        line_arg: the parameter that selects the contender.
        line_vals: its values.
        line_names: how the contenders are called.
        plot_name: title, and name of the files written.
        args: fixed arguments.
        xlabel, ylabel: what is on the axes.
        x_log, y_log: logarithmic axes.
        styles: (colour, line style) of each contender.
    """

    def __init__(
        self,
        x_names: list[str],
        x_vals: list[Any],
        line_arg: str,
        line_vals: list[Any],
        line_names: list[str],
        plot_name: str,
        args: dict[str, Any],
        xlabel: str = "",
        ylabel: str = "",
        x_log: bool = False,
        y_log: bool = False,
        styles: list[tuple[str, str]] | None = None,
    ) -> None:
        self.x_names = list(x_names)
        self.x_vals = list(x_vals)
        self.line_arg = line_arg
        self.line_vals = list(line_vals)
        self.line_names = list(line_names)
        self.plot_name = plot_name
        self.args = dict(args)
        self.xlabel = xlabel
        self.ylabel = ylabel
        self.x_log = x_log
        self.y_log = y_log
        self.styles = styles


class Mark:
    """A function with its benchmarks; made by `perf_report`."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Benchmark | list[Benchmark]) -> None:
        self.fn = fn
        self.benchmarks = benchmarks

    def _measure(self, bench: Benchmark, **kwargs) -> list[list[float]]:
        """One row for each x: the x values, then middle, low and high of each contender."""
        rows = []
        for x in bench.x_vals:
            xs = list(x) if isinstance(x, (tuple, list)) else [x] * len(bench.x_names)
            if len(xs) != len(bench.x_names):
                raise ValueError(f"{bench.plot_name}: {x!r} does not match x_names {bench.x_names}")
            row = list(xs)
            for value in bench.line_vals:
                arguments = {
                    **dict(zip(bench.x_names, xs)),
                    bench.line_arg: value,
                    **bench.args,
                    **kwargs,
                }
                result = self.fn(**arguments)
                row += list(result) if isinstance(result, (tuple, list)) else [result, None, None]
            rows.append(row)
        return rows

    def _plot(self, bench: Benchmark, rows, show: bool, save_path: str) -> None:
        import os

        import matplotlib

        if not show:
            matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots()
        first = len(bench.x_names)
        xs = [row[0] for row in rows]
        for index, name in enumerate(bench.line_names):
            colour, style = bench.styles[index] if bench.styles else (None, None)
            column = first + 3 * index
            middle = [row[column] for row in rows]
            (line,) = axes.plot(xs, middle, label=name, color=colour, ls=style)
            if all(row[column + 1] is not None for row in rows):
                low, high = ([row[column + k] for row in rows] for k in (1, 2))
                axes.fill_between(xs, low, high, alpha=0.15, color=line.get_color())
        axes.legend()
        axes.set_xlabel(bench.xlabel or bench.x_names[0])
        axes.set_ylabel(bench.ylabel)
        axes.set_title(bench.plot_name)
        axes.set_xscale("log" if bench.x_log else "linear")
        axes.set_yscale("log" if bench.y_log else "linear")
        if save_path:
            figure.savefig(os.path.join(save_path, f"{bench.plot_name}.png"))
        if show:
            plt.show()
        plt.close(figure)

    def _run_one(
        self, bench: Benchmark, show_plots: bool, print_data: bool, save_path: str, **kwargs
    ):
        import os

        rows = self._measure(bench, **kwargs)
        if save_path:
            os.makedirs(save_path, exist_ok=True)
        if bench.plot_name and (show_plots or save_path):
            self._plot(bench, rows, show_plots, save_path)
        unit = f" ({bench.ylabel})" if bench.ylabel else ""
        header: list[str] = [*bench.x_names, *(f"{name}{unit}" for name in bench.line_names)]
        first = len(bench.x_names)
        table: list[list[Any]] = [[*row[:first], *row[first::3]] for row in rows]
        if print_data:
            print(bench.plot_name + ":")
            print(_format_table(header, table))
        if save_path:
            with open(
                os.path.join(save_path, f"{bench.plot_name}.csv"), "w", encoding="utf-8"
            ) as file:
                for cells in [header, *table]:
                    file.write(",".join(str(cell) for cell in cells) + "\n")
        try:
            import pandas
        except ImportError:
            return [dict(zip(header, row)) for row in table]
        return pandas.DataFrame(table, columns=header)

    def run(
        self,
        show_plots: bool = False,
        print_data: bool = False,
        save_path: str = "",
        return_df: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Measures everything.

        Args:
            show_plots: open a window with the curves (needs matplotlib).
            print_data: print a table.
            save_path: folder for ``<plot_name>.png`` (needs matplotlib) and ``.csv``.
            return_df: return the tables: pandas data frames, or without pandas lists of dictionaries.
            kwargs: further arguments of the function.
        """
        several = not isinstance(self.benchmarks, Benchmark)
        benchmarks = (
            [self.benchmarks] if isinstance(self.benchmarks, Benchmark) else list(self.benchmarks)
        )
        tables = [self._run_one(b, show_plots, print_data, save_path, **kwargs) for b in benchmarks]
        if return_df:
            return tables if several else tables[0]
        return None


def _format_table(header: list[str], rows: list[list]) -> str:
    text = [header] + [
        [f"{x:.3f}" if isinstance(x, float) else str(x) for x in row] for row in rows
    ]
    widths = [max(len(row[column]) for row in text) for column in range(len(header))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in text
    )


def perf_report(
    benchmarks: Benchmark | list[Benchmark],
) -> Callable[[Callable[..., Any]], Mark]:
    """Decorator: the function measures one contender at one size and returns a figure, or
    ``(middle, low, high)``; ``function.run(...)`` makes the report."""

    def decorate(fn: Callable[..., Any]) -> Mark:
        return Mark(fn, benchmarks)

    return decorate
