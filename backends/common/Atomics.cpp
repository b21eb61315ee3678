#include "backends/common/Atomics.h"

using namespace sectile::tile;

namespace sectile::backends {

llvm::AtomicOrdering orderingOf(MemorySemantic semantic) {
  switch (semantic) {
  case MemorySemantic::Relaxed:
    return llvm::AtomicOrdering::Monotonic;
  case MemorySemantic::Acquire:
    return llvm::AtomicOrdering::Acquire;
  case MemorySemantic::Release:
    return llvm::AtomicOrdering::Release;
  case MemorySemantic::AcquireRelease:
    return llvm::AtomicOrdering::AcquireRelease;
  }
  return llvm::AtomicOrdering::AcquireRelease;
}

llvm::AtomicRMWInst::BinOp binaryOf(RmwKind kind) {
  using B = llvm::AtomicRMWInst::BinOp;
  switch (kind) {
  case RmwKind::And:
    return B::And;
  case RmwKind::Or:
    return B::Or;
  case RmwKind::Xor:
    return B::Xor;
  case RmwKind::Add:
    return B::Add;
  case RmwKind::FAdd:
    return B::FAdd;
  case RmwKind::Max:
    return B::Max;
  case RmwKind::Min:
    return B::Min;
  case RmwKind::UMax:
    return B::UMax;
  case RmwKind::UMin:
    return B::UMin;
  case RmwKind::FMax:
    return B::FMax;
  case RmwKind::FMin:
    return B::FMin;
  case RmwKind::Exchange:
    return B::Xchg;
  }
  return B::Xchg;
}

} // namespace sectile::backends
