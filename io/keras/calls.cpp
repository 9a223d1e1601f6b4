// Parses calls of layers: inbound_nodes, input_layers, output_layers.
// Sources: keras/src/models/functional.py of Keras 3 (serialize_node,
// deserialize_node); keras/engine/functional.py and keras/engine/node.py of
// Keras 2.
#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "keras/graph.h"

namespace octet::io {
namespace {

// "Layer" of a constant argument in tf.keras.
constexpr std::string_view kConstant = "_CONSTANT_VALUE";

// [layer, call, output] or [layer, call, output, further arguments].
bool is_tensor_list(const Config& value) {
  if (!value.is_list()) return false;
  const Config::List& list = value.as_list();
  return (list.size() == 3 || list.size() == 4) && list[0].is_string() &&
         list[1].is_int() &&
         (list[2].is_int() || list[0].as_string() == kConstant);
}

const Config* keras_history(const Config& value) {
  if (!value.is_object()) return nullptr;
  const Config* class_name = value.find("class_name");
  if (class_name == nullptr || *class_name != Config("__keras_tensor__")) {
    return nullptr;
  }
  return &value.at("config").at("keras_history");
}

KerasTensor tensor_of(const Config& list) {
  const Config::List& entries = list.as_list();
  if (entries.size() < 3) {
    throw FormatError(
        "invalid_graph", "tensor",
        fmt::format("must be [layer, call, output], got a list of {}",
                    entries.size()));
  }
  return {entries[0].as_string(), entries[1].as_int(), entries[2].as_int(), 0};
}

bool holds_tensor(const Config& value) {
  if (is_tensor_list(value) || keras_history(value) != nullptr) return true;
  if (value.is_list()) {
    return std::ranges::any_of(value.as_list(), holds_tensor);
  }
  if (!value.is_object()) return false;
  return std::ranges::any_of(value.as_object(), [](const auto& entry) {
    return holds_tensor(entry.second);
  });
}

// Sorted by keys, as Keras flattens dictionaries.
template <class Visit>
void for_each_sorted(const Config& object, Visit visit) {
  std::map<std::string_view, const Config*> entries;
  for (const auto& [key, value] : object.as_object()) entries[key] = &value;
  for (const auto& [key, value] : entries) visit(key, *value);
}

void append(KerasCall& call, std::string_view name, const Config& value);

void append_further(KerasCall& call, const Config& arguments) {
  for (const auto& [key, value] : arguments.as_object()) {
    append(call, key, value);
  }
}

void append(KerasCall& call, std::string_view name, const Config& value) {
  const std::string named(name);
  if (const Config* history = keras_history(value)) {
    call.push_back({named, tensor_of(*history), {}});
  } else if (is_tensor_list(value)) {
    const Config::List& list = value.as_list();
    if (list[0].as_string() == kConstant) {
      call.push_back({named, std::nullopt, list[2]});
    } else {
      call.push_back({named, tensor_of(value), {}});
    }
    if (list.size() == 4 && !list[3].is_null()) append_further(call, list[3]);
  } else if (!holds_tensor(value)) {
    call.push_back({named, std::nullopt, value});
  } else if (value.is_list()) {
    for (const Config& entry : value.as_list()) append(call, name, entry);
  } else {
    for_each_sorted(value, [&](std::string_view, const Config& entry) {
      append(call, name, entry);
    });
  }
}

KerasCall parse_call(const Config& node) {
  KerasCall call;
  const Config* args = node.is_object() ? node.find("args") : nullptr;
  if (args == nullptr) {
    if (!holds_tensor(node)) {
      throw FormatError("invalid_graph", "inbound_nodes",
                        "calls must be on [layer, call, output]");
    }
    append(call, "", node);
    return call;
  }
  for (const Config& argument : args->as_list()) append(call, "", argument);
  if (const Config* further = node.find("kwargs")) {
    append_further(call, *further);
  }
  return call;
}

void append(std::vector<KerasTensor>& tensors, const Config& value) {
  if (is_tensor_list(value)) {
    tensors.push_back(tensor_of(value));
  } else if (value.is_object()) {
    for_each_sorted(value, [&](std::string_view, const Config& entry) {
      append(tensors, entry);
    });
  } else {
    for (const Config& entry : value.as_list()) append(tensors, entry);
  }
}

}  // namespace

std::vector<KerasCall> parse_calls(const Config& inbound_nodes) {
  // A call on one tensor may be written without enclosing lists.
  if (is_tensor_list(inbound_nodes)) return {parse_call(inbound_nodes)};
  std::vector<KerasCall> calls;
  for (const Config& node : inbound_nodes.as_list()) {
    const bool empty = node.is_list() && node.as_list().empty();
    if (!empty) calls.push_back(parse_call(node));
  }
  return calls;
}

std::vector<KerasTensor> parse_tensors(const Config& tensors) {
  std::vector<KerasTensor> result;
  append(result, tensors);
  return result;
}

}  // namespace octet::io
