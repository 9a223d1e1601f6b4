#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/normalization.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, GroupNormalizationOptions& o) {
  v("groups", o.groups);
  v("axis", o.axis);
  v("epsilon", o.epsilon);
  v("center", o.center);
  v("scale", o.scale);
  v("beta_initializer", o.beta_initializer);
  v("gamma_initializer", o.gamma_initializer);
  v("beta_regularizer", o.beta_regularizer);
  v("gamma_regularizer", o.gamma_regularizer);
}

namespace {

class GroupNormalizationLayer final : public Layer {
 public:
  explicit GroupNormalizationLayer(const GroupNormalizationOptions& options)
      : o_(options) {
    expect_epsilon(o_.epsilon);
    if (o_.groups != -1) expect_count("groups", o_.groups);
  }

  std::string class_name() const override { return "GroupNormalization"; }
  Config config() const override { return write_fields(o_); }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    expect_last_axis(o_.axis, x);
    if (x.rank() > 4) {
      throw ShapeError(
          "invalid_shape", "input",
          "must have at most 4 axes, [n,h,w,c], got " + x.to_string());
    }
    if (x[-1] % groups_of(x) != 0) {
      throw ShapeError("out_of_range", "groups",
                       fmt::format("must divide the channels of {}, got {}",
                                   x.to_string(), o_.groups));
    }
    return x;
  }

  void build(std::span<const Shape> inputs) override {
    const Shape c{inputs[0][-1]};
    if (o_.scale) {
      gamma_ = add_parameter("gamma", c,
                             {.initializer = o_.gamma_initializer,
                              .regularizer = o_.gamma_regularizer});
    }
    if (o_.center) {
      beta_ = add_parameter("beta", c,
                            {.initializer = o_.beta_initializer,
                             .regularizer = o_.beta_regularizer});
    }
  }

  // One row per group: [n,g,pixels * c / g].
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    const Shape& shape = inputs[0].shape();
    const int64_t groups = groups_of(shape);
    const int64_t pixels = shape.slice(1, shape.rank() - 1).size();
    const int64_t channels = shape[-1] / groups;
    const Shape by_pixel{shape[0], pixels, groups, channels};
    const Shape by_group{shape[0], groups, pixels * channels};
    const std::vector<int> exchanged{0, 2, 1, 3};
    Variable y = transpose(reshape(inputs[0], by_pixel), exchanged);
    y = layer_norm(reshape(y, by_group), {}, {}, o_.epsilon);
    y = reshape(y, {shape[0], groups, pixels, channels});
    y = reshape(transpose(y, exchanged), shape);
    if (o_.scale) y = y * context.read(at(gamma_));
    if (o_.center) y = y + context.read(at(beta_));
    return y;
  }

  // As exported by PyTorch: InstanceNormalization of the groups.
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const OnnxValue& x = inputs[0];
    const int rank = x.shape.rank();
    const int64_t groups = groups_of(x.shape);
    std::vector<int64_t> back{0, x.shape[-1]};
    for (int axis = 1; axis < rank - 1; ++axis) {
      back.push_back(x.shape[axis]);
    }
    const auto all = [&](const char* name, float value) {
      return context.builder().add_initializer(context.layer() + "/" + name,
                                               Tensor::full({groups}, value));
    };
    std::string y =
        context.node("Reshape", {context.channels_first(x.name, rank),
                                 context.integers("groups", {0, groups, -1})});
    y = context.node("InstanceNormalization",
                     {y, all("ones", 1), all("zeros", 0)},
                     {{"epsilon", o_.epsilon}});
    y = context.node("Reshape", {y, context.integers("shape", back)});
    y = context.channels_last(y, rank);
    if (o_.scale) y = context.node("Mul", {y, context.weight(at(gamma_))});
    if (o_.center) y = context.node("Add", {y, context.weight(at(beta_))});
    return {y, x.shape};
  }

 private:
  int64_t groups_of(const Shape& x) const {
    return o_.groups == -1 ? x[-1] : o_.groups;
  }

  GroupNormalizationOptions o_;
  size_t gamma_ = 0;
  size_t beta_ = 0;
};

}  // namespace

GroupNormalization::GroupNormalization(const GroupNormalizationOptions& options)
    : LayerHandle(
          make_layer<GroupNormalizationLayer>("GroupNormalization", options)) {}

extern const LayerDef group_normalization_def;
const LayerDef group_normalization_def{
    .class_name = "GroupNormalization",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<GroupNormalizationLayer>(
          read_fields<GroupNormalizationOptions>(config));
    },
    .keras = {.layout = KerasLayout::channels},
};

}  // namespace octet
