//===-- HostCode.h - runs IR that a test emitted ----------------------------------------------===//
// Compiles a module as a kernel is compiled (short pipeline, then HostLibrary.h), for any CPU
// level.
#pragma once

#include "backends/cpu/HostFeatures.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

#include <memory>
#include <string>
#include <vector>

namespace sectile::testing {

class HostLibrary;

/// `build` gets a builder in the entry block of the exported function and ends it with a return.
class HostCode {
public:
  using Build = llvm::function_ref<void(llvm::IRBuilder<> &, llvm::Function &)>;
  HostCode(const cpu::HostFeatures &host, unsigned parameterCount, Build build);
  ~HostCode();
  HostCode(const HostCode &) = delete;

  /// Why it did not compile or link; empty when it did.
  const std::string &error() const;
  /// All parameters are pointers or i64.
  template <typename... Arguments>
  void operator()(Arguments... arguments) const {
    reinterpret_cast<void (*)(Arguments...)>(entry())(arguments...);
  }
  size_t objectBytes() const;

private:
  void *entry() const;

  std::unique_ptr<HostLibrary> library;
};

/// The levels of the psABI that this machine can run, and itself.
std::vector<cpu::HostFeatures> runnableLevels();
std::string levelName(const cpu::HostFeatures &host);

/// Parameters: one pointer per input, the output, the count (i64, a multiple of `width`). `emit`
/// maps one vector of each input to one of the output. Truth values become i8.
using EmitLanes =
    llvm::function_ref<llvm::Value *(llvm::IRBuilderBase &, llvm::ArrayRef<llvm::Value *>)>;
/// Element types are given by example: f32 is "float".
enum class Element { I8, I16, I32, I64, F32, F64 };
std::unique_ptr<HostCode> compileLanes(const cpu::HostFeatures &host, unsigned width,
                                       llvm::ArrayRef<Element> inputs, Element output,
                                       EmitLanes emit);
llvm::Type *elementType(llvm::LLVMContext &context, Element element);

} // namespace sectile::testing
