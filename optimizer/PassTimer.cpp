#include "optimizer/PassTimer.h"

#include "llvm/ADT/SmallVector.h"
#include "mlir/Pass/Pass.h"

#include <chrono>

using namespace mlir;

namespace sectile::optimizer {
namespace {

class PassTimer : public PassInstrumentation {
public:
  explicit PassTimer(llvm::function_ref<void(llvm::StringRef, double)> time) : time(time) {}

  void runBeforePass(Pass *, Operation *) override { starts.push_back(Clock::now()); }
  void runAfterPass(Pass *pass, Operation *) override { end(pass); }
  void runAfterPassFailed(Pass *pass, Operation *) override { end(pass); }

private:
  using Clock = std::chrono::steady_clock;
  void end(Pass *pass) {
    double seconds = std::chrono::duration<double>(Clock::now() - starts.pop_back_val()).count();
    if (!pass->getArgument().empty())
      time(pass->getArgument(), seconds);
  }
  llvm::function_ref<void(llvm::StringRef, double)> time;
  SmallVector<Clock::time_point> starts;
};

} // namespace

std::unique_ptr<PassInstrumentation>
createPassTimer(llvm::function_ref<void(llvm::StringRef, double)> time) {
  return std::make_unique<PassTimer>(time);
}

} // namespace sectile::optimizer
