#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <octet/layers/attention.h>
#include <octet/layers/custom_layer.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, ScaledDotProductAttentionOptions& o) {
  v("num_heads", o.num_heads);
  v("dropout", o.dropout);
  v("causal", o.causal);
}

namespace {

/// Returns 0 for the keys that each query sees, otherwise minus infinity.
/// Shapes: [queries,keys].
Tensor causal_mask(int64_t queries, int64_t keys) {
  Tensor mask = Tensor::zeros({queries, keys});
  const auto values = mask.f32();
  for (int64_t query = 0; query < queries; ++query) {
    for (int64_t key = query + 1; key < keys; ++key) {
      values[static_cast<size_t>(query * keys + key)] =
          -std::numeric_limits<float>::infinity();
    }
  }
  return mask;
}

/// Returns [queries,keys]: 1 for the keys that a query attends to, else 0.
Tensor seen_keys(int64_t queries, int64_t keys) {
  Tensor mask = causal_mask(queries, keys);
  for (float& value : mask.f32()) value = value == 0 ? 1.0f : 0.0f;
  return mask;
}

class ScaledDotProductAttentionLayer final : public Layer {
 public:
  explicit ScaledDotProductAttentionLayer(
      const ScaledDotProductAttentionOptions& options)
      : o_(options) {
    expect_count("num_heads", o_.num_heads);
    if (!(o_.dropout >= 0 && o_.dropout < 1)) {
      throw ValueError("out_of_range", "dropout",
                       fmt::format("must be in [0,1), got {}", o_.dropout));
    }
  }

  std::string class_name() const override {
    return "ScaledDotProductAttention";
  }
  Config config() const override { return write_fields(o_); }

  Shape output_shape(std::span<const Shape> inputs) const override {
    if (inputs.size() != 3 && inputs.size() != 4) {
      throw ValueError("count_mismatch", "inputs",
                       fmt::format("the layer takes query, key, value and "
                                   "optionally a mask, got {} inputs",
                                   inputs.size()));
    }
    const Shape& q = inputs[0];
    const Shape& k = inputs[1];
    const Shape& v = inputs[2];
    const auto check = [&](const char* name, const Shape& x) {
      if (x.rank() != 3) {
        throw ShapeError(
            "invalid_shape", name,
            fmt::format("must be tokens [n,t,c], got {}", x.to_string()));
      }
      if (x[2] % o_.num_heads != 0) {
        throw ShapeError(
            "invalid_shape", name,
            fmt::format("features must be a multiple of the {} heads, got {}",
                        o_.num_heads, x.to_string()));
      }
    };
    check("query", q);
    check("key", k);
    check("value", v);
    if (q[2] != k[2]) {
      throw ShapeError(
          "shape_mismatch", "key",
          fmt::format("must have {} features, as the query, got {}", q[2],
                      k.to_string()));
    }
    if (k[1] != v[1]) {
      throw ShapeError("shape_mismatch", "value",
                       fmt::format("must have {} tokens, as the key, got {}",
                                   k[1], v.to_string()));
    }
    if (inputs.size() == 4 && inputs[3] != Shape{q[0], k[1]} &&
        inputs[3] != Shape{q[0], q[1], k[1]}) {
      throw ShapeError(
          "shape_mismatch", "mask",
          fmt::format("must be {} or {}, got {}", Shape{q[0], k[1]}.to_string(),
                      Shape{q[0], q[1], k[1]}.to_string(),
                      inputs[3].to_string()));
    }
    return {q[0], q[1], v[2]};
  }

  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    const Variable q = heads(inputs[0]);
    const Variable k = heads(inputs[1]);
    const Variable v = heads(inputs[2]);
    Variable scores = scale_shift(matmul(q, k, {.transpose_b = true}),
                                  scale(inputs[0].shape()));
    if (inputs.size() == 4) {
      scores = scores +
               scale_shift(score_mask(inputs[3], q, k), kLargest, -kLargest);
    } else if (o_.causal) {
      scores = scores + causal_mask(q.shape()[2], k.shape()[2]);
    }
    Variable weights = softmax(scores);
    if (context.training && o_.dropout > 0) {
      weights = dropout(weights, o_.dropout, *context.rng);
    }
    const Shape& x = inputs[0].shape();
    return reshape(transpose(matmul(weights, v), {0, 2, 1, 3}),
                   {x[0], x[1], inputs[2].shape()[2]});
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const Shape y = output_shape(
        std::array{inputs[0].shape, inputs[1].shape, inputs[2].shape});
    const auto split = [&](const OnnxValue& x, std::string_view name,
                           std::vector<int64_t> axes) {
      const std::string dims = fmt::format("{}/split", name);
      const std::string parts = context.part(
          "Reshape", dims,
          {x.name, context.integers(dims, {-1, x.shape[1], o_.num_heads,
                                           x.shape[2] / o_.num_heads})});
      return context.part("Transpose", fmt::format("{}/heads", name), {parts},
                          {{"perm", std::move(axes)}});
    };
    const std::string q = split(inputs[0], "query", {0, 2, 1, 3});
    const std::string k = split(inputs[1], "key", {0, 2, 3, 1});
    const std::string v = split(inputs[2], "value", {0, 2, 1, 3});
    const std::string products = context.part("MatMul", "products", {q, k});
    std::string scores = context.part(
        "Mul", "scores",
        {products, context.scalar("scale", scale(inputs[0].shape))});
    if (inputs.size() == 4) {
      scores =
          context.part("Add", "masked", {scores, emit_mask(context, inputs)});
    } else if (o_.causal) {
      const Tensor mask = causal_mask(inputs[0].shape[1], inputs[1].shape[1]);
      scores = context.part("Add", "masked",
                            {scores, context.builder().add_initializer(
                                         context.layer() + "/mask", mask)});
    }
    const std::string weights =
        context.part("Softmax", "weights", {scores}, {{"axis", int64_t{-1}}});
    const std::string means = context.node("MatMul", {weights, v});
    const std::string tokens =
        context.part("Transpose", "tokens", {means},
                     {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    return {context.part("Reshape", "joined",
                         {tokens, context.integers("shape", {-1, y[1], y[2]})}),
            y};
  }

  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    if (inputs.empty()) return facts;
    facts.multiply_adds =
        product_of({inputs[0][1], inputs[1][1], inputs[0][2] + inputs[2][2]});
    return facts;
  }

