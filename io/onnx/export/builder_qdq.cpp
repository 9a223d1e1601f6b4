// Q/DQ pairs of GraphBuilder.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "builder.h"
#include "export.h"
#include "onnx/graph/tensors.h"

namespace octet::io {
namespace {

// Whether the range is that of uint8 with zero point -low.
bool fills_uint8(const QuantParams& qparams) {
  return qparams.format == NumberFormat::integer && qparams.low >= -255 &&
         qparams.low <= 0 && qparams.low != -128 &&
         qparams.high == 255 + qparams.low && !qparams.per_channel();
}

// Element type of the quantized values.
int32_t quantized_type(const QuantParams& qparams) {
  if (qparams.format == NumberFormat::fp8_e4m3) return kFloat8E4M3FN;
  if (fills_uint8(qparams)) return onnx::TensorProto::UINT8;
  return qparams.low < -128 ? onnx::TensorProto::INT16
                            : onnx::TensorProto::INT8;
}

// Whether saturation to the element type clips to the range.
bool fills_type(const QuantParams& qparams) {
  switch (quantized_type(qparams)) {
    case onnx::TensorProto::INT8:
      return qparams.low == -128 && qparams.high == 127;
    case onnx::TensorProto::INT16:
      return qparams.low == -32768 && qparams.high == 32767;
    default:
      return true;
  }
}

void check_range(const std::string& name, const QuantParams& qparams) {
  const bool is_float =
      qparams.format == NumberFormat::fp8_e4m3 && qparams.block == 0;
  const bool fits_int16 = qparams.low >= -32768 && qparams.high <= 32767 &&
                          qparams.low < -128 && qparams.high > 255;
  const bool fits_int8 = qparams.low >= -128 && qparams.high <= 127;
  const bool fits_integer = qparams.format == NumberFormat::integer &&
                            qparams.low < qparams.high &&
                            (fits_int8 || fits_int16 || fills_uint8(qparams));
  if (is_float || fits_integer) return;
  throw ValueError(
      "out_of_range", fmt::format("quantizer '{}'", name),
      fmt::format("quantized values must be float8 without blocks, within "
                  "[-128,127] or "
                  "[-32768,32767], or the 256 values of uint8 around a zero "
                  "point, got {}",
                  to_string(qparams)));
}

void check_qparams(const std::string& name, const QuantParams& qparams) {
  const auto subject = [&] { return fmt::format("quantizer '{}'", name); };
  if (qparams.empty()) {
    throw ValueError("not_calibrated", subject(),
                     "has no scale. Hint: calibrate the model first");
  }
  if (qparams.scale.shape().rank() > 1 && qparams.block == 0) {
    throw ShapeError("invalid_shape", subject(),
                     fmt::format("scale must have rank 0 or 1, got shape {}",
                                 qparams.scale.shape().to_string()));
  }
  if (qparams.per_channel() && qparams.axis < 0) {
    throw ShapeError("out_of_range", subject(),
                     fmt::format("axis must be >= 0 for scales per channel, "
                                 "got {}",
                                 qparams.axis));
  }
  check_range(name, qparams);
  for (const float scale : qparams.scale.f32()) {
    if (!std::isfinite(scale) || scale <= 0) {
      throw ValueError(
          "invalid_value", subject(),
          fmt::format("scales must be finite and positive, got {}", scale));
    }
  }
}

void check_fit(const std::string& name, const QuantParams& qparams,
               const onnx::TensorProto& tensor) {
  const int64_t channels =
      qparams.axis < tensor.dims_size() ? tensor.dims(qparams.axis) : -1;
  if (qparams.per_channel() && qparams.scale.size() != channels) {
    throw ShapeError(
        "count_mismatch", fmt::format("quantizer '{}'", name),
        fmt::format("must have one scale for each channel of axis {} of {}, "
                    "got {}",
                    qparams.axis, dims_text(tensor), qparams.scale.size()));
  }
}

// Equal keys have the same pair.
std::string key_of(const std::string& value, const QuantParams& qparams) {
  std::string key = fmt::format(
      "{} {} {} {} {} {} ", value.size(), to_string(qparams.format),
      qparams.block, qparams.low, qparams.high,
      qparams.per_channel() || qparams.block > 0 ? qparams.axis : -1);
  key.append(value).append(static_cast<const char*>(qparams.scale.raw()),
                           static_cast<size_t>(qparams.scale.bytes()));
  return key;
}

}  // namespace

int first_opset_of(const QuantParams& qparams) {
  if (qparams.block > 0) return kFirstOpsetOfBlocks;
  switch (quantized_type(qparams)) {
    case kFloat8E4M3FN:
      return kFirstOpsetOfFloat8;
    case onnx::TensorProto::INT16:
      return kFirstOpsetOfInt16;
    default:
      return kFirstOpsetWritten;
  }
}

// Zero, or the zero point of uint8, in the element type of the quantized
// values.
std::string GraphBuilder::add_zero_point(const std::string& name,
                                         const QuantParams& qparams) {
  const Tensor bytes = Tensor::zeros(qparams.scale.shape(), DType::u8);
  onnx::TensorProto tensor = header_of(name, bytes, bytes.shape());
  tensor.set_data_type(quantized_type(qparams));
  const size_t width = tensor.data_type() == onnx::TensorProto::INT16 ? 2 : 1;
  std::string data(static_cast<size_t>(bytes.size()) * width, '\0');
  if (fills_uint8(qparams)) data[0] = static_cast<char>(-qparams.low);
  tensor.set_raw_data(std::move(data));
  return put_once(name, std::move(tensor), bytes.bytes());
}

// ONNX saturates at the bounds of the element type only.
std::string GraphBuilder::clip_to(const std::string& value,
                                  const std::string& name,
                                  const QuantParams& qparams) {
  if (qparams.per_channel()) {
    throw UnsupportedError(
        "unsupported_value", fmt::format("quantizer '{}'", name),
        fmt::format("quantized values of an activation quantized per channel "
                    "must be [-128,127], got [{},{}]",
                    qparams.low, qparams.high));
  }
  const float scale = qparams.scale.item();
  const auto bound = [&](const char* which, int code) {
    return add_initializer(fmt::format("{}/{}", name, which),
                           Tensor::scalar(scale * static_cast<float>(code)));
  };
  return add_node(
      "Clip", name + "/clip",
      {value, bound("low", qparams.low), bound("high", qparams.high)});
}

std::string GraphBuilder::add_qdq(const std::string& value,
                                  std::string_view name,
                                  const QuantParams& qparams) {
  const std::string base(name);
  check_qparams(base, qparams);
  const auto constant = constants_.find(value);
  if (constant != constants_.end()) {
    check_fit(base, qparams, graph_.initializer(constant->second));
  }
  // Values dequantized with these parameters are unchanged by the pair.
  const std::string key = key_of("", qparams);
  const auto behind = dequantized_.find(value);
  if (behind != dequantized_.end() && behind->second == key) return value;
  std::string& output = qdq_outputs_[key_of(value, qparams)];
  if (!output.empty()) return output;

  if (opset_ < first_opset_of(qparams)) {
    throw ValueError(
        "out_of_range", fmt::format("quantizer '{}'", base),
        fmt::format("{} needs opset {} or later, got {}. Hint: choose the "
                    "opset (OnnxExportOptions::opset, --opset)",
                    type_name(quantized_type(qparams)), first_opset_of(qparams),
                    opset_));
  }
  const std::string source = fills_type(qparams) || constant != constants_.end()
                                 ? value
                                 : clip_to(value, base, qparams);
  const std::vector<std::string> parameters = {
      add_initializer(base + "/scale", qparams.scale),
      add_zero_point(base + "/zero_point", qparams)};
  Attributes attributes;
  if (qparams.per_channel() || qparams.block > 0) {
    attributes.emplace_back("axis", int64_t{qparams.axis});
  }
  if (qparams.block > 0) {
    attributes.emplace_back("block_size", qparams.block);
  }
  const std::string codes =
      add_node("QuantizeLinear", base + "/quantize",
               {source, parameters[0], parameters[1]}, attributes);
  output = add_node("DequantizeLinear", base + "/dequantize",
                    {codes, parameters[0], parameters[1]}, attributes);
  dequantized_.emplace(output, key);
  ++qdq_pairs_;
  return output;
}

}  // namespace octet::io
