// Propagation of masks, as in Keras.
// Sources: compute_mask and supports_masking in keras/src/layers of Keras 3.
#include <algorithm>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/merging.h>
#include <octet/layers/ops.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/error.h>

namespace octet {
namespace {

/// Mask of a layer's output.
enum class MaskRule {
  drop,       // the output has no mask
  pass,       // the mask of the first input
  merge,      // steps that count in an input, if all inputs have masks
  same,       // the mask that all inputs have, else none
  features,   // GetItem: as `pass` if it selects all samples and steps
  create,     // a mask of the layer
  sequence,   // recurrent: consumes the mask; as `pass` if it returns sequences
  average,    // consumes the mask; the output has none
  attention,  // consumes the masks of query, key and value; the query's mask
};

struct ClassRule {
  std::string_view class_name;
  MaskRule rule;
};

constexpr ClassRule kRules[] = {
    {"Activation", MaskRule::pass},
    {"ActivityRegularization", MaskRule::pass},
    {"Add", MaskRule::merge},
    {"AlphaDropout", MaskRule::pass},
    {"Average", MaskRule::merge},
    {"BatchNormalization", MaskRule::pass},
    {"ClipByValue", MaskRule::pass},
    {"Concatenate", MaskRule::same},
    {"Dense", MaskRule::pass},
    {"Dropout", MaskRule::pass},
    {"ELU", MaskRule::pass},
    {"Embedding", MaskRule::create},
    {"GRU", MaskRule::sequence},
    {"GetItem", MaskRule::features},
    {"GaussianDropout", MaskRule::pass},
    {"GaussianNoise", MaskRule::pass},
    {"GlobalAveragePooling1D", MaskRule::average},
    {"GroupNormalization", MaskRule::pass},
    {"LSTM", MaskRule::sequence},
    {"LayerNormalization", MaskRule::pass},
    {"LayerScale", MaskRule::pass},
    {"LeakyReLU", MaskRule::pass},
    {"Masking", MaskRule::create},
    {"Maximum", MaskRule::merge},
    {"Minimum", MaskRule::merge},
    {"Multiply", MaskRule::merge},
    {"Normalization", MaskRule::pass},
    {"PReLU", MaskRule::pass},
    {"PositionEmbedding", MaskRule::pass},
    {"Power", MaskRule::pass},
    {"RMSNormalization", MaskRule::pass},
    {"ReLU", MaskRule::pass},
    {"Rescaling", MaskRule::pass},
    {"ScaledDotProductAttention", MaskRule::attention},
    {"SimpleRNN", MaskRule::sequence},
    {"SpatialDropout1D", MaskRule::pass},
    {"Subtract", MaskRule::merge},
    {"Unary", MaskRule::pass},
    {"UnitNormalization", MaskRule::pass},
};

MaskRule rule_of(const Layer& layer) {
  const std::string name = layer.class_name();
  const auto* const found =
      std::ranges::find(kRules, name, &ClassRule::class_name);
  return found == std::end(kRules) ? MaskRule::drop : found->rule;
}

bool is_set(const Layer& layer, const char* option) {
  const Config config = layer.config();
  const Config* value = config.find(option);
  return value != nullptr && *value == Config(true);
}

/// Whether a GetItem selects features of all samples and steps.
bool selects_features(const GraphNode& node) {
  const Config config = node.layer->config();
  const Config::List& indices = config.at("index").as_list();
  const auto is_whole = [](const Config& index) {
    const Config* options = index.is_object() ? index.find("config") : nullptr;
    return options != nullptr && options->find("step") != nullptr &&
           options->at("start").is_null() && options->at("stop").is_null() &&
           options->at("step").is_null();
  };
  return indices.size() > 2 && is_whole(indices[0]) && is_whole(indices[1]);
}

/// Returns the number of inputs other than the mask.
size_t operands_of(const Layer& layer, MaskRule rule) {
  if (rule == MaskRule::attention) return 3;
  if (rule != MaskRule::sequence || !is_set(layer, "initial_state")) return 1;
  return layer.class_name() == "LSTM" ? 3 : 2;
}

/// Creates the mask of a layer; empty if it has none.
SymbolicTensor created_mask(const GraphNode& node) {
  const SymbolicTensor& x = node.inputs[0];
  if (node.layer->class_name() == "Embedding") {
    if (!is_set(*node.layer, "mask_zero")) return {};
    return not_equal(x, 0);
  }
  const double value = node.layer->config().at("mask_value").as_number();
  const SymbolicTensor counts =
      max(not_equal(x, static_cast<float>(value)), {x.shape().rank() - 1});
  if (counts.shape().rank() != 2) return {};
  return counts;
}

/// Returns the mask that a layer creates. Its consumers share the nodes.
SymbolicTensor shared_mask(const GraphNode& node) {
  static std::mutex mutex;
  {
    const std::lock_guard lock(mutex);
    if (auto known = node.mask.lock()) return {std::move(known)};
  }
  const SymbolicTensor created = created_mask(node);
  const std::lock_guard lock(mutex);
  node.mask = created.node;
  return created;
}

/// Masks of nodes in a search.
using Masks = std::unordered_map<const GraphNode*, SymbolicTensor>;

SymbolicTensor find_mask(const SymbolicTensor& x, Masks& known);

SymbolicTensor merged_mask(const GraphNode& node, Masks& known) {
  std::vector<SymbolicTensor> masks;
  for (const SymbolicTensor& x : node.inputs) {
    SymbolicTensor mask = find_mask(x, known);
    if (mask.node == nullptr) return {};
    const auto same = [&](const SymbolicTensor& other) {
      return other.node == mask.node;
    };
    if (std::ranges::none_of(masks, same)) masks.push_back(std::move(mask));
  }
  if (masks.size() == 1) return masks[0];
  if (rule_of(*node.layer) == MaskRule::same) return {};
  return Maximum()(std::move(masks));
}

SymbolicTensor find_mask(const SymbolicTensor& x, Masks& known) {
  const GraphNode* node = x.node.get();
  while (node != nullptr && !node->inputs.empty()) {
    const MaskRule rule = rule_of(*node->layer);
    switch (rule) {
      case MaskRule::drop:
      case MaskRule::average:
        return {};
      case MaskRule::create:
        return shared_mask(*node);
      case MaskRule::merge:
      case MaskRule::same: {
        const auto found = known.find(node);
        if (found != known.end()) return found->second;
        SymbolicTensor mask = merged_mask(*node, known);
        known.emplace(node, mask);
        return mask;
      }
      case MaskRule::sequence:
        if (!is_set(*node->layer, "return_sequences") ||
            node->inputs.size() <= operands_of(*node->layer, rule)) {
          return {};
        }
        return node->inputs.back();
      case MaskRule::features:
        if (!selects_features(*node)) return {};
        node = node->inputs[0].node.get();
        break;
      case MaskRule::pass:
      case MaskRule::attention:
        node = node->inputs[0].node.get();
    }
  }
  return {};
}

/// Returns the mask of the scores: the product of the masks of queries, keys
/// and values, as far as they exist.
SymbolicTensor attention_mask(const std::vector<SymbolicTensor>& inputs) {
  Masks known;
  const SymbolicTensor query = find_mask(inputs[0], known);
  SymbolicTensor key = find_mask(inputs[1], known);
  const SymbolicTensor value = find_mask(inputs[2], known);
  if (key.node == nullptr) key = value;
  if (value.node != nullptr && value.node != key.node) {
    key = Multiply()({key, value});
  }
  if (query.node == nullptr) return key;
  const int64_t queries = inputs[0].shape()[1];
  const SymbolicTensor rows = reshape(query, {-1, queries, 1});
  if (key.node == nullptr) {
    const int64_t keys = inputs[1].shape()[1];
    return repeat(rows, keys, 2);
  }
  return Multiply()({rows, reshape(key, {-1, 1, inputs[1].shape()[1]})});
}

}  // namespace

SymbolicTensor mask_of(const SymbolicTensor& x) {
  Masks known;
  return find_mask(x, known);
}

SymbolicTensor call_masked(const std::shared_ptr<Layer>& layer,
                           std::vector<SymbolicTensor> inputs) {
  if (layer == nullptr || inputs.empty() || inputs[0].node == nullptr) {
    return call(layer, std::move(inputs));
  }
  const MaskRule rule = rule_of(*layer);
  SymbolicTensor mask;
  switch (rule) {
    case MaskRule::sequence:
    case MaskRule::average:
    case MaskRule::attention:
      if (inputs.size() != operands_of(*layer, rule)) break;
      mask = rule == MaskRule::attention ? attention_mask(inputs)
                                         : mask_of(inputs[0]);
      if (mask.node != nullptr) inputs.push_back(std::move(mask));
      break;
    case MaskRule::drop:
      mask = mask_of(inputs[0]);
      if (mask.node != nullptr && mask.node != inputs[0].node) {
        warn("mask_ignored", layer->describe(),
             "the layer does not support masks, so its output has none");
      }
      break;
    default:
      break;
  }
  return call(layer, std::move(inputs));
}

}  // namespace octet
