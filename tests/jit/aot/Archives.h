//===-- Archives.h - an archive of host code, for tests ----------------------------------------===//
// add(out, x, n, MODE): several variants, whose code adds a number of their own to out[program].
#pragma once

#include "../FakeCompiler.h"
#include "jit/aot/Archive.h"

#include <string>
#include <vector>

namespace sectile::jit::test {

inline std::vector<ParameterPolicy> addPolicies() {
  std::vector<ParameterPolicy> policies(4);
  policies[0].name = "out";
  policies[1].name = "x";
  policies[2].name = "n";
  policies[3].name = "MODE";
  policies[3].isConstexpr = true;
  return policies;
}

inline ArchivedKernelEntry addEntry(std::string name = "add") {
  ArchivedKernelEntry entry;
  entry.name = std::move(name);
  entry.documentation = "Adds.";
  for (ParameterPolicy &policy : addPolicies())
    entry.parameters.push_back({std::move(policy), false, {}, {}});
  return entry;
}

/// What one launch passes: pointers of a type (not divisible by 16), an integer, a text.
inline std::vector<ArgumentValue> addValues(void *out, const void *x, int64_t n,
                                            const std::string &mode,
                                            lang::ScalarKind kind = lang::ScalarKind::Int64) {
  ConstantTable::Entry entry = ConstantTable::ofProcess().intern(lang::Constant{std::string(mode)});
  return {ArgumentValue::pointer(lang::DType::pointer(kind), out),
          ArgumentValue::pointer(lang::DType::pointer(kind), x), ArgumentValue::integer(n),
          ArgumentValue::constantWithId(entry.id, *entry.constant)};
}

/// Code that adds `value`, for launches such as those of `values`.
inline VariantToArchive addVariant(const std::vector<ArgumentValue> &values, int64_t value,
                                   std::string targetName = "x86_64:x86-64",
                                   std::string kernelName = "add") {
  VariantToArchive variant;
  variant.kernelName = kernelName;
  variant.signature = Specializer(kernelName, addPolicies()).signature(values);
  variant.image = testImage("addValue", value);
  variant.image.kernelName = kernelName;
  variant.image.targetName = targetName;
  const std::string arch = targetName.substr(targetName.find(':') + 1);
  variant.image.options.arch = arch;
  variant.image.options.forElsewhere = true;
  variant.image.arguments.clear();
  for (const lang::KernelParameter &parameter : variant.signature.parameters)
    if (!parameter.constant)
      variant.image.arguments.push_back({parameter.name, parameter.dtype,
                                         static_cast<uint32_t>(variant.image.arguments.size()),
                                         parameter.name == "out"});
  return variant;
}

} // namespace sectile::jit::test
