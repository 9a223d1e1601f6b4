// Networks of qat_accuracy, and accuracy gates of each variant.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octet::program::recipes {

// Variants of a network, in column order.
enum Form {
  fp32,
  ptq_int8,
  qat_int8,
  ptq_w4a8,
  qat_w4a4,
  ptq_fp8,
  qat_fp8,
  kForms
};
inline const std::vector<std::string> kColumns = {
    "FP32",     "PTQ INT8", "QAT INT8", "PTQ W4A8 (ladder)",
    "QAT W4A4", "PTQ FP8",  "QAT FP8"};
// Variants of the second table, with one weight scale per tensor.
enum Scales { per_tensor, equalized, tuned, per_channel, kScales };
inline const std::vector<std::string> kScaleColumns = {
    "one scale a tensor", "equalised", "fine-tuned", "one scale a channel"};

// Largest accuracy drop from the float model, in percent of the images; for
// `fp32` the smallest accuracy. nullopt: reported only.
using Gates = std::array<std::optional<double>, kForms>;

struct Recipe {
  std::string_view network;
  double alpha = 0;        // 0: the network's default
  int64_t patch_size = 0;  // 0: the network's default
  bool adamw = false;
  bool patterns = false;  // place Q/DQ by patterns
  Gates gates = {};
  Gates quick_gates = {};
};

// Trained on 60,000 images; --quick uses a subset.
inline const Recipe kRecipes[] = {
    {.network = "resnet20", .gates = {93.0, 0.15, 0.0, 1.0, 0.7, 0.1, 0.0}},
    {.network = "mobilenet_v1_025",
     .gates = {89.0, 0.3, 0.0, 2.5, 2.5, 0.3, 0.1},
     .quick_gates = {70.0, 1.0, 2.0, 6.0, 8.0, 1.0, 2.0}},
    {.network = "vit_tiny",
     .alpha = 0.333,
     .patch_size = 4,
     .adamw = true,
     .patterns = true,
     .gates = {std::nullopt, 0.5, 0.1, std::nullopt, std::nullopt, 0.1, 0.0}},
    {.network = "resnet8", .quick_gates = {77.0, 0.5, 1.0, 2.0, 2.0, 0.5, 1.0}},
};
inline const std::vector<std::string> kFull = {"resnet20", "mobilenet_v1_025",
                                               "vit_tiny"};
inline const std::vector<std::string> kQuick = {"resnet8", "mobilenet_v1_025"};
inline constexpr std::string_view kDepthwise =
    "mobilenet_v1_025";  // for the second table

// Gates of published models, which are not trained.
inline constexpr Gates kPublishedGates = {std::nullopt, 0.3, std::nullopt, 1.3};
inline constexpr Gates kKeywordGates = {91.3, 0.3, std::nullopt, 1.3};

// Fine-tuning of a quantized model: epochs and learning rate as shares of the
// float training.
struct Tuning {
  double epochs;
  double rate;
  float weight_decay;
};
inline constexpr Tuning kTuning8 = {1.0 / 3, 0.1, 0};
inline constexpr Tuning kTuning4 = {2.0 / 3, 0.3, 1e-4f};

}  // namespace octet::program::recipes
