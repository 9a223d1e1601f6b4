#include "predictor.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/embedding.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

#include "data_options.h"
#include "silence.h"
#include "tflite_predictor.h"

namespace octet::program {
namespace {

Predictor runnable(Model read, const ModelSource& source) {
  constexpr int64_t kBatch = 256;
  const auto model = std::make_shared<const Model>(std::move(read));
  Predictor result{.outputs = quant::output_names(*model),
                   .samples = Shape::kAnySize,
                   .batch = kBatch,
                   .takes = mode_of(*model, source),
                   .predict = [model](std::span<const Tensor> x) {
                     return model->predict(x);
                   }};
  const std::vector<int64_t> limits = index_limits(*model);
  for (const SymbolicTensor& input : model->inputs()) {
    const std::string& name = input.node->layer->name();
    const bool is_index = limits[result.inputs.size()] > 0;
    result.inputs.push_back(
        {name, "float32", input.shape(), input.shape().to_string(),
         orders_for_model("input", name, input.shape(), {}), is_index});
  }
  return result;
}

/// The axis orders that a file's import finds for ambiguous inputs. Imports the
/// file at most once.
class ImportedAxes {
 public:
  explicit ImportedAxes(const ModelSource& source) : source_(source) {}

  std::vector<int> of(const std::string& input, const Shape& shape) {
    if (!fits_several(shape)) return likely_axes(shape);
    if (!interface_) interface_ = read();
    const auto port =
        std::ranges::find(interface_->inputs, input, &io::OnnxPort::name);
    return port == interface_->inputs.end() ? likely_axes(shape) : port->axes;
  }

 private:
  /// Returns an empty interface if the file cannot be imported, without the
  /// warnings of an import: the file runs as it is.
  io::OnnxInterface read() const {
    const Silence silence;
    try {
      return io::onnx_interface(source_.what, source_.limits());
    } catch (const Error&) {
      return {};
    }
  }

  const ModelSource& source_;
  std::optional<io::OnnxInterface> interface_;
};

std::optional<Shape> open_shape(const io::OnnxShape& shape) {
  if (!shape || shape->size() > Shape::kMaxRank) return std::nullopt;
  std::vector<int64_t> dims;
  for (const io::OnnxDim& dim : *shape) {
    const auto* size = std::get_if<int64_t>(&dim);
    dims.push_back(size == nullptr ? Shape::kAnySize : *size);
  }
  return Shape(std::span<const int64_t>(dims));
}

RunnableInput input_of(const io::OnnxTensorInfo& input, ImportedAxes& axes) {
  // Stored, and read from .npy files, as float32.
  const bool is_stored_as_float = input.type == "float16" ||
                                  input.type == "bfloat16" ||
                                  input.type == "float64";
  RunnableInput result{input.name,
                       is_stored_as_float ? "float32" : input.type,
                       open_shape(input.shape),
                       io::to_string(input.shape),
                       {}};
  if (result.shape) {
    result.orders = orders_for_file(input.name, *result.shape,
                                    axes.of(input.name, *result.shape));
  }
  return result;
}

/// Returns Predictor::samples: the first size, if all inputs and outputs have
/// it in common. The axis of a vector of fixed size is no batch. Names of
/// dynamic sizes of outputs may differ.
std::optional<int64_t> batch_axis_of(const io::OnnxReference& model) {
  const auto& inputs = model.inputs();
  for (const io::OnnxTensorInfo& input : inputs) {
    if (!input.shape || input.shape->empty() ||
        input.shape->front() != inputs[0].shape->front()) {
      return std::nullopt;
    }
  }
  if (inputs.empty()) return std::nullopt;
  const io::OnnxDim& first = inputs[0].shape->front();
  if (inputs.size() > 1 && first == io::OnnxDim("?")) return std::nullopt;
  const auto* fixed = std::get_if<int64_t>(&first);
  const auto is_vector = [](const io::OnnxTensorInfo& input) {
    return input.shape->size() == 1;
  };
  if (fixed != nullptr && std::ranges::any_of(inputs, is_vector)) {
    return std::nullopt;
  }
  for (const io::OnnxTensorInfo& output : model.outputs()) {
    if (!output.shape) continue;
    const auto* size = output.shape->empty()
                           ? nullptr
                           : std::get_if<int64_t>(&output.shape->front());
    const bool other = size != nullptr && (fixed == nullptr || *size != *fixed);
    if (output.shape->empty() || other) return std::nullopt;
  }
  return fixed == nullptr ? Shape::kAnySize : *fixed;
}

Predictor runnable(const io::OnnxReference& model, const ModelSource& source) {
  const std::string& path = source.what;
  // Images run sequentially anyway; small batches stay within the limits.
  const int64_t batch = model.has_control_flow() ? 0 : 16;
  Predictor result{.samples = batch_axis_of(model),
                   .batch = batch,
                   .check_independence = true,
                   .predict = [model, path](std::span<const Tensor> x) {
                     return with_context(
                         [&] { return fmt::format("in '{}'", path); },
                         [&] { return model.predict(x); });
                   }};
  ImportedAxes axes(source);
  for (const io::OnnxTensorInfo& input : model.inputs()) {
    result.inputs.push_back(input_of(input, axes));
  }
  for (const io::OnnxTensorInfo& output : model.outputs()) {
    result.outputs.push_back(output.name);
  }
  return result;
}

}  // namespace

Predictor load_predictor(const ModelSource& source) {
  if (is_tflite_file(source.what)) {
    check_no_architecture(source);
    check_no_input_shape(source);
    return load_tflite_predictor(source.what);
  }
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
