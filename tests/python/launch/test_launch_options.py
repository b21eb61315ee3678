"""Overflow checks, launches that overlap, cooperative launches, clusters."""

import numpy as np
import pytest

import sectile as st
import sectile.language as tl


@st.jit
def apply(x, y, out, n, which: tl.constexpr, sanitize: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    mask = i < n
    a, b = tl.load(x + i, mask=mask, other=1), tl.load(y + i, mask=mask, other=1)
    if not sanitize:
        c = (
            tl.add(a, b, sanitize_overflow=False)
            if which == "add"
            else tl.sub(a, b, sanitize_overflow=False)
            if which == "sub"
            else tl.mul(a, b, sanitize_overflow=False)
        )
    else:
        c = a + b if which == "add" else a - b if which == "sub" else a * b
    tl.store(out + i, c, mask=mask)


NARROW = ["int8", "int16", "int32", "uint8", "uint16", "uint32"]


def operands(name, which):
    """The outermost that fit, and one more step, in Python's numbers."""
    info = np.iinfo(name)
    low, high = int(info.min), int(info.max)
    if which == "add":
        return [(high - 3, 3), (low, 0), (high, low)], (high - 3, 4)
    if which == "sub":
        return [(low + 3, 3), (high, 0), (high, high)], (low + 3, 4)
    half = high // 2
    return [(half, 2), (low, 1), (1, high)], (half + 1, 2)


@pytest.mark.parametrize("which", ["add", "sub", "mul"])
@pytest.mark.parametrize("name", NARROW)
def test_overflow_is_found_in_debug_mode(name, which):
    fitting, beyond = operands(name, which)
    function = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[which]
    for pairs, overflows in [(fitting, False), ([*fitting, beyond, fitting[0]], True)]:
        x, y = (np.array(column, name) for column in zip(*pairs, strict=True))
        expected = function(x, y)
        n, block = len(pairs), 128

        def launch(sanitize=True, **options):
            out = np.zeros_like(x)
            apply[(1,)](x, y, out, n, which, sanitize, block, **options)
            np.testing.assert_array_equal(out, expected)

        launch()
        launch(debug=True, sanitize_overflow=False)
        launch(sanitize=False, debug=True)
        if overflows:
            with pytest.raises(
                st.DeviceAssertionError, match=f"{name} overflow detected for operation {which}"
            ):
                launch(debug=True)
        else:
            launch(debug=True)


@st.jit
def wraps(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i)
    tl.store(out + i, a.to(tl.int64) * a.to(tl.int64))
    tl.store(out + BLOCK, tl.sum(a))
    tl.store(out + BLOCK + 1, tl.reduce(a, 0, add))
    tl.store(out + BLOCK + 2, tl.randint(7, 3))


@st.jit
def add(a, b):
    return a + b


def test_what_is_not_checked():
    # 64 bits; what combines elements; the arithmetic of random numbers, made to wrap.
    x = np.full(64, 2**31 - 1, np.int32)
    out, plain = np.zeros((2, 67), np.int64)
    wraps[(1,)](x, out, 64, debug=True)
    wraps[(1,)](x, plain, 64)
    np.testing.assert_array_equal(out, plain)
    np.testing.assert_array_equal(out[:64], (2**31 - 1) ** 2)
    assert out[64] == out[65] == np.int32(-64)


@st.jit
def handed_on(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.extra.cuda.gdc_wait()
    value = tl.load(x + i)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(out + i, value + 1)


def test_waiting_for_launches_that_do_not_overlap():
    x, out = np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)
    handed_on[(8,)](x, out, 128)
    np.testing.assert_array_equal(out, x + 1)


SIGNATURE = {"x": "*fp32:16", "out": "*fp32:16"}


def compiled(target, **options):
    return st.compile(handed_on, SIGNATURE, {"BLOCK": 128}, target=target, **options)


@pytest.mark.host
def test_instructions_of_dependent_launches():
    ptx = compiled("cuda:90", launch_pdl=True).asm["ptx"]
    wait, load = ptx.index("griddepcontrol.wait"), ptx.index("ld.global")
    store = ptx.index("st.global")
    assert wait < load < ptx.index("griddepcontrol.launch_dependents") < store
    assert "griddepcontrol" not in compiled("cuda:80").asm["ptx"]


@pytest.mark.host
@pytest.mark.parametrize(
    "target, option, error, remedy",
    [
        (
            "cuda:89",
            {"launch_pdl": True},
            "launch_pdl: sm_89 begins a launch only when",
            "leave it",
        ),
        (
            "cpu",
            {"launch_pdl": True},
            "launch_pdl: on the CPU a launch begins only",
            "leave it out",
        ),
        (
            "cpu",
            {"launch_cooperative_grid": True},
            "launch_cooperative_grid: on the CPU programs run one after another",
            "split the kernel",
        ),
        (
            "cuda:89",
            {"num_ctas": 2},
            r"num_ctas > 1 requires NVIDIA SM90\+ \(Hopper\)",
            "the target is sm_89",
        ),
    ],
)
def test_options_that_a_target_lacks(target, option, error, remedy):
    with pytest.raises(st.CompilationError, match=error) as raised:
        compiled(target, **option)
    assert remedy in str(raised.value)


@st.jit
def add_one(x, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.extra.cuda.gdc_wait()
    value = tl.load(x + i)
    tl.store(x + i, value + 1)
    tl.extra.cuda.gdc_launch_dependents()


@st.jit
def meet(x, out, arrived, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.program_id(0) + 1)
    tl.debug_barrier()
    tl.atomic_add(arrived, 1)
    while tl.atomic_add(arrived, 0) < tl.num_programs(0):
        pass
    tl.debug_barrier()
    other = (tl.program_id(0) + 1) % tl.num_programs(0)
    tl.store(out + i, tl.load(x + other * BLOCK + tl.arange(0, BLOCK), volatile=True))


def test_launches_that_overlap_and_programs_that_meet(device):
    if device == "cpu" or device.startswith("hip"):
        pytest.skip("a CPU refuses both, an AMD GPU the first")
    x = np.zeros(1 << 16, np.float32)
    for _ in range(100):
        add_one[(512,)](x, 128, launch_pdl=True)
    np.testing.assert_array_equal(x, 100)
    x, out, arrived = np.zeros(8192, np.int32), np.zeros(8192, np.int32), np.zeros(1, np.int32)
    meet[(64,)](x, out, arrived, 128, launch_cooperative_grid=True)
    np.testing.assert_array_equal(out.reshape(64, 128)[:, 0], (np.arange(64) + 1) % 64 + 1)
    with pytest.raises(st.SectileError, match="COOPERATIVE_LAUNCH_TOO_LARGE|too many blocks"):
        huge = np.zeros(128 << 14, np.int32)
        meet[(1 << 14,)](huge, huge.copy(), arrived, 128, launch_cooperative_grid=True)


@st.jit
def ask_for_warps(out):
    tl.store(out, tl.extra.cuda.num_warps())


@pytest.mark.host
@pytest.mark.parametrize(
    "warps, ctas, merged", [(4, 2, 8), (4, 8, 32), (8, 16, 32), (1, 2, 2), (32, 4, 32)]
)
def test_several_blocks_become_one_of_their_warps(warps, ctas, merged):
    def warm(target):
        mock = st.MockTensor(tl.int32)
        options = dict(num_warps=warps, num_ctas=ctas)
        return ask_for_warps.warmup(mock, grid=(1,), target=target, **options)

    on_gpu = warm("cuda:90")
    assert f".reqntid {merged * 32}" in on_gpu.asm["ptx"]
    assert (on_gpu.metadata.num_warps, on_gpu.metadata.num_ctas) == (warps, ctas)
    assert f"arith.constant {merged} : i32" in on_gpu.asm["tile"]
    text = f"num_ctas={ctas}: the program runs in one block of {merged} warps"
    assert [remark.text for remark in st.inspect(on_gpu).remarks if remark.kind == "hint"] == [text]

    on_cpu = warm("cpu")
    assert f"arith.constant {warps} : i32" in on_cpu.asm["tile"]
    assert not [remark for remark in st.inspect(on_cpu).remarks if "num_ctas" in remark.text]


@pytest.mark.parametrize("ctas", [1, 2, 16])
def test_several_blocks_give_the_same_results(device, ctas):
    if ctas > 1 and device.startswith("hip"):
        pytest.skip("AMD's GPUs have no clusters")

    @st.jit
    def row_sums(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
        rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
        tile = tl.load(x + rows[:, None] * COLUMNS + columns[None, :])
        tl.store(out + rows, tl.sum(tl.sort(tile, 1) * columns[None, :], 1))

    x = np.random.default_rng(1).integers(-99, 99, (16, 64)).astype(np.int32)
    out = np.zeros(16, np.int32)
    row_sums[(1,)](x, out, 16, 64, num_ctas=ctas)
    np.testing.assert_array_equal(out, (np.sort(x, 1) * np.arange(64)).sum(1))


@pytest.mark.host
def test_the_spellings_of_an_architecture():
    texts = [
        ask_for_warps.warmup(st.MockTensor(tl.int32), grid=(1,), target=f"cuda:{arch}").asm["ptx"]
        for arch in ("sm_90", "sm90", "90", "sm90a")
    ]
    assert all(".target sm_90a" in text for text in texts)
    with pytest.raises(st.CompilationError, match="unknown NVIDIA architecture 'smm90'"):
        ask_for_warps.warmup(st.MockTensor(tl.int32), grid=(1,), target="cuda:smm90")


def test_the_tuner_offers_several_blocks(device):
    @st.autotune(
        [st.Config({"BLOCK": 32}), st.Config({"BLOCK": 32}, num_ctas=2, num_warps=1)], key=["n"]
    )
    @st.jit
    def double(x, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, 2 * tl.load(x + i, i < n), i < n)

    x = np.arange(100, dtype=np.int32)
    out = np.zeros_like(x)
    double[lambda meta: (st.cdiv(100, meta["BLOCK"]),)](x, out, 100)
    np.testing.assert_array_equal(out, 2 * x)
    assert double.best_config.num_ctas in (1, 2)


@st.jit
def add_below(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0.0)
    tl.device_assert(value < 100.0, "too large")
    tl.store(x + i, value + 1.0, mask=i < n)


def test_the_device_of_the_arrays_decides_which_options_count(device):
    x = np.zeros(60, np.float32)
    is_amd = device.startswith("hip")
    # The interpreter of gfx1100 does not know how a trap asks for the queue's doorbell.
    options = {} if is_amd else {"debug": True, "fatal_asserts": True}
    made = add_below[(1,)](x, 60, BLOCK=64, waves_per_eu=2, **options)
    assert (x == 1).all()
    assert made.metadata.fatal_asserts == device.startswith("cuda")
    assert made.metadata.waves_per_eu == (2 if is_amd else None)
    ignored = [remark["text"] for remark in made.remarks if remark["kind"] == "option"]
    assert ignored == ([] if is_amd else ["waves_per_eu: for AMD's GPUs, ignored"])
