#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <octet/io/tensorboard.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "event.h"

namespace octet::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr int64_t kLargestNumber = 9'999'999'998;
constexpr size_t kMostWaiting = size_t{1} << 16;

double system_seconds() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Returns the largest number of the event files of all writers; 0 if none.
int64_t last_number(const fs::path& folder) {
  int64_t last = 0;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    int64_t number = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(),
                    number);
    // Names have ten digits; larger numbers are not those of runs.
    if (number <= kLargestNumber) last = std::max(last, number);
  }
  return last;
}

void check_tag(std::string_view tag) {
  if (tag.empty()) {
    throw ValueError("missing_value", "TensorBoard tag", "must not be empty");
  }
}

}  // namespace

class TensorBoardWriter::File {
 public:
  File(const fs::path& folder, std::function<double()> clock)
      : clock_(clock ? std::move(clock) : system_seconds) {
    ensure_writable_folder(folder);
    for (int64_t number = last_number(folder) + 1; fd_ < 0; ++number) {
      path_ = folder / fmt::format("{}{:010}.octet", kPrefix, number);
      fd_ = ::open(path_.c_str(),
                   O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
      // Another process may take the number first.
      if (fd_ < 0 && errno != EEXIST) fail("create the event file");
    }
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  double now() const { return clock_(); }
  const fs::path& path() const { return path_; }

  void add(std::string_view message) {
    waiting_ += record_of(message);
    if (waiting_.size() > kMostWaiting) flush();
  }

  void flush() {
    while (!waiting_.empty()) {
      const ssize_t written = ::write(fd_, waiting_.data(), waiting_.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("write");
      waiting_.erase(0, static_cast<size_t>(written));
    }
  }

 private:
  [[noreturn]] void fail(std::string_view action) const {
    throw IoError("cannot_write", path_.string(),
                  fmt::format("cannot {}: {}", action, std::strerror(errno)));
  }

  std::function<double()> clock_;
  fs::path path_;
  int fd_ = -1;
  std::string waiting_;
};

TensorBoardWriter::TensorBoardWriter(const fs::path& folder,
                                     const TensorBoardOptions& options)
    : file_(std::make_unique<File>(folder, options.clock)) {
  file_->add(version_event(file_->now()));
}

TensorBoardWriter::~TensorBoardWriter() {
  try {
    file_->flush();
  } catch (const Error& error) {
    warn("cannot_write", error.subject(), error.text());
  }
}

void TensorBoardWriter::scalar(std::string_view tag, double value,
                               int64_t step) {
  check_tag(tag);
  file_->add(scalar_event(file_->now(), step, tag, static_cast<float>(value)));
}

void TensorBoardWriter::histogram(std::string_view tag, const Tensor& values,
                                  int64_t step) {
  check_tag(tag);
  if (values.empty() || values.dtype() != DType::f32 || values.size() == 0) {
    throw ValueError("unsupported_type",
                     fmt::format("TensorBoard histogram '{}'", tag),
                     "values must be a non-empty f32 tensor");
  }
  const auto x = values.f32();
  const auto bad = std::find_if(x.begin(), x.end(),
                                [](float v) { return !std::isfinite(v); });
  if (bad != x.end()) {
    throw ValueError(
        "not_finite", fmt::format("TensorBoard histogram '{}'", tag),
        fmt::format("value at index {} is not finite", bad - x.begin()));
  }
  file_->add(histogram_event(file_->now(), step, tag, histogram_of(values)));
}

void TensorBoardWriter::flush() { file_->flush(); }

const fs::path& TensorBoardWriter::path() const { return file_->path(); }

}  // namespace octet::io
