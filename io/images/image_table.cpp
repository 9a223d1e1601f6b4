// Images listed in a CSV file.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/data.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/detail/printable.h>
#include <octet/runtime/detail/shape_hint.h>
#include <octet/runtime/error.h>

#include "csv_cells.h"
#include "image_files.h"
#include "open_images.h"
#include "repeated_images.h"

namespace octet::io {
namespace {

namespace fs = std::filesystem;

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 5> kPathColumns = {
    "path", "file", "filename", "image", "imagepath"};
constexpr std::array<std::string_view, 3> kLabelColumns = {"label", "class",
                                                           "target"};
constexpr std::array<std::string_view, 1> kWeightColumns = {"sampleweight"};
constexpr std::array<std::string_view, 1> kSplitColumns = {"split"};

/// Reads the columns of a table of images.
class ImageRows {
 public:
  ImageRows(const fs::path& path, const ImageTableOptions& options)
      : path_(path),
        options_(options),
        table_(load_csv(
            path, {.separator = extension_of(path) == ".tsv" ? '\t' : ','})) {
    columns_.path = column("path", options.columns.path, kPathColumns);
    columns_.label = column("label", options.columns.label, kLabelColumns);
    columns_.weight = column("weight", options.columns.weight, kWeightColumns);
    columns_.split = column("split", options.columns.split, kSplitColumns);
    if (columns_.path.empty()) refuse_missing("path", "image files");
    if (columns_.label.empty() && !options.labels_optional) {
      refuse_missing("label", "labels");
    }
  }

  const ImageColumns& columns() const { return columns_; }
  int64_t size() const { return table_.rows(); }
  std::string text(int64_t row, const std::string& column) const {
    return std::string(trimmed(table_.text(row, column)));
  }

  /// Returns the image files.
  std::vector<fs::path> files() const {
    std::vector<fs::path> files;
    for (int64_t row = 0; row < size(); ++row) {
      const std::string name = text(row, columns_.path);
      if (name.empty()) refuse(row, "missing_value", "no image file");
      files.push_back(path_.parent_path() / name);
      std::error_code ignored;
      if (fs::is_regular_file(files.back(), ignored)) continue;
      refuse(row, "file_not_found",
             fmt::format("image file '{}' not found{}", printable(name, 200),
                         fs::path(name).is_absolute()
                             ? ""
                             : ". Hint: paths are relative to the folder of "
                               "the table"));
    }
    return files;
  }

  /// Returns the labels of all rows, and the class names if labels are names.
  std::pair<Tensor, std::vector<std::string>> labels() const {
    std::vector<std::string> texts;
    bool numbers = true, integers = true;
    for (int64_t row = 0; row < size(); ++row) {
      texts.push_back(text(row, columns_.label));
      if (texts.back().empty()) refuse(row, "missing_value", "no label");
      if (!is_utf8(texts.back())) {
        refuse(row, "invalid_value",
               fmt::format("label '{}' is not UTF-8. Hint: save the table as "
                           "UTF-8",
                           printable(texts.back(), 80)));
      }
      const std::optional<double> value = number_in<double>(texts.back());
      numbers = numbers && value.has_value();
      integers = integers && value && std::trunc(*value) == *value;
    }
    const std::vector<std::string>& names = options_.images.class_names;
    const auto is_name = [&](const std::string& text) {
      return std::ranges::find(names, text) != names.end();
    };
    if (!numbers || (!names.empty() && std::ranges::all_of(texts, is_name))) {
      return named_labels(texts);
    }
    return {integers ? class_indices(texts) : targets(texts), {}};
  }

  /// Returns the weights of all rows. Some of the training part must not be 0.
  std::vector<float> weights(const std::vector<int64_t>& train) const {
    std::vector<float> weights;
    for (int64_t row = 0; row < size(); ++row) {
      const std::string text = this->text(row, columns_.weight);
      const std::optional<double> value = number_in<double>(text);
      weights.push_back(static_cast<float>(value.value_or(-1)));
      if (!std::isfinite(weights.back()) || weights.back() < 0) {
        refuse(row, "out_of_range",
               fmt::format("weight '{}' must be a finite number, >= 0",
                           printable(text, 40)));
      }
    }
    if (std::ranges::all_of(train, [&](int64_t row) {
          return weights[static_cast<size_t>(row)] == 0;
        })) {
      throw FormatError("invalid_value", path_.string(),
                        fmt::format("all weights of training samples in column "
                                    "'{}' are 0",
                                    columns_.weight));
    }
    return weights;
  }

