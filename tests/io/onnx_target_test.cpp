// Files per target. tests/oracle/compare_forms.py compares the bits of each
// form.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>

#include "onnx/check/check.h"
#include "support.h"

namespace octet::io {
namespace {

constexpr Target kTargets[] = {Target::any,          Target::tensorrt8,
                               Target::tensorrt10,   Target::tensorrt11,
                               Target::tensorrt_rtx, Target::openvino,
                               Target::onnxruntime};

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

TEST(OnnxTarget, HasANameThatParses) {
  for (const Target target : kTargets) {
    EXPECT_EQ(target_named(to_string(target)), target);
  }
  EXPECT_EQ(target_named("tensorrt10"), Target::tensorrt10);
  EXPECT_EQ(failure_of<ValueError>([] { (void)target_named("tensorrt9"); }),
            (Failure{"invalid_value", "target"}));
  EXPECT_EQ(failure_of<ValueError>([] { (void)target_named(""); }),
            (Failure{"invalid_value", "target"}));
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)OnnxExportOptions::for_target(static_cast<Target>(17));
            }),
            (Failure{"invalid_value", "target"}));
}

TEST(OnnxTarget, SetsTheFormOfItsFiles) {
  const Model model = conv_and_norm();
  for (const Target target : kTargets) {
    const bool floats = target == Target::any || target == Target::tensorrt8;
    const onnx::ModelProto file =
        parse_onnx(to_onnx(model, OnnxExportOptions::for_target(target)).bytes);
    EXPECT_EQ(count(file, "QuantizeLinear"), floats ? 2 : 1);
    EXPECT_EQ(count(file, "DequantizeLinear"), 2);
    EXPECT_EQ(count(file, "BatchNormalization"),
              target == Target::onnxruntime ? 0 : 1);
  }
  EXPECT_EQ(to_onnx(model, OnnxExportOptions::for_target(Target::any)).bytes,
            to_onnx(model).bytes);
}

TEST(OnnxTarget, IsOverriddenByOptions) {
  auto options = OnnxExportOptions::for_target(Target::onnxruntime);
  options.weights = OnnxWeights::float32;
  options.fold_batch_norm = false;
  options.uint8_activations = false;
  options.opset = 13;
  const Model model = conv_and_norm();
  EXPECT_EQ(to_onnx(model, options).bytes, to_onnx(model).bytes);
}

TEST(OnnxTarget, NamesTargetsForUnsignedValues) {
  const SymbolicTensor x = input({5, 6, 3});
  const Model net(x, Conv2D({.filters = 2})(ReLU()(x)));
  Model model =
      quant::quantize_model(net, {.activation = {.is_signed = false}});
  quant::calibrate(
      model, Dataset(noise({2, 5, 6, 3}), Tensor::zeros({2}, DType::i64)));
  for (const Target target :
       {Target::any, Target::tensorrt8, Target::tensorrt11}) {
    EXPECT_EQ(failure_of<UnsupportedError>([&] {
                (void)to_onnx(model, OnnxExportOptions::for_target(target));
              }),
              (Failure{"unsupported_type", "quantizer 're_lu'"}));
    EXPECT_EQ(failure_of<ValueError>([&] {
                (void)to_onnx(net,
                              {.uint8_activations = true, .target = target});
              }),
              (Failure{"conflicting_options", "ONNX activations"}));
  }
  EXPECT_NO_THROW(
      (void)to_onnx(model, OnnxExportOptions::for_target(Target::openvino)));
}

