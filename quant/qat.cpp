#include <fmt/format.h>

#include <octet/quant/qat.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

void set_enabled(const Model& model, bool enabled) {
  for (const auto& quantizer : quantizers(model)) {
    quantizer->set_enabled(enabled);
  }
}

}  // namespace

void prepare_qat(const Model& model) {
  const auto all = quantizers(model);
  if (all.empty()) {
    throw ValueError(fmt::format(
        "prepare_qat: expected a quantized model, got '{}'", model.name()));
  }
  for (const auto& quantizer : all) {
    if (!quantizer->calibrated()) {
      throw ValueError(fmt::format(
          "prepare_qat: expected calibrated quantizers, but '{}' has no scale; "
          "run quant::calibrate first",
          quantizer->name()));
    }
  }
  for (const auto& quantizer : all) quantizer->cancel_observing();
  set_enabled(model, true);
}

void enable_fake_quant(const Model& model) { set_enabled(model, true); }
void disable_fake_quant(const Model& model) { set_enabled(model, false); }

void freeze_bn_stats(const Model& model, bool frozen) {
  for (const auto& layer : model.layers()) layer->freeze_statistics(frozen);
}

}  // namespace octet::quant
