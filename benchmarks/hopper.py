"""Matrix products and attention on Hopper against cuBLAS, cuDNN and Triton: one process, one GPU, in turn.

    ./dev bench hopper [--save] [--only products] [--only blocks] [--only deep] [--only attention] [--only attention_heads]
                       [--only attention_blocks] [--only attention_fp8] [--only decoding] [--only batched]
                       [--only grouped] [--only persistent] [--only with_digits]
    ./dev bench hopper --block-each     # Sectile with a block of threads for each program

Sectile and Triton compile the same text (`product` and `attention` of gpu_kernels.py) and each has the best
of the same configurations. Each is timed in turn with the library (library, contestant, library ...), in
slots of 10 to 20 ms, and its figure is the median of the ratios of neighbours: from 4096 cubed on the chip is
held back by power, and whoever runs after a slow one finds it cool. Data is random, and every result is
compared with one in float64 first, from a poisoned output. `--save` writes benchmarks/results/hopper-<card>.md,
attention-<card>.md, batched-<card>.md, grouped-<card>.md, persistent-<card>.md and fp8-<card>.md.
"""

import argparse
import importlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import torch
from nvidia import contenders
from table import Table

HERE = pathlib.Path(__file__).resolve().parent
SLOT = 12e-3  # seconds

# BLOCK_M, BLOCK_N, bytes of a block along the depth, warps, stages. Triton's extents are powers of two.
PRODUCTS = [
    (128, 256, 128, 8, 3),
    (128, 256, 128, 8, 4),
    (256, 128, 128, 8, 3),
    (128, 192, 128, 4, 3),
    (128, 128, 128, 4, 3),
    (128, 128, 64, 4, 4),
    (64, 128, 128, 4, 4),
    (64, 128, 128, 4, 6),
    (64, 64, 128, 4, 4),
]
# The same where a copy engine brings the blocks.
BLOCKS = [
    (128, 256, 128, 8, 3),
    (128, 256, 128, 8, 4),
    (256, 128, 128, 8, 3),
    (128, 192, 128, 4, 3),
    (128, 128, 128, 4, 3),
    (128, 128, 128, 8, 4),
    (64, 256, 128, 4, 3),
    (64, 128, 128, 4, 4),
    (64, 128, 128, 4, 6),
    (64, 64, 128, 4, 4),
    (64, 64, 128, 4, 6),
]
# BLOCK_M, BLOCK_N, bytes of a block along the depth, warps, stages, rounds at a time.
WITH_DIGITS = [
    (128, 128, 128, 8, 3, 2),
    (128, 128, 128, 8, 4, 1),
    (128, 128, 256, 8, 3, 1),
    (64, 128, 128, 4, 4, 1),
    (128, 128, 128, 4, 3, 1),
]
# BLOCK_M, BLOCK_N, bytes of a block along the depth, warps, stages, programs of a multiprocessor.
GROUPED = [
    (128, 256, 128, 8, 3, 1),
    (128, 256, 128, 8, 4, 1),
    (128, 256, 128, 8, 4, 2),
    (128, 192, 128, 4, 3, 1),
    (128, 128, 128, 4, 3, 1),
    (128, 128, 128, 4, 3, 2),
    (128, 128, 128, 4, 4, 1),
    (128, 128, 128, 8, 4, 2),
]
# BLOCK_M, BLOCK_N, bytes of a block along the depth, warps, stages; of programs that walk over tiles.
PERSISTENT = [
    (128, 256, 128, 8, 3),
    (128, 256, 128, 8, 4),
    (128, 128, 128, 8, 3),
    (128, 128, 128, 4, 3),
    (128, 192, 128, 4, 3),
]
# BLOCK_M, BLOCK_N, warps, stages.
ATTENTION = [
    (128, 128, 8, 2),
    (128, 128, 8, 3),
    (128, 64, 8, 2),
    (128, 64, 8, 3),
    (64, 64, 4, 3),
    (64, 128, 4, 2),
    (128, 64, 4, 3),
]

# Rows of queries, BLOCK_N, warps, stages, parts of the keys.
DECODING = [
    (16, 64, 4, 4, 8),
    (16, 128, 4, 3, 8),
    (16, 128, 8, 3, 8),
    (16, 128, 4, 3, 16),
    (16, 64, 4, 4, 16),
    (64, 64, 4, 3, 8),
    (64, 128, 4, 2, 8),
    (64, 128, 4, 2, 16),
]


