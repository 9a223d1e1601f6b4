#include "attention.h"

#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/matmul.h>
#include <octet/layers/rescaling.h>
#include <octet/layers/scaled_dot_product_attention.h>
#include <octet/runtime/error.h>

namespace octet::io::importing {
namespace {

constexpr std::array<int64_t, 4> kHeadsBehindTokens{0, 2, 1, 3};

/// [N,heads,t,d] as tokens [N,t,heads*d].
View tokens_of(const Conversion& c, const View& heads) {
  const Sizes sizes = sizes_of(heads);
  const auto tokens = reshaped(transposed(heads, kHeadsBehindTokens),
                               {kBatch, sizes[2], sizes[1] * sizes[3]});
  if (!tokens) {
    c.refuse(
        fmt::format("heads must be [N,heads,t,d], got {}", text_of(heads)));
  }
  return *tokens;
}

/// [N,heads,...]; adds an axis for a single head, and splits [N*heads,...].
/// Returns nothing for values of another form.
std::optional<View> with_heads(const View& view) {
  View heads = split_batch_axis(view);
  if (heads.rank() == 3) {
    heads.axes.insert(heads.axes.begin() + 1, std::vector<size_t>());
  }
  if (heads.rank() != 4 || !heads.samples_lead()) return std::nullopt;
  return heads;
}

/// Skips Rescaling layers by a single number, unless their input or output is
/// quantized, and multiplies `scale` by their factors.
ImportedValue without_factor(const Conversion& c, ImportedValue value,
                             float& scale) {
  for (;;) {
    const GraphNode& node = *value.view.tensor.node;
    if (node.layer->class_name() != "Rescaling" || value.qparams != nullptr ||
        c.reads_codes(*node.layer)) {
      return value;
    }
    const Config config = node.layer->config();
    const Config& factor = config.at("scale");
    if (!factor.is_number() || config.at("offset") != Config(0.0f)) {
      return value;
    }
    scale *= static_cast<float>(factor.as_number());
    value.view.tensor = node.inputs[0];
  }
}

}  // namespace

View product_of(Conversion& c, const ImportedValue& a, const ImportedValue& b) {
  const int rank = a.view.rank();
  // A product does not combine samples.
  if (b.view.rank() != rank || !same_batch_position(a.view, b.view) ||
      std::cmp_greater_equal(a.view.batch(), rank - 2)) {
    c.refuse(
        fmt::format("matrices must be [N,...] of the same rank, with the batch "
                    "at the same axis, got {} and {}",
                    text_of(a.view), text_of(b.view)));
  }
  const RowLayout x(a.view, rank - 1);
  const RowLayout y(b.view, rank - 1);
  std::vector<int> columns = y.order;
  std::swap(columns.end()[-1], columns.end()[-2]);
  const bool by_columns = has_layout(y.view, columns);
  const Operand left{materialize(x.view, x.order, c.namer()), a.qparams};
  const Operand right{
      materialize(y.view, by_columns ? columns : y.order, c.namer()),
      b.qparams};
  return x.back(c.add(Matmul({.transpose_b = by_columns}), {left, right}));
}

void convert_product(Conversion& c) {
  const ImportedValue a = c.value(0);
  const ImportedValue b = c.value(1);
  c.set_output(product_of(c, a, b));
}

namespace {

/// Operands as [N,heads,t,d], [N,heads,d,s] and [N,heads,s,e].
struct Heads {
  View query, key, value;
};

/// Returns nothing unless the operands are matrices of the same heads.
std::optional<Heads> heads_of(const Conversion& c) {
  const int rank = c.view(0).rank();
  const int64_t axis = c.integer("axis", -1);
  if (axis != -1 && axis != rank - 1) return std::nullopt;
  std::array<View, 3> views;
  for (int i = 0; i < 3; ++i) {
    if (c.view(i).rank() != rank) return std::nullopt;
    auto heads = with_heads(c.view(i));
    if (!heads) return std::nullopt;
    views[static_cast<size_t>(i)] = std::move(*heads);
  }
  const Sizes q = sizes_of(views[0]), k = sizes_of(views[1]),
              v = sizes_of(views[2]);
  if (q[1] != k[1] || q[1] != v[1] || q[3] != k[2] || k[3] != v[2] ||
      c.integer("masked_queries", q[2]) != q[2] ||
      c.integer("masked_keys", k[3]) != k[3]) {
    return std::nullopt;
  }
  return Heads{views[0], views[1], views[2]};
}

/// Returns factor / divisor; nothing if one is not a number.
std::optional<float> scale_of(const Conversion& c) {
  float scale = 1;
  for (const int input : {3, 4}) {
    if (!c.has(input)) continue;
    if (!c.is_constant(input) || c.constant(input).size() != 1 ||
        c.constant(input).dtype() != DType::f32) {
      return std::nullopt;
    }
    scale = input == 3 ? scale * c.scalar(input) : scale / c.scalar(input);
  }
  return scale;
}

}  // namespace

void convert_dot_product_attention(Conversion& c) {
  const auto heads = heads_of(c);
  auto scale = scale_of(c);
  if (!heads || !scale) return c.convert_parts();
  const Sizes q = sizes_of(heads->query), v = sizes_of(heads->value);
  const ImportedValue query =
      without_factor(c, {heads->query, c.value(0).qparams}, *scale);
  const ImportedValue key =
      without_factor(c, {heads->key, c.value(1).qparams}, *scale);
  // The factor is a float32, often squared.
  const double rest =
      static_cast<double>(*scale) * std::sqrt(static_cast<double>(q[3]));
  const bool rescaled = std::abs(rest - 1) > 1e-6;
  if (rescaled && query.qparams != nullptr) return c.convert_parts();
  constexpr std::array<int64_t, 4> kKeys{0, 1, 3, 2};
  const auto operand = [&](const View& view, const ImportedValue& value) {
    return Operand{materialize(tokens_of(c, view), file_order(3), c.namer()),
                   value.qparams};
  };
  Operand queries = operand(query.view, query);
  if (rescaled) {
    queries.tensor = c.add(Rescaling({.scale = {static_cast<float>(rest)}}),
                           {queries}, {}, "/scale");
  }
  const SymbolicTensor y =
      c.add(ScaledDotProductAttention(
                {.num_heads = q[1], .causal = c.has_attribute("masked_keys")}),
            {queries, operand(transposed(key.view, kKeys), key),
             operand(heads->value, c.value(2))});
  const View tokens = view_of(y, file_order(3));
  View result = transposed(*reshaped(tokens, {kBatch, q[2], q[1], v[3]}),
                           kHeadsBehindTokens);
  if (c.view(2).rank() == 3) result = merge_axes(result, 0, 2);
  c.set_output(std::move(result));
}

// A lowering has replaced the supported cases by products.
void convert_attention(Conversion& c) {
  c.refuse(
      "Attention is supported for opset 23, queries, keys and values "
      "[n,heads,t,d] or, with q_num_heads, [n,t,features], a number of query "
      "heads divisible by that of key heads, one output, no past keys and no "
      "soft cap; a mask must be bool or float32, without is_causal, and leave "
      "each query a key");
}

}  // namespace octet::io::importing
