"""A kernel for Triton itself, which reads a kernel's source from a file."""

import triton
import triton.language as tl


@triton.jit
def copy(out, x, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i))
