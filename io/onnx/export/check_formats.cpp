#include <algorithm>
#include <string>

#include <fmt/format.h>

#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

#include "export.h"
#include "onnx/graph/opsets.h"

namespace octet::io {
namespace {

/// Throws: UnsupportedError for a target that does not read int4 in blocks.
void check_blocks(const std::string& name, Target target) {
  if (target == Target::any || target == Target::tensorrt11 ||
      target == Target::tensorrt_rtx || target == Target::onnxruntime) {
    return;
  }
  throw UnsupportedError(
      "unsupported_type", fmt::format("quantizer '{}'", name),
      fmt::format("blocks need opset 21, which {} does not support. Hint: the "
                  "targets tensorrt11, tensorrt_rtx and onnxruntime support it",
                  title_of(target)));
}

/// Throws: UnsupportedError for quantized activations beside weights in blocks,
/// for TensorRT: its builder moves the scales of blocks behind the sum.
void check_beside_blocks(const Model& model, Target target) {
  if (target != Target::tensorrt11 && target != Target::tensorrt_rtx) return;
  for (const auto& layer : model.layers()) {
    const quant::BaseQuantizeWrapper* wrapper = quant::as_wrapper(*layer);
    if (wrapper == nullptr) continue;
    const auto placed = wrapper->quantizers();
    const auto in_blocks = [](const quant::PlacedQuantizer& each) {
      return each.quantizer->config().block > 0;
    };
    const auto is_activation = [](const quant::PlacedQuantizer& each) {
      return each.site.kind != quant::SiteKind::weight;
    };
    if (std::ranges::any_of(placed, in_blocks) &&
        std::ranges::any_of(placed, is_activation)) {
      throw UnsupportedError(
          "unsupported_type", fmt::format("layer '{}'", layer->name()),
          "TensorRT computes quantized activations with weights in blocks "
          "wrongly. Hint: QuantizeOptions::weights_only");
    }
  }
}

void check_signs(const Model& model, Target target) {
  if (takes_uint8(target)) return;
  for (const auto& quantizer : quant::quantizers(model)) {
    const quant::QuantizerConfig& config = quantizer->config();
    if (config.is_signed || config.bits < 8) continue;
    throw UnsupportedError(
        "unsupported_type", fmt::format("quantizer '{}'", quantizer->name()),
        fmt::format(
            "must be signed for {}, got {}. Hint: the targets onnxruntime and "
            "openvino support uint8; OnnxImportOptions.symmetric_activations "
            "imports a file with symmetric ranges",
            target == Target::any ? "all targets" : to_string(target),
            to_string(config)));
  }
}

}  // namespace

int check_formats(const Model& model, Target target) {
  check_signs(model, target);
  check_beside_blocks(model, target);
  int opset = kFirstOpsetWritten;
  for (const auto& quantizer : quant::quantizers(model)) {
    const quant::QuantizerConfig& config = quantizer->config();
    const bool fp8 = config.format == NumberFormat::fp8_e4m3;
    const bool int16 =
        config.format == NumberFormat::integer && config.bits > 8;
    if (config.format == NumberFormat::fp4_e2m1) {
      throw UnsupportedError("unsupported_type",
                             fmt::format("quantizer '{}'", quantizer->name()),
                             "ONNX export does not support fp4_e2m1");
    }
    if ((fp8 && !takes_float8(target)) || (int16 && !takes_int16(target))) {
      throw UnsupportedError(
          "unsupported_type", fmt::format("quantizer '{}'", quantizer->name()),
          fmt::format(
              "{} is not supported by {}. Hint: {}", quant::range_text(config),
              title_of(target),
              fp8 ? "the targets tensorrt10, tensorrt11 and tensorrt_rtx "
                    "support FP8"
                  : "the target onnxruntime supports 16 bits"));
    }
    if (config.block > 0) check_blocks(quantizer->name(), target);
    opset = std::max(opset, first_opset_of(config.qparams()));
  }
  return opset;
}

}  // namespace octet::io
