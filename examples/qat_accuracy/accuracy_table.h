// Table of measured accuracies and their gates.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <octet/runtime/config.h>

namespace octet::program {

/// Accuracy of a model variant, in percent.
struct Accuracy {
  std::vector<double> seeds = {};    ///< one per seed; empty: not measured
  std::optional<double> least = {};  ///< lower gate for the mean
  std::optional<double> most = {};   ///< upper gate: shows that a variant fails

  double mean() const;
  /// Whether the gates are met; true without gates.
  bool met() const;
};

/// A row of the table: a model and its accuracy in each column.
struct AccuracyRow {
  std::string name;
  std::vector<Accuracy> accuracies = {};

  /// Adds the results of one seed; nullopt for columns that were not measured.
  void add_seed(std::span<const std::optional<double>> percent);
};

struct AccuracyTable {
  std::vector<std::string> columns;  ///< variants: "FP32", "QAT INT8"
  std::vector<AccuracyRow> rows = {};

  /// Returns cells like "93.61 (>= 93.00)"; for several seeds the mean and the
  /// range; missed gates are marked.
  std::string to_string() const;
  /// Returns a line per missed gate.
  std::vector<std::string> missed() const;
  /// Returns the rows, with every seed and gate.
  Config to_config() const;
};

}  // namespace octet::program
