"""What happens around a launch: variants, globals, checks, prints, threads, tuning."""

import builtins
import os
import sys
import threading
import time

import numpy as np
import pytest

import sectile as st
import sectile.language as tl


@st.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


# -- variants ---------------------------------------------------------------------------------------


def test_specialisation_makes_the_variants_it_should():
    @st.jit
    def kernel(out, n, m):
        tl.store(out, n + m)

    out = np.zeros(1, np.int64)

    def variants(*calls):
        before = len(kernel.variants())
        for n, m in calls:
            kernel[(1,)](out, n, m)
            assert out[0] == n + m
        return len(kernel.variants()) - before

    assert variants((5, 7), (7, 5), (-3, 1001)) == 1
    assert variants((16, 7), (32, 9)) == 1  # divisible by 16
    assert variants((1, 7)) == 1  # folded
    assert variants((2**40 + 1, 7)) == 1  # int64
    assert variants((True, 7)) == 1


def test_do_not_specialize():
    @st.jit(do_not_specialize=["n"])
    def kernel(out, n):
        tl.store(out, n)

    out = np.zeros(1, np.int64)
    for n in (1, 5, 16):
        kernel[(1,)](out, n)
        assert out[0] == n
    assert len(kernel.variants()) == 1


SCALE = tl.constexpr(2)


@st.jit
def helper(x):
    return x * SCALE


@st.jit
def uses_a_global(out, x):
    tl.store(out, helper(tl.load(x)))


def test_a_changed_global_leads_to_another_variant(monkeypatch):
    x, out = np.full(1, 10, np.float32), np.zeros(1, np.float32)
    uses_a_global[(1,)](out, x)
    assert out[0] == 20
    monkeypatch.setattr(sys.modules[__name__], "SCALE", tl.constexpr(3))
    uses_a_global[(1,)](out, x)
    assert out[0] == 30
    monkeypatch.undo()
    count = len(uses_a_global.variants())
    uses_a_global[(1,)](out, x)
    assert out[0] == 20
    assert len(uses_a_global.variants()) == count


def test_a_changed_helper_leads_to_another_variant(monkeypatch):
    @st.jit
    def other(x):
        return x - 1

    x, out = np.full(1, 10, np.float32), np.zeros(1, np.float32)
    uses_a_global[(1,)](out, x)
    monkeypatch.setattr(sys.modules[__name__], "helper", other)
    uses_a_global[(1,)](out, x)
    assert out[0] == 9


def test_closures():
    def make(n):
        n = tl.constexpr(n)

        @st.jit
        def kernel(out):
            tl.store(out, n)

        return kernel

    out = np.zeros(1, np.int32)
    for n in (3, 4):
        make(n)[(1,)](out)
        assert out[0] == n


def test_replaced_source():
    @st.jit
    def kernel(out):
        tl.store(out, 1)

    out = np.zeros(1, np.int32)
    kernel[(1,)](out)
    kernel._unsafe_update_src(kernel.src.replace("1)", "2)"))
    kernel[(1,)](out)
    assert out[0] == 2


def test_clear():
    out = np.zeros(8, np.float32)
    add[(1,)](out, out, out, 8, BLOCK=8)
    assert add.variants()
    add.clear()
    assert not add.variants()
    add[(1,)](out, out, out, 8, BLOCK=8)


# -- kernels that stop themselves ---------------------------------------------------------------------


@pytest.mark.parametrize("how", ["keyword", "environment"])
def test_out_of_bounds(how):
    @st.jit
    def kernel(out, x, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i))

    memory = np.full(300, 7, np.float32)
    out, x = memory[100:164], np.ones(256, np.float32)
    options = {"check": "bounds"} if how == "keyword" else {}
    with st.knobs.scope(check=None if how == "keyword" else "bounds"):
        kernel[(1,)](out, x, BLOCK=64, **options)
        assert (out == 1).all()
        with pytest.raises(st.OutOfBoundsError) as raised:
            kernel[(2,)](out, x, BLOCK=64, **options)
    text = str(raised.value)
    assert "kernel" in text and "'out'" in text and "64" in text and "test_runtime.py" in text
    assert (memory[:100] == 7).all() and (memory[164:] == 7).all()


@pytest.mark.host
def test_bounds_of_strided_arrays():
    @st.jit
    def kernel(x, first, stride, N: tl.constexpr):
        tl.store(x + first + tl.arange(0, N) * stride, 1.0)

    base = np.zeros((8, 8), np.float32)
    kernel[(1,)](base[::-1], 0, -8, N=8, check="bounds")
    assert base[:, 0].all() and not base[:, 1:].any()
    with pytest.raises(st.OutOfBoundsError):
        kernel[(1,)](base[::-1], 0, -8, N=9, check="bounds")
    with pytest.raises(st.OutOfBoundsError):
        kernel[(1,)](base[:, 3:5], 0, 8, N=9, check="bounds")


