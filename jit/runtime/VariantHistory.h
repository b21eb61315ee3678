//===-- VariantHistory.h - which variants of a kernel there are, and what sets another one apart --===//
//   history.add(digest, signature, options);      // each variant, compiled or read from the cache
//   VariantDifference difference = history.compare(nextDigest, nextSignature, nextOptions);
//   difference.text()        "n: i32:16 instead of i32, num_warps: 8 instead of 4"
//
// A new variant is compared with the nearest: of the same source, with the fewest and smallest
// differences, the latest of equals.
#pragma once

#include "backends/plain/CompileOptions.h"
#include "backends/plain/ForkSafeMutex.h"
#include "jit/Api.h"
#include "lang/plain/KernelSignature.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace sectile::jit {

/// "x: *fp32:16, n: i32, BLOCK = 1024": what distinguishes this variant from others.
SECTILE_API std::string describe(const lang::KernelSignature &signature);
/// What differs from the defaults, the target left out: "num_warps=8, debug=1".
SECTILE_API std::string describe(const backends::CompileOptions &options);
/// "cpu", "cuda:sm_90a".
SECTILE_API std::string targetOf(const backends::CompileOptions &options);

struct VariantDifference {
  enum class Kind : uint8_t { First, NewSource, Changed, Same };
  Kind kind = Kind::First;
  struct Change {
    /// Index of the parameter; -1: an option.
    int32_t parameter;
    std::string name, now, nearest;
  };
  std::vector<Change> changes;

  /// "the first variant"; "n: i32 instead of 1".
  std::string text() const;
};

/// Finds the variant that is nearest to one that is wanted, looking at each once.
class NearestVariant {
public:
  NearestVariant(const lang::KernelSignature &signature, const backends::CompileOptions &options)
      : signature(signature), options(options), fields(options.fields()) {}
  void consider(const lang::KernelSignature &other, const backends::CompileOptions &otherOptions);

  /// What the wanted one differs in; of equals the one that was considered last.
  VariantDifference nearest;

private:
  const lang::KernelSignature &signature;
  const backends::CompileOptions &options;
  const std::vector<std::pair<const char *, std::string>> fields;
  int nearestDistance = INT32_MAX;
};

class VariantHistory {
public:
  void add(const std::string &sourceDigest, const lang::KernelSignature &signature,
           const backends::CompileOptions &options);
  VariantDifference compare(const std::string &sourceDigest, const lang::KernelSignature &signature,
                            const backends::CompileOptions &options) const;

private:
  struct Variant {
    std::string sourceDigest;
    lang::KernelSignature signature;
    backends::CompileOptions options;
  };
  mutable ForkSafeMutex mutex;
  std::unordered_map<std::string, std::vector<Variant>> variants; // by name of the kernel
};

} // namespace sectile::jit
