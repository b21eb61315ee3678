//===-- SpecialCoefficients.h - polynomials of the special functions ----------------------------------===//
// Made by coefficients/derive.py, lowest degree first. `error`: relative to the function that is named.
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
/// f32: degree 3, error 2^-37.7.
inline constexpr double kLogStirling64[] = {0x1.5555555555555p-4, -0x1.6c16c16c149f4p-9, 0x1.a01a017dcf9e1p-11, -0x1.38134d4f8896fp-11, 0x1.b92c33f9445e5p-11, -0x1.ef8d748aeb0f2p-10, 0x1.4bffc9d8b455bp-8};
inline constexpr double kLogStirling32[] = {0x1.555555554ee56p-4, -0x1.6c16bafa5f149p-9, 0x1.9ff998fa2738dp-11, -0x1.2aebd65128751p-11};
inline constexpr Polynomial kLogStirling = {0.0, kLogStirling64, kLogStirling32};

/// lgamma(1 + y) / y, -1/4 <= y <= 1/2.
/// f64: degree 21, error 2^-57.9.
/// f32: degree 11, error 2^-31.6.
inline constexpr double kLogGamma164[] = {-0x1.2788cfc6fb619p-1, 0x1.a51a6625307d2p-1, -0x1.9a4d55beab2c4p-2, 0x1.151322ac7db9cp-2, -0x1.a8b9c17aa9c64p-3, 0x1.5b40cb0fc39f4p-3, -0x1.2703a1da97545p-3, 0x1.010b36c410c2bp-3, -0x1.c80671e55b5c6p-4, 0x1.9a01de862d236p-4, -0x1.748bf24c17204p-4, 0x1.556aec4fa64abp-4, -0x1.3b23b37421646p-4, 0x1.24a144f64297ap-4, -0x1.10cb30e11664ep-4, 0x1.fde3fbc39bbe0p-5, -0x1.e32532015052ap-5, 0x1.da5587f945840p-5, -0x1.ceff20fd48b23p-5, 0x1.7eaacf80ba41bp-5, -0x1.a9c46e157cb82p-6, 0x1.c01a68a3fec1bp-8};
inline constexpr double kLogGamma132[] = {-0x1.2788cfc785122p-1, 0x1.a51a660ce0643p-1, -0x1.9a4d530d4917ep-2, 0x1.1513429f3e118p-2, -0x1.a8bc2888ca363p-3, 0x1.5b37871813874p-3, -0x1.269fb5f3cde97p-3, 0x1.012399b3cd8dcp-3, -0x1.d4b17e7032a86p-4, 0x1.b0e9cfb73d4efp-4, -0x1.43f550be18b67p-4, 0x1.f2f17b7cdcf19p-6};
inline constexpr Polynomial kLogGamma1 = {0.0, kLogGamma164, kLogGamma132};

/// lgamma(2 + y) / y, |y| <= 1/2.
/// f64: degree 19, error 2^-61.5.
/// f32: degree 11, error 2^-37.0.
inline constexpr double kLogGamma264[] = {0x1.b0ee6072093cep-2, 0x1.4a34cc4a60fa6p-2, -0x1.13e001a55760ap-4, 0x1.51322ac7d848ap-6, -0x1.e404fc218dbaep-8, 0x1.7add6eadb5317p-9, -0x1.38ac5c2d48207p-10, 0x1.0b36af8779ca0p-11, -0x1.d3fd4b679c1c4p-13, 0x1.a127afee53e7dp-14, -0x1.78de9ab752b81p-15, 0x1.580e0afa55850p-16, -0x1.3cb3be36ad88bp-17, 0x1.258f3057730fap-18, -0x1.1276ebd557fb0p-19, 0x1.012012be3900ap-20, -0x1.ce17528bcf460p-22, 0x1.b40adb09a1e12p-23, -0x1.2009c1a550d0dp-23, 0x1.11fa5e7c86f7bp-24};
inline constexpr double kLogGamma232[] = {0x1.b0ee60720f144p-2, 0x1.4a34cc4a5e442p-2, -0x1.13e001bf9b68ap-4, 0x1.51322af89f70dp-6, -0x1.e404afd21cd14p-8, 0x1.7add27d2db2a1p-9, -0x1.38c08bc30f720p-10, 0x1.0b496d499e088p-11, -0x1.cf3295be08744p-13, 0x1.9cb4f2ee64828p-14, -0x1.bacfb050da62fp-15, 0x1.953f327c6696cp-16};
inline constexpr Polynomial kLogGamma2 = {0.0, kLogGamma264, kLogGamma232};

