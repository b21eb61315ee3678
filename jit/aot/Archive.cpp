#include "jit/aot/Archive.h"

#include "backends/plain/ForkSafeMutex.h"
#include "jit/cache/FileDescriptor.h"
#include "jit/runtime/Runtime.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unordered_map>

namespace sectile::jit {

/// A file in memory, until it is destroyed. Empty for bytes that belong to somebody else.
struct Archive::Mapping {
  void *address = nullptr;
  size_t size = 0;
  ~Mapping() {
    if (address)
      ::munmap(address, size);
  }
};

struct Archive::Loaded {
  mutable ForkSafeMutex mutex;
  std::unordered_map<uint64_t, std::shared_ptr<const Kernel>> byOffset; // guarded by `mutex`
};

Archive::Archive() = default;
Archive::~Archive() = default;

VariantToArchive variantOf(const Kernel &kernel, lang::KernelSignature signature, CodeForm form) {
  VariantToArchive variant;
  variant.kernelName = signature.kernelName;
  variant.signature = std::move(signature);
  variant.image = kernel.image();
  const backends::CompileOptions &options = variant.image.options;
  if (options.backend == "cpu" && options.arch.empty())
    variant.hostFingerprint = Runtime::instance().driver("cpu")->hostFingerprint();
  if (form == CodeForm::Text)
    if (auto text = variant.image.stages.find("ptx"); text != variant.image.stages.end()) {
      variant.image.binary = text->second;
      variant.image.gpu.registers = variant.image.gpu.localBytes = -1;
    }
  return variant;
}

static std::shared_ptr<const Archive> fail(Status &status, const std::string &name,
                                           const std::string &problem) {
  status = Status::fail(Error::Kind::Machine, "archive " + name + ": " + problem);
  return nullptr;
}

std::shared_ptr<const Archive> Archive::open(const std::string &path, Status &status) {
  auto failed = [&](const char *what) {
    return fail(status, path, std::string(what) + ": " + std::strerror(errno));
  };
  if (path.find('\0') != std::string::npos) {
    errno = EINVAL;
    return failed("no path has a character of value 0");
  }
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat facts;
  if (!file || ::fstat(file.get(), &facts) != 0)
    return failed("it cannot be opened");
  if (!S_ISREG(facts.st_mode))
    return fail(status, path, "it is no file");
  auto mapping = std::make_unique<Mapping>();
  std::string_view bytes;
  if (facts.st_size > 0) {
    mapping->size = static_cast<size_t>(facts.st_size);
    void *address = ::mmap(nullptr, mapping->size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (address == MAP_FAILED)
      return failed("it cannot be mapped");
    mapping->address = address;
    bytes = {static_cast<const char *>(address), mapping->size};
  }
  return make(std::move(mapping), bytes, path, status);
}

std::shared_ptr<const Archive> Archive::ofMemory(std::string_view bytes, std::string name,
                                                 Status &status) {
  return make(nullptr, bytes, std::move(name), status);
}

std::shared_ptr<const Archive> Archive::make(std::unique_ptr<Mapping> mapping,
                                             std::string_view bytes, std::string name,
                                             Status &status) {
  std::shared_ptr<Archive> archive(new Archive);
  archive->ownName = std::move(name);
  archive->mapping = std::move(mapping);
  archive->bytes = bytes;
  archive->loaded = std::make_unique<Loaded>();
  if (std::string problem = readArchiveIndex(bytes, archive->index); !problem.empty())
    return fail(status, archive->ownName, problem);
  for (const ArchivedKernelEntry &kernel : archive->index.kernels)
    archive->opened.emplace_back(new ArchivedKernel(*archive, kernel));
  return archive;
}

const ArchivedKernel *Archive::find(std::string_view name) const {
  for (const std::unique_ptr<ArchivedKernel> &kernel : opened)
    if (kernel->entry().name == name)
      return kernel.get();
  return nullptr;
}

const ArchivedVariant *Archive::variantOf(const Kernel &kernel) const {
  std::lock_guard lock(loaded->mutex);
  auto found = std::find_if(loaded->byOffset.begin(), loaded->byOffset.end(),
                            [&](const auto &entry) { return entry.second.get() == &kernel; });
  if (found == loaded->byOffset.end())
    return nullptr;
  for (const ArchivedKernelEntry &entry : index.kernels)
    for (const ArchivedVariant &variant : entry.variants)
      if (variant.offset == found->first)
        return &variant;
  return nullptr;
}

std::shared_ptr<const Kernel> Archive::load(const ArchivedVariant &variant, Status &status) const {
  {
    std::lock_guard lock(loaded->mutex);
    if (auto found = loaded->byOffset.find(variant.offset); found != loaded->byOffset.end())
      return found->second;
  }
  backends::KernelImage image;
  if (std::string problem = readArchivedImage(bytes, variant, image); !problem.empty()) {
    fail(status, ownName,
         "the code of " + variant.signature.kernelName + " for " + variant.targetName +
             " is damaged: " + problem);
    return nullptr;
  }
  KernelResult result = Runtime::instance().load(std::move(image));
  if (!result.kernel) {
    status = std::move(result.status);
    return nullptr;
  }
  // Threads that load the same one at once all use the first, and the others' are dropped outside
  // of the lock.
  std::lock_guard lock(loaded->mutex);
  return loaded->byOffset.try_emplace(variant.offset, result.kernel).first->second;
}

} // namespace sectile::jit
