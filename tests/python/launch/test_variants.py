"""The set of a kernel's variants: what there is, compiling it ahead, and proving that it is closed."""

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import sectile as st
import sectile.language as tl

pytestmark = pytest.mark.host


def new_kernel():
    """With no variant yet."""

    @st.jit
    def scale(out, x, n, factor, BLOCK: tl.constexpr, mode: tl.constexpr = "times"):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(x + i, mask=i < n)
        if mode == "times":
            value = value * factor
        tl.store(out + i, value, mask=i < n)

    return scale


def test_each_variant_says_what_made_it():
    kernel = new_kernel()
    out, x = np.zeros(64, np.float32), np.ones(64, np.float32)
    kernel[(1,)](out, x, 50, 2.0, BLOCK=64)
    kernel[(1,)](out, x, 60, 2.0, BLOCK=64)
    kernel[(1,)](out, x, 48, 2.0, BLOCK=64)
    kernel[(1,)](out, x, 1, 2.0, BLOCK=64)
    kernel[(1,)](out, x, 50, 2.0, BLOCK=64, mode="none")
    kernel[(1,)](out, x, 50, 2.0, BLOCK=32, num_warps=8)
    variants = kernel.variants()
    assert [variant.reason for variant in variants] == [
        "the first variant",
        "n: i32:16 instead of i32",
        "n: 1 instead of i32:16",
        "mode: none instead of times",
        "BLOCK: 32 instead of 64, num_warps: 8 instead of the usual",
    ]
    assert variants[0].signature["n"] == "i32" and variants[0].signature["BLOCK"] == 64
    assert variants[0].signature["x"].startswith("*fp32")
    assert variants[-1].options == {"num_warps": 8}
    assert {variant.target for variant in variants} == {"cpu"}
    assert all(variant.origin in ("compiled", "same ir", "disk") for variant in variants)
    assert variants[0].compiled.name == "scale"
    kernel.clear()
    assert kernel.variants() == []


def test_a_changed_global_is_the_reason(monkeypatch):
    namespace = globals()

    @st.jit
    def kernel(out):
        tl.store(out, NUMBER)

    out = np.zeros(1, np.int32)
    kernel[(1,)](out)
    monkeypatch.setitem(namespace, "NUMBER", tl.constexpr(4))
    kernel[(1,)](out)
    assert out[0] == 4
    assert "something that it refers to" in kernel.variants()[1].reason


NUMBER = tl.constexpr(3)


def test_precompiled_variants_are_the_ones_that_launches_want():
    kernel = new_kernel()
    compiled = kernel.precompile(
        {
            "out": "*fp32:16",
            "x": "*fp32:16",
            "n": ["i32", "i32:16", 1],
            "factor": "fp32",
            "BLOCK": [32, 64],
            "mode": "times",
        },
        num_warps=[4, 8],
    )
    assert len(compiled) == 12 == len(kernel.variants())
    out, x = np.zeros(64, np.float32), np.ones(64, np.float32)
    aligned = np.lib.stride_tricks.as_strided
    assert aligned is not None and out.ctypes.data % 16 == 0 and x.ctypes.data % 16 == 0
    for n in (50, 48, 1):
        for block in (32, 64):
            for warps in (4, 8):
                out[:] = 0
                used = kernel[(2,)](out, x, n, 3.0, BLOCK=block, num_warps=warps)
                assert used in compiled
                assert (out[: min(n, 2 * block)] == 3).all()
    assert len(kernel.variants()) == 12


def test_variants_can_be_precompiled_elsewhere():
    kernel, other = new_kernel(), new_kernel()
    out, x = np.zeros(64, np.float32), np.ones(64, np.float32)
    for n, factor in ((50, 2.0), (48, 2), (1, True), (2**40, None)):
        if factor is None:
            kernel[(1,)](out, x, n, 1.0, 64, mode="none")
        else:
            kernel[(1,)](out, x, n, factor, 64)
    variants = kernel.variants()
    assert len(variants) == 4
    other.precompile(variants)
    # They are compiled side by side, and listed as they are done.
    assert sorted(str(v.signature) for v in other.variants()) == sorted(
        str(v.signature) for v in variants
    )
    third = new_kernel()
    third.precompile([variant.signature for variant in variants], targets=["cpu"])
    assert len(third.variants()) == 4


def test_precompile_for_a_gpu_that_is_not_there():
    kernel = new_kernel()
    signature = {"out": "*fp16:16", "x": "*fp16:16", "n": "i32", "factor": "fp32", "BLOCK": 64}
    on_cpu, on_gpu = kernel.precompile(signature, targets=["cpu", "cuda:90"])
    assert "so" in on_cpu.asm
    assert on_gpu.metadata.target == "nvptx64:sm_90a"
    assert [variant.target for variant in kernel.variants()] in (
        ["cpu", "cuda:sm_90a"],
        ["cuda:sm_90a", "cpu"],
    )


def test_what_fails_to_precompile_is_told():
    kernel = new_kernel()
    good = {"out": "*fp32", "x": "*fp32", "n": "i32", "factor": "fp32", "BLOCK": 64}
    with pytest.raises(st.CompilationError):
        kernel.precompile(good, {**good, "BLOCK": 0})
    assert len(kernel.variants()) == 1
    with pytest.raises(TypeError, match="expected a mapping of parameters to kinds"):
        kernel.precompile("*fp32")


