#include "loss_options.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/data.h>
#include <octet/io/detail/checks.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/shape_hint.h>
#include <octet/runtime/error.h>
#include <octet/train/loss.h>

#include "../common/program.h"
#include "choice.h"
#include "name_value_args.h"

namespace octet::program {
namespace {

enum class LossWord {
  automatic,
  classes,
  shares,
  binary,
  squared,
  absolute,
  huber
};

constexpr std::array<std::pair<std::string_view, LossWord>, 7> kLossWords = {
    {{"auto", LossWord::automatic},
     {"cross_entropy", LossWord::classes},
     {"categorical_cross_entropy", LossWord::shares},
     {"binary_cross_entropy", LossWord::binary},
     {"mean_squared_error", LossWord::squared},
     {"mean_absolute_error", LossWord::absolute},
     {"huber", LossWord::huber}}};

/// Returns the loss of a word, which may be the Keras or PyTorch name.
LossWord word_of(const std::string& text) {
  if (text.empty()) return LossWord::automatic;
  std::string word = train::loss_name(text);
  if (word == "sparse_categorical_cross_entropy") word = "cross_entropy";
  return choice<LossWord, 7>("--loss", word.empty() ? text : word, kLossWords);
}

/// Returns the default loss of an output with `width` values per sample or
/// position.
/// Throws: ValueError for float labels.
LossWord usual(int64_t width, const TensorSpec& labels, const Tensor& values) {
  if (labels.dtype == DType::i64) {
    return width == 1 ? LossWord::binary : LossWord::classes;
  }
  throw ValueError(
      "missing_value", "--loss",
      fmt::format(
          "required for float32 labels{}{}",
          labels.name.empty() ? "" : fmt::format(" of '{}'", labels.name),
          io::labels_hint(values, labels.name)));
}

train::Loss make_loss(LossWord word) {
  using namespace train::losses;
  switch (word) {
    case LossWord::shares:
      return categorical_cross_entropy();
    case LossWord::binary:
      return binary_cross_entropy();
    case LossWord::squared:
      return mean_squared_error();
    case LossWord::absolute:
      return mean_absolute_error();
    case LossWord::huber:
      return huber();
    default:
      return sparse_categorical_cross_entropy();
  }
}

/// Throws: ValueError for labels with permuted axes, as from an ONNX file with
/// channels first.
void check_axes(const Shape& output, const TensorSpec& labels) {
  const bool classes = labels.dtype == DType::i64;
  const Shape wanted =
      classes ? output.slice(0, std::max(output.rank() - 1, 1)) : output;
  std::vector<int64_t> dims{Shape::kAnySize};
  dims.insert(dims.end(), labels.shape.dims().begin(),
              labels.shape.dims().end());
  const Shape given{std::span<const int64_t>(dims)};
  const std::vector<int> order = transposition(given, wanted);
  if (order.empty()) return;
  throw ValueError(
      "shape_mismatch", "--labels",
      fmt::format(
          "axes of the output are {}, those of the labels{} are permuted, {}. "
          "Hint: transpose them with numpy.transpose(labels, ({}))",
          wanted.to_string(),
          labels.name.empty() ? "" : fmt::format(" of '{}'", labels.name),
          given.to_string(), fmt::join(order, ", ")));
}

/// Returns metrics in addition to the default metrics of the loss.
train::Metrics metrics_of(LossWord word, int64_t width) {
  constexpr int64_t kTop = 5;
  if (word != LossWord::classes && word != LossWord::shares) return {};
  train::Metrics metrics = {train::metrics::accuracy()};
  if (width > kTop) metrics.push_back(train::metrics::top_k_accuracy(kTop));
  return metrics;
}

/// Returns the index of the labels of each output, nullopt without labels.
std::vector<std::optional<size_t>> label_places(
    const std::vector<TensorSpec>& labels,
    const std::vector<std::string>& outputs,
    const std::vector<std::string>& words) {
  std::vector<std::optional<size_t>> places(outputs.size());
  if (outputs.size() == 1) {
    places[0] = 0;
    return places;
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto found = std::ranges::find(outputs, labels[i].name);
    if (found != outputs.end()) {
      places[static_cast<size_t>(found - outputs.begin())] = i;
    }
  }
  if (labels.size() == 1 && labels[0].name.empty() &&
      std::ranges::count(words, "") == std::ssize(words) - 1) {
    const auto named = std::ranges::find_if_not(words, &std::string::empty);
    places[static_cast<size_t>(named - words.begin())] = 0;
  } else if (std::ranges::none_of(
                 places, [](const auto& place) { return place.has_value(); })) {
    throw ValueError(
        "missing_value", "--loss",
        fmt::format(
            "must be NAME=LOSS to assign the labels to one of the outputs '{}'",
            fmt::join(outputs, "', '")));
  }
  return places;
}

}  // namespace

void add_loss_option(Command& command, std::vector<std::string>& loss) {
  command
      .add("--loss", loss,
           "cross_entropy, binary_cross_entropy, categorical_cross_entropy, "
           "mean_squared_error, mean_absolute_error, huber, or a Keras or "
           "PyTorch name; NAME=LOSS per output (default: cross entropy for "
           "class labels)")
      .type("LOSS");
}

Measured measured_by(const std::vector<std::string>& loss, const Model& model,
                     const Dataset& data,
                     const std::vector<std::string>& file_outputs) {
  const std::vector<std::string> outputs = quant::output_names(model);
  const std::vector<std::string>& shown =
      file_outputs.empty() ? outputs : file_outputs;
  const bool several = outputs.size() > 1;
  const std::vector<std::string> words =
      loss == std::vector<std::string>{"auto"}
          ? std::vector<std::string>(outputs.size())
          : values_for("--loss", "loss", loss, outputs, file_outputs);
  for (const std::string& word : words) (void)word_of(word);
  const std::vector<TensorSpec> labels = data.label_specs();
  if (labels.empty()) {
    throw ValueError(
        "missing_value", "--labels",
        several ? "the data has no labels. Hint: add --labels NAME=Y.npy"
                : "the data has no labels. Hint: add --labels Y.npy");
  }
  const auto places = label_places(labels, outputs, words);
  std::vector<train::OutputLoss> losses;
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!places[i]) {
      if (!words[i].empty()) {
        throw ValueError(
            "missing_value", "--loss",
            fmt::format(
                "output '{}' has no labels. Hint: add --labels {}=Y.npy",
                shown[i], shown[i]));
      }
      warn("output_ignored", "--labels",
           fmt::format("ignoring output '{}', which has no labels", shown[i]));
      continue;
    }
    check_axes(model.outputs()[i].shape(), labels[*places[i]]);
    const int64_t width = model.outputs()[i].shape()[-1];
    LossWord word = word_of(words[i]);
    if (word == LossWord::automatic) {
      const std::vector<Tensor> values = data.known_labels();
      word = usual(width, labels[*places[i]],
                   values.empty() ? Tensor() : values[*places[i]]);
    }
    const train::Loss made = make_loss(word);
    names.push_back(several ? fmt::format("{}: {}", shown[i], made.name())
                            : made.name());
    losses.emplace_back(several ? outputs[i] : "", made, 1.0f,
                        metrics_of(word, width));
  }
  return {std::move(losses), fmt::format("{}", fmt::join(names, ", "))};
}

