// A worker can cause only errors in its parent. A hook makes workers misbehave.
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

#include "hdf5/reader.h"
#include "hdf5/socket.h"
#include "hdf5/wire.h"
#include "hdf5_files.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

using Hook = void (*)(std::string_view path);

std::string small_file() {
  Hdf5Image image;
  image.dataset("w", H5T_IEEE_F32LE, {2}, {1.f, 2.f});
  return image.finish();
}

Hdf5Reader reader_with(Hook hook, const FileLimits& limits = {}) {
  return Hdf5Reader(small_file(), "a.h5", limits, hook);
}

Failure refusal(Hook hook, const FileLimits& limits = {}) {
  return failure_of<FormatError>(
      [&] { (void)reader_with(hook, limits).f32("w", {2}); });
}

ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

TEST(Hdf5Worker, TurnsACrashIntoAnError) {
  EXPECT_EQ(refusal([](std::string_view) { std::abort(); }),
            (Failure{"process_failed", "HDF5 file"}));
  EXPECT_EQ(refusal([](std::string_view) { raise(SIGSEGV); }),
            (Failure{"process_failed", "HDF5 file"}));
  EXPECT_EQ(refusal([](std::string_view) { _exit(3); }),
            (Failure{"process_failed", "HDF5 file"}));
}

TEST(Hdf5Worker, RepeatsItsErrorAfterwards) {
  const Hdf5Reader file = reader_with([](std::string_view) { std::abort(); });
  const auto refusal_of = [&] {
    return failure_of<FormatError>([&] { file.kind("w"); });
  };
  const Failure first = refusal_of();
  EXPECT_EQ(first, (Failure{"process_failed", "HDF5 file"}));
  EXPECT_EQ(refusal_of(), first);
  EXPECT_EQ(failure_of<FormatError>([&] { (void)file.f32("w", {2}); }), first);
}

TEST(Hdf5Worker, IsStoppedWhenItTakesTooLong) {
  const FileLimits limits{.time_limit = 0.2};
  EXPECT_EQ(refusal(
                [](std::string_view) {
                  volatile bool forever = true;
                  while (forever) {
                  }
                },
                limits),
            (Failure{"time_limit", "HDF5 file"}));
  EXPECT_EQ(refusal([](std::string_view) { pause(); }, limits),
            (Failure{"time_limit", "HDF5 file"}));
}

