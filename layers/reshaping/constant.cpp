#include <array>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {
namespace {

// [1, sizes of a sample]
Shape of_one_sample(const Shape& sample) {
  std::vector<int64_t> dims{1};
  dims.insert(dims.end(), sample.dims().begin(), sample.dims().end());
  return Shape(dims);
}

class ConstantLayer final : public Layer {
 public:
  explicit ConstantLayer(const ConstantOptions& options)
      : ConstantLayer(shape_of(options.value)) {
    value_ = options.value;
  }
  /// Starts with zeros; the value is set later as a parameter.
  explicit ConstantLayer(const Shape& sample) : sample_(sample) {
    if (sample_.rank() >= Shape::kMaxRank) {
      throw ShapeError("invalid_shape", "value",
                       fmt::format("must have at most {} axes, got {}",
                                   Shape::kMaxRank - 1, sample_.to_string()));
    }
    Layer::set_trainable(false);
  }

  std::string class_name() const override { return "Constant"; }
  Config config() const override {
    const auto dims = sample_.dims();
    return Config().set("shape", Config::List(dims.begin(), dims.end()));
  }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.activation = "";
    facts.sign = OutputSign::any;
    return facts;
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    return of_one_sample(sample_).with(0, single_input(inputs)[0]);
  }

  void build(std::span<const Shape>) override {
    add_parameter("value", sample_);
    if (!value_.empty()) set_parameters(std::span(&value_, 1));
    value_ = {};
  }

  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    const Shape one = of_one_sample(sample_);
    return broadcast_to(reshape(context.read(at(0)), one),
                        one.with(0, inputs[0].shape()[0]));
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const OnnxValue& x = inputs[0];
    OnnxValue y{"", output_shape(std::array{x.shape})};
    const Shape one = of_one_sample(sample_);
    const std::string value = context.weight(at(0), {.split = one}, 0);
    y.name = context.builder().add_repeated(context.layer(), value,
                                            y.shape.rank(), x.name);
    return y;
  }

 private:
  static Shape shape_of(const Tensor& value) {
    if (value.empty()) {
      throw ValueError("missing_value", "value",
                       "no tensor given. Hint: Constant({.value = tensor})(x)");
    }
    if (value.dtype() != DType::f32) {
      throw ValueError(
          "dtype_mismatch", "value",
          fmt::format("must be f32, got {}", to_string(value.dtype())));
    }
    return value.shape();
  }

  Shape sample_;
  Tensor value_;  // moved to the parameter by build()
};

}  // namespace

Constant::Constant(const ConstantOptions& options)
    : LayerHandle(make_layer<ConstantLayer>("Constant", options)) {}

extern const LayerDef constant_def;
const LayerDef constant_def{
    .class_name = "Constant",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      std::vector<int64_t> dims;
      FieldReader reader(config);
      reader("shape", dims);
      return std::make_shared<ConstantLayer>(Shape(dims));
    },
};

}  // namespace octet
