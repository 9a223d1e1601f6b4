// What is written for whom. Of each form in it
// tests/oracle/compare_forms.py compares the bits.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>

#include "onnx/check.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr OnnxTarget kTargets[] = {
    OnnxTarget::any,        OnnxTarget::tensorrt8, OnnxTarget::tensorrt10,
    OnnxTarget::tensorrt11, OnnxTarget::openvino,  OnnxTarget::onnxruntime};

Model conv_and_norm() {
  const SymbolicTensor x = input({6, 5, 3});
  const SymbolicTensor y = Conv2D({.filters = 17, .kernel_size = {3, 3}})(x);
  Model model =
      quant::quantize_model(Model(x, ReLU()(BatchNormalization()(y))));
  quant::calibrate(model, [](const Model& m) {
    (void)m.predict(noise({2, 6, 5, 3}));
  });
  return model;
}

int count(const onnx::ModelProto& model, const std::string& op) {
  int result = 0;
  for (const auto& node : model.graph().node()) result += node.op_type() == op;
  return result;
}

TEST(OnnxTarget, HasANameThatLeadsBack) {
  for (const OnnxTarget target : kTargets) {
    EXPECT_EQ(onnx_target(to_string(target)), target);
  }
  EXPECT_EQ(onnx_target("tensorrt10"), OnnxTarget::tensorrt10);
  EXPECT_THAT(error_of<ValueError>([] { (void)onnx_target("tensorrt9"); }),
              AllOf(HasSubstr("got 'tensorrt9'"), HasSubstr("did you mean")));
  EXPECT_NE(error_of<ValueError>([] { (void)onnx_target(""); }), "");
  EXPECT_NE(error_of<ValueError>([] {
              (void)OnnxOptions::for_target(static_cast<OnnxTarget>(17));
            }),
            "");
}

TEST(OnnxTarget, SetsTheFormOfItsFiles) {
  const Model model = conv_and_norm();
  for (const OnnxTarget target : kTargets) {
    const bool floats =
        target == OnnxTarget::any || target == OnnxTarget::tensorrt8;
    const onnx::ModelProto file =
        parse_onnx(to_onnx(model, OnnxOptions::for_target(target)).bytes);
    EXPECT_EQ(count(file, "QuantizeLinear"), floats ? 2 : 1);
    EXPECT_EQ(count(file, "DequantizeLinear"), 2);
    EXPECT_EQ(count(file, "BatchNormalization"),
              target == OnnxTarget::onnxruntime ? 0 : 1);
  }
  EXPECT_EQ(to_onnx(model, OnnxOptions::for_target(OnnxTarget::any)).bytes,
            to_onnx(model).bytes);
}

TEST(OnnxTarget, GivesWayToOptions) {
  auto options = OnnxOptions::for_target(OnnxTarget::onnxruntime);
  options.weights = OnnxWeights::float32;
  options.fold_batch_norm = false;
  options.opset = 13;
  const Model model = conv_and_norm();
  EXPECT_EQ(to_onnx(model, options).bytes, to_onnx(model).bytes);
}

TEST(OnnxTarget, RefusesWhatItWouldNotRead) {
  const Model model = conv_and_norm();
  const auto refusal = [&](OnnxTarget target, int opset, OnnxWeights weights) {
    return error_of<ValueError>([&] {
      (void)to_onnx(model,
                    {.opset = opset, .weights = weights, .target = target});
    });
  };
  constexpr auto kFloats = OnnxWeights::float32;
  EXPECT_THAT(refusal(OnnxTarget::tensorrt8, 18, kFloats),
              HasSubstr("at most 17, the last that TensorRT 8 reads, got 18"));
  EXPECT_THAT(refusal(OnnxTarget::tensorrt8, 13, OnnxWeights::int8),
              HasSubstr("expected float32, as TensorRT 8"));
  EXPECT_THAT(refusal(OnnxTarget::tensorrt10, 21, kFloats),
              HasSubstr("at most 20"));
  EXPECT_EQ(refusal(OnnxTarget::tensorrt10, 20, OnnxWeights::int8), "");
  EXPECT_EQ(refusal(OnnxTarget::tensorrt11, 21, OnnxWeights::int8), "");
}

}  // namespace
}  // namespace octet::io
