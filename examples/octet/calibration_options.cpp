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

Option add_calibration_options(Command& command, CalibrationChoice& choice,
                               const char* preset) {
  command.begin_group("Calibration");
  std::string help =
      "calibration method; auto selects the method with the smallest output "
      "error";
  if (preset != nullptr) help += fmt::format(" (default: {})", preset);
  Option method = command.add("--method", choice.method, help.c_str());
  method.type("auto|max|percentile|mse|entropy");
  if (preset == nullptr) method.show_default();
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
  if (!choice.method.empty()) (void)method_of(choice.method);
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

quant::Recipe recipe_of(const CalibrationChoice& choice) {
  quant::Recipe recipe;
  recipe.calibration = method_of(choice.method);
  recipe.percentile = static_cast<float>(choice.percentile);
  return recipe;
}

std::string calibration_text(const Model& int8,
                             const std::optional<quant::AutoCalibration>& found,
                             const CalibrationChoice& choice, int64_t samples,
                             bool few_bits) {
  if (found) return found->to_string();
  if (quant::activation_quantizers(int8).empty()) {
    return fmt::format("weights quantized by {}\n",
                       few_bits ? "least square error" : "largest magnitude");
  }
  return fmt::format("calibrated with {} on {} samples\n", choice.method,
                     samples);
}

std::string calibrate(Model& int8, const Dataset& data,
                      const CalibrationChoice& choice, bool few_bits) {
  // At low bit widths the clipping error of outliers outweighs the range they
  // need.
  quant::RecipeOptions options{.check_samples = !choice.checked};
  if (few_bits) options.weights = quant::WeightRange::mse;
  const Dataset samples =
      choice.samples > 0 ? data.sample(choice.samples) : data;
  const auto found =
      quant::calibrate_with(int8, samples, recipe_of(choice), options);
  return calibration_text(int8, found, choice, samples.size(), few_bits);
}

}  // namespace octet::program
