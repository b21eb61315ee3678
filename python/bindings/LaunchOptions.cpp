#include "LaunchOptions.h"

#include "jit/TargetName.h"
#include "jit/runtime/Knobs.h"
#include "jit/runtime/Runtime.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace sectile::bindings {

namespace {

enum class Option {
  Warps,
  Stages,
  Ctas,
  MaxRegisters,
  FpFusion,
  CooperativeGrid,
  DependentLaunch,
  Debug,
  SanitizeOverflow,
  Check,
  Arch,
  Target,
  Stream,
  ExternLibs,
  IrOverride,
  Hint
};

struct OptionName {
  const char *name;
  Option option;
};
constexpr OptionName kOptions[] = {
    {"num_warps", Option::Warps},
    {"num_stages", Option::Stages},
    {"num_ctas", Option::Ctas},
    {"maxnreg", Option::MaxRegisters},
    {"enable_fp_fusion", Option::FpFusion},
    {"launch_cooperative_grid", Option::CooperativeGrid},
    {"launch_pdl", Option::DependentLaunch},
    {"debug", Option::Debug},
    {"sanitize_overflow", Option::SanitizeOverflow},
    {"check", Option::Check},
    {"arch", Option::Arch},
    {"target", Option::Target},
    {"stream", Option::Stream},
    {"extern_libs", Option::ExternLibs},
    {"ir_override", Option::IrOverride},
    // Of AMD's GPUs, in the configurations of kernels that ask for NVIDIA's and take theirs
    // otherwise, so on the CPU, too.
    {"waves_per_eu", Option::Hint},
    {"matrix_instr_nonkdim", Option::Hint},
    {"kpack", Option::Hint},
    {"schedule_hint", Option::Hint},
};

/// The names as interned Python strings: keywords of call sites are interned too.
PyObject *const *internedNames() {
  static const auto names = [] {
    std::array<PyObject *, std::size(kOptions)> made;
    for (size_t i = 0; i < made.size(); ++i)
      made[i] = PyUnicode_InternFromString(kOptions[i].name);
    return made;
  }();
  return names.data();
}

/// The processors that launches have named, by number: a word of options holds the number.
std::vector<std::string> &namedArchs() {
  static auto *names = new std::vector<std::string>{""};
  return *names;
}

uint16_t numberOfArch(const std::string &arch) {
  static StateMutex mutex;
  std::lock_guard lock(mutex);
  std::vector<std::string> &names = namedArchs();
  auto found = std::find(names.begin(), names.end(), arch);
  if (found == names.end()) {
    if (names.size() > UINT16_MAX)
      throwCallError("target: more than 65535 architectures have been named");
    found = names.insert(names.end(), arch);
  }
  return static_cast<uint16_t>(found - names.begin());
}

/// "cpu", "cpu:x86-64-v3", "cuda", "cuda:90", "cuda:sm_90a".
void readTarget(PyObject *value, const std::string &kernelName, LaunchOptions &options) {
  const char *given = PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : nullptr;
  jit::TargetName name(given ? given : "");
  if (name.backend == "cpu")
    options.target = LaunchOptions::Target::Cpu;
  else if (name.backend == "cuda")
    options.target = LaunchOptions::Target::Cuda;
  else {
    PyErr_Clear();
    throwCallError(kernelName + ": target is " + std::string(py::repr(value)) +
                       ", not the name of a target",
                   "'cpu', 'cuda' or 'cuda:90', with the compute capability after the colon");
  }
  if (!name.arch.empty())
    options.archNumber = numberOfArch(name.arch);
}

/// The driver's handle: an int, or what a stream of torch, CuPy or another library says of itself.
uint64_t readStream(PyObject *value, const std::string &kernelName) {
  py::handle object(value);
  py::object handle = py::reinterpret_borrow<py::object>(value);
  if (value == Py_None)
    handle = py::int_(0);
  else if (py::hasattr(object, "__cuda_stream__")) // (version of the protocol, handle)
    handle = py::tuple(object.attr("__cuda_stream__")())[1];
  else if (py::hasattr(object, "cuda_stream"))
    handle = object.attr("cuda_stream");
  else if (py::hasattr(object, "ptr"))
    handle = object.attr("ptr");
  py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(handle.ptr()));
  uint64_t number = index ? PyLong_AsUnsignedLongLong(index.ptr()) : 0;
  if (PyErr_Occurred()) {
    PyErr_Clear();
    throwCallError(
        kernelName + ": stream is " + std::string(py::repr(value)) +
            ", not a stream or the handle of one",
        "pass a torch.cuda.Stream, a cupy.cuda.Stream, or the driver's handle as an int");
  }
  return number;
}