def test_device_assert():
    @st.jit
    def kernel(x, n):
        tl.device_assert(tl.load(x) == n, "x is not n")

    x = np.full(1, 3, np.int32)
    kernel[(1,)](x, 4)  # not active
    kernel[(1,)](x, 3, debug=True)
    with pytest.raises(st.DeviceAssertionError, match="x is not n") as raised:
        kernel[(1,)](x, 4, debug=True)
    assert isinstance(raised.value, st.LaunchError)


def test_compilation_error():
    @st.jit
    def kernel(out):
        tl.store(out, tl.arange(0, 8) + tl.arange(0, 5))

    with pytest.raises(st.CompilationError) as raised:
        kernel[(1,)](np.zeros(8, np.int32))
    diagnostic = raised.value.diagnostics[0]
    assert diagnostic.severity == "error" and diagnostic.function == "kernel"
    assert diagnostic.file == __file__
    assert "tl.store(out, tl.arange(0, 8) + tl.arange(0, 5))" in diagnostic.source_line
    assert "^" in str(raised.value)
    assert raised.value.error_message == diagnostic.message


def test_device_print(capsys):
    @st.jit
    def kernel(x):
        tl.device_print("value", tl.load(x))

    kernel[(1,)](np.full(1, 42, np.int32))
    captured = capsys.readouterr().out
    assert "value" in captured and "42" in captured
    lines = []
    st.set_print(lines.append)
    try:
        kernel[(2,)](np.full(1, 43, np.int32))
    finally:
        st.set_print(None)
    assert sum(text.count("43") for text in lines) == 2
    assert capsys.readouterr().out == ""


def test_device_print_of_some_programs():
    @st.jit
    def kernel(x, n):
        i = tl.program_id(0)
        tl.device_print("value", tl.load(x + i), when=(i == 2) & (n != 0))

    @st.jit
    def by_tile(x):
        value = tl.load(x + tl.arange(0, 8))
        tl.device_print("value", value, when=value > 2)

    lines = []
    st.set_print(lines.append)
    try:
        kernel[(4,)](np.arange(40, 44, dtype=np.int32), 1)
        assert "".join(lines) == "pid (2, 0, 0) value: 42\n"
        kernel[(4,)](np.arange(40, 44, dtype=np.int32), 0)
        assert len(lines) == 1
    finally:
        st.set_print(None)
    with pytest.raises(
        st.CompilationError, match="`when` is a tile, .*8.*, and a program prints all"
    ):
        by_tile[(1,)](np.arange(8, dtype=np.int32))


def test_static_print(capsys):
    @st.jit
    def kernel(out, N: tl.constexpr):
        tl.static_print("N is", N)
        tl.store(out, N)

    # Printed while the kernel is evaluated: one that no cache has seen.
    number = int(np.random.default_rng().integers(1_000_000, 2_000_000_000))
    kernel[(1,)](np.zeros(1, np.int32), N=number)
    assert f"N is {number}" in capsys.readouterr().out


# -- threads ------------------------------------------------------------------------------------------


def test_threads_launch_at_once():
    sizes = [100, 1000, 4096, 333]
    errors = []

    @st.jit
    def kernel(x, y, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, mask=i < n) * tl.load(y + i, mask=i < n), mask=i < n)

    def work(seed):
        rng = np.random.default_rng(seed)
        try:
            for round in range(40):
                n = sizes[(seed + round) % len(sizes)]
                x, y = rng.standard_normal((2, n)).astype(np.float32)
                out = np.empty_like(x)
                block = (64, 128, 256)[round % 3]
                kernel[(st.cdiv(n, block),)](x, y, out, n, BLOCK=block)
                np.testing.assert_array_equal(out, x * y)
        except Exception as error:  # a thread's exception would be lost
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


@pytest.mark.host
def test_the_gil_is_released():
    @st.jit
    def wait_for(flag, seen):
        value = tl.load(flag, volatile=True)
        tries = 0
        while (value == 0) & (tries < 2000000000):
            value = tl.atomic_add(flag, 0)
            tries += 1
        tl.store(seen, value)

    flag, seen = np.zeros(1, np.int32), np.zeros(1, np.int32)
    wait_for.warmup(flag, seen, grid=(1,))
    timer = threading.Timer(0.2, lambda: flag.__setitem__(0, 1))
    timer.start()
    wait_for[(1,)](flag, seen)
    timer.join()
    assert seen[0] == 1


