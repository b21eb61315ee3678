// Lesson 10: products of numbers of eight bits and of four, with a scale for each few of them.
//
// A number of four bits, e2m1, is one of 0, 0.5, 1, 1.5, 2, 3, 4, 6 or their negatives: too few for
// a matrix whose numbers are large here and small there. So each 32 (or 16) neighbours along the
// inner dimension share a scale:
//
//                      K
//     +-----------------------------------+       +-----+
//     | 32 numbers | 32 numbers | 32 ...  |   x   | s s |    a row of A, and a row of its scales
//     +-----------------------------------+       +-----+
//
//              numbers          scales                                     bits a number
//     mxfp8    e4m3, 8 bits     e8m0: a power of two, for each 32          8.25
//     mxfp4    e2m1, 4 bits     e8m0: a power of two, for each 32          4.25
//     nvfp4    e2m1, 4 bits     e4m3: four significant bits, for each 16   4.5
//
// (mxfp8 and mxfp4: OCP Microscaling Formats, version 1.0.) dot_scaled multiplies two such tiles,
// their scales included. It takes them as they lie in memory: two numbers of e2m1 are a byte, the
// first in the lower half; an e8m0 is a byte, too, and means 2^(byte - 127).
//
// *Nothing more is lost.* Tiles are converted to bfloat16, which holds numbers times scales of
// these formats exactly, and summed in float32.
//
// *A kernel for each format.* The type of the scales is a parameter of a template, and so is the
// text that names the format; `Const` holds numbers only.
//
// *Elements without a C++ type.* A buffer of bytes is given to a kernel as Ptr<const f8e4m3>.
//
// Run it: build/tutorials/10_block_scaled_products  (the same kernel in Python:
// 10_block_scaled_products.py)

#include "lesson.h"

#include <algorithm>
#include <sectile/sectile.h>
using namespace sectile;

// The formats: how numbers and scales are called, how many numbers are in a byte, and how many
// share a scale.
struct Mxfp8 {
  static constexpr const char *name = "mxfp8", *numbers = "e4m3";
  using Scale = u8; // e8m0
  static constexpr int perByte = 1, perScale = 32;
};
struct Mxfp4 {
  static constexpr const char *name = "mxfp4", *numbers = "e2m1";
  using Scale = u8;
  static constexpr int perByte = 2, perScale = 32;
};
struct Nvfp4 {
  static constexpr const char *name = "nvfp4", *numbers = "e2m1";
  using Scale = f8e4m3;
  static constexpr int perByte = 2, perScale = 16;
};

template <class Format>
static const auto scaled_tile =
    kernel("scaled_tile", [](Ptr<const u8> a_ptr, Ptr<const typename Format::Scale> a_scale_ptr,
                             Ptr<const u8> b_ptr, Ptr<const typename Format::Scale> b_scale_ptr,
                             Ptr<f32> c_ptr, i32 M, i32 N, i32 K, Const<int> PER_BYTE,
                             Const<int> PER_SCALE, Const<int> BLOCK_M, Const<int> BLOCK_N,
                             Const<int> BLOCK_K) {
      // A is M x K and B is N x K, so that both have their few neighbours in a row: C = A * B^T.
      auto m = program_id(0) * BLOCK_M + arange(0, BLOCK_M);
      auto n = program_id(1) * BLOCK_N + arange(0, BLOCK_N);
      auto k = arange(0, BLOCK_K / PER_BYTE);
      auto s = arange(0, BLOCK_K / PER_SCALE);
      // A row of a matrix in bytes, and a row of scales.
      auto row = K / PER_BYTE;
      auto scales = K / PER_SCALE;

      auto zero = zeros<f32>({BLOCK_M, BLOCK_N});
      auto total = loop(range(0, K, BLOCK_K), zero, [&](i32 done, auto total) {
        auto byte = done / PER_BYTE + k;
        auto scale = done / PER_SCALE + s;
        auto a_mask = (m[{all, none}] < M) & (byte[{none, all}] < row);
        auto b_mask = (byte[{all, none}] < row) & (n[{none, all}] < N);
        auto a_scale_mask = (m[{all, none}] < M) & (scale[{none, all}] < scales);
        auto b_scale_mask = (n[{all, none}] < N) & (scale[{none, all}] < scales);
        auto a = load(a_ptr + m[{all, none}] * row + byte[{none, all}], a_mask, 0);
        auto b = load(b_ptr + byte[{all, none}] + n[{none, all}] * row, b_mask, 0);
        // A row of scales for each row of A, and for each column of what is multiplied by it: a row
        // of B.
        auto a_scale_place = a_scale_ptr + m[{all, none}] * scales + scale[{none, all}];
        auto b_scale_place = b_scale_ptr + n[{all, none}] * scales + scale[{none, all}];
        auto a_scale = load(a_scale_place, a_scale_mask, 0);
        auto b_scale = load(b_scale_place, b_scale_mask, 0);
        return dot_scaled({a, a_scale, Format::numbers}, {b, b_scale, Format::numbers}, total);
      });
      auto c = c_ptr + m[{all, none}] * N + n[{none, all}];
      store(c, total, (m[{all, none}] < M) & (n[{none, all}] < N));
    });

/// A small float format: its numbers that are not negative, in the order of their codes.
struct SmallFloat {
  std::vector<double> magnitudes;
  int sign; // the bit that makes a number negative

