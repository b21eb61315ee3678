"""Types of constants, what a kernel may ask of its target, and functions called as statements."""

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile.backends.compiler import GPUTarget
from sectile.language.core import constexpr_type, slice_type, tuple_type

LITERAL = tl.constexpr(10)


@st.jit
def types_of_constants(out, given: tl.constexpr, pair, N: tl.constexpr):
    named: tl.constexpr = given
    tl.static_assert(named.type == constexpr_type(given))
    tl.static_assert(given.type == constexpr_type(given))
    tl.static_assert(LITERAL.type == constexpr_type(10))
    tl.static_assert(LITERAL.type != constexpr_type(11))
    tl.static_assert(N.type.value == 4)
    tl.static_assert(isinstance(pair[0].type, constexpr_type))  # 1, which is specialised
    tl.static_assert(not isinstance(pair[1].type, constexpr_type))
    tl.static_assert(pair[1].type == tl.int32)
    scalar = 10
    tl.static_assert(scalar.type == tl.int32)
    tl.store(out + tl.arange(0, N), pair[0] + pair[1])


@pytest.mark.parametrize("given", [10, 32.5, "text", (5, 6, 7), None, True])
def test_types_of_constants(device, given):
    out = np.zeros(4, np.int32)
    types_of_constants[(1,)](out, given, (1, 5), 4)
    np.testing.assert_array_equal(out, 6)


@pytest.mark.host
def test_constexpr_type_in_python():
    assert constexpr_type(4) == constexpr_type(tl.constexpr(4)) != constexpr_type(5)
    assert hash(constexpr_type("a")) == hash(constexpr_type("a"))
    assert repr(constexpr_type(4)) == "constexpr_type[4]" and constexpr_type(4).value == 4
    assert tl.constexpr_type is constexpr_type and tl.tuple_type is tuple_type


@pytest.mark.host
def test_types_of_tuples_and_slices():
    both = tuple_type([tl.int32, tl.pointer_type(tl.float16)])
    assert both == tuple_type((tl.int32, tl.pointer_type(tl.float16))) != tuple_type([tl.int32])
    assert list(both) == [tl.int32, tl.pointer_type(tl.float16)] and both[0] == tl.int32
    assert both != tuple_type(both.types, ["x", "y"])
    assert str(both) == "[int32,*fp16]" and both.mangle() == "Ti32_Pfp16T"
    assert slice_type() == slice_type() != tl.int32


@pytest.mark.host
@pytest.mark.parametrize(
    "dtype, kind", [(tl.int1, 0), (tl.int8, 1), (tl.uint64, 1), (tl.float16, 2), (tl.float8e5, 2)]
)
def test_kinds_of_dtypes(dtype, kind):
    assert dtype.kind() == kind
    assert dtype.kind() in (tl.dtype.KIND.BOOLEAN, tl.dtype.KIND.INTEGRAL, tl.dtype.KIND.FLOATING)
    assert dtype.cache_key_part == dtype.name and tl.dtype.is_dtype(dtype.name)


@pytest.mark.host
def test_more_of_types():
    assert tl.int32.int_signedness == tl.dtype.SIGNEDNESS.SIGNED
    assert tl.uint8.int_signedness == tl.dtype.SIGNEDNESS.UNSIGNED
    with pytest.raises(AttributeError, match="fp32 is no integer"):
        tl.float32.int_signedness
    with pytest.raises(AttributeError, match="no kind"):
        tl.void.kind()
    assert not tl.dtype.is_dtype("fp31")
    block = tl.block_type(tl.float16, (64, 32))
    assert block.nbytes == 4096 and block.get_block_shapes() == (64, 32)
    assert block.with_element_ty(tl.int8) == tl.block_type(tl.int8, (64, 32))
    assert block.name == "<[64, 32], fp16>" and block.mangle() == "fp16S64_32S"


@st.jit
def ask_target(out):
    tl.store(out, tl.target_info.is_cuda())
    tl.store(out + 1, tl.target_info.is_hip() or tl.target_info.is_hip_cdna3())
    if tl.target_info.cuda_capability_geq(9):
        tl.store(out + 2, 90)
    elif tl.target_info.cuda_capability_geq(8, 9):
        tl.store(out + 2, 89)
    else:
        tl.store(out + 2, 0)


