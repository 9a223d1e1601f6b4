// Policy::tensorrt with custom layer classes and wrappers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/custom_layer.h>
#include <octet/quant/wrapper.h>

#include "tensorrt_support.h"

namespace octet::quant {
namespace {

const Shape kUserImage{7, 5, 3};

/// An identity layer, optionally with a parameter "kernel".
class PlainLayer final : public Layer {
 public:
  PlainLayer(std::string class_name, bool kernel)
      : class_(std::move(class_name)), kernel_(kernel) {}
  std::string class_name() const override { return class_; }
  Config config() const override { return Config::Object(); }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return inputs[0];
  }
  void build(std::span<const Shape>) override {
    if (kernel_) add_parameter("kernel", {2, 3});
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return inputs[0];
  }

 private:
  std::string class_;
  bool kernel_;
};

const LayerDef kScale{.class_name = "PolicyScale",
                      .create = [](const Config&) -> std::shared_ptr<Layer> {
                        return std::make_shared<PlainLayer>("PolicyScale",
                                                            true);
                      },
                      .role = LayerRole::linear};
const LayerDef kBend{.class_name = "PolicyBend",
                     .create = [](const Config&) -> std::shared_ptr<Layer> {
                       return std::make_shared<PlainLayer>("PolicyBend", false);
                     }};
const LayerDef kKeep{.class_name = "PolicyKeep",
                     .create = [](const Config&) -> std::shared_ptr<Layer> {
                       return std::make_shared<PlainLayer>("PolicyKeep", false);
                     }};

LayerHandle user_layer(const LayerDef& def, const std::string& name) {
  static const bool registered = [] {
    register_layer(kScale);
    register_layer(kBend);
    register_layer(kKeep);
    register_wrapper({.name = "PolicyScaleQuantizeWrapper",
                      .sites = {.weights = {"kernel"}}});
    register_wrapper({.name = "PolicyBendQuantizeWrapper"});
    register_wrapper({.name = "PolicyKeepQuantizeWrapper", .enabled = false});
    return true;
  }();
  EXPECT_TRUE(registered);
  LayerHandle handle(def.create({}));
  handle->set_name(name);
  return handle;
}

TEST(TensorrtUserClass, IsTreatedLikeOctetsIfItIsLinear) {
  const SymbolicTensor image = input(kUserImage, "image");
  const SymbolicTensor x = relu(image, "x");
  const SymbolicTensor scaled = user_layer(kScale, "scale")(x);
  const Model model(image, conv(add({norm(scaled, "norm"), x}), "end"));
  const QdqPlan plan = plan_for(model);
  EXPECT_EQ(edges(plan), (Strings{"scale 0 P01", "add 1 P04", "end 0 P01"}));
  EXPECT_EQ(weights(plan), (Strings{"scale kernel P01", "end kernel P01"}));
  EXPECT_EQ(note_of(model, "norm"), "P02: fuses with scale");
}

TEST(TensorrtUserClass, IsQuantizedByItsWrapperIfItIsNot) {
  const SymbolicTensor image = input(kUserImage, "image");
  const SymbolicTensor x = user_layer(kBend, "bend")(norm(image, "norm"));
  const Model model(image, user_layer(kKeep, "keep")(x));
  EXPECT_EQ(edges_for(model), (Strings{"norm 0 P03", "bend 0 default"}));
  EXPECT_EQ(point_at(plan_for(model), "bend").reason,
            "PolicyBendQuantizeWrapper is on by default");
  EXPECT_EQ(note_of(model, "keep"),
            "default: PolicyKeepQuantizeWrapper is off by default");
}

}  // namespace
}  // namespace octet::quant
