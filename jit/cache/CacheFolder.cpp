#include "jit/cache/CacheFolder.h"

#include "jit/cache/FileDescriptor.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sectile::jit {
namespace {

/// More than any kernel has; a damaged size must not reserve memory.
constexpr off_t kLargestFileBytes = off_t{1} << 30;
bool isOurs(const struct stat &status) {
  return status.st_uid == ::geteuid() || status.st_uid == 0;
}
/// With an access control list, the group's bits are the most that anybody named in it may do.
bool othersMayWrite(const struct stat &status) {
  return status.st_mode & (S_IWGRP | S_IWOTH);
}

/// mkdir -p; what is made is for this user only, unless it is to be shared.
bool makeDirectories(const std::string &path, CacheFolder::Access access) {
  mode_t mode = access == CacheFolder::Access::Shared ? 0755 : 0700;
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string prefix = path.substr(0, end);
    if (::mkdir(prefix.c_str(), mode) != 0 && errno != EEXIST) {
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

} // namespace

uint64_t randomNumber() {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    struct timespec now;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    number = static_cast<uint64_t>(now.tv_nsec) * 0x9e3779b97f4a7c15;
  }
  return number;
}

CacheFolder::CacheFolder(std::string path, Use use, Access access)
    : folderPath(std::move(path)), access(access) {
  open(use);
}

CacheFolder::~CacheFolder() {
  if (number >= 0)
    ::close(number);
}

void CacheFolder::open(Use use) {
  bool isOwn = use == Use::Own;
  std::string what = isOwn ? "cache folder " : "cache layer ";
  std::string remedy = isOwn ? "; set SECTILE_CACHE_DIR to a folder of your own"
                             : "; a layer belongs to root, or to you: chown -R it, or leave it out "
                               "of SECTILE_CACHE_LAYERS";
  if (folderPath.empty()) {
    reason = "no cache folder is set: set SECTILE_CACHE_DIR or HOME";
    return;
  }
  if (folderPath.front() != '/') {
    // The process may change its working directory later.
    if (char *here = ::getcwd(nullptr, 0)) {
      folderPath = std::string(here) + "/" + folderPath;
      ::free(here);
    }
  }
  while (folderPath.size() > 1 && folderPath.back() == '/')
    folderPath.pop_back();
  what += folderPath;
  if (isOwn && !makeDirectories(folderPath, access)) {
    reason = what + " cannot be made: " + std::strerror(errno) +
             "; set SECTILE_CACHE_DIR to a folder you can write to";
    return;
  }
  // Everything below goes through this descriptor: the path cannot be exchanged after the checks.
  FileDescriptor opened(::open(folderPath.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status;
  if (!opened)
    reason = what + " cannot be opened: " + std::strerror(errno) + remedy;
  else if (::fstat(opened.get(), &status) != 0)
    reason = what + " cannot be examined: " + std::strerror(errno) + remedy;
  else if (!isOurs(status))
    reason = what + " belongs to another user, who could place code there" + remedy;
  else if (othersMayWrite(status))
    reason = what +
             " can be written to by other users, who could place code there; run `chmod go-w " +
             folderPath + "`" + (isOwn ? " or" + remedy.substr(1) : "");
  else
    number = opened.release();
}

CacheFolder::File CacheFolder::read(const std::string &name) const {
  File file;
  // What another machine replaced meanwhile answers ESTALE once.
  for (int attempt = 0;; ++attempt) {
    FileDescriptor opened(
        ::openat(number, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
    struct stat status;
    file.problem = {};
    if (!opened) {
      file.problem = errno == ENOENT ? "absent" : "unreadable";
    } else if (::fstat(opened.get(), &status) != 0) {
      file.problem = "unreadable";
    } else if (status.st_size > kLargestFileBytes) {
      file.problem = "too large";
    } else if (!S_ISREG(status.st_mode) || !isOurs(status) || othersMayWrite(status)) {
      file.problem = "not ours";
    } else if (!readAll(opened.get(), status.st_size, file.content)) {
      file.problem = "unreadable";
    } else {
      file.device = status.st_dev;
      file.inode = status.st_ino;
      file.modified = status.st_mtime;
    }
    if (file.problem != "unreadable" || errno != ESTALE || attempt == 2)
      return file;
  }
}

std::string CacheFolder::temporaryName(std::string_view name) {
  // Unique among processes, machines sharing the folder, threads and forks.
  static std::atomic<uint64_t> count{0};
  return "." + std::string(name.substr(0, 16)) + "." + std::to_string(::getpid()) + "." +
         std::to_string(count++) + "." + std::to_string(randomNumber()) +
         std::string(kTemporarySuffix);
}

std::string CacheFolder::writeAside(std::string_view content, std::string_view name, int &error,
                                    int *descriptor) {
  std::string temporary = temporaryName(name);
  mode_t mode = access == Access::Shared ? 0644 : 0600;
  FileDescriptor file(::openat(number, temporary.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  error = 0;
  if (!file) {
    error = errno;
    return {};
  }
  if (access == Access::Shared)
    ::fchmod(file.get(), mode); // whatever the umask says
  if (!writeAll(file.get(), content))
    error = errno;
  if (descriptor)
    *descriptor = file.release();
  // close() is where network file systems report a full disk.
  else if (!file.close() && !error)
    error = errno;
  if (!error)
    return temporary;
  ::unlinkat(number, temporary.c_str(), 0);
  return {};
}

int CacheFolder::publish(std::string_view content, const std::string &name,
                         const std::string &alias) {
  int error = 0;
  std::string temporary = writeAside(content, name, error);
  if (error)
    return error;
  // Not every file system has hard links: the second name is left out there.
  if (!alias.empty())
    (void)::linkat(number, temporary.c_str(), number, alias.c_str(), 0);
  if ((error = replace(temporary, name)))
    ::unlinkat(number, temporary.c_str(), 0);
  return error;
}

int CacheFolder::replace(const std::string &from, const std::string &to) {
  return ::renameat(number, from.c_str(), number, to.c_str()) == 0 ? 0 : errno;
}

int CacheFolder::create(std::string_view content, const std::string &name) {
  int error = 0, opened = -1;
  std::string temporary = writeAside(content, name, error, &opened);
  FileDescriptor file(opened);
  if (error)
    return error;
  if (::linkat(number, temporary.c_str(), number, name.c_str(), 0) != 0) {
    error = errno;
    // The server did it, and its answer was lost: then the question was asked again.
    struct stat status;
    if (error == EEXIST && ::fstat(file.get(), &status) == 0 && status.st_nlink == 2)
      error = 0;
  }
  ::unlinkat(number, temporary.c_str(), 0);
  if (error != EPERM && error != EOPNOTSUPP && error != ENOSYS && error != EMLINK)
    return error;
  // No hard links here: others may see the file before its content.
  FileDescriptor direct(
      ::openat(number, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!direct)
    return errno;
  if (writeAll(direct.get(), content))
    return 0;
  error = errno;
  ::unlinkat(number, name.c_str(), 0);
  return error;
}

bool CacheFolder::remove(const std::string &name) {
  return ::unlinkat(number, name.c_str(), 0) == 0;
}

bool CacheFolder::remove(const std::string &name, const File &file) {
  struct stat now;
  return ::fstatat(number, name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 &&
         now.st_ino == file.inode && now.st_dev == file.device && remove(name);
}

void CacheFolder::touch(const std::string &name) {
  ::utimensat(number, name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

std::vector<CacheFolder::Listed> CacheFolder::list() const {
  std::vector<Listed> files;
  int listed = ::openat(number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *stream = listed < 0 ? nullptr : ::fdopendir(listed);
  if (!stream) {
    if (listed >= 0)
      ::close(listed);
    return files;
  }
  while (struct dirent *item = ::readdir(stream)) {
    struct stat status;
    if (::fstatat(number, item->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(status.st_mode))
      files.push_back({item->d_name, status.st_mtime, status.st_ino,
                       static_cast<uint64_t>(status.st_blocks) * 512});
  }
  ::closedir(stream);
  return files;
}

time_t CacheFolder::now() {
  FileDescriptor file(
      ::openat(number, kPruneStamp, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat status;
  if (!file || ::futimens(file.get(), nullptr) != 0 || ::fstat(file.get(), &status) != 0)
    return -1;
  return status.st_mtime;
}

void CacheFolder::refresh() const {
  FileDescriptor again(::openat(number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

} // namespace sectile::jit
