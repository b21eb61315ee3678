//===-- Evaluator.h - staged evaluation of one kernel -----------------------------------------===//
// Walks the syntax once, in program order. Expressions give operands: constants are computed here,
// values become IR through lang/Semantics and lang/Builtins. Failure means that a diagnostic was
// reported, or that a name was used whose computation had failed before; either way the statement
// is skipped and what it would have assigned is poisoned, so one mistake gives one message.
//
// Statements give an `Exit`: how control leaves them. An early `return` under a condition known
// only at run time makes the rest of the function the other branch:
//
//   if n == 0:           scf.if %n_is_0 -> (T) {
//     return a             yield a
//   b = a + 1            } else {
//   return b               b = a + 1; yield b
//                        }
//
// Where that would duplicate the rest (a return nested deeper), the branch yields a flag beside its
// value, and the rest runs under "flag not set". `break` and `continue` are exits, too, and what
// follows them is guarded in the same way. What a loop becomes is decided when its body has been
// evaluated: an scf.for where no turn leaves the loop, else an scf.while that carries whether it
// goes on (LoopExits).
//
// Files: Evaluate (entry, names, errors), Expressions, Attributes, Statements, Branches, Loops,
// LoopExits, Calls (binding and inlining), PythonBuiltins.
#pragma once

#include "frontend/python/ConstantOperations.h"
#include "frontend/python/Evaluate.h"
#include "frontend/python/Scope.h"
#include "frontend/python/ValueShape.h"
#include "lang/builtins/Builtins.h"
#include "lang/builtins/Indexing.h"
#include "lang/semantics/CountedLoop.h"
#include "lang/semantics/EarlyEnd.h"
#include "lang/semantics/LoopHints.h"
#include "lang/semantics/Semantics.h"

namespace sectile::python {

/// How control leaves a statement or block.
struct Exit {
  /// In one way for sure, or in one of several that are told apart at run time.
  unsigned ways = kFalls;
  /// Of several ways each but falling has a flag: whether control leaves in this way.
  mlir::Value breaks, continues, returns;
  /// What the function returns where it does.
  lang::Operand returned;
  lang::SourceRange returnRange;

  static Exit by(Way way) {
    Exit exit;
    exit.ways = way;
    return exit;
  }
  static Exit falls() { return {}; }
  bool may(Way way) const { return ways & way; }
  bool surely(Way way) const { return ways == way; }
  mlir::Value &flag(Way way) {
    return way == kBreaks ? breaks : way == kContinues ? continues : returns;
  }
  /// The exit where control leaves in one of `some` ways.
  Exit where(unsigned some) const;
};

/// Evaluates what follows a statement in its block; called at most once.
using Rest = llvm::function_ref<Exit()>;

/// Arguments of a call after `*tuple` has been expanded.
struct Arguments {
  std::vector<lang::Operand> positional;
  std::vector<lang::NamedOperand> named;

  /// The argument by position or name; null when absent.
  const lang::Operand *find(size_t position, llvm::StringRef name) const;
};

class Evaluator {
public:
  using Operand = lang::Operand;
  using Constant = lang::Constant;
  using Result = mlir::FailureOr<Operand>;

  Evaluator(lang::Semantics &sema, Environment &environment, lang::DiagnosticSink &sink)
      : sema(sema), environment(environment), constants(environment), sink(sink) {}

  /// Binds the parameters and evaluates the body of the outermost function.
  void evaluateKernel(const ast::Function &kernel, const lang::KernelSignature &signature,
                      llvm::ArrayRef<Operand> parameters);
  /// Text of a line of any function evaluated so far.
  std::string sourceLine(const std::string &file, int line) const;

private:
  //-- Evaluate.cpp: where we are, names, errors ---------------------------------------------------
  /// One function being evaluated; inlined calls stack up.
  /// What a caller wants of a function. One that is called as a statement may return something on
  /// one path and nothing on another.
  enum class Wanted { Result, Effects };

  struct Frame {
    const ast::Function *function;
    std::vector<std::string> locals;
    /// Nesting of the caller, where the body begins.
    int depthAtEntry = 0;
    /// Set in the __init__ of an aggregate, which gives the fields of its first parameter: they are
    /// bindings of their own, "self.x".
    lang::TupleClassRef constructed = nullptr;
    std::string self = {};
    Wanted wanted = Wanted::Result;
  };

