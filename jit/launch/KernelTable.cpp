#include "jit/launch/Specialization.h"

#include <cstring>

namespace sectile::jit {
namespace {

uint64_t hashOf(const uint8_t *bytes, size_t size) {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  uint64_t hash = size * kMultiplier;
  auto mix = [&](uint64_t word) {
    unsigned __int128 product = static_cast<unsigned __int128>(hash ^ word) * kMultiplier;
    hash = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    hash += word; // a product of zero would forget what came before
  };
  uint64_t word;
  for (; size >= sizeof word; bytes += sizeof word, size -= sizeof word) {
    std::memcpy(&word, bytes, sizeof word);
    mix(word);
  }
  word = 0;
  std::memcpy(&word, bytes, size);
  mix(word);
  return hash;
}

} // namespace

struct KernelTable::Entry {
  uint64_t hash;
  std::vector<uint8_t> key;
  std::shared_ptr<const Kernel> kernel;
};

/// A power of two of places, at most half of them taken, so that a search ends at an empty one.
/// Places go from null to an entry once; readers need no lock.
struct KernelTable::Slots {
  explicit Slots(size_t size)
      : mask(size - 1), places(std::make_unique<std::atomic<Entry *>[]>(size)) {}

  Entry *find(uint64_t hash, const uint8_t *key, size_t size) const {
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
      Entry *entry = places[i].load(std::memory_order_acquire);
      if (!entry)
        return nullptr;
      if (entry->hash == hash && entry->key.size() == size &&
          std::memcmp(entry->key.data(), key, size) == 0)
        return entry;
    }
  }
  void insert(Entry *entry) {
    size_t i = entry->hash & mask;
    while (places[i].load(std::memory_order_relaxed))
      i = (i + 1) & mask;
    places[i].store(entry, std::memory_order_release);
  }

  size_t mask;
  std::unique_ptr<std::atomic<Entry *>[]> places;
};

KernelTable::KernelTable() {
  generations.push_back(std::make_unique<Slots>(16));
  slots.store(generations.back().get(), std::memory_order_release);
}
KernelTable::~KernelTable() = default;

const Kernel *KernelTable::find(const BoundArguments &arguments) const {
  const uint8_t *key = arguments.key.data();
  size_t size = arguments.key.size();
  Entry *entry = slots.load(std::memory_order_acquire)->find(hashOf(key, size), key, size);
  return entry ? entry->kernel.get() : nullptr;
}

const Kernel *KernelTable::insert(const BoundArguments &arguments,
                                  std::shared_ptr<const Kernel> kernel, bool *isNew) {
  const uint8_t *key = arguments.key.data();
  size_t size = arguments.key.size();
  uint64_t hash = hashOf(key, size);
  std::lock_guard lock(mutex);
  Slots *current = slots.load(std::memory_order_relaxed);
  Entry *present = current->find(hash, key, size);
  if (isNew)
    *isNew = !present;
  if (present)
    return present->kernel.get();
  entries.push_back(
      std::make_unique<Entry>(Entry{hash, std::vector<uint8_t>(key, key + size), kernel}));
  if ((entries.size() - firstLive) * 2 > current->mask + 1) {
    // The old places stay: a reader may be among them.
    auto larger = std::make_unique<Slots>((current->mask + 1) * 4);
    for (size_t i = firstLive; i + 1 < entries.size(); ++i)
      larger->insert(entries[i].get());
    current = larger.get();
    generations.push_back(std::move(larger));
  }
  current->insert(entries.back().get());
  slots.store(current, std::memory_order_release);
  return entries.back()->kernel.get();
}

std::vector<std::shared_ptr<const Kernel>> KernelTable::all() const {
  std::lock_guard lock(mutex);
  std::vector<std::shared_ptr<const Kernel>> kernels;
  for (size_t i = firstLive; i < entries.size(); ++i)
    kernels.push_back(entries[i]->kernel);
  return kernels;
}

void KernelTable::clear() {
  std::lock_guard lock(mutex);
  firstLive = entries.size();
  generations.push_back(std::make_unique<Slots>(16));
  slots.store(generations.back().get(), std::memory_order_release);
}

} // namespace sectile::jit
