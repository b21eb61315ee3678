//===-- PrintOrder.h - prints of programs in the order of the programs ------------------------===//
// Threads run chunks of the grid side by side; what they print comes out as if one thread had run
// all programs, one after another: a chunk's text is kept until all before it have ended, and the
// chunk that is first then prints at once.
//
//   PrintOrder order(say);
//   order.begin(0, 8);  order.print(3, "pid (3, 0, 0) x: 1\n");  order.end(0);
//   order.finish();                                  // after the launch, which may have failed
//
// Chunks are given out in order, without gaps; a chunk's programs run in order, on one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace sectile::cpu {

class PrintOrder {
public:
  /// `say` is called by the threads that run programs, one at a time.
  explicit PrintOrder(std::function<void(std::string_view text)> say) : say(std::move(say)) {}

  /// This thread runs programs [first, last) from now on.
  void begin(int64_t first, int64_t last);
  void print(int64_t program, std::string_view text);
  /// The chunk from `first` on has ended.
  void end(int64_t first);
  /// What chunks behind one that was never run have printed.
  void finish();

private:
  struct Chunk {
    int64_t last;
    bool hasEnded = false;
    std::string kept;
  };

  const std::function<void(std::string_view text)> say;
  std::mutex mutex;
  std::map<int64_t, Chunk> chunks; // that have begun, but those printed and ended, by first program
  int64_t front = 0;               // all programs below have ended
};

} // namespace sectile::cpu
