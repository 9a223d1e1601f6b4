// training_config: how a model was trained, as its file says.
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
  /// Whether `rate` is the largest of the training. Otherwise it is the latest,
  /// which a callback may have reduced.
  bool is_peak = false;
  bool operator==(const TrainingConfig&) const = default;
};

/// Reads it from a file of Keras (`training_config` of .h5, `compile_config` of
/// .keras; of a schedule the largest rate) or of save_model(). Nothing for
/// other files, for models that were saved without an optimizer, and for
/// entries that make no sense, which load_keras() ignores as well.
/// Throws: IoError; FormatError for a file that is damaged.
std::optional<TrainingConfig> training_config(const std::filesystem::path& path,
                                              const FileLimits& limits = {});

/// The learning rate that Keras gives an optimizer by default; 0 for a class
/// that it does not have.
double keras_default_rate(std::string_view optimizer);

}  // namespace octet::io
