// TracedModel of a .tflite file.
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "elements.h"
#include "traced_body.h"

namespace octet::io {

TracedModel::TracedModel(const TfliteModel& file) {
  if (file.inputs().size() != 1) {
    throw UnsupportedError(
        "unsupported_model", "tflite model",
        fmt::format("must have one input, got {}", file.inputs().size()));
  }
  Body body;
  for (const TfliteValue& value : file.values()) {
    const TfliteTensorInfo& tensor = value.tensor;
    if (!tensor.quantized() && tensor.dtype != DType::f32) {
      throw UnsupportedError(
          "unsupported_type", fmt::format("tensor '{}'", tensor.name),
          fmt::format("must be float32, int8 or uint8 with a scale, got {}",
                      to_string(tensor.dtype)));
    }
    TracedValue traced{plain_name(tensor.name),
                       value.op.empty() ? "Input" : value.op, value.inputs};
    if (tensor.quantized()) {
      const float lowest = tensor.dtype == DType::i8 ? -128.0f : 0.0f;
      const auto zero = static_cast<float>(tensor.zero_point);
      traced.qparams = {.scale = tensor.scale,
                        .zero_point = zero,
                        .lowest = lowest,
                        .highest = lowest + 255,
                        .rectifies = zero == lowest};
    }
    body.values.push_back(std::move(traced));
  }
  body.outputs = file.output_values();
  body.output_layouts.assign(body.outputs.size(), OnnxLayout::channels_last);
  body.input_shape = file.inputs()[0].shape.with(0, Shape::kAnySize);
  // Sizes in the file are those of one sample.
  body.run = [file](const Tensor& x) {
    std::vector<std::vector<Tensor>> samples;
    for (int64_t i = 0; i < x.shape()[0]; ++i) {
      const Tensor q = file.inputs()[0].to_stored(as_floats(x.slice(i, 1)));
      samples.push_back(file.trace(std::span(&q, 1)));
      for (size_t k = 0; k < samples.back().size(); ++k) {
        Tensor& y = samples.back()[k];
        y = file.values()[k].tensor.to_real(y);
      }
    }
    std::vector<Tensor> values{as_floats(x)};
    for (size_t i = 1; i < samples.front().size(); ++i) {
      values.push_back(joined(samples, i));
    }
    return values;
  };
  body_ = std::make_shared<const Body>(std::move(body));
}

}  // namespace octet::io
