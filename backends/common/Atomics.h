//===-- Atomics.h - the language's atomics as LLVM's ------------------------------------------===//
//   builder.CreateAtomicRMW(backends::binaryOf(kind), pointer, value, align,
//                           backends::orderingOf(semantic), scope);
#pragma once

#include "lang/tile/TileDialect.h"

#include "llvm/IR/Instructions.h"

namespace sectile::backends {

llvm::AtomicOrdering orderingOf(tile::MemorySemantic semantic);
llvm::AtomicRMWInst::BinOp binaryOf(tile::RmwKind kind);

} // namespace sectile::backends
