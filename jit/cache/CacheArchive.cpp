#include "jit/cache/CacheArchive.h"

#include "jit/cache/Digest.h"
#include "jit/cache/FileDescriptor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>

namespace sectile::jit {
namespace {

constexpr char kMagic[8] = {'S', 'E', 'C', 'T', 'I', 'L', 'E', 'A'};
constexpr uint64_t kArchiveVersion = 1;
constexpr size_t kDigestSize = 64;

void appendNumber(std::string &bytes, uint64_t number) {
  bytes.append(reinterpret_cast<const char *>(&number), sizeof number);
}

/// Splits a path into folder and name, for CacheFolder's way of writing files.
std::pair<std::string, std::string> split(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return {".", path};
  return {slash ? path.substr(0, slash) : "/", path.substr(slash + 1)};
}

bool writeDurably(const std::string &path, std::string_view content, std::string &problem) {
  auto fail = [&](const char *what) {
    problem = path + ": " + what + ": " + std::strerror(errno);
    return false;
  };
  auto [folder, name] = split(path);
  std::string aside = folder + "/." + name + "." + std::to_string(randomNumber());
  FileDescriptor file(::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file)
    return fail("cannot be written");
  while (!content.empty()) {
    ssize_t count = ::write(file.get(), content.data(), content.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      break;
    content.remove_prefix(count);
  }
  // An archive is made once and taken far: worth the wait for the disk.
  if (!content.empty() || ::fsync(file.get()) != 0 || !file.close() ||
      ::rename(aside.c_str(), path.c_str()) != 0) {
    fail("cannot be written");
    ::unlink(aside.c_str());
    return false;
  }
  return true;
}

/// A file that nobody else could have written, read from its beginning as far as it makes sense: a
/// file may claim any size.
class TrustedFile {
public:
  explicit TrustedFile(const std::string &path)
      : file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) {
    struct stat status;
    if (!file || ::fstat(file.get(), &status) != 0) {
      problem = path + ": cannot be read: " + std::strerror(errno);
      return;
    }
    size = static_cast<uint64_t>(status.st_size);
    if (!S_ISREG(status.st_mode))
      problem = path + ": is no file";
    else if (status.st_uid != ::geteuid() && status.st_uid != 0)
      problem = path +
                ": belongs to another user, who could have put any code into it; if you trust it, "
                "copy it and import the copy";
    else if (status.st_mode & (S_IWGRP | S_IWOTH))
      problem =
          path +
          ": can be written to by other users, who could put any code into it; if you trust it, "
          "run `chmod go-w` on it";
  }

  /// Why nothing can be read; "" otherwise.
  std::string problem;
  /// As the file system has it.
  uint64_t size = 0;

  uint64_t left() const { return size - content.size(); }
  /// Reads `count` bytes more, in pieces; false when there are fewer.
  bool read(uint64_t count) {
    constexpr uint64_t kPiece = 4 << 20;
    while (count > 0) {
      size_t done = content.size(), wanted = static_cast<size_t>(std::min(count, kPiece));
      content.resize(done + wanted);
      ssize_t got = ::read(file.get(), content.data() + done, wanted);
      content.resize(done + static_cast<size_t>(std::max<ssize_t>(got, 0)));
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        return false;
      count -= static_cast<uint64_t>(got);
    }
    return true;
  }
  bool readNumber(uint64_t &number) {
    if (!read(sizeof number))
      return false;
    std::memcpy(&number, content.data() + content.size() - sizeof number, sizeof number);
    return true;
  }
  /// All that has been read; moves when more is.
  std::string_view text() const { return content; }

private:
  FileDescriptor file;
  std::string content;
};

} // namespace

ArchiveResult exportArchive(const CacheFolder &folder, const std::string &path,
                            const std::function<bool(const CacheEntry &)> &wanted) {
  ArchiveResult result;
  std::string body;
  std::set<ino_t> seen; // a file may have two names
  for (const CacheFolder::Listed &listed : folder.list()) {
    if (!std::string_view(listed.name).ends_with(kEntrySuffix) || listed.name.starts_with('.') ||
        !seen.insert(listed.inode).second)
      continue;
    CacheFolder::File file = folder.read(listed.name);
    CacheEntry entry;
    if (!file.problem.empty() || !readImageFile(file.content, entry).empty()) {
      ++result.skipped;
      continue;
    }
    if (wanted && !wanted(entry))
      continue;
    appendNumber(body, file.content.size());
    body += file.content;
    ++result.entries;
  }
  std::string archive(kMagic, sizeof kMagic);
  appendNumber(archive, kArchiveVersion);
  appendNumber(archive, result.entries);
  archive += body;
  archive += Digest("archive").add(archive).hex();
  result.bytes = archive.size();
  writeDurably(path, archive, result.problem);
  return result;
}

ArchiveResult importArchive(CacheFolder &folder, const std::string &path,
                            const std::string &buildId) {
  ArchiveResult result;
  TrustedFile file(path);
  if (!file.problem.empty()) {
    result.problem = file.problem;
    return result;
  }
  auto refuse = [&](const std::string &what) {
    result = {};
    result.problem = path + ": " + what + "; nothing was imported";
    return result;
  };
  if (!file.read(sizeof kMagic) || std::memcmp(file.text().data(), kMagic, sizeof kMagic) != 0)
    return refuse("is no archive of kernels");
  uint64_t version = 0, count = 0;
  if (file.size < sizeof kMagic + 2 * sizeof(uint64_t) + kDigestSize || !file.readNumber(version) ||
      !file.readNumber(count))
    return refuse("is damaged: it is too short");
  if (version != kArchiveVersion)
    return refuse("is damaged, or of another version of Sectile");
  struct Item {
    size_t begin = 0, size = 0; // in the file
    CacheEntry entry;
  };
  std::vector<Item> items;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t size = 0;
    if (!file.readNumber(size) || size > file.left())
      return refuse("is damaged: entry " + std::to_string(i) + " is cut off");
    Item &item = items.emplace_back();
    item.begin = file.text().size();
    item.size = size;
    // What an entry says of its size agrees with its own header before so much is read.
    uint64_t head = std::min<uint64_t>(size, kImageHeaderBytes);
    if (!file.read(head) || !mayBeImageFile(file.text().substr(item.begin), size))
      return refuse("is damaged: entry " + std::to_string(i) + " is no kernel");
    if (!file.read(size - head))
      return refuse("is damaged: entry " + std::to_string(i) + " is cut off");
    if (std::string problem = readImageFile(file.text().substr(item.begin), item.entry);
        !problem.empty())
      return refuse("is damaged: entry " + std::to_string(i) + ": " + problem);
    item.entry.image = {}; // only the names are needed
  }
  size_t end = file.text().size();
  if (file.left() != kDigestSize || !file.read(kDigestSize) ||
      Digest("archive").add(file.text().substr(0, end)).hex() != file.text().substr(end))
    return refuse("is damaged: its digest is another");
  auto isKey = [](const std::string &key) {
    return key.size() == 64 && key.find_first_not_of("0123456789abcdef") == std::string::npos;
  };
  for (const Item &item : items) {
    const CacheEntry &entry = item.entry;
    bool hasSource = !entry.sourceKey.empty();
    const std::string &key = hasSource ? entry.sourceKey : entry.irKey;
    // A key becomes the name of a file.
    if (!isKey(key) || (!entry.irKey.empty() && !isKey(entry.irKey)))
      return refuse("holds an entry without a key");
  }
  for (const Item &item : items) {
    const CacheEntry &entry = item.entry;
    bool hasSource = !entry.sourceKey.empty();
    std::string suffix(kEntrySuffix);
    std::string alias = hasSource && !entry.irKey.empty() ? entry.irKey + suffix : "";
    if (int error = folder.publish(file.text().substr(item.begin, item.size),
                                   (hasSource ? entry.sourceKey : entry.irKey) + suffix, alias)) {
      result.problem = folder.path() + ": cannot be written to: " + std::strerror(error);
      return result;
    }
    ++result.entries;
    result.bytes += item.size;
    result.ofOtherBuilds += entry.buildId != buildId;
  }
  return result;
}

} // namespace sectile::jit