TEST(Hdf5Worker, HasOneTimeLimitForAllRequests) {
  EXPECT_EQ(failure_of<FormatError>([] {
              const Hdf5Reader file =
                  reader_with([](std::string_view) { usleep(30'000); },
                              {.time_limit = 0.2});
              for (int i = 0; i < 100; ++i) file.kind("w");
            }),
            (Failure{"time_limit", "HDF5 file"}));
}

// Sanitizers prevent these limits, and with g++ 12's, a worker may wait forever
// for an allocator lock that another thread held.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Hdf5Worker, CannotOpenFiles) {
  EXPECT_EQ(refusal([](std::string_view) {
              const int got = open("/etc/passwd", O_RDONLY);
              _exit(got < 0 && errno == EMFILE ? 42 : 1);
            }),
            (Failure{"process_failed", "HDF5 file"}));
}

TEST(Hdf5Worker, WorksConcurrentlyInThreads) {
  const std::string bytes = small_file();
  constexpr int64_t kFiles = 40;
  std::vector<float> last(kFiles);
  const int threads = num_threads();
  set_num_threads(4);
  parallel_for(kFiles, [&](int64_t i) {
    const Hdf5Reader file(
        bytes, "a.h5",
        {.isolation = i % 3 == 0 ? Isolation::none : Isolation::child_process});
    last[static_cast<size_t>(i)] = values(file.f32("w", {2}))[1];
  });
  set_num_threads(threads);
  EXPECT_THAT(last, ::testing::Each(2.f));
}

TEST(Hdf5Worker, IsLimitedInMemory) {
#ifdef OCTET_EMULATED
  GTEST_SKIP() << "the emulator does not limit a process' memory";
#endif
  const FileLimits limits{.memory_limit = 64 << 20};
  EXPECT_EQ(
      refusal(
          [](std::string_view) {
            // Not malloc, which may reuse memory that the parent has freed.
            int taken = 0;
            while (mmap(nullptr, 1 << 20, PROT_READ,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
              ++taken;
            }
            _exit(taken > 32 && taken <= 64 ? 42 : 1);
          },
          limits),
      (Failure{"process_failed", "HDF5 file"}));
  Hdf5Image image;
  const Handle packed = chunked({1 << 20});
  H5Pset_deflate(packed.get(), 1);
  const std::vector<float> zeros(32 << 20);  // 128 MiB
  image.dataset("bomb", H5T_IEEE_F32LE, {zeros.size()}, zeros.data(),
                packed.get());
  const std::string bytes = image.finish();
  const auto read = [&](int64_t limit) {
    (void)Hdf5Reader(bytes, "a.h5", {.memory_limit = limit})
        .f32("bomb", {32 << 20});
  };
  EXPECT_EQ(failure_of<FormatError>([&] { read(64 << 20); }),
            (Failure{"memory_limit", "HDF5 file"}));
  EXPECT_NO_THROW(read(int64_t{1} << 30));
}
#endif

TEST(Hdf5Worker, InheritsOnlyItsSocket) {
  const int other = open("/dev/zero", O_RDONLY);
  EXPECT_EQ(refusal([](std::string_view) {
              int still_open = 0;
              for (int fd = 3; fd < 1024; ++fd) {
                still_open += fcntl(fd, F_GETFD) >= 0;
              }
              _exit(42 + still_open);
            }),
            (Failure{"process_failed", "HDF5 file"}));
  close(other);
}

TEST(Hdf5Worker, LeavesNoProcessAndNoFileBehind) {
  const ptrdiff_t before = open_files();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(reader_with(nullptr).kind("w"), Hdf5Kind::dataset);
    EXPECT_TRUE(failed(refusal([](std::string_view) { std::abort(); })));
    EXPECT_THROW(Hdf5Reader("\x89HDF\r\n\x1a\nbroken", "b.h5"), FormatError);
  }
  EXPECT_EQ(open_files(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Hdf5Worker, WorksIfTheProgramIgnoresItsChildren) {
  struct sigaction before {};
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignore, &before);
  EXPECT_EQ(reader_with(nullptr).kind("w"), Hdf5Kind::dataset);
  EXPECT_TRUE(failed(refusal([](std::string_view) { std::abort(); })));
  sigaction(SIGCHLD, &before, nullptr);
}

TEST(Hdf5Worker, SurvivesInterruptedReads) {
  struct sigaction before {};
  struct sigaction count {};
  static volatile sig_atomic_t signals = 0;
  count.sa_handler = [](int) { signals = signals + 1; };  // no SA_RESTART
  sigaction(SIGALRM, &count, &before);
  const itimerval often{.it_interval = {0, 500}, .it_value = {0, 500}};
  const itimerval never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  Hdf5Image image;
  const std::vector<float> values(1 << 20, 3.f);
  image.dataset("w", H5T_IEEE_F32LE, {values.size()}, values.data());
  const Hdf5Reader file(image.finish(), "a.h5");
  while (signals < 20) {
    const Tensor read = file.f32("w", {1 << 20});
    ASSERT_EQ(read.f32().back(), 3.f);
  }
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
}

TEST(Hdf5Worker, CanBeUsedFromAnotherThread) {
  std::optional<Hdf5Reader> file;
  std::thread([&] { file = reader_with(nullptr); }).join();
  EXPECT_THAT(values(file->f32("w", {2})), ElementsAre(1, 2));
}

// A file that takes over the worker can send any message.
constexpr int kSocket = 3;

void say(ResponseHeader::Status status, uint64_t bytes, std::string_view text) {
  const ResponseHeader head{.status = status, .bytes = bytes};
  (void)!write(kSocket, &head, sizeof head);
  (void)!write(kSocket, text.data(), text.size());
}

void respond(const Config& value) {
  const std::string bytes = to_wire(value);
  say(ResponseHeader::Status::value, bytes.size(), bytes);
}

TEST(Hdf5Worker, IsNotTrustedAboutLengths) {
  using enum ResponseHeader::Status;
  EXPECT_EQ(refusal([](std::string_view) { say(elements, ~0ull, ""); }),
            (Failure{"malformed_file", "HDF5 worker process"}));
  EXPECT_EQ(refusal([](std::string_view) { say(value, 8, "12345678"); }),
            (Failure{"malformed_file", "HDF5 worker process"}));
  EXPECT_EQ(refusal([](std::string_view) { say(format_error, ~0ull, ""); }),
            (Failure{"malformed_file", "HDF5 worker process"}));
  EXPECT_EQ(refusal([](std::string_view) {
              say(ResponseHeader::Status{99}, 0, "");
              pause();
            }),
            (Failure{"malformed_file", "HDF5 worker process"}));
  // A truncated message.
  EXPECT_EQ(refusal([](std::string_view) {
              say(elements, 8, "1234");
              _exit(5);
            }),
            (Failure{"process_failed", "HDF5 file"}));
}

TEST(Hdf5Worker, IsNotTrustedAboutValues) {
  const auto kind_after = [](Hook hook) {
    const Hdf5Reader file = reader_with(hook);
    return failure_of<FormatError>([&] { file.kind("w"); });
  };
  const auto shape_after = [](Hook hook) {
    const Hdf5Reader file = reader_with(hook);
    return failure_of<FormatError>([&] { file.shape("w"); });
  };
  using enum ResponseHeader::Status;
  EXPECT_EQ(kind_after([](std::string_view) { say(value, ~0ull, ""); }),
            (Failure{"malformed_file", "HDF5 worker process"}));
  EXPECT_EQ(kind_after([](std::string_view) { say(value, 1, "\x7f"); }),
            (Failure{"malformed_file", "HDF5 worker process"}));
  EXPECT_EQ(kind_after([](std::string_view) { respond("dataset"); }),
            (Failure{"malformed_file", "HDF5 file"}));
  EXPECT_EQ(shape_after([](std::string_view) { respond(Config::List{-1}); }),
            (Failure{"malformed_file", "HDF5 file"}));
  EXPECT_EQ(shape_after(
                [](std::string_view) { respond(Config::List(9, Config(1))); }),
            (Failure{"malformed_file", "HDF5 file"}));
  EXPECT_EQ(shape_after([](std::string_view) { respond(Config()); }),
            (Failure{"malformed_file", "HDF5 file"}));
}

TEST(Hdf5Worker, CannotWriteToATerminalThroughErrors) {
  EXPECT_EQ(refusal([](std::string_view) {
              std::string bytes =
                  to_wire(FormatError("internal", "subject", "text"));
              bytes.replace(bytes.find("sub"), 3, "\x1b[3");
              say(ResponseHeader::Status::format_error, bytes.size(), bytes);
            }),
            (Failure{"internal", "?[3ject"}));
}

TEST(Hdf5Socket, ReportsAClosedPeerWithoutASignal) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  EXPECT_EQ(send_all(ends[1], "abc"), Transfer::done);
  close(ends[1]);
  EXPECT_EQ(send_all(ends[0], "x"), Transfer::closed);  // SIGPIPE would kill
  char text[4] = {};
  EXPECT_EQ(receive_all(ends[0], text, 3), Transfer::done);
  EXPECT_STREQ(text, "abc");
  EXPECT_EQ(receive_all(ends[0], text, 1), Transfer::closed);
  close(ends[0]);
}

TEST(Hdf5Wire, PreservesRequestsAndValues) {
  const Hdf5Request request{.op = Hdf5Request::Op::read,
                            .path = "a/b",
                            .name = std::string("x\0y", 3),
                            .type = DType::i64,
                            .expected = {2, 0, 3}};
  const Hdf5Request same = request_from_wire(to_wire(request));
  EXPECT_EQ(same.op, request.op);
  EXPECT_EQ(same.path, request.path);
  EXPECT_EQ(same.name, request.name);
  EXPECT_EQ(same.type, request.type);
  EXPECT_EQ(same.expected, request.expected);
  for (const Config& value :
       {Config(), Config(true), Config(-1), Config(0.1), Config("caf\xc3\xa9"),
        Config(Config::List{}), Config(Config::List{"a", 1, 2.5, false})}) {
    EXPECT_EQ(value_from_wire(to_wire(value)), value);
  }
}

TEST(Hdf5Wire, RejectsEveryTruncationAndInvalidValue) {
  const std::string bytes = to_wire(Config(Config::List{"abc", 1, 0.5, true}));
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(value_from_wire(bytes.substr(0, size)), FormatError) << size;
  }
  EXPECT_THROW(value_from_wire(bytes + "x"), FormatError);
  EXPECT_THROW(
      value_from_wire(to_wire(Config(Config::List{Config(Config::List{})}))),
      FormatError);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    try {
      value_from_wire(damaged);
    } catch (const FormatError&) {
    }
  }
}

TEST(Hdf5Limits, AreChecked) {
  for (const FileLimits& limits :
       {FileLimits{.time_limit = 0}, FileLimits{.time_limit = -1},
        FileLimits{.time_limit = std::nan("")}}) {
    EXPECT_EQ(failure_of<ValueError>(
                  [&] { Hdf5Reader(small_file(), "a.h5", limits); }),
              (Failure{"out_of_range", "FileLimits.time_limit"}));
  }
  EXPECT_EQ(failure_of<ValueError>(
                [&] { Hdf5Reader(small_file(), "a.h5", {.memory_limit = 0}); }),
            (Failure{"out_of_range", "FileLimits.memory_limit"}));
  EXPECT_NO_THROW(
      Hdf5Reader(small_file(), "a.h5",
                 {.memory_limit = INT64_MAX,
                  .time_limit = std::numeric_limits<double>::infinity()}));
}

}  // namespace
}  // namespace octet::io
