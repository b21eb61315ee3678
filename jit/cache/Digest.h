//===-- Digest.h - names for contents ---------------------------------------------------------===//
// Two hashes for two jobs. Digest (SHA-256) makes keys: equal keys must mean equal inputs, even
// where an attacker chose them. checksum64 finds damage in a file, at several bytes per cycle.
//
//   std::string key = Digest("kernel").add(source).add(uint64_t{4}).hex();
//
// Every field goes in with its length, so that ("ab", "c") and ("a", "bc") differ.
#pragma once

#include "jit/Api.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sectile::jit {

class SECTILE_API Digest {
public:
  /// `purpose` keeps digests of different things apart.
  explicit Digest(std::string_view purpose);
  Digest &add(std::string_view field);
  Digest &add(uint64_t number);
  /// 64 lower-case hexadecimal digits. The object is spent.
  std::string hex();

private:
  void update(const void *data, size_t size);
  void compress(const uint8_t *block);

  std::array<uint32_t, 8> state;
  std::array<uint8_t, 64> pending;
  size_t pendingSize = 0;
  uint64_t totalSize = 0;
};

uint64_t checksum64(std::string_view data);

} // namespace sectile::jit
