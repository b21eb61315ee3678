// The functions of sectile/c.h: each turns C's arguments into those of aot/Archive, and a Status
// into a number and the thread's text.
#include "jit/Api.h"
#include "jit/BuildId.h"
#include "jit/aot/Archive.h"
#include "jit/capi/ReadArguments.h"
#include "jit/runtime/Runtime.h"
#include "jit/runtime/VariantHistory.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <sectile/c.h>
#include <system_error>
#include <thread>
#include <unistd.h>

using namespace sectile;
using jit::ArgumentValue;
using jit::capi::isType, jit::capi::ReadArguments, jit::capi::scalarOf;

//-- Handles --------------------------------------------------------------------------------------

/// The handle of an archive, which outlives it: what is called after sectile_close() is refused.
/// Handles are kept until the process ends, some hundred bytes each.
struct sectile_archive {
  std::shared_ptr<const jit::Archive> opened; // null once it is closed
  std::vector<std::unique_ptr<sectile_kernel>> kernels;
  const std::string name;

  /// While calls are in it, an archive stays open.
  mutable std::atomic<int64_t> calls = 0;
  mutable std::atomic<bool> isClosed = false;
  /// In a child of fork() the calls of the parent's other threads never end.
  const pid_t opener = ::getpid();

  explicit sectile_archive(std::string name) : name(std::move(name)) {}
};

struct sectile_kernel {
  const sectile_archive *archive;
  const jit::ArchivedKernel *kernel;
  std::string name;
  /// Texts of sectile_get_parameter() and sectile_get_variant(), made when they are asked for.
  struct VariantTexts {
    std::string signature, options, target;
  };
  mutable std::once_flag areTextsMade;
  mutable std::vector<VariantTexts> variants;
  mutable std::vector<std::string> annotations;
};

struct sectile_bound {
  const sectile_archive *archive;
  jit::BoundLaunch launch;
  /// Of launches that were prepared: keeps the code until the handle is released. They only look
  /// whether the archive is closed, and do not keep sectile_close() waiting: they come back at
  /// once.
  std::shared_ptr<const jit::Archive> code;
};

namespace {

/// Keeps an archive open in this block, or finds it closed.
class OpenArchive {
public:
  explicit OpenArchive(const sectile_archive &archive) : archive(archive) {
    archive.calls.fetch_add(1);
    isOpen = !archive.isClosed.load();
  }
  ~OpenArchive() { archive.calls.fetch_sub(1); }
  OpenArchive(const OpenArchive &) = delete;
  OpenArchive &operator=(const OpenArchive &) = delete;
  explicit operator bool() const { return isOpen; }

private:
  const sectile_archive &archive;
  bool isOpen;
};

//-- Errors ---------------------------------------------------------------------------------------

struct LastError {
  std::string text;
  /// Stands for the text where there was no memory for one.
  const char *fixed = nullptr;
  int32_t argument = -1;
};
LastError &lastError() {
  thread_local LastError error;
  return error;
}

[[gnu::cold]] sectile_status fail(sectile_status status, std::string text, int32_t argument = -1) {
  lastError() = {std::move(text), nullptr, argument};
  return status;
}

[[gnu::cold]] sectile_status failFor(const char *reason, sectile_status status) {
  lastError().fixed = reason;
  lastError().argument = -1;
  return status;
}

/// Runs what a function of c.h does. No exception leaves it: the library itself throws none, but
/// memory and threads may be refused.
template <class Body>
sectile_status guarded(const Body &body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return failFor("the system has no more memory for this process", SECTILE_ERROR_RESOURCES);
  } catch (const std::system_error &) {
    return failFor("the system has no more threads for this process", SECTILE_ERROR_RESOURCES);
  } catch (...) {
    return failFor("an exception reached sectile/c.h", SECTILE_ERROR_INTERNAL);
  }
}

[[gnu::cold, gnu::noinline]] sectile_status statusOf(const jit::Error &error) {
  using Kind = jit::Error::Kind;
  sectile_status status = SECTILE_ERROR_INTERNAL;
  switch (error.kind) {
  case Kind::Call:
  case Kind::Kernel:
    status = SECTILE_ERROR_CALL;
    break;
  case Kind::Trap:
    status = SECTILE_ERROR_TRAP;
    break;
  case Kind::Internal:
    break;
  case Kind::Machine:
  case Kind::Interrupted:
    status = SECTILE_ERROR_MACHINE;
    break;
  case Kind::Resources:
    status = SECTILE_ERROR_RESOURCES;
    break;
  }
  return fail(status, error.text(), error.parameter);
}

