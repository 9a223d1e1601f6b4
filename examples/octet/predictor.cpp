#include "predictor.h"

#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <octet/io/checkpoint.h>
#include <octet/io/onnx_interface.h>
#include <octet/io/onnx_model.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

#include "data_options.h"

namespace octet::program {
namespace {

Predictor runnable(Model read, const ModelSource& source) {
  constexpr int64_t kBatch = 256;
  const auto model = std::make_shared<const Model>(std::move(read));
  Predictor result{.outputs = quant::output_names(*model),
                   .batch = kBatch,
                   .takes = mode_of(*model, source),
                   .predict = [model](std::span<const Tensor> x) {
                     return model->predict(x);
                   }};
  for (const SymbolicTensor& input : model->inputs()) {
    const std::string& name = input.node->layer->name();
    result.inputs.push_back(
        {name, "float32", input.shape(), input.shape().to_string(),
         orders_for_model("input", name, input.shape(), {})});
  }
  return result;
}

/// Returns the axis order of input `index` of a file, if the shape is
/// ambiguous.
std::vector<int> axes_of(const ModelSource& source, size_t index,
                         const Shape& shape) {
  if (!fits_several(shape)) return likely_axes(shape);
  try {
    return io::onnx_interface(source.what, source.limits())
        .inputs.at(index)
        .axes;
  } catch (const Error&) {
    return likely_axes(shape);  // the file cannot be imported
  }
}

RunnableInput input_of(const io::OnnxTensorInfo& input,
                       const ModelSource& source, size_t index) {
  const std::string& path = source.what;
  if (!input.shape) {
    throw UnsupportedError(
        "unsupported_model", path,
        fmt::format(
            "input '{}' has no shape. Hint: export the model with input shapes",
            input.name));
  }
  std::vector<int64_t> dims;
  for (const io::OnnxDim& dim : input.shape.value()) {
    const auto* size = std::get_if<int64_t>(&dim);
    dims.push_back(size == nullptr ? Shape::kAnySize : *size);
  }
  if (dims.empty()) {
    throw UnsupportedError(
        "unsupported_model", path,
        fmt::format("input '{}' is a scalar without a batch axis", input.name));
  }
  // Stored, and read from .npy files, as float32.
  const bool is_short = input.type == "float16" || input.type == "bfloat16";
  const Shape shape{std::span<const int64_t>(dims)};
  return {input.name, is_short ? "float32" : input.type, shape,
          io::to_text(input.shape),
          orders_for_file(input.name, shape, axes_of(source, index, shape))};
}

Predictor runnable(const io::OnnxModel& model, const ModelSource& source) {
  const std::string& path = source.what;
  // Images run sequentially anyway; small batches stay within the limits.
  constexpr int64_t kBatch = 16;
  Predictor result{
      .batch = kBatch, .predict = [model, path](std::span<const Tensor> x) {
        return with_context([&] { return fmt::format("in '{}'", path); },
                            [&] { return model.predict(x); });
      }};
  for (const io::OnnxTensorInfo& input : model.inputs()) {
    result.inputs.push_back(input_of(input, source, result.inputs.size()));
  }
  for (const io::OnnxTensorInfo& output : model.outputs()) {
    result.outputs.push_back(output.name);
  }
  return result;
}

}  // namespace

Predictor load_predictor(const ModelSource& source) {
  if (!is_onnx(source.what)) {
    return runnable(read_model(source), source);
  }
  check_no_architecture(source);
  check_no_input_shape(source);
  Predictor result =
      runnable(io::load_onnx_reference(source.what, source.limits()), source);
  result.takes = io::trained_preprocess(source.what, source.limits());
  return result;
}

}  // namespace octet::program
