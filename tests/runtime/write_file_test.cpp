// Existing targets of writes, and processes that are killed or blocked while
// writing.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "tests/support.h"
#include "tests/temp_folder.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

int64_t entries(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), {});
}

struct stat status_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status;
}

void make_pipe(const fs::path& path) {
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
}

Failure refusal(const fs::path& path) {
  return failure_of<IoError>([&] { write_file(path, "x"); });
}

/// A child process that runs `body`.
class Process {
 public:
  explicit Process(const std::function<void()>& body) : number_(::fork()) {
    if (number_ != 0) return;
    try {
      body();
      ::_exit(0);
    } catch (const std::exception& error) {
      (void)!::write(STDERR_FILENO, error.what(), std::strlen(error.what()));
      ::_exit(1);
    }
  }
  /// Status as returned by waitpid.
  int wait() const {
    int status = 0;
    ::waitpid(number_, &status, 0);
    return status;
  }
  void kill() const {
    ::kill(number_, SIGKILL);
    wait();
  }

 private:
  pid_t number_;
};

TEST(WriteFile, WritesIntoAPipeInsteadOfReplacingIt) {
  const TempFolder folder;
  const fs::path pipe = folder / "pipe";
  make_pipe(pipe);
  // The reader exists already, so that no process waits.
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  write_file(pipe, "abc");
  ASSERT_TRUE(fs::is_fifo(pipe));
  char got[4] = {};
  EXPECT_EQ(::read(reader, got, 3), 3);
  EXPECT_STREQ(got, "abc");
  ::close(reader);
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(WriteFile, WritesToACharacterDevice) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) GTEST_SKIP() << "no pseudo terminals";
  ASSERT_EQ(::unlockpt(terminal), 0);
  const TempFolder folder;
  fs::create_symlink(::ptsname(terminal), folder / "link");
  for (const fs::path& path :
       {fs::path(::ptsname(terminal)), folder / "link"}) {
    write_file(path, "abc");
    char got[4] = {};
    EXPECT_EQ(::read(terminal, got, 3), 3);
    EXPECT_STREQ(got, "abc");
  }
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_TRUE(fs::is_character_file(::ptsname(terminal)));
  ::close(terminal);
}

TEST(WriteFile, ContinuesAtThePositionOfAnOpenDescriptor) {
  const TempFolder folder;
  const int open = ::open((folder / "f").c_str(), O_WRONLY | O_CREAT, 0644);
  ASSERT_EQ(::write(open, "ab", 2), 2);
  fs::create_symlink(fmt::format("/proc/self/fd/{}", open), folder / "link");
  const auto number = status_of(folder / "f").st_ino;
  write_file(folder / "link", "cd");
  ASSERT_EQ(::write(open, "ef", 2), 2);
  ::close(open);
  EXPECT_EQ(read_file(folder / "f"), "abcdef");
  EXPECT_EQ(status_of(folder / "f").st_ino, number);
}

TEST(WriteFile, RejectsFoldersAndSockets) {
  const TempFolder folder;
  fs::create_directory(folder / "folder");
  EXPECT_EQ(refusal(folder / "folder"),
            (Failure{"cannot_write", (folder / "folder").string()}));
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = (folder / "socket").string();
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(
      ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(refusal(folder / "socket"),
            (Failure{"cannot_write", (folder / "socket").string()}));
  EXPECT_TRUE(fs::is_socket(folder / "socket"));
  ::close(socket);
  EXPECT_EQ(entries(folder.path()), 2);
}

TEST(WriteFile, FollowsLinksAndKeepsThem) {
  const TempFolder folder;
  fs::create_directory(folder / "there");
  write_file(folder / "there" / "f", "old");
  fs::create_symlink("there/f", folder / "inner");
  fs::create_symlink(folder / "inner", folder / "outer");
  write_file(folder / "outer", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "outer"));
  EXPECT_TRUE(fs::is_symlink(folder / "inner"));
  EXPECT_FALSE(fs::is_symlink(folder / "there" / "f"));
  EXPECT_EQ(read_file(folder / "there" / "f"), "new");
  EXPECT_EQ(entries(folder.path()), 3);
  EXPECT_EQ(entries(folder / "there"), 1);
}

TEST(WriteFile, CreatesTheTargetOfALink) {
  const TempFolder folder;
  fs::create_directory(folder / "there");
  fs::create_symlink("there/f", folder / "link");
  write_file(folder / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "there" / "f"), "new");
}

