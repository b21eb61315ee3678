"""What code is made for: ``sectile.compile(source, target=GPUTarget("cuda", 90, 32))``."""

from __future__ import annotations

from ..runtime.driver import GPUTarget

__all__ = ["GPUTarget"]
