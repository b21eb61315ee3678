//===-- ArchiveIndex.h - kernels of many variants and targets as one file ----------------------===//
// What `sectile aot` writes: code that runs where nothing is compiled, found by what a launch
// passes. One file, which is mapped and of which only the index is read at first:
//
//   magic "SECTILEK" | version | sizes, checksums of the index and of this header      64 bytes
//   index: kernels by name; of each its parameters and its variants, by key and target
//   images (cache/ImageFile.h), each from a multiple of 16 bytes on, with zeros between them
//
// Every byte is covered: those of the header and of the index by their checksums when the archive
// is opened, those of an image by its own when a launch needs it first.
//
// A variant is found by its key, a digest of what its launches' arguments are specialised on
// (Specializer::signature), which knows constants by their values. Equal content gives equal
// bytes: no times, no folders, no hosts are in it.
#pragma once

#include "jit/aot/LaunchFormula.h"
#include "jit/cache/ImageFile.h"
#include "jit/launch/Specialization.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sectile::jit {

/// Tuples lie in each other as deep as this, in archives and in launches from C.
constexpr size_t kMostTupleLevels = 64;

/// One variant of a kernel, and where its code lies.
struct ArchivedVariant {
  /// Of Specializer::signature; its keys are signatureKey().
  lang::KernelSignature signature;
  std::string key;
  backends::CompileOptions options;
  /// Of the image: "x86_64:x86-64-v3", "nvptx64:sm_80".
  std::string targetName;
  /// What may still have to be assembled, PTX, is not.
  bool isMachineCode = true;
  /// Of code for the very processor that compiled it; empty where the target's name says it all.
  std::string hostFingerprint;
  /// Of a GPU's thread; -1: not known.
  int32_t registers = -1, spilledBytes = -1;
  /// The image's bytes in the file.
  uint64_t offset = 0, size = 0;
};

struct ArchivedParameter {
  ParameterPolicy policy;
  /// Python's launches name it.
  bool isKeywordOnly = false;
  /// What a launch that leaves it out passes.
  std::optional<lang::Constant> initial;
  /// How a launch that leaves it out chooses it; empty: it does not.
  LaunchFormula chosen;
};

struct ArchivedKernelEntry {
  std::string name, documentation;
  std::vector<ArchivedParameter> parameters;
  /// The grid of launches that name none: up to three; none: they must name one.
  std::vector<LaunchFormula> grid;
  /// Which of several variants for the same arguments is launched: keyword of a launch, its value.
  std::vector<std::pair<std::string, LaunchFormula>> chosenOptions;
  /// By key, and among equal keys by target and options.
  std::vector<ArchivedVariant> variants;
};

struct ArchiveIndex {
  std::vector<ArchivedKernelEntry> kernels; // by name
};

/// A variant with its code, to be written.
struct VariantToArchive {
  std::string kernelName;
  lang::KernelSignature signature;
  std::string hostFingerprint;
  backends::KernelImage image;
};

/// In which form a GPU's code is archived: as it was compiled, or as the text that a driver
/// assembles, also of later GPUs.
enum class CodeForm : uint8_t { AsCompiled, Text };
/// A compiled kernel as a variant. Code for the processor at hand is for that one alone.
SECTILE_API VariantToArchive variantOf(const Kernel &kernel, lang::KernelSignature signature,
                                       CodeForm form = CodeForm::AsCompiled);

/// The version of what archives contain, and of how runtimes call it.
inline constexpr uint32_t kArchiveVersion = 2;

/// Two signatures with one key are launched with the same code.
std::string signatureKey(const lang::KernelSignature &signature);

/// The bytes of an archive. `kernels` has the kernels without their variants. What an archive does
/// not need of an image (stages, remarks, times) is left out; equal variants are written once.
/// Returns "" with `problem` set when they do not make an archive: a variant of an unknown kernel,
/// two kernels of one name.
SECTILE_API std::string writeArchive(std::vector<ArchivedKernelEntry> kernels,
                                     std::vector<VariantToArchive> variants, std::string &problem);

/// "cpu:x86-64-v3", "cuda:sm_90+ptx", "cpu (of the processor that compiled it)".
SECTILE_API std::string nameOfTarget(const ArchivedVariant &variant);

/// "num_warps=8": what differs from the defaults.
SECTILE_API std::string optionsOf(const ArchivedVariant &variant);

/// A number that kernels with other parameters have not got: what callers in C rely on.
SECTILE_API uint64_t interfaceOf(const ArchivedKernelEntry &kernel);

/// Why `file` is no archive that this runtime can use; "" when it is, and `index` is filled.
std::string readArchiveIndex(std::string_view file, ArchiveIndex &index);
/// The same for the code of one variant.
std::string readArchivedImage(std::string_view file, const ArchivedVariant &variant,
                              backends::KernelImage &image);

} // namespace sectile::jit
