//===-- LayoutGraph.h - which tiles share a layout, and what it costs where they do not -------===//
// The kernel as layout assignment sees it. A *node* is a set of tiles that have one layout: the
// results of connected elementwise operations, a load with its operands, what a loop carries. A
// *link* leads from the node where a tile is made to the node that uses it and says how their
// layouts must relate for no data to move; where they do not, the tile is converted. What a matrix
// instruction reads in shared memory is put there from whatever layout it has, and never converted.
//
//   x = load p            node 0: the load (its cheap operands belong to no node)
//   y = x * 2 + 1         node 1: both operations          link 0 -> 1: same layout
//   s = reduce y axis 1   node 2: the reduction's operand  link 1 -> 2: same layout
//                         node 3: s                        link 2 -> 3: a slice
//   store q, y            node 4: the store                link 1 -> 4: same layout
//
// Cheap values (CheapValues.h) have no node. All costs count how often an operation runs (`trips`).
#pragma once

#include "lang/layout/TileLayout.h"
#include "optimizer/IndexAnalysis.h"
#include "optimizer/gpu/CheapValues.h"
#include "optimizer/gpu/GpuShape.h"

namespace sectile::optimizer {

/// A load, store or atomic, axis by axis.
struct MemoryAccess {
  struct Axis {
    int64_t width = 1;      // elements that one access of a thread may take; a power of two
    int64_t neighbours = 1; // length of the runs of elements that lie side by side in memory
    int64_t alignment = 1;  // of the bytes at which they start
    bool isConstant = false;
  };
  llvm::SmallVector<Axis, 3> axes;
  int64_t bytes = 4; // of one element
  bool isWrite = false;
  double cyclesPerLine = 0; // GpuShape::lineCycles
  double trips = 1;
};

/// A reduction or scan.
struct Combination {
  int axis = 0;
  bool isScan = false;
  int64_t bits = 32; // of all elements combined together
  double trips = 1;
};

struct LayoutNode {
  layout::Extents shape;
  double elementwiseOps = 0; // times trips
  llvm::SmallVector<MemoryAccess, 1> accesses;
  llvm::SmallVector<Combination, 1> combinations;
  tile::DotOp dot;                         // null unless this is a dot's result
  layout::MatrixInstructions instructions; // wantedInstructions(); empty: multiply-adds
  int64_t dotDepth = 0;
  /// The sides of the dot that the instructions read out of shared memory.
  bool isLhsInBuffer = false, isRhsInBuffer = false;
  double dotTrips = 0;

  int64_t elementCount() const;
  bool isInBuffer(layout::MatrixSide side) const {
    return side == layout::MatrixSide::Lhs ? isLhsInBuffer : isRhsInBuffer;
  }
};

enum class LinkKind : uint8_t {
  Same,      // the user wants the layout of the maker
  Slice,     // the maker is reduced along `axis`
  Expand,    // the user has an extent of one more at `axis`
  Broadcast, // the user is the maker repeated
  Transpose, // the user is the maker transposed
  Reshape,
  Join,  // the maker is one of the halves
  Split, // the user is one of the halves
  DotLhs,
  DotRhs
};

struct LayoutLink {
  int from = 0, to = 0;
  LinkKind kind = LinkKind::Same;
  mlir::Operation *op = nullptr;
  int axis = 0;
  unsigned bits = 32;                           // of an element
  double trips = 1;                             // how often a conversion would run
  layout::MatrixInstructions instructions = {}; // of the dot whose operand this is
  /// The tile can come by an asynchronous copy to shared memory, ahead of its use: it is loaded in
  /// a loop, and the user is a product by matrix instructions. Where the instruction reads shared
  /// memory itself, the tile may be transposed in between, which is a view.
  bool canBeAhead = false;
  /// The product reads the operand out of shared memory.
  bool isInBuffer = false;
};

/// Returns the side of the product that the link of an operand leads to.
inline layout::MatrixSide sideOf(LinkKind kind) {
  return kind == LinkKind::DotLhs ? layout::MatrixSide::Lhs : layout::MatrixSide::Rhs;
}

class LayoutGraph {
public:
  LayoutGraph(mlir::func::FuncOp function, const CheapValues &cheap, const IndexAnalysis &analysis,
              const GpuShape &shape);

  llvm::ArrayRef<LayoutNode> nodes() const { return allNodes; }
  llvm::ArrayRef<LayoutLink> links() const { return allLinks; }
  /// Returns the node of the value; -1 for scalars and cheap values.
  int nodeOf(mlir::Value value) const;
  /// Returns the node of the layout that an operation's operands share with each other; -1 when
  /// they share none.
  int operandNodeOf(mlir::Operation *op) const;

private:
  friend class LayoutGraphBuilder;
  std::vector<LayoutNode> allNodes;
  std::vector<LayoutLink> allLinks;
  llvm::DenseMap<mlir::Value, int> nodesOfValues;
  llvm::DenseMap<mlir::Operation *, int> operandNodes;
};

/// Returns the layout the maker must have for the user to have `user` without a conversion; nullopt
/// when `user` alone does not determine it, or when the maker's layout is not constrained, as that
/// of an operand that is read in shared memory is not.
std::optional<layout::TileLayout> pull(const LayoutLink &link, const layout::TileLayout &user,
                                       llvm::ArrayRef<int64_t> makerShape);
/// Returns the layout the user gets from a maker of layout `maker`; nullopt when there is none.
std::optional<layout::TileLayout> push(const LayoutLink &link, const layout::TileLayout &maker,
                                       llvm::ArrayRef<int64_t> userShape);

} // namespace sectile::optimizer
