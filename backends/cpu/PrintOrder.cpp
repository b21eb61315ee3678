#include "backends/cpu/PrintOrder.h"

namespace sectile::cpu {

void PrintOrder::begin(int64_t first, int64_t last) {
  std::lock_guard lock(mutex);
  chunks[first].last = last;
}

void PrintOrder::print(int64_t program, std::string_view text) {
  std::lock_guard lock(mutex);
  auto chunk = chunks.upper_bound(program);
  if (chunk == chunks.begin())
    return say(text);
  --chunk;
  if (chunk->first == front)
    say(text);
  else
    chunk->second.kept += text;
}

void PrintOrder::end(int64_t first) {
  std::lock_guard lock(mutex);
  chunks[first].hasEnded = true;
  while (!chunks.empty() && chunks.begin()->first == front) {
    Chunk &chunk = chunks.begin()->second;
    if (!chunk.kept.empty())
      say(chunk.kept);
    chunk.kept.clear();
    if (!chunk.hasEnded)
      break;
    front = chunk.last;
    chunks.erase(chunks.begin());
  }
}

void PrintOrder::finish() {
  std::lock_guard lock(mutex);
  for (auto &[first, chunk] : chunks)
    if (!chunk.kept.empty())
      say(chunk.kept);
  chunks.clear();
}

} // namespace sectile::cpu
