"""Arrays whose description is wrong, or is not all there is to say of them."""

import numpy as np
import pytest

import sectile as st
import sectile.language as tl

pytestmark = pytest.mark.host


@st.jit
def copy(x, out, STRIDE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i * STRIDE))


X, OUT = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)


class Described:
    def __init__(self, **fields):
        good = {"data": (X.ctypes.data, False), "typestr": "<f4", "shape": (8,), "version": 3}
        self.__array_interface__ = {**good, **fields}


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"shape": "x"}, "whose shape is 'x', not a tuple of integers of 64 bits"),
        ({"shape": 8}, "whose shape is 8, not a tuple of integers"),
        ({"shape": None}, "whose shape is None, not a tuple of integers"),
        ({"shape": (8.5,)}, "whose shape is (8.5,), not a tuple of integers"),
        ({"shape": (2**70,)}, "whose shape is (1180591620717411303424,), not a tuple of integers"),
        ({"shape": (-8,)}, "has a negative extent: -8"),
        ({"shape": (2, -4)}, "has a negative extent: -4"),
        ({"strides": "x"}, "whose strides is 'x', not a tuple of integers"),
        ({"strides": ("a",)}, "whose strides is ('a',), not a tuple of integers"),
        ({"strides": (4, 4)}, "with 1 extents and 2 strides"),
        ({"strides": ()}, "with 1 extents and 0 strides"),
        ({"data": X.ctypes.data}, "whose data is not an (address, read-only) pair"),
        ({"data": ("here", False)}, "whose data is not an (address, read-only) pair"),
        ({"data": (2**70, False)}, "whose address does not fit into 64 bits"),
        ({"typestr": 5}, "has element type 5, which kernels do not know"),
    ],
)
def test_a_bad_array_interface_is_named(fields, message):
    with pytest.raises(st.ArgumentError) as raised:
        copy[(1,)](Described(**fields), OUT, 1, 8)
    text = str(raised.value)
    assert message in text and text.startswith("copy: argument 'x' ")
    assert "\n  help: " in text and "pybind" not in text.lower() and "cast" not in text.lower()


def test_a_good_array_interface_is_read():
    OUT[:] = 0
    copy[(1,)](Described(shape=[4], strides=(8,)), OUT, 2, 4)
    np.testing.assert_array_equal(OUT[:4], X[::2])


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def lazily_negated(torch):
    z = torch.complex(torch.zeros(8), torch.arange(8.0))
    matrix = torch.complex(torch.zeros(3, 4), torch.ones(3, 4)).conj().imag
    parameter = torch.nn.Parameter(torch.ones(4))
    return {
        "imaginary part": z.conj().imag,
        "a slice of one": z.conj().imag[1:5],
        "one element": z.conj().imag[3:4],
        "no dimension": z.conj().imag[3],
        "transposed": matrix.T,
        "contiguous": torch._neg_view(torch.ones(8)),
        "of doubles": torch._neg_view(torch.ones(8, dtype=torch.float64)),
        "a parameter's": torch._neg_view(parameter),
        "in inference mode": inference_view(torch),
    }


def inference_view(torch):
    with torch.inference_mode():
        return torch._neg_view(torch.ones(8))


def test_lazily_negated_views_are_refused(torch):
    out = torch.zeros(8)
    copy[(1,)](torch.ones(8), out, 1, 8)  # a plain one first
    for name, view in lazily_negated(torch).items():
        assert view.is_neg(), name
        with pytest.raises(st.ArgumentError) as raised:
            copy[(1,)](view, out, 1, 1)
        assert "is a view that torch negates when it reads it" in str(raised.value), name
        assert "x.resolve_neg()" in str(raised.value)
        copy[(1,)](view.resolve_neg(), out, 1, 1)
        assert out[0] == view.flatten()[0], name


def test_other_views_are_read(torch):
    out = torch.zeros(8)
    z = torch.complex(torch.zeros(8), torch.arange(8.0))
    twice = torch._neg_view(torch._neg_view(torch.arange(8.0)))
    for x, stride in (
        (z.imag, 2),
        (twice, 1),
        (torch.arange(16.0)[::2], 2),
        (torch.nn.Parameter(torch.ones(8)), 1),
    ):
        copy[(1,)](x, out, stride, 8)
        assert torch.equal(out, x)
    assert not torch.zeros(3).is_neg()


def test_conjugated_tensors_are_complex_and_refused(torch):
    z = torch.complex(torch.zeros(8), torch.arange(8.0))
    with pytest.raises(st.ArgumentError, match="has element type torch.complex64"):
        copy[(1,)](z.conj(), torch.zeros(8), 1, 8)


def test_a_lambda_is_no_kernel():
    with pytest.raises(TypeError) as raised:
        st.jit(lambda x: x)
    assert str(raised.value) == (
        "jit: a kernel is made from a function that `def` defines, got a lambda\n"
        "  help: its source is the text from `def` on"
    )