  lang::SourceRange rangeOf(const ast::Position &position) const;
  void at(const ast::Position &position) { sema.at(rangeOf(position)); }
  /// The text of an expression of the current function, on one line; cut where it is long.
  std::string sourceText(const ast::Position &position) const;
  mlir::LogicalResult error(const ast::Position &position, std::string message,
                            std::string help = "");
  /// Counts work and nesting; fails (reported once) where a limit is passed.
  mlir::LogicalResult enter(const ast::Position &position);
  struct DepthGuard {
    int &depth;
    ~DepthGuard() { --depth; }
  };
  bool isBroken() const { return gaveUp; }

  Result lookUp(const ast::Expr &name);
  void assign(llvm::StringRef name, Operand operand, const ast::Position &position);
  void poison(llvm::ArrayRef<std::string> names);
  void forget(llvm::StringRef name, std::string reason, std::string help);
  /// "; did you mean 'x'?" as a remedy, or `otherwise`.
  std::string suggestion(const std::string &name, const std::vector<std::string> &known,
                         std::string otherwise = "") const;

  //-- Expressions.cpp -----------------------------------------------------------------------------
  Result evaluate(const ast::Expr &expr);
  Result evaluateUnary(const ast::Expr &expr);
  Result evaluateBoolOp(const ast::Expr &expr);
  Result evaluateCompare(const ast::Expr &expr);
  /// The comparisons from number `link` on, `lhs` being the operand on the left of this one.
  Result evaluateLinks(const ast::Expr &expr, const Operand &lhs, size_t link);
  Result evaluateComprehension(const ast::Expr &expr);
  Result evaluateFormattedText(const ast::Expr &expr);
  Result evaluateFormattedValue(const ast::Expr &expr);
  mlir::LogicalResult runComprehensionClause(const ast::Expr &expr, size_t clause,
                                             std::vector<Operand> &items);
  Result binary(const std::string &op, const Operand &lhs, const Operand &rhs,
                const ast::Position &position);
  Result compare(const std::string &op, const Operand &lhs, const Operand &rhs,
                 const ast::Position &position);
  /// Whether there is a constant behind an operand, or behind each item of a tuple.
  bool isKnown(const Operand &operand);
  /// The constant behind an operand, where only a constant will do: `what` names the place.
  mlir::FailureOr<Constant> requireConstant(const Operand &operand, const ast::Position &position,
                                            const std::string &what);
  /// The operand that an operation on constants gives; its error is reported at `position`.
  Result computed(ConstantResult result, const ast::Position &position);
  /// Whether a constant counts as true; fails where its class does not say.
  mlir::FailureOr<bool> truthOf(const Constant &constant, const ast::Position &position);
  /// All items of something iterable at compile time.
  mlir::FailureOr<std::vector<Operand>> iterate(const Operand &operand,
                                                const ast::Position &position);
  /// An item per expression, `*x` expanded.
  mlir::FailureOr<std::vector<Operand>> evaluateItems(llvm::ArrayRef<ast::ExprPtr> expressions);

  //-- Attributes.cpp ------------------------------------------------------------------------------
  Result evaluateAttribute(const ast::Expr &expr);
  Result attributeOf(const Operand &object, const std::string &name, const ast::Expr &expr);
  /// "self.x" where `expr` is a field of what the current __init__ makes, else "".
  std::string constructedField(const ast::Expr &expr) const;
  /// What the current __init__ has made, where all fields are given.
  Result constructedSelf(const ast::Position &position);
  mlir::LogicalResult assignField(const ast::Expr &target, const Operand &operand);
  Result attributeOfValue(const lang::Value &value, const std::string &name, const ast::Expr &expr);
  Result attributeOfDType(const lang::DType &dtype, const std::string &name, const ast::Expr &expr);
  Result evaluateSubscript(const ast::Expr &expr);
  /// The bounds of a slice; `owner` is indexed, "tuple" or "tile".
  mlir::FailureOr<lang::Slice> evaluateSlice(const ast::Expr &slice, const std::string &owner);
  /// One part of the index of a tile.
  mlir::FailureOr<lang::IndexPart> evaluateIndexPart(const ast::Expr &part);
  mlir::FailureOr<lang::Int> integerIndex(const Operand &index, const ast::Position &position,
                                          const std::string &owner);
  /// Parts of a tile by constants, and new dimensions.
  Result indexTile(const lang::Value &value, const ast::Expr &subscript);
  /// New dimensions of a tile of pointers; anything else is refused, with the load to write.
  Result indexPointer(const lang::Value &value, const ast::Expr &subscript);
  /// "x + i" for x[i], x being a pointer: the address that is meant.
  std::string addressText(const ast::Expr &subscript) const;
  /// Whether `expr` is the .shape of a pointer or of a number; evaluates the object once more, so
  /// only for errors.
  bool isShapeOfScalar(const ast::Expr &expr);
  mlir::LogicalResult refuseShape(const ast::Expr &shape);
  Result indexTuple(const std::vector<Operand> &items, const ast::Expr &index,
                    const ast::Position &position);
  /// "module.name" when the expression is a chain of attributes of a name, else "".
  static std::string dottedPath(const ast::Expr &expr);

