//===-- ConstantText.h - constants as texts that another process can read -------------------------===//
//   16 -> "i16"   'add' -> "s3:add"   (1, None) -> "t2:i1N"   fp32 -> "d4:fp32"
//
// Objects have no text: a question names their number, "o2" (ReadLog.h), and an answer their kind,
// "o6:Config". One is read again, the other compared only.
#pragma once

#include "lang/plain/Constant.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sectile::bindings {

/// Visits all objects and functions that a constant mentions, by their id, and the classes of its
/// tuples: in the order in which they are numbered.
void forEachReference(const lang::Constant &constant,
                      const std::function<void(uint64_t id)> &visit);

/// As part of an answer.
std::string answerText(const lang::Constant &constant);
/// As part of a question. `numberOf`: from the id of an object.
std::string questionText(const lang::Constant &constant,
                         const std::function<uint64_t(uint64_t id)> &numberOf);
std::string questionText(std::string_view text);
std::string questionText(uint64_t number);

/// Reads what questionText() wrote, piece by piece; nullopt for anything else.
class QuestionReader {
public:
  /// `idOf`: from the number of an object; nullopt when there is none of that number.
  QuestionReader(std::string_view text,
                 std::function<std::optional<uint64_t>(uint64_t number)> idOf)
      : rest(text), idOf(std::move(idOf)) {}
  std::optional<char> letter();
  std::optional<uint64_t> number();
  std::optional<std::string> text();
  std::optional<lang::Constant> constant();
  bool isAtEnd() const { return rest.empty(); }

private:
  std::optional<lang::Constant> tuple(bool isNamed);

  std::string_view rest;
  std::function<std::optional<uint64_t>(uint64_t)> idOf;
};

} // namespace sectile::bindings
