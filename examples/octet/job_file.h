// Job files and command lines that repeat a command.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data_options.h"
#include "read_model.h"

namespace octet::program {

/// A section of a job file: a command with its options.
class JobSection {
 public:
  explicit JobSection(std::string_view command);

  /// Adds an option unless its value is empty, false or 0.
  JobSection& set(std::string_view key, std::string_view value);
  JobSection& set(std::string_view key, const std::vector<std::string>& values);
  JobSection& set(std::string_view key, bool value);
  JobSection& set(std::string_view key, int64_t value);
  JobSection& set(std::string_view key, double value);

  /// Add the options that differ from their defaults.
  JobSection& add_model_options(const ModelSource& model);
  JobSection& add_data(const DataOptions& data);

  const std::string& text() const { return text_; }

 private:
  JobSection& add(std::string_view key, const std::string& value);
  std::string text_;
};

/// Returns the model argument of a command line and its options that differ
/// from their defaults.
std::string model_words(const ModelSource& model);

/// Returns " --data x.npy" and the other options that differ from their
/// defaults.
std::string data_words(const DataOptions& data);

}  // namespace octet::program
