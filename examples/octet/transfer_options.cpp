#include "transfer_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/layers/zoo.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>
#include <octet/train/fit.h>

#include "choice.h"

namespace octet::program {
namespace {

std::vector<std::string_view> list_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (;;) {
    const size_t end = std::min(text.find(','), text.size());
    words.push_back(text.substr(0, end));
    if (end == text.size()) return words;
    text.remove_prefix(end + 1);
  }
}

float weight_in(std::string_view word) {
  float weight = -1;
  const char* const end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, weight);
  if (error == std::errc() && rest == end && std::isfinite(weight) &&
      weight >= 0) {
    return weight;
  }
  throw ValueError("invalid_value", "--class-weights",
                   fmt::format("must be balanced, or a finite number >= 0 per "
                               "class (1,2.5), or NAME=number, got '{}'",
                               word));
}

void expect_any_weight(const std::vector<float>& weights) {
  if (std::ranges::any_of(weights, [](float w) { return w > 0; })) return;
  throw ValueError("invalid_value", "--class-weights",
                   "must not all be 0: no sample would be trained");
}

/// Returns the weights that give each class the same total weight.
std::vector<float> balanced(const Dataset& training, int64_t classes,
                            const std::vector<std::string>& names) {
  std::vector<int64_t> counts(static_cast<size_t>(classes));
  const Tensor labels = training.labels();
  for (const int64_t label : std::as_const(labels).data<int64_t>()) {
    if (label >= 0 && label < classes) ++counts[static_cast<size_t>(label)];
  }
  std::vector<float> weights;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) {
      throw ValueError(
          "missing_value", "--class-weights",
          fmt::format("balanced needs samples of every class, got none of {}",
                      i < names.size() ? fmt::format("'{}'", names[i])
                                       : fmt::format("class {}", i)));
    }
    weights.push_back(static_cast<float>(training.size()) /
                      static_cast<float>(classes * counts[i]));
  }
  return weights;
}

}  // namespace

void add_transfer_options(Command& command, TransferOptions& o) {
  constexpr int64_t kMost = int64_t{1} << 24;
  command.begin_group("Transfer learning");
  command
      .add("--head", o.head, 1, kMost,
           "replace the classifier of a model file by a new layer with N "
           "outputs")
      .type("N");
  command
      .add("--freeze", o.freeze,
           "freeze layers by name: *, ? and [0-9] as in the shell; a new "
           "classifier always trains")
      .type("PATTERN");
  command
      .add("--unfreeze-after", o.unfreeze_after, 1, kMost,
           "number of epochs with frozen layers; all layers train in the "
           "remaining epochs, with a new schedule (default: never unfreeze)")
      .type("N");
  command.add("--frozen-rate", o.frozen_rate, 1e-12, 1e6,
              "peak learning rate of the epochs before --unfreeze-after "
              "(default: --rate, else 0.001, sgd 0.05, lion 0.0002)");
}

void check_transfer_options(const TransferOptions& o,
                            const TrainingOptions& training, bool is_zoo) {
  if (o.head > 0 && is_zoo) {
    throw ValueError("conflicting_options", "--head",
                     "replaces the classifier of a model file. Hint: a zoo "
                     "network has --classes");
  }
  if (o.unfreeze_after > 0 && o.freeze.empty()) {
    throw ValueError("conflicting_options", "--unfreeze-after",
                     "needs --freeze. Hint: --freeze '*' freezes all layers "
                     "except a new classifier");
  }
  if (o.frozen_rate > 0 && o.unfreeze_after == 0) {
    throw ValueError("conflicting_options", "--frozen-rate",
                     "needs --unfreeze-after. Hint: use --rate");
  }
  if (o.unfreeze_after >= training.epochs) {
    throw ValueError(
        "out_of_range", "--unfreeze-after",
        fmt::format("must be below --epochs {}, got {}. Hint: without the "
                    "option, layers stay frozen",
                    training.epochs, o.unfreeze_after));
  }
}

Model with_head(Model model, const TransferOptions& o, int64_t seed) {
  if (o.head == 0) return model;
  return as_option("--head", [&] {
    return with_classifier(model, o.head,
                           {.seed = static_cast<uint64_t>(seed)});
  });
}

