// Products of two values, and attention, which recompose() finds.
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/attention.h>
#include <octet/layers/merging.h>
#include <octet/layers/preprocessing.h>
#include <octet/runtime/error.h>

#include "converters.h"
#include "join.h"

namespace octet::io::importing {
namespace {

constexpr std::array<int, 4> kHeadsBehindTokens{0, 2, 1, 3};

/// [N,heads,t,d] as tokens [N,t,heads*d].
ImportedValue tokens_of(const Conversion& c, const ImportedValue& heads) {
  const Dims dims = heads.dims();
  const auto tokens =
      heads.layout.transposed(kHeadsBehindTokens)
          .reshaped(Dims{kBatch, dims[2], {dims[1].factor * dims[3].factor}});
  if (!tokens) {
    c.refuse(fmt::format("heads must be [N,heads,t,d], got {}", heads.text()));
  }
  return heads.with(*tokens);
}

/// [N,heads,...]; adds an axis for a single head, and splits [N*heads,...].
/// Returns nothing for values of another form.
std::optional<ImportedValue> with_heads(const ImportedValue& x) {
  if (!x.layout.batch_axis()) return std::nullopt;
  ImportedValue heads = LayerAxes(x).value;
  if (heads.rank() == 3) {
    heads.layout = with_axes(heads.layout, std::array<int64_t, 1>{1});
  }
  if (heads.rank() != 4 || !heads.samples_lead()) return std::nullopt;
  return heads;
}

/// Skips Rescaling layers by a single number, unless their input or output is
/// quantized, and multiplies `scale` by their factors.
ImportedValue without_factor(const Conversion& c, ImportedValue value,
                             float& scale) {
  for (;;) {
    const GraphNode& node = *value.tensor.node;
    if (node.layer->class_name() != "Rescaling" || value.qparams != nullptr ||
        c.has_quantized_input(*node.layer)) {
      return value;
    }
    const Config config = node.layer->config();
    const Config& factor = config.at("scale");
    if (!factor.is_number() || config.at("offset") != Config(0.0f)) {
      return value;
    }
    scale *= static_cast<float>(factor.as_number());
    value.tensor = node.inputs[0];
  }
}

}  // namespace

ImportedValue product_of(Conversion& c, const ImportedValue& a,
                         const ImportedValue& b) {
  const int rank = a.rank();
  // A product does not combine samples.
  if (rank < 2 || b.rank() != rank || !same_batch_position(a, b) ||
      a.has_batch(rank - 1) || a.has_batch(rank - 2)) {
    c.refuse(
        fmt::format("matrices must be [N,...] of the same rank, with the batch "
                    "at the same axis, got {} and {}",
                    a.text(), b.text()));
  }
  const LayerAxes x(a, rank - 1);
  LayerAxes y(b, rank - 1);
  std::vector<int> columns = y.order;
  std::swap(columns.end()[-1], columns.end()[-2]);
  const bool by_columns = has_layout(y.value, columns);
  if (by_columns) y.order = columns;
  const Operand left = c.operand(x);
  return x.back(
      c.add(Matmul({.transpose_b = by_columns}), {left, c.operand(y)}));
}

namespace {

/// Operands as [N,heads,t,d], [N,heads,d,s] and [N,heads,s,e]. Returns nothing
/// unless they are matrices of the same heads.
std::optional<std::array<ImportedValue, 3>> heads_of(const Conversion& c) {
  const int rank = c.value(0).rank();
  const int64_t axis = c.integer("axis", -1);
  if (axis != -1 && axis != rank - 1) return std::nullopt;
  std::array<ImportedValue, 3> values;
  for (int i = 0; i < 3; ++i) {
    if (c.value(i).rank() != rank) return std::nullopt;
    auto heads = with_heads(c.value(i));
    if (!heads) return std::nullopt;
    values[static_cast<size_t>(i)] = *std::move(heads);
  }
  const Dims q = values[0].dims(), k = values[1].dims(), v = values[2].dims();
  if (q[1] != k[1] || q[1] != v[1] || q[3] != k[2] || k[3] != v[2] ||
      c.integer("masked_queries", q[2].factor) != q[2].factor ||
      c.integer("masked_keys", k[3].factor) != k[3].factor) {
    return std::nullopt;
  }
  return values;
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
  const auto& [queries, keys, values] = *heads;
  const Dims q = queries.dims();
  const ImportedValue query = without_factor(c, queries, *scale);
  ImportedValue key = without_factor(c, keys, *scale);
  key.layout = key.layout.transposed(std::array{0, 1, 3, 2});
  // The factor is a float32, often squared.
  const double rest =
      static_cast<double>(*scale) * std::sqrt(static_cast<double>(q[3].factor));
  const bool rescaled = std::abs(rest - 1) > 1e-6;
  if (rescaled && query.qparams != nullptr) return c.convert_parts();
  const auto operand = [&](const ImportedValue& x) {
    return Operand{materialize(tokens_of(c, x), file_order(3), c.namer()),
                   x.qparams};
  };
  Operand tokens = operand(query);
  if (rescaled) {
    tokens.tensor = c.add(Rescaling({.scale = {static_cast<float>(rest)}}),
                          {tokens}, {}, "/scale");
  }
  const Operand key_tokens = operand(key);
  const ImportedValue y = value_of(
      c.add(
          ScaledDotProductAttention({.num_heads = q[1].factor,
                                     .causal = c.has_attribute("masked_keys")}),
          {tokens, key_tokens, operand(values)}),
      file_order(3));
  AxisLayout layout =
      y.layout.reshaped(Dims{kBatch, q[2], q[1], values.dims()[3]})
          ->transposed(kHeadsBehindTokens);
  const ImportedValue& given = c.value(2);
  if (given.rank() == 3) {
    Dims dims = layout.dims();
    dims[1].batch = true;
    dims.erase(dims.begin());
    layout = *layout.reshaped(dims);
  }
  c.set_output(y.with(std::move(layout)));
}

// A formula has replaced the supported cases by products.
void convert_attention(Conversion& c) {
  c.refuse(
      "Attention is supported for opset 23, queries, keys and values "
      "[n,heads,t,d] or, with q_num_heads, [n,t,features], a number of query "
      "heads divisible by that of key heads, one output, no past keys and no "
      "soft cap; a mask must be bool or float32, without is_causal, and leave "
      "each query a key");
}

}  // namespace octet::io::importing
