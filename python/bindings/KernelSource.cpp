#include "KernelSource.h"

#include "Arguments.h"
#include "AstConverter.h"

namespace sectile::bindings {

KernelSource::KernelSource(const LaunchedKernel &launched) : launched(launched) {
  covered.add(launched.sources.own->watches);
  for (const auto &source : launched.sources.passed)
    covered.add(source->watches);
}

std::vector<jit::RecordedRead> KernelSource::recorded() {
  return log.recorded();
}

bool KernelSource::hold(const std::vector<jit::RecordedRead> &reads) {
  py::gil_scoped_acquire acquire;
  if (interruption)
    return false;
  try {
    bool holds;
    VariantReadsRef now = askAgain(reads, launched, holds);
    if (holds) {
      hasHeld = true;
      held = std::move(now);
    }
    return holds;
  } catch (py::error_already_set &raised) {
    interruption.emplace(raised);
    return false;
  }
}

void KernelSource::throwInterruption() {
  if (!interruption)
    return environment.throwInterruption();
  py::error_already_set raised = *interruption;
  interruption.reset();
  throw raised;
}

VariantReadsRef KernelSource::reads() const {
  return hasHeld ? held : readsOf(log, launched.sources);
}

jit::Status KernelSource::fill(jit::CompileRequest &request) {
  py::gil_scoped_acquire acquire;
  std::string name = "kernel", error;
  try {
    hasHeld = false;
    log.start(launched.roots(environment));
    environment.noteReads(&log, &covered);
    lang::FunctionRef reference = environment.reference(launched.kernel);
    name = reference.name;
    request.function = environment.function(reference, error);
  } catch (py::error_already_set &raised) {
    environment.keepInterruption(raised);
    error = describeException(raised);
  } catch (const std::exception &exception) {
    error = exception.what();
  }
  if (wasInterrupted())
    return jit::Status::fail(jit::Error::Kind::Interrupted, name + ": interrupted");
  if (!request.function)
    return jit::Status::fail(jit::Error::Kind::Call, name + ": " + error,
                             "kernels are compiled from their source text, so define the function "
                             "in a file or a notebook cell");
  request.environment = &environment;
  return {};
}

lang::Constant constantOf(PyObject *object) {
  // Never destroyed: it keeps the objects that numbered constants stand for.
  static auto *environment = new PythonEnvironment;
  return environment->constantOf(object);
}

} // namespace sectile::bindings
