#include "KernelSource.h"

#include "Arguments.h"

namespace sectile::bindings {

jit::Status KernelSource::fill(jit::CompileRequest &request) {
  py::gil_scoped_acquire acquire;
  std::string name = "kernel", error;
  try {
    lang::FunctionRef reference = environment.reference(kernel);
    name = reference.name;
    request.function = environment.function(reference, error);
  } catch (const std::exception &exception) {
    error = exception.what();
  }
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
