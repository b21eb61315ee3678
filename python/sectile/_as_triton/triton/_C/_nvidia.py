"""`triton._C.libtriton.nvidia`: the products that Triton's tutorial 09 compares its kernels with."""

from types import SimpleNamespace
from typing import Any


class CublasLt:
    """Products by cuBLAS, through torch: of arrays on a CPU by torch's own.

    Args:
        workspace: memory for cuBLAS; torch has its own, this is kept alive and not used.
    """

    def __init__(self, workspace: Any) -> None:
        self.workspace = workspace

    def matmul(self, A: Any, B: Any, C: Any) -> None:
        """C = A @ B.T for tensors A (M, K), B (N, K) and C (M, N), of one dtype or, of fp8, any for C.

        Raises:
            ValueError: if the extents do not fit.
        """
        C.copy_(_product(A, B, C))

    def gemm(self, A: Any, B: Any, C: Any, D: Any, alpha: float, beta: float) -> None:
        """D = alpha * A @ B.T + beta * C; shapes and errors as of `matmul`."""
        D.copy_(alpha * _product(A, B, C).float() + beta * C.float())


def _product(A: Any, B: Any, C: Any) -> Any:
    import torch

    extents = [tuple(each.shape) for each in (A, B, C)]
    if any(len(each) != 2 for each in extents) or extents != [
        (extents[2][0], extents[0][1]),
        (extents[2][1], extents[0][1]),
        extents[2],
    ]:
        raise ValueError(
            f"cublas: expected A (M, K), B (N, K) and C (M, N), got {', '.join(map(str, extents))}"
        )
    if A.dtype.itemsize > 1:
        return torch.matmul(A, B.t())
    one = torch.ones((), device=A.device)
    out = C.dtype if C.dtype.itemsize > 1 else torch.float32
    return torch._scaled_mm(A, B.t(), one, one, out_dtype=out, use_fast_accum=True)


cublas = SimpleNamespace(CublasLt=CublasLt)
