// Runs one kernel given as tile IR and prints where it came from: for EndToEndTest, which starts it
// twice. Links libsectile.so as a user's program does.
#include "jit/runtime/Runtime.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

using namespace sectile;

namespace {

constexpr const char *kAddVectors = R"(
func.func @add(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %out: !tile.ptr<f32>, %n: i32)
    attributes {tile.kernel} {
  %c128 = arith.constant 128 : i32
  %pid = tile.program_id 0
  %base = arith.muli %pid, %c128 : i32
  %bases = tile.splat %base : i32 -> tensor<128xi32>
  %lane = tile.arange 0, 128 : tensor<128xi32>
  %i = arith.addi %bases, %lane : tensor<128xi32>
  %ns = tile.splat %n : i32 -> tensor<128xi32>
  %mask = arith.cmpi slt, %i, %ns : tensor<128xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %xp = tile.ptr_add %xs, %i : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %yp = tile.ptr_add %ys, %i : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %op = tile.ptr_add %os, %i : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %a = tile.load %xp, %mask : tensor<128x!tile.ptr<f32>>
  %b = tile.load %yp, %mask : tensor<128x!tile.ptr<f32>>
  %sum = arith.addf %a, %b : tensor<128xf32>
  tile.store %op, %sum, %mask : tensor<128x!tile.ptr<f32>>
  return
}
)";

bool isCompilerLoaded() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("libsectile-compiler") != std::string::npos)
      return true;
  return false;
}

} // namespace

/// warm_start [bounds]: with bounds checked, and a lie about the extent of `out`.
int main(int count, char **arguments) {
  bool checksBounds = count > 1 && std::strcmp(arguments[1], "bounds") == 0;
  auto start = std::chrono::steady_clock::now();
  jit::Runtime &runtime = jit::Runtime::instance();
  jit::KernelRequest request;
  request.sourceDigest = kAddVectors;
  request.signature.kernelName = "add";
  request.options = runtime.defaultOptions();
  request.options.checkBounds |= checksBounds;
  request.makeCompileRequest = [](jit::CompileRequest &compile) {
    compile.tileText = kAddVectors;
    return jit::Status();
  };
  jit::KernelResult result = runtime.getKernel(request);
  if (!result.kernel) {
    std::printf("%s\n", result.status.error().text().c_str());
    return 1;
  }
  constexpr int kCount = 10'000;
  std::vector<float> x(kCount), y(kCount), out(kCount, -1);
  for (int i = 0; i < kCount; ++i) {
    x[i] = static_cast<float>(i);
    y[i] = 0.5f * static_cast<float>(i % 7);
  }
  auto address = [](const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); };
  uint64_t slots[] = {address(x.data()), address(y.data()), address(out.data()), kCount};
  uint64_t ranges[] = {slots[0], slots[0] + kCount * 4, slots[1], slots[1] + kCount * 4,
                       slots[2], slots[2] + 5'000 * 4,  0,        0};
  jit::Status status = result.kernel->launch({(kCount + 127) / 128}, slots, ranges);
  double milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (!status.ok()) {
    std::printf("%s\n", status.error().text().c_str());
    for (int i = 5'000; i < kCount; ++i)
      if (out[i] != -1)
        std::printf("stored out of bounds at %d\n", i);
    return 2;
  }
  for (int i = 0; i < kCount; ++i)
    if (out[i] != x[i] + y[i]) {
      std::printf("wrong at %d\n", i);
      return 3;
    }
  const char *origins[] = {"none", "memory", "disk", "same IR", "compiled"};
  std::printf("%s, compiler %s\n", origins[static_cast<int>(result.origin)],
              isCompilerLoaded() ? "loaded" : "not loaded");
  std::fprintf(stderr, "%.2f ms\n", milliseconds);
  return 0;
}
