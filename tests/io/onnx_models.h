// ONNX models for tests: parsed from text, changed, saved.
#pragma once

#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <octet/runtime/file.h>
#include <octet/runtime/rng.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

/// Returns a model of opset 13 from onnx' text form, `g (float[N,3,8,8] x) =>
/// ...`.
inline onnx::ModelProto model_of(const std::string& graph) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(
      model, ("<ir_version: 7, opset_import: [\"\" : 13]>\n" + graph).c_str());
  if (!status.IsOK()) throw std::runtime_error(status.ErrorMessage());
  return model;
}

inline onnx::TensorProto float_tensor(const std::string& name,
                                      const std::vector<int64_t>& dims,
                                      const std::vector<float>& values) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.mutable_dims()->Assign(dims.begin(), dims.end());
  tensor.mutable_float_data()->Assign(values.begin(), values.end());
  return tensor;
}

inline onnx::TensorProto int8_tensor(const std::string& name,
                                     const std::vector<int64_t>& dims,
                                     const std::vector<int32_t>& values) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT8);
  tensor.mutable_dims()->Assign(dims.begin(), dims.end());
  tensor.mutable_int32_data()->Assign(values.begin(), values.end());
  return tensor;
}

/// y = Conv(x, w) with w [4,3,3,3] of 0.5.
inline onnx::ModelProto conv_model() {
  onnx::ModelProto model = model_of(
      "g (float[N,3,8,8] x) => (float[N,4,6,6] y) {\n"
      "  y = Conv <kernel_shape = [3,3], strides = [1,1], pads = [0,0,0,0],\n"
      "            dilations = [1,1], group = 1> (x, w)\n"
      "}");
  model.mutable_graph()->mutable_node(0)->set_name("conv");
  *model.mutable_graph()->add_initializer() =
      float_tensor("w", {4, 3, 3, 3}, std::vector<float>(108, 0.5f));
  return model;
}

/// x -> Q -> DQ -> Conv with weights through Q and DQ per channel.
inline onnx::ModelProto quantized_model() {
  onnx::ModelProto model = model_of(
      "g (float[N,3,8,8] x) => (float[N,4,6,6] y) {\n"
      "  xq = QuantizeLinear (x, xs, xz)\n"
      "  xd = DequantizeLinear (xq, xs, xz)\n"
      "  wq = QuantizeLinear <axis = 0> (w, ws, wz)\n"
      "  wd = DequantizeLinear <axis = 0> (wq, ws, wz)\n"
      "  y = Conv <kernel_shape = [3,3]> (xd, wd)\n"
      "}");
  auto& graph = *model.mutable_graph();
  *graph.add_initializer() =
      float_tensor("w", {4, 3, 3, 3}, std::vector<float>(108, 0.5f));
  *graph.add_initializer() = float_tensor("xs", {}, {0.02f});
  *graph.add_initializer() = int8_tensor("xz", {}, {0});
  *graph.add_initializer() = float_tensor("ws", {4}, {0.1f, 0.2f, 0.3f, 0.4f});
  *graph.add_initializer() = int8_tensor("wz", {4}, {0, 0, 0, 0});
  graph.mutable_node(4)->set_name("conv");
  return model;
}

inline onnx::TensorProto& initializer(onnx::ModelProto& model,
                                      const std::string& name) {
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.name() == name) return tensor;
  }
  throw std::runtime_error("no initializer " + name);
}

inline onnx::AttributeProto& attribute(onnx::NodeProto& node,
                                       const std::string& name) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.name() == name) return attribute;
  }
  throw std::runtime_error("no attribute " + name);
}

inline void save(const onnx::ModelProto& model,
                 const std::filesystem::path& path) {
  write_file(path, model.SerializeAsString());
}

/// Returns a model of a graph in text form; `nodes` is its body.
inline onnx::ModelProto graph_model(const std::string& ends,
                                    const std::string& nodes) {
  return model_of("g " + ends + " {\n" + nodes + "\n}");
}

inline void add_noise(onnx::ModelProto& model, const std::string& name,
                      const std::vector<int64_t>& dims) {
  Tensor values{Shape(std::span<const int64_t>(dims))};
  Rng(name.size()).fill_uniform(values, -1, 1);
  const auto all = values.f32();
  *model.mutable_graph()->add_initializer() =
      float_tensor(name, dims, {all.begin(), all.end()});
}

/// Up to the order of float sums.
inline void expect_equal(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  for (size_t i = 0; i < a.f32().size(); ++i) {
    ASSERT_NEAR(a.f32()[i], b.f32()[i], 1e-5f * (1 + std::abs(a.f32()[i])));
  }
}

}  // namespace octet::io
