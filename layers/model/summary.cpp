#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/model.h>
#include <octet/runtime/detail/text_table.h>

namespace octet {

std::vector<NodeSize> Model::sizes() const {
  std::vector<NodeSize> sizes;
  std::unordered_set<uint64_t> counted;
  for (const auto& node : nodes_) {
    const Layer& layer = *node->layer;
    NodeSize& size = sizes.emplace_back();
    for (const Parameter& p : layer.parameters()) {
      if (!counted.insert(p.variable.id()).second) continue;
      size.parameters += p.variable.shape().size();
      if (p.trainable && p.variable.requires_grad()) {
        size.trainable += p.variable.shape().size();
      }
    }
    size.multiply_adds = node->facts().multiply_adds;
  }
  return sizes;
}

namespace {

/// Returns "Conv2D, relu": the class, with its final activation unless the
/// class name implies it.
std::string class_text(const Layer& layer) {
  const LayerFacts facts = layer.facts();
  const std::string& function = facts.activation;
  const std::string name = layer.class_name();
  const bool is_said =
      facts.role == LayerRole::activation && !name.starts_with("Activation");
  if (function.empty() || function == "linear" || is_said) return name;
  return fmt::format("{}, {}", name, function);
}

bool is_frozen(const Layer& layer) {
  return !layer.parameters().empty() && !layer.trainable();
}

std::string reads_text(const GraphNode& node) {
  std::vector<std::string> names;
  for (const SymbolicTensor& input : node.inputs) {
    names.push_back(input.node->layer->name());
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Returns whether each node consumes only the previous node.
bool is_chain(std::span<const std::shared_ptr<const GraphNode>> nodes) {
  for (size_t i = 1; i < nodes.size(); ++i) {
    const auto& inputs = nodes[i]->inputs;
    if (inputs.size() != 1 || inputs[0].node != nodes[i - 1]) return false;
  }
  return true;
}

}  // namespace

std::string Model::summary() const {
  const bool chain = is_chain(nodes_);
  const bool some_frozen = std::ranges::any_of(
      layers_, [](const auto& layer) { return is_frozen(*layer); });
  std::vector<Align> columns{Align::left, Align::left, Align::left,
                             Align::right, Align::right};
  std::vector<std::string> heading{"layer", "class", "output", "parameters",
                                   "mult-adds"};
  const auto add_column = [&](const char* name) {
    columns.push_back(Align::left);
    heading.emplace_back(name);
  };
  if (some_frozen) add_column("training");
  if (!chain) add_column("inputs");
  TextTable table(columns);
  table.add_row(heading);
  table.add_rule();
  NodeSize sum;
  const std::vector<NodeSize> each = sizes();
  for (size_t i = 0; i < each.size(); ++i) {
    const GraphNode& node = *nodes_[i];
    sum.parameters += each[i].parameters;
    sum.trainable += each[i].trainable;
    sum.multiply_adds += each[i].multiply_adds;
    std::vector<std::string> row{
        node.layer->name(), class_text(*node.layer), node.shape.to_string(),
        group_digits(each[i].parameters), group_digits(each[i].multiply_adds)};
    if (some_frozen) row.emplace_back(is_frozen(*node.layer) ? "frozen" : "");
    if (!chain) row.push_back(reads_text(node));
    table.add_row(std::move(row));
  }
  table.add_rule();
  std::vector<std::string> total{"total", "", "", group_digits(sum.parameters),
                                 group_digits(sum.multiply_adds)};
  total.resize(columns.size());
  table.add_row(std::move(total));
  std::string text = table.to_string();
  int64_t frozen = 0;
  for (const Parameter& p : parameters()) {
    if (!p.trainable || p.variable.requires_grad()) continue;
    frozen += p.variable.shape().size();
  }
  text += fmt::format("{} trainable parameters, {} statistics",
                      group_digits(sum.trainable),
                      group_digits(sum.parameters - sum.trainable - frozen));
  if (frozen > 0) text += fmt::format(", {} frozen", group_digits(frozen));
  return text + "\n";
}

}  // namespace octet
