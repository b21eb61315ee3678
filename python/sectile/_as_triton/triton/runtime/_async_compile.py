"""Compiling in an executor of the program's. Sectile's ``kernel.warmup(..., wait=False)`` needs none."""

from concurrent.futures import as_completed
from contextvars import ContextVar

active_mode = ContextVar("async_compile_active_mode", default=None)


class FutureKernel:
    def __init__(self, finalize_compile, future):
        self.finalize_compile = finalize_compile
        self.future = future
        self.kernel = None

    def result(self, ignore_errors=False):
        """The compiled kernel; None where it failed and `ignore_errors`."""
        if self.kernel is None:
            try:
                kernel = self.future.result()
            except Exception:
                if ignore_errors:
                    return None
                raise
            self.finalize_compile(kernel)
            self.kernel = kernel
        return self.kernel


class AsyncCompileMode:
    """``with AsyncCompileMode(executor):`` what is submitted in it is done at its end. Launches and `warmup` compile at
    once, as ever."""

    def __init__(self, executor, *, ignore_errors=False):
        self.executor = executor
        self.ignore_errors = ignore_errors
        self.raw_futures = []
        self.future_kernels = {}

    def submit(self, key, compile_fn, finalize_fn):
        known = self.future_kernels.get(key)
        if known is None:
            future = self.executor.submit(compile_fn)
            future._key = key
            self.raw_futures.append(future)
            known = self.future_kernels[key] = FutureKernel(finalize_fn, future)
        return known

    def __enter__(self):
        if active_mode.get() is not None:
            raise RuntimeError("Another AsyncCompileMode is already active")
        active_mode.set(self)
        return self

    def __exit__(self, *_):
        for future in as_completed(self.raw_futures):
            self.future_kernels[future._key].result(self.ignore_errors)
        active_mode.set(None)
