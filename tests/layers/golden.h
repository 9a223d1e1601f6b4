// The files of tests/golden: a layer's values computed by Keras, written by
// tests/oracle/make_layer_golden.py, and that layer as a model.
#pragma once

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/layers/layers.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

namespace octet {

struct GoldenArray {
  std::string name;  ///< of a weight
  Tensor value;
};

struct GoldenCase {
  std::string name;  ///< of the file
  std::string origin;
  std::string class_name;
  Config config;
  std::vector<GoldenArray> inputs;
  std::vector<GoldenArray> weights;
  Tensor output;
  Tensor upstream;  ///< gradient of the output
  std::vector<GoldenArray> input_gradients;
  std::vector<GoldenArray> weight_gradients;  ///< of trainable weights

  // For layers that behave differently in training; otherwise empty.
  Tensor training_output;
  std::vector<GoldenArray> training_input_gradients;
  std::vector<GoldenArray> training_weight_gradients;
  std::vector<GoldenArray> training_statistics;  ///< after the pass
};

/// Returns the files of a folder of tests/golden, "layers" or "composites", in
/// order.
inline std::vector<std::filesystem::path> golden_files(
    std::string_view folder) {
  const auto path =
      std::filesystem::path(OCTET_SOURCE_DIR) / "tests/golden" / folder;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

inline GoldenArray golden_array(const Config& from) {
  std::vector<int64_t> dims;
  for (const Config& dim : from.at("shape").as_list()) {
    dims.push_back(dim.as_int());
  }
  std::vector<float> values;
  for (const Config& value : from.at("values").as_list()) {
    values.push_back(static_cast<float>(value.as_number()));
  }
  const Config* name = from.find("name");
  return {name == nullptr ? "" : name->as_string(),
          Tensor::of<float>(Shape(std::span<const int64_t>(dims)),
                            std::span<const float>(values))};
}

/// Throws: FormatError, NotFoundError with the file as context.
inline GoldenCase read_golden(const std::filesystem::path& path) {
  return with_context(
      [&] { return fmt::format("in file '{}'", path.string()); },
      [&] {
        const Config file = io::from_json(read_file(path));
        const auto one = [&](std::string_view key) {
          const Config* entry = file.find(key);
          return entry == nullptr ? Tensor() : golden_array(*entry).value;
        };
        const auto several = [&](std::string_view key) {
          std::vector<GoldenArray> arrays;
          if (const Config* entry = file.find(key)) {
            for (const Config& each : entry->as_list()) {
              arrays.push_back(golden_array(each));
            }
          }
          return arrays;
        };
        GoldenCase c;
        c.name = path.stem().string();
        c.origin = file.at("origin").as_string();
        c.class_name = file.at("class_name").as_string();
        c.config = file.at("config");
        c.inputs = several("inputs");
        c.weights = several("weights");
        c.output = golden_array(file.at("output")).value;
        c.upstream = golden_array(file.at("upstream")).value;
        c.input_gradients = several("input_gradients");
        c.weight_gradients = several("weight_gradients");
        c.training_output = one("training_output");
        c.training_input_gradients = several("training_input_gradients");
        c.training_weight_gradients = several("training_weight_gradients");
        c.training_statistics = several("training_statistics");
        return c;
      });
}

inline std::vector<GoldenCase> read_goldens(std::string_view folder) {
  std::vector<GoldenCase> cases;
  for (const auto& path : golden_files(folder)) {
    cases.push_back(read_golden(path));
  }
  return cases;
}

/// Returns Octet's name of a Keras weight. Keras 3 names the kernel of a
/// depthwise convolution "kernel", Keras 2 and Octet "depthwise_kernel".
inline std::string_view parameter_name(std::string_view class_name,
                                       std::string_view keras_name) {
  const bool renamed =
      class_name.starts_with("DepthwiseConv") && keras_name == "kernel";
  return renamed ? "depthwise_kernel" : keras_name;
}

/// Returns a model of the case's layer with its weights.
inline Model golden_model(const GoldenCase& c) {
  const auto layer = create_layer(c.class_name, c.config);
  std::vector<SymbolicTensor> inputs;
  for (const GoldenArray& x : c.inputs) {
    const Shape& shape = x.value.shape();
    inputs.push_back(input(shape.slice(1, shape.rank())));
  }
  Model model(inputs, {call(layer, inputs)});
  for (const GoldenArray& weight : c.weights) {
    layer->parameter(parameter_name(c.class_name, weight.name))
        .variable.assign(weight.value);
  }
  return model;
}

/// Returns the layer of golden_model() that is no input.
inline Layer& golden_layer(Model& model) { return *model.layers().back(); }

}  // namespace octet
