#include "CodeObject.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

namespace sectile::amdisa {
namespace {

using Elf = llvm::object::ELF64LE;

llvm::Error failure(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "code object: " + message);
}

constexpr unsigned kNoteOfMetadata = 32; // NT_AMDGPU_METADATA

Parameter parameterFrom(llvm::msgpack::MapDocNode &node) {
  Parameter parameter{};
  parameter.offset = uint32_t(node[".offset"].getUInt());
  parameter.bytes = uint32_t(node[".size"].getUInt());
  parameter.kind = node[".value_kind"].getString().str();
  return parameter;
}

/// Fails where the metadata, which a runtime and a compiler's report read, is not what the
/// descriptor says, which the hardware reads.
llvm::Error checkNotes(const Kernel &kernel) {
  auto check = [&](const char *what, int64_t noted, int64_t described) {
    return noted == -1 || noted == described
               ? llvm::Error::success()
               : failure(llvm::formatv("{0} has {1} {2} by its metadata and {3} by its descriptor",
                                       kernel.name, noted, what, described));
  };
  int64_t end = 0; // of the kernel's own arguments
  for (const Parameter &parameter : kernel.parameters) {
    if (parameter.offset < end || parameter.bytes == 0)
      return failure(kernel.name + " has arguments that overlap");
    end = int64_t(parameter.offset) + parameter.bytes;
  }
  if (end > int64_t(kernel.kernargBytes))
    return failure(kernel.name + " has arguments outside their segment");
  if (llvm::Error error =
          check("bytes of arguments", kernel.kernargBytes, kernel.descriptor.kernarg_size))
    return error;
  if (llvm::Error error = check("lanes", kernel.notes.lanes, kernel.lanes))
    return error;
  if (llvm::Error error = check("bytes of LDS", kernel.notes.sharedBytes,
                                kernel.descriptor.group_segment_fixed_size))
    return error;
  return check("bytes of scratch", kernel.notes.scratchBytes,
               kernel.descriptor.private_segment_fixed_size);
}

/// Fails where the code uses a vector register that the descriptor does not ask for, or more are
/// noted than it asks for.
llvm::Error checkAllocation(const Kernel &kernel) {
  unsigned plain = 0, accumulators = 0; // numbers used
  for (const Instruction &instruction : kernel.program.instructions)
    for (const auto *ranges : {&instruction.reads, &instruction.writes})
      for (RegisterRange range : *ranges) {
        unsigned end = range.index + range.words;
        if (range.isVector && range.index >= kAccumulators)
          accumulators = std::max(accumulators, end - kAccumulators);
        else if (range.isVector)
          plain = std::max(plain, end);
      }
  bool isGfx9 = kernel.program.chip.generation == 9;
  unsigned granule = isGfx9 || kernel.lanes == 32 ? 8 : 4;
  unsigned allocated =
      granule * (AMDHSA_BITS_GET(kernel.descriptor.compute_pgm_rsrc1,
                                 llvm::amdhsa::COMPUTE_PGM_RSRC1_GRANULATED_WORKITEM_VGPR_COUNT) +
                 1);
  // Accumulation registers lie behind the plain ones, at an offset of their own.
  unsigned offset =
      isGfx9 && accumulators
          ? 4 * (AMDHSA_BITS_GET(kernel.descriptor.compute_pgm_rsrc3,
                                 llvm::amdhsa::COMPUTE_PGM_RSRC3_GFX90A_ACCUM_OFFSET) +
                 1)
          : allocated;
  // LLVM asks for more than are used where fewer waves fit anyway.
  const int64_t noted = kernel.notes.vectorRegisters;
  if (noted > int64_t(allocated))
    return failure(llvm::formatv("{0} has {1} vector registers by its metadata and {2} by its "
                                 "descriptor",
                                 kernel.name, noted, allocated));
  if (int64_t most = kernel.notes.accumulationRegisters; most != -1 && accumulators > most)
    return failure(llvm::formatv("{0} uses {1} accumulation registers, and has {2} by its metadata",
                                 kernel.name, accumulators, most));
  if (plain <= std::min(offset, allocated) && (!accumulators || offset + accumulators <= allocated))
    return llvm::Error::success();
  return failure(llvm::formatv("{0} uses {1} vector and {2} accumulation registers of {3}, the "
                               "latter behind {4}",
                               kernel.name, plain, accumulators, allocated, offset));
}

} // namespace

llvm::Error CodeObject::readMetadata(llvm::ArrayRef<uint8_t> note) {
  llvm::msgpack::Document document;
  llvm::StringRef text(reinterpret_cast<const char *>(note.data()), note.size());
  if (!document.readFromBlob(text, /*Multi=*/false) || !document.getRoot().isMap())
    return failure("its metadata cannot be read");
  auto &root = document.getRoot().getMap();
  auto found = root.find("amdhsa.kernels");
  if (found == root.end())
    return llvm::Error::success();
  for (llvm::msgpack::DocNode &node : found->second.getArray()) {
    auto &map = node.getMap();
    Kernel kernel;
    kernel.name = map[".name"].getString().str();
    kernel.kernargBytes = uint32_t(map[".kernarg_segment_size"].getUInt());
    for (auto [key, number] : {std::pair(".wavefront_size", &kernel.notes.lanes),
                               {".group_segment_fixed_size", &kernel.notes.sharedBytes},
                               {".private_segment_fixed_size", &kernel.notes.scratchBytes},
                               {".vgpr_count", &kernel.notes.vectorRegisters},
                               {".agpr_count", &kernel.notes.accumulationRegisters}})
      if (auto found = map.find(key); found != map.end())
        *number = int64_t(found->second.getUInt());
    if (auto arguments = map.find(".args"); arguments != map.end())
      for (llvm::msgpack::DocNode &argument : arguments->second.getArray())
        kernel.parameters.push_back(parameterFrom(argument.getMap()));
    kernels[kernel.name] = std::move(kernel);
  }
  return llvm::Error::success();
}