  /// Returns the rows of the training part and of the test part.
  std::pair<std::vector<int64_t>, std::vector<int64_t>> parts() const {
    std::vector<int64_t> train, validation, test;
    for (int64_t row = 0; row < size(); ++row) {
      const std::string word = columns_.split.empty()
                                   ? "train"
                                   : fold_name(text(row, columns_.split));
      if (word == "train" || word == "training") {
        train.push_back(row);
      } else if (word == "test" || word == "testing") {
        test.push_back(row);
      } else if (word == "val" || word == "valid" || word == "validation") {
        validation.push_back(row);
      } else {
        refuse(row, "invalid_value",
               fmt::format("part '{}' in column '{}' must be train, test or "
                           "validation",
                           printable(text(row, columns_.split), 40),
                           columns_.split));
      }
    }
    if (train.empty()) {
      throw FormatError(
          "missing_value", path_.string(),
          fmt::format("no row has part train in column '{}'", columns_.split));
    }
    if (test.empty()) return {train, validation};
    if (!validation.empty()) {
      warn("files_ignored", path_.string(),
           fmt::format("uses part 'test' as test data and ignores the {} rows "
                       "of part 'validation'",
                       validation.size()));
    }
    return {train, test};
  }

  [[noreturn]] void refuse(int64_t row, ErrorCode code,
                           const std::string& problem) const {
    throw FormatError(code, path_.string(),
                      fmt::format("line {}: {}", table_.line(row), problem));
  }

 private:
  /// Returns the column of the given name, or the only column that has one of
  /// the default names, or "".
  std::string column(const char* what, const std::string& name,
                     Names defaults) const {
    const std::vector<std::string>& all = table_.columns();
    if (!name.empty()) {
      if (std::ranges::find(all, name) != all.end()) return name;
      throw NotFoundError("unknown_name", fmt::format("column '{}'", name),
                          fmt::format("not in '{}'{}", path_.string(),
                                      suggest_names(name, all)));
    }
    std::vector<std::string> found;
    for (const std::string& each : all) {
      if (std::ranges::find(defaults, fold_name(each)) != defaults.end()) {
        found.push_back(each);
      }
    }
    if (found.size() > 1) {
      throw FormatError(
          "ambiguous_name", path_.string(),
          fmt::format("columns '{}' may each be the {}. Hint: {}",
                      fmt::join(found, "', '"), what, choose(what, found[0])));
    }
    return found.empty() ? "" : found[0];
  }

  static std::string choose(const char* what, const std::string& name) {
    return hint_style() == HintStyle::cpp
               ? fmt::format("set ImageTableOptions.columns.{} = \"{}\"", what,
                             name)
               : fmt::format("add --columns {}={}", what, name);
  }

  [[noreturn]] void refuse_missing(const char* what, const char* of) const {
    const std::vector<std::string>& all = table_.columns();
    throw FormatError(
        "missing_value", path_.string(),
        fmt::format("no column of {} among '{}'. Hint: {}{}", of,
                    fmt::join(all, "', '"), choose(what, "NAME"),
                    all.size() == 1 && all[0].find(';') != all[0].npos
                        ? "; separate cells by commas"
                        : ""));
  }

  std::pair<Tensor, std::vector<std::string>> named_labels(
      const std::vector<std::string>& texts) const {
    std::vector<std::string> names = options_.images.class_names;
    const bool given = !names.empty();
    if (!given) {
      const std::set<std::string> sorted(texts.begin(), texts.end());
      names.assign(sorted.begin(), sorted.end());
    }
    std::map<std::string_view, int64_t> number_of;
    for (size_t i = 0; i < names.size(); ++i) {
      number_of.emplace(names[i], static_cast<int64_t>(i));
    }
    Tensor labels({size()}, DType::i64);
    const auto to = labels.data<int64_t>();
    for (int64_t row = 0; row < size(); ++row) {
      const std::string& text = texts[static_cast<size_t>(row)];
      const auto found = number_of.find(text);
      if (found == number_of.end() && options_.labels_optional) {
        warn_of_labels(path_, text, names);
        return {};
      }
      if (found == number_of.end()) {
        refuse(row, "unknown_name",
               fmt::format("label '{}' is not a class of the model{}",
                           printable(text, 80), suggest_names(text, names)));
      }
      to[static_cast<size_t>(row)] = found->second;
    }
    return {std::move(labels), std::move(names)};
  }

