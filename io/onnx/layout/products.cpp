// Rules of products, which exchange their operands if rows and columns are
// swapped.
#include <algorithm>
#include <numeric>
#include <utility>

#include "query.h"

namespace octet::io::layout {
namespace {

Order swapped(int rank) {
  Order order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 2], order[order.size() - 1]);
  return order;
}

/// Exchanges the operands of a product: the transpose of a product is the
/// product of the transposes in reverse.
void exchange(onnx::NodeProto& node) {
  node.mutable_input()->SwapElements(0, 1);
}

/// Product with a weight matrix as input `matrix`; the other input is permuted.
/// A constant matrix can change sides, so that the summed axis of the other
/// input may be last or last but one.
std::optional<Rule> product_with_matrix(const Query& query, int matrix) {
  const int other = 1 - matrix;
  const int rank = query.rank(other);
  const int axis = rank - 1 - other;  // summed axis of `other`
  Rule rule{.rank = rank, .inputs = {other}};
  // Quantized matrices stay on their side, the form that runtimes fuse.
  const bool may_exchange = query.constant(matrix) != nullptr;
  // The index that the other input needs in an order; -1 if there is none.
  const auto side = [rank, axis](const Order& order) {
    if (order[static_cast<size_t>(rank - 1)] == axis) return 0;
    return order[static_cast<size_t>(rank - 2)] == axis ? 1 : -1;
  };
  rule.allows = [=](const Order& order) {
    return side(order) == other || (may_exchange && side(order) == matrix);
  };
  rule.apply = [=](Edit& edit, const Order& order) {
    if (side(order) == other) return;
    edit.set_constant(matrix, {.split = {}, .order = {1, 0}, .joined = {}});
    exchange(edit.node());
  };
  return rule;
}

/// Whether an attribute is absent or all its elements equal `value`.
bool all_equal(const onnx::NodeProto& node, const char* name, int64_t value) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  return attribute == nullptr ||
         std::ranges::all_of(attribute->ints(),
                             [value](int64_t i) { return i == value; });
}

}  // namespace

std::optional<Rule> product(const Query& query) {
  const int a = query.rank(0);
  const int b = query.rank(1);
  if (b == 2 && a >= 2 && (a > 2 || query.constant(1) != nullptr)) {
    return product_with_matrix(query, 1);
  }
  if (a == 2 && b > 2) return product_with_matrix(query, 0);
  if (a != b || a < 3) return std::nullopt;
  Rule rule{.rank = a, .inputs = {0, 1}};
  rule.allows = [swap = swapped(a)](const Order& order) {
    return order == swap;
  };
  rule.apply = [](Edit& edit, const Order&) { exchange(edit.node()); };
  return rule;
}

std::optional<Rule> convolution(const Query& query) {
  const onnx::TensorProto* weight = query.constant(1);
  const int rank = query.rank(0);
  if (weight == nullptr || rank < 3 || weight->dims_size() != rank) {
    return std::nullopt;
  }
  for (int i = 2; i < rank; ++i) {
    if (weight->dims(i) != 1) return std::nullopt;
  }
  if (query.has_input(2) && query.constant(2) == nullptr) return std::nullopt;
  if (integer_of(query.node, "group", 1) != 1 ||
      !all_equal(query.node, "strides", 1) ||
      !all_equal(query.node, "pads", 0)) {
    return std::nullopt;
  }
  const std::vector<Dim> matrix{{weight->dims(0), false},
                                {weight->dims(1), false}};
  const auto is_last = [](const Order& order) { return order.back() == 1; };
  Rule rule{.rank = rank, .inputs = {0}};
  rule.allows = [=](const Order& order) {
    return keeps_batch_and_channels(order) || is_last(order) ||
           order[order.size() - 2] == 1;
  };
  rule.apply = [=](Edit& edit, const Order& order) {
    if (keeps_batch_and_channels(order)) return;
    onnx::NodeProto& node = edit.node();
    std::vector<float> bias;
    if (node.input_size() > 2) {
      bias = edit.floats(2);
      node.mutable_input()->RemoveLast();
    }
    node.set_op_type("MatMul");
    node.clear_attribute();
    std::vector<int64_t> bias_shape{matrix[0].factor};
    if (is_last(order)) {
      edit.set_constant(1, {.split = matrix, .order = {1, 0}, .joined = {}});
    } else {
      edit.set_constant(1, {.split = {}, .order = {}, .joined = matrix});
      exchange(node);
      bias_shape.push_back(1);
    }
    if (!bias.empty()) edit.append("Add", bias, bias_shape);
  };
  return rule;
}

}  // namespace octet::io::layout
