//===-- archive.h - kernels of a C++ program as an archive ------------------------------------===//
//   ArchiveWriter archive;
//   for (const char *name : {"cpu:x86-64-v3", "cuda:90"})
//     scale.on(Target(name)).exportTo(archive, divisibleBy16, oneOf(anyValue, divisibleBy16), Const{1024});
//   archive.write("nn.sectile");
//
// Programs in C, C++ and Python open such a file without a compiler: sectile/c.h, sectile/aot.h,
// sectile.aot.load(). What a kernel's lambda captures is compiled in.
//
// Internal to kernel.h, which includes it.
#pragma once

#include "jit/aot/ArchiveWriter.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sectile/error.h>
#include <string>
#include <unistd.h>

namespace sectile {

template <class F, class Parameters>
class Kernel;

/// Collects compiled variants. Thread-safe.
class ArchiveWriter {
public:
  /// The archive: equal content gives equal bytes. Throws Error when what was added is none.
  std::string bytes() const {
    std::string problem, result = writer.bytes(problem);
    if (result.empty())
      throw Error(Error::Kind::Call, "archive: " + problem);
    return result;
  }

  /// Writes it to a file, which is complete or as it was before. Throws Error.
  void write(const std::string &path) const {
    const std::string content = bytes();
    const std::string aside = path + "." + detail::decimal(::getpid()) + ".tmp";
    std::FILE *file = std::fopen(aside.c_str(), "wb");
    bool isWritten = file && std::fwrite(content.data(), 1, content.size(), file) == content.size();
    if (file)
      isWritten = std::fclose(file) == 0 && isWritten;
    if (isWritten && std::rename(aside.c_str(), path.c_str()) == 0)
      return;
    const int why = errno;
    std::remove(aside.c_str());
    throw Error(Error::Kind::Machine,
                "archive: " + path + " cannot be written: " + std::strerror(why));
  }

private:
  template <class F, class Parameters>
  friend class Kernel;
  jit::ArchiveWriter writer;
};

} // namespace sectile
