#include "jit/cache/Digest.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sectile::jit {
namespace {

// SHA-256 is FIPS 180-4: fractional parts of the roots of the first primes.
constexpr std::array<uint32_t, 8> kInitialState = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr std::array<uint32_t, 64> kRoundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t loadBigEndian(const uint8_t *bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

uint64_t load64(const char *bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

/// Mixes by the high and low half of a 128-bit product.
uint64_t fold(uint64_t a, uint64_t b) {
  unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

} // namespace

Digest::Digest(std::string_view purpose) : state(kInitialState) {
  add(purpose);
}

Digest &Digest::add(std::string_view field) {
  uint64_t size = field.size();
  update(&size, sizeof size);
  update(field.data(), field.size());
  return *this;
}

Digest &Digest::add(uint64_t number) {
  return add(std::string_view(reinterpret_cast<const char *>(&number), sizeof number));
}

void Digest::update(const void *data, size_t size) {
  const auto *bytes = static_cast<const uint8_t *>(data);
  totalSize += size;
  while (size > 0) {
    if (pendingSize == 0 && size >= 64) {
      compress(bytes);
      bytes += 64;
      size -= 64;
      continue;
    }
    size_t taken = std::min(size, 64 - pendingSize);
    std::memcpy(pending.data() + pendingSize, bytes, taken);
    pendingSize += taken;
    bytes += taken;
    size -= taken;
    if (pendingSize == 64) {
      compress(pending.data());
      pendingSize = 0;
    }
  }
}

void Digest::compress(const uint8_t *block) {
  std::array<uint32_t, 64> schedule;
  for (size_t i = 0; i < 16; ++i)
    schedule[i] = loadBigEndian(block + 4 * i);
  for (size_t i = 16; i < 64; ++i) {
    uint32_t near = schedule[i - 2], far = schedule[i - 15];
    uint32_t sigma1 = std::rotr(near, 17) ^ std::rotr(near, 19) ^ (near >> 10);
    uint32_t sigma0 = std::rotr(far, 7) ^ std::rotr(far, 18) ^ (far >> 3);
    schedule[i] = sigma1 + schedule[i - 7] + sigma0 + schedule[i - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < 64; ++i) {
    uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    uint32_t choice = (e & f) ^ (~e & g);
    uint32_t first = h + sum1 + choice + kRoundConstants[i] + schedule[i];
    uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    uint32_t second = sum0 + majority;
    h = g, g = f, f = e, e = d + first;
    d = c, c = b, b = a, a = first + second;
  }
  std::array<uint32_t, 8> mixed = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i)
    state[i] += mixed[i];
}

std::string Digest::hex() {
  uint64_t bitCount = totalSize * 8;
  static constexpr std::array<uint8_t, 64> kPadding = {0x80};
  update(kPadding.data(), pendingSize < 56 ? 56 - pendingSize : 120 - pendingSize);
  std::array<uint8_t, 8> length;
  for (size_t i = 0; i < 8; ++i)
    length[i] = static_cast<uint8_t>(bitCount >> (56 - 8 * i));
  update(length.data(), length.size());

  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4)
      text += kDigits[word >> shift & 15];
  return text;
}

uint64_t checksum64(std::string_view data) {
  // Two independent multiply chains; odd constants from the binary expansion of the golden ratio
  // and pi.
  constexpr uint64_t kFirst = 0x9e3779b97f4a7c15, kSecond = 0x243f6a8885a308d3;
  uint64_t left = kFirst ^ data.size(), right = kSecond;
  const char *bytes = data.data();
  size_t size = data.size();
  for (; size >= 32; bytes += 32, size -= 32) {
    left = fold(left ^ load64(bytes), kFirst ^ load64(bytes + 8));
    right = fold(right ^ load64(bytes + 16), kSecond ^ load64(bytes + 24));
    // fold() of a zero factor is zero: without this, what came before would be lost.
    left += kSecond + data.size();
    right += kFirst;
  }
  for (; size > 0; bytes += std::min<size_t>(size, 8), size -= std::min<size_t>(size, 8)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes, std::min<size_t>(size, 8));
    left = (left ^ word) * kFirst;
    left ^= left >> 29;
  }
  uint64_t mixed = left ^ std::rotl(right, 32);
  mixed = (mixed ^ (mixed >> 32)) * kSecond;
  return mixed ^ (mixed >> 29);
}

} // namespace sectile::jit
