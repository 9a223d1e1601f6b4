// A model as ONNX beside what Octet itself answers, for tests/oracle to
// compare.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/io/onnx.h>
#include <octet/io/onnx_model.h>
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

/// Uniform values in [-1, 1) for each input of the model.
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

/// What io::OnnxModel makes of an exported file, images NHWC on both sides.
inline std::vector<Tensor> outputs_of_file(const std::filesystem::path& path,
                                           std::span<const Tensor> inputs) {
  std::vector<Tensor> x;
  for (const Tensor& input : inputs) {
    x.push_back(input.shape().rank() == 4 ? input.transposed({0, 3, 1, 2})
                                          : input);
  }
  std::vector<Tensor> y = io::load_onnx(path).predict(x);
  for (Tensor& output : y) {
    if (output.shape().rank() == 4) output = output.transposed({0, 2, 3, 1});
  }
  return y;
}

/// Writes FOLDER/NAME.onnx, and FOLDER/NAME.json: the inputs and the model's
/// outputs in the form of tests/golden, and those of the file in
/// "file_outputs".
inline void write_case(const Model& model, std::span<const Tensor> inputs,
                       const std::filesystem::path& folder,
                       std::string_view name) {
  const auto file = folder / fmt::format("{}.onnx", name);
  io::export_onnx(model, file);
  write_file(folder / fmt::format("{}.json", name),
             io::to_json(Config()
                             .set("class_name", "Model")
                             .set("inputs", to_config(inputs))
                             .set("outputs", to_config(model.predict(inputs)))
                             .set("file_outputs",
                                  to_config(outputs_of_file(file, inputs)))));
}

}  // namespace octet
