#include "image_results.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include <octet/io/data.h>
#include <octet/io/json.h>
#include <octet/runtime/config.h>
#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

namespace octet::program {
namespace {

constexpr size_t kBest = 5, kPrinted = 3;

bool is_distribution(std::span<const float> row) {
  constexpr float kTolerance = 1e-3f;
  float sum = 0;
  for (const float x : row) {
    if (!(x >= 0 && x <= 1)) return false;
    sum += x;
  }
  return std::abs(sum - 1) < kTolerance;
}

std::vector<ClassScore> best_of(std::span<const float> row,
                                const std::vector<std::string>& names) {
  if (row.size() == 1) {
    const bool named = names.size() == 2 && row[0] >= 0 && row[0] <= 1;
    const int64_t side = row[0] >= 0.5f ? 1 : 0;
    return {{named ? side : 0, named ? names[size_t(side)] : "", row[0]}};
  }
  std::vector<int64_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  const size_t count = std::min(kBest, row.size());
  // Descending, NaN last.
  std::ranges::partial_sort(
      order, order.begin() + std::ptrdiff_t(count), [&](int64_t a, int64_t b) {
        const float x = row[size_t(a)], y = row[size_t(b)];
        if (std::isnan(x) || std::isnan(y)) {
          return std::isnan(x) < std::isnan(y) ||
                 (std::isnan(x) == std::isnan(y) && a < b);
        }
        return x > y || (x == y && a < b);
      });
  std::vector<ClassScore> best;
  for (size_t i = 0; i < count; ++i) {
    const auto output = size_t(order[i]);
    best.push_back({order[i], names.size() == row.size() ? names[output] : "",
                    row[output]});
  }
  return best;
}

std::string name_of(const ClassScore& score) {
  return score.name.empty() ? fmt::format("output {}", score.output)
                            : printable(score.name, 60);
}

/// Returns text as a CSV cell (RFC 4180).
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv_text(const ImageResults& results) {
  std::string text = "file,output,class,score\n";
  for (const ImageResult& image : results.images) {
    const ClassScore& best = image.best[0];
    text += fmt::format("{},{},{},{}\n", cell(image.file), best.output,
                        cell(best.name), best.score);
  }
  return text;
}

std::string json_text(const ImageResults& results) {
  Config::List images;
  for (const ImageResult& image : results.images) {
    Config::List classes;
    for (const ClassScore& score : image.best) {
      Config entry;
      entry.set("output", score.output);
      if (!score.name.empty()) entry.set("class", score.name);
      if (std::isfinite(score.score)) {
        entry.set("score", double{score.score});
      }
      classes.push_back(std::move(entry));
    }
    images.push_back(Config().set("file", image.file).set("classes", classes));
  }
  return io::to_json(Config(std::move(images))) + "\n";
}

}  // namespace

std::optional<ImageResults> image_results(
    const std::vector<std::filesystem::path>& files, const Tensor& scores,
    const std::vector<std::string>& names) {
  const Shape& shape = scores.shape();
  if (scores.dtype() != DType::f32 || shape.rank() != 2 || shape[1] < 1) {
    return std::nullopt;
  }
  ImageResults results{.images = {}, .probabilities = true};
  const auto k = static_cast<size_t>(shape[1]);
  for (size_t i = 0; i < files.size(); ++i) {
    const auto row = scores.f32().subspan(i * k, k);
    results.probabilities = results.probabilities && is_distribution(row);
    results.images.push_back({files[i].string(), best_of(row, names)});
  }
  return results;
}

std::string results_text(const ImageResults& results) {
  std::string text;
  for (const ImageResult& image : results.images) {
    text += printable(image.file, 1000) + ":";
    const size_t count = std::min(kPrinted, image.best.size());
    for (size_t i = 0; i < count; ++i) {
      const ClassScore& score = image.best[i];
      text += fmt::format("{} {} ", i == 0 ? "" : ",", name_of(score));
      text += results.probabilities
                  ? fmt::format("{:.1f} %", 100.0 * score.score)
                  : fmt::format("{:.4g}", score.score);
    }
    text += "\n";
  }
  return text;
}

void write_results(const std::string& path,
                   const std::optional<ImageResults>& results,
                   const Tensor& values) {
  const bool csv = path.ends_with(".csv"), json = path.ends_with(".json");
  if (!csv && !json) {
    io::write_npy(path, values);
    return;
  }
  if (!results) {
    throw ValueError("unsupported_format", path,
                     fmt::format("the output has shape {}, which are not class "
                                 "scores. Hint: use .npy",
                                 values.shape().to_string()));
  }
  write_file(path, csv ? csv_text(*results) : json_text(*results));
}

}  // namespace octet::program
