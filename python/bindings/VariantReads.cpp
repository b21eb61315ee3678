#include "VariantReads.h"

#include "Interruption.h"

#include <algorithm>

namespace sectile::bindings {

namespace {

/// A kernel that reads something new at each launch must not collect variants for ever.
constexpr size_t kMostVariants = 32;

} // namespace

std::vector<lang::Constant> LaunchedKernel::roots(PythonEnvironment &environment) const {
  using jit::ArgumentValue;
  std::vector<lang::Constant> result = {{environment.reference(kernel)}};
  for (size_t i = 0; i < read.values.size(); ++i) {
    const ArgumentValue &value = read.values.data()[i];
    PyObject *object = read.objects[i];
    if (value.kind == ArgumentValue::Kind::Constant &&
        value.content == ArgumentValue::Bits::ConstantId)
      result.push_back(environment.constantOf(object));
    else if (value.kind == ArgumentValue::Kind::Tuple && value.constant)
      result.push_back(
          lang::Constant::tuple({}, environment.tupleClassOfArgument(py::type::handle_of(object))));
  }
  return result;
}

VariantReadsRef readsOf(const ReadLog &log, const Sources &sources) {
  if (!log.isAsked())
    return nullptr;
  auto reads = std::make_shared<VariantReads>();
  reads->sources = sources.serial();
  reads->watches = log.watches();
  reads->recorded = log.recorded();
  return reads;
}

VariantReadsRef untilSourcesChange(const Sources &sources) {
  return std::make_shared<VariantReads>(
      VariantReads{sources.serial(), std::vector<Watch>(), {{kUnanswerable, ""}}});
}

VariantReadsRef askAgain(const std::vector<jit::RecordedRead> &recorded,
                         const LaunchedKernel &launched, bool &holds) {
  holds = false;
  WatchIndex covered;
  covered.add(launched.sources.own->watches);
  for (const auto &source : launched.sources.passed)
    covered.add(source->watches);
  PythonEnvironment environment;
  ReadLog log;
  std::vector<lang::Constant> roots = launched.roots(environment);
  log.start(roots);
  environment.noteReads(&log, &covered);
  try {
    holds = replay(recorded, environment, roots);
  } catch (py::error_already_set &raised) {
    if (isInterruption(raised))
      throw;
    // What cannot be asked is not what it was; evaluating it reports why.
  }
  return holds ? readsOf(log, launched.sources) : nullptr;
}

const jit::Kernel *CheckedVariants::find(const LaunchedKernel &launched) {
  uint64_t sources = launched.sources.serial();
  auto isUnchanged = [&](const Entry &entry) {
    return entry.reads && entry.reads->sources == sources && entry.reads->watches &&
           holdAll(*entry.reads->watches);
  };
  if (Entry latest = last(); isUnchanged(latest)) [[likely]]
    return latest.kernel.get();
  std::vector<Entry> variants = copy();
  for (const Entry &entry : variants)
    if (isUnchanged(entry)) {
      putLast(entry.reads);
      return entry.kernel.get();
    }
  for (const Entry &entry : variants) {
    bool holds;
    VariantReadsRef now = askAgain(entry.reads->recorded, launched, holds);
    if (!holds)
      continue;
    if (now)
      update(entry.reads, now);
    putLast(now ? now : entry.reads);
    return entry.kernel.get();
  }
  return nullptr;
}

CheckedVariants::Entry CheckedVariants::last() const {
  std::lock_guard lock(mutex);
  return entries.empty() ? Entry() : entries.back();
}

void CheckedVariants::putLast(const VariantReadsRef &reads) {
  std::lock_guard lock(mutex);
  auto found = std::find_if(entries.begin(), entries.end(),
                            [&](const Entry &entry) { return entry.reads == reads; });
  if (found != entries.end())
    std::rotate(found, found + 1, entries.end());
}

void CheckedVariants::add(Entry entry) {
  Entry dropped; // dies after the lock
  std::lock_guard lock(mutex);
  if (entries.size() == kMostVariants) {
    dropped = std::move(entries.front());
    entries.erase(entries.begin());
  }
  entries.push_back(std::move(entry));
}

std::vector<CheckedVariants::Entry> CheckedVariants::copy() const {
  std::lock_guard lock(mutex);
  return entries;
}

void CheckedVariants::update(const VariantReadsRef &from, VariantReadsRef to) {
  std::lock_guard lock(mutex);
  for (Entry &entry : entries)
    if (entry.reads == from) {
      entry.reads.swap(to); // what was there dies after the lock
      return;
    }
}

int CheckedVariants::visit(visitproc visit, void *arg) const {
  for (const Entry &entry : entries)
    // Shared with a launch that is going on, the references belong to that launch too.
    if (entry.reads.use_count() == 1 && entry.reads->watches)
      for (const Watch &watch : *entry.reads->watches)
        if (int result = watch.visit(visit, arg))
          return result;
  return 0;
}

} // namespace sectile::bindings
