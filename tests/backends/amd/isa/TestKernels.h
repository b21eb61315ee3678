//===-- TestKernels.h - small kernels in LLVM IR, for every chip ------------------------------===//
#pragma once

#include <string>

namespace sectile::amdisa {

struct ChipUnderTest {
  const char *name;
  unsigned lanes;
};
inline constexpr ChipUnderTest kChips[] = {
    {"gfx90a", 64}, {"gfx942", 64}, {"gfx950", 64}, {"gfx1100", 32}, {"gfx1201", 32}};

/// Each module has one kernel, "kernel", for work-groups of 256 work-items.

/// out[i] = x[i] + y[i] for i < n. (ptr x, ptr y, ptr out, i32 n)
std::string addKernel();
/// Softmax of rows of 256 floats, and the row's maximum for each element (any other number in its
/// place would give the same softmax): DPP, ds_swizzle and ds_bpermute within waves, LDS between
/// them. (ptr x, ptr out, ptr maxima)
std::string softmaxKernel(unsigned lanes);
/// Transposes tiles of 16 x 16 through LDS. (ptr x, ptr out, i32 columns)
std::string transposeKernel();
/// out[i] = sum over j < n of x[(i * 7 + j * 5) mod 1024] / (j + 1), in double. (ptr x, ptr out,
/// i32 n)
std::string loopKernel();
/// Counts bytes into 256 bins in LDS, then adds them to global counters, a float among them.
/// (ptr bytes, ptr counters, ptr total, i32 n)
std::string histogramKernel();
/// Where a kernel finds its arguments and ids, for work-groups of 8 x 4 x 4: preloaded arguments,
/// hidden ones, private memory, pointers that say only at run time which memory they mean.
/// out[item] = 1000000 groupZ + 100000 groupY + 10000 groupX + 1000 z + 100 y + 10 x + blocks in x
///             + k (item mod 16) + (item odd ? item in LDS : item in more), (ptr out, i32 k, ptr more)
std::string abiKernel();
/// Hands values from each wave to another through global memory: out[i] = exchanged[255 - i] + 1,
/// where exchanged[i] = 3 i. (ptr exchanged, ptr out)
std::string handOverKernel();
/// Counts by compare-and-swap and 64-bit atomics: (ptr counter, ptr wide, ptr real)
std::string exchangeKernel();
/// One wave: d[m, n] = sum over k of a[m, k] b[k, n] by MFMA 32x32x8 of f16 or WMMA 16x16x16. Rows
/// of a and columns of b lie one after another. (ptr a, ptr b, ptr d, i32 steps)
std::string matrixKernel(const ChipUnderTest &chip);

} // namespace sectile::amdisa
