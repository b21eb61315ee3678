#include "Memory.h"

#include <algorithm>
#include <cstdio>

namespace sectile::amdisa {

static std::string hexadecimal(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

char *Buffers::search(uint64_t address, uint64_t bytes, bool writes) const {
  for (size_t index = 0; index < ranges.size(); ++index)
    if (ranges[index].holds(address, bytes, writes)) {
      last = index;
      return reinterpret_cast<char *>(address);
    }
  return nullptr;
}

std::string Buffers::describe(uint64_t address) const {
  const Range *nearest = nullptr;
  uint64_t distance = ~uint64_t(0);
  for (const Range &range : ranges) {
    uint64_t away = address < range.begin  ? range.begin - address
                    : address >= range.end ? address - range.end
                                           : 0;
    if (away < distance)
      distance = away, nearest = &range;
  }
  std::string text = "address " + hexadecimal(address);
  if (!nearest || distance > 1 << 24)
    return text + " near no buffer";
  text += " is byte " + std::to_string(int64_t(address - nearest->begin)) + " of a buffer of " +
          std::to_string(nearest->end - nearest->begin) + " bytes";
  return nearest->isWritable ? text : text + " that may only be read";
}

void Lds::resize(uint32_t size) {
  bytes.assign(size, 0xcd);
  shadows.assign(size, {});
  mayReadUnwritten = false;
}

void Lds::allowUnwritten(uint64_t seed) {
  mayReadUnwritten = true;
  for (uint8_t &byte : bytes) {
    seed = seed * 6364136223846793005 + 1442695040888963407;
    byte = uint8_t(seed >> 40);
  }
}

Lds::Event Lds::eventOf(Access access, const std::vector<WaveProgress> &waves) {
  uint32_t serial = waves[access.wave][unsigned(access.stream)].issued;
  return serial << 9 | uint32_t(access.stream) << 6 | uint32_t(access.isAtomic) << 5 | access.wave;
}

bool Lds::isLive(Event event, Access by, const std::vector<WaveProgress> &waves) {
  if (event == 0)
    return false;
  uint8_t wave = event & 31;
  auto stream = Stream(event >> 6 & 7);
  const Progress &progress = waves[wave][unsigned(stream)];
  if (wave != by.wave)
    return event >> 9 > progress.retired;
  // A wave's own LDS instructions, FLAT ones among them, act in order; direct loads have to be
  // waited for, and wait for what they overwrite.
  bool isDirect = stream == Stream::Load, byIsDirect = by.stream == Stream::Load;
  return isDirect != byIsDirect && event >> 9 > progress.completed;
}

std::string Lds::describe(const char *what, uint32_t address, Event event) {
  return "LDS byte " + std::to_string(address) + " " + what + " wave " + std::to_string(event & 31);
}

std::string Lds::read(uint32_t address, void *target, uint32_t count, Access access,
                      const std::vector<WaveProgress> &waves) {
  if (address > size() || count > size() - address)
    return "LDS address " + std::to_string(address) + " lies outside the " +
           std::to_string(size()) + " bytes of the work-group";
  Event event = eventOf(access, waves);
  for (uint32_t byte = address; byte < address + count; ++byte) {
    Shadow &shadow = shadows[byte];
    if (shadow.write == 0 && !mayReadUnwritten)
      return "LDS byte " + std::to_string(byte) + " is read before anything was written to it";
    if (isLive(shadow.write, access, waves) && !(access.isAtomic && (shadow.write >> 5 & 1)))
      return describe("is read while it is being written by", byte, shadow.write);
    if (((shadow.read ^ event) & 31) != 0)
      shadow.otherRead = shadow.read;
    shadow.read = event;
  }
  std::memcpy(target, bytes.data() + address, count);
  return "";
}

std::string Lds::write(uint32_t address, const void *source, uint32_t count, Access access,
                       const std::vector<WaveProgress> &waves) {
  if (address > size() || count > size() - address)
    return "LDS address " + std::to_string(address) + " lies outside the " +
           std::to_string(size()) + " bytes of the work-group";
  Event event = eventOf(access, waves);
  auto *data = static_cast<const uint8_t *>(source);
  for (uint32_t byte = address; byte < address + count; ++byte) {
    Shadow &shadow = shadows[byte];
    bool isSame = bytes[byte] == data[byte - address];
    // Waves that write the same value do no harm: replicated tiles are stored so.
    if (!isSame && isLive(shadow.write, access, waves) &&
        !(access.isAtomic && (shadow.write >> 5 & 1)))
      return describe("is written while it is being written by", byte, shadow.write);
    if (!isSame)
      for (Event reader : {shadow.read, shadow.otherRead})
        if (isLive(reader, access, waves) && !(access.isAtomic && (reader >> 5 & 1)))
          return describe("is overwritten while it is being read by", byte, reader);
    shadow.write = event;
  }
  std::memcpy(bytes.data() + address, source, count);
  return "";
}

/// Calls `visit(word, bytes)` for the words that an access touches, `bytes` with a bit for each
/// byte.
template <class Visit>
static void forEachWord(uint64_t address, uint32_t count, Visit visit) {
  for (uint64_t at = address; at < address + count;) {
    uint64_t end = std::min((at | 3) + 1, address + count);
    visit(at / 4, uint8_t(((1u << (end - at)) - 1) << (at & 3)));
    at = end;
  }
}

void StoreShadow::store(uint64_t address, const void *old, const void *bytes, uint32_t count,
                        uint8_t wave, Stream stream, const std::vector<WaveProgress> &waves) {
  if (isIgnored || waves.size() == 1 || std::memcmp(old, bytes, count) == 0)
    return;
  if (words.empty())
    words.resize(1 << 12);
  uint32_t serial = waves[wave][unsigned(stream)].issued;
  forEachWord(address, count, [&](uint64_t number, uint8_t mask) {
    words[slotOf(number)] = {number, serial, stream, wave, mask};
  });
}

int StoreShadow::racingWave(uint64_t address, uint32_t count, uint8_t wave,
                            const std::vector<WaveProgress> &waves, bool staysInOrder) const {
  int racing = -1;
  if (!words.empty())
    forEachWord(address, count, [&](uint64_t number, uint8_t mask) {
      const Word &word = words[slotOf(number)];
      const Progress &stores = waves[word.wave][unsigned(word.stream)];
      if (word.number == number && word.wave != wave && (word.bytes & mask) &&
          word.serial > (staysInOrder ? stores.issuedBefore : stores.retired))
        racing = word.wave;
    });
  return racing;
}

} // namespace sectile::amdisa
