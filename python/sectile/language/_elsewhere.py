"""What people look for in `tl` or in a tile because NumPy, torch or Triton has it, and what does it here.

>>> help_for("mean")
'use tl.sum(x, axis) / n, n being how many elements there are'

Python asks when `tl` has no such attribute, the compiler when a kernel names it or writes ``x.mean()``.
"""

from __future__ import annotations

#: Where functions such as tan and log1p are.
LIBDEVICE = "from sectile.language.extra import libdevice"

# What to write instead: x is the tile, whether the name was tl.mean or x.mean.
_REPLACEMENTS = {
    "absolute": "tl.abs(x)",
    "all": "tl.min(x.to(tl.int32), axis) != 0",
    "any": "tl.max(x.to(tl.int32), axis) != 0",
    "astype": "x.to(tl.float32)",
    "average": "tl.sum(x * weights, axis) / tl.sum(weights, axis)",
    "bool": "tl.int1, as in x.to(tl.int1)",
    "bool_": "tl.int1, as in x.to(tl.int1)",
    "clip": "tl.clamp(x, low, high)",
    "concat": "tl.cat(x, y, can_reorder=True), or tl.join(x, y)",
    "concatenate": "tl.cat(x, y, can_reorder=True), or tl.join(x, y)",
    "contiguous": "x itself: a tile has no strides",
    "dim": "len(x.shape)",
    "divide": "x / y",
    "double": "tl.float64, as in x.to(tl.float64)",
    "einsum": "tl.dot(x, y), or tl.sum(x[:, :, None] * y[None, :, :], 1)",
    "empty": "tl.zeros(shape, dtype)",
    "empty_like": "tl.zeros_like(x)",
    "eye": "tl.where(rows[:, None] == columns[None, :], 1.0, 0.0)",
    "float": "tl.float32, as in x.to(tl.float32)",
    "full_like": "tl.full(x.shape, value, x.dtype)",
    "gelu": "0.5 * x * (1 + tl.erf(x * 0.70710678))",
    "half": "tl.float16, as in x.to(tl.float16)",
    "int": "tl.int32, as in x.to(tl.int32)",
    "isfinite": "tl.abs(x) < float('inf')",
    "isinf": "tl.abs(x) == float('inf')",
    "isnan": "x != x",
    "long": "tl.int64, as in x.to(tl.int64)",
    "logsumexp": "m + tl.log(tl.sum(tl.exp(x - m), axis)), m being tl.max(x, axis)",
    "masked_fill": "tl.where(mask, value, x)",
    "matmul": "tl.dot(x, y)",
    "mean": "tl.sum(x, axis) / n, n being how many elements there are",
    "mm": "tl.dot(x, y)",
    "mod": "x % y",
    "multiply": "x * y",
    "ndim": "len(x.shape)",
    "ndarray": "tl.tensor",
    "negative": "-x",
    "newaxis": "None, as in x[:, None]",
    "norm": "tl.sqrt(tl.sum(x * x, axis))",
    "ones": "tl.full(shape, 1.0, dtype)",
    "ones_like": "tl.full(x.shape, 1.0, x.dtype)",
    "outer": "x[:, None] * y[None, :]",
    "power": f"x * x, or libdevice.pow(x, y) ({LIBDEVICE})",
    "prod": "tl.reduce(x, axis, multiply), multiply being a @jit function that returns a * b",
    "reciprocal": "1.0 / x",
    "relu": "tl.maximum(x, 0.0)",
    "repeat": "tl.broadcast_to(x, shape)",
    "roll": "tl.gather(x, index, axis)",
    "round": f"libdevice.rint(x), with ties to even ({LIBDEVICE})",
    "sign": "tl.where(x > 0, 1.0, tl.where(x < 0, -1.0, 0.0))",
    "silu": "x * tl.sigmoid(x)",
    "size": "x.numel",
    "square": "x * x",
    "stack": "tl.join(x, y)",
    "std": "tl.sqrt(tl.sum((x - mean) * (x - mean), axis) / n), mean being tl.sum(x, axis) / n",
    "subtract": "x - y",
    "swapaxes": "tl.permute(x, order)",
    "tile": "tl.broadcast_to(x, shape)",
    "transpose": "tl.trans(x), or tl.permute(x, order)",
    "tril": "tl.where(rows[:, None] >= columns[None, :], x, 0.0)",
    "triu": "tl.where(rows[:, None] <= columns[None, :], x, 0.0)",
    "true_divide": "x / y",
    "var": "tl.sum((x - mean) * (x - mean), axis) / n, mean being tl.sum(x, axis) / n",
}


def help_for(name: str) -> str:
    """What to write instead of `name`, as a remedy: ``"use x * y"``; ``""`` where nothing is known."""
    if name in _REPLACEMENTS:
        return f"use {_REPLACEMENTS[name]}"
    from .. import language
    from .extra import libdevice

    not_yet = getattr(vars(language).get(name), "__sectile_not_yet__", None)
    if not_yet:
        return "; ".join(not_yet)
    if name in language.__all__:  # asked of a function of another library, np.exp
        return f"use tl.{name}"
    if name in libdevice.__all__:
        function = getattr(libdevice, name)
        code = function.__wrapped__.__code__
        parameters = ", ".join(code.co_varnames[: code.co_argcount])
        return f"use libdevice.{name}({parameters}) ({LIBDEVICE})"
    return ""
