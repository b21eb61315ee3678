#include "jit/cache/CacheClaim.h"

#include "jit/cache/Digest.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace sectile::jit {
namespace {

constexpr const char *kHeader = "sectile claim";
constexpr double kLongestPauseSeconds = 0.05;

std::string contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// State and time of start of a process, from /proc; false when there is no such process.
bool readProcess(long process, char &state, unsigned long long &start) {
  std::string text = contentOf("/proc/" + std::to_string(process) + "/stat");
  // The name, in parentheses, may hold anything.
  size_t end = text.rfind(')');
  if (end == std::string::npos)
    return false;
  return std::sscanf(text.c_str() + end + 1,
                     " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                     "%llu",
                     &state, &start) == 2;
}

/// Where process ids mean what they mean here: this run of this machine, this process namespace.
std::string machine() {
  std::string boot = contentOf("/proc/sys/kernel/random/boot_id");
  struct stat space;
  if (boot.empty() || ::stat("/proc/self/ns/pid", &space) != 0)
    return {};
  return boot.substr(0, boot.find('\n')) + "/" + std::to_string(space.st_ino);
}

/// What a claim records of its holder.
struct Holder {
  std::string machine;
  long process = 0;
  unsigned long long start = 0;
};

std::string tokenOfThisProcess() {
  char state = 0;
  unsigned long long start = 0;
  std::string where = machine();
  if (!readProcess(::getpid(), state, start))
    where.clear();
  return std::string(kHeader) + "\nmachine " + (where.empty() ? "unknown" : where) + "\nprocess " +
         std::to_string(::getpid()) + "\nstart " + std::to_string(start) + "\nnonce " +
         std::to_string(randomNumber()) + "\n";
}

/// Certainly gone. False when it lives, or is not known.
bool isGone(const std::string &token) {
  char where[128];
  Holder holder;
  if (std::sscanf(token.c_str(), "sectile claim\nmachine %127s\nprocess %ld\nstart %llu\n", where,
                  &holder.process, &holder.start) != 3 ||
      where != machine() || holder.process <= 0)
    return false;
  char state = 0;
  unsigned long long start = 0;
  if (!readProcess(holder.process, state, start))
    return ::kill(static_cast<pid_t>(holder.process), 0) != 0 && errno == ESRCH;
  return start != holder.start || state == 'Z' || state == 'X';
}

} // namespace

CacheClaim::CacheClaim(CacheFolder *folder, const std::string &key, double patienceSeconds)
    : folder(folder), name("." + key + std::string(kClaimSuffix)), key(key),
      patienceSeconds(patienceSeconds), owner(::getpid()) {}

CacheClaim::~CacheClaim() {
  if (!held || ::getpid() != owner) // a child has a copy of the object, not the claim
    return;
  CacheFolder::File file = folder->read(name);
  if (file.problem.empty() && file.content == token)
    folder->remove(name, file);
}

CacheClaim::Answer CacheClaim::next() {
  if (!folder || patienceSeconds <= 0 || looked)
    return Answer::Make;
  if (held) { // made sure that it was not finished in between
    looked = true;
    return Answer::Make;
  }
  if (token.empty())
    token = tokenOfThisProcess();
  for (;;) {
    if (!waited) {
      int error = folder->create(token, name);
      if (error == 0) {
        held = true;
        // The entry may have been finished since it was looked for.
        return Answer::LookAgain;
      }
      if (error != EEXIST)
        return Answer::Make; // a full disk, no right to write
    }
    CacheFolder::File claim = folder->read(name);
    if (claim.problem == "absent") {
      if (!waited)
        continue;
      looked = true;
      folder->refresh();
      return Answer::LookAgain;
    }
    if (!claim.problem.empty())
      return Answer::Make;
    if (!waited || claim.content != waitedFor) {
      waitedFor = claim.content;
      since = Clock::now();
      pauseSeconds = 0.001;
    }
    double seconds = std::chrono::duration<double>(Clock::now() - since).count();
    // The files' clock may be wrong, or set back; it only ever shortens the wait.
    double age = std::difftime(std::time(nullptr), claim.modified);
    bool outOfPatience = seconds > patienceSeconds || age > patienceSeconds + 1;
    if (outOfPatience || isGone(claim.content)) {
      if (tryTakeOver(claim.content)) {
        held = true;
        return Answer::LookAgain;
      }
      if (seconds > 2 * patienceSeconds)
        return Answer::Make; // the process that took over hangs too, or something odd is in the way
    }
    waited = true;
    pause();
  }
}

bool CacheClaim::tryTakeOver(const std::string &holder) {
  std::string successor =
      "." + key + "." + Digest("claim").add(holder).hex().substr(0, 16) + std::string(kClaimSuffix);
  if (folder->create(token, successor) != 0) {
    // Another process is about to; unless that one has died, too.
    CacheFolder::File file = folder->read(successor);
    if (file.problem.empty() && isGone(file.content))
      folder->remove(successor, file);
    return false;
  }
  // While this file exists no other process takes over from this holder.
  if (folder->read(name).content != holder || folder->replace(successor, name) != 0) {
    folder->remove(successor);
    return false;
  }
  return true;
}

void CacheClaim::pause() {
  std::this_thread::sleep_for(std::chrono::duration<double>(pauseSeconds));
  pauseSeconds = std::min(pauseSeconds * 1.5, kLongestPauseSeconds);
}

} // namespace sectile::jit
