"""Every wrong way to call a kernel: the exact text, and that nothing ran."""

import array
import ctypes

import numpy as np
import pytest

import sectile as st
import sectile.language as tl


@st.jit
def scale(x, out, n, factor=2.0, BLOCK: tl.constexpr = 64):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


@st.jit
def keyword_only(x, *, n):
    tl.store(x, n)


X = np.zeros(64, np.float32)
PARAMETERS = "\n  help: the parameters are x, out, n, factor, BLOCK"
OPTIONS = (
    "; launch options are num_warps, num_stages, num_ctas, maxnreg, check, debug, sanitize_overflow, fatal_asserts, "
    "enable_fp_fusion, launch_cooperative_grid, launch_pdl, numerics, persistent, waves_per_eu, matrix_instr_nonkdim, "
    "default_dot_input_precision, arch, target, stream, extern_libs, ir_override, enable_reflect_ftz, ptx_options, kpack, schedule_hint, "
    "allow_flush_denorm, instrumentation_mode"
)
GRID = (
    "\n  help: a grid is an int, a tuple of one to three ints, or a function of the arguments that "
    "returns one of these"
)
DTYPES = (
    "\n  help: convert it to a bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, "
    "float64 or float8 array"
)


class OnGpu:
    """A tensor as torch would show it on a GPU of Intel's."""

    dtype = np.dtype(np.float32)
    device = "xpu:0"

    def data_ptr(self):
        raise AssertionError("a pointer that is of no use was asked for")


class BadInterface:
    __array_interface__ = {"shape": (1,), "typestr": "<f4", "version": 3}


class OnlyCuda:
    __cuda_array_interface__ = {}


