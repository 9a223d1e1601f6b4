#include "fit_options.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include <octet/quant/calibrate.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/train/callback.h>
#include <octet/train/data_loader.h>

#include "callbacks/is_progress_bar.h"
#include "checks.h"
#include "last_activation.h"

namespace octet::train {
namespace {

void check_bound(std::string_view option, float bound) {
  if (!(bound >= 0.0f) || std::isinf(bound)) {
    throw ValueError("out_of_range", "fit",
                     fmt::format("{} must be finite and at least 0, got {}",
                                 option, number_text(bound)));
  }
}

void check_class_weights(const Model& model, const Dataset& data,
                         const TrainedOutputs& trained,
                         const FitOptions& options) {
  const std::vector<float>& weights = options.class_weights;
  if (weights.empty()) return;
  const TrainedOutput& output = trained.only("fit", "class_weights");
  if (data.label_type() != DType::i64 || data.label_shape().rank() != 0) {
    throw ValueError(
        "dtype_mismatch", "fit",
        fmt::format("class_weights require a single i64 label per sample, got "
                    "{} {}. Hint: give each sample a weight with "
                    "Dataset::with_weights()",
                    to_string(data.label_type()),
                    data.label_shape().to_string()));
  }
  const int64_t outputs = model.outputs()[output.index].shape()[-1];
  // A single output of a binary model stands for two classes.
  const int64_t classes = output.loss.labels() == LabelKind::class_index
                              ? outputs
                              : std::max<int64_t>(outputs, 2);
  if (static_cast<int64_t>(weights.size()) != classes) {
    throw ValueError(
        "count_mismatch", "fit",
        fmt::format("class_weights must have a weight for each of {} classes, "
                    "got {}",
                    classes, weights.size()));
  }
  for (const float weight : weights) {
    if (!(weight >= 0.0f) || std::isinf(weight)) {
      throw ValueError(
          "out_of_range", "fit",
          fmt::format("class_weights must be finite and at least 0, got {}",
                      number_text(weight)));
    }
  }
}

/// Applies the transforms to a sample, so that errors occur before training.
void check_augmentation(const Dataset& data, const TrainedOutputs& trained,
                        const FitOptions& options) {
  if (options.augmentation.empty()) return;
  const Batch batch = with_context(
      [] { return std::string("in the augmentation of fit"); },
      [&] {
        return EpochLoader(data.take(1), {.augmentation = options.augmentation})
            .batch(0);
      });
  for (size_t i = 0; i < trained.all().size(); ++i) {
    const Loss& loss = trained.all()[i].loss;
    const bool classes_wanted = loss.labels() == LabelKind::class_index ||
                                !options.class_weights.empty();
    if (!classes_wanted || batch.labels[i].dtype() == DType::i64) continue;
    throw ValueError(
        "conflicting_options", "fit",
        fmt::format(
            "{} requires i64 labels after augmentation, got {}. Hint: mixup() "
            "requires one_hot() labels and losses::categorical_cross_entropy",
            options.class_weights.empty() ? loss.name() : "class_weights",
            to_string(batch.labels[i].dtype())));
  }
}

DataSplit split(const Dataset& data, const std::optional<Dataset>& validation,
                const FitOptions& options) {
  const double share = options.validation_split;
  if (!(share >= 0.0 && share < 1.0)) {
    throw ValueError("out_of_range", "fit",
                     fmt::format("validation_split must be in [0, 1), got {}",
                                 number_text(static_cast<float>(share))));
  }
  if (share == 0) return {data, validation};
  if (validation) {
    throw ValueError("conflicting_options", "fit",
                     "validation and validation_split exclude each other");
  }
  // As in Keras: the first floor(n * (1 - share)) samples are for training.
  const auto training = static_cast<int64_t>(
      std::floor(static_cast<double>(data.size()) * (1.0 - share)));
  if (training < 1 || training >= data.size()) {
    throw ValueError(
        "out_of_range", "fit",
        fmt::format("validation_split must leave samples for training and "
                    "validation, got {} of {} samples",
                    share, data.size()));
  }
  return {data.take(training), data.drop(training)};
}

/// "1, 2 or 4": the powers of two up to `most`.
std::string powers_up_to(int64_t most) {
  std::string text = "1";
  for (int64_t power = 2; power <= most; power *= 2) {
    text += fmt::format("{}{}", 2 * power > most ? " or " : ", ", power);
  }
  return text;
}

void check_shards(const Model& model, const FitOptions& options) {
  constexpr int64_t kMost = 4096;
  const int64_t shards = shards_of(options);
  if (shards < 1 || shards > kMost ||
      !std::has_single_bit(static_cast<uint64_t>(shards))) {
    throw ValueError(
        "out_of_range", "fit",
        fmt::format("shards must be a power of two in [1, {}], got {}", kMost,
                    shards));
  }
  if (options.communicator != nullptr) {
    const int ranks = options.communicator->size();
    if (ranks > shards || !std::has_single_bit(static_cast<unsigned>(ranks))) {
      throw ValueError(
          "invalid_value", "fit",
          fmt::format("the number of ranks must divide {} shards, got {} "
                      "ranks. Hint: start {} ranks",
                      shards, ranks, powers_up_to(shards)));
    }
  }
  if (shards == 1) return;
  for (const auto& quantizer : quant::quantizers(model)) {
    if (!quantizer->observing()) continue;
    throw ValueError(
        "invalid_state", fmt::format("quantizer '{}'", quantizer->name()),
        "collects ranges, which is not supported with shards. Hint: calibrate "
        "before the fit, or train without shards");
  }
  for (const auto& layer : model.layers()) {
    if (!layer->shared_statistics()->averaged) continue;
    throw ValueError(
        "invalid_state", fmt::format("layer '{}'", layer->name()),
        "averages its statistics, which is not supported with shards. Hint: "
        "call average_statistics(false)");
  }
}

void check_options(const Model& model, const FitOptions& options) {
  check_positive("fit", "epochs", options.epochs);
  check_positive("fit", "accumulate", options.accumulate);
  check_positive("fit", "validation_batch_size", options.validation_batch_size);
  check_bound("clip_norm", options.clip_norm);
  check_bound("clip_value", options.clip_value);
  if (options.resume && options.checkpoints == nullptr) {
    throw ValueError("missing_value", "fit",
                     "resume requires checkpoints. Hint: set .checkpoints = "
                     "io::checkpoint_folder(...)");
  }
  check_shards(model, options);
  if (!options.schedule) {
    throw ValueError("missing_value", "fit",
                     "schedule must not be an empty function");
  }
  for (const auto& callback : options.callbacks) {
    if (callback == nullptr) {
      throw ValueError("missing_value", "fit", "callbacks must not be null");
    }
  }
  if (std::ranges::count_if(options.callbacks, [](const auto& callback) {
        return callback->sets_final_weights();
      }) > 1) {
    throw ValueError(
        "conflicting_options", "fit",
        "several callbacks set the final weights. Hint: use only a single "
        "keep_best(), exponential_moving_average() or early_stopping() with "
        "restore_best_weights");
  }
  // A checkpoint restores its scales.
  if (!options.calibrate && !options.resume) {
    quant::expect_calibrated("fit", model);
  }
}

/// Classes without validation samples are not measured, so early stopping
/// selects by the others. Classes without training samples are not learned.
void warn_of_missing_classes(const DataSplit& data) {
  const auto report = [](std::string_view part, std::string_view other,
                         const std::vector<int64_t>& missing) {
    if (missing.empty()) return;
    warn("missing_classes", "fit",
         fmt::format("classes of the {} data without samples in the {} data: "
                     "{}, the first {}. Hint: use data.hold_out(0.1, "
                     "{{.stratified = true}}), or data.shuffled(seed) with "
                     "validation_split",
                     other, part, missing.size(), missing[0]));
  };
  report("validation", "training",
         missing_classes(*data.validation, data.training));
  report("training", "validation",
         missing_classes(data.training, *data.validation));
}

/// Whether the layer is a BatchNormalization, float or quantized.
bool is_normalized_by_batch(const Layer& layer) {
  return quant::float_layer(layer).class_name() == "BatchNormalization";
}

/// Whether the running mean has its initial value.
bool begins(const Layer& layer) {
  return std::ranges::any_of(layer.parameters(), [](const Parameter& p) {
    return p.name == "moving_mean" &&
           std::ranges::all_of(p.variable.value().f32(),
                               [](float mean) { return mean == 0; });
  });
}

}  // namespace

void warn_of_scale_steps(const Model& model, const FitOptions& options) {
  const Config config = options.optimizer.config();
  if (config.is_null()) return;  // custom rule without config()
  const Config* found = config.find("class_name");
  if (found == nullptr) return;
  const std::string& name = found->as_string();
  // Other optimizers move a parameter by about the learning rate, whatever its
  // gradient: on a logarithm, by that share of the scale.
  const bool by_gradient = name == "SGD" || name == "LAMB";
  const float rate = options.optimizer.learning_rate();
  std::string smallest;
  float scale = 0;
  for (const auto& quantizer : quant::quantizers(model)) {
    if (!quantizer->config().learns()) continue;
    const bool logarithm =
        quantizer->config().rule == quant::ScaleRule::learned_log2;
    if (logarithm && by_gradient) {
      warn("unsuitable_optimizer", "fit",
           fmt::format(
               "{} does not suit logarithmic scales such as that of '{}': its "
               "step is proportional to the gradient, a sum over all values. "
               "Hint: use Adam, or ScaleRule::learned with {}",
               name, quantizer->name(), name));
      return;
    }
    if (logarithm || by_gradient) continue;
    for (const float s : quantizer->scales()) {
      if (!smallest.empty() && s >= scale) continue;
      smallest = quantizer->name();
      scale = s;
    }
  }
  constexpr float kLargestShare = 0.02f;
  if (smallest.empty() || rate <= kLargestShare * scale) return;
  warn("large_learning_rate", "fit",
       fmt::format("learning rate {} is too large for the learned scale {:.3g} "
                   "of '{}': {} moves it by about the learning rate per step, "
                   "whatever its gradient. Hint: use SGD, "
                   "ScaleRule::learned_log2, or a learning rate up to {:.1g}",
                   number_text(rate), scale, smallest, name,
                   kLargestShare * scale));
}

void check_shard_sizes(const Model& model, const FitOptions& options,
                       int64_t batch, int64_t samples) {
  const int64_t shards = shards_of(options);
  if (shards == 1 ||
      options.batch_statistics == BatchStatistics::synchronized) {
    return;
  }
  const auto one_value = [](const auto& node) {
    if (quant::float_layer(*node->layer).class_name() != "BatchNormalization" ||
        !node->layer->trainable() || node->layer->statistics_frozen()) {
      return false;
    }
    const Shape& x = node->shape;
    return x.slice(1, x.rank() - 1).size() == 1;
  };
  const auto nodes = model.nodes();
  const auto found = std::ranges::find_if(nodes, one_value);
  if (found == nodes.end()) return;
  constexpr std::string_view kHint =
      "Hint: set .batch_statistics = BatchStatistics::synchronized, use fewer "
      "shards or larger batches";
  if (batch < 2 * shards) {
    throw ValueError(
        "out_of_range", "fit",
        fmt::format("shards must have at least 2 samples, got batches of {} in "
                    "{} shards: layer '{}' would normalize a single value per "
                    "channel. {}",
                    batch, shards, (*found)->layer->name(), kHint));
  }
  const int64_t last = samples % batch;
  if (last > 0 && last < 2 * shards) {
    warn("small_batch", "fit",
         fmt::format("the last batch has {} samples in {} shards: layer '{}' "
                     "normalizes a single value per channel. {}",
                     last, shards, (*found)->layer->name(), kHint));
  }
}

void warn_of_slow_statistics(const Model& model, int64_t steps) {
  constexpr double kLargestShare = 0.1;
  int64_t layers = 0;
  double momentum = 0;
  for (const auto& layer : model.layers()) {
    if (!is_normalized_by_batch(*layer) || layer->statistics_frozen() ||
        !begins(*layer)) {
      continue;
    }
    const double own =
        quant::float_layer(*layer).config().at("momentum").as_number();
    if (std::pow(own, steps) <= kLargestShare) continue;
    momentum = std::max(momentum, own);
    ++layers;
  }
  if (layers == 0) return;
  warn("initial_statistics", "fit",
       fmt::format(
           "running statistics of {} BatchNormalization layers retain "
           "{:.0f} % of their initial values after {} steps (momentum "
           "{}), so validation and inference differ from training. "
           "Hint: call train::update_batch_statistics(model, data) "
           "after the fit and set .update_statistics_later = true, lower the "
           "momentum, or train for more steps",
           layers, 100 * std::pow(momentum, steps), steps,
           number_text(static_cast<float>(momentum))));
}

void warn_of_averaged_weights(const Model& model, const Callbacks& callbacks) {
  const bool averages = std::ranges::any_of(callbacks, [](const auto& each) {
    return each->state_name() == "exponential_moving_average";
  });
  const auto moves = [](const auto& layer) {
    return is_normalized_by_batch(*layer) && layer->trainable() &&
           !layer->statistics_frozen();
  };
  if (!averages || std::ranges::none_of(model.layers(), moves)) return;
  warn("stale_statistics", "fit",
       "exponential_moving_average() replaces the final weights, but the "
       "running statistics of batch normalization belong to the latest "
       "weights. Hint: call train::update_batch_statistics(model, data) after "
       "the fit and set .update_statistics_later = true");
}

DataSplit check_and_split(const Model& model, const Dataset& data,
                          const TrainedOutputs& trained,
                          const FitOptions& options) {
  const Dataset training = trained.matched("fit", model, data);
  check_options(model, options);
  check_class_weights(model, training, trained, options);
  check_augmentation(training, trained, options);
  std::optional<Dataset> validation;
  if (options.validation != nullptr) {
    validation = trained.matched("validation data", model, *options.validation);
  }
  for (const TrainedOutput& output : trained.all()) {
    warn_of_second_activation("fit", model, output.index);
  }
  DataSplit result = split(training, validation, options);
  if (result.validation) warn_of_missing_classes(result);
  return result;
}

FitOptions with_progress_bar(const FitOptions& options) {
  FitOptions shown = options;
  const bool bar = std::ranges::any_of(options.callbacks, is_progress_bar);
  if (options.verbose.value_or(isatty(STDOUT_FILENO) == 1) && !bar) {
    shown.callbacks.push_back(progress_bar());
  }
  return shown;
}

int64_t shards_of(const FitOptions& options) {
  constexpr int64_t kDefault = 8;
  return options.shards.value_or(options.communicator != nullptr ? kDefault
                                                                 : 1);
}

int64_t batch_size_of(const Dataset& data, const FitOptions& options) {
  constexpr int64_t kDefault = 64;
  const int64_t shards = shards_of(options);
  if (!options.batch_size) {
    const int64_t size = std::min(std::max(kDefault, shards), data.size());
    if (size >= shards) return size - size % shards;
    throw ValueError(
        "out_of_range", "fit",
        fmt::format("{} shards require at least {} samples, got {}", shards,
                    shards, size));
  }
  check_positive("fit", "batch_size", *options.batch_size);
  if (*options.batch_size > data.size()) {
    throw ValueError(
        "out_of_range", "fit",
        fmt::format("batch_size must be at most {}, the number of samples, got "
                    "{}",
                    data.size(), *options.batch_size));
  }
  if (const int64_t rest = *options.batch_size % shards; rest != 0) {
    const int64_t below = *options.batch_size - rest;
    throw ValueError(
        "invalid_value", "fit",
        fmt::format("batch_size must be a multiple of {}, the number of "
                    "shards, got {}. Hint: use {}{}",
                    shards, *options.batch_size,
                    below > 0 ? fmt::format("{} or ", below) : "",
                    below + shards));
  }
  return *options.batch_size;
}

std::vector<std::string> log_names(const TrainedOutputs& trained,
                                   bool validation, bool gradient_norm) {
  std::vector<std::string> names;
  for (const char* prefix : {"", "val_"}) {
    if (*prefix != '\0' && !validation) continue;
    names.push_back(fmt::format("{}loss", prefix));
    for (const std::string& name : trained.value_names()) {
      names.push_back(prefix + name);
    }
  }
  if (gradient_norm) names.emplace_back("gradient_norm");
  names.emplace_back("learning_rate");
  return names;
}

}  // namespace octet::train