  //-- Statements.cpp ------------------------------------------------------------------------------
  /// What comes after the last statement of a block.
  enum class BlockEnd { Falls, ReturnsNone };
  Exit evaluateBlock(llvm::ArrayRef<ast::StmtPtr> statements, BlockEnd end = BlockEnd::Falls);
  /// `restTaken` is set when `rest` was evaluated inside a branch.
  Exit evaluateStatement(const ast::Stmt &stmt, bool hasRest, Rest rest, bool &restTaken);
  mlir::LogicalResult evaluateAssign(const ast::Stmt &stmt);
  mlir::LogicalResult evaluateAnnotatedAssign(const ast::Stmt &stmt);
  mlir::LogicalResult evaluateAugmentedAssign(const ast::Stmt &stmt);
  mlir::LogicalResult evaluateAssert(const ast::Stmt &stmt);
  mlir::FailureOr<Exit> evaluateReturn(const ast::Stmt &stmt);
  mlir::LogicalResult assignTarget(const ast::Expr &target, const Operand &operand);
  /// x[i] = value, or with `op` x[i] += value.
  mlir::LogicalResult refuseItemAssignment(const ast::Expr &target, const std::string &op,
                                           const ast::Expr &value);
  mlir::LogicalResult unpack(const ast::Expr &target, const Operand &operand);
  /// What assigning to a plain variable makes of an operand: numbers become typed scalars.
  Result decay(const Operand &operand, const ast::Position &position);

  //-- Branches.cpp --------------------------------------------------------------------------------
  /// One side of a run-time branch, evaluated.
  struct Branch {
    mlir::Block *block;
    Exit exit;
    Scope scope;
  };
  mlir::FailureOr<Exit> evaluateIf(const ast::Stmt &stmt, bool hasRest, Rest rest, bool &restTaken);
  /// Runs `rest` only where `exit` falls. Where it leaves by `caught`, control goes on behind
  /// `rest`.
  Exit guardRest(const Exit &exit, const ast::Position &position, Rest rest,
                 std::optional<Way> caught = std::nullopt);
  /// Where control leaves in the given way, it goes on behind the statement instead.
  void catchExit(Exit &exit, Way way);
  /// The names as they are where control leaves in one of these ways.
  Scope namesWhere(const Scope &scope, unsigned ways);
  /// The value of `lhs and rhs()`, `or` or a chain of comparisons ("&"), lhs being a scalar known
  /// at run time. Where `lhs` decides, nothing of `rhs` happens.
  Result shortCircuit(const std::string &op, const Operand &lhs, const ast::Position &position,
                      llvm::function_ref<Result()> rhs);
  /// Ends both branches of `op`, an scf.if without results, and replaces it by one that yields what
  /// they assigned or returned.
  Exit mergeBranches(mlir::scf::IfOp op, Branch then, Branch orelse, const Scope &before,
                     const ast::Position &position);
  void mergeNames(Branch &then, Branch &orelse, const Scope &before, const ast::Position &position,
                  BranchEnd &endOfThen, BranchEnd &endOfElse,
                  std::vector<std::pair<std::string, ValueShape>> &merged);
  Result evaluateConditional(const ast::Expr &expr);
  Branch evaluateBranch(mlir::Region &region, const Scope &before, llvm::function_ref<Exit()> body);

