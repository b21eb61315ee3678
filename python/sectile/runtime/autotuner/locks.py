"""Locks between processes of one host, and one within the process; both survive `fork`.

A lock is a file that is locked by `flock`: the system releases it when its holder ends, however it ends.
A child made by `fork` shares its parent's open files, so it closes them at once; what the parent held
stays the parent's alone.
"""

from __future__ import annotations

import os
import sys
import threading
import time

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable

_POLL_SECONDS = 0.02
_REPORT_AFTER_SECONDS = 5.0


class _State:
    """The locks of this process; made anew in a child."""

    def __init__(self) -> None:
        self.measuring = threading.RLock()
        self.held: dict[int, HostLock] = {}  # by descriptor
        # Locks of a parent that forked while it held them: it may be waiting for this process.
        self.free: set[str] = set()


_state = _State()


def _after_fork_in_child() -> None:
    global _state
    held, free = _state.held, _state.free
    _state = _State()  # the thread that held the lock may not exist here
    _state.free = free | {
        lock.path for lock in held.values() if lock.path and lock.thread == threading.get_ident()
    }
    for descriptor in held:
        os.close(descriptor)


os.register_at_fork(after_in_child=_after_fork_in_child)


def process_lock():
    """One tuning at a time in a process; a tuning may start another, in a hook."""
    return _state.measuring


class HostLock:
    """``with HostLock(path, "tuning of matmul"): ...``: one process at a time.

    Where files cannot be locked (a file system without locks, no permission) no process waits: work may be
    done twice then, and is not lost.

    Args:
        path: the file, which stays; None: no lock.
        what: for the message when it takes long.
        limit: seconds after which it goes on all the same; None: never.
        meanwhile: called from time to time while waiting; True ends the wait, without the lock.
    """

    def __init__(
        self, path: str | None, what: str, limit: float | None = None,
        meanwhile: Callable[[], bool] | None = None,
    ) -> None:  # fmt: skip
        self.path = path
        self.what = what
        self.limit = limit
        self.meanwhile = meanwhile
        self.descriptor = -1
        self.thread = 0

    def __enter__(self) -> HostLock:
        if self.path is None or self.path in _state.free:
            return self
        import fcntl

        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError:
            return self
        self.descriptor = descriptor
        self.thread = threading.get_ident()
        _state.held[descriptor] = self
        started, is_reported = time.monotonic(), False
        try:
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    pass
                except OSError:  # no locks here
                    return self
                waited = time.monotonic() - started
                if self.limit is not None and waited >= self.limit:
                    self._close()
                    return self
                if waited > _REPORT_AFTER_SECONDS and not is_reported:
                    is_reported = True
                    owner = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
                    print(
                        f"sectile: waiting for process {owner or '(unknown)'}: {self.what}",
                        file=sys.stderr,
                    )
                if self.meanwhile is not None and self.meanwhile():
                    self._close()
                    return self
                time.sleep(_POLL_SECONDS)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except OSError:
            pass
        except BaseException:
            self._close()
            raise
        return self

    def _close(self) -> None:
        if (
            _state.held.pop(self.descriptor, None) is not None
        ):  # else this is a child, which closed it
            os.close(self.descriptor)
        self.descriptor = -1

    def __exit__(self, *exception) -> None:
        self._close()
