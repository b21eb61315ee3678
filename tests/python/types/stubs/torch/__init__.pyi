# torch as nothing is known of it: the checks are the same and as fast with and without torch installed.
from typing import Any

def __getattr__(name: str) -> Any: ...
