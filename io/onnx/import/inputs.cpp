#include "inputs.h"

#include <algorithm>
#include <array>
#include <optional>
#include <queue>
#include <string_view>
#include <unordered_set>
#include <variant>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "../proto_limits.h"
#include "../tensors.h"
#include "refused_nodes.h"
#include "view.h"

namespace octet::io::importing {
namespace {

enum class Reads { channels_first, channels_last, as_it_comes, unknown };

/// Returns the axis order of an image or sequence that a node requires.
Reads order_read_by(const onnx::NodeProto& node) {
  constexpr std::array<std::string_view, 12> kFirst{
      "AveragePool",   "BatchNormalization",
      "Conv",          "ConvTranspose",
      "DepthToSpace",  "GlobalAveragePool",
      "GlobalMaxPool", "InstanceNormalization",
      "LRN",           "MaxPool",
      "PRelu",         "Resize"};
  constexpr std::array<std::string_view, 30> kEither{"Add",
                                                     "Cast",
                                                     "Clip",
                                                     "Concat",
                                                     "DequantizeLinear",
                                                     "Div",
                                                     "Dropout",
                                                     "Elu",
                                                     "Erf",
                                                     "Gelu",
                                                     "HardSigmoid",
                                                     "HardSwish",
                                                     "Identity",
                                                     "LeakyRelu",
                                                     "Max",
                                                     "Min",
                                                     "Mul",
                                                     "Neg",
                                                     "Pad",
                                                     "Pow",
                                                     "QuantizeLinear",
                                                     "Relu",
                                                     "Selu",
                                                     "Sigmoid",
                                                     "Softplus",
                                                     "Softsign",
                                                     "Sqrt",
                                                     "Sub",
                                                     "Swish",
                                                     "Tanh"};
  const std::string& op = node.op_type();
  if (!is_standard_domain(node.domain())) return Reads::unknown;
  if (std::ranges::find(kFirst, op) != kFirst.end()) {
    return Reads::channels_first;
  }
  return std::ranges::find(kEither, op) != kEither.end() ? Reads::as_it_comes
                                                         : Reads::unknown;
}

/// Whether the node selects entries of an axis and keeps other axes whole.
bool takes_entries(const OnnxGraph& graph, const onnx::NodeProto& node) {
  if (!is_standard_domain(node.domain())) return false;
  if (node.op_type() == "Slice") return true;
  if (node.op_type() != "Gather" || node.input_size() < 2) return false;
  const Constant* entries = graph.constant(node.input(1));
  return entries != nullptr && entries->value.shape().rank() == 1;
}

Reads order_wanted(const OnnxGraph& graph, const std::string& value,
                   bool behind_transpose = false);

/// Returns the order of a Transpose's input, from the consumers of its output.
Reads order_before(const OnnxGraph& graph, const OnnxNode& transpose) {
  const Sizes perm = integers_of(transpose.proto, "perm");
  const bool to_front = perm == Sizes{0, 3, 1, 2} || perm == Sizes{0, 2, 1};
  if (!to_front) return Reads::unknown;
  const Reads behind = order_wanted(graph, transpose.proto.output(0), true);
  return behind == Reads::channels_first ? Reads::channels_last
                                         : Reads::unknown;
}

/// Returns the order of the first consumer that requires an order.
Reads order_wanted(const OnnxGraph& graph, const std::string& value,
                   bool behind_transpose) {
  std::queue<std::string> values({value});
  std::unordered_set<std::string> seen{value};
  while (!values.empty()) {
    const std::string next = values.front();
    values.pop();
    for (const OnnxNode* reader : graph.consumers(next)) {
      const bool transpose = !behind_transpose && is_op(*reader, "Transpose");
      const Reads reads = transpose ? order_before(graph, *reader)
                          : takes_entries(graph, reader->proto)
                              ? Reads::as_it_comes
                              : order_read_by(reader->proto);
      if (reads == Reads::unknown) continue;
      if (reads != Reads::as_it_comes) return reads;
      for (const std::string& output : reader->proto.output()) {
        if (seen.insert(output).second) values.push(output);
      }
    }
  }
  return Reads::unknown;
}

[[noreturn]] void refuse_input(const OnnxTensorInfo& input,
                               const std::string& problem) {
  throw UnsupportedError("unsupported_model",
                         fmt::format("input '{}'", printable(input.name)),
                         problem);
}

InputForm form_of(const OnnxGraph& graph, const OnnxTensorInfo& input,
                  const Shape* given) {
  if (!is_port_type(input.type)) {
    refuse_input(input,
                 fmt::format("must be float32, bool or integers of 8 to 64 "
                             "bits, got {}",
                             input.type));
  }
  if (!input.shape || input.shape->empty() ||
      input.shape->size() > Shape::kMaxRank) {
    refuse_input(input,
                 fmt::format("must be a batch [n,...] of 1 to {} dimensions, "
                             "got {}",
                             static_cast<int>(Shape::kMaxRank),
                             input.shape ? to_text(input.shape) : "no shape"));
  }
  const int rank = static_cast<int>(input.shape->size());
  const Reads wanted = order_wanted(graph, input.name);
  const bool first = rank == 4 ? wanted != Reads::channels_last
                               : rank == 3 && wanted == Reads::channels_first;
  InputForm form{input.name,
                 {},
                 first ? channels_last(rank) : file_order(rank),
                 input.type};
  std::vector<int64_t> sample;
  bool fits = given == nullptr || given->rank() == rank - 1;
  bool open = false;
  for (int i = 1; fits && i < rank; ++i) {
    const OnnxDim& dim =
        (*input.shape)[static_cast<size_t>(form.order[static_cast<size_t>(i)])];
    const auto* size = std::get_if<int64_t>(&dim);
    const bool known = size != nullptr && *size > 0;
    sample.push_back(known ? *size : Shape::kAnySize);
    if (given != nullptr) {
      fits = (*given)[i - 1] > 0 && (!known || (*given)[i - 1] == *size);
      sample.back() = (*given)[i - 1];
    }
    open |= sample.back() == Shape::kAnySize;
  }
  if (!fits) {
    throw ValueError("shape_mismatch", "OnnxImportOptions.input_shapes",
                     fmt::format("must be {} for input '{}'{}, got {}",
                                 to_text(input.shape), printable(input.name),
                                 first ? ", channels last and without the batch"
                                       : ", without the batch",
                                 given->to_string()));
  }
  if (open) {
    refuse_input(input,
                 fmt::format("sizes must be known, got {}. Hint: set them in "
                             "OnnxImportOptions.input_shapes",
                             to_text(input.shape)));
  }
  form.sample = Shape(std::span<const int64_t>(sample));
  return form;
}

/// A batch of one or of any size fits another size: samples then have an entry
/// each.
/// Throws: RefusedNodes for inputs of different fixed first sizes.
void check_batches(const std::vector<OnnxTensorInfo>& inputs) {
  const OnnxTensorInfo* first = nullptr;
  bool dynamic = false;
  for (const OnnxTensorInfo& input : inputs) {
    if (!input.shape || input.shape->empty()) continue;
    if (!std::holds_alternative<int64_t>(input.shape->front())) dynamic = true;
  }
  for (const OnnxTensorInfo& input : inputs) {
    if (!input.shape || input.shape->empty()) continue;
    const auto* size = std::get_if<int64_t>(&input.shape->front());
    if (size == nullptr) continue;
    if (first == nullptr) first = &input;
    const bool same = input.shape->front() == first->shape->front();
    if (same && (!dynamic || *size == 1)) continue;
    throw RefusedNodes(
        "unsupported_model", fmt::format("input '{}'", printable(input.name)),
        fmt::format(
            "the first axis must be the batch of all inputs, got {} {}",
            to_text(input.shape),
            same ? std::string("next to dynamic sizes")
                 : fmt::format("and {} of input '{}'", to_text(first->shape),
                               printable(first->name))));
  }
}

}  // namespace

std::vector<InputForm> input_forms(const OnnxGraph& graph,
                                   const OnnxImportOptions& options) {
  const auto& inputs = graph.inputs();
  if (inputs.empty()) {
    throw UnsupportedError("unsupported_model", "ONNX model",
                           "must have inputs, got none");
  }
  check_batches(inputs);
  if (options.input_shapes.size() > graph.file_inputs()) {
    throw ValueError(
        "count_mismatch", "OnnxImportOptions.input_shapes",
        fmt::format("must have at most one shape for each of {} "
                    "inputs, got {}",
                    graph.file_inputs(), options.input_shapes.size()));
  }
  std::vector<InputForm> forms;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t place = graph.input_places()[i];
    const bool given = place < options.input_shapes.size() &&
                       options.input_shapes[place].rank() > 0;
    forms.push_back(form_of(graph, inputs[i],
                            given ? &options.input_shapes[place] : nullptr));
  }
  return forms;
}

int64_t fixed_batch(const OnnxGraph& graph) {
  int64_t batch = 0;
  for (const OnnxTensorInfo& input : graph.inputs()) {
    if (!input.shape || input.shape->empty()) return 0;
    const auto* size = std::get_if<int64_t>(&input.shape->front());
    if (size == nullptr || *size < 1 || (batch != 0 && *size != batch)) {
      return 0;
    }
    batch = *size;
  }
  return batch;
}

}  // namespace octet::io::importing
