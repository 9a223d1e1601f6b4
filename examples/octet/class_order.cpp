#include "class_order.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>
#include <octet/train/metric.h>

#include "class_names.h"
#include "table_columns.h"

namespace octet::program {
namespace {

/// Returns the column of each row in the assignment of largest total count.
/// Source: shortest augmenting paths with potentials (Jonker and Volgenant).
std::vector<size_t> best_assignment(const train::ConfusionMatrix& counts) {
  const auto n = static_cast<size_t>(counts.classes());
  const auto cost = [&](size_t row, size_t column) {
    return -static_cast<double>(
        counts.count(static_cast<int64_t>(row), static_cast<int64_t>(column)));
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // Column n is virtual: each path starts there.
  std::vector<double> of_row(n, 0), of_column(n + 1, 0);
  std::vector<size_t> row_of(n + 1, n);
  for (size_t row = 0; row < n; ++row) {
    std::vector<double> least(n, kInfinity);
    std::vector<size_t> previous(n, n);
    std::vector<bool> used(n + 1, false);
    row_of[n] = row;
    size_t column = n;
    while (row_of[column] != n) {
      used[column] = true;
      const size_t at = row_of[column];
      size_t next = n;
      double step = kInfinity;
      for (size_t j = 0; j < n; ++j) {
        if (used[j]) continue;
        const double reduced = cost(at, j) - of_row[at] - of_column[j];
        if (reduced < least[j]) {
          least[j] = reduced;
          previous[j] = column;
        }
        if (least[j] < step) {
          step = least[j];
          next = j;
        }
      }
      for (size_t j = 0; j <= n; ++j) {
        if (used[j]) {
          of_row[row_of[j]] += step;
          of_column[j] -= step;
        } else if (j < n) {
          least[j] -= step;
        }
      }
      column = next;
    }
    while (column != n) {
      row_of[column] = row_of[previous[column]];
      column = previous[column];
    }
  }
  std::vector<size_t> columns(n);
  for (size_t j = 0; j < n; ++j) columns[row_of[j]] = j;
  return columns;
}

/// Returns the accuracy gain that makes another order significant: above the
/// gain of the best permutation by chance.
double clear_gain(int64_t samples, int64_t classes) {
  return std::max(0.1, std::sqrt(2 * std::log(static_cast<double>(classes)) /
                                 static_cast<double>(samples)));
}

void warn_of_order(std::string_view command, double accuracy, double possible,
                   const std::string& pairs) {
  warn("class_order", command,
       fmt::format(
           "class order probably differs from the model's outputs: accuracy is "
           "{:.1f} %, but {:.1f} % with {}. Hint: list the folders in output "
           "order with --class-names, or renumber the labels",
           100 * accuracy, 100 * possible, pairs));
}

std::string label_text(const io::OpenedData& opened, size_t label) {
  return !opened.folders.empty() && label < opened.classes.size()
             ? fmt::format("'{}'", printable(opened.classes[label], 40))
             : fmt::format("label {}", label);
}

void check_order(std::string_view command, const train::ConfusionMatrix& counts,
                 const io::OpenedData& opened) {
  constexpr size_t kShown = 5;
  const auto at = [&](size_t row, size_t column) {
    return counts.count(static_cast<int64_t>(row),
                        static_cast<int64_t>(column));
  };
  const std::vector<size_t> columns = best_assignment(counts);
  int64_t right = 0, possible = 0;
  std::vector<std::string> pairs;
  for (size_t row = 0; row < columns.size(); ++row) {
    const size_t column = columns[row];
    right += at(row, row);
    possible += at(row, column);
    int64_t samples = 0, answers = 0;
    for (size_t j = 0; j < columns.size(); ++j) {
      samples += at(row, j);
      answers += at(j, column);
    }
    // A clear pair has the majority of its class and of its output.
    if (column == row || 2 * at(row, column) <= samples ||
        2 * at(row, column) <= answers) {
      continue;
    }
    pairs.push_back(
        fmt::format("{} as output {}", label_text(opened, row), column));
  }
  const auto all = static_cast<double>(counts.samples());
  const double gain = static_cast<double>(possible - right) / all;
  if (pairs.size() < 2 ||
      gain < clear_gain(counts.samples(), counts.classes())) {
    return;
  }
  const size_t moved = pairs.size();
  if (moved > kShown) pairs.resize(kShown);
  warn_of_order(
      command, static_cast<double>(right) / all,
      static_cast<double>(possible) / all,
      fmt::format(
          "{}{}", fmt::join(pairs, ", "),
          moved > kShown ? fmt::format(", ... ({} in all)", moved) : ""));
}

}  // namespace

std::vector<std::string> class_names_for(const DataOptions& o,
                                         const DataTarget& target) {
  if (o.class_names.empty()) return target.classes;
  std::vector<std::string> names = parse_class_names(o.class_names);
  const int64_t count = std::ssize(names);
  if (target.class_count < 0 || count == target.class_count ||
      (target.class_count == 1 && count == 2)) {
    return names;
  }
  throw ValueError(
      "count_mismatch", "--class-names",
      fmt::format("must have a name for each of the model's {} outputs, got {}",
                  target.class_count, count));
}

std::string few_classes(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, names.size()); ++i) {
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", printable(names[i], 40));
  }
  if (names.size() > kShown) {
    text += fmt::format(", ... ({} in all)", names.size());
  }
  return text;
}

