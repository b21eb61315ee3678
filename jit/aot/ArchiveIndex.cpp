#include "jit/aot/ArchiveIndex.h"

#include "jit/cache/CacheKey.h"
#include "jit/cache/Digest.h"
#include "jit/cache/Fields.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace sectile::jit {

namespace fields {

static void write(Writer &writer, const lang::TupleClassRef &tupleClass) {
  writer.field(tupleClass != nullptr);
  if (!tupleClass)
    return;
  writer.field(tupleClass->name);
  writer.field(tupleClass->fields);
  writer.field(static_cast<uint64_t>(tupleClass->constantsFrom));
}
static void read(Reader &reader, lang::TupleClassRef &tupleClass) {
  bool isNamed = false;
  reader.field(isNamed);
  if (!isNamed)
    return;
  auto made = std::make_shared<lang::TupleClass>();
  uint64_t constantsFrom = 0;
  reader.field(made->name);
  reader.field(made->fields);
  reader.field(constantsFrom);
  made->constantsFrom = constantsFrom;
  tupleClass = std::move(made);
}

/// The kinds of constants, in the order of lang::Constant's variant. Functions and other objects
/// are known by their names.
static void write(Writer &writer, const lang::Constant &constant) {
  writer.field(static_cast<uint8_t>(constant.value.index()));
  std::visit(
      [&](const auto &value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, lang::Int>) {
          writer.field(static_cast<uint64_t>(value));
          writer.field(static_cast<uint64_t>(static_cast<unsigned __int128>(value) >> 64));
        } else if constexpr (std::is_same_v<T, lang::DType>) {
          visit(writer, value);
        } else if constexpr (std::is_same_v<T, lang::ConstantTuple>) {
          writer.field(static_cast<uint64_t>(value->size()));
          for (const lang::Constant &item : *value)
            write(writer, item);
          write(writer, value->tupleClass);
        } else if constexpr (std::is_same_v<T, lang::BuiltinRef> ||
                             std::is_same_v<T, lang::FunctionRef>) {
          writer.field(value.name);
        } else if constexpr (std::is_same_v<T, lang::ObjectRef>) {
          writer.field(value.kind);
        } else if constexpr (!std::is_same_v<T, lang::None>) {
          writer.field(value);
        }
      },
      constant.value);
}
static bool read(Reader &reader, lang::Constant &constant, size_t nesting = 0) {
  uint8_t kind = 0;
  reader.field(kind);
  auto take = [&](auto value) {
    reader.field(value);
    constant.value = std::move(value);
    return true;
  };
  std::string text;
  switch (kind) {
  case 0:
    constant.value = lang::None{};
    return true;
  case 1:
    return take(false);
  case 2: {
    uint64_t low = 0, high = 0;
    reader.field(low);
    reader.field(high);
    constant.value = static_cast<lang::Int>(static_cast<unsigned __int128>(high) << 64 | low);
    return true;
  }
  case 3:
    return take(0.0);
  case 4:
    return take(std::string());
  case 5: {
    lang::DType dtype;
    visit(reader, dtype);
    constant.value = dtype;
    return dtype.kind <= lang::ScalarKind::Float64;
  }
  case 6: {
    uint64_t count = 0;
    reader.field(count);
    std::vector<lang::Constant> items;
    for (uint64_t i = 0; i < count && reader.isGood(); ++i)
      if (nesting >= kMostTupleLevels || !read(reader, items.emplace_back(), nesting + 1))
        return false;
    lang::TupleClassRef tupleClass;
    read(reader, tupleClass);
    constant = lang::Constant::tuple(std::move(items), std::move(tupleClass));
    return true;
  }
  case 7:
    reader.field(text);
    constant.value = lang::BuiltinRef{std::move(text)};
    return true;
  case 8:
    reader.field(text);
    // A number that functions of other names have not got.
    constant.value = lang::FunctionRef{checksum64(text) | uint64_t(1) << 63, text};
    return true;
  case 9:
    reader.field(text);
    constant.value = lang::ObjectRef{0, std::move(text)};
    return true;
  default:
    return false;
  }
}

static void write(Writer &writer, const std::optional<lang::Constant> &constant) {
  writer.field(constant.has_value());
  if (constant)
    write(writer, *constant);
}
static bool read(Reader &reader, std::optional<lang::Constant> &constant) {
  bool isThere = false;
  reader.field(isThere);
  return !isThere || read(reader, constant.emplace());
}

