// A layer added outside the library: one LayerDef and one class suffice for the
// Keras import, the size limit, placement, folding and the export.
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx_reference.h>
#include <octet/layers/custom_layer.h>
#include <octet/octet.h>

#include "../temp_folder.h"
#include "keras_files.h"
#include "onnx_run.h"
#include "support.h"

namespace octet::io {
namespace {

// A Dense layer per pixel, as for custom hardware.
class PixelDenseLayer final : public Layer {
 public:
  PixelDenseLayer(int64_t units, std::string activation, bool use_bias)
      : units_(units),
        activation_(std::move(activation)),
        use_bias_(use_bias) {}

  std::string class_name() const override { return "PixelDense"; }
  Config config() const override {
    return Config()
        .set("units", units_)
        .set("activation", activation_)
        .set("use_bias", use_bias_);
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    if (inputs.size() != 1 || inputs[0].rank() != 4) {
      throw ShapeError("invalid_shape", "input", "must be images [n,h,w,c]");
    }
    return inputs[0].with(3, units_);
  }
  void build(std::span<const Shape> inputs) override {
    kernel_ = add_parameter("kernel", {inputs[0][3], units_},
                            {.fan_in = inputs[0][3], .fan_out = units_});
    if (use_bias_) bias_ = add_parameter("bias", {units_}, {});
  }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    Variable y = dense(inputs[0], context.read(at(kernel_)));
    if (use_bias_) y = bias_add(y, context.read(at(bias_)));
    return activation_ == "relu" ? relu(y) : y;
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    std::vector<std::string> operands{
        inputs[0].name,
        context.weight(
            at(kernel_),
            [](const Tensor& w) {
              const Shape& k = w.shape();
              return w.transposed({1, 0}).reshaped({k[1], k[0], 1, 1});
            },
            0)};
    if (use_bias_) operands.push_back(context.weight(at(bias_)));
    OnnxValue y = context.channels_first_node("Conv", operands,
                                              inputs[0].shape.with(3, units_));
    if (activation_ == "relu") y.name = context.node("Relu", {y.name});
    return y;
  }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    if (built()) {
      facts.convolutions = {
          {.in = at(kernel_).variable.shape()[0], .out = units_}};
    }
    return facts;
  }

 private:
  int64_t units_;
  std::string activation_;
  bool use_bias_;
  size_t kernel_ = 0;
  size_t bias_ = 0;
};

const LayerDef kPixelDense{
    .class_name = "PixelDense",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      const Config* activation = config.find("activation");
      const Config* use_bias = config.find("use_bias");
      return std::make_shared<PixelDenseLayer>(
          config.at("units").as_int(),
          activation == nullptr ? "linear" : activation->as_string(),
          use_bias == nullptr || use_bias->as_bool());
    },
    .role = LayerRole::linear,
    .qdq = {.enabled = true, .weight = "kernel"},
    .folded = {.parameter = "kernel", .first_axis = 1, .last_axis = 2},
    .keras = {.layout = KerasLayout::image,
              .aliases = {"PointwiseLinear"},
              .renamed = {{{"nb_units", "units"}}},
              .has_activation = true},
};

const Tensor kKernel = Tensor::of<float>({3, 2}, {1, -2, 3, 4, -5, 6});

class NewLayer : public testing::Test {
 protected:
  static void SetUpTestSuite() { register_layer(kPixelDense); }

  // A file of an older version of the layer, with channels first, followed by a
  // normalization.
  Model imported(const std::string& more = "") const {
    const std::string format = R"("data_format":"channels_first")";
    KerasFile(keras_sequential(
                  {keras_input("i", "[null,3,4,5]"),
                   keras_layer("lab>PointwiseLinear", "pixel",
                               R"("nb_units":2,"bias":0,)" + format + more),
                   keras_layer("BatchNormalization", "bn", R"("axis":[1])")}))
        .layer("pixel", {{"kernel:0", kKernel}})
        .layer("bn", {{"gamma:0", Tensor::of<float>({2}, {2, -3})},
                      {"beta:0", Tensor::of<float>({2}, {0.5f, 1})},
                      {"moving_mean:0", Tensor::of<float>({2}, {1, 2})},
                      {"moving_variance:0", Tensor::of<float>({2}, {4, 9})}})
        .write(folder_ / "m.h5");
    return load_keras(folder_ / "m.h5");
  }

  TempFolder folder_;
};

TEST_F(NewLayer, IsImportedUnderItsOldNamesAndWithChannelsFirst) {
  const Model model = imported();
  EXPECT_EQ(model.layer("pixel").class_name(), "PixelDense");
  EXPECT_EQ(model.inputs()[0].shape(), Shape({Shape::kAnySize, 4, 5, 3}));
  const Tensor y = model.predict(Tensor::full({1, 4, 5, 3}, 1));
  // Column sums of the kernel, -1 and 8, normalized.
  const float epsilon = 1e-3f;
  EXPECT_FLOAT_EQ(y.f32()[0], 2 * (-1.0f - 1) / std::sqrt(4 + epsilon) + 0.5f);
  EXPECT_FLOAT_EQ(y.f32()[1], -3 * (8.0f - 2) / std::sqrt(9 + epsilon) + 1);
}

TEST_F(NewLayer, CannotExceedTheWeightsOfTheFile) {
  EXPECT_EQ(failure_of<FormatError>(
                [&] { (void)imported(R"(,"units":1000000000000)"); }),
            (Failure{"size_limit", "parameters"}));
}

TEST_F(NewLayer, IsPlacedWithItsDataAndItsWeights) {
  const quant::QdqPlan plan = quant::plan_of(quant::quantize_model(imported()));
  const auto rule = [&](const quant::QdqSite& site) -> std::string {
    for (const quant::QdqPoint& point : plan.points) {
      if (point.layer == "pixel" && point.site == site) return point.rule;
    }
    return "";
  };
  EXPECT_EQ(rule(quant::QdqSite::input(0)), "P01");
  EXPECT_EQ(rule(quant::QdqSite::weight("kernel")), "P01");
}

TEST_F(NewLayer, FoldsTheNextNormalization) {
  const Model model = imported();
  const auto folds = quant::batch_norm_folds(model);
  ASSERT_EQ(folds.size(), 1u);
  EXPECT_EQ(folds[0].into, "pixel") << folds[0].reason;
  const Model folded = quant::fold_batch_norm(model);
  EXPECT_EQ(folded.layers().size(), 2u);
  const Tensor x = noise({2, 4, 5, 3});
  EXPECT_LT(largest_difference(folded.predict(x), model.predict(x)), 1e-5f);
}

TEST_F(NewLayer, ReportsItsActivation) {
  const Model linear = imported();
  EXPECT_EQ(linear.layer("pixel").facts().activation, "linear");
  const Model relu = imported(R"(,"activation":"relu")");
  EXPECT_EQ(relu.layer("pixel").facts().activation, "relu");
}

TEST_F(NewLayer, IsExportedInInt8AndRunsThere) {
  Model model = quant::quantize_model(quant::fold_batch_norm(imported()));
  const Tensor x = noise({8, 4, 5, 3});
  quant::calibrate(model, Dataset(x, Tensor::zeros({8}, DType::i64)));
  export_onnx(model, folder_ / "m.onnx");
  const OnnxReference file = load_onnx_reference(folder_ / "m.onnx");
  const Tensor there = file.predict(x.transposed({0, 3, 1, 2}));
  EXPECT_LT(
      largest_difference(there.transposed({0, 2, 3, 1}), model.predict(x)),
      1e-4f);
}

}  // namespace
}  // namespace octet::io
