#include "backends/KeptMachine.h"

#include "llvm/ADT/STLExtras.h"

#include <mutex>
#include <vector>

namespace sectile::backends {
namespace {

/// Of all names together: more threads that compile at a time are rare.
constexpr size_t kMostKept = 16;

struct Kept {
  std::string name;
  std::unique_ptr<llvm::TargetMachine> machine;
};

/// Nobody waits for the mutex: a compile that does not get it at once makes a machine, or drops
/// one. Compiles run under a ForkShield, which a fork waits for while it may have locked all
/// ForkSafeMutexes of this library; and a child that finds it locked does without.
struct Machines {
  std::mutex mutex;
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
    if (std::unique_lock lock(all.mutex, std::try_to_lock); lock) {
      auto found =
          llvm::find_if(all.idle, [&](const Kept &kept) { return kept.name == this->name; });
      if (found != all.idle.end()) {
        machine = std::move(found->machine);
        all.idle.erase(found);
        return;
      }
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
  std::unique_lock lock(all.mutex, std::try_to_lock);
  if (!lock)
    return;
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
