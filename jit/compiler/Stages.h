//===-- Stages.h - the text of every stage of one compile -------------------------------------===//
// "tile", "tile-optimized", "llvm", "llvm-optimized", "asm", and for GPUs "tile-gpu" and "ptx".
// Whether a stage is needed (for the kernel's .asm, a dump to a file, SECTILE_STOP_AFTER) is
// decided here, and its text is made only then.
#pragma once

#include "jit/runtime/Knobs.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>

namespace sectile::jit {

class Stages {
public:
  /// `wantAll` keeps every stage's text, not only the texts that exist anyway.
  Stages(const Knobs &knobs, bool wantAll) : knobs(knobs), wantAll(wantAll) {}

  /// Names the files of dumps.
  void setKernel(std::string name) { kernelName = std::move(name); }
  void observe(llvm::StringRef stage, llvm::function_ref<std::string()> text);
  /// The same for a text that exists already.
  void keep(llvm::StringRef stage, std::string text);
  /// SECTILE_STOP_AFTER names a stage that has gone by.
  bool isStopped() const { return stopped; }

  std::map<std::string, std::string> texts;
  /// What dumping could not do; never fails a compile.
  std::vector<std::string> problems;

private:
  void dump(llvm::StringRef stage, llvm::StringRef text);

  const Knobs &knobs;
  bool wantAll;
  std::string kernelName = "kernel";
  bool stopped = false;
};

} // namespace sectile::jit
