// Q/DQ of int16: messages name the type, and no INT8 layer is forecast.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>

#include "lint_models.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// An INT8 convolution with another type of the named zero point.
onnx::ModelProto with_zero_point(const std::string& name,
                                 onnx::TensorProto::DataType type) {
  onnx::ModelProto model =
      lint_model("(float[N,3,8,8] x) => (float[N,4,8,8] y)",
                 pair("x", "xd") + weight_pairs("w") + "y = Conv " + kPads +
                     " (xd, wd, b)",
                 21);
  model.set_ir_version(10);
  initializer(model, name).set_data_type(type);
  return model;
}

TEST(OnnxInt16, ImportNamesTheType) {
  for (const auto type :
       {onnx::TensorProto::INT16, onnx::TensorProto::UINT16}) {
    for (const char* zero_point : {"z0", "z4"}) {
      const auto model = with_zero_point(zero_point, type);
      EXPECT_EQ(failure_of<UnsupportedError>([&] {
                  (void)from_onnx(model.SerializeAsString());
                }).code,
                "unsupported_operator");
    }
  }
  const auto model = with_zero_point("z0", onnx::TensorProto::INT16);
  EXPECT_NO_THROW(
      (void)from_onnx(model.SerializeAsString(), {.drop_quantizers = true}));
}

TEST(OnnxInt16, LintExpectsNoInt8Layer) {
  const auto model = with_zero_point("z0", onnx::TensorProto::INT16);
  for (const Target target :
       {Target::tensorrt10, Target::onnxruntime, Target::openvino}) {
    const LintReport report = lint_of(model, target);
    ASSERT_EQ(report.layers.size(), 1u);
    EXPECT_EQ(report.layers[0].precision, LayerPrecision::floating);
    EXPECT_THAT(report.layers[0].reason, HasSubstr("int16"));
  }
  const LintFinding finding = finding_of(lint_of(model), "E02");
  EXPECT_THAT(finding.reason, HasSubstr("int16"));
  EXPECT_THAT(finding.hint, Not(HasSubstr("128")));
}

}  // namespace
}  // namespace octet::io
