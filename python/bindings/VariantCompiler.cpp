// What happens when a kernel has no variant for the arguments of a launch: the runtime looks on
// disk, and compiles. The GIL is given up; the callbacks that need Python take it.

#include "KernelSource.h"
#include "Launcher.h"
#include "jit/Runtime.h"

namespace sectile::bindings {

namespace {

/// device_print goes through sys.stdout, so that notebooks and captured output see it, unless the
/// user has set a handler.
void ensurePrintHandler() {
  static bool isSet = false;
  if (isSet)
    return;
  isSet = true;
  py::module_ native = py::module_::import("sectile._native");
  if (!py::cast<bool>(native.attr("_print_handler_is_set")))
    native.attr("set_print")(py::none());
}

} // namespace

std::shared_ptr<const jit::Kernel>
getVariant(KernelState &state, PyObject *kernel, std::span<const jit::ArgumentValue> values,
           PyObject *const *arguments, const jit::BoundArguments &bound,
           const LaunchOptions &options, int32_t device, const std::string &sourceDigest) {
  ensurePrintHandler();
  KernelSource source(kernel);
  jit::KernelRequest request;
  request.sourceDigest = sourceDigest;
  request.signature = state.specializer->signature(values);
  request.options = options.compileOptions(device);
  request.overlaps.assign(bound.overlaps.data(), bound.overlaps.data() + bound.overlaps.size());
  // Constants that refer to functions and objects: their numbers must be those of this compile's
  // environment, and what they are must be in the key, of which a signature knows the name only.
  py::list opaque;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].kind != jit::ArgumentValue::Kind::Constant ||
        values[i].content != jit::ArgumentValue::Bits::ConstantId)
      continue;
    request.signature.parameters[i].constant = source.constantOf(arguments[i]);
    opaque.append(py::handle(arguments[i]));
  }
  if (!opaque.empty())
    request.sourceDigest +=
        py::cast<std::string>(py::handle(kernel).attr("_describe_constants")(opaque));
  request.makeCompileRequest = [&](jit::CompileRequest &compile) { return source.fill(compile); };
  jit::KernelResult result;
  {
    py::gil_scoped_release release;
    result = jit::Runtime::instance().getKernel(request);
  }
  if (!result.kernel)
    throwError(result.status.error());
  return std::move(result.kernel);
}

} // namespace sectile::bindings
