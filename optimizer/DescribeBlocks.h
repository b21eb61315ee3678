//===-- DescribeBlocks.h - accesses through pointers that are blocks of arrays ----------------===//
// For GPUs with a copy engine. A load of a loop that a matrix product takes, through pointers as
// Triton's kernels make them, says which block of an array it reads; in kernels with such loads,
// stores say which block they write. (Elsewhere the engine would have little to do, and its maps
// and its waits would cost more than they save.)
//
//   a = a_ptr + ((m * BM + arange) % M)[:, None] * stride + arange[None, :]
//   for k in range(0, K, BK):
//     x = load(a, mask=arange[None, :] < K - k, other=0)
//     a += BK                       ==>    x = load(a, mask, within block a_ptr[m * BM, k] of [M, K]
//                                                                        by [stride, 1])
//
// It is one where pointers are an argument and, along each axis, a start and consecutive numbers
// times a stride; the loop moves them along one axis; a mask compares numbers along an axis with
// what is left of an extent; and what is masked off is zero. An axis without a mask ends nowhere.
//
// Numbers modulo an extent begin anew beyond it, where the block has zeros. That is no difference
// where nobody sees it: everything made of such rows (or columns) ends in stores that mask them
// off by the same comparison.
//
// A block begins at numbers that are not negative, and that did not wrap where elements of it are
// accessed, by the assumptions that addresses are made with (IndexAnalysis.h). Masks are taken as
// the integers of the kernel compute them: the comparison is that of whole numbers with an extent
// if it is of the very numbers of the address, in as many bits, or of a difference that no wrap can
// cut. Extents are launch arguments, and a launch whose extents leave 31 bits does not get this
// code (backends::problemOf).
#pragma once

#include "mlir/Pass/Pass.h"

namespace sectile::optimizer {

/// --describe-blocks
std::unique_ptr<mlir::Pass> createDescribeBlocks();

} // namespace sectile::optimizer
