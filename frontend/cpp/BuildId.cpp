//===-- BuildId.cpp -----------------------------------------------------------------------===//
#include "frontend/cpp/BuildId.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <link.h>

namespace sectile::cpp {
namespace {

struct Search {
  uintptr_t address;
  uintptr_t base = 0; // where the object is loaded
  std::string buildId;
};

/// The descriptor of the first note "GNU" of kind NT_GNU_BUILD_ID.
std::string readNotes(const char *notes, size_t size) {
  constexpr size_t kAlignment = 4;
  auto padded = [](size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; };
  for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes + at, sizeof header);
    size_t name = at + sizeof header, data = name + padded(header.n_namesz);
    size_t next = data + padded(header.n_descsz);
    if (next > size)
      return "";
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
        std::memcmp(notes + name, "GNU", 4) == 0) {
      std::string text;
      for (size_t byte = 0; byte < header.n_descsz; ++byte) {
        unsigned value = static_cast<unsigned char>(notes[data + byte]);
        text += "0123456789abcdef"[value / 16];
        text += "0123456789abcdef"[value % 16];
      }
      return text;
    }
    at = next;
  }
  return "";
}

int visit(dl_phdr_info *object, size_t, void *data) {
  auto &search = *static_cast<Search *>(data);
  bool contains = false;
  for (int index = 0; index < object->dlpi_phnum; ++index) {
    const ElfW(Phdr) &header = object->dlpi_phdr[index];
    uintptr_t begin = object->dlpi_addr + header.p_vaddr;
    contains |= header.p_type == PT_LOAD && search.address >= begin &&
                search.address < begin + header.p_memsz;
  }
  if (!contains)
    return 0;
  search.base = object->dlpi_addr;
  for (int index = 0; index < object->dlpi_phnum && search.buildId.empty(); ++index) {
    const ElfW(Phdr) &header = object->dlpi_phdr[index];
    if (header.p_type == PT_NOTE)
      search.buildId = readNotes(reinterpret_cast<const char *>(object->dlpi_addr + header.p_vaddr),
                                 header.p_memsz);
  }
  return 1;
}

} // namespace

std::string placeInBuild(const void *address) {
  Search search{reinterpret_cast<uintptr_t>(address), 0, ""};
  dl_iterate_phdr(visit, &search);
  if (search.buildId.empty())
    return "";
  char offset[2 + 16 + 1];
  std::snprintf(offset, sizeof offset, "0x%" PRIxPTR, search.address - search.base);
  return search.buildId + "+" + offset;
}

} // namespace sectile::cpp
