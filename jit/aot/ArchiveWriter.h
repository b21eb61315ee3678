//===-- ArchiveWriter.h - collects compiled variants into an archive ----------------------------===//
// What Kernel::exportTo() of C++ programs fills; its header is all that they read of archives.
//
//   ArchiveWriter writer;
//   writer.addKernel("scale", specializer.parameters());
//   writer.addVariant(kernel, specializer.signature(values));
//   std::string bytes = writer.bytes(problem);
//
// Thread-safe.
#pragma once

#include "jit/Api.h"
#include "jit/launch/Specialization.h"

#include <memory>
#include <span>
#include <string>

namespace sectile::jit {

class SECTILE_API ArchiveWriter {
public:
  ArchiveWriter();
  ~ArchiveWriter();
  ArchiveWriter(const ArchiveWriter &) = delete;
  ArchiveWriter &operator=(const ArchiveWriter &) = delete;

  /// A kernel that is named again has the parameters of the first time.
  void addKernel(const std::string &name, std::span<const ParameterPolicy> parameters);
  void addVariant(const Kernel &kernel, lang::KernelSignature signature);
  /// The archive: equal content gives equal bytes. "" with `problem` set when what was added makes
  /// none.
  std::string bytes(std::string &problem) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace sectile::jit
