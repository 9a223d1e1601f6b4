#include "rules.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "onnx/graph/attributes.h"
#include "onnx/graph/operator_traits.h"
#include "onnx/graph/opsets.h"
#include "query.h"

namespace octet::io::layout {
namespace {

int64_t position(const Order& order, int64_t axis) {
  return std::ranges::find(order, static_cast<int>(axis)) - order.begin();
}

std::vector<int64_t> positions(const Order& order,
                               const std::vector<int64_t>& axes) {
  std::vector<int64_t> result;
  for (const int64_t axis : axes) result.push_back(position(order, axis));
  std::ranges::sort(result);
  return result;
}

std::optional<Rule> pointwise(const Query& query) {
  Rule rule{.features = Features::permuted};
  for (int i = 0; i < query.node.input_size(); ++i) {
    const int rank = query.rank(i);
    if (rank < 0) return std::nullopt;
    rule.rank = std::max(rule.rank, rank);
    if (rank > 0) rule.inputs.push_back(i);
  }
  return rule;
}

std::optional<Rule> unary(const Query& query) {
  return Rule{
      .rank = query.rank(0), .inputs = {0}, .features = Features::permuted};
}

/// Operators on the first input, along the attribute `axis`.
std::optional<Rule> along_axis(const Query& query, int64_t otherwise) {
  Rule rule{.rank = query.rank(0), .inputs = {0}};
  int64_t axis = integer_of(query.node, "axis", otherwise);
  if (axis < 0) axis += rule.rank;
  rule.apply = [axis](Edit& edit, const Order& order) {
    set_integer(edit.node(), "axis", position(order, axis));
  };
  return rule;
}

std::optional<Rule> softmax(const Query& query) {
  std::optional<Rule> rule = along_axis(query, -1);
  rule->features = Features::permuted;
  return rule;
}

std::optional<Rule> concat(const Query& query) {
  std::optional<Rule> rule = along_axis(query, 0);
  rule->inputs.resize(static_cast<size_t>(query.node.input_size()));
  std::iota(rule->inputs.begin(), rule->inputs.end(), 0);
  return rule;
}

std::optional<Rule> gather(const Query& query) {
  if (query.constant(0) != nullptr || query.rank(1) > 1) return std::nullopt;
  if (query.rank(1) < 0) return std::nullopt;
  std::optional<Rule> rule = along_axis(query, 0);
  if (query.rank(1) == 1) return rule;
  const int64_t axis = integer_of(query.node, "axis", 0);
  rule->removed = {static_cast<int>(axis < 0 ? axis + rule->rank : axis)};
  return rule;
}

std::optional<Rule> quantize(const Query& query) {
  if (find_attribute(query.node, "block_size") != nullptr) return std::nullopt;
  if (query.rank(1) == 1) return along_axis(query, 1);
  if (query.rank(1) != 0) return std::nullopt;
  return unary(query);
}

std::optional<Rule> reduction(const Query& query) {
  Rule rule{.rank = query.rank(0), .inputs = {0}};
  std::vector<int64_t> axes;
  const onnx::AttributeProto* attribute = find_attribute(query.node, "axes");
  if (attribute != nullptr) {
    axes.assign(attribute->ints().begin(), attribute->ints().end());
  } else if (query.constant(1) != nullptr) {
    axes = integers_of(*query.constant(1));
  }
  if (axes.empty()) return std::nullopt;
  for (int64_t& axis : axes) {
    if (axis < 0) axis += rule.rank;
    if (integer_of(query.node, "keepdims", 1) == 0) {
      rule.removed.push_back(static_cast<int>(axis));
    }
  }
  if (axes == std::vector<int64_t>{1}) rule.features = Features::consumed;
  rule.apply = [axes, is_input = attribute == nullptr](Edit& edit,
                                                       const Order& order) {
    const std::vector<int64_t> moved = positions(order, axes);
    if (is_input) return edit.set_list(1, moved);
    set_integers(edit.node(), "axes", moved);
  };
  return rule;
}

std::optional<Rule> arg_reduction(const Query& query) {
  std::optional<Rule> rule = along_axis(query, 0);
  if (integer_of(query.node, "keepdims", 1) != 0) return rule;
  const int64_t axis = integer_of(query.node, "axis", 0);
  rule->removed = {static_cast<int>(axis < 0 ? axis + rule->rank : axis)};
  return rule;
}

std::optional<Rule> slice(const Query& query) {
  if (query.constant(3) == nullptr) return std::nullopt;
  Rule rule{.rank = query.rank(0), .inputs = {0}};
  std::vector<int64_t> axes = integers_of(*query.constant(3));
  for (int64_t& axis : axes) axis += axis < 0 ? rule.rank : 0;
  rule.apply = [axes](Edit& edit, const Order& order) {
    std::vector<int64_t> moved;
    for (const int64_t axis : axes) moved.push_back(position(order, axis));
    edit.set_list(3, moved);
  };
  return rule;
}

/// Pad and Tile: input 1 is a constant list of `count` numbers per axis, first
/// the first number of every axis, then the second.
std::optional<Rule> with_list_per_axis(const Query& query, size_t count) {
  Rule rule{.rank = query.rank(0), .inputs = {0}};
  if (query.constant(1) == nullptr || query.has_input(3)) return std::nullopt;
  const std::vector<int64_t> list = integers_of(*query.constant(1));
  const auto rank = static_cast<size_t>(std::max(rule.rank, 0));
  if (list.size() != rank * count) return std::nullopt;
  rule.apply = [list](Edit& edit, const Order& order) {
    std::vector<int64_t> moved(list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      const size_t end = i / order.size() * order.size();
      moved[i] = list[end + static_cast<size_t>(order[i % order.size()])];
    }
    edit.set_list(1, moved);
  };
  return rule;
}

/// Only over the last axis, which stays last.
std::optional<Rule> layer_normalization(const Query& query) {
  Rule rule{.rank = query.rank(0), .inputs = {0}};
  const int64_t axis = integer_of(query.node, "axis", -1);
  if (axis != -1 && axis != rule.rank - 1) return std::nullopt;
  rule.allows = [last = rule.rank - 1](const Order& order) {
    return order.back() == last;
  };
  return rule;
}

/// Operators with batch and channels as axes 0 and 1.
std::optional<Rule> per_channel(const Query& query) {
  Rule rule{.rank = query.rank(0), .inputs = {0}};
  rule.allows = keeps_batch_and_channels;
  return rule;
}

/// With the channels last, pixels become rows of a matrix.
std::optional<Rule> batch_normalization(const Query& query) {
  Rule rule{
      .rank = query.rank(0), .inputs = {0}, .features = Features::permuted};
  rule.allows = [](const Order& order) {
    return keeps_batch_and_channels(order) || order.back() == 1;
  };
  rule.converts = moves_batch_or_channels;
  rule.rearrange = [](Edit& edit, const Rearrangement& features) {
    for (int i = 1; i < 5; ++i) edit.set_weight(i, features, 0);
  };
  rule.apply = [dims = *query.dims(0)](Edit& edit, const Order& order) {
    if (keeps_batch_and_channels(order)) return;
    std::vector<int64_t> sizes;
    for (const int axis : order) {
      const Dim& dim = dims[static_cast<size_t>(axis)];
      sizes.push_back(dim.batch ? -1 : dim.factor);
    }
    edit.reshape_around({-1, dims[1].factor}, sizes);
  };
  for (int i = 1; i < 5; ++i) {
    if (query.constant(i) == nullptr) rule.features = Features::fixed;
  }
  return rule;
}

/// Becomes a reduction if batch or channels move.
std::optional<Rule> global_pooling(const Query& query, const char* reduction) {
  Rule rule{.rank = query.rank(0), .inputs = {0}};
  rule.converts = moves_batch_or_channels;
  rule.apply = [reduction, opset = query.opset](Edit& edit,
                                                const Order& order) {
    if (keeps_batch_and_channels(order)) return;
    std::vector<int64_t> axes;
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i] > 1) axes.push_back(static_cast<int64_t>(i));
    }
    edit.node().set_op_type(reduction);
    if (takes_axes_as_input(reduction, static_cast<int>(opset))) {
      return edit.set_list(1, axes);
    }
    set_integers(edit.node(), "axes", axes);
  };
  return rule;
}