sectile_status statusOf(const jit::Status &status) {
  return status.ok() ? SECTILE_OK : statusOf(status.error());
}

[[gnu::cold]] sectile_status closed(const sectile_archive &archive) {
  return fail(SECTILE_ERROR_CLOSED, "archive " + archive.name + " has been closed");
}
[[gnu::cold]] sectile_status isNull(const char *function, const char *argument) {
  return guarded([&] {
    return fail(SECTILE_ERROR_CALL, std::string(function) + ": " + argument + " is null");
  });
}

//-- Launches ---------------------------------------------------------------------------------------

/// "cpu", "cuda", "hip"; "" for an unknown kind.
std::string_view backendOf(int32_t kind) {
  using namespace std::string_view_literals;
  return kind == SECTILE_CPU    ? "cpu"sv
         : kind == SECTILE_CUDA ? "cuda"sv
         : kind == SECTILE_HIP  ? "hip"sv
                                : ""sv;
}
[[gnu::cold]] sectile_status unknownDevice(const char *function) {
  return fail(SECTILE_ERROR_CALL, std::string(function) + ": the device's kind is none of "
                                                          "SECTILE_CPU, SECTILE_CUDA, SECTILE_HIP");
}

/// The kernel's archive is open.
sectile_status bind(const char *function, const sectile_kernel &kernel, sectile_device device,
                    void *stream, const sectile_grid *grid, const sectile_arg *args, size_t count,
                    jit::BoundLaunch &result) {
  const std::string_view backend = backendOf(device.kind);
  if (backend.empty())
    return unknownDevice(function);
  if (count != 0 && !args)
    return isNull(function, "args");
  constexpr size_t kMost = 1 << 16;
  if (count > kMost) [[unlikely]]
    return fail(SECTILE_ERROR_CALL, kernel.name + ": takes " +
                                        std::to_string(kernel.kernel->entry().parameters.size()) +
                                        " arguments, got " + std::to_string(count));
  const bool isHost = device.kind == SECTILE_CPU;
  if (device.index < 0 || device.index > (isHost ? 0 : INT16_MAX)) [[unlikely]]
    return fail(SECTILE_ERROR_CALL, std::string(function) + ": there is no device number " +
                                        std::to_string(device.index));
  ReadArguments read;
  const int16_t place = isHost ? ArgumentValue::kHost : static_cast<int16_t>(device.index);
  if (!read.all(*kernel.kernel, {args, count}, place)) [[unlikely]]
    return fail(SECTILE_ERROR_CALL, read.problem(), read.parameter());
  jit::ArchivedLaunch launch{read.values(), std::nullopt, backend, device.index, stream};
  if (grid)
    launch.grid = jit::Grid{grid->x, grid->y, grid->z};
  return statusOf(kernel.kernel->bind(launch, result));
}

/// Fills in the first info->size bytes.
template <class Info>
sectile_status fill(const char *function, Info *info, const Info &known) {
  if (!info)
    return isNull(function, "info");
  const size_t size = info->size;
  if (size < sizeof(size_t) || size > (1 << 16))
    return fail(SECTILE_ERROR_CALL,
                std::string(function) + ": info->size is not set; it is sizeof of its type");
  std::memset(info, 0, size); // a caller may be newer
  std::memcpy(info, &known, std::min(size, sizeof known));
  info->size = size;
  return SECTILE_OK;
}

sectile_status keep(std::shared_ptr<const jit::Archive> opened, const jit::Status &status,
                    sectile_archive **result) {
  if (!opened)
    return statusOf(status);
  // Handles are never freed; they stay reachable, so that leak checkers keep quiet.
  static auto *const handles = new std::vector<std::unique_ptr<sectile_archive>>;
  static auto *const guard = new ForkSafeMutex;
  auto handle = std::make_unique<sectile_archive>(opened->name());
  for (const auto &kernel : opened->kernels()) {
    auto made = std::make_unique<sectile_kernel>();
    made->archive = handle.get();
    made->kernel = kernel.get();
    made->name = kernel->entry().name;
    handle->kernels.push_back(std::move(made));
  }
  handle->opened = std::move(opened);
  std::lock_guard lock(*guard);
  *result = handles->emplace_back(std::move(handle)).get();
  return SECTILE_OK;
}

