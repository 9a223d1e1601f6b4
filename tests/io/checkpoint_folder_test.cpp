// checkpoint_folder: retention of files, and handling of damaged files.
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <octet/runtime/file.h>

#include "../facts.h"
#include "../train/checkpoints.h"
#include "checkpoint/checksum.h"
#include "checkpoint_models.h"
#include "hdf5/writer.h"
#include "support.h"

namespace octet::io {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using train::History;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

std::string name_of(int64_t steps) {
  return fmt::format("checkpoint-{:012}.h5", steps);
}

struct Trained {
  std::string history;
  std::vector<float> weights;
  bool operator==(const Trained&) const = default;
};

/// Three epochs of seven steps.
Trained train_in(std::shared_ptr<train::Checkpointer> checkpoints, bool resume,
                 const std::function<void(train::FitOptions&)>& change = {}) {
  Model model = train::image_network();
  const Dataset data = train::images(50, 1);
  const Dataset validation = train::images(20, 2);
  train::FitOptions options{
      .epochs = 3,
      .batch_size = 8,
      .schedule = train::cosine(),
      .validation = &validation,
      .callbacks = {train::early_stopping({.monitor = "val_accuracy",
                                           .patience = 9,
                                           .restore_best_weights = true}),
                    train::reduce_on_plateau({.monitor = "loss"})},
      .checkpoints = std::move(checkpoints),
      .resume = resume};
  if (change) change(options);
  const History history = fit(model, data, options);
  return {train::text_of(history), train::weights_of(model)};
}

void damage(const fs::path& path, size_t at) {
  std::string contents = read_file(path);
  contents.at(at) = static_cast<char>(contents.at(at) ^ 0x10);
  write_file(path, contents);
}

/// Stops a fit by an exception after a number of batches.
class Breaker final : public train::Callback {
 public:
  explicit Breaker(int64_t batches) : left_(batches) {}
  void on_step(const train::Progress&) override {
    if (left_-- == 0) throw ValueError("invalid_value", "breaker", "stops");
  }

 private:
  int64_t left_;
};

void train_until(int64_t batches,
                 std::shared_ptr<train::Checkpointer> checkpoints,
                 bool resume = true) {
  EXPECT_THROW(train_in(std::move(checkpoints), resume,
                        [&](train::FitOptions& options) {
                          options.callbacks.push_back(
                              std::make_shared<Breaker>(batches));
                        }),
               ValueError);
}

TEST(CheckpointFolder, ResumesAFitFromEveryFile) {
  const TempFolder folder;
  const Trained expected = train_in({}, false);
  const auto all =
      checkpoint_folder(folder / "all", {.every_steps = 2, .keep = 1000});
  EXPECT_EQ(train_in(all, false), expected);
  const std::vector<std::string> names = names_in(folder / "all");
  EXPECT_EQ(names.size(), 13u);  // 0, 2, 4, 6, 7, 8, 10, ...
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    fs::create_directory(folder / name);
    fs::copy(folder / "all" / name, folder / name / name);
    EXPECT_EQ(train_in(checkpoint_folder(folder / name), true), expected);
  }
}

TEST(CheckpointFolder, KeepsTheNewestFilesAndIgnoresOthers) {
  const TempFolder folder;
  for (const char* name :
       {"notes.txt", "checkpoint-1.h5", "checkpoint-000000000002.h5.old",
        "checkpoint-00000000000x.h5", ".checkpoint-000000000003"}) {
    write_file(folder / name, "mine");
  }
  train_in(checkpoint_folder(folder.path(), {.every_steps = 3, .keep = 2}),
           true);
  EXPECT_THAT(
      names_in(folder.path()),
      ElementsAre(".checkpoint-000000000003", "checkpoint-000000000002.h5.old",
                  "checkpoint-00000000000x.h5", name_of(18), name_of(21),
                  "checkpoint-1.h5", "notes.txt"));
  EXPECT_EQ(newest_checkpoint(folder.path()), folder / name_of(21));
}

TEST(CheckpointFolder, SavesOnlyEpochsByDefault) {
  const TempFolder folder;
  train_in(checkpoint_folder(folder / "a" / "b"), true);
  EXPECT_THAT(names_in(folder / "a" / "b"),
              ElementsAre(name_of(7), name_of(14), name_of(21)));
}