uint16_t readArch(PyObject *value, const std::string &kernelName) {
  if (value == Py_None)
    return 0;
  const char *text = PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : nullptr;
  std::vector<std::string> &names = namedArchs();
  auto found = std::find(names.begin(), names.end(), text ? text : "");
  if (!text || (found == names.end() && names.size() > UINT16_MAX)) {
    PyErr_Clear();
    throwCallError(kernelName + ": arch is " + std::string(py::repr(value)) +
                       ", not the name of a processor",
                   "x86-64, x86-64-v2, x86-64-v3 and x86-64-v4 are known; None is this machine");
  }
  if (found == names.end())
    found = names.insert(names.end(), text);
  return static_cast<uint16_t>(found - names.begin());
}

int32_t readCount(PyObject *value, const char *name, int64_t least, int64_t most, bool powerOfTwo,
                  const std::string &kernelName) {
  py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(value));
  int overflow = 0;
  long long number = index ? PyLong_AsLongLongAndOverflow(index.ptr(), &overflow) : 0;
  if (!index || overflow || number < least || number > most ||
      (powerOfTwo && (number & (number - 1)) != 0)) {
    PyErr_Clear();
    std::string allowed = (powerOfTwo ? "a power of two from " : "an int from ") +
                          std::to_string(least) + " to " + std::to_string(most);
    throwCallError(kernelName + ": " + name + " is " + std::string(py::repr(value)) + ", not " +
                   allowed);
  }
  return static_cast<int32_t>(number);
}

bool readFlag(PyObject *value, const char *name, const std::string &kernelName) {
  int truth = value == Py_None ? 0 : PyObject_IsTrue(value);
  if (truth < 0) {
    PyErr_Clear();
    throwCallError(kernelName + ": " + name + " is " + std::string(py::repr(value)) +
                   ", not True or False");
  }
  return truth == 1;
}

void readCheck(PyObject *value, const std::string &kernelName, LaunchOptions &options) {
  const char *text = value == Py_None         ? ""
                     : PyUnicode_Check(value) ? PyUnicode_AsUTF8(value)
                                              : nullptr;
  if (text && jit::readChecks(text, options.checkBounds, options.checkStrides))
    return;
  PyErr_Clear();
  throwCallError(
      kernelName + ": check is " + std::string(py::repr(value)) +
          ", not 'bounds', 'strides' or 'bounds,strides'",
      "'bounds' stops a launch at the first access outside the argument arrays, 'strides' "
      "at a view whose strides are not among the arguments");
}

/// Bitcode to link, of which the vendors' libraries are not needed: {"libdevice": path}.
void checkExternLibs(PyObject *value, const std::string &kernelName) {
  if (value == Py_None)
    return;
  py::dict libraries;
  try { // a dictionary, or pairs
    libraries = py::module_::import("builtins").attr("dict")(py::handle(value));
  } catch (py::error_already_set &) {
    throwCallError(kernelName + ": extern_libs is " + std::string(py::repr(value)) +
                   ", not a dictionary of names and paths");
  }
  for (auto [name, path] : libraries) {
    std::string text = py::str(name);
    if (text != "libdevice" && text != "ocml" && text != "ockl")
      throwCallError(kernelName + ": extern_libs names '" + text +
                         "', and bitcode libraries cannot be linked",
                     "what libdevice has is in tl.extra.libdevice, and needs no file");
  }
}

} // namespace

const std::vector<std::string> &LaunchOptions::names() {
  static const auto *names = [] {
    auto *result = new std::vector<std::string>;
    for (const OptionName &option : kOptions)
      result->push_back(option.name);
    return result;
  }();
  return *names;
}

void LaunchOptions::readEnvironment() {
  bool bounds, strides;
  if (const char *check = std::getenv("SECTILE_CHECK");
      check && jit::readChecks(check, bounds, strides)) {
    checkBounds |= bounds;
    checkStrides |= strides;
  }
  if (const char *value = std::getenv("SECTILE_DEBUG"); value && *value)
    debug = debug || // off is what jit/runtime/Knobs.cpp takes for it
            std::ranges::none_of(std::array{"0", "false", "off", "no"},
                                 [&](auto off) { return std::strcmp(value, off) == 0; });
}

