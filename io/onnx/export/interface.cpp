#include "interface.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::io {
namespace {

constexpr std::array<std::string_view, 11> kPortTypes = {
    "float32", "float16", "bfloat16", "float64", "bool", "uint8",
    "int8",    "uint16",  "int16",    "int32",   "int64"};

/// Whether the axes are a permutation.
bool are_axes(const std::vector<int>& axes) {
  std::vector<int> sorted = axes;
  std::ranges::sort(sorted);
  if (axes.empty()) return true;
  return std::ssize(axes) <= Shape::kMaxRank &&
         sorted == channels_last_axes(static_cast<int>(axes.size()));
}

bool ports_fit(const std::vector<OnnxPort>& ports,
               std::span<const SymbolicTensor> tensors) {
  if (ports.empty()) return true;
  return std::ranges::equal(
      ports, tensors, [](const OnnxPort& port, const SymbolicTensor& tensor) {
        return port.axes.empty() ||
               std::ssize(port.axes) == tensor.shape().rank();
      });
}

Config::List to_list(const std::vector<OnnxPort>& ports) {
  Config::List list;
  for (const OnnxPort& port : ports) {
    Config config;
    config.set("name", port.name)
        .set("type", port.type)
        .set("axes", Config::List(port.axes.begin(), port.axes.end()));
    if (!port.batched) config.set("batched", false);
    list.push_back(std::move(config));
  }
  return list;
}

[[noreturn]] void refuse(std::string_view what) {
  throw FormatError("malformed_file", "ONNX interface of the model",
                    fmt::format("{} is damaged", what));
}

const Config& entry(const Config& config, std::string_view name,
                    bool (Config::*is_type)() const) {
  const Config* found = config.is_object() ? config.find(name) : nullptr;
  if (found == nullptr || !(found->*is_type)()) refuse(name);
  return *found;
}

std::vector<OnnxPort> ports_from(const Config& list) {
  std::vector<OnnxPort> ports;
  for (const Config& config : list.as_list()) {
    OnnxPort port{
        .name = entry(config, "name", &Config::is_string).as_string(),
        .type = entry(config, "type", &Config::is_string).as_string()};
    if (!is_port_type(port.type)) refuse("type");
    for (const Config& axis :
         entry(config, "axes", &Config::is_list).as_list()) {
      if (!axis.is_int() || axis.as_int() < 0 ||
          axis.as_int() >= Shape::kMaxRank) {
        refuse("axes");
      }
      port.axes.push_back(static_cast<int>(axis.as_int()));
    }
    if (!are_axes(port.axes)) refuse("axes");
    if (config.find("batched") != nullptr) {
      port.batched = entry(config, "batched", &Config::is_bool).as_bool();
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

}  // namespace

bool OnnxInterface::fits(const Model& model) const {
  return ports_fit(inputs, model.inputs()) &&
         ports_fit(outputs, model.outputs());
}

bool is_port_type(std::string_view type) {
  return std::ranges::find(kPortTypes, type) != kPortTypes.end();
}

std::vector<int> channels_first_axes(int rank) {
  if (rank == 4) return {0, 2, 3, 1};
  if (rank == 3) return {0, 2, 1};
  return channels_last_axes(rank);
}

std::vector<int> channels_last_axes(int rank) {
  std::vector<int> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Config to_config(const OnnxInterface& interface) {
  return Config()
      .set("inputs", to_list(interface.inputs))
      .set("outputs", to_list(interface.outputs))
      .set("batch", interface.batch)
      .set("batch_name", interface.batch_name);
}

OnnxInterface interface_from(const Config& config) {
  OnnxInterface interface {
    .inputs = ports_from(entry(config, "inputs", &Config::is_list)),
    .outputs = ports_from(entry(config, "outputs", &Config::is_list)),
    .batch = entry(config, "batch", &Config::is_int).as_int(),
    .batch_name = entry(config, "batch_name", &Config::is_string).as_string()
  };
  if (interface.batch < 0 || interface.batch > (int64_t{1} << 20))
    refuse("batch");
  if (interface.batch_name.empty()) refuse("batch_name");
  return interface;
}

}  // namespace octet::io