TEST(CheckpointFolder, SkipsADamagedFileWithAWarning) {
  const TempFolder folder;
  const Trained expected = train_in({}, false);
  const auto checkpoints =
      checkpoint_folder(folder.path(), {.every_steps = 1, .keep = 3});
  train_until(10, checkpoints);
  ASSERT_THAT(names_in(folder.path()),
              ElementsAre(name_of(8), name_of(9), name_of(10)));
  damage(folder / name_of(10), 1000);
  fs::resize_file(folder / name_of(9), 5000);
  WarningCapture warnings;
  train_until(1, checkpoints);
  EXPECT_THAT(names_in(folder.path()),
              ElementsAre(name_of(8), name_of(9), name_of(9) + ".damaged",
                          name_of(10) + ".damaged"));
  const auto skipped = [&](int64_t step) {
    return Failure{"damaged_checkpoint", (folder / name_of(step)).string()};
  };
  ASSERT_THAT(warnings.messages, ElementsAre(skipped(10), skipped(9)));
  EXPECT_THAT(quoted_names(warnings.messages[0].text()),
              Contains(name_of(10) + ".damaged"));
  EXPECT_EQ(train_in(checkpoints, true), expected);
  EXPECT_EQ(warnings.messages.size(), 2u);
}

/// Warnings about files: such short trainings cause others, too.
std::vector<Failure> of_files(const WarningCapture& warnings) {
  std::vector<Failure> result = warnings.messages;
  std::erase_if(result, [](const Failure& warning) {
    return warning.code == "initial_statistics";
  });
  return result;
}

TEST(CheckpointFolder, RestartsIfAllFilesAreDamaged) {
  const TempFolder folder;
  const Trained expected = train_in({}, false);
  const auto checkpoints = checkpoint_folder(folder.path(), {.keep = 2});
  train_until(16, checkpoints);
  for (const std::string& name : names_in(folder.path())) {
    damage(folder / name, 99);
  }
  const WarningCapture warnings;
  EXPECT_EQ(train_in(checkpoints, true), expected);
  EXPECT_EQ(of_files(warnings).size(), 2u);
}

TEST(CheckpointFolder, DoesNotSkipAFileOfANewerVersion) {
  const TempFolder folder;
  const auto checkpoints = checkpoint_folder(folder.path());
  train_until(16, checkpoints);
  Hdf5Writer writer;
  writer.group("octet");
  writer.attribute("octet", "format", 2);
  writer.attribute("octet", "version", "9.9.9");
  write_file(folder / name_of(15), with_checksum(writer.finish()));
  EXPECT_EQ(failure_of<UnsupportedError>([&] { train_in(checkpoints, true); }),
            (Failure{"unsupported_version", "format version"}));
  EXPECT_TRUE(fs::exists(folder / name_of(15)));
}

TEST(CheckpointFolder, DoesNotSkipAValidFileThatCannotBeRead) {
  const TempFolder folder;
  train_until(16, checkpoint_folder(folder.path()));
  const std::vector<std::string> before = names_in(folder.path());
  const auto hasty =
      checkpoint_folder(folder.path(), {.limits = {.time_limit = 1e-9}});
  EXPECT_EQ(failure_of<FormatError>([&] { train_in(hasty, true); }),
            (Failure{"time_limit", "HDF5 file"}));
  EXPECT_EQ(names_in(folder.path()), before);
}

TEST(CheckpointFolder, DoesNotSkipAValidFileThatDoesNotFit) {
  const TempFolder folder;
  const auto checkpoints = checkpoint_folder(folder.path());
  train_until(16, checkpoints);
  train::TrainingState state = load_checkpoint(folder / name_of(14));
  // A state of another training, which a checksum does not detect.
  state.progress.set("epoch", "two");
  save_checkpoint(state, folder / name_of(14));
  EXPECT_EQ(failure_of<ValueError>([&] { train_in(checkpoints, true); }),
            (Failure{"invalid_value", "configuration"}));
  EXPECT_TRUE(fs::exists(folder / name_of(14)));
}

TEST(CheckpointFolder, IsRejectedWhileAnotherRunUsesIt) {
  const TempFolder folder;
  const auto checkpoints = checkpoint_folder(folder.path());
  {
    const auto claim = checkpoints->claim();
    EXPECT_EQ(failure_of<IoError>(
                  [&] { train_in(checkpoint_folder(folder.path()), true); }),
              (Failure{"cannot_write", folder.path().string()}));
    EXPECT_TRUE(folder.empty());
    // Also from another process.
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        (void)checkpoint_folder(folder.path())->claim();
        ::_exit(0);
      } catch (const IoError&) {
        ::_exit(7);
      }
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 7);
  }
  train_in(checkpoints, true);
}

TEST(CheckpointFolder, RemovesFilesOfAKilledRun) {
  const TempFolder folder;
  write_file(folder / ".checkpoint-000000000007.h5.4711.5", "part");
  write_file(folder / ".checkpoint-000000000007.h5.4711.5.Ab3xyz", "part");
  write_file(folder / ".checkpoint", "mine");
  (void)checkpoint_folder(folder.path())->claim();
  EXPECT_THAT(names_in(folder.path()), ElementsAre(".checkpoint"));
}

