// One process makes an entry, the others wait for it; never for ever. A wait that is wrong here
// lasts until the alarm, which ends the test.
#include "jit/cache/CacheClaim.h"

#include "CacheProcesses.h"
#include "gtest/gtest.h"

#include <sys/stat.h>
#include <thread>

using namespace sectile::jit;
using namespace sectile::jit::test;
using Answer = CacheClaim::Answer;

namespace {

constexpr double kForEver = 1e6;

class CacheClaimTest : public testing::Test {
protected:
  CacheClaimTest() { ::alarm(120); }
  ~CacheClaimTest() override { ::alarm(0); }

  /// The claim's file says this. `ageSeconds`: since it was written.
  void writeClaim(const std::string &token, time_t ageSeconds = 0) {
    ASSERT_EQ(files.create(token, claimFile), 0);
    time_t then = std::time(nullptr) - ageSeconds;
    struct timespec times[2] = {{then, 0}, {then, 0}};
    ::utimensat(files.descriptor(), claimFile.c_str(), times, 0);
  }
  /// A child takes the claim and stays until it is killed.
  pid_t startHolder() {
    int pipe[2];
    EXPECT_EQ(::pipe(pipe), 0);
    pid_t child = ::fork();
    if (child == 0) {
      CacheClaim claim(&files, key, kForEver);
      claim.next();
      (void)!::write(pipe[1], "x", 1);
      for (;;)
        ::pause();
    }
    char byte;
    EXPECT_EQ(::read(pipe[0], &byte, 1), 1);
    ::close(pipe[0]);
    ::close(pipe[1]);
    return child;
  }
  bool claimExists() { return files.read(claimFile).problem.empty(); }