bool LaunchOptions::set(PyObject *keyword, PyObject *value, const std::string &kernelName) {
  PyObject *const *names = internedNames();
  size_t index = 0;
  while (index < std::size(kOptions) && names[index] != keyword)
    ++index;
  if (index == std::size(kOptions))
    for (index = 0; index < std::size(kOptions); ++index)
      if (PyUnicode_CompareWithASCIIString(keyword, kOptions[index].name) == 0)
        break;
  if (index == std::size(kOptions))
    return false;
  const char *name = kOptions[index].name;
  switch (kOptions[index].option) {
  case Option::Warps:
    warpCount = readCount(value, name, 1, 64, true, kernelName);
    return true;
  case Option::Stages:
    stageCount = readCount(value, name, 0, 64, false, kernelName);
    return true;
  case Option::Ctas:
    ctaCount = readCount(value, name, 1, 16, true, kernelName);
    return true;
  case Option::MaxRegisters:
    maxRegisters = value == Py_None ? 0 : readCount(value, name, 1, 1024, false, kernelName);
    return true;
  case Option::FpFusion:
    enableFpFusion = readFlag(value, name, kernelName);
    return true;
  case Option::CooperativeGrid:
    cooperativeGrid = readFlag(value, name, kernelName);
    return true;
  case Option::DependentLaunch:
    dependentLaunch = readFlag(value, name, kernelName);
    return true;
  case Option::Debug:
    debug = readFlag(value, name, kernelName);
    return true;
  case Option::SanitizeOverflow:
    sanitizeOverflow = readFlag(value, name, kernelName);
    return true;
  case Option::Check:
    readCheck(value, kernelName, *this);
    return true;
  case Option::Arch:
    archNumber = readArch(value, kernelName);
    return true;
  case Option::Target:
    readTarget(value, kernelName, *this);
    return true;
  case Option::Stream:
    stream = readStream(value, kernelName);
    return true;
  case Option::ExternLibs:
    checkExternLibs(value, kernelName);
    return true;
  case Option::Hint:
    return true;
  case Option::IrOverride:
    if (value != Py_None)
      throwCallError(kernelName + ": ir_override is " + std::string(py::repr(value)) +
                         ", and kernels are compiled from their source only",
                     "leave it out, or pass None");
    return true;
  }
  return false;
}

uint64_t LaunchOptions::word() const {
  return uint64_t(warpCount) | uint64_t(stageCount) << 8 | uint64_t(ctaCount) << 16 |
         uint64_t(maxRegisters) << 24 | uint64_t(enableFpFusion) << 40 | uint64_t(debug) << 41 |
         uint64_t(sanitizeOverflow) << 42 | uint64_t(checkBounds) << 43 |
         uint64_t(archNumber) << 44 | uint64_t(cooperativeGrid) << 60 |
         uint64_t(dependentLaunch) << 61;
}

backends::CompileOptions LaunchOptions::compileOptions(int32_t device) const {
  backends::CompileOptions options;
  options.arch = namedArchs()[archNumber];
  if (device >= 0 || target == Target::Cuda) {
    options.backend = "cuda";
    if (options.arch.empty()) {
      std::string reason;
      const auto &devices = jit::Runtime::instance().driver("cuda")->devices(reason);
      auto index = static_cast<size_t>(std::max(device, 0));
      if (index < devices.size())
        options.arch = devices[index].arch;
      else if (device >= 0)
        throwError({jit::Error::Kind::Machine,
                    devices.empty() ? "there is no NVIDIA GPU to run on: " + reason
                                    : "there is no device cuda:" + std::to_string(device) +
                                          ", only " + std::to_string(devices.size()),
                    "`sectile doctor` shows what was found",
                    {},
                    {},
                    -1});
    }
  }
  options.warpCount = warpCount;
  options.stageCount = stageCount;
  options.ctaCount = ctaCount;
  options.maxRegisters = maxRegisters;
  options.enableFpFusion = enableFpFusion;
  options.cooperativeGrid = cooperativeGrid;
  options.dependentLaunch = dependentLaunch;
  options.debug = debug;
  // As in Triton, overflow checks come with debug=True only.
  options.sanitizeOverflow = sanitizeOverflow && debug;
  options.checkBounds = checkBounds;
  return options;
}

} // namespace sectile::bindings
