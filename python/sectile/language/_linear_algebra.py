"""Matrix products.

Shapes: as described.
"""

from __future__ import annotations

from ._builtin import builtin
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
            ``"bf16x6"``. The latter two multiply the 16 or 24 leading digits of the numbers, as two or three bf16
            numbers each, and add up the 3 or 6 greatest of their products; numbers below 1e-32 lose digits, and those
            above 3.39e38 count as infinite. ``"tf32x3"`` multiplies 22 digits, as two tf32 numbers each; a sum that
            has an infinity is NaN there. The CPU always computes in full fp32.
        allow_tf32: older spelling of `input_precision`: True is ``"tf32"``, False ``"ieee"``.
        max_num_imprecise_acc: of fp8 on Hopper, whose wgmma keeps fewer digits of sums than fp32 has: the sums of so
            many products along K, rounded down to a multiple of 32, are computed apart, and added to the accumulator
            in fp32. A thread needs registers for both. Below 32, and where registers are short, such a product does
            without wgmma and loses no digits. None: all sums are wgmma's own. Elsewhere nothing follows from it. Remarks
            of the kinds ``"sums-apart"`` and ``"hint"`` say which, which `sectile.inspect` shows.
        out_dtype: of the result, when there is no `acc`; int8 operands give int32.

    Shapes: ``[.., M, K]`` times ``[.., K, N]`` gives ``[.., M, N]``; any extents.

    Dtypes: operands fp8, fp16, bf16, fp32, fp64, int8 or uint8; the result is `out_dtype`, of 8-bit integers
    int32, of fp64 fp64.

    Errors: inner dimensions or ranks that differ, ranks below 2, dtypes that do not go together, a
    `max_num_imprecise_acc` that is negative or, of fp8, above K.

    Example:
        @st.jit
        def kernel(out, x, y):
            i = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
            tl.store(out + i, tl.dot(tl.load(x + i), tl.load(y + i)))

        x = np.random.rand(16, 16).astype(np.float16)
        y = np.random.rand(16, 16).astype(np.float16)
        out = np.empty((16, 16), np.float32)
        kernel[(1,)](out, x, y)
        print(np.allclose(out, x.astype(np.float64) @ y.astype(np.float64), rtol=1e-5))  # True
    """


@builtin
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
    """A matrix product of operands in block-scaled formats (OCP Microscaling Formats, version 1.0).

    Operands are converted, multiplied by their scales and go into `dot` as bf16, or as fp16 where one of
    them is fp16: exactly, but for what leaves the range of these, and for scales of float8e4nv, whose products
    with 16-bit operands are rounded to them.

    Args:
        lhs: ``[.., M, K]``; of ``"e2m1"`` bytes of two numbers, the lower half first, ``[.., M, K / 2]``.
        lhs_scale: ``[.., M, K / 32]`` of uint8 (e8m0: ``2 ** (s - 127)``, 255 is NaN), ``[.., M, K / 16]`` of
            float8e4nv, or None.
        lhs_format: ``"e2m1"``, ``"e4m3"``, ``"e5m2"`` (of these fp8 or uint8), ``"bf16"`` or ``"fp16"``.
        rhs: ``[.., K, N]``; of ``"e2m1"`` ``[.., K / 2, N]``.
        rhs_scale: ``[.., N, K / 32]`` or ``[.., N, K / 16]``: a row for each column of `rhs`; or None.
        rhs_format: as `lhs_format`.
        acc: ``[.., M, N]``, added to the product.
        fast_math: scales of 255 need not give NaN.
        lhs_k_pack: False: two neighbors along M share a byte of `lhs`, which is ``[.., M / 2, K]``.
        rhs_k_pack: False: two neighbors along N share a byte of `rhs`, which is ``[.., K, N / 2]``.
        out_dtype: of the result, when there is no `acc`.

    Shapes: as `dot`, of the unpacked operands.

    Dtypes: those of the formats; the result is `out_dtype`.

    Errors: unknown formats; dtypes that are not those of the format; scales of another shape or dtype; `k_pack` False
    for other formats than ``"e2m1"``; what `dot` refuses.

    Example:
        @st.jit
        def kernel(out, x, scale, y):
            m, k, n = tl.arange(0, 16), tl.arange(0, 32), tl.arange(0, 16)
            lhs = tl.load(x + m[:, None] * 32 + k[None, :])
            rhs = tl.load(y + k[:, None] * 16 + n[None, :])
            scales = tl.load(scale + m[:, None])  # one for each 32 elements along K
            product = tl.dot_scaled(lhs, scales, "e5m2", rhs, None, "bf16")
            tl.store(out + m[:, None] * 16 + n[None, :], product)

        ones = np.full((16, 32), 0x3C, np.uint8)  # 1.0 in e5m2
        scale = np.full((16, 1), 128, np.uint8)  # 2 ** (128 - 127)
        y = st.reinterpret(np.full((32, 16), 0x3F80, np.uint16), tl.bfloat16)  # 1.0 in bf16
        out = np.empty((16, 16), np.float32)
        kernel[(1,)](out, ones, scale, y)
        print(out[0, 0])  # 64.0
    """
