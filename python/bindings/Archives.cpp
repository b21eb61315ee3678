// Archives of compiled kernels: what sectile.aot writes, and what st.aot.load() opens.

#include "Grid.h"
#include "Launcher.h"
#include "jit/aot/Archive.h"
#include "jit/runtime/Runtime.h"
#include "jit/runtime/VariantHistory.h"
#include "lang/plain/Diagnostics.h"

#include <bit>
#include <pybind11/stl.h>

namespace sectile::bindings {

namespace {

//-- Writing --------------------------------------------------------------------------------------

/// [(number of the step, its value), ...]
jit::LaunchFormula formulaOf(const py::handle &steps) {
  jit::LaunchFormula formula;
  for (py::handle step : steps) {
    auto [kind, value] = py::cast<std::pair<uint8_t, int64_t>>(step);
    formula.steps.push_back({static_cast<jit::LaunchFormula::Kind>(kind), value});
  }
  return formula;
}

/// (name, documentation, [(name, is constexpr, specialize, on alignment, annotation, has default,
/// default, steps, is keyword-only)], [grid], [(keyword, steps)])
jit::ArchivedKernelEntry kernelOf(const py::tuple &fields) {
  jit::ArchivedKernelEntry kernel;
  kernel.name = py::cast<std::string>(fields[0]);
  kernel.documentation = py::cast<std::string>(fields[1]);
  for (py::handle each : fields[2]) {
    py::tuple parts = py::reinterpret_borrow<py::tuple>(each);
    jit::ArchivedParameter parameter;
    parameter.policy.name = py::cast<std::string>(parts[0]);
    parameter.policy.isConstexpr = py::cast<bool>(parts[1]);
    parameter.policy.specialize = py::cast<bool>(parts[2]);
    parameter.policy.specializeOnAlignment = py::cast<bool>(parts[3]);
    if (!parts[4].is_none()) {
      std::string annotation = py::cast<std::string>(parts[4]);
      parameter.policy.isConst = annotation == "const";
      if (std::optional<lang::DType> dtype = lang::DType::parse(annotation))
        parameter.policy.annotation = *dtype;
    }
    if (py::cast<bool>(parts[5])) {
      lang::Constant initial = constantOf(parts[6].ptr());
      parameter.initial = std::move(initial);
    }
    parameter.chosen = formulaOf(parts[7]);
    parameter.isKeywordOnly = py::cast<bool>(parts[8]);
    kernel.parameters.push_back(std::move(parameter));
  }
  for (py::handle extent : fields[3])
    kernel.grid.push_back(formulaOf(extent));
  for (py::handle each : fields[4]) {
    py::tuple option = py::reinterpret_borrow<py::tuple>(each);
    kernel.chosenOptions.push_back({py::cast<std::string>(option[0]), formulaOf(option[1])});
  }
  return kernel;
}

/// [kernel], [(KernelCode, keep PTX)] -> bytes
py::bytes writeArchive(const py::list &kernels, const py::list &variants) {
  std::vector<jit::ArchivedKernelEntry> entries;
  for (py::handle kernel : kernels)
    entries.push_back(kernelOf(py::reinterpret_borrow<py::tuple>(kernel)));
  for (const jit::ArchivedKernelEntry &entry : entries) {
    bool isGood = entry.grid.size() <= 3;
    for (const jit::LaunchFormula &extent : entry.grid)
      isGood &= extent.isWellFormed(entry.parameters.size());
    for (const auto &[keyword, formula] : entry.chosenOptions)
      isGood &= formula.isWellFormed(entry.parameters.size());
    for (const jit::ArchivedParameter &parameter : entry.parameters)
      isGood &=
          parameter.chosen.isEmpty() || parameter.chosen.isWellFormed(entry.parameters.size());
    if (!isGood)
      throw py::value_error(entry.name + ": a formula of its choices is too long");
  }
  std::vector<jit::VariantToArchive> made;
  for (py::handle each : variants) {
    auto [code, wantsPtx] = py::cast<std::pair<py::object, bool>>(each);
    ArchivableCode variant = ArchivableCode::of(code);
    made.push_back(jit::variantOf(*variant.kernel, *variant.signature,
                                  wantsPtx ? jit::CodeForm::Text : jit::CodeForm::AsCompiled));
  }
  std::string problem, bytes;
  {
    py::gil_scoped_release release;
    bytes = jit::writeArchive(std::move(entries), std::move(made), problem);
  }
  if (bytes.empty())
    throw py::value_error(problem);
  return bytes;
}

//-- Launching ------------------------------------------------------------------------------------

using ArchiveRef = std::shared_ptr<const jit::Archive>;

struct LoadedArchive {
  ArchiveRef archive;
  py::object memory; // holds the bytes of one in memory
};

struct LoadedKernel {
  ArchiveRef archive;
  py::object memory;
  const jit::ArchivedKernel *kernel;
  std::vector<py::str> names; // interned

