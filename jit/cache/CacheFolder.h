//===-- CacheFolder.h - a folder of cache files: opened once, checked, read and written safely --===//
// What DiskCache, its layers, claims and archives do to files, and nothing of what is in them.
//
//   CacheFolder folder("/home/me/.cache/sectile", CacheFolder::Use::Own);
//   if (!folder) ... folder.refusal() ...
//   folder.publish(content, {"0123.kernel"});              // complete or absent
//   CacheFolder::File file = folder.read("0123.kernel");   // file.problem when it may not be used
//
// Files are executable code: folder and file must belong to this user or to root, and nobody else
// may write to them. The path is looked up once; everything goes through that descriptor, so that
// what was checked is what is used. Symbolic links inside are not followed.
//
// Safe on network file systems: a file is made under a name of its own and renamed, or linked, onto
// its final one, which servers do atomically; no lock is asked of the file system. Nothing is
// flushed to disk (fsync): after a power failure a file may be short, and its checksum says so.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace sectile::jit {

class CacheFolder {
public:
  /// Own: made when it is absent; read and written. Layer: filled by somebody else, only read.
  enum class Use : uint8_t { Own, Layer };
  /// Makes new files readable for this user only, or for all (a layer in the making).
  enum class Access : uint8_t { Private, Shared };

  CacheFolder(std::string path, Use use, Access access = Access::Private);
  ~CacheFolder();
  CacheFolder(const CacheFolder &) = delete;
  CacheFolder &operator=(const CacheFolder &) = delete;

  explicit operator bool() const { return number >= 0; }
  const std::string &path() const { return folderPath; }
  /// Why it is not used, with the remedy; "" when it is.
  const std::string &refusal() const { return reason; }
  int descriptor() const { return number; }

  struct File {
    std::string content;
    /// "absent", "unreadable", "not ours", "too large"; "" when `content` is the file's.
    std::string problem;
    dev_t device = 0;
    ino_t inode = 0;
    time_t modified = 0;
  };
  File read(const std::string &name) const;
  /// Makes `name` hold `content`, whatever it held before; `alias` becomes a second name where
  /// there is none yet. Returns 0 or an errno.
  int publish(std::string_view content, const std::string &name, const std::string &alias = {});
  /// Makes `name` hold `content` if there is no such file: EEXIST when there is. Others see it
  /// whole or not at all.
  int create(std::string_view content, const std::string &name);
  /// Puts `from` in the place of `to`. Returns 0 or an errno.
  int replace(const std::string &from, const std::string &to);
  /// True when it was there and is gone.
  bool remove(const std::string &name);
  /// The same, unless another process has put another file there since `file` was read.
  bool remove(const std::string &name, const File &file);
  /// Renews the time of last use.
  void touch(const std::string &name);

  struct Listed {
    std::string name;
    time_t modified;
    ino_t inode;
    /// On disk.
    uint64_t bytes;
  };
  std::vector<Listed> list() const;
  /// The clock of the machine that has the files; -1 when it cannot be asked. Renews kPruneStamp.
  time_t now();
  /// A network file system may answer from memory for seconds; this makes it look.
  void refresh() const;

private:
  void open(Use use);
  std::string temporaryName(std::string_view name);
  /// A complete file under a temporary name; "" with `error` set.
  std::string writeAside(std::string_view content, std::string_view name, int &error,
                         int *descriptor = nullptr);

  std::string folderPath, reason;
  Access access;
  int number = -1;
};

/// Suffixes of files that are being written, of CacheClaim's files, and of entries.
inline constexpr std::string_view kTemporarySuffix = ".tmp";
inline constexpr std::string_view kClaimSuffix = ".claim";
inline constexpr std::string_view kEntrySuffix = ".kernel";

/// An empty file; its time of modification is when files were last pruned.
inline constexpr const char *kPruneStamp = ".pruned";

uint64_t randomNumber();

} // namespace sectile::jit
