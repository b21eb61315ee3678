"""A kernel to tune and a way to measure it that gives the same times every day."""

import functools

import sectile as st
import sectile.language as tl

# `block_of` leaves its BLOCK in `out`, so that a test sees who ran: its candidates differ, and should.
autotune = functools.partial(st.autotune, verify=False)


@st.jit
def block_of(out, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK != 13)
    tl.store(out, BLOCK)


def configs(*blocks):
    return [st.Config({"BLOCK": block}) for block in blocks]


class Bench:
    """A do_bench by which a smaller BLOCK is faster; a new one per test, that counts its calls."""

    def __init__(self, out):
        self.out = out
        self.blocks = []

    def __repr__(self):
        return "Bench"  # the same in every process

    def __call__(self, call, quantiles):
        call()
        self.blocks.append(int(self.out[0]))
        return [float(self.out[0])] * 3


def launch(blocks, bench, out, n=5, kernel=block_of, key=("n",), **options):
    """A new tuner's first launch, as in a new process; the block that was used."""
    tuner = autotune(configs(*blocks), key=list(key), do_bench=bench, **options)(kernel)
    out[0] = 0
    tuner[(1,)](out, n)
    return int(out[0]), tuner
