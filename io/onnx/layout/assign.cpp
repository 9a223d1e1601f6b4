#include "assign.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "block_move.h"
#include "onnx/check/check.h"

namespace octet::io::layout {
namespace {

/// A descent stops after this number of moves without a new lowest cost.
constexpr int kMostMovesWithoutGain = 24;
/// Costs of an edge. A Transpose that moves only axes of size 1 is a Reshape.
constexpr int kTranspose = 100;
constexpr int kReshape = 1;
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

Order inverse_of(const Order& order) {
  Order result(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    result[static_cast<size_t>(order[i])] = static_cast<int>(i);
  }
  return result;
}

/// Axis i of the result is axis first[second[i]]; an empty order is the
/// identity.
Order composed(const Order& first, const Order& second) {
  if (first.empty()) return second;
  if (second.empty()) return first;
  Order result;
  for (const int axis : second) {
    result.push_back(first[static_cast<size_t>(axis)]);
  }
  return result;
}

/// Composes Transposes. Returns nothing if a step is a reshape.
std::optional<Order> permutation_of(const std::vector<Step>& steps) {
  Order result;
  for (const Step& step : steps) {
    const auto* perm = std::get_if<std::vector<int>>(&step);
    if (perm == nullptr) return std::nullopt;
    result = composed(result, *perm);
  }
  return result;
}

/// Returns the cost of the rearrangements between a value and its consumers;
/// consumers with equal rearrangements share them.
int cost_of(const Graph& graph, const std::string& value) {
  const Value& own = graph.value(value);
  if (own.is_constant) return 0;
  int cost = 0;
  std::vector<Rearrangement> needed;
  for (const auto& [consumer, input] : own.uses) {
    const Node& node = graph.nodes()[static_cast<size_t>(consumer)];
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
  explicit Assignment(Graph& graph)
      : graph_(graph),
        layouts_left_(kMostLayouts +
                      kMostLayoutsPerNode * std::ssize(graph.nodes())) {}

  void run() {
    bool improved = true;
    while (improved && layouts_left_ > 0) {
      improved = false;
      for (size_t i = 0; i < graph_.nodes().size(); ++i) {
        const size_t inputs = graph_.nodes()[i].inputs.size();
        for (size_t input = 0; input < inputs; ++input) {
          improved = improve(static_cast<int>(i), input) || improved;
        }
      }
    }
  }

 private:
  Node& node(int index) { return graph_.nodes()[static_cast<size_t>(index)]; }
  bool is_free(const Node& node, size_t input) const {
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
  std::vector<Order> candidates(const Node& node) const;
  std::optional<Order> order_for_use(const Node& node,
                                     const std::string& output, int consumer,
                                     int input) const;
  int cost_around(const Node& node);
  void add_neighbors(const Node& node, std::set<int>& frontier) const;

  Graph& graph_;
  int64_t layouts_left_;
};

/// Returns the cost of all edges of the values that the node permutes or
/// produces.
int Assignment::cost_around(const Node& node) {
  std::set<std::string> values;
  for (const int input : node.rule->inputs) {
    values.insert(node.inputs[static_cast<size_t>(input)].root);
  }
  for (const auto& output : graph_.proto().node(node.index).output()) {
    values.insert(output);
  }
  int cost = 0;
  for (const std::string& value : values) {
    layouts_left_ -= std::ssize(graph_.value(value).uses);
    cost += cost_of(graph_, value);
  }
  return cost;
}

/// Returns an order of the node that spares the consumer's input a Transpose.
std::optional<Order> Assignment::order_for_use(const Node& node,
                                               const std::string& output,
                                               int consumer, int input) const {
  const Node& other = graph_.nodes()[static_cast<size_t>(consumer)];
  const Operand& operand = other.inputs[static_cast<size_t>(input)];
  if (const std::optional<Order> perm = permutation_of(operand.steps)) {
    return node.rule->order_for_output(composed(*perm, other.order));
  }
  std::optional<AxisLayout> layout = graph_.layout(operand, {});
  if (!layout || operand.root != output) return std::nullopt;
  if (!other.order.empty()) layout = layout->transposed(other.order);
  const std::optional<Order> stored = layout->required_order();
  if (!stored) return std::nullopt;
  return node.rule->order_for_output(*stored);
}

std::vector<Order> Assignment::candidates(const Node& node) const {
  Order original(static_cast<size_t>(node.rule->rank));
  std::iota(original.begin(), original.end(), 0);
  std::vector<Order> result{original};
  const auto add = [&](std::optional<Order> order) {
    if (!order || order->size() != original.size()) return;
    if (std::ranges::find(result, *order) != result.end()) return;
    if (node.rule->permits(*order)) result.push_back(std::move(*order));
  };
  for (const int input : node.rule->inputs) {
    const Operand& operand = node.inputs[static_cast<size_t>(input)];
    if (graph_.value(operand.root).is_constant) continue;
    const Order stored = graph_.stored_order(operand.root);
    if (const std::optional<Order> perm = permutation_of(operand.steps)) {
      add(composed(inverse_of(*perm), stored));
    }
    const std::optional<AxisLayout> layout = graph_.layout(operand, stored);
    if (layout) add(layout->stored_order());
  }
  for (const auto& output : graph_.proto().node(node.index).output()) {
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
    Node& node = this->node(index);
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

void Assignment::add_neighbors(const Node& node,
                               std::set<int>& frontier) const {
  const auto add = [&](int index) {
    if (index >= 0 && graph_.nodes()[static_cast<size_t>(index)].rule) {
      frontier.insert(index);
    }
  };
  for (const int input : node.rule->inputs) {
    if (is_free(node, static_cast<size_t>(input))) continue;
    const std::string& root = node.inputs[static_cast<size_t>(input)].root;
    add(graph_.value(root).producer);
    for (const auto& [consumer, at] : graph_.value(root).uses) add(consumer);
  }
  for (const auto& output : graph_.proto().node(node.index).output()) {
    for (const auto& [consumer, input] : graph_.value(output).uses) {
      const Node& other = graph_.nodes()[static_cast<size_t>(consumer)];
      if (!is_free(other, static_cast<size_t>(input))) add(consumer);
    }
  }
}

bool Assignment::descend(int seed) {
  if (!node(seed).rule) return false;
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
    Node& moved = node(move.node);
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

void assign_orders(Graph& graph) { Assignment(graph).run(); }

}  // namespace octet::io::layout

namespace octet::io {

std::unordered_map<std::string, std::string> minimize_transposes(
    onnx::ModelProto& model, LargeConstants& large) {
  const bool has_transposes = std::ranges::any_of(
      model.graph().node(), [](const onnx::NodeProto& node) {
        return node.op_type() == "Transpose";
      });
  if (!has_transposes) return {};
  infer_shapes(model);
  std::unordered_map<std::string, std::string> added;
  {
    layout::Graph graph(model);
    layout::assign_orders(graph);
    added = layout::rewrite(graph, model, large);
  }
  model.mutable_graph()->clear_value_info();
  return added;
}

}  // namespace octet::io