TEST(CheckpointFolder, IsRejectedIfNotWritable) {
  const TempFolder folder;
  write_file(folder / "file", "in the way");
  const auto refusal = [](const fs::path& path) {
    return failure_of<IoError>(
        [&] { train_in(checkpoint_folder(path), true); });
  };
  EXPECT_EQ(refusal(folder / "file"),
            (Failure{"cannot_write", (folder / "file").string()}));
  EXPECT_EQ(refusal(folder / "file" / "b"),
            (Failure{"cannot_write", (folder / "file/b").string()}));
  EXPECT_EQ(refusal("/proc/octet"), (Failure{"cannot_write", "/proc/octet"}));
}

TEST(CheckpointFolder, IsRejectedWithoutWritePermission) {
  const TempFolder folder;
  const fs::path closed = folder / "closed";
  fs::create_directory(closed);
  const fs::perms read_only =
      fs::perms::all & ~(fs::perms::owner_write | fs::perms::group_write |
                         fs::perms::others_write);
  fs::permissions(folder.path(), read_only | fs::perms::owner_write);
  fs::permissions(closed, read_only);
  const pid_t child = ::fork();
  if (child == 0) {
    // Root can write anywhere.
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && ::setuid(kNobody) != 0) ::_exit(9);
    try {
      (void)checkpoint_folder(closed)->claim();
      ::_exit(0);
    } catch (const IoError& error) {
      const std::string_view text = error.what();
      const bool told = text.find(
                            "cannot write to the folder: Permission "
                            "denied") != std::string_view::npos;
      ::_exit(told ? 7 : 8);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  fs::permissions(closed, fs::perms::owner_all);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

/// Limits the file size from a number of batches on: like a disk that fills up
/// during a write.
class SmallDisk final : public train::Callback {
 public:
  explicit SmallDisk(int64_t batches) : left_(batches) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
  }
  ~SmallDisk() override {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  void on_step(const train::Progress&) override {
    const rlimit small{4096, before_.rlim_max};
    if (left_-- == 0) ::setrlimit(RLIMIT_FSIZE, &small);
  }

 private:
  int64_t left_;
  rlimit before_{};
  void (*handler_)(int);
};

TEST(CheckpointFolder, SurvivesAFullDisk) {
  const TempFolder folder;
  const Trained expected = train_in({}, false);
  const WarningCapture warnings;
  const auto checkpoints =
      checkpoint_folder(folder.path(), {.every_steps = 2, .keep = 2});
  const Trained trained =
      train_in(checkpoints, true, [](train::FitOptions& options) {
        options.callbacks.push_back(std::make_shared<SmallDisk>(10));
      });
  EXPECT_EQ(trained, expected);
  // There are no files of steps 12, 14 and so on.
  EXPECT_THAT(names_in(folder.path()), ElementsAre(name_of(8), name_of(10)));
  ASSERT_FALSE(of_files(warnings).empty());
  EXPECT_EQ(of_files(warnings)[0], (Failure{"checkpoint_not_saved", "fit"}));
  EXPECT_EQ(train_in(checkpoints, true), expected);
}

TEST(CheckpointFolder, RejectsOptionsOutOfRange) {
  EXPECT_EQ(failure_of<ValueError>([] { checkpoint_folder(""); }),
            (Failure{"missing_value", "checkpoint_folder"}));
  EXPECT_EQ(failure_of<ValueError>(
                [] { checkpoint_folder("a", {.every_steps = -1}); }),
            (Failure{"out_of_range", "CheckpointFolderOptions.every_steps"}));
  EXPECT_EQ(failure_of<ValueError>([] { checkpoint_folder("a", {.keep = 0}); }),
            (Failure{"out_of_range", "CheckpointFolderOptions.keep"}));
  EXPECT_EQ(
      failure_of<NotFoundError>([] { (void)newest_checkpoint("/nowhere"); }),
      (Failure{"file_not_found", "/nowhere"}));
}

TEST(CheckpointFolder, ContainsLoadableModels) {
  const TempFolder folder;
  const auto checkpoints = checkpoint_folder(folder.path());
  Model model = train::image_network();
  const Dataset data = train::images(50, 1);
  train::fit(model, data,
             {.epochs = 2, .batch_size = 8, .checkpoints = checkpoints});
  const Model loaded = load_model(newest_checkpoint(folder.path()));
  EXPECT_EQ(train::weights_of(loaded), train::weights_of(model));
}

}  // namespace
}  // namespace octet::io
