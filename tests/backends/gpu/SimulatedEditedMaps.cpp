// Maps that programs of the simulated GPU edit, and producers. The memory is theirs from their
// claim to their release. A map is edited by the first warp, all of whose lanes write the scratch,
// and not while copies by it are under way; the host would accept it.
#include "SimulatedThreads.h"

namespace sectile::testing {

/// Returns whether the engine has still to do something by the map.
bool SimulatedBlock::isUnderWay(const SimulatedTensorMap *map) const {
  return llvm::any_of(tensorCopies, [&](const TensorCopy &copy) { return copy.by == map; });
}

bool SimulatedBlock::isOfCopyingWarp() const {
  const unsigned perPart = launch.programWarps * launch.lanes,
                 begin = unsigned(partOf(int32_t(running))) * perPart;
  return running >= begin && running < begin + launch.lanes;
}

uint64_t SimulatedBlock::mapsClaim(int32_t count, int32_t isHere) {
  SimulatedBlock &block = *current();
  // What threads of other warps get is no address.
  if (!isHere)
    return 1;
  if (!block.isOfCopyingWarp())
    block.problem("a thread of another warp than the first claims maps");
  EditedMaps &claimed = block.editedMaps[block.partOf(int32_t(block.running))];
  if (!claimed.maps) {
    claimed.maps = std::make_unique<SimulatedTensorMap[]>(size_t(count));
    for (int32_t number = 0; number < count; ++number)
      claimed.maps[size_t(number)].magic = 0;
  }
  return reinterpret_cast<uint64_t>(claimed.maps.get());
}

/// What the scratch has of an array whose maps are made again and again.
static uint32_t imageOf(const SimulatedTensorMap &map) {
  auto image = uint32_t(map.elementBytes * 31 + map.swizzleBytes * 7 + map.rank);
  for (int32_t extent : map.box)
    image = image * 31 + uint32_t(extent);
  return image;
}

/// Copies may go by the map from here on.
void SimulatedBlock::mapFence(SimulatedTensorMap *map, int32_t isHere) {
  if (isHere)
    map->magic = SimulatedTensorMap::kMagic;
}

void SimulatedBlock::mapEdit(SimulatedTensorMap *map, uint64_t shared, const void *array,
                             int32_t isFirst, int32_t isHere) {
  SimulatedBlock &block = *current();
  if (!isHere)
    return;
  const unsigned lane = block.running % block.launch.lanes;
  const uint64_t place = shared + lane * sizeof(uint32_t);
  if (shared % sizeof(SimulatedTensorMap))
    block.problem("the scratch of a map is not aligned");
  block.touchShared(place, sizeof(uint32_t), /*isWritten=*/true, /*site=*/-1);
  SimulatedTensorMap made;
  std::memcpy(&made, array, sizeof made); // a thread's stack is not aligned for one
  auto &image = *reinterpret_cast<uint32_t *>(place);
  if (!isFirst && image != imageOf(made))
    block.problem("a map is made anew, and the scratch has not kept what stays the same");
  image = imageOf(made);
  if (lane)
    return;
  if (block.isUnderWay(map))
    block.problem("race: a map is edited while the engine copies by it");
  if (block.editedMaps[block.partOf(int32_t(block.running))].areReleased)
    block.problem("a map is edited in memory that the program has given back");
  made.magic = 0; // no fence is behind it yet
  backends::TensorMap form;
  form.elementBytes = made.elementBytes;
  form.box.assign(made.box.begin(), made.box.begin() + made.rank);
  form.extents.resize(size_t(made.rank));
  backends::TensorMapValues values{};
  values.base = made.base;
  values.rank = uint64_t(made.rank);
  const bool isEmpty = std::any_of(made.extents.begin(), made.extents.begin() + made.rank,
                                   [](int64_t extent) { return extent < 1; });
  for (size_t dim = 0; dim < size_t(made.rank); ++dim) {
    // Nothing is inside of such an array.
    if (isEmpty)
      made.extents[dim] = 0;
    const bool isEndless = made.extents[dim] == backends::kEndlessAxis;
    // Programs may describe longer ones than launches.
    values.extents[dim] =
        isEmpty || isEndless ? 1 : std::min(made.extents[dim], backends::kLongestAxis);
    if (isEmpty && dim + 1 < size_t(made.rank))
      made.strides[dim] = 16;
    values.strides[dim] = made.strides[dim];
  }
  if (!isReadable(form, values))
    block.problem("the program describes an array that the engine cannot read");
  *map = made;
}

void SimulatedBlock::mapsRelease(SimulatedTensorMap *maps, int32_t count, int32_t isFirst) {
  SimulatedBlock &block = *current();
  if (!isFirst)
    return;
  EditedMaps &claimed = block.editedMaps[block.partOf(int32_t(block.running))];
  if (maps != claimed.maps.get() || claimed.areReleased)
    block.problem("the program gives memory back that is not its");
  for (int32_t number = 0; number < count; ++number)
    if (block.isUnderWay(maps + number))
      block.problem("the program gives a map back while the engine copies by it");
  claimed.areReleased = true;
}

} // namespace sectile::testing