std::vector<std::shared_ptr<Layer>> freeze_layers(Model& model,
                                                  const TransferOptions& o) {
  std::vector<std::shared_ptr<Layer>> trained;
  for (const auto& layer : model.layers()) {
    if (layer->trainable()) trained.push_back(layer);
  }
  for (const std::string& pattern : o.freeze) {
    as_option("--freeze", [&] { return model.set_trainable(pattern, false); });
  }
  if (o.head > 0) model.set_trainable(classifier_of(model), true);
  if (!o.freeze.empty() && model.trainable_variables().empty()) {
    throw ValueError("invalid_value", "--freeze",
                     fmt::format("'{}' freeze all layers with parameters, none "
                                 "is left to train",
                                 fmt::join(o.freeze, "', '")));
  }
  std::erase_if(trained, [](const auto& layer) { return layer->trainable(); });
  return trained;
}

std::string frozen_text(const Model& model, const TransferOptions& o) {
  if (o.freeze.empty()) return "";
  int64_t all = 0, trained = 0;
  for (const NodeSize& size : model.sizes()) {
    all += size.parameters;
    trained += size.trainable;
  }
  return fmt::format(
      "--freeze: {} of {} parameters are trained{}\n", trained, all,
      o.unfreeze_after > 0
          ? fmt::format(" in the first {}",
                        o.unfreeze_after == 1
                            ? "epoch"
                            : fmt::format("{} epochs", o.unfreeze_after))
          : "");
}

void train_frozen(Model& model, const TransferOptions& o,
                  TrainingOptions training, const TrainingParts& parts,
                  const train::FitOptions& fit, bool quiet) {
  training.epochs = o.unfreeze_after;
  const double rate = o.frozen_rate > 0 ? o.frozen_rate : training.rate;
  train::FitOptions options = fit_options_of(training, parts, "frozen", quiet);
  options.loss = fit.loss;
  options.class_weights = fit.class_weights;
  options.schedule = make_schedule(training);
  options.optimizer = make_optimizer(
      training.optimizer.empty() ? "adamw" : training.optimizer, rate);
  train::fit(model, parts.training, options);
}

void add_class_weights_option(Command& command, std::string& class_weights) {
  command
      .add("--class-weights", class_weights,
           "weight of each class in the loss: balanced (by the number of "
           "samples), a number per class, or NAME=number")
      .type("balanced|LIST");
}

std::vector<float> class_weights_of(const TrainingOptions& o,
                                    const std::vector<std::string>& names,
                                    const Model& model,
                                    const Dataset& training) {
  if (o.class_weights.empty()) return {};
  if (model.outputs().size() != 1 || training.label_specs().size() != 1 ||
      training.label_type() != DType::i64) {
    throw ValueError("conflicting_options", "--class-weights",
                     "needs a model with a single output, and class labels");
  }
  const int64_t outputs = model.outputs()[0].shape()[-1];
  const int64_t classes = outputs == 1 ? 2 : outputs;
  if (fold_name(o.class_weights) == "balanced") {
    return balanced(training, classes, names);
  }
  const std::vector<std::string_view> words = list_of(o.class_weights);
  std::vector<float> weights;
  if (o.class_weights.find('=') == std::string::npos) {
    for (const std::string_view word : words)
      weights.push_back(weight_in(word));
    if (std::ssize(weights) != classes) {
      throw ValueError("count_mismatch", "--class-weights",
                       fmt::format("must have a weight for each of {} classes, "
                                   "got {}",
                                   classes, weights.size()));
    }
    expect_any_weight(weights);
    return weights;
  }
  weights.assign(static_cast<size_t>(classes), 1);
  std::set<std::string> seen;
  for (const std::string_view word : words) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string name(word.substr(0, equals));
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      throw ValueError("unknown_name", "--class-weights",
                       fmt::format("no class '{}'{}", name,
                                   names.empty() ? "; the classes have no names"
                                                 : suggest_names(name, names)));
    }
    if (!seen.insert(name).second) {
      throw ValueError("duplicate_name", "--class-weights",
                       fmt::format("class '{}' has several weights", name));
    }
    weights[static_cast<size_t>(found - names.begin())] =
        weight_in(word.substr(std::min(equals + 1, word.size())));
  }
  expect_any_weight(weights);
  return weights;
}

}  // namespace octet::program
