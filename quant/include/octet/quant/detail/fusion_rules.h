// TensorRT's fusion rules for any graph of layers: a Model before Q/DQ
// placement, or an ONNX graph that lint checks. Placement policies, patterns,
// lint, its forecast and drawings share them.
//
// Source: TensorRT's guide, "Working with quantized types", Q/DQ placement and
// fusion; ModelOpt 0.47, onnx/quantization (narrow and tiny layers).
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include <octet/layers/layer.h>

namespace octet::quant {

/// Role of an operator in fusion. Operators on constants are `other`.
enum class FusionKind {
  other,
  linear,         ///< convolution or matrix product
  bias,           ///< adds a constant
  normalization,  ///< affine per channel in inference
  activation,     ///< elementwise function that a kernel's epilogue applies
  function,       ///< an activation that is float unless fused: Tanh
  gate,      ///< sigmoid or hard sigmoid, a function that may gate a Multiply
  movement,  ///< moves or selects values: Transpose, MaxPool, Pad with zeros
  average_pool,
  concatenation,
  add,
  multiply,
  merge,    ///< another elementwise function of several tensors
  floating  ///< never INT8: softmax, layer normalization, attention
};

/// Graph of nodes whose first output is a value. Only inputs that depend on the
/// graph's inputs count. producer() is null for graph inputs; uses() counts
/// consumers and graph outputs.
template <class G>
concept FusionGraph = requires(const G& graph, const typename G::Node& node,
                               size_t index, const typename G::Value& value) {
  requires std::equality_comparable<typename G::Value>;
  { *graph.nodes().begin() } -> std::convertible_to<const typename G::Node*>;
  { graph.kind(node) } -> std::same_as<FusionKind>;
  // Function built into a layer; `other` if none.
  { graph.epilogue(node) } -> std::same_as<FusionKind>;
  { graph.input_count(node) } -> std::convertible_to<size_t>;
  { graph.input(node, index) } -> std::convertible_to<typename G::Value>;
  { graph.producer(value) } -> std::same_as<const typename G::Node*>;
  { graph.uses(node) } -> std::convertible_to<int64_t>;
  // Increases in topological order.
  { graph.position(node) } -> std::convertible_to<uint64_t>;
  // Whether the inputs have different shapes.
  { graph.broadcasts(node) } -> std::same_as<bool>;
};

constexpr bool is_never_int8(FusionKind kind) {
  return kind == FusionKind::floating;
}

/// Whether the node is float unless it is fused with a linear layer.
constexpr bool is_function(FusionKind kind) {
  return kind == FusionKind::function || kind == FusionKind::gate;
}

/// Whether a kernel's epilogue can apply the node.
constexpr bool is_activation(FusionKind kind) {
  return kind == FusionKind::activation || is_function(kind);
}

/// Whether the node is elementwise in inference.
constexpr bool is_elementwise(FusionKind kind) {
  return kind == FusionKind::normalization || is_activation(kind);
}

/// Whether the node combines several tensors elementwise.
constexpr bool is_merge(FusionKind kind) {
  return kind == FusionKind::add || kind == FusionKind::multiply ||
         kind == FusionKind::merge;
}

/// Whether Q/DQ after the node also serves its input: TensorRT moves Q/DQ
/// through it or fuses it.
constexpr bool commutes_with_quantization(FusionKind kind) {
  return kind == FusionKind::movement || kind == FusionKind::concatenation ||
         is_merge(kind) || is_elementwise(kind);
}

/// Whether a convolution has one filter per channel.
constexpr bool is_depthwise(const ConvolutionShape& c) {
  return c.groups > 1 && c.groups == c.in;
}

/// Rule P24: whether a convolution has too few channels to gain from INT8.
/// `first`: it has no linear predecessor.
constexpr bool is_narrow(const ConvolutionShape& c, bool first) {
  constexpr int64_t kWide = 16;
  if (c.in >= kWide && c.out >= kWide) return false;
  if (c.groups > 1) return c.out % 8 != 0 || c.kernel.h < 3 || c.kernel.w < 3;
  const bool packs = c.in % 8 == 0 || c.out % 8 == 0;
  const bool wide = first || c.in >= kWide || c.out >= kWide;
  return !(packs && wide && c.kernel.h == c.kernel.w);
}

/// Rule P25: whether a product with [in,out] weights is memory-bound.
constexpr bool is_tiny_product(int64_t in, int64_t out) {
  return std::min(in, out) < 16;
}

/// Rule P32: whether a convolution is too small for FP8 kernels.
/// Source: ModelOpt 0.47, modelopt/onnx/quantization/fp8.py.
constexpr bool is_small_for_fp8(const ConvolutionShape& c) {
  return std::min(c.in, c.out) <= 16 || c.kernel.h * c.kernel.w > 32;
}

/// Returns the gate of SiLU, x * sigmoid(x); null for other nodes. `source`
/// maps a value to an equal one, such as the value before its Q/DQ.
template <FusionGraph G, class Source = std::identity>
const typename G::Node* silu_gate(const G& graph, const typename G::Node& node,
                                  const Source& source = {}) {
  if (graph.kind(node) != FusionKind::multiply ||
      graph.input_count(node) != 2) {
    return nullptr;
  }
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const auto* gate = graph.producer(source(graph.input(node, i)));
    if (gate != nullptr && graph.kind(*gate) == FusionKind::gate &&
        source(graph.input(*gate, 0)) == source(graph.input(node, 1 - i))) {
      return gate;
    }
  }
  return nullptr;
}

