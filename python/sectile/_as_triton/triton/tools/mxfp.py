"""Numbers of the OCP microscaling formats in tensors of torch's: E2M1 elements and E8M0 scales.

Source: OCP Microscaling Formats (MX) Specification, version 1.0.
"""

import torch

from sectile.as_triton import missing

#: What the eight codes without sign stand for.
_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_BIAS, _NAN = 127, 255  # of E8M0


class _Numbers:
    def __init__(self, data=None, size=None, device=None):
        self.device = device
        if data is not None:
            assert isinstance(data, torch.Tensor), "Parameter data must be a torch tensor"
            self.device = data.device
            self.data = self._from_float(data)
        elif size is not None:
            self.size = size if isinstance(size, tuple) else (size,)
        else:
            raise ValueError("Either parameter data or size must be provided")


class MXFP4Tensor(_Numbers):
    """Four-bit numbers, each in the lower half of a byte of `data`.

    Args:
        data: a float32 tensor to be converted.
        size: instead, the shape for `random`.
        device: of `random`'s tensor.
    """

    def random(self):
        """Fills it with any codes; returns itself."""
        self.data = torch.randint(0, 16, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype):
        """Returns the numbers as float32."""
        assert dtype == torch.float32, (
            "Currently only float32 is supported for fp4e2m1 to float conversion"
        )
        size = torch.tensor(_E2M1, dtype=dtype, device=self.data.device)[(self.data & 7).long()]
        return torch.where(self.data & 8 != 0, -size, size)

    def _from_float(self, values):
        """To the nearest code, of two the even one; beyond the greatest, infinite or NaN: the greatest."""
        values = values.float()
        table = torch.tensor(_E2M1, dtype=torch.float64, device=values.device)
        size = values.abs().double().nan_to_num(nan=6.0, posinf=6.0).clamp(max=6.0)
        upper = torch.searchsorted(table, size).clamp(max=7)
        lower = (upper - 1).clamp(min=0)
        to_upper, to_lower = table[upper] - size, size - table[lower]
        takes_lower = (to_lower < to_upper) | ((to_lower == to_upper) & (lower % 2 == 0))
        code = torch.where(takes_lower, lower, upper).to(torch.uint8)
        return code | (torch.signbit(values).to(torch.uint8) << 3)

    def to_packed_tensor(self, dim):
        """Returns two neighbours along `dim` in each byte, the first one below; an odd one is joined by 0."""
        assert 0 <= dim < self.data.ndim, (
            "The dimension to pack along is not within the range of tensor dimensions"
        )
        data = self.data
        if data.shape[dim] % 2:
            shape = list(data.shape)
            shape[dim] = 1
            data = torch.cat((data, data.new_zeros(shape)), dim)
        first, second = data.unflatten(dim, (-1, 2)).unbind(dim + 1)
        return first | (second << 4)

    def unpack_packed_tensor(self, packed_tensor, dim, original_shape):
        """The reverse of `to_packed_tensor`, cut to ``original_shape[dim]``."""
        both = torch.stack((packed_tensor & 15, packed_tensor >> 4), dim + 1).flatten(dim, dim + 1)
        return both.narrow(dim, 0, original_shape[dim]).to(torch.uint8)


class MXScaleTensor(_Numbers):
    """Powers of two as a byte each, 2^(byte - 127); 255 is NaN. Arguments as of `MXFP4Tensor`."""

    def random(self, low=None, high=None):
        """Fills it with scales between `low` and `high`, without NaN; returns itself."""

        def code_of(number):
            return int(torch.log2(torch.tensor(number))) + _BIAS

        least = 0 if low is None else max(0, code_of(low))
        most = 254 if high is None else min(254, max(0, code_of(high)))
        assert least <= most, "Low must be less than or equal to high"
        self.data = torch.randint(least, most + 1, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype):
        """Returns the scales as float32."""
        assert dtype == torch.float32, (
            "Currently only float32 is supported for f8e8m0 to float conversion"
        )
        scale = torch.pow(2.0, self.data.to(torch.float32) - _BIAS)
        return torch.where(self.data == _NAN, torch.full_like(scale, torch.nan), scale)

    def _from_float(self, values):
        """The greatest power of two that is not above; NaN for what is not a positive number."""
        is_number = torch.isfinite(values) & (values > 0)
        exponent = (
            torch.log2(torch.where(is_number, values, torch.ones_like(values)))
            .floor()
            .to(torch.int32)
        )
        code = (exponent + _BIAS).clamp(0, 254).to(torch.uint8)
        return torch.where(is_number, code, torch.full_like(code, _NAN))


__getattr__ = missing(__name__)
