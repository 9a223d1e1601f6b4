// Text of AutoCalibration.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <octet/quant/calibrate.h>
#include <octet/runtime/detail/text_table.h>

#include "calibration/signal_noise.h"

namespace octet::quant {
namespace {

std::string score_text(const AutoCalibration& result,
                       std::optional<double> score) {
  if (!score) return "";
  return result.score_name == "accuracy" ? fmt::format("{:.2f} %", 100 * *score)
                                         : fmt::format("{:.4f}", *score);
}

std::vector<const TensorCalibration*> worst_first(
    const AutoCalibration& result) {
  std::vector<const TensorCalibration*> tensors;
  for (const TensorCalibration& tensor : result.tensors) {
    tensors.push_back(&tensor);
  }
  std::ranges::stable_sort(tensors, {}, [](const TensorCalibration* tensor) {
    return tensor->sqnr;
  });
  return tensors;
}

std::string summary(const AutoCalibration& result,
                    const std::vector<const TensorCalibration*>& tensors) {
  std::string text = fmt::format("selected {}", result.selected);
  for (const CalibrationTrial& trial : result.trials) {
    if (trial.method != result.selected) continue;
    text += fmt::format(": outputs {}", decibels_text(trial.output_sqnr));
    if (!trial.score) continue;
    text += fmt::format(", {} {} (float {})", result.score_name,
                        score_text(result, trial.score),
                        score_text(result, result.float_score));
  }
  if (!tensors.empty()) {
    text += fmt::format(". Largest loss: '{}', {}", tensors[0]->quantizer,
                        decibels_text(tensors[0]->sqnr));
  }
  if (tensors.size() > 1) {
    text += fmt::format("; all others at least {}",
                        decibels_text(tensors[1]->sqnr));
  }
  text +=
      fmt::format(".\nRanges from {} samples, evaluated on {}{}.\n",
                  group_digits(result.samples), group_digits(result.held_out),
                  result.same_samples ? " (the same)" : " held out");
  if (result.ignored.empty()) return text;
  return text + fmt::format("{} unusual samples ignored.\n",
                            group_digits(std::ssize(result.ignored)));
}

}  // namespace

std::string AutoCalibration::to_string() const {
  const auto sorted = worst_first(*this);
  TextTable tried({Align::left, Align::right, Align::right, Align::right,
                   Align::right, Align::left});
  const std::string gap = "  ";
  tried.add_row({"method", score_name, "outputs", "median", "worst", "tensor"},
                gap);
  tried.add_rule(gap);
  if (float_score)
    tried.add_row({"float", score_text(*this, float_score)}, gap);
  for (const CalibrationTrial& trial : trials) {
    tried.add_row(
        {trial.method, score_text(*this, trial.score),
         decibels_text(trial.output_sqnr), decibels_text(trial.median_sqnr),
         decibels_text(trial.worst_sqnr), trial.worst},
        trial.method == selected ? "> " : gap);
  }
  TextTable each(
      {Align::left, Align::left, Align::right, Align::right, Align::right});
  each.add_row({"tensor", "method", "range", "scale", "SQNR"}, gap);
  each.add_rule(gap);
  for (const TensorCalibration* tensor : sorted) {
    each.add_row(
        {tensor->quantizer, tensor->method,
         fmt::format("{:.6g}", tensor->range),
         fmt::format("{:.6g}", tensor->scale), decibels_text(tensor->sqnr)},
        gap);
  }
  return fmt::format("{}\n{}\n{}", summary(*this, sorted), tried.to_string(),
                     each.to_string());
}

}  // namespace octet::quant