/// A linear layer followed by normalizations, then activations, SiLU included.
template <class Node>
struct LinearChain {
  const Node* linear = nullptr;  ///< null if there is no chain
  /// Chain node with consumers outside the chain (P08); null if there is none.
  const Node* used_more = nullptr;
  bool has_activation = false;  ///< no normalization may follow

  /// Whether a single kernel can compute the chain and an Add that follows.
  bool fuses() const { return linear != nullptr && used_more == nullptr; }
};

/// Distances from the inputs of a node to their common ancestor (P07).
template <class Node>
struct AncestorPaths {
  const Node* ancestor = nullptr;  ///< null if there is none
  std::vector<int64_t> layers;  ///< longest distance from each input, in layers
  bool complete = true;  ///< false if the search stopped: layers are partial
};

/// Finds the latest node from which all inputs derive. Stops there, or after
/// 8,000 steps.
template <FusionGraph G>
AncestorPaths<typename G::Node> paths_to_ancestor(
    const G& graph, const typename G::Node& node) {
  using Node = typename G::Node;
  struct Reached {
    const Node* node = nullptr;
    std::vector<int64_t> layers;  // distance from each input; -1: unreachable
  };
  const size_t inputs = graph.input_count(node);
  AncestorPaths<Node> paths{.layers = std::vector<int64_t>(inputs, 0)};
  // Bounds the time for all merges of a large graph. Suffices for two branches
  // of thousands of layers.
  constexpr size_t kMostSteps = 8000;
  size_t steps = 0;
  // Latest first, so that all paths to a node are known when it is visited.
  std::map<uint64_t, Reached, std::greater<>> frontier;
  const auto reach = [&](const Node& to) -> std::vector<int64_t>& {
    Reached& reached = frontier[graph.position(to)];
    if (reached.node == nullptr) {
      reached = {&to, std::vector<int64_t>(inputs, -1)};
    }
    return reached.layers;
  };
  for (size_t i = 0; i < inputs; ++i) {
    if (const Node* from = graph.producer(graph.input(node, i))) {
      reach(*from)[i] = 0;
    }
  }
  while (!frontier.empty()) {
    const Reached at = frontier.extract(frontier.begin()).mapped();
    if (std::ranges::find(at.layers, -1) == at.layers.end()) {
      return {at.node, at.layers};
    }
    for (size_t i = 0; i < inputs; ++i) {
      paths.layers[i] = std::max(paths.layers[i], at.layers[i]);
    }
    const size_t sources = graph.input_count(*at.node);
    steps += inputs * sources;
    if (steps > kMostSteps) {
      paths.complete = false;
      break;
    }
    for (size_t s = 0; s < sources; ++s) {
      const Node* from = graph.producer(graph.input(*at.node, s));
      if (from == nullptr) continue;
      std::vector<int64_t>& layers = reach(*from);
      for (size_t i = 0; i < inputs; ++i) {
        if (at.layers[i] >= 0) {
          layers[i] = std::max(layers[i], at.layers[i] + 1);
        }
      }
    }
  }
  return paths;
}

/// Rule P07: returns the candidate with the longest branch, the first if
/// several are equal. REQUIRES: candidates is not empty.
inline size_t longest_branch(const std::vector<size_t>& candidates,
                             const std::vector<int64_t>& layers) {
  return *std::ranges::max_element(candidates, {},
                                   [&](size_t i) { return layers[i]; });
}

/// Chains, kernels and linear neighbors of all nodes, found in a forward and a
/// backward pass. Refers to the nodes of the graph.
template <class Node>
class Fusions {
 public:
  using Chain = LinearChain<Node>;

