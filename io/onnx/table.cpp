#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <octet/io/onnx.h>
#include <octet/runtime/detail/text_table.h>

#include "onnx/graph/tensors.h"

namespace octet::io {
namespace {

constexpr size_t kWidestCell = 60;

/// A titled table with cells from a file, made printable.
class TableSection {
 public:
  TableSection(std::string title, std::vector<Align> columns,
               std::vector<std::string> header)
      : title_(std::move(title)), table_(std::move(columns)) {
    add(std::move(header));
    table_.add_rule(kIndent);
  }

  void add(std::vector<std::string> row) {
    for (std::string& cell : row) cell = printable(cell, kWidestCell);
    table_.add_row(std::move(row), kIndent);
  }

  std::string to_string() const { return title_ + "\n" + table_.to_string(); }

 private:
  static constexpr std::string_view kIndent = "  ";

  std::string title_;
  TextTable table_;
};

std::string header(const OnnxSummary& summary) {
  constexpr size_t kKeyWidth = std::string_view("initializers").size() + 1;
  std::string text = "Model\n";
  const auto line = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) {
      const std::string padding(kKeyWidth - key.size(), ' ');
      text += fmt::format("  {}{} {}\n", key, padding, printable(value));
    }
  };
  line("size", counted(summary.bytes, "byte"));
  line("format",
       fmt::format("ONNX IR {}, opset {}", summary.ir_version, summary.opset));
  line("producer", summary.producer);
  line("description", summary.description);
  const auto tensors = [&](std::string_view key, const auto& list) {
    for (const OnnxTensorInfo& tensor : list) {
      line(key, fmt::format("{}  {} {}", tensor.name, tensor.type,
                            to_string(tensor.shape)));
    }
  };
  tensors("input", summary.inputs);
  tensors("output", summary.outputs);
  line("initializers",
       fmt::format("{} with {}", group_digits(summary.initializers),
                   counted(summary.parameters, "element")));
  return text;
}

std::string nodes(const OnnxSummary& summary) {
  TableSection table("Nodes",
                     {Align::right, Align::left, Align::left, Align::left},
                     {"#", "op", "name", "output shape"});
  for (size_t i = 0; i < summary.nodes.size(); ++i) {
    const OnnxNodeInfo& node = summary.nodes[i];
    table.add({std::to_string(i), node.op, node.name,
               node.shape ? to_string(node.shape) : "?"});
  }
  return table.to_string();
}

std::string scale_text(const OnnxQdqPair& pair) {
  if (pair.scales == 0) return "computed";
  if (pair.scales == 1) return fmt::format("{:.6g}", pair.smallest_scale);
  return fmt::format("{:.6g} .. {:.6g} ({})", pair.smallest_scale,
                     pair.largest_scale, pair.scales);
}

std::string pairs(const OnnxSummary& summary) {
  TableSection table("Q/DQ pairs",
                     {Align::left, Align::left, Align::left, Align::right,
                      Align::left, Align::left},
                     {"tensor", "kind", "type", "axis", "scale", "consumer"});
  for (const OnnxQdqPair& pair : summary.qdq_pairs) {
    table.add({pair.tensor, pair.kind, pair.type,
               pair.axis ? std::to_string(*pair.axis) : "-", scale_text(pair),
               pair.consumer.empty() ? "(output)" : pair.consumer});
  }
  return table.to_string();
}

std::string totals(const OnnxSummary& summary) {
  std::map<std::string, int64_t> ops;
  for (const OnnxNodeInfo& node : summary.nodes) ++ops[node.op];
  std::string counts;
  for (const auto& [op, count] : ops) {
    counts += counts.empty() ? ": " : ", ";
    counts += group_digits(count) + " " + printable(op, 40);
  }
  const auto weights = std::count_if(
      summary.qdq_pairs.begin(), summary.qdq_pairs.end(),
      [](const OnnxQdqPair& pair) { return pair.kind == "weight"; });
  const auto all = static_cast<int64_t>(summary.qdq_pairs.size());
  return fmt::format(
      "Totals\n  {}{}\n  {}: {} and {}\n",
      counted(static_cast<int64_t>(summary.nodes.size()), "node"), counts,
      counted(all, "Q/DQ pair"), counted(weights, "weight"),
      counted(all - weights, "activation"));
}

Config shape_config(const OnnxShape& shape) {
  if (!shape) return {};
  Config::List list;
  for (const OnnxDim& dim : *shape) {
    list.push_back(std::visit([](const auto& d) { return Config(d); }, dim));
  }
  return list;
}

Config tensors_config(const std::vector<OnnxTensorInfo>& tensors) {
  Config::List list;
  for (const OnnxTensorInfo& tensor : tensors) {
    list.push_back(Config::Object{{"name", tensor.name},
                                  {"type", tensor.type},
                                  {"shape", shape_config(tensor.shape)}});
  }
  return list;
}

Config strings_config(const std::vector<std::string>& strings) {
  return Config::List(strings.begin(), strings.end());
}

Config node_config(const OnnxNodeInfo& node) {
  return Config::Object{{"op", node.op},
                        {"name", node.name},
                        {"inputs", strings_config(node.inputs)},
                        {"outputs", strings_config(node.outputs)},
                        {"shape", shape_config(node.shape)}};
}

Config pair_config(const OnnxQdqPair& pair) {
  Config config = Config::Object{{"tensor", pair.tensor},
                                 {"reader", pair.consumer},
                                 {"kind", pair.kind},
                                 {"type", pair.type},
                                 {"axis", Config()},
                                 {"scales", pair.scales},
                                 {"smallest_scale", pair.smallest_scale},
                                 {"largest_scale", pair.largest_scale}};
  if (pair.axis) config.set("axis", *pair.axis);
  return config;
}

}  // namespace

std::string to_string(const OnnxShape& shape) {
  if (!shape) return "";
  std::string text = "[";
  for (const OnnxDim& dim : *shape) {
    if (text.size() > 1) text += ',';
    text += std::visit([](const auto& d) { return fmt::format("{}", d); }, dim);
  }
  return text + "]";
}

std::string to_table(const OnnxSummary& summary) {
  std::string text = header(summary) + "\n" + nodes(summary) + "\n";
  if (!summary.qdq_pairs.empty()) text += pairs(summary) + "\n";
  return text + totals(summary);
}

Config to_config(const OnnxSummary& summary) {
  Config::List nodes;
  for (const OnnxNodeInfo& node : summary.nodes) {
    nodes.push_back(node_config(node));
  }
  Config::List pairs;
  for (const OnnxQdqPair& pair : summary.qdq_pairs) {
    pairs.push_back(pair_config(pair));
  }
  return Config::Object{
      {"bytes", summary.bytes},
      {"ir_version", summary.ir_version},
      {"opset", summary.opset},
      {"producer", summary.producer},
      {"description", summary.description},
      {"half_precision", summary.half_precision},
      {"preprocess", summary.preprocess},
      {"resize", summary.resize},
      {"classes", Config::List(summary.classes.begin(), summary.classes.end())},
      {"inputs", tensors_config(summary.inputs)},
      {"outputs", tensors_config(summary.outputs)},
      {"nodes", std::move(nodes)},
      {"qdq_pairs", std::move(pairs)},
      {"initializers", summary.initializers},
      {"parameters", summary.parameters}};
}

}  // namespace octet::io
