"""``tl.extra.libdevice``: further functions of numbers, named as in CUDA's device library.

Each takes scalars or tiles, element by element.

Example:
    from sectile.language.extra import libdevice

    @st.jit
    def kernel(out, x):
        i = tl.arange(0, 4)
        tl.store(out + i, libdevice.cbrt(tl.load(x + i)))

    x = np.array([1, 8, 27, -64], np.float32)
    out = np.empty_like(x)
    kernel[(1,)](out, x)
    print(out)  # [ 1.  2.  3. -4.]
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
abs                abs                x       absolute value
acos               acos               x       arc cosine, in [0, pi]
acosh              acosh              x       inverse hyperbolic cosine; NaN below 1
add_rd             add_rd             x,y     sum, rounded down
add_rn             add_rn             x,y     sum, rounded to nearest even
add_ru             add_ru             x,y     sum, rounded up
add_rz             add_rz             x,y     sum, rounded toward zero
asin               asin               x       arc sine, in [-pi/2, pi/2]
asinh              asinh              x       inverse hyperbolic sine
atan               atan               x       arc tangent, in [-pi/2, pi/2]
atan2              atan2              y,x     angle of the point (x, y), in [-pi, pi]
atanh              atanh              x       inverse hyperbolic tangent; NaN outside [-1, 1]
brev               brev               x       bits in reverse order
byte_perm          byte_perm          x,y,s   four of the eight bytes of y and x, x the lower ones, each chosen by three bits of a nibble of s
cbrt               cbrt               x       cube root
ceil               libdevice.ceil     x       least whole number not below x
clz                clz                x       number of leading zero bits
copysign           copysign           x,y     magnitude of x with the sign of y
cos                libdevice.cos      x       cosine of radians
cosh               cosh               x       hyperbolic cosine
cospi              cospi              x       cosine of pi * x
cyl_bessel_i0      cyl_bessel_i0      x       modified Bessel function of the first kind of order 0
cyl_bessel_i1      cyl_bessel_i1      x       modified Bessel function of the first kind of order 1
div_rd             div_rd             x,y     quotient, rounded down
div_rn             div_rn             x,y     quotient, correctly rounded
div_ru             div_ru             x,y     quotient, rounded up
div_rz             div_rz             x,y     quotient, rounded toward zero
double2float_rd    double2float_rd    x       fp64 as fp32, rounded down
double2float_rn    double2float_rn    x       fp64 as fp32, rounded to nearest even
double2float_ru    double2float_ru    x       fp64 as fp32, rounded up
double2float_rz    double2float_rz    x       fp64 as fp32, rounded toward zero
double2hiint       double2hiint       x       upper 32 bits of fp64 as int32
double2int_rd      double2int_rd      x       fp64 as int32, rounded down; saturates
double2int_rn      double2int_rn      x       fp64 as int32, rounded to nearest even; saturates
double2int_ru      double2int_ru      x       fp64 as int32, rounded up; saturates
double2int_rz      double2int_rz      x       fp64 as int32, rounded toward zero; saturates
double2ll_rd       double2ll_rd       x       fp64 as int64, rounded down; saturates
double2ll_rn       double2ll_rn       x       fp64 as int64, rounded to nearest even; saturates
double2ll_ru       double2ll_ru       x       fp64 as int64, rounded up; saturates
double2ll_rz       double2ll_rz       x       fp64 as int64, rounded toward zero; saturates
double2loint       double2loint       x       lower 32 bits of fp64 as int32
double2uint_rd     double2uint_rd     x       fp64 as uint32, rounded down; saturates
double2uint_rn     double2uint_rn     x       fp64 as uint32, rounded to nearest even; saturates
double2uint_ru     double2uint_ru     x       fp64 as uint32, rounded up; saturates
double2uint_rz     double2uint_rz     x       fp64 as uint32, rounded toward zero; saturates
double2ull_rd      double2ull_rd      x       fp64 as uint64, rounded down; saturates
double2ull_rn      double2ull_rn      x       fp64 as uint64, rounded to nearest even; saturates
double2ull_ru      double2ull_ru      x       fp64 as uint64, rounded up; saturates
double2ull_rz      double2ull_rz      x       fp64 as uint64, rounded toward zero; saturates
double_as_longlong double_as_longlong x       bits of fp64 as int64
erf                libdevice.erf      x       error function
erfc               erfc               x       one minus the error function, accurate where that is small
erfcinv            erfcinv            x       inverse of erfc; NaN outside [0, 2]
erfcx              erfcx              x       exp(x*x) * erfc(x), which does not underflow
erfinv             erfinv             x       inverse of the error function; NaN outside [-1, 1]
exp                libdevice.exp      x       e to the power of x
exp10              exp10              x       10 to the power of x
exp2               libdevice.exp2     x       2 to the power of x
expm1              expm1              x       exp(x) - 1, accurate near 0
fast_cosf          cos                x       cosine; fp32
fast_dividef       fdiv               x,y     quotient; fp32
fast_exp10f        exp10              x       10 to the power of x; fp32
fast_expf          exp                x       e to the power of x; fp32
fast_log10f        log10              x       decimal logarithm; fp32
fast_log2f         log2               x       logarithm to base 2; fp32
fast_logf          log                x       natural logarithm; fp32
fast_powf          pow                x,y     x to the power of y; fp32
fast_sinf          sin                x       sine; fp32
fast_tanf          tan                x       tangent; fp32
fast_tanhf         tanh               x       hyperbolic tangent; fp32
fdim               fdim               x,y     x - y, but not below 0
ffs                ffs                x       1 + position of the lowest set bit; 0 for 0
finitef            isfinite           x       whether x is neither infinite nor NaN; fp32
float2int_rd       float2int_rd       x       fp32 as int32, rounded down; saturates
float2int_rn       float2int_rn       x       fp32 as int32, rounded to nearest even; saturates
float2int_ru       float2int_ru       x       fp32 as int32, rounded up; saturates
float2int_rz       float2int_rz       x       fp32 as int32, rounded toward zero; saturates
float2ll_rd        float2ll_rd        x       fp32 as int64, rounded down; saturates
float2ll_rn        float2ll_rn        x       fp32 as int64, rounded to nearest even; saturates
float2ll_ru        float2ll_ru        x       fp32 as int64, rounded up; saturates
float2ll_rz        float2ll_rz        x       fp32 as int64, rounded toward zero; saturates
float2uint_rd      float2uint_rd      x       fp32 as uint32, rounded down; saturates
float2uint_rn      float2uint_rn      x       fp32 as uint32, rounded to nearest even; saturates
float2uint_ru      float2uint_ru      x       fp32 as uint32, rounded up; saturates
float2uint_rz      float2uint_rz      x       fp32 as uint32, rounded toward zero; saturates
float2ull_rd       float2ull_rd       x       fp32 as uint64, rounded down; saturates
float2ull_rn       float2ull_rn       x       fp32 as uint64, rounded to nearest even; saturates
float2ull_ru       float2ull_ru       x       fp32 as uint64, rounded up; saturates
float2ull_rz       float2ull_rz       x       fp32 as uint64, rounded toward zero; saturates
float_as_int       float_as_int       x       bits of fp32 as int32
float_as_uint      float_as_uint      x       bits of fp32 as uint32
floor              libdevice.floor    x       greatest whole number not above x
fma                fma                x,y,z   x * y + z with one rounding
fma_rd             fma_rd             x,y,z   x * y + z, rounded down
fma_rn             fma_rn             x,y,z   x * y + z, rounded to nearest even
fma_ru             fma_ru             x,y,z   x * y + z, rounded up
fma_rz             fma_rz             x,y,z   x * y + z, rounded toward zero
fmod               fmod               x,y     remainder of x / y with the sign of x
hadd               hadd               x,y     average rounded down, without overflow; integers of 32 bits
hiloint2double     hiloint2double     hi,lo   fp64 with the bits of two int32
hypot              hypot              x,y     square root of x*x + y*y
ilogb              ilogb              x       exponent of x as int32; the least one for 0 and NaN, the greatest one for infinity
int2double_rn      int2double_rn      x       int32 as fp64, which holds it exactly
int2float_rd       int2float_rd       x       int32 as fp32, rounded down
int2float_rn       int2float_rn       x       int32 as fp32, rounded to nearest even
int2float_ru       int2float_ru       x       int32 as fp32, rounded up
int2float_rz       int2float_rz       x       int32 as fp32, rounded toward zero
int_as_float       int_as_float       x       fp32 with the bits of int32
isfinited          isfinite           x       whether x is neither infinite nor NaN; fp64
isinf              isinf              x       whether x is infinite
isnan              isnan              x       whether x is NaN
j0                 j0                 x       Bessel function of the first kind of order 0
j1                 j1                 x       Bessel function of the first kind of order 1
jn                 jn                 n,x     Bessel function of the first kind of order n, of int32; NaN for a negative n
ldexp              ldexp              x,n     x * 2**n, rounded once; n of int32
lgamma             lgamma             x       logarithm of the absolute value of the gamma function
ll2double_rd       ll2double_rd       x       int64 as fp64, rounded down
ll2double_rn       ll2double_rn       x       int64 as fp64, rounded to nearest even
ll2double_ru       ll2double_ru       x       int64 as fp64, rounded up
ll2double_rz       ll2double_rz       x       int64 as fp64, rounded toward zero
ll2float_rd        ll2float_rd        x       int64 as fp32, rounded down
ll2float_rn        ll2float_rn        x       int64 as fp32, rounded to nearest even
ll2float_ru        ll2float_ru        x       int64 as fp32, rounded up
ll2float_rz        ll2float_rz        x       int64 as fp32, rounded toward zero
llrint             llrint             x       nearest int64, ties to even
llround            llround            x       nearest int64, ties away from 0
log                libdevice.log      x       natural logarithm
log10              log10              x       decimal logarithm
log1p              log1p              x       log(1 + x), accurate near 0
log2               libdevice.log2     x       logarithm to base 2
logb               logb               x       exponent of x as a float
longlong_as_double longlong_as_double x       fp64 with the bits of int64
mul24              mul24              x,y     product of the lower 24 bits, of which the lower 32 bits are kept
mul_rd             mul_rd             x,y     product, rounded down
mul_rn             mul_rn             x,y     product, rounded to nearest even
mul_ru             mul_ru             x,y     product, rounded up
mul_rz             mul_rz             x,y     product, rounded toward zero
mulhi              mulhi              x,y     upper half of the product
nearbyint          rint               x       nearest whole number as a float, ties to even
nextafter          nextafter          x,y     number next to x in the direction of y
norm3d             norm3d             x,y,z   square root of x*x + y*y + z*z
norm4d             norm4d             x,y,z,w square root of x*x + y*y + z*z + w*w
normcdf            normcdf            x       standard normal distribution function
normcdfinv         normcdfinv         x       inverse of the standard normal distribution function; NaN outside [0, 1]
popc               popc               x       number of set bits
pow                pow                x,y     x to the power of y
rcbrt              rcbrt              x       one over the cube root
rcp64h             rcp64h             x       reciprocal of fp64 from its upper 32 bits, in the upper 32 bits of the result
rcp_rd             rcp_rd             x       reciprocal, rounded down
rcp_rn             rcp_rn             x       reciprocal, rounded to nearest even
rcp_ru             rcp_ru             x       reciprocal, rounded up
rcp_rz             rcp_rz             x       reciprocal, rounded toward zero
remainder          remainder          x,y     remainder of x / y rounded to the nearest whole number, even in a tie
rhadd              rhadd              x,y     average rounded up, without overflow; integers of 32 bits
rhypot             rhypot             x,y     one over the square root of x*x + y*y
rint               rint               x       nearest whole number as a float, ties to even
rnorm3d            rnorm3d            x,y,z   one over the square root of x*x + y*y + z*z
rnorm4d            rnorm4d            x,y,z,w one over the square root of x*x + y*y + z*z + w*w
round              round              x       nearest whole number as a float, ties away from 0
rsqrt              libdevice.rsqrt    x       one over the square root
rsqrt_rn           rsqrt_rn           x       one over the square root, correctly rounded; fp32
sad                sad                x,y,z   z plus the absolute value of x - y, as uint32
saturatef          saturatef          x       x, but at least 0 and at most 1; 0 for NaN; fp32
scalbn             scalbn             x,n     x * 2**n, rounded once; n of int32
signbit            signbit            x       whether the sign bit is set
sin                libdevice.sin      x       sine of radians
sinh               sinh               x       hyperbolic sine
sinpi              sinpi              x       sine of pi * x
sqrt               libdevice.sqrt     x       square root
sqrt_rd            sqrt_rd            x       square root, rounded down
sqrt_rn            libdevice.sqrt_rn  x       square root, correctly rounded
sqrt_ru            sqrt_ru            x       square root, rounded up
sqrt_rz            sqrt_rz            x       square root, rounded toward zero
sub_rd             sub_rd             x,y     difference x - y, rounded down
sub_rn             sub_rn             x,y     difference x - y, rounded to nearest even
sub_ru             sub_ru             x,y     difference x - y, rounded up
sub_rz             sub_rz             x,y     difference x - y, rounded toward zero
tan                tan                x       tangent of radians
tanh               libdevice.tanh     x       hyperbolic tangent
tgamma             tgamma             x       gamma function; NaN at negative whole numbers
trunc              trunc              x       whole number towards 0, as a float
uint2double_rn     uint2double_rn     x       uint32 as fp64, which holds it exactly
uint2float_rd      uint2float_rd      x       uint32 as fp32, rounded down
uint2float_rn      uint2float_rn      x       uint32 as fp32, rounded to nearest even
uint2float_ru      uint2float_ru      x       uint32 as fp32, rounded up
uint2float_rz      uint2float_rz      x       uint32 as fp32, rounded toward zero
uint_as_float      uint_as_float      x       fp32 with the bits of uint32
ull2double_rd      ull2double_rd      x       uint64 as fp64, rounded down
ull2double_rn      ull2double_rn      x       uint64 as fp64, rounded to nearest even
ull2double_ru      ull2double_ru      x       uint64 as fp64, rounded up
ull2double_rz      ull2double_rz      x       uint64 as fp64, rounded toward zero
ull2float_rd       ull2float_rd       x       uint64 as fp32, rounded down
ull2float_rn       ull2float_rn       x       uint64 as fp32, rounded to nearest even
ull2float_ru       ull2float_ru       x       uint64 as fp32, rounded up
ull2float_rz       ull2float_rz       x       uint64 as fp32, rounded toward zero
umulhi             umulhi             x,y     upper half of the unsigned product
y0                 y0                 x       Bessel function of the second kind of order 0; NaN below 0
y1                 y1                 x       Bessel function of the second kind of order 1; NaN below 0
yn                 yn                 n,x     Bessel function of the second kind of order n, of int32; NaN for a negative n, and below 0
"""


def _define(name: str, operation_name: str, parameters: list[str], text: str) -> Any:
    # exec gives help() and inspect.signature() the real parameter names.
    scope: dict[str, Any] = {"__name__": __name__}
    exec(f"def {name}({', '.join(parameters)}): ...", scope)
    stub = scope[name]
    stub.__doc__ = (
        f"The {text}."
        if not text.startswith(
            ("whether", "exp", "log(", "x ", "x, ", "z ", "1 ", "fp", "int", "uint")
        )
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
