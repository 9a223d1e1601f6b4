#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/layers.h>
#include <octet/runtime/ops.h>

#include "../support.h"

namespace octet {
namespace {

/// Multiplies by a constant.
class Scaled : public Layer {
 public:
  explicit Scaled(double factor) : factor_(factor) {}
  std::string class_name() const override { return "Scaled"; }
  Config config() const override { return Config().set("factor", factor_); }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return inputs[0];
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return static_cast<float>(factor_) * inputs[0];
  }

 private:
  double factor_;
};

/// Overrides none of Layer's pure virtual functions.
class Unfinished : public Layer {};

static_assert(ConcreteLayer<Scaled>);
static_assert(!ConcreteLayer<Unfinished>);
static_assert(!ConcreteLayer<int>);

TEST(CustomLayer, CreatesAHandle) {
  const SymbolicTensor x = input({3});
  const LayerHandle twice = custom_layer<Scaled>(2.0);
  const Model model(x, twice(x));
  EXPECT_EQ(values(model(Variable(counting({1, 3})))),
            (std::vector<float>{0, 2, 4}));
  EXPECT_EQ(twice->class_name(), "Scaled");
}

TEST(Model, AcceptsTheInputsOfABatch) {
  const SymbolicTensor x = input({3}), y = input({3});
  Model model({x, y}, {Add()({x, y}), ReLU()(x)});
  const Batch batch({noise({2, 3}), noise({2, 3}, 2)}, {});
  const std::vector<Variable> variables(batch.inputs.begin(),
                                        batch.inputs.end());
  for (const Mode mode : {Mode::inference, Mode::training}) {
    EXPECT_EQ(bits(model(batch.inputs, mode)[0]),
              bits(model(variables, mode)[0]));
  }
  EXPECT_EQ(bits(std::as_const(model)(batch.inputs)[1]),
            bits(model(variables)[1]));
  EXPECT_EQ(model.training_passes(), 2u);
  EXPECT_THROW((void)model(std::span(batch.inputs).first(1)), ValueError);
}

}  // namespace
}  // namespace octet
