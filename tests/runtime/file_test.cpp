#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "tests/e2e/command.h"
#include "tests/support.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

int64_t entries(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), {});
}

TEST(WriteFile, RefusesAnEmptyPath) {
  EXPECT_THAT(error_of<IoError>([] { write_file("", "x"); }),
              ::testing::HasSubstr("expected a path, got an empty one"));
}

TEST(WriteFile, IntoAFolderThatIsMissingSaysSo) {
  const TempFolder folder;
  EXPECT_THAT(
      error_of<IoError>([&] { write_file(folder / "none/f", "x"); }),
      ::testing::HasSubstr("expected a folder '" + (folder / "none").string() +
                           "' to write into, got none. Hint: create"));
  EXPECT_TRUE(folder.empty());
}

TEST(WriteFile, OverAFolderSaysSo) {
  const TempFolder folder;
  EXPECT_THAT(
      error_of<IoError>([&] { write_file(folder.path(), "x"); }),
      ::testing::HasSubstr("the name of a file to write, got a folder"));
  EXPECT_TRUE(folder.empty());
}

TEST(WriteFile, WritesWhatIsReadBack) {
  const TempFolder folder;
  const std::string contents("a\0b\n", 4);
  write_file(folder / "f", contents);
  EXPECT_EQ(read_file(folder / "f"), contents);
  write_file(folder / "f", "");
  EXPECT_EQ(read_file(folder / "f"), "");
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(WriteFile, MakesFilesThatOthersMayRead) {
  const TempFolder folder;
  write_file(folder / "f", "x");
  EXPECT_NE(fs::status(folder / "f").permissions() & fs::perms::group_read,
            fs::perms::none);
}

TEST(WriteFile, RefusesAMissingFolder) {
  const TempFolder folder;
  EXPECT_THROW(write_file(folder / "no" / "f", "x"), IoError);
}

TEST(WriteFile, KeepsTheOldFileWhenItCannotWriteTheNew) {
  const TempFolder folder;
  write_file(folder / "f", "old");
  // A limit on file sizes fails in the middle of a write, as a full disk does.
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{10000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(write_file(folder / "f", std::string(100000, 'n')), IoError);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_file(folder / "f"), "old");
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(WriteFile, PassesOverWhatAKilledProcessOfItsNumberLeft) {
  const TempFolder folder;
  const auto left = [&](int descriptor) {
    return folder / fmt::format(".f.{}.{}", ::getpid(), descriptor);
  };
  for (int descriptor = 0; descriptor < 64; ++descriptor) {
    write_file(left(descriptor), "left");
  }
  write_file(folder / "f", "new");
  EXPECT_EQ(read_file(folder / "f"), "new");
  EXPECT_EQ(read_file(left(9)), "left");
}

TEST(WriteFile, DoesNotReplaceAFolder) {
  const TempFolder folder;
  fs::create_directory(folder / "f");
  EXPECT_THROW(write_file(folder / "f", "x"), IoError);
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(ReadFile, RefusesWhatIsNoFile) {
  const TempFolder folder;
  EXPECT_THROW((void)read_file(folder / "missing"), IoError);
  EXPECT_THROW((void)read_file(folder.path()), IoError);
}

TEST(ReadFile, RefusesMoreThanItsLimit) {
  const TempFolder folder;
  write_file(folder / "f", "12345");
  EXPECT_EQ(read_file(folder / "f", 5), "12345");
  EXPECT_THROW((void)read_file(folder / "f", 4), IoError);
  EXPECT_THROW((void)read_file("/dev/zero"), IoError);
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
  files.commit();
  EXPECT_EQ(read_file(folder / "a"), "new");
  EXPECT_EQ(read_file(folder / "b"), "newer");
  EXPECT_EQ(entries(folder.path()), 2);
}

TEST(FolderLockTest, KeepsASecondOneOut) {
  const TempFolder folder;
  {
    const FolderLock lock(folder.path());
    EXPECT_THROW(FolderLock(folder.path()), IoError);
  }
  EXPECT_NO_THROW(FolderLock(folder.path()));
  EXPECT_EQ(entries(folder.path()), 0);
}

TEST(ReadFile, RefusesAnEmptyPath) {
  EXPECT_THROW((void)read_file(""), IoError);
  EXPECT_THROW(ensure_writable_folder(""), IoError);
}

TEST(EnsureWritableFolder, RefusesALoopOfLinks) {
  const TempFolder folder;
  fs::create_symlink(folder / "loop", folder / "loop");
  EXPECT_THROW(ensure_writable_folder(folder / "loop"), IoError);
  EXPECT_THROW(ensure_writable_folder(folder / std::string(300, 'x')), IoError);
}

TEST(EnsureWritableFolder, MakesItWithItsParents) {
  const TempFolder folder;
  ensure_writable_folder(folder / "a" / "b");
  EXPECT_TRUE(fs::is_directory(folder / "a" / "b"));
  EXPECT_EQ(entries(folder / "a" / "b"), 0);
}

TEST(EnsureWritableFolder, RefusesAFileInTheWay) {
  const TempFolder folder;
  write_file(folder / "f", "x");
  EXPECT_THROW(ensure_writable_folder(folder / "f"), IoError);
  EXPECT_THROW(ensure_writable_folder(folder / "f" / "g"), IoError);
}

}  // namespace
}  // namespace octet