/// lgamma(x), 2.5 <= x <= 4.5.
/// f64: degree 19, error 2^-56.7.
/// f32: degree 11, error 2^-33.7.
inline constexpr double kLogGamma364[] = {0x1.3373018970a36p+0, 0x1.1a68793defc15p+0, 0x1.52494db9b8c99p-3, -0x1.27781d4bb0957p-6, 0x1.7ff6b372e8ba1p-9, -0x1.29143cf14c351p-11, 0x1.fb1924f084b35p-14, -0x1.cc9177432c173p-16, 0x1.b4719de22b5d4p-18, -0x1.aa5f5bb3706a9p-20, 0x1.aa173a6b59c71p-22, -0x1.b144b619e0c7ep-24, 0x1.be76ac08bce89p-26, -0x1.d13fa0ae0aee0p-28, 0x1.ec781c5bcb60ap-30, -0x1.04d4778ca733cp-31, 0x1.feb0a04521f18p-34, -0x1.1125370c035b6p-35, 0x1.cff52c31f30fbp-37, -0x1.f63fc462c13d1p-39};
inline constexpr double kLogGamma332[] = {0x1.337301895f63cp+0, 0x1.1a68793df443ap+0, 0x1.52494de07e593p-3, -0x1.27781d9cc5b60p-6, 0x1.7ff642eca020ap-9, -0x1.2913c74a97e82p-11, 0x1.fb548b5eb517ap-14, -0x1.cccf8ffc32ca0p-16, 0x1.ad6c44dd89e7dp-18, -0x1.a308fd6dfbda6p-20, 0x1.04ec0a85dff94p-21, -0x1.0aa2e04912014p-23};
inline constexpr Polynomial kLogGamma3 = {3.5, kLogGamma364, kLogGamma332};

/// lgamma(x), 4.5 <= x <= 8.
/// f64: degree 18, error 2^-57.4.
/// f32: degree 10, error 2^-34.0.
inline constexpr double kLogGamma664[] = {0x1.4e0dfde18c6e8p+2, 0x1.c01db8eb222d4p+0, 0x1.634914879f474p-4, -0x1.47e8aab793da4p-8, 0x1.c4dcc5ccbfac6p-12, -0x1.765d8c81ea48dp-15, 0x1.570f189cd386fp-18, -0x1.500ec3e6e560ap-21, 0x1.58e3f468e1976p-24, -0x1.6e4575beddc05p-27, 0x1.8f3f67bcd5ed4p-30, -0x1.bc18bf8cb1252p-33, 0x1.f637c68f65406p-36, -0x1.210aa5edd1e8ep-38, 0x1.4f01bc057e5cbp-41, -0x1.6ff8ee5e9bf03p-44, 0x1.b124c4d906b8dp-47, -0x1.7da1cb6c7cc51p-49, 0x1.c8f57b4f69470p-52};
inline constexpr double kLogGamma632[] = {0x1.4e0dfde18c6e8p+2, 0x1.c01db8e82423dp+0, 0x1.6349148e6b5d9p-4, -0x1.47e8973c8719ap-8, 0x1.c4dc998d464e8p-12, -0x1.766f377e55746p-15, 0x1.57232856f530ep-18, -0x1.4cd06777b9040p-21, 0x1.553576fa335bap-24, -0x1.afb49eb1c6ddap-27, 0x1.d9748a01638f3p-30};
inline constexpr Polynomial kLogGamma6 = {6.25, kLogGamma664, kLogGamma632};

