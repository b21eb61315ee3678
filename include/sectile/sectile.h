//===-- sectile.h - write tile kernels in C++ and run them --------------------------------===//
//   #include <sectile/sectile.h>
//   using namespace sectile;
//
//   auto softmax = kernel("softmax", [](Ptr<f32> out, Ptr<const f32> in, i32 stride, i32 cols,
//                                       Const<int> BLOCK) {
//     auto row = program_id(0);
//     auto col = arange(0, BLOCK);
//     auto x = load(in + row * stride + col, col < cols, -inf);
//     auto e = exp(x - max(x, 0));
//     store(out + row * stride + col, e / sum(e, 0), col < cols);
//   });
//   softmax.launch({rows}, out, in, stride, cols, Const{1024});
//
// C++20; link libsectile. What kernels are made of: types.h, operators.h, ops.h, control.h.
#pragma once

#if defined(_MSVC_LANG) ? _MSVC_LANG < 202002L : __cplusplus < 202002L
#error "Sectile needs C++20: compile with -std=c++20"
#else

#include <sectile/control.h>
#include <sectile/device.h>
#include <sectile/kernel.h>
#include <sectile/ops.h>

#endif