static void write(Writer &writer, const lang::KernelParameter &parameter) {
  writer.field(parameter.name);
  write(writer, parameter.constant);
  visit(writer, parameter.dtype);
  writer.field(parameter.divisibleBy16);
  writer.field(parameter.items.has_value());
  if (!parameter.items)
    return;
  writer.field(static_cast<uint64_t>(parameter.items->size()));
  for (const lang::KernelParameter &item : *parameter.items)
    write(writer, item);
  write(writer, parameter.tupleClass);
}
static bool read(Reader &reader, lang::KernelParameter &parameter, size_t nesting = 0) {
  reader.field(parameter.name);
  if (!read(reader, parameter.constant))
    return false;
  visit(reader, parameter.dtype);
  reader.field(parameter.divisibleBy16);
  bool isTuple = false;
  reader.field(isTuple);
  if (!isTuple)
    return parameter.dtype.kind <= lang::ScalarKind::Float64;
  uint64_t count = 0;
  reader.field(count);
  std::vector<lang::KernelParameter> &items = parameter.items.emplace();
  for (uint64_t i = 0; i < count && reader.isGood(); ++i)
    if (nesting >= kMostTupleLevels || !read(reader, items.emplace_back(), nesting + 1))
      return false;
  read(reader, parameter.tupleClass);
  return true;
}

static void visit(auto &stream, Is<LaunchFormula::Step> auto &step) {
  stream.field(step.kind);
  stream.field(step.value);
}
static void visit(auto &stream, Is<LaunchFormula> auto &formula) {
  stream.field(formula.steps);
}
static void visit(auto &stream, Is<ParameterPolicy> auto &policy) {
  stream.field(policy.name);
  stream.field(policy.isConstexpr);
  stream.field(policy.specialize);
  stream.field(policy.specializeOnAlignment);
  visit(stream, policy.annotation);
  stream.field(policy.isConst);
}
/// The signature's parameters aside.
static void visit(auto &stream, Is<ArchivedVariant> auto &variant) {
  stream.field(variant.key);
  visit(stream, variant.options);
  stream.field(variant.targetName);
  stream.field(variant.isMachineCode);
  stream.field(variant.hostFingerprint);
  stream.field(variant.registers);
  stream.field(variant.spilledBytes);
  stream.field(variant.offset);
  stream.field(variant.size);
}
using ChosenOption = std::pair<std::string, LaunchFormula>;
static void visit(auto &stream, Is<ChosenOption> auto &option) {
  stream.field(option.first);
  visit(stream, option.second);
}

static void write(Writer &writer, const ArchivedKernelEntry &kernel) {
  writer.field(kernel.name);
  writer.field(kernel.documentation);
  writer.field(static_cast<uint64_t>(kernel.parameters.size()));
  for (const ArchivedParameter &parameter : kernel.parameters) {
    visit(writer, parameter.policy);
    writer.field(parameter.isKeywordOnly);
    write(writer, parameter.initial);
    visit(writer, parameter.chosen);
  }
  writer.field(kernel.grid);
  writer.field(kernel.chosenOptions);
  writer.field(static_cast<uint64_t>(kernel.variants.size()));
  for (const ArchivedVariant &variant : kernel.variants) {
    visit(writer, variant);
    for (const lang::KernelParameter &parameter : variant.signature.parameters)
      write(writer, parameter);
  }
}
static bool read(Reader &reader, ArchivedKernelEntry &kernel) {
  reader.field(kernel.name);
  reader.field(kernel.documentation);
  uint64_t count = 0;
  reader.field(count);
  for (uint64_t i = 0; i < count && reader.isGood(); ++i) {
    ArchivedParameter &parameter = kernel.parameters.emplace_back();
    visit(reader, parameter.policy);
    reader.field(parameter.isKeywordOnly);
    if (parameter.policy.annotation.kind > lang::ScalarKind::Float64 ||
        !read(reader, parameter.initial))
      return false;
    visit(reader, parameter.chosen);
  }
  reader.field(kernel.grid);
  reader.field(kernel.chosenOptions);
  reader.field(count);
  for (uint64_t i = 0; i < count && reader.isGood(); ++i) {
    ArchivedVariant &variant = kernel.variants.emplace_back();
    visit(reader, variant);
    if (!variant.options.hasKnownWords())
      return false;
    variant.signature.kernelName = kernel.name;
    for (size_t j = 0; j < kernel.parameters.size(); ++j)
      if (!read(reader, variant.signature.parameters.emplace_back()))
        return false;
  }
  return true;
}

} // namespace fields

namespace {

constexpr char kMagic[8] = {'S', 'E', 'C', 'T', 'I', 'L', 'E', 'K'};
constexpr uint64_t kAlignment = 16;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t headerBytes;
  uint64_t fileBytes;
  uint64_t indexOffset, indexBytes, indexChecksum;
  uint64_t layout;         // layoutOfFields()
  uint64_t headerChecksum; // of what stands before it
};
static_assert(sizeof(Header) == 64);

