"""Kernels and launches as users write them; type checkers have nothing to say about this file.

`test_types.py` checks it and runs `main`, so that what is accepted here also works.
"""

import tempfile
from typing import Any

import numpy as np

import sectile as st
import sectile.language as tl
from sectile.language import constexpr

SCALE = tl.constexpr(2)


# -- As most kernels are written: only constants have annotations -----------------------------------


@st.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=inside) + tl.load(y_ptr + i, inside), mask=inside)


@st.jit
def leaky(x, slope: tl.constexpr):
    return tl.where(x >= 0, x, slope * x)


@st.jit(do_not_specialize=["rows"])
def softmax(out_ptr, x_ptr, rows, columns, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    inside = column < columns
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * columns + column, mask=inside, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * columns + column, e / e.sum(0), mask=inside)


@st.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, activation: tl.constexpr = None
):  # fmt: skip
    tiles_n = tl.cdiv(N, BN)
    program = tl.program_id(0)
    group = min(tl.cdiv(M, BM) - program // tiles_n, BM)
    tl.static_assert(BM % 16 == 0, "BM is a multiple of 16")
    m = (program // tiles_n) * BM + tl.arange(0, BM)
    n = (program % tiles_n) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in tl.range(0, tl.cdiv(K, BK), num_stages=2):
        left = K - step * BK
        a = tl.load(a_ptr + m[:, None] * K + (step * BK + k)[None, :],
                    mask=(m[:, None] < M) & (k[None, :] < left), other=0.0)  # fmt: skip
        b = tl.load(b_ptr + (step * BK + k)[:, None] * N + n[None, :],
                    mask=(k[:, None] < left) & (n[None, :] < N), other=0.0)  # fmt: skip
        total = tl.dot(a, b, total, input_precision="ieee")
    if activation is not None:
        total = activation(total, 0.01)
    total *= tl.where(group > 0, 1.0, 0.0)
    c = c_ptr + m[:, None] * N + n[None, :]
    tl.store(c, total.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


# -- What tiles can do -----------------------------------------------------------------------------


@st.jit
def operators(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    count: tl.tensor = i + 1
    count = (2 * count - 1) // 3 % 5
    count = (count << 1 >> 1) | (3 & count) ^ ~count
    ratio = 1.0 / (-count.to(tl.float32) + SCALE * abs(count) + 100)
    both = (ratio > 0) & (ratio != 2) & (count == count) | (i <= SCALE)
    square = ratio[:, None] * ratio[None, :]
    flat = square.reshape(BLOCK * BLOCK).reshape((BLOCK, BLOCK)).T.sum(axis=1)
    largest, place = tl.max(square, 1, return_indices=True)
    bits = ratio.to(tl.int32, bitcast=True).to(tl.float32, bitcast=True)
    for power in tl.static_range(3):
        bits += power * largest.exp().log().sqrt().sigmoid()
    noise = tl.rand(1, i) + tl.randn4x(2, i)[0]
    total = bits + flat + place + noise * 0 + tl.full((BLOCK,), 1, tl.float32)
    folded = tl.reduce(total, 0, leaky_sum) + tl.associative_scan(total, 0, leaky_sum)
    assert square.shape[0] == BLOCK and square.dtype.is_floating() and square.numel > 0
    tl.store(out_ptr + i, tl.where(both, total, folded) + tl.load(x_ptr + i))


@st.jit
def leaky_sum(a, b):
    return a + b


@st.jit
def count(x_ptr, sums_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    tl.atomic_add(sums_ptr, tl.sum(x, axis=0))
    old = tl.atomic_max(sums_ptr + 1, x.max(), sem="relaxed")
    tl.device_print("before", old, when=old < 0)
    tl.device_assert(old >= 0, "no sum is below zero")
    tl.atomic_cas(sums_ptr + 2, 0, 1)


# -- Tuned, and with constants that follow from others ---------------------------------------------


@st.autotune([st.Config({"BLOCK": 64}), st.Config({"BLOCK": 128}, num_warps=8)], key=["n"])
@st.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@st.jit
def scale(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = None if EVEN else i < n
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=mask) * factor, mask=mask)


@st.autotune(st.Space(BLOCK=[64, 128], num_warps=[4, 8]), key=[])
@st.jit
def double(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)


# -- Annotated throughout, as --strict wants it ----------------------------------------------------


@st.jit
def twice(x: tl.tensor) -> tl.tensor:
    return x + x


@st.jit(debug=True, noinline=True)
def fill(out_ptr: Any, n: int, dtype: tl.constexpr, BLOCK: constexpr = 64) -> None:
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, twice(tl.zeros([BLOCK], dtype) + 1), mask=i < n)


def strict_launches(n: int) -> st.JITFunction:
    out = np.zeros(n, np.float32)
    grid = (st.cdiv(n, 64),)
    fill[grid](out, n, tl.float32)
    compiled = fill[grid](out, n, dtype=tl.float32, BLOCK=64, num_warps=4, num_stages=2, debug=True)
    texts: list[str] = [compiled.name, compiled.hash, *compiled.asm]
    run = fill[grid].bind(out, n, tl.float32, num_warps=4)
    run()
    run(n=n - 1)
    run.update(out_ptr=out)
    run.grid = (1,)
    names: list[str] = [*texts, run.kernel.name, *run.arguments]
    assert np.all(out == 2) and names
    return fill


# -- Launches --------------------------------------------------------------------------------------


def launches() -> None:
    n = 1000
    x, y = np.ones(n, np.float32), np.ones(n, np.float32)
    out = np.empty_like(x)

    def grid(meta: dict[str, Any]) -> tuple[int, ...]:
        return (st.cdiv(n, meta["BLOCK"]),)

    add[(st.cdiv(n, 64),)](x, y, out, n, BLOCK=64)
    add[grid](x, y, out, n, 64)
    add[lambda meta: (st.cdiv(n, meta["BLOCK"]), 1)](x, y, out, n, BLOCK=64, num_warps=8)
    add[16, 1, 1](x, y, out, n, BLOCK=tl.constexpr(64), num_stages=3, maxnreg=None)
    add[16](x, y, out, n, BLOCK=64, check="bounds", debug=True, sanitize_overflow=False)
    add[16](x, y, out, n, BLOCK=64, stream=None, enable_fp_fusion=False, num_ctas=1, waves_per_eu=2)
    options = {"BLOCK": 64, "num_warps": 4}
    add[grid](x, y, out, n, **options)
    assert np.all(out == 2)

    softmax[(4,)](out, x, 10, 100, BLOCK=128)
    a = np.ones((20, 30), np.float32)
    c = np.zeros((20, 20), np.float32)
    matmul[(1,)](a, a.T.copy(), c, 20, 20, 30, 32, 32, 16, activation=leaky)
    matmul[(1,)](a, a.T.copy(), c, 20, 20, 30, 32, 32, 16)
    assert np.all(c == 30)
    operators[1,](x, out, BLOCK=16)
    sums = np.zeros(3, np.int32)
    count[grid](np.ones(n, np.int32), sums, n, BLOCK=128)
    assert sums[0] >= n and sums[2] == 1

    scale[grid](x, out, n, 3.0)
    scale[grid](x, out, n, factor=3.0)
    assert np.all(out == 3)
    double.warmup(x, n, grid=grid)
    with st.knobs.autotuning.scope():
        st.knobs.autotuning.mode = "off"
        double[grid](x, n)
    best: st.Config | None = double.best_config
    assert best is not None and best.num_warps == 4


def ahead() -> None:
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": ["*fp32", "*fp32:16"], "n": "i32"}
    kernels = add.precompile({**signature, "BLOCK": [64, 128]}, targets="cpu", num_warps=4)
    futures = add.precompile({**signature, "BLOCK": 64}, wait=False)
    names = {kernel.name for kernel in kernels} | {future.result().name for future in futures}
    assert names == {"add"}
    mock = st.MockTensor(tl.float32)
    compiled = add.warmup(mock, mock, mock, 5, BLOCK=64, grid=(1,))
    later = add.warmup(mock, tl.pointer_type(tl.float32), mock, 5, BLOCK=64, grid=(1,), wait=False)
    assert later.result().name == compiled.name
    compiled[(1,)](np.ones(5, np.float32), np.ones(5, np.float32), np.ones(5, np.float32), 5)
    st.compile(add, {**signature, "out_ptr": "*fp32"}, {"BLOCK": 64}, "cpu", num_warps=8)
    add.precompile([variant.signature for variant in add.variants()], add.variants())
    report = st.inspect(compiled)
    assert len(st.inspect(add)) > 0
    assert all(access.bytes > 0 for access in report.accesses) and report.occupancy is None
    add.clear()
    assert add.arg_names[-1] == "BLOCK" and add.fn.__name__ == "add" and add.params[4].is_constexpr


def settings() -> None:
    before: str | None = st.knobs.cache.dir
    with tempfile.TemporaryDirectory() as folder, st.knobs.scope(check="bounds", num_threads=1):
        st.knobs.cache.dir = folder
        st.knobs.runtime.check = None
        st.knobs.runtime.debug = not st.knobs.runtime.debug
        threads = st.knobs.runtime.num_threads or 1
        launched: list[str] = []
        st.knobs.runtime.launch_enter_hook = lambda launch: launched.append(launch.get()["name"])
        strict_launches(64)
        st.knobs.runtime.launch_enter_hook = None
        assert launched == ["fill"] * 4
        assert threads + st.knobs.cache.wait > 1
    assert st.knobs.cache.dir == before
    milliseconds = st.testing.do_bench(lambda: strict_launches(64), warmup=1, rep=1)
    assert milliseconds > 0 and st.cdiv(5, 4) == 2 and st.next_power_of_2(5) == 8
    st.testing.assert_close(np.ones(3), [1, 1, 1])
    if st.runtime.driver.active.get_current_target().backend not in ("cpu", "cuda"):
        raise st.MachineError("there is no such back end")


def errors() -> None:
    try:
        add[(-1,)](1, 2, 3, 4, 5)
    except (st.CompilationError, st.ArgumentError, st.OutOfResources) as error:
        assert isinstance(error, st.SectileError)


def main() -> None:
    strict_launches(128)
    launches()
    ahead()
    settings()
    errors()


if __name__ == "__main__":
    main()
