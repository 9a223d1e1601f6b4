// Attributes of ONNX nodes. Internal to io/onnx.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

namespace octet::io {

/// Returns an attribute of a node, or null.
const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node,
                                           const std::string& name);

/// Return the value of an attribute, `otherwise` or an empty list if absent.
int64_t integer_of(const onnx::NodeProto& node, const char* name,
                   int64_t otherwise);
float number_of(const onnx::NodeProto& node, const char* name, float otherwise);
std::string text_of(const onnx::NodeProto& node, const char* name,
                    const std::string& otherwise);
std::vector<int64_t> integers_of(const onnx::NodeProto& node, const char* name);

/// Set an attribute, which is added if it is missing.
void set_integer(onnx::NodeProto& node, const char* name, int64_t value);
void set_number(onnx::NodeProto& node, const char* name, float value);
void set_integers(onnx::NodeProto& node, const char* name,
                  const std::vector<int64_t>& values);
void set_text(onnx::NodeProto& node, const char* name, const char* value);

void remove_attribute(onnx::NodeProto& node, std::string_view name);

}  // namespace octet::io