uint64_t checksumOf(const Header &header) {
  return checksum64({reinterpret_cast<const char *>(&header), offsetof(Header, headerChecksum)});
}
/// Options of a compile may be added between versions; a file with others is of another version.
uint64_t layoutOfFields() {
  std::string names;
  for (const auto &[name, text] : backends::CompileOptions().fields())
    names += std::string(name) + "\n";
  return checksum64(names);
}
uint64_t aligned(uint64_t offset) {
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

auto orderOf(const ArchivedVariant &variant) {
  return std::make_tuple(std::cref(variant.key), std::cref(variant.options.backend),
                         std::cref(variant.targetName), variant.isMachineCode,
                         variant.options.fingerprint(), std::cref(variant.hostFingerprint));
}

/// What depends on when, where and from which text it was compiled is left out.
CacheEntry entryOf(VariantToArchive &variant) {
  CacheEntry entry;
  entry.hostFingerprint = std::move(variant.hostFingerprint);
  entry.image = std::move(variant.image);
  entry.image.stages.clear();
  entry.image.remarks.clear();
  auto nameOf = [](std::string &path) { path.erase(0, path.rfind('/') + 1); };
  for (backends::TrapSite &site : entry.image.trapSites)
    nameOf(site.file);
  return entry;
}

/// Everything that is looked up by number is there, and what is searched is in order.
std::string problemOf(const ArchiveIndex &index, uint64_t fileBytes, uint64_t imagesBegin) {
  for (size_t i = 0; i < index.kernels.size(); ++i) {
    const ArchivedKernelEntry &kernel = index.kernels[i];
    if (i > 0 && !(index.kernels[i - 1].name < kernel.name))
      return "its kernels are out of order";
    for (const ArchivedParameter &parameter : kernel.parameters)
      if (!parameter.chosen.isEmpty() && !parameter.chosen.isWellFormed(kernel.parameters.size()))
        return "a choice is malformed";
    for (const LaunchFormula &extent : kernel.grid)
      if (!extent.isWellFormed(kernel.parameters.size()))
        return "a grid is malformed";
    for (const auto &[keyword, formula] : kernel.chosenOptions)
      if (!formula.isWellFormed(kernel.parameters.size()))
        return "a choice is malformed";
    if (kernel.grid.size() > 3)
      return "a grid is malformed";
    for (size_t j = 0; j < kernel.variants.size(); ++j) {
      const ArchivedVariant &variant = kernel.variants[j];
      if (j > 0 && kernel.variants[j - 1].key > variant.key)
        return "its variants are out of order";
      if (variant.offset % kAlignment != 0 || variant.offset < imagesBegin ||
          variant.offset > fileBytes || variant.size > fileBytes - variant.offset)
        return "a variant lies outside of the file";
    }
  }
  return {};
}

} // namespace

std::string signatureKey(const lang::KernelSignature &signature) {
  Digest digest("archived variant");
  addToDigest(digest, signature);
  return digest.hex();
}

uint64_t interfaceOf(const ArchivedKernelEntry &kernel) {
  fields::Writer writer;
  for (const ArchivedParameter &parameter : kernel.parameters) {
    visit(writer, parameter.policy);
    writer.field(!parameter.chosen.isEmpty());
  }
  writer.field(!kernel.grid.empty());
  return checksum64(writer.bytes);
}

