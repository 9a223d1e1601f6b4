#include "tflite_predictor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <octet/io/tflite.h>
#include <octet/runtime/error.h>

namespace octet::program {
namespace {

bool is_quantized_type(const io::TfliteTensorInfo& info) {
  return info.scale > 0 && (info.dtype == DType::i8 || info.dtype == DType::u8);
}

Tensor quantized_input(const Tensor& x, const io::TfliteTensorInfo& info) {
  if (!is_quantized_type(info)) return x;
  const float low = info.dtype == DType::i8 ? -128.0f : 0.0f;
  Tensor q = Tensor::zeros(x.shape(), info.dtype);
  const auto from = x.f32();
  for (size_t i = 0; i < from.size(); ++i) {
    const float value = std::clamp(std::nearbyint(from[i] / info.scale) +
                                       static_cast<float>(info.zero_point),
                                   low, low + 255);
    if (info.dtype == DType::i8) {
      q.data<int8_t>()[i] = static_cast<int8_t>(value);
    } else {
      q.data<uint8_t>()[i] = static_cast<uint8_t>(value);
    }
  }
  return q;
}

Tensor real_output(const Tensor& q, const io::TfliteTensorInfo& info) {
  if (!is_quantized_type(info)) return q;
  Tensor y = Tensor::zeros(q.shape());
  for (size_t i = 0; i < static_cast<size_t>(q.size()); ++i) {
    const int value =
        info.dtype == DType::i8 ? q.data<int8_t>()[i] : q.data<uint8_t>()[i];
    y.f32()[i] = info.scale * static_cast<float>(value - info.zero_point);
  }
  return y;
}

std::vector<Tensor> run(const io::TfliteModel& model,
                        std::span<const Tensor> x) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < x.size(); ++i) {
    inputs.push_back(i < model.inputs().size()
                         ? quantized_input(x[i], model.inputs()[i])
                         : x[i]);
  }
  std::vector<Tensor> outputs = model.predict(inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = real_output(outputs[i], model.outputs()[i]);
  }
  return outputs;
}

}  // namespace

Predictor load_tflite_predictor(const std::string& path) {
  const io::TfliteModel model = io::load_tflite_reference(path);
  Predictor result{.samples = Shape::kAnySize,
                   .batch = 16,
                   .predict = [model, path](std::span<const Tensor> x) {
                     return with_context(
                         [&] { return fmt::format("in '{}'", path); },
                         [&] { return run(model, x); });
                   }};
  for (const io::TfliteTensorInfo& input : model.inputs()) {
    const Shape shape = input.shape.with(0, Shape::kAnySize);
    result.inputs.push_back({input.name, "float32", shape, shape.to_string(),
                             orders_for_model("input", input.name, shape, {})});
  }
  for (const io::TfliteTensorInfo& output : model.outputs()) {
    result.outputs.push_back(output.name);
  }
  return result;
}

}  // namespace octet::program
