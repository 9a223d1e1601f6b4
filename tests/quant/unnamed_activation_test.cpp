// A custom linear layer with a built-in function that has no name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/custom_layer.h>

#include "pattern_support.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;

/// x * kernel, with or without a nonlinearity.
class BentLayer final : public Layer {
 public:
  explicit BentLayer(bool bent) : bent_(bent) {}
  std::string class_name() const override { return "BentDense"; }
  Config config() const override { return Config().set("bent", bent_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.activation = bent_ ? "" : "linear";
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return inputs[0];
  }
  void build(std::span<const Shape> inputs) override {
    add_parameter("kernel", {inputs[0][-1], inputs[0][-1]});
    add_parameter("bias", {inputs[0][-1]});
  }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    const Variable y =
        bias_add(dense(inputs[0], context.read(at(0))), context.read(at(1)));
    return bent_ ? relu(y) : y;
  }

 private:
  bool bent_;
};

Model normalized_model(bool bent) {
  static const LayerDef def{
      .class_name = "BentDense",
      .create = [](const Config& config) -> std::shared_ptr<Layer> {
        return std::make_shared<BentLayer>(config.at("bent").as_bool());
      },
      .role = LayerRole::linear,
      .folded = {.parameter = "kernel", .first_axis = 1, .last_axis = 2}};
  static const bool done = (register_layer(def), true);
  (void)done;
  const LayerHandle layer(std::make_shared<BentLayer>(bent));
  layer->set_name("bent");
  const SymbolicTensor x = input({4}, "x");
  return Model(x, quant::norm(layer(x), "bn"));
}

TEST(UnnamedActivation, EndsTheChainOfItsLayer) {
  const Pattern pattern{
      .name = "LinearNorm",
      .steps = {{.roles = {LayerRole::linear}},
                {.roles = {LayerRole::normalization}, .optional = true}},
      .qdq_points = {PatternPoint::input}};
  EXPECT_THAT(outline(transform(normalized_model(false), {pattern}).matches),
              ElementsAre("LinearNorm bent bn"));
  EXPECT_THAT(outline(transform(normalized_model(true), {pattern}).matches),
              ElementsAre("LinearNorm bent"));
}

TEST(UnnamedActivation, PreventsFoldingOfANormalization) {
  EXPECT_THAT(batch_norm_folds(normalized_model(false)),
              ElementsAre(BatchNormFold{"bn", "bent", ""}));
  EXPECT_THAT(batch_norm_folds(normalized_model(true)),
              ElementsAre(BatchNormFold{"bn", "", "'bent' has an activation"}));
}

}  // namespace
}  // namespace octet::quant
