// sectile._native: the runtime library for Python. Functions here are private to the package; users
// see them through sectile.runtime.control and the command line.

#include "Arguments.h"
#include "Devices.h"
#include "FunctionExtent.h"
#include "LaunchHooks.h"
#include "Launcher.h"
#include "jit/cache/Digest.h"
#include "jit/command/Commands.h"
#include "jit/command/RunCommand.h"
#include "jit/runtime/Knobs.h"
#include "jit/runtime/Runtime.h"
#include "lang/plain/DescriptorKind.h"

#include <dlfcn.h>
#include <pybind11/functional.h>
#include <pybind11/stl.h>
#include <thread>

namespace sectile::bindings {

namespace {

/// Called by threads of the pool; a Python callable needs the GIL even to be destroyed.
class PythonCallback {
public:
  explicit PythonCallback(py::object callable)
      : callable(new py::object(std::move(callable)), [](py::object *object) {
          if (!Py_IsInitialized())
            return; // leaked: there is no interpreter to give it back to
          py::gil_scoped_acquire acquire;
          delete object;
        }) {}
  template <class... Arguments>
  void operator()(Arguments... arguments) const {
    py::gil_scoped_acquire acquire;
    try {
      (*callable)(arguments...);
    } catch (py::error_already_set &error) {
      error.discard_as_unraisable("a sectile handler");
    }
  }

private:
  std::shared_ptr<py::object> callable;
};

void setPrint(py::object handler) {
  py::module_::import("sectile._native").attr("_print_handler_is_set") = true;
  if (handler.is_none())
    handler = py::cpp_function([](const std::string &text) {
      py::module_::import("sys").attr("stdout").attr("write")(text);
    });
  auto callback = std::make_shared<PythonCallback>(std::move(handler));
  backends::PrintHandler wrapped = [callback](std::string_view text) {
    (*callback)(std::string(text));
  };
  py::gil_scoped_release release;
  jit::Runtime::instance().setPrintHandler(std::move(wrapped));
}

void setCompileListener(py::object listener) {
  jit::CompileListener wrapped;
  if (!listener.is_none())
    wrapped = [callback = std::make_shared<PythonCallback>(std::move(listener))](
                  const jit::CompileEvent &event) {
      py::gil_scoped_acquire acquire;
      try {
        py::dict fields;
        fields["kernel"] = event.kernelName;
        fields["name"] = event.variantName;
        fields["target"] = event.target;
        fields["variant"] = event.variant;
        fields["options"] = event.options;
        fields["reason"] = event.reason;
        fields["cache_miss"] = event.cacheMiss;
        fields["seconds"] = event.seconds;
        fields["succeeded"] = event.succeeded;
        (*callback)(py::module_::import("types").attr("SimpleNamespace")(**fields));
      } catch (py::error_already_set &error) {
        error.discard_as_unraisable("a sectile handler");
      }
    };
  py::gil_scoped_release release;
  jit::Runtime::instance().setCompileListener(std::move(wrapped));
}

py::dict statistics() {
  jit::RuntimeStatistics counts = jit::Runtime::instance().statistics();
  py::dict result;
  result["memory_hits"] = counts.memoryHits;
  result["disk_hits"] = counts.diskHits;
  result["layer_hits"] = counts.layerHits;
  result["same_ir_hits"] = counts.sameIrHits;
  result["compiles"] = counts.compiles;
  result["failed_compiles"] = counts.failedCompiles;
  result["disk_misses"] = counts.diskMisses;
  result["disk_writes"] = counts.diskWrites;
  result["disk_write_failures"] = counts.diskWriteFailures;
  result["disk_waits"] = counts.diskWaits;
  result["evicted_files"] = counts.evictedFiles;
  result["disk_disabled"] = counts.diskDisabled;
  result["cache_directory"] = counts.cacheDirectory;
  return result;
}

jit::Compiler *compilerOrThrow() {
  jit::Status status;
  jit::Compiler *compiler = jit::Runtime::instance().compiler(status);
  if (!compiler)
    throwError(status.error());
  return compiler;
}

int runCommand(const std::vector<std::string> &words) {
  py::gil_scoped_release release;
  return jit::runCommand(words);
}

/// (name, owner, usage or "" for a flag) of each.
py::list commands() {
  py::list result;
  for (const jit::Command &command : jit::commands()) {
    using Owner = jit::Command::Owner;
    result.append(py::make_tuple(command.name,
                                 command.owner == Owner::Python     ? "python"
                                 : command.owner == Owner::Compiler ? "compiler"
                                                                    : "runtime",
                                 command.usage ? command.usage : ""));
  }
  return result;
}

/// (keyword, kind, default, least, most, help) of each; of kind "keyword" those that only a launch
/// has.
py::list launchOptions() {
  using Kind = backends::OptionDescription::Kind;
  py::list result;
  for (const backends::OptionDescription &option : backends::optionTable()) {
    const char *kind = option.kind == Kind::Count    ? "count"
                       : option.kind == Kind::Flag   ? "flag"
                       : option.kind == Kind::Check  ? "check"
                       : option.kind == Kind::Choice ? "choice"
                                                     : "keyword";
    bool mayBeNone = backends::OptionDescription::allowsNone(option.rule);
    py::object initial = py::none();
    if (option.kind == Kind::Flag)
      initial = py::bool_(option.initial != 0);
    else if (option.kind == Kind::Count && !mayBeNone)
      initial = py::int_(option.initial);
    else if (option.kind == Kind::Choice)
      initial = py::str(std::string(option.words.front()));
    result.append(
        py::make_tuple(option.keyword, kind, initial, option.least, option.most, option.help));
  }
  return result;
}

/// "" when the compiler library can be loaded, else why not.
std::string compilerError() {
  jit::Status status;
  return jit::Runtime::instance().compiler(status) ? "" : status.error().text();
}

/// Where the loaded compiler library lies.
std::string compilerPath() {
  Dl_info info;
  jit::Compiler *compiler = compilerOrThrow();
  // Any address inside the library will do; its virtual table is one.
  if (dladdr(*reinterpret_cast<void **>(compiler), &info) && info.dli_fname)
    return info.dli_fname;
  return "";
}

std::string digest(const std::vector<std::string> &parts) {
  jit::Digest result("python kernel");
  for (const std::string &part : parts)
    result.add(part);
  return result.hex();
}

int blockLength(const py::list &lines, size_t start) {
  FunctionExtent extent;
  for (size_t i = start; i < lines.size(); ++i) {
    Py_ssize_t size = 0;
    const char *text = PyUnicode_AsUTF8AndSize(py::object(lines[i]).ptr(), &size);
    if (!text)
      throw py::error_already_set();
    if (!extent.add({text, static_cast<size_t>(size)}))
      break;
  }
  return extent.length();
}

std::string hostFingerprint() {
  backends::Driver *driver = jit::Runtime::instance().driver("cpu");
  return driver ? driver->hostFingerprint() : "";
}

/// ([(name, arch)], why there are none) of the driver of a back end; of the GPUs that this process
/// uses where it is "".
py::tuple gpuDevices(const std::string &backend) {
  jit::Runtime &runtime = jit::Runtime::instance();
  backends::Driver *driver = backend.empty() ? &runtime.gpuDriver() : runtime.driver(backend);
  if (!driver)
    throw py::value_error("there is no back end " + backend);
  std::string reason;
  py::list devices;
  for (const backends::DeviceInfo &device : driver->devices(reason))
    devices.append(py::make_tuple(device.name, device.arch));
  return py::make_tuple(devices, reason);
}

/// (base, extents, strides, extents of the blocks, padding), as kinds and constants; None for a
/// text that does not mean to be a descriptor's.
py::object descriptorKind(const std::string &text) {
  if (!lang::isDescriptorKind(text))
    return py::none();
  std::string problem;
  std::optional<lang::KernelParameter> parsed = lang::parseDescriptorKind(text, problem);
  if (!parsed)
    throw py::value_error(problem);
  const auto &fields = *parsed->items;
  auto kinds = [](const std::vector<lang::KernelParameter> &items) {
    py::tuple made(items.size());
    for (size_t i = 0; i < items.size(); ++i)
      made[i] = items[i].constant ? py::object(py::int_(1)) : py::str(lang::kindText(items[i]));
    return made;
  };
  const auto &blocks = **fields[3].constant->as<lang::ConstantTuple>();
  py::tuple blockShape(blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i)
    blockShape[i] = static_cast<int64_t>(*blocks[i].as<lang::Int>());
  return py::make_tuple(lang::kindText(fields[0]), kinds(*fields[1].items), kinds(*fields[2].items),
                        blockShape, *fields[4].constant->as<std::string>());
}

unsigned hardwareThreads() {
  backends::Driver *driver = jit::Runtime::instance().driver("cpu");
  return driver ? driver->threadCount() : 1;
}

} // namespace

} // namespace sectile::bindings

