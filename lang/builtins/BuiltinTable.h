//===-- BuiltinTable.h - how *Ops.cpp fill the table of operations ----------------------------===//
// Internal to lang/builtins. Each family of operations registers its entries with a signature
// written as in Python, which is also what messages quote:
//
//   table.add("gather(src, index, axis)",
//             [](Arguments &args) -> FailureOr<Operand> { ... }, kMethod);
//
// `*name` takes the remaining positional arguments; what follows it can only be given by keyword.
// Defaults are None, True, False, numbers, quoted text, () and names of dtypes.
#pragma once

#include "lang/builtins/Builtins.h"
#include "lang/semantics/BlockValues.h"
#include "lang/tile/TileDialect.h"

namespace sectile::lang {

/// The bound arguments of one call, in the order of the parameters. Accessors report what is wrong
/// with an argument in the name of the operation.
class Arguments {
public:
  Arguments(Semantics &sema, llvm::StringRef operation, llvm::ArrayRef<std::string> names,
            std::vector<Operand> operands)
      : sema(sema), operation(operation), names(names), operands(std::move(operands)) {}

  const Operand &operator[](size_t index) const { return operands[index]; }
  bool isNone(size_t index) const { return operands[index].isNone(); }

  /// A number or tile; literals become scalars.
  mlir::FailureOr<Value> value(size_t index);
  /// The first `count` arguments.
  mlir::FailureOr<llvm::SmallVector<Value>> values(size_t count);
  /// A value with at least one dimension.
  mlir::FailureOr<Value> tile(size_t index);
  /// Known at compile time:
  mlir::FailureOr<int64_t> integer(size_t index);
  mlir::FailureOr<bool> flag(size_t index);
  mlir::FailureOr<std::string> text(size_t index);
  mlir::FailureOr<DType> dtype(size_t index);
  /// A tuple of integers, or one integer; for `*shape` also a tuple in a tuple.
  mlir::FailureOr<llvm::SmallVector<int64_t, 4>> integers(size_t index);
  /// An axis in [-rank, rank), made non-negative.
  mlir::FailureOr<int64_t> axis(size_t index, size_t rank);

  /// "load: " + message.
  mlir::LogicalResult error(const llvm::Twine &message, std::string help = "");

  Semantics &sema;
  llvm::StringRef operation;

private:
  std::string describe(size_t index) const; // "load: `mask`"

  llvm::ArrayRef<std::string> names;
  std::vector<Operand> operands;
};

using BuildFunction = std::function<mlir::FailureOr<Operand>(Arguments &)>;
enum MethodKind { kFunction, kMethod, kMethodOfHalves };

class BuiltinTable {
public:
  void add(llvm::StringRef signature, BuildFunction build, MethodKind kind = kFunction);

  struct Entry {
    BuiltinInfo info;
    std::vector<std::optional<Constant>> defaults; // per parameter; unset: required
    std::optional<size_t> variadic;                // index of the `*name` parameter
    BuildFunction build;
  };
  std::vector<Entry> entries;
};

//-- The families, each in the file of its name ----------------------------------------------------
void addCreationOps(BuiltinTable &table);
void addShapeOps(BuiltinTable &table);
void addMemoryOps(BuiltinTable &table);
void addBlockOps(BuiltinTable &table);
void addAtomicOps(BuiltinTable &table);
void addArithmeticOps(BuiltinTable &table);
void addMathOps(BuiltinTable &table);
void addLibdeviceOps(BuiltinTable &table);
void addReduceOps(BuiltinTable &table);
void addSortOps(BuiltinTable &table);
void addMapOps(BuiltinTable &table);
void addDotOps(BuiltinTable &table);
void addScaledDotOps(BuiltinTable &table);
void addRandomOps(BuiltinTable &table);
void addHintOps(BuiltinTable &table);
void addDebugOps(BuiltinTable &table);

//-- Operations that other families build on -------------------------------------------------------
mlir::FailureOr<Value> expandDims(Semantics &sema, const Value &value, int64_t axis);
/// Without extents in `shape`, the result is the one element as a scalar.
mlir::FailureOr<Value> reshape(Semantics &sema, const Value &value, llvm::ArrayRef<int64_t> shape,
                               llvm::StringRef operation);
/// An argument of fp32 or fp64: there is no narrower arithmetic to round as a user would expect.
mlir::FailureOr<Value> wideFloat(Arguments &args, size_t index);
/// Reports that `pointer`, a value, is no pointer; the remedy names the parameters that it is made
/// of.
mlir::LogicalResult notAPointer(Arguments &args, const Value &pointer);
enum class AtomicUpdate { Add, Maximum, Minimum, And, Or, Xor, Exchange };
/// What the update is called in the IR; reports element types that have no such atomic.
mlir::FailureOr<tile::RmwKind> atomicKind(Arguments &args, AtomicUpdate update, DType element);
/// Which block of an array an operation touches, and how.
struct BlockAccess {
  ArrayOfBlocks array;
  llvm::SmallVector<Value, 4> offsets;
  /// The dimensions in which elements may lie outside the array; all where nothing is said.
  std::optional<llvm::SmallVector<bool, 4>> checked = {};
  std::string padding = {}; // "", "zero" or "nan"
  tile::CacheModifier cache = tile::CacheModifier::None;
  tile::EvictionPolicy eviction = tile::EvictionPolicy::Normal;
};
mlir::FailureOr<Operand> loadBlock(Arguments &args, const BlockAccess &access);
/// `value`: the index of the argument that is stored.
mlir::FailureOr<Operand> storeBlock(Arguments &args, size_t value, const BlockAccess &access);
enum class Extremum { Minimum, Maximum };
/// `lhs` and `rhs` have one dtype and one shape already.
Value buildExtremum(Semantics &sema, Extremum which, const Value &lhs, const Value &rhs,
                    bool propagateNan);
mlir::FailureOr<Value> select(Semantics &sema, const Value &condition, const Operand &whenTrue,
                              const Operand &whenFalse, llvm::StringRef operation);

} // namespace sectile::lang