  SmallFloat(int exponentBits, int mantissaBits, int bias, bool lastIsNan)
      : sign(1 << (exponentBits + mantissaBits)) {
    for (int code = 0; code < sign - lastIsNan; ++code) {
      int exponent = code >> mantissaBits;
      double mantissa = std::ldexp(code & ((1 << mantissaBits) - 1), -mantissaBits);
      // The lowest exponent has the subnormal numbers, which lack the leading 1.
      magnitudes.push_back(std::ldexp(exponent ? 1 + mantissa : 2 * mantissa, exponent - bias));
    }
  }
  double value(int code) const {
    double magnitude = magnitudes[size_t(code % sign)];
    return code & sign ? -magnitude : magnitude;
  }
  /// The code of the number nearest to x, ties to even codes; beyond the largest it is the largest.
  int nearest(double x) const {
    const double size = std::abs(x);
    size_t code = 0;
    while (code + 1 < magnitudes.size()) {
      double middle = (magnitudes[code] + magnitudes[code + 1]) / 2;
      if (size < middle || (size == middle && code % 2 == 0))
        break;
      ++code;
    }
    return int(code) + (std::signbit(x) ? sign : 0);
  }
};

static const SmallFloat kE2m1(2, 1, 1, false), kE4m3(4, 3, 7, true);

/// A float32 matrix in one of the formats, and what it stands for then.
template <class Format>
struct Quantised {
  std::vector<uint8_t> elements, scales;
  std::vector<double> exact;

  /// Neighbours in a row share scales: its length is a multiple of Format::perScale.
  explicit Quantised(const std::vector<float> &x) : exact(x.size()) {
    const SmallFloat &numbers = Format::perByte == 2 ? kE2m1 : kE4m3;
    const double most = numbers.magnitudes.back();
    std::vector<uint8_t> codes(x.size());
    for (size_t first = 0; first < x.size(); first += Format::perScale) {
      double largest = 0;
      for (size_t i = first; i < first + Format::perScale; ++i)
        largest = std::max(largest, std::abs(double(x[i])));
      double factor;
      if constexpr (std::is_same_v<typename Format::Scale, u8>) {
        // The exponent of the largest becomes the greatest exponent that the format has.
        int exponent = std::ilogb(std::max(largest, 0x1p-100)) - std::ilogb(most);
        scales.push_back(uint8_t(exponent + 127));
        factor = std::ldexp(1, exponent);
      } else {
        scales.push_back(uint8_t(kE4m3.nearest(std::max(largest / most, kE4m3.magnitudes[1]))));
        factor = kE4m3.value(scales.back());
      }
      for (size_t i = first; i < first + Format::perScale; ++i) {
        codes[i] = uint8_t(numbers.nearest(x[i] / factor));
        exact[i] = numbers.value(codes[i]) * factor;
      }
    }
    for (size_t i = 0; i < codes.size(); i += Format::perByte)
      elements.push_back(Format::perByte == 2 ? uint8_t(codes[i] | codes[i + 1] << 4) : codes[i]);
  }
};

template <class Format>
static void lessonOf(Device device, int M, int N, int K, bool quick) {
  const auto x = lesson::randomNumbers(size_t(M) * K, 1),
             y = lesson::randomNumbers(size_t(N) * K, 2);
  const Quantised<Format> a(x), b(y);
  DeviceBuffer<uint8_t> aThere(device, a.elements), aScales(device, a.scales),
      bThere(device, b.elements), bScales(device, b.scales);
  DeviceBuffer<float> c(device, size_t(M) * N);
  const bool isGpu = device.isGpu();
  const Const BLOCK_M{64}, BLOCK_N{isGpu ? 64 : 128}, BLOCK_K{isGpu ? 64 : 128};
  auto run = [&] {
    scaled_tile<Format>.launch({cdiv(M, BLOCK_M), cdiv(N, BLOCK_N)}, aThere, aScales, bThere,
                               bScales, c, M, N, K, Const{Format::perByte}, Const{Format::perScale},
                               BLOCK_M, BLOCK_N, BLOCK_K);
  };
  run();

  std::vector<double> expected(c.size());
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n)
      for (int k = 0; k < K; ++k)
        expected[size_t(m) * N + n] += a.exact[size_t(m) * K + k] * b.exact[size_t(n) * K + k];
  const std::string size =
      std::to_string(M) + " x " + std::to_string(N) + " x " + std::to_string(K);
  lesson::check(std::string(Format::name) + " on " + device.description() + ", " + size,
                lesson::errorOf(c.download(), expected), 1e-5);
  if (!quick)
    std::printf("  %.1f GFLOP/s, %.2f bits a number\n",
                2e-9 * M * N * K / lesson::secondsOf(device, run),
                8.0 / Format::perByte + 8.0 / Format::perScale);
}

int main(int argc, char **argv) try {
  const bool quick = lesson::isQuick(argc, argv);
  // K is a multiple of 32, of what shares a scale; nothing else is round.
  const int M = quick ? 101 : 501, N = quick ? 67 : 703, K = quick ? 160 : 1056;
  const Device device = Device::best();
  lessonOf<Mxfp8>(device, M, N, K, quick);
  lessonOf<Mxfp4>(device, M, N, K, quick);
  lessonOf<Nvfp4>(device, M, N, K, quick);
} catch (const sectile::Error &error) {
  std::printf("%s\n", error.what());
  return 1;
}
