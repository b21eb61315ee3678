"""Triton's profiler, Proton, as something that measures nothing: programs that call it run, and are told once.

Kernels have their names in Nsight, rocprof and perf; ``knobs.runtime.launch_enter_hook`` is called with every launch.
"""

import contextlib
import functools
import warnings

from sectile.as_triton import missing

DEFAULT_PROFILE_NAME = "proton"
_is_said = False


def start(name=None, *, context="shadow", data="tree", backend=None, mode=None, hook=None):
    """Starts no session; None, as Proton returns where it is switched off."""
    global _is_said
    if not _is_said:
        _is_said = True
        warnings.warn(
            "triton.profiler: Sectile has no Proton; nothing is recorded. Nsight, rocprof and perf see kernels by name.",
            RuntimeWarning,
            stacklevel=2,
        )
    return None


def activate(session=None):
    pass


def deactivate(session=None, flushing=False):
    pass


def finalize(session=None, output_format="hatchet"):
    pass


def profile(
    func=None, *, name=None, context="shadow", data="tree", backend=None, mode=None, hook=None
):
    """A decorator that starts a session; as `start`."""
    if func is None:
        return lambda function: profile(function, name=name)

    @functools.wraps(func)
    def run(*args, **kwargs):
        start(name)
        return func(*args, **kwargs)

    return run


class scope(contextlib.ContextDecorator):
    def __init__(self, name, metrics=None):
        self.name, self.metrics = name, metrics

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


cpu_timed_scope = state = scope


def enter_scope(name, *, triton_op=False, metrics=None):
    return None


def exit_scope(name=None, *, triton_op=False, metrics=None):
    return None


def enter_state(name):
    pass


def exit_state():
    pass


__getattr__ = missing(__name__)
