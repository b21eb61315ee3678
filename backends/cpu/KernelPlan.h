//===-- KernelPlan.h - which loop nests a kernel becomes --------------------------------------===//
// Decides, before any code is emitted, which tile values live in buffers and which loop nests
// compute what. Softmax of a row (x loaded, m = max x, e = exp(x - m), s = sum e, e / s stored):
//
//   nest 1   load x, reduce max                       x is cheap to load again, so it stays virtual
//   nest 2   load x, e = exp(x - m) kept, reduce sum  e is dear and needed twice: materialised here
//   nest 3   e / s, store
//
// Words: a *root* is something that needs a nest (a store, a reduction, a value to be kept). Roots
// over the same iteration space share a nest where dependences and memory order allow. A value is
// *dear* when computing it again costs more than keeping it.
//
// Rules, cited where they apply:
//   (Order)     a load is not moved across a write that follows it in the program.
//   (Overlap)   inside one nest a load and a store through the same pointer value meet only in the
//               same iteration, if all its elements are known to be different addresses; through
//               different arguments they are taken never to meet, and the pair is noted as a hazard:
//               a launch with such arrays overlapping gets a plan made for `argumentsOverlap`, which
//               takes all arguments for one.
//   (Region)    a dear value used inside a loop or branch is kept before it.
//   (Enlarge)   a dear value that is broadcast is kept in its own shape first.
//   (Spread)    a value read at many coordinates for one of the nest is kept: chains in which each
//               value meets its own rearrangement would double the code at every link.
#pragma once

#include "backends/plain/KernelImage.h"
#include "lang/tile/TileDialect.h"
#include "optimizer/IndexAnalysis.h"
#include "optimizer/PointerProvenance.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

#include <map>
#include <memory>

namespace sectile::cpu {

struct TileBuffer;

struct Root {
  enum class Kind : uint8_t { Store, Reduce, Keep, Assert, Atomic };
  Kind kind;
  mlir::Operation *op = nullptr; // of all but a keep
  mlir::Value value;             // of a keep
  /// Where a keep writes; null means the buffer of the value.
  TileBuffer *target = nullptr;
};

struct Nest {
  llvm::SmallVector<int64_t, 3> shape;
  /// The axis of its reductions; -1 when it has none.
  int reduceAxis = -1;
  llvm::SmallVector<Root, 2> roots;
  /// Index in its block of the op at which it runs.
  double position = 0;
  /// One element at a time.
  bool isScalar = false;

  /// The operation that the nest is first made for, for its place in the source.
  mlir::Operation *sourceOp() const {
    if (roots.empty())
      return nullptr;
    return roots[0].op ? roots[0].op : roots[0].value.getDefiningOp();
  }
};

/// One thing to do in a block, in order.
struct Step {
  mlir::Operation *op = nullptr; // an op that is emitted by itself ...
  const Nest *nest = nullptr;    // ... or a nest
};

struct KernelPlan {
  std::map<mlir::Block *, std::vector<Step>> steps;
  /// Values in buffers that a nest writes (`Keep` roots).
  llvm::DenseSet<mlir::Value> kept;
  std::vector<std::unique_ptr<Nest>> nests;
  /// Which argument a pointer comes from. Made by planKernel.
  std::optional<optimizer::PointerProvenance> provenance;
  /// Facts of the kernel's numbers; null where planning needed none.
  std::unique_ptr<optimizer::IndexAnalysis> indexFacts;
  /// Where rule (Overlap) relied on arguments being apart.
  std::vector<backends::OverlapHazard> overlapHazards;
  /// Which dots may accumulate in the buffer that holds their accumulator.
  llvm::DenseSet<mlir::Operation *> dotsInPlace;
};

KernelPlan planKernel(mlir::func::FuncOp function, bool argumentsOverlap = false);

} // namespace sectile::cpu
