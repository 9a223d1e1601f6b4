#include "attention_operator.h"

#include <limits>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "../bounds.h"
#include "../graph_view.h"
#include "../tensors.h"

namespace octet::io::importing {
namespace {

using onnx::NodeProto;
using onnx::TensorProto;
using Inputs = std::vector<std::string>;

constexpr int kMask = 3;  // an input

std::string input(const NodeProto& node, int i) {
  return i < node.input_size() ? node.input(i) : std::string();
}

int64_t integer(const NodeProto& node, const char* name) {
  const auto* attribute = find_attribute(node, name);
  return attribute == nullptr ? 0 : attribute->i();
}

void set(NodeProto& node, const char* name, int64_t value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}

/// The nodes that one operator becomes.
class Expansion {
 public:
  Expansion(onnx::GraphProto& graph, std::unordered_set<std::string>& names,
            const NodeProto& node)
      : graph_(graph), names_(names), node_(node) {}

  void run(int32_t mask_type) {
    // Features [n,t,heads*d], else heads [n,heads,t,d].
    const int64_t heads = integer(node_, "q_num_heads");
    const auto operand = [&](int i) {
      return heads == 0 ? node_.input(i) : by_heads(node_.input(i), heads);
    };
    const std::string query = operand(0);
    std::string scores =
        add("MatMul", {query, transposed(operand(1), {0, 1, 3, 2})});
    scores = add("Mul", {scores, scale(query)});
    if (const std::string mask = input(node_, kMask); !mask.empty()) {
      scores = mask_type == TensorProto::BOOL ? where(mask, scores)
                                              : add("Add", {scores, mask});
    }
    if (integer(node_, "is_causal") != 0) {
      scores = where(causal(scores), scores);
    }
    NodeProto softmax = node("Softmax", {scores});
    set(softmax, "axis", -1);
    NodeProto product = node("MatMul", {add(std::move(softmax)), operand(2)});
    product.set_name(node_.name());
    if (heads == 0) {
      product.set_output(0, node_.output(0));
      graph_.add_node()->Swap(&product);
      return;
    }
    NodeProto tokens =
        node("Reshape", {transposed(add(std::move(product)), {0, 2, 1, 3}),
                         integers({0, 0, -1})});
    tokens.set_output(0, node_.output(0));
    graph_.add_node()->Swap(&tokens);
  }

 private:
  std::string unused(const std::string& what) {
    const std::string base =
        (node_.name().empty() ? node_.output(0) : node_.name()) + "/" + what;
    std::string name = base;
    for (int i = 1; !names_.insert(name).second; ++i) {
      name = base + "_" + std::to_string(i);
    }
    return name;
  }

  NodeProto node(const char* op, const Inputs& inputs) {
    NodeProto made;
    made.set_op_type(op);
    made.set_name(unused(op));
    for (const std::string& name : inputs) made.add_input(name);
    made.add_output(made.name());
    return made;
  }
  std::string add(NodeProto made) {
    std::string output = made.output(0);
    graph_.add_node()->Swap(&made);
    return output;
  }
  std::string add(const char* op, const Inputs& inputs) {
    return add(node(op, inputs));
  }

  TensorProto& initializer(const char* what, int32_t type) {
    TensorProto& tensor = *graph_.add_initializer();
    tensor.set_name(unused(what));
    tensor.set_data_type(type);
    return tensor;
  }
  std::string integers(const std::vector<int64_t>& values) {
    TensorProto& tensor = initializer("integers", TensorProto::INT64);
    tensor.add_dims(static_cast<int64_t>(values.size()));
    for (const int64_t value : values) tensor.add_int64_data(value);
    return tensor.name();
  }
  std::string number(float value) {
    TensorProto& tensor = initializer("number", TensorProto::FLOAT);
    tensor.add_float_data(value);
    return tensor.name();
  }

