"""Tensor descriptors as arguments of launches."""

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile.tools.tensor_descriptor import TensorDescriptor

torch = pytest.importorskip("torch")


@st.jit
def double(d, e):
    tl.static_assert(isinstance(d, tl.tensor_descriptor))
    tl.static_assert(d.dtype == e.dtype)
    i = tl.program_id(0) * d.block_shape[0]
    for j in range(0, d.shape[1], d.block_shape[1]):
        e.store([i, j], d.load([i, j]) * 2)


def test_an_array_by_its_descriptor():
    assert st.TensorDescriptor is TensorDescriptor
    x = np.random.default_rng(0).standard_normal((37, 64)).astype(np.float32)
    for blocks in ([16, 32], (8, 16), [7, 20]):
        o = np.zeros_like(x)
        made = [TensorDescriptor.from_tensor(array, blocks) for array in (x, o)]
        double[(-(-37 // blocks[0]),)](*made)
        np.testing.assert_array_equal(o, 2 * x)


def test_extents_of_one_and_views():
    for x in (np.ones((1, 64), np.float32), np.ones((9, 96), np.float32)[1:9, 32:64]):
        o = np.zeros((*x.shape,), np.float32)
        double[(2,)](*(TensorDescriptor.from_tensor(array, [8, 16]) for array in (x, o)))
        np.testing.assert_array_equal(o, 2 * x)


def test_torch(device):
    place = "cuda" if device == "cuda" else "cpu"
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        x = torch.randn(40, 64, device=place).to(dtype)
        o = torch.zeros_like(x)
        double[(5,)](*(TensorDescriptor.from_tensor(array, [8, 16]) for array in (x, o)))
        assert torch.equal(o, 2 * x)


def test_padding():
    @st.jit
    def edge(d, e):
        e.store([0], d.load([8]))

    x, o = np.arange(12, dtype=np.float32), np.zeros(16, np.float32)
    for padding, rest in (("zero", 0), ("nan", np.nan)):
        edge[(1,)](
            TensorDescriptor(x, [12], [1], [16], padding), TensorDescriptor.from_tensor(o, [16])
        )
        np.testing.assert_array_equal(o, [8, 9, 10, 11] + [rest] * 12)


def test_in_tuples_and_keywords():
    @st.jit
    def kernel(pair, n, SHIFT: tl.constexpr):
        (source, target), rest = pair
        target.store([SHIFT], source.load([n]) + rest)

    x, o = np.arange(64, dtype=np.int32), np.zeros(16, np.int32)
    d, e = (TensorDescriptor.from_tensor(array, [16]) for array in (x, o))
    kernel[(1,)](((d, e), 100), n=5, SHIFT=0)
    np.testing.assert_array_equal(o, np.arange(105, 121))


def variants(kernel):
    return len(kernel.variants())


def test_what_is_compiled_anew():
    @st.jit
    def kernel(d, e):
        e.store([0, 0], d.load([0, 0]))

    x, o = np.ones((20, 64), np.float32), np.zeros((20, 64), np.float32)
    d, e = (TensorDescriptor.from_tensor(array, [8, 16]) for array in (x, o))
    kernel[(1,)](d, e)
    kernel[(1,)](d, e)
    assert variants(kernel) == 1
    # Sizes are arguments: other arrays of a kind run the same code.
    kernel[(1,)](*(TensorDescriptor.from_tensor(a, [8, 16]) for a in (x[:19], o[:19])))
    assert variants(kernel) == 1
    d.block_shape = [4, 16]
    e.block_shape = [4, 16]
    kernel[(1,)](d, e)
    assert variants(kernel) == 2
    d.padding = "nan"
    kernel[(1,)](d, e)
    assert variants(kernel) == 3


def test_a_hook_of_the_tuner_sets_blocks():
    def set_blocks(arguments):
        for name in ("d", "e"):
            arguments[name].block_shape = [arguments["M"], 16]

    @st.autotune([st.Config({"M": m}, pre_hook=set_blocks) for m in (4, 8)], key=[])
    @st.jit
    def kernel(d, e, M: tl.constexpr):
        tl.static_assert(d.block_shape[0] == M)
        i = tl.program_id(0) * M
        e.store([i, 0], d.load([i, 0]))

    x, o = np.ones((20, 16), np.float32), np.zeros((20, 16), np.float32)
    d, e = (TensorDescriptor.from_tensor(array, [1, 1]) for array in (x, o))
    kernel[lambda meta: (-(-20 // meta["M"]),)](d, e)
    np.testing.assert_array_equal(o, x)


@pytest.mark.host
def test_compiled_ahead():
    x, o = np.ones((16, 16), np.float32), np.zeros((16, 16), np.float32)
    made = [TensorDescriptor.from_tensor(array, [8, 16]) for array in (x, o)]
    ahead = double.warmup(*made, grid=(2,))
    double[(2,)](*made)
    np.testing.assert_array_equal(o, 2)
    assert "block_load" in ahead.asm["tile"]


def odd_strides():
    return np.ones((4, 9), np.float32)


@pytest.mark.host
@pytest.mark.parametrize(
    "make, message",
    [
        (lambda x: TensorDescriptor(x, [4, 4], [4], [2, 4]), "strides [4] has 1 entries, shape has 2"),
        (lambda x: TensorDescriptor(x, [4], [1], [2, 4]), "block_shape [2, 4] has 2 entries, shape has 1"),
        (lambda x: TensorDescriptor(x, [], [], []), "shape has 0 dimensions, not 1 to 5"),
        (lambda x: TensorDescriptor(x, [4, 4], [4, 2], [2, 4]), "the last of strides [4, 2] should be 1"),
        (lambda x: TensorDescriptor(x, [4, 0], [4, 1], [2, 4]), "shape [4, 0] should be positive numbers"),
        (lambda x: TensorDescriptor(x, [4, 4], [4, 1], [2, -4]), "block_shape [2, -4] should be positive"),
        (lambda x: TensorDescriptor.from_tensor(odd_strides(), [2, 4]),
         "strides[0] is 9 elements, 36 bytes, and should be a multiple of 16 bytes"),
        (lambda x: TensorDescriptor(x[1:], [4], [1], [4]), "which is no multiple of 16 bytes"),
        (lambda x: TensorDescriptor(x, [17, 4], [4, 1], [2, 4]),
         "reaches element 67, and the memory of base ends behind element 63"),
        (lambda x: TensorDescriptor(x[4:], [16, 4], [4, 1], [2, 4]),
         "reaches element 63, and the memory of base ends behind element 59"),
        (lambda x: TensorDescriptor(x, [4], [1], [4], "one"), "padding 'one' is neither 'zero' nor 'nan'"),
        (lambda x: TensorDescriptor(x.astype(np.int32), [4], [1], [4], "nan"),
         "padding 'nan' is for floating-point numbers, not for int32"),
        (lambda x: TensorDescriptor(None, [4], [1], [4]), "base is NoneType, which is no array"),
        (lambda x: TensorDescriptor(x, [4.5], [1], [4]), "shape [4.5] should be a sequence of integers"),
        (lambda x: TensorDescriptor(x, 4, [1], [4]), "shape 4 should be a sequence of integers"),
    ],
)  # fmt: skip
def test_what_is_refused_when_made(make, message):
    with pytest.raises((ValueError, TypeError)) as raised:
        make(np.ones(64, np.float32))
    assert message in str(raised.value)


@pytest.mark.host
@pytest.mark.parametrize(
    "field, value",
    [("block_shape", [8.5, 16]), ("block_shape", [8]), ("block_shape", None), ("base", None),
     ("strides", [64]), ("shape", ["a", "b"])],
)  # fmt: skip
def test_what_is_refused_at_launch(field, value):
    x = np.ones((20, 64), np.float32)
    d, e = (TensorDescriptor.from_tensor(x, [8, 16]) for _ in range(2))
    setattr(d, field, value)
    with pytest.raises(st.ArgumentError) as raised:
        double[(1,)](d, e)
    assert f"'d' is a TensorDescriptor whose {field} is" in str(raised.value)


@pytest.mark.host
def test_compiled_from_its_kinds():
    """What a variant is specialised on is what compiles it again."""

    @st.jit
    def kernel(d, n):
        d.store([n], d.load([0]) + 1)

    d = TensorDescriptor.from_tensor(np.ones(64, np.float32), [16])
    kernel[(1,)](d, 17)
    (variant,) = kernel.variants()
    assert repr(variant.signature["d"]).startswith(
        "DescriptorKind(base='*fp32:16', shape=('i32:16',)"
    )
    again = st.compile(kernel, signature=variant.signature, target="cpu")
    assert "block_store" in again.asm["tile"]


def test_reinterpreted_arrays():
    """Dtypes that torch has not: the wrapper has what programs ask of a tensor."""
    raw = torch.arange(64, dtype=torch.int32)
    x = st.reinterpret(raw, tl.uint32)
    o = x.new_empty((64,))
    assert o.shape == (64,) and o.device == raw.device and o.data.dtype == torch.int32

    @st.jit
    def kernel(d, e):
        tl.static_assert(d.dtype == tl.uint32)
        e.store([0], d.load([0]) // 2)

    kernel[(1,)](*(TensorDescriptor.from_tensor(array, [64]) for array in (x, o)))
    assert torch.equal(o.base, raw // 2)
    copy = x.clone()
    assert torch.equal(copy.cpu().to("cpu").base, raw) and copy.data_ptr() != x.data_ptr()
    assert torch.equal(copy.copy_(o).base, raw // 2)


def test_tuning_restores_what_descriptors_describe(device):
    """Candidates run on the caller's arrays; none of their sums stays."""

    @st.autotune([st.Config({"M": m}) for m in (2, 4, 8)], key=[])
    @st.jit
    def kernel(d, pair, M: tl.constexpr):
        rows = tl.program_id(0) * M
        for i in tl.static_range(M):
            pair[0].atomic_add([rows + i, 0], d.load([rows + i, 0]))

    x, o = np.ones((20, 16), np.float32), np.full((20, 16), 5, np.float32)
    if device == "cuda":
        x, o = torch.tensor(x, device="cuda"), torch.tensor(o, device="cuda")
    d, e = (TensorDescriptor.from_tensor(array, [1, 16]) for array in (x, o))
    kernel[lambda meta: (-(-20 // meta["M"]),)](d, (e, 0))
    assert (o == 6).all()
