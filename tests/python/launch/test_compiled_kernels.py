"""What programs written for Triton do with compiled kernels: launch them, read what they are made of."""

import gc
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile.backends.compiler import GPUTarget
from sectile.compiler import ASTSource
from sectile.tools.tensor_descriptor import TensorDescriptor

pytestmark = pytest.mark.host


@st.jit
def scale(x, out, n, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * FACTOR, mask=i < n)


@pytest.fixture
def arrays():
    return np.random.default_rng(3).standard_normal(101).astype(np.float32), np.zeros(
        101, np.float32
    )


def test_compiled_kernels_are_launched(arrays):
    x, out = arrays
    compiled = scale.warmup(x, out, 101, FACTOR=3, BLOCK=32, num_warps=2, grid=(1,))
    compiled._init_handles()
    assert compiled.n_regs == 1 and compiled.metadata.shared >= 1  # programs divide by them
    count = len(scale.variants())
    compiled[(4, 1, 1)](x, out, 101, 3, 32)  # Triton's tutorials pass constants again
    np.testing.assert_array_equal(out, x * 3)
    out[:] = 0
    compiled[(4,)](x, out, 101)
    np.testing.assert_array_equal(out, x * 3)
    # Constants are those it was compiled for; the grid may be a function of the arguments.
    compiled[lambda meta: (st.cdiv(meta["n"], meta["BLOCK"]),)](x, out, 101, 7, 64, stream=None)
    np.testing.assert_array_equal(out, x * 3)
    assert len(scale.variants()) == count
    with pytest.raises(
        TypeError, match="6 arguments are given, and there are 5 parameters: x, out"
    ):
        compiled[(1,)](x, out, 101, 3, 32, 5)
    with pytest.raises(st.ArgumentError, match="argument 'n' is missing"):
        compiled[(1,)](x, out)


def test_arguments_of_other_kinds_are_launched_right(arrays):
    x, out = arrays
    compiled = scale[(4,)](x, out, 101, 2, 32)
    wide, wider = x.astype(np.float64), out.astype(np.float64)
    compiled[(4,)](wide, wider, 101)
    np.testing.assert_array_equal(wider, wide * 2)


def test_a_compiled_kernel_without_its_function():
    def make():
        return st.jit(scale.fn)

    kernel = make()
    compiled = kernel.warmup(tl.float32, tl.float32, 5, 1, 16, num_warps=8)
    compiled[(1,)](np.zeros(16, np.float32), np.zeros(16, np.float32), 5)
    kernel.clear()
    x, out = np.ones(16, np.float32), np.zeros(16, np.float32)
    compiled[(1,)](x, out, 5)  # what it was compiled for, it knows itself
    assert out.sum() == 5
    del kernel
    gc.collect()
    with pytest.raises(RuntimeError, match="scale: the kernel .* is gone\n  help: keep the @jit"):
        compiled[(1,)]
    with pytest.raises(RuntimeError, match="is gone"):
        compiled.src
    compiled.launch((1,), x, out, 16)
    assert out.sum() == 16


def test_what_a_compiled_kernel_says_of_itself():
    compiled = scale.warmup(tl.float32, tl.float32, 5, 1, 16, num_warps=8)
    other = scale.warmup(tl.float32, tl.float32, 5, 2, 16, num_warps=8)
    fewer = scale.warmup(tl.float32, tl.float32, 5, 1, 16, num_warps=4)
    assert len({compiled.hash, other.hash, fewer.hash}) == 3
    assert st.jit(scale.fn).warmup(tl.float32, tl.float32, 5, 1, 16, num_warps=8).hash == (
        compiled.hash
    )
    assert compiled.kernel == compiled.asm["so"] and compiled.kernel[:4] == b"\x7fELF"
    values = compiled.metadata._asdict()
    assert values["num_warps"] == 8 and values["hash"] == compiled.hash
    assert values["tensor_maps"] == 0 and values["pointers_only"] is False
    assert values["large_arrays"] is False
    assert set(compiled.metadata._fields) == set(values)
    source = compiled.src
    assert source.fn is scale and source.constants == {(3,): 1, (4,): 16}
    assert source.signature["n"] == "i32" and source.signature["FACTOR"] == "constexpr"
    assert st.compile(source, "cpu", options={"num_warps": 8}).hash == compiled.hash


