"""st.inspect: what the compiler made of a kernel, on the CPU and for a GPU that is not here."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile import _native
from sectile.runtime.autotuner.limits import properties_of_architecture

pytestmark = pytest.mark.host
has_assembler = pytest.mark.skipif(shutil.which("ptxas") is None, reason="needs ptxas on the PATH")


def line_of(text):
    """The line of this file that holds `text` first."""
    with open(__file__) as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


@st.jit
def scale(out, x, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)  # the load of scale
    tl.store(out + i, value * factor, mask=i < n)  # the store of scale


@st.jit
def gather(out, x, index, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + tl.load(index + i)))  # what gather does
    tl.store(out + 3 * i, 1.0)  # every third


@st.jit
def matmul(a, b, c, K, stride, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    ap = a + m[:, None] * stride + k[None, :]
    bp = b + k[:, None] * stride + n[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        x = tl.load(ap)  # the load of a
        y = tl.load(bp)  # the load of b
        acc = tl.dot(x, y, acc)
        ap += BK
        bp += BK * stride
    tl.store(c + m[:, None] * stride + n[None, :], acc)  # the store of c


MATMUL = {
    "a": "*fp16:16", "b": "*fp16:16", "c": "*fp32:16", "K": "i32:16", "stride": "i32:16",
    "BM": 64, "BN": 64, "BK": 32,
}  # fmt: skip


def of_gpu(kernel, signature, **options):
    return st.inspect(st.compile(kernel, signature, target="cuda:90", **options))


def only(items):
    (item,) = items
    return item


def test_a_kernel_without_variants_says_so():
    @st.jit
    def fresh(x):
        tl.store(x, 1.0)

    report = st.inspect(fresh)
    assert len(report) == 0 and list(report) == []
    assert "no variant is compiled yet" in str(report)


def test_what_is_no_kernel_is_refused():
    with pytest.raises(
        TypeError, match="expected a @jit function or a compiled kernel, got an int"
    ):
        st.inspect(3)


def test_on_the_cpu():
    scale.clear()
    x = np.random.default_rng(0).random(1000, np.float32)
    out = np.empty_like(x)
    compiled = scale[(1,)](out, x, 1000, 2.5, BLOCK=1024)
    report = st.inspect(scale)
    variant = only(report.variants)
    assert report[0] is variant and report.name == "scale"
    assert (variant.name, variant.backend) == ("scale", "cpu")
    assert variant.target.startswith("x86_64")
    assert variant.signature["n"] == "i32" and variant.signature["factor"] == "fp32"
    assert variant.constants == {"BLOCK": 1024}
    assert variant.origin in ("compiled", "disk", "memory", "same ir")
    assert "func.func" in variant.stages["tile"]
    assert variant.missing_stages == ["tile-optimized", "llvm", "llvm-optimized", "asm"]
    assert variant.n_regs is None and variant.occupancy is None and variant.shared == 0
    load, store = variant.accesses
    assert (load.kind, load.argument, load.line) == ("load", "x", line_of("# the load of scale"))
    assert (store.kind, store.argument, store.line) == (
        "store",
        "out",
        line_of("# the store of scale"),
    )
    assert load.file == __file__ and load.place == f"test_inspect.py:{load.line}"
    nest = only(remark for remark in variant.remarks if remark.kind == "nest")
    assert nest.numbers["lanes"] in (4, 8, 16) and nest.numbers["extent"] == 1024
    assert load.bytes == store.bytes == 4 * nest.numbers["lanes"]
    assert load.why == ""
    # The same of the compiled kernel, which knows its constants as text.
    alone = st.inspect(compiled)
    assert alone.signature["n"] == "i32" and alone.constants == {"BLOCK": "1024"}
    assert [access.as_dict() for access in alone.accesses] == [
        access.as_dict() for access in variant.accesses
    ]


def test_accesses_that_are_no_vectors_say_why():
    gather.clear()
    out, x = np.zeros(192, np.float32), np.arange(64, dtype=np.float32)
    gather[(1,)](out, x, np.arange(64, dtype=np.int32), BLOCK=64)
    accesses = only(st.inspect(gather).variants).accesses
    why = {(access.kind, access.argument, access.bytes): access.why for access in accesses}
    assert why[("load", "x", 4)] == "how addresses change from lane to lane is not known"
    assert why[("store", "out", 4)] == "lanes are 3 elements apart"
    places = {access.line for access in accesses}
    assert places == {line_of("# what gather does"), line_of("# every third")}


def test_accesses_of_a_gpu_and_what_keeps_them_narrow():
    aligned = {"out": "*fp32:16", "x": "*fp32:16", "n": "i32:16", "factor": "fp32", "BLOCK": 1024}

    def of(**changes):
        return of_gpu(scale, {**aligned, **changes}).accesses[0]

    assert (of().bytes, of().why, of().masked) == (16, "", True)
    assert (of(n="i32").bytes, of(n="i32").why) == (4, "the mask may change at every element")
    assert of(x="*fp32").why == "addresses are known to be multiples of 4 bytes only"
    assert of(x="*fp32", n="i32").why == (
        "addresses are known to be multiples of 4 bytes only; the mask may change at every element"
    )
    assert of(x="*i8:16", BLOCK=256).why == "a thread holds 2 neighbours of the tile at a time"
    scattered = of_gpu(
        gather, {"out": "*fp32:16", "x": "*fp32:16", "index": "*i32:16", "BLOCK": 512}
    )
    why = {(a.kind, a.argument, a.bytes): a.why for a in scattered.accesses}
    assert why[("load", "x", 4)] == "it is not known that elements follow each other in memory"
    assert why[("store", "out", 4)] == "elements are 3 apart"


def test_loads_ahead_and_shared_memory():
    report = of_gpu(matmul, MATMUL, num_stages=3)
    lines = [line_of("# the load of a"), line_of("# the load of b")]
    assert [load.line for load in report.ahead] == lines
    # One stage is that of the product under way.
    for load in report.ahead:
        assert (load.iterations_ahead, load.stages, load.through) == (2, 4, "shared memory")
    buffers = {use.argument: use for use in report.shared_uses if "stages" in use.what}
    assert buffers["a"].bytes == 4 * 64 * 32 * 2 and buffers["a"].what == "4 stages of 64x32xf16"
    assert buffers["b"].line == lines[1]
    assert report.shared >= buffers["a"].bytes + buffers["b"].bytes
    assert [(a.argument, a.bytes, a.asynchronous) for a in report.accesses] == [
        # Boxes of the copy engine.
        ("a", 64 * 32 * 2, True),
        ("b", 64 * 32 * 2, True),
        ("c", 64 * 64 * 2, True),
    ]
    one = of_gpu(matmul, MATMUL, num_stages=1)
    assert [(a.iterations_ahead, a.through, a.text) for a in one.ahead] == [
        (0, None, "num_stages is 1"),
        (0, None, "num_stages is 1"),
    ]
    checked = of_gpu(matmul, MATMUL, check="bounds")
    assert {a.text for a in checked.ahead} == {
        "bounds are checked, and what runs ahead would not be"
    }


@has_assembler
def test_resources_and_occupancy():
    report = of_gpu(matmul, MATMUL, num_warps=8)
    assert report.threads == 256
    assert 32 <= report.n_regs <= 255 and report.n_spills == 0
    occupancy = report.occupancy
    registers = -(-report.n_regs * 32 // 256) * 256
    assert occupancy.limits == {
        "registers": 65536 // registers // 4 * 4 // 8,
        "shared memory": (228 << 10) // (report.shared + 1024),
        "threads": 2048 // 256,
        "programs": 32,
    }
    assert occupancy.programs == min(occupancy.limits.values())
    assert all(occupancy.limits[name] == occupancy.programs for name in occupancy.limited_by)
    assert occupancy.warps == 8 * occupancy.programs and occupancy.most_warps == 64
    assert occupancy.source.startswith(("from the table for sm_90a", "limits of "))
    squeezed = of_gpu(matmul, {**MATMUL, "BM": 128, "BN": 128}, maxnreg=32)
    assert squeezed.n_regs <= 32 and squeezed.n_spills > 0 and squeezed.options["maxnreg"] == 32


@pytest.mark.skipif(not _native.gpu_devices()[0], reason="needs an NVIDIA GPU")
def test_the_table_says_what_devices_say():
    for index, (_, architecture) in enumerate(_native.gpu_devices()[0]):
        device = _native.device_properties(index)
        table = properties_of_architecture(architecture)
        assert {name: device[name] for name in table} == table
        report = of_gpu(matmul, MATMUL) if architecture == "sm_90a" else None
        assert report is None or report.occupancy.source == f"limits of {device['name']}"


def test_as_text():
    scale.clear()
    signature = {"out": "*fp32:16", "x": "*fp32:16", "n": "i32", "factor": "fp32", "BLOCK": 1024}
    scale.precompile(signature, targets="cuda:90")
    text = str(st.inspect(scale))
    load, store = line_of("# the load of scale"), line_of("# the store of scale")
    assert repr(st.inspect(scale)) == text
    lines = text.splitlines()
    assert lines[:4] == [
        "scale for nvptx64:sm_90a",
        "  signature   out: *fp32:16, x: *fp32:16, n: i32, factor: fp32",
        "  constants   BLOCK=1024",
        "  options     num_warps=4, num_stages=3, num_ctas=1",
    ]
    assert text.endswith(
        textwrap.dedent(f"""\
        memory accesses
            load   4 bytes  test_inspect.py:{load}  x    the mask may change at every element
            store  4 bytes  test_inspect.py:{store}  out  the mask may change at every element""")
    )
    assert "128 threads" in text and "0 bytes of shared memory" in text
    assert "SECTILE_KEEP_STAGES=1" in text


def test_as_a_dictionary():
    report = of_gpu(matmul, MATMUL)
    loaded = json.loads(json.dumps(report.as_dict()))
    assert loaded["threads"] == 128 and loaded["accesses"][0]["argument"] == "a"
    assert loaded["ahead"][0]["through"] == "shared memory"
    assert loaded["occupancy"]["programs"] == report.occupancy.programs
    assert any(remark["kind"] == "shared-buffer" for remark in loaded["remarks"])


def test_of_a_bound_kernel():
    out, x = np.zeros(64, np.float32), np.zeros(64, np.float32)
    bound = scale[(1,)].bind(out, x, 64, 2.0, BLOCK=64)
    assert st.inspect(bound).constants == {"BLOCK": "64"}
    assert len(st.inspect(bound).accesses) == 2


def test_of_a_tuned_kernel():
    tuned = st.autotune(configs=[st.Config({"BLOCK": 64})], key=[])(scale)
    scale.clear()
    tuned[(1,)](np.zeros(64, np.float32), np.zeros(64, np.float32), 64, 2.0)
    assert only(st.inspect(tuned).variants).constants == {"BLOCK": 64}


def test_of_a_tuned_kernel_the_best_comes_first():
    def bench(call, quantiles):
        call()
        return next(times)

    tuned = st.autotune(
        [st.Config({"BLOCK": block}) for block in (64, 128, 256)], key=[], do_bench=bench, cache_results=False
    )(scale)  # fmt: skip
    for best, milliseconds in ((128, [3.0, 1.0, 2.0]), (256, [3.0, 2.0, 1.0])):
        times = iter(milliseconds)
        tuned.cache.clear()
        tuned._plans.clear()
        scale.clear()
        tuned[(1,)](np.zeros(64, np.float32), np.zeros(64, np.float32), 64, 2.0)
        report = st.inspect(tuned)
        assert [report[0].constants["BLOCK"], report.best, len(report)] == [best, 1, 3]
        text = str(report)
        assert f"BLOCK={best}" in text and text.count("constants") == 1
        assert text.endswith(
            "2 more variants of scale, of other configurations: for variant in st.inspect(scale): print(variant)"
        )
    assert str(st.inspect(scale)).count("constants") == 3  # the kernel below is not tuned


def test_on_the_command_line(tmp_path):
    (tmp_path / "scale.mlir").write_text(
        """func.func @scale(%x: !tile.ptr<f32> {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
          %i = tile.arange 0, 512 : tensor<512xi32>
          %xs = tile.splat %x : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
          %p = tile.ptr_add %xs, %i : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
          %v = tile.load %p : tensor<512x!tile.ptr<f32>> loc("k.py":7:3)
          tile.store %p, %v : tensor<512x!tile.ptr<f32>> loc("k.py":8:3)
          return
        }"""
    )
    command = [sys.executable, "-m", "sectile", "compile", "--target=cuda:sm_90a", "--remarks"]
    done = subprocess.run([*command, str(tmp_path / "scale.mlir")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "k.py:7:3: load: argument=0 bytes=16 element_bytes=4 is_masked=0",
        "k.py:8:3: store: argument=0 bytes=16 element_bytes=4 is_masked=0",
    ]


def test_remarks_survive_the_cache_and_follow_the_source(tmp_path):
    """Lines are today's, where the code was had from the cache: of the same text, moved."""
    program = """
    import sys, numpy as np, sectile as st
    sys.path.insert(0, sys.argv[1])
    from kernels import copy
    x = np.zeros(64, np.float32)
    copy[(1,)](x, x + 1, BLOCK=64)
    variant = st.inspect(copy)[0]
    print(variant.origin, *(f"{a.kind}:{a.file}:{a.line}" for a in variant.accesses))
    """
    source = textwrap.dedent("""\
    import sectile as st
    import sectile.language as tl

    @st.jit
    def copy(out, x, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i))
    """)
    environment = {**os.environ, "SECTILE_CACHE_DIR": str(tmp_path / "cache")}

    def run(folder, text):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "kernels.py").write_text(text)
        command = [sys.executable, "-B", "-c", textwrap.dedent(program), str(tmp_path / folder)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def expected(origin, folder, line):
        file = tmp_path / folder / "kernels.py"
        return f"{origin} load:{file}:{line} store:{file}:{line}"

    assert run("one", source) == expected("compiled", "one", 7)
    assert run("one", source) == expected("disk", "one", 7)
    assert run("two", source) == expected("disk", "two", 7)
    assert run("two", "# moved\n" + source) == expected("same ir", "two", 8)
    assert run("two", "# moved\n" + source) == expected("disk", "two", 8)
    assert run("one", source) == expected("disk", "one", 7)


@st.jit
def _one_product(a, b, out, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    tl.store(out + places, tl.dot(tl.load(a + places), tl.load(b + places)))


def test_operands_that_stay_where_they_lie_are_accesses():
    kernel = st.compile(
        _one_product, {"a": "*fp32", "b": "*fp32", "out": "*fp32"}, {"BLOCK": 32}, target="cpu"
    )
    loads = [remark for remark in st.inspect(kernel).remarks if remark.kind == "load"]
    assert sorted(remark.numbers["argument"] for remark in loads) == [0, 1]
    assert [remark.text for remark in loads if remark.numbers["argument"] == 0] == [
        "read by the product where it lies"
    ]


@st.jit
def _narrow_product(a, b, out, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    tl.store(out + places, tl.dot(tl.load(a + places), tl.load(b + places)))


@pytest.mark.parametrize("kind", ("bf16", "i8"))
@pytest.mark.parametrize("level, has_tiles", (("v4", False), ("v4-bf16", False), ("v4-amx", True)))
def test_products_of_processors_that_are_not_here(kind, level, has_tiles):
    out = "*fp32" if kind == "bf16" else "*i32"
    kernel = st.compile(
        _narrow_product,
        {"a": f"*{kind}", "b": f"*{kind}", "out": out},
        {"BLOCK": 64},
        target=f"cpu:x86-64-{level}",
    )
    assert kernel.metadata.target == f"x86_64:x86-64-{level}"
    assert (b"sectile_uses_tile_registers" in kernel.asm["so"]) == has_tiles
    # tdpbf16ps and tdpbssd of tile registers: VEX.128, map 0F38, F3 or F2, W0, opcode 5C or 5E.
    code = (
        rb"\xc4\xe2[\x42\x4a\x52\x5a\x62\x6a\x72\x7a]\x5c"
        if kind == "bf16"
        else rb"\xc4\xe2[\x43\x4b\x53\x5b\x63\x6b\x73\x7b]\x5e"
    )
    assert bool(re.search(code, kernel.asm["so"], re.DOTALL)) == has_tiles


def test_code_for_another_processor_is_refused_when_it_is_launched():
    if all(flag in open("/proc/cpuinfo").read() for flag in ("amx_bf16", "amx_int8")):
        pytest.skip("this processor has tile registers")
    a = np.zeros((64, 64), np.int8)
    out = np.full((64, 64), 7, np.int32)
    with pytest.raises(st.MachineError, match="this processor is not an x86-64-v4-amx"):
        _narrow_product[(1,)](a, a, out, BLOCK=64, target="cpu:x86-64-v4-amx")
    assert (out == 7).all()


def test_unknown_processors_are_answered_by_the_known_names():
    with pytest.raises(
        st.SectileError, match="expected x86-64, x86-64-v2, .* x86-64-v4-bf16 or x86-64-v4-amx"
    ):
        st.compile(
            _one_product,
            {"a": "*fp32", "b": "*fp32", "out": "*fp32"},
            {"BLOCK": 32},
            target="cpu:486",
        )
