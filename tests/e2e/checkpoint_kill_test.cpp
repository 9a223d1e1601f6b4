// A training that is killed twenty times and resumed has the same results, bit
// for bit, as an uninterrupted training.
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <octet/runtime/file.h>

#include "command.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = OCTET_BIN "/checkpoint_run";

/// The running program, and its events.
class Training {
 public:
  Training(const fs::path& checkpoints, const fs::path& out, int threads) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("pipe failed");
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::close(ends[0]);
      ::close(ends[1]);
      ::execl(kProgram, kProgram, checkpoints.c_str(), out.c_str(),
              std::to_string(threads).c_str(), nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    from_ = ends[0];
  }
  ~Training() { ::close(from_); }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  /// Returns the next event, 'b' or 's'; 0 at the end.
  char next() const {
    char event = 0;
    ssize_t got = 0;
    do {
      got = ::read(from_, &event, 1);
    } while (got < 0 && errno == EINTR);
    return got == 1 ? event : '\0';
  }
  /// Kills the program. Returns whether it was still running.
  bool kill() const {
    ::kill(process_, SIGKILL);
    return WIFSIGNALED(wait());
  }
  int exit_code() const {
    const int status = wait();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  int wait() const {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

  pid_t process_ = -1;
  int from_ = -1;
};

/// Waits for some microseconds.
void spin(uint64_t rounds) {
  volatile uint64_t count = 0;
  while (count < rounds) count = count + 1;
}

/// Returns the log without the column of seconds.
std::string rows(const fs::path& log) {
  std::istringstream lines(read_file(log));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    text += line.substr(0, line.rfind(',')) + "\n";
  }
  return text;
}

void expect_same(const fs::path& out, const fs::path& expected) {
  EXPECT_EQ(read_file(out / "history.txt"),
            read_file(expected / "history.txt"));
  EXPECT_TRUE(read_file(out / "model.h5") == read_file(expected / "model.h5"));
  for (const char* log : {"fp32.csv", "qat.csv"}) {
    EXPECT_EQ(rows(out / log), rows(expected / log));
  }
}

void run_undisturbed(const fs::path& checkpoints, const fs::path& out,
                     int threads) {
  const Training run(checkpoints, out, threads);
  while (run.next() != '\0') {
  }
  ASSERT_EQ(run.exit_code(), 0);
}

TEST(KilledTraining, HasTheSameResults) {
  constexpr int kKills = 20;
  const TempFolder folder;
  const fs::path expected = folder / "expected";
  run_undisturbed("-", expected, 2);

  std::mt19937_64 random(2024);
  int at_saves = 0;
  for (int i = 0; i < kKills; ++i) {
    const Training run(folder / "checkpoints", folder / "out", 1 + i % 3);
    // Kills during a batch or while a checkpoint is saved.
    const bool at_save = random() % 3 == 0;
    uint64_t left = at_save ? 2 + random() % 3 : 10 + random() % 40;
    while (left > 0) {
      const char event = run.next();
      ASSERT_NE(event, '\0') << "the training ended before kill " << i;
      if (event == (at_save ? 's' : 'b')) --left;
    }
    spin(random() % (at_save ? 4'000'000 : 300'000));
    ASSERT_TRUE(run.kill()) << i;
    at_saves += at_save ? 1 : 0;
  }
  EXPECT_GT(at_saves, 4);
  EXPECT_LT(at_saves, kKills - 4);
  EXPECT_FALSE(fs::exists(folder / "out" / "history.txt"));
  EXPECT_TRUE(fs::exists(folder / "checkpoints" / "qat"))
      << "all kills came too early";
  run_undisturbed(folder / "checkpoints", folder / "out", 2);
  expect_same(folder / "out", expected);

  // A further run has nothing left to do.
  const Training again(folder / "checkpoints", folder / "again", 1);
  EXPECT_EQ(again.next(), '\0');
  EXPECT_EQ(again.exit_code(), 0);
  expect_same(folder / "again", expected);
}

}  // namespace
}  // namespace octet