PYBIND11_MODULE(_native, module, pybind11::mod_gil_not_used()) {
  using namespace sectile;
  using namespace sectile::bindings;
  module.doc() = "Bindings of the Sectile runtime; private to the package.";
  registerLauncherTypes(module);
  registerBoundKernel(module);
  registerLaunchHooks(module);
  registerCompiledKernel(module);
  registerArchives(module);
  registerDevices(module);
  module.attr("_print_handler_is_set") = false;
  module.def("digest", &digest);
  module.def("block_length", &blockLength);
  module.def("build_id", [] { return jit::Runtime::buildId(); });
  module.def("statistics", &statistics);
  module.def("source_changed", &sourceChanged);
  module.def("clear_memory", [] { jit::Runtime::instance().clearMemory(); });
  module.def("seal", [] { jit::Runtime::instance().seal(); });
  module.def("set_print", &setPrint);
  module.def("set_compile_listener", &setCompileListener);
  module.def("run_command", &runCommand);
  module.def("commands", &commands);
  module.def("launch_options", &launchOptions);
  module.def("parse_kind", [](const std::string &text) {
    std::string problem;
    std::optional<lang::KernelParameter> parsed = lang::parseKind(text, problem);
    if (!parsed)
      throw py::value_error(problem);
    return py::make_tuple(parsed->dtype.name(), parsed->divisibleBy16,
                          parsed->constant.has_value());
  });
  module.def("descriptor_kind", &descriptorKind, py::arg("text"));
  module.def("compiler_error", &compilerError);
  module.def("compiler_path", &compilerPath);
  module.def("host_fingerprint", &hostFingerprint);
  module.def("gpu_devices", &gpuDevices, py::arg("backend") = "");
  module.def("gpu_backend", [] { return jit::Runtime::instance().gpuBackend(); });
  module.def("hardware_threads", &hardwareThreads);
  module.def("knob_table", [] {
    py::list rows;
    for (const jit::KnobDescription &knob : jit::knobTable())
      rows.append(py::make_tuple(knob.name, knob.kind, knob.initial, knob.meaning, knob.attribute));
    return rows;
  });
  module.def("knobs_markdown", &jit::knobsMarkdown);
  module.def("reconfigure", [] {
    jit::Runtime *runtime = jit::Runtime::ifStarted();
    py::gil_scoped_release release;
    return runtime ? runtime->reconfigure() : std::vector<std::string>();
  });
  module.def("knob_problems", [] {
    jit::Knobs knobs = jit::Knobs::fromEnvironment();
    knobs.problems.insert(knobs.problems.end(), knobs.unknown.begin(), knobs.unknown.end());
    return knobs.problems;
  });
  module.add_object("_cleanup", py::capsule([] { clearArgumentCaches(); }));
}
