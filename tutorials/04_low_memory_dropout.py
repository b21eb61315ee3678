"""Lesson 4: dropout without storing a mask.

Dropout zeroes a random fraction p of its input and scales the rest by 1 / (1 - p). The backward pass
must zero the same elements; usually that means keeping a mask as large as the input. A counter-based
generator (Philox: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011) makes the n-th
number of a seed directly from (seed, n), so the mask can be made again from four bytes of seed.

Run it:  python tutorials/04_low_memory_dropout.py
"""

import sys

import numpy as np
from lesson import DEVICE_NAME, normal, to_numpy, xp

import sectile as st
import sectile.language as tl


@st.jit
def dropout_tile(x_ptr, out_ptr, count, p, seed, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    x = tl.load(x_ptr + index, mask=inside)
    # The element's own index is the counter: whoever asks for (seed, index) gets the same number.
    keep = tl.rand(seed, index) > p
    tl.store(out_ptr + index, tl.where(keep, x / (1 - p), 0.0), mask=inside)


def dropout(x, p, seed):
    """x with a fraction p of its elements zeroed, the others scaled by 1 / (1 - p)."""
    out = xp.empty_like(x)
    (count,) = x.shape
    dropout_tile[(st.cdiv(count, 1024),)](x, out, count, p, seed, BLOCK=1024)
    return out


def main(quick=False):
    count, p = (50_001 if quick else 5_000_001), 0.3
    x = normal(count, seed=1)

    first, again, other = (to_numpy(dropout(x, p, seed)) for seed in (123, 123, 512))
    assert np.array_equal(first, again), "the same seed must drop the same elements"
    assert not np.array_equal(first, other), "another seed must drop others"
    kept = first != 0
    assert np.allclose(first[kept], to_numpy(x)[kept] / np.float32(1 - p)), (
        "kept elements must be scaled by 1 / (1 - p)"
    )
    # Five standard deviations of a binomial: a right generator fails here about once in two million.
    fraction, deviation = 1 - kept.mean(), np.sqrt(p * (1 - p) / count)
    assert abs(fraction - p) < 5 * deviation, f"dropped {fraction:.4f} instead of {p}"
    print(
        f"dropout on {DEVICE_NAME}: {count:,} elements, {fraction:.4f} of them dropped (p = {p}),"
        " reproducible from the seed"
    )


if __name__ == "__main__":
    main("--quick" in sys.argv)
