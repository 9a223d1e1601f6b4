#include "schemas.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <onnx/defs/shape_inference.h>

#include <octet/runtime/error.h>

#include "onnx/graph/operator_traits.h"
#include "onnx/graph/opsets.h"
#include "onnx/reference/operators.h"
#include "proto_limits.h"
#include "shape_inference.h"

namespace octet::io {
namespace {

using onnx::InferenceContext;
using onnx::OpSchema;
using Rule = void (*)(InferenceContext&);

constexpr int kAny = -1;        // any number of inputs or outputs
constexpr int kUnchanged = -2;  // as in the preceding schema

// An operator since a version. Attributes are "name:type" with the types i, f,
// s and, for lists, I, F; "!" marks a required attribute. If the inputs are
// unchanged, the attributes are added to the preceding ones.
struct Entry {
  std::string_view domain;
  const char* name;
  int since;
  int fewest_inputs, most_inputs;
  int most_outputs;
  const char* attributes;
  Rule rule;  // null: unchanged
};

constexpr const char* kAttention =
    "is_causal:i kv_num_heads:i q_num_heads:i qk_matmul_output_mode:i scale:f "
    "softcap:f softmax_precision:i";

// Source: onnx's change log, docs/Changelog.md, and for com.microsoft ONNX
// Runtime's docs/ContribOperators.md.
constexpr Entry kEntries[] = {
    {"", "Attention", 23, 3, 6, 4, kAttention, nullptr},
    {"", "Attention", 24, 3, 7, 4, kAttention, nullptr},
    {"", "Attention", 25, kUnchanged, 0, 0,
     "left_window_size:i right_window_size:i", nullptr},
    {"", "AveragePool", 19, kUnchanged, 0, 0, "dilations:I", rules::pool},
    {"", "BitwiseAnd", 18, 2, 2, 1, "", rules::broadcast},
    {"", "BitwiseNot", 18, 1, 1, 1, "", rules::keep},
    {"", "BitwiseOr", 18, 2, 2, 1, "", rules::broadcast},
    {"", "BitwiseXor", 18, 2, 2, 1, "", rules::broadcast},
    {"", "Cast", 19, kUnchanged, 0, 0, "saturate:i round_mode:s", nullptr},
    {"", "CastLike", 19, kUnchanged, 0, 0, "saturate:i round_mode:s", nullptr},
    {"", "Col2Im", 18, 3, 3, 1, "dilations:I pads:I strides:I", nullptr},
    {"", "DFT", 17, 1, 2, 1, "axis:i inverse:i onesided:i", nullptr},
    {"", "DFT", 20, 1, 3, 1, "inverse:i onesided:i", nullptr},
    {"", "DequantizeLinear", 19, 2, 3, 1, "axis:i block_size:i output_dtype:i",
     rules::dequantize},
    {"", "Gelu", 20, 1, 1, 1, "approximate:s", rules::keep},
    {"", "GridSample", 20, 2, 2, 1, "align_corners:i mode:s padding_mode:s",
     nullptr},
    {"", "GroupNormalization", 18, 3, 3, 1,
     "num_groups:i! epsilon:f stash_type:i", rules::keep},
    {"", "Mish", 18, 1, 1, 1, "", rules::keep},
    {"", "Pad", 18, 2, 4, 1, "mode:s", rules::pad},
    {"", "QuantizeLinear", 19, 2, 3, 1,
     "axis:i saturate:i block_size:i output_dtype:i precision:i",
     rules::quantize},
    {"", "RMSNormalization", 23, 2, 2, 1, "axis:i epsilon:f stash_type:i",
     rules::keep},
    {"", "Range", 27, kUnchanged, 0, 0, "stash_type:i", nullptr},
    {"", "Resize", 18, 1, 4, 1,
     "antialias:i axes:I coordinate_transformation_mode:s cubic_coeff_a:f "
     "exclude_outside:i extrapolation_value:f keep_aspect_ratio_policy:s "
     "mode:s nearest_mode:s",
     rules::resize},
    {"", "SpaceToDepth", 28, kUnchanged, 0, 0, "mode:s", nullptr},
    {"", "Split", 18, 1, 2, kAny, "axis:i num_outputs:i", rules::split},
    {"", "Swish", 24, 1, 1, 1, "alpha:f", rules::keep},
    {kMicrosoftDomain, "DequantizeLinear", 1, 2, 3, 1, "axis:i",
     rules::dequantize},
    {kMicrosoftDomain, "QGemm", 1, 6, 9, 1, "alpha:f transA:i transB:i",
     rules::qgemm},
    {kMicrosoftDomain, "QLinearAdd", 1, 7, 8, 1, "", rules::qlinear_binary},
    {kMicrosoftDomain, "QLinearAveragePool", 1, 4, 5, 1,
     "auto_pad:s ceil_mode:i channels_last:i count_include_pad:i "
     "kernel_shape:I! pads:I strides:I",
     rules::pool},
    {kMicrosoftDomain, "QLinearConcat", 1, 4, kAny, 1, "axis:i!",
     rules::qlinear_concat},
    {kMicrosoftDomain, "QLinearGlobalAveragePool", 1, 5, 5, 1,
     "channels_last:i", rules::global_pool},
    {kMicrosoftDomain, "QLinearLeakyRelu", 1, 4, 5, 1, "alpha:f", rules::keep},
    {kMicrosoftDomain, "QLinearMul", 1, 7, 8, 1, "", rules::qlinear_binary},
    {kMicrosoftDomain, "QLinearSigmoid", 1, 4, 5, 1, "", rules::keep},
    {kMicrosoftDomain, "QLinearSoftmax", 1, 5, 5, 1, "axis:i opset:i",
     rules::keep},
    {kMicrosoftDomain, "QuantizeLinear", 1, 2, 3, 1, "axis:i", rules::quantize},
};

onnx::AttributeProto::AttributeType attribute_type(char letter) {
  using T = onnx::AttributeProto;
  switch (letter) {
    case 'i':
      return T::INT;
    case 'f':
      return T::FLOAT;
    case 's':
      return T::STRING;
    case 'I':
      return T::INTS;
    default:
      return T::FLOATS;
  }
}

void add_attributes(OpSchema& schema, std::string_view list) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(' '), list.size());
    const std::string_view entry = list.substr(0, end);
    const size_t colon = entry.find(':');
    schema.Attr(std::string(entry.substr(0, colon)), "",
                attribute_type(entry[colon + 1]), entry.ends_with('!'));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

// Types are not constrained; consumers check them.
void add_parameters(OpSchema& schema, int fewest, int most, bool inputs) {
  const bool any = most == kAny;
  for (int i = 0; i < (any ? 1 : most); ++i) {
    const std::string type = (inputs ? "I" : "O") + std::to_string(i);
    const auto option = any          ? OpSchema::Variadic
                        : i < fewest ? OpSchema::Single
                                     : OpSchema::Optional;
    if (inputs) {
      schema.Input(i, type, "", type, option, !any, any ? fewest : 1);
    } else {
      schema.Output(i, type, "", type, option, !any, any ? fewest : 1);
    }
    schema.TypeConstraint(type, OpSchema::all_tensor_types_with_bfloat(), "");
  }
}

OpSchema make_schema(const Entry& entry, const OpSchema* before) {
  OpSchema schema;
  const bool changes = entry.fewest_inputs == kUnchanged && before != nullptr;
  if (changes) {
    schema = *before;
  } else {
    schema.SetName(entry.name).SetDomain(std::string(entry.domain));
    add_parameters(schema, entry.fewest_inputs, entry.most_inputs, true);
    add_parameters(schema, 1, entry.most_outputs, false);
  }
  schema.SinceVersion(entry.since);
  add_attributes(schema, entry.attributes);
  if (entry.rule != nullptr) schema.TypeAndShapeInferenceFunction(entry.rule);
  if (!changes) schema.Finalize();
  return schema;
}

// Accepts any inputs, outputs and attributes, without inference.
OpSchema unknown_schema() {
  OpSchema schema;
  schema.SetName("unknown").SinceVersion(1).AllowUncheckedAttributes();
  std::vector<std::string> types = OpSchema::all_tensor_types_with_bfloat();
  schema.Input(0, "inputs", "", "T", OpSchema::Variadic, false, 0);
  schema.Output(0, "outputs", "", "T", OpSchema::Variadic, false, 0);
  schema.TypeConstraint("T", std::move(types), "");
  schema.Finalize();
  return schema;
}

class Schemas : public onnx::ISchemaRegistry {
 public:
  Schemas() : unknown_(unknown_schema()) {
    for (const OpSchema& schema :
         onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
      add_safer(schema);
    }
    for (const Entry& entry : kEntries) {
      const OpSchema* before =
          find(entry.name, entry.since, std::string(entry.domain));
      add(make_schema(entry, before));
    }
    for (const std::string_view op : reductions()) {
      if (!takes_axes_as_input(op, 18)) continue;
      const std::string name(op);
      add(make_schema({"", name.c_str(), 18, 1, 2, 1,
                       "keepdims:i noop_with_empty_axes:i", rules::reduce},
                      nullptr));
    }
  }