  std::string transposed(const std::string& x,
                         const std::vector<int64_t>& order) {
    NodeProto made = node("Transpose", {x});
    auto* attribute = made.add_attribute();
    attribute->set_name("perm");
    attribute->set_type(onnx::AttributeProto::INTS);
    for (const int64_t axis : order) attribute->add_ints(axis);
    return add(std::move(made));
  }
  std::string by_heads(const std::string& x, int64_t heads) {
    return transposed(add("Reshape", {x, integers({0, 0, heads, -1})}),
                      {0, 2, 1, 3});
  }
  std::string cast(const std::string& x, int32_t type) {
    NodeProto made = node("Cast", {x});
    set(made, "to", type);
    return add(std::move(made));
  }

  /// Of the attribute, or 1 / sqrt(d).
  std::string scale(const std::string& query) {
    const auto* given = find_attribute(node_, "scale");
    if (given != nullptr) return number(given->f());
    const std::string size =
        add("Gather", {add("Shape", {query}), integers({3})});
    return add("Reciprocal", {add("Sqrt", {cast(size, TensorProto::FLOAT)})});
  }

  /// Which keys each query sees: those up to its own place.
  std::string causal(const std::string& scores) {
    const std::string sizes = add(
        "Slice",
        {add("Shape", {scores}), integers({2}), integers({4}), integers({0})});
    NodeProto ones = node("ConstantOfShape", {sizes});
    auto* attribute = ones.add_attribute();
    attribute->set_name("value");
    attribute->set_type(onnx::AttributeProto::TENSOR);
    attribute->mutable_t()->set_data_type(TensorProto::FLOAT);
    attribute->mutable_t()->add_dims(1);
    attribute->mutable_t()->add_float_data(1);
    NodeProto lower = node("Trilu", {add(std::move(ones))});
    set(lower, "upper", 0);
    return cast(add(std::move(lower)), TensorProto::BOOL);
  }
  std::string where(const std::string& seen, const std::string& scores) {
    return add("Where",
               {seen, scores, number(-std::numeric_limits<float>::infinity())});
  }

  onnx::GraphProto& graph_;
  std::unordered_set<std::string>& names_;
  const NodeProto& node_;
};

bool is_plain(const NodeProto& node) {
  if (!is_standard_domain(node.domain()) || node.op_type() != "Attention" ||
      node.input_size() < kMask) {
    return false;
  }
  for (int i = kMask + 1; i < node.input_size(); ++i) {
    if (!node.input(i).empty()) return false;
  }
  for (int i = 1; i < node.output_size(); ++i) {
    if (!node.output(i).empty()) return false;
  }
  const auto* cap = find_attribute(node, "softcap");
  return (cap == nullptr || cap->f() == 0) &&
         integer(node, "q_num_heads") == integer(node, "kv_num_heads");
}

}  // namespace

void expand_attention(onnx::GraphProto& graph) {
  std::unordered_set<std::string> names;
  std::unordered_map<std::string, int32_t> mask_types;  // by output
  for (const auto& each : graph.input()) names.insert(each.name());
  for (const auto& each : graph.initializer()) names.insert(each.name());
  const GraphView view(graph);
  for (const NodeProto& node : graph.node()) {
    names.insert(node.name());
    names.insert(node.output().begin(), node.output().end());
    if (!is_plain(node)) continue;
    const std::string mask = input(node, kMask);
    const int32_t type =
        mask.empty() ? TensorProto::FLOAT : view.element_type(mask);
    if (type == TensorProto::FLOAT || type == TensorProto::BOOL) {
      mask_types[node.output(0)] = type;
    }
  }
  if (mask_types.empty()) return;
  google::protobuf::RepeatedPtrField<NodeProto> nodes;
  nodes.Swap(graph.mutable_node());
  for (NodeProto& node : nodes) {
    const auto type =
        mask_types.find(node.output_size() > 0 ? node.output(0) : "");
    if (type == mask_types.end()) {
      graph.add_node()->Swap(&node);
    } else {
      Expansion(graph, names, node).run(type->second);
    }
  }
}

}  // namespace octet::io::importing
