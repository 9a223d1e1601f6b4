#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/model.h>
#include <octet/quant/detail/counterpart.h>
#include <octet/quant/post_training.h>
#include <octet/quant/wrapper.h>

#include "folding/folded_weights.h"
#include "graph/graph_index.h"

namespace octet::quant {
namespace {

// Returns the quantizer at a site of a layer, or null.
const PlacedQuantizer* quantizer_at(const Layer& layer, const QdqSite& site) {
  const BaseQuantizeWrapper* wrapper = as_wrapper(layer);
  return wrapper == nullptr ? nullptr : wrapper->find(site);
}

bool quantizes_what_it_reads(const Layer& layer) {
  const BaseQuantizeWrapper* wrapper = as_wrapper(layer);
  if (wrapper == nullptr) return false;
  return !wrapper->weights().empty() ||
         (!wrapper->activations().empty() &&
          wrapper->activations().front().site.kind == SiteKind::input);
}

// Includes training: a Dropout would act on values before, not after, the
// normalization.
bool hands_on(const GraphNode& node) {
  return node.inputs.size() == 1 && node.facts().identity == Identity::always;
}

bool is_batch_norm(const Layer& layer) {
  return float_layer(layer).class_name() == "BatchNormalization";
}

// The folded form of a layer.
struct Fold {
  const Layer* layer = nullptr;  // the wrapper, if any
  FoldedLayer folded;
  const PlacedQuantizer* output = nullptr;  // of the last normalization
};

std::shared_ptr<Layer> wrapped(const Fold& fold, std::shared_ptr<Layer> inner,
                               CloneContext& context) {
  const BaseQuantizeWrapper* old = as_wrapper(*fold.layer);
  if (old == nullptr && fold.output == nullptr) return inner;
  const std::string name =
      old != nullptr ? old->name() : quantized_name(inner->name());
  const auto wrapper = make_wrapper(std::move(inner));
  wrapper->set_name(name);
  const auto attach_copy = [&](const PlacedQuantizer& placed) {
    PlacedQuantizer copied = placed;
    copied.quantizer = context.shared(
        *placed.quantizer, [&] { return placed.quantizer->clone(); });
    wrapper->attach(std::move(copied));
  };
  if (old != nullptr) {
    const QdqSite kernel =
        QdqSite::weight(std::string(old->inner().facts().folded.parameter));
    for (const PlacedQuantizer& placed : old->quantizers()) {
      if (placed.site == kernel) {
        wrapper->attach({.site = QdqSite::weight(fold.folded.kernel),
                         .quantizer = fold.folded.quantizer,
                         .rule = placed.rule,
                         .reason = placed.reason});
      } else {
        attach_copy(placed);
      }
    }
  }
  if (fold.output != nullptr) attach_copy(*fold.output);
  return wrapper;
}

class Folding {
 public:
  // Uses the training graph: a Dropout between a layer and its normalization
  // would act on other values after folding.
  explicit Folding(const Model& model)
      : model_(model), graph_(model, GraphMode::training) {
    for (const auto& layer : model.layers()) {
      for (const Parameter& p : layer->parameters()) {
        owners_[p.variable.id()].push_back(layer.get());
      }
    }
    for (const auto& node : model.nodes()) {
      if (!is_batch_norm(*node->layer)) continue;
      const Trace trace = trace_back(*node);
      if (trace.linear == nullptr) {
        reasons_[node.get()] = trace.reason;
      } else {
        chains_[trace.linear].push_back(node.get());
        in_chain_.insert(node.get());
      }
    }
    for (const auto& layer : model.layers()) decide(*layer);
  }

  std::vector<BatchNormFold> report() const {
    std::vector<BatchNormFold> result;
    for (const auto& node : model_.nodes()) {
      if (!is_batch_norm(*node->layer)) continue;
      const auto fold = folded_into_.find(node.get());
      if (fold == folded_into_.end()) {
        result.push_back({node->layer->name(), "", reasons_.at(node.get())});
      } else {
        result.push_back({node->layer->name(), fold->second->layer->name(),
                          fold->second->folded.note});
      }
    }
    return result;
  }

  Model apply() const {
    std::map<const Layer*, std::shared_ptr<Layer>> made;
    const auto rewrite =
        [&](const GraphNode& node,
            Rebuild& rebuild) -> std::optional<SymbolicTensor> {
      if (folded_into_.contains(&node)) return rebuild.at(node.inputs[0]);
      const auto found = folds_.find(node.layer.get());
      if (found == folds_.end()) return std::nullopt;
      const Fold& fold = found->second;
      std::shared_ptr<Layer>& layer = made[fold.layer];
      std::shared_ptr<Layer> inner;
      if (layer == nullptr) {
        inner = create_layer(fold.folded.class_name, fold.folded.config);
        inner->set_name(float_layer(*fold.layer).name());
        layer = wrapped(fold, inner, rebuild.context());
      }
      const SymbolicTensor y = call(layer, {rebuild.at(node.inputs[0])});
      if (inner != nullptr) {
        inner->set_parameters(fold.folded.parameters);
        inner->set_trainable(fold.layer->trainable());
      }
      return y;
    };
    std::optional<Model> result = model_.rebuild(rewrite);
    return result ? std::move(*result) : model_.clone();
  }