 private:
  // Subtracted from the scores of masked keys, as in Keras: if all keys of a
  // query are masked, their scores round to the same value.
  static constexpr float kLargest = 1e9f;

  // Returns [n,1,queries or 1,keys]: 1 for the keys that a query attends to.
  Variable score_mask(const Variable& mask, const Variable& q,
                      const Variable& k) const {
    const Shape& s = mask.shape();
    const int64_t keys = s[-1];
    Variable y =
        reshape(mask, {s[0], 1, s.rank() == 3 ? s[1] : int64_t{1}, keys});
    if (o_.causal) y = y * seen_keys(q.shape()[2], k.shape()[2]);
    return y;
  }
  std::string emit_mask(EmitContext& context,
                        std::span<const OnnxValue> inputs) const {
    const Shape& s = inputs[3].shape;
    const std::vector<int64_t> axes =
        s.rank() == 3 ? std::vector<int64_t>{1} : std::vector<int64_t>{1, 2};
    std::string mask =
        context.part("Unsqueeze", "mask_heads",
                     {inputs[3].name, context.integers("mask_axes", axes)});
    if (o_.causal) {
      const Tensor seen = seen_keys(inputs[0].shape[1], inputs[1].shape[1]);
      mask = context.part("Mul", "seen",
                          {mask, context.builder().add_initializer(
                                     context.layer() + "/causal", seen)});
    }
    mask = context.part("Mul", "mask_scaled",
                        {mask, context.scalar("largest", kLargest)});
    return context.part("Add", "mask_scores",
                        {mask, context.scalar("least", -kLargest)});
  }

  // [n,t,heads*d] -> [n,heads,t,d].
  Variable heads(const Variable& x) const {
    const Shape& s = x.shape();
    return transpose(
        reshape(x, {s[0], s[1], o_.num_heads, s[2] / o_.num_heads}),
        {0, 2, 1, 3});
  }
  float scale(const Shape& q) const {
    return static_cast<float>(
        1 / std::sqrt(static_cast<double>(q[2] / o_.num_heads)));
  }

  ScaledDotProductAttentionOptions o_;
};

}  // namespace

ScaledDotProductAttention::ScaledDotProductAttention(
    const ScaledDotProductAttentionOptions& options)
    : LayerHandle(make_layer<ScaledDotProductAttentionLayer>(
          "ScaledDotProductAttention", options)) {}

extern const LayerDef scaled_dot_product_attention_def;
const LayerDef scaled_dot_product_attention_def{
    .class_name = "ScaledDotProductAttention",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<ScaledDotProductAttentionLayer>(
          read_fields<ScaledDotProductAttentionOptions>(config));
    },
    .qdq = {.on_request = true, .several_inputs = true},
};

}  // namespace octet
