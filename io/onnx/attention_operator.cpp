// expand_attention()
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph_passes.h"
#include "run/constants.h"

namespace octet::io {
namespace {

using onnx::NodeProto;
using onnx::TensorProto;
using Inputs = std::vector<std::string>;

constexpr int kMask = 3;  // index of the input
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLowest = std::numeric_limits<float>::lowest();

/// Parameters of the expansion.
struct Form {
  int64_t heads = 0;  ///< of features [n,t,heads*d]; 0: of heads [n,heads,t,d]
  int64_t key_heads = 0;  ///< number of key and value heads
  int64_t group = 1;      ///< query heads per key head
  int32_t mask_type = TensorProto::FLOAT;
  bool constant_mask = false;
};

/// Inserts the nodes that replace an operator.
class Expansion {
 public:
  Expansion(OnnxGraph& graph, OnnxNode& node) : graph_(graph), node_(node) {}

  void run(const Form& form) {
    const std::string query = by_heads(node_.input(0), form.heads);
    const std::string key = keys(1, form);
    std::string scores = add("MatMul", {query, transposed(key, {0, 1, 3, 2})});
    scores = add("Mul", {scores, scale(query)});
    // The mask of visible keys, if a query may have none.
    std::string seen;
    if (const std::string& mask = node_.input(kMask); !mask.empty()) {
      const bool truth = form.mask_type == TensorProto::BOOL;
      if (form.constant_mask) {
        scores = truth ? where(mask, scores, -kInfinity)
                       : add("Add", {scores, mask});
      } else if (truth) {
        seen = mask;
        scores = where(mask, scores, kLowest);
      } else {
        const std::string lowest = number(kLowest);
        scores = add("Max", {add("Add", {scores, mask}), lowest});
        seen = add("Greater", {scores, lowest});
      }
    }
    if (integer_of(node_, "is_causal", 0) != 0) {
      scores = where(causal(scores), scores, -kInfinity);
    }
    NodeProto softmax = node("Softmax", {scores});
    set_integer(softmax, "axis", -1);
    std::string weights = add(std::move(softmax));
    if (!seen.empty()) weights = where(seen, weights, 0);
    NodeProto last = node("MatMul", {weights, keys(2, form)});
    last.set_name(node_.proto.name());
    if (form.heads != 0) {
      last = node("Reshape", {transposed(add(std::move(last)), {0, 2, 1, 3}),
                              integers({0, 0, -1})});
    }
    graph_.replace(node_, last, {});
  }

 private:
  std::string unused(const char* what) {
    return graph_.unique_name(name_of(node_) + "/" + what);
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
    graph_.insert_before(node_, std::move(made), node_.origin);
    return output;
  }
  std::string add(const char* op, const Inputs& inputs) {
    return add(node(op, inputs));
  }

  std::string integers(const std::vector<int64_t>& values) {
    TensorProto tensor;
    tensor.set_data_type(TensorProto::INT64);
    tensor.add_dims(static_cast<int64_t>(values.size()));
    tensor.mutable_int64_data()->Assign(values.begin(), values.end());
    return graph_.add_tensor(name_of(node_) + "/integers", std::move(tensor));
  }
  std::string number(float value) {
    return graph_.add_tensor(name_of(node_) + "/number", {}, {value});
  }

  std::string transposed(const std::string& x,
                         const std::vector<int64_t>& order) {
    NodeProto made = node("Transpose", {x});
    set_integers(made, "perm", order);
    return add(std::move(made));
  }
  std::string by_heads(const std::string& x, int64_t heads) {
    if (heads == 0) return x;
    return transposed(add("Reshape", {x, integers({0, 0, heads, -1})}),
                      {0, 2, 1, 3});
  }
  /// Keys or values, each head repeated for its group of query heads.
  std::string keys(int i, const Form& form) {
    const std::string x =
        by_heads(node_.input(i), form.heads == 0 ? 0 : form.key_heads);
    if (form.group == 1) return x;
    std::vector<int64_t> heads;
    for (int64_t head = 0; head < form.key_heads * form.group; ++head) {
      heads.push_back(head / form.group);
    }
    NodeProto made = node("Gather", {x, integers(heads)});
    set_integer(made, "axis", 1);
    return add(std::move(made));
  }
  std::string cast(const std::string& x, int32_t type) {
    NodeProto made = node("Cast", {x});
    set_integer(made, "to", type);
    return add(std::move(made));
  }

