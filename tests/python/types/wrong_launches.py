"""What type checkers find, and what they cannot: each line with a comment is wrong.

``# found``: mypy and pyright report it. ``# found by pyright``: only that one does. ``# not found``: neither
does, for the reasons in python/README.md; `test_types.py` holds them to exactly that.
"""

import numpy as np

import sectile as st
import sectile.language as tl


@st.jit
def add(x, y, out, n, BLOCK: tl.constexpr, scale=1.0):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, (tl.load(x + i) + tl.load(y + i)) * scale, mask=i < n)


@st.jit(debug=True)
def clear(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, 0.0, mask=i < n)


@st.autotune([st.Config({"BLOCK": 64})], key=["n"])
@st.jit
def tuned(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 0.0)


@st.jit
def helper(x, slope: tl.constexpr):
    return x * slope


@st.jit
def wrong_tiles(x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, 16)
    x = tl.load(x_ptr + i) + 1
    tile = tl.zeros((16, 16), dtype=tl.float32)
    tl.prgram_id(0)  # found
    tl.arange(0, "16")  # found
    tl.zeros((16, 16), dtyp=tl.float32)  # found
    tl.zeros((16, 16), "fp32")  # found
    tile.too(tl.float16)  # found
    tile @ tile  # found
    tile**2  # found
    tile["0"]  # found
    tile["a"]  # found
    tl.exp("x")  # found
    tl.max(tile, 0, return_indices=True).exp()  # found
    x.sums(0)  # found
    helper(tile, slop=2)  # found
    helper(tile)  # found
    (tile * BLOCK).too(tl.float16)  # not found
    tl.extra.libdevice.tangent(tile)  # not found
    BLOCK.too()  # not found


def wrong_launches() -> None:
    x = np.ones(100, np.float32)
    add[(1,)](x, x, x, 100, BLOK=64)  # found
    add[(1,)](x, x, x, 100, BLOCK=64, num_warp=4)  # found
    add[(1,)](x, x, x, 100)  # found
    add[(1,)](x, x, x, 100, 64, 1.0, 5)  # found
    add[(1,)](x, x, x, 100, BLOCK=64, num_warps="4")  # found
    add[(1,)](x, x, x, 100, BLOK=64, num_warps=4)  # not found
    add[(1,)](x, x, x, 100, BLOCK=64, scale="one")  # found by pyright
    add[1.5](x, x, x, 100, BLOCK=64)  # found
    add[(1,)].bind(x, x, x, 100, BLOK=64)  # found
    add[lambda meta: 1.5](x, x, x, 100, BLOCK=64)  # found
    clear[(1,)](x, 100, BLOK=64)  # found
    tuned[(1,)](x, n=100, BLOK=64)  # not found
    tuned.bset_config  # found
    add.variant()  # found
    add.fnn  # found
    add.warmup(x, x, x, 100, BLOK=64, grid=(1,))  # not found
    add.warmup(x, x, x, 100, BLOCK=64, grid=(1,), wait=False).name  # found
    add[(1,)](x, x, x, 100, BLOCK=64).nam  # found
    st.inspect(add).occupancy  # found
    st.jitt  # found
    st.jit(do_not_specialise=["n"])  # found
    st.Config({"BLOCK": 64}, num_warp=4)  # found
    st.knobs.runtime.chek = "bounds"  # found
    st.knobs.runtime.num_threads = "many"  # found
    st.knobs.autotuning.budget + 1  # found
    st.testing.do_bench(wrong_launches, return_mode="mean").nam  # found
    st.heuristics({"EVEN": 5})  # found
