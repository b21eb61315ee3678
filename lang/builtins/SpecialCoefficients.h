//===-- SpecialCoefficients.h - polynomials of the special functions --------------------------===//
// Made by coefficients/derive.py, lowest degree first. `error`: relative to the function named.
// clang-format off
#pragma once

#include "lang/builtins/Polynomial.h"

namespace sectile::lang::coefficients {

/// 1 / gamma(1 + y), |y| <= 1/2.
/// f64: degree 14, error 2^-56.2.
/// f32: degree 9, error 2^-31.0.
inline constexpr double kReciprocalGamma64[] = {0x1.0000000000000p+0, 0x1.2788cfc6fb61bp-1, -0x1.4fcf4026afa2bp-1, -0x1.5815e8fa287dep-5, 0x1.5512320b439c2p-3, -0x1.59af103bf41c3p-5, -0x1.3b4af283815d5p-7, 0x1.d919c501a65ffp-8, -0x1.31711368048fcp-10, -0x1.c364cf11da728p-13, 0x1.0c8aa7bf921fep-13, -0x1.51d6735f037b2p-16, -0x1.5027f37f4e366p-20, 0x1.31846253ea7c4p-20, -0x1.af689b732b9c4p-23};
inline constexpr double kReciprocalGamma32[] = {0x1.000000010acb1p+0, 0x1.2788cfc6a9e7ep-1, -0x1.4fcf41c792b89p-1, -0x1.5815e4ff694f9p-5, 0x1.5513028bf6ac2p-3, -0x1.59af8fc5f816ap-5, -0x1.3bdcfd867e9dcp-7, 0x1.d9468f4c4973ep-8, -0x1.1c8cbbbec4592p-10, -0x1.dd2e6adb582d8p-13};
inline constexpr Polynomial kReciprocalGamma = {0.0, kReciprocalGamma64, kReciprocalGamma32};

/// gamma(x) / (sqrt(2 pi) x^(x - 1/2) exp(-x)) in 1 / x, x >= 8.
/// f64: degree 9, error 2^-59.1.
/// f32: degree 3, error 2^-33.0.
inline constexpr double kStirling64[] = {0x1.0000000000000p+0, 0x1.55555555554abp-4, 0x1.c71c71c87b216p-9, -0x1.5f72697908e4cp-9, -0x1.e13b2444ffab4p-13, 0x1.9b031ce9eada1p-11, 0x1.2b8fcff026b8ap-14, -0x1.3ff97ec36b5bdp-11, 0x1.f5e13bf8dbf4ap-15, 0x1.11ac1b05e246fp-11};
inline constexpr double kStirling32[] = {0x1.0000000047acap+0, 0x1.55555074c7dbfp-4, 0x1.c73f91710c741p-9, -0x1.628f21bf58b09p-9};
inline constexpr Polynomial kStirling = {0.0, kStirling64, kStirling32};

/// x (lgamma(x) - (x - 1/2) log(x) + x - log(2 pi) / 2) in 1 / x^2, x >= 8.
/// f64: degree 6, error 2^-56.9.
inline constexpr double kLogStirling64[] = {0x1.5555555555555p-4, -0x1.6c16c16c149f4p-9, 0x1.a01a017dcf9e1p-11, -0x1.38134d4f8896fp-11, 0x1.b92c33f9445e5p-11, -0x1.ef8d748aeb0f2p-10, 0x1.4bffc9d8b455bp-8};
inline constexpr Polynomial kLogStirling = {0.0, kLogStirling64, {}};

/// lgamma(1 + y) / y, -1/4 <= y <= 1/2.
/// f64: degree 21, error 2^-57.9.
inline constexpr double kLogGamma164[] = {-0x1.2788cfc6fb619p-1, 0x1.a51a6625307d2p-1, -0x1.9a4d55beab2c4p-2, 0x1.151322ac7db9cp-2, -0x1.a8b9c17aa9c64p-3, 0x1.5b40cb0fc39f4p-3, -0x1.2703a1da97545p-3, 0x1.010b36c410c2bp-3, -0x1.c80671e55b5c6p-4, 0x1.9a01de862d236p-4, -0x1.748bf24c17204p-4, 0x1.556aec4fa64abp-4, -0x1.3b23b37421646p-4, 0x1.24a144f64297ap-4, -0x1.10cb30e11664ep-4, 0x1.fde3fbc39bbe0p-5, -0x1.e32532015052ap-5, 0x1.da5587f945840p-5, -0x1.ceff20fd48b23p-5, 0x1.7eaacf80ba41bp-5, -0x1.a9c46e157cb82p-6, 0x1.c01a68a3fec1bp-8};
inline constexpr Polynomial kLogGamma1 = {0.0, kLogGamma164, {}};

/// lgamma(2 + y) / y, |y| <= 1/2.
/// f64: degree 19, error 2^-61.5.
inline constexpr double kLogGamma264[] = {0x1.b0ee6072093cep-2, 0x1.4a34cc4a60fa6p-2, -0x1.13e001a55760ap-4, 0x1.51322ac7d848ap-6, -0x1.e404fc218dbaep-8, 0x1.7add6eadb5317p-9, -0x1.38ac5c2d48207p-10, 0x1.0b36af8779ca0p-11, -0x1.d3fd4b679c1c4p-13, 0x1.a127afee53e7dp-14, -0x1.78de9ab752b81p-15, 0x1.580e0afa55850p-16, -0x1.3cb3be36ad88bp-17, 0x1.258f3057730fap-18, -0x1.1276ebd557fb0p-19, 0x1.012012be3900ap-20, -0x1.ce17528bcf460p-22, 0x1.b40adb09a1e12p-23, -0x1.2009c1a550d0dp-23, 0x1.11fa5e7c86f7bp-24};
inline constexpr Polynomial kLogGamma2 = {0.0, kLogGamma264, {}};

/// lgamma(x) / (x - 2), 2.5 <= x <= 4.5.
/// f64: degree 19, error 2^-58.8.
inline constexpr double kLogGamma364[] = {0x1.99eeacb740d9dp-1, 0x1.9d060f61a717ap-3, -0x1.8e995e2a4c528p-6, 0x1.130357a6f4a2fp-8, -0x1.bad54a47e27aep-11, 0x1.84ad78e6e60f7p-13, -0x1.6857bbea7c6d6p-15, 0x1.5ad2ab6d1104bp-17, -0x1.56ef97396c0fdp-19, 0x1.59ffc3a9df9c0p-21, -0x1.628d6a8e5e1b5p-23, 0x1.6fc829592493ap-25, -0x1.81221dc407ab4p-27, 0x1.96b0ce7805e0bp-29, -0x1.b364630f9295dp-31, 0x1.d17fc95d1e5adp-33, -0x1.ca48d759b6506p-35, 0x1.edb4562487e2dp-37, -0x1.a8239c0b5322bp-38, 0x1.cd5f44efdc0b1p-40};
inline constexpr Polynomial kLogGamma3 = {3.5, kLogGamma364, {}};

/// lgamma(x), 4.5 <= x <= 8.
/// f64: degree 18, error 2^-57.4.
inline constexpr double kLogGamma664[] = {0x1.4e0dfde18c6e8p+2, 0x1.c01db8eb222d4p+0, 0x1.634914879f474p-4, -0x1.47e8aab793da4p-8, 0x1.c4dcc5ccbfac6p-12, -0x1.765d8c81ea48dp-15, 0x1.570f189cd386fp-18, -0x1.500ec3e6e560ap-21, 0x1.58e3f468e1976p-24, -0x1.6e4575beddc05p-27, 0x1.8f3f67bcd5ed4p-30, -0x1.bc18bf8cb1252p-33, 0x1.f637c68f65406p-36, -0x1.210aa5edd1e8ep-38, 0x1.4f01bc057e5cbp-41, -0x1.6ff8ee5e9bf03p-44, 0x1.b124c4d906b8dp-47, -0x1.7da1cb6c7cc51p-49, 0x1.c8f57b4f69470p-52};
inline constexpr Polynomial kLogGamma6 = {6.25, kLogGamma664, {}};

/// erfinv(x) / x, w = -log(1 - x^2), in w <= 6.25.
/// f64: degree 24, error 2^-56.9.
inline constexpr double kErfInverse164[] = {0x1.a755e7c99ae86p+0, 0x1.ebd80d9b13dfap-3, -0x1.8b6c33114ea2fp-8, -0x1.84576948359ddp-11, 0x1.879c2a20aeb2ep-13, -0x1.d1d1f7c9ffa6dp-17, -0x1.6e8a53c7ac2ffp-20, 0x1.c6b4f8868f532p-22, -0x1.f36ceed4416aep-26, -0x1.1a9eb00326b9bp-28, 0x1.20f544d62fff1p-30, -0x1.dc3f457145cd3p-35, -0x1.c8a6afa1550f4p-37, 0x1.7236b79e1d57ep-39, -0x1.6b86f85109f07p-44, -0x1.6877e8ae70f27p-45, 0x1.d5e95ecc5f898p-48, -0x1.6b6b0fc6a580fp-55, -0x1.19ac650194dcap-53, 0x1.1e1f9ee618b29p-56, 0x1.669b9213d3cdfp-61, -0x1.9a137911c05cfp-62, 0x1.79a647e43b44ep-66, 0x1.e2aa7ddd776b6p-69, -0x1.b2643e45e1856p-72};
inline constexpr Polynomial kErfInverse1 = {3.125, kErfInverse164, {}};

/// erfinv(x) / x, w = -log(1 - x^2), in sqrt(w), 2.5 to 4.
/// f64: degree 20, error 2^-59.6.
inline constexpr double kErfInverse264[] = {0x1.8abcc380d5a48p+1, 0x1.0158a6d641d55p+0, 0x1.5ffcfe5b6cd38p-8, -0x1.ebadabba02be5p-9, 0x1.468eeca944c44p-9, -0x1.ba9240d8768c3p-10, 0x1.f3cc545d9ca81p-11, -0x1.7448bcc8e9aa7p-12, 0x1.932e8fd4360edp-16, 0x1.1e6abbe66ca02p-14, -0x1.8cf463501e9a0p-15, 0x1.a241c6f237f34p-17, 0x1.899aa0e374402p-19, -0x1.0b79e820e8497p-18, 0x1.8db69feb41fb6p-20, -0x1.da75906425fdap-26, -0x1.079a074d69940p-22, 0x1.1a9484c4d3628p-23, -0x1.674f1725daa65p-26, -0x1.06f1da245bfd3p-26, 0x1.07e3c2020286fp-27};
inline constexpr Polynomial kErfInverse2 = {3.25, kErfInverse264, {}};

/// erfinv(x) / x, w = -log(1 - x^2), in sqrt(w), 4 to 6.1.
/// f64: degree 19, error 2^-59.8.
inline constexpr double kErfInverse364[] = {0x1.3664ddd1ad7fbp+2, 0x1.02a30d1fba10bp+0, -0x1.22ea5df1cc9c4p-13, -0x1.c2f36aa17712fp-13, 0x1.3ebf4efb41405p-14, -0x1.4a349034ee281p-16, 0x1.2fbcfd6d3a07ep-18, -0x1.0a903b291e5ccp-20, 0x1.ebe32e01b51e0p-23, -0x1.22365bfec563dp-24, 0x1.f287e2e4c7c33p-26, -0x1.0579155654168p-26, 0x1.0cc365e09cc20p-27, -0x1.e4761087eb669p-29, 0x1.699080fbc38a4p-30, -0x1.abd2c01830e36p-32, 0x1.337cc90f91bdbp-34, 0x1.4b5efb75f7d1ap-36, -0x1.68184d5c94400p-36, 0x1.61eac4086d30cp-38};
inline constexpr Polynomial kErfInverse3 = {5.0, kErfInverse364, {}};

/// erfinv(x) / x, w = -log(1 - x^2), in sqrt(w), 6.1 to 12.1.
/// f64: degree 19, error 2^-57.0.
inline constexpr double kErfInverse464[] = {0x1.1c4bf1ab3c8b6p+3, 0x1.01b8e2742818cp+0, -0x1.accd56c8eaa2bp-12, 0x1.58dc927c02726p-16, -0x1.fc7f5894172bdp-23, -0x1.461c7ab46ee66p-23, 0x1.1a167f292b016p-25, -0x1.5e5f534495e1dp-28, 0x1.7fef62516ca4dp-31, -0x1.89998c3d078c2p-34, 0x1.82f5240edc30dp-37, -0x1.714cb523456fap-40, 0x1.584d2298c4522p-43, -0x1.3cbda2a2745f8p-46, 0x1.23131d9ff21efp-49, -0x1.f9362b52d47a3p-53, 0x1.7f10aafe72191p-56, -0x1.82a700ad892c3p-59, 0x1.13285495c4a6dp-61, -0x1.801e801993953p-65};
inline constexpr Polynomial kErfInverse4 = {9.0, kErfInverse464, {}};

/// erfinv(x) / x, w = -log(1 - x^2), in sqrt(w), 12 to 27.4.
/// f64: degree 21, error 2^-58.1.
inline constexpr double kErfInverse564[] = {0x1.3ed950ca8ee88p+4, 0x1.009a19588301dp+0, -0x1.6ae5d7524f16ep-14, 0x1.ba197e5705badp-19, -0x1.0ebbae94bbe59p-23, 0x1.47334addf2e4ep-28, -0x1.7e803c0c47013p-33, 0x1.a3111f2d398ebp-38, -0x1.9140d074aa849p-43, 0x1.04aee145ecb1cp-48, 0x1.01050c8c5973cp-54, -0x1.efc5b87d0faa2p-57, 0x1.57502bd0bb77fp-60, -0x1.80224d90d5ef5p-64, 0x1.6f8c1fe5cbb38p-68, -0x1.3f6b4ac38e911p-72, 0x1.80e397522b63dp-76, -0x1.c37db6ee8ab8bp-80, 0x1.4cfdb767f870cp-86, 0x1.30a9a689709f9p-89, 0x1.d4f040e6539bcp-92, -0x1.298c79308f926p-95};
inline constexpr Polynomial kErfInverse5 = {20.0, kErfInverse564, {}};

/// (x + 1/2) exp(x^2) erfc(x) in (x - 4) / (x + 4), x >= 1.
/// f64: degree 21, error 2^-56.7.
inline constexpr double kErfcx64[] = {0x1.3ba5916e9fd7fp-1, -0x1.1df1ad154a295p-4, 0x1.f7f5df66fd152p-8, 0x1.16ecefcfa5b25p-5, -0x1.9ddb23c3e5fedp-5, 0x1.7fee004dfd96ap-5, -0x1.0fb06dfe8c01fp-5, 0x1.3079edf9d49abp-6, -0x1.0962387b58364p-7, 0x1.49c6715c7cd6fp-9, -0x1.8d4a9d607cf9cp-12, -0x1.a1de32a44c301p-14, 0x1.3bdfe03f5e4b2p-14, -0x1.997611b2c657bp-17, -0x1.784b174240abep-18, 0x1.8010fb3e96457p-19, 0x1.20770031ff74dp-23, -0x1.bfc97047a6e7bp-22, 0x1.ec80103f06680p-25, 0x1.a0cc8fc7445d5p-25, -0x1.6a1d2049ef161p-26, 0x1.6438170d953c8p-29};
inline constexpr Polynomial kErfcx = {0.0, kErfcx64, {}};

/// exp(x^2) erfc(x), 0 <= x <= 1.
/// f64: degree 17, error 2^-56.5.
inline constexpr double kErfcxNear64[] = {0x1.3b3bc3c98b0f3p-1, -0x1.067f263ec85e7p-1, 0x1.6ff861544dbc7p-2, -0x1.c6ad7a6f37cf4p-3, 0x1.fc9a0571055d7p-4, -0x1.0605940f2e6f3p-4, 0x1.f7744f3383957p-6, -0x1.c71017354dde5p-7, 0x1.85b04a993c3a4p-8, -0x1.3de7217756c96p-9, 0x1.f056c7c39ad76p-11, -0x1.7428ce5e7c884p-12, 0x1.0ce98121d9b97p-13, -0x1.775e4847fae74p-15, 0x1.f87de3f80a34bp-17, -0x1.4b0743afe62d6p-18, 0x1.d78bdb0f34d96p-20, -0x1.23264e43f18b6p-21};
inline constexpr Polynomial kErfcxNear = {0.5, kErfcxNear64, {}};

/// I0(x) in x^2 / 4, x <= 8.
/// f64: degree 16, error 2^-61.1.
inline constexpr double kBesselI064[] = {0x1.0000000000000p+0, 0x1.0000000000000p+0, 0x1.0000000000002p-2, 0x1.c71c71c71c6dfp-6, 0x1.c71c71c71cbe1p-10, 0x1.23456789a8318p-14, 0x1.02e85c08d260ap-19, 0x1.522a43f155552p-25, 0x1.522a444603fe2p-31, 0x1.0b312ee43b7c5p-37, 0x1.5601c7e411b36p-44, 0x1.69c76363ac35fp-51, 0x1.41b6c17a09391p-58, 0x1.e56f7ffb05c87p-66, 0x1.46a4446d3e276p-73, 0x1.31d00bad6ba1ap-81, 0x1.20d247d00eeebp-88};
inline constexpr Polynomial kBesselI0 = {0.0, kBesselI064, {}};

/// sqrt(x) exp(-x) I0(x) in 1 / x, x >= 8.
/// f64: degree 24, error 2^-57.1.
inline constexpr double kBesselI0Large64[] = {0x1.9bd428ad249a5p-2, 0x1.b87969bb93b75p-5, 0x1.1daa72b5e650cp-5, 0x1.75e5ee71edd14p-5, 0x1.8e513a1d5e52bp-4, 0x1.3f49a6bcfc2d9p-2, 0x1.7d0f75812d9bcp+0, 0x1.51ced7b713adcp+3, 0x1.7224b1828e507p+6, 0x1.03896efb09a41p+9, -0x1.ce768f00b5374p+12, -0x1.cc90f59ec1228p+17, -0x1.77cc956faaa2fp+20, 0x1.0317d4c7b215ap+25, 0x1.047454ffcb608p+29, -0x1.df1549cddfaf8p+31, -0x1.a9411c5b0ad08p+36, 0x1.9bbbfe31d81e9p+38, 0x1.0ab5ef575d285p+44, -0x1.31c908a5dd531p+45, -0x1.e8fd992032bedp+50, 0x1.42a55974d41b8p+51, 0x1.1ce14787c5bdep+57, -0x1.52109c25bd9ecp+56, -0x1.36e52c10032d7p+62};
inline constexpr Polynomial kBesselI0Large = {0.0625, kBesselI0Large64, {}};

/// I1(x) / x in x^2 / 4, x <= 8.
/// f64: degree 15, error 2^-59.0.
inline constexpr double kBesselI164[] = {0x1.0000000000000p-1, 0x1.0000000000001p-2, 0x1.5555555555540p-5, 0x1.c71c71c71c9ecp-9, 0x1.6c16c16c13a93p-13, 0x1.845c8a0d26f80p-18, 0x1.27e4fb73f1ad7p-23, 0x1.522a443ba2a26p-29, 0x1.2c97552280795p-35, 0x1.ab8234c2c46fbp-42, 0x1.f17258b099a34p-49, 0x1.e290ec0d14f98p-56, 0x1.8a6faa072cdf9p-63, 0x1.1dc3a22d140b2p-70, 0x1.1ec8e2d9b0ddbp-78, 0x1.20de50ee937a2p-85};
inline constexpr Polynomial kBesselI1 = {0.0, kBesselI164, {}};

/// sqrt(x) exp(-x) I1(x) in 1 / x, x >= 8.
/// f64: degree 24, error 2^-57.0.
inline constexpr double kBesselI1Large64[] = {0x1.8ebe783a84030p-2, -0x1.3f796198ee628p-3, -0x1.cbc54df1ece76p-5, -0x1.f89c23066d278p-5, -0x1.ec8e101744487p-4, -0x1.76137e6905189p-2, -0x1.ad8db6e1fecbbp+0, -0x1.727a73a8063a8p+3, -0x1.9180f82a1d429p+6, -0x1.21895bb7ba33fp+9, 0x1.cd81846fb3ff1p+12, 0x1.e20e7d69649cap+17, 0x1.9f203cf2783b7p+20, -0x1.0630cddd4e099p+25, -0x1.1465ce7d29637p+29, 0x1.d4345a69bfc30p+31, 0x1.bdc8daed57db9p+36, -0x1.858c7591014bdp+38, -0x1.162964d5f91dbp+44, 0x1.1aee882806184p+45, 0x1.fce6b32270b52p+50, -0x1.272ae05110368p+51, -0x1.2839623e2341cp+57, 0x1.33e83e12ca3b4p+56, 0x1.432b0a4121172p+62};
inline constexpr Polynomial kBesselI1Large = {0.0625, kBesselI1Large64, {}};

/// Zero 1 of J0.
inline constexpr SplitNumber kZeroOfJ0_1 = {0x1.33d152e971b40p+1, -0x1.0f539d7da258ep-53};

/// Zero 2 of J0.
inline constexpr SplitNumber kZeroOfJ0_2 = {0x1.6148f5b2c2e45p+2, 0x1.75054cd60a517p-54};

/// Zero 1 of J1.
inline constexpr SplitNumber kZeroOfJ1_1 = {0x1.ea75575af6f09p+1, -0x1.60155a9d1b256p-53};

/// Zero 2 of J1.
inline constexpr SplitNumber kZeroOfJ1_2 = {0x1.c0ff5f3b47250p+2, -0x1.b226d9d243827p-54};

/// Zero 1 of Y0.
inline constexpr SplitNumber kZeroOfY0_1 = {0x1.c982eb8d417eap-1, 0x1.ea9d270347f83p-56};

/// Zero 2 of Y0.
inline constexpr SplitNumber kZeroOfY0_2 = {0x1.fa9534d98569cp+1, -0x1.f06ae7804384ep-54};

/// Zero 3 of Y0.
inline constexpr SplitNumber kZeroOfY0_3 = {0x1.c581dc4e72103p+2, -0x1.9774a495f56cfp-54};

/// Zero 1 of Y1.
inline constexpr SplitNumber kZeroOfY1_1 = {0x1.193bed4dff243p+1, -0x1.bd1e50d219bfdp-55};

/// Zero 2 of Y1.
inline constexpr SplitNumber kZeroOfY1_2 = {0x1.5b7fe4e87b02ep+2, 0x1.dfe7bac228e8cp-52};

/// Zero 3 of Y1.
inline constexpr SplitNumber kZeroOfY1_3 = {0x1.13127ae6169b4p+3, 0x1.479cc068d9046p-52};

/// (J0(x) - 1) / x^2 in x^2, x <= 1.5.
/// f64: degree 7, error 2^-58.4.
/// f32: degree 4, error 2^-32.0.
inline constexpr double kBesselJ0Origin64[] = {-0x1.0000000000000p-2, 0x1.fffffffffffedp-7, -0x1.c71c71c71b162p-12, 0x1.c71c71c5e747ep-18, -0x1.234567029eb50p-24, 0x1.02e81bee8d5adp-31, -0x1.520886292fa21p-39, 0x1.48e5635dabb06p-47};
inline constexpr double kBesselJ0Origin32[] = {-0x1.fffffffe3aa3fp-3, 0x1.fffffd8a30319p-7, -0x1.c71b5985930d9p-12, 0x1.c6c5050cc0a63p-18, -0x1.181a63fb81189p-24};
inline constexpr Polynomial kBesselJ0Origin = {0.0, kBesselJ0Origin64, kBesselJ0Origin32};

/// J0(x) / ((x^2 - z1^2)) in x^2, x <= 4.
/// f64: degree 11, error 2^-61.6.
/// f32: degree 7, error 2^-33.6.
inline constexpr double kBesselJ0Near64[] = {-0x1.6b2948e843e2bp-4, 0x1.08d902d0bf620p-7, -0x1.17057235d9c2bp-12, 0x1.33fa04134f0abp-18, -0x1.a4b2380ccc120p-25, 0x1.87a4ac4403e73p-32, -0x1.08c621262a183p-39, 0x1.0fff1f804b5a6p-47, -0x1.b72e5fe144952p-56, 0x1.1e1403c582f38p-64, -0x1.3344f418421d9p-73, 0x1.14844882680bfp-82};
inline constexpr double kBesselJ0Near32[] = {-0x1.6b2948e80cf34p-4, 0x1.08d902d0be43cp-7, -0x1.1705725151629p-12, 0x1.33fa0417c7e2ep-18, -0x1.a4b1f362bfaa1p-25, 0x1.87a495e805722p-32, -0x1.0933f9f218e66p-39, 0x1.1046aa721449fp-47};
inline constexpr Polynomial kBesselJ0Near = {8.0, kBesselJ0Near64, kBesselJ0Near32};

/// J0(x) / (x - z2), 4 <= x <= 8.
/// f64: degree 17, error 2^-56.0.
/// f32: degree 11, error 2^-31.5.
inline constexpr double kBesselJ0Far64[] = {0x1.416dc96e57c0ep-2, -0x1.3d97028754e56p-4, -0x1.63c76276a6e61p-5, 0x1.15618767e6bd2p-7, 0x1.bb360f4dabcebp-10, -0x1.307fa1bf6f28fp-12, -0x1.104aed8457de0p-15, 0x1.52a757fbebd2dp-18, 0x1.949f158694f6fp-22, -0x1.cd44e14cb2c70p-25, -0x1.950feeadc7d5ap-29, 0x1.aab88a4a153f6p-32, 0x1.246866f28c529p-36, -0x1.1e6ad2a71cf3bp-39, -0x1.3ecb0af8c157bp-44, 0x1.23d75c9bd0560p-47, 0x1.03d88a290bdf9p-52, -0x1.bfb0b6915c2a0p-56};
inline constexpr double kBesselJ0Far32[] = {0x1.416dc96dccd7cp-2, -0x1.3d97028710a28p-4, -0x1.63c762287efa8p-5, 0x1.156187417eef3p-7, 0x1.bb35f2c61511fp-10, -0x1.307f93bac6f0ap-12, -0x1.10471d354cc0ep-15, 0x1.52a398b7c7ea5p-18, 0x1.93b291e69cc96p-22, -0x1.cc5c91dde0519p-25, -0x1.7a81fb7276670p-29, 0x1.90a802a00421ep-32};
inline constexpr Polynomial kBesselJ0Far = {6.0, kBesselJ0Far64, kBesselJ0Far32};

/// J1(x) / (x (x^2 - z1^2)) in x^2, x <= 5.25.
/// f64: degree 12, error 2^-61.1.
/// f32: degree 8, error 2^-34.8.
inline constexpr double kBesselJ1Near64[] = {-0x1.d6b4f39e3197dp-7, 0x1.fbba33905c65cp-11, -0x1.aae19fc7de24dp-16, 0x1.890fdb48b3ad1p-22, -0x1.cd33a5529d67cp-29, 0x1.7895679a95faap-36, -0x1.c5ad47f809451p-44, 0x1.a45fb9ca56dacp-52, -0x1.352718a965366p-60, 0x1.71e02633e1137p-69, -0x1.6f24422c12a0fp-78, 0x1.339fe43b49ed3p-87, -0x1.b99c3a34ca07fp-97};
inline constexpr double kBesselJ1Near32[] = {-0x1.d6b4f39e350bdp-7, 0x1.fbba338f61a3ap-11, -0x1.aae19fc65a1fdp-16, 0x1.890fdbd58d3efp-22, -0x1.cd33a6ee58337p-29, 0x1.7894bc8e2f3eep-36, -0x1.c5ab189bd031cp-44, 0x1.a593b942261fap-52, -0x1.372de1e9807d0p-60};
inline constexpr Polynomial kBesselJ1Near = {14.0, kBesselJ1Near64, kBesselJ1Near32};

/// J1(x) / (x - z2), 5.25 <= x <= 8.
/// f64: degree 15, error 2^-56.2.
/// f32: degree 10, error 2^-36.0.
inline constexpr double kBesselJ1Far64[] = {0x1.3465571d81f66p-2, 0x1.09c62c14d03a3p-6, -0x1.8e8f7de745784p-5, -0x1.35ea79632e464p-12, 0x1.26156daef8d99p-9, -0x1.e0feec0333c7dp-17, -0x1.9b4060c22e083p-15, 0x1.1566ee3415ac6p-21, 0x1.51509a248e9fdp-21, -0x1.013a85f06d004p-27, -0x1.6ce205036a782p-28, 0x1.1cc788738b4f9p-34, 0x1.1836014860c36p-35, -0x1.aea1e4ab98c49p-42, -0x1.3995ae247da69p-43, 0x1.d2b93f06ec268p-50};
inline constexpr double kBesselJ1Far32[] = {0x1.3465571d81f66p-2, 0x1.09c62c194ac7dp-6, -0x1.8e8f7de6293bep-5, -0x1.35ea853d185e9p-12, 0x1.26156cf2f7b4cp-9, -0x1.e0fa8715d6b93p-17, -0x1.9b3fd563fffbbp-15, 0x1.1511aea1666fbp-21, 0x1.51266313aab58p-21, -0x1.ebc4f286b3040p-28, -0x1.61aa6813df1ddp-28};
inline constexpr Polynomial kBesselJ1Far = {6.625, kBesselJ1Far64, kBesselJ1Far32};

/// (Y0(x) - 2/pi log(x / z1) J0(x)) / (x^2 - z1^2) in x^2, x <= 2.5.
/// f64: degree 9, error 2^-60.8.
/// f32: degree 6, error 2^-37.0.
inline constexpr double kBesselY0Near64[] = {0x1.1480edf2c8772p-3, -0x1.bab6d2ccdcffbp-7, 0x1.f2300c2d9facep-12, -0x1.21545bb737b32p-17, 0x1.9bfb827ddc8fdp-24, -0x1.8d2d2f78e9320p-31, 0x1.14bab0af94988p-38, -0x1.23e4e15a09f0dp-46, 0x1.e29716cff675fp-55, -0x1.410fd00473e20p-63};
inline constexpr double kBesselY0Near32[] = {0x1.1480edf2c8772p-3, -0x1.bab6d2cdc552ep-7, 0x1.f2300c2db7adcp-12, -0x1.215458bdf170ap-17, 0x1.9bfb81433f8e7p-24, -0x1.8d5429579a553p-31, 0x1.14cacc61a005ap-38};
inline constexpr Polynomial kBesselY0Near = {3.125, kBesselY0Near64, kBesselY0Near32};

/// (Y1(x) - 2/pi log(x / z1) J1(x)) x / (x^2 - z1^2) in x^2, x <= 4.
/// f64: degree 11, error 2^-58.0.
/// f32: degree 8, error 2^-37.1.
inline constexpr double kBesselY1Near64[] = {0x1.7d2fc064fa737p-3, -0x1.92e600dff263ep-12, -0x1.5de3bfdf6b0b6p-11, 0x1.a1606356b98a6p-16, -0x1.c4e5b1e6c08b9p-22, 0x1.26874783e5cb8p-28, -0x1.02ee4bf426ffdp-35, 0x1.4a4ec0b07011fp-43, -0x1.40a352be81e91p-51, 0x1.ea6d35675c2f7p-60, -0x1.2fa1449a6c2b7p-68, 0x1.36604b6db7f0fp-77};
inline constexpr double kBesselY1Near32[] = {0x1.7d2fc064fa737p-3, -0x1.92e600f1334c6p-12, -0x1.5de3bfdf65b50p-11, 0x1.a16063903c3a2p-16, -0x1.c4e5b1efa5cb5p-22, 0x1.268713c24f393p-28, -0x1.02ee3bf123cc6p-35, 0x1.4ad8bfc5885acp-43, -0x1.40f8b819cd19cp-51};
inline constexpr Polynomial kBesselY1Near = {8.0, kBesselY1Near64, kBesselY1Near32};

/// Y0(x) / (x - z2), 2.5 <= x <= 5.5.
/// f64: degree 21, error 2^-56.1.
/// f32: degree 11, error 2^-31.7.
inline constexpr double kBesselY0Middle64[] = {-0x1.99e4979e09865p-2, 0x1.c8e28281e5a23p-5, 0x1.d81bdc6027bc1p-5, -0x1.d9148e1aae513p-8, -0x1.189ac769ec76ap-9, 0x1.b43d291312b4cp-13, 0x1.9ee31c4de7a1cp-15, -0x1.4f23df9342e39p-18, -0x1.427a4c95b034ep-22, -0x1.e79629861b807p-27, 0x1.296c04340a660p-26, -0x1.c47202101b0b2p-29, 0x1.7156936f84f83p-31, -0x1.637d5e4d1f8a0p-33, 0x1.4f6cd668283eep-35, -0x1.3b5542ab99cd6p-37, 0x1.4112bd73fbc3bp-39, -0x1.30a8cc29305eep-41, 0x1.4c7b2ec1e3161p-44, -0x1.3acbe4836ce82p-46, 0x1.03a303c151d19p-46, -0x1.f1eac7fde6707p-49};
inline constexpr double kBesselY0Middle32[] = {-0x1.99e4979f21b19p-2, 0x1.c8e28283fd2f0p-5, 0x1.d81bdd77d3e77p-5, -0x1.d91490314b575p-8, -0x1.189b2137c87c4p-9, 0x1.b43e807337545p-13, 0x1.9f0ce17e81276p-15, -0x1.4f73c01f4683ep-18, -0x1.53bd74d0e8089p-22, -0x1.6379d3f605a21p-27, 0x1.8e595fa29567fp-26, -0x1.42e3ab7bc5080p-28};
inline constexpr Polynomial kBesselY0Middle = {4.0, kBesselY0Middle64, kBesselY0Middle32};

/// Y0(x) / (x - z3), 5.5 <= x <= 8.
/// f64: degree 14, error 2^-56.5.
/// f32: degree 9, error 2^-31.1.
inline constexpr double kBesselY0Far64[] = {0x1.34eee4b2f27c7p-2, 0x1.858bb5a4fa6f9p-7, -0x1.986087c7fc3b0p-5, 0x1.1bae915954af0p-12, 0x1.31928eb784643p-9, -0x1.671ee28d05f8cp-15, -0x1.a6ce14e73a5fap-15, 0x1.1a6af664bcf08p-20, 0x1.596eaa08c60e2p-21, -0x1.df487ae2ffea1p-27, -0x1.6f5018ff6f232p-28, 0x1.d3fbdc060cb66p-34, 0x1.1fe8f1c0ea17fp-35, -0x1.9661b8383018fp-41, -0x1.1a2257f4e1e2bp-43};
inline constexpr double kBesselY0Far32[] = {0x1.34eee4b15101cp-2, 0x1.858bb5a6039e7p-7, -0x1.986086266ce6fp-5, 0x1.1bae8d345d88ap-12, 0x1.319208f6571d6p-9, -0x1.671e389a32deep-15, -0x1.a692067b46a38p-15, 0x1.1a44cc438ff39p-20, 0x1.4e654a83afa7ep-21, -0x1.d13f558e6046ep-27};
inline constexpr Polynomial kBesselY0Far = {6.75, kBesselY0Far64, kBesselY0Far32};

/// Y1(x) / (x - z2), 4 <= x <= 8.
/// f64: degree 21, error 2^-57.1.
/// f32: degree 11, error 2^-33.5.
inline constexpr double kBesselY1Far64[] = {-0x1.3a3a8cefc7efcp-2, 0x1.579152b20729fp-4, 0x1.4739eeba02f84p-5, -0x1.155cf697f3ad2p-7, -0x1.94a78f4d6f6acp-10, 0x1.266b1555b4109p-12, 0x1.005abac2c9de2p-15, -0x1.4c0230a68a180p-18, -0x1.72fed34aa8a3fp-22, 0x1.b0fa0ea54bea6p-25, 0x1.a8742ac415f67p-29, -0x1.d368c4f2da926p-32, -0x1.1243cf4bba904p-37, 0x1.55fc9dfa8f7e7p-41, 0x1.50238f0decb31p-42, -0x1.a3c3c0dcd4c00p-45, 0x1.d997e937e231cp-48, -0x1.418b041a9ca13p-50, 0x1.369145872be44p-53, -0x1.9f8dabce2bc52p-56, 0x1.67facc60c7d8ep-57, -0x1.e16f94eb9e737p-60};
inline constexpr double kBesselY1Far32[] = {-0x1.3a3a8cefa8fafp-2, 0x1.579152b20998cp-4, 0x1.4739eea87d7f5p-5, -0x1.155cf699404e4p-7, -0x1.94a788b5ccc9ep-10, 0x1.266b15ada51b9p-12, 0x1.0059cb7456976p-15, -0x1.4c0235e770fc8p-18, -0x1.72beb0a6fe71ap-22, 0x1.b0f3203938712p-25, 0x1.9fdae27035f7cp-29, -0x1.d0c548c660da6p-32};
inline constexpr Polynomial kBesselY1Far = {6.0, kBesselY1Far64, kBesselY1Far32};

/// P of Hankel's expansion of order 0, in (8 / x)^2, x >= 8.
/// f64: degree 12, error 2^-57.7.
/// f32: degree 4, error 2^-33.4.
inline constexpr double kHankelP064[] = {0x1.0000000000000p+0, -0x1.1ffffffffe5fbp-10, 0x1.cb5fffe8ced26p-16, -0x1.251ed77e459fdp-19, 0x1.84b6e1ac85bdep-22, -0x1.b75a457f865c8p-24, 0x1.74be8a2fde700p-25, -0x1.9f8175e09f1e0p-26, 0x1.fe16d5457b051p-27, -0x1.1d9db2333be9ep-27, 0x1.ed51b593c205cp-29, -0x1.13ad48ecc8f38p-30, 0x1.22b44c20d0316p-33};
inline constexpr double kHankelP032[] = {0x1.ffffffff3a3a3p-1, -0x1.1fffb23cdcaf9p-10, 0x1.cabf17556c50bp-16, -0x1.15ecac1da9784p-19, 0x1.becedc12fcb23p-23};
inline constexpr Polynomial kHankelP0 = {0.0, kHankelP064, kHankelP032};

/// x Q of Hankel's expansion of order 0, in (8 / x)^2, x >= 8.
/// f64: degree 14, error 2^-56.1.
/// f32: degree 5, error 2^-31.9.
inline constexpr double kHankelQ064[] = {-0x1.0000000000000p-3, 0x1.2bffffffff27ep-10, -0x1.d11dfff7faba2p-15, 0x1.ba4c51de0da16p-18, -0x1.8614b6da853a9p-20, 0x1.1384537196f42p-21, -0x1.1b3f9c38ff0a0p-22, 0x1.832c520d332cep-23, -0x1.376fc56197233p-23, 0x1.fcd748439201ep-24, -0x1.709cd627539fep-24, 0x1.a8447c656119ap-25, -0x1.5e3dbd9d23c93p-26, 0x1.69e637704b723p-28, -0x1.5c372909e604fp-31};
inline constexpr double kHankelQ032[] = {-0x1.fffffffddd481p-4, 0x1.2bffd94ac3256p-10, -0x1.d0e3845a0d5d3p-15, 0x1.b1e61e41ac9c5p-18, -0x1.3b0e2404d99fep-20, 0x1.708fc6020e10dp-23};
inline constexpr Polynomial kHankelQ0 = {0.0, kHankelQ064, kHankelQ032};

/// P of Hankel's expansion of order 1, in (8 / x)^2, x >= 8.
/// f64: degree 12, error 2^-57.6.
/// f32: degree 4, error 2^-33.2.
inline constexpr double kHankelP164[] = {0x1.0000000000000p+0, 0x1.dffffffffe47ep-10, -0x1.274ffff3bd687p-15, 0x1.5a6a468cdbcffp-19, -0x1.b88b7980b86cfp-22, 0x1.e5a2972c2dbc8p-24, -0x1.955f98cefc9bcp-25, 0x1.bf32407aeede0p-26, -0x1.10cee152b48afp-26, 0x1.3074e873ea25dp-27, -0x1.066be6e626b36p-28, 0x1.24f56427a91cbp-30, -0x1.34b5237c76148p-33};
inline constexpr double kHankelP132[] = {0x1.000000006ea36p+0, 0x1.dfffa901941ccp-10, -0x1.26f60bef87635p-15, 0x1.49726e822c881p-19, -0x1.007c941c9f094p-22};
inline constexpr Polynomial kHankelP1 = {0.0, kHankelP164, kHankelP132};

/// x Q of Hankel's expansion of order 1, in (8 / x)^2, x >= 8.
/// f64: degree 14, error 2^-57.6.
/// f32: degree 5, error 2^-33.4.
inline constexpr double kHankelQ164[] = {0x1.8000000000000p-2, -0x1.a3ffffffff1cfp-10, 0x1.1c3cfffbc985fp-14, -0x1.fe58107b95b99p-18, 0x1.b3f929ffd8b99p-20, -0x1.2dc37079e94f3p-21, 0x1.31f84ad89d327p-22, -0x1.9e42b106ecc89p-23, 0x1.4b2b7eb44802bp-23, -0x1.0d897bd70aca6p-23, 0x1.85ab5738d4d11p-24, -0x1.bfed60d93d342p-25, 0x1.717a40b175561p-26, -0x1.7d9393a6e4800p-28, 0x1.6f044f2b7f8d2p-31};
inline constexpr double kHankelQ132[] = {0x1.7fffffff6a713p-2, -0x1.a3ffd5a5eb3fbp-10, 0x1.1c1d04a1fa8c8p-14, -0x1.f52a416eda32cp-18, 0x1.621cea7b8f85bp-20, -0x1.99587861b8c73p-23};
inline constexpr Polynomial kHankelQ1 = {0.0, kHankelQ164, kHankelQ132};

/// (log(1 + f) - f) / f^2, sqrt(1/2) <= 1 + f <= sqrt(2).
/// f32: degree 8, error 2^-27.8.
inline constexpr double kSingleLogSeries[] = {-0x1.fffff80000000p-2, 0x1.5555500000000p-2, -0x1.0004300000000p-2, 0x1.99a3da0000000p-3, -0x1.5425f40000000p-3, 0x1.2274f40000000p-3, -0x1.0f46400000000p-3, 0x1.0830e80000000p-3, -0x1.37a7480000000p-4};
inline constexpr SinglePolynomial kSingleLog = {0.0, kSingleLogSeries};

/// lgamma(2 + y) / (y (1 + y)), -1 <= y <= 1.
/// f32: degree 10, error 2^-23.4.
inline constexpr double kSingleLogGammaSeries[] = {0x1.b0ee600000000p-2, -0x1.9ae6b60000000p-4, 0x1.0e0ddc0000000p-5, -0x1.958fa20000000p-7, 0x1.47231a0000000p-8, -0x1.1998b40000000p-9, 0x1.eeea2e0000000p-11, -0x1.4edac20000000p-12, 0x1.12966c0000000p-13, -0x1.4d13720000000p-13, 0x1.47743e0000000p-14};
inline constexpr SinglePolynomial kSingleLogGamma = {0.0, kSingleLogGammaSeries};

/// x (lgamma(x) - (x - 1/2) log(x) + x - log(2 pi) / 2) in 1 / x^2, x >= 3.
/// f32: degree 2, error 2^-22.0.
inline constexpr double kSingleLogStirlingSeries[] = {0x1.5555500000000p-4, -0x1.6ba7340000000p-9, 0x1.73d2620000000p-11};
inline constexpr SinglePolynomial kSingleLogStirling = {0.0, kSingleLogStirlingSeries};

/// 1 / gamma(2 + y), -1 <= y <= 1.
/// f32: degree 10, error 2^-27.5.
inline constexpr double kSingleReciprocalGammaSeries[] = {0x1.0000000000000p+0, -0x1.b0ee640000000p-2, -0x1.dd603c0000000p-3, 0x1.875b420000000p-3, -0x1.9246a40000000p-6, -0x1.212d180000000p-6, 0x1.06fbbe0000000p-7, -0x1.a0a2820000000p-11, -0x1.7f44e60000000p-12, 0x1.1f2d760000000p-13, -0x1.c22d8a0000000p-17};
inline constexpr SinglePolynomial kSingleReciprocalGamma = {0.0, kSingleReciprocalGammaSeries};

/// x (gamma(x) / (x^(x - 1/2) exp(-x)) - sqrt(2 pi)) in 1 / x, x >= 3; the error is that of gamma.
/// f32: degree 3, error 2^-27.6.
inline constexpr double kSingleStirlingSeries[] = {0x1.abcb9a0000000p-3, 0x1.1e74520000000p-7, -0x1.d07f6a0000000p-8, 0x1.b72e220000000p-11};
inline constexpr SinglePolynomial kSingleStirling = {0.0, kSingleStirlingSeries};

/// (log2((1 + s) / (1 - s)) - 2 s / log(2)) / s^3 in s^2, (1 + s) / (1 - s) <= sqrt(2).
/// f32: degree 3, error 2^-27.0.
inline constexpr double kSingleLog2TailSeries[] = {0x1.ec709e0000000p-1, 0x1.27766a0000000p-1, 0x1.a62c1e0000000p-2, 0x1.504d960000000p-2};
inline constexpr SinglePolynomial kSingleLog2Tail = {0.0, kSingleLog2TailSeries};

/// (2^r - 1) / r, |r| <= 1/2; the error is that of 2^r.
/// f32: degree 5, error 2^-28.3.
inline constexpr double kSingleExp2Series[] = {0x1.62e4300000000p-1, 0x1.ebfbdc0000000p-3, 0x1.c6af7a0000000p-5, 0x1.3b2dd20000000p-7, 0x1.5f09480000000p-10, 0x1.417a700000000p-13};
inline constexpr SinglePolynomial kSingleExp2 = {0.0, kSingleExp2Series};

/// (sin(pi r) / (pi r) - 1) / r^2 in r^2, |r| <= 1/2; the error is that of the sine.
/// f32: degree 3, error 2^-27.2.
inline constexpr double kSingleSinePiSeries[] = {-0x1.a51a5a0000000p+0, 0x1.9f993a0000000p-1, -0x1.8607800000000p-3, 0x1.94fb880000000p-6};
inline constexpr SinglePolynomial kSingleSinePi = {0.0, kSingleSinePiSeries};

/// (sin(pi r) / r - pi) / r^2 in r^2, |r| <= 1/4; the error is that of the sine.
/// f32: degree 2, error 2^-27.9.
inline constexpr double kSingleSineOfTurnsSeries[] = {-0x1.4abbbe0000000p+2, 0x1.465fac0000000p+1, -0x1.2db5c20000000p-1};
inline constexpr SinglePolynomial kSingleSineOfTurns = {0.0, kSingleSineOfTurnsSeries};

/// (cos(pi r) - 1) / r^2 in r^2, |r| <= 1/4; the error is that of the cosine.
/// f32: degree 3, error 2^-31.1.
inline constexpr double kSingleCosineOfTurnsSeries[] = {-0x1.3bd3cc0000000p+2, 0x1.03c1b00000000p+2, -0x1.55b29a0000000p+0, 0x1.d4e4200000000p-3};
inline constexpr SinglePolynomial kSingleCosineOfTurns = {0.0, kSingleCosineOfTurnsSeries};

/// erfinv(x) / x - 1, w = -log(1 - x^2), in w <= 5.75.
/// f32: degree 9, error 2^-24.9.
inline constexpr double kSingleErfInverse1Series[] = {-0x1.d203be0000000p-4, 0x1.db2a7c0000000p-3, 0x1.7a45aa0000000p-7, -0x1.309e160000000p-9, -0x1.2268860000000p-13, 0x1.acc1840000000p-15, 0x1.cc65b60000000p-20, -0x1.9884ca0000000p-20, 0x1.71c3b20000000p-23, -0x1.c6910c0000000p-28};
inline constexpr SinglePolynomial kSingleErfInverse1 = {0.0, kSingleErfInverse1Series};

/// erfinv(x) / x - 1, w = -log(1 - x^2), in sqrt(w), 2.4 to 4.
/// f32: degree 8, error 2^-25.5.
inline constexpr double kSingleErfInverse2Series[] = {0x1.d53df80000000p+0, 0x1.006dcc0000000p+0, 0x1.3568a40000000p-7, -0x1.f510940000000p-8, 0x1.7727f60000000p-8, -0x1.d327a80000000p-9, 0x1.5cb8e20000000p-10, -0x1.a998340000000p-15, -0x1.b8c3140000000p-14};
inline constexpr SinglePolynomial kSingleErfInverse2 = {3.0, kSingleErfInverse2Series};

/// erfinv(x) / x - 1, w = -log(1 - x^2), in sqrt(w), 4.0 to 10.25.
/// f32: degree 9, error 2^-25.5.
inline constexpr double kSingleErfInverse3Series[] = {0x1.779e040000000p+2, 0x1.0233520000000p+0, -0x1.0cb3ac0000000p-11, 0x1.acf11a0000000p-18, 0x1.99a2140000000p-18, -0x1.c20e4e0000000p-20, 0x1.28aefa0000000p-22, -0x1.69539e0000000p-25, 0x1.eadb600000000p-27, -0x1.4915980000000p-29};
inline constexpr SinglePolynomial kSingleErfInverse3 = {7.0, kSingleErfInverse3Series};

/// (x + 2) exp(x^2) erfc(x) in (x - 2) / (x + 2), x >= 0.
/// f32: degree 10, error 2^-25.8.
inline constexpr double kSingleErfcxSeries[] = {0x1.0586720000000p+0, -0x1.5fd3860000000p-1, 0x1.1e2dba0000000p-2, -0x1.2a8a840000000p-5, -0x1.604c0e0000000p-6, 0x1.a90eac0000000p-8, 0x1.90acf20000000p-9, -0x1.c2ed000000000p-11, -0x1.3952940000000p-11, 0x1.30d2420000000p-14, 0x1.603de20000000p-14};
inline constexpr SinglePolynomial kSingleErfcx = {0.0, kSingleErfcxSeries};

/// (sin(r) / r - 1) / r^2 in r^2, |r| <= pi/4; the error is that of the sine.
/// f32: degree 2, error 2^-27.9.
inline constexpr double kSingleSineSeries[] = {-0x1.5555460000000p-3, 0x1.1107780000000p-7, -0x1.9954080000000p-13};
inline constexpr SinglePolynomial kSingleSine = {0.0, kSingleSineSeries};

/// (cos(r) - 1) / r^2 in r^2, |r| <= pi/4; the error is that of the cosine.
/// f32: degree 3, error 2^-33.0.
inline constexpr double kSingleCosineSeries[] = {-0x1.0000000000000p-1, 0x1.55554a0000000p-5, -0x1.6c0c2a0000000p-10, 0x1.99e9140000000p-16};
inline constexpr SinglePolynomial kSingleCosine = {0.0, kSingleCosineSeries};

/// J0(x) / ((x^2 - z1^2) (x^2 - z2^2)) in x^2, x <= 8.
/// f32: degree 8, error 2^-25.1.
inline constexpr double kSingleJ0Series[] = {0x1.70d7800000000p-14, -0x1.86c88c0000000p-17, 0x1.a200200000000p-22, -0x1.ae432c0000000p-28, 0x1.0ac5e00000000p-34, -0x1.b889c60000000p-42, 0x1.1efa640000000p-49, -0x1.601c1e0000000p-58, 0x1.4c90020000000p-65};
inline constexpr SinglePolynomial kSingleJ0 = {64.0, kSingleJ0Series};

/// J0(x) in x^2, x <= 2.5; the error is absolute.
/// f32: degree 5, error 2^-26.0.
inline constexpr double kSingleJ0ShortSeries[] = {0x1.0000000000000p+0, -0x1.fffff20000000p-3, 0x1.fffe080000000p-7, -0x1.c6ee360000000p-12, 0x1.c362e40000000p-18, -0x1.fffa060000000p-25};
inline constexpr SinglePolynomial kSingleJ0Short = {0.0, kSingleJ0ShortSeries};

/// What kBesselY0Near is, x <= 2.5.
/// f32: degree 5, error 2^-25.5.
inline constexpr double kSingleY0NearSeries[] = {0x1.7508120000000p-3, -0x1.12585c0000000p-6, 0x1.268ea80000000p-11, -0x1.4c6a0e0000000p-17, 0x1.d6f8220000000p-24, -0x1.ddfdd20000000p-31};
inline constexpr SinglePolynomial kSingleY0Near = {0.0, kSingleY0NearSeries};

/// Y0(x) / ((x - z2) (x - z3)), 2.5 <= x <= 8.
/// f32: degree 10, error 2^-24.5.
inline constexpr double kSingleY0FarSeries[] = {0x1.22977c0000000p-3, -0x1.bfc2ae0000000p-14, -0x1.978caa0000000p-7, 0x1.d4cbe60000000p-13, 0x1.86ad640000000p-12, -0x1.7d07760000000p-18, -0x1.a639960000000p-18, 0x1.0341e80000000p-23, 0x1.e6bf3c0000000p-25, 0x1.2264d60000000p-30, -0x1.55162a0000000p-31};
inline constexpr SinglePolynomial kSingleY0Far = {5.0, kSingleY0FarSeries};

/// Modulus of J0 + i Y0 times sqrt(pi x / 2), in (8 / x)^2, x >= 8.
/// f32: degree 3, error 2^-29.0.
inline constexpr double kSingleModulus0Series[] = {0x1.0000000000000p+0, -0x1.fffaba0000000p-11, 0x1.a3be1a0000000p-16, -0x1.a873400000000p-20};
inline constexpr SinglePolynomial kSingleModulus0 = {0.0, kSingleModulus0Series};

/// x (phase of J0 + i Y0, less x - pi/4), in (8 / x)^2, x >= 8; the error is absolute, of the phase.
/// f32: degree 2, error 2^-26.9.
inline constexpr double kSinglePhase0Series[] = {-0x1.ffff820000000p-4, 0x1.09a18a0000000p-10, -0x1.6500920000000p-15};
inline constexpr SinglePolynomial kSinglePhase0 = {0.0, kSinglePhase0Series};

/// I0(x) in x^2 / 4, x <= 8.
/// f32: degree 10, error 2^-30.9.
inline constexpr double kSingleI0Series[] = {0x1.0000000000000p+0, 0x1.0000000000000p+0, 0x1.0000000000000p-2, 0x1.c71c6a0000000p-6, 0x1.c71d320000000p-10, 0x1.233e500000000p-14, 0x1.032ce00000000p-19, 0x1.4f389a0000000p-25, 0x1.6540fe0000000p-31, 0x1.8789160000000p-38, 0x1.354e720000000p-43};
inline constexpr SinglePolynomial kSingleI0 = {0.0, kSingleI0Series};

/// sqrt(x) exp(-x) I0(x) in 1 / x, x >= 8.
/// f32: degree 5, error 2^-25.1.
inline constexpr double kSingleI0LargeSeries[] = {0x1.9884540000000p-2, 0x1.987d380000000p-5, 0x1.ce18ee0000000p-6, 0x1.bfd4420000000p-6, 0x1.5d5aa20000000p-5, 0x1.b461620000000p-3};
inline constexpr SinglePolynomial kSingleI0Large = {0.0, kSingleI0LargeSeries};

/// J1(x) / (x (x^2 - z1^2) (x^2 - z2^2)) in x^2, x <= 8.
/// f32: degree 8, error 2^-27.3.
inline constexpr double kSingleJ1Series[] = {0x1.517f300000000p-15, -0x1.3848be0000000p-19, 0x1.bdc3440000000p-25, -0x1.5dc41a0000000p-31, 0x1.606fa60000000p-38, -0x1.f18f000000000p-46, 0x1.0c39060000000p-53, -0x1.6884640000000p-62, 0x1.c613b40000000p-70};
inline constexpr SinglePolynomial kSingleJ1 = {64.0, kSingleJ1Series};

/// J1(x) / x in x^2, x <= 3; the error is absolute.
/// f32: degree 5, error 2^-26.7.
inline constexpr double kSingleJ1ShortSeries[] = {0x1.0000000000000p-1, -0x1.ffffe80000000p-5, 0x1.5552fc0000000p-9, -0x1.c6cf9a0000000p-15, 0x1.67c5de0000000p-21, -0x1.4b386c0000000p-28};
inline constexpr SinglePolynomial kSingleJ1Short = {0.0, kSingleJ1ShortSeries};

/// What kBesselY1Near is, x <= 3.
/// f32: degree 6, error 2^-24.5.
inline constexpr double kSingleY1NearSeries[] = {0x1.0e14be0000000p-3, 0x1.0699540000000p-6, -0x1.7c30b20000000p-10, 0x1.5be1280000000p-15, -0x1.5277980000000p-21, 0x1.beaa6a0000000p-28, -0x1.fa57100000000p-35};
inline constexpr SinglePolynomial kSingleY1Near = {0.0, kSingleY1NearSeries};

/// Y1(x) / ((x - z2) (x - z3)), 3 <= x <= 8.
/// f32: degree 10, error 2^-26.4.
inline constexpr double kSingleY1FarSeries[] = {0x1.87f86e0000000p-4, 0x1.f3f9c40000000p-6, -0x1.a8b1a00000000p-8, -0x1.c6ab480000000p-10, 0x1.6480e40000000p-13, 0x1.6203880000000p-15, -0x1.7224a40000000p-19, -0x1.1adc700000000p-21, 0x1.4502f80000000p-26, 0x1.c184b80000000p-28, -0x1.0d92b40000000p-31};
inline constexpr SinglePolynomial kSingleY1Far = {5.0, kSingleY1FarSeries};

/// Modulus of J1 + i Y1 times sqrt(pi x / 2), in (8 / x)^2, x >= 8.
/// f32: degree 3, error 2^-28.6.
inline constexpr double kSingleModulus1Series[] = {0x1.0000000000000p+0, 0x1.7ffe360000000p-9, -0x1.891e120000000p-15, 0x1.43d9140000000p-19};
inline constexpr SinglePolynomial kSingleModulus1 = {0.0, kSingleModulus1Series};

/// x (phase of J1 + i Y1, less x - 3 pi/4), in (8 / x)^2, x >= 8; the error is absolute, of the phase.
/// f32: degree 2, error 2^-26.2.
inline constexpr double kSinglePhase1Series[] = {0x1.7fffd00000000p-2, -0x1.4f38ba0000000p-9, 0x1.4641b20000000p-14};
inline constexpr SinglePolynomial kSinglePhase1 = {0.0, kSinglePhase1Series};

/// I1(x) / x in x^2 / 4, x <= 8.
/// f32: degree 10, error 2^-32.4.
inline constexpr double kSingleI1Series[] = {0x1.0000000000000p-1, 0x1.0000000000000p-2, 0x1.5555560000000p-5, 0x1.c71c5a0000000p-9, 0x1.6c17f40000000p-13, 0x1.844d200000000p-18, 0x1.2855aa0000000p-23, 0x1.4e4b5a0000000p-29, 0x1.4153ce0000000p-35, 0x1.2898ec0000000p-42, 0x1.d13e420000000p-48};
inline constexpr SinglePolynomial kSingleI1 = {0.0, kSingleI1Series};

/// sqrt(x) exp(-x) I1(x) in 1 / x, x >= 8.
/// f32: degree 5, error 2^-25.1.
inline constexpr double kSingleI1LargeSeries[] = {0x1.9884540000000p-2, -0x1.3265c00000000p-3, -0x1.7c383a0000000p-5, -0x1.9732960000000p-5, 0x1.56acae0000000p-5, -0x1.1c01480000000p-1};
inline constexpr SinglePolynomial kSingleI1Large = {0.0, kSingleI1LargeSeries};

} // namespace sectile::lang::coefficients
