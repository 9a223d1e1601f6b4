// INT4 weights in blocks in ONNX files.
#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/lint.h>
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

// Sequences: MatMul of [in,out]; rows: Gemm of [out,in].
Model int4_model(bool sequence) {
  const SymbolicTensor x = sequence ? input({5, 70}, "x") : input({70}, "x");
  const SymbolicTensor y = Dense({.units = 33, .activation = "relu"})(x);
  const Model model(x, Dense({.units = 18})(y));
  Model result = quant::quantize_model(
      model,
      {.weight = quant::int4_weight_quantizer(32), .weights_only = true});
  quant::calibrate(result, [](const Model&) {});
  return result;
}

onnx::ModelProto int4_proto(const Model& model,
                            const OnnxExportOptions& options = {}) {
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(to_onnx(model, options).bytes));
  return proto;
}

TEST(OnnxInt4, StoresBlocksAsInt4) {
  for (const bool sequence : {false, true}) {
    const onnx::ModelProto proto = int4_proto(int4_model(sequence));
    EXPECT_EQ(proto.opset_import(0).version(), 21);
    EXPECT_EQ(proto.ir_version(), 10);
    int weights = 0;
    for (const auto& node : proto.graph().node()) {
      EXPECT_NE(node.op_type(), "QuantizeLinear");
      if (node.op_type() != "DequantizeLinear") continue;
      EXPECT_EQ(node.input_size(), 2);
      ++weights;
    }
    EXPECT_EQ(weights, 2);
    for (const auto& tensor : proto.graph().initializer()) {
      if (!tensor.name().ends_with("kernel") || tensor.dims_size() != 2) {
        continue;
      }
      EXPECT_EQ(tensor.data_type(), kInt4);
      EXPECT_EQ(static_cast<int64_t>(tensor.raw_data().size()),
                (tensor.dims(0) * tensor.dims(1) + 1) / 2);
    }
  }
}

TEST(OnnxInt4, FilesHaveTheBitsOfTheModel) {
  for (const bool sequence : {false, true}) {
    const Model model = int4_model(sequence);
    Tensor x(model.inputs()[0].shape().with(0, 3));
    Rng(3).fill_normal(x, 0, 1);
    const Tensor expected = model.predict(x);
    const std::string bytes = to_onnx(model).bytes;
    const Tensor y = onnx_reference_from_bytes(bytes).predict(x);
    const TempFolder folder;
    write_file(folder / "m.onnx", bytes);
    const WarningCapture warnings;
    const Model again = load_onnx(folder / "m.onnx");
    EXPECT_EQ(warnings.messages.size(), 1u);  // imported as floats
    const Tensor z = again.predict(x);
    for (size_t i = 0; i < y.f32().size(); ++i) {
      EXPECT_NEAR(y.f32()[i], expected.f32()[i], 1e-5);
      EXPECT_NEAR(z.f32()[i], expected.f32()[i], 1e-5);
    }
  }
}

TEST(OnnxInt4, IsRejectedByTargetsAndOpsetsWithoutIt) {
  const Model model = int4_model(false);
  for (const Target target :
       {Target::tensorrt8, Target::tensorrt10, Target::openvino}) {
    EXPECT_THROW((void)to_onnx(model, OnnxExportOptions::for_target(target)),
                 UnsupportedError);
  }
  EXPECT_THROW((void)to_onnx(model, {.opset = 19}), ValueError);
  for (const Target target : {Target::tensorrt11, Target::onnxruntime}) {
    EXPECT_EQ(int4_proto(model, OnnxExportOptions::for_target(target))
                  .opset_import(0)
                  .version(),
              21);
  }
}

TEST(OnnxInt4, IsRejectedBesideQuantizedActivations) {
  const SymbolicTensor x = input({64}, "x");
  Model model =
      quant::quantize_model(Model(x, Dense({.units = 32})(x)),
                            {.weight = quant::int4_weight_quantizer(32)});
  quant::calibrate(model, [](const Model& m) {
    (void)m.predict(Tensor::full({2, 64}, 1));
  });
  EXPECT_NO_THROW((void)to_onnx(model));
  EXPECT_THROW(
      (void)to_onnx(model, OnnxExportOptions::for_target(Target::tensorrt11)),
      UnsupportedError);
}

TEST(OnnxInt4, StaysInt4InInspectionAndRepairs) {
  const std::string bytes = to_onnx(int4_model(false)).bytes;
  const TempFolder folder;
  write_file(folder / "m.onnx", bytes);
  const OnnxSummary summary = inspect_onnx(folder / "m.onnx");
  EXPECT_EQ(summary.qdq_pairs.size(), 2u);
  for (const OnnxQdqPair& pair : summary.qdq_pairs) {
    EXPECT_EQ(pair.type, "int4");
  }
  onnx::ModelProto fixed;
  ASSERT_TRUE(fixed.ParseFromString(
      fix_onnx_bytes(bytes, {.target = Target::tensorrt11}).bytes));
  EXPECT_EQ(std::ranges::count(fixed.graph().initializer(), kInt4,
                               &onnx::TensorProto::data_type),
            2);
}

TEST(OnnxInt4, ReportsTensorsOfAWrongSize) {
  onnx::ModelProto proto = int4_proto(int4_model(false));
  for (auto& tensor : *proto.mutable_graph()->mutable_initializer()) {
    if (tensor.data_type() == kInt4) tensor.mutable_raw_data()->pop_back();
  }
  EXPECT_THROW((void)onnx_reference_from_bytes(proto.SerializeAsString()),
               Error);
}

}  // namespace
}  // namespace octet::io