  TemporaryFolder folder;
  CacheFolder files{folder.path, CacheFolder::Use::Own};
  std::string key = std::string(64, 'a'), claimFile = "." + key + ".claim";
};

TEST_F(CacheClaimTest, TheFirstLooksOnceMoreAndMakesIt) {
  {
    CacheClaim claim(&files, key, kForEver);
    EXPECT_EQ(claim.next(), Answer::LookAgain) << "it may have been made in between";
    EXPECT_TRUE(claim.isHeld());
    EXPECT_EQ(claim.next(), Answer::Make);
    EXPECT_TRUE(claimExists());
  }
  EXPECT_FALSE(claimExists());
  EXPECT_TRUE(files.list().empty()) << "nothing is left";
}

TEST_F(CacheClaimTest, TheSecondWaitsUntilTheFirstHasFinished) {
  auto first = std::make_unique<CacheClaim>(&files, key, kForEver);
  first->next();
  std::atomic<bool> isFinished{false};
  std::thread other([&] {
    CacheClaim second(&files, key, kForEver);
    EXPECT_EQ(second.next(), Answer::LookAgain);
    EXPECT_TRUE(isFinished);
    EXPECT_TRUE(second.hasWaited());
    EXPECT_EQ(second.next(), Answer::Make) << "what failed for one fails for all";
    EXPECT_FALSE(second.isHeld());
  });
  ::usleep(30'000);
  isFinished = true;
  first.reset();
  other.join();
}

TEST_F(CacheClaimTest, AKilledHolderIsSucceededAtOnce) {
  for (bool isReaped : {true, false}) {
    pid_t holder = startHolder();
    ::kill(holder, SIGKILL);
    if (isReaped)
      ::waitpid(holder, nullptr, 0);
    CacheClaim claim(&files, key, kForEver);
    EXPECT_EQ(claim.next(), Answer::LookAgain);
    EXPECT_TRUE(claim.isHeld());
    if (!isReaped)
      ::waitpid(holder, nullptr, 0);
  }
  EXPECT_TRUE(files.list().empty());
}

TEST_F(CacheClaimTest, PatienceWithAHangingHolderEnds) {
  pid_t holder = startHolder();
  ::kill(holder, SIGSTOP);
  {
    CacheClaim claim(&files, key, 0.1);
    EXPECT_EQ(claim.next(), Answer::LookAgain);
    EXPECT_TRUE(claim.isHeld());
    EXPECT_TRUE(claim.hasWaited());
  }
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
}

TEST_F(CacheClaimTest, AHolderThatWakesUpLeavesItsSuccessorsClaim) {
  auto slow = std::make_unique<CacheClaim>(&files, key, kForEver);
  slow->next();
  CacheClaim successor(&files, key, 0.05);
  successor.next();
  ASSERT_TRUE(successor.isHeld());
  slow.reset();
  EXPECT_TRUE(claimExists());
}

TEST_F(CacheClaimTest, PatienceWithAnotherMachineEndsWhateverItsClockSays) {
  for (time_t age : {0, -100'000}) { // now; in the future
    writeClaim("sectile claim\nmachine elsewhere/1\nprocess 1\nstart 1\nnonce 1\n", age);
    CacheClaim claim(&files, key, 0.1);
    EXPECT_EQ(claim.next(), Answer::LookAgain);
    EXPECT_TRUE(claim.isHeld());
  }
  // Old: nobody waits again for what somebody has waited for.
  writeClaim("sectile claim\nmachine elsewhere/1\nprocess 1\nstart 1\nnonce 1\n",
             2 * int(kForEver));
  CacheClaim claim(&files, key, kForEver);
  EXPECT_EQ(claim.next(), Answer::LookAgain);
  EXPECT_FALSE(claim.hasWaited());
}

TEST_F(CacheClaimTest, AProcessThatOnlyHasTheHoldersNumberIsNotTheHolder) {
  std::string own;
  {
    CacheClaim claim(&files, key, kForEver);
    claim.next();
    own = files.read(claimFile).content;
  }
  size_t start = own.find("start ") + 6;
  own.replace(start, own.find('\n', start) - start, "1");
  writeClaim(own);
  CacheClaim claim(&files, key, kForEver);
  EXPECT_EQ(claim.next(), Answer::LookAgain);
  EXPECT_TRUE(claim.isHeld());
}

TEST_F(CacheClaimTest, AnyContentEndsInAClaimOrACompile) {
  for (const char *content :
       {"", "\n", "sectile claim", "sectile claim\nmachine x\nprocess -1\nstart 1\n",
        "sectile claim\nmachine x\nprocess 99999999999999999999\nstart 1\n"}) {
    writeClaim(content);
    CacheClaim claim(&files, key, 0.05);
    EXPECT_EQ(claim.next(), Answer::LookAgain);
    EXPECT_EQ(claim.next(), Answer::Make);
  }
  // Not a file at all.
  ASSERT_EQ(::mkdir((folder.path + "/" + claimFile).c_str(), 0700), 0);
  CacheClaim claim(&files, key, kForEver);
  EXPECT_EQ(claim.next(), Answer::Make);
}

TEST_F(CacheClaimTest, AChildOfTheHolderDoesNotGiveTheClaimBack) {
  CacheClaim claim(&files, key, kForEver);
  claim.next();
  EXPECT_EQ(inChild([&] {
              claim.~CacheClaim();
              return true;
            }),
            0);
  EXPECT_TRUE(claimExists());
}

TEST_F(CacheClaimTest, ASuccessorThatDiesIsSucceeded) {
  // The first holder is gone, and so is who was about to take over.
  pid_t holder = startHolder();
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  for (int step = 0;; ++step) {
    Ended ended = killedAtStep(step, [&] {
      CacheClaim claim(&files, key, kForEver);
      claim.next();
    });
    if (ended == Ended::NotTraceable)
      GTEST_SKIP() << "this machine does not let a process trace another";
    if (ended == Ended::Finished)
      break;
    CacheClaim claim(&files, key, kForEver);
    ASSERT_EQ(claim.next(), Answer::LookAgain) << step;
    ASSERT_TRUE(claim.isHeld()) << step;
  }
}

TEST_F(CacheClaimTest, WithoutPatienceOrAFolderNothingIsClaimed) {
  CacheClaim impatient(&files, key, 0), nowhere(nullptr, key, kForEver);
  EXPECT_EQ(impatient.next(), Answer::Make);
  EXPECT_EQ(nowhere.next(), Answer::Make);
  EXPECT_TRUE(files.list().empty());
}

} // namespace