/// erfinv(x) / x, w = -log(1 - x^2), in w <= 6.25.
/// f64: degree 24, error 2^-56.9.
/// f32: degree 13, error 2^-32.1.
inline constexpr double kErfInverse164[] = {0x1.a755e7c99ae86p+0, 0x1.ebd80d9b13dfap-3, -0x1.8b6c33114ea2fp-8, -0x1.84576948359ddp-11, 0x1.879c2a20aeb2ep-13, -0x1.d1d1f7c9ffa6dp-17, -0x1.6e8a53c7ac2ffp-20, 0x1.c6b4f8868f532p-22, -0x1.f36ceed4416aep-26, -0x1.1a9eb00326b9bp-28, 0x1.20f544d62fff1p-30, -0x1.dc3f457145cd3p-35, -0x1.c8a6afa1550f4p-37, 0x1.7236b79e1d57ep-39, -0x1.6b86f85109f07p-44, -0x1.6877e8ae70f27p-45, 0x1.d5e95ecc5f898p-48, -0x1.6b6b0fc6a580fp-55, -0x1.19ac650194dcap-53, 0x1.1e1f9ee618b29p-56, 0x1.669b9213d3cdfp-61, -0x1.9a137911c05cfp-62, 0x1.79a647e43b44ep-66, 0x1.e2aa7ddd776b6p-69, -0x1.b2643e45e1856p-72};
inline constexpr double kErfInverse132[] = {0x1.a755e7c9e4f12p+0, 0x1.ebd80d99dfd30p-3, -0x1.8b6c35f4e6dc2p-8, -0x1.84575d3250309p-11, 0x1.879cbe105bcd2p-13, -0x1.d1d6f068cc954p-17, -0x1.6eb58eebaf8d8p-20, 0x1.c71783a4fe241p-22, -0x1.f090161784bb3p-26, -0x1.21ed784b04103p-28, 0x1.1b7ccfda548f9p-30, -0x1.4c863698a0b60p-35, -0x1.b42bae93247f9p-37, 0x1.8000901a2e569p-40};
inline constexpr Polynomial kErfInverse1 = {3.125, kErfInverse164, kErfInverse132};

/// erfinv(x) / x, w = -log(1 - x^2), in sqrt(w), 2.5 to 4.
/// f64: degree 20, error 2^-59.6.
/// f32: degree 10, error 2^-33.3.
inline constexpr double kErfInverse264[] = {0x1.8abcc380d5a48p+1, 0x1.0158a6d641d55p+0, 0x1.5ffcfe5b6cd38p-8, -0x1.ebadabba02be5p-9, 0x1.468eeca944c44p-9, -0x1.ba9240d8768c3p-10, 0x1.f3cc545d9ca81p-11, -0x1.7448bcc8e9aa7p-12, 0x1.932e8fd4360edp-16, 0x1.1e6abbe66ca02p-14, -0x1.8cf463501e9a0p-15, 0x1.a241c6f237f34p-17, 0x1.899aa0e374402p-19, -0x1.0b79e820e8497p-18, 0x1.8db69feb41fb6p-20, -0x1.da75906425fdap-26, -0x1.079a074d69940p-22, 0x1.1a9484c4d3628p-23, -0x1.674f1725daa65p-26, -0x1.06f1da245bfd3p-26, 0x1.07e3c2020286fp-27};
inline constexpr double kErfInverse232[] = {0x1.8abcc380d5a48p+1, 0x1.0158a6e6e6166p+0, 0x1.5ffd0ae9289a5p-8, -0x1.ebb25f1ea0a3ep-9, 0x1.468b7590fa711p-9, -0x1.ba30a6ecc944fp-10, 0x1.f4540e9345fdcp-11, -0x1.7afec57f41b35p-12, 0x1.509ef6aa4b1b0p-16, 0x1.5623ed34b0284p-14, -0x1.569cb86feae0ep-15};
inline constexpr Polynomial kErfInverse2 = {3.25, kErfInverse264, kErfInverse232};

