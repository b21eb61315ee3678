"""All ranks of a job take one choice: the first that asks finds it, the others get it.

    sectile.runtime.autotuner.set_store(lambda: torch.distributed.distributed_c10d._get_default_store())

A store has ``set(key, text)``, ``get(key) -> bytes or str`` and ``add(key, 1) -> int``, the new count, as
those of torch.distributed have; ``get`` waits for the key, unless there is a ``check([key]) -> bool``.
It is asked once for each kernel and key, also when the choice is on disk, for disks may differ.
"""

from __future__ import annotations

import json
import time

from ...errors import TuningError, with_article

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_POLL_SECONDS = 0.05
TIMEOUT_SECONDS = 1800.0


def agree(
    store: Any, name: str, what: str, decide: Callable[[], str], timeout: float | None = None
) -> str:
    """What the first of all callers with this `name` decided.

    Args:
        store: see the module.
        name: the same in all processes, and for no other choice.
        what: for messages.
        decide: gives the answer; called in one process only. Its error reaches all.
        timeout: seconds to wait for it; `TIMEOUT_SECONDS` when None.

    Raises:
        TuningError: the process that decides failed, or did not answer in time.
        TypeError: the store lacks a method.
    """
    for method in ("set", "get", "add"):
        if not callable(getattr(store, method, None)):
            raise TypeError(
                f"autotune: store has no {method}(), {with_article(type(store).__name__)}\n"
                f"  help: pass a store of torch.distributed, or an object with set, get and add"
            )
    timeout = TIMEOUT_SECONDS if timeout is None else timeout
    prefix = f"sectile/tuning/{name}"
    if store.add(f"{prefix}/claim", 1) == 1:
        try:
            answer = decide()
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
            store.set(f"{prefix}/answer", json.dumps({"error": text}))
            raise
        store.set(f"{prefix}/answer", json.dumps({"answer": answer}))
        return answer
    data = _wait(store, f"{prefix}/answer", what, timeout)
    reply = json.loads(data)
    if "error" in reply:
        raise TuningError(f"{what}: the process that tunes failed: {reply['error']}")
    return reply["answer"]


def _wait(store: Any, key: str, what: str, timeout: float) -> Any:
    end = time.monotonic() + timeout
    if hasattr(store, "check"):
        while not store.check([key]):
            if time.monotonic() > end:
                raise _late(what, timeout)
            time.sleep(_POLL_SECONDS)
        return store.get(key)
    while True:
        try:
            return store.get(key)
        except Exception as error:  # each store has its own for a wait that took too long
            if time.monotonic() > end:
                raise _late(what, timeout) from error
            time.sleep(_POLL_SECONDS)


def _late(what: str, timeout: float) -> TuningError:
    return TuningError(
        f"{what}: the process that tunes has not answered for {timeout:.0f} s\n"
        f"  help: look there for an error; all ranks must launch the same kernels on the same sizes"
    )
