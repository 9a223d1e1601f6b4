#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

TEST(WriteFile, RefusesAnEmptyPath) {
  EXPECT_THAT(error_of<IoError>([] { write_file("", "x"); }),
              ::testing::HasSubstr("expected a path, got an empty one"));
}

// The system would truncate the path and use another file.
TEST(Files, WithNulInTheirNamesAreRefused) {
  const TempFolder folder;
  write_file(folder / "f", "x");
  const fs::path path(std::string((folder / "f").string()) + '\0' + "g");
  const auto refused = [](auto body) {
    EXPECT_THAT(error_of<IoError>(body), ::testing::HasSubstr("NUL"));
  };
  refused([&] { (void)read_file(path); });
  refused([&] { write_file(path, "y"); });
  refused([&] { FileSet().add(path, "y"); });
  refused([&] { ensure_writable_folder(path); });
  refused([&] { FolderLock lock(path); });
  EXPECT_EQ(read_part(path, 0, 1), "");
  EXPECT_EQ(read_file(folder / "f"), "x");
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
  EXPECT_THAT(error_of<IoError>([&] { write_file(folder.path(), "x"); }),
              ::testing::HasSubstr("expected a file to write, got a folder"));
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
  // A file size limit fails in the middle of a write, like a full disk.
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

TEST(WriteFile, WritesPieces) {
  const TempFolder folder;
  write_file(folder / "f", [](const PutBytes& put) {
    put("one ");
    put("");
    put("two");
  });
  EXPECT_EQ(read_file(folder / "f"), "one two");
  EXPECT_THROW(write_file(folder / "f",
                          [](const PutBytes& put) {
                            put("three");
                            throw ValueError("no more");
                          }),
               ValueError);
  EXPECT_EQ(read_file(folder / "f"), "one two");
  EXPECT_EQ(entries(folder.path()), 1);
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

TEST(ReadFile, DoesNotWaitForAPipe) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(error_of<IoError>([&] { (void)read_file(folder / "pipe"); }),
              ::testing::AllOf(::testing::HasSubstr("expected a file, got a "
                                                    "pipe"),
                               ::testing::HasSubstr("Hint: ")));
  EXPECT_EQ(read_part(folder / "pipe", 0, 8), "");
}

TEST(ReadPart, GivesWhatIsThere) {
  const TempFolder folder;
  write_file(folder / "f", "12345");
  EXPECT_EQ(read_part(folder / "f", 1, 2), "23");
  EXPECT_EQ(read_part(folder / "f", 3, 9), "45");
  EXPECT_EQ(read_part(folder / "f", 5, 1), "");
  EXPECT_EQ(read_part(folder / "f", 9, 1), "");
  EXPECT_EQ(read_part(folder / "f", -2, 2), "45");
  EXPECT_EQ(read_part(folder / "f", -6, 2), "");
  EXPECT_EQ(read_part(folder / "missing", 0, 1), "");
  EXPECT_EQ(read_part(folder.path(), 0, 1), "");
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