/// erfinv(x) / x, w = -log(1 - x^2), in sqrt(w), 4 to 6.1.
/// f64: degree 19, error 2^-59.8.
/// f32: degree 8, error 2^-31.8.
inline constexpr double kErfInverse364[] = {0x1.3664ddd1ad7fbp+2, 0x1.02a30d1fba10bp+0, -0x1.22ea5df1cc9c4p-13, -0x1.c2f36aa17712fp-13, 0x1.3ebf4efb41405p-14, -0x1.4a349034ee281p-16, 0x1.2fbcfd6d3a07ep-18, -0x1.0a903b291e5ccp-20, 0x1.ebe32e01b51e0p-23, -0x1.22365bfec563dp-24, 0x1.f287e2e4c7c33p-26, -0x1.0579155654168p-26, 0x1.0cc365e09cc20p-27, -0x1.e4761087eb669p-29, 0x1.699080fbc38a4p-30, -0x1.abd2c01830e36p-32, 0x1.337cc90f91bdbp-34, 0x1.4b5efb75f7d1ap-36, -0x1.68184d5c94400p-36, 0x1.61eac4086d30cp-38};
inline constexpr double kErfInverse332[] = {0x1.3664ddd169e64p+2, 0x1.02a30d340506dp+0, -0x1.22e6ad77d2d93p-13, -0x1.c31341257a997p-13, 0x1.3ea6c8c1bdad0p-14, -0x1.46e83bceda9fcp-16, 0x1.2f86287b284f7p-18, -0x1.47d8c0c4a10c3p-20, 0x1.331417eaa8aa0p-22};
inline constexpr Polynomial kErfInverse3 = {5.0, kErfInverse364, kErfInverse332};

/// erfinv(x) / x, w = -log(1 - x^2), in sqrt(w), 6.1 to 12.1.
/// f64: degree 19, error 2^-57.0.
/// f32: degree 9, error 2^-31.3.
inline constexpr double kErfInverse464[] = {0x1.1c4bf1ab3c8b6p+3, 0x1.01b8e2742818cp+0, -0x1.accd56c8eaa2bp-12, 0x1.58dc927c02726p-16, -0x1.fc7f5894172bdp-23, -0x1.461c7ab46ee66p-23, 0x1.1a167f292b016p-25, -0x1.5e5f534495e1dp-28, 0x1.7fef62516ca4dp-31, -0x1.89998c3d078c2p-34, 0x1.82f5240edc30dp-37, -0x1.714cb523456fap-40, 0x1.584d2298c4522p-43, -0x1.3cbda2a2745f8p-46, 0x1.23131d9ff21efp-49, -0x1.f9362b52d47a3p-53, 0x1.7f10aafe72191p-56, -0x1.82a700ad892c3p-59, 0x1.13285495c4a6dp-61, -0x1.801e801993953p-65};
inline constexpr double kErfInverse432[] = {0x1.1c4bf1ac0592ep+3, 0x1.01b8e27aaba7ap+0, -0x1.accf92cf3f427p-12, 0x1.58d3ddc48b58dp-16, -0x1.ec52f9531125fp-23, -0x1.44fe5d28d5e91p-23, 0x1.05d649024a95fp-25, -0x1.5bb797117710cp-28, 0x1.103e1617021f1p-30, -0x1.e6a4fa9f94dbep-34};
inline constexpr Polynomial kErfInverse4 = {9.0, kErfInverse464, kErfInverse432};

/// erfinv(x) / x, w = -log(1 - x^2), in sqrt(w), 12 to 27.4.
/// f64: degree 21, error 2^-58.1.
/// f32: degree 8, error 2^-31.8.
inline constexpr double kErfInverse564[] = {0x1.3ed950ca8ee88p+4, 0x1.009a19588301dp+0, -0x1.6ae5d7524f16ep-14, 0x1.ba197e5705badp-19, -0x1.0ebbae94bbe59p-23, 0x1.47334addf2e4ep-28, -0x1.7e803c0c47013p-33, 0x1.a3111f2d398ebp-38, -0x1.9140d074aa849p-43, 0x1.04aee145ecb1cp-48, 0x1.01050c8c5973cp-54, -0x1.efc5b87d0faa2p-57, 0x1.57502bd0bb77fp-60, -0x1.80224d90d5ef5p-64, 0x1.6f8c1fe5cbb38p-68, -0x1.3f6b4ac38e911p-72, 0x1.80e397522b63dp-76, -0x1.c37db6ee8ab8bp-80, 0x1.4cfdb767f870cp-86, 0x1.30a9a689709f9p-89, 0x1.d4f040e6539bcp-92, -0x1.298c79308f926p-95};
inline constexpr double kErfInverse532[] = {0x1.3ed950ca9454cp+4, 0x1.009a195961835p+0, -0x1.6ae61098f830bp-14, 0x1.ba192ee2644b6p-19, -0x1.0ea71aef62393p-23, 0x1.46ff7008d6f42p-28, -0x1.829823f9434b7p-33, 0x1.b0d85eec99909p-38, -0x1.4cbe8b291181ep-43};
inline constexpr Polynomial kErfInverse5 = {20.0, kErfInverse564, kErfInverse532};