  const OpSchema* GetSchema(const std::string& name, const int version,
                            const std::string& domain) const override {
    const OpSchema* schema = find(name, version, domain);
    return schema == nullptr ? &unknown_ : schema;
  }

  // Returns null for unknown operators.
  const OpSchema* find(const std::string& name, int version,
                       const std::string& domain) const {
    const OpSchema* onnxs = of_onnx(name, version, domain);
    const auto found = own_.find({domain, name});
    if (found == own_.end()) return onnxs;
    auto next = found->second.upper_bound(version);
    if (next == found->second.begin()) return onnxs;
    const OpSchema& own = std::prev(next)->second;
    const bool newer =
        onnxs == nullptr || own.SinceVersion() >= onnxs->SinceVersion();
    return newer ? &own : onnxs;
  }

 private:
  // Returns onnx's schema of a standard operator that Octet runs. onnx's
  // inference for the others is less complete and less safe.
  static const OpSchema* of_onnx(const std::string& name, int version,
                                 const std::string& domain) {
    onnx::NodeProto node;
    node.set_op_type(name);
    const bool runs = name == "Constant" || run::find_operator(node) != nullptr;
    if (!domain.empty() || !runs) return nullptr;
    return onnx::OpSchemaRegistry::Instance()->GetSchema(name, version, domain);
  }