 private:
  struct Trace {
    const GraphNode* linear = nullptr;  // the normalized call
    std::string reason = {};            // set if there is none
  };

  Trace trace_back(const GraphNode& batch_norm) const {
    const auto refused = [](std::string reason) {
      return Trace{nullptr, std::move(reason)};
    };
    if (quantizes_what_it_reads(*batch_norm.layer)) {
      return refused("its input is quantized");
    }
    const GraphNode* from = &batch_norm;
    do {
      from = from->inputs[0].node.get();
      if (graph_.uses(*from) > 1) {
        return refused(fmt::format("the output of '{}' is used {} times",
                                   from->layer->name(), graph_.uses(*from)));
      }
      if (quantizer_at(*from->layer, QdqSite::output()) != nullptr) {
        return refused(fmt::format("the output of '{}' is quantized",
                                   from->layer->name()));
      }
    } while (hands_on(*from) || in_chain_.contains(from));
    std::string reason = why_not_into(*from->layer);
    if (!reason.empty()) return refused(std::move(reason));
    return {from, {}};
  }

  std::string why_not_into(const Layer& layer) const {
    if (layer.facts().folded.parameter.empty()) {
      return fmt::format("its input '{}' is of class {}{}", layer.name(),
                         float_layer(layer).class_name(),
                         layer.facts().role == LayerRole::identity
                             ? ", which changes values in training"
                             : "");
    }
    const std::string activation = layer.facts().activation;
    if (activation != "linear") {
      return fmt::format("'{}' has an activation{}{}", layer.name(),
                         activation.empty() ? "" : ", ", activation);
    }
    if (quantizer_at(layer, QdqSite::weight("bias")) != nullptr) {
      return fmt::format("the bias of '{}' is quantized", layer.name());
    }
    for (const Parameter& own : layer.parameters()) {
      for (const Layer* other : owners_.at(own.variable.id())) {
        if (other == &layer) continue;
        return fmt::format("'{}' shares '{}' with '{}'", layer.name(), own.name,
                           other->name());
      }
    }
    return {};
  }

  // Folds the normalizations common to all calls of the layer.
  void decide(const Layer& layer) {
    std::vector<std::span<const GraphNode* const>> chains;
    const auto calls = graph_.calls(layer);
    for (const GraphNode* node : calls) {
      const auto chain = chains_.find(node);
      if (chain != chains_.end()) chains.emplace_back(chain->second);
    }
    if (chains.empty()) return;
    size_t common = 0;
    if (chains.size() == calls.size()) common = chains[0].size();
    for (const auto chain : chains) {
      common = std::min(common, chain.size());
      for (size_t i = 0; i < common; ++i) {
        if (chain[i]->layer != chains[0][i]->layer) common = i;
      }
    }
    const auto refuse = [&](size_t first, const std::string& reason) {
      for (const auto chain : chains) {
        for (const GraphNode* node : chain.subspan(first)) {
          reasons_[node] = reason;
        }
      }
    };
    refuse(common,
           fmt::format("'{}' is called {} times, not always followed by it",
                       layer.name(), calls.size()));
    if (common == 0) return;

    ChannelAffine affine = affine_of(float_layer(*chains[0][0]->layer));
    for (const GraphNode* node : chains[0].subspan(1, common - 1)) {
      affine = in_sequence(affine, affine_of(float_layer(*node->layer)));
    }
    const Layer& inner = float_layer(layer);
    const PlacedQuantizer* weight = quantizer_at(
        layer, QdqSite::weight(std::string(layer.facts().folded.parameter)));
    FoldedLayer folded = fold_into(
        inner, weight != nullptr ? weight->quantizer.get() : nullptr, affine);
    if (!folded.problem.empty()) {
      refuse(0, folded.problem);
      return;
    }
    const Fold& fold =
        folds_
            .emplace(&layer, Fold{&layer, std::move(folded),
                                  quantizer_at(*chains[0][common - 1]->layer,
                                               QdqSite::output())})
            .first->second;
    for (const auto chain : chains) {
      for (const GraphNode* node : chain.first(common)) {
        folded_into_[node] = &fold;
      }
    }
  }

  const Model& model_;
  const GraphIndex graph_;
  std::map<uint64_t, std::vector<const Layer*>>
      owners_;  // layers by parameter id
  std::map<const GraphNode*, std::vector<const GraphNode*>> chains_;
  std::set<const GraphNode*> in_chain_;
  std::map<const GraphNode*, std::string> reasons_;
  std::map<const Layer*, Fold> folds_;
  std::map<const GraphNode*, const Fold*> folded_into_;
};

}  // namespace

std::string to_string(std::span<const BatchNormFold> folds) {
  std::string text;
  for (const BatchNormFold& fold : folds) {
    text += fold.into.empty()
                ? fmt::format("{} stays: {}\n", fold.batch_norm, fold.reason)
                : fmt::format("{} -> {}{}\n", fold.batch_norm, fold.into,
                              fold.reason.empty() ? "" : "; " + fold.reason);
  }
  return text;
}

std::vector<BatchNormFold> batch_norm_folds(const Model& model) {
  return Folding(model).report();
}

Model fold_batch_norm(const Model& model) { return Folding(model).apply(); }

}  // namespace octet::quant