TEST(OnnxTarget, RejectsFormsThatItDoesNotSupport) {
  const Model model = conv_and_norm();
  const auto refusal = [&](Target target, int opset, OnnxWeights weights) {
    return failure_of<ValueError>([&] {
      (void)to_onnx(model,
                    {.opset = opset, .weights = weights, .target = target});
    });
  };
  constexpr auto kFloats = OnnxWeights::float32;
  EXPECT_EQ(refusal(Target::tensorrt8, 18, kFloats),
            (Failure{"out_of_range", "ONNX opset"}));
  EXPECT_EQ(refusal(Target::tensorrt8, 13, OnnxWeights::int8),
            (Failure{"conflicting_options", "ONNX weights"}));
  EXPECT_EQ(refusal(Target::tensorrt10, 21, kFloats),
            (Failure{"out_of_range", "ONNX opset"}));
  EXPECT_EQ(refusal(Target::tensorrt10, 20, OnnxWeights::int8).code,
            "no error");
  EXPECT_EQ(refusal(Target::tensorrt11, 21, OnnxWeights::int8).code,
            "no error");
}

OnnxExportOptions half(int opset, OnnxWeights weights) {
  return {.opset = opset, .weights = weights, .float16 = true};
}

TEST(OnnxFloat16, LeavesNoFloat32WithinTheFile) {
  const Model model = conv_and_norm();
  const onnx::ModelProto file =
      parse_onnx(to_onnx(model, half(19, OnnxWeights::int8)).bytes);
  for (const auto& tensor : file.graph().initializer()) {
    EXPECT_NE(tensor.data_type(), onnx::TensorProto::FLOAT) << tensor.name();
  }
  EXPECT_EQ(count(file, "Cast"), 2);
  for (const auto& end : {file.graph().input(0), file.graph().output(0)}) {
    EXPECT_EQ(end.type().tensor_type().elem_type(), onnx::TensorProto::FLOAT);
  }
  const Tensor x = noise({2, 3, 6, 5});
  const auto run = [&](const OnnxExportOptions& options) {
    return onnx_reference_from_bytes(to_onnx(model, options).bytes).predict(x);
  };
  const Tensor y = run(half(21, OnnxWeights::int8));
  const Tensor expected = run({});
  EXPECT_NE(bits(y), bits(expected));
  for (size_t i = 0; i < y.f32().size(); ++i) {
    EXPECT_NEAR(y.f32()[i], expected.f32()[i], 0.05f) << i;
  }
}

TEST(OnnxFloat16, KeepsTheSquaresOfNormalization) {
  const SymbolicTensor x = input({7, 17});
  const Model model(x, LayerNormalization()(x));
  Tensor large = noise({2, 7, 17});
  for (float& value : large.f32()) value *= 1000;  // squares beyond 65504
  const auto file = onnx_reference_from_bytes(
      to_onnx(model, half(13, OnnxWeights::float32)).bytes);
  const Tensor y = file.predict(large);
  const Tensor expected = model.predict(large);
  for (size_t i = 0; i < y.f32().size(); ++i) {
    EXPECT_NEAR(y.f32()[i], expected.f32()[i], 0.01f) << i;
  }
}

TEST(OnnxFloat16, RejectsValuesOutsideFloat16) {
  const auto refusal = [](const Model& model,
                          const OnnxExportOptions& options) {
    return failure_of<ValueError>([&] { (void)to_onnx(model, options); });
  };
  const Model quantized = conv_and_norm();
  EXPECT_EQ(refusal(quantized, half(18, OnnxWeights::int8)),
            (Failure{"out_of_range", "ONNX float16"}));
  EXPECT_EQ(refusal(quantized, half(19, OnnxWeights::float32)),
            (Failure{"conflicting_options", "ONNX float16"}));
  const SymbolicTensor x = input({4, 4, 3});
  const Model model(x, Conv2D({.filters = 1, .name = "conv"})(x));
  const auto set = [&](float value) {
    for (const Parameter& p : model.parameters()) {
      if (p.name != "kernel") continue;
      for (float& w : p.variable.mutable_value()) w = value;
    }
  };
  set(70000);
  EXPECT_EQ(refusal(model, half(13, OnnxWeights::float32)),
            (Failure{"out_of_range", "initializer 'conv/kernel'"}));
  set(1e-6f);
  EXPECT_EQ(refusal(model, half(13, OnnxWeights::float32)).code, "no error");
}

}  // namespace
}  // namespace octet::io
