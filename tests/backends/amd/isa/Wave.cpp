#include "Wave.h"

namespace sectile::amdisa {

void WorkGroup::openBarrier() {
  bool someone = false;
  for (const auto &wave : waves) {
    if (wave->hasEnded)
      continue;
    someone = true;
    if (wave->arrivedFor <= phase)
      return;
  }
  if (!someone)
    return;
  ++phase;
  for (WaveProgress &wave : progress)
    for (Progress &stream : wave) {
      stream.retired = stream.arrived;
      stream.issuedBefore = stream.issuedAtArrival;
    }
}

/// What a counter of loads or stores holds; one more is issued when the oldest is done.
static constexpr uint32_t kMostUnderWay = 63;

void Wave::issue(Stream stream, const Instruction &instruction) {
  Progress &made = progress()[unsigned(stream)];
  uint32_t serial = ++made.issued;
  if ((stream == Stream::Load || stream == Stream::Store) && serial > kMostUnderWay)
    made.completed = std::max(made.completed, serial - kMostUnderWay);
  for (RegisterRange range : instruction.writes)
    for (unsigned word = 0; word < range.words; ++word)
      (range.isVector ? vectorArrivals[range.index + word]
                      : scalarArrivals[range.index + word]) = {serial, stream};
  hasArrivals = true;
}

void Wave::wait(Stream stream, unsigned count) {
  Progress &progress = this->progress()[unsigned(stream)];
  bool inOrder = stream == Stream::Load || stream == Stream::Store || stream == Stream::Lds;
  if (inOrder && progress.issued >= count)
    progress.completed = std::max(progress.completed, progress.issued - count);
  else if (!inOrder && count == 0)
    progress.completed = progress.issued;
  hasArrivals = false;
  for (const Progress &each : this->progress())
    hasArrivals |= each.issued > each.completed;
}

static std::string registerName(RegisterRange range, unsigned word) {
  unsigned index = range.index + word;
  if (!range.isVector)
    return index < kVcc ? "s" + std::to_string(index) : index < kTtmp ? "vcc" : "a scalar register";
  return index < kAccumulators ? "v" + std::to_string(index)
                               : "a" + std::to_string(index - kAccumulators);
}

void Wave::checkArrivals(const Instruction &instruction) {
  auto arrivalOf = [&](RegisterRange range, unsigned word) {
    return (range.isVector ? vectorArrivals.data() : scalarArrivals.data())[range.index + word];
  };
  for (RegisterRange range : instruction.writes)
    for (unsigned word = 0; word < range.words; ++word) {
      Arrival arrival = arrivalOf(range, word);
      // Loads of one kind arrive in order, so the later one wins.
      bool isOrdered = instruction.isMemory &&
                       (arrival.stream == Stream::Load || arrival.stream == Stream::Lds) &&
                       arrival.stream == instruction.stream;
      if (!isOrdered && isLive(arrival))
        return fail(registerName(range, word) +
                    " is overwritten while a memory operation that was not waited for fills it");
    }
  for (RegisterRange range : instruction.reads)
    for (unsigned word = 0; word < range.words; ++word)
      if (isLive(arrivalOf(range, word)))
        return fail(registerName(range, word) +
                    " is read before the memory operation that fills it was waited for");
}

} // namespace sectile::amdisa
