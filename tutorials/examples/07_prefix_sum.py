"""Example 7: running sums of long rows, in two launches.

Element i of a running sum is the sum of elements 0 to i. `tl.cumsum` computes it of a tile; a row of a million elements has more than one tile, and each needs the
sum of all tiles before it. Programs run in any order, so a program cannot wait for the one before it. What has to be finished before other programs read it goes into a launch
of its own:

```text
row          [ 3 1 4 | 1 5 9 | 2 6 ]
1st launch   the sum of each tile        8      15      8
2nd launch   each program adds the sums before its own tile to its own running sum
             [ 3 4 8 | 9 14 23 | 25 31 ]
                       8 +       23 +
```

Launches on one stream run one after the other, and the second sees everything that the first wrote.
"""

import numpy as np

import sectile as st
import sectile.language as tl


@st.jit
def sums_of_tiles(sums, x, columns, tiles, BLOCK: tl.constexpr):
    row, tile = tl.program_id(0), tl.program_id(1)
    c = tile * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + c, mask=c < columns, other=0.0)
    tl.store(sums + row * tiles + tile, tl.sum(v, axis=0))


@st.jit
def running_sums(out, x, sums, columns, tiles, TILES: tl.constexpr, BLOCK: tl.constexpr):
    row, tile = tl.program_id(0), tl.program_id(1)
    t = tl.arange(0, TILES)
    before = tl.sum(tl.load(sums + row * tiles + t, mask=t < tile, other=0.0), axis=0)
    c = tile * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + c, mask=c < columns, other=0.0)
    tl.store(out + row * columns + c, before + tl.cumsum(v, axis=0), mask=c < columns)


def cumsum(x, block=4096):
    """Running sums of every row of a contiguous matrix."""
    rows, columns = x.shape
    tiles = st.cdiv(columns, block)
    out, sums = np.empty_like(x), np.empty((rows, tiles), x.dtype)
    grid = (rows, tiles)
    sums_of_tiles[grid](sums, x, columns, tiles, BLOCK=block)
    # TILES is an extent, so a constant; it need not be a power of two, but few different ones are few variants.
    running_sums[grid](out, x, sums, columns, tiles, TILES=st.next_power_of_2(tiles), BLOCK=block)
    return out


x = np.random.default_rng(0).standard_normal((3, 100_001), np.float32)
out = cumsum(x)
expected = np.cumsum(x.astype(np.float64), axis=1)
error = np.abs(out - expected).max() / np.abs(expected).max()
print(f"greatest error: {error:.1e} of the greatest element")
assert error < 1e-5
print("correct: True")
