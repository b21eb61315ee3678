//===-- FakeCompiler.h - a Compiler without LLVM, for tests of the runtime --------------------===//
// "Compiles" to the entry points of TestKernels.cpp.
#pragma once

#include "jit/runtime/Runtime.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

namespace sectile::jit::test {

/// The object file of TestKernels.cpp, with `value` where it keeps its own.
inline std::string testBinary(int64_t value) {
  static const std::string original = [] {
    std::ifstream file(SECTILE_TEST_KERNELS, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  std::string binary = original;
  constexpr uint64_t kMark = 0x53454354494c4531;
  size_t place = binary.find(std::string(reinterpret_cast<const char *>(&kMark), sizeof kMark));
  if (place != std::string::npos)
    std::memcpy(binary.data() + place + 8, &value, sizeof value);
  return binary;
}

inline backends::KernelImage testImage(const std::string &entryPoint, int64_t value = 1) {
  backends::KernelImage image;
  image.kernelName = "fake";
  image.backend = "cpu";
  image.targetName = "x86_64:x86-64";
  image.entryPoint = entryPoint;
  image.arguments = {{"out", lang::DType::pointer(lang::ScalarKind::Int64), 0, true}};
  image.binary = testBinary(value);
  image.stages = {{"tile", "module {}"}};
  return image;
}

class FakeCompiler final : public Compiler {
public:
  std::function<CompileResult(const CompileRequest &)> body;
  std::atomic<int> compileCount{0};
  std::string id = "fake build";

  std::string buildId() const override { return id; }
  CompileResult compile(const CompileRequest &request) override {
    ++compileCount;
    if (body)
      return body(request);
    CompileResult result;
    // tileText "entry value": what to make.
    size_t space = request.tileText.find(' ');
    result.irDigest = request.tileText;
    if (request.hasIr && request.hasIr(result.irDigest))
      return result;
    result.image = testImage(request.tileText.substr(0, space),
                             std::atoll(request.tileText.c_str() + space + 1));
    return result;
  }
  int commandLine(const std::vector<std::string> &) override { return 0; }
};

/// Source digest and text are the same: "addValue 3".
inline KernelRequest fakeRequest(const std::string &text) {
  KernelRequest request;
  request.sourceDigest = text;
  request.signature.kernelName = "fake";
  request.makeCompileRequest = [text](CompileRequest &compile) {
    compile.tileText = text;
    return Status();
  };
  return request;
}

/// A folder that is gone at the end.
class TemporaryFolder {
public:
  TemporaryFolder() {
    char pattern[] = "/tmp/sectile-test-XXXXXX";
    path = ::mkdtemp(pattern);
  }
  ~TemporaryFolder() { (void)!std::system(("rm -rf " + path).c_str()); }
  std::string path;
};

} // namespace sectile::jit::test
