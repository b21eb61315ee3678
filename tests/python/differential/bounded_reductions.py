"""Reductions and scans, with functions of the language and of the kernel. A part of `error_bounds.py`.

In which order elements meet is known where the contract says so: numerics="reproducible" adds neighbours first, in
a tree, and a combining function with effects meets each pair once, in that tree. Then any function will do. Elsewhere
functions are associative, and what they make of floats must be exact: then this tree is as good as any other.
"""

import builtins
import dis
import functools
import operator
import types

import bounded_tiles
import numpy as np
from bounded_memory import Pointer
from bounded_tiles import FLOATS, Tile, cast, is_float, refuse_unless


def reshape(x, shape):
    return x.map(lambda array: np.reshape(array, shape))


def flip(x, axis):
    return x.map(lambda array: np.flip(array, axis))


def flat_for(x, axis):
    return (reshape(x, (-1,)), 0) if axis is None else (x, axis)


def widened(x):
    """Integers narrower than 32 bits are summed in 32."""
    if is_float(x.dtype) or x.value.itemsize >= 4:
        return x
    return cast(x, "uint32" if x.dtype.startswith("u") else "int32")


def is_whole_below(x, total):
    """Sums of these numbers, in any order, are exact in their type."""
    if not x.is_exact() or not np.isfinite(x.value).all():
        return False
    whole = (x.value == np.rint(x.value)).all()
    return whole and (total < 1 / FLOATS[x.dtype][0]).all()


def taken_in_fp32(function):
    """Sums and products of narrow floats are those of fp32, rounded once."""

    def of(x, *arguments, **named):
        if x.dtype not in ("float16", "bfloat16"):
            return function(x, *arguments, **named)
        return cast(function(cast(x, "float32"), *arguments, **named), x.dtype)

    return of


@taken_in_fp32
def sum(x, axis=None, keep_dims=False):
    x = widened(x)
    if has_an_order(x):
        return ordered_sum(x, axis, keep_dims)
    x, axis = flat_for(x, axis)
    total = np.sum(x.value, axis=axis, keepdims=keep_dims, dtype=x.value.dtype)
    if not is_float(x.dtype):
        return Tile(total, x.dtype)
    absolute = np.sum(x.magnitude(), axis=axis, keepdims=keep_dims)
    refuse_unless(absolute < FLOATS[x.dtype][2] / 2, "overflow of a sum")
    if is_whole_below(x, absolute):
        return Tile(total, x.dtype)
    unit, least, _ = FLOATS[x.dtype]
    error = np.sum(x.error, axis=axis, keepdims=keep_dims)
    error = error + x.shape[axis] * (unit * absolute + least)
    return Tile(total, x.dtype, error)


def without_nan(x, sign):
    """Numbers win over NaN: it counts as what loses to all of them."""
    if not is_float(x.dtype):
        return x
    is_nan = np.isnan(x.value)
    error = None if x.error is None else np.where(is_nan, 0, x.error)
    return Tile(np.where(is_nan, -sign * np.inf, x.value).astype(x.value.dtype), x.dtype, error)


def selection(function, sign):
    def of(x, axis=None, return_indices=False, keep_dims=False):
        x, axis = flat_for(x, axis)
        if is_float(x.dtype):
            refuse_unless(not np.isnan(x.value).all(axis=axis).any(), "nothing but NaN")
        x = without_nan(x, sign)
        error = None if x.error is None else np.max(x.error, axis=axis, keepdims=keep_dims)
        best = Tile(function(x.value, axis=axis, keepdims=keep_dims), x.dtype, error)
        return (best, position(sign)(x, axis)) if return_indices else best

    return of


max, min = selection(np.max, 1), selection(np.min, -1)


def xor_sum(x, axis=None):
    x, axis = flat_for(x, axis)
    return Tile(np.bitwise_xor.reduce(x.value, axis=axis), x.dtype)


