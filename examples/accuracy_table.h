// Measured accuracies beside the least that they have to be.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <octet/runtime/config.h>

namespace octet::program {

/// Accuracies of one model in one form, in percent.
struct Accuracy {
  std::vector<double> seeds = {};    ///< one of each seed; none: not measured
  std::optional<double> least = {};  ///< the gate: what the mean has to reach
  std::optional<double> most = {};   ///< what it must not: a failure is shown

  double mean() const;
  /// Whether the gates are met; true without any.
  bool met() const;
};

/// A line of the table: a model, and its accuracy in each column.
struct AccuracyRow {
  std::string name;
  std::vector<Accuracy> accuracies = {};

  /// What one seed gave in each column; nothing where it was not measured.
  void add_seed(std::span<const std::optional<double>> percent);
};

struct AccuracyTable {
  std::vector<std::string> columns;  ///< forms of a model: "FP32", "QAT INT8"
  std::vector<AccuracyRow> rows = {};

  /// "93.61 (>= 93.00)"; of several seeds the mean and the spread; what is
  /// missed is marked.
  std::string to_string() const;
  /// Each gate that is missed, in a line.
  std::vector<std::string> missed() const;
  /// The rows, with every seed and gate.
  Config to_config() const;
};

}  // namespace octet::program
