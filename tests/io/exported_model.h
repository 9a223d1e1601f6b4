// A small network, exported and parsed by the test.
#pragma once

#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>
#include <octet/layers/layers.h>
#include <octet/runtime/file.h>

#include "support.h"

namespace octet::io {

// Height, width and channels all differ, so that mistakes show.
inline constexpr int64_t kH = 6, kW = 4, kC = 3;

inline Model small_cnn() {
  const auto x = input({kH, kW, kC});
  auto y = Conv2D({.filters = 5,
                   .padding = Padding::same,
                   .use_bias = false,
                   .name = "conv"})(x);
  y = BatchNormalization({.name = "bn"})(y);
  y = ReLU({.name = "relu"})(y);
  y = MaxPooling2D({.name = "pool"})(y);
  y = Flatten({.name = "flatten"})(y);
  y = Dense({.units = 2, .name = "dense"})(y);
  return Model(x, y, {.name = "small"});
}

class ExportOnnx : public ::testing::Test {
 protected:
  OnnxExportReport export_model(const Model& model,
                                const OnnxExportOptions& options = {}) {
    const OnnxExportReport report = export_onnx(model, path_, options);
    proto_.ParseFromString(read_file(path_));
    return report;
  }
  std::vector<std::string> ops() const {
    std::vector<std::string> ops;
    for (const auto& node : proto_.graph().node())
      ops.push_back(node.op_type());
    return ops;
  }
  const onnx::NodeProto& node(const std::string& op) const {
    for (const auto& node : proto_.graph().node()) {
      if (node.op_type() == op) return node;
    }
    throw std::runtime_error("no node " + op);
  }
  const onnx::TensorProto& initializer(const std::string& name) const {
    for (const auto& tensor : proto_.graph().initializer()) {
      if (tensor.name() == name) return tensor;
    }
    throw std::runtime_error("no initializer " + name);
  }
  std::map<std::string, std::string> metadata() const {
    std::map<std::string, std::string> metadata;
    for (const auto& entry : proto_.metadata_props()) {
      metadata[entry.key()] = entry.value();
    }
    return metadata;
  }
  static float element(const onnx::TensorProto& tensor, int64_t index) {
    float value = 0;
    std::memcpy(&value, tensor.raw_data().data() + index * 4, sizeof value);
    return value;
  }
  static std::vector<std::string> dims(const onnx::ValueInfoProto& value) {
    std::vector<std::string> dims;
    for (const auto& dim : value.type().tensor_type().shape().dim()) {
      dims.push_back(dim.has_dim_value() ? std::to_string(dim.dim_value())
                                         : dim.dim_param());
    }
    return dims;
  }

  TempFolder folder_;
  const std::filesystem::path path_ = folder_ / "model.onnx";
  onnx::ModelProto proto_;
};

}  // namespace octet::io
