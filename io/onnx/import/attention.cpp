#include "attention.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

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
        fmt::format("expected heads [N,heads,t,d], got {}", text_of(heads)));
  }
  return *tokens;
}

/// [N,heads,...] with a single head.
View with_heads(const Conversion& c, const View& view) {
  if (view.rank() == 4 && view.batch == 0) return view;
  if (view.rank() != 3 || view.batch != 0) {
    c.refuse(fmt::format("expected matrices [N,t,d] or [N,heads,t,d], got {}",
                         text_of(view)));
  }
  View heads = view;
  heads.axes.insert(heads.axes.begin() + 1, std::vector<size_t>());
  return heads;
}

/// What a Rescaling by one number reads; its factor goes to `scale`.
Value without_factor(Value value, float& scale) {
  for (;;) {
    const GraphNode& node = *value.view.tensor.node;
    if (node.layer->class_name() != "Rescaling" || value.grid != nullptr) {
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

// Scores are of [N,heads,t,s] for queries [N,heads,t,d] and keys
// [N,heads,d,s].
void convert_product(Conversion& c) {
  if (Scores* scores = c.scores(0)) {
    if (!scores->weights) {
      c.refuse("expected a Softmax between two products, got none");
    }
    const Value& given = c.value(1);
    const View values = with_heads(c, given.view);
    const Sizes q = sizes_of(scores->query.view);
    const Sizes k = sizes_of(scores->key.view);
    const Sizes v = sizes_of(values);
    if (q[1] != v[1] || k[3] != v[2]) {
      c.refuse(fmt::format("expected values for {} heads and {} tokens, got {}",
                           q[1], k[3], text_of(values)));
    }
    float scale = scores->scale;
    const Value query = without_factor(scores->query, scale);
    const Value key = without_factor(scores->key, scale);
    constexpr std::array<int64_t, 4> kKeys{0, 1, 3, 2};
    const auto operand = [&](const View& heads, const Value& value) {
      return Operand{arranged(tokens_of(c, heads), file_order(3), c.namer()),
                     value.grid};
    };
    Operand queries = operand(query.view, query);
    const double rest =
        static_cast<double>(scale) * std::sqrt(static_cast<double>(q[3]));
    // The factor is a float, often the square of one.
    if (std::abs(rest - 1) > 1e-6) {
      if (queries.grid != nullptr) {
        c.refuse(fmt::format(
            "expected quantized queries scaled by 1/sqrt({}), got {}", q[3],
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
    if (given.view.rank() == 3) heads.axes.erase(heads.axes.begin() + 1);
    return c.give(std::move(heads));
  }
  Scores scores{.query = c.value(0), .key = c.value(1)};
  scores.rank = scores.query.view.rank();
  const bool matrices = scores.query.view.rank() == scores.key.view.rank();
  scores.query.view = with_heads(c, scores.query.view);
  scores.key.view = with_heads(c, scores.key.view);
  const Sizes q = sizes_of(scores.query.view);
  const Sizes k = sizes_of(scores.key.view);
  if (!matrices || q[1] != k[1] || q[3] != k[2]) {
    c.refuse(fmt::format("expected matrices that fit, got {} and {}",
                         text_of(c.view(0)), text_of(c.view(1))));
  }
  c.wait(std::move(scores));
}

bool convert_attention_weights(Conversion& c) {
  const Scores* scores = c.scores(0);
  if (scores == nullptr) return false;
  const int axis =
      c.axis_of(c.integer("axis", c.opset() < 13 ? 1 : -1), scores->rank);
  if (scores->weights || axis != scores->rank - 1) {
    c.refuse("expected one Softmax, over the keys, between two products");
  }
  Scores weights = *scores;
  weights.weights = true;
  c.wait(std::move(weights));
  return true;
}

bool convert_attention_scale(Conversion& c, float factor) {
  const Scores* scores = c.scores(0);
  if (scores == nullptr) return false;
  if (scores->weights) {
    c.refuse("expected attention that is scaled before its Softmax");
  }
  Scores scaled = *scores;
  scaled.scale *= factor;
  c.wait(std::move(scaled));
  return true;
}

}  // namespace octet::io::importing