  /// The attribute, or 1 / sqrt(d).
  std::string scale(const std::string& query) {
    const auto* given = find_attribute(node_, "scale");
    if (given != nullptr) return number(given->f());
    const std::string size =
        add("Gather", {add("Shape", {query}), integers({3})});
    return add("Reciprocal", {add("Sqrt", {cast(size, TensorProto::FLOAT)})});
  }

  /// Mask of visible keys: those up to the query's position.
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
    set_integer(lower, "upper", 0);
    return cast(add(std::move(lower)), TensorProto::BOOL);
  }
  std::string where(const std::string& seen, const std::string& x,
                    float otherwise) {
    return add("Where", {seen, x, number(otherwise)});
  }

  OnnxGraph& graph_;
  OnnxNode& node_;
};

bool is_plain(const OnnxNode& node) {
  if (!is_op(node, "Attention") || node.input_size() < kMask ||
      node.output(0).empty()) {
    return false;
  }
  for (int i = 0; i < node.input_size(); ++i) {
    if (i != kMask && node.input(i).empty() != (i > kMask)) return false;
  }
  for (int i = 1; i < node.output_size(); ++i) {
    if (!node.output(i).empty()) return false;
  }
  const bool masked = !node.input(kMask).empty();
  return number_of(node, "softcap", 0) == 0 &&
         std::isfinite(number_of(node, "scale", 0)) &&
         !(masked && integer_of(node, "is_causal", 0) != 0);
}

/// Whether a query sees no key.
bool hides_a_row(const TensorProto& tensor) {
  const Tensor mask = run::constant(tensor);
  const int64_t row = mask.shape().rank() == 0 ? 1 : mask.shape()[-1];
  const auto any = [&](auto values, auto is_seen) {
    for (int64_t i = 0; i < mask.size(); i += row) {
      const auto* first = values.data() + i;
      if (std::none_of(first, first + row, is_seen)) return true;
    }
    return false;
  };
  return mask.dtype() == DType::boolean
             ? any(mask.data<bool>(), [](bool v) { return v; })
             : any(mask.f32(), [](float v) { return v > kLowest; });
}

/// Returns false for head counts that do not match or exceed INT16_MAX.
bool read_heads(const OnnxGraph& graph, const OnnxNode& node, Form& form) {
  form.heads = integer_of(node, "q_num_heads", 0);
  form.key_heads = integer_of(node, "kv_num_heads", 0);
  int64_t heads = form.heads;
  if (const auto dims = graph.dims(node.input(0))) {
    const size_t rank = dims->size();
    if ((rank != 3 && rank != 4) || (rank == 3 && heads == 0)) return false;
    if (rank == 4) {
      const auto keys = graph.dims(node.input(1));
      heads = (*dims)[1];
      form.heads = 0;
      form.key_heads = keys && keys->size() == 4 ? (*keys)[1] : heads;
    }
  }
  if (heads == form.key_heads) return form.heads >= 0;
  if (form.key_heads < 1 || heads < 1 || heads > INT16_MAX ||
      heads % form.key_heads != 0) {
    return false;
  }
  form.group = heads / form.key_heads;
  return true;
}

/// Returns nothing if the operator stays unchanged.
std::optional<Form> form_of(const OnnxGraph& graph, const OnnxNode& node) {
  if (!is_plain(node)) return {};
  Form form;
  if (!read_heads(graph, node, form)) return {};
  const std::string& mask = node.input(kMask);
  if (mask.empty()) return form;
  form.mask_type = graph.element_type(mask);
  if (form.mask_type != TensorProto::FLOAT &&
      form.mask_type != TensorProto::BOOL) {
    return {};
  }
  if (const TensorProto* constant = graph.tensor(mask)) {
    form.constant_mask = true;
    if (hides_a_row(*constant)) return {};
  }
  return form;
}

}  // namespace

void expand_attention(OnnxGraph& graph) {
  constexpr int64_t kOpset = 23;
  if (graph.opset() != kOpset) return;
  for (OnnxNode& node : graph.nodes()) {
    if (const auto form = form_of(graph, node)) {
      Expansion(graph, node).run(*form);
    }
  }
}

}  // namespace octet::io
