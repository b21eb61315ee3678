"""Kernels that report to the host, compiled for GPUs: prints, assertions, bounds. No GPU is needed."""

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
