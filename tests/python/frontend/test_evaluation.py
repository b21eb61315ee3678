"""What evaluation promises beyond the IR of single statements: one visit per body, limits, locations,
reads, names."""

import linecache
import re

import pytest
from frontend_support import Const, Jit, body, diagnostics, evaluate, jit, tile_ir, tl


def kernel_from(source, **names):
    file = f"generated_{abs(hash(source))}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace = {"tl": tl, "jit": jit, **names}
    exec(compile(source, file, "exec", dont_inherit=True), namespace)
    return jit(namespace["kernel"])


# -- one visit per body ---------------------------------------------------------------------------------


def nested_loops(depth, statement):
    lines = ["def kernel(x, n):", "    v = 0.0"]
    for level in range(depth):
        lines.append("    " * (level + 1) + f"for i{level} in range(n):")
    lines.append("    " * (depth + 1) + statement)
    return "\n".join([*lines, "    tl.store(x, v)", ""])


def test_a_loop_body_is_visited_once_at_any_depth(capfd):
    kernel = kernel_from(nested_loops(12, "tl.static_print('visited'); v += 1.0"))
    ir = tile_ir(kernel, x="*fp32", n="i32")
    assert capfd.readouterr().out.count("visited") == 1
    assert ir.count("scf.for") == 12


def test_work_is_linear_in_depth():
    def operations(depth):
        ir = tile_ir(kernel_from(nested_loops(depth, "v += 1.0")), x="*fp32", n="i32")
        return len(re.findall(r"^ +(?:%|tile|scf|return)", ir, re.MULTILINE))

    assert operations(12) - operations(6) == operations(6) - operations(0)


def test_a_branch_and_what_follows_an_early_return_are_visited_once(capfd):
    source = "def kernel(x, n):\n"
    for level in range(10):
        source += (
            f"    if n == {level}:\n        if n > 2:\n            return\n        n = n + 1\n"
        )
    source += "    tl.static_print('rest')\n    tl.store(x, n)\n"
    tile_ir(kernel_from(source), x="*fp32", n="i32")
    assert capfd.readouterr().out.count("rest") == 1


# -- limits ---------------------------------------------------------------------------------------------


def only_message(kernel, **signature):
    found = diagnostics(kernel, **signature)
    assert len(found) == 1, found
    return found[0]["message"]


def test_deep_expression():
    kernel = kernel_from("def kernel(x, n):\n    tl.store(x, n" + " + 1" * 600 + ")\n")
    assert only_message(kernel, x="*i32", n="i32") == "kernel is nested more than 450 deep"
    accepted = kernel_from("def kernel(x, n):\n    tl.store(x, n" + " + 1" * 400 + ")\n")
    assert tile_ir(accepted, x="*i32", n="i32").count("arith.addi") == 400


def test_deeper_than_the_converter():
    kernel = kernel_from("def kernel(x, n):\n    tl.store(x, n" + " + 1" * 950 + ")\n")
    with pytest.raises(ValueError, match="nested too deep"):
        evaluate(kernel, x="*i32", n="i32")


def test_chain_of_early_returns():
    source = "def kernel(x, n):\n" + "".join(
        f"    if n == {i}:\n        return\n" for i in range(500)
    )
    assert only_message(kernel_from(source), x="*i32", n="i32").startswith("kernel is nested")
    short = source[: source.index("    if n == 100:")] + "    tl.store(x, n)\n"
    assert tile_ir(kernel_from(short), x="*i32", n="i32").count("scf.if") == 100


def test_calls_nested_too_deep():
    functions = "@jit\ndef f0(v):\n    return v\n" + "".join(
        f"@jit\ndef f{i}(v):\n    return f{i - 1}(v + 1)\n" for i in range(1, 90)
    )
    source = functions + "def kernel(x, n):\n    tl.store(x, f89(n))\n"
    found = diagnostics(kernel_from(source), x="*i32", n="i32")
    assert len(found) == 1 and "nested more than" in found[0]["message"]
    kernel = kernel_from(source.replace("f89(n)", "f50(n)"))
    assert tile_ir(kernel, x="*i32", n="i32").count("arith.addi") == 50


def test_unrolling_without_end():
    body = "    for i in tl.static_range(100000):\n        tl.store(x, i)\n"
    assert "65536 turns" in only_message(kernel_from("def kernel(x):\n" + body), x="*i32")
    nested = "def kernel(x):\n" + "".join(
        "    " * (i + 1) + f"for i{i} in tl.static_range(1000):\n" for i in range(4)
    )
    nested += "    " * 5 + "pass\n"
    assert "2 million" in only_message(kernel_from(nested), x="*i32")


