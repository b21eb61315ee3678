//===-- Archive.h - an archive of kernels, opened and launched --------------------------------===//
// The runtime's side of `sectile aot`: kernels by name, whose variants are found by the arguments
// of a launch as those of a JITFunction are (Specializer), and never compiled. Code is read,
// checked and loaded when a launch needs it first.
//
//   Status status;
//   std::shared_ptr<const Archive> archive = Archive::open("nn.sectile", status);
//   const ArchivedKernel *softmax = archive->find("softmax");
//   BoundLaunch launch;
//   status = softmax->bind({values, grid, device, stream}, launch);   // which variant; loads it
//   status = launch.run();
//
// Of the targets in the archive a launch gets the best that its device runs: machine code of the
// very architecture, then of a lower one of its generation, then what the driver assembles; on the
// CPU code for this very processor, then that of the highest level (ProcessorLevels.h).
// Thread-safe.
#pragma once

#include "jit/Api.h"
#include "jit/Status.h"
#include "jit/aot/ArchiveIndex.h"
#include "jit/launch/BoundLaunch.h"
#include "jit/launch/ValueBuffer.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sectile::jit {

class Archive;

struct ArchivedLaunch {
  /// One for each parameter, in order; a tuple is followed by its items. A Kind::Default value
  /// stands for what the archive knows: the parameter's default, or how it is chosen.
  std::span<const ArgumentValue> values;
  /// nullopt: as the archive says.
  std::optional<Grid> grid;
  /// "cpu", "cuda", "hip", and which of its devices.
  std::string_view backend = "cpu";
  int32_t device = 0;
  void *stream = nullptr;
};

/// The blocks by which a variant reads and writes an array through a tensor descriptor: constants
/// of its code.
struct DescriptorBlocks {
  lang::DType element;
  std::vector<int64_t> shape;
  bool padsWithNan;
  ConstantTable::OfDescriptor constants;
};

/// One kernel of an archive. It lives as long as the archive.
class SECTILE_API ArchivedKernel {
public:
  ~ArchivedKernel();
  ArchivedKernel(const ArchivedKernel &) = delete;
  ArchivedKernel &operator=(const ArchivedKernel &) = delete;

  const ArchivedKernelEntry &entry() const { return kernel; }
  const Specializer &specializer() const { return specialization; }
  /// Finds the variant for a launch, and fills in all of `result`. Where there is none the error
  /// names the argument by which the nearest variant differs.
  Status bind(const ArchivedLaunch &launch, BoundLaunch &result) const;

  /// The values of a launch with those that it leaves out filled in, as bind() does itself.
  Status complete(std::span<const ArgumentValue> given, ValueBuffer &values) const;

  /// Those of the variants that take a tensor descriptor for the parameter, each once.
  std::span<const DescriptorBlocks> blocksOf(size_t parameter) const {
    return parameter < blocks.size() ? blocks[parameter] : std::span<const DescriptorBlocks>();
  }

private:
  friend class Archive;
  void findBlocks();
  ArchivedKernel(const Archive &archive, const ArchivedKernelEntry &kernel);
  struct Search;
  Status gridOf(std::span<const ArgumentValue> values, Grid &grid) const;
  /// bind() for values all of which are there; and for others, apart from it.
  Status bindValues(const ArchivedLaunch &launch, std::span<const ArgumentValue> values,
                    BoundLaunch &result) const;
  [[gnu::noinline]] Status bindCompleted(const ArchivedLaunch &launch, BoundLaunch &result) const;
  /// Fills in the values of the kernel's chosenOptions, and makes them part of the key.
  [[gnu::noinline]] Status chooseOptions(std::span<const ArgumentValue> values,
                                         BoundArguments &arguments,
                                         std::vector<int64_t> &chosen) const;
  /// A variant for a key that the table does not know.
  [[gnu::cold, gnu::noinline]] const Kernel *
  search(const ArchivedLaunch &launch, std::span<const ArgumentValue> values,
         const std::vector<int64_t> &chosen, const BoundArguments &arguments, Status &status) const;

  const Archive &archive;
  const ArchivedKernelEntry &kernel;
  Specializer specialization;
  /// Which parameters a launch may leave out.
  bool hasDefaults = false;
  /// By parameter; empty where no parameter is a tensor descriptor.
  std::vector<std::vector<DescriptorBlocks>> blocks;
  mutable KernelTable table;
};

class SECTILE_API Archive {
public:
  ~Archive();
  Archive(const Archive &) = delete;
  Archive &operator=(const Archive &) = delete;

  /// Maps the file, and reads its index. Null with `status` set where that is not possible. The
  /// file must not be written to while it is open; it may be replaced (`sectile aot` renames).
  static std::shared_ptr<const Archive> open(const std::string &path, Status &status);
  /// The same for bytes in memory, which must stay there. `name`: what messages call them.
  static std::shared_ptr<const Archive> ofMemory(std::string_view bytes, std::string name,
                                                 Status &status);

  /// What messages call it: the path.
  const std::string &name() const { return ownName; }
  std::span<const std::unique_ptr<ArchivedKernel>> kernels() const { return opened; }
  /// Null for an unknown name.
  const ArchivedKernel *find(std::string_view name) const;
  /// Loads a variant, or returns it when it has been loaded. Null with `status` set when it cannot
  /// be loaded here, or is damaged.
  std::shared_ptr<const Kernel> load(const ArchivedVariant &variant, Status &status) const;

  /// The variant that a loaded kernel was made of; null for a kernel of something else.
  const ArchivedVariant *variantOf(const Kernel &kernel) const;

private:
  Archive();
  struct Mapping;
  struct Loaded;
  static std::shared_ptr<const Archive>
  make(std::unique_ptr<Mapping> mapping, std::string_view bytes, std::string name, Status &status);

  std::string ownName;
  std::unique_ptr<Mapping> mapping;
  std::string_view bytes;
  ArchiveIndex index;
  std::unique_ptr<Loaded> loaded;
  std::vector<std::unique_ptr<ArchivedKernel>> opened; // these die first
};

} // namespace sectile::jit