/// (x + 1/2) exp(x^2) erfc(x) in (x - 4) / (x + 4), x >= 0.
/// f64: degree 24, error 2^-56.5.
/// f32: degree 14, error 2^-32.4.
inline constexpr double kErfcx64[] = {0x1.3ba5916e9fd7fp-1, -0x1.1df1ad154a286p-4, 0x1.f7f5df66fd797p-8, 0x1.16ecefcfa4d10p-5, -0x1.9ddb23c3e8f13p-5, 0x1.7fee004e1eefep-5, -0x1.0fb06dfe4c6c0p-5, 0x1.3079edf5181dfp-6, -0x1.09623884747dbp-7, 0x1.49c672e199469p-9, -0x1.8d4a9a6465372p-12, -0x1.a1df5e81f57b4p-14, 0x1.3be0432bfa860p-14, -0x1.99537515467bep-17, -0x1.7884d2487d5efp-18, 0x1.7ef644c7815aap-19, 0x1.393f4d359a7fdp-23, -0x1.b8ce493292da5p-22, 0x1.4dcd6b6d85452p-25, 0x1.c8a212189b424p-25, -0x1.64110b1736fb3p-27, -0x1.a7f4a11380e73p-28, 0x1.bc41def3d5cc5p-30, 0x1.ff247156a53a2p-32, -0x1.2feb115e10ff8p-33};
inline constexpr double kErfcx32[] = {0x1.3ba5916e9fd7fp-1, -0x1.1df1acab84012p-4, 0x1.f7f5e049826ffp-8, 0x1.16ecd0d5981f5p-5, -0x1.9ddb27e38af69p-5, 0x1.7fef5236c244dp-5, -0x1.0fb0419cd392cp-5, 0x1.306d21e211a22p-6, -0x1.09658060f0eadp-7, 0x1.4ac86484c99dap-9, -0x1.8c4d114ec28ebp-12, -0x1.ce6a336ccf00cp-14, 0x1.36d15a55788c4p-14, -0x1.2077fb005bcb6p-18, -0x1.45f8b89f1fd19p-18};
inline constexpr Polynomial kErfcx = {0.0, kErfcx64, kErfcx32};

/// I0(x) in x^2 / 4, x <= 8.
/// f64: degree 16, error 2^-61.1.
/// f32: degree 11, error 2^-31.9.
inline constexpr double kBesselI064[] = {0x1.0000000000000p+0, 0x1.0000000000000p+0, 0x1.0000000000002p-2, 0x1.c71c71c71c6dfp-6, 0x1.c71c71c71cbe1p-10, 0x1.23456789a8318p-14, 0x1.02e85c08d260ap-19, 0x1.522a43f155552p-25, 0x1.522a444603fe2p-31, 0x1.0b312ee43b7c5p-37, 0x1.5601c7e411b36p-44, 0x1.69c76363ac35fp-51, 0x1.41b6c17a09391p-58, 0x1.e56f7ffb05c87p-66, 0x1.46a4446d3e276p-73, 0x1.31d00bad6ba1ap-81, 0x1.20d247d00eeebp-88};
inline constexpr double kBesselI032[] = {0x1.fffffffdcb230p-1, 0x1.00000013da385p+0, 0x1.fffffe2793d6dp-3, 0x1.c71c82f3c8de1p-6, 0x1.c71bcce4be7eep-10, 0x1.23490ba397e17p-14, 0x1.02ce550ab2805p-19, 0x1.531e4c09647c9p-25, 0x1.4c3cc00f7d4adp-31, 0x1.234c94c56c434p-37, 0x1.b83220c1e48a2p-45, 0x1.5d383bc4c1e51p-50};
inline constexpr Polynomial kBesselI0 = {0.0, kBesselI064, kBesselI032};