LOG2_E = 1.4426950408889634


class Repeated:
    """A function that launches, as a graph of `count` of its launches: no call from Python is timed."""

    def __init__(self, run, count):
        self.graph, self.count = torch.cuda.CUDAGraph(), count
        run()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.kept = [run() for _ in range(count)]  # what a graph writes must not be given back

    def seconds(self):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        self.graph.replay()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3 / self.count


def ratio(library, run, rounds):
    """The library's time over the contestant's, the median of neighbours; and the library's time."""
    first = Repeated(library, 3)
    first.seconds()
    count = min(200, max(1, round(SLOT / first.seconds())))
    contestants = [Repeated(each, count) for each in (library, run)]
    for each in contestants:
        each.seconds()
    pairs = [[each.seconds() for each in contestants] for _ in range(rounds)]
    return statistics.median(theirs / ours for theirs, ours in pairs), statistics.median(
        theirs for theirs, _ in pairs
    )


class Benchmark:
    def __init__(self, kernels, options):
        """`options`: of Sectile's launches."""
        self.kernels, self.options = kernels, options
        self.table = Table(40, 92, 24)

    def compare(
        self, what, library, launch, configurations, out, expected, tolerance, work, bar, pick=lambda out: out,
        unit="TFLOP/s",
    ):  # fmt: skip
        """`launch(module, configuration)` runs a kernel into `out`, of which `pick(out)` should be as
        `expected`; `work`: operations of a run, or bytes."""
        figures = {}
        for name, module in self.kernels.items():
            found = []
            for configuration in configurations:
                if name == "triton" and any(e & (e - 1) for e in configuration[:2]):
                    continue
                try:
                    out.fill_(float("nan") if out.is_floating_point() else -1)
                    launch(module, configuration)
                    error = (pick(out).double() - expected).norm() / expected.norm()
                    if not error <= tolerance:
                        raise ValueError(f"wrong by {error:.1e} of the norm")
                except Exception as error:
                    reason = str(error).strip().splitlines()[-1:] or [""]
                    if isinstance(error, ValueError) or name == "sectile":
                        print(f"    {name} {configuration} on {what}: {reason[0][:90]}")
                    continue

                def run(c=configuration, m=module):
                    return launch(m, c)

                found.append((ratio(library, run, 5)[0], configuration, run))
            # The best two once more, for longer.
            found = [
                (*ratio(library, run, 15), configuration)
                for _, configuration, run in sorted(found, key=lambda f: f[0])[-2:]
            ]
            if found:
                figures[name] = max(found)
        if "sectile" not in figures:
            return self.table.add(what, "FAILED", f">= {bar}x" if bar else "", False)
        rate = work / figures["sectile"][1] / 1e12
        text = f"library {rate:.{0 if rate >= 10 else 2}f} {unit}; " + ", ".join(
            f"{name} {best:.2f}x {'x'.join(map(str, configuration))}"
            for name, (best, _, configuration) in figures.items()
        )
        met = figures["sectile"][0] >= bar if bar else None
        self.table.add(what, text, f">= {bar}x" if bar else "", met)

    def options_for(self, module):
        return self.options if module is self.kernels["sectile"] else {}

    def product_of_blocks(self, what, M, N, K, a, b, out, library, tolerance, bar, sums="float32"):
        expected = a.double() @ b.double()
        turned = b.stride(0) == 1
        held = b.T if turned else b

        def launch(module, configuration):
            block_m, block_n, depth, warps, stages = configuration
            block_k = depth // a.element_size()
            tools = f"{module.dsl.__name__}.tools.tensor_descriptor"
            describe = importlib.import_module(tools).TensorDescriptor.from_tensor
            module.product_of_blocks[(-(-M // block_m) * -(-N // block_n),)](
                describe(a, [block_m, block_k]),
                describe(held, [block_n, block_k] if turned else [block_k, block_n]),
                describe(out, [block_m, block_n]), M, N, K, BM=block_m, BN=block_n, BK=block_k,
                GROUP=8, SUM=getattr(module.tl, sums), TURNED=turned,
                OUT=getattr(module.tl, str(out.dtype).removeprefix("torch.")), num_warps=warps,
                num_stages=stages, **self.options_for(module),
            )  # fmt: skip

        self.compare(what, library, launch, BLOCKS, out, expected, tolerance, 2 * M * N * K, bar)

    def product(self, what, M, N, K, a, b, out, library, tolerance, bar, sums="float32"):
        expected = a.double() @ b.double()

        def launch(module, configuration):
            block_m, block_n, depth, warps, stages = configuration
            module.product[(-(-M // block_m) * -(-N // block_n),)](
                a, b, out, M, N, K, *a.stride(), *b.stride(), BM=block_m, BN=block_n,
                BK=depth // a.element_size(), GROUP=8, SUM=getattr(module.tl, sums),
                num_warps=warps, num_stages=stages, **self.options_for(module),
            )  # fmt: skip

        self.compare(
            what, library, launch, PRODUCTS, out, expected, tolerance, 2 * M * N * K, bar
        )  # fmt: skip

    def square(self, size, kind, bar, product, depth=None):
        """`kind`: "f16 KxN", "f16 NxK", ...: the dtype, and how B lies in memory; `product`: product or
        product_of_blocks; `depth`: of the sums, as many as rows and columns unless it is given."""
        name, order = kind.split()
        extent, depth = (f"{size}^2 x {depth}", depth) if depth else (f"{size}^3", size)
        dtype = {
            "f16": torch.float16, "bf16": torch.bfloat16, "tf32": torch.float32, "int8": torch.int8,
            "e4m3": torch.float8_e4m3fn,
        }[name]  # fmt: skip

        def random(columns):
            if dtype == torch.int8:
                return torch.randint(-128, 128, (size, columns), device="cuda", dtype=dtype)
            return torch.randn(size, columns, device="cuda").to(dtype)

        a = random(depth)
        b = random(depth).T if order == "NxK" else random(depth).T.contiguous()
        out = torch.empty(
            size, size, device="cuda",
            dtype={"int8": torch.int32, "tf32": torch.float32, "bf16": dtype}.get(name, torch.float16),
        )  # fmt: skip

        def library():
            return torch.matmul(a, b, out=out)

        if name == "int8":

            def library():
                return torch._int_mm(a, b, out=out)
        elif name == "e4m3":
            one = torch.ones((), device="cuda")

            def library():
                return torch._scaled_mm(
                    a, b, scale_a=one, scale_b=one, out_dtype=torch.float16, use_fast_accum=True
                )

        tolerance = {"int8": 0, "e4m3": 4e-3, "bf16": 4e-3}.get(name, 1e-3)
        sums = "int32" if name == "int8" else "float32"
        what = f"{kind} {extent}" + (" (blocks)" if product == self.product_of_blocks else "")
        product(what, size, size, depth, a, b, out, library, tolerance, bar, sums)

    def with_digits(self):
        """Products of fp8 whose sums keep the digits of fp32, beside the library's own (no fast accumulation), and of
        blocks of 128 with scales of their own."""
        for size in (2048, 4096, 8192):
            for most in (128, 64):
                self.fp8(size, most)
            self.fp8(size, None)

    def fp8(self, size, most):
        """`most`: of so many products digits may get lost; None: of blocks with scales."""
        M = N = K = size
        a, b = (torch.randn(size, size, device="cuda").to(torch.float8_e4m3fn) for _ in "ab")
        out = torch.empty(size, size, device="cuda", dtype=torch.bfloat16)
        one = torch.ones((), device="cuda")
        a_scales = torch.rand(K // 128, M, device="cuda") + 0.5
        b_scales = torch.rand(N // 128, K // 128, device="cuda") + 0.5
        exact = [each.double() for each in (a, b)]
        if most is None:
            exact[0] *= a_scales.T.double().repeat_interleave(128, 1)
            exact[1] *= b_scales.double().repeat_interleave(128, 0).repeat_interleave(128, 1)
        expected = exact[0] @ exact[1].T
        del exact

        def library():
            scales = (one, one) if most else (a_scales.T, b_scales.T)
            return torch._scaled_mm(
                a, b.T, scale_a=scales[0], scale_b=scales[1], out_dtype=torch.bfloat16, use_fast_accum=False
            )  # fmt: skip

        def launch(module, configuration):
            block_m, block_n, block_k, warps, stages, rounds = configuration
            if most is None and block_k > 128:
                raise RuntimeError("a block has one scale")
            tools = f"{module.dsl.__name__}.tools.tensor_descriptor"
            describe = importlib.import_module(tools).TensorDescriptor.from_tensor
            blocks = (
                describe(a, [block_m, block_k]), describe(b, [block_n, block_k]), describe(out, [block_m, block_n]),
            )  # fmt: skip
            numbers = dict(BM=block_m, BN=block_n, BK=block_k, GROUP=8, UNROLL=rounds)
            options = dict(num_warps=warps, num_stages=stages, **self.options_for(module))
            grid = (M // block_m * (N // block_n),)
            if most is None:
                module.product_of_scaled_blocks[grid](
                    *blocks, a_scales, b_scales, M, N, K, **numbers, **options
                )
            else:
                module.product_with_digits[grid](*blocks, M, N, K, **numbers, MOST=most, **options)

        what = f"e4m3 NxK {size}^3, " + (
            f"sums of {most} apart" if most else "scaled blocks of 128"
        )
        self.compare(what, library, launch, WITH_DIGITS, out, expected, 4e-3, 2 * M * N * K, None)

    def batched(self):
        for batches, size in ((4, 4096), (16, 2048), (64, 1024)):
            a, b = (torch.randn(batches, size, size, device="cuda").half() for _ in range(2))
            out = torch.empty_like(a)
            expected = a[-1].double() @ b[-1].double()

            def by_pointers(module, configuration, a=a, b=b, out=out, size=size):
                block_m, block_n, depth, warps, stages = configuration
                module.batched[(size // block_m * (size // block_n), len(a))](
                    a, b, out, size, size, size, *a.stride()[:2], *b.stride()[:2], *out.stride()[:2], BM=block_m,
                    BN=block_n, BK=depth // 2, num_warps=warps, num_stages=stages, **self.options_for(module),
                )  # fmt: skip

            def by_blocks(module, configuration, a=a, b=b, out=out, size=size):
                block_m, block_n, depth, warps, stages = configuration
                tools = f"{module.dsl.__name__}.tools.tensor_descriptor"
                describe = importlib.import_module(tools).TensorDescriptor.from_tensor
                module.batched_of_blocks[(size // block_m * (size // block_n), len(a))](
                    describe(a, [1, block_m, depth // 2]), describe(b, [1, depth // 2, block_n]),
                    describe(out, [1, block_m, block_n]), size, size // block_n, BM=block_m, BN=block_n, BK=depth // 2,
                    num_warps=warps, num_stages=stages, **self.options_for(module),
                )  # fmt: skip

            for launch, how in ((by_pointers, ""), (by_blocks, " (blocks)")):
                self.compare(
                    f"f16 KxN {batches} x {size}^3{how}", lambda a=a, b=b, out=out: torch.bmm(a, b, out=out), launch,
                    PRODUCTS, out, expected, 1e-3, 2 * batches * size**3, None, pick=lambda out: out[-1],
                )  # fmt: skip

    def grouped(self):
        for what, sizes in (
            ("4 x 4096^3", [4096] * 4),
            ("16 of 512 to 1536", [512, 768, 1024, 1536] * 4),
        ):
            for kernel, turned in (("grouped", False), ("grouped_of_blocks", True)):
                kinds = f"f16 {'NxK' if turned else 'KxN'} {what}" + (" (blocks)" if turned else "")
                self.group(kinds, kernel, [(size, size, size) for size in sizes], turned, 1.0)

    def group(self, what, kernel, shapes, turned, bar):
        """Products of `shapes` (M, N, K) in one launch against a loop of the library's."""

        def random(rows, columns):
            return torch.randn(rows, columns, device="cuda", dtype=torch.float16)

        a = [random(M, K) for M, N, K in shapes]
        held = [random(N, K) if turned else random(K, N) for M, N, K in shapes]
        b = [each.T if turned else each for each in held]
        out = torch.empty(sum(M * N for M, N, _ in shapes), device="cuda", dtype=torch.float16)
        parts = out.split([M * N for M, N, _ in shapes])
        c = [part.view(M, N) for part, (M, N, _) in zip(parts, shapes)]
        expected = torch.cat([(x.double() @ y.double()).flatten() for x, y in zip(a, b)])

        def numbers(values, dtype):
            return torch.tensor(values, device="cuda", dtype=dtype)

        lists = [
            numbers([each.data_ptr() for each in group], torch.int64) for group in (a, held, c)
        ]
        sizes = numbers(shapes, torch.int32)
        rows = numbers([[x.stride(0) for x in each] for each in zip(a, held, c)], torch.int32)
        units = torch.cuda.get_device_properties(0).multi_processor_count

        def launch(module, configuration):
            block_m, block_n, depth, warps, stages, programs = configuration
            getattr(module, kernel)[(units * programs,)](
                *lists, sizes, rows, len(shapes), STEP=units * programs, BM=block_m, BN=block_n, BK=depth // 2,
                num_warps=warps, num_stages=stages, **self.options_for(module),
            )  # fmt: skip

        def library():
            for x, y, z in zip(a, b, c):
                torch.matmul(x, y, out=z)

        def divides(configuration):
            return all(N % configuration[1] == 0 for _, N, _ in shapes)

        work = sum(2 * M * N * K for M, N, K in shapes)
        # Loads and stores through pointers have no masks.
        tiles = GROUPED if turned else [each for each in GROUPED if divides(each)]
        self.compare(what, library, launch, tiles, out, expected, 1e-3, work, bar)

    def persistent(self):
        """Triton's tutorial 09: a program for each multiprocessor, which walks over tiles."""
        units = torch.cuda.get_device_properties(0).multi_processor_count
        for shape in (
            (2048, 2048, 2048),
            (4096, 4096, 4096),
            (8192, 8192, 8192),
            (8192, 8192, 512),
        ):
            M, N, K = shape
            a, b = (torch.randn(size, K, device="cuda", dtype=torch.float16) for size in (M, N))
            out = torch.empty(M, N, device="cuda", dtype=torch.float16)
            expected = a.double() @ b.double().T

            def by_pointers(module, configuration, M=M, N=N, K=K, a=a, b=b, out=out):
                block_m, block_n, depth, warps, stages = configuration
                module.persistent[(min(units, -(-M // block_m) * -(-N // block_n)),)](
                    a, b, out, M, N, K, K, 1, 1, K, N, BM=block_m, BN=block_n, BK=depth // 2, GROUP=8, STEP=units,
                    num_warps=warps, num_stages=stages, **self.options_for(module),
                )  # fmt: skip

            def by_blocks(module, configuration, halves=False, M=M, N=N, K=K, a=a, b=b, out=out):
                block_m, block_n, depth, warps, stages = configuration
                module.persistent_of_blocks[(min(units, -(-M // block_m) * -(-N // block_n)),)](
                    a, b, out, M, N, K, BM=block_m, BN=block_n, BK=depth // 2, GROUP=8, STEP=units, HALVES=halves,
                    num_warps=warps, num_stages=stages, **self.options_for(module),
                )  # fmt: skip

            def by_halves(module, configuration, run=by_blocks):
                run(module, configuration, halves=True)

            def library(a=a, b=b, out=out):
                torch.matmul(a, b.T, out=out)

            for what, launch in (
                ("pointers", by_pointers),
                ("blocks", by_blocks),
                ("blocks, halves", by_halves),
            ):
                self.compare(
                    f"f16 NxK {' x '.join(map(str, shape))} ({what})", library, launch, PERSISTENT, out, expected,
                    1e-3, 2 * M * N * K, None,
                )  # fmt: skip

    def products(self):
        torch.backends.cuda.matmul.allow_tf32 = True
        bars = {512: None, 1024: 0.95, 2048: 0.95, 4096: 0.98, 8192: 1.0}
        for size, bar in bars.items():
            for kind in ("f16 KxN", "f16 NxK", "bf16 NxK"):
                self.square(size, kind, bar, self.product)
        for size, bar in {1024: 1.0, 2048: 1.03, 4096: 1.04, 8192: 1.05}.items():
            self.square(size, "e4m3 NxK", bar, self.product)
        for kind in ("tf32 NxK", "int8 NxK"):
            self.square(4096, kind, 0.95, self.product)

    def blocks(self):
        torch.backends.cuda.matmul.allow_tf32 = True
        for size, bar in {512: 0.98, 1024: 0.98, 2048: 0.98, 4096: 1.0, 8192: 1.03}.items():
            for kind in ("f16 KxN", "f16 NxK"):
                self.square(size, kind, bar, self.product_of_blocks)
        for size, bar in {1024: 1.0, 2048: 1.03, 4096: 1.04, 8192: 1.05}.items():
            self.square(size, "e4m3 NxK", bar, self.product_of_blocks)
        for kind in ("bf16 KxN", "tf32 NxK", "int8 NxK"):
            self.square(4096, kind, 0.95, self.product_of_blocks)
        for depth, bar in {512: 1.15, 1024: 1.10, 2048: 1.05}.items():
            for kind in ("f16 KxN", "f16 NxK"):
                self.square(8192, kind, bar, self.product_of_blocks, depth)
        for depth in (512, 2048):
            self.square(8192, "e4m3 NxK", 1.15, self.product_of_blocks, depth)

    def deep(self):
        for depth, bar in {512: 1.0, 1024: None, 2048: None}.items():
            for kind in ("f16 KxN", "f16 NxK"):
                self.square(8192, kind, bar, self.product, depth)

    def attention(self):
        def run(module, grid, configuration, tensors, length, depth, is_causal):
            block_m, block_n, warps, stages = configuration
            q, k, v, out = tensors
            module.attention[grid](
                out, q, k, v, length, depth**-0.5 * LOG2_E, D=depth, BM=block_m, BN=block_n,
                num_warps=warps, num_stages=stages, **self.options_for(module),
            )  # fmt: skip

        for depth, heads in ((128, 16), (64, 32)):
            for length in (2048, 4096, 8192, 16384):
                self.attend(f"attention f16 d{depth} {length}", depth, heads, length, False, run)

    def attention_heads(self):
        def run(module, grid, configuration, tensors, length, depth, is_causal):
            block_m, block_n, warps, stages = configuration
            q, k, v, out = tensors
            heads = 2048 // depth
            module.attention_of_heads[grid](
                q, k, v, out, heads, heads * length * depth, length * depth, depth, length, depth**-0.5 * LOG2_E,
                D=depth, BM=block_m, BN=block_n, num_warps=warps, num_stages=stages, **self.options_for(module),
            )  # fmt: skip

        for depth in (128, 64):
            for length in (4096, 16384):
                self.attend(f"attention f16 d{depth} {length} (heads)", depth, 2048 // depth, length, False, run)  # fmt: skip

    def attention_blocks(self):
        def run(module, grid, configuration, tensors, length, depth, is_causal):
            block_m, block_n, warps, stages = configuration
            q, k, v, out = (x.view(-1, depth) for x in tensors)
            tools = f"{module.dsl.__name__}.tools.tensor_descriptor"
            describe = importlib.import_module(tools).TensorDescriptor.from_tensor
            module.attention_of_blocks[grid](
                describe(q, [block_m, depth]), describe(k, [block_n, depth]),
                describe(v, [block_n, depth]), describe(out, [block_m, depth]), length,
                depth**-0.5 * LOG2_E, D=depth, BM=block_m, BN=block_n, CAUSAL=is_causal, OF_FP8=False,
                num_warps=warps, num_stages=stages, **self.options_for(module),
            )  # fmt: skip

        bars = {
            (128, False): {2048: 1.0, 4096: 1.02, 8192: 1.06, 16384: 1.1},
            (128, True): {2048: 0.95, 4096: 1.0, 8192: 1.0, 16384: 1.05},
            (64, False): {4096: 1.0, 16384: 1.05},
            (64, True): {4096: 1.0, 16384: 1.05},
            (256, False): {4096: 1.0, 16384: 1.0},
        }
        for (depth, is_causal), lengths in bars.items():
            for length, bar in lengths.items():
                what = f"attention f16 d{depth}{' causal' if is_causal else ''} {length} (blocks)"
                self.attend(what, depth, 2048 // depth, length, is_causal, run, bar)

    def attention_fp8(self):
        """Attention of e4m3 beside Sectile's own of f16, the best of its configurations."""
        depth, heads = 128, 16
        for length, is_causal in ((4096, False), (16384, False), (4096, True), (16384, True)):
            batch = 16384 // length
            halves = [
                torch.randn(batch * heads, length, depth, device="cuda").half() for _ in range(3)
            ]
            q, k, v = (x.to(torch.float8_e4m3fn) for x in halves)
            turned = v.mT.contiguous()
            out = torch.empty_like(halves[0])

            def launch(module, configuration, of_fp8=True, length=length, is_causal=is_causal):
                block_m, block_n, warps, stages = configuration
                tools = f"{module.dsl.__name__}.tools.tensor_descriptor"
                describe = importlib.import_module(tools).TensorDescriptor.from_tensor
                queries, keys, values = (q, k, turned) if of_fp8 else halves
                blocks = ((queries, block_m, depth), (keys, block_n, depth),
                          (values, depth, block_n) if of_fp8 else (values, block_n, depth), (out, block_m, depth))  # fmt: skip
                module.attention_of_blocks[(length // block_m, batch * heads)](
                    *(describe(x.view(-1, x.shape[-1]), [rows, columns]) for x, rows, columns in blocks), length,
                    depth**-0.5 * LOG2_E, D=depth, BM=block_m, BN=block_n, CAUSAL=is_causal, OF_FP8=of_fp8,
                    num_warps=warps, num_stages=stages, **self.options_for(module),
                )  # fmt: skip

            def halved(configuration):
                launch(self.kernels["sectile"], configuration, of_fp8=False)

            best = min(
                ((128, 64, 8, 2), (128, 128, 8, 2), (128, 128, 8, 3)),
                key=lambda c: statistics.median(Repeated(lambda: halved(c), 5).seconds() for _ in range(3)),
            )  # fmt: skip
            rows = slice(length - 64, length)
            scores = q[:2, rows].double() @ k[:2].double().mT / depth**0.5
            if is_causal:
                scores.masked_fill_(
                    torch.arange(length, device="cuda") > torch.arange(length, device="cuda")[rows, None], -torch.inf
                )  # fmt: skip
            expected = scores.softmax(-1) @ v[:2].double()
            self.compare(
                f"attention e4m3 d128{' causal' if is_causal else ''} {length} (blocks)", lambda: halved(best), launch,
                ATTENTION, out, expected, 4e-2, 4 * batch * heads * length**2 * depth / (2 if is_causal else 1), 1.25,
                pick=lambda out: out[:2, rows],
            )  # fmt: skip

    def decoding(self):
        """A query for each of 32 heads, of which four share keys and values, in 16 sequences of 32768; the library negates
        the keys, which moves as many bytes as reading them and the values."""
        heads, group, depth, length = 16 * 8, 4, 128, 32768
        q = torch.randn(heads, group, depth, device="cuda").half()
        k, v = (torch.randn(heads, length, depth, device="cuda").half() for _ in range(2))
        out, copied = torch.empty_like(q), torch.empty_like(k)
        some = slice(0, heads, 16)
        scores = q[some].double() @ k[some].double().mT / depth**0.5
        expected = scores.softmax(-1) @ v[some].double()
        # Pages of 16 rows, of which each head has those of its sequence in some order.
        order = torch.stack([torch.randperm(length // 16, device="cuda") for _ in range(heads)])
        order += length // 16 * torch.arange(heads, device="cuda")[:, None]
        table = (order[:, :, None] * 16 + torch.arange(16, device="cuda")).int()
        for way in ("", "blocks", "table"):
            blocks, through_table = way == "blocks", way == "table"

            def launch(module, configuration, blocks=blocks, through_table=through_table):
                rows, block_n, warps, stages, split = configuration
                parts = torch.empty(heads, split, group, depth, device="cuda")
                tops = torch.empty(heads, split, group, device="cuda")
                keys, values = k, v
                if blocks:
                    tools = f"{module.dsl.__name__}.tools.tensor_descriptor"
                    describe = importlib.import_module(tools).TensorDescriptor.from_tensor
                    keys, values = (describe(x.view(-1, depth), [block_n, depth]) for x in (k, v))
                module.decode[(heads, split)](
                    q, keys, values, table, parts, tops, length, depth**-0.5 * LOG2_E, GROUP=group, ROWS=rows, D=depth,
                    BN=block_n, BLOCKS=blocks, TABLE=through_table, num_warps=warps, num_stages=stages, **self.options_for(module),
                )  # fmt: skip
                module.combine[(heads, group)](
                    out, parts, tops, GROUP=group, D=depth, PARTS=split, num_warps=1
                )

            what = f"decoding f16 d128 16x32768{f' ({way})' if way else ''}"
            self.compare(
                what, lambda: torch.neg(k, out=copied), launch, DECODING, out, expected, 2e-3, 2 * k.nbytes, 0.85,
                pick=lambda out: out[some], unit="TB/s",
            )  # fmt: skip

    def attend(self, what, depth, heads, length, is_causal, run, bar=None):
        """Compares `run` with torch's attention: 16384 rows in all, `heads` x `depth`."""
        batch = 16384 // length
        q, k, v = (torch.randn(batch, heads, length, depth, device="cuda").half() for _ in range(3))
        out = torch.empty_like(q)

        def library():
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)

        # A few rows of a few heads, in float64: of the first heads the first rows, of the last ones
        # the last.
        def pick(out, rows=64):
            return torch.cat([out[0, :2, :rows], out[-1, -2:, -rows:]])

        keys, values = (torch.cat([x[0, :2], x[-1, -2:]]).double() for x in (k, v))
        scores = pick(q).double() @ keys.mT / depth**0.5
        if is_causal:
            positions = torch.arange(length, device="cuda")
            hidden = positions[None, :] > positions[:, None]
            scores[:2].masked_fill_(hidden[:64], -float("inf"))
            scores[2:].masked_fill_(hidden[-64:], -float("inf"))
        expected = scores.softmax(-1) @ values

        def launch(module, configuration):
            grid = (length // configuration[0], batch * heads)
            run(module, grid, configuration, (q, k, v, out), length, depth, is_causal)

        work = 4 * batch * heads * length**2 * depth // (2 if is_causal else 1)
        self.compare(what, library, launch, ATTENTION, out, expected, 2e-3, work, bar, pick)


def state():
    """Power and clock, as the driver says them now."""
    query = "--query-gpu=power.draw,clocks.sm"
    done = subprocess.run(
        ["nvidia-smi", query, "--format=csv,noheader"], capture_output=True, text=True
    )
    return done.stdout.strip()


def main():
    files = {
        "hopper": ("Products on Hopper", ["products", "blocks", "deep"]),
        "attention": (
            "Attention on Hopper",
            ["attention", "attention_heads", "attention_blocks", "attention_fp8", "decoding"],
        ),
        "batched": ("Batched products on Hopper", ["batched"]),
        "grouped": ("Grouped products on Hopper", ["grouped"]),
        "persistent": (
            "Persistent products on Hopper, as Triton's tutorial 09 has them",
            ["persistent"],
        ),
        "fp8": ("Products of fp8 with all their digits on Hopper", ["with_digits"]),
    }
    parts = [part for _, of_file in files.values() for part in of_file]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append", choices=parts, help="these rows only")
    parser.add_argument(
        "--save",
        action="store_true",
        help="write benchmarks/results/hopper-<card>.md and its like",
    )
    parser.add_argument("--block-each", action="store_true", help="persistent=False; is not saved")
    arguments = parser.parse_args()
    if arguments.save and arguments.block_each:
        parser.error("--block-each is for comparison only: leave out --save")
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
        sys.exit("hopper.py: there is no Hopper GPU here")
    card = torch.cuda.get_device_name().split()[1].lower()  # of "NVIDIA H100 80GB HBM3"
    command = "./dev bench hopper --save" + "".join(
        f" --only {part}" for part in arguments.only or []
    )
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SECTILE_CACHE_DIR"] = f"{folder}/sectile"
        os.environ["TRITON_CACHE_DIR"] = f"{folder}/triton"
        kernels = contenders(folder)
        triton = sys.modules.get("triton")
        if triton:  # keeps descriptors that kernels make in memory of its caller's
            triton.set_allocator(
                lambda size, align, stream: torch.empty(size, device="cuda", dtype=torch.int8)
            )
        setting = f"{torch.cuda.get_device_name()}, torch {torch.__version__}, " + (
            f"Triton {triton.__version__}" if triton else "no Triton"
        )
        print(setting, flush=True)
        for name, (title, of_file) in files.items():
            chosen = [part for part in of_file if part in (arguments.only or parts)]
            if not chosen:
                continue
            benchmark = Benchmark(kernels, {"persistent": False} if arguments.block_each else {})
            for part in chosen:
                getattr(benchmark, part)()
            last = state()
            print(f"  at the end: {last}")
            if arguments.save:
                (HERE / "results" / f"{name}-{card}.md").write_text(
                    f"# {title}\n\n`{command}` on {setting}; power and clock at the end: {last}. x: times the "
                    f"library in turn (cuBLAS, cuBLASLt for e4m3, with fast accumulation but for sums apart and scaled blocks, torch's attention, Sectile's own of f16 for that of e4m3; for decoding, torch's elementwise kernel that moves as many bytes).\n\n"
                    f"{benchmark.table.markdown()}"
                )


if __name__ == "__main__":
    main()
