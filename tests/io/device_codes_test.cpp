// Integer arithmetic of devices, layer by layer: an InferenceSession, fed with
// the quantized values of the exported file, against the file's float
// reference.
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/inference_session.h>
#include <octet/layers/layers.h>
#include <octet/layers/zoo.h>
#include <octet/quant/quant.h>
#include <octet/runtime/rng.h>

#include "../disturb.h"
#include "support.h"

namespace octet::io {
namespace {

Tensor noise_for(const Model& model, int64_t n) {
  Tensor x(model.inputs()[0].shape().with(0, n));
  Rng(4).fill_uniform(x, -1, 1);
  return x;
}

/// Returns the values after each pair of a file, by the name of its quantizer,
/// NHWC.
std::map<std::string, Tensor> dequantized_values(const OnnxFile& file,
                                                 const Tensor& x) {
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(file.bytes));
  auto& graph = *proto.mutable_graph();
  graph.clear_output();
  std::vector<std::string> names;
  const std::string kEnd = "/dequantize/output";
  for (const auto& node : graph.node()) {
    const std::string& value = node.output(0);
    if (node.op_type() != "DequantizeLinear" || !value.ends_with(kEnd) ||
        value.find("kernel") != std::string::npos) {
      continue;
    }
    auto* output = graph.add_output();
    output->set_name(value);
    output->mutable_type()->mutable_tensor_type()->set_elem_type(
        onnx::TensorProto::FLOAT);
    names.push_back(value.substr(0, value.size() - kEnd.size()));
  }
  const bool image = x.shape().rank() == 4;
  const std::vector<Tensor> values =
      onnx_reference_from_bytes(proto.SerializeAsString())
          .predict(std::vector<Tensor>{image ? x.transposed({0, 3, 1, 2}) : x});
  std::map<std::string, Tensor> result;
  for (size_t i = 0; i < names.size(); ++i) {
    result[names[i]] = values[i].shape().rank() == 4
                           ? values[i].transposed({0, 2, 3, 1})
                           : values[i];
  }
  return result;
}

/// The part of a model between quantizers and its last quantizer.
class Segment {
 public:
  Segment(Model& model, const std::map<std::string, Tensor>& values,
          const Tensor& x)
      : values_(values), x_(x) {
    for (const auto& layer : model.layers()) layers_[layer.get()] = layer;
  }

  /// Returns the quantized output of `node` as computed by a session for
  /// `quantizer`.
  std::vector<float> codes(const GraphNode& node,
                           const quant::Quantizer& quantizer) {
    const SymbolicTensor y = Activation(
        {.activation = "linear", .name = "requantized"})(made_by(node));
    const Model part(inputs_, {y});
    const quant::QdqPlan plan{{{.layer = "requantized",
                                .site = quant::QdqSite::input(0),
                                .config = quantizer.config()}}};
    const Model whole = quant::apply(plan, part);
    for (const auto& placed : quant::activation_quantizers(whole)) {
      if (!placed.quantizer->calibrated()) {
        placed.quantizer->set_scale(*quantizer.scale());
      }
    }
    std::vector<Tensor> outputs = InferenceSession(whole).run(fed_);
    std::vector<float> codes;
    for (const float value : outputs[0].f32()) {
      codes.push_back(std::nearbyint(value / *quantizer.scale()));
    }
    return codes;
  }

 private:
  SymbolicTensor fed(const std::string& name, const Tensor& value) {
    inputs_.push_back(
        input(value.shape().slice(1, value.shape().rank()),
              "fed_" + std::to_string(inputs_.size()) + "_" + name));
    fed_.push_back(value);
    return inputs_.back();
  }

  SymbolicTensor made_by(const GraphNode& node) {
    if (node.inputs.empty()) return fed("input", x_);
    std::vector<SymbolicTensor> inputs;
    const quant::BaseQuantizeWrapper* wrapper = quant::as_wrapper(*node.layer);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const quant::PlacedQuantizer* placed =
          wrapper == nullptr ? nullptr
                             : wrapper->find({quant::SiteKind::input,
                                              static_cast<int>(i), ""});
      if (placed != nullptr) {
        const std::string& name = placed->quantizer->name();
        inputs.push_back(fed(name, values_.at(name)));
      } else {
        inputs.push_back(made_by(*node.inputs[i].node));
      }
    }
    return call(layers_.at(node.layer.get()), std::move(inputs));
  }

  const std::map<std::string, Tensor>& values_;
  const Tensor& x_;
  std::map<const Layer*, std::shared_ptr<Layer>> layers_;
  std::vector<SymbolicTensor> inputs_;
  std::vector<Tensor> fed_;
};

struct Network {
  std::string name;
  zoo::Options options = {};
};

class DeviceCodes : public ::testing::TestWithParam<Network> {};

TEST_P(DeviceCodes, MatchTheFileLayerByLayer) {
  const Model net = zoo::make(GetParam().name, GetParam().options);
  disturb(net);
  Model int8 = quant::quantize_model(net);
  const WarningCapture warnings;
  quant::calibrate(int8,
                   [&](const Model& m) { (void)m.predict(noise_for(m, 8)); });
  const Tensor x = noise_for(int8, 3);
  const auto values = dequantized_values(to_onnx(int8), x);
  int64_t tensors = 0, all = 0, apart = 0;
  for (const auto& node : int8.nodes()) {
    const quant::BaseQuantizeWrapper* reader = quant::as_wrapper(*node->layer);
    if (reader == nullptr) continue;
    for (const quant::PlacedQuantizer& placed : reader->activations()) {
      if (placed.site.kind != quant::SiteKind::input) continue;
      const GraphNode& made =
          *node->inputs[static_cast<size_t>(placed.site.index)].node;
      if (made.inputs.empty()) continue;
      const quant::Quantizer& quantizer = *placed.quantizer;
      const std::vector<float> got =
          Segment(int8, values, x).codes(made, quantizer);
      const Tensor& expected = values.at(quantizer.name());
      ASSERT_EQ(static_cast<int64_t>(got.size()), expected.size());
      for (size_t i = 0; i < got.size(); ++i) {
        const float steps = std::abs(
            got[i] - std::nearbyint(expected.f32()[i] / *quantizer.scale()));
        ASSERT_LE(steps, 1) << quantizer.name() << " at " << i;
        apart += steps > 0;
      }
      all += expected.size();
      ++tensors;
    }
  }
  RecordProperty("codes", std::to_string(all));
  RecordProperty("apart", std::to_string(apart));
  EXPECT_GE(tensors, 5);
  EXPECT_LT(static_cast<double>(apart), 1e-4 * static_cast<double>(all));
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, DeviceCodes,
    ::testing::Values(
        Network{"resnet8"}, Network{"ds_cnn"},
        Network{"mobilenet_v1_025", {.input = {40, 48, 3}}},
        Network{"mobilenet_v2", {.input = {32, 41, 3}, .classes = 10}},
        Network{"efficientnet_b0", {.input = {33, 40, 3}, .classes = 10}},
        Network{"inception_small"}, Network{"unet", {.input = {16, 24, 3}}},
        Network{"vit_tiny", {.input = {32, 48, 3}, .classes = 10}}),
    [](const auto& p) { return p.param.name; });

}  // namespace
}  // namespace octet::io
