//===-- Semantics.h - the meaning of every language operation, once ---------------------------===//
// Both front ends build tile IR only through this class: promotion, broadcasting, shape and type
// checks and their diagnostics live here and nowhere else, so the same kernel from Python and from
// C++ gives the same IR. Rules follow Triton's release language (3.6-3.8), traps included; see
// lang/README.md.
//
// A front end sets where it is (`at`), then calls. A call that fails has reported why to the sink
// and returns failure(); nothing is thrown.
//
//   Semantics sema(builder, sink);
//   sema.at(location);
//   FailureOr<Operand> sum = sema.binary(BinaryOperator::Add, x, y);
#pragma once

#include "lang/plain/Diagnostics.h"
#include "lang/plain/KernelSignature.h"
#include "lang/plain/Vocabulary.h"
#include "lang/semantics/Value.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <set>

namespace sectile::lang {

enum class BinaryOperator {
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Modulo,
  Power,
  BitAnd,
  BitOr,
  BitXor,
  ShiftLeft,
  ShiftRight,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  LogicalAnd,
  LogicalOr,
  MatrixMultiply,
};
enum class UnaryOperator { Plus, Negate, BitNot, LogicalNot };

class Semantics {
public:
  Semantics(mlir::OpBuilder &builder, DiagnosticSink &sink) : builder(builder), sink(sink) {}

  //-- Where we are --------------------------------------------------------------------------------
  /// Location of the ops built from now on, and of errors reported without a range. The caller
  /// chain is kept by the front end through `callers`; call at() again after changing it or
  /// `function`.
  void at(const SourceRange &range);
  const SourceRange &range() const { return currentRange; }
  /// The MLIR location of `currentRange`, inlined through `callers`.
  mlir::Location location() const;
  /// Function being evaluated, and the calls that led to it (innermost first).
  std::string function;
  std::vector<CallSite> callers;
  /// Text of a line of a source file, for carets; empty when unknown. Set by the front end.
  std::function<std::string(const std::string &file, int line)> sourceLine;
  /// What the source calls the positional arguments of the call being built, "" where it does not
  /// say; for device_print. Set by the front end.
  std::vector<std::string> argumentTexts;
  /// In which language remedies are written. Set by the front end.
  Vocabulary words = kPythonWords;
  /// Where static_print writes; standard output unless the front end sets it.
  std::function<void(const std::string &text)> staticPrint;

  /// As in KernelSignature; sanitizeOverflow: of the operators a kernel writes (`binary`), not of
  /// what operations are made of (`arithmetic`).
  bool sanitizeOverflow = false;
  std::string dotPrecision = "tf32";
  int32_t warpCount = 4, cudaCapability = 0;
  bool printsAsTriton = false;

  mlir::OpBuilder &builder;

  /// Reports at the current range. Always returns failure().
  mlir::LogicalResult error(std::string message, std::string help = "");
  void warning(std::string message, std::string help = "");
  /// As error(), but in silence where an error of that remedy has been reported: it is about one
  /// argument of the kernel, however often that is used.
  mlir::LogicalResult errorOnce(std::string message, std::string help);
  /// `what` is no number and no tile: says so, with a remedy for lists passed as arrays.
  mlir::LogicalResult notATile(const llvm::Twine &what, const Operand &operand);

  //-- Where values come from, for remedies --------------------------------------------------------
  /// The parameter of the kernel that the value is, or that the items of a tuple belong to; "" for
  /// anything else.
  std::string parameterOf(const Operand &operand) const;
  /// The parameters of the kernel that a value is computed from by arithmetic alone.
  std::vector<std::string> parametersBehind(const Operand &operand) const;
  /// "'x' is a pointer here: it was given an array"; "" where `operand` is no pointer, or no
  /// parameter.
  std::string pointerRemedy(const Operand &operand) const;
  /// How `operand` becomes known at compile time: "declare the parameter as `n: tl.constexpr`".
  std::string constantRemedy(const Operand &operand) const;

  /// A type in the user's words: "fp32[128]" in Python, "f32[128]" in C++.
  std::string nameOf(DType dtype) const { return words.found(dtype); }
  std::string nameOf(const Type &type) const {
    return type.isScalar() ? nameOf(type.dtype) : nameOf(type.dtype) + "[" + type.shapeName() + "]";
  }

  //-- Types ---------------------------------------------------------------------------------------
  mlir::Type irType(DType dtype) const;
  mlir::Type irType(const Type &type) const;

  //-- Constants into values -----------------------------------------------------------------------
  /// A scalar value: int -> the smallest of i32/u32/i64/u64 that holds it, float -> fp32 (fp64
  /// outside its normal range), bool -> int1. Values pass through. Anything else is an error naming
  /// `what`.
  mlir::FailureOr<Value> toValue(const Operand &operand, llvm::StringRef what = "operand");
  /// The constant behind a literal, or behind a scalar value that follows from `arith.constant`s by
  /// arithmetic alone (N // 2 * 2 of an assigned N); else nullopt. Types stay what they are.
  std::optional<Constant> asConstant(const Operand &operand) const;

