"""Random operands, float64 references and tolerances for the tests of the language."""

import re

import ml_dtypes
import numpy as np

import sectile.language as tl

# name -> (NumPy dtype, language dtype)
DTYPES = {
    "int8": (np.int8, tl.int8),
    "int16": (np.int16, tl.int16),
    "int32": (np.int32, tl.int32),
    "int64": (np.int64, tl.int64),
    "uint8": (np.uint8, tl.uint8),
    "uint16": (np.uint16, tl.uint16),
    "uint32": (np.uint32, tl.uint32),
    "uint64": (np.uint64, tl.uint64),
    "float16": (np.float16, tl.float16),
    "bfloat16": (ml_dtypes.bfloat16, tl.bfloat16),
    "float32": (np.float32, tl.float32),
    "float64": (np.float64, tl.float64),
}
# Conversions only: there is no arithmetic on them.
FP8 = {
    "e4m3fn": (ml_dtypes.float8_e4m3fn, tl.float8e4nv),
    "e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, tl.float8e4b8),
    "e5m2": (ml_dtypes.float8_e5m2, tl.float8e5),
    "e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, tl.float8e5b16),
}
INTEGERS = [name for name in DTYPES if "int" in name]
SIGNED = [name for name in INTEGERS if not name.startswith("u")]
FLOATS = [name for name in DTYPES if "float" in name]
# Odd on purpose: shorter than a vector, just beyond one, no multiple of any.
EXTENTS = [1, 3, 16, 17, 96, 100, 1000]

# Half a unit in the last place, relative.
ROUNDING = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}


def numpy_dtype(name):
    return np.dtype(DTYPES[name][0])


def remarks_of(kernel, kind):
    """The compiled kernel's remarks of that kind."""
    return [remark for remark in kernel.remarks if remark["kind"] == kind]


def random(name, shape, seed=0, low=None, high=None):
    """Random numbers of that dtype: standard normal, or the whole range of an integer type."""
    rng = np.random.default_rng(seed)
    dtype = numpy_dtype(name)
    if name in FLOATS:
        if low is not None:
            return rng.uniform(low, high, shape).astype(dtype)
        return rng.standard_normal(shape).astype(dtype)
    info = np.iinfo(dtype)
    low = info.min if low is None else low
    high = info.max if high is None else high
    return rng.integers(low, high, shape, dtype=dtype, endpoint=True)


def assert_close(got, expected, name, ulps=1, scale=None):
    """`got` is within `ulps` roundings of the float64 `expected` (relative to `scale` if given)."""
    expected = np.asarray(expected, np.float64)
    tolerance = 2 * ROUNDING[name] * ulps
    bound = tolerance * (np.abs(expected) if scale is None else np.abs(scale))
    smallest = {"float16": 6e-8, "bfloat16": 1e-38, "float32": 1e-38, "float64": 1e-307}[name]
    np.testing.assert_array_less(
        np.abs(got.astype(np.float64) - expected), bound + 2 * smallest * np.maximum(ulps, 1)
    )


def without_names(text):
    """Tile IR with numbers for the arguments' names, which kernels in C++ and in Python choose themselves."""
    text = re.sub(r'tile\.name = "[^"]*"', "tile.name", text)
    parameters = text[text.index("@") : text.index("{tile.kernel}")]
    for number, name in enumerate(re.findall(r"%([\w$.-]+): ", parameters)):
        text = re.sub(rf"%{re.escape(name)}(?![\w$.-])", f"%arg{number}", text)
    return text