def test_sources_are_compiled(arrays):
    x, out = arrays
    pointers = {"x": "*fp32", "out": "*fp32"}
    kinds = {**pointers, "n": "i32", "FACTOR": "constexpr", "BLOCK": "constexpr"}
    source = ASTSource(
        fn=scale,
        signature=kinds,
        constexprs={"FACTOR": 5, (4,): 32},
        attrs={(0,): [["tt.divisibility", 16]]},
    )
    target = GPUTarget("cpu", "x86_64", 1)
    compiled = st.compile(source, target=target, options={"num_warps": 2, "debug": False})
    assert compiled.metadata.num_warps == 2
    assert compiled.src.signature["x"] == "*fp32:16" and compiled.src.signature["out"] == "*fp32"
    compiled[(4, 1, 1)](x, out, 101, 5, 32)
    np.testing.assert_array_equal(out, x * 5)
    assert st.compile(source, target, {"num_warps": 2}).hash == compiled.hash
    assert st.compile(src=source, target="cpu", num_warps=2).hash == compiled.hash
    # What is no tl.constexpr parameter may be a constant, too.
    folded = st.compile(ASTSource(scale, pointers, {"n": 101, "FACTOR": 5, "BLOCK": 32}), target)
    assert [name for name, *_ in folded.arguments] == ["x", "out"]
    assert "ptx" in st.compile(source, GPUTarget("cuda", 90, 32)).asm


def test_sources_have_hashes():
    kinds = {"x": "*fp32", "out": "*fp32", "n": "i32"}
    constants = {"FACTOR": 5, "BLOCK": 32}
    same = [ASTSource(scale, kinds, constants).hash() for _ in range(2)]
    others = [
        ASTSource(scale, {**kinds, "n": "i64"}, constants).hash(),
        ASTSource(scale, kinds, {**constants, "BLOCK": 64}).hash(),
        ASTSource(scale, kinds, constants, {(0,): [["tt.divisibility", 16]]}).hash(),
    ]
    assert same[0] == same[1] and len({same[0], *others}) == 4


def test_wrong_sources():
    with pytest.raises(TypeError, match="ASTSource: expected a @jit function, got an int"):
        ASTSource(3, {})
    with pytest.raises(TypeError, match="scale: the signature has the key 0, not a name"):
        ASTSource(scale, {0: "*fp32"})
    with pytest.raises(ValueError, match=r"scale: \(9,\) is no parameter of the kernel"):
        ASTSource(scale, {}, {(9,): 1})
    with pytest.raises(TypeError, match="compile: expected a @jit function, got a str"):
        st.compile("kernel.ttir")
    source = ASTSource(scale, {"x": "*fp32", "out": "*fp32", "n": "i32"}, {"FACTOR": 1, "BLOCK": 2})
    with pytest.raises(
        ValueError, match="there is no back end 'tpu'\n  help: there are 'cpu', 'cu"
    ):
        st.compile(source, GPUTarget("tpu", "v5", 8))


def test_caches_by_device(arrays):
    from sectile.runtime.jit import get_device_key

    kernel = st.jit(scale.fn)
    assert len(kernel.device_caches) == 0
    x, out = arrays
    kernel[(4,)](x, out, 101, 2, 32)
    kernel[(4,)](x, out, 101, 2, 64)
    kernel[(4,)](x, out, 101, 2, 64)
    assert list(kernel.device_caches) == ["cpu:0"]
    cache = kernel.device_caches["cpu:0"][0]
    assert len(cache) == 2 and {k.name for k in cache.values()} == {"scale"}
    if get_device_key() == "cpu:0":
        assert len(kernel.device_caches[get_device_key()][0]) == 2
    assert len(kernel.device_caches["cuda:0"][0]) == 0
    cache.clear()
    assert not kernel.variants()
    kernel[(4,)](x, out, 101, 2, 32)
    kernel.device_caches.clear()
    assert not kernel.variants()


def test_libraries_of_bitcode(arrays):
    x, out = arrays
    for libraries in (None, {}, {"libdevice": "/no/such/file"}, (("ocml", "a"), ("ockl", "b"))):
        scale[(4,)](x, out, 101, 2, 32, extern_libs=libraries, ir_override=None)
    np.testing.assert_array_equal(out, x * 2)
    with pytest.raises(
        st.ArgumentError, match="(?s)extern_libs names 'mine', and bitcode .* tl.extra"
    ):
        scale[(4,)](x, out, 101, 2, 32, extern_libs={"libdevice": "a", "mine": "b"})
    with pytest.raises(st.ArgumentError, match="scale: extern_libs is 3, not a dictionary"):
        scale[(4,)](x, out, 101, 2, 32, extern_libs=3)
    with pytest.raises(st.ArgumentError, match="scale: ir_override is 'k.ttir', and kernels are"):
        scale[(4,)](x, out, 101, 2, 32, ir_override="k.ttir")


