//===-- PtxKernels.h - kernels written in PTX by hand, as images ------------------------------===//
// What the code generator would make, for tests of the driver alone. DeviceAbi.h says how they are
// called.
#pragma once

#include "backends/plain/DeviceAbi.h"
#include "backends/plain/KernelImage.h"

#include <string>

namespace sectile::test {

inline constexpr const char *kPtxHeader = ".version 7.8\n.target sm_80\n.address_size 64\n";

/// out[i] = x[i] + y[i] for i < n, one element a thread.
inline constexpr const char *kAddPtx = R"(
.visible .entry add(.param .u64 x, .param .u64 y, .param .u64 out, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %d<12>;
  .reg .f32 %f<4>;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r2, %r3, %r1;
  ld.param.u32 %r5, [n];
  setp.ge.s32 %p, %r4, %r5;
  @%p ret;
  ld.param.u64 %d1, [x];
  ld.param.u64 %d2, [y];
  ld.param.u64 %d3, [out];
  mul.wide.s32 %d4, %r4, 4;
  add.u64 %d5, %d1, %d4;
  add.u64 %d6, %d2, %d4;
  add.u64 %d7, %d3, %d4;
  ld.global.f32 %f1, [%d5];
  ld.global.f32 %f2, [%d6];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%d7], %f3;
  ret;
}
)";

/// out[i] = x[i] for all threads of the grid; stops where x ends.
inline constexpr const char *kCheckedPtx = R"(
.visible .entry checked(.param .u64 x, .param .u64 out, .param .u64 ranges, .param .u64 records)
{
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  .reg .b64 %d<16>;
  .reg .f32 %f<2>;
  ld.param.u64 %d1, [records];
  ld.volatile.global.u32 %r1, [%d1];
  setp.ne.u32 %p1, %r1, 0;
  @%p1 ret;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mad.lo.u32 %r5, %r3, %r4, %r2;
  ld.param.u64 %d2, [x];
  mul.wide.u32 %d3, %r5, 4;
  add.u64 %d4, %d2, %d3;
  ld.param.u64 %d5, [ranges];
  ld.global.u64 %d6, [%d5+8];
  add.u64 %d7, %d4, 4;
  setp.le.u64 %p2, %d7, %d6;
  @%p2 bra GOOD;
  atom.global.cas.b32 %r6, [%d1], 0, 1;
  setp.ne.u32 %p3, %r6, 0;
  @%p3 exit;
  st.global.u32 [%d1+4], 0;
  cvt.u64.u32 %d8, %r3;
  st.global.u64 [%d1+8], %d8;
  st.global.u64 [%d1+16], %d4;
  exit;
GOOD:
  ld.param.u64 %d9, [out];
  add.u64 %d10, %d9, %d3;
  ld.global.f32 %f1, [%d4];
  st.global.f32 [%d10], %f1;
  ret;
}
)";

/// Prints thread * scale of each of the 32 threads of each program.
inline constexpr const char *kPrintPtx = R"(
.visible .entry printing(.param .f32 scale, .param .u64 records)
{
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  .reg .b64 %d<16>;
  .reg .f32 %f<4>;
  .shared .align 8 .u64 place;
  mov.u32 %r1, %tid.x;
  ld.param.u64 %d1, [records];
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra MEET;
  atom.global.add.u64 %d2, [%d1+24], 144;
  add.u64 %d3, %d2, 144;
  ld.global.u64 %d4, [%d1+32];
  setp.le.u64 %p2, %d3, %d4;
  @%p2 bra FITS;
  atom.global.add.u64 %d5, [%d1+40], 1;
  mov.u64 %d2, 0xffffffffffffffff;
  bra TELL;
FITS:
  add.u64 %d6, %d1, %d2;
  st.global.u32 [%d6+64], 0;
  st.global.u32 [%d6+68], 144;
  mov.u32 %r2, %ctaid.x;
  cvt.u64.u32 %d7, %r2;
  st.global.u64 [%d6+72], %d7;
TELL:
  st.shared.u64 [place], %d2;
MEET:
  bar.sync 0;
  ld.shared.u64 %d8, [place];
  setp.eq.u64 %p3, %d8, 0xffffffffffffffff;
  @%p3 ret;
  add.u64 %d9, %d1, %d8;
  mul.wide.u32 %d10, %r1, 4;
  add.u64 %d11, %d9, %d10;
  cvt.rn.f32.u32 %f1, %r1;
  ld.param.f32 %f2, [scale];
  mul.f32 %f3, %f1, %f2;
  st.global.f32 [%d11+80], %f3;
  ret;
}
)";

inline backends::KernelImage ptxImage(const std::string &name, const char *ptx,
                                      std::vector<backends::KernelArgument> arguments) {
  backends::KernelImage image;
  image.kernelName = image.entryPoint = name;
  image.backend = "cuda";
  image.targetName = "nvptx64:sm_80";
  image.arguments = std::move(arguments);
  image.gpu.threads = 128;
  image.binary = std::string(kPtxHeader) + ptx;
  return image;
}

inline lang::DType floatPointer() {
  return lang::DType::pointer(lang::ScalarKind::Float32);
}

inline backends::KernelImage addImage() {
  return ptxImage("add", kAddPtx,
                  {{"x", floatPointer(), 0, false},
                   {"y", floatPointer(), 1, false},
                   {"out", floatPointer(), 2, true},
                   {"n", lang::DType::scalar(lang::ScalarKind::Int32), 3, false}});
}

inline backends::KernelImage checkedImage() {
  backends::KernelImage image = ptxImage(
      "checked", kCheckedPtx, {{"x", floatPointer(), 0, false}, {"out", floatPointer(), 1, true}});
  image.gpu.hiddenParameters = backends::kHiddenRanges | backends::kHiddenRecords;
  backends::TrapSite site;
  site.kind = backends::TrapSite::Kind::Load;
  site.file = "kernel.py";
  site.line = 7;
  site.column = 3;
  site.argument = 0;
  image.trapSites.push_back(site);
  return image;
}

inline backends::KernelImage printImage() {
  backends::KernelImage image = ptxImage(
      "printing", kPrintPtx, {{"scale", lang::DType::scalar(lang::ScalarKind::Float32), 0, false}});
  image.gpu.threads = 32;
  image.gpu.hiddenParameters = backends::kHiddenRecords;
  backends::PrintSite site;
  site.prefix = "value: ";
  site.operands.push_back({lang::DType::scalar(lang::ScalarKind::Float32), {32}, ""});
  image.printSites.push_back(site);
  return image;
}

} // namespace sectile::test