/// sqrt(x) exp(-x) I0(x) in 1 / x, x >= 8.
/// f64: degree 24, error 2^-57.1.
/// f32: degree 7, error 2^-32.3.
inline constexpr double kBesselI0Large64[] = {0x1.9884533d43651p-2, 0x1.9884533d43e81p-5, 0x1.cb94dd9e3cf85p-6, 0x1.debb22f7a0c55p-6, 0x1.6e7b1fea0a646p-5, 0x1.784a47a19b5c7p-4, 0x1.578ddff301153p-5, 0x1.443849660fd2cp+4, -0x1.7bf6ddb5ad273p+10, 0x1.606b26a04c952p+16, -0x1.fb82778927cf4p+21, 0x1.2075c83af07dap+27, -0x1.057e4cc360972p+32, 0x1.7c9c968fe124cp+36, -0x1.be53b5d419e93p+40, 0x1.a5eb08a854f0bp+44, -0x1.40c0ac761f7a5p+48, 0x1.85fcd56050798p+51, -0x1.778a4fc306d3bp+54, 0x1.1a282e09f7c69p+57, -0x1.435757962b85cp+59, 0x1.10a4f669faf77p+61, -0x1.3eb029c32c3ccp+62, 0x1.cd0f7fa76dcdbp+62, -0x1.36e52c10032d7p+62};
inline constexpr double kBesselI0Large32[] = {0x1.9884533c5b2d0p-2, 0x1.9884703d9d977p-5, 0x1.cb6efb3b38706p-6, 0x1.e8183aee4cb84p-6, 0x1.be3d123ddf20fp-6, 0x1.7dca9a040000ap-2, -0x1.0f54b47679631p+1, 0x1.20ede94d34bdep+3};
inline constexpr Polynomial kBesselI0Large = {0.0, kBesselI0Large64, kBesselI0Large32};

/// I1(x) / x in x^2 / 4, x <= 8.
/// f64: degree 15, error 2^-59.0.
/// f32: degree 11, error 2^-35.6.
inline constexpr double kBesselI164[] = {0x1.0000000000000p-1, 0x1.0000000000001p-2, 0x1.5555555555540p-5, 0x1.c71c71c71c9ecp-9, 0x1.6c16c16c13a93p-13, 0x1.845c8a0d26f80p-18, 0x1.27e4fb73f1ad7p-23, 0x1.522a443ba2a26p-29, 0x1.2c97552280795p-35, 0x1.ab8234c2c46fbp-42, 0x1.f17258b099a34p-49, 0x1.e290ec0d14f98p-56, 0x1.8a6faa072cdf9p-63, 0x1.1dc3a22d140b2p-70, 0x1.1ec8e2d9b0ddbp-78, 0x1.20de50ee937a2p-85};
inline constexpr double kBesselI132[] = {0x1.ffffffffd638ep-2, 0x1.00000002efc9ap-2, 0x1.5555550f717a7p-5, 0x1.c71c76dc3cb7bp-9, 0x1.6c16909d0c135p-13, 0x1.845eb21d0b466p-18, 0x1.27d58edd575fep-23, 0x1.52baffe65364ap-29, 0x1.291241e309bb4p-35, 0x1.c830370b9fc2dp-42, 0x1.5ffa5ba179b0dp-49, 0x1.bb5e9645db2e2p-55};
inline constexpr Polynomial kBesselI1 = {0.0, kBesselI164, kBesselI132};

