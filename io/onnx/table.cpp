#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <octet/io/onnx.h>

#include "tensors.h"

namespace octet::io {
namespace {

constexpr size_t kWidestCell = 60;

enum class Align { left, right };

// Rows of text in columns two spaces apart, headed and ruled.
class Table {
 public:
  using Row = std::vector<std::string>;

  Table(std::string title, std::vector<std::pair<std::string, Align>> columns)
      : title_(std::move(title)) {
    Row header;
    for (auto& [name, align] : columns) {
      header.push_back(name);
      aligns_.push_back(align);
      widths_.push_back(0);
    }
    add(std::move(header));
  }

  void add(Row row) {
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = printable(row[i], kWidestCell);
      widths_[i] = std::max(widths_[i], row[i].size());
    }
    rows_.push_back(std::move(row));
  }

  std::string to_string() const {
    std::string text = title_ + "\n";
    for (size_t i = 0; i < rows_.size(); ++i) {
      append(text, rows_[i]);
      if (i == 0) append(text, rule());
    }
    return text;
  }

 private:
  Row rule() const {
    Row row;
    for (const size_t width : widths_) row.push_back(std::string(width, '-'));
    return row;
  }

  void append(std::string& text, const Row& row) const {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths_[i] - row[i].size(), ' ');
      line += "  ";
      line += aligns_[i] == Align::right ? padding + row[i] : row[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }

  std::string title_;
  std::vector<Align> aligns_;
  std::vector<size_t> widths_;
  std::vector<Row> rows_;
};

// 1,234,567
std::string grouped(int64_t count) {
  std::string text = std::to_string(count);
  const size_t first = count < 0 ? 1 : 0;
  for (size_t at = text.size(); at > first + 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string plural(int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", grouped(count), count == 1 ? one : many);
}

std::string header(const OnnxSummary& summary) {
  constexpr size_t kKeyWidth = std::string_view("initializers").size() + 1;
  std::string text = "Model\n";
  const auto line = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) {
      const std::string padding(kKeyWidth - key.size(), ' ');
      text += fmt::format("  {}{} {}\n", key, padding, printable(value));
    }
  };
  line("size", plural(summary.bytes, "byte", "bytes"));
  line("format",
       fmt::format("ONNX IR {}, opset {}", summary.ir_version, summary.opset));
  line("producer", summary.producer);
  line("description", summary.description);
  const auto tensors = [&](std::string_view key, const auto& list) {
    for (const OnnxTensorInfo& tensor : list) {
      line(key, fmt::format("{}  {} {}", tensor.name, tensor.type,
                            to_text(tensor.shape)));
    }
  };
  tensors("input", summary.inputs);
  tensors("output", summary.outputs);
  line("initializers",
       fmt::format("{} with {}", grouped(summary.initializers),
                   plural(summary.parameters, "element", "elements")));
  return text;
}

std::string nodes(const OnnxSummary& summary) {
  Table table("Nodes", {{"#", Align::right},
                        {"op", Align::left},
                        {"name", Align::left},
                        {"output shape", Align::left}});
  for (size_t i = 0; i < summary.nodes.size(); ++i) {
    const OnnxNodeInfo& node = summary.nodes[i];
    table.add({std::to_string(i), node.op, node.name,
               node.shape ? to_text(node.shape) : "?"});
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
  Table table("Q/DQ pairs", {{"tensor", Align::left},
                             {"kind", Align::left},
                             {"type", Align::left},
                             {"axis", Align::right},
                             {"scale", Align::left},
                             {"reader", Align::left}});
  for (const OnnxQdqPair& pair : summary.qdq_pairs) {
    table.add({pair.tensor, pair.kind, pair.type,
               pair.axis ? std::to_string(*pair.axis) : "-", scale_text(pair),
               pair.reader.empty() ? "(output)" : pair.reader});
  }
  return table.to_string();
}

std::string totals(const OnnxSummary& summary) {
  std::map<std::string, int64_t> ops;
  for (const OnnxNodeInfo& node : summary.nodes) ++ops[node.op];
  std::string counts;
  for (const auto& [op, count] : ops) {
    counts += counts.empty() ? ": " : ", ";
    counts += grouped(count) + " " + printable(op, 40);
  }
  const auto weights = std::count_if(
      summary.qdq_pairs.begin(), summary.qdq_pairs.end(),
      [](const OnnxQdqPair& pair) { return pair.kind == "weight"; });
  const auto all = static_cast<int64_t>(summary.qdq_pairs.size());
  return fmt::format(
      "Totals\n  {}{}\n  {}: {} and {}\n",
      plural(static_cast<int64_t>(summary.nodes.size()), "node", "nodes"),
      counts, plural(all, "Q/DQ pair", "Q/DQ pairs"),
      plural(weights, "weight", "weights"),
      plural(all - weights, "activation", "activations"));
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
                                 {"reader", pair.reader},
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

std::string to_text(const OnnxShape& shape) {
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
  return Config::Object{{"bytes", summary.bytes},
                        {"ir_version", summary.ir_version},
                        {"opset", summary.opset},
                        {"producer", summary.producer},
                        {"description", summary.description},
                        {"inputs", tensors_config(summary.inputs)},
                        {"outputs", tensors_config(summary.outputs)},
                        {"nodes", std::move(nodes)},
                        {"qdq_pairs", std::move(pairs)},
                        {"initializers", summary.initializers},
                        {"parameters", summary.parameters}};
}

}  // namespace octet::io
