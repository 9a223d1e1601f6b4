// Weights stored as INT8. ONNX Runtime verifies that both forms agree
// (tests/oracle/compare_forms.py).
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/zoo.h>

#include "onnx/check/check.h"
#include "tests/quant/folding.h"
#include "tests/temp_folder.h"

namespace octet::io {
namespace {

const OnnxExportOptions kInt8Weights{.weights = OnnxWeights::int8};

onnx::ModelProto written(const Model& model, const OnnxExportOptions& options) {
  return parse_onnx(to_onnx(model, options).bytes);
}

Model quantized_by(const Model& model, const quant::QuantizeOptions& o = {}) {
  Model result = quant::quantize_model(model, o);
  quant::calibrate(result, [](const Model& m) {
    (void)m.predict(noise(m.inputs()[0].shape().with(0, 4)));
  });
  return result;
}

// 1, 3 and 17 channels, unequal sides, one layer called twice.
Model shared_and_odd() {
  const SymbolicTensor x = input({7, 9, 3});
  const Conv2D twice(
      {.filters = 17, .kernel_size = {3, 3}, .padding = Padding::same});
  SymbolicTensor y = Conv2D({.filters = 17, .kernel_size = {1, 1}})(x);
  y = twice(twice(y));
  y = DepthwiseConv2D({.depth_multiplier = 3})(y);
  y = Conv2DTranspose({.filters = 1, .kernel_size = {2, 3}})(y);
  return Model(x, Dense({.units = 3})(Flatten()(y)));
}

TEST(OnnxInt8Weights, ComputeTheSameBits) {
  const auto expect_same = [](const Model& real) {
    const Model model = quantized_by(real);
    const Shape sample = model.inputs()[0].shape();
    const Tensor x = noise({3, sample[3], sample[1], sample[2]});
    const OnnxReference floats =
        onnx_reference_from_bytes(to_onnx(model).bytes);
    const OnnxReference codes =
        onnx_reference_from_bytes(to_onnx(model, kInt8Weights).bytes);
    EXPECT_EQ(bits(codes.predict(x)), bits(floats.predict(x)));
  };
  expect_same(shared_and_odd());
  expect_same(zoo::make("mobilenet_v1_025", {.input = {40, 32, 3}}));
  expect_same(zoo::make("vit_tiny", {.input = {32, 48, 3}, .classes = 10}));
}

TEST(OnnxInt8Weights, LeaveNoFloatsOfQuantizedWeights) {
  const Model model = quantized_by(shared_and_odd());
  const onnx::ModelProto floats = written(model, {});
  const onnx::ModelProto codes = written(model, kInt8Weights);
  std::set<std::string> constants;
  for (const auto& tensor : codes.graph().initializer()) {
    constants.insert(tensor.name());
    if (tensor.name().ends_with("kernel")) {
      EXPECT_EQ(tensor.data_type(), onnx::TensorProto::INT8) << tensor.name();
    }
  }
  EXPECT_EQ(codes.graph().initializer_size(),
            floats.graph().initializer_size());
  for (const auto& node : codes.graph().node()) {
    EXPECT_FALSE(node.op_type() == "QuantizeLinear" &&
                 constants.contains(node.input(0)));
  }
  const OnnxExportReport before = to_onnx(model).report;
  const OnnxExportReport after = to_onnx(model, kInt8Weights).report;
  EXPECT_EQ(after.qdq_pairs, before.qdq_pairs);
  EXPECT_LT(after.nodes, before.nodes);
  EXPECT_LT(after.bytes, before.bytes / 2);
}

TEST(OnnxInt8Weights, OfFewerBitsKeepTheirValues) {
  const Model model =
      quantized_by(shared_and_odd(), {.bits = {{.layer = "*", .weight = 4}}});
  const Tensor x = noise({2, 3, 7, 9});
  EXPECT_EQ(bits(onnx_reference_from_bytes(to_onnx(model, kInt8Weights).bytes)
                     .predict(x)),
            bits(onnx_reference_from_bytes(to_onnx(model).bytes).predict(x)));
}

TEST(OnnxInt8Weights, ChangeNothingInAFloatModel) {
  EXPECT_EQ(to_onnx(shared_and_odd(), kInt8Weights).bytes,
            to_onnx(shared_and_odd()).bytes);
}

TEST(OnnxInt8Weights, AreImportedAsTheOriginalModel) {
  const Model model = quantized_by(zoo::make("lenet"));
  TempFolder folder;
  export_onnx(model, folder / "f.onnx");
  export_onnx(model, folder / "i.onnx", kInt8Weights);
  const auto pairs = inspect_onnx(folder / "i.onnx").qdq_pairs;
  EXPECT_EQ(pairs.size(), inspect_onnx(folder / "f.onnx").qdq_pairs.size());
  const Tensor x = noise({2, 28, 28, 1});
  const Model again = load_onnx(folder / "i.onnx");
  EXPECT_EQ(bits(again.predict(x)),
            bits(load_onnx(folder / "f.onnx").predict(x)));
  EXPECT_EQ(to_onnx(again, kInt8Weights).report.bytes,
            to_onnx(load_onnx(folder / "f.onnx"), kInt8Weights).report.bytes);
}

}  // namespace
}  // namespace octet::io