  //-- Operators -----------------------------------------------------------------------------------
  /// At least one side is a value (constants among themselves are the front end's arithmetic).
  mlir::FailureOr<Operand> binary(BinaryOperator op, const Operand &lhs, const Operand &rhs);
  mlir::FailureOr<Operand> unary(UnaryOperator op, const Operand &operand);
  /// Integer `/` and `%` of C++: truncating, on promoted integers; `/` of floats as in binary().
  mlir::FailureOr<Operand> truncatingDivide(const Operand &lhs, const Operand &rhs);
  /// x[:, None] and x[None, :]: one entry per written index, true for None, false for a full slice.
  mlir::FailureOr<Operand> expandByIndex(const Value &value, llvm::ArrayRef<bool> isNone);
  /// An i1 scalar from the expression after `if`/`while`/`assert`.
  mlir::FailureOr<Value> condition(const Operand &operand, llvm::StringRef statement);

  /// As binary(), for callers that go on with the value.
  mlir::FailureOr<Value> arithmetic(BinaryOperator op, const Operand &lhs, const Operand &rhs);

  //-- Building blocks used by lang/builtins/ and by loops --------------------------------------------
  mlir::FailureOr<Value> cast(const Value &value, DType to, bool bitcast = false,
                              bool roundTowardZero = false);
  mlir::FailureOr<Value> broadcastTo(const Value &value, llvm::ArrayRef<int64_t> shape);
  /// Both sides to one shape; `operation` names the caller in errors.
  mlir::FailureOr<std::pair<Value, Value>> broadcast(const Value &lhs, const Value &rhs,
                                                     llvm::StringRef operation);
  /// The dtype that two operands promote to (lang/README.md, Promotion). `isDivision`: / and %.
  mlir::FailureOr<DType> promote(const Operand &lhs, const Operand &rhs, llvm::StringRef operation,
                                 bool isDivision);
  /// Returns what a comparison takes for a literal beside a value of `beside`. Other than in
  /// arithmetic the literal has a dtype of its own there, as Triton's `tensor.__lt__` has it, and
  /// takes part in the promotion: fp16 is compared with 0.1 in fp32, u32 with -1 as in C. It stays
  /// a literal where `beside` holds it exactly, since that gives the same truth value.
  mlir::FailureOr<Operand> comparedLiteral(const Constant &number, DType beside);
  /// promote, cast and broadcast together.
  mlir::FailureOr<std::pair<Value, Value>>
  unify(const Operand &lhs, const Operand &rhs, llvm::StringRef operation, bool isDivision = false);
  /// `number` is a bool, int or float that convertsTo(dtype); it is rounded to nearest even.
  Value constant(const Constant &number, DType dtype);
  /// The same as a tile, or as a scalar when the type has no extents.
  Value splatConstant(const Constant &number, const Type &type);
  /// Whether constant() can make `dtype` of it without loss other than rounding; reports if not.
  mlir::LogicalResult convertsTo(const Constant &number, DType dtype, llvm::StringRef operation);
  /// Whether constant() makes `dtype` of it without rounding.
  bool holdsExactly(DType dtype, const Constant &number);
  /// Zero where the dtype is a number, the null address of a pointer's bits otherwise.
  Value zero(const Type &type);
  /// value != 0, as int1; truth values pass through.
  mlir::FailureOr<Value> isNonZero(const Value &value);
  /// Returns the only element of a tile of one element as a scalar; a scalar as it is.
  Value extractElement(const Value &value);
  /// x < y of one dtype: signed, unsigned or ordered-float comparison.
  Value compare(BinaryOperator op, const Value &lhs, const Value &rhs);
  /// Positive extents, at most kMaxElements elements; reports if not.
  mlir::LogicalResult checkShape(llvm::ArrayRef<int64_t> shape, llvm::StringRef operation);

private:
  DiagnosticSink &sink;
  std::set<std::string> remediesReported; // by errorOnce
  SourceRange currentRange;
  mutable std::optional<mlir::Location> currentLocation; // of currentRange, once asked for
};

/// Elements a tile may have. Not a hardware limit: code for a tile this large is still correct, it
/// is only ever asked for by mistake.
inline constexpr int64_t kMaxElements = int64_t(1) << 24;

/// Whether the number needs at most rounding to become `dtype`: false for 300 as i8 and 1.5 as i32.
bool fitsDType(const Constant &number, DType dtype);
/// Returns the dtype that a number has by itself: the first of i32, u32, i64 and u64 that holds an
/// integer, fp32 or, outside of its normal range, fp64; nothing where there is none.
std::optional<DType> literalDType(const Constant &number);
/// "+", "//", "==": as in messages.
llvm::StringRef spelling(BinaryOperator op);
/// "128x64", or "scalar" for no extents.
std::string shapeText(llvm::ArrayRef<int64_t> shape);

} // namespace sectile::lang