llvm::Error CodeObject::addKernel(llvm::StringRef name, uint64_t descriptor, Decoder &decoder) {
  if (descriptor + sizeof(llvm::amdhsa::kernel_descriptor_t) > imageBytes)
    return failure("the descriptor of " + name + " lies outside");
  Kernel &kernel = kernels[name];
  kernel.name = name.str();
  std::memcpy(&kernel.descriptor, memory.get() + descriptor, sizeof kernel.descriptor);
  if (kernel.kernargBytes == 0)
    kernel.kernargBytes = kernel.descriptor.kernarg_size;
  uint64_t begin = descriptor + uint64_t(kernel.descriptor.kernel_code_entry_byte_offset);
  uint64_t size = symbolSizes.lookup(name);
  if (size == 0 || begin + size > imageBytes)
    return failure("the code of " + name + " lies outside");
  bool isWave32 = AMDHSA_BITS_GET(kernel.descriptor.kernel_code_properties,
                                  llvm::amdhsa::KERNEL_CODE_PROPERTY_ENABLE_WAVEFRONT_SIZE32);
  kernel.lanes = isWave32 ? 32 : 64;
  auto program = decoder.decode(name, {memory.get() + begin, size},
                                reinterpret_cast<uint64_t>(memory.get()) + begin);
  if (!program)
    return program.takeError();
  kernel.program = std::move(*program);
  if (llvm::Error error = checkNotes(kernel))
    return error;
  return checkAllocation(kernel);
}

llvm::Error CodeObject::read(llvm::StringRef bytes) {
  // Aligned as ELF's structures want it, wherever the caller's bytes lie.
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(bytes);
  auto object = llvm::object::ELFObjectFile<Elf>::create(buffer->getMemBufferRef());
  if (!object)
    return object.takeError();
  const llvm::object::ELFFile<Elf> &file = object->getELFFile();
  if (file.getHeader().e_machine != llvm::ELF::EM_AMDGPU ||
      file.getHeader().e_type != llvm::ELF::ET_DYN)
    return failure("not a linked code object of an AMD GPU");
  auto chip = object->tryGetCPUName();
  if (!chip)
    return failure("it does not say which chip it is for");
  auto decoder = Decoder::create(*chip);
  if (!decoder)
    return decoder.takeError();
  auto headers = file.program_headers();
  if (!headers)
    return headers.takeError();
  for (const auto &header : *headers)
    if (header.p_type == llvm::ELF::PT_LOAD)
      imageBytes = std::max(imageBytes, uint64_t(header.p_vaddr) + header.p_memsz);
  memory = std::make_unique<uint8_t[]>(imageBytes + 4096);
  for (const auto &header : *headers) {
    if (header.p_offset + header.p_filesz > bytes.size())
      return failure("a segment lies outside the file");
    const char *content = buffer->getBufferStart() + header.p_offset;
    if (header.p_type == llvm::ELF::PT_LOAD)
      std::memcpy(memory.get() + header.p_vaddr, content, header.p_filesz);
    if (header.p_type != llvm::ELF::PT_NOTE)
      continue;
    llvm::Error error = llvm::Error::success();
    for (const auto &note : file.notes(header, error))
      if (note.getType() == kNoteOfMetadata)
        if (llvm::Error problem = readMetadata(note.getDesc(4)))
          return problem;
    if (error)
      return error;
  }
  for (const auto &section : object->sections())
    if (llvm::object::ELFSectionRef(section).getType() == llvm::ELF::SHT_RELA &&
        !section.relocations().empty())
      return failure("relocations at load time are not modelled");
  for (const llvm::object::ELFSymbolRef symbol : object->symbols()) {
    auto name = symbol.getName();
    auto value = symbol.getValue();
    if (!name || !value)
      return failure("a symbol cannot be read");
    symbols[*name] = *value;
    symbolSizes[*name] = symbol.getSize();
  }
  for (const auto &symbol : symbols) {
    llvm::StringRef name = symbol.first();
    if (name.consume_back(".kd"))
      if (llvm::Error error = addKernel(name, symbol.second, **decoder))
        return error;
  }
  if (kernels.empty())
    return failure("it has no kernel");
  chipOfObject = kernels.begin()->second.program.chip;
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<CodeObject>> CodeObject::load(llvm::StringRef bytes) {
  auto object = std::unique_ptr<CodeObject>(new CodeObject);
  if (llvm::Error error = object->read(bytes))
    return std::move(error);
  return object;
}

const Kernel *CodeObject::kernel(llvm::StringRef name) const {
  auto found = kernels.find(name);
  return found == kernels.end() ? nullptr : &found->second;
}

Kernel *CodeObject::kernel(llvm::StringRef name) {
  auto found = kernels.find(name);
  return found == kernels.end() ? nullptr : &found->second;
}

std::vector<std::string> CodeObject::kernelNames() const {
  std::vector<std::string> names;
  for (const auto &entry : kernels)
    names.push_back(entry.first().str());
  llvm::sort(names);
  return names;
}

} // namespace sectile::amdisa
