#include <array>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/merging.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"
#include "normalization/unit_length.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, DotOptions& o) {
  v("axes", o.axes);
  v("normalize", o.normalize);
}

namespace {

// An operand as matrices: x is [n,m,k], y is [n,k,m], contracted over k.
struct Operand {
  int axis;         ///< contracted axis
  bool vector;      ///< [n,k]: a single row or column
  bool transposed;  ///< sequence only
  int64_t k, m;
};

class DotLayer final : public Layer {
 public:
  // Source: keras.config.epsilon(), used by keras.utils.normalize.
  static constexpr float kEpsilon = 1e-7f;

  explicit DotLayer(const DotOptions& options) : o_(options) {
    if (o_.axes.empty() || o_.axes.size() > 2) {
      throw ValueError(
          "count_mismatch", "axes",
          fmt::format("must have 1 entry for both inputs or 1 for each, got {}",
                      o_.axes.size()));
    }
  }

  std::string class_name() const override { return "Dot"; }
  Config config() const override { return write_fields(o_); }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const auto [x, y] = operands(inputs);
    if (x.vector && y.vector) return {inputs[0][0], 1};
    if (x.vector) return {inputs[0][0], y.m};
    if (y.vector) return {inputs[0][0], x.m};
    return {inputs[0][0], x.m, y.m};
  }

  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    const std::array shapes{inputs[0].shape(), inputs[1].shape()};
    const auto [x, y] = operands(shapes);
    const auto matrices = [&](const Variable& v, const Operand& o, bool left) {
      const Variable unit = o_.normalize ? normalize(v, {o.axis}, kEpsilon) : v;
      if (!o.vector) return unit;
      const int64_t n = v.shape()[0];
      return reshape(unit, left ? Shape{n, 1, o.k} : Shape{n, o.k, 1});
    };
    const Variable product =
        matmul(matrices(inputs[0], x, true), matrices(inputs[1], y, false),
               {.transpose_a = x.transposed, .transpose_b = y.transposed});
    return reshape(product, output_shape(shapes));
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const std::array shapes{inputs[0].shape, inputs[1].shape};
    const auto [x, y] = operands(shapes);
    const auto matrices = [&](const OnnxValue& value, const Operand& o,
                              bool left) {
      std::string name = value.name;
      if (o_.normalize) {
        name = emit_unit_length(context, name, {o.axis}, kEpsilon);
      }
      if (o.vector) {
        return context.part("Unsqueeze", left ? "x" : "y",
                            {name, context.integers("axes", {left ? 1 : 2})});
      }
      if (!o.transposed) return name;
      return context.part("Transpose", left ? "x" : "y", {name},
                          {{"perm", std::vector<int64_t>{0, 2, 1}}});
    };
    const std::string left = matrices(inputs[0], x, true);
    const std::string right = matrices(inputs[1], y, false);
    OnnxValue product{context.node("MatMul", {left, right}),
                      output_shape(shapes)};
    if (x.vector || y.vector) {
      product.name = context.part(
          "Squeeze", "squeezed",
          {product.name, context.integers("squeezed", {x.vector ? 1 : 2})});
    }
    return product;
  }

  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    if (inputs.empty()) return facts;
    const auto [x, y] = operands(inputs);
    facts.multiply_adds = product_of({x.m, x.k, y.m});
    return facts;
  }

 private:
  std::array<Operand, 2> operands(std::span<const Shape> inputs) const {
    if (inputs.size() != 2) {
      throw ValueError(
          "count_mismatch", "inputs",
          fmt::format("the layer takes 2 inputs, got {}. Hint: pass a vector, "
                      "Dot()({{x, y}})",
                      inputs.size()));
    }
    std::array<Operand, 2> result{};
    for (size_t i = 0; i < 2; ++i) {
      const Shape& shape = inputs[i];
      if (shape.rank() != 2 && shape.rank() != 3) {
        throw ShapeError(
            "invalid_shape", "inputs",
            fmt::format("must be vectors [n,c] or sequences [n,l,c], got {}",
                        shape.to_string()));
      }
      const int64_t given = o_.axes[std::min(i, o_.axes.size() - 1)];
      const int64_t axis = given < 0 ? given + shape.rank() : given;
      if (axis < 0 || axis >= shape.rank()) {
        throw ShapeError("out_of_range", "axes",
                         fmt::format("must be axes of {}, got {}",
                                     shape.to_string(), given));
      }
      if (axis == 0) {
        throw ValueError("out_of_range", "axes",
                         "must not include the batch axis 0");
      }
      const bool vector = shape.rank() == 2;
      const int wanted = i == 0 ? 2 : 1;  // contracted axis of a matrix product
      const auto own = static_cast<int>(axis);
      result[i] = {own, vector, !vector && own != wanted, shape[own],
                   vector ? 1 : shape[3 - own]};
    }
    if (result[0].k != result[1].k) {
      throw ShapeError(
          "shape_mismatch", "axes",
          fmt::format("must have equal sizes, got {} of {} and {} of {}",
                      result[0].k, inputs[0].to_string(), result[1].k,
                      inputs[1].to_string()));
    }
    return result;
  }

  DotOptions o_;
};

}  // namespace

Dot::Dot(const DotOptions& options)
    : LayerHandle(make_layer<DotLayer>("Dot", options)) {}

extern const LayerDef dot_def;
const LayerDef dot_def{
    .class_name = "Dot",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<DotLayer>(read_fields<DotOptions>(config));
    },
    .qdq = {.on_request = true, .several_inputs = true},
};

}  // namespace octet
