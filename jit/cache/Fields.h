//===-- Fields.h - plain structures as bytes ----------------------------------------------------===//
// What is kept in files: numbers of fixed width, and bytes preceded by their length. The fields of
// each type are listed once, in `visit`, for writing and for reading: Writer and Reader have the
// same operations.
//
//   fields::Writer writer;
//   visit(writer, image);                       // writer.bytes
//   fields::Reader reader(bytes);
//   visit(reader, image);                       // reader.isGood() && reader.atEnd()
//
// Reading trusts nothing, and never reads beyond its bytes: where something does not fit, all
// fields from there on are empty. What numbers mean (indices, kinds) is for the caller to check.
#pragma once

#include "backends/plain/KernelImage.h"
#include "jit/cache/Provenance.h"
#include "jit/cache/RecordedRead.h"
#include "lang/plain/KernelSignature.h"

#include <bit>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sectile::jit::fields {

static_assert(std::endian::native == std::endian::little);

class Writer {
public:
  std::string bytes;

  template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void field(const T &number) {
    bytes.append(reinterpret_cast<const char *>(&number), sizeof number);
  }
  void field(const std::string &text) {
    field(static_cast<uint64_t>(text.size()));
    bytes += text;
  }
  template <class T>
  void field(const std::vector<T> &items);
  template <class V>
  void field(const std::map<std::string, V> &items);
};

class Reader {
public:
  explicit Reader(std::string_view bytes) : rest(bytes) {}
  /// False once anything did not fit: later fields read as empty.
  bool isGood() const { return good; }
  bool atEnd() const { return rest.empty(); }

  template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void field(T &number) {
    number = T{};
    if (std::string_view source = take(sizeof number); good) {
      if constexpr (std::is_same_v<T, bool>)
        number = source[0] != 0; // any other byte in a bool is undefined behaviour
      else
        std::memcpy(&number, source.data(), sizeof number);
    }
  }
  void field(std::string &text) {
    uint64_t size = 0;
    field(size);
    text = take(size);
  }
  template <class T>
  void field(std::vector<T> &items);
  template <class V>
  void field(std::map<std::string, V> &items);

private:
  std::string_view take(uint64_t size) {
    if (!good || size > rest.size()) {
      good = false;
      return {};
    }
    std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(size);
    return taken;
  }
  std::string_view rest;
  bool good = true;
};

template <class Stream, class T>
concept PlainField = requires(Stream &stream, T &value) { stream.field(value); };

template <class Stream>
void visit(Stream &stream, auto &value)
  requires PlainField<Stream, std::remove_reference_t<decltype(value)>>
{
  stream.field(value);
}
template <class T, class U>
concept Is = std::is_same_v<std::remove_const_t<T>, U>;

void visit(auto &stream, Is<lang::DType> auto &dtype) {
  stream.field(dtype.kind);
  stream.field(dtype.isPointer);
  stream.field(dtype.isConst);
}
void visit(auto &stream, Is<backends::KernelArgument> auto &argument) {
  stream.field(argument.name);
  visit(stream, argument.dtype);
  stream.field(argument.parameterIndex);
  stream.field(argument.isWritten);
}
void visit(auto &stream, Is<backends::OverlapHazard> auto &hazard) {
  stream.field(hazard.written);
  stream.field(hazard.other);
  stream.field(hazard.evenIfSame);
}
void visit(auto &stream, Is<backends::LaunchExpression::Step> auto &step) {
  stream.field(step.kind);
  stream.field(step.value);
}
void visit(auto &stream, Is<backends::LaunchExpression> auto &expression) {
  stream.field(expression.steps);
}
void visit(auto &stream, Is<backends::TensorMap> auto &map) {
  stream.field(map.argument);
  stream.field(map.elementBytes);
  stream.field(map.extents);
  stream.field(map.strides);
  stream.field(map.box);
  stream.field(map.swizzleBytes);
}
void visit(auto &stream, Is<backends::TrapSite> auto &site) {
  stream.field(site.kind);
  stream.field(site.message);
  stream.field(site.file);
  stream.field(site.function);
  stream.field(site.sourceLine);
  stream.field(site.line);
  stream.field(site.column);
  stream.field(site.argument);
}
void visit(auto &stream, Is<backends::PrintSite::Operand> auto &operand) {
  visit(stream, operand.dtype);
  stream.field(operand.shape);
  stream.field(operand.name);
}
void visit(auto &stream, Is<backends::PrintSite> auto &site) {
  stream.field(site.prefix);
  stream.field(site.isHexadecimal);
  stream.field(site.operands);
}
void visit(auto &stream, Is<lang::Remark> auto &remark) {
  stream.field(remark.kind);
  stream.field(remark.text);
  stream.field(remark.file);
  stream.field(remark.function);
  stream.field(remark.line);
  stream.field(remark.column);
  stream.field(remark.operation);
  stream.field(remark.numbers);
}
void visit(auto &stream, Is<RecordedRead> auto &read) {
  stream.field(read.question);
  stream.field(read.answer);
}
// A new field must be written and read, and the format versions of ImageFile.cpp and of
// aot/ArchiveIndex.cpp raised.
#if defined(__x86_64__) && defined(__GLIBCXX__)
static_assert(sizeof(backends::KernelImage) - sizeof(backends::CompileOptions) == 480 &&
              sizeof(backends::GpuLaunch) == 40 && sizeof(backends::TrapSite) == 152 &&
              sizeof(backends::KernelArgument) == 48 && sizeof(backends::PrintSite) == 64 &&
              sizeof(lang::Remark) == 192 && sizeof(backends::TensorMap) == 88 &&
              sizeof(backends::LaunchExpression::Step) == 16);