@pytest.mark.host
@pytest.mark.parametrize(
    "target, is_cuda, newest", [("cpu", 0, 0), ("cuda:80", 1, 0), ("cuda:89", 1, 89),
                                ("cuda:90", 1, 90), ("cuda:120", 1, 90)]
)  # fmt: skip
def test_a_kernel_asks_for_its_target(target, is_cuda, newest):
    tile = ask_target.warmup(st.MockTensor(tl.int32), grid=(1,), target=target).asm["tile"]
    stored = [line.split(",")[1] for line in tile.splitlines() if "tile.store" in line]
    values = {
        line.split("=")[0].strip(): line.split("constant")[1].split(":")[0].strip()
        for line in tile.splitlines()
        if "arith.constant" in line
    }
    assert [int(values[name.split(":")[0].strip()]) for name in stored] == [is_cuda, 0, newest]


def test_the_target_of_a_launch(device):
    out = np.full(3, -1, np.int32)
    ask_target[(1,)](out)
    assert out[0] == (device == "cuda") and out[1] == 0


@pytest.mark.host
def test_plain_python_asks_for_the_target(monkeypatch):
    from sectile.language import target_info
    from sectile.runtime.driver import active

    assert target_info.current_target() == active.get_current_target()
    for arch, answers in (("cpu", (0, 0, 0)), (80, (1, 0, 0)), (89, (1, 1, 0)), (90, (1, 1, 1))):
        target = GPUTarget("cpu", "x86_64", 1) if arch == "cpu" else GPUTarget("cuda", arch, 32)
        monkeypatch.setattr(type(active), "get_current_target", lambda self, given=target: given)
        asked = (
            target_info.is_cuda(),
            target_info.cuda_capability_geq(8, 9),
            target_info.cuda_capability_geq(9),
        )
        assert asked == answers
    assert not target_info.is_hip()


@pytest.mark.host
def test_current_target_is_not_for_kernels():
    @st.jit
    def kernel(x):
        if tl.target_info.current_target() is None:
            tl.store(x, 1)

    with pytest.raises(st.CompilationError, match=r"is_cuda\(\)"):
        kernel[(1,)](np.zeros(1, np.int32))


@st.jit
def sometimes(x, value):
    if value > 3:
        tl.store(x, value)
        return value
    elif value > 1:
        return value * 2.0, x


@st.jit
def calls_as_statement(x, value):
    sometimes(x, value)


@pytest.mark.parametrize("value", [0, 2, 7])
def test_a_result_that_nobody_uses_may_be_missing(device, value):
    x = np.zeros(1, np.int32)
    calls_as_statement[(1,)](x, value)
    assert x[0] == (value if value > 3 else 0)


def test_a_result_that_is_used_may_not_be_missing():
    @st.jit
    def kernel(x, value):
        tl.store(x, sometimes(x, value))

    with pytest.raises(st.CompilationError, match="returned values differ"):
        kernel[(1,)](np.zeros(1, np.int32), 5)


@st.jit
def scale_by_strides(base, shape, strides, factors, BLOCK: tl.constexpr):
    tl.static_assert(isinstance(strides[1].type, tl.constexpr_type))
    array = tl.make_tensor_descriptor(
        base, shape=shape, strides=strides, block_shape=[BLOCK, BLOCK]
    )
    tl.static_assert(isinstance(strides[1].type, tl.constexpr_type))
    data = array.load([0, 0])
    for _ in tl.range(0, factors[1]):
        data = factors[0] * data
    array.store([0, 0], data)


def test_tuples_as_shape_and_strides(device):
    x = np.arange(16, dtype=np.int32).reshape(4, 4)
    scale_by_strides[(1,)](x, (4, 4), (4, 1), (2, 3), 4)
    np.testing.assert_array_equal(x, 8 * np.arange(16).reshape(4, 4))


@pytest.mark.host
@pytest.mark.parametrize("number", [2**64, -(2**63) - 1])
def test_integers_beyond_64_bits(number):
    with pytest.raises(OverflowError, match="does not fit into 64 bits") as raised:
        calls_as_statement[(1,)](np.zeros(1, np.int32), number)
    assert isinstance(raised.value, st.ArgumentError)
