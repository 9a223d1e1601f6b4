#include <algorithm>

#include <fmt/format.h>

#include <octet/layers/detail/model_data.h>
#include <octet/quant/sensitivity.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

#include "calibration/output_error.h"

namespace octet::quant {
namespace {

// Class labels define the rule for an output without softmax or sigmoid.
DecisionRule rule_by_labels(const Model& model, size_t index,
                            const std::vector<TensorSpec>& labels) {
  const DecisionRule known = decision_rule(model, index);
  const Shape shape = model.outputs()[index].shape();
  if (known != DecisionRule::none || shape.rank() < 2) return known;
  const std::string name = output_names(model)[index];
  const bool single = labels.size() == 1 && model.outputs().size() == 1;
  const bool classes = std::ranges::any_of(labels, [&](const TensorSpec& spec) {
    return spec.dtype == DType::i64 && (single || spec.name == name);
  });
  if (!classes) return DecisionRule::none;
  return shape[-1] == 1 ? DecisionRule::sign : DecisionRule::largest;
}

void check(const OutputComparisonOptions& options) {
  if (options.batch_size < 1) {
    throw ValueError(
        "out_of_range", "compare_outputs",
        fmt::format("batch_size must be >= 1, got {}", options.batch_size));
  }
  if (!(options.min_agreement >= 0 && options.min_agreement <= 1)) {
    throw ValueError("out_of_range", "compare_outputs",
                     fmt::format("min_agreement must be in [0,1], got {}",
                                 options.min_agreement));
  }
}

}  // namespace

OutputComparison compare_outputs(const Model& reference, const Model& quantized,
                                 const Dataset& data,
                                 const OutputComparisonOptions& options) {
  check(options);
  const Dataset samples = data_for("compare_outputs", reference, data);
  if (reference.outputs().size() != quantized.outputs().size()) {
    throw ValueError(
        "count_mismatch", "compare_outputs",
        fmt::format("models must have equally many outputs, got {} and {}",
                    reference.outputs().size(), quantized.outputs().size()));
  }
  std::vector<OutputError> errors;
  for (size_t i = 0; i < reference.outputs().size(); ++i) {
    errors.emplace_back(rule_by_labels(reference, i, samples.label_specs()));
  }
  for (int64_t at = 0; at < samples.size(); at += options.batch_size) {
    const auto inputs =
        samples.batch(at, std::min(options.batch_size, samples.size() - at))
            .inputs;
    const std::vector<Tensor> exact = reference.predict(inputs);
    const std::vector<Tensor> rounded = quantized.predict(inputs);
    for (size_t i = 0; i < errors.size(); ++i) {
      if (exact[i].shape() != rounded[i].shape()) {
        throw ValueError("shape_mismatch", "compare_outputs",
                         fmt::format("output {} must have shape {}, got {}", i,
                                     exact[i].shape().to_string(),
                                     rounded[i].shape().to_string()));
      }
      errors[i].add(exact[i], rounded[i]);
    }
  }
  OutputComparison result{.samples = samples.size(), .thresholds = options};
  const std::vector<std::string> names = output_names(reference);
  for (size_t i = 0; i < errors.size(); ++i) {
    OutputLoss& loss = result.outputs.emplace_back();
    loss.output = names[i];
    loss.sqnr = errors[i].pooled().decibels();
    loss.median_sqnr = errors[i].median_decibels();
    loss.compared = errors[i].rows();
    loss.disagreements = errors[i].disagreements();
    if (loss.compared > 0) {
      loss.agreement = 1 - static_cast<double>(loss.disagreements) /
                               static_cast<double>(loss.compared);
    }
  }
  return result;
}

}  // namespace octet::quant
