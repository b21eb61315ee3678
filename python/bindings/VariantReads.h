//===-- VariantReads.h - what one variant depends on beyond the digest of its source --------------===//
// Most variants depend on nothing else. The others may share one key of the table, each made for
// another value of a configuration; a launch takes the one whose reads hold.
//
//   find the key in the table -> reads? -> holdNow() of each variant -> none: compile another
#pragma once

#include "Arguments.h"
#include "PythonEnvironment.h"
#include "SourceState.h"
#include "jit/launch/Kernel.h"

namespace sectile::bindings {

struct VariantReads {
  /// Sources::serial() of when `watches` were made: they look at objects that the sources' own
  /// watches lead to.
  uint64_t sources = 0;
  /// nullopt: no watch decides, so everything is asked again.
  std::optional<std::vector<Watch>> watches;
  std::vector<jit::RecordedRead> recorded;
};
using VariantReadsRef = std::shared_ptr<const VariantReads>; // null: none

/// What a launch asks with.
struct LaunchedKernel {
  PyObject *kernel; // the JITFunction
  const ReadArguments &read;
  const Sources sources;

  /// The kernel, then its constant arguments that are no plain values, as `environment` names them.
  std::vector<lang::Constant> roots(PythonEnvironment &environment) const;
};

/// Null when everything in `log` is covered.
VariantReadsRef readsOf(const ReadLog &log, const Sources &sources);

/// Returns the reads of a variant whose reads are all covered, among others whose are not.
VariantReadsRef untilSourcesChange(const Sources &sources);

/// Asks what was recorded. `holds` is set; null when nothing has to be watched, or it does not
/// hold. Throws an interruption.
VariantReadsRef askAgain(const std::vector<jit::RecordedRead> &recorded,
                         const LaunchedKernel &launched, bool &holds);

/// Variants under one key.
class CheckedVariants {
public:
  struct Entry {
    std::shared_ptr<const jit::Kernel> kernel;
    VariantReadsRef reads;
  };
  /// Null when none of them holds.
  const jit::Kernel *find(const LaunchedKernel &launched);
  void add(Entry entry);
  int visit(visitproc visit, void *arg) const;

private:
  Entry last() const;
  std::vector<Entry> copy() const;
  void putLast(const VariantReadsRef &reads);
  void update(const VariantReadsRef &from, VariantReadsRef to);

  mutable StateMutex mutex;
  std::vector<Entry> entries; // the one that was launched latest is last
};

} // namespace sectile::bindings
