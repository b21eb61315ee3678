"""What a program learns of the machine it runs on: tl.extra.cuda.globaltimer, smid, num_warps."""

import time

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile.language.extra import cuda


@st.jit
def timing(out, x, n, N: tl.constexpr):
    i = tl.arange(0, N)
    start = cuda.globaltimer()
    total = tl.zeros((N,), tl.float32)
    for k in range(n):
        total += tl.load(x + i) * k
        tl.store(x + i, total)
    end = cuda.globaltimer()
    pid = tl.program_id(0)
    tl.store(out + 2 * pid, start)
    tl.store(out + 2 * pid + 1, end)


def test_the_clock_is_read_anew():
    x, out = np.ones((1 << 10,), np.float32), np.zeros(6, np.int64)
    timing[(3,)](out, x, 2000, N=1 << 10)
    starts, ends = out[::2], out[1::2]
    assert (ends > starts).all()  # 2000 rounds take longer than any clock's tick


@st.jit
def waiting(out, nanoseconds, DTYPE: tl.constexpr):
    start = tl.extra.cuda.globaltimer()
    tl.static_assert(start.dtype == tl.int64)
    tl.static_assert(start.shape == ())
    rounds = 0
    while tl.extra.cuda.globaltimer() - start < nanoseconds:
        rounds += 1
        tl.debug_barrier()  # all threads make the same rounds, or this would be stuck
    tl.store(out, rounds)


def test_a_loop_may_wait_for_the_clock():
    out = np.zeros(1, np.int32)
    waiting[(1,)](out, 0, None)
    start = time.monotonic_ns()
    waiting[(1,)](out, 3_000_000, None)
    assert time.monotonic_ns() - start >= 3_000_000
    assert out[0] > 1


@st.jit
def where_am_i(out, N: tl.constexpr):
    tl.static_assert(cuda.smid().dtype == tl.int32)
    tl.store(out + tl.program_id(0) * N + tl.arange(0, N), cuda.smid())


def test_the_processor_is_one_number():
    out = np.full((8, 64), -1, np.int32)
    where_am_i[(8,)](out, N=64)
    assert (out == out[:, :1]).all() and (out >= 0).all() and (out < 1 << 16).all()


@st.jit
def counting(out):
    tl.static_assert(tl.extra.cuda.num_threads() == 32 * tl.extra.cuda.num_warps())
    i = tl.arange(0, tl.extra.cuda.num_threads())
    tl.store(out + i, tl.extra.cuda.num_warps())


def test_the_number_of_warps_is_the_launchs():
    for warps in (1, 4, 8, 4):
        out = np.zeros(512, np.int32)
        counting[(1,)](out, num_warps=warps)
        assert out.tolist() == [warps] * (32 * warps) + [0] * (512 - 32 * warps)


@pytest.mark.host
def test_in_ptx():
    signature = {"out": "*i64", "x": "*fp32", "n": "i32"}
    ptx = st.compile(timing, signature, {"N": 1024}, target="cuda:90").asm["ptx"]
    assert ptx.count("%globaltimer") == 2, ptx
    ptx = st.compile(where_am_i, {"out": "*i32"}, {"N": 64}, target="cuda:80").asm["ptx"]
    assert "%smid" in ptx