/// The kernel's archive is open.
void makeTexts(const sectile_kernel &kernel) {
  std::call_once(kernel.areTextsMade, [&] {
    kernel.variants.clear(); // of an attempt for which there was no memory
    kernel.annotations.clear();
    for (const jit::ArchivedVariant &variant : kernel.kernel->entry().variants)
      kernel.variants.push_back(
          {jit::describe(variant.signature), jit::optionsOf(variant), jit::nameOfTarget(variant)});
    for (const jit::ArchivedParameter &parameter : kernel.kernel->entry().parameters)
      kernel.annotations.push_back(
          parameter.policy.annotation.isVoid() ? "" : parameter.policy.annotation.name());
  });
}

sectile_status find(const sectile_archive *archive, const char *name,
                    const sectile_kernel *&found) {
  if (!archive || !name)
    return isNull("sectile_find", archive ? "name" : "archive");
  std::vector<std::string> names;
  for (const auto &kernel : archive->kernels) {
    if (kernel->name == name) {
      found = kernel.get();
      return SECTILE_OK;
    }
    names.push_back(kernel->name);
  }
  std::string closest = lang::closestName(name, names), all;
  for (const std::string &each : names)
    all += (all.empty() ? "" : ", ") + each;
  return fail(SECTILE_ERROR_CALL,
              "archive " + archive->name + " has no kernel '" + name + "'" +
                  (closest.empty() ? "" : "; did you mean '" + closest + "'?") +
                  "\n  help: " + (all.empty() ? "it has none" : "it has " + all));
}

} // namespace

//-- Errors and versions --------------------------------------------------------------------------

SECTILE_API const char *sectile_error_text(void) {
  const LastError &last = lastError();
  return last.fixed ? last.fixed : last.text.c_str();
}
SECTILE_API int32_t sectile_error_argument(void) {
  return lastError().argument;
}

SECTILE_API const char *sectile_status_name(sectile_status status) {
  switch (status) {
  case SECTILE_OK:
    return "ok";
  case SECTILE_ERROR_CALL:
    return "call";
  case SECTILE_ERROR_MACHINE:
    return "machine";
  case SECTILE_ERROR_RESOURCES:
    return "resources";
  case SECTILE_ERROR_TRAP:
    return "trap";
  case SECTILE_ERROR_INTERNAL:
    return "internal";
  case SECTILE_ERROR_CLOSED:
    return "closed";
  default:
    return "unknown";
  }
}

SECTILE_API const char *sectile_version(void) {
  return jit::version();
}
SECTILE_API int32_t sectile_abi_version(void) {
  return SECTILE_ABI_VERSION;
}

SECTILE_API const char *sectile_type_name(sectile_type type) {
  const char *name = "";
  (void)guarded([&] {
    static const auto &names = *[] {
      auto made = std::make_unique<std::vector<std::string>>(SECTILE_F64 + 1);
      for (sectile_type each = SECTILE_BOOL; each <= SECTILE_F64; ++each)
        (*made)[static_cast<size_t>(each)] = scalarOf(each).name();
      return made.release();
    }();
    if (isType(type))
      name = names[static_cast<size_t>(type)].c_str();
    return SECTILE_OK;
  });
  return name;
}

//-- Devices --------------------------------------------------------------------------------------

SECTILE_API sectile_status sectile_device_count(int32_t kind, int32_t *count) {
  return guarded([&]() -> sectile_status {
    if (!count)
      return isNull("sectile_device_count", "count");
    *count = 0;
    const std::string_view backend = backendOf(kind);
    if (backend.empty())
      return unknownDevice("sectile_device_count");
    if (backend == "cpu") {
      *count = 1;
      return SECTILE_OK;
    }
    std::string reason;
    *count = static_cast<int32_t>(jit::Runtime::instance().driver(backend)->devices(reason).size());
    if (*count == 0)
      (void)fail(SECTILE_OK, "there is no such device: " + reason);
    return SECTILE_OK;
  });
}

