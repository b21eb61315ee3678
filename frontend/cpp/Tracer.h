//===-- Tracer.h - records a C++ kernel as it runs ----------------------------------------===//
// The public DSL headers (include/sectile/) hold value handles; each operation on one calls the
// Tracer, which builds tile IR through lang/Builtins and lang/Semantics. This interface is plain
// C++ (no LLVM, nothing thrown): it is what crosses from user code into the compiler library. On
// failure a call returns nothing and `failed()` is true; the inline headers turn that into an
// exception.
//
// Exceptions of the user's code must not pass through here either: the headers catch what a body
// throws, keep it, return std::nullopt (or false), and throw it again on their own side.
#pragma once

#include "lang/plain/Constant.h"
#include "lang/plain/Diagnostics.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::cpp {

/// Names a value of the trace. Ids are never reused. A value lives as long as the body it was made
/// in: using it later is a located error.
struct ValueId {
  uint32_t id = 0;
  bool isKnown() const { return id != 0; }
};

/// A constant with a type of its own: what `i64 stride = 4096` holds.
struct TypedNumber {
  lang::Constant number;
  lang::DType dtype;
  /// A C++ number of 64 bits that was not declared as a handle (a captured int64_t, 4096LL): an
  /// operator computes in 64 bits with it, of the other side's signedness; for everything else it
  /// is a bare number.
  bool isWideLiteral = false;
};
struct TracedType {
  lang::DType dtype;
  std::vector<int64_t> shape;
};

struct Argument;
/// What a body yields; nullopt when it failed, by an error of the kernel or by an exception that
/// the caller keeps.
using BodyResult = std::optional<std::vector<Argument>>;

/// A constant, a traced value, a constant with a type, a combining function of scalars (for reduce
/// and scan), or a tuple.
struct Argument {
  using Combiner =
      std::function<BodyResult(std::span<const ValueId> lhs, std::span<const ValueId> rhs)>;
  using Tuple = std::vector<Argument>;

  std::variant<lang::Constant, ValueId, TypedNumber, Combiner, Tuple> data;
  std::string name;                         // empty for a positional argument
  lang::TupleClassRef tupleClass = nullptr; // of a tuple that is a value of the language

  /// The number, typed or not; null for everything else.
  const lang::Constant *constant() const {
    if (auto *typed = std::get_if<TypedNumber>(&data))
      return &typed->number;
    return std::get_if<lang::Constant>(&data);
  }
};

/// One part of an index: x[{none, all, 3, slice(0, 7, 2)}].
struct IndexPart {
  enum class Kind { NewDimension, Element, Slice };
  Kind kind = Kind::Slice;
  /// The number of an Element; lower, upper and step of a Slice, which are None where left out.
  Argument first = {lang::Constant{lang::None{}}, ""}, upper = first, step = first;
};

/// A wish of the kernel of one loop: "num_stages", 3. (Those there are: LoopHints of control.h.)
struct LoopHint {
  std::string_view name;
  int64_t value = 0;
};

class Tracer {
public:
  virtual ~Tracer() = default;

  virtual void at(const lang::SourceRange &range) = 0;
  virtual bool failed() const = 0;
  /// The first error reported so far, rendered; empty when there is none.
  virtual std::string firstError() const = 0;
  virtual TracedType typeOf(ValueId value) const = 0;

  /// One language operation by its name in lang/Builtins; several results for split, reduce of
  /// tuples. What is known while tracing (cdiv of two constants) comes back as a constant.
  virtual std::vector<Argument> call(std::string_view builtin,
                                     std::span<const Argument> arguments) = 0;
  /// Operators: "+" "-" "*" "/" "%" "&" "|" "^" "<<" ">>" "==" "!=" "<" "<=" ">" ">=" "&&" "||";
  /// unary: "-" "~" "!". Integer "/" and "%" truncate. Two constants give a constant; one with a
  /// type is computed with as a value of that type is.
  virtual Argument binary(std::string_view op, const Argument &lhs, const Argument &rhs) = 0;
  virtual Argument unary(std::string_view op, const Argument &operand) = 0;
  /// The part of a tile that an index picks, known while tracing.
  virtual Argument index(const Argument &value, std::span<const IndexPart> parts) = 0;

  /// for (i = lower; i < upper; i += step): `body` gets i and the carried values, returns their
  /// next.
  using LoopBody = std::function<BodyResult(ValueId index, std::span<const ValueId> carried)>;
  virtual std::vector<ValueId> loop(const Argument &lower, const Argument &upper,
                                    const Argument &step, std::span<const LoopHint> hints,
                                    std::span<const Argument> initial, const LoopBody &body) = 0;
  /// Ends the turn of the loop whose body is being traced, where the condition holds: with the
  /// whole loop, or to go on with the next turn. `values` are those carried then.
  enum class TurnEnd { Loop, Turn };
  virtual void leaveTurn(TurnEnd end, const Argument &condition,
                         std::span<const Argument> values) = 0;
  /// A constant condition traces the one branch that is taken.
  using Branch = std::function<BodyResult()>;
  virtual std::vector<Argument> branch(const Argument &condition, const Branch &then,
                                       const Branch &orelse) = 0;
  using WhileBody = std::function<BodyResult(std::span<const ValueId> carried)>;
  /// `condition` yields the one value that is tested.
  virtual std::vector<ValueId> whileLoop(std::span<const Argument> initial,
                                         const WhileBody &condition, const WhileBody &body) = 0;
  /// Reports an error in the name of `what` unless the number becomes `dtype` without loss other
  /// than rounding: 300 is no i8, 2.7 no i32.
  virtual void requireFits(const lang::Constant &number, lang::DType dtype,
                           std::string_view what) = 0;
  /// Reports an error of the DSL itself (an outer handle assigned inside a body, say) at the
  /// position.
  virtual void error(std::string message, std::string help) = 0;
};

/// Runs the user's kernel: gets one value or constant per parameter of the signature. False when it
/// stopped on an error or an exception.
using TraceFunction = std::function<bool(Tracer &, std::span<const Argument> parameters)>;

} // namespace sectile::cpp
