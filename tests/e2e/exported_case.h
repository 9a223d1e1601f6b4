// An exported model and its outputs, compared by tests/oracle.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/runtime/file.h>
#include <octet/runtime/rng.h>

namespace octet {

inline Config to_config(const Tensor& tensor) {
  const auto dims = tensor.shape().dims();
  const auto values = tensor.f32();
  return Config()
      .set("shape", Config::List(dims.begin(), dims.end()))
      .set("values", Config::List(values.begin(), values.end()));
}

/// Returns uniform values in [-1, 1) for each input of the model.
inline std::vector<Tensor> noise_for(const Model& model, int64_t samples) {
  std::vector<Tensor> x;
  for (const SymbolicTensor& input : model.inputs()) {
    x.emplace_back(input.shape().with(0, samples));
    Rng(x.size()).fill_uniform(x.back(), -1, 1);
  }
  return x;
}

inline Config to_config(std::span<const Tensor> tensors) {
  Config::List list;
  for (const Tensor& tensor : tensors) list.push_back(to_config(tensor));
  return list;
}

/// Transposes sequences [n,l,c] to [n,c,l] if the file has that order. All
/// sizes differ, so that the shape tells.
inline Tensor with_shape_of(const Tensor& x, int64_t rows) {
  const bool turned = x.shape().rank() == 3 && x.shape()[1] != rows;
  return turned ? x.transposed({0, 2, 1}) : x;
}

/// Runs an exported file with io::OnnxReference, with images NHWC on both sides
/// and sequences as in `like`.
inline std::vector<Tensor> outputs_of_file(const std::filesystem::path& path,
                                           std::span<const Tensor> inputs,
                                           std::span<const Tensor> like) {
  const io::OnnxReference model = io::load_onnx_reference(path);
  std::vector<Tensor> x;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& input = inputs[i];
    const io::OnnxDim rows = model.inputs()[i].shape->at(1);
    x.push_back(input.shape().rank() == 4
                    ? input.transposed({0, 3, 1, 2})
                    : with_shape_of(input, std::get<int64_t>(rows)));
  }
  std::vector<Tensor> y = model.predict(x);
  for (size_t i = 0; i < y.size(); ++i) {
    Tensor& output = y[i];
    output = output.shape().rank() == 4
                 ? output.transposed({0, 2, 3, 1})
                 : with_shape_of(output, like[i].shape()[1]);
  }
  return y;
}

/// Writes FOLDER/NAME.onnx, and FOLDER/NAME.json with the inputs and the
/// outputs of the model in the form of tests/golden, and the outputs of the
/// file in "file_outputs".
inline void write_case(const Model& model, std::span<const Tensor> inputs,
                       const std::filesystem::path& folder,
                       std::string_view name,
                       const io::OnnxExportOptions& options = {}) {
  const auto file = folder / fmt::format("{}.onnx", name);
  io::export_onnx(model, file, options);
  const std::vector<Tensor> outputs = model.predict(inputs);
  const std::vector<Tensor> of_file = outputs_of_file(file, inputs, outputs);
  write_file(folder / fmt::format("{}.json", name),
             io::to_json(Config()
                             .set("class_name", "Model")
                             .set("inputs", to_config(inputs))
                             .set("outputs", to_config(outputs))
                             .set("file_outputs", to_config(of_file))));
}

}  // namespace octet
