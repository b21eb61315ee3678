#include "LaunchOptions.h"

#include "backends/plain/ProcessorLevels.h"
#include "jit/TargetName.h"
#include "jit/runtime/Knobs.h"
#include "jit/runtime/Runtime.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace sectile::bindings {

namespace {

/// What is done with a keyword: it sets a field, or is read in its own way.
enum class Option {
#define SECTILE_COUNT(field, keyword, initial, least, most, rule, help) field,
#define SECTILE_FLAG(field, keyword, initial, help) field,
#define SECTILE_CHECK(field, keyword, word, help) field,
#define SECTILE_CHOICE(type, field, keyword, help) field,
#include "backends/plain/CompileOptions.def"
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
/// In the order of backends::optionTable().
constexpr OptionName kOptions[] = {
#define SECTILE_COUNT(field, keyword, initial, least, most, rule, help) {#keyword, Option::field},
#define SECTILE_FLAG(field, keyword, initial, help) {#keyword, Option::field},
#define SECTILE_CHECK(field, keyword, word, help) {#keyword, Option::field},
#define SECTILE_CHOICE(type, field, keyword, help) {#keyword, Option::field},
#define SECTILE_KEYWORD(option, keyword, help) {#keyword, Option::option},
#include "backends/plain/CompileOptions.def"
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
class NamedArchs {
public:
  uint16_t numberOf(const std::string &arch) {
    std::lock_guard lock(mutex);
    auto found = std::find(names.begin(), names.end(), arch);
    if (found == names.end()) {
      constexpr size_t kMost = size_t(1) << (64 - backends::KernelOptions::kWordBits);
      if (names.size() >= kMost)
        throwCallError("target: more than " + std::to_string(kMost - 1) +
                       " architectures have been named");
      found = names.insert(names.end(), arch);
    }
    return static_cast<uint16_t>(found - names.begin());
  }
  std::string nameOf(uint16_t number) {
    if (number == 0) // most launches
      return {};
    std::lock_guard lock(mutex);
    return names[number];
  }

private:
  StateMutex mutex;
  std::vector<std::string> names{""}; // guarded by `mutex`
};

NamedArchs &namedArchs() {
  static auto *archs = new NamedArchs; // launches may come after static destructors
  return *archs;
}

/// "cpu", "cpu:x86-64-v3", "cuda", "cuda:90", "cuda:sm_90a", "hip:gfx942".
void readTarget(PyObject *value, const std::string &kernelName, LaunchOptions &options) {
  const char *given = PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : nullptr;
  jit::TargetName name(given ? given : "");
  if (name.backend == "cpu")
    options.target = LaunchOptions::Target::Cpu;
  else if (name.backend == "cuda")
    options.target = LaunchOptions::Target::Cuda;
  else if (name.backend == "hip")
    options.target = LaunchOptions::Target::Hip;
  else {
    PyErr_Clear();
    throwCallError(
        kernelName + ": target is " + std::string(py::repr(value)) + ", not the name of a target",
        "'cpu', 'cuda', 'cuda:90', with the compute capability after the colon, or 'hip:gfx942'");
  }
  if (options.target == LaunchOptions::Target::Hip && name.arch.empty()) {
    jit::Status status; // the architecture is that of the launch's device
    if (jit::Runtime::instance().archOf("hip", 0, status).empty())
      throwCallError(kernelName + ": target is 'hip', and there is no AMD GPU to take the "
                                  "architecture from",
                     "name it, as in 'hip:gfx942'");
  }
  if (!name.arch.empty())
    options.archNumber = namedArchs().numberOf(name.arch);
}

uint16_t readArch(PyObject *value, const std::string &kernelName) {
  if (value == Py_None)
    return 0;
  const char *text = PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : nullptr;
  if (!text) {
    PyErr_Clear();
    throwCallError(kernelName + ": arch is " + std::string(py::repr(value)) +
                       ", not the name of a processor",
                   "expected " + backends::processorLevelNames() + "; None is this machine");
  }
  return namedArchs().numberOf(text);
}

using backends::OptionDescription;

int32_t readCount(PyObject *value, const OptionDescription &option, const std::string &kernelName) {
  bool mayBeNone = OptionDescription::allowsNone(option.rule);
  if (mayBeNone && value == Py_None)
    return 0;
  // True is an int to Python, and no count of warps.
  py::object index =
      PyBool_Check(value) ? py::object() : py::reinterpret_steal<py::object>(PyNumber_Index(value));
  int overflow = 0;
  long long number = index ? PyLong_AsLongLongAndOverflow(index.ptr(), &overflow) : 0;
  if (!index || overflow || !option.allows(number)) {
    PyErr_Clear();
    throwCallError(kernelName + ": " + option.keyword + " is " + std::string(py::repr(value)) +
                   ", not " + option.range() + (mayBeNone ? ", or None" : ""));
  }
  return static_cast<int32_t>(number);
}

/// True, False, NumPy's, 1 or 0; None is what is usual.
bool readFlag(PyObject *value, const char *name, bool initial, const std::string &kernelName) {
  if (value == Py_True || value == Py_False)
    return value == Py_True;
  if (value == Py_None)
    return initial;
  std::string_view type = Py_TYPE(value)->tp_name;
  if (type == "numpy.bool" || type == "numpy.bool_")
    return PyObject_IsTrue(value) == 1;
  if (PyLong_Check(value)) {
    int overflow = 0;
    long number = PyLong_AsLongAndOverflow(value, &overflow);
    if (!overflow && (number == 0 || number == 1))
      return number == 1;
  }
  throwCallError(kernelName + ": " + name + " is " + std::string(py::repr(value)) +
                 ", not True or False");
}

/// One of the words; None is the usual one. Returns its number.
size_t readChoice(PyObject *value, const OptionDescription &option, const std::string &kernelName) {
  if (value == Py_None)
    return 0;
  if (const char *text = PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : nullptr)
    for (size_t number = 0; number < option.words.size(); ++number)
      if (text == option.words[number])
        return number;
  PyErr_Clear();
  throwCallError(kernelName + ": " + option.keyword + " is " + std::string(py::repr(value)) +
                     ", not " + option.range(),
                 option.help);
}

void readCheck(PyObject *value, const std::string &kernelName, LaunchOptions &options) {
  const char *text = value == Py_None         ? ""
                     : PyUnicode_Check(value) ? PyUnicode_AsUTF8(value)
                                              : nullptr;
  if (text && jit::readChecks(text, options.kernel.checkBounds, options.checkStrides))
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

uint64_t streamHandleOf(PyObject *value, const std::string &kernelName) {
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

py::object countOf(int32_t value, OptionDescription::Rule rule) {
  if (OptionDescription::allowsNone(rule) && value == 0)
    return py::none();
  return py::int_(value);
}

const std::vector<std::string> &LaunchOptions::names() {
  static const auto *names = [] {
    auto *result = new std::vector<std::string>;
    for (const OptionName &option : kOptions)
      result->push_back(option.name);
    return result;
  }();
  return *names;
}

void LaunchOptions::complete() {
  jit::Runtime::LaunchDefaults asked = jit::Runtime::instance().launchDefaults();
  asked.complete(kernel);
  checkStrides |= asked.checkStrides;
}

void LaunchOptions::leaveOutFor(std::string_view backend) {
  if (backend != "hip") {
    if (kernel.wavesPerUnit)
      ignore(size_t(Option::wavesPerUnit));
    if (kernel.matrixExtent)
      ignore(size_t(Option::matrixExtent));
  }
  kernel.normalizeFor(backend);
}

void LaunchOptions::ignore(size_t option) {
  ignored |= uint64_t{1} << option;
}

py::dict LaunchOptions::ignoredOptions() const {
  py::dict result;
  for (size_t i = 0; i < std::size(kOptions); ++i)
    if (ignored >> i & 1)
      result[kOptions[i].name] = kOptions[i].option == Option::Hint
                                     ? backends::optionTable()[i].help
                                     : "for AMD's GPUs, ignored";
  return result;
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
#define SECTILE_COUNT(field, keyword, initial, least, most, rule, help)                            \
  case Option::field:                                                                              \
    kernel.field = readCount(value, backends::optionTable()[index], kernelName);                   \
    return true;
#define SECTILE_FLAG(field, keyword, initial, help)                                                \
  case Option::field:                                                                              \
    kernel.field = readFlag(value, name, initial, kernelName);                                     \
    return true;
#define SECTILE_CHECK(field, keyword, word, help)                                                  \
  case Option::field:                                                                              \
    readCheck(value, kernelName, *this);                                                           \
    return true;
#define SECTILE_CHOICE(type, field, keyword, help)                                                 \
  case Option::field:                                                                              \
    kernel.field = backends::type(readChoice(value, backends::optionTable()[index], kernelName));  \
    return true;
#include "backends/plain/CompileOptions.def"
  case Option::Arch:
    archNumber = readArch(value, kernelName);
    return true;
  case Option::Target:
    readTarget(value, kernelName, *this);
    return true;
  case Option::Stream:
    stream = streamHandleOf(value, kernelName);
    return true;
  case Option::ExternLibs:
    checkExternLibs(value, kernelName);
    return true;
  case Option::Hint:
    if (value != Py_None && !(PyUnicode_Check(value) && PyUnicode_GET_LENGTH(value) == 0))
      ignore(index);
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

backends::CompileOptions LaunchOptions::compileOptions(int32_t device) const {
  backends::CompileOptions options;
  static_cast<backends::KernelOptions &>(options) = kernel;
  options.normalize();
  options.arch = namedArchs().nameOf(archNumber);
  options.forElsewhere = isForArchive;
  if (device >= 0 || isGpu(target)) {
    jit::Runtime &runtime = jit::Runtime::instance();
    options.backend = isGpu(target) ? nameOf(target) : runtime.gpuBackend();
    if (options.arch.empty()) {
      jit::Status status;
      options.arch = runtime.archOf(options.backend, std::max(device, 0), status);
      // Without a GPU the compiler's usual architecture serves those who only compile.
      if (!status.ok() && device >= 0)
        throwError(status.error());
    }
  }
  options.normalizeFor(options.backend);
  return options;
}

py::dict LaunchOptions::unusual() const {
  py::dict result;
#define SECTILE_COUNT(field, keyword, initial, least, most, rule, help)                            \
  if (kernel.field != initial)                                                                     \
    result[#keyword] = countOf(kernel.field, OptionDescription::Rule::rule);
#define SECTILE_FLAG(field, keyword, initial, help)                                                \
  if (kernel.field != initial)                                                                     \
    result[#keyword] = kernel.field;
#define SECTILE_CHECK(field, keyword, word, help)                                                  \
  if (kernel.field)                                                                                \
    result[#keyword] = #word;
#define SECTILE_CHOICE(type, field, keyword, help)                                                 \
  if (kernel.field != backends::type())                                                            \
    result[#keyword] = py::str(std::string(wordsOf(kernel.field)[size_t(kernel.field)]));
#include "backends/plain/CompileOptions.def"
  return result;
}

} // namespace sectile::bindings
