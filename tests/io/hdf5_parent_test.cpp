// The HDF5 worker process when its parent ends.
#include <atomic>
#include <csignal>
#include <future>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hdf5/reader.h"
#include "hdf5_files.h"

namespace octet::io {
namespace {

/// State of a looping worker, in shared memory.
struct Shared {
  std::atomic<pid_t> child = 0;
};
Shared* shared = nullptr;

void loop(std::string_view) {
  shared->child = getpid();
  while (shared->child != 0) {
  }
}

pid_t child_in_loop() {
  while (shared->child == 0) sched_yield();
  return shared->child;
}

/// Reads a file whose worker enters that loop with each request.
Hdf5Reader reader(const FileLimits& limits = {}) {
  Hdf5Image image;
  image.dataset("w", H5T_IEEE_F32LE, {2}, {1.f, 2.f});
  return Hdf5Reader(image.finish(), "a.h5", limits, loop);
}

class Hdf5WorkerAlone : public ::testing::Test {
 protected:
  Hdf5WorkerAlone() {
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared = new (memory) Shared;
    // Orphans become children of this process.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  ~Hdf5WorkerAlone() override {
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    munmap(shared, sizeof(Shared));
  }
};

TEST_F(Hdf5WorkerAlone, EndsIfItsParentIsKilled) {
#ifdef OCTET_EMULATED
  GTEST_SKIP() << "the emulator takes in no orphans";
#endif
  const pid_t parent = fork();
  if (parent == 0) {
    // The child's own limit ends the loop as a last resort.
    (void)reader({.time_limit = 20}).kind("w");
    _exit(0);
  }
  const pid_t child = child_in_loop();
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << "ended by its own limit, signal " << WTERMSIG(status);
}

TEST_F(Hdf5WorkerAlone, SurvivesTheThreadThatStartedIt) {
  std::optional<Hdf5Reader> file;
  std::promise<void> started, over;
  std::thread starter([&] {
    file = reader();
    started.set_value();
    over.get_future().wait();
  });
  started.get_future().wait();
  std::thread asking([&] { EXPECT_EQ(file->kind("w"), Hdf5Kind::dataset); });
  child_in_loop();
  over.set_value();
  starter.join();
  shared->child = 0;
  asking.join();
}

}  // namespace
}  // namespace octet::io
