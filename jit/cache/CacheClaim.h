//===-- CacheClaim.h - one of many processes makes a cache entry, the others wait for it ------===//
//   CacheClaim claim(folder, key, 30.0);
//   while (claim.next() != CacheClaim::Answer::Make) { look for the entry; return it if there }
//   compile, publish the entry                   // the destructor gives the claim back
//
//   Make       make the entry: nobody else does, or nobody can be waited for
//   LookAgain  whoever was making it has finished, successfully or not
//
// A claim is a file, `.<key>.claim`, that says which process holds it. It is advice: whatever goes
// wrong with it costs a compile that was not needed and nothing else, and nobody ever waits for
// more than `patienceSeconds` for one holder.
//
//   the holder finishes or fails   it removes the file; every waiting process looks for the entry
//                                  once, and makes it without a claim if it is not there (what
//                                  failed for one fails for all)
//   the holder dies                noticed at once on the same machine, by process id and time of
//                                  start (in containers: of the same process namespace); one of
//                                  the waiting processes takes over
//   the holder hangs,              patience ends by the waiting process's own clock, or the file is
//   or died elsewhere              older than that; one of the waiting processes takes over
//
// To take over from the holder T is to create the file `.<key>.<digest of T>.claim`, which only one
// can, and to rename it onto the claim: the claim is never absent meanwhile.
#pragma once

#include "jit/cache/CacheFolder.h"

#include <chrono>
#include <string>

namespace sectile::jit {

class CacheClaim {
public:
  /// `folder` must outlive the claim; null means that nothing is claimed. `patienceSeconds` 0 means
  /// that the claim never waits.
  CacheClaim(CacheFolder *folder, const std::string &key, double patienceSeconds);
  ~CacheClaim();
  CacheClaim(const CacheClaim &) = delete;
  CacheClaim &operator=(const CacheClaim &) = delete;

  enum class Answer : uint8_t { Make, LookAgain };
  /// May wait. After LookAgain comes Make.
  Answer next();
  bool isHeld() const { return held; }
  bool hasWaited() const { return waited; }

private:
  using Clock = std::chrono::steady_clock;
  bool tryTakeOver(const std::string &holder);
  void pause();

  CacheFolder *folder;
  std::string name, key, token;
  double patienceSeconds;
  bool held = false, waited = false, looked = false;
  /// The content of the claim that is waited for, and since when.
  std::string waitedFor;
  Clock::time_point since;
  double pauseSeconds = 0.001;
  pid_t owner = 0;
};

} // namespace sectile::jit