/// Export consumes only the batch size; see OnnxBuilder::add_repeated().
std::optional<Rule> shape(const Query& query) {
  Rule rule{.rank = query.rank(0), .inputs = {0}};
  for (int axis = 1; axis < rule.rank; ++axis) rule.removed.push_back(axis);
  rule.allows = [](const Order& order) { return order[0] == 0; };
  return rule;
}

/// Repetition for each sample only: the factors of other axes are 1.
std::optional<Rule> expand(const Query& query) {
  Rule rule{.rank = query.rank(0), .inputs = {0}};
  const onnx::NodeProto* sizes = query.values.producer(query.node.input(1));
  if (sizes == nullptr || sizes->op_type() != "Concat" ||
      sizes->input_size() != 2) {
    return std::nullopt;
  }
  const onnx::TensorProto* ones = query.values.constant(sizes->input(1));
  if (ones == nullptr) return std::nullopt;
  const std::vector<int64_t> factors = integers_of(*ones);
  if (std::ssize(factors) != rule.rank - 1 ||
      std::ranges::any_of(factors, [](int64_t f) { return f != 1; })) {
    return std::nullopt;
  }
  rule.allows = [](const Order& order) { return order[0] == 0; };
  return rule;
}

std::optional<Rule> unchecked(const Query& query) {
  const std::string& op = query.node.op_type();
  const AxisRole axes = traits_of(op).axes;
  if (axes == AxisRole::pointwise) return pointwise(query);
  if (axes == AxisRole::reduction) return reduction(query);
  if (op == "Clip") return unary(query);
  if (op == "QuantizeLinear" || op == "DequantizeLinear") {
    return quantize(query);
  }
  if (op == "Softmax" || op == "LogSoftmax") return softmax(query);
  if (op == "Hardmax" || op == "TopK") return along_axis(query, -1);
  if (op == "ArgMax" || op == "ArgMin") return arg_reduction(query);
  if (op == "Split") return along_axis(query, 0);
  if (op == "Concat") return concat(query);
  if (op == "Gather") return gather(query);
  if (op == "Slice") return slice(query);
  if (op == "Pad") return with_list_per_axis(query, 2);
  if (op == "Tile") return with_list_per_axis(query, 1);
  if (op == "LayerNormalization") return layer_normalization(query);
  if (op == "MatMul") return product(query);
  if (op == "Gemm") return gemm(query);
  if (op == "Conv") return convolution(query);
  if (op == "Expand") return expand(query);
  if (op == "Shape") return shape(query);
  if (op == "BatchNormalization") return batch_normalization(query);
  if (op == "InstanceNormalization") return per_channel(query);
  if (op == "GlobalAveragePool") return global_pooling(query, "ReduceMean");
  if (op == "GlobalMaxPool") return global_pooling(query, "ReduceMax");
  return std::nullopt;
}

}  // namespace

