"""Kernels compiled for AMD GPUs, without ROCm and without a GPU. What the code computes is for the interpreter of
tests/backends/amd to say."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sectile as st
import sectile.language as tl
from sectile.backends.compiler import GPUTarget

ARCHS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")

pytestmark = pytest.mark.host


@st.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * n + i, e / tl.sum(e, 0), i < n)


@st.jit
def product(a, b, out, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for first in range(0, K, BK):
        left = tl.load(a + m[:, None] * K + (first + k)[None, :])
        right = tl.load(b + (first + k)[:, None] * BN + n[None, :])
        total = tl.dot(left, right, total)
    tl.store(out + m[:, None] * BN + n[None, :], total)


@pytest.mark.parametrize("arch", ARCHS)
def test_code_objects(arch):
    kinds = {"x": "*fp32:16", "out": "*fp32:16", "n": "i32"}
    made = st.compile(softmax, kinds, {"BLOCK": 1024}, f"hip:{arch}", num_warps=4)
    assert made.asm["hsaco"][:4] == b"\x7fELF"
    assert made.metadata.target == f"amdgcn:{arch}" and made.metadata.backend == "hip"
    kinds = {"a": "*fp16:16", "b": "*fp16:16", "out": "*fp32:16", "K": "i32:16"}
    blocks = {"BM": 64, "BN": 64, "BK": 32}
    with st.knobs.scope(keep_stages=True):
        made = st.compile(product, kinds, blocks, f"hip:{arch}")
    text = made.asm["amdgcn"]
    assert ("v_mfma_f32" if arch.startswith("gfx9") else "v_wmma_f32") in text
    assert f"amdgcn-amd-amdhsa--{arch}" in text


def test_as_triton_spells_it():
    kinds = {"x": "*fp32", "out": "*fp32", "n": "i32"}
    made = st.compile(softmax, kinds, {"BLOCK": 64}, GPUTarget("hip", "gfx942", 64))
    assert made.metadata.target == "amdgcn:gfx942"


def message(**options):
    with pytest.raises(st.SectileError) as raised:
        st.compile(softmax, {"x": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 64}, **options)
    return str(raised.value)


def test_what_is_refused():
    text = message(target="hip:gfx906")
    assert "unknown AMD architecture 'gfx906': expected gfx90a, gfx942, gfx950, gfx1100 or" in text
    assert "unknown AMD architecture 'sm_90'" in message(target="hip:sm_90")
    assert "name it, as in 'hip:gfx942'" in message(target="hip")
    text = message(target="hip:gfx942", num_warps=32)
    assert "num_warps is 32: it must be a power of two up to 16" in text
    assert "gfx942 has no clusters" in message(target="hip:gfx942", num_ctas=2)
    assert "launch_pdl: gfx942" in message(target="hip:gfx942", launch_pdl=True)
    text = message(target="hip:gfx942", maxnreg=64)
    assert "maxnreg: registers of gfx942 are bounded by waves_per_eu" in text
    text = message(target="hip:gfx942", matrix_instr_nonkdim=8)
    assert "matrix_instr_nonkdim is 8, not a power of two from 16 to 32, or None" in text
    text = message(target="hip:gfx942", waves_per_eu=-1)
    assert "waves_per_eu is -1, not an int from 1 to 16, or None" in text


def make_product(**options):
    kinds = {"a": "*fp16:16", "b": "*fp16:16", "out": "*fp32:16", "K": "i32:16"}
    blocks = {"BM": 128, "BN": 128, "BK": 64}
    with st.knobs.scope(keep_stages=True):
        return st.compile(product, kinds, blocks, **options)


def test_waves_bound_registers():
    """A SIMD of gfx942 has 512 registers of a lane for its waves."""
    # Stages in LDS would bound the waves themselves.
    free, bounded = (
        make_product(target="hip:gfx942", waves_per_eu=n, num_stages=1) for n in (None, 4)
    )
    assert free.n_regs > 128 >= bounded.n_regs
    text = str(st.inspect(bounded))
    assert f"{bounded.n_regs} registers" in text
    # Four SIMDs with 512 registers of a lane each, in steps of 8.
    occupancy = st.inspect(bounded).occupancy
    waves = 512 // (-(-bounded.n_regs // 8) * 8)
    assert occupancy.limits["registers"] == waves and occupancy.most_warps == 32
    assert occupancy.limits["shared memory"] == 65536 // bounded.metadata.shared
    assert occupancy.warps == 4 * occupancy.programs
    assert "on a compute unit" in text and "the table for gfx942" in text


@pytest.mark.parametrize("arch", ("gfx90a", "gfx942", "gfx950"))
def test_the_extent_of_matrix_instructions(arch):
    for extent in (16, 32):
        text = make_product(target=f"hip:{arch}", matrix_instr_nonkdim=extent).asm["amdgcn"]
        assert f"v_mfma_f32_{extent}x{extent}x" in text
        assert f"v_mfma_f32_{48 - extent}x{48 - extent}x" not in text
    # Tiles that are smaller, and GPUs that have one extent, take what there is.
    kinds = {"a": "*fp16:16", "b": "*fp16:16", "out": "*fp32:16", "K": "i32:16"}
    small = {"BM": 16, "BN": 64, "BK": 32}
    with st.knobs.scope(keep_stages=True):
        made = st.compile(product, kinds, small, f"hip:{arch}", matrix_instr_nonkdim=32)
    assert "v_mfma_f32_16x16x" in made.asm["amdgcn"]


#: Per chip: instructions, LDS reads, barriers and waits in a round of the main loop, and vector registers, at most; all
#: are within Triton 3.6's own counts. With 168 registers a SIMD of the first two has room for three waves, with 128 one
#: of gfx950 for four.
FIGURES = {
    "gfx90a": (112, 16, 2, 6, 168),
    "gfx942": (112, 16, 2, 6, 168),
    "gfx950": (96, 24, 1, 5, 128),
    "gfx1100": (104, 24, 1, 5, 199),
    "gfx1201": (84, 12, 1, 5, 147),
}


def of_benchmarks(name):
    """A module of benchmarks/, which an installed package has no part of."""
    folder = Path(__file__).resolve().parents[3] / "benchmarks"
    if not folder.exists():
        pytest.skip("benchmarks/ is not beside the tests")
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))


@pytest.mark.parametrize("arch", ARCHS)
def test_figures_of_a_product(arch):
    """f16, 128x128: what a wave does in a round (benchmarks/amd.py)."""
    amd, amd_figures = of_benchmarks("amd"), of_benchmarks("amd_figures")
    with st.knobs.scope(keep_stages=True):
        made = amd.compile_product(f"hip:{arch}", arch)
    found = amd_figures.loop_figures(made.asm["amdgcn"])
    instructions, reads, barriers, waits, registers = FIGURES[arch]
    assert found["matrix"] == (32 if arch in ("gfx90a", "gfx942") else 16)
    assert found["global_loads"] == (8 if arch.startswith("gfx9") else 6)
    assert found["barriers"] == barriers and found["waits"] <= waits
    assert found["all"] <= instructions and found["lds_reads"] <= reads
    assert made.n_regs <= registers and made.n_spills == 0
    # Sums go round as vectors.
    phis = re.findall(r"= phi (?:contract )?(float|<)", made.asm["llvm-optimized"])
    assert "<" in phis and "float" not in phis


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_copies_to_lds_take_the_place_of_loads_and_stores(arch):
    """Of the operand whose rows go along the depth; the number of its copies on gfx950, none on gfx942."""
    kinds = {"a": "*fp16:16", "b": "*fp16:16", "out": "*fp16:16", "M": "i32:16", "N": "i32:16",
             "K": "i32:16"}  # fmt: skip
    amd_figures = of_benchmarks("amd_figures")
    with st.knobs.scope(keep_stages=True):
        made = st.compile(
            rows_by_rows, kinds, {"BLOCK": 128, "DEPTH": 64}, f"hip:{arch}", num_warps=4
        )
    loop = amd_figures.main_loop(made.asm["amdgcn"])
    found = amd_figures.loop_figures(made.asm["amdgcn"])
    waits = [line for line in loop if line.startswith("s_waitcnt") and "vmcnt" in line]
    copies = [line for line in loop if line.endswith(" lds")]
    assert found["global_loads"] == 8
    if arch == "gfx942":
        assert not copies and found["lds_writes"] > 0
    else:
        assert len(copies) == 8 and found["lds_writes"] == 0
        # One wait, at the barrier: no read of the other stage waits for the copies.
        assert len(waits) == 1 and "vmcnt(0)" in waits[0]


@st.jit
def rows_by_rows(a, b, out, M, N, K, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, DEPTH)
    left, right = a + m[:, None] * K + k[None, :], b + n[None, :] * K + k[:, None]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for _ in range(0, K, DEPTH):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += DEPTH
        right += DEPTH
    tl.store(out + m[:, None] * N + n[None, :], total.to(tl.float16))


@st.jit
def rows_and_columns(a, b, out, M, N, K, step, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, DEPTH):
        k = start + tl.arange(0, DEPTH)
        x = tl.load(a + m[:, None] * K + k[None, :], (m[:, None] < M) & (k[None, :] < K), other=0)
        y = tl.load(
            b + n[None, :] * step + k[:, None], (n[None, :] < N) & (k[:, None] < K), other=0
        )
        total = tl.dot(x, y, total)
    tl.store(out + m[:, None] * N + n[None, :], total, (m[:, None] < M) & (n[None, :] < N))


def test_barriers_of_copies_wait_for_stores_too():
    """Where threads store the other operand, whose rows begin anywhere, at the end of a round."""
    kinds = {"a": "*fp16:16", "b": "*fp16:16", "out": "*fp32:16", "M": "i32:16", "N": "i32",
             "K": "i32:16", "step": "i32"}  # fmt: skip
    amd_figures = of_benchmarks("amd_figures")
    with st.knobs.scope(keep_stages=True):
        made = st.compile(
            rows_and_columns, kinds, {"BLOCK": 64, "DEPTH": 128}, "hip:gfx950", num_warps=4
        )
    loop = amd_figures.main_loop(made.asm["amdgcn"])
    assert any(line.endswith(" lds") for line in loop)
    assert any(line.startswith("ds_write") for line in loop)
    # The wait of our own: LLVM drops the fence's at the head of some loops.
    text = made.asm["llvm"]
    head = text[text.index("\nloop:") :].split("@llvm.amdgcn.s.barrier")[0]
    assert "@llvm.amdgcn.s.waitcnt(i32 49279)" in head  # lgkmcnt(0)


def test_options_of_amd_are_none_of_others():
    one, other = (
        make_product(target="cuda:90", waves_per_eu=waves, matrix_instr_nonkdim=extent)
        for waves, extent in ((0, None), (3, 16))
    )
    assert one.metadata.hash == other.metadata.hash
    kwargs = st.Config({"BM": 64}, waves_per_eu=2).all_kwargs()
    assert kwargs["waves_per_eu"] == 2 and "matrix_instr_nonkdim" not in kwargs


MEETING = """
import sectile as st, sectile.language as tl