def test_at_most_twenty_errors():
    source = "def kernel(x):\n" + "".join(f"    tl.store(x, wrong{i})\n" for i in range(50))
    assert len(diagnostics(kernel_from(source), x="*i32")) == 20


# -- locations ------------------------------------------------------------------------------------------


def expand_locations(ir):
    """Each operation's line with its location written out."""
    names = dict(re.findall(r"^(#loc\d*) = loc\((.*)\)$", ir, re.MULTILINE))
    operations = "\n".join(line for line in ir.splitlines() if not line.startswith("#"))
    while re.search(r"#loc\d*", operations):
        operations = re.sub(r"#loc\d*", lambda found: names[found.group()], operations)
    return operations


def test_every_operation_has_its_line_and_the_calls_that_led_there():
    kernel = kernel_from(
        "@jit\ndef twice(v):\n    return v * 2.0\n\ndef kernel(x):\n    v = tl.load(x)\n"
        "    tl.store(x, twice(v))\n"
    )
    ir = expand_locations(tile_ir(kernel, locations=True, x="*fp32"))
    load = next(line for line in ir.splitlines() if "tile.load" in line)
    assert re.search(r'generated_\w+\.py":6:9', load), load
    multiply = next(line for line in ir.splitlines() if "arith.mulf" in line)
    assert re.search(r'callsite\("twice"\(.*:3:12.* at "kernel"\(.*:7:17', multiply), multiply


# -- what a kernel sees ---------------------------------------------------------------------------------

WIDTH = tl.constexpr(8)
DEPTH: tl.constexpr = 4
TABLE = {"block": 16}


