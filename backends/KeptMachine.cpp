#include "backends/KeptMachine.h"

#include "backends/plain/ForkSafeMutex.h"

#include "llvm/ADT/STLExtras.h"

#include <vector>

namespace sectile::backends {
namespace {

/// Of all names together: more threads that compile at a time are rare.
constexpr size_t kMostKept = 16;

struct Kept {
  std::string name;
  std::unique_ptr<llvm::TargetMachine> machine;
};

struct Machines {
  ForkSafeMutex mutex;
  std::vector<Kept> idle; // the one used last is the last
};

/// Never destroyed: threads may compile while the process ends.
Machines &machines() {
  static auto *all = new Machines;
  return *all;
}

} // namespace

KeptMachine::KeptMachine(std::string name, llvm::function_ref<llvm::TargetMachine *()> make)
    : name(std::move(name)) {
  {
    Machines &all = machines();
    std::lock_guard lock(all.mutex);
    auto found = llvm::find_if(all.idle, [&](const Kept &kept) { return kept.name == this->name; });
    if (found != all.idle.end()) {
      machine = std::move(found->machine);
      all.idle.erase(found);
      return;
    }
  }
  machine.reset(make());
}

KeptMachine::~KeptMachine() {
  if (!machine || hasFailed) {
    (void)machine.release();
    return;
  }
  Kept dropped; // destroyed without the lock
  Machines &all = machines();
  std::lock_guard lock(all.mutex);
  if (all.idle.size() == kMostKept) {
    dropped = std::move(all.idle.front());
    all.idle.erase(all.idle.begin());
  }
  all.idle.push_back({std::move(name), std::move(machine)});
}

bool KeptMachine::isWhole(bool succeeded) {
  hasFailed |= !succeeded;
  return succeeded;
}

} // namespace sectile::backends