CALLS = {
    "missing": (lambda: scale[(1,)](X, X), "scale: argument 'n' is missing" + PARAMETERS),
    "several missing": (
        lambda: scale[(1,)](),
        "scale: arguments 'x', 'out', 'n' are missing" + PARAMETERS,
    ),
    "too many": (
        lambda: scale[(1,)](X, X, 1, 2.0, 64, 3),
        "scale: 6 positional arguments for 5 parameters" + PARAMETERS,
    ),
    "keyword-only by position": (
        lambda: keyword_only[(1,)](X, 1),
        "keyword_only: 2 positional arguments for 1 parameter\n  help: the parameters are x, n",
    ),
    "twice": (
        lambda: scale[(1,)](X, X, 1, x=X),
        "scale: argument 'x' is given twice, by position and by name" + PARAMETERS,
    ),
    "unknown": (
        lambda: scale[(1,)](X, X, 1, zebra=1),
        "scale: unknown argument 'zebra'" + PARAMETERS + OPTIONS,
    ),
    "misspelt parameter": (
        lambda: scale[(1,)](X, X, 1, BLOK=1),
        "scale: unknown argument 'BLOK'; did you mean 'BLOCK'?" + PARAMETERS + OPTIONS,
    ),
    "misspelt option": (
        lambda: scale[(1,)](X, X, 1, num_warp=1),
        "scale: unknown argument 'num_warp'; did you mean 'num_warps'?" + PARAMETERS + OPTIONS,
    ),
    "warps": (
        lambda: scale[(1,)](X, X, 1, num_warps=3),
        "scale: num_warps is 3, not a power of two from 1 to 64",
    ),
    "warps of another kind": (
        lambda: scale[(1,)](X, X, 1, num_warps="4"),
        "scale: num_warps is '4', not a power of two from 1 to 64",
    ),
    "stages": (
        lambda: scale[(1,)](X, X, 1, num_stages=-1),
        "scale: num_stages is -1, not an int from 0 to 64",
    ),
    "check": (
        lambda: scale[(1,)](X, X, 1, check="everything"),
        "scale: check is 'everything', not 'bounds', 'strides' or 'bounds,strides'\n  help: 'bounds' stops a launch at the "
        "first access outside the argument arrays, 'strides' at a view whose strides are not among the "
        "arguments",
    ),
    "an object": (
        lambda: scale[(1,)](object(), X, 1),
        "scale: argument 'x' is an object, which cannot be passed to a kernel\n  help: pass a NumPy "
        "array, a torch tensor, anything with __dlpack__ or __array_interface__, a number, or None; "
        "constants go to tl.constexpr parameters",
    ),
    "unknown kind": (
        lambda: scale[(1,)]({}, X, 1),
        "scale: argument 'x' is a dict, which cannot be passed to a kernel\n  help: pass a NumPy "
        "array, a torch tensor, anything with __dlpack__ or __array_interface__, a number, or None; "
        "constants go to tl.constexpr parameters",
    ),
    "array for a constant": (
        lambda: scale[(1,)](X, X, 1, BLOCK=X),
        "scale: argument 'BLOCK' is a numpy.ndarray, but the parameter is a tl.constexpr\n  help: "
        "pass a number, string, dtype, tuple or @jit function, or drop the tl.constexpr annotation",
    ),
    "what no tuple may hold": (
        lambda: scale[(1,)]((X, {}), X, 1),
        "scale: argument 'x[1]' is a dict, which cannot be passed to a kernel\n  help: pass a NumPy "
        "array, a torch tensor, anything with __dlpack__ or __array_interface__, a number, or None; "
        "constants go to tl.constexpr parameters",
    ),
    "integer beyond 64 bits": (
        lambda: scale[(1,)](X, X, 1 << 64),
        "scale: argument 'n' is 18446744073709551616, which does not fit into 64 bits\n"
        "  help: split it into several arguments",
    ),
    "negative beyond 64 bits": (
        lambda: scale[(1,)](X, X, -(1 << 63) - 1),
        "scale: argument 'n' is -9223372036854775809, which does not fit into 64 bits\n"
        "  help: split it into several arguments",
    ),
    "byte order": (
        lambda: scale[(1,)](X.astype(">f4"), X, 1),
        "scale: argument 'x' has elements in foreign byte order (>f4)\n  help: convert it with "
        "x.astype(x.dtype.newbyteorder('='))",
    ),
    "complex": (
        lambda: scale[(1,)](X.astype(np.complex64), X, 1),
        "scale: argument 'x' has element type complex64, which kernels do not know" + DTYPES,
    ),
    "objects": (
        lambda: scale[(1,)](np.array([None]), X, 1),
        "scale: argument 'x' has element type object, which kernels do not know" + DTYPES,
    ),
    "text": (
        lambda: scale[(1,)](np.array(["a"]), X, 1),
        "scale: argument 'x' has element type str32, which kernels do not know" + DTYPES,
    ),
    "buffer of structures": (
        lambda: scale[(1,)](memoryview((ctypes.c_float * 2 * 3)()).cast("B").cast("c"), X, 1),
        "scale: argument 'x' has element type 'c' (a buffer format), which kernels do not know"
        + DTYPES,
    ),
    "gpu tensor": (
        lambda: scale[(1,)](OnGpu(), X, 1),
        "scale: argument 'x' is on device xpu:0, for which there is no back end\n  help: move it to "
        "the CPU; `sectile doctor` lists the back ends that were found",
    ),
    "gpu array": (
        lambda: scale[(1,)](OnlyCuda(), X, 1),
        "scale: argument 'x' has a __cuda_array_interface__ without data, typestr or shape\n  help: see "
        "the NumPy documentation of the array interface, version 3",
    ),
    "array interface": (
        lambda: scale[(1,)](BadInterface(), X, 1),
        "scale: argument 'x' has an __array_interface__ without data, typestr or shape\n  help: see "
        "the NumPy documentation of the array interface, version 3",
    ),
    "mock in a launch": (
        lambda: scale[(1,)](st.MockTensor(tl.float32), X, 1),
        "scale: argument 'x' is a MockTensor, which has no memory\n  help: use it with "
        "kernel.warmup(...) only",
    ),
    "reinterpreted number": (
        lambda: scale[(1,)](st.reinterpret(3, tl.int8), X, 1),
        "scale: argument 'x' reinterprets an int, which is not an array\n  help: sectile.reinterpret "
        "takes an array and a dtype",
    ),
    "grid: float": (lambda: scale[1.5](X, X, 1), "scale: grid is a float" + GRID),
    "grid: float axis": (
        lambda: scale[(2.0,)](X, X, 1),
        "scale: grid axis 0 is 2.0, a float, not an int\n  help: use sectile.cdiv(a, b) for the "
        "number of tiles",
    ),
    "grid: text axis": (
        lambda: scale[(1, "2")](X, X, 1),
        "scale: grid axis 1 is '2', a str, not an int" + GRID,
    ),
    "grid: a wrong name": (
        lambda: scale[lambda given: (given["BLOK"],)](X, X, 1),
        "scale: the grid function asks for 'BLOK', which is neither a parameter nor a setting; did you "
        "mean 'BLOCK'?\n  help: it is given x, out, n, factor, BLOCK",
    ),
    "grid: none": (lambda: scale[None](X, X, 1), "scale: grid is a NoneType" + GRID),
    "grid: empty": (lambda: scale[()](X, X, 1), "scale: grid has 0 axes, not one to three" + GRID),
    "grid: four axes": (
        lambda: scale[(1, 1, 1, 2)](X, X, 1),
        "scale: grid has 4 axes, not one to three" + GRID,
    ),
    "grid: negative": (
        lambda: scale[(1, -3)](X, X, 1),
        "scale: grid axis 1 is -3, below zero\n  help: check the arithmetic of the grid; zero is "
        "allowed and runs nothing",
    ),
    "grid: huge": (
        lambda: scale[(1 << 31,)](X, X, 1),
        "scale: grid axis 0 is 2147483648, more than 2147483647\n  help: use further axes, or let "
        "each program loop over several tiles",
    ),
    "grid: beyond 64 bits": (
        lambda: scale[(1 << 80,)](X, X, 1),
        "scale: grid axis 0 is 1208925819614629174706176, more than 2147483647\n  help: use further "
        "axes, or let each program loop over several tiles",
    ),
    "grid: function of the wrong kind": (
        lambda: scale[lambda meta: "many"](X, X, 1),
        "scale: grid is a str" + GRID,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_wrong_call(name):
    call, text = CALLS[name]
    before = len(scale.variants())
    with pytest.raises(st.ArgumentError) as raised:
        call()
    assert str(raised.value) == text
    assert isinstance(raised.value, TypeError)
    assert len(scale.variants()) == before


def test_error_in_a_grid_function_is_the_users_own():
    with pytest.raises(KeyError, match="BLOK"):
        scale[lambda meta: (meta["BLOK"],)](X, X, 1)


def test_called_like_a_function():
    with pytest.raises(
        RuntimeError, match="scale is a kernel and cannot be called like a function"
    ):
        scale(X, X, 1)


def test_operations_outside_a_kernel():
    with pytest.raises(RuntimeError, match=r"tl\.load works on tiles"):
        tl.load(X)
    with pytest.raises(RuntimeError, match=r"tl\.float32 works on tiles"):
        tl.float32(1)
    with pytest.raises(TypeError, match="cannot be made outside a kernel"):
        tl.tensor()


def test_not_a_function():
    with pytest.raises(TypeError, match="jit: expected a Python function, got an int"):
        st.jit(3)


def test_star_arguments():
    @st.jit
    def helper(*values):
        return values[0]

    with pytest.raises(TypeError, match=r"helper: a kernel that is launched cannot have \*args"):
        helper.params


def test_released_buffer():
    view = memoryview(array.array("f", [1, 2]))
    view.release()
    with pytest.raises(st.ArgumentError, match="argument 'x' does not show its memory"):
        scale[(1,)](view, X, 1)
