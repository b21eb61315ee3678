// One launch, from the call's arguments to the kernel's end. The order of the steps is that of the
// drawing in Launcher.h.

#include "Grid.h"
#include "LaunchHooks.h"
#include "Launcher.h"
#include "StrideCheck.h"
#include "jit/runtime/Runtime.h"
#include "lang/plain/Diagnostics.h"

#include <algorithm>
#include <pybind11/stl.h>

namespace sectile::bindings {

namespace {

/// Fixed room for the usual case, the heap beyond.
template <class T, size_t Inline>
class Room {
public:
  explicit Room(size_t count) {
    if (count > Inline)
      heap = std::make_unique<T[]>(count);
  }
  T *data() { return heap ? heap.get() : fixed; }

private:
  T fixed[Inline];
  std::unique_ptr<T[]> heap;
};

constexpr size_t kUsualParameters = 24;

[[noreturn]] void throwUnknownKeyword(const KernelState &state, PyObject *keyword) {
  std::string name = py::str(keyword);
  std::vector<std::string> known = state.parameterNames;
  known.insert(known.end(), LaunchOptions::names().begin(), LaunchOptions::names().end());
  std::string closest = lang::closestName(name, known);
  std::string options;
  for (const std::string &option : LaunchOptions::names())
    options += (options.empty() ? "" : ", ") + option;
  throwCallError(state.name + ": unknown argument '" + name + "'" +
                     (closest.empty() ? "" : "; did you mean '" + closest + "'?"),
                 listParameters(state) + "; launch options are " + options);
}

/// Which GPU the arrays are on; -1: the host. All must be in one place.
int32_t deviceOf(const KernelState &state, std::span<const jit::ArgumentValue> values,
                 const LaunchOptions &options, bool isWarmup) {
  using jit::ArgumentValue;
  using Target = LaunchOptions::Target;
  int32_t device;
  size_t first;
  if (jit::Status status =
          state.specializer->commonDevice(values, device, &first, &jit::Runtime::defaultGpuBackend);
      !status.ok()) [[unlikely]]
    throwError(status.error());
  bool hasArrays = first < values.size();
  const bool wantsGpu = LaunchOptions::isGpu(options.target);
  if (!isWarmup && hasArrays && options.target != Target::OfArrays) [[unlikely]] {
    jit::Runtime &runtime = jit::Runtime::instance();
    if (wantsGpu != (device >= 0) ||
        (wantsGpu && runtime.gpuBackend() != LaunchOptions::nameOf(options.target)))
      throwCallError(state.name + ": target is " + LaunchOptions::nameOf(options.target) +
                         ", and argument '" + state.specializer->argumentName(values, first) +
                         "' is on " + runtime.deviceName(device),
                     "leave target= out: the arrays select it");
  }
  if (wantsGpu && !hasArrays && !isWarmup)
    return 0;
  return options.target == Target::Cpu || !hasArrays ? int32_t{ArgumentValue::kHost} : device;
}

void callPreRunHooks(const KernelState &state, const LaunchCall &call) {
  py::tuple positional(call.positionalCount);
  for (size_t i = 0; i < call.positionalCount; ++i)
    positional[i] = py::handle(call.arguments[i]);
  py::dict named;
  for (size_t i = 0; call.keywordNames && i < size_t(PyTuple_GET_SIZE(call.keywordNames)); ++i)
    named[PyTuple_GET_ITEM(call.keywordNames, Py_ssize_t(i))] =
        py::handle(call.arguments[call.positionalCount + i]);
  // A copy: a hook may take itself off the list.
  for (py::handle hook : py::list(state.preRunHooks.attr("copy")()))
    hook(*positional, **named);
}

PyObject *launchOrThrow(KernelState &state, const LaunchCall &call) {
  size_t count = state.parameterNames.size();
  if (PyList_GET_SIZE(state.preRunHooks.ptr()) != 0) [[unlikely]]
    callPreRunHooks(state, call);
  Room<PyObject *, kUsualParameters> boundRoom(count);
  PyObject **bound = boundRoom.data();
  jit::BoundLaunch ready;
  HeldResources held;
  ReadArguments read;
  read.reserve(count);
  LaunchOptions options = state.options;
  options.isForArchive = call.isForArchive;
  bindParameters(state, call, bound, options, held);
  if (call.grid)
    ready.grid = readGrid(call.grid, state.name, [&] { return argumentsByName(state, bound); });
  if (options.stream)
    held.stream = StreamSource::of(*options.stream);
  std::span<const jit::ParameterPolicy> policies = state.specializer->parameters();
  std::vector<StridedArgument> strided;
  for (size_t i = 0; i < count; ++i) {
    ReadArgument how{state.name, state.parameterNames[i], policies[i].isConstexpr, call.isWarmup};
    how.strided = options.checkStrides ? &strided : nullptr;
    readArgument(bound[i], how, held, read);
  }
  if (!strided.empty()) [[unlikely]]
    refuseViews(state.name, strided, read.span());
  py::object compiled =
      selectVariant(state, {call.kernel, read, options, held.stream, call.isWarmup}, ready);
  if (!call.isWarmup) {
    if (hasLaunchHooks()) [[unlikely]]
      runBetweenHooks({call.kernel, compiled, argumentsByName(state, bound)}, ready,
                      ready.arguments.stream);
    else
      runLaunch(ready, ready.arguments.stream);
  }
  return compiled.release().ptr();
}

} // namespace

std::string listParameters(const KernelState &state) {
  std::string text;
  for (const std::string &name : state.parameterNames)
    text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "the kernel has no parameters" : "the parameters are " + text;
}

size_t parameterIndex(const KernelState &state, PyObject *keyword) {
  size_t count = state.internedNames.size();
  for (size_t i = 0; i < count; ++i)
    if (state.internedNames[i].ptr() == keyword)
      return i;
  for (size_t i = 0; i < count; ++i)
    if (PyUnicode_Compare(state.internedNames[i].ptr(), keyword) == 0)
      return i;
  return count;
}

/// Returns the default that the kernel's function has now for a parameter; null: it has none.
static PyObject *defaultOf(const KernelState &state, size_t index, HeldResources &held) {
  PyObject *function = state.function.ptr();
  if (index >= state.positionalCount) {
    PyObject *named = PyFunction_GET_KW_DEFAULTS(function);
    PyObject *value =
        named ? PyDict_GetItemWithError(named, state.internedNames[index].ptr()) : nullptr;
    if (value)
      held.hold(py::reinterpret_borrow<py::object>(value));
    return value;
  }
  if (!held.defaults)
    held.defaults = py::reinterpret_borrow<py::object>(PyFunction_GET_DEFAULTS(function));
  if (!held.defaults)
    return nullptr;
  // The last default is that of the last parameter.
  size_t fromEnd = state.positionalCount - index;
  size_t count = static_cast<size_t>(PyTuple_GET_SIZE(held.defaults.ptr()));
  return fromEnd > count
             ? nullptr
             : PyTuple_GET_ITEM(held.defaults.ptr(), static_cast<Py_ssize_t>(count - fromEnd));
}

void bindParameters(const KernelState &state, const LaunchCall &call, PyObject **bound,
                    LaunchOptions &options, HeldResources &held) {
  size_t count = state.parameterNames.size();
  size_t keywordCount =
      call.keywordNames ? static_cast<size_t>(PyTuple_GET_SIZE(call.keywordNames)) : 0;
  if (call.positionalCount > state.positionalCount) [[unlikely]]
    throwCallError(state.name + ": " + std::to_string(call.positionalCount) +
                       " positional arguments for " + std::to_string(state.positionalCount) +
                       (state.positionalCount == 1 ? " parameter" : " parameters"),
                   listParameters(state));
  for (size_t i = 0; i < call.positionalCount; ++i)
    bound[i] = call.arguments[i];
  for (size_t i = call.positionalCount; i < count; ++i)
    bound[i] = nullptr;
  for (size_t i = 0; i < keywordCount; ++i) {
    PyObject *keyword = PyTuple_GET_ITEM(call.keywordNames, static_cast<Py_ssize_t>(i));
    PyObject *value = call.arguments[call.positionalCount + i];
    size_t index = parameterIndex(state, keyword);
    if (index == count) {
      if (!options.set(keyword, value, state.name))
        throwUnknownKeyword(state, keyword);
      continue;
    }
    if (bound[index]) [[unlikely]]
      throwCallError(state.name + ": argument '" + state.parameterNames[index] +
                         "' is given twice, by "
                         "position and by name",
                     listParameters(state));
    bound[index] = value;
  }
  options.complete();
  std::string missing;
  size_t missingCount = 0;
  for (size_t i = 0; i < count; ++i) {
    if (bound[i]) [[likely]]
      continue;
    bound[i] = defaultOf(state, i, held);
    if (!bound[i]) {
      missing += (missing.empty() ? "'" : ", '") + state.parameterNames[i] + "'";
      ++missingCount;
    }
  }
  if (missingCount) [[unlikely]]
    throwCallError(state.name + (missingCount > 1 ? ": arguments " : ": argument ") + missing +
                       (missingCount > 1 ? " are missing" : " is missing"),
                   listParameters(state));
}

py::dict argumentsByName(const KernelState &state, PyObject *const *bound) {
  py::dict arguments;
  for (size_t i = 0; i < state.parameterNames.size(); ++i)
    arguments[state.internedNames[i]] = py::handle(bound[i]);
  return arguments;
}

size_t KernelState::keepVariant(Variant variant) {
  std::vector<Variant> known;
  {
    std::lock_guard lock(mutex);
    known = variants;
  }
  // The same variant may have been obtained again, with its stages. Python's comparisons run
  // outside of the lock.
  auto isSame = [&](const Variant &other) {
    return !other.isChecked && !variant.isChecked && other.sourceVersion == variant.sourceVersion &&
           other.target == variant.target && other.signature.equal(variant.signature) &&
           other.options.equal(variant.options) &&
           other.kernel->image().options == variant.kernel->image().options;
  };
  size_t index = known.size();
  if (jit::Runtime::instance().stagesGeneration())
    index = static_cast<size_t>(std::find_if(known.begin(), known.end(), isSame) - known.begin());
  std::lock_guard lock(mutex);
  if (index < known.size()) {
    variants[index] = std::move(variant);
    return index;
  }
  variants.push_back(std::move(variant));
  return variants.size() - 1;
}

static std::string keyText(const jit::BoundArguments &arguments) {
  return {reinterpret_cast<const char *>(arguments.key.data()), arguments.key.size()};
}

/// Returns the variant under the key that is right now; null when there is none.
static const jit::Kernel *findChecked(KernelState &state, const jit::BoundArguments &arguments,
                                      const jit::Kernel *found, const LaunchedKernel &launched) {
  std::shared_ptr<CheckedVariants> variants;
  {
    std::lock_guard lock(state.mutex);
    auto entry = state.checked.find(keyText(arguments));
    if (entry == state.checked.end())
      return found;
    variants = entry->second;
  }
  return variants->find(launched);
}

/// Keeps a variant that was made for want of one; returns the kernel to launch, and whether it is a
/// new one.
static std::pair<const jit::Kernel *, bool> keepMade(KernelState &state,
                                                     const jit::BoundArguments &arguments,
                                                     const Sources &sources, Variant &made) {
  auto hasVariants = [&] {
    std::lock_guard lock(state.mutex);
    return state.checked.contains(keyText(arguments));
  };
  if (!made.reads && !hasVariants()) {
    // Another thread may have been faster; its kernel is the one that stays.
    bool isNew;
    const jit::Kernel *kernel = state.table.insert(arguments, made.kernel, &isNew);
    return {kernel, isNew};
  }
  std::shared_ptr<CheckedVariants> variants;
  {
    std::lock_guard lock(state.mutex);
    std::shared_ptr<CheckedVariants> &entry = state.checked[keyText(arguments)];
    if (!entry)
      entry = std::make_shared<CheckedVariants>();
    variants = entry;
  }
  VariantReadsRef reads = std::exchange(made.reads, nullptr);
  made.isChecked = true;
  variants->add({made.kernel, reads ? std::move(reads) : untilSourcesChange(sources)});
  state.hasChecked = true;
  state.table.insert(arguments, made.kernel); // so that the key is found
  return {made.kernel.get(), true};
}

py::object selectVariant(KernelState &state, const ReadCall &call, jit::BoundLaunch &result) {
  std::shared_ptr<const SourceState> own = currentSource(state, call.kernel);
  jit::BoundArguments &arguments = result.arguments;
  if (jit::Status status = state.specializer->bind(call.read.span(), arguments); !status.ok())
      [[unlikely]]
    throwError(status.error());
  int32_t device = deviceOf(state, call.read.span(), call.options, call.isWarmup);
  LaunchOptions options = call.options;
  bool isGpu = device >= 0 || LaunchOptions::isGpu(options.target);
  if (options.kernel.dependsOnBackend()) [[unlikely]]
    options.leaveOutFor(options.target != LaunchOptions::Target::OfArrays
                            ? LaunchOptions::nameOf(options.target)
                        : isGpu ? jit::Runtime::defaultGpuBackend()
                                : "cpu");
  arguments.device = std::max(device, 0);
  arguments.stream = isGpu && !call.isWarmup ? call.stream.current() : nullptr;
  arguments.addOption(options.word());
  arguments.addOption(isGpu ? 2 + static_cast<uint64_t>(device + 1) +
                                  (static_cast<uint64_t>(options.target) << 32)
                            : 0);
  arguments.addOption(own->version);
  // A @jit function passed as a constant has sources of its own.
  auto forEachPassed = [&](auto visit) {
    for (size_t i = 0; i < call.read.values.size(); ++i)
      if (call.read.values.data()[i].content == jit::ArgumentValue::Bits::ConstantId)
        if (KernelState *passed = kernelStateOf(call.read.objects[i]))
          visit(currentSource(*passed, call.read.objects[i]));
  };
  forEachPassed([&](const auto &source) { arguments.addOption(source->version); });

  if (uint64_t generation = jit::Runtime::instance().stagesGeneration()) [[unlikely]]
    arguments.addOption(generation);
  auto allSources = [&] {
    Sources sources{own, {}};
    forEachPassed([&](const auto &source) { sources.passed.push_back(source); });
    return sources;
  };
  if (options.isForArchive) [[unlikely]] {
    // Each has a face of its own, even where its code is that of another variant.
    py::list all;
    auto add = [&](jit::MemoryFacts memory) {
      const Variant made = getVariant(state, {call.kernel, call.read, allSources()},
                                      std::move(memory), options, device);
      all.append(wrapCompiledKernel(made, call.kernel));
      return made.kernel;
    };
    const std::shared_ptr<const jit::Kernel> usual = add({});
    for (jit::MemoryFacts &memory : jit::unusualMemory(usual->image()))
      add(std::move(memory));
    return all;
  }
  auto obtain = [&] {
    const jit::Kernel *kernel = state.table.find(arguments);
    if (kernel && state.hasChecked.load(std::memory_order_relaxed)) [[unlikely]]
      kernel = findChecked(state, arguments, kernel, {call.kernel, call.read, allSources()});
    if (!kernel) [[unlikely]] {
      const LaunchedKernel launched{call.kernel, call.read, allSources()};
      Variant made = getVariant(state, launched, jit::MemoryFacts::of(arguments), options, device);
      // Its Python face is there before another launch can find the kernel in the table.
      py::object compiled = wrapCompiledKernel(made, call.kernel);
      {
        std::lock_guard lock(state.mutex);
        state.compiled.try_emplace(made.kernel.get(), std::move(compiled));
      }
      auto [kept, isNew] = keepMade(state, arguments, launched.sources, made);
      kernel = kept;
      if (isNew) {
        size_t index = state.keepVariant(std::move(made));
        reportVariant(call.kernel, index, call.isWarmup);
      }
    }
    return kernel;
  };
  result.kernel = call.isWarmup ? jit::selectAhead(arguments, call.read.span(), obtain)
                                : jit::selectForMemory(arguments, obtain);
  py::object compiled;
  bool notes = false;
  {
    std::lock_guard lock(state.mutex);
    compiled = state.compiled.find(result.kernel)->second;
    if (options.ignored) [[unlikely]] {
      uint64_t &noted = state.ignored[result.kernel];
      notes = (options.ignored & ~noted) != 0;
      noted |= options.ignored;
    }
  }
  if (notes)
    compiled.attr("_note_ignored")(options.ignoredOptions());
  return compiled;
}

void runLaunch(const jit::BoundLaunch &ready, void *stream) {
  jit::Status status;
  if (ready.kernel->isAsynchronous()) { // giving up the GIL costs more than queueing
    status = ready.runOn(stream);
  } else {
    py::gil_scoped_release release;
    status = ready.runOn(stream);
  }
  if (!status.ok()) [[unlikely]]
    throwError(status.error());
}

PyObject *launch(KernelState &state, const LaunchCall &call) noexcept {
  try {
    return launchOrThrow(state, call);
  } catch (py::error_already_set &error) {
    error.restore();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

} // namespace sectile::bindings
