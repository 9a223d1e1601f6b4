// Biases: constants added to a product.
#include <algorithm>
#include <array>

#include "../graph_view.h"
#include "forms.h"

namespace octet::io::importing {
namespace {

/// Returns the index of the float constant of two inputs; -1 if there is none.
int float_constant_input(const ImportGraph& graph, const ImportNode& node) {
  if (node.proto.input_size() != 2) return -1;
  for (const int input : {1, 0}) {
    const Constant* constant = graph.constant(node.proto.input(input));
    if (constant != nullptr && constant->value.dtype() == DType::f32) {
      return input;
    }
  }
  return -1;
}

/// A number for each channel of [N,c,...] that broadcasts: [c,1,1] for images.
bool is_per_channel_of(const Shape& bias, int rank, int64_t channels) {
  if (bias.rank() > rank || bias.size() != channels) return false;
  if (channels == 1) return true;
  return bias.rank() >= rank - 1 && bias[bias.rank() - (rank - 1)] == channels;
}

}  // namespace

bool match_bias(ImportGraph& graph, ImportNode& node) {
  if (!is_op(node, "Add")) return false;
  const int k = float_constant_input(graph, node);
  if (k < 0) return false;
  const Shape bias = graph.constant(node.proto.input(k))->value.shape();
  for (const char* op : {"Conv", "ConvTranspose", "MatMul"}) {
    FormMatch form(graph, node);
    const ImportNode* linear = form.part(node.proto.input(1 - k), op);
    if (linear == nullptr || linear->proto.input_size() != 2) continue;
    const Constant* weight = graph.constant(linear->proto.input(1));
    if (weight == nullptr || weight->value.shape().rank() < 2) return false;
    const Shape& w = weight->value.shape();
    const bool conv = is_op(*linear, "Conv");
    const bool fits =
        is_op(*linear, "MatMul")
            ? w.rank() == 2 && bias.rank() >= 1 && bias[-1] == w[1] &&
                  bias.size() == w[1]
            : (conv || integer_of(linear->proto, "group", 1) == 1) &&
                  is_per_channel_of(bias, w.rank(), conv ? w[0] : w[1]);
    if (!fits) return false;
    onnx::NodeProto by = linear->proto;
    by.add_input(node.proto.input(k));
    form.replace_by(by);
    return true;
  }
  return false;
}

bool match_affine(ImportGraph& graph, ImportNode& node) {
  if (!is_op(node, "Add")) return false;
  const int offset = float_constant_input(graph, node);
  if (offset < 0) return false;
  FormMatch form(graph, node);
  const ImportNode* product = form.part(node.proto.input(1 - offset), "Mul");
  if (product == nullptr) return false;
  const int scale = float_constant_input(graph, *product);
  if (scale < 0) return false;
  form.replace_by("Add",
                  {product->proto.input(1 - scale), node.proto.input(offset),
                   product->proto.input(scale)});
  return true;
}

}  // namespace octet::io::importing
