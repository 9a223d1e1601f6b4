#include <array>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/merging.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, MatmulLayerOptions& o) {
  v("transpose_a", o.transpose_a);
  v("transpose_b", o.transpose_b);
}

namespace {

class MatmulLayer final : public Layer {
 public:
  explicit MatmulLayer(const MatmulLayerOptions& options) : o_(options) {}

  std::string class_name() const override { return "Matmul"; }
  Config config() const override { return write_fields(o_); }

  Shape output_shape(std::span<const Shape> inputs) const override {
    if (inputs.size() != 2) {
      throw ValueError(
          "count_mismatch", "inputs",
          fmt::format("the layer takes 2 inputs, got {}. Hint: pass a vector, "
                      "Matmul()({{x, y}})",
                      inputs.size()));
    }
    const Shape& a = inputs[0];
    const Shape& b = inputs[1];
    if (a.rank() < 3 || a.rank() != b.rank()) {
      throw ShapeError("invalid_shape", "inputs",
                       fmt::format("must be matrices [n,...,m,k] and "
                                   "[n,...,k,l] of equal rank, got {} "
                                   "and {}",
                                   a.to_string(), b.to_string()));
    }
    const int rank = a.rank();
    const int64_t depth = a[o_.transpose_a ? -2 : -1];
    bool fits = depth == b[o_.transpose_b ? -1 : -2] && a[0] == b[0];
    Shape y = a;
    for (int axis = 1; axis < rank - 2; ++axis) {
      fits &= a[axis] == b[axis] || a[axis] == 1 || b[axis] == 1;
      y = y.with(axis, a[axis] == 1 ? b[axis] : a[axis]);
    }
    if (!fits) {
      throw ShapeError("shape_mismatch", "inputs",
                       fmt::format("{} cannot be multiplied by {} as {} by {}",
                                   a.to_string(), b.to_string(),
                                   o_.transpose_a ? "[...,k,m]" : "[...,m,k]",
                                   o_.transpose_b ? "[...,l,k]" : "[...,k,l]"));
    }
    return y.with(rank - 2, a[o_.transpose_a ? -1 : -2])
        .with(rank - 1, b[o_.transpose_b ? -2 : -1]);
  }

  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return matmul(
        inputs[0], inputs[1],
        {.transpose_a = o_.transpose_a, .transpose_b = o_.transpose_b});
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const auto matrices = [&](const OnnxValue& x, const char* part,
                              bool transposed) {
      if (!transposed) return x.name;
      std::vector<int64_t> perm(static_cast<size_t>(x.shape.rank()));
      std::iota(perm.begin(), perm.end(), int64_t{0});
      std::swap(perm.end()[-1], perm.end()[-2]);
      return context.part("Transpose", part, {x.name},
                          {{"perm", std::move(perm)}});
    };
    const std::string a = matrices(inputs[0], "a", o_.transpose_a);
    const std::string b = matrices(inputs[1], "b", o_.transpose_b);
    return {context.node("MatMul", {a, b}),
            output_shape(std::array{inputs[0].shape, inputs[1].shape})};
  }

  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    if (inputs.empty()) return facts;
    const Shape y = output_shape(inputs);
    facts.multiply_adds = product_of(
        {y.slice(1, y.rank()).size(), inputs[0][o_.transpose_a ? -2 : -1]});
    return facts;
  }

 private:
  MatmulLayerOptions o_;
};

}  // namespace

Matmul::Matmul(const MatmulLayerOptions& options)
    : LayerHandle(make_layer<MatmulLayer>("Matmul", options)) {}

extern const LayerDef matmul_def;
const LayerDef matmul_def{
    .class_name = "Matmul",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<MatmulLayer>(
          read_fields<MatmulLayerOptions>(config));
    },
    .qdq = {.on_request = true, .several_inputs = true},
};

}  // namespace octet