  const jit::ArchivedKernelEntry &entry() const { return kernel->entry(); }
};

std::string parametersOf(const LoadedKernel &self) {
  std::string text;
  for (const jit::ArchivedParameter &parameter : self.entry().parameters)
    text += (text.empty() ? "" : ", ") + parameter.policy.name;
  return text.empty() ? "the kernel has no parameters" : "the parameters are " + text;
}

/// Gives every parameter its argument; null where it is left out.
std::vector<PyObject *> bindArguments(const LoadedKernel &self, const py::tuple &positional,
                                      const py::dict &named, std::optional<py::object> &stream) {
  const std::string &name = self.entry().name;
  std::vector<PyObject *> bound(self.names.size());
  if (positional.size() > bound.size())
    throwCallError(name + ": " + std::to_string(positional.size()) +
                       " arguments are given, and there are " + std::to_string(bound.size()) +
                       " parameters",
                   parametersOf(self));
  for (size_t i = 0; i < positional.size(); ++i)
    if (const jit::ArchivedParameter &parameter = self.entry().parameters[i];
        parameter.isKeywordOnly)
      throwCallError(name + ": argument '" + parameter.policy.name + "' has to be named",
                     parametersOf(self));
  for (size_t i = 0; i < positional.size(); ++i)
    bound[i] = PyTuple_GET_ITEM(positional.ptr(), static_cast<Py_ssize_t>(i));
  for (auto [keyword, value] : named) {
    size_t index = 0;
    while (index < self.names.size() &&
           PyUnicode_Compare(self.names[index].ptr(), keyword.ptr()) != 0)
      ++index;
    const std::string text = py::str(keyword);
    if (index < self.names.size()) {
      if (bound[index])
        throwCallError(name + ": argument '" + text + "' is given twice", parametersOf(self));
      bound[index] = value.ptr();
    } else if (text == "stream") {
      stream = py::reinterpret_borrow<py::object>(value);
    } else if (const auto &options = LaunchOptions::names();
               std::find(options.begin(), options.end(), text) != options.end()) {
      throwCallError(name + ": " + text + " cannot be set: the code is in the archive already",
                     "leave it out; a kernel exported with several is launched with the one that "
                     "its choose= names");
    } else {
      std::vector<std::string> known;
      for (const jit::ArchivedParameter &parameter : self.entry().parameters)
        known.push_back(parameter.policy.name);
      std::string closest = lang::closestName(text, known);
      throwCallError(name + ": unknown argument '" + text + "'" +
                         (closest.empty() ? "" : "; did you mean '" + closest + "'?"),
                     parametersOf(self));
    }
  }
  return bound;
}

/// What was left out, as Python has it; null where there is no such object.
py::object objectOf(const jit::ArgumentValue &value) {
  using Kind = jit::ArgumentValue::Kind;
  using Bits = jit::ArgumentValue::Bits;
  const bool isConstant = value.kind == Kind::Constant;
  if (value.kind == Kind::None)
    return py::none();
  if (value.kind == Kind::Bool || (isConstant && value.content == Bits::ConstantBool))
    return py::bool_(value.bits != 0);
  if (value.kind == Kind::Integer || (isConstant && value.content == Bits::ConstantInteger))
    return py::int_(static_cast<int64_t>(value.bits));
  if (value.kind == Kind::Float || (isConstant && value.content == Bits::ConstantFloat))
    return py::float_(std::bit_cast<double>(value.bits));
  if (const auto *text = value.constant ? value.constant->as<std::string>() : nullptr)
    return py::str(*text);
  return {};
}

/// What a grid function is called with: the arguments by name, those left out as they will be.
py::dict argumentsFor(const LoadedKernel &self, const std::vector<PyObject *> &bound,
                      std::span<const jit::ArgumentValue> completed) {
  using Kind = jit::ArgumentValue::Kind;
  py::dict result;
  size_t next = 0;
  for (size_t i = 0; i < bound.size(); ++i) {
    const jit::ArgumentValue &value = completed[next];
    // Its items follow a tuple, and those of a tuple among them.
    for (size_t left = 1; left > 0; --left, ++next)
      left += completed[next].kind == Kind::Tuple ? completed[next].itemCount() : 0;
    if (bound[i])
      result[self.names[i]] = py::handle(bound[i]);
    else if (py::object known = objectOf(value))
      result[self.names[i]] = known;
  }
  return result;
}

/// Finds the variant for a launch; fills in all of `ready`.
void bindLoaded(const LoadedKernel &self, const py::object &grid, const py::tuple &positional,
                const py::dict &named, HeldResources &held, jit::BoundLaunch &ready) {
  const std::string &name = self.entry().name;
  std::optional<py::object> stream;
  std::vector<PyObject *> bound = bindArguments(self, positional, named, stream);
  ReadArguments read;
  for (size_t i = 0; i < bound.size(); ++i) {
    const jit::ParameterPolicy &policy = self.entry().parameters[i].policy;
    const size_t before = read.values.size();
    if (bound[i]) {
      readArgument(bound[i], {name, policy.name, policy.isConstexpr}, held, read);
      // By their names alone, they could be others than those that were compiled.
      for (size_t at = read.values.size(); at-- > before;)
        if (const lang::Constant *constant = read.values[at].constant;
            constant && read.values[at].kind == jit::ArgumentValue::Kind::Constant &&
            (constant->is<lang::FunctionRef>() || constant->is<lang::ObjectRef>()))
          throwCallError(name + ": argument '" + policy.name + "' is " +
                             withArticle(constant->kindName()) +
                             ", and an archive cannot tell it from others of its name",
                         "leave it out: the archive has the one that it was compiled with");
    } else {
      read.values.push(jit::ArgumentValue::leftOut());
      read.objects.push(nullptr);
    }
  }
  jit::ValueBuffer buffer;
  if (jit::Status status = self.kernel->complete(read.span(), buffer); !status.ok())
    throwError(status.error());
  const std::span<const jit::ArgumentValue> values = buffer.span();
  int32_t device;
  if (jit::Status status = self.kernel->specializer().commonDevice(
          values, device, nullptr, &jit::Runtime::defaultGpuBackend);
      !status.ok())
    throwError(status.error());
  jit::ArchivedLaunch launch{values, std::nullopt};
  std::string backend = "cpu";
  if (device >= 0) {
    backend = jit::Runtime::instance().gpuBackend();
    launch.device = device;
    launch.stream = stream ? reinterpret_cast<void *>(streamHandleOf(stream->ptr(), name))
                           : held.stream.current();
  }
  launch.backend = backend;
  if (!grid.is_none())
    launch.grid = readGrid(grid.ptr(), name, [&] { return argumentsFor(self, bound, values); });
  jit::Status status;
  {
    py::gil_scoped_release release; // loading code takes a while
    status = self.kernel->bind(launch, ready);
  }
  if (!status.ok())
    throwError(status.error());
}

void launchLoaded(const LoadedKernel &self, const py::object &grid, const py::tuple &positional,
                  const py::dict &named) {
  HeldResources held;
  jit::BoundLaunch ready;
  bindLoaded(self, grid, positional, named, held, ready);
  runLaunch(ready, ready.arguments.stream);
}

py::tuple describeVariant(const jit::ArchivedVariant &variant) {
  return py::make_tuple(jit::describe(variant.signature), jit::optionsOf(variant),
                        jit::nameOfTarget(variant), variant.registers, variant.spilledBytes,
                        variant.size);
}

/// Which variant a launch would get.
py::tuple variantFor(const LoadedKernel &self, const py::tuple &positional, const py::dict &named) {
  HeldResources held;
  jit::BoundLaunch ready;
  bindLoaded(self, py::int_(1), positional, named, held, ready);
  return describeVariant(*self.archive->variantOf(*ready.kernel));
}

py::list variantsOf(const LoadedKernel &self) {
  py::list result;
  for (const jit::ArchivedVariant &variant : self.entry().variants)
    result.append(describeVariant(variant));
  return result;
}

py::list parameterList(const LoadedKernel &self) {
  py::list result;
  for (const jit::ArchivedParameter &parameter : self.entry().parameters)
    result.append(py::make_tuple(parameter.policy.name, parameter.policy.isConstexpr,
                                 parameter.initial.has_value() || !parameter.chosen.isEmpty()));
  return result;
}

LoadedArchive adopt(ArchiveRef archive, const jit::Status &status, py::object memory) {
  if (!archive)
    throwError(status.error());
  return {std::move(archive), std::move(memory)};
}

LoadedArchive openArchive(const std::string &path) {
  jit::Status status;
  ArchiveRef archive;
  {
    py::gil_scoped_release release;
    archive = jit::Archive::open(path, status);
  }
  return adopt(std::move(archive), status, py::none());
}

LoadedArchive archiveOfMemory(const py::bytes &bytes, const std::string &name) {
  jit::Status status;
  ArchiveRef archive = jit::Archive::ofMemory(std::string_view(bytes), name, status);
  return adopt(std::move(archive), status, bytes);
}

std::vector<LoadedKernel> kernelsOf(const LoadedArchive &self) {
  std::vector<LoadedKernel> result;
  for (const auto &kernel : self.archive->kernels()) {
    LoadedKernel &one = result.emplace_back();
    one.archive = self.archive;
    one.memory = self.memory;
    one.kernel = kernel.get();
    for (const jit::ArchivedParameter &parameter : kernel->entry().parameters)
      one.names.push_back(py::str(parameter.policy.name));
  }
  return result;
}

} // namespace

void registerArchives(py::module_ &module) {
  module.def("write_archive", &writeArchive, py::arg("kernels"), py::arg("variants"));
  module.def("formula_steps", [] {
    py::dict steps;
    uint8_t number = 0;
    for (const jit::LaunchFormula::StepName &step : jit::LaunchFormula::stepNames())
      steps[step.name] = py::make_tuple(number++, step.takes);
    return steps;
  });
  module.def("evaluate_formula", [](const py::list &steps, const std::vector<int64_t> &arguments) {
    jit::LaunchFormula formula = formulaOf(steps);
    if (!formula.isWellFormed(arguments.size()))
      throw py::value_error("the formula is malformed");
    return formula.evaluate([&](size_t index) { return std::optional(arguments[index]); });
  });
  module.def("open_archive", &openArchive, py::arg("path"));
  module.def("archive_of_memory", &archiveOfMemory, py::arg("bytes"), py::arg("name"));
  py::class_<LoadedArchive>(module, "LoadedArchive")
      .def_property_readonly("name", [](const LoadedArchive &self) { return self.archive->name(); })
      .def_property_readonly("kernels", &kernelsOf);
  py::class_<LoadedKernel>(module, "LoadedKernel")
      .def_property_readonly("name", [](const LoadedKernel &self) { return self.entry().name; })
      .def_property_readonly("documentation",
                             [](const LoadedKernel &self) { return self.entry().documentation; })
      .def_property_readonly(
          "interface", [](const LoadedKernel &self) { return jit::interfaceOf(self.entry()); })
      .def_property_readonly("parameters", &parameterList)
      .def_property_readonly("variants", &variantsOf)
      .def("variant_for", &variantFor, py::arg("positional"), py::arg("named"))
      .def("launch", &launchLoaded, py::arg("grid"), py::arg("positional"), py::arg("named"));
}

} // namespace sectile::bindings