std::string writeArchive(std::vector<ArchivedKernelEntry> kernels,
                         std::vector<VariantToArchive> variants, std::string &problem) {
  auto byName = [](const ArchivedKernelEntry &a, const ArchivedKernelEntry &b) {
    return a.name < b.name;
  };
  std::sort(kernels.begin(), kernels.end(), byName);
  for (size_t i = 1; i < kernels.size(); ++i)
    if (kernels[i].name == kernels[i - 1].name) {
      problem = "two kernels are called '" + kernels[i].name + "'";
      return {};
    }

  // Images in the order of the index. Their places are relative until its size is known.
  struct Placed {
    ArchivedVariant variant;
    std::string image;
  };
  std::vector<std::vector<Placed>> placed(kernels.size());
  for (VariantToArchive &each : variants) {
    auto kernel = std::lower_bound(kernels.begin(), kernels.end(), each.kernelName,
                                   [](const ArchivedKernelEntry &entry, const std::string &name) {
                                     return entry.name < name;
                                   });
    if (kernel == kernels.end() || kernel->name != each.kernelName ||
        kernel->parameters.size() != each.signature.parameters.size()) {
      problem = "there is no kernel '" + each.kernelName + "' of such parameters";
      return {};
    }
    Placed one;
    one.variant.signature = each.signature;
    one.variant.key = signatureKey(each.signature);
    one.variant.options = each.image.options;
    one.variant.targetName = each.image.targetName;
    const bool isElf = each.image.binary.starts_with("\x7f"
                                                     "ELF");
    one.variant.isMachineCode = isElf;
    one.variant.hostFingerprint = each.hostFingerprint;
    one.variant.registers = each.image.gpu.registers;
    one.variant.spilledBytes = each.image.gpu.localBytes;
    one.image = writeImageFile(entryOf(each));
    placed[static_cast<size_t>(kernel - kernels.begin())].push_back(std::move(one));
  }
  std::string images;
  for (size_t i = 0; i < kernels.size(); ++i) {
    std::vector<Placed> &all = placed[i];
    std::sort(all.begin(), all.end(), [](const Placed &a, const Placed &b) {
      return orderOf(a.variant) < orderOf(b.variant);
    });
    kernels[i].variants.clear();
    for (Placed &one : all) {
      if (!kernels[i].variants.empty() &&
          orderOf(kernels[i].variants.back()) == orderOf(one.variant))
        continue; // asked for twice
      one.variant.offset = images.size();
      one.variant.size = one.image.size();
      images += one.image;
      images.resize(aligned(images.size()));
      kernels[i].variants.push_back(std::move(one.variant));
    }
  }

  auto indexOf = [&] {
    fields::Writer writer;
    writer.field(static_cast<uint64_t>(kernels.size()));
    for (const ArchivedKernelEntry &kernel : kernels)
      write(writer, kernel);
    return std::move(writer.bytes);
  };
  const uint64_t begin = aligned(sizeof(Header) + indexOf().size());
  for (ArchivedKernelEntry &kernel : kernels)
    for (ArchivedVariant &variant : kernel.variants)
      variant.offset += begin;
  std::string index = indexOf();
  index.resize(begin - sizeof(Header)); // the zeros behind it are checked with it
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kArchiveVersion;
  header.headerBytes = sizeof header;
  header.fileBytes = begin + images.size();
  header.indexOffset = sizeof header;
  header.indexBytes = index.size();
  header.indexChecksum = checksum64(index);
  header.layout = layoutOfFields();
  header.headerChecksum = checksumOf(header);
  std::string file(reinterpret_cast<const char *>(&header), sizeof header);
  return file + index + images;
}

std::string readArchiveIndex(std::string_view file, ArchiveIndex &index) {
  Header header;
  if (file.size() < sizeof kMagic || std::memcmp(file.data(), kMagic, sizeof kMagic) != 0)
    return file.empty() ? "it is empty" : "it is no archive of kernels";
  if (file.size() < sizeof header)
    return "it is damaged: its header is cut off";
  std::memcpy(&header, file.data(), sizeof header);
  if (header.version != kArchiveVersion)
    return "it is of version " + std::to_string(header.version) + ", and this is a runtime for " +
           std::to_string(kArchiveVersion) +
           "; make it with the Sectile of this runtime, or use the runtime that it was made with";
  if (header.headerChecksum != checksumOf(header))
    return "it is damaged: the checksum of its header is another";
  if (header.layout != layoutOfFields())
    return "another version of Sectile made it, with other options of compiles; make it with the "
           "Sectile of this runtime, or use the runtime that it was made with";
  if (header.fileBytes != file.size())
    return "it is damaged: it has " + std::to_string(file.size()) + " bytes, not " +
           std::to_string(header.fileBytes);
  if (header.indexOffset != sizeof header || header.headerBytes != sizeof header ||
      header.indexBytes > file.size() - sizeof header)
    return "it is damaged: its header is malformed";
  std::string_view bytes = file.substr(sizeof header, header.indexBytes);
  if (checksum64(bytes) != header.indexChecksum)
    return "it is damaged: the checksum of its index is another";
  fields::Reader reader(bytes);
  uint64_t count = 0;
  reader.field(count);
  index.kernels.clear();
  for (uint64_t i = 0; i < count && reader.isGood(); ++i)
    if (!read(reader, index.kernels.emplace_back()))
      return "it is damaged: its index is malformed";
  if (!reader.isGood())
    return "it is damaged: its index is malformed";
  std::string problem = problemOf(index, file.size(), sizeof header + header.indexBytes);
  return problem.empty() ? problem : "it is damaged: " + problem;
}

std::string readArchivedImage(std::string_view file, const ArchivedVariant &variant,
                              backends::KernelImage &image) {
  CacheEntry entry;
  std::string problem = readImageFile(file.substr(variant.offset, variant.size), entry);
  if (!problem.empty())
    return problem;
  const std::string_view behind =
      file.substr(variant.offset + variant.size, aligned(variant.size) - variant.size);
  if (behind.find_first_not_of('\0') != std::string_view::npos)
    return "there is something behind it";
  image = std::move(entry.image);
  if (image.targetName != variant.targetName || !(image.options == variant.options))
    return "it is another than the index says";
  return {};
}

} // namespace sectile::jit
