#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/identity.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, ReshapeOptions& o) {
  v("target_shape", o.target_shape);
}

namespace {

class ReshapeLayer final : public Layer {
 public:
  explicit ReshapeLayer(const ReshapeOptions& options) : o_(options) {
    bool open = false;
    for (const int64_t dim : o_.target_shape) {
      if (dim == Shape::kAnySize ? open : dim < 1) {
        throw ValueError(
            "invalid_value", "target_shape",
            fmt::format(
                "sizes must be at least 1, with at most one -1, got ({})",
                fmt::join(o_.target_shape, ",")));
      }
      open = open || dim == Shape::kAnySize;
    }
  }

  std::string class_name() const override { return "Reshape"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.identity = identity_if_same_shape(*this, inputs);
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    const int64_t size = x.slice(1, x.rank()).size();
    std::vector<int64_t> dims{x[0]};
    int64_t known = 1;
    bool overflow = false;
    for (const int64_t dim : o_.target_shape) {
      if (dim != Shape::kAnySize) {
        overflow |= __builtin_mul_overflow(known, dim, &known);
      }
    }
    bool fits = !overflow && known <= size && size % known == 0;
    bool open = false;
    for (const int64_t dim : o_.target_shape) {
      open |= dim == Shape::kAnySize;
      dims.push_back(dim == Shape::kAnySize && fits ? size / known : dim);
    }
    fits &= open || known == size;
    if (!fits) {
      throw ShapeError(
          "shape_mismatch", "target_shape",
          fmt::format("({}) does not hold the {} elements of a sample of {}",
                      fmt::join(o_.target_shape, ","), size, x.to_string()));
    }
    return Shape(std::span<const int64_t>(dims));
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    const Shape& x = inputs[0].shape();
    return reshape(inputs[0], output_shape(std::span(&x, 1)));
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const OnnxValue& x = inputs[0];
    const Shape shape = output_shape(std::span(&x.shape, 1));
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    dims[0] = -1;
    return {context.node("Reshape", {x.name, context.integers("shape", dims)}),
            shape};
  }

 private:
  ReshapeOptions o_;
};

}  // namespace

Reshape::Reshape(const ReshapeOptions& options)
    : LayerHandle(make_layer<ReshapeLayer>("Reshape", options)) {}

extern const LayerDef reshape_def;
const LayerDef reshape_def{
    .class_name = "Reshape",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<ReshapeLayer>(
          read_fields<ReshapeOptions>(config));
    },
    .role = LayerRole::movement,
};

}  // namespace octet
