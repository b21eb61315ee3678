//===-- kernel.h - kernels from C++ functions, and their launch ---------------------------===//
//   auto add = sectile::kernel("add", [](Ptr<const f32> x, Ptr<f32> out, i32 n, Const<int> BLOCK) {
//     auto i = program_id(0) * BLOCK + arange(0, BLOCK);
//     store(out + i, load(x + i, i < n) + 1.0f, i < n);
//   });
//   add.launch({cdiv(n, 1024)}, x, out, n, Const{1024});
//
// The function runs once per variant, to be recorded; launches of a known variant cost about a
// microsecond. A variant is what its parameters were specialised on (Const values, integers equal
// to 1, divisibility by 16), the options and the kind of device. Arrays may overlap if they are
// given with their lengths (vectors, spans); of two pointers only that they are equal is seen.
// launch() returns when the grid is done (on a GPU: when it is queued), or throws Error.
//
// It runs where its DeviceBuffers are (device.h), else on the CPU. add.on(Device::gpu(0)) and
// add.on(stream) name the place, for pointers into a GPU's memory too.
//
// A function without captures is found again in the disk cache by the build of the executable, its
// place in there, that of the kernel() call and its constants; it must depend on nothing else that
// may change. One with captures is recorded once in every process.
#pragma once

#include "frontend/cpp/BuildId.h"
#include "jit/launch/BoundLaunch.h"
#include "jit/runtime/Runtime.h"

#include <sectile/archive.h>
#include <sectile/arguments.h>
#include <sectile/descriptors.h>
#include <sectile/record.h>
#include <sectile/variants.h>
#include <tuple>

namespace sectile {

/// What the numbers of a kernel may depend on: Options{.numerics = Numerics::Strict}.
using Numerics = backends::Numerics;
/// What fp32 operands of products are rounded to where dot does not say:
/// Options{.default_dot_input_precision = DotPrecision::Ieee}.
using DotPrecision = backends::DotPrecision;

/// How a kernel is compiled: Options{.num_warps = 8, .debug = true}. The fields, in this order,
/// with their defaults and meaning, are the lines of backends/plain/CompileOptions.def; the names
/// are Triton's launch keywords, but for check_bounds, which SECTILE_CHECK=bounds sets from
/// outside.
struct Options {
#define SECTILE_COUNT(field, keyword, initial, least, most, rule, help) int keyword = initial;
#define SECTILE_FLAG(field, keyword, initial, help) bool keyword = initial;
#define SECTILE_CHECK(field, keyword, word, help) bool keyword##_##word = false;
#define SECTILE_CHOICE(type, field, keyword, help) type keyword{};
#include "backends/plain/CompileOptions.def"
};

/// Programs along up to three axes: {rows}, {x, y}, {x, y, z}.
class Grid {
public:
  template <class... T>
    requires(sizeof...(T) >= 1 && sizeof...(T) <= 3 && (std::is_convertible_v<T, int64_t> && ...))
  Grid(T... axes) {
    int64_t extents[] = {extentOf(axes)...};
    int64_t *slots[] = {&grid.x, &grid.y, &grid.z};
    for (size_t axis = 0; axis < sizeof...(T); ++axis)
      *slots[axis] = extents[axis];
  }
  backends::Grid grid;

private:
  template <class T>
  static int64_t extentOf(T axis) {
    if constexpr (detail::isConst<T>)
      return extentOf(axis.value);
    else {
      static_assert(!std::is_floating_point_v<T>,
                    "launch: a grid is made of integers; round a quotient up with cdiv(n, BLOCK)");
      // What no int64_t holds is refused like every other grid that is too large.
      if constexpr (std::is_same_v<T, uint64_t> || std::is_same_v<T, unsigned long long>)
        return axis > T(INT64_MAX) ? INT64_MAX : int64_t(axis);
      else
        return int64_t(axis);
    }
  }
};

/// A launch with its arguments, made by Kernel::bind(): running it reads and looks up nothing. The
/// memory that its arguments point to must stay where it is; set<>() and setGrid() take others.
/// Copies are cheap, and several threads may run the same one as long as nobody changes it.
template <class K>
class BoundKernel {
public:
  /// Throws Error, as Kernel::launch().
  void operator()() const {
    jit::Status status = launch->run();
    if (!status.ok())
      K::raise(status);
  }

