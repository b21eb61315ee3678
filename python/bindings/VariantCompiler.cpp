// What happens when a kernel has no variant for the arguments of a launch: the runtime looks on
// disk, and compiles. The GIL is given up; the callbacks that need Python take it.

#include "KernelSource.h"
#include "Launcher.h"
#include "jit/Runtime.h"

#include <pybind11/stl.h>

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

/// What sectile.compile() would be given for this variant.
py::dict signatureOf(const KernelState &state, const lang::KernelSignature &signature,
                     PyObject *const *arguments) {
  py::dict result;
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    const lang::KernelParameter &parameter = signature.parameters[i];
    py::handle name = state.internedNames[i];
    if (parameter.constant)
      result[name] = py::handle(arguments[i]);
    else
      result[name] = parameter.dtype.name() + (parameter.divisibleBy16 ? ":16" : "");
  }
  return result;
}

py::dict optionsOf(const LaunchOptions &options) {
  py::dict result;
  LaunchOptions usual;
  auto add = [&](const char *name, auto value, auto initial) {
    if (value != initial)
      result[name] = value;
  };
  add("num_warps", options.warpCount, usual.warpCount);
  add("num_stages", options.stageCount, usual.stageCount);
  add("num_ctas", options.ctaCount, usual.ctaCount);
  add("maxnreg", options.maxRegisters, usual.maxRegisters);
  add("enable_fp_fusion", options.enableFpFusion, usual.enableFpFusion);
  add("debug", options.debug, usual.debug);
  add("sanitize_overflow", options.sanitizeOverflow, usual.sanitizeOverflow);
  if (options.checkBounds)
    result["check"] = "bounds";
  return result;
}

const char *nameOf(jit::KernelResult::Origin origin) {
  using Origin = jit::KernelResult::Origin;
  return origin == Origin::Memory   ? "memory"
         : origin == Origin::Disk   ? "disk"
         : origin == Origin::SameIr ? "same ir"
                                    : "compiled";
}

} // namespace

Variant getVariant(KernelState &state, PyObject *kernel, std::span<const jit::ArgumentValue> values,
                   PyObject *const *arguments, const jit::BoundArguments &bound,
                   const LaunchOptions &options, int32_t device, const SourceState &sourceState) {
  ensurePrintHandler();
  KernelSource source(kernel);
  jit::KernelRequest request;
  request.sourceDigest = sourceState.digest;
  request.sourceFiles = sourceState.files;
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
  if (!opaque.empty()) {
    py::tuple described =
        py::handle(kernel).attr("_describe_constants")(opaque, request.sourceFiles);
    request.sourceDigest += py::cast<std::string>(described[0]);
    request.sourceFiles = py::cast<std::vector<std::string>>(described[1]);
  }
  request.makeCompileRequest = [&](jit::CompileRequest &compile) { return source.fill(compile); };
  Variant variant;
  variant.signature = signatureOf(state, request.signature, arguments);
  variant.options = optionsOf(options);
  variant.target =
      request.options.backend + (request.options.arch.empty() ? "" : ":" + request.options.arch);
  variant.sourceVersion = sourceState.version;
  jit::KernelResult result;
  {
    py::gil_scoped_release release;
    result = jit::Runtime::instance().getKernel(request);
  }
  if (!result.kernel)
    throwError(result.status.error());
  variant.kernel = std::move(result.kernel);
  variant.origin = nameOf(result.origin);
  return variant;
}

} // namespace sectile::bindings
