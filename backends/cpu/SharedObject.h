//===-- SharedObject.h - host code from memory ------------------------------------------------===//
// The bytes of an ELF shared object, loaded by the system's own loader from a memory file:
// debuggers and profilers see a library with symbols, and no file is left behind.
#pragma once

#include <memory>
#include <string>

namespace sectile::cpu {

class SharedObject {
public:
  /// Null with `error` set. `name` is what /proc/PID/maps shows.
  static std::unique_ptr<SharedObject> load(const std::string &binary, const std::string &name,
                                            std::string &error);
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