  /// Another argument for parameter `Index` from now on; finds, or compiles, the variant for it.
  template <size_t Index, class Argument>
  void set(Argument &&argument) {
    auto changed = values;
    K::template convertOne<Index>(changed, argument);
    launch = kernel.ready(changed, launch->grid);
    values = changed;
  }
  void setGrid(const Grid &grid) { launch = kernel.ready(values, grid.grid); }

private:
  friend K;
  BoundKernel(K kernel, const backends::Grid &grid, const typename K::Values &values)
      : kernel(std::move(kernel)), values(values), launch(this->kernel.ready(values, grid)) {}

  K kernel; // keeps the variants
  typename K::Values values;
  std::shared_ptr<const jit::BoundLaunch> launch;
};

/// A variant, to look inside.
class CompiledKernel {
public:
  explicit CompiledKernel(std::shared_ptr<const jit::Kernel> kernel) : kernel(std::move(kernel)) {}
  /// "tile", "llvm", "asm": the text of a stage; empty when it was not kept (SECTILE_KEEP_STAGES).
  std::string stage(const std::string &name) const {
    auto found = kernel->image().stages.find(name);
    return found == kernel->image().stages.end() ? std::string() : found->second;
  }
  const std::string &name() const { return kernel->image().kernelName; }
  const std::string &targetName() const { return kernel->image().targetName; }
  /// What it was compiled with, by the names of Options, and what a launch on a GPU needs.
  std::map<std::string, int64_t> properties() const {
    const backends::KernelImage &image = kernel->image();
    std::map<std::string, int64_t> result{{"threads", image.gpu.threads},
                                          {"shared", image.gpu.sharedBytes}};
#define SECTILE_COUNT(field, keyword, initial, least, most, rule, help)                            \
  result[#keyword] = image.options.field;
#define SECTILE_FLAG(field, keyword, initial, help) result[#keyword] = image.options.field;
#define SECTILE_CHECK(field, keyword, word, help) result[#keyword "_" #word] = image.options.field;
#define SECTILE_CHOICE(type, field, keyword, help) result[#keyword] = int64_t(image.options.field);
#include "backends/plain/CompileOptions.def"
    return result;
  }
  const std::vector<lang::Diagnostic> &warnings() const { return kernel->warnings(); }

private:
  std::shared_ptr<const jit::Kernel> kernel;
};

/// One variant of a kernel, and what made it.
struct Variant {
  CompiledKernel compiled;
  /// "x: *fp32:16, n: i32, BLOCK = 1024".
  std::string signature;
  /// Those that are not the defaults: "num_warps=8".
  std::string options;
  /// "cpu", "cuda:sm_90a", "hip:gfx942".
  std::string target;
  enum class Origin { Memory, Disk, SameIr, Compiled } origin;
  /// What sets it apart from the nearest one before it: "n: 1 instead of i32".
  std::string reason;
};

namespace detail {

[[noreturn]] inline void raise(const jit::Error &error) {
  auto kind = [&] {
    switch (error.kind) {
    case jit::Error::Kind::Kernel:
      return Error::Kind::Kernel;
    case jit::Error::Kind::Call:
      return Error::Kind::Call;
    case jit::Error::Kind::Trap:
      return Error::Kind::Trap;
    case jit::Error::Kind::Internal:
      return Error::Kind::Internal;
    case jit::Error::Kind::Machine:
    case jit::Error::Kind::Interrupted: // by the Python that embeds it
      return Error::Kind::Machine;
    case jit::Error::Kind::Resources:
      return Error::Kind::Resources;
    }
    return Error::Kind::Internal;
  };
  throw Error(kind(), error.text());
}

/// Launches of an archive are not typed as those of C++ are: what a parameter's type says of its
/// arguments becomes part of its policy. An i32 says no more than a number that is one.
template <class Parameter>
void typeParameter(jit::ParameterPolicy &policy) {
  if constexpr (requires { ParameterTraits<Parameter>::dtype; }) {
    constexpr DType dtype = ParameterTraits<Parameter>::dtype;
    if constexpr (dtype.isPointer)
      policy.isConst = dtype.isConst;
    else if constexpr (dtype.kind != ScalarKind::Int32)
      policy.annotation = dtype;
  }
}

inline backends::KernelOptions kernelOptions(const Options &options) {
  backends::KernelOptions result;
#define SECTILE_COUNT(field, keyword, initial, least, most, rule, help)                            \
  result.field = options.keyword;
#define SECTILE_FLAG(field, keyword, initial, help) result.field = options.keyword;
#define SECTILE_CHECK(field, keyword, word, help) result.field = options.keyword##_##word;
#define SECTILE_CHOICE(type, field, keyword, help) result.field = options.keyword;
#include "backends/plain/CompileOptions.def"
  return result;
}

} // namespace detail

template <class F, class Parameters>
class Kernel;

template <class F, class... P>
class Kernel<F, std::tuple<P...>> {
public:
  Kernel(std::string name, std::vector<std::string> parameterNames, F function,
         const std::source_location &where)
      : state(new State(std::move(name), std::move(parameterNames), std::move(function),
                        detail::rangeOf(where))) {}

