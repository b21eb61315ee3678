"""``tl.extra.libdevice``: further functions of numbers, named as in CUDA's device library.

Each takes scalars or tiles, element by element.
"""

from __future__ import annotations

from .._builtin import operation

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._tensor import tensor

# One line each: what it is called here, the operation it is, its parameters, what it gives.
_FUNCTIONS = """
abs          abs          x    absolute value
acos         acos         x    arc cosine, in [0, pi]
acosh        acosh        x    inverse hyperbolic cosine; NaN below 1
asin         asin         x    arc sine, in [-pi/2, pi/2]
asinh        asinh        x    inverse hyperbolic sine
atan         atan         x    arc tangent, in [-pi/2, pi/2]
atan2        atan2        y,x  angle of the point (x, y), in [-pi, pi]
atanh        atanh        x    inverse hyperbolic tangent; NaN outside [-1, 1]
cbrt         cbrt         x    cube root
ceil         libdevice.ceil x    least whole number not below x
clz          clz          x    number of leading zero bits
copysign     copysign     x,y  magnitude of x with the sign of y
cos          libdevice.cos x    cosine of radians
cosh         cosh         x    hyperbolic cosine
cospi        cospi        x    cosine of pi * x
div_rn       div_rn       x,y  quotient, correctly rounded
erf          libdevice.erf x    error function
erfc         erfc         x    one minus the error function, accurate where that is small
exp          libdevice.exp x    e to the power of x
exp10        exp10        x    10 to the power of x
exp2         libdevice.exp2 x    2 to the power of x
expm1        expm1        x    exp(x) - 1, accurate near 0
fast_cosf    cos          x    cosine; fp32
fast_dividef fdiv         x,y  quotient; fp32
fast_exp10f  exp10        x    10 to the power of x; fp32
fast_expf    exp          x    e to the power of x; fp32
fast_log10f  log10        x    decimal logarithm; fp32
fast_log2f   log2         x    logarithm to base 2; fp32
fast_logf    log          x    natural logarithm; fp32
fast_powf    pow          x,y  x to the power of y; fp32
fast_sinf    sin          x    sine; fp32
fast_tanf    tan          x    tangent; fp32
fast_tanhf   tanh         x    hyperbolic tangent; fp32
fdim         fdim         x,y  x - y, but not below 0
ffs          ffs          x    1 + position of the lowest set bit; 0 for 0
finitef      isfinite     x    whether x is neither infinite nor NaN; fp32
floor        libdevice.floor x    greatest whole number not above x
fma          fma          x,y,z  x * y + z with one rounding
fmod         fmod         x,y  remainder of x / y with the sign of x
hypot        hypot        x,y  square root of x*x + y*y
isfinited    isfinite     x    whether x is neither infinite nor NaN; fp64
isinf        isinf        x    whether x is infinite
isnan        isnan        x    whether x is NaN
llrint       llrint       x    nearest int64, ties to even
llround      llround      x    nearest int64, ties away from 0
log          libdevice.log x    natural logarithm
log10        log10        x    decimal logarithm
log1p        log1p        x    log(1 + x), accurate near 0
log2         libdevice.log2 x    logarithm to base 2
mulhi        mulhi        x,y  upper half of the product
nearbyint    rint         x    nearest whole number as a float, ties to even
normcdf      normcdf      x    standard normal distribution function
popc         popc         x    number of set bits
pow          pow          x,y  x to the power of y
rcbrt        rcbrt        x    one over the cube root
rint         rint         x    nearest whole number as a float, ties to even
round        round        x    nearest whole number as a float, ties away from 0
rsqrt        libdevice.rsqrt x    one over the square root
signbit      signbit      x    whether the sign bit is set
sin          libdevice.sin x    sine of radians
sinh         sinh         x    hyperbolic sine
sinpi        sinpi        x    sine of pi * x
sqrt         libdevice.sqrt x    square root
sqrt_rn      libdevice.sqrt_rn x    square root, correctly rounded
tan          tan          x    tangent of radians
tanh         libdevice.tanh x    hyperbolic tangent
trunc        trunc        x    whole number towards 0, as a float
umulhi       umulhi       x,y  upper half of the unsigned product
"""


def _define(name: str, operation_name: str, parameters: list[str], text: str) -> Any:
    # exec gives help() and inspect.signature() the real parameter names.
    scope: dict[str, Any] = {"__name__": __name__}
    exec(f"def {name}({', '.join(parameters)}): ...", scope)
    stub = scope[name]
    stub.__doc__ = (
        f"The {text}."
        if not text.startswith(("whether", "exp", "log(", "x ", "1 "))
        else (text[0].upper() + text[1:] + ".")
    )
    return operation(operation_name)(stub)


__all__: list[str] = []
_LINES: dict[str, tuple[str, str, list[str], str]] = {}
for _line in _FUNCTIONS.strip().splitlines():
    _name, _operation, _parameters, _text = _line.split(None, 3)
    __all__.append(_name)
    _LINES[_name] = (_name, _operation, _parameters.split(","), _text)


def __getattr__(name: str) -> Callable[..., tensor]:
    line = _LINES.get(name)
    if line is None:
        from ..._suggest import did_you_mean

        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}{did_you_mean(name, _LINES)}"
        )
    function = _define(*line)
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return list(__all__)
