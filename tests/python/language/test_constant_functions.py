"""Functions of constants are what the same functions are of the same numbers at run time.

The compiler computes them itself where it can, in another way than the code that it would emit.
"""

import inspect
import itertools
import textwrap

import numpy as np
import pytest

import sectile.language as tl
from sectile.language.extra import libdevice

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.75,
    -2.5,
    3.0,
    1e-40,
    -3e38,
    float("inf"),
    float("-inf"),
    float("nan"),
]
OF_INTEGERS = (
    {"brev", "byte_perm", "clz", "ffs", "hadd", "rhadd", "mul24", "mulhi", "umulhi", "popc", "sad"}
    | {name for name in dir(libdevice) if name.startswith(("int", "uint", "ll", "ull", "long", "hilo", "double"))}
    | {"rcp64h", "isfinited"}
)  # fmt: skip
NAMES = [
    name
    for name in dir(libdevice)
    if not name.startswith("_")
    and callable(getattr(libdevice, name))
    and name not in OF_INTEGERS
    and list(inspect.signature(getattr(libdevice, name)).parameters)
    in (["x"], ["x", "y"], ["y", "x"])
]
LANGUAGE = [
    "exp",
    "exp2",
    "log",
    "log2",
    "sin",
    "cos",
    "sqrt",
    "rsqrt",
    "erf",
    "floor",
    "ceil",
    "abs",
    "sigmoid",
]


def is_from_the_device(name):
    return name.startswith("fast_")


def written(value):
    return repr(value) if np.isfinite(value) else f'float("{value}")'


def computed(tmp_path, module, name, arity):
    """The function of all special numbers: as constants, and as numbers that are loaded."""
    cases = list(itertools.product(SPECIAL, repeat=arity))
    # A tile of one element keeps the numbers fp32 in both.
    lines = [
        f"    tl.store(out + {index}, {module}.{name}("
        + ", ".join(f"tl.full((1,), {written(value)}, tl.float32)" for value in case)
        + "))"
        for index, case in enumerate(cases)
    ]
    loads = ", ".join(f"tl.load(x + {arity} * i + {which})" for which in range(arity))
    source = textwrap.dedent(
        """
        import sectile as st
        import sectile.language as tl
        from sectile.language.extra import libdevice

        @st.jit
        def folded(out):
        {lines}

        @st.jit
        def run(out, x, n, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)
            i = tl.minimum(i, n - 1)
            tl.store(out + i, {module}.{name}({loads}))
        """
    ).format(lines="\n".join(lines).replace("tl.store(out", "tl.store(out + tl.arange(0, 1)"),
             module=module, name=name, loads=loads)  # fmt: skip
    path = tmp_path / f"{name}.py"
    path.write_text(source)
    namespace = {"__file__": str(path), "__name__": name}
    exec(compile(source, str(path), "exec"), namespace)
    return namespace["folded"], namespace["run"], np.array(cases, np.float32).reshape(-1)


@pytest.mark.parametrize(
    "module, name", [("libdevice", n) for n in NAMES] + [("tl", n) for n in LANGUAGE]
)
def test_as_at_run_time(device, tmp_path, module, name):
    function = getattr(libdevice if module == "libdevice" else tl, name)
    arity = 1 if module == "tl" else len(inspect.signature(function).parameters)
    folded, run, numbers = computed(tmp_path, module, name, arity)
    count = numbers.size // arity
    # Whole numbers are compared as such: they are exact.
    result = np.zeros(count, np.float64)
    loaded = np.zeros(count, np.float64)
    run[(1,)](loaded, numbers, count, BLOCK=256)
    folded[(1,)](result)
    is_nan = np.isnan(loaded)
    same = (np.isnan(result) & is_nan) | (result == loaded) & (
        np.signbit(result) == np.signbit(loaded)
    )
    if not is_from_the_device(name):
        close = np.isclose(
            result, loaded, rtol=3e-6 if name in ("lgamma", "tgamma", "pow") else 1e-6, atol=1e-38
        )
        same |= close & (loaded != 0)
    else:
        same |= np.isclose(result, loaded, rtol=1e-4, atol=1e-30) & (loaded != 0)
    at = np.flatnonzero(~same)
    assert at.size == 0, [
        (numbers.reshape(-1, arity)[i].tolist(), "constant", result[i], "loaded", loaded[i])
        for i in at[:8]
    ]
