#include <filesystem>

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

TEST(WriteFile, RejectsAnEmptyPath) {
  EXPECT_EQ(failure_of<IoError>([] { write_file("", "x"); }),
            (Failure{"missing_value", "file"}));
}

// The system would truncate the path and use another file.
TEST(Files, RejectNulBytesInPaths) {
  const TempFolder folder;
  write_file(folder / "f", "x");
  const fs::path path(std::string((folder / "f").string()) + '\0' + "g");
  const auto refused = [](const char* subject, auto body) {
    EXPECT_EQ(failure_of<IoError>(body), (Failure{"invalid_value", subject}));
  };
  refused("file", [&] { (void)read_file(path); });
  refused("file", [&] { write_file(path, "y"); });
  refused("file", [&] { FileSet().add(path, "y"); });
  refused("folder", [&] { ensure_writable_folder(path); });
  refused("folder", [&] { FolderLock lock(path); });
  EXPECT_EQ(read_part(path, 0, 1), "");
  EXPECT_EQ(read_file(folder / "f"), "x");
}

TEST(WriteFile, ReportsAMissingFolder) {
  const TempFolder folder;
  EXPECT_EQ(failure_of<IoError>([&] { write_file(folder / "none/f", "x"); }),
            (Failure{"file_not_found", (folder / "none/f").string()}));
  EXPECT_TRUE(folder.empty());
}

TEST(WriteFile, ReportsAFolderInPlaceOfTheFile) {
  const TempFolder folder;
  EXPECT_EQ(failure_of<IoError>([&] { write_file(folder.path(), "x"); }),
            (Failure{"cannot_write", folder.path().string()}));
  EXPECT_TRUE(folder.empty());
}

TEST(WriteFile, RoundTripsContents) {
  const TempFolder folder;
  const std::string contents("a\0b\n", 4);
  write_file(folder / "f", contents);
  EXPECT_EQ(read_file(folder / "f"), contents);
  write_file(folder / "f", "");
  EXPECT_EQ(read_file(folder / "f"), "");
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(WriteFile, CreatesFilesReadableByOthers) {
  const TempFolder folder;
  write_file(folder / "f", "x");
  EXPECT_NE(fs::status(folder / "f").permissions() & fs::perms::group_read,
            fs::perms::none);
}

TEST(WriteFile, RejectsAMissingFolder) {
  const TempFolder folder;
  EXPECT_EQ(failure_of<IoError>([&] { write_file(folder / "no" / "f", "x"); }),
            (Failure{"file_not_found", (folder / "no" / "f").string()}));
}

TEST(WriteFile, KeepsTheOldFileOnFailure) {
  const TempFolder folder;
  write_file(folder / "f", "old");
  // A file size limit fails in the middle of a write, like a full disk.
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{10000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_EQ(failure_of<IoError>(
                [&] { write_file(folder / "f", std::string(100000, 'n')); }),
            (Failure{"size_limit", (folder / "f").string()}));
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
  EXPECT_EQ(failure_of<ValueError>([&] {
              write_file(folder / "f", [](const PutBytes& put) {
                put("three");
                throw ValueError("invalid_value", "", "no more");
              });
            }),
            (Failure{"invalid_value", ""}));
  EXPECT_EQ(read_file(folder / "f"), "one two");
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(WriteFile, DoesNotReplaceAFolder) {
  const TempFolder folder;
  fs::create_directory(folder / "f");
  EXPECT_EQ(failure_of<IoError>([&] { write_file(folder / "f", "x"); }),
            (Failure{"cannot_write", (folder / "f").string()}));
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(ReadFile, RejectsFoldersAndMissingFiles) {
  const TempFolder folder;
  EXPECT_EQ(failure_of<IoError>([&] { (void)read_file(folder / "missing"); }),
            (Failure{"file_not_found", (folder / "missing").string()}));
  EXPECT_EQ(failure_of<IoError>([&] { (void)read_file(folder.path()); }),
            (Failure{"cannot_read", folder.path().string()}));
}

TEST(ReadFile, RejectsFilesOverTheLimit) {
  const TempFolder folder;
  write_file(folder / "f", "12345");
  EXPECT_EQ(read_file(folder / "f", 5), "12345");
  EXPECT_EQ(failure_of<IoError>([&] { (void)read_file(folder / "f", 4); }),
            (Failure{"size_limit", (folder / "f").string()}));
  EXPECT_EQ(failure_of<IoError>([&] { (void)read_file("/dev/zero"); }),
            (Failure{"cannot_read", "/dev/zero"}));
}

TEST(ReadFile, DoesNotBlockOnAPipe) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(failure_of<IoError>([&] { (void)read_file(folder / "pipe"); }),
            (Failure{"cannot_read", (folder / "pipe").string()}));
  EXPECT_EQ(read_part(folder / "pipe", 0, 8), "");
}

TEST(ReadPart, ReturnsTheAvailableBytes) {
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

TEST(FolderLockTest, ExcludesASecondLock) {
  const TempFolder folder;
  {
    const FolderLock lock(folder.path());
    EXPECT_EQ(failure_of<IoError>([&] { (void)FolderLock(folder.path()); }),
              (Failure{"cannot_write", folder.path().string()}));
  }
  EXPECT_NO_THROW(FolderLock(folder.path()));
  EXPECT_EQ(entries(folder.path()), 0);
}

TEST(ReadFile, RejectsAnEmptyPath) {
  EXPECT_EQ(failure_of<IoError>([&] { (void)read_file(""); }),
            (Failure{"missing_value", "file"}));
  EXPECT_EQ(failure_of<IoError>([&] { ensure_writable_folder(""); }),
            (Failure{"missing_value", "folder"}));
}

TEST(EnsureWritableFolder, RejectsALoopOfLinks) {
  const TempFolder folder;
  fs::create_symlink(folder / "loop", folder / "loop");
  EXPECT_EQ(
      failure_of<IoError>([&] { ensure_writable_folder(folder / "loop"); }),
      (Failure{"cannot_write", (folder / "loop").string()}));
  EXPECT_EQ(
      failure_of<IoError>(
          [&] { ensure_writable_folder(folder / std::string(300, 'x')); }),
      (Failure{"cannot_write", (folder / std::string(300, 'x')).string()}));
}

TEST(EnsureWritableFolder, CreatesFolderAndParents) {
  const TempFolder folder;
  ensure_writable_folder(folder / "a" / "b");
  EXPECT_TRUE(fs::is_directory(folder / "a" / "b"));
  EXPECT_EQ(entries(folder / "a" / "b"), 0);
}

TEST(EnsureWritableFolder, RejectsAFileInThePath) {
  const TempFolder folder;
  write_file(folder / "f", "x");
  EXPECT_EQ(failure_of<IoError>([&] { ensure_writable_folder(folder / "f"); }),
            (Failure{"cannot_write", (folder / "f").string()}));
  EXPECT_EQ(
      failure_of<IoError>([&] { ensure_writable_folder(folder / "f" / "g"); }),
      (Failure{"cannot_write", (folder / "f" / "g").string()}));
}

}  // namespace
}  // namespace octet
