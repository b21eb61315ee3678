"""Example 3: RMS norm as a module of torch, with its backward pass.

RMSNorm divides each row by the root of the mean of its squares, and multiplies by a weight:
``y = x * r * w`` with ``r = 1 / sqrt(mean(x²) + eps)``. With the gradient ``g`` of ``y``:

```text
dx = r * (g * w - x * r² * mean(g * w * x))        of each row
dw = sum over rows of g * x * r                     across all rows
```

Autograd sees nothing of a kernel, so a `torch.autograd.Function` names the kernel that computes the gradient. The sum across rows
is split: each program walks over some of the rows and keeps its own partial sum, and torch adds the partial sums. Nothing is atomic,
so the gradient is the same, bit for bit, on every run.
"""

import torch

import sectile as st
import sectile.language as tl

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PROGRAMS = 64  # that share the rows of the backward pass


@st.jit
def forward(out, scale, x, weight, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    inside = c < columns
    v = tl.load(x + row * columns + c, mask=inside, other=0.0).to(tl.float32)
    r = tl.rsqrt(tl.sum(v * v, axis=0) / columns + eps)
    w = tl.load(weight + c, mask=inside, other=0.0).to(tl.float32)
    tl.store(scale + row, r)
    tl.store(out + row * columns + c, v * r * w, mask=inside)


@st.jit
def backward(dx, partial, dout, x, weight, scale, rows, columns, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    inside = c < columns
    w = tl.load(weight + c, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    for row in range(program, rows, tl.num_programs(0)):
        v = tl.load(x + row * columns + c, mask=inside, other=0.0).to(tl.float32)
        g = tl.load(dout + row * columns + c, mask=inside, other=0.0).to(tl.float32)
        r = tl.load(scale + row)
        mean = tl.sum(g * w * v, axis=0) / columns
        tl.store(dx + row * columns + c, r * (g * w - v * r * r * mean), mask=inside)
        dw += g * v * r
    tl.store(partial + program * columns + c, dw, mask=inside)


class RMSNormFunction(torch.autograd.Function):
    @staticmethod
    def forward(context, x, weight, eps):
        rows, columns = x.numel() // x.shape[-1], x.shape[-1]
        x = x.contiguous()
        out, scale = torch.empty_like(x), x.new_empty(rows, dtype=torch.float32)
        forward[(rows,)](out, scale, x, weight, columns, eps, BLOCK=st.next_power_of_2(columns))
        context.save_for_backward(x, weight, scale)
        return out

    @staticmethod
    def backward(context, gradient):
        x, weight, scale = context.saved_tensors
        rows, columns = scale.numel(), x.shape[-1]
        dx = torch.empty_like(x)
        programs = min(PROGRAMS, rows)
        partial = x.new_empty((programs, columns), dtype=torch.float32)
        backward[(programs,)](
            dx, partial, gradient.contiguous(), x, weight, scale, rows, columns,
            BLOCK=st.next_power_of_2(columns),
        )  # fmt: skip
        return dx, partial.sum(0).to(weight.dtype), None


class RMSNorm(torch.nn.Module):
    def __init__(self, columns, eps=1e-6):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(columns))
        self.eps = eps

    def forward(self, x):
        return RMSNormFunction.apply(x, self.weight, self.eps)


def reference(x, weight, eps):
    """The same in float64, with torch's own operations."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight


torch.manual_seed(0)
module = RMSNorm(300).to(DEVICE)
torch.nn.init.normal_(module.weight)
x = torch.randn(4, 50, 300, device=DEVICE, requires_grad=True)
target = torch.randn(4, 50, 300, device=DEVICE)
out = module(x)
(out * target).sum().backward()

x64 = x.detach().double().requires_grad_()
weight64 = module.weight.detach().double().requires_grad_()
out64 = reference(x64, weight64, module.eps)
(out64 * target).sum().backward()

for name, got, wanted in (
    ("output", out, out64),
    ("gradient of x", x.grad, x64.grad),
    ("gradient of the weight", module.weight.grad, weight64.grad),
):
    error = (got.double() - wanted).abs().max() / wanted.abs().max()
    print(f"{name}: greatest error {error:.1e} of the greatest element")
    assert error < 1e-5
print("correct: True")
