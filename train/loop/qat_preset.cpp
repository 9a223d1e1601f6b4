#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include <octet/quant/calibrate.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>
#include <octet/train/qat_preset.h>

namespace octet::train {
namespace {

constexpr QatPreset kPresets[] = {
    {.name = "int8",
     .description = "8 bits, 10 % of the epochs at 1 % of the rate"},
    {.name = "int8_mobile",
     .description =
         "8 bits, 20 % of the epochs at 0.1 % of the rate, for depthwise "
         "convolutions",
     .epochs = 0.2,
     .rate = 0.001},
    {.name = "int4",
     .description =
         "4 bits except in the first and the last layer, learned scales, a "
         "third of the epochs at 10 % of the rate",
     .bits = 4,
     .epochs = 1.0 / 3,
     .rate = 0.1,
     .floor = 0,
     .freeze_batch_norm = false},
};

}  // namespace

std::vector<quant::LayerBits> inner_bits(const Model& model, int bits) {
  return inner_bits(model, bits, bits);
}

std::vector<quant::LayerBits> inner_bits(const Model& model, int weight,
                                         int activation) {
  for (const int bits : {weight, activation}) {
    if (bits >= 2 && bits <= 8) continue;
    throw ValueError("out_of_range", "inner_bits",
                     fmt::format("bits must be in [2, 8], got {}", bits));
  }
  if (weight == 8 && activation == 8) return {};
  std::vector<std::string> kernels;
  for (const auto& layer : model.layers()) {
    const bool kernel = std::ranges::any_of(
        layer->parameters(),
        [](const Parameter& p) { return p.variable.shape().rank() > 1; });
    if (kernel) kernels.push_back(layer->name());
  }
  std::vector<quant::LayerBits> widths = {{"*", weight, activation}};
  if (kernels.empty()) return widths;
  widths.push_back({kernels.front(), 8, 8});
  if (kernels.size() > 1) widths.push_back({kernels.back(), 8, 8});
  return widths;
}

quant::QuantizeOptions QatPreset::quantize(
    const Model& model, quant::QuantizeOptions options) const {
  if (bits == 8) return options;
  const std::vector<quant::LayerBits> widths = inner_bits(model, bits);
  // Later entries take precedence: the user's follow the preset's.
  options.bits.insert(options.bits.begin(), widths.begin(), widths.end());
  options.activation.rule = quant::ScaleRule::learned;
  options.weight.rule = quant::ScaleRule::learned;
  return options;
}

quant::CalibrationOptions QatPreset::calibration() const {
  // At low bit widths, clipping outliers improves the precision of all other
  // values.
  if (bits < 8) {
    return {.method = quant::Calibration::mse,
            .weights = quant::WeightRange::mse,
            .samples = 1024};
  }
  return {.samples = 1024};
}

void QatPreset::prepare(Model& model) const {
  quant::prepare_qat(model);
  if (freeze_batch_norm) quant::freeze_bn_stats(model);
}

int64_t QatPreset::epochs_of(int64_t trained) const {
  if (trained < 1) {
    throw ValueError(
        "out_of_range", fmt::format("QAT preset '{}'", name),
        fmt::format("epochs of the float training must be positive, got {}",
                    trained));
  }
  return std::max<int64_t>(1,
                           std::lround(epochs * static_cast<double>(trained)));
}

Optimizer QatPreset::optimizer(float trained_rate) const {
  return SGD({.learning_rate = static_cast<float>(rate * trained_rate),
              .momentum = 0.9f,
              .weight_decay = 1e-4f});
}

Schedule QatPreset::schedule() const { return cosine({.floor = floor}); }

std::span<const QatPreset> qat_presets() { return kPresets; }

const QatPreset& qat_preset(std::string_view name) {
  const auto found = std::ranges::find(kPresets, name, &QatPreset::name);
  if (found != std::end(kPresets)) return *found;
  std::vector<std::string> names;
  for (const QatPreset& preset : kPresets) names.emplace_back(preset.name);
  throw NotFoundError(
      "unknown_name", fmt::format("QAT preset '{}'", name),
      fmt::format("unknown name{}", suggest_names(name, names)));
}

}  // namespace octet::train
