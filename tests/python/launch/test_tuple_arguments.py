"""Tuples, named and nested ones, as arguments of a launch: each item is an argument of its own."""

import collections
import gc
import os
import subprocess
import sys
import textwrap
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

import sectile as st
import sectile.language as tl


class Matrix(NamedTuple):
    data: Any
    shape: tuple
    strides: tuple


class Epilogue(NamedTuple):
    function: Any
    captured: tuple = ()


Pair = collections.namedtuple("Pair", "first second")


def matrix(array):
    return Matrix(array, array.shape, tuple(s // array.itemsize for s in array.strides))


def random(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@st.jit
def add_all(out, inputs, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in tl.static_range(len(inputs)):
        total += tl.load(inputs[k] + i, mask=i < n)
    tl.store(out + i, total, mask=i < n)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("kind", [tuple, list])
def test_arrays_in_a_tuple(count, kind):
    inputs = kind(random(1003, seed=k) for k in range(count))
    out = np.full(1003, np.nan, np.float32)
    add_all[(4,)](out, inputs, 1003, BLOCK=256)
    exact = sum((x.astype(np.float64) for x in inputs), np.zeros(1003))
    np.testing.assert_allclose(out, exact, rtol=0, atol=1e-6 * max(count, 1) * 4)


@st.jit
def serialize(out, nothing, pack, middle: tl.constexpr, number, last):
    tl.static_assert(nothing is None)
    tl.static_assert(pack[1][1] is None)
    tl.static_assert(pack[1][3] == 4)
    tl.static_assert(len(pack) == 2 and len(pack[1]) == 4)
    tl.store(out + 0, tl.load(pack[0]))
    tl.store(out + 1, pack[1][0])
    tl.store(out + 2, tl.load(pack[1][2]))
    tl.store(out + 3, pack[1][3])
    tl.store(out + 4, middle)
    tl.store(out + 5, number)
    tl.store(out + 6, tl.load(last[0]))


def test_constants_nones_and_numbers_in_nested_tuples():
    x, y, out = np.array([8], np.int32), np.array([9], np.int32), np.zeros(7, np.int32)
    serialize[(1,)](out, None, (x, (1, None, y, tl.constexpr(4))), 20, 5, (x,))
    assert out.tolist() == [8, 1, 9, 4, 20, 5, 8]
    serialize[(1,)](out, None, (x, (77, None, y, tl.constexpr(4))), 20, 6, (y,))
    assert out.tolist() == [8, 77, 9, 4, 20, 6, 9]


@st.jit
def scaled(x, factor, offset):
    return x * factor + offset


@st.jit
def plain(x):
    return x


@st.jit
def tile_of(m, rows, columns):
    return m.data + rows[:, None] * m.strides[0] + columns[None, :] * m.strides[1]


@st.jit
def inside(m, rows, columns):
    return (rows[:, None] < m.shape[0]) & (columns[None, :] < m.shape[1])


@st.jit
def transform(epilogue, x, out, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    tile = tl.load(tile_of(x, rows, columns), mask=inside(x, rows, columns))
    result = epilogue.function(tile, *epilogue.captured)
    tl.store(tile_of(out, rows, columns), result, mask=inside(out, rows, columns))


@pytest.mark.parametrize("order", ["C", "F"])
def test_named_tuples(order):
    x = np.asarray(random(13, 29), order=order)
    out = np.full((13, 29), np.nan, np.float32)
    transform[(1,)](Epilogue(scaled, (2.5, 1)), matrix(x), matrix(out), 16, 32)
    np.testing.assert_allclose(out, x.astype(np.float64) * 2.5 + 1, rtol=1e-6)
    transform[(1,)](Epilogue(plain), matrix(x), matrix(out), M=16, N=32)
    assert (out == x).all()


@st.jit
def make_and_branch(out, a, b, condition, n):
    pair = Pair(first=a, second=b)
    if condition > 0:
        pair = Pair(b, second=a)
    for _ in range(n):
        pair = Pair(pair.first + 1, pair.second + pair.first)
    tl.static_assert(isinstance(pair, Pair) and isinstance(pair, tuple))
    tl.static_assert(not isinstance((1, 2), Pair))
    e = Epilogue(plain)
    first, second = pair
    tl.store(out, e.function(first))
    tl.store(out + 1, second + len(e.captured))


@pytest.mark.parametrize("condition", [0, 1])
@pytest.mark.parametrize("n", [0, 3])
def test_named_tuples_are_made_and_carried_in_kernels(condition, n):
    out = np.zeros(2, np.int32)
    make_and_branch[(1,)](out, 30, 40, condition, n)
    a, b = (40, 30) if condition else (30, 40)
    for _ in range(n):
        a, b = a + 1, b + a
    assert out.tolist() == [a, b]


CONSTANT = Pair(tl.constexpr(3), tl.constexpr(4))


@st.jit
def constant_pair(out, pair: tl.constexpr):
    tl.store(out, pair.first * 10 + pair.second + 100 * CONSTANT.first)
    tl.store(out + 1, Pair(1, 2).second + getattr(pair, "second"))  # noqa: B009


def test_named_tuples_as_constants():
    out = np.zeros(2, np.int32)
    constant_pair[(1,)](out, Pair(5, 6))
    assert out.tolist() == [356, 8]


def test_items_are_specialised_as_arguments_are():
    kernel = st.jit(add_all.fn)
    x, out = random(64), np.zeros(64, np.float32)
    shifted = np.zeros(68, np.float32)[1:65]

    def launch(*inputs):
        kernel[(1,)](out, inputs, 64, BLOCK=64)

    launch(x)
    launch(x.copy())
    assert len(kernel.variants()) == 1
    launch(shifted)
    launch(x, x)
    launch(x.astype(np.float64))
    reasons = [variant.reason for variant in kernel.variants()]
    assert len(reasons) == 4
    signatures = [variant.signature["inputs"] for variant in kernel.variants()]
    assert signatures == [("*fp32:16",), ("*fp32",), ("*fp32:16", "*fp32:16"), ("*fp64:16",)]


@st.jit
def sum_of(out, numbers):
    tl.store(out, numbers[0] + numbers[1])


def test_numbers_are_passed_and_not_constants():
    kernel, out = st.jit(sum_of.fn), np.zeros(1, np.int64)
    for a, b in [(2, 3), (3, 5), (7, 11), (2, 1 << 40)]:
        kernel[(1,)](out, (a, b))
        assert out[0] == a + b
    assert len(kernel.variants()) == 2
    kernel[(1,)](out, (1, 5))  # 1 is a constant
    assert out[0] == 6 and len(kernel.variants()) == 3
    assert kernel.variants()[-1].signature["numbers"] == (1, "i32")


def test_variants_can_be_made_ahead():
    x, out = random(13, 29), np.zeros((13, 29), np.float32)
    launched = st.jit(transform.fn)
    launched[(1,)](Epilogue(scaled, (2.5, 3)), matrix(x), matrix(out), 16, 32)
    (variant,) = launched.variants()
    assert variant.signature["x"] == Matrix("*fp32:16", ("i32", "i32"), ("i32", 1))
    ahead = st.jit(transform.fn)
    ahead.precompile([variant])
    compiles = []
    st.set_compile_listener(compiles.append)
    try:
        ahead[(1,)](Epilogue(scaled, (2.5, 3)), matrix(x), matrix(out), 16, 32)
    finally:
        st.set_compile_listener(None)
    assert not compiles
    assert {str(each.signature) for each in ahead.variants()} == {str(variant.signature)}


@pytest.mark.host
def test_warmup_with_stand_ins():
    compiled = add_all.warmup(tl.float32, (tl.float32, tl.float16), 64, BLOCK=64, grid=(1,))
    arguments = [argument for argument in compiled.asm["tile"].splitlines() if "func" in argument]
    assert "inputs[1]" in arguments[0]


@pytest.mark.host
def test_bound_kernels():
    out = np.zeros(64, np.float32)
    inputs = [random(64, seed=k) for k in range(3)]
    run = add_all[(1,)].bind(out, (inputs[0],), 64, BLOCK=64)
    run()
    assert (out == inputs[0]).all()
    run(inputs=(inputs[1], inputs[2]))
    assert (out == inputs[1] + inputs[2]).all()
    with pytest.raises(st.ArgumentError, match=r"argument 'inputs\[1\]' is a dict"):
        run(inputs=(inputs[1], {}))
    out[:] = 0
    run(n=32)
    assert (out[:32] == (inputs[1] + inputs[2])[:32]).all() and not out[32:].any()


@pytest.mark.host
def test_bound_kernels_keep_what_tuples_hold():
    class Holder(np.ndarray):
        pass

    x = random(64).view(Holder)
    expected, alive = np.array(x), weakref.ref(x)
    out = np.zeros(64, np.float32)
    run = add_all[(1,)].bind(out, [x], 64, BLOCK=64)
    del x
    gc.collect()
    assert alive() is not None
    run()
    assert (out == expected).all()


@pytest.mark.host
def test_errors_name_the_item():
    x, out = random(64), np.zeros(64, np.float32)
    with pytest.raises(st.ArgumentError, match=r"argument 'inputs\[1\]' is an object"):
        add_all[(1,)](out, (x, object()), 64, BLOCK=64)
    with pytest.raises(st.ArgumentError, match=r"argument 'x.shape\[1\]' is a dict"):
        transform[(1,)](Epilogue(plain), Matrix(x, (1, {}), (1, 1)), matrix(x), 16, 16)
    with pytest.raises(
        st.ArgumentError, match=r"argument 'inputs\[0\]' is 1180591620717411303424, which does not"
    ):
        add_all[(1,)](out, (2**70,), 64, BLOCK=64)
    read_only = random(64)
    read_only.flags.writeable = False
    transform[(1,)](Epilogue(plain), matrix(read_only[None]), matrix(out[None]), 1, 64)
    with pytest.raises(st.ArgumentError, match="argument 'out.data' is read-only"):
        transform[(1,)](Epilogue(plain), matrix(out[None]), matrix(read_only[None]), 1, 64)
    with pytest.raises(st.OutOfBoundsError, match=r"'inputs\[0\]'"):
        add_all[(1,)](np.zeros(80, np.float32), (x,), 80, BLOCK=128, check="bounds")
    endless = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        add_all[(1,)](out, endless, 64, BLOCK=64)


@st.jit
def annotated(out, n: tl.int32):
    tl.store(out, n)


@st.jit
def wrong_field(out, pair):
    tl.store(out, pair.frist)


@st.jit
def wrong_item(out, pair):
    tl.store(out, Pair(pair.first, third=2)[0])


@st.jit
def missing_item(out, pair):
    tl.store(out, Pair(second=pair.first)[0])


@pytest.mark.host
@pytest.mark.parametrize(
    "kernel, message",
    [
        (wrong_field, "(?s)Pair has no attribute 'frist'.*did you mean 'first'"),
        (wrong_item, "(?s)Pair has no field 'third'.*its fields are first, second"),
        (missing_item, "(?s)Pair: field 'first' is missing.*its fields are first, second"),
    ],
)
def test_wrong_uses_in_kernels(kernel, message):
    with pytest.raises(st.CompilationError, match=message):
        kernel[(1,)](np.zeros(1, np.int32), Pair(3, 4))


@pytest.mark.host
def test_a_typed_parameter_takes_no_tuple():
    with pytest.raises(st.ArgumentError, match="'n' is annotated with a type and got a tuple"):
        annotated[(1,)](np.zeros(1, np.int32), (1, 2))


@pytest.mark.host
def test_arrays_of_tuples_that_overlap():
    """As with plain arguments: what a kernel writes and reads through two items at once."""

    @st.jit
    def shift(arrays, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(arrays[0] + i, tl.load(arrays[1] + i, mask=i < n), mask=i < n)

    x = random(1001)
    expected = x[:-1].copy()
    shift[(1,)]((x[1:], x[:-1]), 1000, BLOCK=1024)
    assert (x[1:] == expected).all()


PROGRAM = """
    import sys
    from typing import NamedTuple
    import numpy as np
    import sectile as st
    import sectile.language as tl

    class Pair(NamedTuple):
        {fields}

    @st.jit
    def kernel(out, given):
        pair = Pair(given.first, given.second)
        tl.store(out, pair.first - pair.second)

    out = np.zeros(1, np.int32)
    kernel[(1,)](out, Pair(first=7, second=3))
    assert out[0] == (4 if Pair._fields[0] == "first" else -4)
    print(st.runtime.control.statistics()["compiles"])
"""


@pytest.mark.host
def test_other_fields_are_another_entry_of_the_cache(tmp_path):
    def run(fields):
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(PROGRAM).replace("{fields}", fields))
        result = subprocess.run(
            [sys.executable, str(script)],
            capture_output=True,
            text=True,
            env={**os.environ, "SECTILE_CACHE_DIR": str(tmp_path / "cache")},
        )
        assert result.returncode == 0, result.stderr
        return int(result.stdout)

    assert run("first: int; second: int") == 1
    assert run("first: int; second: int") == 0
    assert run("second: int; first: int") == 1
    assert run("second: int; first: int") == 0


@pytest.mark.host
def test_sources():
    made = st.compile(
        st.compiler.ASTSource(
            st.jit(serialize.fn),
            {
                "out": "*i32",
                "pack": ("*i32", ("i32", "constexpr", "*i32", "constexpr")),
                "number": "i32",
                "last": ("*i32",),
            },
            {"nothing": None, "middle": 3, (2, 1, 1): None, (2, 1, 3): 4},
            {(2, 0): [["tt.divisibility", 16]]},
        )
    )
    text = made.asm["tile"]
    assert '"pack[1][2]"' in text and "pack[1][1]" not in text and "pack[1][3]" not in text
    x, out = random(13, 29), np.zeros((13, 29), np.float32)
    kernel = st.jit(transform.fn)  # on the CPU, as its arrays are
    launched = kernel[(1,)](Epilogue(scaled, (2.5, 3)), matrix(x), matrix(out), 16, 32)
    assert st.compile(launched.src, "cpu").hash == launched.hash
    out[:] = 0
    launched[(1,)](Epilogue(scaled, (2.5, 3)), matrix(x), matrix(out))
    np.testing.assert_allclose(out, x.astype(np.float64) * 2.5 + 3, rtol=1e-6)


@pytest.mark.host
def test_tuning_restores_items_of_tuples():
    @st.jit
    def add_into(arrays, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        for k in tl.static_range(len(arrays) - 1):
            x = tl.load(arrays[k] + i, mask=i < n)
            tl.store(arrays[k] + i, x + tl.load(arrays[k + 1] + i, mask=i < n), mask=i < n)

    tuned = st.autotune(
        [st.Config({"BLOCK": 64}), st.Config({"BLOCK": 128})], key=["n"], restore_value=["arrays"]
    )(add_into)
    arrays = tuple(random(300, seed=k) for k in range(3))
    before = [array.copy() for array in arrays]
    tuned[lambda meta: (st.cdiv(300, meta["BLOCK"]),)](arrays, 300)
    assert (arrays[0] == before[0] + before[1]).all()
    assert (arrays[1] == before[1] + before[2]).all() and (arrays[2] == before[2]).all()
    doubles = tuple(array.astype(np.float64) for array in before)
    tuned[lambda meta: (st.cdiv(300, meta["BLOCK"]),)](doubles, 300)
    assert (doubles[0] == doubles[0]).all() and len(tuned.cache) == 2


@pytest.mark.host
def test_tuning_zeroes_items_of_tuples():
    @st.jit
    def accumulate(outs, x, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(
            outs[1] + i, tl.load(outs[1] + i, mask=i < n) + tl.load(x + i, mask=i < n), mask=i < n
        )

    tuned = st.autotune(
        [st.Config({"BLOCK": 64}), st.Config({"BLOCK": 128})], key=["n"], reset_to_zero=["outs"]
    )(accumulate)
    x, outs = random(300), (5, np.zeros(300, np.float32))
    tuned[lambda meta: (st.cdiv(300, meta["BLOCK"]),)](outs, x, 300)
    assert (outs[1] == x).all()
    tuned.pre_hook({"outs": outs})
    assert not outs[1].any()


@pytest.mark.host
def test_tuned_kernels():
    tuned = st.autotune([st.Config({"BLOCK": 64}), st.Config({"BLOCK": 128})], key=["n"])(
        st.jit(add_all.fn)
    )
    inputs = tuple(random(300, seed=k) for k in range(3))
    out = np.zeros(300, np.float32)
    for _ in range(2):
        out[:] = 0
        tuned[lambda meta: (st.cdiv(300, meta["BLOCK"]),)](out, inputs, 300)
        np.testing.assert_allclose(out, sum(inputs), rtol=1e-6)