@st.jit
def kernel(x):
    tl.store(x + tl.arange(0, 64), 1)
    tl.debug_barrier()
    tl.store(x + 63 - tl.arange(0, 64), 2)

st.compile(kernel, {{"x": "*i32"}}, {{}}, "hip:{arch}")
"""


@pytest.mark.parametrize("arch", ARCHS)
def test_the_first_compile_of_a_process_may_have_waits_of_all_memory(arch, tmp_path):
    """They are text, which LLVM has to be able to assemble before the linker has been used."""
    (tmp_path / "program.py").write_text(MEETING.format(arch=arch))
    run = run_program(tmp_path / "program.py", SECTILE_CACHE_DIR=str(tmp_path))
    assert run.returncode == 0, run.stderr


def run_program(path, *arguments, **environment):
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        **environment,
    }
    return subprocess.run(
        [sys.executable, path, *arguments], env=environment, text=True, capture_output=True
    )


def test_launches_are_refused():
    x = np.zeros(64, np.float32)
    with pytest.raises(st.SectileError, match="leave target= out: the arrays select it"):
        softmax[(1,)](x, x.copy(), 64, BLOCK=64, target="hip:gfx942")


@st.jit
def gather(x, out, n, stride, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i * stride, i < n, other=3.0), i < n)


@pytest.mark.parametrize("arch", ARCHS)
def test_masks_take_no_branch(arch):
    kinds = {"x": "*fp32:16", "out": "*fp32:16", "n": "i32", "stride": "i32"}
    with st.knobs.scope(keep_stages=True):
        made = st.compile(gather, kinds, {"BLOCK": 1024}, f"hip:{arch}")
    text = made.asm["amdgcn"]
    assert "buffer_load_" in text and "buffer_store_" in text
    assert not [word for word in ("saveexec", "global_load", "global_store") if word in text]
    assert made.metadata.large_arrays is False
    assert not [remark for remark in st.inspect(made).remarks if remark.kind == "not-in-buffer"]


def test_pointers_that_no_buffer_holds_are_explained():
    @st.jit
    def chase(x, where, out, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + tl.load(where + i)))

    kinds = {"x": "*fp32:16", "where": "*i64:16", "out": "*fp32:16"}
    made = st.compile(chase, kinds, {"BLOCK": 256}, "hip:gfx942")
    said = [remark for remark in st.inspect(made).remarks if remark.kind == "not-in-buffer"]
    assert [remark.text for remark in said] == ["an offset may be negative"]
    assert not [
        remark
        for remark in st.inspect(st.compile(chase, kinds, {"BLOCK": 256}, "cuda:90")).remarks
        if remark.kind == "not-in-buffer"
    ]
