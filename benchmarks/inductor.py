"""torch.compile through Sectile in Triton's place: which models are right, what the first call and later ones take.

    sectile run --as-triton benchmarks/inductor.py [--device cpu|cuda] [--save] [MODEL ...]

Each model is compiled by Inductor, compared with eager execution, and timed: the first call, which compiles, and the
best of the later ones. TORCHINDUCTOR_COMPILE_THREADS says how many processes compile.
"""

import argparse
import pathlib
import time

import torch
import torch._inductor.config as config
from torch import nn
from torch.nn import functional as F

HERE = pathlib.Path(__file__).parent


class Block(nn.Module):
    """A transformer block of one head for each 16 channels."""

    def __init__(self, channels=64):
        super().__init__()
        self.heads = channels // 16
        self.before, self.between = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.split, self.join = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)
        self.wide, self.narrow = (
            nn.Linear(channels, 4 * channels),
            nn.Linear(4 * channels, channels),
        )

    def forward(self, x):
        batch, length, channels = x.shape
        q, k, v = (
            self.split(self.before(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        )
        scores = torch.softmax(q @ k.transpose(-1, -2) * (channels // self.heads) ** -0.5, -1)
        x = x + self.join((scores @ v).transpose(1, 2).reshape(x.shape))
        return x + self.narrow(F.gelu(self.wide(self.between(x))))


def gradient(model):
    def run(x):
        x = x.detach().clone().requires_grad_(True)
        return torch.autograd.grad(model(x).square().mean(), x)[0]

    return run


def models():
    """name -> (function, inputs)"""
    torch.manual_seed(0)
    x, y = torch.randn(256, 1000), torch.randn(256, 1000)
    wide = torch.randn(16, 40000)
    picture = torch.randn(2, 3, 32, 32)
    words = torch.randn(2, 32, 64)
    index = torch.randint(0, 256, (256,))
    whole, divisor = torch.randint(-100, 100, (1000,)), torch.randint(1, 9, (1000,))
    norm, block = nn.LayerNorm(1000), Block()
    conv = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)
    ).eval()
    return {
        "pointwise": (lambda x, y: torch.relu(x) * y + torch.sigmoid(x) - torch.tanh(y), (x, y)),
        "softmax": (lambda x: torch.softmax(x, -1), (x,)),
        "log softmax, 40000 wide": (lambda x: torch.log_softmax(x, -1), (wide,)),
        "layer norm": (norm, (x,)),
        "layer norm, gradient": (gradient(norm), (x,)),
        "RMS norm": (lambda x: x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6), (x,)),
        "group norm": (lambda x: F.group_norm(x, 4), (torch.randn(4, 16, 10, 10),)),
        "sum over rows": (lambda x: x.sum(0), (x,)),
        "sum of all": (lambda x: x.sum(), (x,)),
        "variance and mean": (lambda x: torch.var_mean(x, dim=1), (torch.randn(64, 5000),)),
        "argmax": (lambda x: x.argmax(-1), (x,)),
        "minimum and where": (lambda x: x.min(1), (x,)),
        "any and product": (lambda x: ((x > 3).any(1), x[:, :20].prod(1)), (x,)),
        "cumulative sum": (lambda x: x.cumsum(-1), (x,)),
        "cumulative maximum": (lambda x: x.cummax(-1), (x,)),
        "cumulative log-sum-exp": (lambda x: x.logcumsumexp(-1), (x,)),
        "sort": (lambda x: x.sort(-1), (torch.randn(64, 128),)),
        "concatenate": (lambda x, y: torch.cat([x * 2, y + 1], 1), (x, y)),
        "rows by index": (lambda x, i: x[i] + 1, (x, index)),
        "add by index": (lambda x, i: torch.zeros_like(x).index_add(0, i, x), (x, index)),
        "gather": (lambda x, i: x.gather(1, i), (x, torch.randint(0, 1000, (256, 7)))),
        "bucketize": (lambda x, e: torch.bucketize(x, e), (torch.randn(1000), torch.linspace(-2, 2, 17))),
        "product and GELU": (lambda a, b: F.gelu(a @ b + 1), (torch.randn(64, 128), torch.randn(128, 32))),
        "transformer block": (block, (words,)),
        "transformer block, gradient": (gradient(block), (words,)),
        "convolution": (conv, (picture,)),
        "pool and interpolate": (lambda x: F.interpolate(F.avg_pool2d(x, 3, 1, 1), scale_factor=2.0, mode="bilinear"), (picture,)),
        "bf16 GELU": (lambda x: F.gelu(x) + x, (x.bfloat16(),)),
        "fp16 softmax": (lambda x: torch.softmax(x, -1), (x.half(),)),
        "fp64 functions": (lambda x: x.exp() * x.erf() + torch.lgamma(x.abs() + 1), (x.double(),)),
        "integers": (lambda a, b: (a // b, a % b, a ^ b, a << 2), (whole, divisor)),
        "powers and remainders": (lambda x, y: (x.abs() ** 1.7, torch.fmod(x, y), torch.atan2(x, y), x.round()), (x, y.abs() + 0.1)),
        "cross entropy": (lambda x, t: F.cross_entropy(x, t), (x, torch.randint(0, 1000, (256,)))),
        "transpose": (lambda x, y: x.t().contiguous() + y.t(), (x, y)),
        "truth values": (lambda x: ((x > 0) & ~(x < 1)) | (x > 2), (x,)),
        "triangle": (lambda x: torch.tril(x).masked_fill(x < 0, -9), (torch.randn(100, 100),)),
    }  # fmt: skip


def best_of(run, count=20):
    """The shortest of some calls, in milliseconds."""
    times = []
    for _ in range(count):
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def measure(model, inputs):
    """(is right or what went wrong, seconds of the first call, milliseconds of later ones, of eager ones)"""
    torch._dynamo.reset()
    expected = model(*inputs)
    low = inputs[0].dtype in (torch.bfloat16, torch.float16)
    tolerance = 2e-2 if low else 3e-4
    compiled = torch.compile(model)
    start = time.perf_counter()
    try:
        result = compiled(*inputs)
        first = time.perf_counter() - start
        torch.testing.assert_close(result, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    except Exception as error:
        return (
            f"{type(error).__name__}: {str(error).splitlines()[0][:80]}",
            time.perf_counter() - start,
            None,
            None,
        )
    return "yes", first, best_of(lambda: compiled(*inputs)), best_of(lambda: model(*inputs))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", help="which models; all without")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument(
        "--save", action="store_true", help="write benchmarks/results/inductor-DEVICE.md"
    )
    arguments = parser.parse_args()
    import triton

    torch.set_default_device(arguments.device)
    config.cpu_backend = "triton"
    config.force_disable_caches = True
    whose = "Sectile" if getattr(triton, "__sectile__", False) else f"Triton {triton.__version__}"
    where = torch.cuda.get_device_name() if arguments.device == "cuda" else "CPU"
    lines = [
        f"torch {torch.__version__}, kernels by {whose}, {where}, {config.compile_threads} compile workers",
        "",
        "| model | right | first call, s | later, ms | eager, ms |",
        "|---|---|---:|---:|---:|",
    ]
    print("\n".join(lines))
    right = total = 0
    for name, (model, inputs) in models().items():
        if arguments.models and name not in arguments.models:
            continue
        verdict, first, later, eager = measure(model, inputs)
        right, total = right + (verdict == "yes"), total + 1
        times = f"{later:.3f} | {eager:.3f}" if later is not None else "|"
        lines.append(f"| {name} | {verdict} | {first:.2f} | {times} |")
        print(lines[-1], flush=True)
    lines += ["", f"{right} of {total} are right."]
    print(lines[-1])
    if arguments.save:
        path = HERE / "results" / f"inductor-{arguments.device}.md"
        command = (
            f"sectile run --as-triton benchmarks/inductor.py --device {arguments.device} --save"
        )
        path.write_text(
            f"# torch.compile through Sectile\n\n`{command}`\n\n" + "\n".join(lines) + "\n"
        )


if __name__ == "__main__":
    main()
