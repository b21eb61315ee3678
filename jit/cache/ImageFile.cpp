#include "jit/cache/ImageFile.h"

#include "jit/cache/Digest.h"
#include "jit/cache/Fields.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace sectile::jit {

namespace fields {
void visit(auto &stream, Is<CacheEntry> auto &entry) {
  stream.field(entry.buildId);
  stream.field(entry.sourceKey);
  stream.field(entry.irKey);
  stream.field(entry.hostFingerprint);
  stream.field(entry.reads);
  stream.field(entry.sourceFiles);
  visit(stream, entry.provenance);
  visit(stream, entry.image);
}
} // namespace fields

namespace {

constexpr char kMagic[8] = {'S', 'E', 'C', 'T', 'I', 'L', 'E', '\n'};
constexpr uint32_t kFormatVersion = 10;

struct Header {
  char magic[8];
  uint32_t formatVersion;
  uint32_t reserved;
  uint64_t bodySize;
  uint64_t bodyChecksum;
};

static_assert(sizeof(Header) == kImageHeaderBytes);

/// What the runtime indexes with must be in range, whatever wrote the file.
bool isConsistent(const backends::KernelImage &image) {
  auto isKind = [](lang::DType dtype) { return dtype.kind <= lang::ScalarKind::Float64; };
  for (const backends::KernelArgument &argument : image.arguments)
    if (!isKind(argument.dtype))
      return false;
  for (const backends::OverlapHazard &hazard : image.overlapHazards)
    if (std::max(hazard.written, hazard.other) >= image.arguments.size())
      return false;
  if (!image.options.hasKnownWords())
    return false;
  for (const auto *listed : {&image.atomicArguments, &image.bufferArguments})
    for (uint32_t argument : *listed)
      if (argument >= image.arguments.size())
        return false;
  if (!backends::areWellFormed(image.tensorMaps, image.arguments))
    return false;
  for (const backends::TrapSite &site : image.trapSites)
    if (site.kind > backends::TrapSite::Kind::Gather ||
        site.argument >= static_cast<int64_t>(image.arguments.size()))
      return false;
  for (const backends::PrintSite &site : image.printSites)
    for (const backends::PrintSite::Operand &operand : site.operands)
      if (!isKind(operand.dtype))
        return false;
  return true;
}

} // namespace

std::string writeImageFile(const CacheEntry &entry) {
  fields::Writer writer;
  writer.bytes.reserve(entry.image.binary.size() + 4096);
  writer.bytes.resize(sizeof(Header));
  visit(writer, entry);
  std::string_view body = std::string_view(writer.bytes).substr(sizeof(Header));
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.formatVersion = kFormatVersion;
  header.bodySize = body.size();
  header.bodyChecksum = checksum64(body);
  std::memcpy(writer.bytes.data(), &header, sizeof header);
  return std::move(writer.bytes);
}

bool mayBeImageFile(std::string_view head, uint64_t size) {
  Header header;
  if (head.size() < sizeof header)
    return false;
  std::memcpy(&header, head.data(), sizeof header);
  return std::memcmp(header.magic, kMagic, sizeof kMagic) == 0 &&
         header.bodySize == size - sizeof header;
}

std::string readImageFile(std::string_view file, CacheEntry &entry) {
  Header header;
  if (file.size() < sizeof header)
    return "truncated";
  std::memcpy(&header, file.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0)
    return "not a kernel image";
  if (header.reserved != 0)
    return "malformed";
  std::string_view body = file.substr(sizeof header);
  if (header.bodySize != body.size())
    return "truncated";
  if (header.bodyChecksum != checksum64(body))
    return "checksum mismatch";
  if (header.formatVersion != kFormatVersion)
    return kAnotherFormat;
  fields::Reader reader(body);
  visit(reader, entry);
  if (!reader.isGood() || !reader.atEnd() || !isConsistent(entry.image))
    return "malformed";
  return {};
}

void relocate(CacheEntry &entry, const std::vector<std::string> &now) {
  if (entry.sourceFiles.size() != now.size())
    return;
  auto exchange = [&](std::string &file) {
    auto found = std::find(entry.sourceFiles.begin(), entry.sourceFiles.end(), file);
    if (found != entry.sourceFiles.end())
      file = now[static_cast<size_t>(found - entry.sourceFiles.begin())];
  };
  for (backends::TrapSite &site : entry.image.trapSites)
    exchange(site.file);
  for (lang::Remark &remark : entry.image.remarks)
    exchange(remark.file);
  entry.sourceFiles = now;
}

bool relocate(std::vector<lang::Remark> &remarks, const std::vector<lang::Remark> &places) {
  bool changed = false;
  for (lang::Remark &remark : remarks) {
    if (remark.operation < 0 || static_cast<size_t>(remark.operation) >= places.size())
      continue;
    const lang::Remark &place = places[static_cast<size_t>(remark.operation)];
    auto of = [](const lang::Remark &one) {
      return std::tie(one.file, one.function, one.line, one.column);
    };
    if (of(remark) == of(place))
      continue;
    remark.file = place.file;
    remark.function = place.function;
    remark.line = place.line;
    remark.column = place.column;
    changed = true;
  }
  return changed;
}

} // namespace sectile::jit
