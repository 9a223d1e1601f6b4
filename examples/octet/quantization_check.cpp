#include "quantization_check.h"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/layers/detail/model_data.h>
#include <octet/quant/calibrate.h>
#include <octet/runtime/error.h>

#include "../common/program.h"
#include "loss_options.h"

namespace octet::program {
namespace {

constexpr double kLargestDrop = 0.05;

// A drop above 5 points, and of more than a single sample.
std::optional<std::string> drop_of(const std::string& metric, double before,
                                   double after, int64_t samples) {
  const double drop = before - after;
  if (!is_share(metric) || !(drop > kLargestDrop)) return {};
  if (std::lround(drop * static_cast<double>(samples)) < 2) return {};
  return fmt::format(
      "{} falls from {:.2f} % to {:.2f} %, more than {:g} points", metric,
      percent(before), percent(after), 100 * kLargestDrop);
}

// JSON cannot represent infinity.
void set_decibels(Config& config, const char* name, double decibels) {
  if (std::isfinite(decibels)) config.set(name, decibels);
}

Config::List to_list(const std::vector<std::string>& texts) {
  return Config::List(texts.begin(), texts.end());
}

}  // namespace

EvaluationSamples evaluation_samples(const Model& model,
                                     const io::OpenedData& data) {
  constexpr int64_t kMost = 2048;
  const Dataset all =
      data_for("quantize", model, data.test ? *data.test : data.train);
  return {quant::check_samples("quantize", all.sample(kMost)).usual,
          data.test.has_value()};
}

QuantizationCheck check_quantization(const Model& model, const Model& quantized,
                                     const EvaluationSamples& data) {
  QuantizationCheck result{.samples = data.samples.size(),
                           .others = data.others};
  result.outputs = quant::compare_outputs(model, quantized, data.samples);
  if (!result.outputs.sufficient()) {
    result.problems.push_back(result.outputs.problems());
  }
  const std::vector<TensorSpec> labels = data.samples.label_specs();
  // Labels of image folders have no output name.
  if (labels.empty() ||
      (model.outputs().size() != 1 && labels[0].name.empty())) {
    return result;
  }
  const Measured by = measured_by({}, model, data.samples);
  const train::EvaluateOptions options{.loss = by.loss, .verbose = false};
  result.before = train::evaluate(model, data.samples, options);
  result.after = train::evaluate(quantized, data.samples, options);
  for (size_t i = 0; i < result.before->metrics.size(); ++i) {
    const auto& [name, before] = result.before->metrics[i];
    const auto drop =
        drop_of(name, before, result.after->metrics[i].value, result.samples);
    if (drop) result.problems.push_back(*drop);
  }
  return result;
}

std::string to_text(const QuantizationCheck& j) {
  std::string text = fmt::format(
      "\non {} {}samples:  {}{}\n", j.samples, j.others ? "held-out " : "",
      j.outputs.outputs.size() == 1 ? "outputs with " : "\n",
      j.outputs.to_string());
  if (!j.before) return text;
  const size_t width = name_width(j.before->metrics);
  for (size_t i = 0; i < j.before->metrics.size(); ++i) {
    const auto& [name, before] = j.before->metrics[i];
    const double after = j.after->metrics[i].value;
    text += is_share(name)
                ? fmt::format("  {:<{}}  float {:.2f} %, quantized {:.2f} %\n",
                              name, width, percent(before), percent(after))
                : fmt::format("  {:<{}}  float {:.4f}, quantized {:.4f}\n",
                              name, width, before, after);
  }
  return text;
}

Config to_config(const QuantizationCheck& j) {
  Config config;
  config.set("samples", j.samples).set("other_than_calibration", j.others);
  set_decibels(config, "sqnr_db", j.outputs.sqnr());
  set_decibels(config, "median_sqnr_db", j.outputs.median_sqnr());
  if (j.outputs.agreement()) config.set("agreement", *j.outputs.agreement());
  config.set("sufficient", j.problems.empty())
      .set("problems", to_list(j.problems))
      .set("cures", to_list(j.hints));
  if (!j.before) return config;
  for (size_t i = 0; i < j.before->metrics.size(); ++i) {
    const std::string& name = j.before->metrics[i].name;
    config.set("float_" + name, j.before->metrics[i].value)
        .set("quantized_" + name, j.after->metrics[i].value);
  }
  return config;
}

void add_accept_option(Command& command, bool& accept) {
  command.begin_group("Output");
  command.add_flag("--accept", accept,
                   "exit with 0 even if the file is much worse than the model");
}

void expect_worth(const QuantizationCheck& check, const std::string& output,
                  bool accept) {
  if (check.problems.empty()) return;
  std::string text = fmt::format("much worse than the float model: {}",
                                 fmt::join(check.problems, "; "));
  if (!check.hints.empty()) {
    text += fmt::format(". Hint: {}", fmt::join(check.hints, "; "));
  }
  if (accept) {
    warn("accuracy_dropped", output, text);
    return;
  }
  throw ValueError("accuracy_dropped", output,
                   text + ". With --accept, the exit code is 0");
}

void expect_outputs(const Model& model, const Model& tuned,
                    const Dataset& samples, double loss_before,
                    double loss_after, const std::string& output) {
  constexpr double kLargestRise = 2;
  constexpr int64_t kMost = 2048;
  if (loss_after <= kLargestRise * loss_before) return;
  const quant::OutputComparison outputs =
      quant::compare_outputs(model, tuned, samples.sample(kMost));
  if (outputs.sufficient()) return;
  throw ValueError(
      "accuracy_dropped", output,
      fmt::format("much worse than the float model: the loss rises from {:.4g} "
                  "to {:.4g}; {}. Hint: run octet quantize --equalize first, "
                  "or --exclude the layer that octet sensitivity ranks first. "
                  "With --accept, the exit code is 0",
                  loss_before, loss_after, outputs.problems()));
}

}  // namespace octet::program
