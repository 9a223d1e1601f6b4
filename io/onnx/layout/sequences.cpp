// Sequences [n,length,channels] that run with the channels as axis 1, and the
// ports (inputs and outputs of the graph) that they decide.
#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "arranged.h"
#include "assign.h"
#include "onnx/graph/operator_traits.h"
#include "orders.h"

namespace octet::io::layout {
namespace {

const Order kExchanged{0, 2, 1};

bool is_reshape_step(const Step& step) {
  return std::holds_alternative<std::vector<Dim>>(step);
}

class Sequences {
 public:
  explicit Sequences(LayoutGraph& graph) : graph_(graph) {}

  /// With `pooled`, sequences also start at results of global pooling, whose
  /// axis order is free.
  std::unordered_set<std::string> mark(bool pooled) {
    pooled_ = pooled;
    for (LayoutNode& node : graph_.nodes()) {
      if (node.index >= 0) {
        follow(node);
      } else if (node.inputs.empty()) {
        if (!is_consumed(node.port)) continue;
        ports_.insert(node.port);
        orders_[node.port].insert(kExchanged);
      } else if (node.rule && orders_of(node.inputs[0]).contains(kExchanged)) {
        ports_.insert(node.port);
      }
    }
    return std::move(ports_);
  }

 private:
  const std::string& op_of(const LayoutNode& node) const {
    return graph_.proto().node(node.index).op_type();
  }
  /// Whether the channels of a node are axis 1.
  bool has_channels(const LayoutNode& node) const {
    return node.index >= 0 &&
           traits_of(op_of(node)).axes == AxisRole::channels_first;
  }

  /// Whether a node runs in this order. Products of two values and constants
  /// for each token fix the order of a node.
  bool runs_in(const LayoutNode& node, const Order& order) const {
    if (!node.rule || node.index < 0 || std::ssize(order) != node.rule->rank ||
        !node.features.empty()) {
      return false;
    }
    if (!node.permits(order) &&
        !(node.rule->as_convolution && order == kExchanged)) {
      return false;
    }
    if (op_of(node) == "MatMul" && node.rule->inputs.size() > 1) return false;
    return std::ranges::none_of(node.rule->inputs, [&](int input) {
      const auto& value =
          graph_.value(node.inputs[static_cast<size_t>(input)].root);
      return value.is_constant &&
             std::ranges::count_if(
                 *value.dims, [](const Dim& dim) { return !dim.is_one(); }) > 1;
    });
  }

  /// Whether operators with the channels as axis 1 consume an input, directly
  /// or through nodes that run in either order.
  bool is_consumed(const std::string& input) const {
    std::vector<std::pair<std::string, Order>> values{{input, kExchanged}};
    std::set<std::pair<int, Order>> seen;  // nodes
    while (!values.empty()) {
      const auto [value, order] = std::move(values.back());
      values.pop_back();
      for (const auto& [consumer, at] : graph_.value(value).uses) {
        const LayoutNode& node = graph_.nodes()[static_cast<size_t>(consumer)];
        const std::span<const Step> steps =
            node.inputs[static_cast<size_t>(at)].steps;
        const auto end = std::ranges::find_if(steps, is_reshape_step);
        const auto perm = permutation_of({steps.begin(), end});
        const Order own = composed(inverse_of(*perm), order);
        if (has_channels(node)) {
          if (is_identity(own)) return true;
          continue;
        }
        if (end != steps.end() || !seen.emplace(consumer, own).second ||
            !runs_in(node, own)) {
          continue;
        }
        for (const std::string& output : node.outputs) {
          values.emplace_back(output, node.rule->output_order(own));
        }
      }
    }
    return false;
  }

  /// Whether a value is an image [n,c,h,w], or has the channels as axis 1
  /// because of its producer.
  bool starts_with_channels(const std::string& value) const {
    const LayoutValue& own = graph_.value(value);
    if (own.producer < 0) {
      return !own.is_constant && own.dims && own.dims->size() == 4;
    }
    const LayoutNode& node = graph_.nodes()[static_cast<size_t>(own.producer)];
    return has_channels(node) &&
           (pooled_ || !op_of(node).starts_with("Global"));
  }

  /// Returns the orders of the operand's axes in which it is stored if
  /// sequences have the channels as axis 1.
  std::set<Order> orders_of(const LayoutOperand& operand) const {
    const std::span<const Step> steps = operand.steps;
    auto begin = steps.end();
    while (begin != steps.begin() && !is_reshape_step(*(begin - 1))) --begin;
    const Order inverse = inverse_of(*permutation_of({begin, steps.end()}));
    std::set<Order> result;
    if (starts_with_channels(operand.root)) {
      if (!inverse.empty()) result.insert(inverse);
      return result;
    }
    const auto found = orders_.find(operand.root);
    if (begin != steps.begin() || found == orders_.end()) return result;
    for (const Order& order : found->second) {
      result.insert(composed(inverse, order));
    }
    return result;
  }

  void follow(LayoutNode& node) {
    if (!node.rule || has_channels(node)) return;
    std::set<Order> orders;
    for (const int input : node.rule->inputs) {
      orders.merge(orders_of(node.inputs[static_cast<size_t>(input)]));
    }
    for (const Order& order : orders) {
      if (!runs_in(node, order)) continue;
      if (order == kExchanged) node.in_sequence = true;
      for (const std::string& output : node.outputs) {
        orders_[output].insert(node.rule->output_order(order));
      }
    }
  }

  LayoutGraph& graph_;
  bool pooled_ = false;
  std::unordered_set<std::string> ports_;
  std::unordered_map<std::string, std::set<Order>> orders_;
};

}  // namespace

std::unordered_set<std::string> mark_sequences(LayoutGraph& graph) {
  // Gates of convolutions are sequences, but do not decide ports.
  (void)Sequences(graph).mark(true);
  return Sequences(graph).mark(false);
}

}  // namespace octet::io::layout
