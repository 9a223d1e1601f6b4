#include "batch_axis.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "../proto_limits.h"
#include "../tensors.h"
#include "importer.h"
#include "refused_nodes.h"
#include "spelling.h"

namespace octet::io::importing {
namespace {

using Axes = std::vector<int64_t>;

/// `words` begins and ends with a space; single spaces separate its words.
bool is_among(const std::string& op, std::string_view words) {
  return words.find(" " + op + " ") != std::string_view::npos;
}

/// Elementwise operators, with broadcasting.
constexpr std::string_view kPointwise =
    " Abs Add And Cast Ceil Celu Clip Cos DequantizeLinear Div Dropout Elu "
    "Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish "
    "Identity LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mul Neg Not Or "
    "PRelu Pow QuantizeLinear Reciprocal Relu Round Selu Sigmoid Sign Sin "
    "Softplus Softsign Sqrt Sub Sum Swish Tanh ThresholdedRelu Where ";
/// Operators with an attribute `axis`.
constexpr std::string_view kAlongAxis =
    " ArgMax ArgMin Concat Gather Hardmax LayerNormalization LogSoftmax "
    "Softmax Split ";

Axes first_axes(int64_t count) {
  Axes axes(static_cast<size_t>(count));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

/// Adds the batch axis to inputs, and rewrites in graph order the nodes that
/// depend on them.
class BatchAxis {
 public:
  explicit BatchAxis(OnnxGraph& graph) : graph_(graph) {}

  void run() {
    for (const OnnxTensorInfo& input : graph_.inputs()) {
      Axes& sizes = inputs_[input.name];
      for (const OnnxDim& dim : input.shape.value_or(std::vector<OnnxDim>())) {
        const auto* size = std::get_if<int64_t>(&dim);
        sizes.push_back(size == nullptr ? -1 : *size);
      }
      if (sizes.size() == 1 && sizes[0] > 0) added_.insert(input.name);
    }
    if (added_.empty()) return;
    for (const OnnxTensorInfo& input : graph_.inputs()) {
      const Axes& sizes = inputs_[input.name];
      if (sizes.empty() || sizes[0] > 0) continue;
      throw RefusedNodes(
          "unsupported_model", fmt::format("input '{}'", printable(input.name)),
          fmt::format("has a dynamic batch, {}, but another input has no batch "
                      "axis",
                      to_text(input.shape)));
    }
    for (OnnxNode& node : graph_.nodes()) {
      if (!node.gone) convert(node);
    }
    for (const std::string& value : added_) graph_.add_batch_axis(value);
  }

 private:
  bool is_added(const std::string& value) const {
    return added_.contains(value);
  }

  [[noreturn]] void refuse(const OnnxNode& node,
                           const std::string& reason) const {
    throw RefusedNodes("unsupported_operator", describe(node.proto),
                       "inputs without a batch axis: " + reason);
  }

  Axes shape(const OnnxNode& node, const std::string& value) const {
    if (const Constant* constant = graph_.constant(value)) {
      const auto dims = constant->value.shape().dims();
      return {dims.begin(), dims.end()};
    }
    const auto input = inputs_.find(value);
    if (input != inputs_.end()) return input->second;
    auto dims = graph_.stated(value);
    if (!dims) refuse(node, "the shape of '" + printable(value) + "' is open");
    return *dims;
  }

  int64_t rank(const OnnxNode& node, const std::string& value) const {
    return std::ssize(shape(node, value));
  }

  /// Returns the axes in the constant input `input`, or in the attribute `axes`
  /// if that input is absent.
  Axes axes_of(const OnnxNode& node, int input) const {
    if (node.proto.input_size() <= input || node.proto.input(input).empty()) {
      return checked(node, integers_of(node.proto, "axes"));
    }
    const Constant* axes = graph_.constant(node.proto.input(input));
    if (axes != nullptr && axes->value.dtype() == DType::i64) {
      const auto values = axes->value.data<int64_t>();
      return checked(node, {values.begin(), values.end()});
    }
    if (axes != nullptr && axes->value.dtype() == DType::i32) {
      const auto values = axes->value.data<int32_t>();
      return checked(node, {values.begin(), values.end()});
    }
    refuse(node, "axes must be constant integers");
  }

  /// Returns the axes; refuses those beyond any rank, which could overflow.
  Axes checked(const OnnxNode& node, Axes axes) const {
    for (const int64_t axis : axes) {
      if (axis < -Shape::kMaxRank || axis > Shape::kMaxRank) {
        refuse(node, fmt::format("axis {} is out of range", axis));
      }
    }
    return axes;
  }

  std::string new_constant(const OnnxNode& node, const Tensor& value) {
    std::string name = graph_.unique_name(node.proto.output(0) + "/batch_axis");
    graph_.set_constant(name, {.value = value, .source = name});
    return name;
  }

  std::string new_constant(const OnnxNode& node, const Axes& values) {
    return add_integers(graph_, node.proto.output(0) + "/batch_axis", values);
  }

  /// Sets the axes of a node: input `input` or an attribute, which depends on
  /// the opset.
  void put_axes(const OnnxNode& node, onnx::NodeProto& proto, int input,
                bool is_input, const Axes& axes) {
    if (!is_input) return set_integers(proto, "axes", axes);
    while (proto.input_size() <= input) proto.add_input("");
    proto.set_input(input, new_constant(node, axes));
  }

  /// `has_added_batch`: the outputs have an added batch axis.
  void replace(OnnxNode& node, const onnx::NodeProto& proto,
               bool has_added_batch) {
    for (const std::string& output : node.proto.output()) {
      if (has_added_batch && !output.empty()) added_.insert(output);
    }
    graph_.replace(node, proto, {});
  }

  void convert(OnnxNode& node);
  void convert_pointwise(OnnxNode& node);
  void convert_axis(OnnxNode& node);
  void convert_reduction(OnnxNode& node);
  void convert_slice(OnnxNode& node);
  void convert_matmul(OnnxNode& node);
  void unsqueeze(OnnxNode& node);
  void squeeze(OnnxNode& node);
  void reshape(OnnxNode& node);

  OnnxGraph& graph_;
  std::unordered_map<std::string, Axes> inputs_;  // sizes; -1 if dynamic
  std::unordered_set<std::string> added_;  // values with an added batch axis
};

/// Returns the index of an axis of a value of `rank` axes once it has a batch
/// axis.
int64_t shifted(int64_t axis, int64_t rank) {
  return (axis < 0 ? axis + rank : axis) + 1;
}

void BatchAxis::convert(OnnxNode& node) {
  const std::string& op = node.proto.op_type();
  if (op == "Squeeze") return squeeze(node);
  if (op == "Reshape" || op == "Flatten") return reshape(node);
  const bool any = std::ranges::any_of(
      node.proto.input(),
      [&](const std::string& input) { return is_added(input); });
  if (!any) return;
  // The importer reports nodes without a converter.
  if (!is_standard_domain(node.proto.domain()) ||
      find_converter(op) == nullptr) {
    return added_.insert(node.proto.output().begin(),
                         node.proto.output().end());
  }
  if (is_among(op, kPointwise)) return convert_pointwise(node);
  if (is_among(op, kAlongAxis)) return convert_axis(node);
  if (op.starts_with("Reduce")) return convert_reduction(node);
  if (op == "MatMul") return convert_matmul(node);
  if (op == "Slice") return convert_slice(node);
  if (op == "Unsqueeze") return unsqueeze(node);
  if (op == "Transpose") {
    onnx::NodeProto proto = node.proto;
    const int64_t size = rank(node, proto.input(0));
    Axes perm = checked(node, integers_of(proto, "perm"));
    if (perm.empty()) {
      for (int64_t axis = size; axis-- > 0;) perm.push_back(axis);
    }
    for (int64_t& axis : perm) ++axis;
    perm.insert(perm.begin(), 0);
    set_integers(proto, "perm", perm);
    return replace(node, proto, true);
  }
  if (op == "Shape") {
    const Axes sizes = shape(node, node.proto.input(0));
    if (node.proto.attribute_size() > 0 || std::ranges::count(sizes, -1) > 0) {
      refuse(node, "sizes must be known");
    }
    graph_.set_constant(node.proto.output(0), {.value = Tensor::of<int64_t>(
                                                   {std::ssize(sizes)}, sizes),
                                               .source = node.proto.output(0)});
    return graph_.remove(node, "constant");
  }
  refuse(node, "not supported");
}

// Broadcasting aligns last axes, so all inputs with an added batch axis need
// the same rank. An input of one more axis, of size 1, has a batch axis
// already.
void BatchAxis::convert_pointwise(OnnxNode& node) {
  int64_t own = -1;
  for (const std::string& input : node.proto.input()) {
    if (is_added(input)) own = std::max(own, rank(node, input));
  }
  bool leading = false, fits = true;
  for (const std::string& input : node.proto.input()) {
    if (input.empty()) continue;
    const Axes sizes = shape(node, input);
    const int64_t more = std::ssize(sizes) - own;
    if (is_added(input)) {
      fits &= more == 0;
    } else {
      const bool one_more = more == 1 && sizes[0] == 1;
      fits &= one_more || (more <= 0 && graph_.constant(input) != nullptr);
      leading |= one_more;
    }
  }
  if (!fits) refuse(node, "shapes differ");
  replace(node, onnx::NodeProto(node.proto), !leading);
}

void BatchAxis::convert_axis(OnnxNode& node) {
  onnx::NodeProto proto = node.proto;
  const std::string& op = proto.op_type();
  const bool joins = op == "Concat";
  const auto first = std::ranges::find_if(
      proto.input(), [&](const std::string& input) { return is_added(input); });
  const int64_t own = rank(node, *first);
  for (int i = 0; i < proto.input_size(); ++i) {
    const std::string input = proto.input(i);
    if (input.empty() || (is_added(input) && (joins || i == 0))) continue;
    const Constant* constant = graph_.constant(input);
    if (constant == nullptr || (!joins && i == 0)) {
      refuse(node, "shapes differ");
    }
    if (!joins) continue;
    Axes sizes = shape(node, input);
    sizes.insert(sizes.begin(), 1);
    proto.set_input(
        i,
        new_constant(node, constant->value.reshaped(Shape(std::span(sizes)))));
  }
  const bool last =
      op == "LayerNormalization" || op == "Hardmax" || op.ends_with("Softmax");
  const int64_t otherwise = !last ? 0 : graph_.opset() < 13 && own > 1 ? 1 : -1;
  const Axes axis = checked(node, {integer_of(proto, "axis", otherwise)});
  set_integer(proto, "axis", shifted(axis[0], own));
  replace(node, proto, true);
}

void BatchAxis::convert_reduction(OnnxNode& node) {
  onnx::NodeProto proto = node.proto;
  const int64_t own = rank(node, proto.input(0));
  Axes axes = axes_of(node, 1);
  if (axes.empty()) {
    if (integer_of(proto, "noop_with_empty_axes", 0) != 0) {
      return replace(node, proto, true);
    }
    axes = first_axes(own);
  }
  for (int64_t& axis : axes) axis = shifted(axis, own);
  const int64_t since = proto.op_type() == "ReduceSum" ? 13 : 18;
  put_axes(node, proto, 1, graph_.opset() >= since, axes);
  replace(node, proto, true);
}

void BatchAxis::convert_slice(OnnxNode& node) {
  onnx::NodeProto proto = node.proto;
  const int64_t own = rank(node, proto.input(0));
  Axes axes = axes_of(node, 3);
  if (axes.empty()) {
    const int64_t count =
        graph_.opset() < 10 ? std::ssize(integers_of(proto, "starts"))
        : rank(node, proto.input(1)) == 1 ? shape(node, proto.input(1))[0]
                                          : 0;
    axes = first_axes(std::min(count, own));
  }
  for (int64_t& axis : axes) axis = shifted(axis, own);
  put_axes(node, proto, 3, graph_.opset() >= 10, axes);
  replace(node, proto, true);
}

// The product W x of a matrix and a vector is that of x and the transpose of W.
void BatchAxis::convert_matmul(OnnxNode& node) {
  onnx::NodeProto proto = node.proto;
  const Constant* left = graph_.constant(proto.input(0));
  if (left != nullptr && left->value.shape().rank() == 2 &&
      rank(node, proto.input(1)) == 1) {
    const std::string transposed =
        new_constant(node, left->value.transposed({1, 0}));
    proto.set_input(0, node.proto.input(1));
    proto.set_input(1, transposed);
    return replace(node, proto, true);
  }
  const Constant* right = graph_.constant(proto.input(1));
  const bool weights = right != nullptr && right->value.shape().rank() == 2;
  const bool both = is_added(proto.input(0)) && is_added(proto.input(1)) &&
                    rank(node, proto.input(0)) > 1 &&
                    rank(node, proto.input(0)) == rank(node, proto.input(1));
  if (!weights && !both) refuse(node, "shapes differ");
  replace(node, proto, true);
}

void BatchAxis::unsqueeze(OnnxNode& node) {
  onnx::NodeProto proto = node.proto;
  Axes axes = axes_of(node, 1);
  const int64_t size = rank(node, proto.input(0)) + std::ssize(axes);
  for (int64_t& axis : axes) axis += axis < 0 ? size : 0;
  const bool leads = std::erase(axes, 0) > 0;
  if (!leads) {
    for (int64_t& axis : axes) ++axis;
  }
  if (axes.empty()) {
    proto.set_op_type("Identity");
    proto.clear_attribute();
    proto.mutable_input()->DeleteSubrange(1, proto.input_size() - 1);
  } else {
    put_axes(node, proto, 1, graph_.opset() >= 13, axes);
  }
  replace(node, proto, !leads);
}

void BatchAxis::squeeze(OnnxNode& node) {
  const std::string& input = node.proto.input(0);
  if (graph_.constant(input) != nullptr) return;
  onnx::NodeProto proto = node.proto;
  const Axes sizes = shape(node, input);
  Axes axes = axes_of(node, 1);
  // Without axes: all of size 1.
  for (int64_t i = 0; axes.empty() && i < std::ssize(sizes); ++i) {
    if (sizes[static_cast<size_t>(i)] == 1) axes.push_back(i);
  }
  for (int64_t& axis : axes) axis += axis < 0 ? std::ssize(sizes) : 0;
  if (is_added(input)) {
    for (int64_t& axis : axes) ++axis;
  } else if (std::erase(axes, 0) == 0) {
    return;
  }
  if (axes.empty()) {
    proto.set_op_type("Identity");
    proto.clear_attribute();
    while (proto.input_size() > 1) proto.mutable_input()->RemoveLast();
  } else {
    put_axes(node, proto, 1, graph_.opset() >= 13, axes);
  }
  replace(node, proto, true);
}

void BatchAxis::reshape(OnnxNode& node) {
  const std::string& input = node.proto.input(0);
  if (graph_.constant(input) != nullptr) return;
  const auto stated = graph_.stated(node.proto.output(0));
  const bool known =
      stated && std::ranges::none_of(*stated, [](int64_t s) { return s < 1; });
  const bool leads = known && !stated->empty() && stated->front() == 1;
  if (!is_added(input) && (leads || !known)) return;
  if (!known) refuse(node, "the sizes of the result are open");
  onnx::NodeProto proto = node.proto;
  Axes sizes = *stated;
  if (leads) {
    sizes[0] = 0;
  } else {
    sizes.insert(sizes.begin(), 0);
  }
  proto.set_op_type("Reshape");
  proto.clear_attribute();
  while (proto.input_size() > 1) proto.mutable_input()->RemoveLast();
  if (graph_.opset() < 5) {
    set_integers(proto, "shape", sizes);
  } else {
    proto.add_input(new_constant(node, sizes));
  }
  replace(node, proto, !leads);
}

}  // namespace

void drop_unused_inputs(OnnxGraph& graph) {
  constexpr size_t kMost = 5;
  const std::vector<std::string> dropped = graph.drop_unused_inputs();
  for (size_t i = 0; i < std::min(dropped.size(), kMost); ++i) {
    const bool last = i + 1 == kMost && dropped.size() > kMost;
    warn("input_ignored", fmt::format("input '{}'", printable(dropped[i])),
         fmt::format(
             "no node consumes it; the model has no such input{}",
             last ? fmt::format(", nor {} more", dropped.size() - kMost) : ""));
  }
}

void add_batch_axis(OnnxGraph& graph) { BatchAxis(graph).run(); }

}  // namespace octet::io::importing
