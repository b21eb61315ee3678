"""What is known of kernels compiled for GPUs: what they report to the host, lines, resources. No GPU is needed."""

import importlib.util
import os
import re

import pytest
from target_check import assemble

import sectile as st
import sectile.language as tl

pytestmark = pytest.mark.host

TARGETS = ["cuda:80", "cuda:90", "cuda:120"]


@st.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.device_assert(value >= 0, "negative", mask=i < n)
    tl.store(out + i, 2 * value, mask=i < n)


@st.jit
def tell(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.device_print("x", tl.load(x + i, mask=i < n, other=0), n, hex=True)


def compiled(kernel, target, **options):
    types = {"x": "*fp32", "out": "*fp32", "n": "i32"}
    signature = {name: types[name] for name in kernel.arg_names if name in types}
    return st.compile(kernel, signature, {"BLOCK": 256}, target=target, **options)


def parameters(ptx):
    entry = re.search(r"\.entry \w+\((.*?)\)", ptx, re.S)[1]
    return re.findall(r"\.param \.(\w+)", entry)


@pytest.mark.parametrize("target", TARGETS)
def test_kernels_ask_for_what_they_report_with(target):
    plain = ["u64", "u64", "u32"]
    for kernel, options, more in [
        (scale, {}, []),
        (scale, {"debug": True}, ["u64"]),
        (scale, {"check": "bounds"}, ["u64", "u64"]),
        (scale, {"check": "bounds", "debug": True, "num_warps": 8}, ["u64", "u64"]),
        (tell, {}, ["u64"]),
    ]:
        ptx = compiled(kernel, target, **options).asm["ptx"]
        expected = (plain if kernel is scale else ["u64", "u32"]) + more
        assert parameters(ptx) == expected, options
        assert assemble(ptx)[0] == "", options
        # Votes, so that all threads leave together; a trap instruction would lose the device.
        assert ("bar.red.or" in ptx) == (kernel is scale and bool(options))
        assert not re.search(r"^\s*trap;", ptx, re.M)


@pytest.mark.parametrize("target", TARGETS)
def test_fatal_assertions_are_the_drivers_own(target):
    ptx = compiled(scale, target, debug=True, fatal_asserts=True).asm["ptx"]
    assert parameters(ptx) == ["u64", "u64", "u32"] and "bar.red" not in ptx
    assert assemble(ptx)[0] == ""
    # Its text, its file without a folder, its line and its function.
    texts = re.findall(r"assertion\w*\[\d+\] = \{([\d, ]+)\}", ptx)
    said = [bytes(map(int, text.split(","))).rstrip(b"\0").decode() for text in texts]
    assert {"negative", os.path.basename(__file__), "scale"} <= set(said), said
    line = scale.fn.__code__.co_firstlineno + 4
    assert re.search(rf"\b{line};?$", ptx, re.M), ptx
    # Without debug there is nothing to assert.
    plain = compiled(scale, target, fatal_asserts=True)
    assert "__assertfail" not in plain.asm["ptx"]


@st.jit
def wait(flag, n):
    tl.device_assert(n == 0, "none")
    while tl.atomic_add(flag, 0) == 0:
        pass


@pytest.mark.parametrize("target", TARGETS)
def test_waiting_loops_look_whether_the_launch_has_stopped(target):
    def looks(**options):
        ptx = st.compile(wait, {"flag": "*i32", "n": "i32"}, target=target, **options).asm["ptx"]
        assert assemble(ptx)[0] == ""
        return ptx.count("ld.volatile.global")

    # At the start, and in every round.
    assert looks(debug=True) == 2 and looks() == 0


@st.jit
def halved(value):
    return value * 0.5  # line of the helper


@st.jit
def halves(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, halved(tl.load(x + i)), mask=i < n)


def test_instructions_know_their_lines():
    ptx = compiled(halves, "cuda:90").asm["ptx"]
    # The folder is that of the first compile, which a cache may hold.
    files = re.findall(r'^\s*\.file\s+(\d+) ".*/(.*)"', ptx, re.M)
    assert files == [("1", os.path.basename(__file__))]
    first = halves.fn.__code__.co_firstlineno
    store, helper = first + 3, halved.fn.__code__.co_firstlineno + 2
    line = None
    lines = {}
    for text in ptx.splitlines():
        if found := re.match(r"\s*\.loc\s+1 (\d+) \d+", text):
            line = int(found[1])
        for name in ("ld.global", "mul", "st.global"):
            if re.match(rf"\s*(@%p\d+ )?{name}", text):
                lines.setdefault(name, set()).add(line)
    assert lines["ld.global"] == {store} and lines["st.global"] == {store}, lines
    assert helper in lines["mul"], lines
    assert ", debug" not in ptx and ".debug_info" not in ptx  # which would stop optimisation


def test_equal_kernels_of_two_files_know_their_own_file(tmp_path):
    for name in ("one", "two"):
        path = tmp_path / f"equal_{name}.py"
        path.write_text(
            "import sectile as st\nimport sectile.language as tl\n\n\n"
            "@st.jit\ndef zeros(x):\n    tl.store(x, 0.0)\n"
        )
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        ptx = st.compile(module.zeros, {"x": "*fp32"}, target="cuda:90").asm["ptx"]
        # The folder is that of the first compile, which a cache may hold.
        assert re.findall(r'\.file\s+1 ".*/(.*)"', ptx) == [path.name]


@st.jit
def product(a, b, c, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.arange(0, BM)
    j = tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, n, BK):
        x = tl.load(a + i[:, None] * n + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * BN + j[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + i[:, None] * BN + j[None, :], total)


def compiled_product(target, stages, columns):
    signature = {"a": "*fp16:16", "b": "*fp16:16", "c": "*fp32:16", "n": "i32:16"}
    constants = {"BM": 128, "BN": columns, "BK": 64}
    return st.compile(product, signature, constants, target=target, num_warps=8, num_stages=stages)


@pytest.mark.parametrize(
    "target, stages, columns, has",
    [("cuda:86", 4, 128, 99), ("cuda:80", 6, 128, 163), ("cuda:90", 5, 256, 227)],
)
def test_too_much_shared_memory(target, stages, columns, has):
    with pytest.raises(st.OutOfResources) as raised:
        compiled_product(target, stages, columns)
    text = str(raised.value)
    arch = {"cuda:86": "sm_86", "cuda:80": "sm_80", "cuda:90": "sm_90a"}[target]
    assert f"and a program on {arch} has {has * 1024}" in text
    first = product.fn.__code__.co_firstlineno
    for rows, width, line in [(128, 64, first + 7), (64, columns, first + 8)]:
        note = f"note: {stages * rows * width * 2} bytes: {stages} stages of {rows}x{width}xf16"
        assert f"{note}\n  --> {__file__}:{line}:" in text
    # What it says fits, fits; one more does not.
    fitting = int(re.search(r"num_stages=(\d) fits", text)[1])
    assert 0 < compiled_product(target, fitting, columns).metadata.shared <= has * 1024
    with pytest.raises(st.OutOfResources):
        compiled_product(target, fitting + 1, columns)


def test_tiles_too_large_for_any_number_of_stages():
    with pytest.raises(st.OutOfResources, match="use tiles with 2 times fewer elements"):
        compiled_product("cuda:86", 2, 512)


def test_too_many_threads():
    with pytest.raises(st.CompilationError, match="num_warps is 64: .* at most 1024 threads"):
        compiled(scale, "cuda:90", num_warps=64)


def test_resources_of_a_kernel():
    kernel = compiled_product("cuda:90", 3, 128)
    assert kernel.metadata.shared == kernel.metadata.shared // 16 * 16 > 0
    if assemble.path:  # ptxas says what the kernel needs, without a GPU
        assert 0 < kernel.n_regs <= 255 and kernel.n_spills == 0