  /// The same kernel compiled with other options. Throws Error for one outside its range.
  Kernel with(const Options &options) const {
    Kernel copy = *this;
    copy.options = detail::kernelOptions(options);
    if (std::string problem = jit::Runtime::problemOf(copy.options); !problem.empty())
      throw Error(Error::Kind::Call, state->name + ": " + problem);
    return copy;
  }

  /// The same kernel for launches on this device, or stream.
  Kernel on(Device device) const {
    Kernel copy = *this;
    copy.place = device.index();
    copy.stream = nullptr;
    copy.target.reset();
    return copy;
  }
  Kernel on(const Stream &on) const {
    Kernel copy = this->on(on.device());
    copy.stream = on.handle();
    return copy;
  }

  /// The same kernel compiled for a target that need not be here, for precompile() and compile().
  Kernel on(const Target &target) const {
    Kernel copy = on(Device::cpu());
    copy.target = target;
    return copy;
  }

  /// Runs the kernel for every program of the grid; throws Error.
  template <class... Arguments>
  void launch(const Grid &grid, Arguments &&...arguments) const {
    jit::BoundArguments bound;
    auto values = convert(arguments...);
    const jit::Kernel *kernel = find(values, bound);
    jit::Status status = kernel->launch(grid.grid, bound);
    if (!status.ok())
      detail::raise(status.error());
  }

  /// A launch with its arguments, to be run many times:
  ///   auto run = add.bind({cdiv(n, 1024)}, x, out, n, Const{1024});
  ///   run();
  ///   run.set<0>(other);
  template <class... Arguments>
  BoundKernel<Kernel> bind(const Grid &grid, Arguments &&...arguments) const {
    return BoundKernel<Kernel>(*this, grid.grid, convert(arguments...));
  }

  /// Compiles, or finds, the variant that launch() would run for these arguments.
  template <class... Arguments>
  CompiledKernel compile(Arguments &&...arguments) const {
    jit::BoundArguments bound;
    auto values = convert(arguments...);
    classify(values, bound);
    return CompiledKernel(getAhead(values, bound));
  }

  /// Compiles, or finds, variants ahead of their first launch, in parallel: those of all
  /// combinations of the arguments (variants.h), for the device and the options of this kernel.
  /// They are kept as long as the kernel. Throws the first error when all are done. The function is
  /// recorded by several threads at once, and the call may be put on a thread of its own.
  template <class... Arguments>
  std::vector<CompiledKernel> precompile(const Arguments &...arguments) const {
    std::mutex mutex;
    std::map<size_t, std::shared_ptr<const jit::Kernel>> made;
    forEachCombination(
        [&](size_t number, const Values &values) {
          jit::BoundArguments bound;
          classify(values, bound);
          std::shared_ptr<const jit::Kernel> kernel = getAhead(values, bound);
          std::lock_guard lock(mutex);
          made[number] = std::move(kernel);
        },
        arguments...);
    std::vector<CompiledKernel> result;
    for (auto &[number, kernel] : made)
      result.emplace_back(std::move(kernel));
    return result;
  }

