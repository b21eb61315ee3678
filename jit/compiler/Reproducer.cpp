#include "jit/compiler/Reproducer.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace sectile::jit {
namespace {

constexpr llvm::StringLiteral kOptionsPrefix = "// OPTIONS: ";

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
  for (const auto &[name, value] : options.fields())
    if (!value.empty())
      text += (text.empty() ? "" : " ") + std::string(name) + "=" + value;
  return text;
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
      (void)options.setField(name, value); // of another build's reproducer one may be unknown
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
