//===-- KeptMachine.h - a target machine that the next compile uses again ---------------------===//
// What LLVM works out of a chip as it compiles - classes of registers, their aliases - belongs to
// the target machine, and takes 2 of the 15 ms that a softmax takes for an AMD GPU. So machines
// that no compile has are kept.
//
//   KeptMachine machine("hip:gfx942", [&] { return target->createTargetMachine(...); });
//   return machine.isWhole(runGuarded(module, error, [&] { passes.run(module); }));
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>

namespace sectile::backends {

class KeptMachine {
public:
  /// One of that name that no compile has, or what `make` makes, which may be null. The name says
  /// all that machines differ in.
  KeptMachine(std::string name, llvm::function_ref<llvm::TargetMachine *()> make);
  ~KeptMachine();
  KeptMachine(const KeptMachine &) = delete;
  KeptMachine &operator=(const KeptMachine &) = delete;

  explicit operator bool() const { return machine != nullptr; }
  llvm::TargetMachine &operator*() const { return *machine; }
  llvm::TargetMachine *operator->() const { return machine.get(); }
  /// Returns `succeeded`. A machine that LLVM failed with may be in the middle of something: it is
  /// not kept, nor destroyed.
  bool isWhole(bool succeeded);

private:
  std::string name;
  std::unique_ptr<llvm::TargetMachine> machine;
  bool hasFailed = false;
};

} // namespace sectile::backends