  void add(OpSchema schema) {
    auto& versions = own_[{schema.domain(), schema.Name()}];
    versions.insert_or_assign(schema.SinceVersion(), std::move(schema));
  }

  void add_safer(const OpSchema& schema) {
    if (!schema.domain().empty()) return;
    const auto rule = rules::safer(schema);
    const bool propagates = schema.has_data_propagation_function();
    if (!rule && !propagates) return;
    OpSchema safer = schema;
    if (rule) safer.TypeAndShapeInferenceFunction(rule);
    if (propagates) {
      safer.PartialDataPropagationFunction(rules::safer_propagation(schema));
    }
    add(std::move(safer));
  }

  OpSchema unknown_;
  std::map<std::pair<std::string, std::string>, std::map<int, OpSchema>> own_;
};

const Schemas& registry() {
  static const Schemas schemas;
  return schemas;
}

// Returns null for unknown operators.
const OpSchema* schema_of(const onnx::NodeProto& node, int64_t opset) {
  const bool standard = is_standard_domain(node.domain());
  return registry().find(node.op_type(), standard ? static_cast<int>(opset) : 1,
                         standard ? std::string() : node.domain());
}

}  // namespace

const onnx::ISchemaRegistry& schemas() { return registry(); }

bool is_known(const onnx::NodeProto& node, int64_t opset) {
  return schema_of(node, opset) != nullptr;
}

void check_arity(const onnx::GraphProto& graph, int64_t opset) {
  for (const onnx::NodeProto& node : graph.node()) {
    const OpSchema* schema = schema_of(node, opset);
    if (schema == nullptr) schema = schema_of(node, kLastOpset);
    if (schema == nullptr || (node.input_size() >= schema->min_input() &&
                              node.output_size() >= schema->min_output())) {
      continue;
    }
    throw FormatError(
        "invalid_graph", describe(node),
        fmt::format("must have at least {} inputs and {} outputs, got {} and "
                    "{}",
                    schema->min_input(), schema->min_output(),
                    node.input_size(), node.output_size()));
  }
}

bool can_infer_all(const onnx::GraphProto& graph, int64_t opset) {
  return std::ranges::all_of(graph.node(), [&](const onnx::NodeProto& node) {
    const OpSchema* schema = schema_of(node, opset);
    return schema != nullptr &&
           (schema->has_type_and_shape_inference_function() ||
            schema->HasFunction()) &&
           std::ranges::all_of(node.attribute(), [&](const auto& attribute) {
             return (!attribute.has_g() ||
                     can_infer_all(attribute.g(), opset)) &&
                    std::ranges::all_of(attribute.graphs(), [&](const auto& g) {
                      return can_infer_all(g, opset);
                    });
           });
  });
}

}  // namespace octet::io
