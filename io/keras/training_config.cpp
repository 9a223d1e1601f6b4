#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <octet/io/json.h>
#include <octet/io/keras.h>
#include <octet/io/model_file.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "checkpoint/file.h"
#include "file_errors.h"
#include "file_kind.h"
#include "hdf5/reader.h"
#include "keras/archive.h"
#include "zip.h"

namespace octet::io {
namespace {

constexpr size_t kMostJson = size_t{1} << 20;

// Source: the constructors in keras/src/optimizers/.
constexpr std::array<std::pair<std::string_view, double>, 12> kDefaults{
    {{"sgd", 0.01},
     {"adam", 0.001},
     {"adamw", 0.001},
     {"rmsprop", 0.001},
     {"nadam", 0.001},
     {"adamax", 0.001},
     {"lion", 0.001},
     {"lamb", 0.001},
     {"adagrad", 0.001},
     {"adadelta", 0.001},
     {"ftrl", 0.001},
     {"adafactor", 0.001}}};

/// Returns "Adam" and "Addons>AdamW" in lower case without the package.
std::string class_word(std::string_view name) {
  std::string word(name.substr(name.rfind('>') + 1));
  std::ranges::transform(word, word.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return word;
}

/// Returns a member of an object, or null.
const Config* member(const Config* config, std::string_view name) {
  return config != nullptr && config->is_object() ? config->find(name)
                                                  : nullptr;
}

double largest_number(const Config& config) {
  if (config.is_number()) return config.as_number();
  double largest = 0;
  if (config.is_list()) {
    for (const Config& each : config.as_list()) {
      if (each.is_number()) largest = std::max(largest, each.as_number());
    }
  }
  return largest;
}

/// Returns the learning rate of an optimizer: a number, a NumPy scalar or a
/// schedule.
TrainingConfig rate_of(const Config& optimizer) {
  const Config* rate = member(&optimizer, "learning_rate");
  if (rate == nullptr) rate = member(&optimizer, "lr");
  if (rate == nullptr) return {};
  if (rate->is_number()) return {.rate = rate->as_number()};
  const Config* config = member(rate, "config");
  if (const Config* value = member(config, "value")) {
    return {.rate = largest_number(*value)};
  }
  TrainingConfig result{.is_peak = true};
  for (const char* name : {"initial_learning_rate", "warmup_target", "values",
                           "max_lr", "end_learning_rate"}) {
    if (const Config* found = member(config, name)) {
      result.rate = std::max(result.rate, largest_number(*found));
    }
  }
  return result;
}

/// Parses a serialized optimizer, or its name.
std::optional<TrainingConfig> optimizer_from(const Config& optimizer,
                                             int depth = 0) {
  constexpr int kMostDepth = 4;
  if (optimizer.is_string()) {
    TrainingConfig result{.optimizer = class_word(optimizer.as_string())};
    result.rate = keras_default_rate(result.optimizer);
    return result;
  }
  const Config* name = member(&optimizer, "class_name");
  const Config* config = member(&optimizer, "config");
  if (name == nullptr || !name->is_string() || config == nullptr) return {};
  // LossScaleOptimizer wraps the optimizer that updates the weights.
  for (const char* inner : {"inner_optimizer", "optimizer"}) {
    const Config* wrapped = member(config, inner);
    if (wrapped != nullptr && depth < kMostDepth) {
      return optimizer_from(*wrapped, depth + 1);
    }
  }
  TrainingConfig result = rate_of(*config);
  result.optimizer = class_word(name->as_string());
  return result;
}

std::optional<TrainingConfig> checked(std::optional<TrainingConfig> config) {
  if (!config || config->optimizer.empty() || !std::isfinite(config->rate) ||
      !(config->rate > 0)) {
    return {};
  }
  return config;
}

std::optional<TrainingConfig> config_in(const std::string& json,
                                        std::string_view outer,
                                        std::string_view inner) {
  if (json.empty() || json.size() > kMostJson) return {};
  try {
    const Config parsed = from_json(json);
    const Config* all = outer.empty() ? &parsed : member(&parsed, outer);
    const Config* optimizer = member(all, inner);
    return optimizer == nullptr ? std::nullopt
                                : checked(optimizer_from(*optimizer));
  } catch (const FormatError&) {
    return {};  // optional information
  }
}

std::optional<TrainingConfig> config_of_keras(std::string contents,
                                              const std::string& name,
                                              const FileLimits& limits) {
  if (is_zip(contents)) {
    return config_in(read_archive(contents).config, "compile_config",
                     "optimizer");
  }
  const Hdf5Reader file(std::move(contents), name, limits);
  const std::optional<Config> value = file.attribute("", "training_config");
  if (!value || !value->is_string()) return {};
  return config_in(value->as_string(), "", "optimizer_config");
}

}  // namespace

double keras_default_rate(std::string_view optimizer) {
  const auto found = std::ranges::find(
      kDefaults, optimizer, &std::pair<std::string_view, double>::first);
  return found == kDefaults.end() ? 0 : found->second;
}

std::optional<TrainingConfig> training_config(const std::filesystem::path& path,
                                              const FileLimits& limits) {
  if (is_octet_file(path)) {
    return checked(options_in(read_file_as(kOctetFile, path, kLargestFile),
                              path.string(), limits)
                       .training);
  }
  if (!is_keras_file(path)) {
    // Throws unless the file is empty.
    if (read_part(path, 0, 1).empty()) (void)read_file(path);
    return {};
  }
  return in_file([&] { return "in file '" + path.string() + "'"; },
                 [&] {
                   return config_of_keras(
                       read_file_as("a Keras model (.h5, .keras)", path),
                       path.string(), limits);
                 });
}

}  // namespace octet::io