Order Rule::output_order(const Order& order) const {
  if (removed.empty()) return order;
  std::vector<int> result;
  for (const int axis : order) {
    if (std::ranges::find(removed, axis) != removed.end()) continue;
    const auto before = std::ranges::count_if(
        removed, [axis](int other) { return other < axis; });
    result.push_back(axis - static_cast<int>(before));
  }
  return result;
}

Order Rule::order_for_output(const Order& output) const {
  if (removed.empty()) return output;
  std::vector<int> remaining;
  for (int axis = 0; axis < rank; ++axis) {
    if (std::ranges::find(removed, axis) == removed.end()) {
      remaining.push_back(axis);
    }
  }
  std::vector<int> order;
  for (const int axis : output) {
    order.push_back(remaining[static_cast<size_t>(axis)]);
  }
  for (int axis = 0; axis < rank; ++axis) {
    if (std::ranges::find(removed, axis) == removed.end()) continue;
    const auto before = std::ranges::find(order, axis - 1);
    order.insert(before == order.end() ? order.begin() : before + 1, axis);
  }
  return order;
}

std::optional<Rule> rule_of(const onnx::NodeProto& node,
                            const ValueLookup& values, int64_t opset) {
  if (!node.domain().empty() || node.input_size() == 0) return std::nullopt;
  std::optional<Rule> rule =
      unchecked({.node = node, .values = values, .opset = opset});
  if (!rule || rule->rank < 2) return std::nullopt;
  return rule;
}

std::vector<int64_t> integers_of(const onnx::TensorProto& tensor) {
  if (tensor.data_type() != onnx::TensorProto::INT64) return {};
  if (tensor.int64_data_size() > 0) {
    return {tensor.int64_data().begin(), tensor.int64_data().end()};
  }
  std::vector<int64_t> values(tensor.raw_data().size() / sizeof(int64_t));
  std::memcpy(values.data(), tensor.raw_data().data(),
              values.size() * sizeof(int64_t));
  return values;
}

}  // namespace octet::io::layout
