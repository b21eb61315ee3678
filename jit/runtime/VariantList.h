//===-- VariantList.h - the variants of one kernel, with what made each -----------------------===//
//   list.add(request, runtime.getKernel(request));
//   for (const VariantRecord &variant : list.all())
//     variant.signature      "x: *fp32:16, n: i32, BLOCK = 1024"
//
// The variants are in the order in which they were first obtained, each once. They live as long as
// the list, which is thread-safe.
#pragma once

#include "backends/plain/ForkSafeMutex.h"
#include "jit/Api.h"
#include "jit/runtime/Runtime.h"

#include <memory>
#include <string>
#include <vector>

namespace sectile::jit {

struct VariantRecord {
  std::shared_ptr<const Kernel> kernel;
  std::string signature;
  /// What differs from the defaults: "num_warps=8".
  std::string options;
  /// "cpu", "cuda:sm_90a".
  std::string target;
  KernelResult::Origin origin = KernelResult::Origin::None;
  /// What sets it apart from the nearest before it: "n: i32 instead of 1"; "the first variant".
  std::string reason;
};

class SECTILE_API VariantList {
public:
  VariantList();
  ~VariantList();
  VariantList(const VariantList &) = delete;
  VariantList &operator=(const VariantList &) = delete;

  /// Adds the variant of a request that was answered with a kernel.
  void add(const KernelRequest &request, const KernelResult &result);
  std::vector<VariantRecord> all() const;

private:
  mutable ForkSafeMutex mutex;
  std::vector<VariantRecord> records;
};

} // namespace sectile::jit
