#include <algorithm>
#include <string>

#include <fmt/format.h>

#include <octet/quant/calibrate.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

void set_enabled(Model& model, bool enabled) {
  for (const auto& quantizer : quantizers(model)) {
    quantizer->set_enabled(enabled);
  }
}

// Returns the names of enabled quantizers that cannot quantize.
std::vector<std::string> uncalibrated(const Model& model) {
  std::vector<std::string> names;
  for (const auto& quantizer : quantizers(model)) {
    if (quantizer->enabled() && !quantizer->calibrated() &&
        !quantizer->observing() && !quantizer->config().follows()) {
      names.push_back(quantizer->name());
    }
  }
  return names;
}

}  // namespace

bool needs_calibration(const Model& model) {
  return !uncalibrated(model).empty();
}

void expect_calibrated(std::string_view subject, const Model& model) {
  const std::vector<std::string> names = uncalibrated(model);
  if (names.empty()) return;
  throw ValueError(
      "not_calibrated", std::string(subject),
      fmt::format(
          "quantizer '{}'{} not calibrated. Hint: run quant::calibrate first",
          names[0],
          names.size() == 1
              ? " is"
              : fmt::format(" and {} more are", names.size() - 1)));
}

ObservingPaused::ObservingPaused(const Model& model)
    : quantizers_(quantizers(model)) {
  for (const auto& quantizer : quantizers_) quantizer->pause_observing();
}

ObservingPaused::~ObservingPaused() {
  for (const auto& quantizer : quantizers_) quantizer->resume_observing();
}

void prepare_qat(Model& model) {
  const auto all = quantizers(model);
  if (all.empty()) {
    throw ValueError(
        "not_quantized", "prepare_qat",
        fmt::format(
            "model '{}' has no quantizers. Hint: run quantize_model first",
            model.name()));
  }
  for (const auto& quantizer : all) {
    if (!quantizer->calibrated() && !quantizer->config().follows()) {
      throw ValueError("not_calibrated", "prepare_qat",
                       fmt::format("quantizer '{}' is not calibrated. Hint: "
                                   "run quant::calibrate first",
                                   quantizer->name()));
    }
  }
  for (const auto& quantizer : all) quantizer->cancel_observing();
  set_enabled(model, true);
}

void enable_fake_quant(Model& model) { set_enabled(model, true); }
void disable_fake_quant(Model& model) { set_enabled(model, false); }

bool learns_scales(const Model& model) {
  return std::ranges::any_of(quantizers(model), [](const auto& quantizer) {
    return quantizer->config().learns();
  });
}

void freeze_scales(Model& model, bool frozen) {
  for (const auto& quantizer : quantizers(model)) quantizer->set_frozen(frozen);
}

void freeze_bn_stats(Model& model, bool frozen) {
  for (const auto& layer : model.layers()) layer->freeze_statistics(frozen);
}

}  // namespace octet::quant
