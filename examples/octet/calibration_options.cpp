#include "calibration_options.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/quant/calibrate.h>
#include <octet/quant/detail/calibration_steps.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>

namespace octet::program {
namespace {

std::optional<quant::Calibration> method_of(const std::string& word) {
  using quant::Calibration;
  const std::pair<const char*, std::optional<Calibration>> known[] = {
      {"auto", std::nullopt},
      {"max", Calibration::max},
      {"percentile", Calibration::percentile},
      {"mse", Calibration::mse},
      {"entropy", Calibration::entropy}};
  std::vector<std::string> words;
  for (const auto& [name, method] : known) {
    if (word == name) return method;
    words.emplace_back(name);
  }
  throw ValueError("invalid_value", "--method",
                   fmt::format("must be {}, got '{}'{}", fmt::join(words, ", "),
                               word, suggest_near(word, words)));
}

}  // namespace

Option add_calibration_options(Command& command, CalibrationChoice& choice) {
  command.begin_group("Calibration");
  const Option method = command
                            .add("--method", choice.method,
                                 "calibration method; auto selects the method "
                                 "with the smallest output error")
                            .type("auto|max|percentile|mse|entropy")
                            .show_default();
  command
      .add("--percentile", choice.percentile, 50, 100,
           "percentile for --method percentile")
      .show_default();
  command.add("--samples", choice.samples, 1, int64_t{1} << 31,
              "number of calibration samples, a random subset (default: all "
              "samples of .npy files, else 1024)");
  return method;
}

void check_method(const CalibrationChoice& choice) {
  (void)method_of(choice.method);
  if (choice.method != "percentile" &&
      choice.percentile != CalibrationChoice().percentile) {
    throw UnsupportedError(
        "conflicting_options", "--percentile",
        fmt::format("needs --method percentile, got {}", choice.method));
  }
}

quant::CheckedSamples usual_samples(const Dataset& data,
                                    CalibrationChoice& choice,
                                    const std::vector<std::string>& files) {
  quant::CheckedSamples checked =
      quant::check_samples("--data", data, {.samples = choice.samples});
  quant::warn_of_unusual("--data", checked, files);
  choice.checked = true;
  choice.samples = 0;
  return checked;
}

std::string calibrate(Model& int8, const Dataset& data,
                      const CalibrationChoice& choice, bool few_bits) {
  const std::optional<quant::Calibration> method = method_of(choice.method);
  // At low bit widths the clipping error of outliers outweighs the range they
  // need.
  std::optional<quant::WeightRange> weights;
  if (few_bits) weights = quant::WeightRange::mse;
  if (quant::activation_quantizers(int8).empty()) {
    quant::calibrate(int8, [](const Model&) {}, {.weights = weights});
    return fmt::format("weights quantized by {}\n",
                       weights ? "least square error" : "largest magnitude");
  }
  if (!method) {
    return quant::auto_calibrate(int8, data,
                                 {.weights = weights,
                                  .samples = choice.samples,
                                  .check_samples = !choice.checked,
                                  .warn_of_loss = false})
        .to_string();
  }
  const quant::CalibrationOptions options{
      .method = *method,
      .percentile = static_cast<float>(choice.percentile),
      .weights = weights,
      .samples = choice.samples};
  if (choice.checked) {
    const Dataset samples =
        choice.samples > 0 ? data.sample(choice.samples) : data;
    quant::calibrate(
        int8,
        [&](const Model& m) {
          quant::expect_varied(
              m, quant::run_samples(m, samples, options.batch_size));
        },
        options);
  } else {
    quant::calibrate(int8, data, options);
  }
  return fmt::format(
      "calibrated with {} on {} samples\n", choice.method,
      choice.samples > 0 ? std::min(choice.samples, data.size()) : data.size());
}

}  // namespace octet::program
