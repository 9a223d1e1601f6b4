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

std::string Model::summary() const {
  std::vector<Row> rows{
      {"layer", "class", "output", "parameters", "mult-adds"}};
  int64_t trainable = 0;
  int64_t multiply_adds = 0;
  std::unordered_set<const Layer*> counted;
  for (const auto& node : nodes_) {
    const Layer& layer = *node->layer;
    int64_t parameters = 0;
    if (counted.insert(&layer).second) {
      for (const Parameter& p : layer.parameters()) {
        parameters += p.variable.shape().size();
        if (p.trainable) trainable += p.variable.shape().size();
      }
    }
    std::vector<Shape> inputs;
    for (const SymbolicTensor& input : node->inputs) {
      inputs.push_back(input.shape());
    }
    const int64_t work = layer.multiply_adds(inputs);
    multiply_adds += work;
    rows.push_back({layer.name(), layer.class_name(), node->shape.to_string(),
                    grouped(parameters), grouped(work)});
  }
  const int64_t total = parameter_count();
  rows.push_back({"total", "", "", grouped(total), grouped(multiply_adds)});

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
  return text + fmt::format("{} parameters are trained, {} are statistics\n",
                            grouped(trainable), grouped(total - trainable));
}

}  // namespace octet