std::string classes_text(const io::OpenedData& opened, const DataOptions& o,
                         const DataTarget& target) {
  constexpr size_t kAll = 10, kShown = 4;
  const size_t count = opened.folders.size();
  if (count == 0) return "";
  std::string text = fmt::format("classes ({} -> output): ",
                                 is_table(opened) ? "label" : "folder");
  for (size_t i = 0; i < (count > kAll ? kShown : count); ++i) {
    const auto found = std::ranges::find(opened.classes, opened.folders[i]);
    text += fmt::format("{}{} -> {}", i == 0 ? "" : ", ",
                        printable(opened.folders[i], 40),
                        found - opened.classes.begin());
  }
  if (count > kAll) text += fmt::format(", ... ({} in all)", count);
  return text + (!o.class_names.empty() ? "; by --class-names"
                 : !target.classes.empty()
                     ? "; by the class names in the model file"
                     : "; sorted by name (--class-names changes the order)");
}

void warn_of_class_order(std::string_view command, const Model& model,
                         const Dataset& data, const io::OpenedData& opened,
                         double accuracy) {
  constexpr int64_t kSamples = 2048, kMostClasses = 512;
  constexpr double kGood = 0.9;  // no significant gain above this
  if (model.outputs().size() != 1 || !(accuracy < kGood) ||
      data.label_specs().size() != 1 || data.label_type() != DType::i64 ||
      data.label_shape().rank() != 0 ||
      model.outputs()[0].shape().rank() != 2) {
    return;
  }
  const int64_t classes = model.outputs()[0].shape()[-1];
  if (classes > kMostClasses) return;
  if (classes == 1) {
    if (1 - 2 * accuracy < clear_gain(data.size(), 2)) return;
    warn_of_order(command, accuracy, 1 - accuracy,
                  fmt::format("{} and {} swapped", label_text(opened, 0),
                              label_text(opened, 1)));
    return;
  }
  check_order(command, train::confusion_matrix(model, data.sample(kSamples)),
              opened);
}

void check_trained_classes(const Model& model, const Dataset& training,
                           const io::OpenedData& opened) {
  if (model.outputs().size() != 1 || training.label_specs().size() != 1 ||
      training.label_type() != DType::i64 ||
      training.label_shape().rank() != 0) {
    return;
  }
  const Tensor labels = training.labels();
  const auto values = std::as_const(labels).data<int64_t>();
  const std::set<int64_t> classes(values.begin(), values.end());
  if (classes.size() == 1) {
    throw ValueError(
        "missing_classes", "--data",
        fmt::format(
            "all training samples have the same class, {}. Hint: a "
            "classifier needs samples of two or more classes",
            *classes.begin() < 0
                ? fmt::format("label {}", *classes.begin())
                : label_text(opened, static_cast<size_t>(*classes.begin()))));
  }
  // Classes with names were listed or reported as missing.
  const int64_t outputs = model.outputs()[0].shape()[-1];
  if (!opened.classes.empty() || outputs == 1) return;
  int64_t without = 0, first = -1;
  for (int64_t i = outputs - 1; i >= 0; --i) {
    if (classes.contains(i)) continue;
    ++without;
    first = i;
  }
  if (without == 0) return;
  warn("missing_classes", "--data",
       fmt::format("outputs without training samples: {} of {}, the first {}. "
                   "Hint: labels count from 0, without gaps",
                   without, outputs, first));
}

}  // namespace octet::program
