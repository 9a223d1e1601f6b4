// Layers of user-defined classes in Keras files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/custom_layer.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "../support.h"
#include "keras_files.h"
#include "support.h"

namespace octet::io {
namespace {

/// Returns the layer's output for 0, 1, 2.
std::vector<float> computed(const std::string& layer,
                            const KerasOptions& options) {
  const TempFolder folder;
  KerasFile(keras_sequential({keras_input("i", "[null,3]"), layer}))
      .write(folder / "m.h5");
  return values(load_keras(folder / "m.h5", options).predict(counting({1, 3})));
}

/// x * factor per channel.
class ScaleLayer final : public Layer {
 public:
  std::string class_name() const override { return "UserScale"; }
  Config config() const override { return Config::Object(); }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return inputs[0];
  }
  void build(std::span<const Shape> inputs) override {
    factor_ = add_parameter("factor", {inputs[0][-1]});
  }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    return multiply(inputs[0], context.read(at(factor_)));
  }

 private:
  size_t factor_ = 0;
};

TEST(KerasHook, CreatesLayersOfUserClasses) {
  const TempFolder folder;
  KerasFile(keras_sequential({keras_input("i", "[null,2]"),
                              keras_layer("pkg>Scale", "s1", R"("power":3)"),
                              keras_layer("ReLU", "r")}))
      .layer("s1", {{"anything:0", Tensor::of<float>({2}, {2, -1})}})
      .write(folder / "m.h5");
  EXPECT_EQ(
      failure_of<UnsupportedError>([&] { (void)load_keras(folder / "m.h5"); }),
      (Failure{"unsupported_layer", "layers"}));
  for (const char* name : {"Scale", "pkg>Scale"}) {
    int64_t power = 0;
    KerasOptions options;
    options.layers[name] = [&](const Config& config) {
      power = config.at("power").as_int();
      return std::make_shared<ScaleLayer>();
    };
    const Model model = load_keras(folder / "m.h5", options);
    EXPECT_EQ(values(model.predict(Tensor::of<float>({1, 2}, {3, 3}))),
              (std::vector<float>{6, 0}));
    EXPECT_EQ(power, 3);
    EXPECT_EQ(model.layers()[1]->name(), "s1");
  }
}

TEST(KerasHook, HasPriorityAndServesAsActivation) {
  KerasOptions options;
  options.layers["mish"] = [](const Config&) {
    return create_layer("Rescaling", Config().set("scale", 3.0));
  };
  options.layers["Flatten"] = [](const Config&) {
    return create_layer("Rescaling", Config().set("scale", 5.0));
  };
  EXPECT_EQ(computed(keras_layer("Activation", "a", R"("activation":"mish")"),
                     options),
            (std::vector<float>{0, 3, 6}));
  EXPECT_EQ(computed(keras_layer("Flatten", "a"), options),
            (std::vector<float>{0, 5, 10}));
  options.layers["Flatten"] = [](const Config&) { return nullptr; };
  EXPECT_EQ(failure_of<FormatError>(
                [&] { (void)computed(keras_layer("Flatten", "a"), options); }),
            (Failure{"invalid_value", "KerasOptions.layers"}));
}

}  // namespace
}  // namespace octet::io
