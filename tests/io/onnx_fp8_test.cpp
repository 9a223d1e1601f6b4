// FP8 in ONNX files: export, import, reference executor and lint.
#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/layers.h>
#include <octet/layers/zoo.h>
#include <octet/quant/quant.h>
#include <octet/runtime/rng.h>

#include "onnx/graph/opsets.h"
#include "onnx_models.h"
#include "support.h"

namespace octet::io {
namespace {

Tensor fp8_inputs(const Model& model) {
  Tensor x(model.inputs()[0].shape().with(0, 2));
  Rng(3).fill_uniform(x, -1, 1);
  return x;
}

Model in_fp8(const std::string& network) {
  const Model model = zoo::make(network, {.input = {32, 48, 3}, .classes = 10});
  Model result = quant::quantize_model(
      model, {.activation = quant::activation_quantizer(NumberFormat::fp8_e4m3),
              .weight = quant::weight_quantizer(NumberFormat::fp8_e4m3)});
  quant::calibrate(result,
                   [&](const Model& m) { (void)m.predict(fp8_inputs(model)); });
  return result;
}

Model model_from(const std::string& bytes) {
  const TempFolder folder;
  write_file(folder / "m.onnx", bytes);
  return load_onnx(folder / "m.onnx");
}

double sqnr_of(const Tensor& expected, const Tensor& y) {
  double signal = 0, noise = 0;
  for (size_t i = 0; i < expected.f32().size(); ++i) {
    const double v = expected.f32()[i], e = v - y.f32()[i];
    signal += v * v;
    noise += e * e;
  }
  return 10 * std::log10(signal / noise);
}

onnx::ModelProto parsed(const std::string& bytes) {
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(bytes));
  return proto;
}

TEST(OnnxFp8, FilesHaveTheBitsOfTheModel) {
  for (const char* network : {"resnet20", "mobilenet_v2", "vit_tiny"}) {
    const Model model = in_fp8(network);
    const Tensor x = fp8_inputs(model);
    const Tensor expected = model.predict(x);
    for (const OnnxWeights weights :
         {OnnxWeights::float32, OnnxWeights::int8}) {
      const OnnxFile file = to_onnx(model, {.weights = weights});
      EXPECT_GT(file.report.qdq_pairs, 4) << network;
      const OnnxReference reference = onnx_reference_from_bytes(file.bytes);
      // The untrained transformer amplifies values that sums in another order
      // round differently.
      EXPECT_GT(
          sqnr_of(expected, reference.predict(x.transposed({0, 3, 1, 2}))),
          network == std::string("vit_tiny") ? 20 : 60)
          << network;
      const Model again = model_from(file.bytes);
      EXPECT_EQ(quant::quantizers(again).size(),
                quant::quantizers(model).size());
      EXPECT_THAT(values(Variable(again.predict(x))),
                  values(Variable(expected)))
          << network;
      const OnnxFile second = to_onnx(again, {.weights = weights});
      EXPECT_EQ(second.report.qdq_pairs, file.report.qdq_pairs) << network;
    }
  }
}

TEST(OnnxFp8, WritesOpset19AndFloat8ZeroPoints) {
  const Model model = in_fp8("resnet20");
  const onnx::ModelProto floats = parsed(to_onnx(model).bytes);
  EXPECT_EQ(floats.opset_import(0).version(), 19);
  EXPECT_EQ(floats.ir_version(), 9);
  int zero_points = 0;
  for (const auto& tensor : floats.graph().initializer()) {
    if (!tensor.name().ends_with("zero_point")) continue;
    EXPECT_EQ(tensor.data_type(), kFloat8E4M3FN) << tensor.name();
    ++zero_points;
  }
  EXPECT_GT(zero_points, 0);
  const onnx::ModelProto stored =
      parsed(to_onnx(model, {.weights = OnnxWeights::int8}).bytes);
  EXPECT_LT(stored.ByteSizeLong(), floats.ByteSizeLong() / 2);
}

TEST(OnnxFp8, IsRejectedByTargetsAndOpsetsWithoutIt) {
  const Model model = in_fp8("resnet20");
  for (const Target target :
       {Target::tensorrt8, Target::openvino, Target::onnxruntime}) {
    EXPECT_THROW((void)to_onnx(model, OnnxExportOptions::for_target(target)),
                 UnsupportedError);
  }
  EXPECT_THROW((void)to_onnx(model, {.opset = 17}), ValueError);
  for (const Target target : {Target::tensorrt10, Target::tensorrt11}) {
    EXPECT_EQ(
        parsed(to_onnx(model, OnnxExportOptions::for_target(target)).bytes)
            .opset_import(0)
            .version(),
        19);
  }
}

TEST(OnnxFp8, IsRejectedInBlocksAndFp4Altogether) {
  const SymbolicTensor x = input({64}, "x");
  const Model model(x, Dense({.units = 32})(x));
  for (const NumberFormat format :
       {NumberFormat::fp8_e4m3, NumberFormat::fp4_e2m1}) {
    quant::QuantizerConfig weight = quant::int4_weight_quantizer(32);
    weight.format = format;
    const Model blocks =
        quant::quantize_model(model, {.weight = weight, .weights_only = true});
    EXPECT_THROW((void)to_onnx(blocks), Error);
  }
}

TEST(OnnxFp8, WritesInt16ActivationsFromOpset21) {
  const SymbolicTensor x = input({70}, "x");
  Model model = quant::quantize_model(Model(x, Dense({.units = 17})(x)),
                                      {.activation = {.bits = 16}});
  quant::calibrate(model, [](const Model& m) {
    (void)m.predict(Tensor::full({2, 70}, 1));
  });
  const onnx::ModelProto proto = parsed(to_onnx(model).bytes);
  EXPECT_EQ(proto.opset_import(0).version(), 21);
  int zero_points = 0;
  for (const auto& tensor : proto.graph().initializer()) {
    zero_points += tensor.data_type() == onnx::TensorProto::INT16 ? 1 : 0;
  }
  EXPECT_EQ(zero_points, 1);
  EXPECT_THROW(
      (void)to_onnx(model, OnnxExportOptions::for_target(Target::tensorrt11)),
      UnsupportedError);
}

TEST(OnnxFp8, IsNoElementTypeOfOtherOperators) {
  const std::string bytes =
      to_onnx(in_fp8("resnet20"), {.weights = OnnxWeights::int8}).bytes;
  // A consumer other than DequantizeLinear.
  onnx::ModelProto proto = parsed(bytes);
  const auto* weight = &proto.graph().initializer(0);
  for (const auto& tensor : proto.graph().initializer()) {
    if (tensor.data_type() == kFloat8E4M3FN && tensor.dims_size() == 4) {
      weight = &tensor;
    }
  }
  onnx::NodeProto* node = proto.mutable_graph()->add_node();
  node->set_op_type("Identity");
  node->add_input(weight->name());
  node->add_output("copy");
  EXPECT_THROW((void)model_from(proto.SerializeAsString()), UnsupportedError);
  // An output.
  proto = parsed(bytes);
  auto* output = proto.mutable_graph()->mutable_output(0);
  output->mutable_type()->mutable_tensor_type()->set_elem_type(kFloat8E4M3FN);
  EXPECT_THROW((void)model_from(proto.SerializeAsString()), UnsupportedError);
  // A cast.
  proto = parsed(bytes);
  node = proto.mutable_graph()->add_node();
  node->set_op_type("Cast");
  node->add_input(proto.graph().input(0).name());
  node->add_output("cast");
  auto* to = node->add_attribute();
  to->set_name("to");
  to->set_type(onnx::AttributeProto::INT);
  to->set_i(kFloat8E4M3FN);
  EXPECT_THROW((void)model_from(proto.SerializeAsString()), UnsupportedError);
}

}  // namespace
}  // namespace octet::io