def test_what_is_read_is_recorded():
    def kernel(x):
        tl.store(x + tl.arange(0, WIDTH), DEPTH)
        for i in tl.static_range(TABLE["block"] // 8):
            tl.store(x + i, 1)

    result = evaluate(jit(kernel), x="*i32")
    assert not result["diagnostics"]
    # Questions name objects by their number: the kernel is the first, TABLE some later one.
    reads = result["reads"]
    assert reads["n5:WIDTH1:j0:0:"] == "i8;" and reads["n5:DEPTH1:j0:0:"] == "i4;"
    items = {question: answer for question, answer in reads.items() if question.startswith("i")}
    assert list(items.values()) == ["i16;"] and "s5:block" in next(iter(items))


def test_closures_and_functions_as_values():
    factor = tl.constexpr(3)

    @jit
    def scale(v):
        return v * factor

    def make(function):
        def kernel(x, n):
            tl.store(x, function(n))

        return jit(kernel)

    assert "arith.muli" in tile_ir(make(scale), x="*i32", n="i32")


def test_a_constant_is_seen_through_a_variable():
    def kernel(x, N: tl.constexpr):
        half = N // 2
        tl.store(x + tl.arange(0, half), half)
        assert isinstance(half, tl.tensor)

    ir = tile_ir(jit(kernel), x="*i32", N=Const(16))
    assert "tile.arange 0, 8" in ir and "tile.assert" not in ir


def test_a_changed_source_is_what_counts():
    def kernel(x):
        tl.store(x, 1)

    changed = Jit(kernel, "def kernel(x):\n    tl.store(x, 7)\n")
    assert "arith.constant 7" in tile_ir(changed, x="*i32")


def test_python_function_on_constants():
    def helper(n, *, scale=1):
        return (n * scale, "text")

    def kernel(x, N: tl.constexpr):
        size, text = helper(N, scale=2)
        tl.static_assert(text == "text" and text.upper() == "TEXT")
        tl.store(x + tl.arange(0, size), 0)

    assert "tile.arange 0, 32" in tile_ir(jit(kernel), x="*i32", N=Const(16))


def test_static_print_shows_constants_and_types(capfd):
    def kernel(x, N: tl.constexpr):
        tl.static_print("N =", N, tl.arange(0, N), (N, None), x.dtype)

    tile_ir(jit(kernel), x="*fp16", N=Const(8))
    assert capfd.readouterr().out == "N = 8 i32[8] (8, None) *fp16\n"


def test_branches_on_constants_fold_and_the_other_side_is_not_read():
    def kernel(x, N: tl.constexpr, BIAS: tl.constexpr):
        if BIAS is not None:
            tl.store(x, undefined + BIAS)  # noqa: F821
        elif N == 8 or undefined:  # noqa: F821
            tl.store(x, 1 if N else undefined)  # noqa: F821
        while N < 8:
            undefined()  # noqa: F821

    ir = tile_ir(jit(kernel), x="*i32", N=Const(8), BIAS=Const(None))
    assert "scf" not in ir and ir.count("tile.store") == 1


def test_arange_below_zero():
    def kernel(x):
        i = tl.arange(-4, 4)
        tl.store(x + i + 4, i)

    assert "tile.arange -4, 4 : tensor<8xi32>" in tile_ir(jit(kernel), x="*i32")


def test_unsigned_loop():
    def kernel(x, n):
        for i in range(n, n):
            tl.store(x + i, i)

    assert "unsigned" in tile_ir(jit(kernel), x="*u32", n="u32")


def test_options_of_a_range_stay_on_the_loop():
    def kernel(x, n):
        for i in tl.range(0, n, 2, num_stages=3, flatten=True, loop_unroll_factor=4):
            tl.store(x + i, i)

    ir = tile_ir(jit(kernel), x="*i32", n="i32")
    assert "tile.num_stages = 3 : i64" in ir and "{tile.flatten, " in ir
    assert "tile.loop_unroll_factor = 4 : i64" in ir


def test_return_from_an_unrolled_loop():
    source = """
@jit
def first_positive(x, N: tl.constexpr):
    for i in tl.static_range(N):
        v = tl.load(x + i)
        if v > 0.0:
            return v
    return -1.0

def kernel(x, N: tl.constexpr):
    tl.store(x, first_positive(x, N))
"""
    ir = tile_ir(kernel_from(source), x="*fp32", N=Const(3))
    assert ir.count("tile.load") == 3 and ir.count("scf.if") >= 3


def test_compile_time_arguments_stay_constant_through_calls():
    source = """
@jit
def fill(x, value, N: tl.constexpr, dtype: tl.constexpr = tl.float32):
    if value == 2:
        tl.store(x + tl.arange(0, N), tl.full((N,), value, dtype))

def kernel(x, N: tl.constexpr):
    half = N // 2
    fill(x, 2, half)
"""
    ir = tile_ir(kernel_from(source), x="*fp32", N=Const(16))
    assert "scf.if" not in ir and "tensor<8xf32>" in ir


def test_lists_that_hold_themselves():
    endless = []
    endless.append(endless)

    def kernel(x):
        tl.store(x, endless)

    found = diagnostics(jit(kernel), x="*i32")
    assert len(found) == 1 and "RecursionError" in found[0]["message"]


def test_a_constant_is_seen_through_arithmetic_on_a_variable():
    def kernel(x, n, N: tl.constexpr):
        half = N // 2
        quarter = (half * 2 + 0) // 4
        both = tl.maximum(half, quarter).to(tl.int64)
        tl.static_assert(quarter + half == 12 and both == 8)
        tl.store(x + tl.arange(0, half * 2), half * 2)
        tl.store(x + tl.arange(0, tl.cdiv(half, 3)), quarter)
        # Still typed scalars: no constants of Python's arithmetic.
        tl.static_assert((half * 2).dtype == tl.int32 and (half / 2).dtype == tl.float32)
        tl.static_assert(isinstance(half * 2, tl.tensor))

    ir = tile_ir(jit(kernel), x="*i32", n="i32", N=Const(16))
    assert "tile.arange 0, 16" in ir and "tile.arange 0, 3" in ir
    assert ir.count("arith.muli") >= 2  # nothing was folded in the IR itself

    def unknown(x, n):
        count = n * 2
        tl.store(x + tl.arange(0, count), 0)

    [error] = diagnostics(jit(unknown), x="*i32", n="i32")
    assert "arange" in error["text"] and "compile time" in error["text"]


def test_numpy_scalars_are_numbers():
    np = pytest.importorskip("numpy")
    scale, count = tl.constexpr(np.float64(1.5)), tl.constexpr(np.int64(8))
    half, flag = tl.constexpr(np.float32(0.5)), tl.constexpr(np.bool_(True))

    def kernel(x):
        tl.static_assert(flag and scale == 1.5 and half + scale == 2.0)
        tl.store(x + tl.arange(0, count), scale * half)

    ir = tile_ir(jit(kernel), x="*fp32")
    assert "tile.arange 0, 8" in ir and "7.500000e-01" in ir


def test_types_are_asked_in_kernels():
    def kernel(p, q: tl.const, x, N: tl.constexpr):
        tl.static_assert(isinstance(p.dtype, tl.pointer_type) and isinstance(p, tl.tensor))
        tl.static_assert(not isinstance(x.dtype, tl.pointer_type) and not isinstance(N, tl.tensor))
        tl.static_assert(isinstance(x.dtype, tl.dtype) and isinstance(p.dtype, tl.dtype))
        tl.static_assert(p.dtype.is_ptr() and not x.dtype.is_ptr())
        tl.static_assert(q.dtype.is_const() and not p.dtype.is_const())
        tl.static_assert(p.dtype.element_ty == tl.float16 and x.dtype.int_bitwidth == 32)
        value = tl.load(p)
        tl.static_assert(value.dtype.fp_mantissa_width == 10 and value.dtype.exponent_bias == 15)
        tl.static_assert(value.dtype.primitive_bitwidth == 16)
        tl.static_assert(tl.float8e5.fp_mantissa_width == 2 and tl.int64.int_bitwidth == 64)
        tl.static_assert(tl.str_to_ty("*fp16", None) == p.dtype)
        tl.static_assert(tl.str_to_ty("*kfp16", None) == q.dtype)
        tl.static_assert(tl.str_to_ty("i64", None) == tl.int64)
        tl.store(p, value)

    tile_ir(jit(kernel), p="*fp16", q="*kfp16", x="i32", N=Const(3))


def ops(kernel, **signature):
    text = body(kernel, **signature)
    return {op: len(re.findall(rf"\b{op}\b", text)) for op in ("scf.for", "scf.while", "scf.if")}


def test_only_a_loop_that_may_end_early_becomes_a_while_loop():
    @jit
    def kernel(x, n, WAY: tl.constexpr):
        for i in range(n):
            if n == i:
                continue
            if WAY == "constant" and n > 0:
                break
            if WAY == "always":
                break
            if WAY == "returns":
                return
            if WAY == "maybe":
                if i > 3:
                    break
            tl.store(x + i, i)

    def made(way):
        return ops(kernel, x="*i32", n="i32", WAY=Const(way))

    assert made("never") == {"scf.for": 1, "scf.while": 0, "scf.if": 1}
    assert made("maybe") == {"scf.for": 0, "scf.while": 1, "scf.if": 3}
    assert made("constant") == {"scf.for": 0, "scf.while": 1, "scf.if": 2}


@pytest.mark.parametrize("way", ["break", "return"])
def test_a_loop_that_is_left_for_sure_makes_one_turn(way):
    @jit
    def kernel(x, n, BREAKS: tl.constexpr):
        for i in range(n):
            tl.store(x + i, i)
            if BREAKS:
                break
            return
        for i in range(3):
            tl.store(x + i, i)
            break
        while True:
            tl.store(x, 4)
            break

    made = ops(kernel, x="*i32", n="i32", BREAKS=Const(way == "break"))
    assert made["scf.for"] == made["scf.while"] == 0
    assert made["scf.if"] == (1 if way == "break" else 2)


def test_conditions_without_effects_are_computed_without_a_branch():
    @jit
    def plain(x, n, m):
        if (n > 3 and m < 5) or not (n == m and n % 4 == 2) or 0 < n < m < 9:
            tl.store(x, 1)

    @jit
    def loads(x, n, m):
        if n > 3 and tl.load(x + n) < 5:
            tl.store(x, 1)

    @jit
    def divides(x, n, m):
        if m != 0 and n // m < 5:
            tl.store(x, 1)

    @jit
    def chain(x, n, m):
        if 0 < n < tl.load(x) < tl.load(x + m):
            tl.store(x, 1)

    types = dict(x="*i32", n="i32", m="i32")
    assert [ops(kernel, **types)["scf.if"] for kernel in (plain, loads, divides, chain)] == [
        1,
        2,
        2,
        3,
    ]


def test_tiles_are_combined_as_before():
    @jit
    def kernel(x, n):
        i = tl.arange(0, 8)
        both = n > 3 and (tl.load(x + i) > 2)
        either = (i > n) or (tl.load(x + i) > 2)
        tl.store(x + i, tl.cast(both, tl.int32) + tl.cast(either, tl.int32))

    assert ops(kernel, x="*i32", n="i32")["scf.if"] == 0


def test_statements_that_may_leave_nest_up_to_a_limit():
    lines = "".join(
        f"    for i in range(n):\n        if n == {k}:\n            return\n" for k in range(500)
    )
    source = f"@jit\ndef kernel(n):\n{lines}"
    file = "many_returns.py"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names = {"tl": tl, "jit": jit}
    exec(compile(source, file, "exec", dont_inherit=True), names)
    (found,) = diagnostics(names["kernel"], n="i32")
    assert "kernel is nested more than 450 deep" in found["text"]
