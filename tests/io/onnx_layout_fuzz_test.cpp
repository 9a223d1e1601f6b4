// Random networks over sequences and images, in float and quantized: files
// compute the outputs of their models, without Transposes behind DQ, and have
// the same inputs and outputs in both forms.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/compare.h>
#include <octet/io/onnx.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>

#include "../layers/support.h"

namespace octet::io {
namespace {

class RandomNetwork {
 public:
  explicit RandomNetwork(uint64_t seed) : rng_(seed) {}

  Model make() {
    const bool is_image = pick(3) == 0;
    const SymbolicTensor x = is_image ? input({6, 5, 4}, "x") : input({9, 9});
    std::vector<SymbolicTensor> values{x};
    for (int i = 0; i < 7; ++i) {
      const auto& from = values[values.size() - 1 - pick(i < 1 ? 1 : 2)];
      values.push_back(from.shape().rank() == 4 ? image_layer(from)
                                                : sequence_layer(from));
    }
    SymbolicTensor y = values.back();
    y = Dense({.units = 5})(pick(2) == 0 ? Flatten()(y) : y);
    Model model(x, y);
    shake(model);
    return model;
  }

 private:
  size_t pick(size_t count) {
    Tensor number(Shape{1});
    rng_.child(std::to_string(draws_++)).fill_uniform(number, 0, 1);
    return std::min(
        static_cast<size_t>(number.f32()[0] * static_cast<float>(count)),
        count - 1);
  }

  SymbolicTensor sequence_layer(const SymbolicTensor& x) {
    switch (pick(11)) {
      case 0:
      case 1:
        return Conv1D({.filters = 9, .padding = "same"})(x);
      case 2:
      case 3:
        return Dense({.units = 9, .activation = "relu"})(x);
      case 4:
        return BatchNormalization()(x);
      case 5:
        return LayerNormalization()(x);
      case 6:
        return MaxPooling1D({.pool_size = 3, .strides = 1, .padding = "same"})(
            x);
      case 7:
        return Permute({.dims = {2, 1}})(x);
      case 8:
        return Add()({x, DepthwiseConv1D({.padding = "same"})(x)});
      case 9:
        return Concatenate({.axis = 1})({x, ReLU()(x)});
      default:
        return multi_head_attention(x, x, {.num_heads = 2, .key_dim = 3});
    }
  }

  SymbolicTensor image_layer(const SymbolicTensor& x) {
    const int64_t h = x.shape()[1], w = x.shape()[2], c = x.shape()[3];
    switch (pick(8)) {
      case 0:
      case 1:
        return Conv2D({.filters = 4, .padding = Padding::same})(x);
      case 2:
        return Dense({.units = 6, .activation = "relu"})(x);
      case 3:
        return BatchNormalization()(x);
      case 4:
        return Permute({.dims = {3, 1, 2}})(x);
      case 5:
        return Reshape({.target_shape = {h * w, c}})(x);
      case 6:
        return Reshape({.target_shape = {h, w * c}})(x);
      default:
        return Add()({x, ReLU()(x)});
    }
  }

  Rng rng_;
  int draws_ = 0;
};

onnx::ModelProto graph_of(const std::string& bytes) {
  onnx::ModelProto proto;
  proto.ParseFromString(bytes);
  return proto;
}

std::string port_text(const onnx::ModelProto& proto) {
  std::string text;
  for (const auto* list : {&proto.graph().input(), &proto.graph().output()}) {
    for (const auto& port : *list) text += port.ShortDebugString() + "\n";
  }
  return text;
}

/// Names of operators with the channels as axis 1 that consume a Transpose of
/// a dequantized value.
std::vector<std::string> separated_operators(const onnx::ModelProto& proto) {
  std::map<std::string, const onnx::NodeProto*> producers;
  std::vector<std::string> names;
  for (const auto& node : proto.graph().node()) {
    for (const auto& output : node.output()) producers[output] = &node;
    const auto* moved = producers[node.input(0)];
    if (node.op_type() != "Conv" || moved == nullptr ||
        moved->op_type() != "Transpose") {
      continue;
    }
    const auto* source = producers[moved->input(0)];
    if (source != nullptr && source->op_type() == "DequantizeLinear") {
      names.push_back(node.name());
    }
  }
  return names;
}

TEST(LayoutFuzz, FilesHaveTheOutputsOfTheirModels) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Model model = RandomNetwork(seed).make();
    const Tensor data = noise(model.inputs()[0].shape().with(0, 4));
    const std::string floats = to_onnx(model).bytes;
    EXPECT_GT(compare_models(TracedModel(model.clone()),
                             TracedModel::from_onnx_bytes(floats), data)
                  .output_sqnr(),
              90);
    if (seed % 3 > 0) continue;
    Model int8 = quant::quantize_model(model);
    (void)quant::calibrate(int8,
                           [&](const Model& m) { (void)m.predict(data); });
    const std::string bytes = to_onnx(int8).bytes;
    // A product on a boundary between two q may be rounded either way.
    EXPECT_GT(compare_models(TracedModel(int8.clone()),
                             TracedModel::from_onnx_bytes(bytes), data)
                  .output_sqnr(),
              25);
    EXPECT_EQ(port_text(graph_of(bytes)), port_text(graph_of(floats)));
    EXPECT_TRUE(separated_operators(graph_of(bytes)).empty());
  }
}

}  // namespace
}  // namespace octet::io
