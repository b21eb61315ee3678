//===-- SkipMasks.h - masks of scores where they leave nothing out ----------------------------===//
// Attention that looks back only (causal, sliding windows) is written with a mask in each round of
// its loop, which is true for all elements in most rounds. Bounds of what is compared are numbers
// of the whole program, so one comparison decides whether a round needs its mask:
//
//   %m = arith.cmpi sge, %rows, %columns       %partial = least row < greatest column
//   %x = arith.select %m, %s, %none      ==>   %x = scf.if %partial {
//                                                 %m = arith.cmpi sge, %rows, %columns
//                                                 yield arith.select %m, %s, %none
//                                              } else {
//                                                 yield %s
//                                              }
//
// Comparisons of integers that are sums of ranges and of numbers of the whole program, and what is
// made of them by `and`. It holds for sums that wrap, too: then the mask is not skipped.
#pragma once

#include "optimizer/gpu/GpuPass.h"

namespace sectile::optimizer {

/// --skip-masks=warps=4
std::unique_ptr<mlir::Pass> createSkipMasks(const GpuPipelineOptions &options = {},
                                            GpuAssumptions *assumed = nullptr);

} // namespace sectile::optimizer
