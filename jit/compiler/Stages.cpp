#include "jit/compiler/Stages.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

namespace sectile::jit {

void Stages::observe(llvm::StringRef stage, llvm::function_ref<std::string()> text) {
  bool isStop = knobs.stopAfter == stage.str();
  if (wantAll || knobs.keepStages || isStop || knobs.dumps(stage.str()))
    keep(stage, text());
  else
    stopped |= isStop;
}

void Stages::keep(llvm::StringRef stage, std::string text) {
  if (knobs.dumps(stage.str()))
    dump(stage, text);
  stopped |= knobs.stopAfter == stage.str();
  texts[stage.str()] = std::move(text);
}

void Stages::dump(llvm::StringRef stage, llvm::StringRef text) {
  llvm::StringRef suffix = stage.starts_with("tile") ? ".mlir"
                           : stage == "asm"          ? ".s"
                           : stage == "ptx"          ? ""
                                                     : ".ll";
  // Kernels of one name do not overwrite each other.
  std::string path;
  std::error_code error = llvm::sys::fs::create_directories(knobs.dumpDirectory);
  for (int number = 0; !error; ++number) {
    path = knobs.dumpDirectory + "/" + kernelName + (number ? "-" + std::to_string(number) : "") +
           "." + stage.str() + suffix.str();
    llvm::raw_fd_ostream out(path, error, llvm::sys::fs::CD_CreateNew);
    if (error == std::errc::file_exists) {
      error = {};
      continue;
    }
    if (!error) {
      out << text;
      out.close();
      error = out.error();
      out.clear_error();
    }
    break;
  }
  if (error)
    problems.push_back("SECTILE_DUMP: cannot write " + (path.empty() ? knobs.dumpDirectory : path) +
                       ": " + error.message());
}

} // namespace sectile::jit
