"""The runtime of this process: what it did, and switches that are no environment variables."""

from __future__ import annotations

from .. import _native

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import SimpleNamespace
    from typing import Any


def build_id() -> str:
    """Identifies the build of the compiler; kernels of another build are never loaded from disk."""
    return _native.build_id()


def statistics() -> dict[str, Any]:
    """Counts since the start of the process.

    ``memory_hits``, ``disk_hits`` and those of them in ``layer_hits``, ``same_ir_hits``, ``compiles``,
    ``failed_compiles``, ``disk_misses`` (reason: times), ``disk_writes``, ``disk_write_failures``,
    ``disk_waits`` (for another process that compiled the same kernel), ``evicted_files``,
    ``disk_disabled`` (why nothing is stored, or ``""``) and ``cache_directory``.

    Example:
        @st.jit
        def kernel(x):
            tl.store(x, 1)

        before = st.statistics()
        kernel[(1,)](np.zeros(1, np.int32))
        after = st.statistics()
        print(sum(after[name] - before[name] for name in ("compiles", "disk_hits", "memory_hits")))  # 1
    """
    return _native.statistics()


def clear_cache(memory: bool = True, disk: bool = False) -> int:
    """Forgets compiled kernels.

    Args:
        memory: those the runtime holds. A kernel that was launched keeps its own variants until
            ``kernel.clear()``.
        disk: the files in the cache folder.

    Returns:
        How many files were deleted.

    Example:
        print(st.clear_cache(memory=True, disk=False))  # 0
    """
    if memory:
        _native.clear_memory()
    if not disk:
        return 0
    import os

    deleted = 0
    for path in cache_files():
        try:
            os.unlink(path)
            deleted += 1
        except OSError:
            pass
    return deleted


def cache_files() -> list[str]:
    """The files of the disk cache, by name. Only what Sectile wrote is listed."""
    import os

    folder = statistics()["cache_directory"]
    found = []
    if folder and os.path.isdir(folder):
        for directory, folders, files in os.walk(folder):
            folders.sort()
            found += [
                os.path.join(directory, name)
                for name in sorted(files)
                if name.endswith((".kernel", ".tuning"))
            ]
    return found


def cache_bytes() -> int:
    """What the disk cache takes; a file with two names (two kernels of equal code) counts once."""
    import os

    sizes = {}
    for path in cache_files():
        try:
            status = os.stat(path)
        except OSError:  # deleted meanwhile by another process
            continue
        sizes[status.st_dev, status.st_ino] = status.st_size
    return sum(sizes.values())


def seal() -> None:
    """From now on a launch that would have to compile is an error.

    It names the argument, or the option, by which the launch differs from the nearest variant there is.
    Kernels on disk may still be loaded.
    """
    _native.seal()


def recent_launches(device: int = 0) -> list[str]:
    """The latest launches on a GPU with their arguments, newest first.

    CUDA reports a kernel's crash at some later call, torch's for one: these are the suspects.
    """
    return _native.recent_launches(device)


def set_print(handler: Callable[[str], object] | None) -> None:
    """Where ``tl.device_print`` goes: `handler` gets finished pieces of text, whole prints in order of programs.

    It is called by the threads that run or launch the kernel, one at a time. None: to ``sys.stdout``.

    Example:
        @st.jit
        def kernel(x):
            tl.device_print("x", tl.load(x))

        texts = []
        st.set_print(texts.append)
        kernel[(1,)](np.array([7], np.int32))
        st.set_print(None)
        print("".join(texts).strip())  # pid (0, 0, 0) x: 7
    """
    _native.set_print(handler)


def set_compile_listener(listener: Callable[[SimpleNamespace], object] | None) -> None:
    """`listener(event)` is called after every compile, by the thread that did it; None: nothing is called.

    The event has ``kernel`` (the function's name), ``name`` (that of the variant's code, the same unless `jit` was given
    a `repr`), ``target``, ``variant`` (the kinds of its arguments), ``options``, ``reason``
    (what sets it apart from the nearest variant there was: ``"n: i32 instead of 1"``), ``cache_miss`` (why the
    disk cache did not have it), ``seconds`` and ``succeeded``. `SECTILE_LOG=compile` prints the same.

    Example:
        @st.jit
        def kernel(x, n):
            tl.store(x, n)

        events = []
        st.set_compile_listener(events.append)
        kernel.warmup(st.MockTensor(tl.int32), 3, grid=(1,))
        kernel.warmup(st.MockTensor(tl.int32), 4, grid=(1,))  # the same variant
        st.set_compile_listener(None)
        print([(event.kernel, event.succeeded) for event in events])  # [('kernel', True)]
    """
    _native.set_compile_listener(listener)


_allocator: Callable[..., Any] | None = None


def set_allocator(allocator: Callable | None) -> None:
    """Kept for GPU back ends, which take scratch memory from it. The CPU needs none."""
    global _allocator
    _allocator = allocator