TEST(WriteFile, RejectsALoopOfLinks) {
  const TempFolder folder;
  fs::create_symlink("b", folder / "a");
  fs::create_symlink("a", folder / "b");
  EXPECT_EQ(refusal(folder / "a"),
            (Failure{"cannot_write", (folder / "a").string()}));
  EXPECT_TRUE(fs::is_symlink(folder / "a"));
}

TEST(WriteFile, PreservesTheModeOfTheReplacedFile) {
  const TempFolder folder;
  for (const mode_t mode : {0600u, 0640u, 0755u, 0666u, 04711u}) {
    write_file(folder / "f", "old");
    ::chmod((folder / "f").c_str(), mode);
    write_file(folder / "f", "new");
    EXPECT_EQ(status_of(folder / "f").st_mode & 07777u, mode);
    EXPECT_EQ(read_file(folder / "f"), "new");
  }
}

TEST(WriteFile, PreservesTheOwnerIfPermitted) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const TempFolder folder;
  write_file(folder / "f", "old");
  ASSERT_EQ(::chown((folder / "f").c_str(), 12345, 23456), 0);
  ::chmod((folder / "f").c_str(), 0660);
  write_file(folder / "f", "new");
  EXPECT_EQ(status_of(folder / "f").st_uid, 12345u);
  EXPECT_EQ(status_of(folder / "f").st_gid, 23456u);
  EXPECT_EQ(status_of(folder / "f").st_mode & 07777u, 0660u);
}

TEST(WriteFile, DoesNotGrantAccessToAnotherGroup) {
  if (::geteuid() != 0) GTEST_SKIP() << "root makes a file of another group";
  const TempFolder folder;
  ::chmod(folder.path().c_str(), 0777);
  write_file(folder / "f", "old");
  ASSERT_EQ(::chown((folder / "f").c_str(), 0, 23456), 0);
  ::chmod((folder / "f").c_str(), 0664);
  const Process other([&] {
    if (::setgid(34567) != 0 || ::setuid(12345) != 0) ::_exit(2);
    write_file(folder / "f", "new");
  });
  ASSERT_EQ(other.wait(), 0);
  EXPECT_EQ(read_file(folder / "f"), "new");
  EXPECT_EQ(status_of(folder / "f").st_gid, 34567u);
  EXPECT_EQ(status_of(folder / "f").st_mode & 07777u, 0644u);
}

TEST(WriteFile, ReportsTheUnwritableFolder) {
  const TempFolder folder;
  EXPECT_EQ(refusal(folder / "no" / "f"),
            (Failure{"file_not_found", (folder / "no" / "f").string()}));
  // As a user without privileges.
  const Process other([&] {
    ::chmod(folder.path().c_str(), 0555);
    if (::geteuid() == 0 && ::setuid(12345) != 0) ::_exit(2);
    const Failure expected{"cannot_write", folder.path().string()};
    if (refusal(folder / "f") != expected) ::_exit(3);
  });
  EXPECT_EQ(other.wait(), 0);
}

TEST(WriteFile, AcceptsTheLongestNames) {
  const TempFolder folder;
  write_file(folder / std::string(255, 'n'), "x");
  EXPECT_EQ(read_file(folder / std::string(255, 'n')), "x");
}

/// Creates the file that a process killed before the rename leaves.
void leave(const fs::path& path) { write_file(path, "left"); }

TEST(WriteFile, RemovesLeftoversOfKilledProcesses) {
  const TempFolder folder;
  leave(folder / ".f.octet-0");
  leave(folder / ".f.octet-7");
  leave(folder / ".g.octet-0");
  write_file(folder / "f", "new");
  EXPECT_EQ(read_file(folder / "f"), "new");
  EXPECT_FALSE(fs::exists(folder / ".f.octet-0"));
  EXPECT_FALSE(fs::exists(folder / ".f.octet-7"));
  EXPECT_TRUE(fs::exists(folder / ".g.octet-0"));  // of another target
}

