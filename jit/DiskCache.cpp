#include "jit/DiskCache.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <set>
#include <string_view>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>
#include <vector>

namespace sectile::jit {
namespace {

constexpr std::string_view kEntrySuffix = ".kernel";
constexpr std::string_view kTemporarySuffix = ".tmp";
constexpr const char *kEvictionStamp = ".eviction";
constexpr time_t kUseGranularitySeconds = 3600;
constexpr time_t kEvictionIntervalSeconds = 300;
/// More than any kernel has; a damaged size must not reserve memory.
constexpr off_t kLargestEntryBytes = off_t{1} << 30;
/// A temporary this old was left by a process that died.
constexpr time_t kTemporaryLifetimeSeconds = 3600;

class Descriptor {
public:
  explicit Descriptor(int number) : number(number) {}
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  explicit operator bool() const { return number >= 0; }
  int get() const { return number; }

private:
  int number;
};

bool isOurs(const struct stat &status) {
  return status.st_uid == ::geteuid() || status.st_uid == 0;
}
bool othersMayWrite(const struct stat &status) {
  return status.st_mode & (S_IWGRP | S_IWOTH);
}

/// mkdir -p; what is made is for this user only.
bool makeDirectories(const std::string &path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string prefix = path.substr(0, end);
    if (::mkdir(prefix.c_str(), 0700) != 0 && errno != EEXIST) {
      struct stat status;
      // An existing parent may answer EROFS or EACCES to mkdir.
      if (::stat(prefix.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
        return false;
    }
    if (end == std::string::npos)
      return true;
  }
}

/// Whole file, or false with errno set.
bool readAll(int descriptor, size_t size, std::string &content) {
  content.resize(size);
  for (size_t done = 0; done < size;) {
    ssize_t count = ::pread(descriptor, content.data() + done, size - done, done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return false;
    if (count == 0) { // shorter than it was: the checks of the content will say so
      content.resize(done);
      return true;
    }
    done += count;
  }
  return true;
}

bool writeAll(int descriptor, std::string_view content) {
  // Beyond the limit write() would send SIGXFSZ, which ends the process.
  struct rlimit limit;
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      content.size() > limit.rlim_cur) {
    errno = EFBIG;
    return false;
  }
  while (!content.empty()) {
    ssize_t count = ::write(descriptor, content.data(), content.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return false;
    content.remove_prefix(count);
  }
  return true;
}

uint64_t randomNumber() {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    struct timespec now;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    number = static_cast<uint64_t>(now.tv_nsec) * 0x9e3779b97f4a7c15;
  }
  return number;
}

bool endsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

} // namespace

std::string defaultCacheDirectory() {
  auto variable = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (std::string chosen = variable("SECTILE_CACHE_DIR"); !chosen.empty())
    return chosen;
  // A relative XDG_CACHE_HOME is to be ignored, says the specification.
  if (std::string base = variable("XDG_CACHE_HOME"); base.starts_with('/'))
    return base + "/sectile";
  if (std::string home = variable("HOME"); home.starts_with('/'))
    return home + "/.cache/sectile";
  return {};
}

DiskCache::DiskCache(std::string directory, uint64_t capBytes)
    : path(std::move(directory)), capBytes(capBytes) {
  open();
}

DiskCache::~DiskCache() {
  if (directoryDescriptor >= 0)
    ::close(directoryDescriptor);
}

void DiskCache::disable(std::string reason) {
  std::lock_guard lock(mutex);
  disabled = std::move(reason);
}

void DiskCache::open() {
  if (path.empty())
    return disable("no cache folder is set: set SECTILE_CACHE_DIR or HOME");
  if (path.front() != '/') {
    // The process may change its working directory later.
    if (char *here = ::getcwd(nullptr, 0)) {
      path = std::string(here) + "/" + path;
      ::free(here);
    }
  }
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  if (!makeDirectories(path))
    return disable("cache folder " + path + " cannot be made: " + std::strerror(errno) +
                   "; set SECTILE_CACHE_DIR to a folder you can write to");
  // Everything below goes through this descriptor: the path cannot be exchanged after the checks.
  int opened = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0)
    return disable("cache folder " + path + " cannot be opened: " + std::strerror(errno) +
                   "; set SECTILE_CACHE_DIR to another folder");
  struct stat status;
  std::string refusal;
  if (::fstat(opened, &status) != 0)
    refusal = std::string("cannot be examined: ") + std::strerror(errno);
  else if (!isOurs(status))
    refusal = "belongs to another user, who could place code there; set SECTILE_CACHE_DIR to a "
              "folder of your own";
  else if (othersMayWrite(status))
    refusal = "can be written to by other users, who could place code there; run `chmod go-w " +
              path + "` or set SECTILE_CACHE_DIR to a folder of your own";
  if (!refusal.empty()) {
    ::close(opened);
    return disable("cache folder " + path + " " + refusal);
  }
  directoryDescriptor = opened;
  canWrite = true;
}

std::string DiskCache::disabledReason() const {
  std::lock_guard lock(mutex);
  return disabled;
}

DiskCache::Counts DiskCache::counts() const {
  std::lock_guard lock(mutex);
  return counters;
}

DiskCache::Found DiskCache::miss(std::string reason) {
  countMiss(reason);
  return {std::nullopt, std::move(reason)};
}

DiskCache::Found DiskCache::load(const std::string &key, const std::string &buildId,
                                 const std::string &hostFingerprint) {
  if (directoryDescriptor < 0)
    return miss("cache is off");
  std::string name = key + std::string(kEntrySuffix);
  Descriptor file(::openat(directoryDescriptor, name.c_str(),
                           O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!file)
    return miss(errno == ENOENT ? "absent" : "unreadable");
  struct stat status;
  if (::fstat(file.get(), &status) != 0)
    return miss("unreadable");
  if (status.st_size > kLargestEntryBytes)
    return miss("too large");
  if (!S_ISREG(status.st_mode) || !isOurs(status) || othersMayWrite(status))
    return miss("not ours");
  std::string content;
  if (!readAll(file.get(), status.st_size, content))
    return miss("unreadable");

  CacheEntry entry;
  std::string rejection = readImageFile(content, entry);
  if (rejection.empty() && entry.sourceKey != key && entry.irKey != key)
    rejection = "stored under another key";
  if (rejection.empty() && entry.buildId != buildId)
    rejection = "of another build";
  if (rejection.empty() && entry.hostFingerprint != hostFingerprint)
    rejection = "for another host";
  if (!rejection.empty()) {
    // Unless another process has replaced it meanwhile.
    struct stat now;
    if (::fstatat(directoryDescriptor, name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 &&
        now.st_ino == status.st_ino && now.st_dev == status.st_dev)
      ::unlinkat(directoryDescriptor, name.c_str(), 0);
    return miss(rejection);
  }
  if (std::time(nullptr) - status.st_mtime > kUseGranularitySeconds)
    ::futimens(file.get(), nullptr);
  return {std::move(entry), {}};
}

void DiskCache::writeFailed(int error, bool isPermanent) {
  std::lock_guard lock(mutex);
  ++counters.writeFailures;
  if (isPermanent && canWrite.exchange(false))
    counters.writesDisabled = "cache folder " + path +
                              " cannot be written to: " + std::strerror(error) +
                              "; compiled kernels are not kept beyond this process";
}

void DiskCache::store(const CacheEntry &entry) {
  if (directoryDescriptor < 0)
    return;
  if (!canWrite)
    return writeFailed(0, false);
  std::string content = writeImageFile(entry);
  const std::string &key = entry.sourceKey.empty() ? entry.irKey : entry.sourceKey;
  std::string name = key + std::string(kEntrySuffix);
  // Unique among processes, machines sharing the folder, threads and forks.
  std::string temporary = "." + key.substr(0, 16) + "." + std::to_string(::getpid()) + "." +
                          std::to_string(temporaryCount++) + "." + std::to_string(randomNumber()) +
                          std::string(kTemporarySuffix);
  int error = 0;
  {
    Descriptor file(::openat(directoryDescriptor, temporary.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file)
      return writeFailed(errno, errno == EROFS || errno == EACCES || errno == EPERM ||
                                    errno == ENOSPC || errno == EDQUOT || errno == ENOENT);
    if (!writeAll(file.get(), content))
      error = errno;
  }
  // close() is where network file systems report a full disk; the checksum finds what slips
  // through.
  if (!error && !entry.sourceKey.empty() && !entry.irKey.empty()) {
    // Saves a compile when other source gives the same IR. Not every file system has hard links.
    std::string second = entry.irKey + std::string(kEntrySuffix);
    (void)::linkat(directoryDescriptor, temporary.c_str(), directoryDescriptor, second.c_str(), 0);
  }
  if (!error &&
      ::renameat(directoryDescriptor, temporary.c_str(), directoryDescriptor, name.c_str()) != 0)
    error = errno;
  if (error) {
    ::unlinkat(directoryDescriptor, temporary.c_str(), 0);
    return writeFailed(error, error == ENOSPC || error == EDQUOT || error == EROFS);
  }
  {
    std::lock_guard lock(mutex);
    ++counters.writes;
  }
  if (evictionIsDue(content.size()))
    evict();
}

void DiskCache::countMiss(const std::string &reason) {
  std::lock_guard lock(mutex);
  ++counters.misses[reason];
}

/// Cheap and rare: a folder is listed after 1/64 of the cap was stored by this process, or by
/// chance, and not if some process listed it within the last minutes.
bool DiskCache::evictionIsDue(uint64_t storedBytes) {
  uint64_t stored = bytesSinceEviction.fetch_add(storedBytes) + storedBytes;
  if (stored < capBytes / 64 && randomNumber() % 64 != 0)
    return false;
  bytesSinceEviction = 0;
  struct stat stamp;
  if (::fstatat(directoryDescriptor, kEvictionStamp, &stamp, AT_SYMLINK_NOFOLLOW) == 0 &&
      std::time(nullptr) - stamp.st_mtime < kEvictionIntervalSeconds && stored < capBytes / 64)
    return false;
  return true;
}

uint64_t DiskCache::evict() {
  if (directoryDescriptor < 0)
    return 0;
  Descriptor stamp(::openat(directoryDescriptor, kEvictionStamp,
                            O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  // One at a time; who comes second has nothing to do.
  if (!stamp || ::flock(stamp.get(), LOCK_EX | LOCK_NB) != 0)
    return 0;
  ::futimens(stamp.get(), nullptr);

  int listed = ::openat(directoryDescriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *stream = listed < 0 ? nullptr : ::fdopendir(listed);
  if (!stream) {
    if (listed >= 0)
      ::close(listed);
    return 0;
  }
  struct File {
    time_t lastUse;
    ino_t inode;
    uint64_t bytes;
    std::string name;
  };
  std::vector<File> files;
  std::set<ino_t> inodes; // hard links count once
  uint64_t total = 0;
  time_t now = std::time(nullptr);
  while (struct dirent *item = ::readdir(stream)) {
    std::string_view name = item->d_name;
    bool isTemporary = name.starts_with('.') && endsWith(name, kTemporarySuffix);
    if (!isTemporary && !endsWith(name, kEntrySuffix))
      continue; // not ours to delete
    struct stat status;
    if (::fstatat(directoryDescriptor, item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    if (isTemporary) {
      if (now - status.st_mtime > kTemporaryLifetimeSeconds)
        ::unlinkat(directoryDescriptor, item->d_name, 0);
      continue;
    }
    uint64_t bytes = static_cast<uint64_t>(status.st_blocks) * 512;
    if (inodes.insert(status.st_ino).second)
      total += bytes;
    files.push_back({status.st_mtime, status.st_ino, bytes, std::string(name)});
  }
  ::closedir(stream);
  if (total <= capBytes)
    return 0;

  // A tenth below the cap, so that the next store does not start over. The names of one file go
  // together.
  uint64_t target = capBytes - capBytes / 10;
  std::sort(files.begin(), files.end(), [](const File &a, const File &b) {
    return std::tie(a.lastUse, a.inode) < std::tie(b.lastUse, b.inode);
  });
  uint64_t deleted = 0;
  ino_t current = 0;
  for (const File &file : files) {
    if (file.inode != current && total <= target)
      break;
    if (file.inode != current)
      total -= std::min(total, file.bytes);
    current = file.inode;
    if (::unlinkat(directoryDescriptor, file.name.c_str(), 0) == 0)
      ++deleted;
  }
  std::lock_guard lock(mutex);
  counters.evictedFiles += deleted;
  return deleted;
}

} // namespace sectile::jit
