#include "backends/cpu/SharedObject.h"

#include "backends/plain/ForkSafeMutex.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace sectile::cpu {
namespace {

bool writeAll(int descriptor, std::string_view content) {
  while (!content.empty()) {
    ssize_t count = ::write(descriptor, content.data(), content.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    content.remove_prefix(count);
  }
  return true;
}

/// The loader takes a path it has seen for the object it has loaded, even when the descriptor
/// behind it is another by now. So no two paths are equal: "/./" and "//" spell a serial number.
std::string uniquePath(int descriptor) {
  static std::atomic<uint64_t> serial{0};
  std::string path = "/proc/" + std::to_string(::getpid()) + "/fd";
  for (uint64_t rest = serial.fetch_add(1, std::memory_order_relaxed); rest != 0; rest >>= 1)
    path += rest & 1 ? "/." : "/";
  return path + "/" + std::to_string(descriptor);
}

/// One descriptor per kernel would use up a process's share; a debugger can do without the later
/// ones.
bool canKeepOpen(int descriptor) {
  struct rlimit limit;
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
         static_cast<rlim_t>(descriptor) < limit.rlim_cur / 4;
}

bool hasContent(const std::string &path, const std::string &content) {
  std::ifstream file(path, std::ios::binary);
  return file && std::string(std::istreambuf_iterator<char>(file), {}) == content;
}

/// A file with that content in `folder`, named after the kernel and the content; "" with `error`
/// set. Processes may write the same one at the same time.
std::string fileOf(const std::string &binary, const std::string &name, const std::string &folder,
                   std::string &error) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  std::string stem =
      folder + "/" + name.substr(0, 200) + "-" + std::to_string(std::hash<std::string>()(binary));
  for (unsigned serial = 0;; ++serial) { // others of one hash, which there hardly are
    std::string path = stem + (serial ? "-" + std::to_string(serial) : "") + ".so";
    if (hasContent(path, binary))
      return path;
    std::string written = stem + ".XXXXXX";
    int descriptor = ::mkostemp(written.data(), O_CLOEXEC);
    bool isWritten = descriptor >= 0 && writeAll(descriptor, binary);
    int code = errno;
    if (descriptor >= 0)
      ::close(descriptor);
    // Unlike a rename, a link replaces nothing.
    bool isLinked = isWritten && ::link(written.c_str(), path.c_str()) == 0;
    if (isWritten && !isLinked)
      code = errno;
    if (descriptor >= 0)
      ::unlink(written.c_str());
    if (isLinked)
      return path;
    if (!isWritten || code != EEXIST) {
      error = std::strerror(code);
      return "";
    }
    if (hasContent(path, binary))
      return path;
  }
}

} // namespace

std::unique_ptr<SharedObject> SharedObject::load(const std::string &binary, const std::string &name,
                                                 const std::string &folder, std::string &error) {
  ForkShield shield;
  if (!folder.empty()) {
    std::string path;
    if (folder.find('$') != std::string::npos)
      error = "the dynamic loader takes what follows a '$' for a variable: choose another folder";
    else
      path = fileOf(binary, name, folder, error);
    if (void *loaded = path.empty() ? nullptr : ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return std::unique_ptr<SharedObject>(new SharedObject(loaded, -1));
    if (!path.empty())
      if (const char *why = ::dlerror())
        error = why;
    static std::atomic<bool> isReported{false};
    if (!isReported.exchange(true))
      std::fprintf(stderr,
                   "sectile: SECTILE_CODE_DIR: code cannot be loaded from %s (%s); it stays in "
                   "memory\n",
                   folder.c_str(), error.c_str());
  }
  int descriptor = ::memfd_create(("sectile-" + name).substr(0, 240).c_str(), MFD_CLOEXEC);
  void *handle = nullptr;
  if (descriptor >= 0 && writeAll(descriptor, binary))
    handle = ::dlopen(uniquePath(descriptor).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle) {
    if (!canKeepOpen(descriptor)) {
      ::close(descriptor);
      descriptor = -1;
    }
    return std::unique_ptr<SharedObject>(new SharedObject(handle, descriptor));
  }
  const char *why = descriptor < 0 ? std::strerror(errno) : ::dlerror();
  error = why ? why : std::strerror(errno);
  if (descriptor >= 0)
    ::close(descriptor);

  // Some systems forbid code from memory files, or have no /proc: a file, gone as soon as it is
  // loaded.
  const char *temporary = std::getenv("TMPDIR");
  std::string path = std::string(temporary && *temporary ? temporary : "/tmp") + "/sectile-XXXXXX";
  descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0)
    return nullptr;
  if (writeAll(descriptor, binary))
    handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ::unlink(path.c_str());
  ::close(descriptor);
  if (!handle)
    return nullptr;
  return std::unique_ptr<SharedObject>(new SharedObject(handle, -1));
}

SharedObject::~SharedObject() {
  ForkShield shield;
  ::dlclose(handle);
  if (descriptor >= 0)
    ::close(descriptor);
}

void *SharedObject::symbol(const char *name) const {
  return ::dlsym(handle, name);
}

} // namespace sectile::cpu
