// Which folder may include which: one table, checked on the include lines of every file and along
// them.
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

/// The layer a file belongs to: the longest key that its path starts with. A folder is a rule: what
/// a file may include follows from where it lies, headers of this project named one by one are the
/// seams. Values: layers (or single headers) it may include besides its own.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    // What the runtime and the public headers share with the compiler: no LLVM.
    {"lang/plain/", {}},
    {"lang/layout/", {"llvm"}},
    {"lang/tile/", {"lang/plain/", "lang/layout/", "llvm"}},
    {"lang/semantics/", {"lang/plain/", "lang/tile/", "llvm"}},
    {"lang/builtins/", {"lang/plain/", "lang/tile/", "lang/semantics/", "llvm"}},
    // BuildId and CurrentTrace are the runtime's half of the C++ front end.
    {"frontend/",
     {"lang/plain/", "lang/tile/", "lang/semantics/", "lang/builtins/", "jit/Api.h", "llvm"}},
    // The public C++ headers sit on plain interfaces only.
    {"include/sectile/",
     {"frontend/cpp/Tracer.h", "frontend/cpp/BuildId.h", "frontend/cpp/CurrentTrace.h",
      "lang/plain/", "jit/", "jit/aot/", "jit/launch/", "jit/runtime/", "backends/plain/"}},
    {"optimizer/", {"lang/plain/", "lang/tile/", "lang/layout/", "llvm"}},
    {"backends/plain/", {"lang/plain/"}},
    // Backend.cpp is the switch over all of them.
    {"backends/",
     {"backends/plain/", "backends/amd/AmdBackend.h", "backends/cpu/CpuBackend.h",
      "backends/nvidia/NvidiaBackend.h", "optimizer/", "lang/plain/", "lang/tile/", "llvm"}},
    {"backends/common/", {"lang/plain/", "lang/tile/", "llvm"}},
    {"backends/cpu/",
     {"backends/", "backends/plain/", "backends/common/", "optimizer/", "lang/plain/", "lang/tile/",
      "llvm"}},
    {"backends/gpu/",
     {"backends/", "backends/plain/", "backends/common/", "optimizer/", "lang/plain/", "lang/tile/",
      "lang/layout/", "llvm"}},
    // Loading and launching, for all makers: part of the runtime.
    {"backends/gpu/driver/", {"backends/plain/", "lang/plain/"}},
    {"backends/nvidia/",
     {"backends/", "backends/plain/", "backends/common/", "backends/gpu/", "backends/gpu/driver/",
      "optimizer/", "lang/plain/", "lang/tile/", "lang/layout/", "llvm"}},
    {"backends/amd/",
     {"backends/", "backends/plain/", "backends/common/", "backends/gpu/", "backends/gpu/driver/",
      "lang/plain/", "lang/tile/", "lang/layout/", "llvm"}},
    // What the two libraries and their callers share: the one interface between them, results,
    // names.
    {"jit/", {"lang/plain/", "backends/plain/", "frontend/cpp/Tracer.h", "frontend/python/Ast.h"}},
    {"jit/cache/", {"jit/", "lang/plain/", "backends/plain/"}},
    {"jit/launch/", {"jit/", "jit/cache/", "lang/plain/", "backends/plain/"}},
    {"jit/runtime/",
     {"jit/", "jit/cache/", "jit/launch/", "lang/plain/", "backends/plain/",
      "backends/amd/Driver.h", "backends/cpu/Driver.h", "backends/cpu/HostAbi.h",
      "backends/nvidia/Driver.h"}},
    {"jit/aot/",
     {"jit/", "jit/cache/", "jit/launch/", "jit/runtime/", "lang/plain/", "backends/plain/"}},
    // C's door to archives: its header includes nothing of ours.
    {"jit/capi/",
     {"jit/", "jit/aot/", "jit/launch/", "jit/runtime/", "lang/plain/", "sectile/c.h"}},
    {"jit/command/", {"jit/", "jit/cache/", "jit/runtime/", "lang/plain/"}},
    {"jit/compiler/",
     {"jit/", "jit/command/", "jit/runtime/", "backends/", "backends/plain/", "optimizer/",
      "frontend/", "lang/plain/", "lang/tile/", "lang/layout/", "lang/semantics/", "llvm"}},
    {"python/",
     {"include/sectile/", "jit/", "jit/aot/", "jit/cache/", "jit/launch/", "jit/runtime/",
      "jit/command/", "lang/plain/", "backends/plain/", "backends/cpu/HostAbi.h",
      "frontend/python/Ast.h", "frontend/cpp/Tracer.h", "Python.h"}},
};

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