@pytest.mark.host
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork():
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    out = np.empty_like(x)
    add[(16,)](x, x, out, 1000, BLOCK=64)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            again = np.zeros_like(x)
            add[(16,)](x, x, again, 1000, BLOCK=64)  # loaded before
            add[(8,)](x, x, again, 1000, BLOCK=128)  # perhaps compiled here
            status = 0 if (again == x + x).all() else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    add[(16,)](x, x, out, 1000, BLOCK=64)
    np.testing.assert_array_equal(out, x + x)


# -- decorators ---------------------------------------------------------------------------------------


def test_autotune():
    measured = []

    def bench(call, quantiles):
        call()
        measured.append(1)
        return [len(measured)] * 3  # the first one measured is the fastest

    configs = [st.Config({"BLOCK": 64}, num_warps=2), st.Config({"BLOCK": 128})]

    @st.autotune(configs, key=["n"], restore_value=["acc"], do_bench=bench)
    @st.jit
    def kernel(acc, x, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(acc + i, tl.load(acc + i, mask=i < n) + tl.load(x + i, mask=i < n), mask=i < n)

    acc, x = np.zeros(300, np.float32), np.ones(300, np.float32)
    kernel[lambda meta: (st.cdiv(300, meta["BLOCK"]),)](acc, x, 300)
    assert (acc == 1).all()  # restored while tuning
    assert len(measured) == 2
    assert kernel.best_config is configs[0]
    assert kernel.configs_timings[configs[1]] == [2, 2, 2]
    kernel[lambda meta: (st.cdiv(300, meta["BLOCK"]),)](acc, x, 300)
    assert (acc == 2).all() and len(measured) == 2
    kernel[lambda meta: (st.cdiv(200, meta["BLOCK"]),)](acc, x, 200)
    assert len(measured) == 4


def test_autotune_with_the_clock():
    @st.autotune(
        [st.Config({"BLOCK": block}) for block in (16, 1024)], key=["n"], warmup=1, rep=2,
        reset_to_zero=["out"],
    )  # fmt: skip
    @st.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
    @st.jit
    def kernel(out, x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        if EVEN:
            tl.atomic_add(out + i, tl.load(x + i))
        else:
            tl.atomic_add(out + i, tl.load(x + i, mask=i < n), mask=i < n)

    out, x = np.zeros(5000, np.float32), np.ones(5000, np.float32)
    kernel[lambda meta: (st.cdiv(5000, meta["BLOCK"]),)](out, x, 5000)
    assert (out == 1).all()
    assert kernel.bench_time > 0


def test_autotune_prunes_and_skips():
    seen = []

    def bench(call, quantiles):
        call()
        return [1.0] * 3

    def prune(configs, arguments, **meta):
        seen.append(arguments["n"])
        return [c for c in configs if c.kwargs["BLOCK"] != 32]

    @st.autotune(
        [st.Config({"BLOCK": block}) for block in (32, 64, 128)],
        key=["n"], prune_configs_by={"early_config_prune": prune}, do_bench=bench,
    )  # fmt: skip
    @st.jit
    def kernel(out, n, BLOCK: tl.constexpr):
        tl.static_assert(BLOCK != 64)
        tl.store(out, BLOCK)

    out = np.zeros(1, np.int32)
    kernel[(1,)](out, 5)
    assert seen == [5] and out[0] == 128
    assert kernel.configs_timings[kernel.configs[1]][0] == float("inf")


def test_autotune_wrong_uses():
    @st.jit
    def kernel(out, n, BLOCK: tl.constexpr):
        tl.store(out, BLOCK)

    with pytest.raises(ValueError, match="restore_value names 'm', which is no parameter"):
        st.autotune([st.Config({})], key=["n"], restore_value=["m"])(kernel)
    tuned = st.autotune([st.Config({"BLOCK": 1}), st.Config({"BLOCK": 2})], key=["n"])(kernel)
    with pytest.raises(st.ArgumentError, match="BLOCK is chosen by autotune; leave it out"):
        tuned[(1,)](np.zeros(1, np.int32), 1, BLOCK=4)


def test_pre_hooks():
    calls = []
    config = st.Config({"B": 4}, pre_hook=lambda args: calls.append(args["B"]))

    @st.autotune([config], key=[])
    @st.jit
    def kernel(out, B: tl.constexpr):
        tl.store(out, B)

    kernel[(1,)](np.zeros(1, np.int32))
    assert calls == [4]


def test_do_bench_and_report(tmp_path, capsys):
    assert st.testing.do_bench(lambda: None, warmup=1, rep=2) < 1
    low, high = st.testing.do_bench(lambda: None, warmup=1, rep=2, quantiles=[0.1, 0.9])
    assert low <= high
    assert len(st.testing.do_bench(lambda: None, warmup=0, rep=1, return_mode="all")) >= 1

    @st.testing.perf_report(
        st.testing.Benchmark(
            x_names=["n"], x_vals=[1, 2], line_arg="who", line_vals=["a", "b"],
            line_names=["A", "B"], plot_name="figures", args={"k": 10}, ylabel="GB/s",
        )
    )  # fmt: skip
    def measure(n, who, k):
        return (n * k, n, n * k * 2) if who == "a" else n

    pytest.importorskip("matplotlib")
    table = measure.run(print_data=True, save_path=str(tmp_path), return_df=True)
    assert "A (GB/s)" in capsys.readouterr().out
    assert (tmp_path / "figures.png").stat().st_size > 1000
    assert (tmp_path / "figures.csv").read_text().splitlines() == [
        "n,A (GB/s),B (GB/s)",
        "1,10,1",
        "2,20,2",
    ]
    assert len(table) == 2


def test_assert_close():
    x = np.array([1.0, np.nan])
    st.testing.assert_close(x, x + 1e-4, atol=1e-3)
    with pytest.raises(AssertionError):
        st.testing.assert_close(x, x + 1e-2, atol=1e-3)
    with pytest.raises(AssertionError, match="shapes differ"):
        st.testing.assert_close(np.zeros(3), np.zeros(4))
    torch = pytest.importorskip("torch")
    st.testing.assert_close(torch.ones(2, dtype=torch.bfloat16), np.ones(2, np.float32))


def test_failed_assertions_say_where(monkeypatch):
    @st.jit
    def kernel(x, n):
        i = tl.program_id(0)
        assert tl.load(x + i) < n, "too large"

    @st.jit
    def tiles(x, n):
        tl.device_assert(tl.load(x + tl.arange(0, 8)) < n, "too large")

    line = kernel.fn.__code__.co_firstlineno + 3
    x = np.arange(8, dtype=np.int32)
    for each in (kernel, tiles):
        each[(8,)](x, 5)  # dropped without debug
        assert "assert" not in each.warmup(x, 5, grid=(1,)).asm.get("tile-optimized", "")
    with pytest.raises(st.DeviceAssertionError) as raised:
        kernel[(8,)](x, 7, debug=True)
    text = str(raised.value)
    assert f"{__file__}:{line}" in text and "too large" in text and "program (7, 0, 0)" in text, (
        text
    )
    with pytest.raises(st.DeviceAssertionError, match="too large"):
        tiles[(1,)](x, 5, debug=True)


def test_const_parameters_are_only_read():
    @st.jit
    def copy(out, x: tl.const, y: "tl.const", n):
        tl.static_assert(x.dtype.is_const() and not out.dtype.is_const())
        tl.store(out + tl.arange(0, 8), tl.load(x + tl.arange(0, 8)) + tl.load(y), mask=n > 0)

    out, x = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    copy[(1,)](out, x, x[3:], 4)
    np.testing.assert_array_equal(out, x + 3)

    @st.jit
    def store(x: tl.const):
        tl.store(x + tl.arange(0, 8), 0)

    @st.jit
    def add(x: tl.const):
        tl.atomic_add(x, 1)

    for kernel, name in ((store, "store"), (add, "atomic_add")):
        with pytest.raises(st.CompilationError, match=f"{name}: the pointer is to constant data"):
            kernel[(1,)](x)


def test_a_parser_that_other_threads_disturbed_is_asked_again(monkeypatch):
    """CPython up to 3.12 (gh-106905) raises now and then when threads parse at the same time."""
    parse, disturbed = builtins.compile, []

    def disturb(*arguments, **options):
        if len(disturbed) < 3:
            disturbed.append(arguments)
            raise SystemError("AST constructor recursion depth mismatch (before=51, after=53)")
        return parse(*arguments, **options)

    # A number that no kernel in the disk cache has: those are not parsed again.
    some = tl.constexpr(time.time_ns() % 1000003)

    @st.jit
    def kernel(out, n):
        tl.store(out, n + some)

    out = np.zeros(1, np.int32)
    with monkeypatch.context() as disturbing:
        disturbing.setattr(builtins, "compile", disturb)
        kernel[(1,)](out, 41)
    assert out[0] == 41 + some.value and len(disturbed) == 3