  Tensor class_indices(const std::vector<std::string>& texts) const {
    constexpr double kMost = 1 << 24;
    Tensor labels({size()}, DType::i64);
    const auto to = labels.data<int64_t>();
    for (int64_t row = 0; row < size(); ++row) {
      const double value = *number_in<double>(texts[static_cast<size_t>(row)]);
      if (!(value >= 0 && value < kMost)) {
        refuse(row, "out_of_range",
               fmt::format("label {} must be a class index from 0",
                           texts[static_cast<size_t>(row)]));
      }
      to[static_cast<size_t>(row)] = static_cast<int64_t>(value);
    }
    return labels;
  }

  Tensor targets(const std::vector<std::string>& texts) const {
    Tensor labels({size()});
    for (int64_t row = 0; row < size(); ++row) {
      const auto value = static_cast<float>(
          *number_in<double>(texts[static_cast<size_t>(row)]));
      if (!std::isfinite(value)) {
        refuse(row, "out_of_range", "label must be a finite number");
      }
      labels.f32()[static_cast<size_t>(row)] = value;
    }
    return labels;
  }

  const fs::path path_;
  const ImageTableOptions& options_;
  const CsvTable table_;
  ImageColumns columns_;
};

/// Returns the rows whose files were read: `files` without the skipped files.
std::vector<int64_t> rows_read(const std::vector<fs::path>& all,
                               std::vector<int64_t> rows,
                               const std::vector<fs::path>& files) {
  size_t at = 0;
  std::erase_if(rows, [&](int64_t row) {
    const bool read =
        at < files.size() && all[static_cast<size_t>(row)] == files[at];
    if (read) ++at;
    return !read;
  });
  return rows;
}

template <class T>
Tensor rows_of(const Tensor& all, const std::vector<int64_t>& rows) {
  Tensor result({std::ssize(rows)}, all.dtype());
  const auto from = all.data<T>();
  const auto to = result.data<T>();
  for (size_t i = 0; i < rows.size(); ++i) {
    to[i] = from[static_cast<size_t>(rows[i])];
  }
  return result;
}

}  // namespace

ImageTable load_image_table(const fs::path& path,
                            const ImageTableOptions& options) {
  check_image_options("load_image_table", options.images);
  const ImageRows rows(path, options);
  const std::vector<fs::path> files = rows.files();
  const auto [train, test] = rows.parts();
  Tensor labels;
  std::vector<std::string> classes;
  if (!rows.columns().label.empty()) {
    std::tie(labels, classes) = rows.labels();
  }
  warn_of_repetition(path, files, labels, train, test);
  std::vector<float> weights;
  if (!rows.columns().weight.empty()) weights = rows.weights(train);

  const auto load = [&](std::vector<int64_t> part) {
    if (options.images.shuffle) {
      Tensor numbers({std::ssize(part)}, DType::i64);
      std::ranges::copy(part, numbers.data<int64_t>().begin());
      const Tensor order = Dataset(Tensor({std::ssize(part)}), numbers)
                               .shuffled(options.images.seed)
                               .labels();
      std::ranges::copy(order.data<int64_t>(), part.begin());
    }
    std::vector<fs::path> chosen;
    for (const int64_t row : part) {
      chosen.push_back(files[static_cast<size_t>(row)]);
    }
    ImageLabels values;
    if (!labels.empty()) {
      values.labels = labels.dtype() == DType::i64
                          ? rows_of<int64_t>(labels, part)
                          : rows_of<float>(labels, part);
    }
    ImageOptions images = options.images;
    images.shuffle = false;
    ImageFiles read = read_images(path.string(), std::move(chosen),
                                  std::move(values), images);
    if (weights.empty()) return read;
    const std::vector<int64_t> kept = rows_read(files, part, read.files);
    Tensor of_part({std::ssize(kept)});
    for (size_t i = 0; i < kept.size(); ++i) {
      of_part.f32()[i] = weights[static_cast<size_t>(kept[i])];
    }
    read.data = read.data.with_weights(of_part);
    return read;
  };
  ImageFiles read = load(train);
  ImageTable result{.train = std::move(read.data),
                    .classes = std::move(classes),
                    .columns = rows.columns()};
  for (const fs::path& file : read.files) result.files.push_back(file.string());
  if (!test.empty()) result.test = load(test).data;
  return result;
}

}  // namespace octet::io
