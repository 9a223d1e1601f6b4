#include <algorithm>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, PermuteOptions& o) {
  v("dims", o.dims);
}

namespace {

class PermuteLayer final : public Layer {
 public:
  explicit PermuteLayer(const PermuteOptions& options) : o_(options) {
    const size_t rank = o_.dims.size();
    std::vector<bool> seen(rank + 1);
    for (const int64_t dim : o_.dims) {
      const bool valid = dim >= 1 && dim <= static_cast<int64_t>(rank) &&
                         !seen[static_cast<size_t>(dim)];
      if (!valid) {
        throw ValueError(
            "invalid_value", "dims",
            fmt::format("must be a permutation of 1 to {}, got ({})", rank,
                        fmt::join(o_.dims, ",")));
      }
      seen[static_cast<size_t>(dim)] = true;
    }
  }

  std::string class_name() const override { return "Permute"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    if (std::ranges::is_sorted(o_.dims)) facts.identity = Identity::always;
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    if (x.rank() != static_cast<int>(o_.dims.size()) + 1) {
      throw ShapeError(
          "shape_mismatch", "input",
          fmt::format("samples must have {} axes, as in dims, got {}",
                      o_.dims.size(), x.to_string()));
    }
    Shape y = x;
    for (int axis = 1; axis < x.rank(); ++axis) {
      y = y.with(axis, x[order()[static_cast<size_t>(axis)]]);
    }
    return y;
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return transpose(inputs[0], order());
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const Shape shape = output_shape(std::span(&inputs[0].shape, 1));
    const std::vector<int> axes = order();
    std::vector<int64_t> perm(axes.begin(), axes.end());
    return {context.node("Transpose", {inputs[0].name}, {{"perm", perm}}),
            shape};
  }

 private:
  // Permutation of all axes including the batch, from 0.
  std::vector<int> order() const {
    std::vector<int> axes{0};
    for (const int64_t dim : o_.dims) axes.push_back(static_cast<int>(dim));
    return axes;
  }

  PermuteOptions o_;
};

}  // namespace

Permute::Permute(const PermuteOptions& options)
    : LayerHandle(make_layer<PermuteLayer>("Permute", options)) {}

extern const LayerDef permute_def;
const LayerDef permute_def{
    .class_name = "Permute",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<PermuteLayer>(
          read_fields<PermuteOptions>(config));
    },
    .role = LayerRole::movement,
};

}  // namespace octet
