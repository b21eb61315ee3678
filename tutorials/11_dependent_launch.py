"""Lesson 11: launches that begin before the one before them is done.

Launches on a GPU run one after another: the programs of the second begin when the last of the first has ended. At the
end of each, most of the GPU waits for the slowest programs; at the beginning, every program loads what it needs
first. Where launches are short and many, as the layers of a model for one user, that is much of the time.

    one after another      |-- first ------|-- weights -- rest ------|-- weights -- rest ------|
    overlapping            |-- first ------|
                                |- weights - rest ------|
                                              |- weights - rest ------|

With `launch_pdl=True` (programmatic dependent launch; GPUs of compute capability 9.0 and newer) a launch may begin while
the one before it still runs. Two calls in the kernel keep the order where it matters:

*gdc_wait()* waits until the launches before this one are done, and sees what they wrote. Before it a program does what
depends on none of them: compute addresses, load weights. What it reads behind it is what they wrote. And it
writes nothing before it, for they might still read what is there.

*gdc_launch_dependents()* lets the next launch begin, once every program of this one came here or ended. It is a hint
only: the next one's gdc_wait() still waits for the end. Early is good for the next launch, and takes room from this
one, which the next one's waiting programs fill.

The kernel is right without the option, too, and on devices that overlap nothing: both calls do nothing there. The option
itself is refused on older GPUs and on the CPU, so it is given to those GPUs only that follow it.

Run it:  python tutorials/11_dependent_launch.py
"""

import sys

import numpy as np
from lesson import DEVICE, DEVICE_NAME, normal, to_numpy, xp

import sectile as st
import sectile.language as tl


@st.jit
def layer_tile(x_ptr, weight_ptr, bias_ptr, out_ptr, count, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    # No launch that may still run writes weights, so there is nothing to wait for.
    weight = tl.load(weight_ptr + index, mask=inside)
    bias = tl.load(bias_ptr + index, mask=inside)

    # x is what the launch before this one wrote.
    tl.extra.cuda.gdc_wait()
    x = tl.load(x_ptr + index, mask=inside)
    tl.extra.cuda.gdc_launch_dependents()
    y = weight * x + bias
    tl.store(out_ptr + index, tl.where(y >= 0, y, 0.01 * y), mask=inside)


def can_overlap():
    """Whether this device begins launches early."""
    target = st.runtime.driver.active.get_current_target()
    return DEVICE == "cuda" and target.backend == "cuda" and int(target.arch) >= 90


def run_layers(x, weights, biases, buffers, overlapping):
    """All layers, each a launch; they write two buffers in turn. Returns the one that was written last."""
    (count,) = x.shape
    options = {"launch_pdl": True} if overlapping else {}
    for layer, (weight, bias) in enumerate(zip(weights, biases)):
        out = buffers[layer % 2]
        layer_tile[(st.cdiv(count, 1024),)](x, weight, bias, out, count, BLOCK=1024, **options)
        x = out
    return x


def reference(x, weights, biases):
    """The same in float64."""
    x = to_numpy(x).astype(np.float64)
    for weight, bias in zip(weights, biases):
        y = to_numpy(weight) * x + to_numpy(bias)
        x = np.where(y >= 0, y, 0.01 * y)
    return x


def main(quick=False):
    layers, count = (7, 10_001) if quick else (50, 200_001)
    x = normal(count, seed=1)
    weights = [1 + 0.1 * normal(count, seed=10 + layer) for layer in range(layers)]
    biases = [0.1 * normal(count, seed=100 + layer) for layer in range(layers)]
    buffers = [xp.empty_like(x) for _ in range(2)]
    expected = reference(x, weights, biases)
    print(f"{layers} dependent launches on {DEVICE_NAME}: {count:,} float32 each")
    ways = [False, True] if can_overlap() else [False]
    for overlapping in ways:
        what = "overlapping" if overlapping else "one after another"
        error = 0.0
        # Several times: had a launch read too early, it would have found the numbers of the run before.
        for _ in range(1 if quick else 5):
            result = to_numpy(run_layers(x, weights, biases, buffers, overlapping))
            error = max(error, np.abs(result - expected).max() / np.abs(expected).max())
        assert error < 1e-5, (
            f"{what}: off by {error} of the largest element from the float64 result"
        )
        line = f"  {what:<18} within {error:.1e} of the float64 result"
        if not quick:
            milliseconds = st.testing.do_bench(
                lambda: run_layers(x, weights, biases, buffers, overlapping)
            )
            line += f", {1000 * milliseconds / layers:.1f} us a launch"
        print(line)
    if not can_overlap():
        print("  launches do not overlap here: that needs a GPU of compute capability 9.0 or newer")


if __name__ == "__main__":
    main("--quick" in sys.argv)