  /// Compiles variants, as precompile() does, into an archive that programs open without a
  /// compiler (sectile/archive.h), for the target of this kernel and its options.
  ///   scale.on(Target("cuda:90")).exportTo(archive, divisibleBy16, anyValue, Const{1024});
  template <class... Arguments>
  void exportTo(ArchiveWriter &archive, const Arguments &...arguments) const {
    std::vector<jit::ParameterPolicy> policies(state->specializer.parameters().begin(),
                                               state->specializer.parameters().end());
    size_t index = 0;
    (detail::typeParameter<P>(policies[index++]), ...);
    archive.writer.addKernel(state->name, policies);
    forEachCombination(
        [&](size_t, const Values &values) {
          jit::BoundArguments bound;
          classify(values, bound);
          std::shared_ptr<const jit::Kernel> usual = getForArchive(archive, values, bound, {});
          for (const jit::MemoryFacts &memory : jit::unusualMemory(usual->image()))
            (void)getForArchive(archive, values, bound, memory);
        },
        arguments...);
  }

  /// What was launched, compiled or precompiled so far, in this order.
  std::vector<Variant> variants() const {
    using Origin = jit::KernelResult::Origin;
    std::vector<Variant> result;
    for (jit::VariantRecord &record : state->variants.all())
      result.push_back({CompiledKernel(std::move(record.kernel)), std::move(record.signature),
                        std::move(record.options), std::move(record.target),
                        record.origin == Origin::Disk     ? Variant::Origin::Disk
                        : record.origin == Origin::SameIr ? Variant::Origin::SameIr
                        : record.origin == Origin::Memory ? Variant::Origin::Memory
                                                          : Variant::Origin::Compiled,
                        std::move(record.reason)});
    return result;
  }

  /// What a variant for these arguments is compiled for.
  template <class... Arguments>
  lang::KernelSignature signature(Arguments &&...arguments) const {
    jit::BoundArguments bound;
    auto values = convert(arguments...);
    check(state->specializer.bind(values, bound));
    return state->specializer.signature(values);
  }

  /// Records the function; keeps in `thrown` what it throws, for throwing it again once the
  /// compiler has returned. `thrown` must outlive the result.
  cpp::TraceFunction traceFunction(std::exception_ptr &thrown) const {
    return detail::traceFunction<std::tuple<P...>>(
        std::shared_ptr<const F>(state, &state->function), thrown);
  }
  const lang::SourceRange &where() const { return state->where; }

private:
  static std::vector<jit::ParameterPolicy> policies(std::vector<std::string> names) {
    for (size_t index = names.size(); index < sizeof...(P); ++index)
      names.push_back("arg" + detail::decimal(int64_t(index)));
    size_t index = 0;
    return {detail::ParameterTraits<P>::policy(names[index++])...};
  }

  struct State {
    State(std::string name, std::vector<std::string> parameterNames, F function,
          lang::SourceRange where)
        : name(name), function(std::move(function)), where(std::move(where)),
          specializer(std::move(name), policies(std::move(parameterNames))) {}
    std::string name;
    F function;
    lang::SourceRange where;
    jit::Specializer specializer;
    jit::KernelTable table;
    jit::VariantList variants;
  };
  /// How many values each parameter takes.
  static constexpr std::array<size_t, sizeof...(P)> kWidths{detail::valueCount<P>...};
  static constexpr size_t kValueCount = (size_t(0) + ... + detail::valueCount<P>);
  using Values = std::array<jit::ArgumentValue, kValueCount>;

  template <class... Arguments>
  static Values convert(Arguments &&...arguments) {
    static_assert(sizeof...(Arguments) == sizeof...(P),
                  "launch: one argument for each parameter of the kernel, after the grid");
    if constexpr (sizeof...(Arguments) != sizeof...(P))
      return {};
    else if constexpr (kValueCount == sizeof...(P))
      return {detail::ParameterTraits<P>::convert(arguments)...};
    else {
      Values values;
      [[maybe_unused]] jit::ArgumentValue *place = values.data();
      ((place = detail::convertTo<P>(place, arguments)), ...);
      return values;
    }
  }
  static void check(const jit::Status &status) {
    if (!status.ok())
      detail::raise(status.error());
  }

  friend class BoundKernel<Kernel>;
  template <size_t Index, class Argument>
  static void convertOne(Values &values, Argument &&argument) {
    size_t first = 0;
    for (size_t parameter = 0; parameter < Index; ++parameter)
      first += kWidths[parameter];
    detail::convertTo<std::tuple_element_t<Index, std::tuple<P...>>>(values.data() + first,
                                                                     argument);
  }
  [[noreturn]] static void raise(const jit::Status &status) { detail::raise(status.error()); }
  std::shared_ptr<const jit::BoundLaunch> ready(const Values &values,
                                                const backends::Grid &grid) const {
    std::shared_ptr<jit::BoundLaunch> launch(new jit::BoundLaunch);
    launch->grid = grid;
    launch->kernel = find(values, launch->arguments);
    launch->prepare();
    return launch;
  }

