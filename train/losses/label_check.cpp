#include "label_check.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/detail/shape_hint.h>
#include <octet/runtime/error.h>

#include "target_shape.h"

namespace octet::train {
namespace {

/// Returns "model 'm'" or "output 'box' of model 'm'".
std::string owner(const Model& model, const TrainedOutput& output) {
  return fmt::format("{}model '{}'",
                     model.outputs().size() > 1
                         ? fmt::format("output '{}' of ", output.name)
                         : "",
                     model.name());
}

/// Returns a hint for labels from `least` to `most`.
std::string hint(int64_t least, int64_t most, int64_t classes) {
  if (least < 0) return "labels count from 0";
  if (least == 1 && most == classes) {
    return "labels count from 0; subtract 1";
  }
  return fmt::format(
      "end the model with Dense({{.units = {}}}) for labels up to {}", most + 1,
      most);
}

void check(std::string_view subject, const Model& model,
           const TrainedOutput& output, const Tensor& labels,
           std::optional<int64_t> first) {
  const Shape& shape = model.outputs()[output.index].shape();
  if (output.loss.labels() != LabelKind::class_index || shape.rank() < 2 ||
      labels.dtype() != DType::i64 || labels.size() == 0) {
    return;
  }
  const int64_t classes = shape[-1];
  const std::span<const int64_t> all = labels.data<int64_t>();
  const auto wrong = std::ranges::find_if(all, [&](int64_t label) {
    return (label < 0 || label >= classes) &&
           label != output.loss.ignore_label();
  });
  if (wrong == all.end()) return;
  const auto [least, most] = std::ranges::minmax(all);
  const auto places = static_cast<int64_t>(labels.size() / labels.shape()[0]);
  throw ValueError(
      "out_of_range", subject,
      fmt::format("labels must be in [0, {}), the classes of {}, got {} at "
                  "sample {}{}. Hint: {}",
                  classes, owner(model, output), *wrong,
                  first.value_or(0) + (wrong - all.begin()) / places,
                  first ? "" : " of the batch",
                  places > 1 && !output.loss.ignore_label()
                      ? fmt::format("set .ignore_label = {} in the loss if it "
                                    "marks ignored pixels",
                                    *wrong)
                      : hint(least, most, classes)));
}

/// Returns the shape of a batch, [N,...], from the shape of a sample.
Shape batch_of(const Shape& sample) {
  std::vector<int64_t> dims = {Shape::kAnySize};
  for (const int64_t dim : sample.dims()) dims.push_back(dim);
  return Shape(dims);
}

/// Whether labels have the outputs' sizes; kAnySize in outputs matches any
/// size.
bool fits(const Shape& labels, const Shape& outputs) {
  return std::ranges::equal(
      labels.dims(), outputs.dims(), [](int64_t label, int64_t output) {
        return output == Shape::kAnySize || label == output;
      });
}

/// Checks the shape of class indices. Shapes are those of a sample.
void check_places(std::string_view subject, const std::string& whose,
                  const Shape& outputs, const Shape& labels) {
  const auto without_ones = [](const Shape& shape) {
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    std::erase(dims, 1);
    return dims;
  };
  if (labels == outputs) return;
  if (fits(labels, outputs)) return;
  const std::vector<int> order =
      transposition(batch_of(labels), batch_of(outputs));
  std::string fix_hint = "give each output position a class index";
  if (!order.empty()) {
    fix_hint =
        fmt::format("transpose their axes with labels.transposed({{{}}})",
                    fmt::join(order, ","));
  } else if (outputs.rank() == 0) {
    fix_hint = labels.size() == 1
                   ? "use labels.reshaped({n}) for a class per sample"
                   : "end the model with [N,h,w,classes] for a class per pixel";
  } else if (without_ones(labels) == without_ones(outputs)) {
    fix_hint = fmt::format("use labels.reshaped({{n,{}}})",
                           fmt::join(outputs.dims(), ","));
  } else if (labels.rank() == 0) {
    fix_hint = "end the model with Flatten and Dense for a class per sample";
  }
  throw ValueError(
      "shape_mismatch", subject,
      fmt::format("labels must have shape {} for {}, got {}. Hint: {}",
                  batch_of(outputs).to_string(), whose,
                  batch_of(labels).to_string(), fix_hint));
}

}  // namespace

void check_targets(std::string_view subject, const Model& model,
                   const TrainedOutput& trained, const TensorSpec& labels) {
  const Loss& loss = trained.loss;
  if (loss.labels() == LabelKind::any) return;
  const Shape& output = model.outputs()[trained.index].shape();
  const std::string whose = owner(model, trained);
  if (loss.labels() != LabelKind::regression && output.rank() < 2) {
    throw ValueError("invalid_shape", subject,
                     fmt::format("{} must have shape [N,...,classes], got {}",
                                 whose, output.to_string()));
  }
  const bool classes = labels.dtype == DType::i64;
  if (loss.labels() != LabelKind::regression &&
      classes != (loss.labels() == LabelKind::class_index)) {
    throw ValueError(
        "dtype_mismatch", subject,
        fmt::format("{} requires labels {}, got {}. Hint: use {}", loss.name(),
                    classes ? "f32 [n,...,classes]" : "i64 [n,...]",
                    to_string(labels.dtype),
                    classes ? "losses::sparse_categorical_cross_entropy, or "
                              "one_hot(data, classes)"
                            : "losses::categorical_cross_entropy"));
  }
  const Shape sample = output.slice(1, output.rank());
  if (loss.labels() == LabelKind::class_index) {
    check_places(subject, whose, sample.slice(0, sample.rank() - 1),
                 labels.shape);
    return;
  }
  const Shape given = batch_of(labels.shape);
  const Shape wanted = batch_of(sample);
  if (loss.labels() == LabelKind::one_hot ? !fits(given, wanted)
                                          : !pairs_with(given, wanted)) {
    throw ValueError("shape_mismatch", subject,
                     fmt::format("labels must have shape {}, the shape of {}, "
                                 "got {}{}",
                                 wanted.to_string(), whose, given.to_string(),
                                 label_shape_hint(given, wanted)));
  }
}

void check_known_labels(std::string_view subject, const Model& model,
                        const Dataset& data, const TrainedOutputs& outputs) {
  if (!data.labels_known()) return;
  const std::vector<Tensor> labels = data.known_labels();
  for (size_t i = 0; i < labels.size(); ++i) {
    check(subject, model, outputs.all()[i], labels[i], 0);
  }
}

void check_batch_labels(std::string_view subject, const Model& model,
                        const Batch& batch, const TrainedOutputs& outputs,
                        std::optional<int64_t> first) {
  for (size_t i = 0; i < outputs.all().size(); ++i) {
    check(subject, model, outputs.all()[i], batch.labels[i], first);
  }
}

}  // namespace octet::train
