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

/// Writes FOLDER/NAME.json, the inputs and the model's outputs in the form of
/// tests/golden, and FOLDER/NAME.onnx.
inline void write_case(const Model& model, std::span<const Tensor> inputs,
                       const std::filesystem::path& folder,
                       std::string_view name) {
  Config::List x;
  for (const Tensor& input : inputs) x.push_back(to_config(input));
  Config::List y;
  for (const Tensor& output : model.predict(inputs)) {
    y.push_back(to_config(output));
  }
  write_file(folder / fmt::format("{}.json", name),
             io::to_json(Config()
                             .set("class_name", "Model")
                             .set("inputs", std::move(x))
                             .set("outputs", std::move(y))));
  io::export_onnx(model, folder / fmt::format("{}.onnx", name));
}

}  // namespace octet