  /// Sets bound.device to the index of a GPU, or to -1.
  void classify(const Values &values, jit::BoundArguments &bound) const {
    constexpr int anywhere = jit::ArgumentValue::kAnywhere;
    check(state->specializer.bind(values, bound));
    size_t first = 0;
    check(state->specializer.commonDevice(values, bound.device, &first,
                                          &jit::Runtime::defaultGpuBackend));
    if (place != anywhere && bound.device != anywhere && bound.device != place) [[unlikely]]
      throw Error(Error::Kind::Call,
                  state->name + ": argument '" + state->specializer.parameters()[first].name +
                      "' is on " + nameOf(bound.device) + ", and the launch is on " +
                      nameOf(place) + "\n  help: pass a DeviceBuffer of that device");
    if (place != anywhere)
      bound.device = place;
    else if (bound.device == anywhere)
      bound.device = jit::ArgumentValue::kHost;
    bound.stream = stream;
  }
  static std::string nameOf(int32_t device) { return jit::Runtime::instance().deviceName(device); }

  /// Those of this kernel and what the environment asks for.
  backends::KernelOptions optionsNow() const {
    backends::KernelOptions result = options;
    jit::Runtime::instance().launchDefaults().complete(result);
    result.normalize();
    return result;
  }

  const jit::Kernel *find(const Values &values, jit::BoundArguments &bound) const {
    if (target) [[unlikely]]
      throw Error(Error::Kind::Call, state->name + ": on(Target) is for compiling ahead\n  help: "
                                                   "launch it on(Device)");
    classify(values, bound);
    bound.addOption(uint64_t(bound.device) + 1);
    bound.addOption(optionsNow().word());
    if (uint64_t generation = jit::Runtime::instance().stagesGeneration()) [[unlikely]]
      bound.addOption(generation);
    return jit::selectForMemory(bound, [&]() -> const jit::Kernel * {
      if (const jit::Kernel *kernel = state->table.find(bound)) [[likely]]
        return kernel;
      std::exception_ptr thrown;
      return state->table.insert(bound,
                                 get(values, bound.device, jit::MemoryFacts::of(bound), thrown));
    });
  }

  /// Calls body(number, values) for every combination of the arguments (variants.h), in parallel;
  /// throws the first error when all are done.
  template <class Body, class... Arguments>
  static void forEachCombination(Body body, const Arguments &...arguments) {
    static_assert(sizeof...(Arguments) == sizeof...(P),
                  "precompile: one argument for each parameter of the kernel");
    std::array<std::vector<jit::ArgumentValue>, sizeof...(P)> choices;
    size_t index = 0;
    ((detail::addChoices<P>(choices[index], arguments, index), ++index), ...);
    size_t count = 1;
    for (size_t parameter = 0; parameter < sizeof...(P); ++parameter)
      count *= choices[parameter].size() / kWidths[parameter];

    std::vector<std::exception_ptr> errors(count);
    detail::inParallel(count, [&](size_t combination) {
      try {
        Values values;
        size_t rest = combination;
        auto end = values.end();
        for (size_t parameter = sizeof...(P); parameter-- > 0;) {
          const auto &each = choices[parameter];
          const size_t width = kWidths[parameter], choice = rest % (each.size() / width);
          rest /= each.size() / width;
          end =
              std::copy_n(each.begin() + ptrdiff_t(choice * width), width, end - ptrdiff_t(width)) -
              ptrdiff_t(width);
        }
        body(combination, std::as_const(values));
      } catch (...) {
        errors[combination] = std::current_exception();
      }
    });
    for (const std::exception_ptr &error : errors)
      if (error)
        std::rethrow_exception(error);
  }

  /// The variant for such memory, which is added to the archive.
  std::shared_ptr<const jit::Kernel> getForArchive(ArchiveWriter &archive, const Values &values,
                                                   const jit::BoundArguments &bound,
                                                   const jit::MemoryFacts &memory) const {
    std::exception_ptr thrown;
    std::shared_ptr<const jit::Kernel> kernel =
        get(values, bound.device, memory, thrown, /*forElsewhere=*/true);
    archive.writer.addVariant(*kernel, state->specializer.signature(values));
    return kernel;
  }