#endif
void visit(auto &stream, Is<backends::CompileOptions> auto &options) {
  stream.field(options.backend);
  stream.field(options.arch);
#define SECTILE_COUNT(field_, keyword, initial, least, most, rule, help)                           \
  stream.field(options.field_);
#define SECTILE_FLAG(field_, keyword, initial, help) stream.field(options.field_);
#define SECTILE_CHECK(field_, keyword, word, help) stream.field(options.field_);
#define SECTILE_CHOICE(type, field_, keyword, help) stream.field(options.field_);
#define SECTILE_INTERNAL(type, field_, name, initial) stream.field(options.field_);
#include "backends/plain/CompileOptions.def"
}
void visit(auto &stream, Is<backends::GpuLaunch> auto &gpu) {
  stream.field(gpu.threads);
  stream.field(gpu.lanes);
  stream.field(gpu.sharedBytes);
  stream.field(gpu.clusterBlocks);
  stream.field(gpu.hiddenParameters);
  stream.field(gpu.isCooperative);
  stream.field(gpu.isDependent);
  stream.field(gpu.registers);
  stream.field(gpu.localBytes);
}
void visit(auto &stream, Is<backends::KernelImage> auto &image) {
  stream.field(image.kernelName);
  stream.field(image.variantName);
  stream.field(image.backend);
  stream.field(image.targetName);
  stream.field(image.entryPoint);
  stream.field(image.arguments);
  stream.field(image.scratchBytes);
  stream.field(image.overlapHazards);
  stream.field(image.atomicArguments);
  stream.field(image.tensorMaps);
  stream.field(image.bufferArguments);
  stream.field(image.trapSites);
  stream.field(image.printSites);
  stream.field(image.remarks);
  visit(stream, image.options);
  visit(stream, image.gpu);
  stream.field(image.binary);
  stream.field(image.stages);
}
void visit(auto &stream, Is<Provenance> auto &provenance) {
  stream.field(provenance.sourceDigest);
  stream.field(provenance.variant);
  stream.field(provenance.options);
  stream.field(provenance.version);
  stream.field(provenance.createdAt);
  stream.field(provenance.compileSeconds);
  stream.field(provenance.measuredSeconds);
}
template <class T>
void Writer::field(const std::vector<T> &items) {
  field(static_cast<uint64_t>(items.size()));
  for (const T &item : items)
    visit(*this, item);
}
template <class V>
void Writer::field(const std::map<std::string, V> &items) {
  field(static_cast<uint64_t>(items.size()));
  for (const auto &[name, value] : items) {
    field(name);
    field(value);
  }
}
template <class T>
void Reader::field(std::vector<T> &items) {
  uint64_t count = 0;
  field(count);
  items.clear();
  // Grows as elements are found: a wrong count must not reserve memory.
  for (uint64_t i = 0; i < count && good; ++i)
    visit(*this, items.emplace_back());
}
template <class V>
void Reader::field(std::map<std::string, V> &items) {
  uint64_t count = 0;
  field(count);
  items.clear();
  for (uint64_t i = 0; i < count && good; ++i) {
    std::string name;
    field(name);
    field(items[name]);
  }
}

} // namespace sectile::jit::fields