def test_hints_for_other_gpus(arrays):
    x, out = arrays
    candidates = [
        st.Config({"BLOCK": block, "waves_per_eu": 2, "matrix_instr_nonkdim": 16, "kpack": 2})
        for block in (32, 64)
    ]
    tuned = st.autotune(candidates, key=["n"], rep=1, warmup=1)(scale)
    tuned[lambda meta: (st.cdiv(101, meta["BLOCK"]),)](
        x, out, 101, 2, schedule_hint="none", enable_reflect_ftz=False
    )
    np.testing.assert_array_equal(out, x * 2)
    count = len(scale.variants())
    scale[(4,)](x, out, 101, 2, 32, waves_per_eu=4)
    assert len(scale.variants()) == count


def test_the_own_text_undoes_another():
    kernel = st.jit(scale.fn)
    key, text = kernel.cache_key, kernel.src
    kernel._unsafe_update_src(text.replace("* FACTOR", "+ FACTOR"))
    assert kernel.cache_key != key
    kernel._unsafe_update_src(text)
    assert kernel.cache_key == key


@st.jit(debug=False)
def failing(x):
    tl.device_assert(tl.load(x) == 1, "not one")


def test_the_environment_debugs_every_kernel():
    x = np.zeros(1, np.float32)
    for options in ({}, {"debug": False}):
        failing[(1,)](x, **options)
    with st.knobs.scope(debug=True):
        for options in ({}, {"debug": False}, {"debug": True}):
            with pytest.raises(st.DeviceAssertionError, match="not one"):
                failing[(1,)](x, **options)
    with st.knobs.scope(debug=False):
        failing[(1,)](x, debug=False)
        with pytest.raises(st.DeviceAssertionError, match="not one"):
            failing[(1,)](x, debug=True)


# ---- code that stands alone ----


@st.jit
def combine(out, pair, n, FACTOR: tl.constexpr, other=None):
    i = tl.arange(0, 64)
    total = tl.load(pair[0] + i, mask=i < n, other=0) * FACTOR + pair[1]
    tl.store(out + i, total, mask=i < n)


def packed(compiled):
    return pickle.loads(pickle.dumps(compiled))


def test_code_is_launched_without_its_kernel(arrays):
    x, out = arrays
    for compiled in (
        scale.warmup(x, out, 101, FACTOR=3, BLOCK=32, grid=(1,)),
        packed(scale.warmup(x, out, 101, FACTOR=3, BLOCK=32, grid=(1,))),
    ):
        out[:] = 0
        compiled.launch((4,), x, out, 101, 3, 32)
        np.testing.assert_array_equal(out, x * 3)
        out[:] = 0
        compiled.launch(4, x, out, 101)  # constants may be left out
        np.testing.assert_array_equal(out, x * 3)
        out[:] = 0
        compiled._init_handles()
        compiled.run(4, 1, 1, None, None, None, None, None, None, x, out, 101, 3, 32)
        np.testing.assert_array_equal(out, x * 3)


def test_code_takes_tuples_and_skips_constants():
    x = np.random.default_rng(1).standard_normal(50).astype(np.float32)
    out = np.zeros(64, np.float32)
    compiled = packed(combine.warmup(out, (x, 1), 50, FACTOR=2, grid=(1,)))
    compiled.launch((1,), out, (x, 1), 50, 2, None)
    np.testing.assert_array_equal(out[:50], x * 2 + 1)
    with pytest.raises(st.ArgumentError, match="argument 'pair' has another number of items"):
        compiled.launch((1,), out, (x,), 50, 2, None)
    with pytest.raises(
        st.ArgumentError, match="2 arguments are given, and there are 5 parameters, 3 "
    ):
        compiled.launch((1,), out, (x, 1))


@st.jit
def sum_strided(out, x, stride, bias):
    total = tl.sum(tl.load(x + tl.arange(0, 16) * stride), 0)
    tl.store(out, total if bias is None else total + tl.load(bias))


@st.jit
def double_block(out, x):
    out.store([0, 0], x.load([0, 0]) * 2)


def test_code_refuses_other_values_than_those_it_has():
    x, out = np.arange(32, dtype=np.float32), np.zeros(1, np.float32)
    compiled = packed(sum_strided.warmup(out, x, 1, None, grid=(1,)))
    for arguments in ((out, x, 1, None), (out, x, np.int64(1), None), (out, x)):
        out[:] = 0
        compiled.launch(1, *arguments)
        assert out[0] == x[:16].sum()
    for argument, arguments in (("stride", (2, None)), ("stride", (1.0, None)), ("bias", (1, x))):
        with pytest.raises(st.ArgumentError, match=f"argument '{argument}' is not (1|None), which"):
            compiled.launch(1, out, x, *arguments)

    def described(rows, block):
        return TensorDescriptor.from_tensor(np.ones((rows, 16), np.float32), block)

    compiled = packed(double_block.warmup(described(1, [8, 16]), described(1, [8, 16]), grid=(1,)))
    right = described(1, [8, 16])
    compiled.launch(1, right, described(1, [8, 16]))
    assert np.all(right.base == 2)
    with pytest.raises(st.ArgumentError, match=r"argument 'out.shape\[0\]' is not 1"):
        compiled.launch(1, described(7, [8, 16]), described(7, [8, 16]))
    with pytest.raises(st.ArgumentError, match=r"'out.block_shape' is not \(8, 16\)"):
        compiled.launch(1, described(1, [4, 16]), described(1, [4, 16]))