  /// What is obtained besides goes into `variants`, which keeps it.
  std::shared_ptr<const jit::Kernel> getAhead(const Values &values,
                                              jit::BoundArguments &bound) const {
    std::vector<std::shared_ptr<const jit::Kernel>> obtained;
    const jit::Kernel *selected = jit::selectAhead(bound, values, [&] {
      std::exception_ptr thrown;
      return obtained.emplace_back(get(values, bound.device, jit::MemoryFacts::of(bound), thrown))
          .get();
    });
    return obtained.back().get() == selected ? obtained.back() : obtained.front();
  }

  std::shared_ptr<const jit::Kernel> get(const Values &values, int32_t device,
                                         const jit::MemoryFacts &memory, std::exception_ptr &thrown,
                                         bool forElsewhere = false) const {
    jit::KernelRequest request;
    request.sourceDigest = sourceDigest();
    request.signature = state->specializer.signature(values);
    request.memory = memory;
    request.options.forElsewhere = forElsewhere;
    jit::Runtime &runtime = jit::Runtime::instance();
    static_cast<backends::KernelOptions &>(request.options) = optionsNow();
    if (target) {
      request.options.backend = target->backend;
      request.options.arch = target->arch;
    } else if (device >= 0) {
      request.options.backend = runtime.gpuBackend();
      jit::Status status;
      request.options.arch = runtime.archOf(request.options.backend, device, status);
      if (!status.ok())
        detail::raise(status.error());
    }
    request.options.normalizeFor(request.options.backend);
    request.makeCompileRequest = [&](jit::CompileRequest &compile) {
      compile.trace = traceFunction(thrown);
      compile.where = state->where;
      return jit::Status();
    };
    jit::KernelResult result = runtime.getKernel(request);
    if (thrown)
      std::rethrow_exception(thrown);
    if (!result.kernel)
      detail::raise(result.status.error());
    state->variants.add(request, result);
    return result.kernel;
  }

  /// Empty when the source cannot be named: the kernel is then recorded, and found by its IR.
  std::string sourceDigest() const {
    if constexpr (std::is_empty_v<F>) {
      // Neither the place of the kernel() call nor the name of the lambda's type is enough: one
      // header gives both to the lambdas of several translation units, and so do two files of one
      // relative name.
      std::string object = cpp::placeInBuild(&anchor);
      if (object.empty())
        return "";
      const lang::SourceRange &at = state->where;
      return "c++ " + object + " " + at.file + ":" + detail::decimal(at.line) + ":" +
             detail::decimal(at.column) + " " + state->name;
    } else
      return "";
  }
  /// Lies in the executable, or library, that holds the kernel, at a place that only this F has: a
  /// variable that may be written is never merged with another, as equal functions may be
  /// (--icf=all). Hidden, so that the linker does not make it unique, which would keep the library
  /// from being unloaded.
  [[gnu::visibility("hidden")]] static inline char anchor = 0;

  std::shared_ptr<State> state;
  backends::KernelOptions options;
  /// Where the kernel runs: the index of a GPU, kHost for the CPU, or kAnywhere for wherever the
  /// arrays are.
  int32_t place = jit::ArgumentValue::kAnywhere;
  void *stream = nullptr;
  /// The kernel is compiled for this target when it is set, whatever the place.
  std::optional<Target> target;
};

/// A kernel from a function or lambda. Its parameters are Ptr<T>, scalars (i32, f32 ...),
/// NoSpecialize<i32>, Const<T> and TensorDescriptorOf<T, Rank> (descriptors.h).
template <class F>
auto kernel(std::string name, F function,
            std::source_location where = std::source_location::current()) {
  using Parameters = detail::ParametersOf<F>;
  return Kernel<F, Parameters>(std::move(name), {}, std::move(function), where);
}
/// The same with names for its parameters, for messages and for the IR.
template <class F>
auto kernel(std::string name, std::vector<std::string> parameterNames, F function,
            std::source_location where = std::source_location::current()) {
  using Parameters = detail::ParametersOf<F>;
  return Kernel<F, Parameters>(std::move(name), std::move(parameterNames), std::move(function),
                               where);
}

} // namespace sectile
