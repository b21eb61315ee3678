//===-- FileArray.h - an array of a kernel that lies in a file --------------------------------===//
// The processes that run kernels for Python tests get their arrays by name: "x.bin:4" is a file
// whose bytes have to lie four bytes behind a multiple of 256, and are written back.
#pragma once

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

namespace sectile::testing {

struct FileArray {
  std::string path;
  std::unique_ptr<char[], void (*)(void *)> memory{nullptr, std::free};
  char *begin = nullptr;
  size_t bytes = 0;

  FileArray(std::string name, size_t lead) : path(std::move(name)) {
    std::ifstream file(path, std::ios::binary);
    std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    bytes = content.size();
    memory.reset(static_cast<char *>(std::aligned_alloc(256, (bytes + lead) / 256 * 256 + 256)));
    begin = memory.get() + lead;
    std::memcpy(begin, content.data(), bytes);
  }
  void writeBack() const {
    std::ofstream(path, std::ios::binary).write(begin, std::streamsize(bytes));
  }
};

/// Answers are lines.
inline std::string oneLine(std::string text) {
  for (char &letter : text)
    if (letter == '\n')
      letter = ' ';
  return text;
}

} // namespace sectile::testing
