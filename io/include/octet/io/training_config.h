// Training configuration that a model file records.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <octet/io/file_limits.h>

namespace octet::io {

/// Optimizer and learning rate of a training.
struct TrainingConfig {
  /// Class of the optimizer in lower case: "adam", "sgd", "rmsprop".
  std::string optimizer = {};
  double rate = 0;  ///< learning rate, finite and > 0
  /// Whether `rate` is the maximum of the training. Otherwise it is the last
  /// rate, which a callback may have reduced.
  bool is_peak = false;
  bool operator==(const TrainingConfig&) const = default;
};

/// Reads the configuration from a Keras file (`training_config` of .h5,
/// `compile_config` of .keras; the maximum rate of a schedule) or a
/// save_model() file. Nothing for other files, models saved without an
/// optimizer, and invalid entries, which load_keras() also ignores.
/// Throws: IoError; FormatError for a damaged file.
std::optional<TrainingConfig> training_config(const std::filesystem::path& path,
                                              const FileLimits& limits = {});

/// Returns Keras' default learning rate of an optimizer; 0 for an unknown
/// class.
double keras_default_rate(std::string_view optimizer);

}  // namespace octet::io