/// sqrt(x) exp(-x) I1(x) in 1 / x, x >= 8.
/// f64: degree 24, error 2^-57.0.
/// f32: degree 7, error 2^-32.2.
inline constexpr double kBesselI1Large64[] = {0x1.9884533d43651p-2, -0x1.32633e6df2af7p-3, -0x1.7efc0e05cc671p-5, -0x1.4f1c95c030100p-5, -0x1.d73302f4d1161p-5, -0x1.cb3127c8fc49fp-4, -0x1.17b982ae83093p-4, -0x1.5ea0ce1144a9cp+4, 0x1.98e7357795484p+10, -0x1.7a51538b85ae9p+16, 0x1.0faf162744e54p+22, -0x1.34059845e55e1p+27, 0x1.167dae2aa6ce3p+32, -0x1.944e0f5855031p+36, 0x1.d8ebcf268614bp+40, -0x1.bdfa019b7a521p+44, 0x1.5241ee80b7d1cp+48, -0x1.9a5d5c4e53794p+51, 0x1.8a56682ff3817p+54, -0x1.27b24c370dd8ap+57, 0x1.523abe68ba2b9p+59, -0x1.1cb4013e56616p+61, 0x1.4c3e24975a881p+62, -0x1.dff0ee696679dp+62, 0x1.432b0a4121172p+62};
inline constexpr double kBesselI1Large32[] = {0x1.9884533e4dcbap-2, -0x1.326346bea4432p-3, -0x1.7ee65c9994e77p-5, -0x1.5475b34b8c3cdp-5, -0x1.34024855fa564p-5, -0x1.b8f9d99a38077p-2, 0x1.3087c27c418abp+1, -0x1.452e4764e49e5p+3};
inline constexpr Polynomial kBesselI1Large = {0.0, kBesselI1Large64, kBesselI1Large32};

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

/// J0(x) / ((x^2 - z1^2) (x^2 - z2^2)) in x^2, x <= 8; z1, z2: the zeros.
/// f64: degree 14, error 2^-56.9.
/// f32: degree 10, error 2^-33.4.
inline constexpr double kBesselJ064[] = {0x1.2bc29174dd587p-10, -0x1.15d87e4b8d5b1p-14, 0x1.99e65104a68d3p-20, -0x1.5059ea69f58a0p-26, 0x1.6409a6fd7b18ap-33, -0x1.08db6a2de28aap-40, 0x1.250f5379803acp-48, -0x1.f633ea858ec3cp-57, 0x1.577f683b9ce4dp-65, -0x1.801f7fa4157efp-74, 0x1.65ec7d64c1076p-83, -0x1.1a4d043639be7p-92, 0x1.7df1530c9fe57p-102, -0x1.c1bf0ba107049p-112, 0x1.cde1834d41769p-122};
inline constexpr double kBesselJ032[] = {0x1.2bc29174dd587p-10, -0x1.15d87e4bbe157p-14, 0x1.99e65104aaaafp-20, -0x1.5059ea5abb98dp-26, 0x1.6409a6fae88a0p-33, -0x1.08db6f81e496bp-40, 0x1.250f55466bcf4p-48, -0x1.f62dd447e9ee3p-57, 0x1.577d59a0a1e50p-65, -0x1.8329f0898497ap-74, 0x1.67fabf109b5e7p-83};
inline constexpr Polynomial kBesselJ0 = {32.0, kBesselJ064, kBesselJ032};

/// J1(x) / (x (x^2 - z1^2) (x^2 - z2^2)) in x^2, x <= 8; z1, z2: the zeros.
/// f64: degree 14, error 2^-60.9.
/// f32: degree 9, error 2^-31.7.
inline constexpr double kBesselJ164[] = {0x1.98ec1eee7c01ap-13, -0x1.1adb1329ed86fp-17, 0x1.4c9bd11c0aa3bp-23, -0x1.c5a7fc38dd1d1p-30, 0x1.9ac7788fbda1dp-37, -0x1.0af8bb9889cb5p-44, 0x1.06438a6958c65p-52, -0x1.941a82672e61cp-61, 0x1.f62979d66097ap-70, -0x1.0137e04d88c67p-78, 0x1.ba3fb314f5a30p-88, -0x1.43c188ce472e4p-97, 0x1.98aded4091c26p-107, -0x1.c2d74f295ea93p-117, 0x1.b3b24954f8236p-127};
inline constexpr double kBesselJ132[] = {0x1.98ec1eeeeb117p-13, -0x1.1adb1329f010bp-17, 0x1.4c9bd10659be3p-23, -0x1.c5a7fc34e5f6cp-30, 0x1.9ac78367a9e94p-37, -0x1.0af8bd940a73cp-44, 0x1.063fbf3eaa74bp-52, -0x1.9417bc1f7ecdcp-61, 0x1.fa7e586135c90p-70, -0x1.02cd7729e0d26p-78};
inline constexpr Polynomial kBesselJ1 = {32.0, kBesselJ164, kBesselJ132};

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

} // namespace sectile::lang::coefficients
