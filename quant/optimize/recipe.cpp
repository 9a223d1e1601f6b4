// Recipes: conversion to text and Config, and their application.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/quant/detail/calibration_steps.h>
#include <octet/quant/optimize.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>

#include "calibration/steps.h"

namespace octet::quant {
namespace {

constexpr std::array<std::string_view, 4> kRoundings = {
    "nearest", "second_order", "adaround", "blocks"};
constexpr std::array<std::string_view, 3> kTunings = {"none", "teacher",
                                                      "labels"};
constexpr std::array<std::pair<std::string_view, Calibration>, 4> kMethods = {
    {{"max", Calibration::max},
     {"percentile", Calibration::percentile},
     {"mse", Calibration::mse},
     {"entropy", Calibration::entropy}}};
constexpr std::string_view kAuto = "auto";

std::string_view method_name(const std::optional<Calibration>& method) {
  if (!method) return kAuto;
  for (const auto& [name, each] : kMethods) {
    if (each == *method) return name;
  }
  throw ValueError("unsupported_value", "recipe",
                   "calibration must be max, percentile, mse or entropy");
}

[[noreturn]] void refuse_unknown(const char* field, const std::string& word,
                                 const std::vector<std::string>& known) {
  throw NotFoundError(
      "unknown_name", "recipe",
      fmt::format("unknown {} '{}'{}", field, word, suggest_near(word, known)));
}

template <class Enum, size_t n>
Enum value_of(const char* field, const std::string& word,
              const std::array<std::string_view, n>& names) {
  for (size_t i = 0; i < n; ++i) {
    if (names[i] == word) return static_cast<Enum>(i);
  }
  refuse_unknown(field, word, {names.begin(), names.end()});
}

std::optional<Calibration> calibration_named(const std::string& word) {
  if (word == kAuto) return std::nullopt;
  std::vector<std::string> known = {std::string(kAuto)};
  for (const auto& [name, method] : kMethods) {
    if (name == word) return method;
    known.emplace_back(name);
  }
  refuse_unknown("calibration", word, known);
}

Model int8_placed(const Model& model, const Recipe& recipe) {
  QuantizeOptions options;
  if (recipe.format != "int8") {
    refuse_unknown("format", recipe.format, {"int8"});
  }
  if (recipe.rounding != WeightRounding::nearest) {
    options.weight.rule = ScaleRule::fixed;
  }
  for (const std::string& layer : recipe.float_layers) {
    options.spec.add(layer,
                     {.quantize_input = false, .quantize_weight = false});
  }
  return quantize_model(model, options);
}

}  // namespace

std::string_view to_string(WeightRounding rounding) {
  return kRoundings[static_cast<size_t>(rounding)];
}

std::string_view to_string(FineTuning tuning) {
  return kTunings[static_cast<size_t>(tuning)];
}

bool Recipe::folds() const {
  return equalize || correct_biases || rounding != WeightRounding::nearest;
}

std::string Recipe::to_string() const {
  std::vector<std::string> parts;
  if (format != "int8") parts.push_back(format);
  parts.push_back(calibration
                      ? quant::to_string(CalibrationOptions{
                            .method = *calibration, .percentile = percentile})
                      : std::string(kAuto));
  if (equalize) parts.emplace_back("equalization");
  constexpr std::array kMethodNames = {"", "second-order rounding", "AdaRound",
                                       "block reconstruction"};
  if (rounding != WeightRounding::nearest) {
    parts.emplace_back(kMethodNames[static_cast<size_t>(rounding)]);
  }
  if (correct_biases) parts.emplace_back("bias correction");
  if (!float_layers.empty()) {
    parts.push_back(counted(std::ssize(float_layers), "float layer"));
  }
  if (fine_tuning == FineTuning::teacher)
    parts.emplace_back("QAT on teacher outputs");
  if (fine_tuning == FineTuning::labels) parts.emplace_back("QAT on labels");
  return fmt::format("{}", fmt::join(parts, ", "));
}

Config to_config(const Recipe& r) {
  return Config()
      .set("format", r.format)
      .set("equalize", r.equalize)
      .set("calibration", method_name(r.calibration))
      .set("percentile", double{r.percentile})
      .set("rounding", to_string(r.rounding))
      .set("correct_biases", r.correct_biases)
      .set("float_layers",
           Config::List(r.float_layers.begin(), r.float_layers.end()))
      .set("fine_tuning", to_string(r.fine_tuning));
}

Recipe recipe_from_config(const Config& config) {
  Recipe r;
  r.format = config.at("format").as_string();
  r.equalize = config.at("equalize").as_bool();
  r.calibration = calibration_named(config.at("calibration").as_string());
  r.percentile = static_cast<float>(config.at("percentile").as_number());
  r.rounding = value_of<WeightRounding>(
      "rounding", config.at("rounding").as_string(), kRoundings);
  r.correct_biases = config.at("correct_biases").as_bool();
  for (const Config& layer : config.at("float_layers").as_list()) {
    r.float_layers.push_back(layer.as_string());
  }
  r.fine_tuning = value_of<FineTuning>(
      "fine_tuning", config.at("fine_tuning").as_string(), kTunings);
  return r;
}

std::optional<AutoCalibration> calibrate_with(Model& model, const Dataset& data,
                                              const Recipe& recipe,
                                              const RecipeOptions& given) {
  RecipeOptions options = given;
  const bool narrow = std::ranges::any_of(
      weight_quantizers(model), [](const PlacedQuantizer& placed) {
        return placed.quantizer->config().bits < 8;
      });
  if (narrow && !options.weights) options.weights = WeightRange::mse;
  if (activation_quantizers(model).empty()) {
    calibrate(model, [](const Model&) {}, {.weights = options.weights});
    return {};
  }
  if (!recipe.calibration) {
    return auto_calibrate(model, data,
                          {.weights = options.weights,
                           .check_samples = options.check_samples,
                           .warn_of_loss = false});
  }
  const CalibrationOptions how{.method = *recipe.calibration,
                               .percentile = recipe.percentile,
                               .weights = options.weights};
  if (options.check_samples) {
    calibrate(model, data, how);
    return {};
  }
  calibrate(
      model,
      [&](const Model& m) {
        expect_varied(m, run_samples(m, data, how.batch_size));
      },
      how);
  return {};
}

RecipeModel quantize_with(const Model& model, const Dataset& data,
                          const Recipe& recipe, const RecipeOptions& options) {
  Model source = recipe.folds() ? fold_batch_norm(model) : model.clone();
  if (recipe.equalize) (void)equalize(source);
  RecipeModel made{options.place ? options.place(source, recipe)
                                 : int8_placed(source, recipe)};
  made.calibration = calibrate_with(made.model, data, recipe, options);
  switch (recipe.rounding) {
    case WeightRounding::nearest:
      break;
    case WeightRounding::second_order:
      (void)round_weights(made.model, data, options.methods);
      break;
    case WeightRounding::adaround:
      (void)adaround(made.model, data, options.methods);
      break;
    case WeightRounding::blocks:
      (void)reconstruct_blocks(made.model, data, options.methods);
      break;
  }
  if (recipe.correct_biases) {
    (void)correct_biases(made.model, data, options.methods);
  }
  return made;
}

}  // namespace octet::quant
