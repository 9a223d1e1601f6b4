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

/// Returns the rearrangement of a weight [k,f] (or [f,k] if `first`) for
/// permuted features.
Rearrangement of_weight(const Rearrangement& features, int64_t k, bool first) {
  const auto count = static_cast<int>(features.split.size());
  Rearrangement result;
  result.split = features.split;
  result.joined = features.joined;
  result.order = features.order;
  if (first) {
    result.split.push_back({k, false});
    result.joined.push_back({k, false});
    result.order.push_back(count);
    return result;
  }
  result.split.insert(result.split.begin(), {k, false});
  result.joined.insert(result.joined.begin(), {k, false});
  for (int& axis : result.order) ++axis;
  result.order.insert(result.order.begin(), 0);
  return result;
}

/// Exchanges the operands of a product: the transpose of a product is the
/// product of the transposes in reverse.
void exchange(onnx::NodeProto& node) {
  node.mutable_input()->SwapElements(0, 1);
}

/// Makes a product of tokens with a weight [c,k] a convolution of size 1, for
/// sequences with channels first.
void to_convolution(Edit& edit, const Dim& c, const Dim& k) {
  edit.node().set_op_type("Conv");
  set_integers(edit.node(), "kernel_shape", {1});
  edit.set_weight(1, {.split = {}, .order = {1, 0}, .joined = {k, c, Dim()}},
                  0);
  edit.absorb_bias();
}

/// Product with a weight matrix as input `matrix`; the other input is permuted.
/// A constant matrix can change sides, so that the summed axis of the other
/// input may be last or last but one.
std::optional<Rule> product_with_matrix(const Query& query, int matrix) {
  const int other = 1 - matrix;
  const int rank = query.rank(other);
  const int axis = rank - 1 - other;  // summed axis of `other`
  Rule rule{.rank = rank, .inputs = {other}};
  const onnx::TensorProto* weight = query.weight(matrix);
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
  rule.converts = [=](const Order& order) { return side(order) != other; };
  if (rank == 3 && matrix == 1 && weight != nullptr) {
    rule.as_convolution = [sizes = *query.dims(1)](Edit& edit) {
      to_convolution(edit, sizes[0], sizes[1]);
    };
  }
  rule.apply = [=](Edit& edit, const Order& order) {
    if (side(order) == other) return;
    edit.set_weight(matrix, {.split = {}, .order = {1, 0}, .joined = {}}, 0);
    exchange(edit.node());
  };
  if (rank == 2 && matrix == 1) {
    rule.features = Features::consumed;
    rule.rearrange = [k = weight->dims(1)](Edit& edit,
                                           const Rearrangement& features) {
      edit.set_weight(1, of_weight(features, k, true), 1);
    };
  }
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
  if (b == 2 && a >= 2 && (a > 2 || query.weight(1) != nullptr)) {
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

std::optional<Rule> gemm(const Query& query) {
  const onnx::TensorProto* weight = query.weight(1);
  if (weight == nullptr || weight->dims_size() != 2 || query.rank(0) != 2 ||
      integer_of(query.node, "transA", 0) != 0) {
    return std::nullopt;
  }
  const bool transposed = integer_of(query.node, "transB", 0) != 0;
  Rule rule{.rank = 2, .inputs = {0}, .features = Features::consumed};
  rule.allows = is_identity;
  rule.rearrange = [transposed, k = weight->dims(transposed ? 0 : 1)](
                       Edit& edit, const Rearrangement& features) {
    edit.set_weight(1, of_weight(features, k, !transposed), transposed ? 0 : 1);
  };
  return rule;
}

std::optional<Rule> convolution(const Query& query) {
  const onnx::TensorProto* weight = query.weight(1);
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
  // Quantized matrices stay on their side, the form that runtimes fuse.
  const bool may_exchange = query.constant(1) != nullptr;
  rule.allows = [=](const Order& order) {
    return keeps_batch_and_channels(order) || is_last(order) ||
           (may_exchange && order[order.size() - 2] == 1);
  };
  rule.converts = moves_batch_or_channels;
  rule.apply = [=](Edit& edit, const Order& order) {
    if (keeps_batch_and_channels(order)) return;
    onnx::NodeProto& node = edit.node();
    node.set_op_type("MatMul");
    node.clear_attribute();
    Rearrangement bias;
    if (is_last(order)) {
      edit.set_weight(1, {.split = matrix, .order = {1, 0}, .joined = {}}, 1);
    } else {
      edit.set_weight(1, {.split = {}, .order = {}, .joined = matrix}, 0);
      bias.joined = {matrix[0], Dim()};
    }
    if (node.input_size() > 2) edit.append("Add", "bias_add", 2, bias);
    if (!is_last(order)) exchange(node);
  };
  return rule;
}

}  // namespace octet::io::layout