  //-- Loops.cpp -----------------------------------------------------------------------------------
  struct LoopRange; // start, end, step and options of range()
  /// Variables a loop carries, with their shapes.
  struct Carried {
    std::vector<std::string> names;
    std::vector<ValueShape> shapes;
    llvm::SmallVector<mlir::Value> initial;
    llvm::SmallVector<mlir::Type> types() const;
  };
  /// Names that a loop carries and that a turn may give another type: nobody takes what it carries.
  struct TypeChanges {
    std::vector<std::string> allowed, made;
    mlir::ValueRange carried; // the loop's arguments
  };
  mlir::FailureOr<Exit> evaluateFor(const ast::Stmt &stmt);
  mlir::FailureOr<Exit> evaluateRuntimeFor(const ast::Stmt &stmt, const LoopRange &range);
  Exit evaluateUnrolled(const ast::Stmt &stmt, llvm::ArrayRef<Operand> items);
  mlir::FailureOr<Exit> evaluateWhile(const ast::Stmt &stmt);
  mlir::FailureOr<LoopRange> bindRange(const std::string &kind, const Arguments &arguments,
                                       const ast::Position &position);
  /// Adds the attribute of a hint that `user` ("range") was given.
  mlir::LogicalResult addLoopHint(llvm::SmallVectorImpl<mlir::NamedAttribute> &hints,
                                  const lang::LoopHint &hint, const Operand &operand,
                                  const std::string &user, const ast::Position &position);
  /// Where tl.condition puts the hints of the while loop whose condition is evaluated.
  llvm::SmallVectorImpl<mlir::NamedAttribute> *whileHints = nullptr;
  mlir::FailureOr<Carried> findCarried(llvm::ArrayRef<std::string> assigned,
                                       const ast::Position &position);
  void bindCarried(const Carried &carried, mlir::ValueRange values, const Scope &before);
  /// The carried variables' values at the end of a body; failure is reported with both types.
  mlir::LogicalResult flattenCarried(const Carried &carried, const ast::Stmt &loop,
                                     const Scope &before,
                                     llvm::SmallVectorImpl<mlir::Value> &values,
                                     TypeChanges *changes = nullptr);
  void leaveLoop(const Carried &carried, mlir::ValueRange results, const Scope &before,
                 llvm::ArrayRef<std::string> assigned, const ast::Stmt &loop, bool surelyRuns);
  mlir::FailureOr<std::vector<Operand>> constantRange(const LoopRange &range,
                                                      const ast::Position &position);

  //-- LoopExits.cpp -------------------------------------------------------------------------------
  /// What a loop hands on beside the variables that it carries, found when its body has been
  /// evaluated: whether it was left by a break, whether and what the function returns, and
  /// variables that are known behind the loop.
  struct Extras {
    /// What they are before the loop, and after a turn.
    llvm::SmallVector<mlir::Value> initial, next;
    bool hasBroken = false;
    std::optional<ValueShape> returned;
    struct Name {
      std::string name;
      ValueShape shape;
      /// It is known only where a break has left the loop.
      bool isOfBreaks;
    };
    std::vector<Name> names;
  };
  /// Adds what exits from the body take along. Values before the loop are made in front of it.
  void addExits(Extras &extras, const ast::Stmt &stmt, const Exit &exit, bool isEndless,
                mlir::Operation *loop);
  /// Adds names that are read behind the loop, though it does not carry them: those that are known
  /// behind it, as it is left in one of the ways `known`, and those that had the same type before.
  void addNames(Extras &extras, const ast::Stmt &stmt, llvm::ArrayRef<std::string> names,
                const Carried &carried, const Scope &before, unsigned known, mlir::Operation *loop);
  /// Makes the names and the exit of a loop of what it has handed on.
  Exit takeExtras(const Extras &extras, const Exit &exit, bool isEndless, mlir::ValueRange results,
                  const ast::Stmt &stmt);
  /// Places the body of a loop that makes one turn at most: where `condition` holds, or always if
  /// there is none. `values` are those of its arguments, and the names are `withoutTurn` where it
  /// does not run. The loop goes away.
  Exit placeOneTurn(const ast::Stmt &stmt, mlir::Operation *loop, mlir::Block *body,
                    mlir::ValueRange values, mlir::Value condition, Exit exit,
                    const Scope &withoutTurn);
  /// What follows a loop: its `else` where no break has left it, and then the statements behind,
  /// where breaks lead, too.
  Exit finishLoop(Exit exit, const ast::Stmt &stmt, bool isEndless = false);
  /// Whether control leaves in one of the ways but falling.
  mlir::Value leavingFlag(const Exit &exit);

