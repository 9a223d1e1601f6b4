#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/model.h>

namespace octet {
namespace {

using Row = std::array<std::string, 5>;

// 1234567 -> "1,234,567".
std::string grouped(int64_t value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string line(const Row& row, const std::array<size_t, 5>& width) {
  return fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>{}}  {:>{}}\n", row[0],
                     width[0], row[1], width[1], row[2], width[2], row[3],
                     width[3], row[4], width[4]);
}

}  // namespace

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
  std::vector<Row> rows{
      {"layer", "class", "output", "parameters", "mult-adds"}};
  NodeSize sum;
  const std::vector<NodeSize> each = sizes();
  for (size_t i = 0; i < each.size(); ++i) {
    const GraphNode& node = *nodes_[i];
    sum.parameters += each[i].parameters;
    sum.trainable += each[i].trainable;
    sum.multiply_adds += each[i].multiply_adds;
    rows.push_back({node.layer->name(), node.layer->class_name(),
                    node.shape.to_string(), grouped(each[i].parameters),
                    grouped(each[i].multiply_adds)});
  }
  rows.push_back(
      {"total", "", "", grouped(sum.parameters), grouped(sum.multiply_adds)});

  std::array<size_t, 5> width{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      width[i] = std::max(width[i], row[i].size());
    }
  }
  const std::string rule(
      width[0] + width[1] + width[2] + width[3] + width[4] + 8, '-');
  std::string text = line(rows[0], width) + rule + "\n";
  for (size_t i = 1; i + 1 < rows.size(); ++i) text += line(rows[i], width);
  text += rule + "\n" + line(rows.back(), width);
  int64_t frozen = 0;
  for (const Parameter& p : parameters()) {
    if (!p.trainable || p.variable.requires_grad()) continue;
    frozen += p.variable.shape().size();
  }
  text += fmt::format("{} parameters are trained, {} are statistics",
                      grouped(sum.trainable),
                      grouped(sum.parameters - sum.trainable - frozen));
  if (frozen > 0) text += fmt::format(", {} are frozen", grouped(frozen));
  return text + "\n";
}

}  // namespace octet
