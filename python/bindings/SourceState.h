//===-- SourceState.h - the digest of a kernel's source, and what it holds for --------------------===//
// The first half of "is this kernel still what was compiled?": text and names, digested by
// dependencies.py once and watched from then on. The other half are the reads that no watch covers
// (VariantReads.h).
#pragma once

#include "Watch.h"

#include <memory>

namespace sectile::bindings {

struct KernelState;

/// Never changed once it is there: another thread may be comparing it.
struct SourceState {
  std::string digest;
  /// The files of the functions in it, in the order of the first function of each; in no key
  /// (jit::KernelRequest::sourceFiles).
  std::vector<std::string> files;
  /// The digest's number; part of each variant's key.
  uint64_t version = 0;
  /// As long as all hold, the digest does.
  std::vector<Watch> watches;
  /// No other state of any kernel has this number: objects of equal digest need not be the same.
  uint64_t serial = 0;
  /// The number of the last change of a source by hand (sourceChanged) that this takes into
  /// account.
  uint64_t epoch = 0;
};

/// The states of a kernel's source, and of the sources of kernels that a launch passes to it.
struct Sources {
  std::shared_ptr<const SourceState> own;
  std::vector<std::shared_ptr<const SourceState>> passed;

  /// The same number only while all are the same states.
  uint64_t serial() const;
};

/// Checks what the source refers to; where something changed, digests anew.
std::shared_ptr<const SourceState> currentSource(KernelState &state, PyObject *kernel);
/// The text of some kernel has been replaced: all sources are looked at anew.
void sourceChanged();

} // namespace sectile::bindings
