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
View with_heads(const Conversion& c, const View& view) {
  View heads = split_batch_axis(view);
  if (heads.rank() == 3) {
    heads.axes.insert(heads.axes.begin() + 1, std::vector<size_t>());
  }
  if (heads.rank() != 4 || !heads.samples_lead()) {
    c.refuse(fmt::format("matrices must be [N,t,d] or [N,heads,t,d], got {}",
                         text_of(view)));
  }
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

/// Whether the product's only consumers are scalings by numbers, a Softmax over
/// the keys and the product with the values.
bool is_of_attention(const Conversion& c) {
  const int rank = c.view(0).rank();
  const View query = split_batch_axis(c.view(0));
  if (query.rank() > 4 || !query.samples_lead()) return false;
  std::string value = c.output();
  bool weights = false;
  for (;;) {
    const auto consumers = c.graph().consumers(value);
    if (c.graph().uses(value) != 1 || consumers.size() != 1) return false;
    const ImportNode& node = *consumers[0];
    const auto& inputs = node.proto.input();
    if (weights) return is_op(node, "MatMul") && inputs[0] == value;
    if (is_op(node, "Softmax")) {
      const int64_t axis =
          integer_of(node.proto, "axis", c.opset() < 13 ? 1 : -1);
      if (axis != -1 && axis != rank - 1) return false;
      weights = true;
    } else if (inputs.size() == 2 &&
               (is_op(node, "Mul") ||
                (is_op(node, "Div") && inputs[0] == value))) {
      // A factor that is not computed yet is assumed to be a number.
      const Constant* factor =
          c.graph().constant(inputs[inputs[0] == value ? 1 : 0]);
      if (factor != nullptr && factor->value.size() != 1) return false;
    } else {
      return false;
    }
    value = node.proto.output(0);
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

// Scores are [N,heads,t,s] for queries [N,heads,t,d] and keys [N,heads,d,s].
void convert_product(Conversion& c) {
  if (Scores* scores = c.scores(0)) {
    if (!scores->weights) {
      c.refuse("attention needs a Softmax between its two products");
    }
    const ImportedValue& given = c.value(1);
    const View values = with_heads(c, given.view);
    const Sizes q = sizes_of(scores->query.view);
    const Sizes k = sizes_of(scores->key.view);
    const Sizes v = sizes_of(values);
    if (given.view.rank() != scores->rank || q[1] != v[1] || k[3] != v[2]) {
      c.refuse(fmt::format("values must have {} heads and {} tokens, got {}",
                           q[1], k[3], text_of(values)));
    }
    float scale = scores->scale;
    const ImportedValue query = without_factor(c, scores->query, scale);
    const ImportedValue key = without_factor(c, scores->key, scale);
    constexpr std::array<int64_t, 4> kKeys{0, 1, 3, 2};
    const auto operand = [&](const View& heads, const ImportedValue& value) {
      return Operand{materialize(tokens_of(c, heads), file_order(3), c.namer()),
                     value.qparams};
    };
    Operand queries = operand(query.view, query);
    const double rest =
        static_cast<double>(scale) * std::sqrt(static_cast<double>(q[3]));
    // The factor is a float32, often squared.
    if (std::abs(rest - 1) > 1e-6) {
      if (queries.qparams != nullptr) {
        c.refuse(fmt::format(
            "quantized queries must be scaled by 1/sqrt({}), got {}", q[3],
            scale));
      }
      queries.tensor = c.add(Rescaling({.scale = {static_cast<float>(rest)}}),
                             {queries}, {}, "/scale");
    }
    const SymbolicTensor y =
        c.add(ScaledDotProductAttention({.num_heads = q[1]}),
              {queries, operand(transposed(key.view, kKeys), key),
               operand(values, given)});
    const View tokens = view_of(y, file_order(3));
    View heads = transposed(*reshaped(tokens, {kBatch, q[2], q[1], v[3]}),
                            kHeadsBehindTokens);
    if (given.view.rank() == 3) heads = merge_axes(heads, 0, 2);
    return c.set_output(std::move(heads));
  }
  if (!is_of_attention(c)) {
    const ImportedValue a = c.value(0);
    const ImportedValue b = c.value(1);
    return c.set_output(product_of(c, a, b));
  }
  Scores scores{.query = c.value(0), .key = c.value(1)};
  scores.rank = scores.query.view.rank();
  const bool matrices = scores.query.view.rank() == scores.key.view.rank();
  scores.query.view = with_heads(c, scores.query.view);
  scores.key.view = with_heads(c, scores.key.view);
  const Sizes q = sizes_of(scores.query.view);
  const Sizes k = sizes_of(scores.key.view);
  if (!matrices || q[1] != k[1] || q[3] != k[2]) {
    c.refuse(fmt::format("shapes of the matrices do not fit: {} and {}",
                         text_of(c.view(0)), text_of(c.view(1))));
  }
  c.defer(std::move(scores));
}

// expand_attention() has replaced the supported cases by products.
void convert_attention(Conversion& c) {
  c.refuse(
      "Attention is supported for opset 23, queries, keys and values "
      "[n,heads,t,d] or, with q_num_heads, [n,t,features], a number of query "
      "heads divisible by that of key heads, one output, no past keys and no "
      "soft cap; a mask must be bool or float32, without is_causal, and leave "
      "each query a key");
}

bool convert_attention_weights(Conversion& c) {
  const Scores* scores = c.scores(0);
  if (scores == nullptr) return false;
  const int axis =
      c.axis_of(c.integer("axis", c.opset() < 13 ? 1 : -1), scores->rank);
  if (scores->weights || axis != scores->rank - 1) {
    c.refuse(
        "attention needs one Softmax, over the keys, between its two "
        "products");
  }
  Scores weights = *scores;
  weights.weights = true;
  c.defer(std::move(weights));
  return true;
}

bool convert_attention_scale(Conversion& c, int input, float factor) {
  const Scores* scores = c.scores(input);
  if (scores == nullptr) return false;
  if (scores->weights) {
    c.refuse("attention must be scaled before its Softmax");
  }
  Scores scaled = *scores;
  scaled.scale *= factor;
  c.defer(std::move(scaled));
  return true;
}

}  // namespace octet::io::importing
