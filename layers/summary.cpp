#include <string>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/model.h>
#include <octet/runtime/text_table.h>

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
    std::vector<Shape> inputs;
    for (const SymbolicTensor& input : node->inputs) {
      inputs.push_back(input.shape());
    }
    size.multiply_adds = layer.multiply_adds(inputs);
  }
  return sizes;
}

std::string Model::summary() const {
  TextTable table(
      {Align::left, Align::left, Align::left, Align::right, Align::right});
  table.add_row({"layer", "class", "output", "parameters", "mult-adds"});
  table.add_rule();
  NodeSize sum;
  const std::vector<NodeSize> each = sizes();
  for (size_t i = 0; i < each.size(); ++i) {
    const GraphNode& node = *nodes_[i];
    sum.parameters += each[i].parameters;
    sum.trainable += each[i].trainable;
    sum.multiply_adds += each[i].multiply_adds;
    table.add_row({node.layer->name(), node.layer->class_name(),
                   node.shape.to_string(), group_digits(each[i].parameters),
                   group_digits(each[i].multiply_adds)});
  }
  table.add_rule();
  table.add_row({"total", "", "", group_digits(sum.parameters),
                 group_digits(sum.multiply_adds)});
  std::string text = table.to_string();
  int64_t frozen = 0;
  for (const Parameter& p : parameters()) {
    if (!p.trainable || p.variable.requires_grad()) continue;
    frozen += p.variable.shape().size();
  }
  text += fmt::format("{} parameters are trained, {} are statistics",
                      group_digits(sum.trainable),
                      group_digits(sum.parameters - sum.trainable - frozen));
  if (frozen > 0) text += fmt::format(", {} are frozen", group_digits(frozen));
  return text + "\n";
}

}  // namespace octet
