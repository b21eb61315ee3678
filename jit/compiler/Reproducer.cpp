#include "jit/compiler/Reproducer.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace sectile::jit {
namespace {

constexpr llvm::StringLiteral kOptionsPrefix = "// OPTIONS: ";

/// Every option by name, for writing and for reading.
template <class Options, class Visit>
void visitOptions(Options &options, Visit visit) {
  visit("backend", options.backend);
  visit("arch", options.arch);
  visit("num_warps", options.warpCount);
  visit("num_stages", options.stageCount);
  visit("num_ctas", options.ctaCount);
  visit("maxnreg", options.maxRegisters);
  visit("enable_fp_fusion", options.enableFpFusion);
  visit("launch_cooperative_grid", options.cooperativeGrid);
  visit("launch_pdl", options.dependentLaunch);
  visit("debug", options.debug);
  visit("sanitize_overflow", options.sanitizeOverflow);
  visit("check_bounds", options.checkBounds);
  visit("inject_failure", options.injectFailure);
}

struct Writer {
  llvm::raw_ostream &out;
  void operator()(llvm::StringRef name, const std::string &value) {
    if (!value.empty())
      out << name << "=" << value << " ";
  }
  void operator()(llvm::StringRef name, int32_t value) { out << name << "=" << value << " "; }
  void operator()(llvm::StringRef name, bool value) { out << name << "=" << int(value) << " "; }
};

struct Reader {
  llvm::StringRef name, value;
  void operator()(llvm::StringRef field, std::string &to) {
    if (field == name)
      to = value.str();
  }
  void operator()(llvm::StringRef field, int32_t &to) {
    if (field == name)
      (void)value.getAsInteger(10, to);
  }
  void operator()(llvm::StringRef field, bool &to) {
    if (field == name)
      to = value == "1";
  }
};

std::string contents(const CompileRequest &request, const CompilerFailure &failure,
                     const std::string &buildId) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "// Sectile compiler failure. Attach this file to a report, or run it again:\n"
      << "//   sectile compile THIS_FILE\n"
      << "// STEP: " << failure.step << "\n";
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(failure.reason).split(lines, '\n');
  for (llvm::StringRef line : lines)
    out << "// REASON: " << line << "\n";
  out << "// BUILD: " << buildId << "\n"
      << kOptionsPrefix << spellOptions(request.options) << "\n"
      << "// KERNEL: " << request.signature.kernelName << "\n";
  lang::forEachLeaf(request.signature, [&](const lang::KernelParameter &parameter, size_t) {
    out << "//   " << parameter.name << (parameter.constant ? " = " : ": ")
        << lang::kindText(parameter) << "\n";
  });
  if (!failure.tileText.empty())
    out << "\n" << failure.tileText;
  else if (request.function)
    for (const std::string &line : request.function->lines)
      out << "// " << llvm::StringRef(line).rtrim("\n") << "\n";
  return text;
}

} // namespace

std::string spellOptions(const backends::CompileOptions &options) {
  std::string text;
  llvm::raw_string_ostream out(text);
  visitOptions(options, Writer{out});
  return llvm::StringRef(text).rtrim().str();
}

void readOptions(llvm::StringRef tileText, backends::CompileOptions &options) {
  while (!tileText.empty()) {
    auto [line, rest] = tileText.split('\n');
    tileText = rest;
    if (!line.consume_front(kOptionsPrefix))
      continue;
    llvm::SmallVector<llvm::StringRef> words;
    line.split(words, ' ', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef word : words) {
      auto [name, value] = word.split('=');
      visitOptions(options, Reader{name, value});
    }
    return;
  }
}

std::string writeReproducer(const CompileRequest &request, const CompilerFailure &failure,
                            const std::string &buildId, const std::string &folder,
                            std::string &problem) {
  llvm::SmallString<128> pattern(folder);
  std::error_code error;
  if (folder.empty())
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, pattern);
  else
    error = llvm::sys::fs::create_directories(folder);
  llvm::sys::path::append(pattern, "sectile-reproducer-%%%%%%%%.mlir");
  llvm::SmallString<128> path;
  int descriptor = -1;
  if (!error)
    error = llvm::sys::fs::createUniqueFile(pattern, descriptor, path);
  if (!error) {
    llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
    out << contents(request, failure, buildId);
    out.close();
    error = out.error();
    out.clear_error();
  }
  if (!error)
    return std::string(path);
  problem = "no reproducer could be written to " + std::string(pattern) + ": " + error.message();
  return {};
}

} // namespace sectile::jit
