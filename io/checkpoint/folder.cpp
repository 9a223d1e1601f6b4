// Checkpoints of a training in a folder.
#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/io/model_file.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "checksum.h"
#include "file.h"

namespace octet::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "checkpoint-";
constexpr std::string_view kCheckpointSuffix = ".h5";
constexpr size_t kDigits = 12;

std::string file_name(int64_t steps) {
  return fmt::format("{}{:0{}}{}", kPrefix, steps, kDigits, kCheckpointSuffix);
}

/// Parses the steps of a file_name().
std::optional<int64_t> steps_in(const std::string& name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kCheckpointSuffix))
    return {};
  const char* first = name.data() + kPrefix.size();
  const char* last = name.data() + name.size() - kCheckpointSuffix.size();
  int64_t steps = 0;
  const auto [end, error] = std::from_chars(first, last, steps);
  if (error != std::errc() || end != last || file_name(steps) != name) {
    return {};
  }
  return steps;
}

struct Entry {
  int64_t steps;
  fs::path path;
};

/// Returns the checkpoint files, newest first; none if the folder does not
/// exist.
std::vector<Entry> entries_in(const fs::path& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  fs::directory_iterator at(folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    if (const auto steps = steps_in(at->path().filename().string())) {
      entries.push_back({*steps, at->path()});
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw IoError("cannot_read", folder.string(),
                  fmt::format("cannot list the folder: {}", error.message()));
  }
  std::ranges::sort(entries, std::ranges::greater(), &Entry::steps);
  return entries;
}

/// Removes temporary files of killed processes.
void remove_leftovers(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (fs::directory_iterator at(folder, ignored);
       !ignored && at != fs::directory_iterator(); at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(fmt::format(".{}", kPrefix)) &&
        name.find(fmt::format("{}.", kCheckpointSuffix)) != std::string::npos) {
      found.push_back(at->path());
    }
  }
  for (const fs::path& path : found) fs::remove(path, ignored);
}

/// Returns the newest intact file and calls `damaged` for damaged ones. An
/// intact file that cannot be read, for lack of memory or because of a newer
/// version, is not damaged.
template <class Damaged>
std::optional<fs::path> newest_in(const fs::path& folder,
                                  const Damaged& damaged) {
  for (const Entry& entry : entries_in(folder)) {
    try {
      (void)verify_checksum(read_file(entry.path, kLargestFile));
      return entry.path;
    } catch (const FormatError& error) {
      damaged(entry.path, error);
    }
  }
  return std::nullopt;
}

class CheckpointFolder final : public train::Checkpointer {
 public:
  CheckpointFolder(fs::path folder, const CheckpointFolderOptions& options)
      : folder_(std::move(folder)), options_(options) {
    if (folder_.empty()) {
      throw ValueError("missing_value", "checkpoint_folder",
                       "path must not be empty");
    }
    if (options.every_steps < 0) {
      throw ValueError(
          "out_of_range", "CheckpointFolderOptions.every_steps",
          fmt::format("must not be negative, got {}", options.every_steps));
    }
    if (options.keep < 1) {
      throw ValueError("out_of_range", "CheckpointFolderOptions.keep",
                       fmt::format("must be at least 1, got {}", options.keep));
    }
  }

  std::string name() const override { return folder_.string(); }

  std::shared_ptr<void> claim() override {
    ensure_writable_folder(folder_);
    auto lock = std::make_shared<FolderLock>(folder_);
    remove_leftovers(folder_);
    return lock;
  }

  bool empty() const override { return entries_in(folder_).empty(); }

  std::optional<train::TrainingState> latest() const override {
    const auto newest = newest_in(folder_, set_aside);
    if (!newest) return std::nullopt;
    return load_checkpoint(*newest, options_.limits);
  }

  bool wanted(int64_t steps) const override {
    return options_.every_steps > 0 && steps % options_.every_steps == 0;
  }

  void save(const train::TrainingState& state) override {
    const int64_t steps = state.progress.at("steps").as_int();
    save_checkpoint(state, folder_ / file_name(steps));
    remove_older(steps);
  }

 private:
  static void set_aside(const fs::path& path, const FormatError& error) {
    fs::path aside = path;
    aside += ".damaged";
    std::error_code failed;
    fs::rename(path, aside, failed);
    warn("damaged_checkpoint", path.string(),
         fmt::format("skipped a damaged checkpoint{}: {}",
                     failed ? std::string()
                            : fmt::format(" (renamed to '{}')",
                                          aside.filename().string()),
                     error.what()));
  }

  /// The newest file is intact and stays.
  void remove_older(int64_t written) const {
    int64_t kept = 0;
    for (const Entry& entry : entries_in(folder_)) {
      if (entry.steps > written || ++kept <= options_.keep) continue;
      std::error_code error;
      fs::remove(entry.path, error);
      if (error) {
        warn("cannot_remove", entry.path.string(),
             fmt::format("cannot remove an old checkpoint: {}",
                         error.message()));
      }
    }
  }

  fs::path folder_;
  CheckpointFolderOptions options_;
};

}  // namespace

std::shared_ptr<train::Checkpointer> checkpoint_folder(
    fs::path folder, const CheckpointFolderOptions& options) {
  return std::make_shared<CheckpointFolder>(std::move(folder), options);
}

fs::path newest_checkpoint(const fs::path& folder) {
  const auto newest =
      newest_in(folder, [](const fs::path&, const FormatError&) {});
  if (!newest) {
    throw NotFoundError("file_not_found", folder.string(),
                        "no intact checkpoint in this folder");
  }
  return *newest;
}

}  // namespace octet::io
