// Quantized weights of exported folded models. ONNX Runtime verifies their
// outputs (tests/oracle).
#include <cmath>
#include <cstring>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>
#include <octet/layers/zoo.h>

#include "tests/quant/folding.h"

namespace octet::io {
namespace {

class File {
 public:
  explicit File(const Model& model, const OnnxExportOptions& options = {}) {
    proto_.ParseFromString(to_onnx(model, options).bytes);
  }

  int64_t count(const std::string& op) const {
    int64_t result = 0;
    for (const auto& node : proto_.graph().node()) {
      result += node.op_type() == op;
    }
    return result;
  }
  std::vector<float> constant(const std::string& name) const {
    for (const auto& tensor : proto_.graph().initializer()) {
      if (tensor.name() != name) continue;
      std::vector<float> result(tensor.raw_data().size() / sizeof(float));
      std::memcpy(result.data(), tensor.raw_data().data(),
                  tensor.raw_data().size());
      return result;
    }
    throw NotFoundError("unknown_name", name, "no such initializer");
  }
  /// Returns QuantizeLinear's output for a weight in ONNX' order, with a scale
  /// per slice of its axis.
  std::vector<int> codes(const std::string& weight) const {
    for (const auto& node : proto_.graph().node()) {
      if (node.op_type() != "QuantizeLinear" || node.input(0) != weight) {
        continue;
      }
      const auto values = constant(weight);
      const auto scales = constant(node.input(1));
      const size_t inner = inner_size(weight, node);
      std::vector<int> result;
      for (size_t i = 0; i < values.size(); ++i) {
        const float s = scales[i / inner % scales.size()];
        const float q = std::nearbyint(values[i] / s);
        // ONNX saturates; these values are within the range.
        EXPECT_EQ(values[i], q * s);
        result.push_back(static_cast<int>(q));
      }
      return result;
    }
    throw NotFoundError("unknown_name", weight, "no QuantizeLinear");
  }
  const onnx::GraphProto& graph() const { return proto_.graph(); }

 private:
  size_t inner_size(const std::string& weight,
                    const onnx::NodeProto& node) const {
    size_t inner = 1;
    for (const auto& tensor : proto_.graph().initializer()) {
      if (tensor.name() != weight || node.attribute_size() == 0) continue;
      for (int i = static_cast<int>(node.attribute(0).i()) + 1;
           i < tensor.dims_size(); ++i) {
        inner *= static_cast<size_t>(tensor.dims(i));
      }
    }
    return inner;
  }

  onnx::ModelProto proto_;
};

class ExportFolded : public ::testing::TestWithParam<LinearKind> {};

INSTANTIATE_TEST_SUITE_P(, ExportFolded, ::testing::ValuesIn(linear_kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(ExportFolded, WritesTheQuantizedWeightsOfTheUnfoldedModel) {
  const LinearKind& kind = GetParam();
  for (const bool per_channel : {true, false}) {
    const Model model = quantized_and_calibrated(
        normalized(kind), {.narrow_range = true,
                           .per_channel = per_channel,
                           .rule = quant::ScaleRule::live});
    const File plain(model);
    const File folded(model, {.fold_batch_norm = true});
    EXPECT_EQ(plain.count("BatchNormalization"), 1);
    EXPECT_EQ(folded.count("BatchNormalization"), 0);
    EXPECT_EQ(folded.count("QuantizeLinear"), plain.count("QuantizeLinear"));

    // Channels are the first axis except for transposed convolutions.
    const bool second =
        kind.name == "Conv2DTranspose" || kind.name == "DenseOnTokens";
    auto expected = plain.codes("quant_linear/" + kind.kernel);
    const size_t cells = kind.name == "Conv2DTranspose" ? 9 : 1;
    const auto factor = factor_and_shift(model, "bn").factor;
    for (size_t i = 0; i < expected.size(); ++i) {
      const size_t channel = second ? i / cells % kind.channels
                                    : i / (expected.size() / kind.channels);
      expected[i] *= factor[channel] < 0 ? -1 : factor[channel] > 0 ? 1 : 0;
    }
    EXPECT_EQ(folded.codes("quant_linear/" + kind.folded_kernel), expected);
  }
}

TEST(ExportFolding, IsTheExportOfTheFoldedModel) {
  const Model model = quantized_and_calibrated(normalized(linear_kinds()[0]));
  EXPECT_EQ(to_onnx(model, {.fold_batch_norm = true}).bytes,
            to_onnx(quant::fold_batch_norm(model)).bytes);
  EXPECT_NE(to_onnx(model).bytes,
            to_onnx(model, {.fold_batch_norm = true}).bytes);
}

TEST(ExportFolding, KeepsTheNamesOfOutputs) {
  const SymbolicTensor x = input({6, 5, 3}, "x");
  const SymbolicTensor y =
      BatchNormalization({.name = "b"})(Conv2D({.filters = 2})(x));
  const File file(Model({x}, {y, ReLU({.name = "r"})(y)}),
                  {.fold_batch_norm = true});
  ASSERT_EQ(file.graph().output_size(), 2);
  EXPECT_EQ(file.graph().output(0).name(), "b");
  EXPECT_EQ(file.graph().output(1).name(), "r");
}

TEST(ExportFolding, WritesQdqWhetherFakeQuantIsOnOrOff) {
  for (const char* name : {"resnet8", "ds_cnn", "pippin"}) {
    const Model real = zoo::make(name);
    disturb_signs(real);
    Model model =
        quant::quantize_model(real, {.policy = quant::Policy::toolkit});
    quant::calibrate(model, [](const Model& m) {
      (void)m.predict(noise(m.inputs()[0].shape().with(0, 4)));
    });
    for (const bool fold : {false, true}) {
      const OnnxExportOptions options{.fold_batch_norm = fold};
      quant::enable_fake_quant(model);
      const OnnxFile on = to_onnx(model, options);
      quant::disable_fake_quant(model);
      EXPECT_EQ(to_onnx(model, options).bytes, on.bytes);
      EXPECT_EQ(on.report.qdq_pairs,
                quant::count_pairs(quant::plan_of(model), real).shared);
    }
  }
}

TEST(ExportFolding, OfAFloatModelAddsBiases) {
  const Model model = normalized(linear_kinds()[0], false);
  const File plain(model);
  const File folded(model, {.fold_batch_norm = true});
  EXPECT_THROW((void)plain.constant("linear/bias"), NotFoundError);
  const auto [factor, shift] = factor_and_shift(model, "bn");
  const auto bias = folded.constant("linear/bias");
  ASSERT_EQ(bias.size(), 8u);
  for (size_t c = 0; c < 8; ++c) {
    EXPECT_FLOAT_EQ(bias[c], static_cast<float>(shift[c]));
  }
}

}  // namespace
}  // namespace octet::io
