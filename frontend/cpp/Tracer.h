//===-- Tracer.h - records a C++ kernel as it runs --------------------------------------------------===//
// The public DSL headers (include/sectile/) hold value handles; each operation on one calls the Tracer,
// which builds tile IR through lang/Builtins and lang/Semantics. This interface is plain C++ (no LLVM,
// nothing thrown): it is what crosses from user code into the compiler library. On failure a call
// returns kNoValue and `failed()` is true; the inline headers turn that into an exception.
#pragma once

#include "lang/Constant.h"
#include "lang/Diagnostics.h"
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::cpp {

/// Names a value of the trace. Ids are never reused; `scope` tells handles of an inner body apart.
struct ValueId {
  uint32_t id = 0;
  bool isKnown() const { return id != 0; }
};
inline constexpr ValueId kNoValue{};

struct TracedType {
  lang::DType dtype;
  std::vector<int64_t> shape;
};

/// A constant, a traced value, or a combining function of scalars (for reduce and scan).
struct Argument {
  using Combiner =
      std::function<std::vector<ValueId>(std::span<const ValueId> lhs, std::span<const ValueId> rhs)>;
  std::variant<lang::Constant, ValueId, Combiner> data;
  std::string name; // empty for a positional argument
};

class Tracer {
public:
  virtual ~Tracer() = default;

  virtual void at(const lang::SourceRange &range) = 0;
  virtual bool failed() const = 0;
  virtual TracedType typeOf(ValueId value) const = 0;

  /// One language operation by its name in lang/Builtins; several results for split, reduce of tuples.
  virtual std::vector<ValueId> call(std::string_view builtin, std::span<const Argument> arguments) = 0;
  /// Operators: "+" "-" "*" "/" "%" "&" "|" "^" "<<" ">>" "==" "!=" "<" "<=" ">" ">=" "&&" "||";
  /// unary: "-" "~" "!". Integer "/" and "%" truncate.
  virtual ValueId binary(std::string_view op, const Argument &lhs, const Argument &rhs) = 0;
  virtual ValueId unary(std::string_view op, ValueId operand) = 0;
  /// x[None, :]: true for a new extent of one.
  virtual ValueId expandByIndex(ValueId value, std::span<const bool> isNone) = 0;

  /// for (i = lower; i < upper; i += step): `body` gets i and the carried values, returns their next.
  using LoopBody = std::function<std::vector<ValueId>(ValueId index, std::span<const ValueId> carried)>;
  virtual std::vector<ValueId> loop(const Argument &lower, const Argument &upper, const Argument &step,
                                    std::span<const Argument> initial, const LoopBody &body) = 0;
  using Branch = std::function<std::vector<ValueId>()>;
  virtual std::vector<ValueId> branch(ValueId condition, const Branch &then, const Branch &orelse) = 0;
  using Condition = std::function<ValueId(std::span<const ValueId> carried)>;
  using WhileBody = std::function<std::vector<ValueId>(std::span<const ValueId> carried)>;
  virtual std::vector<ValueId> whileLoop(std::span<const Argument> initial, const Condition &condition,
                                         const WhileBody &body) = 0;
  /// Reports an error of the DSL itself (an outer handle assigned inside a body, say) at the position.
  virtual void error(std::string message, std::string help) = 0;
};

/// Runs the user's kernel: gets one value or constant per parameter of the signature.
using TraceFunction = std::function<void(Tracer &, std::span<const Argument> parameters)>;

} // namespace sectile::cpp
