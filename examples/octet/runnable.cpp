#include "runnable.h"

#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <octet/io/onnx_model.h>
#include <octet/runtime/error.h>

namespace octet::program {
namespace {

void check_ends(size_t inputs, size_t outputs) {
  if (inputs == 1 && outputs == 1) return;
  throw UnsupportedError(fmt::format(
      "predict: expected a model of one input and one output, got {} and {}. "
      "Hint: predict() of a Model or an OnnxModel in C++ takes several",
      inputs, outputs));
}

Runnable runnable(Model read) {
  const auto model = std::make_shared<const Model>(std::move(read));
  check_ends(model->inputs().size(), model->outputs().size());
  const Shape& input = model->inputs()[0].shape();
  constexpr int64_t kBatch = 256;
  return {"float32", input, input.to_string(), kBatch,
          [model](const Tensor& x) { return model->predict(x); }};
}

Runnable runnable(const io::OnnxModel& model, const std::string& path) {
  check_ends(model.inputs().size(), model.outputs().size());
  const io::OnnxTensorInfo& input = model.inputs()[0];
  if (!input.shape) {
    throw UnsupportedError(fmt::format(
        "'{}': expected an input '{}' with a shape, got none. Hint: "
        "OnnxModel::predict() in C++ takes any",
        path, input.name));
  }
  std::vector<int64_t> dims;
  for (const io::OnnxDim& dim : input.shape.value()) {
    const auto* size = std::get_if<int64_t>(&dim);
    dims.push_back(size == nullptr ? Shape::kAnySize : *size);
  }
  if (dims.empty()) {
    throw UnsupportedError(fmt::format(
        "'{}': expected an input with an axis of samples, got one number",
        path));
  }
  // One image runs after another in any case; few keep to the limits.
  constexpr int64_t kBatch = 16;
  // These are held, and read from .npy files, as float32.
  const bool is_short = input.type == "float16" || input.type == "bfloat16";
  return {is_short ? "float32" : input.type, Shape(std::span(dims)),
          io::to_text(input.shape), kBatch, [model, path](const Tensor& x) {
            return with_context([&] { return fmt::format("in '{}'", path); },
                                [&] { return model.predict(x); });
          }};
}

}  // namespace

Runnable read_runnable(const ModelSource& source) {
  if (!is_onnx(source.what)) return runnable(read_model(source));
  check_no_architecture(source);
  check_no_input_shape(source);
  return runnable(io::load_onnx_reference(source.what, source.limits()),
                  source.what);
}

}  // namespace octet::program
