#include "jit/runtime/VariantList.h"

#include "jit/runtime/VariantHistory.h"

#include <algorithm>

namespace sectile::jit {

VariantList::VariantList() = default;
VariantList::~VariantList() = default;

void VariantList::add(const KernelRequest &request, const KernelResult &result) {
  const backends::KernelImage &image = result.kernel->image();
  backends::CompileOptions options = request.options;
  copyMemoryOptions(image.options, options); // the request says less (KernelRequest::memory)
  VariantRecord record{result.kernel,     describe(request.signature),
                       describe(options), targetOf(request.options),
                       result.origin,     result.reason};
  std::lock_guard lock(mutex);
  auto isSame = [&](const VariantRecord &other) {
    return other.signature == record.signature && other.options == record.options &&
           other.target == record.target;
  };
  if (std::none_of(records.begin(), records.end(), isSame))
    records.push_back(record);
}

std::vector<VariantRecord> VariantList::all() const {
  std::lock_guard lock(mutex);
  return records;
}

} // namespace sectile::jit
