#include "same_order.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <octet/io/checkpoint.h>
#include <octet/io/onnx_model.h>
#include <octet/layers/model_data.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/runtime/rng.h>

#include "data_options.h"

namespace octet::program {
namespace {

std::vector<std::string> names_in(
    const std::vector<io::OnnxTensorInfo>& tensors) {
  std::vector<std::string> names;
  for (const io::OnnxTensorInfo& tensor : tensors) names.push_back(tensor.name);
  return names;
}

/// Without the samples; nothing where a size is open.
std::vector<int64_t> sample_of(const io::OnnxTensorInfo& input) {
  std::vector<int64_t> sizes;
  if (!input.shape) return sizes;
  for (size_t i = 1; i < input.shape->size(); ++i) {
    const auto* size = std::get_if<int64_t>(&(*input.shape)[i]);
    if (size == nullptr || *size < 1) return {};
    sizes.push_back(*size);
  }
  return sizes;
}

int64_t batch_of(const io::OnnxTensorInfo& input) {
  if (!input.shape || input.shape->empty()) return 1;
  const auto* size = std::get_if<int64_t>(&input.shape->front());
  return size == nullptr ? 1 : *size;
}

/// Noise of the shape of an input.
Tensor noise_for(const io::OnnxTensorInfo& input, uint64_t seed) {
  std::vector<int64_t> dims = sample_of(input);
  dims.insert(dims.begin(), batch_of(input));
  Tensor x((Shape(std::span<const int64_t>(dims))));
  Rng(seed).fill_uniform(x, -1, 1);
  return x;
}

/// Truth is 1 and 0 in a new file.
Tensor as_floats(const Tensor& value) {
  if (value.dtype() != DType::boolean) return value;
  Tensor result(value.shape());
  std::ranges::copy(value.data<bool>(), result.f32().begin());
  return result;
}

/// Whether most values are alike: roundings to a grid may go either way.
bool alike(const Tensor& expected, const Tensor& b) {
  const Tensor a = as_floats(expected);
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  if (a.dtype() != DType::f32) return false;
  float largest = 0;
  for (const float value : a.f32()) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  int64_t others = 0;
  for (size_t i = 0; i < a.f32().size(); ++i) {
    const float x = a.f32()[i];
    const float y = b.f32()[i];
    const bool same = x == y || (std::isnan(x) && std::isnan(y));
    others += !same && !(std::fabs(x - y) <= 0.05f * largest);
  }
  return 4 * others <= a.size();
}

}  // namespace

io::OnnxOptions names_of(const ModelSource& source, const Model& model) {
  io::OnnxOptions options;
  options.resize = trained_resize(source);
  if (io::is_octet_file(source.what)) {
    options.preprocess = io::trained_preprocess(source.what, source.limits());
    options.classes = io::class_names(source.what, source.limits());
  }
  if (!is_onnx(source.what)) {
    if (source.what.starts_with("zoo:")) return options;
    const std::vector<std::string> inputs = input_names(model);
    const std::vector<std::string> outputs = quant::output_names(model);
    std::set<std::string> all(inputs.begin(), inputs.end());
    all.insert(outputs.begin(), outputs.end());
    if (all.size() == inputs.size() + outputs.size()) {
      options.input_names = inputs;
      options.output_names = outputs;
    }
    return options;
  }
  const io::OnnxSummary file = io::inspect_onnx(source.what);
  options.preprocess = file.preprocess;
  if (file.inputs.size() == model.inputs().size()) {
    options.input_names = names_in(file.inputs);
  }
  if (file.outputs.size() == model.outputs().size()) {
    options.output_names = names_in(file.outputs);
  }
  if (model.outputs()[0].shape()[-1] == std::ssize(file.classes)) {
    options.classes = file.classes;
  }
  return options;
}

void warn_of_other_axes(const ModelSource& source, const Model& model,
                        const io::OnnxOptions& options) {
  // Who asks for another order knows of it.
  if (!is_onnx(source.what) || options.channels_last_inputs) return;
  try {
    const io::OnnxModel given =
        io::load_onnx_reference(source.what, source.limits());
    const io::OnnxModel made =
        io::onnx_from_bytes(io::to_onnx(model, options).bytes, source.limits());
    if (given.inputs().size() != made.inputs().size()) return;
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < made.inputs().size(); ++i) {
      const io::OnnxTensorInfo& from = given.inputs()[i];
      const io::OnnxTensorInfo& to = made.inputs()[i];
      if (sample_of(from).empty() || from.type != "float32") return;
      if (sample_of(from) != sample_of(to)) {
        warn(fmt::format(
            "input '{}' is {} in '{}' and {} in the new file: its axes are in "
            "another order, images NCHW and sequences NCL",
            from.name, io::to_text(from.shape), source.what,
            io::to_text(to.shape)));
        return;
      }
      inputs.push_back(noise_for(from, i));
    }
    const std::vector<Tensor> expected = given.predict(inputs);
    const std::vector<Tensor> answers = made.predict(inputs);
    if (std::ranges::equal(expected, answers, alike)) return;
    warn(fmt::format(
        "the new file answers otherwise than '{}' to the same numbers: the "
        "axes of its inputs or outputs are in another order, images NCHW and "
        "sequences NCL",
        source.what));
  } catch (const Error& error) {
    // The new file is written; that it was not compared does not undo it.
    warn(fmt::format("the new file was not compared with '{}': {}", source.what,
                     error.message()));
  }
}

}  // namespace octet::program
