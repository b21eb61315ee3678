//===-- MathCoefficients.h - minimax polynomials ----------------------------------------------===//
// Made by coefficients/derive.py, lowest degree first. `Error`: relative to the function's result.
#pragma once

namespace sectile::backends::coefficients {

/// exp(r) = 1 + r + r^2 p(r), |r| <= ln(2)/2. Error 2^-27.9.
inline constexpr double kExp32[] = {0x1.0000000000000p-1, 0x1.55548e0000000p-3,
                                    0x1.5555b80000000p-5, 0x1.123bee0000000p-7,
                                    0x1.6c5c6a0000000p-10};
/// The same for f64. Error 2^-63.5.
inline constexpr double kExp64[] = {
    0x1.0000000000000p-1,  0x1.555555555555cp-3,  0x1.5555555555541p-5,  0x1.111111110e9f7p-7,
    0x1.6c16c16c1faaep-10, 0x1.a01a01b447ac6p-13, 0x1.a01a0176e85d4p-16, 0x1.71ddee6798d83p-19,
    0x1.27e540af1d938p-22, 0x1.af6e9a29ecce2p-26, 0x1.1ed9d5cb293dcp-29};
/// 2^r = 1 + r p(r), |r| <= 1/2. Error 2^-28.0.
inline constexpr double kExp2_32[] = {0x1.62e4300000000p-1,  0x1.ebfbd80000000p-3,
                                      0x1.c6af760000000p-5,  0x1.3b30a80000000p-7,
                                      0x1.5f0bae0000000p-10, 0x1.3f9a640000000p-13};
/// The same for f64. Error 2^-59.5.
inline constexpr double kExp2_64[] = {
    0x1.62e42fefa39efp-1,  0x1.ebfbdff82c58ep-3,  0x1.c6b08d704a185p-5,  0x1.3b2ab6fba50fdp-7,
    0x1.5d87fe78883a9p-10, 0x1.430912f7aa849p-13, 0x1.ffcbfcde2f102p-17, 0x1.62c0255d034dap-20,
    0x1.b5241d0767001p-24, 0x1.e4c390ebc9652p-28, 0x1.eb066d72aecb2p-32, 0x1.d46a24326adacp-36};
/// log(1 + f) = f - f^2/2 + f^3 p(f), sqrt(1/2) <= 1 + f < sqrt(2). Error 2^-30.1.
inline constexpr double kLog32[] = {
    0x1.5555480000000p-2,  -0x1.00000e0000000p-2, 0x1.99a4700000000p-3,
    -0x1.5558c80000000p-3, 0x1.2339d80000000p-3,  -0x1.fca04c0000000p-4,
    0x1.e74c980000000p-4,  -0x1.db78ce0000000p-4, 0x1.10352c0000000p-4};
/// log((1 + s) / (1 - s)) = 2s + s^3 p(s^2). Error 2^-59.5.
inline constexpr double kLog64[] = {
    0x1.5555555555592p-1, 0x1.999999997ff02p-2, 0x1.24924941e43d0p-2, 0x1.c71c5210bd758p-3,
    0x1.74663de260c58p-3, 0x1.39a1caf4a21fcp-3, 0x1.2f0515313cd36p-3};
/// The same to more digits, behind a leading 2/3 (for pow). Error 2^-77.0.
inline constexpr double kLogDouble[] = {
    0x1.999999999999ap-2, 0x1.2492492492363p-2, 0x1.c71c71c747eb4p-3,
    0x1.745d172bc6f74p-3, 0x1.3b13ba5b98ffbp-3, 0x1.110f1be6f472bp-3,
    0x1.e265997185818p-4, 0x1.a5069b82cad24p-4, 0x1.ecb675c523f6ap-4};
/// The same for f32. Error 2^-36.8.
inline constexpr double kLogDouble32[] = {0x1.999a000000000p-2, 0x1.24527c0000000p-2,
                                          0x1.dfa1f80000000p-3};
/// sin(r) = r + r^3 p(r^2), |r| <= pi/4. Error 2^-27.9.
inline constexpr double kSin32[] = {-0x1.5555460000000p-3, 0x1.1107760000000p-7,
                                    -0x1.9952dc0000000p-13};
/// The same for f64. Error 2^-63.2.
inline constexpr double kSin64[] = {
    -0x1.5555555555555p-3,  0x1.1111111111069p-7,  -0x1.a01a019ffe521p-13, 0x1.71de3a33a53d1p-19,
    -0x1.ae642c516a1b8p-26, 0x1.6109bd723d11dp-33, -0x1.9ffd97434e77ap-41};
/// cos(r) = 1 - r^2/2 + r^4 p(r^2), |r| <= pi/4. Error 2^-33.0.
inline constexpr double kCos32[] = {0x1.55554a0000000p-5, -0x1.6c0c280000000p-10,
                                    0x1.99e81e0000000p-16};
/// The same for f64. Error 2^-63.9.
inline constexpr double kCos64[] = {0x1.555555555554bp-5,  -0x1.6c16c16c15005p-10,
                                    0x1.a01a019c8c80cp-16, -0x1.27e4f7ef13304p-22,
                                    0x1.1ee9d9ccff9b1p-29, -0x1.8fa55827bbf6bp-37};
/// atan(t) = t + t^3 p(t^2), |t| <= tan(pi/8). Error 2^-61.4.
inline constexpr double kAtan64[] = {
    -0x1.5555555555554p-2, 0x1.9999999999583p-3, -0x1.249249246f4a3p-3, 0x1.c71c71b44f032p-4,
    -0x1.745d144e9b7f1p-4, 0x1.3b1364c56bb12p-4, -0x1.110be8cece175p-4, 0x1.e16785fa55176p-5,
    -0x1.ab3aaa53e0f64p-5, 0x1.6fe0777b2ed63p-5, -0x1.0fce410503f8ap-5, 0x1.e844bdd337f11p-7};
/// The same for f32. Error 2^-30.5.
inline constexpr double kAtan32[] = {-0x1.55554a0000000p-2, 0x1.9991e60000000p-3,
                                     -0x1.23ba040000000p-3, 0x1.b22a2e0000000p-4,
                                     -0x1.f301d80000000p-5};
/// asin(t) = t + t^3 p(t^2), |t| <= 1/2. Error 2^-59.8.
inline constexpr double kAsin64[] = {
    0x1.5555555555578p-3, 0x1.333333332df1fp-4, 0x1.6db6db722ab6ep-5, 0x1.f1c71a8beee79p-6,
    0x1.6e8bdfdc59561p-6, 0x1.1c49dec6142ffp-6, 0x1.ca213146c092ap-7, 0x1.75782ac62bdf2p-7,
    0x1.618746374a297p-7, 0x1.e18f1b0ca9c5fp-9, 0x1.64f26b202f880p-6, -0x1.59e0c7b4b6ccdp-6,
    0x1.0bddb7ea12715p-5};
/// The same for f32. Error 2^-31.7.
inline constexpr double kAsin32[] = {0x1.55554c0000000p-3, 0x1.3338aa0000000p-4,
                                     0x1.6ca7da0000000p-5, 0x1.04cd340000000p-5,
                                     0x1.d586460000000p-7, 0x1.349ffc0000000p-5};
/// erf(x) = x + x p(x^2), |x| <= 1. Error 2^-56.3.
inline constexpr double kErf64[] = {
    0x1.06eba8214db69p-3,  -0x1.812746b037a3dp-2,  0x1.ce2f21a0481f9p-4,  -0x1.b82ce314a739dp-6,
    0x1.565bcd7e17589p-8,  -0x1.c02dcf940755dp-11, 0x1.f9a7919dbebf2p-14, -0x1.f54d5fee10166p-17,
    0x1.c33c31b7db5dap-20, -0x1.df3d2afa45ef5p-23, 0x1.72a6be0feb8d6p-24, -0x1.02bc00fa56bb5p-24,
    0x1.128d55624b571p-25, -0x1.5c8dc74f3196fp-27, 0x1.8c01a81101c21p-30};
/// The same for f32. Error 2^-29.4.
inline constexpr double kErf32[] = {
    0x1.06eba80000000p-3, -0x1.81273e0000000p-2,  0x1.ce2ce60000000p-4, -0x1.b7f71a0000000p-6,
    0x1.53f2240000000p-8, -0x1.a351600000000p-11, 0x1.47720c0000000p-14};
/// erf(x) = 1 - exp(p(x)), 1 <= x <= 3.93. Error 2^-29.7.
inline constexpr double kErfTail32[] = {
    -0x1.663efc0000000p-12, -0x1.2088e20000000p+0, -0x1.46bb0a0000000p-1, -0x1.a652600000000p-4,
    0x1.65c99a0000000p-6,   -0x1.8256c80000000p-9, 0x1.86d5820000000p-13};
/// exp(x^2) erfc(x) = p((x - 4) / (x + 4)) / (1 + 2x), 0 <= x <= 28. Error 2^-54.4.
inline constexpr double kErfc64[] = {
    0x1.3ba5916e9fd7fp+0,   -0x1.1df1ad154a29dp-3,  0x1.f7f5df66fcbb8p-7,   0x1.16ecefcfa60bap-4,
    -0x1.9ddb23c3e5b1fp-4,  0x1.7fee004df66d1p-4,   -0x1.0fb06dfe860a0p-4,  0x1.3079edf9ed1d4p-5,
    -0x1.0962387a72a52p-6,  0x1.49c6719a020d5p-8,   -0x1.8d4aa3ce4cde0p-11, -0x1.a1de8c3f7ba5cp-13,
    0x1.3be104c66e4f3p-13,  -0x1.9968ae60563e4p-16, -0x1.78aeb1e45ab11p-17, 0x1.7fa2785e048b2p-18,
    0x1.45220e3cd7f9bp-22,  -0x1.bf502bdb36a13p-21, 0x1.0a048e804367bp-24,  0x1.e8460e3d56a83p-24,
    -0x1.0c7b7de490d65p-27, -0x1.c1658501b3156p-27, -0x1.bb9cc636941f6p-30};
/// The same for f32, 1/2 <= x <= 10.2. Error 2^-25.1.
inline constexpr double kErfc32[] = {
    0x1.3ba5920000000p+0,  -0x1.1df1ac0000000p-3, 0x1.f7eb0c0000000p-7,  0x1.16eb660000000p-4,
    -0x1.9dce4a0000000p-4, 0x1.800ee20000000p-4,  -0x1.0fc34c0000000p-4, 0x1.2ed2400000000p-5,
    -0x1.0d02400000000p-6, 0x1.6175f40000000p-8};
/// cbrt(m) as first guess, 1 <= m < 8. Error 2^-9.1.
inline constexpr double kCbrt[] = {0x1.412bdf03d53e6p-1, 0x1.cbfd6805554d1p-2,
                                   -0x1.572e966fb5e36p-4, 0x1.3a1cd818e4b97p-7,
                                   -0x1.c53ee4c974c7cp-12};
/// sinh(t) = t + t^3 p(t^2), |t| <= 1, for f32. Error 2^-25.3.
inline constexpr double kSinh32[] = {0x1.5555980000000p-3, 0x1.10f7600000000p-7,
                                     0x1.ab419c0000000p-13};

} // namespace sectile::backends::coefficients