def position(sign):
    def of(x, axis, tie_break_left=True):
        x = without_nan(x, sign)
        if x.error is None:
            ordered = x.value.astype(object) * sign if x.dtype.startswith("u") else x.value
            scores = (
                ordered
                if x.dtype.startswith("u")
                else np.multiply(x.value.astype(np.float64), sign)
            )
            if x.dtype == "int64":
                scores = x.value.astype(object) * sign
            return Tile(np.argmax(scores, axis).astype(np.int32), "int32")
        scores = x.value * sign
        best = np.argmax(scores, axis)
        at = np.expand_dims(best, axis)
        lead = np.take_along_axis(scores, at, axis) - scores
        error = x.error + np.take_along_axis(x.error, at, axis)
        tied = (lead == 0) & (error == 0)
        itself = np.arange(x.shape[axis]).reshape(
            [-1 if d == axis else 1 for d in builtins.range(scores.ndim)]
        )
        refuse_unless((lead > error) | tied | (itself == at), "a position that errors decide")
        return Tile(best.astype(np.int32), "int32")

    return of


argmax, argmin = position(1), position(-1)


def reversible(scan):
    def of(x, axis, reverse=False):
        if has_an_order(x):
            return associative_scan(x, axis, scan.own, reverse)
        if reverse:
            return flip(scan(flip(x, axis), axis), axis)
        return scan(x, axis)

    return of


def steps_by(function):
    """Names the function of two elements that a scan combines with."""

    def of(scan):
        scan.own = function
        return scan

    return of


@taken_in_fp32
@reversible
@steps_by(operator.add)
def cumsum(x, axis):
    x = widened(x)
    total = np.cumsum(x.value, axis=axis, dtype=x.value.dtype)
    if not is_float(x.dtype):
        return Tile(total, x.dtype)
    absolute = np.cumsum(x.magnitude(), axis=axis)
    refuse_unless(absolute < FLOATS[x.dtype][2] / 2, "overflow of a sum")
    if is_whole_below(x, absolute):
        return Tile(total, x.dtype)
    unit, least, _ = FLOATS[x.dtype]
    error = np.cumsum(x.error, axis=axis) + x.shape[axis] * (unit * absolute + least)
    return Tile(total, x.dtype, error)


@taken_in_fp32
@reversible
@steps_by(operator.mul)
def cumprod(x, axis):
    product = np.cumprod(x.value, axis=axis, dtype=x.value.dtype)
    if not is_float(x.dtype):
        return Tile(product, x.dtype)
    unit, least, greatest = FLOATS[x.dtype]
    most = np.cumprod(np.maximum(x.magnitude(), 1), axis=axis)
    refuse_unless(most < greatest / 4, "overflow of a product")
    most = np.cumprod(x.magnitude() * (1 + 2 * unit), axis=axis)
    # Partial products that underflow lose what the others then magnify.
    least = least * x.shape[axis] * np.cumprod(np.maximum(x.magnitude(), 1), axis=axis)
    return Tile(product, x.dtype, most - np.abs(product) + most * unit + least)


# ---- the order of elements -----------------------------------------------------------------------------


def has_an_order(x):
    return bounded_tiles.numerics == "reproducible" and is_float(x.dtype)


def picked(tiles, axis, places):
    """Elements along the axis."""
    return [tile.map(lambda array: np.take(array, places, axis)) for tile in tiles]