def test_futures():
    kernel = new_kernel()
    out, x = np.zeros(64, np.float32), np.ones(64, np.float32)
    future = kernel.warmup(out, x, 50, 2.0, BLOCK=64, grid=(1,), wait=False)
    used = kernel[(1,)](out, x, 50, 2.0, BLOCK=64)
    assert future.result(timeout=60) is used
    assert (out[:50] == 2).all()
    futures = kernel.precompile(
        {"out": "*fp32", "x": "*fp32", "n": "i32", "factor": "fp32", "BLOCK": [16, 32]}, wait=False
    )
    assert [future.result(timeout=60).name for future in futures] == ["scale", "scale"]
    wrong = kernel.warmup(out, x, 50, 2.0, BLOCK=0, grid=(1,), wait=False)
    with pytest.raises(st.CompilationError):
        wrong.result(timeout=60)


def test_compiles_in_the_background_leave_python_free():
    """The GIL is given up: this thread runs while another compiles."""
    kernel = new_kernel()
    entered, finish = threading.Event(), threading.Event()

    def listener(event):
        entered.set()
        assert finish.wait(60)

    st.set_compile_listener(listener)
    try:
        future = kernel.warmup(*[tl.float64] * 2, 3, 2.0, BLOCK=1024, mode="times", wait=False)
        st.clear_cache()
        for _ in range(60_000):  # done without a compile where the cache has it
            if entered.wait(0.001) or future.done():
                break
        else:
            pytest.fail("neither compiled nor done")
    finally:
        finish.set()
        future.result(timeout=60)
        st.set_compile_listener(None)


def run(text, tmp_path, **environment):
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(text))
    result = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "SECTILE_CACHE_DIR": str(tmp_path / "cache"), **environment},
    )
    assert result.returncode == 0, result.stderr
    return result


SEALED = """
    import numpy as np
    import sectile as st
    import sectile.language as tl

    @st.jit
    def kernel(out, n, BLOCK: tl.constexpr):
        tl.store(out + tl.arange(0, BLOCK), n)

    out = np.zeros(64, np.int32)
    kernel.precompile({"out": "*i32:16", "n": ["i32", 1], "BLOCK": [16, 32]})
    st.seal()
    for n in (1, 3, 5):
        for block in (16, 32):
            kernel[(1,)](out, n, BLOCK=block)
            assert (out[:block] == n).all()
    for arguments in ((32, 16), (3, 64), (2**40 + 1, 16)):
        try:
            kernel[(1,)](out, *arguments)
        except st.SectileError as error:
            print(error)
"""


def test_a_sealed_process_names_the_argument(tmp_path):
    lines = run(SEALED, tmp_path).stdout.splitlines()
    assert lines[0] == ("kernel: sealed, and no variant fits: n: i32:16 instead of i32")
    assert lines[1] == ("  help: precompile it before seal(): out: *i32:16, n: i32:16, BLOCK = 16")
    # They are compiled in parallel: either may be the latest.
    assert lines[2].startswith("kernel: sealed, and no variant fits: BLOCK: 64 instead of ")
    assert lines[4] == "kernel: sealed, and no variant fits: n: i64 instead of i32"


def test_the_log_and_the_listener_say_why(tmp_path):
    text = """
        import numpy as np
        import sectile as st
        import sectile.language as tl

        @st.jit
        def kernel(out, n, BLOCK: tl.constexpr):
            tl.store(out + tl.arange(0, BLOCK), n)

        out = np.zeros(64, np.int32)
        events = []
        st.set_compile_listener(events.append)
        kernel[(1,)](out, 3, BLOCK=16)
        kernel[(1,)](out, 3, BLOCK=32)
        kernel[(1,)](out, 3, BLOCK=32)
        st.set_compile_listener(None)
        for event in events:
            assert event.succeeded and event.seconds > 0
            print(event.kernel, event.target, event.reason, event.cache_miss, sep="|")
    """
    result = run(text, tmp_path, SECTILE_LOG="compile")
    assert result.stdout.splitlines() == [
        "kernel|cpu|the first variant|absent",
        "kernel|cpu|BLOCK: 32 instead of 16|absent",
    ]
    first, second = result.stderr.splitlines()
    assert first.startswith("sectile: compiled kernel for cpu in ")
    assert "BLOCK: 32 instead of 16 [out: *i32" in second
    assert second.endswith("(disk cache: absent)")
    again = run(text, tmp_path, SECTILE_LOG="compile")
    assert again.stdout == again.stderr == ""


def test_compiled_kernels_say_how_they_were_made():
    kernel = new_kernel()
    out, x = np.zeros(64, np.float32), np.ones(64, np.float32)
    made = kernel[(1,)](out, x, 50, 2.0, BLOCK=64, num_warps=2).provenance
    assert "BLOCK = 64" in made["variant"] and made["options"] == "num_warps=2"
    assert made["compile_seconds"] > 0 and made["version"] == st.__version__