def test_code_refuses_what_it_was_not_compiled_for(arrays):
    x, out = (np.zeros(112, np.float32) for _ in range(2))
    compiled = scale.warmup(x, out, 96, FACTOR=3, BLOCK=32, grid=(1,))
    wrong = {
        "argument 'x' is a \\*fp64, and the code was compiled for \\*fp32": (
            x.astype(np.float64),
            out,
            96,
        ),
        "argument 'out' is a number, and the code was compiled for \\*fp32": (x, 5, 96),
        "argument 'n' is no multiple of 16": (x, out, 95),
        "argument 'x' is no multiple of 16": (x[1:], out, 96),
        "got an integer beyond its type": (x, out, 1 << 40),
        "argument 'n' is a \\*fp32": (x, out, x),
    }
    for message, arguments in wrong.items():
        with pytest.raises(st.ArgumentError, match=message):
            compiled.launch((3,), *arguments)
    with pytest.raises(st.ArgumentError, match="argument 'out' is read-only"):
        frozen = out.copy()
        frozen.setflags(write=False)
        compiled.launch((3,), x, frozen, 96)


def test_code_relies_on_arrays_that_lie_apart():
    @st.jit
    def shift(x, out, n):
        for i in range(n):
            tl.store(out + i * 16 + tl.arange(0, 16), tl.load(x + i * 16 + tl.arange(0, 16)) + 1)

    x, out = np.zeros(256, np.float32), np.zeros(256, np.float32)
    compiled = shift.warmup(x, out, 8, grid=(1,))
    compiled.launch((1,), x, out, 8)
    memory = np.zeros(512, np.float32)
    one, other = memory[:256], memory[16:272]
    expected = memory.copy()
    for i in range(8):
        expected[16 * (i + 1) : 16 * (i + 2)] = expected[16 * i : 16 * (i + 1)] + 1
    try:
        compiled.launch((1,), one, other, 8)
    except st.ArgumentError as error:
        assert "shares memory with" in str(error)
    else:
        np.testing.assert_array_equal(memory, expected)


def test_attributes_are_kept(arrays):
    x, out = arrays
    compiled = scale.warmup(x, out, 101, FACTOR=5, BLOCK=32, grid=(1,))
    compiled._cubin_path = "somewhere"
    compiled.run = None
    compiled._init_handles()
    assert compiled.run is not None
    copy = packed(compiled)
    assert copy._cubin_path == "somewhere" and copy.hash == compiled.hash and copy.name == "scale"
    assert copy.asm["so"] == compiled.asm["so"] and copy.metadata == compiled.metadata
    assert copy._owner() is None
    with pytest.raises(RuntimeError, match="the kernel that this was compiled from is gone"):
        copy.src
    restored = type(compiled).__new__(type(compiled))
    restored.__dict__.update({**compiled.__dict__, "run": None})
    restored._init_handles()
    restored.launch((4,), x, out, 101)
    np.testing.assert_array_equal(out, x * 5)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        compiled.nothing


def test_another_process_launches_it(arrays, tmp_path):
    x, out = arrays
    (tmp_path / "kernel.pickle").write_bytes(
        pickle.dumps(scale.warmup(x, out, 101, FACTOR=7, BLOCK=32, grid=(1,)))
    )
    program = """
import pickle, sys, numpy as np
kernel = pickle.load(open(sys.argv[1], "rb"))
x, out = np.arange(101, dtype=np.float32), np.zeros(101, np.float32)
kernel.launch((4,), x, out, 101)
assert (out == x * 7).all()
import sectile
assert sectile.statistics()["compiles"] == 0, sectile.statistics()
"""
    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "kernel.pickle")], check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip


def test_packed_code_that_is_none(arrays):
    compiled = scale.warmup(*arrays, 101, FACTOR=3, BLOCK=32, grid=(1,))
    load, (data, parameters, _) = compiled._code.__reduce__()
    for wrong in (data[:-1], data[:40], b"", data[:50] + bytes([data[50] ^ 1]) + data[51:]):
        with pytest.raises(st.MachineError, match="a packed kernel cannot be used: "):
            load(wrong, parameters)
