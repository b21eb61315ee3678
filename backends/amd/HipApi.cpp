#include "backends/amd/HipApi.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace sectile::amd {

bool HipApi::fill(void *library, std::string &reason) {
  auto find = [&](auto &field, const char *name) {
    field = reinterpret_cast<std::remove_reference_t<decltype(field)>>(::dlsym(library, name));
    return field != nullptr;
  };
  auto isMissing = [&](const char *name) {
    reason = std::string("the HIP runtime is too old: it has no ") + name +
             "; ROCm 5.2 or newer is needed";
    return false;
  };
#define SECTILE_HIP_FIND(field, name, parameters)                                                  \
  if (!find(field, name))                                                                          \
    return isMissing(name);
  SECTILE_HIP_FUNCTIONS(SECTILE_HIP_FIND)
#undef SECTILE_HIP_FIND
  if (!find(getErrorName, "hipGetErrorName") || !find(getErrorString, "hipGetErrorString"))
    return isMissing("hipGetErrorName");
  if (!find(getDeviceProperties, "hipGetDevicePropertiesR0600") &&
      !find(getDeviceProperties, "hipGetDeviceProperties"))
    return isMissing("hipGetDeviceProperties");
  (void)find(moduleLaunchCooperativeKernel, "hipModuleLaunchCooperativeKernel");
  return true;
}

namespace {

constexpr std::string_view kLibrary = "libamdhip64.so";

/// The path of the HIP runtime that the process has loaded; empty when it has none.
std::string loadedLibrary() {
  std::string found;
  ::dl_iterate_phdr(
      [](dl_phdr_info *object, size_t, void *result) {
        std::string_view path = object->dlpi_name ? object->dlpi_name : "";
        if (path.substr(path.rfind('/') + 1).substr(0, kLibrary.size()) != kLibrary)
          return 0;
        *static_cast<std::string *>(result) = path;
        return 1;
      },
      &found);
  return found;
}

std::vector<std::string> placesToLook() {
  std::vector<std::string> places;
  if (std::string present = loadedLibrary(); !present.empty())
    places.push_back(present);
  for (const char *version : {".7", ".6", ".5"})
    places.push_back(std::string(kLibrary) + version);
  const char *rocm = std::getenv("ROCM_PATH");
  places.push_back(std::string(rocm && *rocm ? rocm : "/opt/rocm") + "/lib/" +
                   std::string(kLibrary));
  return places;
}

struct LoadedApi {
  HipApi api;
  std::string reason;
  bool isGood = false;

  explicit LoadedApi(const std::string &path) {
    std::string first;
    for (const std::string &place : path.empty() ? placesToLook() : std::vector{path}) {
      if (void *library = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        api.path = place;
        isGood = api.fill(library, reason);
        return;
      }
      const char *why = ::dlerror();
      if (first.empty())
        first = why ? why : place;
    }
    reason = "AMD's HIP runtime was not found: " + first;
  }
};

} // namespace

const HipApi *HipApi::load(const std::string &path, std::string &reason) {
  static std::mutex guard;
  static auto *loaded = new std::map<std::string, std::unique_ptr<const LoadedApi>>;
  std::lock_guard lock(guard);
  std::unique_ptr<const LoadedApi> &entry = (*loaded)[path];
  if (!entry)
    entry = std::make_unique<const LoadedApi>(path);
  reason = entry->reason;
  return entry->isGood ? &entry->api : nullptr;
}

std::string HipApi::describe(HipResult result) const {
  const char *name = getErrorName(result), *text = getErrorString(result);
  if (!name)
    return "HIP error " + std::to_string(result);
  return std::string(name) + (text ? std::string(" (") + text + ")" : "");
}

std::string remedyFor(HipResult result) {
  switch (result) {
  case kHipOutOfMemory:
    return "free memory of the device: other processes, or cached blocks "
           "(torch.cuda.empty_cache())";
  case kHipNotInitialized:
    return "HIP does not survive fork(): start the process with 'spawn', or use the GPU only in "
           "the child";
  case kHipDeinitialized:
    return "the process is ending; launch before that";
  case kHipNoDevice:
  case kHipInvalidDevice:
    return "see rocminfo, HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES, and whether this user may "
           "open /dev/kfd and /dev/dri (groups render and video)";
  case kHipInvalidImage:
  case kHipNoBinaryForGpu:
  case kHipSharedObjectInitFailed:
    return "compile for this device: leave arch= out";
  case kHipIllegalAddress:
    return "run with SECTILE_CHECK=bounds (in a new process) to find the access; the device cannot "
           "be used by this process any more";
  case kHipLaunchFailure:
  case kHipAssert:
    return "run with SECTILE_CHECK=bounds in a new process";
  case kHipCooperativeTooLarge:
    return "launch_cooperative_grid runs all programs at once: launch fewer, or make them smaller";
  case kHipLaunchTimeout:
    return "the kernel ran longer than the driver allows; make the launch smaller";
  case kHipNotSupported:
    return "a newer ROCm may offer it";
  default:
    return "";
  }
}

bool isSticky(HipResult result) {
  return (result >= kHipIllegalAddress && result <= kHipLaunchFailure &&
          result != kHipLaunchOutOfResources);
}

std::string archIn(const char *properties, size_t bytes) {
  const std::string_view text(properties, bytes);
  size_t place = text.find("gfx");
  if (place == std::string_view::npos)
    return {};
  std::string_view name = text.substr(place);
  return std::string(name.substr(0, name.find_first_of(std::string_view("\0:", 2))));
}

} // namespace sectile::amd
