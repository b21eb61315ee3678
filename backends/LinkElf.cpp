#include "backends/LinkElf.h"

#include "backends/LlvmOptions.h"
#include "backends/RunSafely.h"

#include "lld/Common/CommonLinkerContext.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <stdlib.h>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

namespace sectile::backends {
namespace {

llvm::Error failure(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "link: " + message);
}

/// A folder only this user can enter, in memory where the system has such a place; removed at the
/// end. (LLD creates its output beside the name it is given and renames it, so a memfd will not
/// do.)
class PrivateFolder {
public:
  PrivateFolder() {
    llvm::SmallString<128> systemTemporary;
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, systemTemporary);
    for (llvm::StringRef parent : {llvm::StringRef("/dev/shm"), llvm::StringRef(systemTemporary)}) {
      std::string pattern = (parent + "/sectile-link-XXXXXX").str();
      if (::mkdtemp(pattern.data())) {
        path = pattern;
        return;
      }
    }
  }
  ~PrivateFolder() {
    for (const std::string &file : files)
      ::unlink(file.c_str());
    if (!path.empty())
      ::rmdir(path.c_str());
  }
  PrivateFolder(const PrivateFolder &) = delete;
  PrivateFolder &operator=(const PrivateFolder &) = delete;

  bool exists() const { return !path.empty(); }
  std::string file(llvm::StringRef name) {
    files.push_back(path + "/" + name.str());
    return files.back();
  }

private:
  std::string path;
  llvm::SmallVector<std::string> files;
};

llvm::Error writeFile(const std::string &path, llvm::StringRef bytes) {
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (!error) {
    out << bytes;
    out.close();
    error = out.error();
    out.clear_error();
  }
  return error ? failure("cannot write " + path + ": " + error.message()) : llvm::Error::success();
}

/// LLD's verdict, its messages in `messages`. A crash inside it is survived.
bool runLld(llvm::ArrayRef<const char *> arguments, std::string &messages) {
  std::lock_guard oneAtATime(llvmOptionsMutex());
  llvm::raw_string_ostream out(messages);
  bool ok = false;
  std::string crash = runSafely([&] {
    ok = lld::elf::link(arguments, out, out, /*exitEarly=*/false, /*disableOutput=*/false);
  });
  if (!crash.empty())
    out << "the linker crashed: " << crash;
  lld::CommonLinkerContext::destroy();
  return ok && crash.empty();
}

} // namespace

llvm::Expected<std::string> linkElf(llvm::StringRef object, llvm::ArrayRef<std::string> options,
                                    llvm::StringRef versionScript) {
  PrivateFolder folder;
  if (!folder.exists())
    return failure("no writable temporary folder; set TMPDIR to one");
  std::string input = folder.file("kernel.o"), output = folder.file("kernel.so"),
              exports = folder.file("exports");
  if (llvm::Error error = writeFile(input, object))
    return error;
  std::string script = "--version-script=" + exports;
  llvm::SmallVector<const char *, 24> arguments = {"ld.lld", "--threads=1",
                                                   "--color-diagnostics=never"};
  for (const std::string &option : options)
    arguments.push_back(option.c_str());
  if (!versionScript.empty()) {
    if (llvm::Error error = writeFile(exports, versionScript))
      return error;
    arguments.push_back(script.c_str());
  }
  for (const char *last : {"-o", output.c_str(), input.c_str()})
    arguments.push_back(last);
  std::string messages;
  if (!runLld(arguments, messages))
    return failure(llvm::StringRef(messages).trim());

  auto buffer = llvm::MemoryBuffer::getFile(output, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return failure("cannot read the linker's output: " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

} // namespace sectile::backends
