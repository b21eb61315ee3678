// What happens when a kernel has no variant for the arguments of a launch: the runtime looks on
// disk, and compiles. The GIL is given up; the callbacks that need Python take it.

#include "KernelSource.h"
#include "Launcher.h"
#include "VariantName.h"
#include "jit/runtime/Runtime.h"
#include "jit/runtime/VariantHistory.h"

#include <atomic>
#include <pybind11/stl.h>

namespace sectile::bindings {

namespace {

/// Python's handlers of signals run, and may raise, while a kernel keeps the main thread.
bool handlersRaise() {
  if (!Py_IsInitialized())
    return false;
  py::gil_scoped_acquire acquire;
  return PyErr_CheckSignals() != 0;
}

/// device_print goes through sys.stdout, so that notebooks and captured output see it, unless the
/// user has set a handler.
void ensureHandlers() {
  static std::atomic<bool> isSet = false;
  if (isSet.exchange(true))
    return;
  py::module_ native = py::module_::import("sectile._native");
  if (!py::cast<bool>(native.attr("_print_handler_is_set")))
    native.attr("set_print")(py::none());
  jit::Runtime::instance().setInterruptCheck(handlersRaise);
}

/// What sectile.compile() would be given for this variant.
py::dict signatureOf(const KernelState &state, const lang::KernelSignature &signature,
                     const ReadArguments &read) {
  std::vector<std::pair<const lang::KernelParameter *, lang::ArgumentPlace>> order;
  lang::forEachArgument(signature, [&](const lang::KernelParameter &parameter, auto place) {
    order.push_back({&parameter, place});
  });
  // From the last to the first: the items of a tuple are there when it is made.
  std::vector<py::object> made;
  auto takeItems = [&](size_t count) {
    py::tuple items(count);
    for (size_t i = 0; i < count; ++i, made.pop_back())
      items[i] = made.back();
    return items;
  };
  auto kindOf = [&](const lang::KernelParameter &parameter,
                    lang::ArgumentPlace place) -> py::object {
    py::object object = py::reinterpret_borrow<py::object>(read.objects[place.number]);
    if (parameter.items) {
      py::tuple items = takeItems(parameter.items->size());
      return parameter.tupleClass ? py::type::of(object).attr("_make")(items) : py::object(items);
    }
    if (!parameter.constant)
      return py::str(lang::kindText(parameter));
    bool isConstexpr =
        !place.isItem && state.specializer->parameters()[place.parameter].isConstexpr;
    if (isConstexpr || !PyUnicode_Check(object.ptr()))
      return object;
    return py::module_::import("sectile.language").attr("constexpr")(object); // no kind
  };
  for (auto it = order.rbegin(); it != order.rend(); ++it)
    made.push_back(kindOf(*it->first, it->second));
  py::dict result;
  for (size_t i = 0; i < signature.parameters.size(); ++i, made.pop_back())
    result[state.internedNames[i]] = made.back();
  return result;
}

/// Constants that refer to functions and objects, and classes of tuples: their numbers must be
/// those of this compile's environment. What they are must be in the key, of which a signature
/// knows the name only: `opaque` collects them.
void nameConstants(lang::KernelSignature &signature, const ReadArguments &read,
                   KernelSource &source, py::list &opaque) {
  lang::forEachArgument(signature, [&](lang::KernelParameter &parameter, auto place) {
    const jit::ArgumentValue &value = read.values.data()[place.number];
    PyObject *object = read.objects[place.number];
    if (parameter.items) {
      parameter.tupleClass = source.tupleClassOf(object);
    } else if (value.kind == jit::ArgumentValue::Kind::Constant &&
               value.content == jit::ArgumentValue::Bits::ConstantId) {
      parameter.constant = source.constantOf(object);
      opaque.append(py::handle(object));
    }
  });
}

const char *nameOf(jit::KernelResult::Origin origin) {
  using Origin = jit::KernelResult::Origin;
  return origin == Origin::Memory   ? "memory"
         : origin == Origin::Disk   ? "disk"
         : origin == Origin::SameIr ? "same ir"
                                    : "compiled";
}

} // namespace

Variant getVariant(KernelState &state, const LaunchedKernel &launched, jit::MemoryFacts memory,
                   const LaunchOptions &options, int32_t device) {
  ensureHandlers();
  const ReadArguments &read = launched.read;
  const SourceState &sourceState = *launched.sources.own;
  KernelSource source(launched);
  jit::KernelRequest request;
  request.sourceDigest = sourceState.digest;
  request.sourceFiles = sourceState.files;
  request.reads = &source;
  request.signature = state.specializer->signature(read.span());
  request.options = options.compileOptions(device);
  request.memory = std::move(memory);
  py::list opaque;
  nameConstants(request.signature, read, source, opaque);
  if (!opaque.empty()) {
    py::tuple described =
        py::handle(launched.kernel).attr("_describe_constants")(opaque, request.sourceFiles);
    request.sourceDigest += py::cast<std::string>(described[0]);
    request.sourceFiles = py::cast<std::vector<std::string>>(described[1]);
  }
  request.makeCompileRequest = [&](jit::CompileRequest &compile) { return source.fill(compile); };
  Variant variant;
  variant.signature = signatureOf(state, request.signature, read);
  request.signature.variantName = variantName(state, launched.kernel, variant.signature);
  variant.parameters = KernelParameters::of(request.signature, state.specializer->parameters());
  variant.codeSignature = std::make_shared<const lang::KernelSignature>(request.signature);
  variant.options = options.unusual();
  variant.target = jit::targetOf(request.options);
  variant.sourceVersion = sourceState.version;
  jit::KernelResult result;
  {
    py::gil_scoped_release release;
    result = jit::Runtime::instance().getKernel(request);
  }
  source.throwInterruption();
  if (!result.kernel)
    throwError(result.status.error());
  variant.kernel = std::move(result.kernel);
  variant.origin = nameOf(result.origin);
  variant.reads = source.reads();
  return variant;
}

} // namespace sectile::bindings