bool is_share(const std::string& metric) {
  return metric.find("accuracy") != std::string::npos;
}

size_t name_width(const std::vector<train::MetricValue>& metrics) {
  size_t width = std::string_view("top_5_accuracy").size();
  for (const train::MetricValue& metric : metrics) {
    width = std::max(width, metric.name.size());
  }
  return width;
}

std::string to_text(const train::Evaluation& evaluation,
                    const std::string& loss) {
  const size_t width = name_width(evaluation.metrics);
  std::string text = fmt::format("{:<{}}  {:.4f}  ({})\n", "loss", width,
                                 evaluation.loss, loss);
  for (const auto& [name, value] : evaluation.metrics) {
    text += is_share(name)
                ? fmt::format("{:<{}}  {:.2f} %\n", name, width, percent(value))
                : fmt::format("{:<{}}  {:.4f}\n", name, width, value);
  }
  return text;
}

Config to_config(const train::Evaluation& evaluation, const std::string& loss) {
  Config config;
  config.set("samples", evaluation.samples)
      .set("loss_name", loss)
      .set("loss", evaluation.loss);
  for (const train::MetricValue& metric : evaluation.metrics) {
    config.set(metric.name, metric.value);
  }
  return config;
}

std::function<double(const Model&, const Dataset&)> score_of(
    const Measured& by) {
  if (by.loss.outputs().size() != 1) {
    throw ValueError("unsupported_model", "score",
                     "the model must have a single output");
  }
  return [by](const Model& model, const Dataset& samples) {
    return train::evaluate(model, samples, {.loss = by.loss, .verbose = false})
        .metrics[0]
        .value;
  };
}

}  // namespace octet::program
