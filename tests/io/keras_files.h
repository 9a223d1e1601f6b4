// Keras files for tests: from tests/golden/keras, from the project's shared
// test data, and generated files.
#pragma once

#include <cmath>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <octet/io/json.h>
#include <octet/io/keras.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "../layers/golden.h"
#include "../testdata.h"
#include "hdf5/writer.h"

namespace octet::io {

inline std::filesystem::path keras_golden(const std::string& name) {
  return std::filesystem::path(OCTET_SOURCE_DIR) / "tests/golden/keras" / name;
}

struct KerasCase {
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
};

/// Keras' outputs: tests/golden/keras/NAME.json.
inline KerasCase keras_case(const std::string& name) {
  const Config file = from_json(read_file(keras_golden(name + ".json")));
  KerasCase result;
  for (const Config& x : file.at("inputs").as_list()) {
    result.inputs.push_back(golden_array(x).value);
  }
  for (const Config& y : file.at("outputs").as_list()) {
    result.outputs.push_back(golden_array(y).value);
  }
  return result;
}

/// Reads a raw file of little-endian float32.
inline Tensor raw_floats(const std::filesystem::path& path,
                         const Shape& shape) {
  const std::string bytes = read_file(path);
  Tensor result(shape);
  if (static_cast<int64_t>(bytes.size()) != result.bytes()) {
    throw FormatError("malformed_file", "raw file", "has another size");
  }
  std::memcpy(result.raw(), bytes.data(), bytes.size());
  return result;
}

/// The 1000 real inputs of the shared keyword model, and their labels.
struct Keywords {
  Tensor x;       ///< f32 [1000,49,10,1]
  Tensor labels;  ///< i64 [1000]
};
inline Keywords keywords() {
  const std::string codes =
      read_file(testdata("kws01/features_int8_1000x49x10.bin"));
  const std::string classes = read_file(testdata("kws01/labels_u8_1000.bin"));
  Keywords words{Tensor({1000, 49, 10, 1}), Tensor({1000}, DType::i64)};
  if (static_cast<int64_t>(codes.size()) != words.x.size() ||
      static_cast<int64_t>(classes.size()) != words.labels.size()) {
    throw FormatError("malformed_file", "kws01", "has other sizes");
  }
  for (size_t i = 0; i < codes.size(); ++i) {
    const auto code = static_cast<float>(static_cast<int8_t>(codes[i]));
    words.x.f32()[i] = (code - 83) * 0.5847029f;
  }
  for (size_t i = 0; i < classes.size(); ++i) {
    words.labels.data<int64_t>()[i] = static_cast<uint8_t>(classes[i]);
  }
  return words;
}

/// Returns the largest difference; NaN if any is NaN.
inline float largest_difference(const Tensor& a, const Tensor& b) {
  float largest = 0;
  for (size_t i = 0; i < a.f32().size(); ++i) {
    const float difference = std::fabs(a.f32()[i] - b.f32()[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

inline void expect_computes(const Model& model, const KerasCase& expected,
                            float tolerance) {
  const std::vector<Tensor> outputs = model.predict(expected.inputs);
  ASSERT_EQ(outputs.size(), expected.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    ASSERT_EQ(outputs[i].shape(), expected.outputs[i].shape());
    EXPECT_LE(largest_difference(outputs[i], expected.outputs[i]), tolerance)
        << "output " << i;
  }
}

/// A legacy file under construction: an architecture and weights under any
/// names.
class KerasFile {
 public:
  explicit KerasFile(const std::string& architecture,
                     const std::string& version = "2.15.0") {
    writer_.attribute("", "keras_version", version);
    writer_.attribute("", "backend", "tensorflow");
    if (!architecture.empty()) {
      writer_.attribute("", "model_config", architecture);
    }
    writer_.group("model_weights");
    writer_.attribute("model_weights", "keras_version", version);
    writer_.attribute("model_weights", "backend", "tensorflow");
  }

  /// Weights in Keras' order, "kernel:0".
  KerasFile& layer(const std::string& name,
                   const std::vector<std::pair<std::string, Tensor>>& weights) {
    const std::string group = "model_weights/" + name;
    writer_.group(group);
    Config::List names;
    for (const auto& [weight, value] : weights) {
      names.emplace_back(name + "/" + weight);
      writer_.dataset(group + "/" + name + "/" + weight, value);
    }
    writer_.attribute(group, "weight_names", std::move(names));
    layers_.emplace_back(name);
    return *this;
  }

  void write(const std::filesystem::path& path) {
    writer_.attribute("model_weights", "layer_names", layers_);
    write_file(path, writer_.finish());
  }

 private:
  Hdf5Writer writer_;
  Config::List layers_;
};

/// An entry of `layers`. `options` are additional entries of its configuration.
inline std::string keras_layer(const std::string& class_name,
                               const std::string& name,
                               const std::string& options = "",
                               const std::string& inbound = "") {
  return fmt::format(
      R"({{"class_name":"{}","name":"{}","config":{{"name":"{}"{}{}}}{}{}}})",
      class_name, name, name, options.empty() ? "" : ",", options,
      inbound.empty() ? "" : R"(,"inbound_nodes":)", inbound);
}

inline std::string keras_input(const std::string& name,
                               const std::string& shape = "[null,4,4,1]") {
  return keras_layer("InputLayer", name, R"("batch_input_shape":)" + shape,
                     "[]");
}

inline std::string keras_sequential(const std::vector<std::string>& layers) {
  return fmt::format(
      R"({{"class_name":"Sequential","config":{{"name":"s","layers":[{}]}}}})",
      fmt::join(layers, ","));
}

inline std::string keras_functional(const std::vector<std::string>& layers,
                                    const std::string& inputs,
                                    const std::string& outputs,
                                    const std::string& name = "m") {
  return fmt::format(
      R"({{"class_name":"Functional","name":"{}","config":{{"name":"{}",)"
      R"("layers":[{}],"input_layers":{},"output_layers":{}}}}})",
      name, name, fmt::join(layers, ","), inputs, outputs);
}

}  // namespace octet::io
