"""What launches, tiles and settings are to type checkers: it would be easy to accept everything as `Any`."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Callable

import sectile as st
import sectile.language as tl

if TYPE_CHECKING:
    from typing_extensions import assert_type

    from sectile._native import BoundKernel
    from sectile.runtime.compiled import CompiledKernel
    from sectile.runtime.inspection import KernelReport, VariantReport


@st.jit
def kernel(x: Any, n: int, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, 64)
    assert_type(i, tl.tensor)
    assert_type(-i * 2.0 + (3 - i), tl.tensor)
    assert_type((i & 1) << i, tl.tensor)
    assert_type(i[:, None], tl.tensor)
    assert_type(i.T.exp().to(tl.float16), tl.tensor)
    assert_type(i.sum(0), tl.tensor)
    assert_type(tl.max(i, axis=0), tl.tensor)
    assert_type(i.max(0, return_indices=True), tuple[tl.tensor, tl.tensor])
    assert_type(tl.load(x + i, mask=i < n), tl.tensor)
    assert_type(tl.atomic_add(x, 1), tl.tensor)
    assert_type(i.dtype, tl.dtype)
    assert_type(i.shape, tuple[int, ...])
    assert_type(helper(i, 2), tl.tensor)
    for step in tl.range(0, n):
        assert_type(step, tl.tensor)


@st.jit(debug=True)
def helper(x: tl.tensor, slope: tl.constexpr) -> tl.tensor:
    return x * 2


@st.autotune([], key=[])
@st.jit
def tuned(x: Any, BLOCK: tl.constexpr) -> None: ...


def launches() -> None:
    assert_type(kernel[(1,)](0, 1, BLOCK=2), CompiledKernel)
    assert_type(kernel[1](0, 1, BLOCK=2, num_warps=4), CompiledKernel)
    assert_type(kernel[lambda meta: (1,)].bind(0, 1, BLOCK=2), BoundKernel)
    assert_type(kernel.warmup(0, 1, BLOCK=2, grid=(1,)), CompiledKernel)
    assert_type(kernel.warmup(0, 1, BLOCK=2, wait=False), Future[CompiledKernel])
    assert_type(kernel.precompile({}, wait=True), list[CompiledKernel])
    assert_type(kernel.precompile({}, wait=False), list[Future[CompiledKernel]])
    assert_type(st.compile(kernel, {}), CompiledKernel)
    assert_type(st.inspect(kernel), KernelReport)
    assert_type(st.inspect(tuned), KernelReport)
    assert_type(st.inspect(kernel[1](0, 1, 2)), VariantReport)
    assert_type(tuned, st.Autotuner)


def settings() -> None:
    assert_type(st.knobs.runtime.debug, bool)
    assert_type(st.knobs.runtime.check, str | None)
    assert_type(st.knobs.runtime.print_elements, int)
    assert_type(st.knobs.autotuning.budget, float | None)
    assert_type(st.knobs.autotuning.listener, Callable[..., Any] | None)
    assert_type(st.testing.do_bench(launches), float)
    assert_type(st.cdiv(4, 3), int)
