"""Matrix products."""

from __future__ import annotations

from ._builtin import builtin, not_yet
from ._dtypes import float32

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from ._dtypes import dtype as Dtype
    from ._tensor import tensor


@builtin
def dot(
    input: tensor,
    other: tensor,
    acc: tensor | None = None,
    input_precision: str | None = None,
    allow_tf32: bool | None = None,
    max_num_imprecise_acc: int | None = None,
    out_dtype: Dtype = float32,
) -> tensor:
    """The matrix product of `input` and `other`, plus `acc`.

    Args:
        input: ``[.., M, K]``; fp8, fp16, bf16, fp32, fp64 or int8.
        other: ``[.., K, N]`` of the same dtype (different fp8 kinds may meet).
        acc: ``[.., M, N]``, added to the product.
        input_precision: for fp32 operands: ``"ieee"``, ``"tf32"``, ``"tf32x3"``, ``"bf16x3"`` or
            ``"bf16x6"``. The CPU always computes in full fp32.
        allow_tf32: older spelling of `input_precision`: True is ``"tf32"``, False ``"ieee"``.
        max_num_imprecise_acc: of fp8 products; not followed, and answered by a remark of the kind ``"hint"``,
            which `sectile.inspect` shows: every instruction adds to the accumulator itself.
        out_dtype: of the result, when there is no `acc`; int8 operands give int32.

    Errors: inner dimensions that differ, ranks other than 2 and 3, dtypes that do not go together.
    """


@not_yet("multiply the operands by their scales, and use tl.dot")
def dot_scaled(
    lhs: tensor,
    lhs_scale: tensor | None,
    lhs_format: str,
    rhs: tensor,
    rhs_scale: tensor | None,
    rhs_format: str,
    acc: tensor | None = None,
    fast_math: bool = False,
    lhs_k_pack: bool = True,
    rhs_k_pack: bool = True,
    out_dtype: Dtype = float32,
) -> tensor:
    """A matrix product of operands in a block-scaled format (``"e2m1"``, ``"e4m3"``, ``"e5m2"``,
    ``"bf16"``, ``"fp16"``), with one e8m0 scale per 32 elements along K."""
