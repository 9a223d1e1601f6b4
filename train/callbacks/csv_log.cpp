#include <cmath>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/detail/file_name.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/train/callback.h>

namespace octet::train {
namespace {

/// Returns a name as a CSV field, quoted if it has a comma, quote or newline.
/// Source: RFC 4180, section 2.
std::string field(const std::string& name) {
  if (name.find_first_of(",\"\r\n") == std::string::npos) return name;
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

/// Returns the shortest text that parses to the same number.
std::string field(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

class CsvLog final : public Callback {
 public:
  CsvLog(std::filesystem::path path, const CsvLogOptions& options)
      : path_(std::move(path)), options_(options) {}

  bool on_first_rank_only() const override { return true; }

  void on_train_begin(const Progress& progress) override {
    if (progress.resumed) return;  // restore() restores the rows
    std::string header = "epoch";
    for (const std::string& name : progress.training->names()) {
      header += ',';
      header += field(name);
    }
    header += ",seconds\n";
    contents_ = header;
    std::error_code error;
    // On an error, write_file() throws with details.
    const bool there = std::filesystem::exists(path_, error);
    const std::string earlier =
        options_.append && there ? read_file(path_) : std::string();
    if (!earlier.empty()) {
      contents_ = earlier;
      if (!contents_.starts_with(header)) {
        throw FormatError(
            "unsupported_format", "csv_log",
            fmt::format("columns of '{}' differ from this fit's, expected "
                        "'{}', got '{}'. Hint: set .append = false, or choose "
                        "another file",
                        path_.string(), header.substr(0, header.size() - 1),
                        contents_.substr(0, contents_.find('\n'))));
      }
      if (!contents_.ends_with('\n')) contents_ += '\n';
    }
    write_file(path_, contents_);
  }

  void on_epoch_end(const Progress& progress) override {
    contents_ += fmt::format("{}", progress.epoch + 1);
    for (const MetricValue& each : progress.logs()) {
      contents_ += ',';
      contents_ += field(each.value);
    }
    contents_ += ',';
    contents_ += field(progress.seconds);
    contents_ += '\n';
    write_file(path_, contents_);
  }

  std::string state_name() const override { return "csv_log"; }
  CallbackState state() const override {
    return {Config().set("rows", contents_)};
  }
  void restore(const CallbackState& state, const Progress&) override {
    contents_ = state.values.at("rows").as_string();
    write_file(path_, contents_);
  }

 private:
  std::filesystem::path path_;
  CsvLogOptions options_;
  std::string contents_;
};

}  // namespace

std::shared_ptr<Callback> csv_log(std::filesystem::path path,
                                  const CsvLogOptions& options) {
  check_file_name(path, "comma-separated values", {".csv", ".txt"});
  return std::make_shared<CsvLog>(std::move(path), options);
}

}  // namespace octet::train
