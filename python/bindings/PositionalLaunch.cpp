#include "PositionalLaunch.h"

#include "Launcher.h"
#include "jit/launch/MemoryFacts.h"
#include "jit/runtime/Runtime.h"

namespace sectile::bindings {

KernelParameters KernelParameters::of(const lang::KernelSignature &signature,
                                      std::span<const jit::ParameterPolicy> policies) {
  KernelParameters result;
  lang::forEachArgument(signature, [&](const lang::KernelParameter &parameter, auto place) {
    if (!place.isItem)
      result.parameters.push_back({parameter.name, parameter.constant.has_value(), {}});
    const bool isPassed = !parameter.constant && !parameter.items;
    const bool isOwn = policies[result.parameters.size() - 1].isConstexpr;
    result.parameters.back().values.push_back(
        {parameter.name, isPassed ? lang::kindText(parameter) : std::string(),
         parameter.constant && !isOwn ? parameter.constant->repr() : std::string()});
  });
  return result;
}

py::list KernelParameters::toPython() const {
  py::list result;
  for (const Parameter &parameter : parameters) {
    py::list values;
    for (const Value &value : parameter.values)
      values.append(py::make_tuple(value.name, value.kind, value.folded));
    result.append(py::make_tuple(parameter.name, parameter.isConstant, values));
  }
  return result;
}

KernelParameters KernelParameters::ofPython(const py::list &list) {
  KernelParameters result;
  for (py::handle entry : list) {
    py::tuple fields = py::reinterpret_borrow<py::tuple>(entry);
    Parameter parameter{fields[0].cast<std::string>(), fields[1].cast<bool>(), {}};
    for (py::handle each : fields[2]) {
      py::tuple value = py::reinterpret_borrow<py::tuple>(each);
      parameter.values.push_back({value[0].cast<std::string>(), value[1].cast<std::string>(),
                                  value[2].cast<std::string>()});
    }
    result.parameters.push_back(std::move(parameter));
  }
  return result;
}

PositionalLaunch::PositionalLaunch(std::shared_ptr<const jit::Kernel> kernel,
                                   KernelParameters parameters,
                                   std::shared_ptr<const PositionalLaunch> ifAliased)
    : kernel(std::move(kernel)), known(std::move(parameters)), ifAliased(std::move(ifAliased)) {
  std::vector<jit::ParameterPolicy> policies;
  for (const KernelParameters::Parameter &parameter : known.parameters) {
    passedParameters += !parameter.isConstant;
    std::vector<Expected> &values = expected.emplace_back();
    for (const KernelParameters::Value &value : parameter.values) {
      Expected &one = values.emplace_back();
      one.name = value.name;
      one.folded = value.folded;
      std::string problem;
      std::optional<lang::KernelParameter> kind =
          value.kind.empty() ? std::nullopt : lang::parseKind(value.kind, problem);
      if (!kind)
        continue;
      one.isPassed = true;
      one.isDivisible = kind->divisibleBy16;
      one.dtype = kind->dtype;
      // An argument is converted to the type that the code has for it, and nothing becomes a
      // constant.
      policies.push_back({value.name, false, false, false, kind->dtype});
    }
  }
  specializer = std::make_unique<jit::Specializer>(this->kernel->image().kernelName, policies);
}

void PositionalLaunch::refuse(const std::string &argument, const std::string &problem) const {
  throwCallError(kernel->image().kernelName + ": argument '" + argument + "' " + problem,
                 "launch the @jit function, which finds or compiles the code that fits");
}

/// As lang::Constant::repr() shows constants; empty for what is none.
static std::string textOf(const jit::ArgumentValue &value) {
  using Kind = jit::ArgumentValue::Kind;
  using Bits = jit::ArgumentValue::Bits;
  if (value.constant && value.kind == Kind::Constant)
    return value.constant->repr();
  if (value.kind == Kind::None)
    return lang::Constant{lang::None{}}.repr();
  const bool isConstant = value.kind == Kind::Constant;
  if (value.kind == Kind::Bool || (isConstant && value.content == Bits::ConstantBool))
    return lang::Constant{value.bits != 0}.repr();
  if (value.kind == Kind::Float || (isConstant && value.content == Bits::ConstantFloat))
    return lang::Constant{std::bit_cast<double>(value.bits)}.repr();
  if ((value.kind == Kind::Integer && value.content == Bits::Signed) ||
      (isConstant && value.content == Bits::ConstantInteger))
    return lang::Constant::integer(static_cast<int64_t>(value.bits)).repr();
  return {};
}

void PositionalLaunch::read(size_t parameter, PyObject *argument, HeldResources &held,
                            std::vector<jit::ArgumentValue> &values) const {
  using Kind = jit::ArgumentValue::Kind;
  const std::vector<Expected> &wanted = expected[parameter];
  ReadArguments read;
  ReadArgument how{kernel->image().kernelName, known.parameters[parameter].name};
  readArgument(argument, how, held, read);
  if (read.values.size() != wanted.size()) [[unlikely]]
    refuse(how.parameter, "has another number of items than the code was compiled for");
  for (size_t i = 0; i < wanted.size(); ++i) {
    jit::ArgumentValue value = read.values.data()[i];
    if (!wanted[i].isPassed) { // a tuple, or a constant of the code
      if (!wanted[i].folded.empty() && textOf(value) != wanted[i].folded) [[unlikely]]
        refuse(wanted[i].name, "is not " + wanted[i].folded + ", which the code was compiled for");
      continue;
    }
    const lang::DType dtype = wanted[i].dtype;
    const bool isPointer = value.kind == Kind::Pointer;
    const bool isNumber =
        value.kind == Kind::Integer || value.kind == Kind::Float || value.kind == Kind::Bool;
    if (isPointer != dtype.isPointer || !(isPointer || isNumber) ||
        (isPointer && value.dtype.kind != dtype.kind)) [[unlikely]]
      refuse(wanted[i].name,
             "is " +
                 std::string(isPointer                  ? "a " + value.dtype.name()
                             : isNumber                 ? "a number"
                             : value.kind == Kind::None ? "None"
                                                        : "neither an array nor a number") +
                 ", and the code was compiled for " + dtype.name());
    if (wanted[i].isDivisible && value.bits % 16 != 0) [[unlikely]]
      refuse(wanted[i].name, "is no multiple of 16, and the code was compiled for one that is");
    values.push_back(value);
  }
}

int32_t PositionalLaunch::deviceOf(const std::vector<jit::ArgumentValue> &values) const {
  int32_t device;
  size_t first;
  if (jit::Status status =
          specializer->commonDevice(values, device, &first, &jit::Runtime::defaultGpuBackend);
      !status.ok()) [[unlikely]]
    throwError(status.error());
  const std::string &backend = kernel->image().backend;
  const bool isGpu = backend != "cpu";
  if (first < values.size()) [[likely]] {
    jit::Runtime &runtime = jit::Runtime::instance();
    if (isGpu != (device >= 0) || (isGpu && runtime.gpuBackend() != backend)) [[unlikely]]
      refuse(specializer->argumentName(values, first),
             "is on " + runtime.deviceName(device) + ", and the code is for " + backend);
    return device;
  }
  return 0;
}

const jit::Kernel *PositionalLaunch::kernelFor(const jit::BoundArguments &bound) const {
  backends::CompileOptions options = kernel->image().options;
  if (bound.overlaps.size() != 0 &&
      jit::MemoryFacts::of(bound).changeOptions(kernel->image(), options)) [[unlikely]] {
    if (ifAliased)
      return ifAliased->kernelFor(bound);
    const backends::ArgumentOverlap overlap = bound.overlaps[0];
    const auto &arguments = kernel->image().arguments;
    refuse(arguments[overlap.first].name,
           "shares memory with '" + arguments[overlap.second].name +
               "', and the code was compiled for arrays that lie apart");
  }
  if (kernel->wantsPointers(bound)) [[unlikely]]
    throwCallError(kernel->image().kernelName +
                       ": the copy engine cannot describe one of the arrays (its address or a "
                       "stride is no multiple of 16 bytes), and this code relies on it",
                   "launch the @jit function, which finds or compiles the code that fits");
  if (kernel->exceedsBuffers(bound)) [[unlikely]]
    throwCallError(kernel->image().kernelName +
                       ": an array ends 2 GiB or more behind its pointer, or an integer is "
                       "negative, and this code relies on neither",
                   "launch the @jit function, which finds or compiles the code that fits");
  return kernel.get();
}

void PositionalLaunch::run(const backends::Grid &grid, std::optional<uint64_t> stream,
                           PyObject *const *arguments, size_t count) const {
  const bool areAllGiven = count == known.parameters.size();
  if (!areAllGiven && count != passedParameters) [[unlikely]] {
    std::string names;
    for (const KernelParameters::Parameter &parameter : known.parameters)
      names += (names.empty() ? "" : ", ") + parameter.name;
    throwCallError(kernel->image().kernelName + ": " + std::to_string(count) +
                       " arguments are given, and there are " +
                       std::to_string(known.parameters.size()) + " parameters, " +
                       std::to_string(passedParameters) + " without constants",
                   names.empty() ? "the kernel has no parameters" : "the parameters are " + names);
  }
  HeldResources held;
  std::vector<jit::ArgumentValue> values;
  values.reserve(known.parameters.size());
  size_t next = 0;
  for (size_t i = 0; i < known.parameters.size(); ++i) {
    const bool isConstant = known.parameters[i].isConstant;
    // The code has the values of the kernel's own constants, which may be objects of any kind.
    const bool isLookedAt = !isConstant || !known.parameters[i].values.front().folded.empty();
    if (isLookedAt && (areAllGiven || !isConstant))
      read(i, arguments[next], held, values);
    next += areAllGiven || !isConstant;
  }
  jit::BoundLaunch ready;
  ready.grid = grid;
  if (jit::Status status = specializer->bind(values, ready.arguments); !status.ok()) [[unlikely]]
    throwError(status.error());
  const bool isGpu = kernel->image().backend != "cpu";
  ready.arguments.device = std::max(deviceOf(values), 0);
  if (isGpu)
    ready.arguments.stream = stream ? reinterpret_cast<void *>(*stream) : held.stream.current();
  ready.kernel = kernelFor(ready.arguments);
  runLaunch(ready, ready.arguments.stream);
}

} // namespace sectile::bindings
