//===-- SharedObject.h - host code from memory ------------------------------------------------===//
// The bytes of an ELF shared object, loaded by the system's own loader: from a memory file, of
// which no file is left behind, and which debuggers can read as long as it is loaded; or from a
// file in a folder, which profilers can read later, too.
#pragma once

#include <memory>
#include <string>

namespace sectile::cpu {

class SharedObject {
public:
  /// Null with `error` set. `name` is what /proc/PID/maps shows. With a `folder`, which is made
  /// where there is none, the code is put into a file there; where it cannot be, it is loaded from
  /// memory, and a line on stderr says why, once.
  static std::unique_ptr<SharedObject> load(const std::string &binary, const std::string &name,
                                            const std::string &folder, std::string &error);
  ~SharedObject();
  SharedObject(const SharedObject &) = delete;
  SharedObject &operator=(const SharedObject &) = delete;
  /// Null when there is none.
  void *symbol(const char *name) const;

private:
  SharedObject(void *handle, int descriptor) : handle(handle), descriptor(descriptor) {}
  void *handle;
  /// Open as long as the code is loaded, so that gdb can read the object; -1 when it was closed.
  int descriptor;
};

} // namespace sectile::cpu
