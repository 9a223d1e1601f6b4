#include "assign.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "arranged.h"
#include "block_move.h"
#include "orders.h"

namespace octet::io::layout {
namespace {

/// A descent stops after this number of moves without a new lowest cost.
constexpr int kMostMovesWithoutGain = 24;
/// Costs of an edge. A Transpose that moves only axes of size 1 is a Reshape.
constexpr int kTranspose = 1000;
constexpr int kReshape = 51;
/// Cost of an order in which a node converts.
constexpr int kConversion = 50;
/// Limits of the search, in computed layouts: for the graph, and in addition
/// for each node. Orders are valid whenever it stops.
constexpr int64_t kMostLayouts = 500'000;
constexpr int64_t kMostLayoutsPerNode = 100;

/// Whether the stored and the logical sizes differ only in their order.
bool moves_axes(const AxisLayout& layout) {
  const auto less = [](const Dim& a, const Dim& b) {
    return std::pair(a.batch, a.factor) < std::pair(b.batch, b.factor);
  };
  std::vector<Dim> from = layout.stored();
  std::vector<Dim> to = layout.dims();
  if (from == to) return false;
  std::ranges::sort(from, less);
  std::ranges::sort(to, less);
  return from == to;
}

int edge_cost(const AxisLayout& layout) {
  if (layout.in_order()) return moves_axes(layout) ? kReshape : 0;
  return block_move(layout) ? 0 : kTranspose;
}

int cost_of(const LayoutNode& node) {
  const bool converts = node.rule && node.rule->converts &&
                        node.features.empty() && !node.order.empty() &&
                        !node.is_convolution(node.order) &&
                        node.rule->converts(node.order);
  return converts ? kConversion : 0;
}

/// Returns the cost of the rearrangements between a value and its consumers;
/// consumers with equal rearrangements share them.
int cost_of(const LayoutGraph& graph, const std::string& value) {
  const LayoutValue& own = graph.value(value);
  if (own.is_constant) return 0;
  int cost = 0;
  std::vector<Rearrangement> needed;
  for (const auto& [consumer, input] : own.uses) {
    const LayoutNode& node = graph.nodes()[static_cast<size_t>(consumer)];
    const std::optional<AxisLayout> layout =
        graph.layout(node, static_cast<size_t>(input));
    const int edge = layout ? edge_cost(*layout) : 0;
    if (edge == 0) continue;
    Rearrangement moves = layout->rearrangement();
    if (edge == kTranspose) moves.joined.clear();  // reshapes are free
    if (std::ranges::find(needed, moves) != needed.end()) continue;
    needed.push_back(std::move(moves));
    cost += edge;
  }
  return cost;
}

/// Local search in the manner of Fiduccia and Mattheyses ("A linear-time
/// heuristic for improving network partitions", 1982). A descent starts at a
/// costly edge and assigns each node its best order once; the prefix of these
/// moves with the lowest cost is applied.
class Assignment {
 public:
  explicit Assignment(LayoutGraph& graph)
      : graph_(graph),
        layouts_left_(kMostLayouts +
                      kMostLayoutsPerNode * std::ssize(graph.nodes())) {}

  /// Assigns to each node, in graph order, the order of its inputs if that
  /// costs less.
  void follow_inputs();
  int64_t total_cost() const;

  void descend_all() {
    bool improved = true;
    while (improved && layouts_left_ > 0) {
      improved = false;
      for (size_t i = 0; i < graph_.nodes().size(); ++i) {
        if (cost_of(graph_.nodes()[i]) > 0) {
          improved = descend(static_cast<int>(i)) || improved;
        }
        const size_t inputs = graph_.nodes()[i].inputs.size();
        for (size_t input = 0; input < inputs; ++input) {
          improved = improve(static_cast<int>(i), input) || improved;
        }
      }
    }
  }