SECTILE_API sectile_status sectile_get_device(sectile_device device, sectile_device_info *info) {
  return guarded([&]() -> sectile_status {
    const std::string_view backend = backendOf(device.kind);
    if (backend.empty())
      return unknownDevice("sectile_get_device");
    if (backend == "cpu")
      return fill("sectile_get_device", info, {0, "CPU", "", 0});
    jit::Status status;
    const backends::DeviceInfo *found =
        jit::Runtime::instance().deviceInfo(backend, device.index, status);
    if (!found)
      return statusOf(status);
    return fill(
        "sectile_get_device", info,
        {0, found->name.c_str(), found->arch.c_str(), static_cast<uint64_t>(found->memoryBytes)});
  });
}

//-- Archives -------------------------------------------------------------------------------------

SECTILE_API sectile_status sectile_open(const char *path, sectile_archive **archive) {
  return guarded([&]() -> sectile_status {
    if (!path)
      return isNull("sectile_open", "path");
    if (!archive)
      return isNull("sectile_open", "archive");
    *archive = nullptr;
    jit::Status status;
    return keep(jit::Archive::open(path, status), status, archive);
  });
}

SECTILE_API sectile_status sectile_open_memory(const void *bytes, size_t size, const char *name,
                                               sectile_archive **archive) {
  return guarded([&]() -> sectile_status {
    if (!bytes)
      return isNull("sectile_open_memory", "bytes");
    if (!archive)
      return isNull("sectile_open_memory", "archive");
    *archive = nullptr;
    jit::Status status;
    return keep(jit::Archive::ofMemory({static_cast<const char *>(bytes), size},
                                       name ? name : "in memory", status),
                status, archive);
  });
}

SECTILE_API void sectile_close(sectile_archive *archive) {
  if (!archive)
    return;
  const bool isFirst = !archive->isClosed.exchange(true);
  if (::getpid() != archive->opener)
    return; // the parent's launches may be counted in it; its memory goes with the process
  // A second thread that closes it waits, too: its memory may be freed afterwards.
  for (int round = 0; archive->calls.load() != 0; ++round)
    if (round < 1000)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (!isFirst)
    return;
  for (const auto &kernel : archive->kernels) { // their handles stay
    kernel->variants = {};
    kernel->annotations = {};
  }
  archive->opened.reset();
}

SECTILE_API size_t sectile_kernel_count(const sectile_archive *archive) {
  return archive ? archive->kernels.size() : 0;
}
SECTILE_API const sectile_kernel *sectile_kernel_at(const sectile_archive *archive, size_t index) {
  return archive && index < archive->kernels.size() ? archive->kernels[index].get() : nullptr;
}

SECTILE_API const sectile_kernel *sectile_find(const sectile_archive *archive, const char *name) {
  const sectile_kernel *found = nullptr;
  (void)guarded([&] { return find(archive, name, found); });
  return found;
}

SECTILE_API const char *sectile_kernel_name(const sectile_kernel *kernel) {
  return kernel ? kernel->name.c_str() : "";
}

SECTILE_API sectile_status sectile_check_interface(const sectile_kernel *kernel,
                                                   uint64_t interface) {
  return guarded([&]() -> sectile_status {
    if (!kernel)
      return isNull("sectile_check_interface", "kernel");
    OpenArchive open(*kernel->archive);
    if (!open)
      return closed(*kernel->archive);
    if (jit::interfaceOf(kernel->kernel->entry()) == interface)
      return SECTILE_OK;
    return fail(SECTILE_ERROR_CALL,
                kernel->name + ": its parameters in archive " + kernel->archive->name +
                    " are others than those in the header\n  help: generate the header once more, "
                    "together with the archive");
  });
}

SECTILE_API size_t sectile_parameter_count(const sectile_kernel *kernel) {
  if (!kernel)
    return 0;
  OpenArchive open(*kernel->archive);
  return open ? kernel->kernel->entry().parameters.size() : 0;
}

