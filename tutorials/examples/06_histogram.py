"""Example 6: a histogram, with counters that all programs share.

Programs run at the same time, so two of them that add to one counter by `load` and `store` lose additions. `tl.atomic_add` reads, adds and writes in one step that
nothing can come between.

Two ways to do it are here. In the first every element is an atomic addition, and programs meet at the counters as often as there are elements. In the second a program counts its own
elements first (`tl.histogram`), and adds one number for each counter. Both give the same counts: additions of integers are the same in any order, those of floats are not.
"""

import numpy as np

import sectile as st
import sectile.language as tl


@st.jit
def count_each(counts, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    bins = tl.load(x + i, mask=inside, other=0)
    tl.atomic_add(counts + bins, 1, mask=inside)  # masked-off elements add nothing


@st.jit
def count_blocks(counts, x, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    own = tl.histogram(tl.load(x + i, mask=inside, other=0), BINS, mask=inside)
    tl.atomic_add(counts + tl.arange(0, BINS), own)


def histogram(x, bins):
    """Counts of 0 to bins - 1 in an array of bytes, by both ways."""
    each, blocks = np.zeros(bins, np.int32), np.zeros(bins, np.int32)
    grid = (st.cdiv(x.size, 1024),)
    count_each[grid](each, x, x.size, BLOCK=1024)
    count_blocks[grid](blocks, x, x.size, BINS=bins, BLOCK=1024)
    return each, blocks


x = np.random.default_rng(0).integers(0, 200, 100_001).astype(np.uint8)
each, blocks = histogram(x, 256)
expected = np.bincount(x, minlength=256)
assert np.array_equal(each, expected)
assert np.array_equal(blocks, expected)
print(f"{x.size} elements, the most frequent one {expected.max()} times")
print("correct: True")
