#include "attributes.h"

#include <algorithm>

namespace octet::io {

static onnx::AttributeProto& set_attribute(
    onnx::NodeProto& node, const char* name,
    onnx::AttributeProto::AttributeType type) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.name() != name) continue;
    attribute.Clear();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
  }
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node,
                                           const std::string& name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

int64_t integer_of(const onnx::NodeProto& node, const char* name,
                   int64_t otherwise) {
  const auto* attribute = find_attribute(node, name);
  return attribute == nullptr ? otherwise : attribute->i();
}

float number_of(const onnx::NodeProto& node, const char* name,
                float otherwise) {
  const auto* attribute = find_attribute(node, name);
  return attribute == nullptr ? otherwise : attribute->f();
}

std::string text_of(const onnx::NodeProto& node, const char* name,
                    const std::string& otherwise) {
  const auto* attribute = find_attribute(node, name);
  return attribute == nullptr ? otherwise : attribute->s();
}

std::vector<int64_t> integers_of(const onnx::NodeProto& node,
                                 const char* name) {
  const auto* attribute = find_attribute(node, name);
  if (attribute == nullptr) return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

void set_integer(onnx::NodeProto& node, const char* name, int64_t value) {
  set_attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}

void set_integers(onnx::NodeProto& node, const char* name,
                  const std::vector<int64_t>& values) {
  auto& attribute = set_attribute(node, name, onnx::AttributeProto::INTS);
  attribute.mutable_ints()->Assign(values.begin(), values.end());
}

void set_number(onnx::NodeProto& node, const char* name, float value) {
  set_attribute(node, name, onnx::AttributeProto::FLOAT).set_f(value);
}

void set_text(onnx::NodeProto& node, const char* name, const char* value) {
  set_attribute(node, name, onnx::AttributeProto::STRING).set_s(value);
}

void remove_attribute(onnx::NodeProto& node, std::string_view name) {
  auto& attributes = *node.mutable_attribute();
  attributes.erase(
      std::remove_if(attributes.begin(), attributes.end(),
                     [&](const auto& each) { return each.name() == name; }),
      attributes.end());
}

}  // namespace octet::io