 private:
  LayoutNode& node(int index) {
    return graph_.nodes()[static_cast<size_t>(index)];
  }
  /// Whether the search may set the order of a node.
  bool is_free_to_move(int index) const {
    const LayoutNode& node = graph_.nodes()[static_cast<size_t>(index)];
    return node.rule && node.index >= 0;
  }
  bool is_free(const LayoutNode& node, size_t input) const {
    if (graph_.value(node.inputs[input].root).is_constant) return true;
    const std::optional<AxisLayout> layout = graph_.layout(node, input);
    return !layout || edge_cost(*layout) == 0;
  }

  /// Descends from the consumer, then from the producer, of a costly edge.
  bool improve(int consumer, size_t input) {
    if (is_free(node(consumer), input)) return false;
    if (descend(consumer)) return true;
    const int producer =
        graph_.value(node(consumer).inputs[input].root).producer;
    return producer >= 0 && descend(producer);
  }

  bool descend(int seed);
  struct Move {
    int node = -1;
    Order order = {};
    int gain = 0;
  };
  Move best_move(const std::set<int>& frontier);
  std::vector<Order> candidates(const LayoutNode& node) const;
  std::vector<Order> input_orders(const LayoutNode& node,
                                  bool behind_reshapes) const;
  int input_cost(const LayoutNode& node) const;
  bool consumes_image(const LayoutNode& node) const;
  std::optional<Order> order_for_use(const LayoutNode& node,
                                     const std::string& output, int consumer,
                                     int input) const;
  int cost_around(const LayoutNode& node);
  void add_neighbors(const LayoutNode& node, std::set<int>& frontier) const;