SECTILE_API sectile_status sectile_get_parameter(const sectile_kernel *kernel, size_t index,
                                                 sectile_parameter_info *info) {
  return guarded([&]() -> sectile_status {
    if (!kernel)
      return isNull("sectile_get_parameter", "kernel");
    OpenArchive open(*kernel->archive);
    if (!open)
      return closed(*kernel->archive);
    const auto &parameters = kernel->kernel->entry().parameters;
    if (index >= parameters.size())
      return fail(SECTILE_ERROR_CALL,
                  kernel->name + ": there is no parameter number " + std::to_string(index));
    makeTexts(*kernel);
    const jit::ArchivedParameter &parameter = parameters[index];
    return fill("sectile_get_parameter", info,
                {0, parameter.policy.name.c_str(), kernel->annotations[index].c_str(),
                 parameter.policy.isConstexpr,
                 parameter.initial.has_value() || !parameter.chosen.isEmpty()});
  });
}

SECTILE_API size_t sectile_variant_count(const sectile_kernel *kernel) {
  if (!kernel)
    return 0;
  OpenArchive open(*kernel->archive);
  return open ? kernel->kernel->entry().variants.size() : 0;
}

SECTILE_API sectile_status sectile_get_variant(const sectile_kernel *kernel, size_t index,
                                               sectile_variant_info *info) {
  return guarded([&]() -> sectile_status {
    if (!kernel)
      return isNull("sectile_get_variant", "kernel");
    OpenArchive open(*kernel->archive);
    if (!open)
      return closed(*kernel->archive);
    const auto &variants = kernel->kernel->entry().variants;
    if (index >= variants.size())
      return fail(SECTILE_ERROR_CALL,
                  kernel->name + ": there is no variant number " + std::to_string(index));
    makeTexts(*kernel);
    const sectile_kernel::VariantTexts &texts = kernel->variants[index];
    return fill("sectile_get_variant", info,
                {0, texts.signature.c_str(), texts.options.c_str(), texts.target.c_str(),
                 variants[index].registers, variants[index].spilledBytes, variants[index].size});
  });
}

//-- Launches -------------------------------------------------------------------------------------

SECTILE_API sectile_status sectile_launch(const sectile_kernel *kernel, sectile_device device,
                                          void *stream, const sectile_grid *grid,
                                          const sectile_arg *args, size_t count) {
  return guarded([&]() -> sectile_status {
    if (!kernel)
      return isNull("sectile_launch", "kernel");
    OpenArchive open(*kernel->archive);
    if (!open)
      return closed(*kernel->archive);
    jit::BoundLaunch launch;
    if (sectile_status status =
            bind("sectile_launch", *kernel, device, stream, grid, args, count, launch))
      return status;
    return statusOf(launch.run());
  });
}

SECTILE_API sectile_status sectile_bind(const sectile_kernel *kernel, sectile_device device,
                                        void *stream, const sectile_grid *grid,
                                        const sectile_arg *args, size_t count,
                                        sectile_bound **bound) {
  return guarded([&]() -> sectile_status {
    if (!kernel)
      return isNull("sectile_bind", "kernel");
    if (!bound)
      return isNull("sectile_bind", "bound");
    *bound = nullptr;
    OpenArchive open(*kernel->archive);
    if (!open)
      return closed(*kernel->archive);
    auto made = std::make_unique<sectile_bound>();
    made->archive = kernel->archive;
    if (sectile_status status =
            bind("sectile_bind", *kernel, device, stream, grid, args, count, made->launch))
      return status;
    made->launch.prepare();
    if (made->launch.isPrepared())
      made->code = kernel->archive->opened;
    *bound = made.release();
    return SECTILE_OK;
  });
}

/// The handle is there.
[[gnu::noinline]] static sectile_status runBound(const sectile_bound &bound, void *stream) {
  return guarded([&]() -> sectile_status {
    if (!bound.launch.isPrepared()) {
      OpenArchive open(*bound.archive);
      return open ? statusOf(bound.launch.runOn(stream)) : closed(*bound.archive);
    }
    if (bound.archive->isClosed.load(std::memory_order_acquire)) [[unlikely]]
      return closed(*bound.archive);
    return statusOf(bound.launch.runOn(stream));
  });
}

SECTILE_API sectile_status sectile_run(const sectile_bound *bound) {
  return bound ? runBound(*bound, bound->launch.arguments.stream) : isNull("sectile_run", "bound");
}

SECTILE_API sectile_status sectile_run_on(const sectile_bound *bound, void *stream) {
  return bound ? runBound(*bound, stream) : isNull("sectile_run_on", "bound");
}

SECTILE_API void sectile_release(sectile_bound *bound) {
  delete bound;
}
