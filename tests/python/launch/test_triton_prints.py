"""SECTILE_PRINT_FORMAT=triton: prints as Triton's programs and tests expect them."""

import numpy as np
import pytest

import sectile as st
import sectile.language as tl


@pytest.fixture(autouse=True)
def triton_format():
    with st.knobs.scope(print_format="triton"):
        yield


def printed(capfd, kernel, *arguments, grid=(1,), **constants):
    capfd.readouterr()
    kernel[grid](*arguments, **constants)
    return capfd.readouterr().out.splitlines()


@st.jit
def tile(x, PREFIX: tl.constexpr, HEX: tl.constexpr, N: tl.constexpr):
    tl.device_print(PREFIX, tl.load(x + tl.arange(0, N)), hex=HEX)


@pytest.mark.parametrize("prefix", ["x: ", "x:", "x ", "x", " x: "])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"])  # fmt: skip
def test_a_line_for_each_element(capfd, dtype, prefix):
    x = np.arange(128).astype(dtype)
    end = ".000000" if "float" in dtype else ""
    lines = printed(capfd, tile, x, prefix, False, 128)
    assert lines == [f"pid (0, 0, 0) idx ({i:3}) x: {i}{end}" for i in range(128)]


def test_signs_and_hexadecimals(capfd):
    lines = printed(capfd, tile, -np.arange(128, dtype=np.int32), "x: ", False, 128)
    assert lines[:2] + lines[-1:] == [
        "pid (0, 0, 0) idx (  0) x: 0", "pid (0, 0, 0) idx (  1) x: -1",
        "pid (0, 0, 0) idx (127) x: -127",
    ]  # fmt: skip
    large = (np.arange(4) + (1 << 31)).astype(np.uint32)
    assert printed(capfd, tile, large, "x: ", False, 4)[3] == "pid (0, 0, 0) idx (3) x: 2147483651"
    for dtype, digits in (("int16", 4), ("int32", 8), ("int64", 16)):
        lines = printed(capfd, tile, np.arange(128).astype(dtype), "x: ", True, 128)
        assert lines == [f"pid (0, 0, 0) idx ({i:3}) x: 0x{i:0{digits}x}" for i in range(128)]


@st.jit
def others(x, n, number, N: tl.constexpr):
    i = tl.arange(0, N)
    print("", tl.load(x + i), tl.full((N,), 1, tl.int32))
    print("int:", n)
    print("float:", number)
    print("flag", n > 3)
    print("", tl.program_id(1))
    print("no arg")
    tl.device_print("ptr ", x + i)
    tl.device_print("", i[:, None] * 10 + tl.arange(0, 12)[None, :])
    tl.device_print("one", tl.full((1, 2), 0.5, tl.float16))


def test_other_values(capfd):
    x = np.arange(4, dtype=np.int32)
    lines = printed(capfd, others, x, 42, 3.14, 4, grid=(1, 2))
    assert len(lines) == 2 * (8 + 5 + 4 + 48 + 2)
    second = lines[len(lines) // 2 :]
    pid = "pid (0, 1, 0) idx "
    assert second[:8] == [f"{pid}({i}): (operand 0) {i}" for i in range(4)] + [
        f"{pid}({i}): (operand 1) 1" for i in range(4)
    ]
    assert second[8:13] == [
        f"{pid}() int: 42", f"{pid}() float: 3.140000", f"{pid}() flag: 1", f"{pid}(): 1",
        "pid (0, 1, 0) no arg",
    ]  # fmt: skip
    assert second[13].startswith(f"{pid}(0) ptr: 0x")
    assert int(second[16].split("0x")[1], 16) - int(second[13].split("0x")[1], 16) == 12
    expected = [f"{pid}({i}, {j:2}): {10 * i + j}" for i in range(4) for j in range(12)]
    assert second[17:65] == expected
    assert second[65:] == [f"{pid}(0, 0) one: 0.500000", f"{pid}(0, 1) one: 0.500000"]


def test_large_tiles_are_whole(capfd):
    lines = printed(capfd, tile, np.ones(4096, np.int32), "x", False, 4096)
    assert lines[0] == "pid (0, 0, 0) idx (   0) x: 1" and len(lines) == 4096


@st.jit
def types(x, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.static_print("", tl.load(x + i))
    tl.static_print(x, n, (x + i)[:, None], N, tl.float32, i.to(tl.float16))


@pytest.mark.host
def test_static_print(capfd):
    lines = printed(capfd, types, np.zeros(128, np.int32), 5, 128)
    assert lines == [
        " int32[constexpr[128]]",
        "pointer<int32>[] int32[] pointer<int32>[constexpr[128], constexpr[1]] 128 fp32 fp16[constexpr[128]]",
    ]


@pytest.mark.host
def test_the_knob():
    assert st.knobs.runtime.print_format == "triton"
    with pytest.raises(ValueError, match="not one of numpy, triton"):
        st.knobs.runtime.print_format = "tritn"
    with st.knobs.scope(print_format=None):
        assert st.knobs.runtime.print_format == "numpy"