  //-- Calls.cpp -----------------------------------------------------------------------------------
  Result evaluateCall(const ast::Expr &expr);
  mlir::FailureOr<Arguments> evaluateArguments(const ast::Expr &call);
  Result call(const Constant &callee, Arguments arguments, const ast::Expr &expr);
  Result callLanguage(const std::string &name, Arguments arguments, const ast::Expr &expr);
  /// Calls device_print with the source text of its arguments. The first `addedCount` arguments are
  /// not in the source.
  Result callPrint(const Arguments &arguments, const ast::Expr &expr, size_t addedCount);
  Result callMethod(const Operand &object, const ast::Expr &expr);
  /// An instance of a class of named tuples, of whatever operands.
  Result makeNamedTuple(const Environment::NamedTupleClass &made, const Arguments &arguments,
                        const ast::Position &position);
  Result callObject(const Constant &callee, const Arguments &arguments, const ast::Expr &expr);
  Result callFunction(const lang::FunctionRef &reference, const Arguments &arguments,
                      const ast::Position &position);
  /// callFunction; `constructed`: the function is the __init__ of this class, and the result the
  /// instance.
  Result callFunction(const lang::FunctionRef &reference, const Arguments &arguments,
                      const ast::Position &position, const lang::TupleClassRef &constructed,
                      Wanted wanted);
  /// An instance of a class of named tuples, or of an aggregate by way of its __init__.
  Result makeInstance(const Environment::NamedTupleClass &made, const Constant &callee,
                      const Arguments &arguments, const ast::Position &position);
  /// What a field holds of an operand: a number becomes a typed scalar, unless it is constexpr.
  Result asField(const lang::TupleClassRef &tupleClass, size_t field, const Operand &operand,
                 const ast::Position &position);
  /// The attribute of the class that an aggregate's method is; nullopt where it has none, or is no
  /// aggregate.
  std::optional<Constant> methodOf(const lang::TupleClassRef &tupleClass, const std::string &name);
  /// What an aggregate's own @jit method for an operator gives ("__add__" of the first operand, or
  /// of the second the reflected one); a diagnostic where an aggregate has none, since its fields
  /// are no tuple. Nothing where no operand is an aggregate.
  std::optional<Result> ownOperator(const std::string &op, llvm::ArrayRef<Operand> operands,
                                    const ast::Position &position);
  mlir::FailureOr<Scope> bindArguments(const ast::Function &function, const Arguments &arguments,
                                       const ast::Position &position);
  /// Functions among the arguments of a language operation become combiners.
  Operand asCombiner(const Constant &function, const ast::Position &position);

  //-- PythonBuiltins.cpp --------------------------------------------------------------------------
  /// len, min, range, isinstance ... and the language's compile-time functions; nullopt when `name`
  /// is none of them.
  std::optional<Result> callPython(const std::string &name, const Arguments &arguments,
                                   const ast::Expr &expr);
  Result callMinMax(const std::string &name, const Arguments &arguments, const ast::Expr &expr);
  Result callIsInstance(const Arguments &arguments, const ast::Expr &expr);
  Result callStaticAssert(const Arguments &arguments, const ast::Expr &expr);
  Result callAttributeQuery(const std::string &name, const Arguments &arguments,
                            const ast::Expr &expr);

  lang::Semantics &sema;
  Environment &environment;
  ConstantOperations constants;
  lang::DiagnosticSink &sink;

  Scope scope;
  std::vector<Frame> frames;
  /// Keeps the syntax of inlined functions alive, and finds source lines.
  std::vector<std::shared_ptr<const ast::Function>> inlined;
  std::vector<const ast::Function *> sources;
  /// Functions whose evaluation failed; later calls do not repeat their errors.
  std::vector<uint64_t> failedFunctions;
  /// The expression that was last evaluated as a statement.
  const ast::Expr *unusedCall = nullptr;
  uint64_t nextVersion = 1;
  int depth = 0;
  int64_t work = 0;
  bool gaveUp = false;
};

struct Evaluator::LoopRange {
  Operand start, end, step;
  /// tile.num_stages and the like, for scf.for.
  llvm::SmallVector<mlir::NamedAttribute, 2> hints;
};

} // namespace sectile::python
