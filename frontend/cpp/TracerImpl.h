//===-- TracerImpl.h - the Tracer over lang/Semantics -------------------------------------===//
// Keeps a table of the values handed out, and the stack of bodies being traced. Invariant: a value
// may be used only while the body it was made in is open, and never across an isolated body (the
// combining function of a reduce sees its arguments only); both are errors of the kernel, with
// their place.
#pragma once

#include "frontend/cpp/Tracer.h"
#include "lang/builtins/Indexing.h"
#include "lang/semantics/Semantics.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <map>

namespace sectile::cpp {

class TracerImpl final : public Tracer {
public:
  TracerImpl(lang::Semantics &sema, lang::DiagnosticSink &sink);

  void at(const lang::SourceRange &range) override;
  bool failed() const override { return hasFailed || sink.hasErrors(); }
  std::string firstError() const override;
  TracedType typeOf(ValueId value) const override;
  std::vector<Argument> call(std::string_view builtin,
                             std::span<const Argument> arguments) override;
  Argument binary(std::string_view op, const Argument &lhs, const Argument &rhs) override;
  Argument unary(std::string_view op, const Argument &operand) override;
  Argument index(const Argument &value, std::span<const IndexPart> parts) override;
  std::vector<ValueId> loop(const Argument &lower, const Argument &upper, const Argument &step,
                            std::span<const LoopHint> hints, std::span<const Argument> initial,
                            const LoopBody &body) override;
  void leaveTurn(TurnEnd end, const Argument &condition, std::span<const Argument> values) override;
  std::vector<Argument> branch(const Argument &condition, const Branch &then,
                               const Branch &orelse) override;
  std::vector<ValueId> whileLoop(std::span<const Argument> initial, const WhileBody &condition,
                                 const WhileBody &body) override;
  void requireFits(const lang::Constant &number, lang::DType dtype, std::string_view what) override;
  void error(std::string message, std::string help) override;

  /// What the front end hands to the user for `operand`; ids are made for its values.
  Argument argumentOf(const lang::Operand &operand);

private:
  enum class ScopeKind { Open, Isolated };
  struct Scope {
    uint32_t id;
    ScopeKind kind;
    std::string_view what; // "loop", "if_", "reduce": for messages
  };
  struct Entry {
    lang::Value value;
    uint32_t scope;
    std::string_view what;
  };
  class ScopeGuard;
  /// A break_if or continue_if of a turn; what follows it is in the other branch.
  struct TurnExit {
    TurnEnd end;
    mlir::scf::IfOp branch; // without results and terminators yet
    llvm::SmallVector<mlir::Value> next;
  };
  /// The body of a loop that is being traced.
  struct Turn {
    uint32_t scope;
    llvm::SmallVector<lang::Value> carried;
    std::vector<TurnExit> exits; // each within the other branch of the one before
  };
  /// What a turn hands on. The flags are null where nothing of the kind may happen.
  struct TurnResult {
    llvm::SmallVector<mlir::Value> next;
    mlir::Value breaks, continues;
  };

  ValueId add(const lang::Value &value);
  std::vector<ValueId> add(mlir::ValueRange results, llvm::ArrayRef<lang::Value> like);
  mlir::FailureOr<lang::Value> valueOf(ValueId id);
  mlir::FailureOr<lang::Operand> operandOf(const Argument &argument, std::string_view user);
  mlir::FailureOr<lang::IndexPart> indexPartOf(const IndexPart &part);
  /// A number in an index; nullopt for None.
  mlir::FailureOr<std::optional<lang::Int>> indexNumber(const Argument &number);
  lang::Combiner combinerOf(Argument::Combiner combiner, std::string_view user);
  std::string sourceLine(const std::string &file, int line);

  /// The values a loop starts from.
  mlir::FailureOr<llvm::SmallVector<lang::Value>> initialValues(std::span<const Argument> initial,
                                                                std::string_view user);
  /// What a body yields, checked against the types carried into it.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  yielded(const BodyResult &result, llvm::ArrayRef<lang::Value> carried, std::string_view user);
  /// Traces the body of a loop; the builder then stands at its end.
  mlir::FailureOr<TurnResult> recordTurn(llvm::ArrayRef<lang::Value> carried, std::string_view user,
                                         llvm::function_ref<BodyResult()> body);
  /// Ends the branches of an exit, of which the other one hands on `result`, which becomes what
  /// both hand on.
  void closeExit(TurnExit &exit, TurnResult &result);
  /// The value of one side of an operator.
  mlir::FailureOr<lang::Operand> sideOf(const Argument &argument, const Argument &other,
                                        std::string_view op);
  bool isNullPointer(const Argument &argument, std::string_view user);
  mlir::FailureOr<lang::Operand> operatorOn(std::string_view op, const lang::Operand &lhs,
                                            const lang::Operand &rhs);
  /// What `build` makes: a constant with its type where constants are behind it, else a value.
  Argument constantOrValue(llvm::function_ref<mlir::FailureOr<lang::Operand>()> build);
  /// `argument` as a value of `type`, when it is a bare number of that kind, which must fit; else
  /// as a value of its own type.
  mlir::FailureOr<lang::Value> valueLike(const Argument &argument, const lang::Type *type,
                                         std::string_view user);
  mlir::FailureOr<lang::Value> valueLike(const lang::Operand &operand, const lang::Type *type,
                                         std::string_view user);

  lang::Semantics &sema;
  lang::DiagnosticSink &sink;
  std::vector<Entry> values;
  std::vector<Scope> scopes;
  std::vector<Turn> turns;
  uint32_t lastScope = 0;
  bool hasFailed = false;
  std::map<std::string, std::vector<std::string>> files;
};

} // namespace sectile::cpp