std::string inSources(const std::string &header) {
  return header.rfind("sectile/", 0) == 0 ? "include/" + header : header;
}

/// "" when allowed, else why not.
std::string complaint(const std::string &file, const std::string &header) {
  std::string layer = layerOf(file);
  const auto &allowed = kMayInclude.at(layer);
  if (isLlvm(header))
    return allowed.count("llvm") ? "" : file + " may not include LLVM: " + header;
  if (header == "Python.h" || header.rfind("pybind11/", 0) == 0)
    return allowed.count("Python.h") ? "" : file + " may not include Python: " + header;
  std::string target = layerOf(inSources(header));
  if (target.empty() || target == layer || allowed.count(target) || allowed.count(header))
    return "";
  return file + " may not include " + header;
}

std::vector<std::string> includesOf(const std::string &path) {
  static const std::regex include(R"(^\s*#\s*include\s*["<]([^">]+)[">])");
  std::vector<std::string> headers;
  std::ifstream stream(kRoot / path);
  std::string line;
  std::smatch match;
  while (std::getline(stream, line))
    if (std::regex_search(line, match, include))
      headers.push_back(match[1]);
  return headers;
}

/// The includes that lead from `path` to a header of LLVM, itself last; empty when none do.
const std::vector<std::string> &wayToLlvm(const std::string &path) {
  static std::map<std::string, std::vector<std::string>> known;
  auto [place, isNew] = known.try_emplace(path);
  if (!isNew)
    return place->second;
  for (const std::string &header : includesOf(path)) {
    std::vector<std::string> way;
    if (isLlvm(header))
      way = {header};
    else if (fs::exists(kRoot / inSources(header)))
      way = wayToLlvm(inSources(header));
    if (way.empty())
      continue;
    way.insert(way.begin(), path);
    return known[path] = way;
  }
  return known[path];
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
  int files = 0;
  visitSources([&](const std::string &path) {
    ++files;
    for (const std::string &header : includesOf(path))
      EXPECT_EQ(complaint(path, header), "");
  });
  EXPECT_GT(files, 50);
}

// A plain folder stays plain through every header that it reaches, those of other folders included.
TEST(Layering, plain_folders_reach_no_llvm_header) {
  int files = 0;
  visitSources([&](const std::string &path) {
    if (kMayInclude.at(layerOf(path)).count("llvm"))
      return;
    ++files;
    std::string way;
    for (const std::string &step : wayToLlvm(path))
      way += (way.empty() ? "" : " -> ") + step;
    EXPECT_EQ(way, "");
  });
  EXPECT_GT(files, 50);
  EXPECT_EQ(wayToLlvm("lang/semantics/Semantics.h").front(), "lang/semantics/Semantics.h");
}

TEST(Layering, every_source_lies_in_a_layer) {
  for (const char *top : {"lang", "frontend", "optimizer", "backends", "jit", "python", "include"})
    for (const auto &entry : fs::recursive_directory_iterator(kRoot / top)) {
      std::string extension = entry.path().extension();
      std::string path = fs::relative(entry.path(), kRoot).string();
      if (extension == ".h" || extension == ".cpp")
        EXPECT_NE(layerOf(path), "") << path << " lies in no folder of the table";
    }
}