  template <FusionGraph G>
  explicit Fusions(const G& graph) {
    const std::vector<const Node*> nodes = graph.nodes();
    for (const Node* node : nodes) add(graph, *node);
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      const bool leads = graph.kind(**node) == FusionKind::linear ||
                         facts_.at(*node).before_linear;
      for (const Node* from : producers(graph, **node)) {
        facts_.at(from).before_linear |= leads;
      }
    }
  }

  /// Returns the chain that ends with a node.
  Chain chain(const Node& node) const { return chain_to(&node, 1); }

  /// Returns the linear layer whose kernel computes the node: its chain, an Add
  /// of a residual and the activations after it; null if there is none.
  const Node* kernel(const Node& node) const { return facts_.at(&node).kernel; }

  /// Returns the inputs of an Add that end a chain with which it can fuse.
  const std::vector<size_t>& fusing_inputs(const Node& add) const {
    return facts_.at(&add).fusing_inputs;
  }

  /// Return whether a linear layer precedes or follows, at any distance.
  bool has_linear_predecessor(const Node& node) const {
    return facts_.at(&node).after_linear;
  }
  bool has_linear_successor(const Node& node) const {
    return facts_.at(&node).before_linear;
  }

 private:
  struct Facts {
    Chain chain = {};  // ignores other consumers of the node itself
    const Node* kernel = nullptr;
    std::vector<size_t> fusing_inputs = {};
    int64_t uses = 0;
    bool after_linear = false;
    bool before_linear = false;
  };

  template <class G>
  static std::vector<const Node*> producers(const G& graph, const Node& node) {
    std::vector<const Node*> result;
    for (size_t i = 0; i < graph.input_count(node); ++i) {
      if (const Node* from = graph.producer(graph.input(node, i))) {
        result.push_back(from);
      }
    }
    return result;
  }

  // Returns the chain that ends with a node and may continue with `own` of the
  // node's uses; further uses prevent fusion.
  Chain chain_to(const Node* node, int64_t own) const {
    if (node == nullptr) return {};
    const Facts& facts = facts_.at(node);
    Chain chain = facts.chain;
    if (chain.fuses() && facts.uses > own) chain.used_more = node;
    return chain;
  }

  template <class G>
  void add(const G& graph, const Node& node) {
    Facts facts{.uses = graph.uses(node)};
    for (const Node* from : producers(graph, node)) {
      facts.after_linear |= facts_.at(from).after_linear ||
                            graph.kind(*from) == FusionKind::linear;
    }
    const FusionKind kind = graph.kind(node);
    if (kind == FusionKind::linear) {
      const FusionKind own = graph.epilogue(node);
      facts.kernel = &node;
      if (!is_never_int8(own)) {
        facts.chain = {&node, nullptr, own != FusionKind::other};
      }
    } else if (const Node* gate = silu_gate(graph, node)) {
      extend(graph.producer(graph.input(*gate, 0)), gate, true, facts);
    } else if (kind == FusionKind::bias || is_elementwise(kind)) {
      extend(graph.producer(graph.input(node, 0)), nullptr, is_activation(kind),
             facts);
    } else if (kind == FusionKind::add) {
      add_sum(graph, node, facts);
    }
    facts_.emplace(&node, std::move(facts));
  }

  // Adds an elementwise node after `from`, or a product with its `gate`.
  void extend(const Node* from, const Node* gate, bool activates,
              Facts& facts) {
    if (from == nullptr) return;
    const int64_t own = gate == nullptr ? 1 : 2;
    const bool gate_used = gate != nullptr && facts_.at(gate).uses > 1;
    Chain chain = chain_to(from, own);
    if (chain.linear == nullptr) {  // after an Add of a kernel
      const Facts& before = facts_.at(from);
      if (activates && before.uses == own && !gate_used) {
        facts.kernel = before.kernel;
      }
    } else if (activates || !chain.has_activation) {
      chain.has_activation |= activates;
      if (chain.fuses() && gate_used) chain.used_more = gate;
      facts.chain = chain;
      if (chain.fuses()) facts.kernel = chain.linear;
    }
    if (gate != nullptr) facts_.at(gate).kernel = facts.kernel;
  }

  template <class G>
  void add_sum(const G& graph, const Node& add, Facts& facts) const {
    const auto branch = [&](size_t i) {
      return chain_to(graph.producer(graph.input(add, i)), 1);
    };
    std::vector<size_t>& inputs = facts.fusing_inputs;
    for (size_t i = 0; i < graph.input_count(add) && !graph.broadcasts(add);
         ++i) {
      if (branch(i).fuses()) inputs.push_back(i);
    }
    if (inputs.empty()) return;
    const size_t fused =
        inputs.size() == 1
            ? inputs[0]
            : longest_branch(inputs, paths_to_ancestor(graph, add).layers);
    facts.kernel = branch(fused).linear;
  }

  std::unordered_map<const Node*, Facts> facts_;
};

}  // namespace octet::quant