  LayoutGraph& graph_;
  int64_t layouts_left_;
};

int64_t Assignment::total_cost() const {
  int64_t cost = 0;
  std::unordered_set<std::string> counted;
  for (const LayoutNode& node : graph_.nodes()) {
    cost += cost_of(node);
    for (const LayoutOperand& operand : node.inputs) {
      if (!counted.insert(operand.root).second) continue;
      cost += cost_of(graph_, operand.root);
    }
  }
  return cost;
}

int Assignment::input_cost(const LayoutNode& node) const {
  int cost = 0;
  for (const int input : node.rule->inputs) {
    const auto i = static_cast<size_t>(input);
    if (!is_free(node, i)) cost += edge_cost(*graph_.layout(node, i));
  }
  return cost;
}

/// Whether the node consumes a graph input of rank 4, directly or after a Cast.
/// A Cast itself is excluded: it stays first.
bool Assignment::consumes_image(const LayoutNode& node) const {
  const auto is_cast = [this](const LayoutNode& other) {
    return other.index >= 0 &&
           graph_.proto().node(other.index).op_type() == "Cast";
  };
  if (node.rule->rank != 4 || !node.permits({0, 3, 1, 2}) || is_cast(node)) {
    return false;
  }
  return std::ranges::any_of(node.rule->inputs, [&](int input) {
    const LayoutOperand& operand = node.inputs[static_cast<size_t>(input)];
    const std::optional<Order> perm = permutation_of(operand.steps);
    if (!operand.steps.empty() && perm != Order{0, 2, 3, 1}) return false;
    std::string root = operand.root;
    const int producer = graph_.value(root).producer;
    if (producer >= 0) {
      const LayoutNode& cast = graph_.nodes()[static_cast<size_t>(producer)];
      if (!is_cast(cast)) return false;
      root = cast.inputs[0].root;
    }
    const LayoutValue& source = graph_.value(root);
    return source.producer < 0 && !source.is_constant;
  });
}

void Assignment::follow_inputs() {
  for (LayoutNode& node : graph_.nodes()) {
    if (!node.rule || node.index < 0) continue;
    if (consumes_image(node)) {
      node.order = {0, 3, 1, 2};  // NCHW, as the graph input
      continue;
    }
    Order best;
    int best_cost = std::numeric_limits<int>::max();
    const size_t axes = node.features.empty()
                            ? static_cast<size_t>(node.rule->rank)
                            : 1 + node.features.size();
    const std::vector<Order> orders = input_orders(node, false);
    for (const Order& order : std::set(orders.begin(), orders.end())) {
      if (order.size() != axes || !node.permits(order)) continue;
      node.order = order;
      const int cost = input_cost(node);
      if (cost < best_cost) best = order;
      best_cost = std::min(cost, best_cost);
    }
    node.order.clear();
    if (input_cost(node) >= best_cost && !is_identity(best)) {
      node.order = std::move(best);
    }
  }
}

/// Returns the cost of all edges of the values that the node permutes or
/// produces.
int Assignment::cost_around(const LayoutNode& node) {
  std::set<std::string> values;
  for (const int input : node.rule->inputs) {
    values.insert(node.inputs[static_cast<size_t>(input)].root);
  }
  values.insert(node.outputs.begin(), node.outputs.end());
  int cost = cost_of(node);
  for (const std::string& value : values) {
    layouts_left_ -= std::ssize(graph_.value(value).uses);
    cost += cost_of(graph_, value);
  }
  return cost;
}

/// Returns an order of the node that spares the consumer's input a Transpose.
std::optional<Order> Assignment::order_for_use(const LayoutNode& node,
                                               const std::string& output,
                                               int consumer, int input) const {
  const LayoutNode& other = graph_.nodes()[static_cast<size_t>(consumer)];
  const LayoutOperand& operand = other.inputs[static_cast<size_t>(input)];
  if (operand.root != output) return std::nullopt;
  const bool matrices = !node.features.empty() || !other.features.empty();
  const std::optional<Order> perm = permutation_of(operand.steps);
  if (perm && !matrices) {
    return node.rule->order_for_output(composed(*perm, other.order));
  }
  std::optional<AxisLayout> layout = graph_.layout(operand, {});
  if (layout) layout = LayoutGraph::with_features(other, *layout);
  if (!layout) return std::nullopt;
  if (!other.order.empty()) layout = layout->transposed(other.order);
  std::optional<Order> stored = layout->required_order();
  if (!stored || node.features.empty()) {
    return stored ? node.rule->order_for_output(*stored) : stored;
  }
  return graph_.value(output).features.empty() ? std::nullopt : stored;
}

/// Returns the orders in which the node consumes an operand as it is stored.
std::vector<Order> Assignment::input_orders(const LayoutNode& node,
                                            bool behind_reshapes) const {
  std::vector<Order> result;
  for (const int input : node.rule->inputs) {
    const LayoutOperand& operand = node.inputs[static_cast<size_t>(input)];
    const LayoutValue& root = graph_.value(operand.root);
    if (root.is_constant) continue;
    const Order stored = graph_.stored_order(operand.root);
    const std::optional<Order> perm = permutation_of(operand.steps);
    if (perm && root.features.empty() && node.features.empty()) {
      result.push_back(composed(inverse_of(*perm), stored));
    }
    if (!perm && node.features.empty() && !behind_reshapes) continue;
    std::optional<AxisLayout> layout = graph_.layout(operand, stored);
    if (layout) layout = LayoutGraph::with_features(node, *layout);
    std::optional<Order> order = layout ? layout->stored_order() : std::nullopt;
    if (order) result.push_back(std::move(*order));
  }
  return result;
}

std::vector<Order> Assignment::candidates(const LayoutNode& node) const {
  const size_t axes = node.features.empty()
                          ? static_cast<size_t>(node.rule->rank)
                          : 1 + node.features.size();
  Order original(axes);
  std::iota(original.begin(), original.end(), 0);
  std::vector<Order> result{original};
  const auto add = [&](std::optional<Order> order) {
    if (!order || order->size() != original.size()) return;
    if (std::ranges::find(result, *order) != result.end()) return;
    if (node.permits(*order)) result.push_back(std::move(*order));
  };
  for (Order& order : input_orders(node, true)) add(std::move(order));
  for (const std::string& output : node.outputs) {
    for (const auto& [consumer, input] : graph_.value(output).uses) {
      add(order_for_use(node, output, consumer, input));
    }
  }
  return result;
}

Assignment::Move Assignment::best_move(const std::set<int>& frontier) {
  Move best;
  for (const int index : frontier) {
    if (layouts_left_ <= 0) break;
    LayoutNode& node = this->node(index);
    const Order given = node.order;
    const int before = cost_around(node);
    for (Order& order : candidates(node)) {
      if (order == given || (given.empty() && is_identity(order))) continue;
      node.order = order;
      const int gain = before - cost_around(node);
      if (best.node < 0 || gain > best.gain) {
        best = {index, std::move(order), gain};
      }
    }
    node.order = given;
  }
  return best;
}

void Assignment::add_neighbors(const LayoutNode& node,
                               std::set<int>& frontier) const {
  const auto add = [&](int index) {
    if (index >= 0 && is_free_to_move(index)) frontier.insert(index);
  };
  for (const int input : node.rule->inputs) {
    if (is_free(node, static_cast<size_t>(input))) continue;
    const std::string& root = node.inputs[static_cast<size_t>(input)].root;
    add(graph_.value(root).producer);
    for (const auto& [consumer, at] : graph_.value(root).uses) add(consumer);
  }
  for (const std::string& output : node.outputs) {
    for (const auto& [consumer, input] : graph_.value(output).uses) {
      const LayoutNode& other = graph_.nodes()[static_cast<size_t>(consumer)];
      if (!is_free(other, static_cast<size_t>(input))) add(consumer);
    }
  }
}

bool Assignment::descend(int seed) {
  if (!is_free_to_move(seed)) return false;
  std::set<int> frontier{seed};
  std::set<int> done;
  std::vector<std::pair<int, Order>> undo;
  int gain = 0;
  int best_gain = 0;
  size_t best_length = 0;
  while (!frontier.empty() && layouts_left_ > 0 &&
         undo.size() < best_length + kMostMovesWithoutGain) {
    Move move = best_move(frontier);
    if (move.node < 0) break;
    LayoutNode& moved = node(move.node);
    undo.emplace_back(move.node, moved.order);
    moved.order = std::move(move.order);
    gain += move.gain;
    if (gain > best_gain) {
      best_gain = gain;
      best_length = undo.size();
    }
    done.insert(move.node);
    add_neighbors(moved, frontier);
    for (const int index : done) frontier.erase(index);
  }
  for (; undo.size() > best_length; undo.pop_back()) {
    node(undo.back().first).order = undo.back().second;
  }
  return best_gain > 0;
}

}  // namespace

/// The search also starts at the original orders in graphs with at most this
/// number of nodes or of Transposes.
constexpr std::ptrdiff_t kFewNodes = 400;
constexpr int64_t kFewTransposes = 100;

void assign_orders(LayoutGraph& graph) {
  const auto orders = [&] {
    std::vector<Order> result;
    for (const LayoutNode& node : graph.nodes()) result.push_back(node.order);
    return result;
  };
  const auto set = [&](const std::vector<Order>& to) {
    for (size_t i = 0; i < to.size(); ++i) graph.nodes()[i].order = to[i];
  };
  const std::vector<Order> original = orders();
  Assignment search(graph);
  search.follow_inputs();
  if (search.total_cost() == 0) return;
  const std::vector<Order> followed = orders();
  set(original);
  const bool small = std::ssize(graph.nodes()) <= kFewNodes ||
                     search.total_cost() <= kFewTransposes * kTranspose;
  if (small) Assignment(graph).descend_all();
  const std::vector<Order> first = orders();
  const int64_t first_cost = search.total_cost();
  set(followed);
  if (!small && search.total_cost() > first_cost) set(first);
  search.descend_all();
  if (search.total_cost() > first_cost) set(first);
}

}  // namespace octet::io::layout
