//===-- Remark.h - something the compiler has to say of how it compiled a kernel --------------===//
// Plain C++. Passes and emitters note what they did and what they left alone, and why; the image
// keeps them, and st.inspect and `sectile compile --remarks` show them to the user.
//
//   {"load", kernel.py:12:9, "addresses are known to be multiples of 4 bytes only", {{"bytes", 4}, ...}}
//
// `kind` says what a remark is about, `numbers` hold what programs may want; `text` is for people,
// lower case and without a full stop. Another pass has more to say? It adds remarks of kinds of its
// own: nothing that stores or shows them knows the kinds. Those there are: lang/README.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace sectile::lang {

struct Remark {
  std::string kind;
  std::string text;
  /// Where in the source; line 0: nowhere in particular.
  std::string file, function;
  int32_t line = 0, column = 0;
  /// The first operation at that place in the kernel's IR, counted as the front end made it. Code
  /// of equal IR from elsewhere has its places there. -1: nowhere in particular.
  int32_t operation = -1;
  std::map<std::string, int64_t> numbers;

  friend bool operator==(const Remark &, const Remark &) = default;
};

} // namespace sectile::lang
