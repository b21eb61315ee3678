//===-- CompileOptions.h - what a user may ask of a compile -----------------------------------===//
// Plain C++. The fields are those of CompileOptions.def, where each has its keyword, default, range
// and help. Every field is part of the cache key.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sectile::backends {

/// What a kernel's numbers may depend on; tutorials/guide/numbers.md is the contract.
enum class Numerics : uint8_t {
  /// Approximations of GPUs where the language allows them, sums in any order.
  Default,
  /// Every operation rounds as IEEE 754 says or as exactly as the library's functions do: no
  /// approximations, no products fused with sums, no tf32.
  Strict,
  /// Sums are added in an order that the extents alone decide, and nothing is fused.
  Reproducible,
};
/// Its words, in the order of the numbers; the first is the usual one.
constexpr std::array<std::string_view, 3> wordsOf(Numerics) {
  return {"default", "strict", "reproducible"};
}

/// What fp32 operands of a product are rounded to: tile::InputPrecision, by the same words, or as
/// the environment says, else tf32.
enum class DotPrecision : uint8_t { Default, Tf32, Tf32x3, Ieee, Bf16x3, Bf16x6 };
constexpr std::array<std::string_view, 6> wordsOf(DotPrecision) {
  return {"default", "tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"};
}

/// Which numbers of its range a Count may be; None is Python's.
enum class OptionRule : uint8_t { Any, PowerOfTwo, NoneIsZero, NoneOrPowerOfTwo };

/// A count in as few bits as tell it from others that the rule allows: of a power of two, and 0,
/// its place among them.
constexpr uint64_t codeOf(OptionRule rule, int32_t count) {
  bool isPower = rule == OptionRule::PowerOfTwo || rule == OptionRule::NoneOrPowerOfTwo;
  return isPower ? uint64_t(std::bit_width(uint32_t(count))) : uint64_t(count);
}
constexpr int codeWidth(OptionRule rule, int32_t most) {
  return std::bit_width(codeOf(rule, most));
}

/// The options that have a keyword: small, and copied by every launch.
struct KernelOptions {
#define SECTILE_COUNT(field, keyword, initial, least, most, rule, help) int32_t field = initial;
#define SECTILE_FLAG(field, keyword, initial, help) bool field = initial;
#define SECTILE_CHECK(field, keyword, word, help) bool field = false;
#define SECTILE_CHOICE(type, field, keyword, help) type field{};
#include "backends/plain/CompileOptions.def"

  /// Different options, different words, in kWordBits bits.
  constexpr uint64_t word() const {
    uint64_t packed = 0;
#define SECTILE_COUNT(field, keyword, initial, least, most, rule, help)                            \
  packed = packed << codeWidth(OptionRule::rule, most) | codeOf(OptionRule::rule, field);
#define SECTILE_FLAG(field, keyword, initial, help) packed = packed << 1 | uint64_t(field);
#define SECTILE_CHECK(field, keyword, word, help) packed = packed << 1 | uint64_t(field);
#define SECTILE_CHOICE(type, field, keyword, help)                                                 \
  packed = packed << std::bit_width(wordsOf(field).size() - 1) | uint64_t(field);
#include "backends/plain/CompileOptions.def"
    return packed;
  }
  static constexpr int kWordBits = 0
#define SECTILE_COUNT(field, keyword, initial, least, most, rule, help)                            \
  +codeWidth(OptionRule::rule, most)
#define SECTILE_FLAG(field, keyword, initial, help) +1
#define SECTILE_CHECK(field, keyword, word, help) +1
#define SECTILE_CHOICE(type, field, keyword, help) +std::bit_width(wordsOf(type()).size() - 1)
#include "backends/plain/CompileOptions.def"
      ;

  /// "num_warps is 3, not a power of two from 1 to 64"; "" when all are within their ranges. Only
  /// such options have a word of their own.
  std::string problem() const;

  /// Whether a failed assertion stops its program, which reports it; else it ends the device's
  /// context, or is not looked at.
  constexpr bool reportsAssertions() const { return debug && !fatalAsserts; }

  /// Makes options equal that ask for the same: without `debug` nothing is asserted, overflow is
  /// not checked anyway, and where numbers are strict or reproducible nothing is fused.
  constexpr void normalize() {
    sanitizeOverflow |= !debug;
    fatalAsserts &= debug;
    enableFpFusion &= numerics == Numerics::Default;
  }

  /// Whether normalizeFor() leaves something out for some back end.
  constexpr bool dependsOnBackend() const {
    return wavesPerUnit || matrixExtent || fatalAsserts || dotPrecision != DotPrecision::Default;
  }

  /// Leaves out what the back end ("cpu", "cuda", "hip") does not look at.
  constexpr void normalizeFor(std::string_view backend) {
    if (backend != "hip")
      wavesPerUnit = matrixExtent = 0;
    if (backend == "cpu") {
      fatalAsserts = false;
      dotPrecision = DotPrecision::Default; // products are exact there
    }
  }

  /// Whether each choice is one of its words, as it is unless the bytes came from elsewhere.
  constexpr bool hasKnownWords() const {
    bool isKnown = true;
#define SECTILE_CHOICE(type, field, keyword, help) isKnown &= size_t(field) < wordsOf(field).size();
#include "backends/plain/CompileOptions.def"
    return isKnown;
  }

  friend bool operator==(const KernelOptions &, const KernelOptions &) = default;
};
static_assert(KernelOptions::kWordBits <= 52, "launches add the number of a processor to it");

struct CompileOptions : KernelOptions {
  std::string backend = "cpu";
  /// Empty: the machine at hand. Else a CPU name LLVM knows, or "sm_90a", "gfx942".
  std::string arch;
#define SECTILE_INTERNAL(type, field, name, initial) type field{initial};
#include "backends/plain/CompileOptions.def"

  /// All fields as text, by the names of keywords where there is one.
  std::vector<std::pair<const char *, std::string>> fields() const;
  /// Sets one of them from such a text; false when there is no such field, or the text is none of
  /// its values.
  bool setField(std::string_view name, std::string_view text);
  /// All fields, for keys.
  std::string fingerprint() const;

  friend bool operator==(const CompileOptions &, const CompileOptions &) = default;
};

/// One keyword of a launch, for help, for the command line and for Python.
struct OptionDescription {
  const char *keyword;
  /// Keyword: of a launch only, without default or range.
  enum class Kind : uint8_t { Count, Flag, Check, Choice, Keyword };
  Kind kind;
  using Rule = OptionRule;
  Rule rule = Rule::Any;
  /// Whether the rule allows Python's None, which is 0.
  static constexpr bool allowsNone(Rule rule) {
    return rule == Rule::NoneIsZero || rule == Rule::NoneOrPowerOfTwo;
  }
  int32_t initial = 0, least = 0, most = 0;
  const char *help;
  /// Of a Choice, the usual one first.
  std::span<const std::string_view> words;

  /// Whether a Count may be `number`.
  bool allows(int64_t number) const;
  /// "a power of two from 1 to 64", "default, strict or reproducible"; Python's None is not among
  /// them.
  std::string range() const;
};

/// Those with a field come first, in the order of the fields.
std::span<const OptionDescription> optionTable();

} // namespace sectile::backends
