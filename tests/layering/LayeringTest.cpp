// Who may include whom: the table of folders, checked on the include lines of every file.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = SECTILE_SOURCE_DIR;

/// The layer a file belongs to: the longest key that its path starts with.
/// Values: layers (or single headers) it may include besides its own.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"lang/", {"llvm"}},
    // BuildId is the runtime's half of the C++ front end.
    {"frontend/", {"lang/", "jit/Api.h", "llvm"}},
    // The public C++ headers sit on plain interfaces only.
    {"include/sectile/",
     {"frontend/cpp/Tracer.h", "frontend/cpp/BuildId.h", "lang/", "jit/",
      "backends/CompileOptions.h", "backends/Device.h", "backends/Driver.h",
      "backends/KernelImage.h"}},
    {"optimizer/", {"lang/", "llvm"}},
    // Backend.cpp is the switch over all of them.
    {"backends/",
     {"backends/cpu/CpuBackend.h", "backends/nvidia/NvidiaBackend.h", "optimizer/", "lang/",
      "llvm"}},
    {"backends/common/", {"lang/", "llvm"}},
    {"backends/cpu/", {"backends/", "backends/common/", "optimizer/", "lang/", "llvm"}},
    {"backends/gpu/", {"backends/", "backends/common/", "optimizer/", "lang/", "llvm"}},
    {"backends/nvidia/",
     {"backends/", "backends/common/", "backends/gpu/", "optimizer/", "lang/", "llvm"}},
    // The runtime: no LLVM header, nothing of the compiler but its interface.
    {"jit/",
     {"lang/", "backends/CompileOptions.h", "backends/KernelImage.h", "backends/Driver.h",
      "backends/Device.h", "backends/FloatFormat.h", "backends/ForkSafeMutex.h", "backends/cpu/Driver.h",
      "backends/cpu/HostAbi.h", "backends/nvidia/Driver.h", "frontend/cpp/Tracer.h",
      "frontend/python/Ast.h"}},
    {"jit/compiler/",
     {"jit/", "backends/", "backends/cpu/", "optimizer/", "frontend/", "lang/", "llvm"}},
    {"python/",
     {"include/sectile/", "jit/", "lang/", "backends/", "backends/cpu/", "frontend/python/Ast.h",
      "frontend/cpp/Tracer.h", "Python.h"}},
};

/// Files of the folders above that are plain C++ by promise: no LLVM header.
const std::vector<std::string> kPlain = {"lang/DType.h",
                                         "lang/Constant.h",
                                         "lang/Diagnostics.h",
                                         "lang/KernelSignature.h",
                                         "lang/Remark.h",
                                         "frontend/python/Ast.h",
                                         "frontend/cpp/Tracer.h",
                                         "backends/CompileOptions.h",
                                         "backends/KernelImage.h",
                                         "backends/Driver.h",
                                         "backends/cpu/HostAbi.h",
                                         "backends/Device.h",
                                         "backends/nvidia/CudaApi.h",
                                         "backends/DeviceAbi.h",
                                         "backends/nvidia/Driver.h",
                                         "backends/cpu/Driver.h"};

std::string layerOf(const std::string &path) {
  std::string layer;
  for (const auto &[prefix, allowed] : kMayInclude)
    if (path.rfind(prefix, 0) == 0 && prefix.size() > layer.size())
      layer = prefix;
  return layer;
}

bool isLlvm(const std::string &header) {
  return std::regex_search(header, std::regex("^(llvm|mlir|lld)/"));
}

/// "" when allowed, else why not.
std::string complaint(const std::string &file, const std::string &header) {
  std::string layer = layerOf(file);
  const auto &allowed = kMayInclude.at(layer);
  if (isLlvm(header)) {
    bool isPlain = std::find(kPlain.begin(), kPlain.end(), file) != kPlain.end();
    return allowed.count("llvm") && !isPlain ? "" : file + " may not include LLVM: " + header;
  }
  if (header == "Python.h" || header.rfind("pybind11/", 0) == 0)
    return allowed.count("Python.h") ? "" : file + " may not include Python: " + header;
  std::string target = layerOf(header.rfind("sectile/", 0) == 0 ? "include/" + header : header);
  if (target.empty() || target == layer || allowed.count(target) || allowed.count(header))
    return "";
  return file + " may not include " + header;
}

template <class Visit>
void visitSources(Visit visit) {
  for (const auto &[layer, allowed] : kMayInclude) {
    if (!fs::exists(kRoot / layer))
      continue;
    for (const auto &entry : fs::recursive_directory_iterator(kRoot / layer)) {
      std::string extension = entry.path().extension();
      std::string path = fs::relative(entry.path(), kRoot).string();
      if ((extension == ".h" || extension == ".cpp") && layerOf(path) == layer)
        visit(path);
    }
  }
}

TEST(Layering, folders_include_only_what_they_may) {
  const std::regex include(R"(^\s*#\s*include\s*["<]([^">]+)[">])");
  int files = 0;
  visitSources([&](const std::string &path) {
    ++files;
    std::ifstream stream(kRoot / path);
    std::string line;
    std::smatch match;
    while (std::getline(stream, line))
      if (std::regex_search(line, match, include))
        EXPECT_EQ(complaint(path, match[1]), "");
  });
  EXPECT_GT(files, 50);
}

TEST(Layering, the_rules_can_be_broken) {
  EXPECT_NE(complaint("lang/X.cpp", "optimizer/Pipeline.h"), "");
  EXPECT_NE(complaint("frontend/cpp/X.cpp", "optimizer/Pipeline.h"), "");
  EXPECT_NE(complaint("optimizer/X.cpp", "frontend/python/Ast.h"), "");
  EXPECT_NE(complaint("jit/Runtime.cpp", "llvm/ADT/StringRef.h"), "");
  EXPECT_NE(complaint("jit/Runtime.cpp", "optimizer/Pipeline.h"), "");
  EXPECT_NE(complaint("lang/DType.h", "llvm/ADT/StringRef.h"), "");
  EXPECT_NE(complaint("backends/Backend.cpp", "Python.h"), "");
  EXPECT_EQ(complaint("jit/compiler/X.cpp", "mlir/IR/Builders.h"), "");
}

TEST(Layering, files_stay_readable) {
  visitSources([&](const std::string &path) {
    std::ifstream stream(kRoot / path);
    auto lines = std::count(std::istreambuf_iterator<char>(stream), {}, '\n');
    EXPECT_LE(lines, 800) << path << " should be split by subject";
  });
}

} // namespace