TEST(WriteFile, KeepsTemporariesOfRunningProcesses) {
  const TempFolder folder;
  leave(folder / ".f.octet-0");
  const int living = ::open((folder / ".f.octet-0").c_str(), O_RDONLY);
  ASSERT_EQ(::flock(living, LOCK_EX | LOCK_NB), 0);
  write_file(folder / "f", "new");
  EXPECT_EQ(read_file(folder / "f"), "new");
  EXPECT_EQ(read_file(folder / ".f.octet-0"), "left");
  ::close(living);
  write_file(folder / "f", "newer");
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(WriteFile, KeepsUnrelatedFiles) {
  const TempFolder folder;
  write_file(folder / "other", "other");
  fs::create_symlink("other", folder / ".f.octet-0");
  fs::create_directory(folder / ".f.octet-1");
  make_pipe(folder / ".f.octet-2");
  write_file(folder / "f", "new");
  EXPECT_EQ(read_file(folder / "f"), "new");
  EXPECT_EQ(read_file(folder / "other"), "other");
  EXPECT_EQ(entries(folder.path()), 5);
}

/// Hides /proc from this process. Returns false if not permitted.
bool hide_proc() {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", "/proc", "tmpfs", 0, nullptr) == 0;
}

TEST(WriteFile, WorksWithoutProc) {
  const TempFolder folder;
  write_file(folder / "f", "old");
  constexpr int kNotAllowed = 77;
  const Process other([&] {
    if (!hide_proc()) ::_exit(kNotAllowed);
    write_file(folder / "f", "new");
    write_file(folder / "g", "new");
    {
      FileSet files;
      files.add(folder / "h", "never in place");
    }
  });
  const int status = other.wait();
  if (WEXITSTATUS(status) == kNotAllowed) GTEST_SKIP() << "needs root";
  ASSERT_EQ(status, 0);
  EXPECT_EQ(read_file(folder / "f"), "new");
  EXPECT_EQ(read_file(folder / "g"), "new");
  EXPECT_EQ(entries(folder.path()), 2);
}

TEST(WriteFile, CleansUpAfterAProcessKilledWhileWriting) {
  const TempFolder folder;
  constexpr int kNotAllowed = 77;
  // Without /proc the temporary file is named from the start.
  const Process other([&] {
    if (!hide_proc()) ::_exit(kNotAllowed);
    FileSet files;
    files.add(folder / "f", "never in place");
    ::raise(SIGKILL);
  });
  const int status = other.wait();
  if (WIFEXITED(status)) GTEST_SKIP() << "needs root";
  EXPECT_EQ(entries(folder.path()), 1);
  write_file(folder / "f", "new");
  EXPECT_EQ(entries(folder.path()), 1);
  EXPECT_EQ(read_file(folder / "f"), "new");
}

TEST(FileSetTest, ChangesNothingUntilItIsCommitted) {
  const TempFolder folder;
  write_file(folder / "a", "old");
  {
    FileSet files;
    files.add(folder / "a", "new");
    files.add(folder / "b", "new");
    EXPECT_EQ(read_file(folder / "a"), "old");
    EXPECT_FALSE(fs::exists(folder / "b"));
  }
  EXPECT_EQ(read_file(folder / "a"), "old");
  EXPECT_EQ(entries(folder.path()), 1);
  FileSet files;
  files.add(folder / "a", "new");
  files.add(folder / "b", "newer");
  files.commit(folder / "manifest", "newest");
  EXPECT_EQ(read_file(folder / "a"), "new");
  EXPECT_EQ(read_file(folder / "b"), "newer");
  EXPECT_EQ(read_file(folder / "manifest"), "newest");
  EXPECT_EQ(entries(folder.path()), 3);
}

TEST(FileSetTest, KeepsTheOldSetOnFailure) {
  const TempFolder folder;
  write_file(folder / "a", "old");
  FileSet files;
  files.add(folder / "a", "new");
  EXPECT_EQ(failure_of<IoError>(
                [&] { files.commit(folder / "no" / "manifest", "new"); }),
            (Failure{"file_not_found", (folder / "no" / "manifest").string()}));
  EXPECT_EQ(read_file(folder / "a"), "old");
}

/// More than a pipe buffers: writing blocks until a reader consumes it.
const std::string kLong(1 << 20, 'l');

TEST(FileSetTest, HasNoManifestIfKilledBetweenTwoFiles) {
  const TempFolder folder;
  for (const char* name : {"a", "b", "manifest"}) {
    write_file(folder / name, "old");
  }
  make_pipe(folder / "pipe");
  const Process writer([&] {
    FileSet files;
    files.add(folder / "a", "new");
    files.add(folder / "pipe", kLong);
    files.add(folder / "b", "new");
    files.commit(folder / "manifest", "new");
  });
  // Waits until the writer blocks at the pipe.
  const int reader = ::open((folder / "pipe").c_str(), O_RDONLY);
  EXPECT_EQ(read_file(folder / "a"), "new");
  writer.kill();
  ::close(reader);
  EXPECT_EQ(read_file(folder / "b"), "old");
  EXPECT_FALSE(fs::exists(folder / "manifest")) << "of a set of two runs";
  EXPECT_EQ(entries(folder.path()), 3);
}

}  // namespace
}  // namespace octet