def in_tree(tiles, axis, combine):
    """Neighbours, then the results; what was last when their number was odd comes after them."""
    last = None
    while (extent := tiles[0].shape[axis]) > 1:
        if extent % 2:
            odd = picked(tiles, axis, [extent - 1])
            last = odd if last is None else combine(odd, last)
        pairs = np.arange(extent // 2) * 2
        tiles = combine(picked(tiles, axis, pairs), picked(tiles, axis, pairs + 1))
    tiles = tiles if last is None else combine(tiles, last)
    return [tile.map(lambda array: np.take(array, 0, axis)) for tile in tiles]


def in_runs(tiles, axis, combine, reverse=False):
    """The scan: of runs of 1, 2, 4 ..., the last of one is combined with each of the next; in reverse the
    first of one with each of the run before. Runs begin at multiples of their length in both directions."""
    places, run = np.arange(tiles[0].shape[axis]), 1
    while run < len(places):
        if reverse:
            later = places[places % (2 * run) < run]
            ends = later - later % run + run
            later, ends = later[ends < len(places)], ends[ends < len(places)]
        else:
            later = places[places % (2 * run) >= run]
            ends = later - later % run - 1
        joined = combine(picked(tiles, axis, ends), picked(tiles, axis, later))
        # Where each element is among those that stay and those that are joined.
        order = np.argsort(np.concatenate([np.setdiff1d(places, later), later]))
        staying = picked(tiles, axis, np.setdiff1d(places, later))
        tiles = [
            behind(*two, axis).map(lambda array: np.take(array, order, axis))
            for two in zip(staying, joined)
        ]
        run *= 2
    return tiles


def ordered_sum(x, axis, keep_dims):
    total = reduce(x, axis, operator.add)
    if not keep_dims:
        return total
    return total.map(
        lambda array: np.expand_dims(
            array, axis if axis is not None else tuple(builtins.range(x.value.ndim))
        )
    )


# ---- combining functions -------------------------------------------------------------------------------


def functions_of(function):
    """The function, and those of the kernel that it calls."""
    if not isinstance(function, types.FunctionType):
        return []
    called = [function.__globals__.get(name) for name in function.__code__.co_names]
    inner = [f for f in called if isinstance(f, types.FunctionType) and f is not function]
    return [function, *(each for f in inner for each in functions_of(f))]


@functools.cache
def has_effects(function):
    names = [name for f in functions_of(function) for name in f.__code__.co_names]
    return any(name in ("load", "store") or name.startswith("atomic_") for name in names)


@functools.cache
def branches(function):
    """Elements go their own ways."""
    return any(
        "JUMP" in each.opname for f in functions_of(function) for each in dis.get_instructions(f)
    )


def gathered(parts, function):
    """Tiles, or tiles of pointers, as one."""
    first = parts[0]
    if isinstance(first, Pointer):
        return Pointer(first.memory, function([part.offsets for part in parts]))
    error = None if first.error is None else function([part.error for part in parts])
    return Tile(function([part.value for part in parts]), first.dtype, error)


def stacked(parts, axis):
    return gathered(parts, lambda arrays: np.stack(arrays, axis))


def behind(first, second, axis):
    return gathered([first, second], lambda arrays: np.concatenate(arrays, axis))


def applied(function, arguments):
    """The results of a function of elements, as a list."""
    shape = arguments[0].shape
    if branches(function) and shape != ():
        rows = [applied(function, [x[at] for x in arguments]) for at in np.ndindex(shape)]
        return [reshape(stacked(column, 0), shape) for column in zip(*rows)]
    made = function(*arguments)
    return list(made) if isinstance(made, tuple) else [made]


def check_speed(function, sources):
    refuse_unless(not branches(function) or np.prod(sources[0].shape) <= 600, "a slow reference")


def map_elementwise(function, *tiles):
    check_speed(function, tiles)
    made = applied(function, tiles)
    return tuple(made) if len(made) > 1 else made[0]


def check_any_order(sources):
    """Sums, and the least and greatest, of whole numbers are exact in any order while they are small."""
    for source in sources:
        if isinstance(source, Pointer) or not is_float(source.dtype):
            continue
        refuse_unless(is_whole_below(source, np.sum(source.magnitude())), "a sum in any order")


def combined(sources, axis, function, steps):
    if not (has_effects(function) or bounded_tiles.numerics == "reproducible"):
        check_any_order(sources)
    check_speed(function, sources)
    kinds = [source.dtype for source in sources]

    def combine(left, right):
        made = applied(function, [*left, *right])
        assert [each.dtype for each in made] == kinds, "the types of a combining function"
        return made

    return steps(sources, axis, combine)


def associative_scan(given, axis, function, reverse=False):
    tiles = list(given) if isinstance(given, tuple) else [given]
    tiles = combined(tiles, axis, function, functools.partial(in_runs, reverse=reverse))
    return tuple(tiles) if isinstance(given, tuple) else tiles[0]


def reduce(given, axis, function):
    """Without an axis, along each of them, the last first."""
    tiles = list(given) if isinstance(given, tuple) else [given]
    axes = [axis] if axis is not None else reversed(builtins.range(len(tiles[0].shape)))
    for each in axes:
        tiles = combined(tiles, each, function, in_tree)
    return tuple(tiles) if isinstance(given, tuple) else tiles[0]
