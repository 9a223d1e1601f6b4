#include "inspect_zoo.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/layers/zoo.h>

namespace octet::program {
namespace {

// The batch is "N", as in what is said of ONNX files.
Config to_config(const Shape& shape) {
  Config::List dims;
  for (const int64_t dim : shape.dims()) {
    dims.push_back(dim == Shape::kAnySize ? Config("N") : Config(dim));
  }
  return dims;
}

std::string as_json(const Model& model) {
  NodeSize total;
  Config::List layers;
  const std::vector<NodeSize> sizes = model.sizes();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const GraphNode& node = *model.nodes()[i];
    total.parameters += sizes[i].parameters;
    total.trainable += sizes[i].trainable;
    total.multiply_adds += sizes[i].multiply_adds;
    layers.push_back(Config()
                         .set("name", node.layer->name())
                         .set("class", node.layer->class_name())
                         .set("output", to_config(node.shape))
                         .set("parameters", sizes[i].parameters)
                         .set("multiply_adds", sizes[i].multiply_adds));
  }
  Config::List outputs;
  for (const SymbolicTensor& output : model.outputs()) {
    outputs.push_back(to_config(output.shape()));
  }
  return io::to_json(Config()
                         .set("name", model.name())
                         .set("input", to_config(model.inputs()[0].shape()))
                         .set("outputs", std::move(outputs))
                         .set("layers", std::move(layers))
                         .set("parameters", total.parameters)
                         .set("trainable", total.trainable)
                         .set("multiply_adds", total.multiply_adds)) +
         "\n";
}

std::string networks_as_json() {
  Config::List list;
  for (const zoo::Entry& entry : zoo::entries()) {
    list.push_back(
        Config()
            .set("name", entry.name)
            .set("description", entry.description)
            .set("input", to_config(entry.input))
            .set("classes", entry.classes)
            .set("parameters", zoo::make(entry.name).parameter_count()));
  }
  return io::to_json(list) + "\n";
}

std::string networks_as_table() {
  using Row = std::array<std::string, 5>;
  std::vector<Row> rows{{"network", "input", "classes", "parameters", ""}};
  for (const zoo::Entry& entry : zoo::entries()) {
    rows.push_back({std::string(entry.name), entry.input.to_string(),
                    entry.classes == 0 ? "-" : std::to_string(entry.classes),
                    std::to_string(zoo::make(entry.name).parameter_count()),
                    std::string(entry.description)});
  }
  std::array<size_t, 5> width{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      width[i] = std::max(width[i], row[i].size());
    }
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = fmt::format("{:<{}}  {:<{}}  {:>{}}  {:>{}}  {}", row[0],
                                   width[0], row[1], width[1], row[2], width[2],
                                   row[3], width[3], row[4]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string inspect_zoo(std::string_view name, bool json) {
  if (name.empty()) return json ? networks_as_json() : networks_as_table();
  const Model model = zoo::make(name);
  return json ? as_json(model) : model.summary();
}

}  // namespace octet::program
