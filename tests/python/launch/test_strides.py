"""check="strides": views whose strides a kernel is not told."""

import array

import numpy as np
import pytest

import sectile as st
import sectile.language as tl


@st.jit
def double(out, x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@st.jit
def double_strided(out, x, stride, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i * stride, mask=i < n) * 2, mask=i < n)


@st.jit
def double_of_pair(out, pair, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(pair[0] + i, mask=i < n) + pair[1], mask=i < n)


HELP = (
    "\n  help: pass a copy, as np.ascontiguousarray(x) or x.contiguous() make it, or pass the stride "
    "as an argument, too"
)


def message(kernel, name, shape, strides, axis=0):
    return (
        f"{kernel}: argument '{name}' is a view whose elements do not lie one after the other: its "
        f"shape is {shape}, its strides are {strides} elements, and the stride {strides[axis]} of axis "
        f"{axis} is not among the arguments{HELP}"
    )


def refused(launch):
    with pytest.raises(st.ArgumentError) as raised:
        launch()
    return str(raised.value)


def arrays():
    return np.zeros(32, np.float32), np.arange(32, dtype=np.float32)


@pytest.mark.host
def test_a_view_is_refused():
    out, x = arrays()
    found = refused(lambda: double[(1,)](out, x[::4], 8, BLOCK=8, check="strides"))
    assert found == message("double", "x", (8,), (4,))
    assert (out == 0).all()
    found = refused(
        lambda: double[(1,)](out, x.reshape(4, 8).T, 16, BLOCK=16, check="bounds,strides")
    )
    assert found == message("double", "x", (8, 4), (1, 8))
    found = refused(lambda: double[(1,)](out[::-1], x, 4, BLOCK=4, check="strides"))
    assert found == message("double", "out", (32,), (-1,))
    # One of two strides is not enough, and a size that equals the other says nothing.
    square = x[:16].reshape(4, 4)
    found = refused(lambda: double_strided[(1,)](out, square.T, 4, 4, BLOCK=4, check="strides"))
    assert found == message("double_strided", "x", (4, 4), (1, 4))
    columns = x.reshape(4, 8)[:, ::2]
    found = refused(lambda: double_strided[(1,)](out, columns, 8, 4, BLOCK=4, check="strides"))
    assert found == message("double_strided", "x", (4, 4), (8, 2), axis=1)
    # A row of a matrix is contiguous; a stride of 1 passes nothing.
    found = refused(lambda: double[(1,)](out, x[::2], 1, BLOCK=1, check="strides"))
    assert found == message("double", "x", (16,), (2,))


@pytest.mark.host
def test_what_is_contiguous_or_has_its_strides_passed():
    out, x = arrays()
    double[(1,)](out, x.reshape(4, 8)[1], 8, BLOCK=8, check="strides")
    np.testing.assert_array_equal(out[:8], x[8:16] * 2)
    double_strided[(1,)](out, x[::4], 4, 8, BLOCK=8, check="strides")
    np.testing.assert_array_equal(out[:8], x[::4] * 2)
    double[(1,)](out, x[::8], 3, BLOCK=8, check="strides")  # a constant that is the stride
    double[(1,)](out, x[:0:2], 3, BLOCK=4, check="strides")  # no elements
    double[(1,)](out, np.zeros((1, 4, 1), np.float32)[::2], 4, BLOCK=4, check="strides")


@pytest.mark.host
def test_off_it_says_nothing_and_selects_no_variant():
    out, x = arrays()
    plain = double[(1,)](out, x[::4], 7, BLOCK=16)
    assert double[(1,)](out, x, 7, BLOCK=16, check="strides") is plain
    with st.knobs.scope(check="strides"):
        assert refused(lambda: double[(1,)](out, x[::4], 7, BLOCK=16))
        assert "strides" in refused(lambda: double[(1,)].bind(out, x[::4], 7, BLOCK=16))
    double[(1,)](out, x[::4], 7, BLOCK=16)


@pytest.mark.host
def test_every_kind_of_array():
    out, x = arrays()

    class Interface:
        def __init__(self, array):
            self.array = array
            self.__array_interface__ = array.__array_interface__

    class Dlpack:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **wishes):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    for kind in (Interface, Dlpack, memoryview):
        found = refused(lambda: double[(1,)](out, kind(x[::4]), 8, BLOCK=8, check="strides"))
        assert found == message("double", "x", (8,), (4,)), kind
        double[(1,)](out, kind(x), 8, BLOCK=8, check="strides")
    double[(1,)](out, array.array("f", [1.0] * 8), 8, BLOCK=8, check="strides")
    found = refused(lambda: double_of_pair[(1,)](out, (x[::4], 1.0), 8, BLOCK=8, check="strides"))
    assert found == message("double_of_pair", "pair[0]", (8,), (4,))
    # The stride may be an item of a tuple, too.
    double_of_pair[(1,)](out, (x[::4], 4), 8, BLOCK=8, check="strides")


@pytest.mark.host
def test_torch_tensors():
    torch = pytest.importorskip("torch")
    out, x = torch.zeros(32), torch.arange(32, dtype=torch.float32)
    found = refused(lambda: double[(1,)](out, x.view(4, 8).t(), 32, BLOCK=32, check="strides"))
    assert found == message("double", "x", (8, 4), (1, 8))
    double[(1,)](out, x.view(4, 8).t().contiguous(), 32, BLOCK=32, check="strides")


@pytest.mark.host
def test_a_bound_launch_checks_what_is_exchanged():
    out, x = arrays()
    run = double[(1,)].bind(out, x, 8, BLOCK=8, check="strides")
    run()
    assert refused(lambda: run(x=x[::4])) == message("double", "x", (8,), (4,))
    run()


@pytest.mark.host
def test_unknown_checks():
    out, x = arrays()
    with pytest.raises(st.ArgumentError, match="not 'bounds', 'strides' or 'bounds,strides'"):
        double[(1,)](out, x, 8, BLOCK=8, check="stride")


@pytest.mark.host
def test_arrays_without_memory_are_refused():
    out, x = arrays()

    class Nowhere:
        __array_interface__ = {"data": (0, False), "typestr": "<f4", "shape": (8,), "version": 3}

    help = "help: its storage was freed or was never made, as of torch's fake and zero tensors"
    found = refused(lambda: double[(1,)](out, Nowhere(), 8, BLOCK=8))
    assert "'x'" in found and "has elements and no memory" in found and help in found
    torch = pytest.importorskip("torch")
    freed = torch.arange(8, dtype=torch.float32)
    freed.untyped_storage().resize_(0)
    for tensor in (freed, torch._efficientzerotensor(8)):
        assert "has elements and no memory" in refused(
            lambda: double[(1,)](out, tensor, 8, BLOCK=8)
        )
    double[(1,)](out, torch.empty(0), 0, BLOCK=8)