TEST(Layering, the_rules_can_be_broken) {
  EXPECT_NE(complaint("lang/tile/X.cpp", "optimizer/Pipeline.h"), "");
  EXPECT_NE(complaint("frontend/cpp/X.cpp", "optimizer/Pipeline.h"), "");
  EXPECT_NE(complaint("optimizer/X.cpp", "frontend/python/Ast.h"), "");
  EXPECT_NE(complaint("jit/runtime/Runtime.cpp", "llvm/ADT/StringRef.h"), "");
  EXPECT_NE(complaint("jit/runtime/Runtime.cpp", "optimizer/Pipeline.h"), "");
  EXPECT_NE(complaint("lang/plain/DType.h", "llvm/ADT/StringRef.h"), "");
  EXPECT_NE(complaint("lang/tile/X.cpp", "lang/semantics/Semantics.h"), "");
  EXPECT_NE(complaint("jit/launch/X.cpp", "jit/runtime/Runtime.h"), "");
  EXPECT_NE(complaint("backends/Backend.cpp", "Python.h"), "");
  EXPECT_EQ(complaint("jit/compiler/X.cpp", "mlir/IR/Builders.h"), "");
}

/// A file and its header are one: "backends/gpu/GpuEmitter".
std::string stemOf(const std::string &path) {
  return path.substr(0, path.rfind('.'));
}

/// What the stems of a folder include of the same folder, by stem.
std::map<std::string, std::set<std::string>> includesWithin(const std::string &folder) {
  std::map<std::string, std::set<std::string>> within;
  visitSources([&](const std::string &path) {
    if (!path.starts_with(folder))
      return;
    for (const std::string &header : includesOf(path))
      if (header.starts_with(folder) && stemOf(header) != stemOf(path))
        within[stemOf(path)].insert(stemOf(header));
  });
  return within;
}

/// The stems that lead from the first back to itself; empty where none do.
std::vector<std::string> circleIn(const std::map<std::string, std::set<std::string>> &includes) {
  std::set<std::string> isDone;
  std::vector<std::string> way;
  auto visit = [&](auto &self, const std::string &stem) -> bool {
    if (auto seen = std::find(way.begin(), way.end(), stem); seen != way.end()) {
      way.erase(way.begin(), seen);
      way.push_back(stem);
      return true;
    }
    if (isDone.count(stem))
      return false;
    way.push_back(stem);
    if (auto found = includes.find(stem); found != includes.end())
      for (const std::string &next : found->second)
        if (self(self, next))
          return true;
    way.pop_back();
    isDone.insert(stem);
    return false;
  };
  for (const auto &[stem, included] : includes)
    if (visit(visit, stem))
      return way;
  return {};
}

// What plans shared memory is asked by the emitter, and asks what plans each op: none of these may
// need the emitter.
TEST(Layering, files_of_gpu_back_ends_go_in_no_circle) {
  for (const char *folder : {"backends/gpu/", "backends/nvidia/", "backends/amd/"}) {
    auto includes = includesWithin(folder);
    EXPECT_GT(includes.size(), 5u) << folder;
    std::string way;
    for (const std::string &step : circleIn(includes))
      way += (way.empty() ? "" : " -> ") + step;
    EXPECT_EQ(way, "");
  }
  EXPECT_EQ(circleIn({{"a", {"b"}}, {"b", {"c", "d"}}, {"d", {"b"}}}),
            (std::vector<std::string>{"b", "d", "b"}));
}

TEST(Layering, files_stay_readable) {
  visitSources([&](const std::string &path) {
    std::ifstream stream(kRoot / path);
    auto lines = std::count(std::istreambuf_iterator<char>(stream), {}, '\n');
    EXPECT_LE(lines, 800) << path << " should be split by subject";
  });
}

} // namespace
