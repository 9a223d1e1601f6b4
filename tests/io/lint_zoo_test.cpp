// Octet's own exports violate only the rules listed here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/layers/convolution.h>
#include <octet/layers/zoo.h>
#include <octet/quant/patterns.h>
#include <octet/quant/quant.h>

#include "lint_models.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::IsEmpty;
using ::testing::IsSubsetOf;

std::string exported_zoo(Model quantized) {
  float scale = 0.01f;
  for (const auto& quantizer : quant::quantizers(quantized)) {
    scale += 0.0007f;
    if (!quantizer->calibrated()) quantizer->set_scale(scale);
  }
  return to_onnx(quantized).bytes;
}

class LintZoo : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(, LintZoo,
                         ::testing::Values("resnet8", "resnet20", "ds_cnn",
                                           "densenet40", "inception_small",
                                           "mobilenet_v1_025", "unet", "frodo",
                                           "sam", "merry", "pippin", "otho",
                                           "mobilenet_v2", "efficientnet_b0",
                                           "vit_tiny"),
                         [](const auto& name) { return name.param; });

/// Returns the violated rules of a file for any TensorRT, without infos.
std::set<std::string> broken_by(const std::string& bytes) {
  std::set<std::string> ids;
  for (const Target target : {Target::tensorrt8, Target::tensorrt10,
                              Target::tensorrt11, Target::tensorrt_rtx}) {
    const LintReport report = lint_onnx_bytes(bytes, {.target = target});
    EXPECT_EQ(report.count(LintSeverity::error), 0) << report.to_string();
    ids.merge(ids_of(report, LintSeverity::warning));
  }
  return ids;
}

TEST_P(LintZoo, TheTensorrtPolicyViolatesNoRule) {
  Model model = quant::quantize_model(zoo::make(GetParam()));
  EXPECT_THAT(broken_by(exported_zoo(std::move(model))), IsEmpty());
}

// Neither of its convolutions is partly quantized (P01).
TEST(LintExports, ASeparableConvolutionIsFullyQuantized) {
  const SymbolicTensor x = input({6, 5, 3}, "x");
  Model model(x, SeparableConv2D({.filters = 4, .depth_multiplier = 2})(x));
  const std::string bytes = exported_zoo(quant::quantize_model(model));
  EXPECT_THAT(broken_by(bytes), IsEmpty());
  const LintReport report = lint_onnx_bytes(bytes);
  ASSERT_EQ(report.layers.size(), 2u);
  EXPECT_EQ(report.layers[0].precision, LayerPrecision::int8);
  EXPECT_EQ(report.layers[1].precision, LayerPrecision::int8_to_float);
}

// The toolkit's defaults leave every Add to the cases, and quantize the output
// of a ZeroPadding2D instead of its input.
TEST_P(LintZoo, TheToolkitsDefaultsViolateOnlyRulesOfAddAndPad) {
  Model model = quant::quantize_model(zoo::make(GetParam()),
                                      {.policy = quant::Policy::toolkit});
  EXPECT_THAT(broken_by(exported_zoo(std::move(model))),
              IsSubsetOf({"P04", "P07", "P20"}));
}

TEST_P(LintZoo, PatternsViolateNoRule) {
  Model model = quant::place_by_patterns(zoo::make(GetParam())).model;
  EXPECT_THAT(broken_by(exported_zoo(std::move(model))), IsEmpty());
}

}  // namespace
}  // namespace octet::io
