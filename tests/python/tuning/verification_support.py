"""Kernels whose candidates agree or differ, for the tests of what the tuner compares."""

import warnings

import numpy as np
from tuning_support import configs

import sectile as st
import sectile.language as tl


@st.jit
def softmax(out, x, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    v = tl.load(x + row * stride + column, mask=inside, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * stride + column, e / tl.sum(e, axis=0), mask=inside)


@st.jit
def row_sum(out, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + column, mask=column < columns, other=0.0)
    tl.store(out + row, tl.sum(v, axis=0))


@st.jit
def total(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + i, mask=i < n, other=0.0), axis=0))


@st.jit
def double(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def grid(n):
    return lambda meta: (st.cdiv(n, meta["BLOCK"]),)


def tuned(kernel, blocks, **options):
    return st.autotune(configs(*blocks), key=[], warmup=0, rep=1, **options)(kernel)


def warned(tuner, where, *arguments, **keywords):
    """The TuningWarnings of a launch, as one text."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        tuner[where](*arguments, **keywords)
    assert all(each.filename == __file__ for each in seen)
    return "\n".join(str(each.message) for each in seen if each.category is st.TuningWarning)


def chosen(tuner):
    return tuner.best_config.kwargs["BLOCK"]


def rows(seed=0, shape=(64, 781)):
    return np.random.default_rng(seed).random(shape, dtype=np.float32)


def softmax_of(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
