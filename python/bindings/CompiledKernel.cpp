// The code behind sectile.CompiledKernel (sectile/runtime/compiled.py), which kernel[grid](...) and
// kernel.warmup(...) return: what is known of it, its pickle, and its launch by position.

#include "Grid.h"
#include "LaunchHooks.h"
#include "Launcher.h"
#include "PositionalLaunch.h"
#include "jit/cache/Digest.h"
#include "jit/runtime/Runtime.h"

namespace sectile::bindings {

namespace {

struct KernelCode {
  std::shared_ptr<const jit::Kernel> kernel;
  std::shared_ptr<const PositionalLaunch> launch;
  /// Null of code out of a pickle.
  std::shared_ptr<const lang::KernelSignature> signature;
  /// The JITFunction that obtained it; null of code out of a pickle.
  py::weakref owner;
  /// A KernelCode for arrays that share memory; None where there is none.
  py::object ifAliased;
};

py::dict stagesOf(const KernelCode &self) {
  py::dict stages;
  for (const auto &[name, text] : self.kernel->image().stages)
    stages[py::str(name)] = py::str(text);
  const backends::KernelImage &image = self.kernel->image();
  bool isGpu = image.backend != "cpu", isElf = image.binary.rfind("\x7f"
                                                                  "ELF",
                                                                  0) == 0;
  if (isGpu && !isElf)
    stages["ptx"] = py::str(image.binary);
  else
    stages[image.backend == "hip" ? "hsaco" : isGpu ? "cubin" : "so"] = py::bytes(image.binary);
  return stages;
}

/// Returns a text that differs between compiled kernels and is the same in every process.
std::string hashOf(const jit::Kernel &kernel) {
  const jit::Provenance &made = kernel.provenance();
  jit::Digest digest("compiled kernel");
  digest.add(made.sourceDigest);
  digest.add(made.variant);
  digest.add(made.options);
  digest.add(kernel.image().targetName);
  return digest.hex();
}

/// The options as attributes, and what Triton's users read besides.
py::object metadataOf(const jit::Kernel &kernel) {
  const backends::KernelImage &image = kernel.image();
  py::dict fields;
  fields["name"] = image.variantName;
  fields["target"] = image.targetName;
  fields["backend"] = image.backend;
  fields["hash"] = hashOf(kernel);
  fields["scratch_bytes"] = image.scratchBytes;
  const backends::CompileOptions &options = image.options;
#define SECTILE_COUNT(field, keyword, initial, least, most, rule, help)                            \
  fields[#keyword] = countOf(options.field, backends::OptionDescription::Rule::rule);
#define SECTILE_FLAG(field, keyword, initial, help) fields[#keyword] = options.field;
#define SECTILE_CHECK(field, keyword, word, help)                                                  \
  fields[#keyword] = options.field ? py::object(py::str(#word)) : py::none();
#define SECTILE_CHOICE(type, field, keyword, help)                                                 \
  fields[#keyword] = py::str(std::string(wordsOf(options.field)[size_t(options.field)]));
#include "backends/plain/CompileOptions.def"
  fields["arguments_overlap"] = options.argumentsOverlap;
  fields["device_memory"] = options.deviceMemory;
  fields["pointers_only"] = options.pointersOnly;
  fields["large_arrays"] = options.largeArrays;
  fields["tensor_maps"] = image.tensorMaps.size();
  fields["hidden_parameters"] = image.gpu.hiddenParameters != 0;
  fields["alias_hazards"] =
      std::count_if(image.overlapHazards.begin(), image.overlapHazards.end(),
                    [](const backends::OverlapHazard &hazard) { return hazard.evenIfSame; });
  // The CPU's programs have scratch memory instead; programs written for GPUs divide by this.
  fields["shared"] = image.backend == "cpu" ? std::max<int64_t>(image.scratchBytes, 1)
                                            : int64_t{image.gpu.sharedBytes};
  if (image.gpu.threads)
    fields["threads"] = image.gpu.threads;
  return py::module_::import("sectile.runtime.compiled").attr("Metadata")(**fields);
}

py::list argumentsOf(const KernelCode &self) {
  py::list result;
  for (const backends::KernelArgument &argument : self.kernel->image().arguments)
    result.append(py::make_tuple(argument.name, argument.dtype.name(), argument.isWritten));
  return result;
}

/// Returns how it was made, as its cache entry records.
py::dict provenanceOf(const KernelCode &self) {
  const jit::Provenance &made = self.kernel->provenance();
  py::dict result;
  result["source_digest"] = made.sourceDigest;
  result["variant"] = made.variant;
  result["options"] = made.options;
  result["version"] = made.version;
  result["created_at"] = made.createdAt;
  result["compile_seconds"] = made.compileSeconds;
  result["measured_seconds"] = made.measuredSeconds;
  return result;
}

/// As dictionaries: sectile.runtime.inspection makes objects of them.
py::list remarksOf(const KernelCode &self) {
  py::list result;
  for (const lang::Remark &remark : self.kernel->image().remarks) {
    py::dict numbers;
    for (const auto &[name, number] : remark.numbers)
      numbers[py::str(name)] = number;
    py::dict one;
    one["kind"] = remark.kind;
    one["text"] = remark.text;
    one["file"] = remark.file;
    one["function"] = remark.function;
    one["line"] = remark.line;
    one["column"] = remark.column;
    one["numbers"] = std::move(numbers);
    result.append(std::move(one));
  }
  return result;
}

bool recordTime(const KernelCode &self, double seconds) {
  py::gil_scoped_release release;
  return jit::Runtime::instance().recordMeasurement(*self.kernel, seconds);
}

py::list warningsOf(const KernelCode &self) {
  py::list result;
  for (const lang::Diagnostic &warning : self.kernel->warnings())
    result.append(py::str(lang::render(warning)));
  return result;
}

/// A stream as Python gives it: None is the current one of the arrays' library.
std::optional<uint64_t> streamOf(PyObject *stream) {
  if (stream == Py_None)
    return std::nullopt;
  return py::cast<uint64_t>(py::handle(stream));
}

int64_t extentOf(PyObject *number) {
  const long long extent = PyLong_AsLongLong(number);
  if (extent == -1 && PyErr_Occurred())
    throw py::error_already_set();
  return extent;
}

constexpr const char *kCodeCapsule = "sectile.KernelCode";

/// run(grid x, grid y, grid z, stream, function, packed metadata, launch metadata, enter hook, exit
/// hook, *arguments): the launch as Triton's CompiledKernel.run takes it. What torch's generated
/// wrappers call for each kernel, so it has no keywords and looks nothing up.
PyObject *runAsTriton(PyObject *capsule, PyObject *const *arguments, Py_ssize_t count) {
  constexpr Py_ssize_t kBefore = 9;
  try {
    auto *launch =
        static_cast<const PositionalLaunch *>(PyCapsule_GetPointer(capsule, kCodeCapsule));
    if (!launch)
      return nullptr;
    if (count < kBefore)
      throw py::type_error("run: expected three extents of the grid, a stream, a function, two "
                           "kinds of metadata and two hooks before the kernel's arguments");
    const backends::Grid grid{extentOf(arguments[0]), extentOf(arguments[1]),
                              extentOf(arguments[2])};
    // No other reader of hooks is there: a launch without a JITFunction reports itself.
    auto call = [&](py::handle hook) {
      if (!hook.is_none())
        hook(py::handle(arguments[6]));
    };
    const bool isHooked = arguments[6] != Py_None;
    if (isHooked) [[unlikely]]
      call(arguments[7]);
    launch->run(grid, streamOf(arguments[3]), arguments + kBefore,
                static_cast<size_t>(count - kBefore));
    if (isHooked) [[unlikely]]
      call(arguments[8]);
    Py_RETURN_NONE;
  } catch (py::error_already_set &error) {
    error.restore();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyMethodDef runMethod = {
    "run", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(runAsTriton)), METH_FASTCALL,
    "run(grid x, grid y, grid z, stream, function, packed metadata, launch metadata, enter hook, "
    "exit hook, *arguments)"};

/// A function that keeps the code alive.
py::object runnerOf(const KernelCode &self) {
  auto *kept = new std::shared_ptr<const PositionalLaunch>(self.launch);
  PyObject *capsule =
      PyCapsule_New(const_cast<PositionalLaunch *>(kept->get()), kCodeCapsule, [](PyObject *dying) {
        delete static_cast<std::shared_ptr<const PositionalLaunch> *>(PyCapsule_GetContext(dying));
      });
  if (!capsule) {
    delete kept;
    throw py::error_already_set();
  }
  PyCapsule_SetContext(capsule, kept);
  py::object owner = py::reinterpret_steal<py::object>(capsule);
  py::object function = py::reinterpret_steal<py::object>(PyCFunction_New(&runMethod, capsule));
  if (!function)
    throw py::error_already_set();
  return function;
}

void launchCode(const KernelCode &self, py::object grid, py::object stream, py::args arguments) {
  std::vector<PyObject *> flat;
  for (py::handle argument : arguments)
    flat.push_back(argument.ptr());
  self.launch->run(readGrid(grid.ptr(), self.kernel->image().kernelName, [] { return py::dict(); }),
                   streamOf(stream.ptr()), flat.data(), flat.size());
}

py::tuple reduceCode(py::handle self) {
  const auto &code = py::cast<const KernelCode &>(self);
  return py::make_tuple(py::module_::import("sectile._native").attr("load_code"),
                        py::make_tuple(py::bytes(jit::Runtime::pack(*code.kernel)),
                                       code.launch->parameters().toPython(), code.ifAliased));
}

/// The same code, with `ifAliased` for launches whose arrays share memory that it takes to be
/// apart.
KernelCode withAliased(const KernelCode &self, py::object ifAliased) {
  KernelCode both = self;
  both.launch = std::make_shared<const PositionalLaunch>(
      self.kernel, self.launch->parameters(), py::cast<const KernelCode &>(ifAliased).launch);
  both.ifAliased = std::move(ifAliased);
  return both;
}

KernelCode loadCode(const py::bytes &packed, const py::list &parameters, py::object ifAliased) {
  KernelParameters known = KernelParameters::ofPython(parameters);
  const std::string_view bytes = packed;
  jit::KernelResult result;
  {
    py::gil_scoped_release release;
    result = jit::Runtime::instance().unpack(bytes);
  }
  if (!result.kernel)
    throwError(result.status.error());
  auto launch = std::make_shared<const PositionalLaunch>(result.kernel, std::move(known));
  KernelCode code{std::move(result.kernel), std::move(launch), nullptr, {}, py::none()};
  return ifAliased.is_none() ? code : withAliased(code, std::move(ifAliased));
}

} // namespace

py::object wrapCompiledKernel(const Variant &variant, PyObject *owner) {
  py::object code = py::cast(KernelCode{
      variant.kernel, std::make_shared<const PositionalLaunch>(variant.kernel, variant.parameters),
      variant.codeSignature, py::weakref(owner), py::none()});
  return py::module_::import("sectile.runtime.compiled")
      .attr("CompiledKernel")(code, variant.signature, variant.options);
}

ArchivableCode ArchivableCode::of(py::handle code) {
  const auto &known = py::cast<const KernelCode &>(code);
  if (!known.signature)
    throw py::type_error(known.kernel->image().kernelName +
                         ": code out of a pickle does not know what it was compiled for");
  return {known.kernel, known.signature};
}

void registerCompiledKernel(py::module_ &module) {
  module.def("load_code", &loadCode, py::arg("packed"), py::arg("parameters"),
             py::arg("if_aliased") = py::none(), "What pickling a KernelCode comes to.");
  py::class_<KernelCode>(module, "KernelCode",
                         "The code of a compiled kernel; sectile.runtime.compiled.CompiledKernel "
                         "documents it.")
      .def_property_readonly(
          "name", [](const KernelCode &self) { return self.kernel->image().variantName; })
      .def_property_readonly("asm", &stagesOf)
      .def_property_readonly("metadata",
                             [](const KernelCode &self) { return metadataOf(*self.kernel); })
      .def_property_readonly("hash", [](const KernelCode &self) { return hashOf(*self.kernel); })
      .def_property_readonly(
          "kernel", [](const KernelCode &self) { return py::bytes(self.kernel->image().binary); })
      .def("owner", [](const KernelCode &self) { return self.owner ? self.owner() : py::none(); })
      .def_property_readonly("arguments", &argumentsOf)
      .def_property_readonly(
          "parameters", [](const KernelCode &self) { return self.launch->parameters().toPython(); })
      .def_property_readonly("provenance", &provenanceOf)
      .def_property_readonly("remarks", &remarksOf)
      .def("record_time", &recordTime, py::arg("seconds"))
      .def_property_readonly("warnings", &warningsOf)
      .def_property_readonly("compile_times",
                             [](const KernelCode &self) {
                               py::list times;
                               for (const auto &[step, seconds] : self.kernel->compileTimes())
                                 times.append(py::make_tuple(step, seconds));
                               return times;
                             })
      .def_property_readonly(
          "registers", [](const KernelCode &self) { return self.kernel->resources().registers; })
      .def_property_readonly(
          "local_bytes", [](const KernelCode &self) { return self.kernel->resources().localBytes; })
      .def_property_readonly("runner", &runnerOf)
      .def("launch", &launchCode, py::arg("grid"), py::arg("stream"))
      .def("with_aliased", &withAliased, py::arg("if_aliased"))
      .def("__reduce__", &reduceCode)
      .def("__repr__", [](const KernelCode &self) {
        const backends::KernelImage &image = self.kernel->image();
        return "<KernelCode " + image.variantName + " for " + image.targetName + ">";
      });
}

} // namespace sectile::bindings
