//===-- FileDescriptor.h - closes itself ------------------------------------------------------===//
//   FileDescriptor file(::open(path, O_RDONLY | O_CLOEXEC));
//   if (!file) ... errno ...
#pragma once

#include <unistd.h>
#include <utility>

namespace sectile::jit {

class FileDescriptor {
public:
  explicit FileDescriptor(int number) : number(number) {}
  ~FileDescriptor() {
    if (number >= 0)
      ::close(number);
  }
  FileDescriptor(const FileDescriptor &) = delete;
  FileDescriptor &operator=(const FileDescriptor &) = delete;
  explicit operator bool() const { return number >= 0; }
  int get() const { return number; }
  int release() { return std::exchange(number, -1); }
  /// False with errno set when what was written could not be kept.
  bool close() { return ::close(release()) == 0; }

private:
  int number;
};

} // namespace sectile::jit
